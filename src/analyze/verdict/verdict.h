/* SPDX-License-Identifier: MIT
 *
 * analyze/verdict/verdict.h - why a device was idle: the causes in the steady part, largest first
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/account/account.h"

struct analysis;
struct analysis_path;
struct analysis_state;
struct frame_name;
struct frames;

/* Kind and text. The kinds are values of the JSON key "kind". */
#define VERDICT_KINDS(X)                              \
	X(COMPUTING, computing)                       \
	X(PYTHON_GIL, python_gil)                     \
	X(LOCK, lock)                                 \
	X(THREAD_WAIT, thread_wait)                   \
	X(FILE_READ, file_read)                       \
	X(FILE_WRITE, file_write)                     \
	X(FILE_SYNC, file_sync)                       \
	X(NETWORK, network)                           \
	X(PIPE, pipe)                                 \
	X(MESSAGE, message)                           \
	X(CHILD_PROCESS, child_process)               \
	X(SLEEP, sleep)                               \
	X(EVENT_WAIT, event_wait)                     \
	X(PAGE_FAULT, page_fault)                     \
	X(GARBAGE_COLLECTION, garbage_collection)     \
	X(THROTTLED, throttled)                       \
	X(PREEMPTED, preempted)                       \
	X(BLOCKED, blocked)                           \
	X(BUILD, build)                               \
	X(MODULE_LOAD, module_load)                   \
	X(ALLOCATION, allocation)                     \
	X(FREE, free)                                 \
	X(CALL, call)                                 \
	X(HOST_FUNCTION, host_function)               \
	X(DATA_LOADING, data_loading)                 \
	X(DEVICE_WAIT, device_wait)                   \
	X(LAUNCH_CALL, launch_call)                   \
	X(LAUNCH_BOUND, launch_bound)                 \
	X(COMMAND_BUFFER_FULL, command_buffer_full)   \
	X(STREAM_CAPTURE, stream_capture)             \
	X(SUBMISSION, submission)                     \
	X(DEPENDENCY, dependency)                     \
	X(OTHER_DEVICE, other_device)                 \
	X(LAUNCHED_NOT_STARTED, launched_not_started) \
	X(OTHER_RANK, other_rank)                     \
	X(DUET_ITSELF, duet_itself)                   \
	X(PROFILER_OVERHEAD, profiler_overhead)       \
	X(UNKNOWN, unknown)

enum verdict_kind {
#define VERDICT_KIND(KIND, name) VERDICT_##KIND,
	VERDICT_KINDS(VERDICT_KIND)
#undef VERDICT_KIND
		VERDICT_KIND_COUNT
};
const char *verdict_kind_name(enum verdict_kind kind);
/* The kind of a runtime's function; VERDICT_CALL: none of its own. */
enum verdict_kind verdict_kind_of_call(const char *function);
/* Whether the function compiles device code, or may do so when it loads it. */
bool verdict_is_build(const char *function);
/* The kind of a wait for `what`. */
enum verdict_kind verdict_kind_of_wait(const struct frames *frames, const char *what,
				       const struct frame_name *names, size_t count);
/* Whether the thread was in a call of a runtime. */
bool verdict_is_call(enum verdict_kind kind);

/* Whether a wait is for a futex, also if the futex is a mutex. */
bool verdict_is_futex(const char *what);

/* The user's innermost function in a stack. The texts live as long as the frames. */
struct verdict_place {
	const char *function; /* NULL: not known */
	const char *file;     /* NULL: not known */
	uint32_t line;        /* 0: not known */
	uint32_t stack;
	bool is_own; /* false: only code of libraries is known */
};

/* The part of a device's window whose idle time is explained. */
enum verdict_scope {
	VERDICT_STEADY,
	VERDICT_WHOLE,
	VERDICT_SLOWEST,
	VERDICT_BESIDE /* launching threads beside the steady part, from the first command
			  to the last; without calls */
};

/* How many different threads or objects a cause joins. */
struct verdict_group {
	uint32_t count;           /* 0: none is known */
	bool has_other_names;     /* they do not have one name */
	bool has_other_patterns;  /* the names differ in more than their numbers; what: processes */
	bool has_other_processes; /* the threads belong to several processes */
};

