/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/sweep.h - the state that the parts of an analysis share while they sweep over a
 * trace
 *
 * Private to analyze/. analysis.c drives the sweep; the files of sweep/ and sample/ count the rows.
 * The comment of each part of struct sweep names the files that own the part.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/account/thread_call.h"
#include "analyze/account/untimed_intervals.h"
#include "analyze/analysis.h"
#include "analyze/entity_index.h"
#include "analyze/join/join.h"
#include "analyze/model.h"
#include "analyze/observer.h"
#include "analyze/order.h"
#include "analyze/sweep/switch_losses.h"
#include "analyze/sweep/untimed.h"
#include "base/number.h"
#include "base/pair_map.h"

/* The tag of a path: the index of its row in the kernels or, with TAG_COPY, in the copies. */
#define TAG_COPY 0x80000000u
#define TAG_NONE UINT32_MAX
/* A kernel without a matched execution has no row: the tag is its index in codes. Only paths use
 * this tag, accounts do not. */
#define TAG_CODE 0x40000000u

/* One sample of a thread on a processor, or one interval off it; both outside of calls. */
struct thread_moment {
	uint64_t begin, end; /* equal: a sample, on the processor */
	uint64_t weight;
	uint32_t stack;
	uint32_t wait;     /* off it: number in sweep_thread_states.waits; 0: not known */
	bool is_preempted; /* off it although it could run */
	bool is_woken;     /* off it until another thread ended the wait */
};

/* The overlap of [begin, end) with an interval off the processor. */
static inline uint64_t thread_moment_overlap(const struct thread_moment *moment, uint64_t begin,
					     uint64_t end)
{
	const uint64_t from = larger(moment->begin, begin), to = smaller(moment->end, end);

	return from < to ? to - from : 0;
}

/* The reason of a wait: its text, the thread that holds the lock or the like, and the thread that
 * ended the wait. Also used for a call: the function, and the calling thread where the call's own
 * stack is unknown. */
struct state_wait {
	uint32_t string, holder;
	uint32_t waker;  /* number of the analysis's wakers; 0: not known */
	uint32_t device; /* call: index + 1 of the device that it waits for; 0: not known */
	bool is_own;     /* preempted by a thread of its own process */
	/* As in struct analysis_state; a capture has no waker. */
	uint32_t capture;
	bool is_full, is_dropped;
};

/* The last launch of a thread. */
struct thread_launch {
	uint64_t enter, exit;
	uint64_t number; /* the launch's, as in struct open_command */
	uint32_t place;  /* the place of its command, if that has this number */
	uint32_t function, stack;
	uint32_t device;   /* index into the analysis */
	bool is_awaitable; /* not a copy, and the thread has not waited since */
};

/* The state of one thread, from its switches and samples: on a processor, or away from it. */
struct thread_state {
	struct calls away; /* off its processor, outside of calls: CALLS_WAIT is preempted,
			      CALLS_CALL blocked, CALLS_DUET not known */
	struct loss_cursor losses;
	uint64_t watched_ns; /* its first switch or sample; UINT64_MAX: none */
	uint64_t since_ns;   /* away since then; UINT64_MAX: not away, or inside of a call */
	uint64_t left_until; /* end of the call inside of which it went away; 0: it is back */
	uint32_t stack;      /* its stack when it went away; 0: not known */
	uint32_t wait;       /* number of waits; 0: not known */
	bool is_preempted;
	uint32_t sampled_stack; /* stack of its last sample outside of calls; 0: none */
	uint64_t sampled_ns;    /* the time of that sample, plus the time preempted since then */
	/* When the thread was woken last, and by whom. */
	uint64_t woken_until;
	uint32_t waker; /* number of the analysis's wakers; 0: not known */
	/* Its last call that waits for a device. */
	uint64_t wait_end;
	uint32_t wait_function, wait_stack;
	/* While it waits for the GIL: the end of the holder's call that waits for a device. 0: it
	 * does not wait for the GIL, or the holder is in no such call. */
	uint64_t gil_until;
	uint32_t gil_function, gil_stack;
	bool has_launched;
	struct thread_launch launch;
	uint64_t full_ns;                        /* waits of its launches for room */
	uint32_t captures;                       /* streams that it captures */
	uint32_t capture;                        /* as in struct analysis_state; 0: none */
	uint64_t batch_enter, batch_correlation; /* its last launch of a batch; 0: none */
	struct calls overheads; /* a profiler's; only those that an open idle gap may still need */
	struct thread_called called;
	struct thread_called functions; /* the innermost ones, with calls between them */
	/* in the order of their end; only those that an open idle gap may still need */
	struct thread_moment *moments;
	size_t moments_first, moments_count, moments_capacity;
};

