/* SPDX-License-Identifier: MIT
 *
 * collect/stack/walker.h - walks stacks with the unwind tables of their code
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "collect/processes.h"
#include "collect/stack/code_files.h"
#include "collect/stack/kernel_frames.h"
#include "collect/stack/memory_map.h"
#include "collect/stack/process_reader.h"
#include "symbol/elf/unwind_walk.h"

enum { STACK_FRAMES_MAX = 512 };

/* All collectors of a recording share one walker, so that each unwind table is loaded once. */
struct stack_walker {
	struct recording *recording; /* borrowed */
	uint32_t references;
	struct code_files files;
	struct kernel_frames kernel_frames;
	struct process_reader reader;
	struct hash_map calls; /* file number and offset -> enum unwind_code */
	uint64_t left_out;     /* number of mappings that exceeded the limit of their map */
	bool names_jit_code;   /* a collector searches for names of JIT code */
	/* results of the last walk, innermost first */
	struct unwind_walk_frame frames[STACK_FRAMES_MAX];
	const struct memory_piece *pieces[STACK_FRAMES_MAX];
};

/* Input and result of a walk. */
struct stack_walk {
	struct process *process;
	struct memory_map *memory; /* the process's executable mappings; NULL: not known */
	const struct unwind_state *state;
	/* Called for an address outside of the map, to read the map again. NULL: no call. */
	void (*on_unmapped)(struct stack_walk *walk);
	void *context;
	/* The result, valid until the next walk or change of the map. */
	const struct unwind_walk_frame *frames;   /* innermost first */
	const struct memory_piece *const *pieces; /* mapping of each frame; NULL: not known */
	size_t count;
	enum unwind_walk_end end;
};

/* A frame of a merged stack, innermost first. */
struct stack_part {
	uint32_t frame; /* the trace's frame id; 0: use frame number `native` of the walk */
	size_t native;
};

/* Returns a reference to the recording's walker; the first call creates it. NULL: out of memory. */
struct stack_walker *stack_walker_get(struct recording *recording);
/* Drops a reference; the last one frees the walker. NULL-safe. */
void stack_walker_put(struct stack_walker *walker);

/* ---- memory maps ---- */

/* Reads all executable mappings again. If the process has ended, the map stays as it is. */
void stack_walker_read_map(struct stack_walker *walker, uint32_t pid, struct memory_map *memory);

/* ---- stacks ---- */

/* Fills the results of *walk. */
void stack_walker_walk(struct stack_walker *walker, struct stack_walk *walk);

/* Writes the walked stack to the trace and returns its id. parts: native frames mixed with others
 * (Python); NULL: native frames only. 0: out of memory. */
uint32_t stack_walker_put_stack(struct stack_walker *walker, const struct stack_walk *walk,
				const struct stack_part *parts, size_t count);

/* The trace's mark frame for N missing frames; 0: their number is not known. */
uint32_t stack_walker_cut_mark(const struct stack_walker *walker, uint64_t frames);

/* ---- JIT code ---- */

/* Searches for names of the process's JIT code, if the next search is due. */
void stack_walker_name_code(struct stack_walker *walker, struct process *process);
/* Searches for the last time. Returns the number of frames without a name. */
size_t stack_walker_finish_code(struct stack_walker *walker, struct process *process);
