/* SPDX-License-Identifier: MIT
 *
 * analyze/verdict/kinds.c - the kind of a cause, from the wait, the called function and the stack
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     states of launching threads and their stacks
 * Gives:    a kind for each
 * Owns:     nothing
 * Fails:    never; what is not recognised is computing, blocked or a call
 * Why by name: the recorder stores the system call and the object of a wait as a text, and runtimes
 *           are recorded by the names of their functions. Both are the same on all machines.
 */
#include <stddef.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "analyze/verdict/verdict.h"
#include "base/array.h"
#include "base/string.h"
#include "event/event.h"

enum { INNER_FRAMES = 24 }; /* frames of a stack that are searched for a function */

const char *verdict_kind_name(enum verdict_kind kind)
{
#define VERDICT_NAME(KIND, name) #name,
	static const char *const names[] = {VERDICT_KINDS(VERDICT_NAME)};

	return array_text(names, ARRAY_COUNT(names), kind, "unknown");
}

struct named_kind {
	const char *name;
	enum verdict_kind kind;
};

/* System calls; the text may continue with " (object)". */
static const struct named_kind system_calls[] = {
	{"fsync", VERDICT_FILE_SYNC},
	{"fdatasync", VERDICT_FILE_SYNC},
	{"sync", VERDICT_FILE_SYNC},
	{"syncfs", VERDICT_FILE_SYNC},
	{"msync", VERDICT_FILE_SYNC},
	{"sync_file_range", VERDICT_FILE_SYNC},
	{"read", VERDICT_FILE_READ},
	{"pread64", VERDICT_FILE_READ},
	{"readv", VERDICT_FILE_READ},
	{"preadv", VERDICT_FILE_READ},
	{"preadv2", VERDICT_FILE_READ},
	{"openat", VERDICT_FILE_READ},
	{"open", VERDICT_FILE_READ},
	{"newfstatat", VERDICT_FILE_READ},
	{"statx", VERDICT_FILE_READ},
	{"getdents64", VERDICT_FILE_READ},
	{"sendfile", VERDICT_FILE_READ},
	{"fadvise64", VERDICT_FILE_READ},
	{"write", VERDICT_FILE_WRITE},
	{"pwrite64", VERDICT_FILE_WRITE},
	{"writev", VERDICT_FILE_WRITE},
	{"pwritev", VERDICT_FILE_WRITE},
	{"ftruncate", VERDICT_FILE_WRITE},
	{"fallocate", VERDICT_FILE_WRITE},
	{"rename", VERDICT_FILE_WRITE},
	{"unlink", VERDICT_FILE_WRITE},
	{"recvfrom", VERDICT_NETWORK},
	{"recvmsg", VERDICT_NETWORK},
	{"recvmmsg", VERDICT_NETWORK},
	{"sendto", VERDICT_NETWORK},
	{"sendmsg", VERDICT_NETWORK},
	{"connect", VERDICT_NETWORK},
	{"accept", VERDICT_NETWORK},
	{"accept4", VERDICT_NETWORK},
	{"wait4", VERDICT_CHILD_PROCESS},
	{"waitid", VERDICT_CHILD_PROCESS},
	{"vfork", VERDICT_CHILD_PROCESS},
	{"clone", VERDICT_CHILD_PROCESS},
	{"clone3", VERDICT_CHILD_PROCESS},
	{"nanosleep", VERDICT_SLEEP},
	{"clock_nanosleep", VERDICT_SLEEP},
	{"sleep", VERDICT_SLEEP},
	{"pause", VERDICT_SLEEP},
	{"poll", VERDICT_EVENT_WAIT},
	{"ppoll", VERDICT_EVENT_WAIT},
	{"select", VERDICT_EVENT_WAIT},
	{"pselect6", VERDICT_EVENT_WAIT},
	{"epoll_wait", VERDICT_EVENT_WAIT},
	{"epoll_pwait", VERDICT_EVENT_WAIT},
	{"epoll_pwait2", VERDICT_EVENT_WAIT},
	{"io_getevents", VERDICT_EVENT_WAIT},
	{"io_uring_enter", VERDICT_EVENT_WAIT},
	{"page fault", VERDICT_PAGE_FAULT},
	{"mutex", VERDICT_LOCK},
	{"futex", VERDICT_LOCK},
};