/* The times of one thread on and off processors, inside of calls too. */
struct thread_time {
	uint64_t first_ns, last_ns; /* first and last row about it; first_ns UINT64_MAX: none */
	uint64_t away_since_ns;     /* UINT64_MAX: it is not */
	uint32_t stack, wait_string;
	bool is_preempted, has_exited;
	bool has_called_stack; /* a call has recorded its stack, which is complete */
	struct loss_cursor losses;
};

/* The command of a device with the latest end so far. */
struct device_last {
	uint64_t started, ended;
	uint32_t queue;
};

/* Global and local size of the latest kernel launch, in work-items; the number of work-groups
 * (groups) and of work-items in one group (items) follow from them. */
struct grid {
	uint64_t global_size[3], local_size[3];
	uint64_t groups, items; /* 0: not known */
	uint32_t dimensions;
};

/* Facts about threads that are unknown because rows were lost. */
struct sweep_lost {
	bool host, switches; /* calls may be missing; switches may be missing */
	bool is_told;        /* the observer got spans with these losses applied */
};

/* The time in which at least one device executed something, as disjoint intervals. */
struct busy {
	uint64_t past_ns;    /* sum of all intervals but the last */
	uint64_t begin, end; /* the last interval, which may still grow */
	bool has_any;
	/* Begins and ends of ranges that are not counted yet, as a heap with the earliest on top.
	 * */
	struct busy_moment {
		uint64_t time;
		uint32_t row; /* index of the analysis's ranges */
		bool is_end;
	} * moments; /* owned */
	size_t moments_count, moments_capacity;
};

#define RANGE_METRICS_LEFT_OUT SIZE_MAX       /* a series that is not chosen */
#define RANGE_METRICS_OF_ALL   (SIZE_MAX - 1) /* no process: counts for all ranges */

/* The counters that are summed up for each range. */
struct range_metrics {
	struct entity_index series;
	size_t *process_of; /* owned; by series: index of its process, or a RANGE_METRICS_ value */
	bool has_any;       /* a series is chosen */
	/* Ranges that later readings may overlap. */
	struct counted_range {
		uint64_t begin, end;
		uint32_t row; /* index of the analysis's ranges */
		size_t process;
	} * ranges; /* owned */
	size_t ranges_count, ranges_capacity, retire_at;
	struct event_counter *readings; /* owned; readings that end later than the sweep's moment */
	size_t readings_count, readings_capacity;
	uint64_t earliest_ns; /* earliest end of these readings */
	struct pair_map rows; /* (row of ranges, index of series) -> index of range_metrics */
	size_t rows_capacity;
};

/* Launches that never executed, found by a first sweep. The second sweep opens no command for them.
 * */
struct sweep_skipped {
	uint64_t *numbers; /* owned; numbers of launch rows, ascending */
	size_t count, capacity;
};

/* Index of one list of the analysis, by a pair of numbers. */
struct sweep_rows {
	struct pair_map rows; /* -> index into the list */
	size_t capacity;      /* the list's */
};

/* pair_map_add for such a list. */
#define sweep_rows_add(table, first, second, list, count, ...) \
	pair_map_add(&(table)->rows, first, second, list, (table)->capacity, count, __VA_ARGS__)
/* sweep/entities.c: descriptions in the trace, and the process of each thread. */
struct sweep_entities {
	struct entity_index devices, queues, contexts, processes, threads, codes;
	uint32_t *thread_process; /* owned; by thread index: process index */
};

/* State of each thread, by thread index. */
struct sweep_per_thread {
	struct calls *calls;         /* owned */
	struct thread_state *states; /* owned */
	struct thread_time *times;   /* owned */
	uint64_t *kept; /* owned; moments at which a gap may begin or the window cuts one */
};

/* sweep/tables.c */
struct sweep_tables {
	struct sweep_rows kernels;  /* (name string, device index) */
	struct sweep_rows copies;   /* (command, device index) */
	struct sweep_rows calls;    /* (function string, is_launch) */
	struct sweep_rows failures; /* (kind << 32 | name, result) */
	struct sweep_rows waits;    /* (function string, stack) */
	size_t losses_capacity;
};

/* sweep/paths.c */
struct sweep_paths {
	struct sweep_rows paths; /* (row << 32 | stack, function string << 32 | device or whom) */
	struct sweep_rows
		launches; /* (name << 32 | stack, function string << 32 | device or whom) */
	struct pair_map whom_rows; /* (process id << 32 | thread id, queue id) -> number */
	/* (path << 32 | stack, device << 33 | is_event << 32 | thread) */
	struct sweep_rows dependencies;
	struct sweep_rows waited; /* (path << 32 | stack, function string << 32 | thread) */
};

