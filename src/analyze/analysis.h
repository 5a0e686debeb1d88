/* SPDX-License-Identifier: MIT
 *
 * analyze/analysis.h - the result of analysing a trace: the tables and sums that a report shows
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/account/account.h"
#include "analyze/account/overlap.h"
#include "analyze/account/queue_depth.h"
#include "analyze/collectives/collectives.h"
#include "analyze/iterations/iterations.h"
#include "analyze/ledger.h"
#include "base/order/quantile.h"
#include "event/event.h"
#include "trace/reader.h"

struct analysis_observer;
struct model;

enum analysis_zone {
	ZONE_QUEUED_SUBMITTED,
	ZONE_SUBMITTED_STARTED,
	ZONE_STARTED_ENDED,
	ZONE_COUNT
};
const char *analysis_zone_name(enum analysis_zone zone);

/* The kinds of commands in a report: an enum event_command, or ANALYSIS_MARKER. The file stores a
 * marker as COMMAND_BARRIER. The report separates the two because a barrier delays all later
 * commands and a marker delays none. */
enum { ANALYSIS_MARKER = COMMAND_COUNT, ANALYSIS_COMMAND_COUNT };

/* The kind of command that a launch queued: from its command number and its function's name. */
uint32_t analysis_launch_command(const struct model *model, const struct event_launch *launch);
/* "kernel", "read", "write", "copy", … */
const char *analysis_command_name(uint32_t command);
/* "ring_full", … for an enum event_loss_reason; "api", "launch", … for an enum event_kind. */
const char *analysis_loss_name(uint32_t reason);
const char *analysis_kind_name(uint32_t kind);
/* "blocked", "preempted", … for an enum event_switch_reason; "user", "kernel", … for an enum
 * event_mode. */
const char *analysis_switch_name(uint32_t reason);
const char *analysis_mode_name(uint32_t mode);
/* "push_pop", "start_stop" or "mark" for an enum event_range_type */
const char *analysis_range_type(uint32_t type);
/* "pageable", "device", … for an enum event_memory; "page_fault", … for an enum event_migration */
const char *analysis_memory_name(uint32_t memory);
const char *analysis_migration_name(uint32_t cause);
/* "level", "amount" or "ratio" for an enum event_series_type */
const char *analysis_series_type(uint32_t type);
/* Whether the samples of a source (a perf event name) are proportional to time, as those of
 * cpu-clock and cycles are. Page faults and cache misses are not: their samples are never added to
 * samples of time. */
bool analysis_source_is_time(const char *source);
/* The unit of a source's weights: "ns", "cycles", "page-faults", … */
const char *analysis_source_unit(const char *source);
/* Whether a switch's wait text names the lock of a Python interpreter (the GIL). */
bool analysis_is_gil(const char *wait);
/* "CL_OUT_OF_RESOURCES", …: the name of an error that a function returned or a command ended with;
 * "" for a number without a name. */
const char *analysis_error_name(const char *function, int32_t result);
enum account_class analysis_class(uint32_t command);

/* A transfer of at most this many bytes is small: docs/design/findings.md. */
#define ANALYSIS_SMALL_BYTES 4096

struct analysis_transfers {
	uint64_t count, bytes;
	uint64_t total_ns; /* on the device */
	uint64_t calls_ns; /* in the calls that launched them */
};

/* Copies in the window whose calls block until the copy is complete. */
struct analysis_sync {
	uint64_t count, bytes;
	uint64_t calls_ns;  /* in the calls */
	uint64_t device_ns; /* on the device; timed copies only */
};

/* Commands in the window that were ready while their own queue was empty, but waited for a command
 * of another queue to end. */
struct analysis_serial {
	uint64_t count,
		switches; /* switches: all commands that followed a command of another queue */
	uint64_t waited_ns;
};

/* Instruction samples in the window that carry a device address in known code, or name a kernel. */
struct analysis_hidden {
	uint64_t samples;
	/* Samples in a kernel of which no execution in their sampling window was recorded, and no
	 * launch in that window or in the second before it. */
	uint64_t hidden;
	uint64_t kernels;        /* kernels with such samples */
	uint64_t never_launched; /* samples among these whose kernel had not been launched before
				    either; of those that name a kernel, all */
	bool is_by_name;         /* some of these name a kernel */
};