/* Runtime functions by a part of their name; the first that matches counts. */
static const struct named_kind calls[] = {
	{"BuildProgram", VERDICT_BUILD},
	{"CompileProgram", VERDICT_BUILD},
	{"LinkProgram", VERDICT_BUILD},
	{"CreateProgramWith", VERDICT_BUILD},
	{"GetProgramInfo", VERDICT_BUILD},
	{"GetProgramBuildInfo", VERDICT_BUILD},
	{"zeModuleCreate", VERDICT_BUILD},
	{"zeModuleDynamicLink", VERDICT_BUILD},
	{"LinkAddData", VERDICT_BUILD},
	{"LinkComplete", VERDICT_BUILD},
	{"ModuleLoad", VERDICT_MODULE_LOAD},
	{"LibraryLoad", VERDICT_MODULE_LOAD},
	{"executable_load", VERDICT_MODULE_LOAD},
	{"executable_freeze", VERDICT_MODULE_LOAD},
	{"RegisterFatBinary", VERDICT_MODULE_LOAD},
	{"ModuleUnload", VERDICT_FREE},
	{"Free", VERDICT_FREE},
	{"ReleaseMemObject", VERDICT_FREE},
	{"memory_free", VERDICT_FREE},
	{"pool_free", VERDICT_FREE},
	{"Alloc", VERDICT_ALLOCATION},
	{"Malloc", VERDICT_ALLOCATION},
	{"allocate", VERDICT_ALLOCATION},
	{"CreateBuffer", VERDICT_ALLOCATION},
	{"CreateImage", VERDICT_ALLOCATION},
	{"CreateSubBuffer", VERDICT_ALLOCATION},
	{"CreatePipe", VERDICT_ALLOCATION},
	{"MemCreate", VERDICT_ALLOCATION},
	{"HostRegister", VERDICT_ALLOCATION},
	{"StreamBeginCapture", VERDICT_STREAM_CAPTURE},
	{"StreamEndCapture", VERDICT_STREAM_CAPTURE},
	{"GraphInstantiate", VERDICT_STREAM_CAPTURE},
};

/* Functions of VERDICT_BUILD that prepare a build or query its result. */
static const char *const beside_builds[] = {"CreateProgramWith", "GetProgram"};

/* Functions that wait for the work of another thread, and take a lock only for that. */
static const char *const thread_waits[] = {
	"pthread_cond_",      "sem_wait",    "sem_timedwait", "sem_clockwait", "pthread_join",
	"condition_variable", "future_base", "barrier_wait",  "__atomic_wait", "pthread_barrier"};

/* Python modules that wait for another thread. Native functions say nothing there: a Python lock is
 * a semaphore. */
static const char *const waiting_modules[] = {"threading.py", "queue.py",  "_base.py",
					      "pool.py",      "thread.py", "synchronize.py"};

/* Functions that wait for other ranks of a job, also if they poll. */
static const char *const rank_waits[] = {"MPI_", "PMPI_", "opal_progress", "ompi_", "ucp_worker"};

/* Functions of MPI that no rank leaves before all have come. */
static const char *const collectives[] = {"Barrier",        "Allreduce", "Allgather",
					  "Alltoall",       "Init",      "Finalize",
					  "Reduce_scatter", "Comm_",     "Win_fence"};

