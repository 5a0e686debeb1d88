/* SPDX-License-Identifier: MIT
 *
 * tests/programs/python_probe.c - what inject/python_frames sees, for python_stacks.py to compare
 *
 * Runs in:  an interpreter, loaded by ctypes; probe_take is called with and without its lock
 * Gives:    text: a line of counts, then a line per frame, fields separated by tabs
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unwind.h>

#include "inject/python_frames.h"
#include "python_find.h"

#define EXPORT __attribute__((visibility("default")))

enum { MAX_FRAMES = 4096 };

static struct python python;

struct native {
	uint32_t count, evaluations;
};

static _Unwind_Reason_Code count_native(struct _Unwind_Context *context, void *data)
{
	struct native *native = data;

	native->count++;
	native->evaluations += python_is_evaluation(&python, _Unwind_GetIP(context) - 1);
	return _URC_NO_REASON;
}

static uint64_t hash(const uint8_t *bytes, uint64_t count)
{
	uint64_t value = 1469598103934665603u;

	for (uint64_t i = 0; i < count; i++)
		value = (value ^ bytes[i]) * 1099511628211u;
	return value;
}

EXPORT int probe_find(void)
{
	return find_python(&python);
}

EXPORT const char *probe_unknown(void)
{
	const char *unknown = python_unknown_version(&python);

	return unknown ? unknown : "";
}

/* The bytes of hot and cold code of the first interpreter; where cold begins, from where hot
 * does. */
EXPORT void probe_ranges(int64_t ranges[3])
{
	const struct python_interpreter *one = &python.interpreters[0];

	ranges[0] = (int64_t)(one->hot_end - one->hot_begin);
	ranges[1] = (int64_t)(one->cold_end - one->cold_begin);
	ranges[2] = (int64_t)(one->cold_begin - one->hot_begin);
}

EXPORT int probe_take(char *text, int size, int most)
{
	struct python_frame frames[MAX_FRAMES];
	struct native native = {0};
	struct python_code code;
	struct python_gap gap = {0};
	uint32_t count;
	int used, is_found;

	errno = 4242;
	is_found = find_python(&python);
	count = python_frames(&python, frames, (uint32_t)(most < MAX_FRAMES ? most : MAX_FRAMES),
			      &gap);
	if (!is_found || errno != 4242)
		return -1;
	_Unwind_Backtrace(count_native, &native);
	used = snprintf(text, (size_t)size, "%u\t%u\t%u\t%u\n", count, gap.frames,
			native.evaluations, native.count);
	for (uint32_t i = 0; i < count && used < size; i++) {
		struct python_key key;

		python_keys(&python, &frames[i], 1, &key);
		if (frames[i].code && (!python_code(&python, frames[i].code, &code) || !key.code))
			return -1;
		if (!frames[i].code)
			code = (struct python_code){.name = "", .file = ""};
		used += snprintf(text + used, (size_t)(size - used),
				 "%s\t%s\t%u\t%u\t%u\t%llu\t%llu\t%llu\t%x\n", code.name, code.file,
				 code.first_line, frames[i].instruction, frames[i].entry,
				 (unsigned long long)key.code, (unsigned long long)key.name,
				 (unsigned long long)hash(code.lines, code.lines_bytes),
				 code.version);
	}
	return used < size ? (int)count : -1;
}

/* Picoseconds of one look at the counters, and of all frames. */
EXPORT int probe_measure(int rounds, int64_t ret_picoseconds[2])
{
	struct python_frame frames[64];
	struct timespec begin, middle, end;
	struct python_gap gap;
	uint32_t count = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < rounds; i++)
		find_python(&python);
	clock_gettime(CLOCK_MONOTONIC, &middle);
	for (int i = 0; i < rounds; i++)
		count += python_frames(&python, frames, 64, &gap);
	clock_gettime(CLOCK_MONOTONIC, &end);
	ret_picoseconds[0] =
		((middle.tv_sec - begin.tv_sec) * 1000000000 + (middle.tv_nsec - begin.tv_nsec)) *
		1000 / rounds;
	ret_picoseconds[1] =
		((end.tv_sec - middle.tv_sec) * 1000000000 + (end.tv_nsec - middle.tv_nsec)) *
		1000 / rounds;
	return (int)(count / (uint32_t)rounds);
}

EXPORT void probe_call(void (*function)(void))
{
	function();
}

static void *run(void *data)
{
	void (*function)(void) = (void (*)(void))data;
	struct python_frame frame;
	struct python_gap gap;

	if (function)
		function();
	/* By now the thread has no state of the interpreter, or never had one. */
	return (void *)(uintptr_t)python_frames(&python, &frame, 1, &gap);
}

/* Calls it in a thread that the interpreter did not make; the frames that the thread has outside of
 * it. */
EXPORT int probe_call_in_thread(void (*function)(void))
{
	pthread_t thread;
	void *result = NULL;

	if (pthread_create(&thread, NULL, run, (void *)function) != 0)
		return -1;
	pthread_join(thread, &result);
	return (int)(uintptr_t)result;
}

/* An evaluation function around the interpreter's own, as compilers of bytecode put there. Up to
 * 3.8 it has two arguments, later three. */
EXPORT void *(*probe_evaluation)(void *, void *, int);

EXPORT void *probe_evaluate(void *thread, void *frame, int is_throwing)
{
	return probe_evaluation(thread, frame, is_throwing);
}