/* sweep/cpu.c */
struct sweep_samples {
	uint32_t last_source; /* source string of the last look-up: most samples have the same */
	bool last_is_time;    /* its samples are proportional to time */
	struct sample_kind *kinds; /* owned */
	size_t kinds_count, kinds_capacity;
	uint32_t last_kind;
	struct pair_map kind_rows; /* (source string << 32 | mode, process, launching) -> index of
				      kinds */
	size_t stacks_dense;       /* stacks with a smaller id are counted in arrays */
	struct sample_sparse *sparse; /* owned */
	size_t sparse_count, sparse_capacity;
	struct pair_map sparse_rows; /* (index of kinds, stack) -> index of sparse */
	size_t capacity;             /* the analysis's list of samples */
};

/* sweep/ranges.c, sweep/idle.c and sweep/metrics.c */
struct sweep_ranges {
	struct open_ranges
		*of_threads; /* owned; by thread index: pushed ranges, the outermost first */
	struct open_ranges *of_processes; /* owned; by process index: started ranges */
	struct sweep_rows
		rows; /* (domain string << 32 | name string, parent << 32 | rank << 8 | type) */
	struct pair_map set_rows; /* (row, set of the rest) -> index of sets */
	struct range_set *sets;   /* owned */
	size_t sets_count, sets_capacity;
	struct busy busy;
	struct range_metrics metrics;
};

/* sweep/wakers.c, sweep/idle_states.c, sweep/threads.c and sweep/gil.c */
struct sweep_thread_states {
	struct sweep_rows states;     /* (state_key, wait << 32 | stack) */
	struct sweep_rows holdings;   /* (device << 32 | wait or thread, behind << 32 | stack) */
	struct sweep_rows wakers;     /* (thread << 32 | name, the next one) -> number */
	struct sweep_rows aways;      /* (stack, wait string << 1 | is_preempted) */
	struct sweep_rows gils;       /* (function string, stack) */
	struct pair_map wait_numbers; /* (wait string << 32 | holder, waker) -> number of waits */
	/* (thread, function) -> the last stack seen inside of a call without one of its own */
	struct pair_map called_stacks;
	struct pair_map captures; /* (function, 0) -> enum capture_function */
	struct state_wait *waits; /* owned; number 0 is none */
	size_t waits_count, waits_capacity;
	struct thread_called taken;   /* scratch of sweep/functions.c */
	struct pair_map idle_threads; /* (device, thread) with time outside of calls */
};

/* sample/runners.c and sample/instruction_rows.c */
struct sweep_instructions {
	struct pair_map runner_rows; /* (process id, name string) -> index of runners */
	struct runners **runners;    /* owned */
	size_t runners_count, runners_capacity;
	struct pair_map places;      /* (code << 32 | stall string, offset) -> number */
	struct pair_map told_places; /* (place, stack << 32 | text string) -> number */
	uint32_t places_count;
	struct sweep_rows rows; /* (path, place) */
};

/* sweep/ranks.c: the ranks of an MPI job. */
struct sweep_ranks {
	uint32_t count;         /* 0: no job, several jobs, or one with too many ranks */
	uint32_t *threads;      /* owned; by rank: index of the thread that calls MPI */
	struct pair_map stacks; /* (stack, 0) -> 1: it is inside of the MPI library, 0: it is not */
};

/* Kinds of rows that the trace has. */
struct sweep_trace {
	bool has_instructions;
	bool has_launches;
	bool has_states;   /* switches or samples of threads */
	bool has_switches; /* a collector recorded when threads left their processors */
};

/* The state of one sweep. */
struct sweep {
	struct analysis *analysis;
	const struct analysis_options *options;
	struct order *order;
	struct sweep_trace trace;
	struct sweep_entities entities;
	struct sweep_per_thread per_thread;
	struct join join;
	struct sweep_tables tables;
	struct sweep_paths paths;
	struct sweep_samples samples;
	struct sweep_ranges ranges;
	struct sweep_thread_states thread_states;
	struct sweep_ranks ranks_of_job;
	struct sweep_switch_losses switch_losses;
	struct sweep_instructions instructions;
	struct addresses *addresses; /* owned; NULL: the trace has no such samples */
	struct windows *windows;     /* owned; NULL: the trace has no such samples */
	struct contradictions
		*contradictions; /* owned; NULL: the trace has no instruction samples */
	struct sweep_untimed untimed;
	struct device_last *lasts; /* owned; by device index */
	struct grid grid;          /* sizes of the latest kernel launch */
	struct sweep_lost *lost;   /* found by the sweep before this one */
	bool is_scouting;          /* a second sweep is certain: collect only what it needs */
	uint64_t delay_ns;
	uint64_t last_ns;  /* the latest moment in any row */
	uint64_t launches; /* launch rows so far, including failed calls */
};