/* Functions of CPython, and the mark of its collections. */
static const char *const collections[] = {FRAME_GARBAGE,
					  "gc_collect",
					  "gc_collect_impl",
					  "gc_collect_main",
					  "gc_collect_internal",
					  "gc_collect_generations",
					  "gc_collect_region",
					  "gc_collect_young",
					  "gc_collect_increment",
					  "gc_collect_full",
					  "gc_collect_with_callback",
					  "collect_with_callback",
					  "collect_generations",
					  "PyGC_Collect",
					  "_PyGC_Collect",
					  "_PyGC_CollectNoFail",
					  "_PyGC_CollectIfEnabled",
					  "_Py_RunGC"};

static bool has_any(const char *text, const char *const *parts, size_t count, bool is_prefix)
{
	for (size_t i = 0; i < count; i++)
		if (is_prefix ? strncmp(text, parts[i], strlen(parts[i])) == 0
			      : strstr(text, parts[i]) != NULL)
			return true;
	return false;
}

/* Whether one of the innermost frames is one of these functions. */
static bool is_inside(const struct frame_name *names, size_t count, const char *const *functions,
		      size_t functions_count, bool is_prefix)
{
	for (size_t i = count; i-- > 0 && count - i <= INNER_FRAMES;)
		if (has_any(names[i].function, functions, functions_count, is_prefix))
			return true;
	return false;
}

/* Whether `name` is the whole text, or the text continues with " (". */
static bool is_call(const char *text, const char *name)
{
	const size_t length = strlen(name);

	return strncmp(text, name, length) == 0 &&
	       (!text[length] || strncmp(text + length, " (", 2) == 0);
}

static enum verdict_kind kind_of_file(enum verdict_kind kind, const char *what)
{
	if (kind != VERDICT_FILE_READ && kind != VERDICT_FILE_WRITE)
		return kind;
	if (strstr(what, " (/")) /* a path, which may contain the words below */
		return kind;
	if (strstr(what, "(pipe"))
		return VERDICT_PIPE;
	return strstr(what, "socket") || strstr(what, "(TCP") || strstr(what, "(UDP")
		       ? VERDICT_NETWORK
		       : kind;
}

static bool is_waiting_module(const char *file)
{
	for (size_t i = 0; file && i < ARRAY_COUNT(waiting_modules); i++)
		if (strcmp(path_base(file), waiting_modules[i]) == 0)
			return true;
	return false;
}

/* Whether a thread that sleeps on a futex waits for the work of another thread, not for its lock.
 */
static bool is_for_work(const struct frame_name *names, size_t count)
{
	for (size_t i = count; i-- > 0;)
		if (names[i].class == FRAME_CLASS_PYTHON)
			return is_waiting_module(names[i].file);
	return is_inside(names, count, thread_waits, ARRAY_COUNT(thread_waits), false);
}

enum verdict_kind verdict_kind_of_wait(const char *what, const struct frame_name *names,
				       size_t count)
{
	enum verdict_kind kind = VERDICT_BLOCKED;

	if (analysis_is_gil(what))
		return VERDICT_PYTHON_GIL;
	for (size_t i = 0; i < ARRAY_COUNT(system_calls) && kind == VERDICT_BLOCKED; i++)
		if (is_call(what, system_calls[i].name))
			kind = kind_of_file(system_calls[i].kind, what);
	return kind == VERDICT_LOCK && is_for_work(names, count) ? VERDICT_THREAD_WAIT : kind;
}

enum verdict_kind verdict_kind_of_call(const char *function)
{
	for (size_t i = 0; i < ARRAY_COUNT(calls); i++)
		if (strstr(function, calls[i].name))
			return calls[i].kind;
	return strncmp(function, "nvrtc", 5) == 0 || strncmp(function, "hiprtc", 6) == 0
		       ? VERDICT_BUILD
		       : VERDICT_CALL;
}

bool verdict_is_call(enum verdict_kind kind)
{
	return kind == VERDICT_BUILD || kind == VERDICT_MODULE_LOAD || kind == VERDICT_ALLOCATION ||
	       kind == VERDICT_FREE || kind == VERDICT_CALL || kind == VERDICT_DEVICE_WAIT ||
	       kind == VERDICT_OTHER_DEVICE || kind == VERDICT_LAUNCH_CALL ||
	       kind == VERDICT_COMMAND_BUFFER_FULL;
}

