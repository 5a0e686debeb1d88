/* SPDX-License-Identifier: MIT
 *
 * sim/opencl/only.c - abort the program if it calls another function than announced
 *
 * Runs in:  the test program, between the loader and each function of the driver
 * Gets:     simOnly(NAME), an extension function
 * Gives:    an abort, and a line on stderr
 * Owns:     the original functions of the table
 * Why:      a real runtime that is queried from a release or at exit compiles, or crashes because
 *           its compiler is gone. Whether it does depends on caches and on the order of
 *           destructors; this abort does not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum { SLOTS = sizeof(sim_dispatch) / sizeof(void *) };

typedef void (*cl_callback)(void);

static const char *_Atomic only; /* NULL: any function */
static void *slots[SLOTS];       /* as the driver filled them */

/* NULL: all functions are allowed again; "": none. */
static void simOnly(const char *name)
{
	atomic_store(&only, name);
}

static void check(const char *name)
{
	const char *allowed = atomic_load(&only);

	if (!allowed || strcmp(allowed, name) == 0)
		return;
	fprintf(stderr, "sim-opencl: %s is called where '%s' alone is allowed\n", name, allowed);
	abort();
}

#define CHECKED(number, name, type, parameters, arguments)           \
	static type only_##name parameters                           \
	{                                                            \
		check(#name);                                        \
		return ((type(*) parameters)slots[number])arguments; \
	}
#define STATUS(number, name, parameters, arguments, ...) \
	CHECKED(number, name, cl_int, parameters, arguments)
#define CREATE(number, name, type, parameters, arguments, ...) \
	CHECKED(number, name, type, parameters, arguments)
#define POINTER(number, name, parameters, arguments, ...) \
	CHECKED(number, name, void *, parameters, arguments)
#define NOTHING(number, name, parameters, arguments)           \
	static void only_##name parameters                     \
	{                                                      \
		check(#name);                                  \
		((void(*) parameters)slots[number]) arguments; \
	}
#define WAIT(number, name, parameters, arguments, ...) \
	CHECKED(number, name, cl_int, parameters, arguments)
#define ENQUEUE(number, name, command, parameters, arguments, ...) \
	CHECKED(number, name, cl_int, parameters, arguments)
#define ENQUEUE_PLAIN(number, name, command, parameters, arguments, ...) \
	CHECKED(number, name, cl_int, parameters, arguments)
#define ENQUEUE_MAP(number, name, command, parameters, arguments, ...) \
	CHECKED(number, name, void *, parameters, arguments)
#define PASSED(number, name)
#define OPENCL_CORE_ONLY
#include "opencl_calls.inc"
#undef STATUS
#undef CREATE
#undef POINTER
#undef NOTHING
#undef WAIT
#undef ENQUEUE
#undef ENQUEUE_PLAIN
#undef ENQUEUE_MAP

#define STATUS(number, name, ...)        [number] = (void *)only_##name,
#define CREATE(number, name, ...)        [number] = (void *)only_##name,
#define POINTER(number, name, ...)       [number] = (void *)only_##name,
#define NOTHING(number, name, ...)       [number] = (void *)only_##name,
#define WAIT(number, name, ...)          [number] = (void *)only_##name,
#define ENQUEUE(number, name, ...)       [number] = (void *)only_##name,
#define ENQUEUE_PLAIN(number, name, ...) [number] = (void *)only_##name,
#define ENQUEUE_MAP(number, name, ...)   [number] = (void *)only_##name,
static void *const checked[SLOTS] = {
#include "opencl_calls.inc"
};

void sim_only_install(void)
{
	void **table = (void **)&sim_dispatch;

	memcpy(slots, table, sizeof(slots));
	for (size_t i = 0; i < SLOTS; i++)
		if (checked[i])
			table[i] = checked[i];
}

void *sim_only_extension(const char *name)
{
	return strcmp(name, "simOnly") == 0 ? (void *)simOnly : NULL;
}