/* The launch to which instruction samples are attributed. */
struct sweep_found {
	uint32_t path;
	uint32_t row;  /* index of the analysis's instructions; PAIR_MAP_NONE: not looked up yet */
	size_t device; /* if path is none: index into the analysis, or ANALYSIS_NO_DEVICE */
	bool is_by_address, is_late, is_unknown_code;
	/* Reasons for an estimate. is_divided: several commands may have run the instruction.
	 * is_unsized: the size of its code is unknown. is_early: it was counted before all commands
	 * were known. */
	bool is_divided, is_unsized, is_early;
};

/* One execution with its launch and its places in the analysis. */
struct joined {
	const struct event_execution *row;
	const struct open_command *launch; /* NULL: none */
	uint32_t place;
	size_t process, queue, device, context;
	uint32_t type;
	bool is_timed, is_placed;
	uint64_t duration_ns;
};

static inline void note_time(struct sweep *sweep, uint64_t time_ns)
{
	if (time_ns > sweep->last_ns)
		sweep->last_ns = time_ns;
}

/* The index of the device to which an account belongs. */
static inline size_t sweep_device_of(const struct sweep *sweep, const struct account *account)
{
	const char *first = (const char *)&sweep->analysis->devices[0].account;

	return (size_t)((const char *)account - first) / sizeof(sweep->analysis->devices[0]);
}

static inline bool is_in_account(const struct joined *joined)
{
	return joined->is_timed && joined->is_placed && !ledger_rejects(joined->row);
}

/* ---- sweep/observer.c ---- */

int sweep_observe_begin(struct sweep *sweep);
int sweep_observe_row(struct sweep *sweep, const struct order_item *item);
int sweep_observe_flight(struct sweep *sweep, const struct open_command *command, uint64_t time_ns,
			 int by);
int sweep_observe_command(struct sweep *sweep, const struct joined *joined, uint32_t path);
int sweep_observe_part(struct sweep *sweep, const struct observed_part *part);

/* ---- sweep/launches.c ---- */

int sweep_take_call(struct sweep *sweep, const struct event_api *row);
/* Takes a range. An overhead of a profiler is subtracted from its thread's calls and states. */
int sweep_take_profiler(struct sweep *sweep, const struct event_range *row);
int sweep_take_launch(struct sweep *sweep, const struct event_launch *row);
int sweep_scout_launch(struct sweep *sweep, const struct event_launch *row);

/* ---- sweep/executions.c ---- */

int sweep_take_execution(struct sweep *sweep, const struct event_execution *row);
int sweep_scout_execution(struct sweep *sweep, const struct event_execution *row);
/* Matches a launch that was just opened with its execution, if that came before the launch. */
int sweep_match_early(struct sweep *sweep, uint32_t place);

/* ---- sweep/tables.c ---- */

void sweep_count_section(struct sweep *sweep, const struct event_api *row);
int sweep_count_call(struct sweep *sweep, size_t process, const struct event_api *row,
		     bool is_launch);
/* Counts a matched execution in the table of its class and returns the tag of the row. */
int sweep_count_command(struct sweep *sweep, const struct joined *joined, bool in_window,
			uint32_t *ret_tag);
/* An importer added the launch at its command's start; thread and times are not the call's. */
bool sweep_is_absent(const struct sweep *sweep, const struct open_command *launch);
/* The name of the kernel, or of the command type for other commands and if launch is NULL. *ret_id
 * identifies the name. */
const char *sweep_launch_name(const struct sweep *sweep, const struct open_command *launch,
			      uint32_t type, uint32_t *ret_id);
const char *sweep_command_name(const struct sweep *sweep, const struct joined *joined,
			       uint32_t *ret_id);
/* Counts a command that its device reported as failed. */
int sweep_count_failed(struct sweep *sweep, const struct joined *joined);
void sweep_on_share(void *context, uint32_t path, uint32_t process, uint64_t share_ns);
/* Merges rows with the same name and sorts them, the largest total first. -ENOMEM. */
int sweep_sort_tables(struct analysis *analysis);
void sweep_tables_fini(struct sweep_tables *tables);

/* ---- sweep/paths.c ---- */

/* Finds or adds the path of an execution: its launch's stack, its row in the tables, its device. */
int sweep_find_path(struct sweep *sweep, const struct joined *joined, uint32_t tag,
		    uint32_t *ret_path);
/* Finds or adds the row of dependencies for commands of a path that wait for `on`; *ret_number is
 * its index + 1. */
