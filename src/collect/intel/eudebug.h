/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eudebug.h - code objects of processes, as a debugger of their GPU programs is told them
 */
#ifndef COLLECT_INTEL_EUDEBUG_H
#define COLLECT_INTEL_EUDEBUG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/intel/gpu_node.h"
#include "collect/recording.h"

struct eudebug;
struct source;

/* For lists of what is counted: its own thread reads it, no sampler. */
extern const struct source eudebug_source;

struct eudebug_options {
	bool all;     /* each process that opens a GPU */
	bool stops;   /* threads of one, pid, are stopped and counted … */
	uint32_t pid; /* … 0: of the program that is started */
};

/* Errors, with the error chain: -ENODEV where there is no GPU of Intel's, -EINVAL where there is no program to be stopped,
 * -ENOMEM, -EAGAIN. */
int eudebug_open(struct recording *recording, const struct eudebug_options *options,
		 struct eudebug **ret_debug);
/* The program is about to start, or a process is recorded. */
void eudebug_watch(struct eudebug *debug, pid_t pid, bool is_program);
/* Writes what was told, and looks for processes that have opened a GPU. */
void eudebug_drain(struct eudebug *debug);
/* Lets go of all processes, and notes what was told. */
void eudebug_close(struct eudebug *debug); /* NULL-safe */

/* What a driver's refusal of a process means, and what mends it. */
void eudebug_explain(const struct gpu_node *node, pid_t pid, int error, char *text, size_t size);

#endif
