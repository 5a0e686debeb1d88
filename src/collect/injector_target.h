/* SPDX-License-Identifier: MIT
 *
 * collect/injector_target.h - whether a library can be brought into a process, and what is needed of that for it
 */
#ifndef COLLECT_INJECTOR_TARGET_H
#define COLLECT_INJECTOR_TARGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/target_identity.h"
#include "symbol/proc_maps.h"
#include "symbol/unwind_table.h"

enum { INJECTOR_GUARDED_MOST = 64 };

struct injector_range {
	uint64_t start, end;
};

struct injector_target {
	pid_t pid;
	char name[64];
	struct target_identity
		identity; /* checked after each stop of a thread and before each write */
	const _Atomic bool *is_unwanted; /* true: the recording is over; NULL: it never is */
	/* functions of its C library */
	uint64_t pthread_create, pthread_self, pthread_detach, dlopen, dlsym, dlerror, mmap, munmap,
		raise;
	uint64_t restorer;      /* to which handlers of signals return */
	uint64_t load_argument; /* pop %rdi; ret */
	/* Code in which a thread may hold a lock that is needed to make another thread. */
	struct injector_range guarded[INJECTOR_GUARDED_MOST];
	size_t guarded_count;
	/* Somebody else than its C library and what is guarded has a malloc: no thread's code says whether it is inside. */
	bool has_other_allocator;
	struct proc_maps maps;      /* owned */
	struct unwind_table *rules; /* owned; of the C library … */
	struct injector_range libc; /* … whose code lies here … */
	uint64_t libc_offset;       /* … from this offset in its file on */
};

/* is_unwanted: may be NULL. Errors: -errno with the error chain: why none can be brought in, and what to do about it. */
int injector_target_open(pid_t pid, const _Atomic bool *is_unwanted,
			 struct injector_target *target);
void injector_target_close(struct injector_target *target); /* safe where open failed */

bool injector_target_is_unwanted(const struct injector_target *target);

/* Address of so many bytes in the middle of where nothing is mapped, far from where the kernel puts things by itself. */
uint64_t injector_target_gap(const struct injector_target *target, uint64_t bytes);

/* Number behind "\nLABEL:" of a status file, the last of several; base: of the number. -1: there is none. */
long injector_status(pid_t pid, pid_t tid, const char *label, int base, uint64_t *ret_mask);

#endif
