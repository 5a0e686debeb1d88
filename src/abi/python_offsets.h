/* SPDX-License-Identifier: MIT
 *
 * abi/python_offsets.h - offsets of CPython's frames, code objects and texts, by version
 *
 * Runs in:  guests and our own process; freestanding
 * Source:   the public headers of each version, 64 bits. 3.8 to 3.13: written by
 *           tests/generate/python_offsets.py and compared with every installed version's headers by
 *           the test python-offsets. 3.14: from its published headers, not compared with an
 *           interpreter. From 3.13 on an interpreter contains most offsets itself, in struct
 *           _Py_DebugOffsets at the start of _PyRuntime. The offsets from the interpreter are used
 *           instead of the table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum python_layout {
	PYTHON_LAYOUT_OBJECTS = 1, /* 3.8 to 3.10: one PyFrameObject, one C evaluation frame each */
	PYTHON_LAYOUT_ENTRY =
		2, /* 3.11: several frames in one C frame; the last of them has is_entry set */
	PYTHON_LAYOUT_SHIM = 3 /* 3.12 and later: a frame without code represents each C frame */
};

/* X(type, member, its value in each version from 3.8 to 3.14): byte offsets in the structure whose
 * name is the prefix of the member; 0 also where a version has no such member, and in 3.14 for
 * offsets that are read from the interpreter. Not formatted, because clang-format would dissolve
 * the columns. */
/* clang-format off */
#define PYTHON_OFFSETS(X)                                                                          \
	X(uint16_t, version,              0x0308, 0x0309, 0x030a, 0x030b, 0x030c, 0x030d, 0x030e)  \
	X(uint8_t, layout, PYTHON_LAYOUT_OBJECTS, PYTHON_LAYOUT_OBJECTS, PYTHON_LAYOUT_OBJECTS,    \
	  PYTHON_LAYOUT_ENTRY, PYTHON_LAYOUT_SHIM, PYTHON_LAYOUT_SHIM, PYTHON_LAYOUT_SHIM)         \
	/* bytes per unit of frame_instruction; 0: that field is a pointer into the code */        \
	X(uint8_t, unit,                       1,      1,      2,      0,      0,      0,      0)  \
	/* frame_owner of a frame without code */                                                  \
	X(uint8_t, shim,                       0,      0,      0,      0,      3,      3,      3)  \
	/* 1: thread_frame leads to a structure that has the frame at cframe_frame */              \
	X(uint8_t, cframe,                     0,      0,      0,      1,      1,      0,      0)  \
	/* thread state that ends the interpreter */                                               \
	X(uint16_t, runtime_finalizing,       16,     16,     16,     24,     24,    608,      0)  \
	/* lists: the first entry */                                                               \
	X(uint16_t, runtime_interpreters,     32,     32,     32,     40,     40,    632,      0)  \
	X(uint16_t, interpreter_next,          0,      0,      0,      0,      0,   7264,      0)  \
	X(uint16_t, interpreter_threads,       8,      8,      8,     16,     72,   7344,      0)  \
	X(uint16_t, thread_next,               8,      8,      8,      8,      8,      8,      0)  \
	X(uint16_t, thread_native_id,          0,      0,      0,    160,    144,    160,      0)  \
	/* newest chunk of the data stack, followed by the stack's end */                          \
	X(uint16_t, thread_chunk,              0,      0,      0,    296,    232,    232,      0)  \
	X(uint16_t, thread_id,               176,    176,    176,    152,    136,    152,      0)  \
	X(uint16_t, thread_frame,             24,     24,     24,     56,     56,     72,      0)  \
	X(uint16_t, cframe_frame,              0,      0,      0,      8,      0,      0,      0)  \
	/* The interpreter's lock (GIL): part of _PyRuntime up to 3.11, behind a pointer           \
	 * in the interpreter from 3.12 on. Its holder is a thread state, which remains            \
	 * there after it has released the lock. */                                                \
	X(uint16_t, runtime_lock,           1152,    352,    352,    360,      0,      0,      0)  \
	X(uint16_t, interpreter_lock,          0,      0,      0,      0,    384,     16,      0)  \
	X(uint16_t, thread_interpreter,       16,     16,     16,     16,     16,     16,      0)  \
	X(uint16_t, lock_holder,               8,      8,      8,      8,      8,      8,      8)  \
	/* an int: 1 */                                                                            \
	X(uint16_t, lock_taken,               16,     16,     16,     16,     16,     16,     16)  \
	/* its condition variable: number of waiters above three flags (glibc 2.25 and later) */   \
	X(uint16_t, lock_waiters,             68,     68,     68,     68,     68,     68,     68)  \
	/* number of times that another thread has taken it */                                     \
	X(uint16_t, lock_switches,            24,     24,     24,     24,     24,     24,     24)  \
	X(uint16_t, lock_bytes,              208,    208,    208,    208,    208,    208,    208)  \
	/* The state of the garbage collector: part of _PyRuntime in 3.8, of the interpreter       \
	 * from 3.9 on; and an int in it: 1 during a collection. */                                \
	X(uint16_t, runtime_collector,       344,      0,      0,      0,      0,      0,      0)  \
	X(uint16_t, interpreter_collector,     0,    616,    616,    648,    112,   7400,      0)  \
	X(uint16_t, collector_runs,          200,    200,    200,    200,    200,    200,      0)  \
	X(uint16_t, frame_previous,           24,     24,     24,     48,      8,      8,      8)  \
	X(uint16_t, frame_code,               32,     32,     32,     32,      0,      0,      0)  \
	X(uint16_t, frame_instruction,       104,    104,     96,     56,     56,     56,     56)  \
	X(uint16_t, frame_owner,               0,      0,      0,     69,     70,     70,     74)  \
	X(uint16_t, frame_entry,               0,      0,      0,     68,      0,      0,      0)  \
	X(uint16_t, object_type,               8,      8,      8,      8,      8,      8,      8)  \
	X(uint16_t, code_first_line,          40,     40,     40,     72,     68,     68,     68)  \
	X(uint16_t, code_file,               104,    104,    104,    112,    112,    112,    112)  \
	X(uint16_t, code_name,               112,    112,    112,    120,    120,    120,    120)  \
	X(uint16_t, code_qualified_name,       0,      0,      0,    128,    128,    128,    128)  \
	X(uint16_t, code_lines,              120,    120,    120,    136,    136,    136,    136)  \
	X(uint16_t, code_first_traceable,      0,      0,      0,    168,    176,    184,    192)  \
	X(uint16_t, code_instructions,         0,      0,      0,    184,    192,    200,    208)  \
	/* a number that is unique among the code objects of the process */                        \
	X(uint16_t, code_version,              0,      0,      0,      0,     92,     92,      0)  \
	X(uint16_t, text_length,              16,     16,     16,     16,     16,     16,     16)  \
	X(uint16_t, text_state,               32,     32,     32,     32,     32,     32,     32)  \
	/* sizes: offset of the characters */                                                      \
	X(uint16_t, text_ascii,               48,     48,     48,     48,     40,     40,     40)  \
	X(uint16_t, text_compact,             72,     72,     72,     72,     56,     56,     56)  \
	X(uint16_t, bytes_length,             16,     16,     16,     16,     16,     16,     16)  \
	X(uint16_t, bytes_data,               32,     32,     32,     32,     32,     32,     32)
