/* SPDX-License-Identifier: MIT
 *
 * analyze/analysis.h - a trace, folded into what a report says
 */
#ifndef ANALYZE_ANALYSIS_H
#define ANALYZE_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/account.h"
#include "analyze/depth.h"
#include "analyze/ledger.h"
#include "analyze/overlap.h"
#include "analyze/quantile.h"
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

/* Commands as the report tells them apart: an enum event_command, or one that the file has under
 * another's number. A marker holds nothing back, where a barrier holds back all that comes after. */
enum { ANALYSIS_MARKER = COMMAND_COUNT, ANALYSIS_COMMAND_COUNT };

/* The command of a launch, by its number and its function. */
uint32_t analysis_launch_command(const struct model *model, const struct event_launch *launch);
/* "kernel", "read", "write", "copy", … of one. */
const char *analysis_command_name(uint32_t command);
/* "ring_full", … for an enum event_loss_reason; "api", "launch", … for an enum event_kind. */
const char *analysis_loss_name(uint32_t reason);
const char *analysis_kind_name(uint32_t kind);
/* "blocked", "preempted", … for an enum event_switch_reason; "user", "kernel", … for an enum event_mode. */
const char *analysis_switch_name(uint32_t reason);
const char *analysis_mode_name(uint32_t mode);
/* "push_pop", "start_stop", "mark" */
const char *analysis_range_type(uint32_t type);
/* "level", "amount", "ratio" */
const char *analysis_series_type(uint32_t type);
/* Whether samples of a source (the event as perf names it) come where the time goes. Page faults and the like come
 * where they come: they are never added to those. */
bool analysis_tells_time(const char *source);
/* "ns" where weights of a source are nanoseconds, "cycles", "page-faults", … else. */
const char *analysis_source_unit(const char *source);
/* Whether what a thread waits for, as a switch says, is the lock of its Python interpreter. */
bool analysis_is_gil(const char *wait);
/* "CL_OUT_OF_RESOURCES", …, of what a function returned or a command ended with; "" for a number without a name. */
const char *analysis_error_name(const char *function, int32_t result);
enum account_class analysis_class(uint32_t command);

/* A transfer of no more bytes than this is a small one: docs/design/findings.md. */
#define ANALYSIS_SMALL_BYTES 4096

struct analysis_transfers {
	uint64_t count, bytes;
	uint64_t total_ns; /* on the device */
	uint64_t calls_ns; /* in the calls that launched them */
};

/* Copies in the window whose calls return when they are complete. */
struct analysis_sync {
	uint64_t count, bytes;
	uint64_t calls_ns;  /* in the calls */
	uint64_t device_ns; /* on the device, of those that are timed */
};

/* Commands in the window that were ready, with their own queue empty, and ran after a command of another queue. */
struct analysis_serial {
	uint64_t count,
		switches; /* switches: commands that came after one of another queue at all */
	uint64_t waited_ns;
};

/* Samples in the window that tell addresses, of code that is known. */
struct analysis_hidden {
	uint64_t samples;
	/* Of them: nothing of their kernel ran in their window, as far as anybody saw, nor was it launched then or in the second before. */
	uint64_t hidden;
	uint64_t kernels;        /* that have such */
	uint64_t never_launched; /* of hidden: no launch of the kernel was seen at all */
};

struct analysis_device {
	const struct event_device *device; /* NULL: executions whose device is not described */
	const char *name, *key, *vendor;
	uint64_t launches, executions;
	/* of the whole trace, whatever the window */
	bool is_measured; /* commands are in its account, or there was none; else all is unknown */
	bool is_counted,
		has_queue; /* it has counters or samples; a program could give it commands */
	uint64_t all_launches, all_executions, all_timed; /* timed: placed or not */
	struct analysis_transfers small; /* reads, writes and copies in the window, timed */
	struct analysis_sync sync;
	struct analysis_serial serial;
	struct analysis_hidden hidden;
	struct overlap overlap;
	struct account account;
};

struct analysis_queue {
	const struct event_queue *queue; /* NULL: as above */
	size_t device, context;          /* indices into the analysis */
	uint64_t launches, executions;
	struct quantile zones[ZONE_COUNT]; /* of matched executions */
	/* From the enter of the launch to the start, of executions in the account; prompt: of those that came to a
	 * device without anything to do and waited for no event. */
	struct quantile latency, prompt;
	struct depth depth; /* of commands that were launched with result 0 */
	/* Each of them came to an end that is known, or is in flight at the end of the file. */
	bool has_depth;
	struct account account; /* no causes */
};

