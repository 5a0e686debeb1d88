/* SPDX-License-Identifier: MIT
 *
 * collect/told_stacks.h - stacks of users' threads that programs inside the kernel told, walked by the tables of the code
 */
#ifndef COLLECT_TOLD_STACKS_H
#define COLLECT_TOLD_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "collect/code_files.h"
#include "collect/kernel_frames.h"
#include "collect/processes.h"
#include "event/kernel_record.h"

/* So many are known at the same time: the oldest gives way. */
enum { TOLD_STACKS_MOST = 1 << 16 };

/* What a number of the kernel's stands for. */
struct told_stack {
	uint64_t user_stack; /* 0: nothing */
	uint32_t stack;      /* the trace's; 0: it was told, and could not be kept */
	uint32_t process;
};

struct told_stacks {
	struct recording *recording; /* borrowed */
	struct code_files files;
	struct hash_map maps;   /* process id -> struct told_map *, owned */
	struct told_stack *all; /* owned; a ring of TOLD_STACKS_MOST */
	size_t capacity, next;
	struct hash_map by_number; /* number of a stack -> its place in `all` */
	struct kernel_frames kernel_frames;
	/* The kernel has to tell this one again when it comes to it: we have forgotten it. NULL: it never can. */
	void (*on_forgotten)(void *context, uint64_t user_stack);
	void *context;
	struct hash_map bytes_of_user; /* uid -> what its stacks take of the recorder's memory */
	uint64_t refused;   /* no memory for them, or beyond what is kept of one user's */
	uint64_t no_memory; /* they came when the recorder had as much as it may */
	uint64_t unkept;    /* so often was one looked for that could not be kept */
};

void told_stacks_init(struct told_stacks *stacks, struct recording *recording);
void told_stacks_fini(struct told_stacks *stacks); /* NULL-safe */

/* What a program's code lies like, of one that may be gone when its first stack comes. */
void told_stacks_meet(struct told_stacks *stacks, struct process *process);

void told_stacks_take(struct told_stacks *stacks, struct process *process,
		      const struct kernel_stack *told);

/* The trace's stack; 0: it was never told, is another process's, is empty, or could not be kept. One that is not known any more
 * will be told again; one that could not be kept is not, as long as its number is known. */
uint32_t told_stacks_find(struct told_stacks *stacks, uint64_t user_stack, uint32_t process);

/* The process has ended, or is another program now: its numbers may be somebody else's. */
void told_stacks_forget(struct told_stacks *stacks, uint32_t process);

#endif
