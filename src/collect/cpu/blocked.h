/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/blocked.h - where a thread that is blocked waits
 */
#ifndef COLLECT_CPU_BLOCKED_H
#define COLLECT_CPU_BLOCKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOCKED_STACK_BYTES = 16 << 10 };

/* Where a thread waits. */
struct blocked_place {
	uint64_t ip, sp;
	int32_t call;      /* number of the system call; -1: in none (a page fault) */
	uint64_t argument; /* its first one */
};

/* A look at a thread that does not run. */
struct blocked_look {
	struct blocked_place place;
	uint64_t stack[BLOCKED_STACK_BYTES / sizeof(uint64_t)]; /* from sp on */
	size_t stack_bytes;
};

enum thread_place {
	THREAD_GONE,
	THREAD_REFUSED, /* to look needs what a debugger needs: the same user and, where Yama says so, a child of ours */
	THREAD_RUNS,
	THREAD_WAITS
};

/* Files of /proc that are asked again and again: to open one costs more than to read it. All zero: none is open. */
enum { BLOCKED_FILES = 64 };
struct blocked_files {
	struct blocked_file {
		uint32_t pid, tid; /* tid 0: of the process */
		int fd;            /* owned; where pid is not 0 */
	} files[BLOCKED_FILES];
};
void blocked_files_fini(struct blocked_files *files);
/* Of a thread, or with tid 0 of a process, that has ended. */
void blocked_files_remove(struct blocked_files *files, uint32_t pid, uint32_t tid);

/* THREAD_WAITS: and where. files: NULL: none are kept open. */
enum thread_place blocked_find(struct blocked_files *files, uint32_t pid, uint32_t tid,
			       struct blocked_place *ret_place);

/* "futex"; NULL: not known. */
const char *blocked_call_name(const struct blocked_place *place);
/* Whether it sleeps until another thread wakes it: the argument is the address that both know. */
bool blocked_is_futex(const struct blocked_place *place);

/* Reads what is in memory now, at most size bytes, and returns how many. To read a page that is not there would wait
 * for whoever brings it, for ever if that is the program itself (userfaultfd, FUSE). */
size_t blocked_read(struct blocked_files *files, uint32_t pid, uint64_t address, void *ret_bytes,
		    size_t size);

/* THREAD_WAITS: and where, with its stack. */
enum thread_place blocked_look(struct blocked_files *files, uint32_t pid, uint32_t tid,
			       struct blocked_look *ret_look);

/* Looks at a child of our own, made for that, as it would at any thread of the same user. Errors: -errno of what is
 * refused, and in the error chain what would mend it. */
int blocked_try(void);

#endif