bool verdict_is_on_processor(enum verdict_kind kind)
{
	return kind == VERDICT_COMPUTING || kind == VERDICT_PREEMPTED ||
	       kind == VERDICT_PAGE_FAULT || kind == VERDICT_GARBAGE_COLLECTION;
}

bool verdict_is_for_thread(enum verdict_kind kind)
{
	return kind == VERDICT_PYTHON_GIL || kind == VERDICT_LOCK || kind == VERDICT_THREAD_WAIT ||
	       kind == VERDICT_PIPE || kind == VERDICT_NETWORK || kind == VERDICT_EVENT_WAIT;
}

bool verdict_is_build(const char *function)
{
	const enum verdict_kind kind = verdict_kind_of_call(function);

	return (kind == VERDICT_BUILD || kind == VERDICT_MODULE_LOAD) &&
	       !has_any(function, beside_builds, ARRAY_COUNT(beside_builds), false);
}

/* The name of libc's function without its prefixes: __libc_pread and __GI___libc_write. */
static const char *plain_name(const char *function)
{
	static const char *const prefixes[] = {"__GI_", "__libc_", "__", "posix_"};

	for (size_t i = 0; function && i < ARRAY_COUNT(prefixes); i++)
		if (strncmp(function, prefixes[i], strlen(prefixes[i])) == 0)
			function += strlen(prefixes[i]);
	return function ? function : "";
}

/* "pread" is the function of the system call pread64. */
static bool is_wrapper(const char *function, const char *system_call)
{
	const size_t length = strlen(function);

	return length && strncmp(function, system_call, length) == 0 &&
	       (!system_call[length] || strcmp(system_call + length, "64") == 0);
}

/* Whether the descriptor of a system call may be of a pipe or a socket, by the frames in the
 * kernel. */
static bool may_be_stream(const char *system_call, const struct frame_name *kernel, size_t count)
{
	static const char *const streams[] = {"pipe_", "anon_pipe_", "sock_"};
	static const char *const either[] = {"read", "write", "readv", "writev"};

	for (size_t i = 0; i < count; i++)
		if (has_any(kernel[i].function, streams, ARRAY_COUNT(streams), true))
			return true;
	for (size_t i = 0; i < ARRAY_COUNT(either); i++)
		if (strcmp(system_call, either[i]) == 0)
			return count == 0;
	return false;
}

static bool is_of_files(enum verdict_kind kind)
{
	return kind == VERDICT_FILE_READ || kind == VERDICT_FILE_WRITE || kind == VERDICT_FILE_SYNC;
}

/* Whether the frames in the OS kernel begin at a system call, not at an interrupt or page fault. */
static bool is_system_call(const struct frame_name *kernel, size_t count)
{
	static const char *const entries[] = {"entry_SYSCALL", "do_syscall", "invoke_syscall",
					      "el0_svc", "do_el0_svc"};

	for (size_t i = 0; i < count; i++)
		if (has_any(kernel[i].function, entries, ARRAY_COUNT(entries), true))
			return true;
	return false;
}

const char *verdict_file_call(const struct frames *frames, const struct frame_name *names,
			      size_t count)
{
	const char *function;
	size_t user = count;

	while (user && names[user - 1].class == FRAME_CLASS_KERNEL)
		user--;
	if (!user || names[user - 1].class == FRAME_CLASS_PYTHON ||
	    names[user - 1].class == FRAME_CLASS_TRUNCATED ||
	    (frames_is_own(frames, &names[user - 1]) &&
	     !is_system_call(names + user, count - user)))
		return "";
	function = plain_name(names[user - 1].function);
	for (size_t i = 0; i < ARRAY_COUNT(system_calls); i++)
		if (is_of_files(system_calls[i].kind) && is_wrapper(function, system_calls[i].name))
			return may_be_stream(system_calls[i].name, names + user, count - user)
				       ? ""
				       : system_calls[i].name;
	return "";
}