struct analysis_device {
	const struct event_device *device; /* NULL: executions on devices without a row */
	const char *name, *key, *vendor;
	uint64_t launches, executions;
	/* Threads without recorded functions were outside of calls while it was idle. The states of
	 * host time without a stack have no thread, so those of other threads are unknown, too. */
	bool has_unrecorded;
	/* the members from here to all_timed describe the whole trace, not only the window */
	bool is_measured; /* its account has commands, or it got none; false: all time is unknown */
	bool is_counted, has_queue; /* is_counted: it has counters or samples; has_queue: a program
				       had a queue on it */
	uint64_t all_launches, all_executions,
		all_timed; /* all_timed: executions with device times, aligned or not */
	struct analysis_transfers small; /* timed reads, writes and copies of at most
					    ANALYSIS_SMALL_BYTES in the window */
	struct analysis_sync sync;
	struct analysis_serial serial;
	struct analysis_hidden hidden;
	struct overlap overlap;
	/* launches in the window, without copies, after which the thread waited for the device
	 * before it launched again */
	uint64_t waited_launches;
	struct account account;
};

struct analysis_queue {
	const struct event_queue *queue; /* NULL: launches into queues without a row */
	size_t device, context;          /* indices into the analysis */
	uint64_t launches, executions;
	struct quantile zones[ZONE_COUNT]; /* times between the stamps of matched executions */
	/* Time from the enter of the launch to the start of the execution, for executions in the
	 * account. prompt: only those whose device was idle and that waited for no event. */
	struct quantile latency, prompt;
	struct depth depth; /* counts commands that were launched with result 0 */
	/* The end of each such command is known, or the command is in flight at the end of the
	 * file. */
	bool has_depth;
	bool is_chosen;         /* as in struct analysis_process */
	struct account account; /* no causes */
};

struct analysis_context {
	const struct event_context *context; /* NULL: contexts without a row */
	bool is_chosen;                      /* as in struct analysis_process */
	struct account account;              /* no causes */
};

struct analysis_process {
	const struct event_process *process; /* NULL: processes without a row */
	const char *name;
	uint64_t launches, executions;
	uint64_t calls, calls_ns; /* API calls, including launches */
	uint64_t share_ns; /* busy time of its commands; where commands are concurrent, each has an
			      equal part */
	bool has_calls; /* anywhere in the trace; false: only samples or switches of its threads */
	bool is_chosen; /* model_has_process; false: its rows are left out */
	/* Sums of all its threads in the window; see struct analysis_thread. */
	uint64_t threads, samples;
	bool has_times;
	uint64_t on_cpu_ns, blocked_ns, preempted_ns, unknown_ns;
};

/* How one thread spent the window, from its first row to its end. */
struct analysis_thread {
	const struct event_thread *thread;
	const char *name;
	size_t process;     /* index into the analysis */
	uint32_t stack;     /* one stack of the thread, preferably a call's; 0: none */
	uint64_t samples;   /* from sources that measure time */
	bool has_functions; /* a tracer recorded functions or operators of it */
	bool has_times;     /* its switches are known; false: the times below are 0 */
	uint64_t on_cpu_ns, blocked_ns, preempted_ns;
	uint64_t unknown_ns; /* rows of switches were lost then */
};

/* The thread that launched and the queue it used, or the thread that was off its processor: ids. 0:
 * not known, or analysis_options.by_thread is false. */
struct analysis_whom {
	uint32_t process, thread, queue;
};

/* Intervals in which threads were off their processors, below one stack. */
struct analysis_away {
	struct analysis_whom whom;
	uint32_t stack;       /* 0: not known */
	uint32_t wait_string; /* the object of the wait; 0: not known */
	bool is_preempted;    /* the thread was runnable, but another one ran */
	uint64_t count, away_ns;
};

/* Number and total time of a subset of the executions. */
struct analysis_part {
	uint64_t count, total_ns;
};

