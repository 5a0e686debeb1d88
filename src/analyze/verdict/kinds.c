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
	{"openat2", VERDICT_FILE_READ},
	{"open", VERDICT_FILE_READ},
	{"access", VERDICT_FILE_READ},
	{"faccessat", VERDICT_FILE_READ},
	{"faccessat2", VERDICT_FILE_READ},
	{"stat", VERDICT_FILE_READ},
	{"lstat", VERDICT_FILE_READ},
	{"newfstatat", VERDICT_FILE_READ},
	{"statx", VERDICT_FILE_READ},
	{"getdents64", VERDICT_FILE_READ},
	{"sendfile", VERDICT_FILE_READ},
	{"splice", VERDICT_FILE_READ},
	{"tee", VERDICT_FILE_READ},
	{"vmsplice", VERDICT_FILE_READ},
	{"fadvise64", VERDICT_FILE_READ},
	{"write", VERDICT_FILE_WRITE},
	{"pwrite64", VERDICT_FILE_WRITE},
	{"writev", VERDICT_FILE_WRITE},
	{"pwritev", VERDICT_FILE_WRITE},
	{"pwritev2", VERDICT_FILE_WRITE},
	{"ftruncate", VERDICT_FILE_WRITE},
	{"fallocate", VERDICT_FILE_WRITE},
	{"copy_file_range", VERDICT_FILE_WRITE},
	{"rename", VERDICT_FILE_WRITE},
	{"renameat", VERDICT_FILE_WRITE},
	{"renameat2", VERDICT_FILE_WRITE},
	{"unlink", VERDICT_FILE_WRITE},
	{"unlinkat", VERDICT_FILE_WRITE},
	{"mkdir", VERDICT_FILE_WRITE},
	{"mkdirat", VERDICT_FILE_WRITE},
	{"rmdir", VERDICT_FILE_WRITE},
	{"linkat", VERDICT_FILE_WRITE},
	{"recvfrom", VERDICT_NETWORK},
	{"recvmsg", VERDICT_NETWORK},
	{"recvmmsg", VERDICT_NETWORK},
	{"sendto", VERDICT_NETWORK},
	{"sendmsg", VERDICT_NETWORK},
	{"sendmmsg", VERDICT_NETWORK},
	{"connect", VERDICT_NETWORK},
	{"accept", VERDICT_NETWORK},
	{"accept4", VERDICT_NETWORK},
	{"msgrcv", VERDICT_MESSAGE},
	{"msgsnd", VERDICT_MESSAGE},
	{"mq_timedreceive", VERDICT_MESSAGE},
	{"mq_timedsend", VERDICT_MESSAGE},
	{"wait4", VERDICT_CHILD_PROCESS},
	{"waitid", VERDICT_CHILD_PROCESS},
	{"vfork", VERDICT_CHILD_PROCESS},
	{"clone", VERDICT_CHILD_PROCESS},
	{"clone3", VERDICT_CHILD_PROCESS},
	{"nanosleep", VERDICT_SLEEP},
	{"clock_nanosleep", VERDICT_SLEEP},
	{"sleep", VERDICT_SLEEP},
	{"pause", VERDICT_EVENT_WAIT},
	{"rt_sigsuspend", VERDICT_EVENT_WAIT},
	{"rt_sigtimedwait", VERDICT_EVENT_WAIT},
	{"poll", VERDICT_EVENT_WAIT},
	{"ppoll", VERDICT_EVENT_WAIT},
	{"select", VERDICT_EVENT_WAIT},
	{"pselect6", VERDICT_EVENT_WAIT},
	{"epoll_wait", VERDICT_EVENT_WAIT},
	{"epoll_pwait", VERDICT_EVENT_WAIT},
	{"epoll_pwait2", VERDICT_EVENT_WAIT},
	{"io_getevents", VERDICT_EVENT_WAIT},
	{"io_pgetevents", VERDICT_EVENT_WAIT},
	{"io_uring_enter", VERDICT_EVENT_WAIT},
	{"page fault", VERDICT_PAGE_FAULT},
	{"mutex", VERDICT_LOCK},
	{"futex", VERDICT_LOCK},
	{"futex_wait", VERDICT_LOCK},
	{"futex_waitv", VERDICT_LOCK},
	{"flock", VERDICT_LOCK},
	{"fcntl", VERDICT_LOCK},
	{"semop", VERDICT_LOCK},
	{"semtimedop", VERDICT_LOCK},
};

