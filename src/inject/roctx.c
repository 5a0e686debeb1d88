/* SPDX-License-Identifier: MIT
 *
 * inject/roctx.c - ranges of roctx: its functions, called before the library's own
 *
 * Runs in:  the profiled process, preloaded (LD_PRELOAD)
 * Gets:     the program's calls   Gives: the ranges they name, and what the library returns
 * Owns:     a reference to the library, so that it stays
 * Fails:    never towards the program: without the library it answers as that does when no tool is there
 * Why both libraries: ROCm has libroctx64 and its successor librocprofiler-sdk-roctx with the same functions. A program
 *           that opens either with dlopen and asks that very handle with dlsym gets past us: to stand in between, dlsym
 *           itself would have to be taken over, which breaks programs that do that already.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "inject/ranges.h"

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

/* What a library calls of itself is no call of the program's. depth: without one. */
static _Thread_local struct {
	bool is_inside;
	int depth;
} self __attribute__((tls_model("initial-exec")));

static const struct record_text domain = {"roctx", 5};

/* The next one in the order of the program's libraries; else one that only a part of it has (RTLD_LOCAL). */
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

/* Two threads that come here at once find the same. */
static void find_library(void)
{
	int saved = errno;

	ranges_prepare();
	library.mark = (take_text *)find_function("roctxMarkA");
	library.push = (push_range *)find_function("roctxRangePushA");
	library.pop = (pop_range *)find_function("roctxRangePop");
	library.start = (start_range *)find_function("roctxRangeStartA");
	library.stop = (stop_range *)find_function("roctxRangeStop");
	/* The program's next dlerror() is not to tell of our failures. */
	if (!library.mark || !library.push || !library.pop || !library.start || !library.stop)
		dlerror();
	errno = saved;
	atomic_store_explicit(&library.is_looked_for, true, memory_order_release);
}

/* False: the library calls itself. Ended by leave. */
static bool enter(void)
{
	if (!atomic_load_explicit(&library.is_looked_for, memory_order_acquire))
		find_library();
	if (self.is_inside)
		return false;
	self.is_inside = true;
	return true;
}

static void leave(bool is_outer)
{
	if (is_outer)
		self.is_inside = false;
}

static __attribute__((noinline)) void record_mark(const char *text)
{
	bool is_outer = enter();
	take_text *mark = atomic_load_explicit(&library.mark, memory_order_relaxed);

	if (mark)
		mark(text);
	if (is_outer)
		ranges_mark(RANGE_OF_ROCTX, domain, record_text_of(text));
	leave(is_outer);
}

static __attribute__((noinline)) int record_push(const char *text)
{
	bool is_outer = enter();
	push_range *push = atomic_load_explicit(&library.push, memory_order_relaxed);
	int depth = push ? push(text) : self.depth++;

	if (is_outer)
		ranges_push(RANGE_OF_ROCTX, domain, record_text_of(text));
	leave(is_outer);
	return depth;
}

/* -1: there is none, as the library says. */
static int pop_alone(void)
{
	if (self.depth == 0)
		return -1;
	return --self.depth;
}

static __attribute__((noinline)) int record_pop(void)
{
	bool is_outer = enter();
	pop_range *pop = atomic_load_explicit(&library.pop, memory_order_relaxed);
	int depth;

	if (is_outer)
		ranges_pop(RANGE_OF_ROCTX, domain);
	depth = pop ? pop() : pop_alone();
	leave(is_outer);
	return depth;
}

static __attribute__((noinline)) uint64_t record_start(const char *text)
{
	bool is_outer = enter();
	start_range *start = atomic_load_explicit(&library.start, memory_order_relaxed);
	uint64_t id = start ? start(text) : ranges_new_id();

	if (is_outer)
		ranges_start(RANGE_OF_ROCTX, domain, record_text_of(text), id);
	leave(is_outer);
	return id;
}

static __attribute__((noinline)) void record_stop(uint64_t id)
{
	bool is_outer = enter();
	stop_range *stop = atomic_load_explicit(&library.stop, memory_order_relaxed);

	if (is_outer)
		ranges_stop(RANGE_OF_ROCTX, domain, id);
	if (stop)
		stop(id);
	leave(is_outer);
}

/* While nobody records, a call is the library's but for a load, a compare and a count. */

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