int sweep_find_dependency(struct sweep *sweep, uint32_t path, const struct open_command *on,
			  uint32_t *ret_number);
void sweep_count_path(struct analysis *analysis, const struct joined *joined, uint32_t path);
void sweep_on_idle(void *context, uint32_t path, const struct account_idle *idle);
/* The second key of a path, beside tag and stack: the launching function, and the device or, by
 * thread, the number of the process, thread and queue. */
int sweep_find_second(struct sweep *sweep, const struct open_command *command,
		      uint64_t *ret_second);
/* The path of a kernel launch whose execution is not known yet; `code` is an index of codes.
 * *ret_is_final: executions of this kernel use the same path. */
int sweep_find_launched_path(struct sweep *sweep, const struct open_command *command, uint32_t code,
			     uint32_t *ret_path, bool *ret_is_final);
/* Counts a successful launch, once it is in the table of open commands. */
int sweep_count_launch(struct sweep *sweep, uint32_t place);
/* Counts the execution of such a launch as matched or rejected. */
int sweep_count_outcome(struct sweep *sweep, const struct joined *joined);
/* Adds each device's idle time that belongs to no path. Call after the accounts were closed. */
int sweep_close_paths(struct sweep *sweep);
void sweep_paths_fini(struct sweep_paths *paths);

/* ---- sweep/cpu.c ---- */

int sweep_count_sample(struct sweep *sweep, const struct event_cpu_sample *row);
int sweep_close_samples(struct sweep *sweep);
void sweep_samples_fini(struct sweep_samples *samples);
/* Marks the threads that launch. Call before the first row. */
void sweep_mark_launchers(struct sweep *sweep);
/* Whether samples of a source are proportional to time; samples of page faults, for example, are
 * not. */
bool sweep_source_is_time(struct sweep *sweep, uint32_t source);

/* ---- sweep/occupancy_fill.c ---- */

/* Computes the number and size of a launch's work-groups. */
void sweep_measure_groups(struct sweep *sweep, const struct event_launch *row,
			  struct open_command *command);
/* Adds the sums of `other` to `kernel`: two rows of one kernel. */
void sweep_merge_fill(struct analysis_kernel *kernel, const struct analysis_kernel *other);
/* Adds one timed execution to the kernel's sums of how well it fills the device, and of executions
 * shorter than their launching call. */
void sweep_count_fill(struct sweep *sweep, struct analysis_kernel *kernel,
		      const struct joined *joined);

/* ---- sweep/queues.c ---- */

int sweep_enter_queue(struct sweep *sweep, const struct open_command *command);
int sweep_leave_queue(struct sweep *sweep, const struct joined *joined);
/* A command of a queue has ended. */
int sweep_end_queued(struct sweep *sweep, const struct open_command *command, uint64_t end);
/* Call both before account_add, because they read the end of the command before. */
int sweep_count_latency(struct analysis *analysis, const struct joined *joined,
			const struct account_command *command);
int sweep_count_overlap(struct sweep *sweep, const struct joined *joined,
			const struct account_command *command);
void sweep_close_queues(struct sweep *sweep);

/* ---- sweep/gil.c ---- */

/* Notes a call that waits for a device. */
void sweep_note_wait(struct sweep *sweep, size_t thread, const struct event_api *row);
/* Whether the thread left its processor to wait for the GIL. */
bool sweep_waits_for_gil(const struct sweep *sweep, const struct thread_state *state);
/* For a thread whose wait for the GIL was ended by another thread: earlier timed waits of the same
 * chain that have neither waker nor holder get this waker. since_ns must be of the last wait. */
void sweep_name_gil_chain(struct sweep *sweep, struct thread_state *state);
/* Notes a thread that leaves its processor outside of calls and may wait for the GIL. */
void sweep_await_gil(struct sweep *sweep, size_t thread, const struct event_switch *row);
/* Counts its wait for the GIL once the thread is back. -ENOMEM. */
int sweep_count_gil(struct sweep *sweep, size_t thread, uint64_t since_ns, uint64_t until_ns);

/* ---- sweep/ranges.c ---- */

int sweep_make_ranges(struct sweep *sweep);
void sweep_ranges_fini(struct sweep *sweep);
int sweep_take_range(struct sweep *sweep, const struct event_range *row);
/* Counts a successful launch in the ranges around it, if in_window. */
int sweep_launch_in_ranges(struct sweep *sweep, struct open_command *command, bool in_window);
/* Adds a matched execution in the window to the ranges of its launch. */
void sweep_execute_in_ranges(struct sweep *sweep, const struct joined *joined);
int sweep_sample_in_ranges(struct sweep *sweep, const struct event_cpu_sample *row);
void sweep_close_ranges(struct analysis *analysis);

