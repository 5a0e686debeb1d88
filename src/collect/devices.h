/* SPDX-License-Identifier: MIT
 *
 * collect/devices.h - one id per device, whichever collector sees it first
 *
 * Collectors of counters see a device before a program uses it, and under another name than the
 * program's runtime does. Both names get the same id. The runtime reports more about the device, so
 * it describes the device again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/recording.h"

struct device_facts {
	const char *uuid;    /* with the vendor's prefix, "GPU-…" */
	const char *address; /* PCI address, "0000:1b:00.0" */
	/* NULL if unknown. One of the two members above is required. */
	const char *name, *vendor, *driver;
	uint64_t memory_bytes; /* 0: not known */
	uint32_t parent; /* id of the device that it is a slice of; 0: not a slice, or not known */
};

/* Returns the id of a GPU and describes it at the first call. */
uint32_t devices_meet(struct recording *recording, const struct device_facts *facts);

/* Finds the id of a key: a UUID without the vendor's prefix, or an address. 0: not known. */
uint32_t devices_find(const struct recording *recording, const char *key);
void devices_remember(struct recording *recording, const char *key, uint32_t id);

/* Returns the id of the device that this one is a slice of; 0: not a slice, or not known. */
uint32_t devices_parent(const struct recording *recording, uint32_t id);

/* Notes that a guest in the process records commands on the device. */
void devices_note_user(struct recording *recording, uint32_t id, uint32_t process);
bool devices_has_user(const struct recording *recording, uint32_t id, uint32_t process);

/* If only a collector of counters has described the device: returns since when, and the caller must
 * describe it again. Later calls return 0. */
uint64_t devices_take_sketch(struct recording *recording, uint32_t id);
