/* SPDX-License-Identifier: MIT
 *
 * collect/intel/submitters.h - the processes that hand work to GPUs, as the driver in the kernel numbers them
 */
#ifndef COLLECT_INTEL_SUBMITTERS_H
#define COLLECT_INTEL_SUBMITTERS_H

#include <stdint.h>

#include "base/hash.h"
#include "collect/processes.h"

/* All zero: nobody has. */
struct submitters {
	struct recording *recording; /* borrowed */
	struct hash_map known;       /* process id -> struct submitter *, owned */
	struct hash_map ends;        /* pid -> when its last process ended, as the kernel told */
};

void submitters_init(struct submitters *submitters, struct recording *recording);
void submitters_fini(struct submitters *submitters); /* NULL-safe */

/* Whom the kernel tells of, and when. */
struct submitter_name {
	uint32_t pid;
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	uint64_t start_ns; /* when it began, CLOCK_BOOTTIME; 0: not known */
};

/* Whose number it was at that time: never who had it before or has it since, whatever of its end is known by then. Of one that
 * nobody records a process of recording->others is made. NULL: out of memory. */
struct process *submitters_find(struct submitters *submitters, const struct submitter_name *name,
				struct processes **ret_table);

/* The kernel says that the process has ended. Its id; 0: it is none of ours. */
uint32_t submitters_end(struct submitters *submitters, const struct submitter_name *name);

/* Whether the number is another process's by now, or that of another program (exec), by its start and its file, as one is that
 * gets ready to submit: then its former owner has ended just before. Its id; 0: it is who it was, or was nobody. */
uint32_t submitters_check(struct submitters *submitters, const struct submitter_name *name);

/* Looks for ends that nobody told; to be called each second. Then one after the other of those who have ended, also before; 0:
 * no more. */
void submitters_look(struct submitters *submitters, uint64_t now_ns);
uint32_t submitters_take_ended(struct submitters *submitters);

#endif