struct analysis_context {
	const struct event_context *context; /* NULL: as above */
	struct account account;              /* no causes */
};

struct analysis_process {
	const struct event_process *process; /* NULL: as above */
	const char *name;
	uint64_t launches, executions;
	uint64_t calls, calls_ns; /* API calls, launches among them */
	uint64_t share_ns;        /* of the devices' busy time */
	bool has_calls;           /* anywhere in the trace: it is not there for its threads alone */
	/* Of all its threads, in the window; see analysis_thread. */
	uint64_t threads, samples;
	bool has_times;
	uint64_t on_cpu_ns, blocked_ns, preempted_ns;
};

/* Where a thread was in the window, from when it was first seen to its end. */
struct analysis_thread {
	const struct event_thread *thread;
	const char *name;
	size_t process; /* index into the analysis */
	uint32_t stack; /* one of those in which it was seen, of a call if there is one; 0: none */
	uint64_t samples; /* that tell time */
	bool has_times;   /* its switches are known; else these are 0 */
	uint64_t on_cpu_ns, blocked_ns, preempted_ns;
};

/* Who launched, and into which queue, or who was away: ids; 0: not known, or not asked for (by_thread). */
struct analysis_whom {
	uint32_t process, thread, queue;
};

/* Threads were off their processors. */
struct analysis_away {
	struct analysis_whom whom;
	uint32_t stack;       /* 0: not known */
	uint32_t wait_string; /* what for; 0: not known */
	bool is_preempted;    /* for nothing: another thread ran */
	uint64_t count, away_ns;
};

/* Executions with something in common. */
struct analysis_part {
	uint64_t count, total_ns;
};

/* How the executions of a kernel in the window fill its device; timed ones only. */
struct analysis_fill {
	struct analysis_part known; /* their work-groups are known */
	struct analysis_part few;   /* fewer work-groups than compute units */
	struct analysis_part
		odd; /* work items of a group are no multiple of what suits the device */
	struct analysis_part
		tail; /* the last round of work-groups leaves units idle, a fifth of all or more */
	struct analysis_part local; /* a work-group takes more than half of a unit's local memory */
	uint64_t few_lost_ns, odd_lost_ns,
		tail_lost_ns;               /* what of their time units or lanes were idle */
	uint64_t groups, items, longest_ns; /* of the longest of them */
	uint64_t group_most, group_multiple, local_bytes; /* of the kernel; 0: not known */
	uint64_t registers,
		taken_bytes; /* of a work item, of a work-group's launches; 0: not known */
	uint64_t units, unit_local_bytes; /* of the device; 0: not known */
};

struct analysis_kernel {
	const char *name;   /* as model_kernel_name gives it */
	const char *symbol; /* "": not known */
	size_t device;
	uint64_t count, timed; /* timed: how many of them the durations are from */
	uint64_t total_ns, min_ns, max_ns;
	uint64_t share_ns; /* of the device's busy time: parts of a whole, where total_ns counts
			      overlapping executions twice */
	struct analysis_part tiny; /* that took less than their launching call */
	uint64_t tiny_calls_ns;    /* in those calls */
	struct analysis_fill fill;
};

/* Commands that are no kernels: copies by analysis_class, and the others. */
struct analysis_copy {
	uint32_t command; /* as analysis_launch_command gives it */
	size_t device;
	uint64_t count, timed, bytes, total_ns, share_ns;
	uint64_t moved_bytes, moved_ns; /* of those that are timed and moved their bytes */
};

struct analysis_call {
	const char *name;
	uint64_t count, failed, total_ns;
	bool is_launch, is_wait;
};

/* What a guest did for itself inside the program, of one name; sections that have rows. */
struct analysis_section {
	const char *name;
	uint32_t string;
	uint64_t count, total_ns, longest_ns;
};
enum { ANALYSIS_SECTIONS_MAX = 16 };

/* Calls of one function that waited for a device, blocking launches among them, from one stack. */
struct analysis_wait {
	const char *name; /* of the function */
	uint32_t stack;   /* as trace_reader_stack takes it; 0: not known */
	uint64_t count, total_ns;
};

/* Other threads of a process waited for Python's lock, and who had it waited for a device. */
struct analysis_gil {
	const char *name; /* of the function that waited for the device */
	uint32_t stack;   /* … called from here; 0: not known */
	uint64_t count,
		blocked_ns; /* intervals of threads without the lock, while the call lasted */
};

