/* SPDX-License-Identifier: MIT
 *
 * collect/counter/sensors.h - files of /sys with one number each, for sensors that are listed once
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "collect/counter/source.h"

enum { MAX_SENSORS = 1024 }; /* also in a note of sensors.c */

struct sensor {
	int fd;
	char name[SERIES_NAME_BYTES];
	/* The source's own: a processor's number, or the value after which the counter wraps. */
	uint64_t number;
	uint64_t last, total;
	bool has_last;
};

struct sensors {
	struct sensor *all; /* owned */
	size_t count, capacity;
};

/* Calls `meet` for each entry of a folder that begins with `prefix`, in the order of their names.
 * `meet` adds sensors. False: there are none. */
bool sensors_list(struct source_state *state, const struct tick *tick, const char *folder,
		  const char *prefix,
		  void (*meet)(struct source_state *state, const struct tick *tick,
			       const char *entry));
/* Takes the descriptor. If there are too many, it is closed and state->why is set. */
void sensors_add(struct source_state *state, int fd, const char *name, uint64_t number);
/* Reads a word from a file; "": none. */
void sensor_text(const struct tick *tick, const char *folder, const char *entry, const char *file,
		 char *text, size_t size);
/* Reads a number from a file; 0: none. */
uint64_t sensor_number(const struct tick *tick, const char *folder, const char *entry,
		       const char *file);
/* Reads all sensors, each of which is an instance with its name. */
void sensors_read(struct source_state *state, struct tick *tick);
void sensors_close(struct source_state *state);

/* Parses a file of /sys with one number; "max", as in control groups, is not one. */
uint64_t number_parse(const char *text, size_t length, uint64_t *values);
