/* SPDX-License-Identifier: MIT
 *
 * tests/generate/python_offsets.c - one column of abi/python_offsets.h, from a version's own
 * headers
 *
 * Runs in:  a test; compiled by python_offsets.py against each installed version
 * Gives:    a line for each member, or with --check what in the table differs from it
 * Fails:    by exit status 1: the table disagrees
 */
#define Py_BUILD_CORE 1
#include <Python.h>

#if PY_VERSION_HEX < 0x03090000
#include <internal/pycore_pystate.h>
#else
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#endif
#if PY_VERSION_HEX < 0x030b0000
#include <frameobject.h>
#else
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX >= 0x030c0000
#include <internal/pycore_code.h>
#endif

#include <stdio.h>
#include <string.h>

#include "abi/python_offsets.h"

#if PY_VERSION_HEX >= 0x030d0000
#define FRAME_CODE        f_executable
#define FRAME_INSTRUCTION instr_ptr
#elif PY_VERSION_HEX >= 0x030b0000
#define FRAME_CODE        f_code
#define FRAME_INSTRUCTION prev_instr
#endif

#if PY_VERSION_HEX < 0x03090000
#define RUNTIME_FINALIZING finalizing
#else
#define RUNTIME_FINALIZING _finalizing
#endif

#if PY_VERSION_HEX >= 0x030b0000
_Static_assert(offsetof(PyThreadState, datastack_top) ==
		       offsetof(PyThreadState, datastack_chunk) + PYTHON_STACK_TOP,
	       "thread_chunk");
_Static_assert(offsetof(_PyStackChunk, top) == PYTHON_CHUNK_TOP, "top of a chunk");
_Static_assert(offsetof(_PyStackChunk, data) == PYTHON_CHUNK_DATA, "data of a chunk");
#endif

static struct python_offsets measure(void)
{
	return (struct python_offsets)
	{
		.version = PY_VERSION_HEX >> 16,
		.runtime_finalizing = offsetof(_PyRuntimeState, RUNTIME_FINALIZING),
		.runtime_interpreters = offsetof(_PyRuntimeState, interpreters.head),
		.interpreter_next = offsetof(PyInterpreterState, next),
		.thread_next = offsetof(PyThreadState, next),
#if PY_VERSION_HEX < 0x030b0000
		.interpreter_threads = offsetof(PyInterpreterState, tstate_head),
#else
		.interpreter_threads = offsetof(PyInterpreterState, threads.head),
		.thread_native_id = offsetof(PyThreadState, native_thread_id),
		.thread_chunk = offsetof(PyThreadState, datastack_chunk),
#endif
		.thread_id = offsetof(PyThreadState, thread_id),
		.thread_interpreter = offsetof(PyThreadState, interp),
#if PY_VERSION_HEX < 0x030c0000
		.runtime_lock = offsetof(_PyRuntimeState, ceval.gil),
#else
		.interpreter_lock = offsetof(PyInterpreterState, ceval.gil),
#endif
#if PY_VERSION_HEX < 0x03090000
		.runtime_collector = offsetof(_PyRuntimeState, gc),
#else
		.interpreter_collector = offsetof(PyInterpreterState, gc),
#endif
		.collector_runs = offsetof(struct _gc_runtime_state, collecting),
		.lock_holder = offsetof(struct _gil_runtime_state, last_holder),
		.lock_taken = offsetof(struct _gil_runtime_state, locked),
		.lock_waiters = offsetof(struct _gil_runtime_state, cond) +
				offsetof(pthread_cond_t, __data.__wrefs),
		.lock_switches = offsetof(struct _gil_runtime_state, switch_number),
		.lock_bytes = sizeof(struct _gil_runtime_state),
#if PY_VERSION_HEX < 0x030b0000
		.layout = PYTHON_LAYOUT_OBJECTS, .unit = PY_VERSION_HEX < 0x030a0000 ? 1 : 2,
		.thread_frame = offsetof(PyThreadState, frame),
		.frame_previous = offsetof(PyFrameObject, f_back),
		.frame_code = offsetof(PyFrameObject, f_code),
		.frame_instruction = offsetof(PyFrameObject, f_lasti),
#else
#if PY_VERSION_HEX < 0x030d0000
		.cframe = 1, .thread_frame = offsetof(PyThreadState, cframe),
		.cframe_frame = offsetof(_PyCFrame, current_frame),
#else
		.thread_frame = offsetof(PyThreadState, current_frame),
#endif
		.frame_previous = offsetof(_PyInterpreterFrame, previous),
		.frame_code = offsetof(_PyInterpreterFrame, FRAME_CODE),
		.frame_instruction = offsetof(_PyInterpreterFrame, FRAME_INSTRUCTION),
		.frame_owner = offsetof(_PyInterpreterFrame, owner),
#if PY_VERSION_HEX < 0x030c0000
		.layout = PYTHON_LAYOUT_ENTRY,
		.frame_entry = offsetof(_PyInterpreterFrame, is_entry),
#else
		.layout = PYTHON_LAYOUT_SHIM, .shim = 3,
		.code_version = offsetof(PyCodeObject, co_version),
#endif
		.code_qualified_name = offsetof(PyCodeObject, co_qualname),
		.code_first_traceable = offsetof(PyCodeObject, _co_firsttraceable),
		.code_instructions = offsetof(PyCodeObject, co_code_adaptive),
#endif
		.object_type = offsetof(PyObject, ob_type),
		.code_first_line = offsetof(PyCodeObject, co_firstlineno),
		.code_file = offsetof(PyCodeObject, co_filename),
		.code_name = offsetof(PyCodeObject, co_name),
#if PY_VERSION_HEX < 0x030a0000
		.code_lines = offsetof(PyCodeObject, co_lnotab),
#else
		.code_lines = offsetof(PyCodeObject, co_linetable),
#endif
		.text_length = offsetof(PyASCIIObject, length),
		.text_state = offsetof(PyASCIIObject, state), .text_ascii = sizeof(PyASCIIObject),
		.text_compact = sizeof(PyCompactUnicodeObject),
		.bytes_length = offsetof(PyVarObject, ob_size),
		.bytes_data = offsetof(PyBytesObject, ob_sval),
	};
}

struct member {
	const char *name;
	size_t at, size;
};

#define MEMBER(type, name, ...) {#name, offsetof(struct python_offsets, name), sizeof(type)},
static const struct member members[] = {PYTHON_OFFSETS(MEMBER)};

static unsigned value(const struct python_offsets *row, const struct member *member)
{
	const uint8_t *byte = (const uint8_t *)row + member->at;
	uint16_t word;

	if (member->size == 1)
		return *byte;
	memcpy(&word, byte, sizeof(word));
	return word;
}

static void print_column(const struct python_offsets *row)
{
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		printf("%s %u\n", members[i].name, value(row, &members[i]));
}

static int check_row(const struct python_offsets *measured)
{
	static const struct python_offsets none;
	const struct python_offsets *row = python_offsets_find(measured->version);
	int wrong = 0;

	if (!row)
		row = &none;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (value(row, &members[i]) == value(measured, &members[i]))
			continue;
		printf("%s is %u, the table says %u\n", members[i].name,
		       value(measured, &members[i]), value(row, &members[i]));
		wrong = 1;
	}
	return wrong;
}

int main(int argc, char **argv)
{
	struct python_offsets row = measure();

	if (argc > 1 && strcmp(argv[1], "--check") == 0)
		return check_row(&row);
	print_column(&row);
	return 0;
}