/* A thread found running in one stack. */
struct analysis_sample {
	const char *source; /* the event as perf names it */
	uint32_t mode;      /* enum event_mode */
	uint32_t stack;     /* as trace_reader_stack takes it; 0: not known */
	size_t process;     /* index into the analysis */
	uint32_t thread;    /* id, by_thread; else 0 */
	bool is_launching;  /* the thread launched a command, or tried to, at any time */
	bool tells_time;    /* of a source that comes where the time goes */
	uint64_t count;
	uint64_t weight; /* in the source's unit: nanoseconds of cpu-clock */
};

/* Where in a device's code commands of one path were found. */
struct analysis_instruction {
	uint32_t
		path; /* index into the analysis; ANALYSIS_NO_PATH: no command is known to have run it */
	uint32_t number; /* in the order in which they were found, from 0 on */
	uint32_t code;   /* thing of the trace; 0: not known */
	uint32_t
		stack; /* that launched it: of the path, else as the sampler told it; 0: not known */
	uint64_t offset; /* in the code object, bytes; code 0: the device's own address */
	size_t device;   /* where there is no path: index into the analysis; ANALYSIS_NO_DEVICE */
	const char *kernel; /* of the path, else of the code; "": not known */
	const char *stall;  /* the vendor's reason; "": none is known */
	const char *text;   /* the instruction, as another program told it; "": nobody did */
	const char *unit;   /* of weight: "ns", "cycles" … */
	uint64_t samples, weight;
	uint64_t estimated; /* of samples: several commands may have run it */
};
#define ANALYSIS_NO_PATH   UINT32_MAX
#define ANALYSIS_NO_DEVICE SIZE_MAX

enum analysis_failure_kind { FAILURE_CALL, FAILURE_LAUNCH, FAILURE_COMMAND };

/* Calls that returned one error, and commands that ended with one. */
struct analysis_failure {
	enum analysis_failure_kind kind;
	const char *name; /* of the function, or of the kernel or command */
	int32_t result;
	uint64_t count;
};

/* What one stack launched of one command on one device. Of a device all share_ns add up to its busy time, all
 * causes to its idle time. */
struct analysis_path {
	struct analysis_whom whom;
	uint32_t stack;       /* as trace_reader_stack takes it; 0: not known */
	const char *function; /* that it called to launch; "": not known */
	uint32_t row;         /* of the sweep's tables */
	size_t device;        /* index into the analysis */
	enum account_class class;
	const char
		*name; /* of the kernel or command; "": not known; NULL: the rest, no command's */
	uint64_t count, timed;        /* executions in the window */
	uint64_t total_ns, share_ns;  /* their durations; their part of the device's busy time */
	uint64_t causes[CAUSE_COUNT]; /* of the idle time before them */
};

/* Who let a thread go on that was blocked: numbers count from 1. */
enum {
	ANALYSIS_WAKERS_MOST = 4,    /* one behind the other */
	ANALYSIS_WAKERS_KEPT = 65536 /* of all; who comes later is not known */
};
struct analysis_waker {
	uint32_t thread;      /* 0: one that is not recorded */
	uint32_t name_string; /* … which is called so */
	uint32_t
		before; /* number of who let that one go on, for which it waited meanwhile; 0: it did not wait, or nobody knows */
	uint32_t depth;
};

/* What the launching threads did in the idle time of one device: computing or blocked below one stack, or in a call. Of
 * a device and a cause all idle_ns add up to what its account has. */
enum { ANALYSIS_LENGTHS = 7 }; /* of intervals: below 1, 2, 4, 8, 16, 32 and 50 ms */
struct analysis_state {
	size_t device;
	enum account_cause
		cause; /* CAUSE_ON_CPU, CAUSE_BLOCKED, CAUSE_PREEMPTED, CAUSE_API_WAIT or CAUSE_API_CALL */
	uint32_t stack; /* 0: not known */
	uint32_t
		wait_string; /* BLOCKED: what for, PREEMPTED: who ran; 0: not known. API_…: the function that was called */
	/* BLOCKED: thread that had it; 0: not known, or nobody. API_…: 0: the stack is the call's own; else the thread that
	 * called, and the stack is one that was seen inside of the call. */
	uint32_t holder;
	uint32_t
		waker; /* BLOCKED: number of who let it go on, where no holder is known; 0: not known */
	bool is_own; /* PREEMPTED: the holder, which got the processor, is of the preempted one's own process */
	uint64_t seen;     /* samples, or intervals */
	uint64_t known_ns; /* of intervals whose stack was seen */
	/* BLOCKED: of short intervals, by their length: so many seen; of those that nobody saw (stack and wait 0), ns. */
	uint64_t lengths[ANALYSIS_LENGTHS];
	uint64_t idle_ns; /* known_ns, and of the rest a part by what was seen */
};

