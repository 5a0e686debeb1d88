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
#ifndef ABI_PYTHON_OFFSETS_H
#define ABI_PYTHON_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum python_layout {
	PYTHON_LAYOUT_OBJECTS = 1, /* 3.8 to 3.10: one PyFrameObject, one C evaluation frame each */
	PYTHON_LAYOUT_ENTRY =
		2, /* 3.11: several frames in one C frame; the last of them has is_entry set */
	PYTHON_LAYOUT_SHIM = 3 /* 3.12 and later: a frame without code represents each C frame */
};

/* Byte offsets in the structure whose name is the prefix of the member. */
struct python_offsets {
	uint16_t version; /* 0x030b: 3.11 */
	uint8_t layout;   /* enum python_layout */
	/* bytes per unit of frame_instruction; 0: that field is a pointer into the code */
	uint8_t unit;
	uint8_t shim;   /* frame_owner of a frame without code */
	uint8_t cframe; /* 1: thread_frame leads to a structure that has the frame at cframe_frame
			 */
	uint16_t runtime_finalizing; /* thread state that ends the interpreter */
	uint16_t runtime_interpreters, interpreter_next,
		interpreter_threads; /* lists: the first entry */
	uint16_t thread_next, thread_native_id /* 0: none */;
	/* newest chunk of the data stack, followed by the stack's end; 0: none */
	uint16_t thread_chunk;
	uint16_t thread_id, thread_frame, cframe_frame;
	/* The interpreter's lock (GIL): part of _PyRuntime up to 3.11, behind a pointer in the
	 * interpreter from 3.12 on. Its holder is a thread state, which remains there after it has
	 * released the lock. */
	uint16_t runtime_lock, interpreter_lock, thread_interpreter;
	uint16_t lock_holder, lock_taken /* an int: 1 */, lock_bytes;
	uint16_t frame_previous, frame_code, frame_instruction, frame_owner, frame_entry;
	uint16_t object_type;
	uint16_t code_first_line, code_file, code_name, code_qualified_name /* 0: none */,
		code_lines, code_first_traceable, code_instructions;
	/* a number that is unique among the code objects of the process; 0: none */
	uint16_t code_version;
	uint16_t text_length, text_state;
	uint16_t text_ascii, text_compact; /* sizes: offset of the characters */
	uint16_t bytes_length, bytes_data;
};

/* The data stack consists of chunks: previous chunk, size, words in use (not in the newest),
 * data. */
enum {
	PYTHON_STACK_TOP = 8, /* behind thread_chunk: end of the used part of the newest chunk */
	PYTHON_CHUNK_TOP = 16,
	PYTHON_CHUNK_DATA = 24
};

#define PYTHON_ROW(minor) ((minor)-8)

