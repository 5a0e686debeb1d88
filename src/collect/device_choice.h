/* SPDX-License-Identifier: MIT
 *
 * collect/device_choice.h - limits a recording to the rows of some devices
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "event/event.h"

struct recording;

enum { MAX_CHOSEN_DEVICES = 16, CHOSEN_DEVICE_BYTES = 128 };

struct device_choice {
	const struct recording *recording; /* borrowed */
	char names[MAX_CHOSEN_DEVICES][CHOSEN_DEVICE_BYTES];
	bool is_met[MAX_CHOSEN_DEVICES];          /* a recorded device has this name */
	size_t count;                             /* 0: all devices */
	struct hash_map devices;                  /* id -> whether it is recorded */
	struct hash_map left_queues, left_series; /* ids */
	struct event_series *series;              /* owned; rows of left_series */
	size_t series_count, series_capacity;
	size_t left;  /* devices that were left out */
	bool has_cpu; /* a CPU device is recorded */
};

/* Parses a list of UUIDs, PCI addresses, names, and DRM nodes ("renderD128", "/dev/dri/card0").
 * Replaces a node by its PCI address. sysfs: "/sys". Errors, with the error chain: -ENODEV for a
 * PCI address or node that does not exist, -EINVAL for another form of list. */
int device_choice_parse(struct device_choice *choice, const char *list, const char *sysfs);
void device_choice_fini(struct device_choice *choice); /* NULL-safe */

/* Whether the row is recorded: all but those of devices that are left out. Calls, threads and
 * counters of the machine are recorded. context: the choice, whose recording is set. */
bool device_choice_has(void *context, enum event_kind kind, const void *row);

/* The next name of which no device was seen, from *index on; NULL: none. */
const char *device_choice_unmet(const struct device_choice *choice, size_t *index);