/* How well the executions of a kernel in the window fill its device; timed executions only. */
struct analysis_fill {
	struct analysis_part known; /* the number of work-groups is known */
	struct analysis_part few;   /* fewer work-groups than compute units */
	/* the work-group's size is not a multiple of the preferred one (of the warp or
	 * wavefront) */
	struct analysis_part odd;
	/* idle units in the last round of work-groups are a fifth of all rounds' slots or more */
	struct analysis_part tail;
	struct analysis_part local; /* a work-group takes more than half of a unit's local memory */
	uint64_t few_lost_ns, odd_lost_ns,
		tail_lost_ns; /* execution time times the idle fraction of units or lanes */
	uint64_t groups, items, longest_ns; /* the longest execution: its sizes and time */
	uint64_t group_most, group_multiple,
		local_bytes;             /* limits and needs of the kernel; 0: not known */
	uint64_t registers, taken_bytes; /* registers per work item, local memory per work-group; 0:
					    not known */
	uint64_t units, unit_local_bytes; /* the device's compute units; 0: not known */
};

struct analysis_kernel {
	const char *name;   /* as model_kernel_name gives it */
	const char *symbol; /* "": not known */
	size_t device;
	uint64_t count, timed; /* timed: executions with device times; the durations are theirs */
	uint64_t total_ns, min_ns, max_ns;
	struct quantile durations; /* timed executions only */
	uint64_t share_ns; /* busy time, where concurrent commands share an instant: the shares
			      add up to it, whereas total_ns counts overlapping executions twice */
	struct analysis_part tiny; /* executions that are shorter than their launching call */
	uint64_t tiny_calls_ns;    /* time in those calls */
	struct analysis_fill fill;
};

/* All commands except kernels: copies as analysis_class defines them, and other commands. */
struct analysis_copy {
	uint32_t command; /* as analysis_launch_command gives it */
	size_t device;
	uint64_t count, timed, bytes, total_ns, share_ns;
	uint64_t moved_bytes, moved_ns; /* timed commands with a known size only */
};

enum analysis_call_class {
	ANALYSIS_CALL_RUNTIME, /* also of the operating system */
	ANALYSIS_CALL_OPERATOR,
	ANALYSIS_CALL_FUNCTION,
	ANALYSIS_CALL_CLASSES
};
enum analysis_call_class analysis_call_class_of(uint32_t type); /* enum event_api_type */

struct analysis_call {
	const char *name;
	enum analysis_call_class class;
	uint64_t count, failed, total_ns;
	uint64_t longest_ns;    /* the longest call */
	uint32_t longest_stack; /* its stack; 0: not known */
	bool is_launch, is_wait;
};

/* Work of duet's guest inside the program, by name, for sections that have rows of their own. */
struct analysis_section {
	const char *name;
	uint32_t string;
	uint64_t count, total_ns, longest_ns;
};
enum { ANALYSIS_SECTIONS_MAX = 16 };

/* Calls of one function from one stack that waited for a device, including blocking launches. */
struct analysis_wait {
	const char *name; /* the function's name */
	uint32_t stack;   /* as trace_reader_stack takes it; 0: not known */
	uint64_t count, total_ns;
};

/* Waits of a process's threads for Python's lock while the thread that held it waited for a
 * device. */
struct analysis_gil {
	const char *name;           /* the function that waited for the device */
	uint32_t stack;             /* the stack that called it; 0: not known */
	uint64_t count, blocked_ns; /* waits of the threads without the lock during the call: number
				       and time */
};

/* Samples that found a thread running with one stack. */
struct analysis_sample {
	const char *source; /* name of the perf event */
	uint32_t mode;      /* enum event_mode */
	uint32_t stack;     /* as trace_reader_stack takes it; 0: not known */
	size_t process;     /* index into the analysis */
	uint32_t thread;    /* id; 0 unless analysis_options.by_thread is set */
	bool is_launching;  /* the thread launched a command, or tried to, at any time of the
			       recording */
	bool is_time;       /* the source measures time: analysis_source_is_time */
	uint64_t count;
	uint64_t weight; /* in the source's unit: nanoseconds of cpu-clock */
};

/* Samples of one device instruction, for one path and one stall reason. */
struct analysis_instruction {
	uint32_t path; /* index into the analysis's paths; ANALYSIS_NO_PATH: no command is known to
			  have run the instruction */
	uint32_t number; /* from 0, in the order of the first sample */
	uint32_t code;   /* id of the code object; 0: not known */
	uint32_t stack;  /* stack of the launch: the path's, otherwise the one in the sample; 0: not
			    known */
	uint64_t offset; /* offset in the code object, bytes; if code is 0, a device address */
	size_t device;   /* index into the analysis's devices, only for rows without a path;
			    ANALYSIS_NO_DEVICE: not known */
	const char *kernel; /* kernel of the path, otherwise of the code; "": not known */
	const char *stall;  /* the vendor's name of the stall reason; "": not known */
	const char *text;   /* disassembly from an imported trace; "": none */
	const char *unit;   /* unit of weight: "ns", "cycles" … */
	uint64_t samples, weight;
	uint64_t estimated; /* how many of the samples are apportioned among several commands */
};
#define ANALYSIS_NO_PATH   UINT32_MAX
#define ANALYSIS_NO_DEVICE SIZE_MAX

