/* SPDX-License-Identifier: MIT
 *
 * collect/stack/bpf_stacks.h - walks user stacks that BPF programs copied, with unwind tables
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collect/processes.h"
#include "collect/stack/walker.h"
#include "event/kernel_record.h"

/* Max number of known stack ids; a new one replaces the oldest. */
enum { MAX_TOLD_STACKS = 1 << 16 };

/* A stack id from BPF and the stack in the trace. */
struct bpf_stack {
	uint64_t user_stack; /* the id from BPF; 0: unused */
	uint32_t stack;      /* the trace's stack; 0: beyond the limits */
	uint32_t process;
};

struct bpf_stacks {
	struct stack_walker *walker; /* a reference */
	struct hash_map maps;        /* process id -> struct process_map *, owned */
	struct bpf_stack *all;       /* owned; a ring of MAX_TOLD_STACKS */
	size_t capacity, next;
	struct hash_map by_number; /* stack id -> index in `all` */
	/* Called when an id was dropped, so that BPF copies this stack again when it next occurs.
	 * NULL: BPF cannot do that. */
	void (*on_forgotten)(void *context, uint64_t user_stack);
	void *context;
	struct hash_map quotas; /* uid -> struct quota *, owned; memory for stacks of this user */
	uint64_t refused;       /* number of stacks that failed, or exceeded the user's quota */
	/* number of stacks that came when the recorder's memory limit was reached */
	uint64_t no_memory;
	uint64_t unkept; /* number of lookups of a stack that was not kept */
};

/* Errors: -ENOMEM. */
int bpf_stacks_init(struct bpf_stacks *stacks, struct recording *recording);
void bpf_stacks_fini(struct bpf_stacks *stacks); /* NULL-safe */

/* Reads a process's mappings in advance, because it may have ended when its first stack comes. */
void bpf_stacks_meet(struct bpf_stacks *stacks, struct process *process);

/* Walks a stack and keeps its id. */
void bpf_stacks_take(struct bpf_stacks *stacks, struct process *process,
		     const struct kernel_stack *stack_row);

/* Finds the trace's stack by its id; 0: the id is unknown or of another process, or the stack is
 * empty or was not kept. For an unknown id, BPF is asked to copy the stack again. */
uint32_t bpf_stacks_find(struct bpf_stacks *stacks, uint64_t user_stack, uint32_t process);

/* Drops the ids of a process that has ended or called exec, because they may be reused. */
void bpf_stacks_forget(struct bpf_stacks *stacks, uint32_t process);