/* Objects of system calls for which the thread does not wait as for a file, by the start of the
 * text in brackets. */
static const struct named_kind objects[] = {
	{"pipe", VERDICT_PIPE},
	{"socket", VERDICT_NETWORK},
	{"unix socket", VERDICT_NETWORK},
	{"netlink socket", VERDICT_NETWORK},
	{"vsock socket", VERDICT_NETWORK},
	{"raw socket", VERDICT_NETWORK},
	{"TCP", VERDICT_NETWORK},
	{"UDP", VERDICT_NETWORK},
	{"timerfd", VERDICT_SLEEP},
	{"eventfd", VERDICT_EVENT_WAIT},
	{"inotify", VERDICT_EVENT_WAIT},
	{"fanotify", VERDICT_EVENT_WAIT},
	{"signalfd", VERDICT_EVENT_WAIT},
	{"userfaultfd", VERDICT_EVENT_WAIT},
	{"perf_event", VERDICT_EVENT_WAIT},
	{"terminal", VERDICT_EVENT_WAIT},
	{"device ", VERDICT_EVENT_WAIT},
};

/* The same by the function of the OS kernel in which the thread waits. */
static const struct named_kind object_functions[] = {
	{"pipe_", VERDICT_PIPE},
	{"anon_pipe_", VERDICT_PIPE},
	{"fifo_", VERDICT_PIPE},
	{"wait_for_partner", VERDICT_PIPE},
	{"sock_", VERDICT_NETWORK},
	{"timerfd_", VERDICT_SLEEP},
	{"eventfd_", VERDICT_EVENT_WAIT},
	{"inotify_", VERDICT_EVENT_WAIT},
	{"fanotify_", VERDICT_EVENT_WAIT},
	{"signalfd_", VERDICT_EVENT_WAIT},
	{"userfaultfd_", VERDICT_EVENT_WAIT},
	{"perf_read", VERDICT_EVENT_WAIT},
	{"tty_", VERDICT_EVENT_WAIT},
	{"n_tty_", VERDICT_EVENT_WAIT},
};

/* System calls of descriptors that may be of anything. */
static const char *const of_anything[] = {"read",     "readv",  "write", "writev",
					  "sendfile", "splice", "tee",   "vmsplice"};

/* Functions of the OS kernel that read and write files on disks and in memory. */
static const char *const file_functions[] = {
	"io_schedule", "filemap_", "folio_",  "generic_file_", "blkdev_",    "ext2_", "ext4_",
	"xfs_",        "btrfs_",   "f2fs_",   "nfs_",          "nfs4_",      "cifs_", "fuse_",
	"ceph_",       "ovl_",     "shmem_",  "iomap_",        "__iomap_",   "zfs_",  "squashfs_",
	"netfs_",      "v9fs_",    "lustre_", "gfs2_",         "page_cache_"};

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

/* Functions that wait for the work of another thread, and take a lock only for that … */
static const char *const thread_waits[] = {
	"pthread_cond_", "Condvar",       "condition_variable", "future_base",
	"barrier_wait",  "__atomic_wait", "pthread_barrier",    "CondVar",
	"aio_suspend",   "pthread_join",  "pthread_timedjoin",  "pthread_clockjoin",
	"thrd_join",     "cnd_wait",      "cnd_timedwait"};

/* … and functions that wait for a lock. */
static const char *const lock_waits[] = {"mutex",
					 "Mutex",
					 "rwlock",
					 "RwLock",
					 "lll_lock",
					 "spin_lock",
					 "mtx_lock",
					 "shared_timed",
					 "lock_slow",
					 "lock_contended",
					 "omp_set_lock",
					 "omp_set_nest_lock",
					 "GOMP_critical",
					 "GOMP_atomic_start",
					 "__kmpc_critical",
					 "runtime.lock2",
					 "ObjectMonitor::enter"};