enum analysis_failure_kind { FAILURE_CALL, FAILURE_LAUNCH, FAILURE_COMMAND };

/* Calls of one function that returned one error, or commands of one kind that ended with it. */
struct analysis_failure {
	enum analysis_failure_kind kind;
	const char *name; /* name of the function, the kernel or the command */
	int32_t result;
	uint32_t stack; /* stack of the first failed call that has one; 0: not known */
	uint64_t count;
};

/* Executions of one command on one device that were launched from one stack. The share_ns of a
 * device's paths add up to its busy time, and their causes to its idle time. */
struct analysis_path {
	struct analysis_whom whom;
	uint32_t stack;       /* as trace_reader_stack takes it; 0: not known */
	const char *function; /* the API function that launched; "": not known */
	uint32_t row;         /* index into the sweep's own table */
	size_t device;        /* index into the analysis */
	enum account_class class;
	/* name of the kernel or command; "": not known; NULL: the row for time that belongs to no
	 * command */
	const char *name;
	uint64_t count, timed; /* executions in the window */
	uint64_t total_ns,
		share_ns; /* sum of their durations; their share of the device's busy time */
	uint64_t causes[CAUSE_COUNT]; /* the device's idle time before these executions, by cause */
	uint64_t steady[CAUSE_COUNT]; /* that in the steady part, as account_steady.causes */
	uint64_t slowest[CAUSE_COUNT]; /* that in the slowest iteration */
	uint64_t not_started_ns;       /* as account.not_started_ns */
	/* Parts of CAUSE_RUNTIME in which the command buffer was full. */
	struct analysis_full_idle {
		uint64_t ns, steady_ns, slowest_ns;
	} full;
};

/* One link in a chain of wakers: the thread that woke a blocked thread, the thread that had woken
 * the waker, and so on. A link is named by its number, which starts at 1. */
enum {
	MAX_ANALYSIS_WAKERS = 4,     /* links per chain */
	ANALYSIS_WAKERS_KEPT = 65536 /* links in all; later wakers are not kept */
};
struct analysis_waker {
	uint32_t thread;      /* the waker's id; 0: a thread that is not recorded */
	uint32_t name_string; /* name of a thread that is not recorded */
	uint32_t before; /* number of the thread that woke this waker during the same wait; 0: the
			    waker did not wait, or its waker is not known */
	uint32_t depth;  /* number of links from here on */
};

/* State of the launching threads while one device was idle: computing or blocked with one stack, or
 * inside a call. For each device and cause, the idle_ns add up to that cause's time in the
 * account. */