static const struct python_offsets python_offsets[] = {
	[PYTHON_ROW(8)] =
		{
			.version = 0x0308,
			.layout = PYTHON_LAYOUT_OBJECTS,
			.unit = 1,
			.runtime_finalizing = 16,
			.runtime_interpreters = 32,
			.interpreter_threads = 8,
			.thread_next = 8,
			.thread_id = 176,
			.thread_frame = 24,
			.runtime_lock = 1152,
			.thread_interpreter = 16,
			.lock_holder = 8,
			.lock_taken = 16,
			.lock_bytes = 208,
			.frame_previous = 24,
			.frame_code = 32,
			.frame_instruction = 104,
			.object_type = 8,
			.code_first_line = 40,
			.code_file = 104,
			.code_name = 112,
			.code_lines = 120,
			.text_length = 16,
			.text_state = 32,
			.text_ascii = 48,
			.text_compact = 72,
			.bytes_length = 16,
			.bytes_data = 32,
		},
	[PYTHON_ROW(9)] =
		{
			.version = 0x0309,
			.layout = PYTHON_LAYOUT_OBJECTS,
			.unit = 1,
			.runtime_finalizing = 16,
			.runtime_interpreters = 32,
			.interpreter_threads = 8,
			.thread_next = 8,
			.thread_id = 176,
			.thread_frame = 24,
			.runtime_lock = 352,
			.thread_interpreter = 16,
			.lock_holder = 8,
			.lock_taken = 16,
			.lock_bytes = 208,
			.frame_previous = 24,
			.frame_code = 32,
			.frame_instruction = 104,
			.object_type = 8,
			.code_first_line = 40,
			.code_file = 104,
			.code_name = 112,
			.code_lines = 120,
			.text_length = 16,
			.text_state = 32,
			.text_ascii = 48,
			.text_compact = 72,
			.bytes_length = 16,
			.bytes_data = 32,
		},
	[PYTHON_ROW(10)] =
		{
			.version = 0x030a,
			.layout = PYTHON_LAYOUT_OBJECTS,
			.unit = 2,
			.runtime_finalizing = 16,
			.runtime_interpreters = 32,
			.interpreter_threads = 8,
			.thread_next = 8,
			.thread_id = 176,
			.thread_frame = 24,
			.runtime_lock = 352,
			.thread_interpreter = 16,
			.lock_holder = 8,
			.lock_taken = 16,
			.lock_bytes = 208,
			.frame_previous = 24,
			.frame_code = 32,
			.frame_instruction = 96,
			.object_type = 8,
			.code_first_line = 40,
			.code_file = 104,
			.code_name = 112,
			.code_lines = 120,
			.text_length = 16,
			.text_state = 32,
			.text_ascii = 48,
			.text_compact = 72,
			.bytes_length = 16,
			.bytes_data = 32,
		},
	[PYTHON_ROW(11)] =
		{
			.version = 0x030b,
			.layout = PYTHON_LAYOUT_ENTRY,
			.cframe = 1,
			.runtime_finalizing = 24,
			.runtime_interpreters = 40,
			.interpreter_threads = 16,
			.thread_next = 8,
			.thread_native_id = 160,
			.thread_chunk = 296,
			.thread_id = 152,
			.thread_frame = 56,
			.cframe_frame = 8,
			.runtime_lock = 360,
			.thread_interpreter = 16,
			.lock_holder = 8,
			.lock_taken = 16,
			.lock_bytes = 208,
			.frame_previous = 48,
			.frame_code = 32,
			.frame_instruction = 56,
			.frame_owner = 69,
			.frame_entry = 68,
			.object_type = 8,
			.code_first_line = 72,
			.code_file = 112,
			.code_name = 120,
			.code_qualified_name = 128,
			.code_lines = 136,
			.code_first_traceable = 168,
			.code_instructions = 184,
			.text_length = 16,
			.text_state = 32,
			.text_ascii = 48,
			.text_compact = 72,
			.bytes_length = 16,
			.bytes_data = 32,
		},
	[PYTHON_ROW(12)] =
		{
			.version = 0x030c,
			.layout = PYTHON_LAYOUT_SHIM,
			.shim = 3,
			.cframe = 1,
			.runtime_finalizing = 24,
			.runtime_interpreters = 40,
			.interpreter_threads = 72,
			.thread_next = 8,
			.thread_native_id = 144,
			.thread_chunk = 232,
			.thread_id = 136,
			.thread_frame = 56,
			.interpreter_lock = 384,
			.thread_interpreter = 16,
			.lock_holder = 8,
			.lock_taken = 16,
			.lock_bytes = 208,
			.frame_previous = 8,
			.frame_instruction = 56,
			.frame_owner = 70,
			.object_type = 8,
			.code_first_line = 68,
			.code_file = 112,
			.code_name = 120,
			.code_qualified_name = 128,
			.code_lines = 136,
			.code_first_traceable = 176,
			.code_instructions = 192,
			.code_version = 92,
			.text_length = 16,
			.text_state = 32,
			.text_ascii = 40,
			.text_compact = 56,
			.bytes_length = 16,
			.bytes_data = 32,
		},
	[PYTHON_ROW(13)] =
		{
			.version = 0x030d,
			.layout = PYTHON_LAYOUT_SHIM,
			.shim = 3,
			.runtime_finalizing = 608,
			.runtime_interpreters = 632,
			.interpreter_next = 7264,
			.interpreter_threads = 7344,
			.thread_next = 8,
			.thread_native_id = 160,
			.thread_chunk = 232,
			.thread_id = 152,
			.thread_frame = 72,
			.interpreter_lock = 16,
			.thread_interpreter = 16,
			.lock_holder = 8,
			.lock_taken = 16,
			.lock_bytes = 208,
			.frame_previous = 8,
			.frame_instruction = 56,
			.frame_owner = 70,
			.object_type = 8,
			.code_first_line = 68,
			.code_file = 112,
			.code_name = 120,
			.code_qualified_name = 128,
			.code_lines = 136,
			.code_first_traceable = 184,
			.code_instructions = 200,
			.code_version = 92,
			.text_length = 16,
			.text_state = 32,
			.text_ascii = 40,
			.text_compact = 56,
			.bytes_length = 16,
			.bytes_data = 32,
		},
	/* Members that are 0 here and are used come from the interpreter. */
	[PYTHON_ROW(14)] =
		{
			.version = 0x030e,
			.layout = PYTHON_LAYOUT_SHIM,
			.shim = 3,
			.lock_holder = 8,
			.lock_taken = 16,
			.lock_bytes = 208,
			.frame_previous = 8,
			.frame_instruction = 56,
			.frame_owner = 74,
			.object_type = 8,
			.code_first_line = 68,
			.code_file = 112,
			.code_name = 120,
			.code_qualified_name = 128,
			.code_lines = 136,
			.code_first_traceable = 192,
			.code_instructions = 208,
			.text_length = 16,
			.text_state = 32,
			.text_ascii = 40,
			.text_compact = 56,
			.bytes_length = 16,
			.bytes_data = 32,
		},
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

#endif
