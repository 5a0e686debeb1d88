/* SPDX-License-Identifier: MIT
 *
 * collect/intel/driver.h - reads submissions to Intel GPUs from the kernel drivers, by BPF programs
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/recording.h"

struct driver;

struct driver_options {
	uint32_t ring_bytes; /* size of the kernel's ring, a power of two; 0: 16 MiB */
	bool is_timed;       /* jobs are recorded too (collect/drm), which give the times */
	bool waits;          /* wait for the load, at most ten seconds */
	bool may_see_calls;  /* trace all system calls of the machine if nothing else works */
};

/* Looks for GPUs of xe and i915 and starts to load the BPF programs. Errors, with the error chain:
 * -ENODEV: no such GPU, -ENOMEM. */
int driver_open(struct recording *recording, const struct driver_options *options,
		struct driver **ret_driver);
void driver_drain(struct driver *driver);
void driver_each_second(struct driver *driver, uint64_t now_ns);
/* Notes counts and losses. */
void driver_close(struct driver *driver); /* NULL-safe */

/* Loads the programs for a driver, "xe" or "i915", and releases them. True: the kernel accepts
 * them. ret_text: the way that works, "its functions' types, but not …", or the reason. Takes 0.1
 * s, and at most a minute for each way. */
bool driver_try(const char *name, char *ret_text, size_t size);
