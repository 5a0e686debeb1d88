/* SPDX-License-Identifier: MIT
 *
 * inject/libraries.h - list the loaded libraries without harm to a fork
 *
 * Runs in:  the profiled process, at launches
 * Manners:  dl_iterate_phdr takes a lock of the loader that fork does not reset: if a thread lists
 *           libraries during a fork, the child hangs in its first dlopen. So a fork first waits for
 *           threads that list libraries (this takes about 20 ns), and no thread begins to list
 *           libraries until the fork is over.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Numbers of libraries loaded and unloaded so far. */
struct libraries_counts {
	uint64_t loads, unloads;
};

/* Call it once in a process, and again in each child, before anything else here. */
void libraries_prepare(void);

/* As dl_iterate_phdr. False: a thread is forking, and the callback was not called. */
bool libraries_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *data),
		       void *data);

/* False: a thread is forking, and the counts are unchanged. 19 ns. */
bool libraries_count(struct libraries_counts *ret_counts);

/* The executable segment that contains an address. False: none, or a thread is forking. */
struct libraries_span {
	uint64_t address, begin, end;
};
bool libraries_find(struct libraries_span *span);

/* Handlers for pthread_atfork: before the fork, and afterwards in both processes. */
void libraries_before_fork(void);
void libraries_after_fork(void);
void libraries_after_fork_in_child(void);

#pragma GCC visibility pop