/* A compiler adds a suffix to its copies of a function, such as ".constprop.0". */
static bool is_collection(const char *function)
{
	for (size_t i = 0; i < ARRAY_COUNT(collections); i++) {
		const size_t length = strlen(collections[i]);

		if (strncmp(function, collections[i], length) == 0 &&
		    (!function[length] || function[length] == '.'))
			return true;
	}
	return false;
}

/* Whether one of the innermost frames collects Python's garbage. */
static bool is_in_collection(const struct frame_name *names, size_t count)
{
	for (size_t i = count; i-- > 0 && count - i <= INNER_FRAMES;)
		if (is_collection(names[i].function))
			return true;
	return false;
}

enum verdict_kind verdict_kind_of_computing(const struct frame_name *names, size_t count)
{
	static const char *const faults[] = {"asm_exc_page_fault", "exc_page_fault",
					     "do_user_addr_fault", "handle_mm_fault"};

	if (is_inside(names, count, faults, ARRAY_COUNT(faults), true))
		return VERDICT_PAGE_FAULT;
	if (is_in_collection(names, count))
		return VERDICT_GARBAGE_COLLECTION;
	return VERDICT_COMPUTING;
}

bool verdict_is_rank_wait(const struct frame_name *names, size_t count)
{
	return is_inside(names, count, rank_waits, ARRAY_COUNT(rank_waits), true);
}

static enum verdict_kind kind_of_state(const struct analysis_state *state, const char *what,
				       const struct frame_name *names, size_t count)
{
	const bool is_plain = state->doing == CAUSE_ON_CPU || state->doing == CAUSE_BLOCKED;

	if (is_plain && verdict_is_rank_wait(names, count))
		return VERDICT_OTHER_RANK;
	switch (state->doing) {
	case CAUSE_API_WAIT:
		return state->awaited_device ? VERDICT_OTHER_DEVICE : VERDICT_DEVICE_WAIT;
	case CAUSE_API_CALL:
		return verdict_kind_of_call(what);
	case CAUSE_ON_CPU:
		return *what ? verdict_kind_of_wait(what, names, count)
			     : verdict_kind_of_computing(names, count);
	case CAUSE_PREEMPTED:
		return strcmp(what, SWITCH_CPU_LIMIT) == 0 ? VERDICT_THROTTLED : VERDICT_PREEMPTED;
	default:
		return verdict_kind_of_wait(what, names, count);
	}
}

enum verdict_kind verdict_kind_of_state(const struct analysis_state *state, const char *what,
					const struct frame_name *names, size_t count)
{
	const enum verdict_kind kind = kind_of_state(state, what, names, count);

	if (state->is_full)
		return VERDICT_COMMAND_BUFFER_FULL;
	return state->capture && (kind == VERDICT_COMPUTING || kind == VERDICT_CALL)
		       ? VERDICT_STREAM_CAPTURE
		       : kind;
}

bool verdict_is_collective(const struct frame_name *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *name = names[i].function + (names[i].function[0] == 'P');

		if (strncmp(name, "MPI_", 4) == 0)
			return has_any(name + 4, collectives, ARRAY_COUNT(collectives), true);
	}
	return false;
}

enum verdict_kind verdict_kind_of_path(enum account_cause cause)
{
	switch (cause) {
	case CAUSE_DUET_ITSELF:
		return VERDICT_DUET_ITSELF;
	case CAUSE_RUNTIME:
		return VERDICT_LAUNCH_CALL;
	case CAUSE_SUBMISSION:
		return VERDICT_SUBMISSION;
	case CAUSE_DEPENDENCY:
		return VERDICT_DEPENDENCY;
	case CAUSE_LATENCY:
		return VERDICT_LAUNCHED_NOT_STARTED;
	default:
		return VERDICT_UNKNOWN;
	}
}