/* For idle_ns of ranges: a range that counts in row `index`, and executions of all devices in the
 * order of their start. -ENOMEM. */
int sweep_range_busy(struct sweep *sweep, const struct event_range *row, uint32_t index);
void sweep_execute_busy(struct sweep *sweep, uint64_t started, uint64_t ended);
/* Call after close_accounts. */
void sweep_close_idle(struct sweep *sweep);

/* ---- sweep/metrics.c ---- */

int sweep_make_metrics(struct sweep *sweep); /* all of these return -ENOMEM */
void sweep_metrics_fini(struct range_metrics *metrics);
int sweep_count_in_ranges(struct sweep *sweep, const struct event_counter *row);
/* Adds a range that counts in row `index`. */
int sweep_range_metrics(struct sweep *sweep, const struct event_range *row, uint32_t index);
int sweep_close_metrics(struct sweep *sweep);

/* ---- sample/runners.c and sample/instruction_rows.c ---- */

/* The path of a sample, or ANALYSIS_NO_PATH. If several paths are possible, it returns them in turn
 * and sets *ret_is_estimated. */
uint32_t sweep_find_runner(struct sweep *sweep, const struct event_instruction_sample *row,
			   bool *ret_is_estimated);

void sweep_instructions_fini(struct sweep_instructions *instructions);
/* Notes that a matched execution of this path ran. */
int sweep_note_runner(struct sweep *sweep, const struct joined *joined, uint32_t path);
/* Start of the first timed, matched command that ran this kernel; UINT64_MAX: none so far. */
uint64_t sweep_first_run(const struct sweep *sweep, uint32_t process, uint32_t code);
/* Counts a sample whose path is known, or ANALYSIS_NO_PATH. */
int sweep_give_instruction(struct sweep *sweep, const struct event_instruction_sample *row,
			   uint32_t path, bool is_estimated);
int sweep_sort_instructions(struct analysis *analysis);

/* Whether two paths have the same stack, device and function, so that a sample may count in either.
 * */
bool sweep_is_same_code(const struct analysis *analysis, uint32_t left, uint32_t right);
/* Counts the samples in the ledger and, in the window, in the table; sets found->row there. */
int sweep_count_instruction(struct sweep *sweep, const struct event_instruction_sample *row,
			    struct sweep_found *found);

/* ---- sample/addresses.c ---- */

int sweep_make_addresses(struct sweep *sweep);
void sweep_addresses_fini(struct sweep *sweep);
/* Notes a successful launch. batch: correlation id of the batch that it is a part of; 0: not a
 * part, or of an unknown batch. */
int sweep_note_launched(struct sweep *sweep, const struct open_command *command, uint64_t batch);
/* Notes a matched execution of this path. Only for traces with such samples. */
int sweep_note_ran(struct sweep *sweep, const struct joined *joined, uint32_t path);
/* Whether a sample has only a device address and a time window. */
bool sweep_is_address(const struct event_instruction_sample *row);
int sweep_take_address(struct sweep *sweep, const struct event_instruction_sample *row);
/* Counts the samples that no later row can concern. now_ns UINT64_MAX: the trace is over. */
int sweep_release_addresses(struct sweep *sweep, uint64_t now_ns);

/* ---- sample/windows.c ---- */

int sweep_make_windows(struct sweep *sweep);
void sweep_windows_fini(struct sweep *sweep);
/* Notes a matched execution of this path. Only for traces with such samples. */
int sweep_note_window_run(struct sweep *sweep, const struct joined *joined, uint32_t path);
/* Notes a successful launch. */
int sweep_note_window_launch(struct sweep *sweep, const struct open_command *command);
/* Whether a sample has its code and a time window. */
bool sweep_is_window(const struct event_instruction_sample *row);
int sweep_take_window(struct sweep *sweep, const struct event_instruction_sample *row);
/* Counts the samples of windows that are over. now_ns UINT64_MAX: the trace is over. */
int sweep_release_windows(struct sweep *sweep, uint64_t now_ns);

/* ---- sweep/contradictions.c ---- */

/* Whether a process started before the recording. A process's start time is known to one tick. */
bool sweep_is_older(const struct analysis *analysis, const struct event_process *process);
int sweep_make_contradictions(struct sweep *sweep);
void sweep_contradictions_fini(struct sweep *sweep);
/* Adds the run time of a command of the account. Commands come in the order of their start. */
int sweep_add_busy(struct sweep *sweep, size_t device, uint64_t started, uint64_t ended);
int sweep_add_sampled(struct sweep *sweep, const struct event_instruction_sample *row);
/* Checks the samples for which all executions have been swept. */
void sweep_release_sampled(struct sweep *sweep, uint64_t now_ns);
/* Checks the rest. is_whole: no rows of unknown kind are missing. */
void sweep_close_contradictions(struct sweep *sweep, bool is_whole);

