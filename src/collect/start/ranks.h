/* SPDX-License-Identifier: MIT
 *
 * collect/start/ranks.h - rank of a process in its job, from the variables of launchers (torchrun,
 * MPI, Slurm)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* As in struct event_process: rank and local_rank are the launcher's number plus 1; 0: none. */
struct rank {
	uint32_t rank;       /* in the job … */
	uint32_t local_rank; /* … and among the job's processes on this machine */
	uint32_t count;      /* number of processes in the job; 0: not known */
};

/* Parses an environment in the format of /proc/PID/environ: NAME=VALUE, each with a zero byte at
 * its end. All zero: no known launcher. */
struct rank ranks_parse(const char *environment, size_t size);
