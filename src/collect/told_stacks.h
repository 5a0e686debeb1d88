/* SPDX-License-Identifier: MIT
 *
 * collect/told_stacks.h - stacks of users' threads that programs inside the kernel told, walked by the tables of the code
 */
#ifndef COLLECT_TOLD_STACKS_H
#define COLLECT_TOLD_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "collect/code_files.h"
#include "collect/processes.h"
#include "event/kernel_record.h"
#include "symbol/kernel_modules.h"

struct told_stacks {
	struct recording *recording; /* borrowed */
	struct code_files files;
	struct hash_map maps;   /* process id -> struct memory_map *, a reference */
	struct hash_map stacks; /* number of a stack -> the trace's */
	struct hash_map kernel; /* address in the kernel -> the trace's frame */
	struct kernel_modules modules;
	uint64_t refused; /* stacks, beyond what is kept */
};

void told_stacks_init(struct told_stacks *stacks, struct recording *recording);
void told_stacks_fini(struct told_stacks *stacks); /* NULL-safe */

/* What a program's code lies like, of one that may be gone when its first stack comes. */
void told_stacks_meet(struct told_stacks *stacks, struct process *process);

void told_stacks_take(struct told_stacks *stacks, struct process *process,
		      const struct kernel_stack *told);

/* The trace's stack; 0: it was never told, or is empty. */
uint32_t told_stacks_find(const struct told_stacks *stacks, uint64_t user_stack);

/* … below the kernel's frames, innermost first. */
uint32_t told_stacks_put_kernel(struct told_stacks *stacks, const __u64 *addresses, size_t count,
				uint32_t stack);
/* Names for the kernel's functions, once: it takes some 50 ms. Errors: see kallsyms_open; with the error chain. */
int told_stacks_name_kernel(struct told_stacks *stacks);

#endif