/* ---- sweep/wakers.c ---- */

/* Finds or adds a wait in thread_states.waits; *ret_wait is its number, 0 if unknown. */
int sweep_find_wait(struct sweep *sweep, const struct state_wait *wait, uint32_t *ret_wait);
/* The number of the chain of wakers that ended a thread's wait, which began at since_ns. */
int sweep_find_waker(struct sweep *sweep, const struct event_switch *row, uint64_t since_ns,
		     uint32_t *ret_waker);

/* ---- sweep/moments.c ---- */

int sweep_keep_moment(struct thread_state *state, const struct thread_moment *moment);

/* The first moment with an end at or after time_ns; moments_count: none. */
size_t sweep_first_moment(const struct thread_state *state, uint64_t time_ns);

/* ---- sweep/holders.c ---- */

/* A launching thread that waits while a device is idle. */
struct sweep_waiter {
	size_t device;
	uint32_t wait;     /* number of waits; 0: for other ranks */
	uint32_t behind;   /* as in struct analysis_holding */
	bool is_preempted; /* as there */
	bool is_steady, is_slowest;
};

/* A part of the time of another thread meanwhile. */
struct sweep_holding {
	uint32_t thread, stack;
	uint64_t weight;
	bool is_away;      /* off its processor */
	uint32_t wait;     /* is_away: number in sweep_thread_states.waits; 0: not known */
	bool is_preempted; /* is_away: although it could run */
};

int sweep_add_holding(struct sweep *sweep, const struct sweep_waiter *waiter,
		      struct sweep_holding part);
/* Counts what the threads did in [begin, end) for which the launching thread waited. */
int sweep_count_holder(struct sweep *sweep, const struct sweep_waiter *waiter,
		       const struct thread_moment *wait, uint64_t begin, uint64_t end);

/* ---- sweep/ranks.c ---- */

int sweep_make_ranks(struct sweep *sweep);
void sweep_ranks_fini(struct sweep_ranks *ranks);
/* Notes a stack of a thread: a thread that was in the MPI library is its rank's. */
void sweep_see_rank(struct sweep *sweep, size_t thread, uint32_t stack);
/* For a moment of a launching thread inside of MPI: counts what the late rank did. */
int sweep_count_ranks(struct sweep *sweep, size_t device, const struct account_piece *piece,
		      const struct thread_moment *moment);

/* ---- sweep/thread_states.c and sweep/idle_states.c ---- */

void sweep_states_fini(struct sweep *sweep);
int sweep_take_sample(struct sweep *sweep, const struct event_cpu_sample *row);
int sweep_take_switch(struct sweep *sweep, const struct event_switch *row);
/* A thread makes a call, so it is on a processor. */
int sweep_state_called(struct sweep *sweep, size_t thread, uint64_t time_ns);
/* An idle gap ends at this time, and the thread did nothing: its wait has two parts. */
int sweep_state_continues(struct sweep *sweep, size_t thread, uint64_t time_ns);
/* Adds idle time of a device that falls in a call. */
int sweep_add_call(struct sweep *sweep, size_t device, const struct account_piece *piece,
		   const struct thread_call *call, struct observed_part part);
/* The same for a function or an operator. */
int sweep_add_function(struct sweep *sweep, size_t device, const struct account_piece *piece,
		       const struct thread_call *call, struct observed_part part);
/* sweep/moments.c: fills sweep->per_thread.kept with the moments at which a gap may begin or the
 * window cuts one; returns their number. */
size_t sweep_list_kept(struct sweep *sweep);
/* sweep/moments.c: merges the intervals in which a thread was away once their list is full. All
 * later rows are at now_ns or after it. */
void sweep_compact_state(struct sweep *sweep, size_t thread, uint64_t now_ns);
/* The same for a list of calls. */
void sweep_compact_calls(struct sweep *sweep, struct calls *calls, uint64_t now_ns);
int sweep_on_thread(void *context, const struct account *account,
		    const struct account_piece *piece);
/* Divides the idle time of each cause among the stacks seen. Call after the accounts were closed.
 * */
int sweep_close_states(struct sweep *sweep);

/* ---- sweep/calls.c ---- */

/* Takes a guest's section out of the calls around it. The trace describes the thread. */
int sweep_cut_call(struct sweep_per_thread *per_thread, size_t thread, const struct event_api *row);
int sweep_note_call(struct sweep *sweep, size_t thread, const struct event_api *row,
		    bool is_launch);
