/* SPDX-License-Identifier: MIT
 *
 * collect/intel/submitters.h - identifies the processes that submit work to GPUs, from the kernel's
 * pids
 */
#pragma once

#include <stdint.h>

#include "base/hash.h"
#include "collect/processes.h"

/* All zero: empty. */
struct submitters {
	struct recording *recording; /* borrowed */
	struct hash_map known;       /* process id -> struct submitter *, owned */
	struct hash_map ends;        /* pid -> time of its last process's end, from the kernel */
};

void submitters_init(struct submitters *submitters, struct recording *recording);
void submitters_fini(struct submitters *submitters); /* NULL-safe */

/* A pid in a kernel record, and the record's time. */
struct submitter_name {
	uint32_t pid;
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	uint64_t start_ns; /* start time, CLOCK_BOOTTIME; 0: not known */
};

/* The process that had the pid at that time, never an earlier or later owner, even if its end is
 * already known. For a process that is not recorded an entry in recording->others is made. NULL:
 * out of memory. */
struct process *submitters_find(struct submitters *submitters, const struct submitter_name *name,
				struct processes **ret_table);

/* Handles the kernel's report of a process's end. Returns its id; 0: not a known process. */
uint32_t submitters_end(struct submitters *submitters, const struct submitter_name *name);

/* Checks by start time and executable whether the pid now belongs to another process or, after
 * exec, another program that prepares to submit; if so, its former owner has just ended. Returns
 * that owner's id; 0: unchanged, or there was none. */
uint32_t submitters_check(struct submitters *submitters, const struct submitter_name *name);

/* Looks for ends that were not reported; call it once a second. Returns the ended processes one by
 * one, including earlier ends; 0: no more. */
void submitters_look(struct submitters *submitters, uint64_t now_ns);
uint32_t submitters_take_ended(struct submitters *submitters);
