/* SPDX-License-Identifier: MIT
 *
 * symbol/python_remote.h - the Python functions that a thread of another process is executing
 *
 * CPython 3.8 to 3.14. The process runs on meanwhile: what is told is what it executed at one moment of the call, or
 * nothing.
 */
#ifndef SYMBOL_PYTHON_REMOTE_H
#define SYMBOL_PYTHON_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_remote; /* one interpreter in one process */

/* A file that the process has mapped, and what is to be added to its symbols' values. */
struct python_remote_file {
	int fd; /* borrowed, and not needed after python_remote_new */
	uint64_t load_address;
};

/* file: what has the interpreter in it, libpython or the program. program: the program itself, which may hold the copies
 * of a library's data that are in use; NULL: file is the program.
 * Errors, with their cause in the error chain but for the first: -ENOENT: no interpreter in this file; -ENOTSUP: one that
 * is not known (too old, too new, free-threaded, with Py_TRACE_REFS); -EAGAIN: it cannot be read (yet); -EPERM, -ESRCH,
 * -ENOMEM. */
int python_remote_new(uint32_t pid, const struct python_remote_file *file,
		      const struct python_remote_file *program, struct python_remote **ret_remote);
void python_remote_free(struct python_remote *remote); /* NULL-safe */

struct python_remote_frame {
	const char *
		function; /* qualified (Class.method) from 3.11 on; NULL: could not be read, or is gone already */
	const char *file;          /* both live until python_remote_free */
	uint32_t first_line, line; /* 0: not known */
	bool is_entry; /* the last one, going outwards, that its C frame of the evaluation function holds */
	uint64_t address;   /* of what the interpreter keeps of it; 0: gone already */
	uint64_t c_address; /* is_entry: somewhere in that C frame (3.12 and later); 0: not known */
};

struct python_remote_gap {
	uint32_t at, frames; /* so many frames are left out before frame `at`; 0: none */
	uint32_t entries;    /* of them is_entry */
	bool is_moving; /* calls and returns went on meanwhile: the frames inside of the first one are not known; for a glance see
			 * there */
};

/* Innermost first; the number written, at most `most`; of more, both ends are kept. 0: the thread runs no Python. Errors:
 * -EAGAIN: it moved on too fast, or something makes no sense; -E2BIG: deeper than is read, or than is read the first time; -ESRCH, -EPERM, -ENOMEM. The
 * error chain is left alone. */
int python_remote_frames(struct python_remote *remote, uint32_t tid,
			 struct python_remote_frame *frames, size_t most,
			 struct python_remote_gap *ret_gap);

/* The same by one copy: half as long, and no function is left out because it is short. is_moving: returns went on
 * meanwhile, so that the innermost functions may be those of a microsecond later than the outer ones' lines. */
int python_remote_glance(struct python_remote *remote, uint32_t tid,
			 struct python_remote_frame *frames, size_t most,
			 struct python_remote_gap *ret_gap);

/* Up to 3.10: the function of a frame whose address was told before, whether it still runs or not; the line is not known.
 * Such an object is its function's as long as that lives, but for recursive calls. -EAGAIN: no frame is there, or of what
 * nobody knew before; -ENOTSUP: from 3.11 on; -ESRCH, -EPERM, -ENOMEM. */
int python_remote_object(struct python_remote *remote, uint64_t address,
			 struct python_remote_frame *ret_frame);

/* Whether an address lies in the interpreter's evaluation function; of a return address ask for the byte before. */
bool python_remote_is_evaluation(const struct python_remote *remote, uint64_t pc);

/* Whether an address that a thread sleeps on belongs to the lock (the GIL) of an interpreter, and who has that. 1: yes,
 * *ret_holder is the holder's thread id, 0 where nobody has it or its id is not known; 0: no. Errors: -EAGAIN: something
 * makes no sense; -ESRCH, -EPERM, -ENOMEM. The error chain is left alone. */
int python_remote_lock(struct python_remote *remote, uint32_t tid, uint64_t address,
		       uint32_t *ret_holder);

/* 0x030b: 3.11. */
uint16_t python_remote_version(const struct python_remote *remote);

/* System calls made so far to read its memory. */
uint64_t python_remote_calls(const struct python_remote *remote);

#endif