/* A lock of Python's is a semaphore, too. */
static const char *const semaphores[] = {"sem_wait", "sem_timedwait", "sem_clockwait"};

/* Modules of Python's standard library that wait for another thread. */
static const char *const waiting_modules[] = {"threading.py",
					      "queue.py",
					      "concurrent/futures/_base.py",
					      "concurrent/futures/thread.py",
					      "concurrent/futures/process.py",
					      "multiprocessing/pool.py",
					      "multiprocessing/synchronize.py"};

/* Runtimes of OpenMP; their threads wait for each other with and without a futex. */
static const char *const openmp_files[] = {"libgomp.", "libomp.", "libiomp5."};

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

static enum verdict_kind find_named(const struct named_kind *rows, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(text, rows[i].name, strlen(rows[i].name)) == 0)
			return rows[i].kind;
	return VERDICT_UNKNOWN;
}

static bool is_any_object(const char *system_call)
{
	for (size_t i = 0; i < ARRAY_COUNT(of_anything); i++)
		if (strcmp(system_call, of_anything[i]) == 0)
			return true;
	return false;
}

/* The number of frames before those of the OS kernel. */
static size_t count_user(const struct frame_name *names, size_t count)
{
	while (count && names[count - 1].class == FRAME_CLASS_KERNEL)
		count--;
	return count;
}

/* The kind by the frames in the OS kernel, which show the call's object; UNKNOWN: they do not. */
static enum verdict_kind kind_of_kernel(enum verdict_kind kind, const struct frame_name *names,
					size_t count)
{
	enum verdict_kind found = VERDICT_UNKNOWN;

	for (size_t i = count; i-- > count_user(names, count) && found == VERDICT_UNKNOWN;)
		found = has_any(names[i].function, file_functions, ARRAY_COUNT(file_functions),
				true)
				? kind
				: find_named(object_functions, ARRAY_COUNT(object_functions),
					     names[i].function);
	return found;
}

/* kind: the system call's, if its object is a file. */
static enum verdict_kind kind_of_file(enum verdict_kind kind, const char *what,
				      const struct frame_name *names, size_t count)
{
	const char *object = strstr(what, " (");
	enum verdict_kind found;

	if (kind != VERDICT_FILE_READ && kind != VERDICT_FILE_WRITE)
		return kind;
	found = object ? find_named(objects, ARRAY_COUNT(objects), object + 2)
		       : kind_of_kernel(kind, names, count);
	if (found != VERDICT_UNKNOWN)
		return found;
	return object || !is_any_object(what) ? kind : VERDICT_BLOCKED;
}

/* Whether a file of Python's standard library waits for other threads: "…/lib/python3.11/queue.py".
 * A program may have its own queue.py. */
static bool is_waiting_module(const char *file)
{
	const char *library = NULL, *module;

	for (const char *at = file; at && (at = strstr(at, "/python3")); at++)
		library = at;
	module = library ? strchr(library + 1, '/') : NULL;
	for (size_t i = 0; module && i < ARRAY_COUNT(waiting_modules); i++)
		if (strcmp(module + 1, waiting_modules[i]) == 0)
			return true;
	return false;
}

/* Its blocks "with lock:" and "with condition:" wait for the lock itself. */
static bool is_waiting_function(const struct frame_name *python)
{
	static const char enter[] = "__enter__";
	const size_t length = strlen(python->function);

	return is_waiting_module(python->file) &&
	       (length < strlen(enter) ||
		strcmp(python->function + length - strlen(enter), enter) != 0);
}

static bool is_in_openmp(const struct frames *frames, const struct frame_name *name)
{
	return has_any(path_base(frames_module(frames, name)), openmp_files,
		       ARRAY_COUNT(openmp_files), true);
}

/* SimpleQueue.get() waits in native code for the thread that puts something into it. */
static bool is_simple_queue(const struct frames *frames, const struct frame_name *name)
{
	return strncmp(name->function, "_queue_SimpleQueue_get", 22) == 0 ||
	       strncmp(path_base(frames_module(frames, name)), "_queue.", 7) == 0;
}

