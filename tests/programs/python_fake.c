/* SPDX-License-Identifier: MIT
 *
 * tests/programs/python_fake.c - what a libpython that is not installed here looks like in memory
 *
 * Runs in:  test_python_frames, as a library of its own; FAKE_VERSION says which version it claims
 *           to be
 * Gives:    the symbols of an interpreter, one thread state with frames as CPython 3.14 lays them
 *           out, and an evaluation function with rare branches
 * Source:   the public headers of 3.14, declared again here so that a slip in our table shows
 */
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

struct object {
	int64_t references;
	void *type;
};

struct text {
	struct object head;
	int64_t length, hash;
	uint32_t interned : 2, kind : 3, compact : 1, ascii : 1, statically : 1, rest : 24;
	uint32_t padding;
	char data[64];
};

struct wide_text {
	struct object head;
	int64_t length, hash;
	uint32_t interned : 2, kind : 3, compact : 1, ascii : 1, statically : 1, rest : 24;
	int64_t utf8_length;
	char *utf8;
	uint16_t data[16];
};

struct bytes {
	struct object head;
	int64_t size, hash;
	char data[32];
};

struct code {
	struct object head;
	int64_t size;
	void *consts, *names, *exception_table;
	int flags, argument_count, positional_count, keyword_count, stack_size, first_line;
	int locals_plus, frame_size, locals, cells, frees;
	uint32_t version;
	void *local_names, *local_kinds, *file, *name, *qualified_name, *lines, *weak, *executors,
		*cached;
	uintptr_t instrumentation;
	void *monitoring;
	int64_t unique_id;
	int first_traceable;
	void *extra;
	uint16_t instructions[16];
};

struct frame {
	uintptr_t executable;
	struct frame *previous;
	uintptr_t function;
	void *globals, *builtins, *locals, *object;
	uint16_t *instruction;
	uintptr_t *stack;
	uint16_t return_offset;
	char owner;
	uint8_t visited;
};

struct thread {
	struct thread *previous, *next;
	void *interpreter;
	uintptr_t breaker;
	uint32_t flags[10];
	struct frame *frame;
	uint64_t id;
};

struct runtime {
	char cookie[8];
	uint64_t version, free_threaded;
	uint64_t runtime_size, finalizing_at, interpreters_at;
	uint64_t interpreter[16];
	uint64_t thread_size, thread_previous, thread_next, thread_interpreter, thread_frame,
		thread_id, thread_native, thread_chunk, thread_status;
	uint64_t frame_size, frame_previous, frame_code, frame_instruction, frame_locals,
		frame_owner, frame_stack, frame_index;
	uint64_t code_size, code_file, code_name, code_qualified, code_lines, code_first,
		code_count, code_local_names, code_local_kinds, code_instructions, code_copies;
	uint64_t object_size, object_type;
	uint64_t type[4], tuple[3], list[3], set[4], dict[3], real[2], number[3];
	uint64_t bytes_size, bytes_count, bytes_data;
	uint64_t text_size, text_state, text_length, text_ascii;
	uint64_t later[16];
	void *finalizing;
};

EXPORT struct runtime _PyRuntime = {
	.cookie = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'},
#if defined(FAKE_VERSION)
	.version = FAKE_VERSION,
#endif
#if defined(FAKE_FREE)
	.free_threaded = 1,
#endif
	.finalizing_at = offsetof(struct runtime, finalizing),
	.thread_frame = offsetof(struct thread, frame),
	.thread_id = offsetof(struct thread, id),
	.frame_previous = offsetof(struct frame, previous),
	.frame_code = offsetof(struct frame, executable),
	.frame_instruction = offsetof(struct frame, instruction),
	.frame_owner = offsetof(struct frame, owner),
	.code_file = offsetof(struct code, file),
	.code_name = offsetof(struct code, name),
	.code_qualified = offsetof(struct code, qualified_name),
	.code_lines = offsetof(struct code, lines),
	.code_first = offsetof(struct code, first_line),
	.code_instructions = offsetof(struct code, instructions),
	.object_size = sizeof(struct object),
	.object_type = offsetof(struct object, type),
	.bytes_count = offsetof(struct bytes, size),
	.bytes_data = offsetof(struct bytes, data),
	.text_state = offsetof(struct text, hash) + 8,
	.text_length = offsetof(struct text, length),
	.text_ascii = offsetof(struct text, hash) + 16,
};
EXPORT struct object PyCode_Type, PyUnicode_Type, PyBytes_Type;