enum { ANALYSIS_LENGTHS = 7 }; /* length classes: below 1, 2, 4, 8, 16, 32 and 50 ms */
struct analysis_state {
	size_t device;
	enum account_cause cause; /* a cause for which analysis_has_states is true */
	/* The thread's state: CAUSE_ON_CPU, CAUSE_BLOCKED, CAUSE_PREEMPTED, CAUSE_API_WAIT,
	 * CAUSE_API_CALL, or CAUSE_HOST in a function that a tracer recorded. It differs from the
	 * cause only for CAUSE_NOTHING_TO_DO. */
	enum account_cause doing;
	uint32_t thread; /* the launching thread's id; 0: in the row without a stack and a wait */
	bool is_steady;  /* in the steady part of the device's window */
	bool is_slowest; /* in the slowest iteration */
	bool is_after;   /* NOTHING_TO_DO: after the last command, not before the first */
	uint32_t stack;  /* 0: not known */
	/* BLOCKED: the object of the wait. PREEMPTED: the thread that ran instead. API_…: the
	 * function that was called. 0: not known */
	uint32_t wait_string;
	/* BLOCKED: the thread that held the object; 0: none, or not known. API_…: 0 if the stack is
	 * the call's own; otherwise the calling thread, and the stack was sampled inside the call.
	 */
	uint32_t holder;
	/* API_WAIT: index + 1 of the device whose queue the call waits for, if that is not the idle
	 * device; 0: it is, or not known */
	uint32_t awaited_device;
	uint32_t wait;  /* number of the wait, as in analysis_holding; 0: none */
	uint32_t waker; /* BLOCKED: number of the waker, if no holder is known; 0: not known */
	bool is_own; /* PREEMPTED: the thread that got the processor belongs to the same process */
	/* ON_CPU, API_…: the stack of the call that began a stream capture, plus 1; 0: the thread
	 * captured no stream */
	uint32_t capture;
	bool is_full;      /* API_…: a launch that waited because the command buffer was full */
	bool is_dropped;   /* HOST: in functions that were too many to be kept */
	uint64_t seen;     /* weight of samples, number of intervals, or ns in calls */
	uint64_t known_ns; /* time in intervals whose stack was recorded */
	/* BLOCKED, intervals shorter than 50 ms, by length class. In a row with a stack or a wait:
	 * the number of intervals. In the row without either (no stack recorded): their total time.
	 */
	uint64_t lengths[ANALYSIS_LENGTHS];
	uint64_t idle_ns; /* known_ns, plus this row's part of the time without a stack */
	/* The same for the device's steady part alone, and for the slowest iteration. These add up
	 * to account.steady.causes and account.slowest.causes. */
	uint64_t steady_ns, slowest_ns;
};

struct analysis;
/* Whether the idle time of this cause is divided among rows of analysis_cpu.states. */
bool analysis_has_states(const struct analysis *analysis, enum account_cause cause);
/* The rows of one device and one group share one time: that of a cause, where CAUSE_NOTHING_TO_DO
 * has a second group for the time after the last command. */
enum { ANALYSIS_STATE_GROUPS = CAUSE_COUNT + 1 };
static inline uint32_t analysis_state_group(enum account_cause cause, bool is_after)
{
	return is_after ? CAUSE_COUNT : cause;
}
/* The row of a device and group that has no stack and no wait. */
static inline struct analysis_state analysis_nameless_state(size_t device, uint32_t group)
{
	const bool is_after = group == CAUSE_COUNT;
	const enum account_cause cause = is_after ? CAUSE_NOTHING_TO_DO : (enum account_cause)group;

	return (struct analysis_state){
		.device = device, .cause = cause, .doing = cause, .is_after = is_after};
}

/* The stacks of another thread while launching threads waited for it and one device was idle: the
 * holder of a lock, the thread that ended the wait, or the late rank of an MPI job. */
struct analysis_holding {
	size_t device;
	uint32_t wait; /* as in struct analysis_state; 0: for other ranks */
	/* 0: the launching thread waited for this thread. Otherwise the stack of the thread that
	 * waited for it: one between the two, or with wait 0 the launching thread in MPI. */
	uint32_t behind;
	bool is_preempted;      /* wait 0: the launching thread was preempted in MPI meanwhile */
	bool is_away_preempted; /* the other thread itself was preempted */
	uint32_t wait_string, holder; /* holder: 0 if only the waker is known */
	uint32_t thread;              /* the other thread's id */
	uint32_t stack;               /* its stack; 0: no certain late rank at that time */
	uint64_t weight; /* weight of its samples, plus ns of its intervals off the processor */
	uint64_t steady_weight, slowest_weight;   /* in the steady part, in the slowest iteration */
	uint64_t away, steady_away, slowest_away; /* parts of these: in a wait of its own */
	uint32_t own_wait_string;                 /* its text; 0: not known */
};

/* Idle time in which commands of one path waited for commands or events of one place. */
struct analysis_dependency {
	uint32_t path;          /* index of paths */
	bool is_event;          /* an event that the program sets; otherwise a command */
	size_t device;          /* the awaited command's; for an event, the path's */
	uint32_t thread, stack; /* id of the thread that launched that command or set the event, and
				   the stack of the call; 0: not known */
	uint64_t idle_ns, steady_ns, slowest_ns;
};

/* Idle time of a path's device between a command for which the launching thread waited and the
 * path's command, which the thread launched then. Only gaps that the end of the wait and the launch
 * fill. */
