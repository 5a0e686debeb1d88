/* SPDX-License-Identifier: MIT
 *
 * import/rocm/tail.h - calls without a command at the end of a recording of ROCm
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct event_api;
struct import_target;

/* Zero apart from the target and device_wait. */
struct rocm_tail {
	struct import_target *target;
	struct event_api *calls; /* owned: calls after the latest launch so far */
	size_t count, capacity;
	struct hash_map launching; /* string of a function that launches -> command type + 1 */
	uint64_t latest_ns;        /* begin of the latest launch of the process */
	uint64_t waited_ns;        /* begin of its latest call that waited for a device */
	uint32_t device_wait;      /* string of the function that waits for all of a device */
	uint64_t launches;         /* number of calls that became a launch without a command */
};

void rocm_tail_fini(struct rocm_tail *tail);

/* A call of the current process with a command of this type. Errors: -ENOMEM. */
int rocm_tail_note_launch(struct rocm_tail *tail, const struct event_api *call, uint32_t command);
/* Writes a call without a command, or keeps it until the end of the process. Errors: -ENOMEM, those
 * of the target. */
int rocm_tail_add_call(struct rocm_tail *tail, const struct event_api *call);
/* Writes the calls of the process that were kept. */
int rocm_tail_end_process(struct rocm_tail *tail);