enum awaited { AWAITED_UNKNOWN, AWAITED_LOCK, AWAITED_WORK, AWAITED_SEMAPHORE, AWAITED_OPENMP };

static enum awaited awaited_by_name(const char *function)
{
	if (has_any(function, semaphores, ARRAY_COUNT(semaphores), false))
		return AWAITED_SEMAPHORE;
	if (has_any(function, thread_waits, ARRAY_COUNT(thread_waits), false))
		return AWAITED_WORK;
	return has_any(function, lock_waits, ARRAY_COUNT(lock_waits), false) ? AWAITED_LOCK
									     : AWAITED_UNKNOWN;
}

/* found: by the functions that this one called. */
static enum awaited awaited_in(const struct frames *frames, const struct frame_name *name,
			       enum awaited found)
{
	if (found == AWAITED_LOCK || found == AWAITED_WORK)
		return found;
	if (is_simple_queue(frames, name))
		return AWAITED_WORK;
	if (found == AWAITED_SEMAPHORE || frames_is_interpreter(frames, name))
		return found;
	if (found == AWAITED_OPENMP && !is_in_openmp(frames, name))
		return AWAITED_WORK;
	if (awaited_by_name(name->function) != AWAITED_UNKNOWN)
		return awaited_by_name(name->function);
	return is_in_openmp(frames, name) ? AWAITED_OPENMP : found;
}

/* Whether a Python function waits by itself: the native code that it called is the interpreter's.
 */
static bool is_pythons(const struct frames *frames, const struct frame_name *native, size_t count)
{
	static const char *const files[] = {"libc.", "libc-", "libpthread", "_thread.",
					    "_multiprocessing."};

	for (size_t i = 0; i < count; i++)
		if (!frames_is_interpreter(frames, &native[i]) &&
		    !has_any(path_base(frames_module(frames, &native[i])), files,
			     ARRAY_COUNT(files), true))
			return false;
	return true;
}

/* Whether a thread that sleeps on a futex waits for the work of another thread, not for its lock.
 * The innermost function that shows it counts. A futex without such a function may be anything of
 * the program's own, unless its memory is a mutex. */
static bool is_for_work(const struct frames *frames, const char *what,
			const struct frame_name *names, size_t count)
{
	enum awaited found = AWAITED_UNKNOWN;
	size_t native = count = count_user(names, count);

	for (; native && names[native - 1].class != FRAME_CLASS_PYTHON; native--)
		if (count - native < INNER_FRAMES)
			found = awaited_in(frames, &names[native - 1], found);
	if (found == AWAITED_LOCK)
		return false;
	if (found == AWAITED_WORK || found == AWAITED_OPENMP)
		return true;
	if (native && is_pythons(frames, names + native, count - native))
		return is_waiting_function(&names[native - 1]);
	return found == AWAITED_SEMAPHORE || strncmp(what, "mutex", 5) != 0;
}

/* Whether a thread polls in a runtime of OpenMP for its other threads. Its functions have no names
 * if the file is stripped; those that programs call always have. */
static bool is_polling(const struct frames *frames, const struct frame_name *names, size_t count)
{
	static const char *const polls[] = {"wait", "barrier", "spin", "__kmp_"};
	const struct frame_name *inner;

	count = count_user(names, count);
	inner = count ? &names[count - 1] : NULL;
	return inner && is_in_openmp(frames, inner) &&
	       (inner->is_unnamed || has_any(inner->function, polls, ARRAY_COUNT(polls), false));
}

bool verdict_is_futex(const char *what)
{
	return is_call(what, "mutex") || is_call(what, "futex") || is_call(what, "futex_wait") ||
	       is_call(what, "futex_waitv");
}

static enum verdict_kind kind_of_system_call(const char *what)
{
	for (size_t i = 0; i < ARRAY_COUNT(system_calls); i++)
		if (is_call(what, system_calls[i].name))
			return system_calls[i].kind;
	return VERDICT_BLOCKED;
}

