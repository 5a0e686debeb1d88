/* SPDX-License-Identifier: MIT
 *
 * inject/ranges/roctx.c - ranges of roctx: its functions, called before the library's own
 *
 * Runs in:  the profiled process, preloaded (LD_PRELOAD)
 * Gets:     the program's calls
 * Gives:    their ranges, and the library's results
 * Owns:     a reference to the library, so that it stays
 * Fails:    never for the program: without the library it returns the library's results without a
 *           tool
 * Why both libraries: ROCm has libroctx64 and its successor librocprofiler-sdk-roctx with the same
 *           functions. A program that opens either with dlopen and looks up functions in that
 *           handle with dlsym bypasses the guest: intercepting such calls would mean replacing
 *           dlsym itself, which breaks programs that already do.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "inject/ranges/ranges.h"

#define EXPORTED __attribute__((visibility("default")))

typedef void take_text(const char *text);
typedef int push_range(const char *text);
typedef int pop_range(void);
typedef uint64_t start_range(const char *text);
typedef void stop_range(uint64_t id);

EXPORTED take_text roctxMarkA, roctxMark;
EXPORTED push_range roctxRangePushA, roctxRangePush;
EXPORTED pop_range roctxRangePop;
EXPORTED start_range roctxRangeStartA, roctxRangeStart;
EXPORTED stop_range roctxRangeStop;

static struct {
	_Atomic bool is_looked_for;
	take_text *_Atomic mark;
	push_range *_Atomic push;
	pop_range *_Atomic pop;
	start_range *_Atomic start;
	stop_range *_Atomic stop;
} library;

/* Calls that the library makes itself are not the program's. depth: used without a library. */
static _Thread_local struct {
	bool is_inside;
	int depth;
} self __attribute__((tls_model("initial-exec")));

static const struct record_text domain = {"roctx", 5};

/* The next function in the order of the program's libraries; otherwise one of a library that only a
 * part of the program has (RTLD_LOCAL). */
static void *find_function(const char *name)
{
	static const char *const files[] = {
		"librocprofiler-sdk-roctx.so.1", "librocprofiler-sdk-roctx.so.0",
		"librocprofiler-sdk-roctx.so", "libroctx64.so.4", "libroctx64.so"};
	void *function = dlsym(RTLD_NEXT, name), *file;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !function; i++) {
		file = dlopen(files[i], RTLD_LAZY | RTLD_NOLOAD);
		function = file ? dlsym(file, name) : NULL;
		if (file && !function)
			dlclose(file);
	}
	return function;
}

/* Two threads that run this at once find the same functions. */
static void find_library(void)
{
	int saved = errno;

	ranges_prepare();
	library.mark = (take_text *)find_function("roctxMarkA");
	library.push = (push_range *)find_function("roctxRangePushA");
	library.pop = (pop_range *)find_function("roctxRangePop");
	library.start = (start_range *)find_function("roctxRangeStartA");
	library.stop = (stop_range *)find_function("roctxRangeStop");
	/* Clears our failures, so that the program's next dlerror() does not return them. */
	if (!library.mark || !library.push || !library.pop || !library.start || !library.stop)
		dlerror();
	errno = saved;
	atomic_store_explicit(&library.is_looked_for, true, memory_order_release);
}

/* False: the library calls itself. Paired with leave_library. */
static bool enter_library(void)
{
	if (!atomic_load_explicit(&library.is_looked_for, memory_order_acquire))
		find_library();
	if (self.is_inside)
		return false;
	self.is_inside = true;
	return true;
}

static void leave_library(bool is_outer)
{
	if (is_outer)
		self.is_inside = false;
}

static __attribute__((noinline)) void record_mark(const char *text)
{
	bool is_outer = enter_library();
	take_text *mark = atomic_load_explicit(&library.mark, memory_order_relaxed);

	if (mark)
		mark(text);
	if (is_outer)
		ranges_mark(RANGE_OF_ROCTX, domain, record_text_of(text), NULL);
	leave_library(is_outer);
}

static __attribute__((noinline)) int record_push(const char *text)
{
	bool is_outer = enter_library();
	push_range *push = atomic_load_explicit(&library.push, memory_order_relaxed);
	int depth = push ? push(text) : self.depth++;

	if (is_outer)
		ranges_push(RANGE_OF_ROCTX, domain, record_text_of(text), NULL);
	leave_library(is_outer);
	return depth;
}

/* Returns -1 if no range is open, like the library. */
static int pop_alone(void)
{
	if (self.depth == 0)
		return -1;
	return --self.depth;
}

static __attribute__((noinline)) int record_pop(void)
{
	bool is_outer = enter_library();
	pop_range *pop = atomic_load_explicit(&library.pop, memory_order_relaxed);
	int depth;

	if (is_outer)
		ranges_pop(RANGE_OF_ROCTX, domain);
	depth = pop ? pop() : pop_alone();
	leave_library(is_outer);
	return depth;
}

static __attribute__((noinline)) uint64_t record_start(const char *text)
{
	bool is_outer = enter_library();
	start_range *start = atomic_load_explicit(&library.start, memory_order_relaxed);
	uint64_t id = start ? start(text) : ranges_new_id();

	if (is_outer)
		ranges_start(RANGE_OF_ROCTX, domain, record_text_of(text), NULL, id);
	leave_library(is_outer);
	return id;
}

static __attribute__((noinline)) void record_stop(uint64_t id)
{
	bool is_outer = enter_library();
	stop_range *stop = atomic_load_explicit(&library.stop, memory_order_relaxed);

	if (is_outer)
		ranges_stop(RANGE_OF_ROCTX, domain, id);
	if (stop)
		stop(id);
	leave_library(is_outer);
}

/* Without a recorder, a call costs the library's time plus a load, a compare and a count. */

void roctxMarkA(const char *text)
{
	take_text *mark = atomic_load_explicit(&library.mark, memory_order_relaxed);

	mark &&ranges_are_idle() ? mark(text) : record_mark(text);
}

int roctxRangePushA(const char *text)
{
	push_range *push = atomic_load_explicit(&library.push, memory_order_relaxed);

	return push && ranges_are_idle() ? push(text) : record_push(text);
}

int roctxRangePop(void)
{
	pop_range *pop = atomic_load_explicit(&library.pop, memory_order_relaxed);

	return pop && ranges_are_idle() ? pop() : record_pop();
}

uint64_t roctxRangeStartA(const char *text)
{
	start_range *start = atomic_load_explicit(&library.start, memory_order_relaxed);

	return start && ranges_are_idle() ? start(text) : record_start(text);
}

void roctxRangeStop(uint64_t id)
{
	stop_range *stop = atomic_load_explicit(&library.stop, memory_order_relaxed);

	stop &&ranges_are_idle() ? stop(id) : record_stop(id);
}

void roctxMark(const char *text)
{
	roctxMarkA(text);
}

int roctxRangePush(const char *text)
{
	return roctxRangePushA(text);
}

uint64_t roctxRangeStart(const char *text)
{
	return roctxRangeStartA(text);
}