struct analysis_waited {
	uint32_t path;            /* index of paths */
	uint32_t thread;          /* id of the launching thread */
	uint32_t function_string; /* the call that waited */
	uint32_t stack;           /* its stack; 0: not known */
	uint64_t count;           /* gaps of the window that begin in the steady part */
	uint64_t slowest_count;   /* … in the slowest iteration */
	/* As account_steady.causes, and that of the slowest iteration. */
	uint64_t steady[CAUSE_COUNT], slowest[CAUSE_COUNT];
};

/* How often one stack launched one command on one device. A launch counts at the time of its enter.
 * A launch that is neither matched nor rejected is in flight, or its execution was lost. */
struct analysis_launches {
	struct analysis_whom whom;
	uint32_t stack;
	const char *function;
	size_t device;
	enum account_class class;
	const char *name; /* name of the kernel or command */
	uint64_t launched, matched, rejected;
};

/* Launches and samples inside ranges, at any depth. */
struct analysis_within {
	uint64_t launches, samples; /* samples: from sources that measure time */
	uint64_t device_ns; /* device time of the commands launched in it, whenever they ran */
	uint64_t cpu_ns;    /* weight of the samples whose unit is ns */
};

/* All ranges of one name and one rank of a job inside ranges of one parent. The numbers are those
 * of ranges in the window. */
struct analysis_range {
	const char *domain, *name;
	uint32_t type;        /* enum event_range_type */
	uint32_t rank;        /* as in struct event_process: the number plus 1; 0: none */
	uint32_t parent;      /* index of the enclosing range, smaller than this one's;
				 ANALYSIS_NO_RANGE: none */
	uint64_t count, open; /* open: the end is not in the trace */
	uint64_t total_ns, min_ns, max_ns, self_ns; /* self: without the ranges pushed inside */
	uint64_t busy_ns, idle_ns; /* parts of total_ns in which some device, or no device, executed
				      a command */
	struct analysis_within within;
};
#define ANALYSIS_NO_RANGE UINT32_MAX

struct unit_shown;

/* Readings of one series during the ranges of one row. A process's series counts only in that
 * process's ranges. */
struct analysis_range_metric {
	uint32_t range; /* index of ranges */
	const struct event_series *series;
	uint64_t readings; /* overlaps of a reading with a range */
	/* Sums over the overlapping parts. value: the readings' values, for LEVEL multiplied by ns.
	 * by: the divisor, which is ns for LEVEL and AMOUNT. */
	double value, by;
	double max; /* largest value of a reading divided by its divisor, in base units */
};

/* Mean and maximum in the unit that the report shows. */
double analysis_range_mean(const struct analysis_range_metric *metric,
			   const struct unit_shown *unit);
double analysis_range_max(const struct analysis_range_metric *metric,
			  const struct unit_shown *unit);

struct analysis_loss {
	uint32_t kind, reason;
	uint64_t count;     /* lost rows of losses whose size is known */
	uint64_t uncounted; /* losses of unknown size: each is one row or more */
	bool is_unbounded;  /* the time of one of these losses is not known */
};

struct analysis_code {
	uint64_t sources, binaries, il, build_logs, kernels;
};

/* The kinds of rows that the sweep reads. Their earliest time is the start of the recording if the
 * trace has no host row. */
#define ANALYSIS_ORDER_KINDS                                                                     \
	(1u << EVENT_API | 1u << EVENT_LAUNCH | 1u << EVENT_DEPENDENCY | 1u << EVENT_EXECUTION | \
	 1u << EVENT_CPU_SAMPLE | 1u << EVENT_SWITCH | 1u << EVENT_INSTRUCTION_SAMPLE |          \
	 1u << EVENT_COUNTER | 1u << EVENT_RANGE)

struct analysis_options {
	/* Separate rows for each thread and queue in paths and launches, and for each thread in
	 * samples and aways. The sums do not change. */
	bool by_thread;
	bool has_from, has_to;
	uint64_t from_ns, to_ns;                  /* relative to the start of the recording */
	const struct analysis_observer *observer; /* NULL: none */
	size_t max_waiting; /* max pending rows of instruction samples; 0: 2^22 */
	bool finds_iterations;
	/* The file is still written, and all rows up to this host time have arrived: the recording
	 * ends there. 0: it ends where the trace says. */
	uint64_t arrived_ns;
	/* Leaves out what a view of the newest second does not show: accounts of queues and
	 * contexts, waiting times, overlaps, quantiles, and the states of threads that do not
	 * launch, with the holders, wakers and samples that follow from them. All other numbers
	 * are the same. */
	bool is_brief;
};

