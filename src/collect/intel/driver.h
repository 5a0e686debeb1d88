/* SPDX-License-Identifier: MIT
 *
 * collect/intel/driver.h - what programs hand to Intel's GPUs, as the drivers in the kernel see it
 */
#ifndef COLLECT_INTEL_DRIVER_H
#define COLLECT_INTEL_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/recording.h"

struct driver;

struct driver_options {
	uint32_t ring_bytes; /* of the kernel's ring, a power of two; 0: 16 MiB */
	bool is_timed;       /* jobs are recorded too */
	bool waits;          /* until it is loaded, ten seconds at most */
	bool may_see_calls;  /* all system calls of the machine, where there is no other way */
};

/* Looks for GPUs of xe and i915, and begins to load what sees their submissions. Errors, with the error chain: -ENODEV where
 * there is no such GPU, -ENOMEM. */
int driver_open(struct recording *recording, const struct driver_options *options,
		struct driver **ret_driver);
void driver_drain(struct driver *driver);
void driver_each_second(struct driver *driver, uint64_t now_ns);
/* Notes what was missed. */
void driver_close(struct driver *driver); /* NULL-safe */

/* Whether the kernel takes what sees submissions to GPUs of a driver, "xe" or "i915": it is loaded, and goes again. ret_text: by
 * what they are seen, "its functions' types, but not …", or why not. Takes 0.1 s, a minute at most for each way. */
bool driver_try(const char *name, char *ret_text, size_t size);

#endif