/* clang-format on */

struct python_offsets {
#define PYTHON_MEMBER(type, name, ...) type name;
	PYTHON_OFFSETS(PYTHON_MEMBER)
#undef PYTHON_MEMBER
};

/* The data stack consists of chunks: previous chunk, size, words in use (not in the newest),
 * data. */
enum {
	PYTHON_STACK_TOP = 8, /* behind thread_chunk: end of the used part of the newest chunk */
	PYTHON_CHUNK_TOP = 16,
	PYTHON_CHUNK_DATA = 24
};

#define PYTHON_ROW(minor)                                           ((minor)-8)
#define PYTHON_IN_8(type, name, value, ...)                         .name = value,
#define PYTHON_IN_9(type, name, v8, value, ...)                     .name = value,
#define PYTHON_IN_10(type, name, v8, v9, value, ...)                .name = value,
#define PYTHON_IN_11(type, name, v8, v9, v10, value, ...)           .name = value,
#define PYTHON_IN_12(type, name, v8, v9, v10, v11, value, ...)      .name = value,
#define PYTHON_IN_13(type, name, v8, v9, v10, v11, v12, value, ...) .name = value,
#define PYTHON_IN_14(type, name, v8, v9, v10, v11, v12, v13, value) .name = value,
static const struct python_offsets python_offsets[] = {
	[PYTHON_ROW(8)] = {PYTHON_OFFSETS(PYTHON_IN_8)},
	[PYTHON_ROW(9)] = {PYTHON_OFFSETS(PYTHON_IN_9)},
	[PYTHON_ROW(10)] = {PYTHON_OFFSETS(PYTHON_IN_10)},
	[PYTHON_ROW(11)] = {PYTHON_OFFSETS(PYTHON_IN_11)},
	[PYTHON_ROW(12)] = {PYTHON_OFFSETS(PYTHON_IN_12)},
	[PYTHON_ROW(13)] = {PYTHON_OFFSETS(PYTHON_IN_13)},
	[PYTHON_ROW(14)] = {PYTHON_OFFSETS(PYTHON_IN_14)},
};

#define PYTHON_DEBUG_COOKIE 0x7970677562656478u /* "xdebugpy" */
enum {
	PYTHON_DEBUG_COOKIE_WORD = 0,
	PYTHON_DEBUG_VERSION_WORD = 1,
	PYTHON_DEBUG_FREE_WORD = 2, /* word of a build without the GIL */
	PYTHON_DEBUG_FIRST = 0x030d,
	PYTHON_DEBUG_VERSIONS = 2,
	PYTHON_DEBUG_WORDS = 96 /* at least this many words are readable */
};

