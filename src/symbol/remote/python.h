/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/python.h - the Python functions that a thread of another process is executing
 *
 * Supports CPython 3.8 to 3.14. The process keeps running: the result is the stack as it was at one
 * time during the call, or nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/kernel_record.h"

struct python_remote; /* one interpreter in one process */

/* A file that the process has mapped, and its load address to add to symbol values. */
struct python_remote_file {
	int fd; /* borrowed, and not needed after python_remote_new */
	uint64_t load_address;
};

/* file: contains the interpreter, libpython or the program. program: the program itself, which may
 * hold the copies of a library's data that are in use; NULL: file is the program. Errors, with
 * their cause in the error chain except the first: -ENOENT: no interpreter in this file; -ENOTSUP:
 * an unsupported one (too old, too new, free-threaded, with Py_TRACE_REFS); -EAGAIN: it cannot be
 * read (yet); -EPERM, -ESRCH, -ENOMEM. */
int python_remote_new(uint32_t pid, const struct python_remote_file *file,
		      const struct python_remote_file *program, struct python_remote **ret_remote);
void python_remote_free(struct python_remote *remote); /* NULL-safe */

struct python_remote_frame {
	/* qualified (Class.method) from 3.11 on; NULL: unreadable, or already freed */
	const char *function;
	const char *file;          /* both live until python_remote_free */
	uint32_t first_line, line; /* 0: not known */
	bool is_entry;             /* the outermost frame of its C evaluation frame */
	uint64_t address;          /* address of the interpreter's frame object; 0: already freed */
	uint64_t c_address; /* is_entry: an address in that C frame (3.12 and later); 0: unknown */
};

struct python_remote_gap {
	uint32_t at, frames; /* number of frames left out before frame `at`; 0: none */
	uint32_t entries;    /* number of left-out frames with is_entry */
	/* Calls and returns happened during the read: the frames inside the first one are unknown.
	 * At a glance: functions returned, so the innermost functions may be a microsecond newer
	 * than the lines of the outer ones. */
	bool is_moving;
	bool is_collecting; /* the innermost frame collects the interpreter's garbage */
};

/* Innermost first; returns the number written, at most `most`; of a deeper stack, both ends are
 * kept. 0: the thread runs no Python. is_glance: from one copy, which takes half as long and does
 * not under-report short functions. Errors: -EAGAIN: its stack changed during every read, or data
 * is inconsistent; -E2BIG: deeper than the limit, or than the limit of a first read; -ESRCH,
 * -EPERM, -ENOMEM. Does not set the error chain. */
int python_remote_frames(struct python_remote *remote, uint32_t tid, bool is_glance,
			 struct python_remote_frame *frames, size_t most,
			 struct python_remote_gap *ret_gap);

/* Places of the frames, for a BPF program. Errors: -EAGAIN: not known yet; -ENOTSUP: too large;
 * -ENOMEM, -ESRCH, -EPERM. */
int python_remote_places(struct python_remote *remote, struct kernel_python *ret_places);
/* Like python_remote_frames, of frames that a BPF program copied. Code objects are read now, or
 * known from before. */
int python_remote_copied(struct python_remote *remote, const struct kernel_python_stack *copied,
			 struct python_remote_frame *frames, size_t most,
			 struct python_remote_gap *ret_gap);

/* Up to 3.10: the function of a frame whose address was returned before, whether it still runs or
 * not; the line is unknown. Such an object belongs to its function as long as that lives, except
 * for recursive calls. -EAGAIN: no frame there, or one with an unknown code object; -ENOTSUP: from
 * 3.11 on; -ESRCH, -EPERM, -ENOMEM. */
int python_remote_object(struct python_remote *remote, uint64_t address,
			 struct python_remote_frame *ret_frame);

/* Whether an address lies in the interpreter's evaluation function; for a return address pass the
 * byte before. */
bool python_remote_is_evaluation(const struct python_remote *remote, uint64_t pc);

/* Whether an address that a thread sleeps on lies in the lock (the GIL) of an interpreter. 1: yes,
 * and the lock's address; 0: no. Errors: -EAGAIN: inconsistent data; -ESRCH, -EPERM. Does not set
 * the error chain. */
int python_remote_lock(struct python_remote *remote, uint64_t address, uint64_t *ret_lock);

/* Number of threads that wait for a lock of an interpreter, as far as it is known. */
uint32_t python_remote_waiters(struct python_remote *remote);

/* A copy of the process's memory. */
struct python_remote_copy {
	uint64_t address;
	const void *bytes; /* borrowed */
	size_t size;
};

struct python_remote_holder {
	uint32_t tid; /* 0: the lock is free, or the thread is not known */
	/* Number of times that another thread than the last one has taken the lock; 0: not known.
	 * As long as it stays the same, a thread that waits for the lock is in the same call. */
	uint64_t switches;
};

/* The holder of a lock, for a thread that waits for it. copy: contains the lock's memory as it was
 * when the wait began; NULL: the lock is read now. Errors: as above, and -ENOMEM. */
int python_remote_holder(struct python_remote *remote, uint32_t tid, uint64_t lock,
			 const struct python_remote_copy *copy,
			 struct python_remote_holder *ret_holder);

/* 0xMMmm: 0x030b for 3.11. */
uint16_t python_remote_version(const struct python_remote *remote);

/* Number of system calls made so far to read its memory. */
uint64_t python_remote_calls(const struct python_remote *remote);