/* What a thread did while it had what launching threads waited for, in the idle time of one device. */
struct analysis_holding {
	size_t device;
	uint32_t wait_string, holder; /* as of an analysis_state */
	uint32_t stack;               /* of the holder */
	uint64_t weight;              /* of samples, and ns of intervals off its processor */
};

/* How often one stack launched one command on one device, by the moment of the launch's enter. What is neither
 * matched nor rejected is in flight, or its execution was lost. */
struct analysis_launches {
	struct analysis_whom whom;
	uint32_t stack;
	const char *function;
	size_t device;
	enum account_class class;
	const char *name; /* of the kernel or command */
	uint64_t launched, matched, rejected;
};

/* What was launched and sampled in ranges, at any depth. */
struct analysis_within {
	uint64_t launches, samples; /* samples: that tell time */
	uint64_t device_ns;         /* of the commands launched in it, whenever they ran */
	uint64_t cpu_ns;            /* of samples that count in ns */
};

/* Ranges of one name within those of another. The rest is of those in the window. */
struct analysis_range {
	const char *domain, *name;
	uint32_t type;   /* enum event_range_type */
	uint32_t parent; /* index of what is around, before this one; ANALYSIS_NO_RANGE: nothing */
	uint64_t count, open;                       /* open: not seen to end */
	uint64_t total_ns, min_ns, max_ns, self_ns; /* self: less what is pushed within */
	uint64_t busy_ns, idle_ns; /* of total_ns: some device executed something, or none did */
	struct analysis_within within;
};
#define ANALYSIS_NO_RANGE UINT32_MAX

struct unit_shown;

/* What a series said while the program was in ranges of one row; a process's of its own ranges. */
struct analysis_range_metric {
	uint32_t range; /* index of ranges */
	const struct event_series *series;
	uint64_t readings; /* that overlap one of them: once for each */
	/* Sums of what lies within: of values (LEVEL: by their ns), and of what they are by (LEVEL and AMOUNT: ns). */
	double value, by;
	double max; /* of a value by what it is by, in base units */
};

/* As people read them. */
double analysis_range_mean(const struct analysis_range_metric *metric,
			   const struct unit_shown *unit);
double analysis_range_max(const struct analysis_range_metric *metric,
			  const struct unit_shown *unit);

struct analysis_loss {
	uint32_t kind, reason;
	uint64_t count;     /* rows, where it is known how many */
	uint64_t uncounted; /* times that nobody knows how many: it is at least as many more */
};

struct analysis_code {
	uint64_t sources, binaries, il, build_logs, kernels;
};

/* The kinds of rows that are read: the earliest of them is the begin of a recording that nobody noted. */
#define ANALYSIS_ORDER_KINDS                                                                     \
	(1u << EVENT_API | 1u << EVENT_LAUNCH | 1u << EVENT_DEPENDENCY | 1u << EVENT_EXECUTION | \
	 1u << EVENT_CPU_SAMPLE | 1u << EVENT_SWITCH | 1u << EVENT_INSTRUCTION_SAMPLE |          \
	 1u << EVENT_COUNTER | 1u << EVENT_RANGE)

struct analysis_options {
	/* Paths and launches are of one thread and queue each, samples and aways of one thread. Sums are the same. */
	bool by_thread;
	bool has_from, has_to;
	uint64_t from_ns, to_ns;                  /* relative to the begin of the recording */
	const struct analysis_observer *observer; /* NULL: nobody is told */
	size_t waiting_most; /* rows of samples that wait for what may come; 0: 2^22 */
};

/* Of the commands without an execution the one that was launched first. */
struct analysis_in_flight {
	const char *name; /* of its kernel, else of its kind; NULL: there is none */
	uint64_t enter;   /* host ns */
	uint32_t stack;   /* of its launch; 0: not known */
};

struct analysis {
	const struct model *model; /* borrowed */
	uint64_t begin_ns, end_ns; /* the recording, host time */
	uint64_t from_ns, to_ns;   /* the window of the account, host time */
	/* Where older segments were dropped (--keep, --max-size): how long after the recording's own
	 * begin begin_ns is; 0: nothing was dropped */
	uint64_t dropped_before_ns;
	bool has_window;               /* it was asked for: tables hold only what overlaps it */
	const struct event_host *host; /* NULL where there is none */

