/* SPDX-License-Identifier: MIT
 *
 * collect/ranks.h - which of a job's processes one is, as its launcher told it
 */
#ifndef COLLECT_RANKS_H
#define COLLECT_RANKS_H

#include <stddef.h>
#include <stdint.h>

/* As in struct event_process: numbers are one more than the launcher's, 0 is none. */
struct rank {
	uint32_t rank;       /* in the job, … */
	uint32_t local_rank; /* … among those of its machine */
	uint32_t count;      /* how many the job has; 0: not known */
};

/* From an environment as /proc/PID/environ has it: NAME=VALUE texts with a zero byte after each. All zero: it was started by
 * no launcher that is known. */
struct rank ranks_parse(const char *environment, size_t size);

#endif
