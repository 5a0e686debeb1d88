/* SPDX-License-Identifier: MIT
 *
 * collect/devices.h - the devices of a recording, whoever sees them first
 *
 * What counts a device's power knows it before a program uses it, and by another name than the program's runtime: here
 * both get the one id. A runtime knows more of a device, and describes it again.
 */
#ifndef COLLECT_DEVICES_H
#define COLLECT_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/recording.h"

struct device_facts {
	const char *uuid;    /* as its vendor writes it, "GPU-…" */
	const char *address; /* on PCI, "0000:1b:00.0" */
	/* NULL each where it is not known: one of the two above has to be. */
	const char *name, *vendor, *driver;
	uint64_t memory_bytes; /* 0: not known */
};

/* The id of a GPU; it is described where nobody has done so yet. */
uint32_t devices_meet(struct recording *recording, const struct device_facts *facts);

/* The id under which a key (a UUID without a vendor's prefix, an address) is known. 0: under none. */
uint32_t devices_find(const struct recording *recording, const char *key);
void devices_remember(struct recording *recording, const char *key, uint32_t id);

/* The process's runtime tells of its own commands on the device. */
void devices_note_user(struct recording *recording, uint32_t id, uint32_t process);
bool devices_has_user(const struct recording *recording, uint32_t id, uint32_t process);

/* Since when the device is known, if nobody but who counts it has described it yet; 0: it is described. Asked once, by
 * who does better. */
uint64_t devices_take_sketch(struct recording *recording, uint32_t id);

#endif