	/* Each of these lists has one item more than its count: for what is not described. */
	struct analysis_device *devices;
	size_t devices_count;
	struct analysis_queue *queues;
	size_t queues_count;
	struct analysis_context *contexts;
	size_t contexts_count;
	struct analysis_process *processes;
	size_t processes_count;
	size_t processes_called; /* of them, that have calls */
	struct analysis_thread *threads;
	size_t threads_count;

	struct analysis_kernel *kernels; /* largest total first */
	size_t kernels_count;
	struct analysis_copy *copies; /* largest total first */
	size_t copies_count;
	struct analysis_call *calls; /* largest total first */
	size_t calls_count;
	struct analysis_section sections[ANALYSIS_SECTIONS_MAX]; /* as they came */
	size_t sections_count;
	struct analysis_wait *waits; /* in no order */
	size_t waits_count;
	struct analysis_sample *samples; /* in no order */
	size_t samples_count;
	struct analysis_path *paths; /* in no order */
	size_t paths_count;
	struct analysis_instruction
		*instructions; /* in the window; by path, the most samples first */
	size_t instructions_count;
	struct analysis_away *aways; /* in no order */
	size_t aways_count;
	bool knows_switches; /* there are some, and none was lost; else no thread has times and there are no aways */
	struct analysis_state *states; /* in no order */
	size_t states_count;
	struct analysis_waker *wakers; /* number - 1 is the index */
	size_t wakers_count;
	struct analysis_gil *gils; /* in no order */
	size_t gils_count;
	struct analysis_holding *holdings; /* in no order */
	size_t holdings_count;
	struct analysis_failure *failures; /* most often first */
	size_t failures_count;
	struct analysis_launches *launches; /* in no order */
	size_t launches_count;
	struct analysis_range *ranges; /* what is around comes before what is within */
	size_t ranges_count;
	bool has_range_idle; /* it is known of all devices when they executed something */
	struct analysis_range_metric *range_metrics; /* in the order of ranges, then of series */
	size_t range_metrics_count;
	uint64_t ranges_unbegun; /* ends of ranges that were not seen to begin */
	struct analysis_loss *losses;
	size_t losses_count;
	struct analysis_ledger ledger;
	struct analysis_in_flight longest_in_flight;
	struct analysis_code code;
	struct trace_damage damage;
	uint64_t rows;        /* seen by the sweep */
	size_t peak_rows;     /* in memory at once */
	size_t peak_commands; /* open at once */
	bool is_exact;        /* every account's parts add up to its wall */
	uint64_t inexact;     /* accounts whose parts do not; in the ledger's contradictions too */
	/* A time that is not longer is no time to divide by. */
	uint64_t clock_error_ns;
};

/* model must outlive the analysis. Errors: -ENOMEM, what the reader fails with. */
int analysis_new(const struct model *model, const struct analysis_options *options,
		 struct analysis **ret_analysis);
void analysis_free(struct analysis *analysis); /* NULL-safe */

/* By id; NULL: it is not described. */
const struct analysis_thread *analysis_find_thread(const struct analysis *analysis, uint32_t id);

/* The metrics of a row of ranges; returns the first. */
const struct analysis_range_metric *analysis_metrics_of(const struct analysis *analysis,
							const struct analysis_range *range,
							size_t *ret_count);

/* Index into the analysis: of its path, else as whoever sampled it told it; ANALYSIS_NO_DEVICE: nobody did. */
size_t analysis_instruction_device(const struct analysis *analysis,
				   const struct analysis_instruction *row);

/* Where the instructions of a path begin; returns how many there are. */
size_t analysis_instructions_of(const struct analysis *analysis, uint32_t path,
				const struct analysis_instruction **ret_first);

/* 95 % or more matched, and nothing of the file cut off or damaged. */
bool analysis_has_launches(const struct analysis *analysis);
/* … and nothing in it contradicts the account. */
bool analysis_is_complete(const struct analysis *analysis);

/* The file was never closed, or the disk refused rows: what is missing at its end may have been
 * lost with it. */
bool analysis_ends_early(const struct analysis *analysis);

/* Whether the item beyond the described ones of a list has anything in it. */
size_t analysis_devices_shown(const struct analysis *analysis);
/* A device's name, with its key where others have the same; cut to the buffer, which is returned. */
const char *analysis_device_label(const struct analysis *analysis, size_t device, char *ret_label,
				  size_t size);
size_t analysis_queues_shown(const struct analysis *analysis);

#endif
