/* SPDX-License-Identifier: MIT
 *
 * collect/intel/experimental/eudebug.h - code objects of processes, from the debugger interface of
 * Intel's drivers
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/intel/gpu_node.h"
#include "collect/recording.h"

struct eudebug;
struct source;

/* For lists of metrics. It is read by its own thread, not by a sampler. */
extern const struct source eudebug_source;

struct eudebug_options {
	bool all;     /* watch each process that opens a GPU */
	bool stops;   /* stop and count the threads of one process, pid */
	uint32_t pid; /* 0: the program that duet starts */
};

/* Errors, with the error chain: -ENODEV: no Intel GPU, -EINVAL: no program to stop, -ENOMEM,
 * -EAGAIN. */
int eudebug_open(struct recording *recording, const struct eudebug_options *options,
		 struct eudebug **ret_debug);
/* Adds a process that is about to start as the program, or that is recorded. */
void eudebug_watch(struct eudebug *debug, pid_t pid, bool is_program);
/* Writes rows of the events received, and looks for processes that have opened a GPU. */
void eudebug_drain(struct eudebug *debug);
/* Disconnects from all processes, and notes counts and losses. */
void eudebug_close(struct eudebug *debug); /* NULL-safe */

/* Formats the reason why a driver refused a process, and the remedy. */
void eudebug_explain(const struct gpu_node *node, pid_t pid, int error, char *text, size_t size);