enum verdict_kind verdict_kind_of_wait(const struct frames *frames, const char *what,
				       const struct frame_name *names, size_t count)
{
	enum verdict_kind kind;

	if (analysis_is_gil(what))
		return VERDICT_PYTHON_GIL;
	kind = kind_of_file(kind_of_system_call(what), what, names, count);
	return verdict_is_futex(what) && is_for_work(frames, what, names, count)
		       ? VERDICT_THREAD_WAIT
		       : kind;
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
	       kind == VERDICT_LAUNCH_BOUND || kind == VERDICT_COMMAND_BUFFER_FULL;
}

bool verdict_is_on_processor(enum verdict_kind kind)
{
	return kind == VERDICT_COMPUTING || kind == VERDICT_PREEMPTED ||
	       kind == VERDICT_PAGE_FAULT || kind == VERDICT_GARBAGE_COLLECTION;
}

bool verdict_is_for_thread(enum verdict_kind kind)
{
	return kind == VERDICT_PYTHON_GIL || kind == VERDICT_LOCK || kind == VERDICT_THREAD_WAIT ||
	       kind == VERDICT_PIPE || kind == VERDICT_MESSAGE || kind == VERDICT_NETWORK ||
	       kind == VERDICT_EVENT_WAIT;
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

/* Whether the descriptor of a system call may be of another object than a file, by the
 * frames in the kernel. */
static bool may_be_other(const char *system_call, const struct frame_name *kernel, size_t count)
{
	const enum verdict_kind found = kind_of_kernel(VERDICT_FILE_READ, kernel, count);

	return found == VERDICT_UNKNOWN ? is_any_object(system_call) : found != VERDICT_FILE_READ;
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
	const size_t user = count_user(names, count);

	if (!user || names[user - 1].class == FRAME_CLASS_PYTHON ||
	    names[user - 1].class == FRAME_CLASS_TRUNCATED ||
	    (frames_is_own(frames, &names[user - 1]) &&
	     !is_system_call(names + user, count - user)))
		return "";
	function = plain_name(names[user - 1].function);
	for (size_t i = 0; i < ARRAY_COUNT(system_calls); i++)
		if (is_of_files(system_calls[i].kind) && is_wrapper(function, system_calls[i].name))
			return may_be_other(system_calls[i].name, names + user, count - user)
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

enum verdict_kind verdict_kind_of_computing(const struct frames *frames,
					    const struct frame_name *names, size_t count)
{
	static const char *const faults[] = {"asm_exc_page_fault", "exc_page_fault",
					     "do_user_addr_fault", "handle_mm_fault"};

	if (is_inside(names, count, faults, ARRAY_COUNT(faults), true))
		return VERDICT_PAGE_FAULT;
	if (is_in_collection(names, count))
		return VERDICT_GARBAGE_COLLECTION;
	return is_polling(frames, names, count) ? VERDICT_THREAD_WAIT : VERDICT_COMPUTING;
}

bool verdict_is_rank_wait(const struct frame_name *names, size_t count)
{
	return is_inside(names, count, rank_waits, ARRAY_COUNT(rank_waits), true);
}

static enum verdict_kind kind_of_state(const struct frames *frames,
				       const struct analysis_state *state, const char *what,
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
		/* verdict_file_call found the call */
		return *what ? kind_of_system_call(what)
			     : verdict_kind_of_computing(frames, names, count);
	case CAUSE_HOST:
		return verdict_data_loader(names, count) ? VERDICT_DATA_LOADING
							 : VERDICT_HOST_FUNCTION;
	case CAUSE_PREEMPTED:
		return strcmp(what, SWITCH_CPU_LIMIT) == 0 ? VERDICT_THROTTLED : VERDICT_PREEMPTED;
	default:
		return verdict_kind_of_wait(frames, what, names, count);
	}
}

enum verdict_kind verdict_kind_of_state(const struct frames *frames,
					const struct analysis_state *state, const char *what,
					const struct frame_name *names, size_t count)
{
	const enum verdict_kind kind = kind_of_state(frames, state, what, names, count);

	if (state->is_full)
		return VERDICT_COMMAND_BUFFER_FULL;
	return state->capture && (kind == VERDICT_COMPUTING || kind == VERDICT_CALL ||
				  kind == VERDICT_HOST_FUNCTION)
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
	case CAUSE_PROFILER_OVERHEAD:
		return VERDICT_PROFILER_OVERHEAD;
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
