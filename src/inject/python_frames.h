/* SPDX-License-Identifier: MIT
 *
 * inject/python_frames.h - the Python call stack of the calling thread
 *
 * Runs in:  the profiled process, at launches
 * Manners:  reads memory and calls PyGILState_GetThisThreadState, which takes no lock and needs none; no
 *           allocation, no descriptor. Only what the calling thread's own state leads to is read: that state
 *           and its frames change only by this thread, whether or not it holds the interpreter's lock.
 */
#ifndef INJECT_PYTHON_FRAMES_H
#define INJECT_PYTHON_FRAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "event/python_offsets.h"

#pragma GCC visibility push(hidden)

enum {
	PYTHON_INTERPRETERS_MOST = 4, /* in one process; unloaded ones keep their place */
	PYTHON_DEPTH_MOST = 1 << 20,  /* whoever is deeper is lost in a loop */
	PYTHON_NAME_BYTES = 256,      /* of a text with its final NUL; what is longer is cut */
	PYTHON_FILE_BYTES = 1024
};

/* One libpython or executable that has the interpreter in it. */
struct python_interpreter {
	_Atomic bool there;
	bool seen;
	bool is_by_table;           /* at is the version's row */
	void *(*this_thread)(void); /* PyGILState_GetThisThreadState */
	uint64_t runtime;           /* _PyRuntime */
	uint64_t code_type, text_type, bytes_type;
	/* _PyEval_EvalFrameDefault: what is hot and what the compiler moved away as cold. */
	uint64_t hot_begin, hot_end, cold_begin, cold_end;
	struct python_offsets at;
};

/* Zeroed at first. python_find_again fills it; all others may run meanwhile. */
struct python {
	_Atomic uint32_t finding; /* a thread is in python_find_again */
	_Atomic uint64_t loads, unloads;
	_Atomic uint32_t count; /* of interpreters[] that are filled in */
	_Atomic bool is_unknown;
	char unknown[48];
	struct python_interpreter interpreters[PYTHON_INTERPRETERS_MOST];
};

struct python_frame {
	uint64_t code;        /* 0: a C evaluation frame whose Python frame is gone already */
	uint32_t instruction; /* its byte offset in the code */
	bool entry; /* the last one of its C evaluation frame: the next Python frame belongs to the next
		     * interpreter frame further out on the native stack */
};

/* Looks for an interpreter in this process: once at first, again when libraries were loaded or unloaded, as counters say
 * that were just read (dlpi_adds and dlpi_subs of dl_iterate_phdr); to be called before python_frames wherever a library
 * may have gone. False: none, or one whose layout is not known. */
bool python_find_again(struct python *python, uint64_t loads, uint64_t unloads);

/* The version of an interpreter that was found but is not known, NULL where there is none. */
const char *python_unknown_version(const struct python *python);

/* Only for a thread whose stack has an evaluation frame (python_is_evaluation): an interpreter that another
 * thread is just loading is found before it can be called.
 *
 * Frames of the calling thread, innermost first; the number written, at most `most`. Of more the
 * innermost and the outermost are kept. 0 without a thread state, or while the interpreter is being ended by
 * another thread.
 *
 * With frames in sub-interpreters: up to 3.11 those of the thread's first interpreter, from 3.12 on those of
 * the one that it entered last. */
struct python_gap {
	uint32_t at;      /* before which frame */
	uint32_t frames;  /* so many are left out; 0: none */
	uint32_t entries; /* of them the last ones of their C evaluation frames */
};
uint32_t python_frames(const struct python *python, struct python_frame *frames, uint32_t most,
		       struct python_gap *ret_gap);

/* True for an address inside the interpreter's evaluation function; of a return address, the byte before is
 * to be asked for. Builds that evaluate by tail calls keep that function once on the stack for each C
 * evaluation frame too; their handlers, further in, are not part of it. */
bool python_is_evaluation(const struct python *python, uint64_t pc);

/* Valid while the code runs on this thread's stack. */
struct python_code {
	uint16_t version; /* 0x030b: says how lines is to be read */
	uint32_t first_line;
	uint32_t name_length, file_length; /* bytes without the NUL */
	bool is_name_cut, is_file_cut;
	const uint8_t *lines; /* in the interpreter's memory */
	uint64_t lines_bytes;
	/* UTF-8; characters that are none are U+FFFD. The name is qualified (Class.method) from 3.11 on. */
	char name[PYTHON_NAME_BYTES];
	char file[PYTHON_FILE_BYTES];
};

/* What a code object of the last python_frames says; data, not to be trusted. False: what lies there makes
 * no sense, and *ret_code holds nothing of use. */
bool python_code(const struct python *python, uint64_t code, struct python_code *ret_code);

/* Tells a code object from a later one at the same address, of the same name, on the same line: a cell of a
 * notebook that was run again. No padding: may be hashed as bytes. */
struct python_key {
	uint64_t code, name; /* pointers */
	uint64_t content;    /* of the first line, and of the ends of line table and file name */
};
/* Of frames of the last python_frames. code 0: there is none, or what lies there is none. */
void python_keys(const struct python *python, const struct python_frame *frames, uint32_t count,
		 struct python_key *ret_keys);

#pragma GCC visibility pop

#endif
