/* SPDX-License-Identifier: MIT
 *
 * collect/intel/experimental/eudebug_private.h - declarations for the files of struct eudebug
 *
 * eudebug.c calls eudebug_code.c.
 */
#pragma once

#include "collect/intel/experimental/eudebug.h"
#include "collect/intel/experimental/eudebug_links.h"
#include "collect/processes.h"
#include "collect/recording.h"

enum { MAX_EUDEBUG_GPUS = 32, EUDEBUG_REASONS = 8 };

/* A process with a GPU open, from the first attempt to connect on. */
struct eudebug_debuggee {
	pid_t pid;
	size_t gpu;
	uint32_t link;           /* 0: not connected */
	uint64_t again_ns;       /* time of the next attempt; 0: none */
	struct process *process; /* a reference */
	struct processes *table;
};

/* A process whose open files are checked. */
struct eudebug_watched {
	pid_t pid;
	uint64_t since_ns, looked_ns;
	bool is_program;
};

struct eudebug_kernel {
	uint32_t name_string;
	uint64_t address, size;
};

struct eudebug_binary {
	uint32_t link, code;
	uint64_t client, number;
	struct eudebug_kernel *kernels; /* owned */
	size_t count;
};

/* The place of a code object, or of a kernel in it. */
struct eudebug_place {
	uint32_t link, code; /* 0: the code object is not known yet */
	uint64_t client, space, binary;
	uint64_t begin, size, time_ns;
};

struct eudebug {
	struct recording *recording; /* borrowed */
	struct eudebug_options options;
	struct eudebug_links *links; /* owned */
	struct eudebug_gpu {
		struct gpu_node node;
		uint32_t device;
		int refused[EUDEBUG_REASONS]; /* errors that are noted already */
		uint32_t threads_series;
	} gpus[MAX_EUDEBUG_GPUS];
	size_t gpus_count;
	struct eudebug_debuggee *debuggees; /* owned, as are all lists */
	size_t debuggees_count, debuggees_capacity;
	struct eudebug_watched *watched;
	size_t watched_count, watched_capacity;
	struct eudebug_binary *binaries;
	size_t binaries_count, binaries_capacity;
	struct eudebug_place *places;
	size_t places_count, places_capacity;
	uint64_t looked_ns;
	uint64_t kernels, reported, unplaced, left_out;
	uint64_t placeless; /* unbinds at unknown addresses */
	bool is_program_met;
};

/* NULL: no process has this connection. */
struct eudebug_debuggee *eudebug_debuggee_of(const struct eudebug *debug, uint32_t link);

/* Events of code objects and their places, from a connection. */
void eudebug_take_binary(struct eudebug *debug, const struct eudebug_link_event *link_event);
void eudebug_end_binary(struct eudebug *debug, const struct eudebug_link_event *link_event);
void eudebug_take_bound(struct eudebug *debug, const struct eudebug_link_event *link_event);
void eudebug_take_placed(struct eudebug *debug, const struct eudebug_link_event *link_event);
/* Ends the kernels of an address space that overlap the range, or all of them at its end. */
void eudebug_end_places(struct eudebug *debug, const struct eudebug_link_event *link_event);
/* Ends all code of a connection that has ended. */
void eudebug_end_code(struct eudebug *debug, const struct eudebug_link_event *link_event);