/* The 64-bit word of _Py_DebugOffsets that contains a member, in 3.13 and in 3.14. */
struct python_debug_word {
	uint8_t member; /* offset in struct python_offsets */
	uint8_t word[PYTHON_DEBUG_VERSIONS];
	uint16_t below; /* limit of plausible values; 0: the table's value */
};

#define PYTHON_DEBUG_WORD(name, in_3_13, in_3_14, below)                         \
	{                                                                        \
		offsetof(struct python_offsets, name), {in_3_13, in_3_14}, below \
	}
static const struct python_debug_word python_debug_words[] = {
	/* These come first, because they show that the words have the expected meaning. */
	PYTHON_DEBUG_WORD(object_type, 45, 51, 0),
	PYTHON_DEBUG_WORD(bytes_length, 65, 75, 0),
	PYTHON_DEBUG_WORD(bytes_data, 66, 76, 0),
	PYTHON_DEBUG_WORD(text_length, 69, 79, 0),
	PYTHON_DEBUG_WORD(text_state, 68, 78, 0),
	PYTHON_DEBUG_WORD(text_ascii, 70, 80, 0),
	PYTHON_DEBUG_WORD(runtime_finalizing, 4, 4, 32768),
	PYTHON_DEBUG_WORD(runtime_interpreters, 5, 5, 32768),
	PYTHON_DEBUG_WORD(interpreter_next, 8, 8, UINT16_MAX),
	PYTHON_DEBUG_WORD(interpreter_threads, 9, 9, UINT16_MAX),
	PYTHON_DEBUG_WORD(interpreter_lock, 14, 15, UINT16_MAX),
	PYTHON_DEBUG_WORD(interpreter_collector, 10, 11, UINT16_MAX),
	PYTHON_DEBUG_WORD(collector_runs, 72, 82, 4096),
	PYTHON_DEBUG_WORD(thread_interpreter, 22, 25, 4096),
	PYTHON_DEBUG_WORD(thread_next, 21, 24, 4096),
	PYTHON_DEBUG_WORD(thread_native_id, 25, 28, 4096),
	PYTHON_DEBUG_WORD(thread_chunk, 26, 29, 4096),
	PYTHON_DEBUG_WORD(thread_id, 24, 27, 4096),
	PYTHON_DEBUG_WORD(thread_frame, 23, 26, 4096),
	PYTHON_DEBUG_WORD(frame_previous, 29, 32, 256),
	PYTHON_DEBUG_WORD(frame_code, 30, 33, 256),
	PYTHON_DEBUG_WORD(frame_instruction, 31, 34, 256),
	PYTHON_DEBUG_WORD(frame_owner, 33, 36, 256),
	PYTHON_DEBUG_WORD(code_first_line, 39, 44, 1024),
	PYTHON_DEBUG_WORD(code_file, 35, 40, 1024),
	PYTHON_DEBUG_WORD(code_name, 36, 41, 1024),
	PYTHON_DEBUG_WORD(code_qualified_name, 37, 42, 1024),
	PYTHON_DEBUG_WORD(code_lines, 38, 43, 1024),
	PYTHON_DEBUG_WORD(code_instructions, 43, 48, 1024),
};

/* Returns the offsets of a version; NULL if it is unknown. */
static inline const struct python_offsets *python_offsets_find(uint16_t version)
{
	for (size_t i = 0; i < sizeof(python_offsets) / sizeof(python_offsets[0]); i++)
		if (python_offsets[i].version == version)
			return &python_offsets[i];
	return NULL;
}

static inline bool python_offsets_speak(uint16_t version)
{
	return version >= PYTHON_DEBUG_FIRST &&
	       version < PYTHON_DEBUG_FIRST + PYTHON_DEBUG_VERSIONS;
}

/* Reads the offsets that an interpreter provides in the words at the start of its _PyRuntime.
 * False: it provides none, or none that are plausible. Builds without the GIL are not supported,
 * because they copy the instructions for each thread. */
static inline bool python_offsets_read(const uint64_t *words, struct python_offsets *offsets)
{
	const size_t count = sizeof(python_debug_words) / sizeof(python_debug_words[0]);
	const uint16_t traceable = offsets->code_instructions - offsets->code_first_traceable;
	const uint16_t version = offsets->code_version - offsets->code_first_line;
	struct python_offsets said = *offsets;

	if (!python_offsets_speak(offsets->version) ||
	    words[PYTHON_DEBUG_COOKIE_WORD] != PYTHON_DEBUG_COOKIE ||
	    words[PYTHON_DEBUG_VERSION_WORD] >> 16 != offsets->version ||
	    words[PYTHON_DEBUG_FREE_WORD] != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct python_debug_word *at = &python_debug_words[i];
		uint64_t value = words[at->word[offsets->version - PYTHON_DEBUG_FIRST]];
		uint16_t *member = (uint16_t *)(void *)((uint8_t *)&said + at->member);

		if (at->below ? value >= at->below : value != *member)
			return false;
		*member = (uint16_t)value;
	}
	if (said.code_instructions < traceable)
		return false;
	said.code_first_traceable = said.code_instructions - traceable;
	if (offsets->code_version)
		said.code_version = said.code_first_line + version;
	*offsets = said;
	return true;
}
