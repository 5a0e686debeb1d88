/* SPDX-License-Identifier: MIT
 *
 * collect/kernel/program_load.h - loads a BPF object in a thread of its own, and reads its records
 *
 * Loading takes 10 to 20 ms of CPU time if all attach points are looked up first, as for drm.bpf.c.
 * Each program that the kernel refuses costs as much again. A thread of its own loads the object,
 * so that the profiled program starts without waiting.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/kernel/object.h"

struct kernel_load;

enum kernel_load_state { KERNEL_LOAD_GOES_ON, KERNEL_LOAD_READY, KERNEL_LOAD_REFUSED };

struct kernel_load_options {
	struct kernel_object_options object;
	/* Called for each record of the map `records`. */
	void (*on_record)(void *context, const void *record, size_t size);
	/* Called in the loading thread when all programs are attached, to fill maps. NULL: not
	 * called. */
	void (*on_loaded)(void *context, const struct kernel_object *object);
	void *context;
};

/* The caller keeps what the options point to until the recorder ends. Errors: -ENOMEM, -EAGAIN,
 * -ENOSYS: built without libbpf; with the error chain. */
int kernel_load_start(const struct kernel_load_options *options, struct kernel_load **ret_load);
/* If the load is still running, its thread and memory are left alone. */
void kernel_load_stop(struct kernel_load *load); /* NULL-safe */

/* Returns READY or REFUSED after one change of state. *ret_reason: the reason of REFUSED; otherwise
 * "". */
enum kernel_load_state kernel_load_state(const struct kernel_load *load, const char **ret_reason);

/* This and all functions below need the state READY. */
const struct kernel_program_report *kernel_load_reports(const struct kernel_load *load,
							size_t *ret_count);
/* Reads the records so far, as kernel_ring_drain does. True: there are more. */
bool kernel_load_drain(struct kernel_load *load);
/* Number of records without room in the ring: entry 0 of the map `counts`. */
uint64_t kernel_load_lost(const struct kernel_load *load);
/* Returns any entry of the map `counts`. */
uint64_t kernel_load_counted(const struct kernel_load *load, uint32_t key);
/* Number of events that the kernel dropped because the program was running on that processor
 * already. */
uint64_t kernel_load_missed(const struct kernel_load *load);
/* Sets a value in a map, as kernel_object_put. */
int kernel_load_put(const struct kernel_load *load, const char *map, const void *key,
		    const void *value);
/* Removes a key from a map, as kernel_object_remove. */
int kernel_load_remove(const struct kernel_load *load, const char *map, const void *key);
