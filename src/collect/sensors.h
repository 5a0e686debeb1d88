/* SPDX-License-Identifier: MIT
 *
 * collect/sensors.h - files of /sys with one number each, of sensors that are listed once
 */
#ifndef COLLECT_SENSORS_H
#define COLLECT_SENSORS_H

#include <stdbool.h>
#include <stddef.h>

#include "collect/source.h"

enum { SENSORS_MOST = 1024 }; /* sensors_add says it in words */

struct sensor {
	int fd;
	char name[SERIES_NAME_BYTES];
	uint64_t number; /* the source's: of a processor, of what comes after the largest reading */
	uint64_t last, total;
	bool has_last;
};

struct sensors {
	struct sensor *all; /* owned */
	size_t count, capacity;
};

/* Calls meet for each entry of a folder whose name begins with `prefix`, in the order of their names; it adds sensors. */
void sensors_list(struct source_state *state, const struct tick *tick, const char *folder,
		  const char *prefix,
		  void (*meet)(struct source_state *state, const struct tick *tick,
			       const char *entry));
/* Takes the descriptor. One too many is left out, which state->why says. */
void sensors_add(struct source_state *state, int fd, const char *name, uint64_t number);
/* One word of a file, "" where there is none. */
void sensor_text(const struct tick *tick, const char *folder, const char *entry, const char *file,
		 char *text, size_t size);
/* A number; 0: none. */
uint64_t sensor_number(const struct tick *tick, const char *folder, const char *entry,
		       const char *file);
void sensors_close(struct source_state *state);

/* A file of /sys with one number; "max" of a control group is none. */
uint64_t number_parse(const char *text, size_t length, uint64_t *values);

#endif