/* The earliest launch without an execution. */
struct analysis_in_flight {
	const char
		*name;  /* the kernel's name, otherwise the kind of command; NULL: no such launch */
	uint64_t enter; /* host ns */
	uint32_t stack; /* stack of the launch; 0: not known */
	uint64_t ended; /* number of such launches by processes that have ended */
};

/* Threads on and off their processors. */
struct analysis_cpu {
	/* has one item more than its count, like the lists of struct analysis */
	struct analysis_thread *threads;
	size_t threads_count;
	struct analysis_away *aways; /* in no order */
	size_t aways_count;
	bool knows_switches;    /* the trace has switches, and the time is known of those that are
				   lost; false: no thread has times, and aways is empty */
	bool has_switch_losses; /* some are lost */
	bool has_functions;     /* a tracer recorded functions or operators of the program */
	struct analysis_state *states; /* in no order */
	size_t states_count;
	struct analysis_waker *wakers; /* a waker's number is its index + 1 */
	size_t wakers_count;
	struct analysis_gil *gils; /* in no order */
	size_t gils_count;
	struct analysis_holding *holdings; /* in no order */
	size_t holdings_count;
};

/* The thread for which a wait lasts: the holder of the lock, otherwise the thread that ended the
 * wait. 0: not known. */
static inline uint32_t analysis_awaited_thread(const struct analysis_cpu *cpu, uint32_t holder,
					       uint32_t waker)
{
	return holder || !waker ? holder : cpu->wakers[waker - 1].thread;
}

/* Launches in the window that waited because the command buffer was full. */
struct analysis_full {
	uint64_t launches, ns, longest_ns;
	uint64_t thread_ns; /* largest sum of a thread */
	uint32_t stack;     /* the longest one's; 0: not known */
	bool is_reported;   /* by the driver; false: estimated from the depth of queues */
};

/* Overheads in the window with which a profiler held threads of the program. */
struct analysis_profiler {
	uint64_t count, ns;                 /* their threads are known */
	uint64_t threadless, threadless_ns; /* the recording does not name their threads */
};

/* The program's API calls and its ranges. */
struct analysis_program {
	struct analysis_call *calls; /* by class, then largest total first */
	size_t calls_count;
	struct analysis_section sections[ANALYSIS_SECTIONS_MAX]; /* in the order of the trace */
	size_t sections_count;
	struct analysis_wait *waits; /* in no order */
	size_t waits_count;
	struct analysis_failure *failures; /* largest count first */
	size_t failures_count;
	struct analysis_dependency *dependencies; /* in no order */
	size_t dependencies_count;
	struct analysis_waited *waited; /* in no order */
	size_t waited_count;
	struct analysis_range *ranges; /* a parent comes before its children */
	size_t ranges_count;
	bool has_range_idle; /* the execution times of all devices are known */
	struct analysis_range_metric *range_metrics; /* sorted by range, then by series */
	size_t range_metrics_count;
	struct analysis_full full;
	struct analysis_profiler profiler;
	struct collectives collectives; /* in the window */
	uint64_t ranges_unbegun;        /* ends of ranges whose begin is not in the trace */
};

/* The cost of the sweep, and whether its accounts add up. */
struct analysis_checks {
	uint64_t rows;        /* rows that the sweep read */
	size_t peak_rows;     /* max rows in memory at once */
	size_t peak_commands; /* max commands without an execution at once */
	bool is_exact;        /* the parts of every account add up to its wall time */
	uint64_t inexact;     /* number of accounts that do not add up; the ledger's contradictions
				 include it */
};

struct analysis {
	const struct model *model; /* borrowed */
	uint64_t begin_ns, end_ns; /* start and end of the recording, host time */
	uint64_t from_ns, to_ns;   /* the analysed window, host time */
	/* If older segments were dropped (--keep, --max-size): time from the start of the recording
	 * to begin_ns; 0: none were dropped */
	uint64_t dropped_before_ns;
	bool has_window; /* --from or --to was given: tables hold only rows that overlap it */
	const struct event_host *host; /* NULL: the trace has no host row */