/* Idle time of the steady part, or of another scope, with one kind of cause in one function. */
struct verdict_cause {
	enum verdict_kind kind;
	enum verdict_kind own_kind; /* PREEMPTED: the kind of its own code there; otherwise kind */
	enum account_cause cause;   /* the account's cause that contains it */
	uint64_t ns;
	uint64_t preempted_ns; /* part of ns in which another thread had the processor */
	uint64_t times;        /* LAUNCH_BOUND: number of gaps */
	uint32_t thread;       /* id of a launching thread, the first of `threads`; 0: not known */
	struct verdict_group threads;
	struct verdict_place place; /* place of that thread */
	const char *what; /* the object of the wait, the function called, or who ran; "" */
	const char *also; /* another one of `whats`; NULL: `what` is the only one */
	struct verdict_group whats; /* PREEMPTED: processes of the program that ran most */
	/* The holder of the lock, the thread that ended the wait or set the event, the one that
	 * launched the awaited command, the late rank's thread, or the thread of the same process
	 * that preempted it; 0: none, or not known. */
	uint32_t other_thread;
	struct verdict_group others; /* threads like other_thread */
	struct verdict_place other;  /* place of the other thread, meanwhile or in that call */
	uint64_t other_ns;       /* part of ns in which it is certain that the thread was there */
	uint32_t other_device;   /* OTHER_DEVICE: index + 1 of that device; 0: none, or not known */
	bool is_event;           /* DEPENDENCY: for an event that the program sets */
	uint64_t other_named_ns; /* part of other_away_ns with other_kind */
	uint64_t other_away_ns;  /* part of ns in which it waited itself */
	enum verdict_kind other_kind; /* that wait's */
	const char *other_what;       /* its object; "" or NULL: not known */
	bool is_after;                /* CAUSE_NOTHING_TO_DO: after the last command */
	uint32_t id;                  /* number in the first step */
};

/* The place of a stack; function NULL: not known, or its inner frames are missing. -ENOMEM. */
int verdict_find_place(struct frames *frames, uint32_t stack, struct verdict_place *ret_place);

struct verdict {
	size_t device;
	enum verdict_scope scope;
	const struct account_steady *steady; /* with VERDICT_SLOWEST: the slowest iteration */
	struct verdict_cause *causes;        /* owned; the longest first */
	size_t count, capacity;
};

/* The device of which the verdict is: the measured one that idles longest in its steady part. Those
 * with less than a quarter of the busiest one's work do not count. SIZE_MAX: none. */
size_t verdict_device(const struct analysis *analysis);

/* Finds the causes of a device's idle time in a scope. frames and analysis must outlive the
 * verdict. -ENOMEM. */
int verdict_make(const struct analysis *analysis, struct frames *frames, size_t device,
		 enum verdict_scope scope, struct verdict *ret_verdict);
void verdict_fini(struct verdict *verdict); /* NULL-safe */

/* Launches that came only after the launching thread had waited until the device was idle. */
struct verdict_launch_bound {
	uint64_t gaps, ns;                 /* idle gaps of the steady part, and their time */
	const struct analysis_waited *row; /* the row with most of it */
};

/* Whether such gaps are a pattern that takes 1 % of the device's steady part. */
bool verdict_launch_bound(const struct analysis *analysis, size_t device,
			  struct verdict_launch_bound *ret_bound);

/* ---- private to verdict/: places.c ---- */

/* The place of frames, root first. */
void verdict_name_place(const struct frames *frames, const struct frame_name *names, size_t count,
			struct verdict_place *place);
/* The library's function that the user's innermost function called; "": none. */
const char *verdict_called_function(const struct frames *frames, const struct frame_name *names,
				    size_t count);
/* The function of a stack that iterates a data loader of PyTorch; NULL: none. */
const char *verdict_data_loader(const struct frame_name *names, size_t count);

/* ---- private to verdict/ ---- */

/* The time in the verdict's scope, from those in the whole window, in the steady part and in the
 * slowest iteration. */
static inline uint64_t verdict_in_scope(const struct verdict *verdict, uint64_t whole,
					uint64_t steady, uint64_t slowest)
{
	switch (verdict->scope) {
	case VERDICT_WHOLE:
		return whole;
	case VERDICT_SLOWEST:
		return slowest;
	case VERDICT_BESIDE:
		return whole > steady ? whole - steady : 0;
	default:
		return steady;
	}
}

/* ---- kinds.c ---- */

/* The system call of files in whose kernel code a stack ends; "": none. Reads and writes of pipes
 * and sockets are none. The program's own function with such a name counts if it called the OS
 * kernel: the program may contain its C library. */
const char *verdict_file_call(const struct frames *frames, const struct frame_name *names,
			      size_t count);
/* The kind of a state's time. names: its stack, root first. */
enum verdict_kind verdict_kind_of_state(const struct frames *frames,
					const struct analysis_state *state, const char *what,
					const struct frame_name *names, size_t count);
/* The kind of the code that a thread ran on its processor. */
enum verdict_kind verdict_kind_of_computing(const struct frames *frames,
					    const struct frame_name *names, size_t count);
/* Whether the thread had something to run. */
bool verdict_is_on_processor(enum verdict_kind kind);
/* Whether waits of this kind end by the work of another thread of the program. */
bool verdict_is_for_thread(enum verdict_kind kind);
/* Whether a stack is inside of MPI. */
bool verdict_is_rank_wait(const struct frame_name *names, size_t count);
/* Whether the outermost function of MPI in a stack waits for all ranks. */
bool verdict_is_collective(const struct frame_name *names, size_t count);
/* The kind of a path's idle time with this cause, as in account_steady.causes. */
enum verdict_kind verdict_kind_of_path(enum account_cause cause);
