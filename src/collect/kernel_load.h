/* SPDX-License-Identifier: MIT
 *
 * collect/kernel_load.h - an object of ours that goes into the kernel beside the program's start, and what it tells
 *
 * To load takes 10 to 20 ms of processor time where all places are looked up before, as those of drm.bpf.c are, and as
 * much again for each program that the kernel refuses: it is done in a thread of its own, and nobody waits for it.
 */
#ifndef COLLECT_KERNEL_LOAD_H
#define COLLECT_KERNEL_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/kernel_object.h"

struct kernel_load;

enum kernel_load_state { KERNEL_LOAD_GOES_ON, KERNEL_LOAD_READY, KERNEL_LOAD_REFUSED };

struct kernel_load_options {
	struct kernel_object_options object;
	/* Of a record in the object's ring `records`. */
	void (*on_record)(void *context, const void *record, size_t size);
	/* In the thread that loads, when all is attached: what its maps need. NULL: nothing. */
	void (*on_loaded)(void *context, const struct kernel_object *object);
	void *context;
};

/* What the options point to is borrowed to the end of the recorder. Errors: -ENOMEM, -EAGAIN, -ENOSYS where duet was built without libbpf, with the error
 * chain. */
int kernel_load_start(const struct kernel_load_options *options, struct kernel_load **ret_load);
/* One that goes on is left to its thread, with all that it has. */
void kernel_load_stop(struct kernel_load *load); /* NULL-safe */

/* Turns READY or REFUSED once. *ret_reason: of REFUSED, why; else "". */
enum kernel_load_state kernel_load_state(const struct kernel_load *load, const char **ret_reason);

/* Of a READY one, for the rest. */
const struct kernel_program_report *kernel_load_reports(const struct kernel_load *load,
							size_t *ret_count);
/* Takes what the kernel has written so far, KERNEL_LOAD_RECORDS at most: true where there is more. */
enum { KERNEL_LOAD_RECORDS = 32768 };
bool kernel_load_drain(struct kernel_load *load);
/* Records that had no room in the ring so far: the first of the map `counts`. */
uint64_t kernel_load_lost(const struct kernel_load *load);
/* … any of it. */
uint64_t kernel_load_counted(const struct kernel_load *load, uint32_t key);
/* … how often the kernel left out to run one of its programs, which ran on that processor already. */
uint64_t kernel_load_missed(const struct kernel_load *load);
/* Puts a value into a map of a READY one, as kernel_object_put. */
int kernel_load_put(const struct kernel_load *load, const char *map, const void *key,
		    const void *value);
/* … takes one out, as kernel_object_remove. */
int kernel_load_remove(const struct kernel_load *load, const char *map, const void *key);

#endif
