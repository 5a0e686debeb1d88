/* SPDX-License-Identifier: MIT
 *
 * inject/libraries.h - the loader's list of what is loaded, without harm to a fork
 *
 * Runs in:  the profiled process, at launches
 * Manners:  dl_iterate_phdr takes a lock of the loader's that fork does not reset: a child made while another
 *           thread of ours holds it hangs in its first dlopen. A fork waits for those threads, some 20 ns, and
 *           keeps others out meanwhile.
 */
#ifndef INJECT_LIBRARIES_H
#define INJECT_LIBRARIES_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* How many libraries were loaded and unloaded so far. */
struct libraries_counts {
	uint64_t loads, unloads;
};

/* Once in a process, and again in each child, before anything else here. */
void libraries_prepare(void);

/* As dl_iterate_phdr. False: a thread is forking, and nothing was called. */
bool libraries_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *data),
		       void *data);

/* False: as above, the counts are as they were. 19 ns. */
bool libraries_count(struct libraries_counts *ret_counts);

/* The executable segment that an address is in. False: none, or a thread is forking. */
struct libraries_span {
	uint64_t address, begin, end;
};
bool libraries_find(struct libraries_span *span);

/* For pthread_atfork: before, and after in both processes. */
void libraries_before_fork(void);
void libraries_after_fork(void);
void libraries_after_fork_in_child(void);

#pragma GCC visibility pop

#endif
