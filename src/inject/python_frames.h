/* SPDX-License-Identifier: MIT
 *
 * inject/python_frames.h - the Python call stack of the calling thread
 *
 * Runs in:  the profiled process, at launches
 * Manners:  reads memory and calls PyGILState_GetThisThreadState, which takes no lock and needs
 *           none; no allocation, no descriptor. It reads only data reached from the calling
 *           thread's own state: that state and its frames are changed only by this thread, whether
 *           or not it holds the interpreter's lock.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/python_offsets.h"

#pragma GCC visibility push(hidden)

enum {
	MAX_PYTHON_INTERPRETERS = 4, /* in one process; unloaded ones keep their slot */
	MAX_PYTHON_DEPTH = 1 << 20,  /* a deeper walk is in a loop */
	/* bytes of a text with its final NUL; a longer text is truncated */
	PYTHON_NAME_BYTES = 256,
	PYTHON_FILE_BYTES = 1024
};

/* One libpython or executable that contains an interpreter. */
struct python_interpreter {
	_Atomic bool there;
	bool seen;
	bool is_by_table;           /* `at` is the version's row */
	void *(*this_thread)(void); /* PyGILState_GetThisThreadState */
	uint64_t runtime;           /* _PyRuntime */
	uint64_t code_type, text_type, bytes_type;
	/* _PyEval_EvalFrameDefault: its hot part and the cold part that the compiler moved away. */
	uint64_t hot_begin, hot_end, cold_begin, cold_end;
	struct python_offsets at;
};

/* Zeroed at first. python_find_again fills it; all other functions may run meanwhile. */
struct python {
	_Atomic uint32_t finding; /* a thread is in python_find_again */
	_Atomic uint64_t loads, unloads;
	_Atomic uint32_t count; /* number of interpreters[] that are filled in */
	_Atomic bool is_unknown;
	char unknown[48];
	struct python_interpreter interpreters[MAX_PYTHON_INTERPRETERS];
};

struct python_frame {
	uint64_t code;        /* 0: a C evaluation frame whose Python frame is already gone */
	uint32_t instruction; /* its byte offset in the code */
	/* the outermost frame of its C evaluation frame: the next Python frame belongs to the next
	 * interpreter frame further out on the native stack */
	bool entry;
};

/* Searches an interpreter in this process: once at first, and again when libraries were loaded or
 * unloaded, according to the counters just read (dlpi_adds and dlpi_subs of dl_iterate_phdr). Call
 * it before python_frames if a library may have been unloaded. False: none, or one of unknown
 * layout. */
bool python_find_again(struct python *python, uint64_t loads, uint64_t unloads);

/* Returns the version of an interpreter that was found but is not supported; NULL if there is
 * none. */
const char *python_unknown_version(const struct python *python);

/*
 * Reads the frames of the calling thread, innermost first; returns the number written, at most
 * `most`. A deeper stack keeps its innermost and outermost frames. 0 without a thread state, or
 * while another thread ends the interpreter.
 *
 * Call it only for a thread whose stack has an evaluation frame (python_is_evaluation): an
 * interpreter that another thread is just loading is found before it can be called.
 *
 * With frames in sub-interpreters: up to 3.11 those of the thread's first interpreter, from 3.12 on
 * those of the one that it entered last.
 */
struct python_gap {
	uint32_t at;     /* index of the frame behind the gap */
	uint32_t frames; /* number of frames left out; 0: none */
	/* omitted frames that are the outermost ones of their C evaluation frames */
	uint32_t entries;
};
uint32_t python_frames(const struct python *python, struct python_frame *frames, uint32_t most,
		       struct python_gap *ret_gap);

/* True for an address inside the interpreter's evaluation function; for a return address pass the
 * byte before. Builds that evaluate by tail calls also have that function on the stack once for
 * each C evaluation frame; their handlers, further in, are not part of it. */
bool python_is_evaluation(const struct python *python, uint64_t pc);

/* Valid while the code runs on this thread's stack. */
struct python_code {
	uint16_t version; /* 0x030b: determines the format of `lines` */
	uint32_t first_line;
	uint32_t name_length, file_length; /* bytes without the NUL */
	bool is_name_cut, is_file_cut;
	const uint8_t *lines; /* in the interpreter's memory */
	uint64_t lines_bytes;
	/* UTF-8; invalid characters are U+FFFD. The name is qualified (Class.method) from 3.11 on.
	 */
	char name[PYTHON_NAME_BYTES];
	char file[PYTHON_FILE_BYTES];
};

/* Reads a code object of the last python_frames; its contents are untrusted. False: not a valid
 * code object, and *ret_code is unusable. */
bool python_code(const struct python *python, uint64_t code, struct python_code *ret_code);

/* Distinguishes a code object from a later one at the same address, of the same name, on the same
 * line: a notebook cell that was run again. No padding: may be hashed as bytes. */
struct python_key {
	uint64_t code, name; /* pointers */
	uint64_t content;    /* from the first line, and the ends of line table and file name */
};
/* For frames of the last python_frames. code 0: none, or not a valid code object. */
void python_keys(const struct python *python, const struct python_frame *frames, uint32_t count,
		 struct python_key *ret_keys);

#pragma GCC visibility pop
