/* SPDX-License-Identifier: MIT
 *
 * import/common/cuda_join.h - join a call of CUDA's API with the commands that it launched
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "event/event.h"
#include "import/common/cuda.h"

struct import_target;

struct import_cuda_call {
	struct event_launch row; /* enter, exit, thread, function_string, result */
	struct import_cuda_function function;
	uint32_t process;
};

/* A command and the members of its launch that the command's row contains. */
struct import_cuda_command {
	struct event_execution row;
	struct event_launch launch;
};

/* The rows of one correlation id. */
struct import_cuda_group {
	struct import_cuda_call call;
	uint32_t stack;
	uint32_t queue; /* for which the call waits; 0: not known */
	bool has_call, has_sync, has_command;
};

struct import_cuda_join {
	struct import_target *target;
	bool has_executions; /* a table of commands exists */
	bool is_nested; /* each launch has a second call inside of it, which launches nothing */
	uint32_t absent, managed; /* functions of launches that are not in the file */
	struct hash_map calls;    /* thread -> number of counted calls */
	struct hash_map callers;  /* process -> its thread with the most of them */
	struct hash_map captures; /* thread -> number of captures that it has begun */
	struct import_cuda_group group;
	uint64_t made_up, captured, unexecuted;
};

/* All other members are zero before. Errors: -ENOMEM. */
int import_cuda_join_open(struct import_cuda_join *join, struct import_target *target);
void import_cuda_join_close(struct import_cuda_join *join); /* zero-safe */

/* Counts a call for the threads of migrations. Errors: -ENOMEM. */
int import_cuda_join_count_call(struct import_cuda_join *join, uint32_t process, uint32_t thread);

/* The rows of an id come between begin and end: calls first, commands last. Errors: those of the
 * target. */
void import_cuda_join_begin(struct import_cuda_join *join);
int import_cuda_join_end(struct import_cuda_join *join);

/* Writes an earlier call of the id, which launched nothing. The caller then sets the new one. */
int import_cuda_join_next_call(struct import_cuda_join *join);
void import_cuda_join_set_call(struct import_cuda_join *join, const struct import_cuda_call *call);
/* Writes the command and its launch, whose correlation is set. */
int import_cuda_join_add_command(struct import_cuda_join *join,
				 struct import_cuda_command *command);

/* Adds the notes at the end. */
void import_cuda_join_put_notes(const struct import_cuda_join *join);
