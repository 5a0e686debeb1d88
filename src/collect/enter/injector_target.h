/* SPDX-License-Identifier: MIT
 *
 * collect/enter/injector_target.h - checks whether a library can be loaded into a process; collects
 * the addresses needed for that
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/enter/target_identity.h"
#include "symbol/elf/unwind_table.h"
#include "symbol/proc_maps.h"

enum { MAX_INJECTOR_GUARDED = 64 };

struct injector_range {
	uint64_t start, end;
};

struct injector_target {
	pid_t pid;
	char name[64];
	/* checked after each stop of a thread and before each write */
	struct target_identity identity;
	const _Atomic bool *is_unwanted; /* true: the recording has ended; NULL: never cancelled */
	/* addresses of C library functions */
	uint64_t pthread_create, pthread_self, pthread_detach, dlopen, dlsym, dlerror, mmap, munmap,
		raise;
	uint64_t restorer;      /* code to which signal handlers return */
	uint64_t load_argument; /* address of "pop %rdi; ret" */
	/* Code in which a thread may hold a lock that creating a thread needs. */
	struct injector_range guarded[MAX_INJECTOR_GUARDED];
	size_t guarded_count;
	/* A malloc outside of the C library and the guarded libraries exists: a thread inside it
	 * cannot be recognized. */
	bool has_other_allocator;
	struct proc_maps maps;      /* owned */
	struct unwind_table *rules; /* owned; unwind rules of the C library … */
	struct injector_range libc; /* … which is mapped here … */
	uint64_t libc_offset;       /* … from this offset in its file */
};

/* Checks that a library can be loaded into the process, and finds the C library functions needed.
 * is_unwanted becomes true when the recording ends; NULL: never. Errors: -errno with the error
 * chain: reason and remedy. */
int injector_target_open(pid_t pid, const _Atomic bool *is_unwanted,
			 struct injector_target *target);
void injector_target_close(struct injector_target *target); /* safe after a failed open */

bool injector_target_is_unwanted(const struct injector_target *target);

/* Whether an address is in the code of the C library. */
bool injector_target_is_in_libc(const struct injector_target *target, uint64_t pc);

/* Returns an address with `bytes` of unmapped space, in the middle of the largest gap, where the
 * kernel does not place mappings. 0: none. */
uint64_t injector_target_gap(const struct injector_target *target, uint64_t bytes);

/* The number after "\nLABEL:" in /proc/PID/task/TID/status, the last one if there are several.
 * base: number base. -1: not found. */
long injector_status(pid_t pid, pid_t tid, const char *label, int base, uint64_t *ret_mask);