/* Index + 1 of the device for whose queue a call waits; 0: not known. */
uint32_t sweep_awaited_device(const struct sweep *sweep, const struct event_api *row);
/* Uses the stack of a sample or a switch for the call of the thread that it is in. */
int sweep_see_in_call(struct sweep *sweep, size_t thread, uint64_t time_ns, uint32_t stack);
/* Marks time of a thread in which its launch waited because the command buffer was full. */
int sweep_note_full(struct sweep *sweep, size_t thread, uint64_t begin, uint64_t end);
int sweep_on_calls(struct sweep *sweep, size_t device, const struct account_piece *piece);

/* Drops and merges calls once their list is full. All later calls begin at `now` or after it. If
 * too much is left, the older half of the calls is dropped, and that of the functions is joined. */
void sweep_compact_called(struct sweep *sweep, struct thread_called *called, uint64_t now,
			  bool is_functions);
/* The begin of the earliest gap that is still open. */
uint64_t sweep_earliest_gap(const struct analysis *analysis);
/* The part of the calls that is in [begin, end). */
struct observed_part thread_call_overlap(const struct thread_call *call, uint64_t begin,
					 uint64_t end);

/* ---- sweep/functions.c ---- */

/* Takes a function or an operator, and a call of a runtime, which may be inside of one. */
int sweep_note_function(struct sweep *sweep, size_t thread, const struct event_api *row);
int sweep_note_call_inside(struct sweep *sweep, size_t thread, const struct event_api *row);
/* Takes a range. In imported traces one that is the innermost frame of its own stack is an
 * operator, too. */
int sweep_note_range(struct sweep *sweep, const struct event_range *row);
/* Adds idle time of a device in which the thread was in calls, and in functions outside of calls.
 */
int sweep_on_piece(void *context, const struct account *account, const struct account_piece *piece);

/* ---- sweep/captures.c ---- */

/* Call before and after the row of a call is noted. */
int sweep_begin_capture(struct sweep *sweep, size_t thread, const struct event_api *row);
int sweep_end_capture(struct sweep *sweep, size_t thread, const struct event_api *row);
/* Marks the thread's calls from this time on as in a capture, or as in none. */
int sweep_mark_capture(struct thread_called *called, uint64_t time_ns, uint32_t capture);

/* ---- sweep/full_buffers.c ---- */

/* Takes a range that the driver reports. */
int sweep_take_overhead(struct sweep *sweep, const struct event_range *row);
/* Notes a launch that is not a part of a batch. place CORRELATE_NONE: it opened no command. */
int sweep_note_launch(struct sweep *sweep, size_t thread, const struct event_launch *row,
		      uint32_t place);

/* ---- sweep/threads.c ---- */

int sweep_thread_sampled(struct sweep *sweep, const struct event_cpu_sample *row);
int sweep_thread_switched(struct sweep *sweep, const struct event_switch *row);
/* A thread makes a call, so it is on a processor. */
int sweep_thread_called(struct sweep *sweep, size_t thread, const struct event_api *row);
/* Call after the losses were counted. */
int sweep_close_threads(struct sweep *sweep);

/* ---- sweep/untimed_commands.c ---- */

/* Adds the time before the guests of older processes attached. Comes before the first row. */
int sweep_make_untimed(struct sweep *sweep);

/* Adds a launch to its queue's list. Launches come in the order of their enter. */
void sweep_link_open(struct sweep *sweep, uint32_t place);
/* Removes a launch from its queue's list; does nothing if it is not in it. Also for a launch whose
 * execution row was read first: that row does not bound earlier launches. */
void sweep_unlink_open(struct sweep *sweep, uint32_t place);
/* Ends an open launch whose correlation id a new launch reuses at `enter`. */
int sweep_replace_open(struct sweep *sweep, uint32_t place, uint64_t enter);
/* Ends a launch that has its execution. */
int sweep_note_done(struct sweep *sweep, const struct joined *joined);
/* Applies a call that waited for a whole queue: all commands launched before have ended. -ENOMEM.
 */
int sweep_note_finished(struct sweep *sweep, const struct event_api *row);
/* Counts the open launches that a later command of their queue has passed. Lists them as not
 * executed if that is certain. */
int sweep_find_unexecuted(struct sweep *sweep);
/* Whether the launch row that is swept now is listed as not executed. */
bool sweep_is_skipped(struct sweep *sweep);
/* Adds the launches without an execution, which may run to the end of the recording. */
int sweep_note_all_in_flight(struct sweep *sweep);

/* ---- sweep/entities.c ---- */

/* Makes the lists of devices, queues, contexts, processes and threads. Each has one extra item for
 * entities that the trace does not describe. */
int sweep_make_tables(struct sweep *sweep);
void sweep_entities_fini(struct sweep *sweep);