#if defined(FAKE_VERSION)
EXPORT const unsigned long Py_Version = FAKE_VERSION;
#endif

EXPORT struct text fake_name = {
	.head = {1, &PyUnicode_Type},
	.length = 8,
	.kind = 1,
	.compact = 1,
	.ascii = 1,
	.data = "K.method",
};
EXPORT struct wide_text fake_file = {
	.head = {1, &PyUnicode_Type},
	.length = 4,
	.kind = 2,
	.compact = 1,
	.data = {0x00e9, 0x4e2d, 0xd83d, 'x'},
};
static struct bytes lines = {.head = {1, &PyBytes_Type}, .size = 3, .data = {1, 2, 3}};

#define CODE(line, traceable)                                                      \
	{                                                                          \
		.head = {1, &PyCode_Type}, .first_line = line, .file = &fake_file, \
		.name = &fake_name, .qualified_name = &fake_name, .lines = &lines, \
		.first_traceable = traceable,                                      \
	}
EXPORT struct code fake_codes[3] = {CODE(10, 1), CODE(20, 4), CODE(30, 4)};

enum { OF_THREAD = 0, OF_GENERATOR = 1, SHIM = 3 };

/* Innermost first: a frame; one that has not begun; where C called. An evaluation that has no frame
 * any more. A generator; where C called. One that has not begun, alone. */
EXPORT struct frame fake_frames[8] = {
	{.executable = (uintptr_t)&fake_codes[0] + 1,
	 .previous = &fake_frames[1],
	 .instruction = &fake_codes[0].instructions[5]},
	{.executable = (uintptr_t)&fake_codes[1],
	 .previous = &fake_frames[2],
	 .instruction = &fake_codes[1].instructions[2]},
	{.previous = &fake_frames[3], .owner = SHIM},
	{.previous = &fake_frames[4], .owner = SHIM},
	{.executable = (uintptr_t)&fake_codes[2],
	 .previous = &fake_frames[5],
	 .instruction = &fake_codes[2].instructions[3],
	 .owner = OF_GENERATOR},
	{.previous = &fake_frames[6], .owner = SHIM},
	{.executable = (uintptr_t)&fake_codes[1],
	 .previous = &fake_frames[7],
	 .instruction = &fake_codes[1].instructions[1]},
	{.owner = SHIM},
};
EXPORT struct thread fake_thread = {.frame = &fake_frames[0]};
EXPORT struct thread *fake_current = &fake_thread;

EXPORT void *PyGILState_GetThisThreadState(void)
{
	return fake_current;
}

/* ---- evaluation: what compilers do with branches that are rarely taken ----------------------- */

EXPORT void (*fake_called)(void);

__attribute__((cold, noinline)) static void rarely(void)
{
	fake_called();
}

#define BRANCH(number)                     \
	if (values[number] == number) {    \
		rarely();                  \
		sum += values[number + 1]; \
	}                                  \
	sum += values[number] * (number + 3);

EXPORT int _PyEval_EvalFrameDefault(const volatile int *values);

EXPORT int _PyEval_EvalFrameDefault(const volatile int *values)
{
	volatile int kept[16];
	int sum = 0;

	for (int i = 0; i < 16; i++)
		kept[i] = values[i];
	BRANCH(0)
	BRANCH(1)
	BRANCH(2)
	BRANCH(3)
	BRANCH(4)
	BRANCH(5)
	return sum + kept[sum & 15];
}