	/* Each of these four lists has one item more than its count. The last item stands for all
	 * ids without a row in the trace. */
	struct analysis_device *devices;
	size_t devices_count;
	struct analysis_queue *queues;
	size_t queues_count;
	struct analysis_context *contexts;
	size_t contexts_count;
	struct analysis_process *processes;
	size_t processes_count;
	size_t processes_called; /* processes with calls */

	struct analysis_kernel *kernels; /* largest total first */
	size_t kernels_count;
	struct analysis_copy *copies; /* largest total first */
	size_t copies_count;
	struct analysis_sample *samples; /* in no order */
	size_t samples_count;
	struct analysis_path *paths; /* in no order */
	size_t paths_count;
	/* in the window; sorted by path, then by falling number of samples */
	struct analysis_instruction *instructions;
	size_t instructions_count;
	struct analysis_cpu cpu;
	struct analysis_program program;
	struct analysis_launches *launches; /* in no order */
	size_t launches_count;
	struct analysis_loss *losses;
	size_t losses_count;
	struct iterations iterations; /* those in the trace; only with finds_iterations */
	struct analysis_ledger ledger;
	struct analysis_in_flight longest_in_flight;
	struct analysis_code code;
	struct trace_damage damage;
	struct analysis_checks checks;
	/* Error of the device clocks. Rates are not computed for shorter times. */
	uint64_t clock_error_ns;
};

/* Without --from and --to every row is in the window, even a call that lasts longer than the
 * recording, so the tables contain all recorded rows. */
static inline bool analysis_shows(const struct analysis *analysis, uint64_t begin, uint64_t end)
{
	if (!analysis->has_window)
		return true;
	if (begin == end)
		return begin >= analysis->from_ns && begin < analysis->to_ns;
	return begin < analysis->to_ns && end > analysis->from_ns;
}

/* model must outlive the analysis. Errors: -ENOMEM and those of the reader. */
int analysis_new(const struct model *model, const struct analysis_options *options,
		 struct analysis **ret_analysis);
void analysis_free(struct analysis *analysis); /* NULL-safe */

/* The thread with this id; NULL: the trace has no row for it. */
const struct analysis_thread *analysis_find_thread(const struct analysis *analysis, uint32_t id);

/* The metrics of one row of ranges: returns the first, and their number in *ret_count. */
const struct analysis_range_metric *analysis_metrics_of(const struct analysis *analysis,
							const struct analysis_range *range,
							size_t *ret_count);

/* Index of the row's device: its path's, otherwise the one in the sample; ANALYSIS_NO_DEVICE: not
 * known. */
size_t analysis_instruction_device(const struct analysis *analysis,
				   const struct analysis_instruction *row);

/* The instructions of a path: *ret_first points to the first; returns their number. */
size_t analysis_instructions_of(const struct analysis *analysis, uint32_t path,
				const struct analysis_instruction **ret_first);

/* At least 95 % of the expected launches are matched, and the file is neither damaged nor cut
 * off. */
bool analysis_has_launches(const struct analysis *analysis);
/* The same, and no sample contradicts the account. */
bool analysis_is_complete(const struct analysis *analysis);

/* The file was never closed, or a write to the disk failed. Rows may then be missing at its end. */
bool analysis_ends_early(const struct analysis *analysis);

/* Number of devices to show: all described ones, plus the last item if executions name an unknown
 * device. */
size_t analysis_devices_shown(const struct analysis *analysis);
/* A device's name, with its key if another device has the same name. The text is cut to the buffer;
 * returns ret_label. */
const char *analysis_device_label(const struct analysis *analysis, size_t device, char *ret_label,
				  size_t size);
/* "2: " and that label: the number comes first because the end may be cut. */
const char *analysis_device_numbered(const struct analysis *analysis, size_t device,
				     char *ret_label, size_t size);
/* "rank 2 of 4"; "" without a rank. The text is cut to the buffer; returns ret_text. */
const char *analysis_rank_text(const struct event_process *process, char *ret_text, size_t size);
size_t analysis_queues_shown(const struct analysis *analysis);
/* Number of chosen processes: those in the trace, unless model_choose left some out. */
size_t analysis_processes_chosen(const struct analysis *analysis);
size_t analysis_threads_chosen(const struct analysis *analysis);
size_t analysis_queues_chosen(const struct analysis *analysis);
