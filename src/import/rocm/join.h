/* SPDX-License-Identifier: MIT
 *
 * import/rocm/join.h - match the calls, commands and counter values of a recording by their links
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "import/rocm/memory.h"
#include "import/rocm/tail.h"

struct import_target;
struct record_sort;

enum rocm_row_type {
	ROCM_CALL,
	ROCM_COMMAND,
	ROCM_REPEATED, /* a command from the table of counters, which another table may have too */
	ROCM_VALUE,
	ROCM_ALLOCATION
};

/* Sizes from another table for the first command of a call; 0: not known. */
struct rocm_detail {
	uint64_t bytes;
	uint64_t global[3], local[3];
};

/* A call and the commands that it launched have the same process and link. */
struct rocm_row {
	enum rocm_row_type type;
	uint32_t process;
	uint64_t link; /* 0: none */
	uint64_t part; /* order of the commands of a call, below 2^61; a value has the part of its
			  command */
	union {
		struct {
			struct event_api row;
			struct rocm_detail detail;
		} call;
		struct {
			/* A launch without a function is completed by the call of the link. */
			struct event_launch launch;
			struct event_execution execution;
		} command;
		struct event_counter value;
		struct rocm_allocation allocation;
	};
};

struct rocm_join {
	struct import_target *target;
	struct record_sort *rows;
	struct rocm_memory memory;
	struct rocm_tail tail;
	uint32_t absent;                  /* function of launches that are not in the file */
	uint64_t commands, linked, alone; /* alone: without a call */
};

/* Errors: -ENOMEM. */
int rocm_join_init(struct rocm_join *join, struct import_target *target);
void rocm_join_fini(struct rocm_join *join);

/* Sets the work items of a launch and of its work-groups; 0: not known. */
void rocm_join_set_sizes(struct event_launch *launch, const uint64_t global[3],
			 const uint64_t local[3]);

/* Adds a row in any order. Errors: those of record_sort_add. */
int rocm_join_add(struct rocm_join *join, const struct rocm_row *row);

/* Writes all rows, and a note about commands without a call. Errors: those of record_sort_next and
 * the target. */
int rocm_join_write(struct rocm_join *join);
