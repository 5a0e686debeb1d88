/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep.h - what the parts of an analysis share while they sweep over a trace
 *
 * Of this room only: analysis.c leads; sweep_tables.c, sweep_paths.c, sweep_waits.c, sweep_cpu.c, sweep_gil.c, sweep_fill.c,
 * sweep_queues.c, sweep_ranges.c and sweep_idle.c count; sweep_calls.c knows who called what when; sweep_flight.c follows what is open, sweep_instructions.c, sweep_addresses.c and sweep_runs.c who runs what, sweep_states.c where
 * threads are; sweep_threads.c how long; sweep_things.c makes the lists.
 */
#ifndef ANALYZE_SWEEP_H
#define ANALYZE_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "analyze/correlate.h"
#include "analyze/dark.h"
#include "analyze/model.h"
#include "analyze/observer.h"
#include "analyze/order.h"
#include "analyze/pair_map.h"
#include "analyze/things.h"
#include "analyze/unexecuted.h"

/* Which row of the tables a path belongs to. */
#define TAG_COPY 0x80000000u
#define TAG_NONE UINT32_MAX
/* … or to none: a kernel of which only launches are known, by its code. Paths have it, accounts do not. */
#define TAG_CODE 0x40000000u

/* The open commands of a queue that nothing is known to have ended. */
struct queue_list {
	uint32_t first, last; /* places, CORRELATE_NONE: empty */
};

/* A moment on a processor, or a while off it, outside of calls. */
struct thread_moment {
	uint64_t begin, end; /* the same: on it */
	uint64_t weight;
	uint32_t stack;
	uint32_t wait;     /* off it: what for, as state_waits counts; 0: not known */
	bool is_preempted; /* off it, but could go on */
};

/* What a thread waits for, who has it, and who let it go on; or what it calls, and who calls where the stack does not say so. */
struct state_wait {
	uint32_t string, holder;
	uint32_t waker; /* as of an analysis_state */
	bool is_own;    /* … */
};

/* A call of a thread, or several from one place. */
struct thread_call {
	uint64_t begin, end;
	uint64_t inside_ns;       /* less than from begin to end: several */
	uint32_t function, stack; /* stack 0: not known */
	bool is_own; /* the stack is that of the call; else what was seen inside of it */
	bool is_wait, is_launch;
};

/* In the order of their begin; those that may still be asked for. */
struct thread_called {
	struct thread_call *calls;
	size_t count, capacity, limit;
	uint64_t last_end;
};

/* Of a thread: where it is, as its switches and samples say. */
struct thread_state {
	struct calls
		away; /* off its processor, outside of calls: "waiting" is preempted, else blocked */
	uint64_t watched_ns; /* the first that was seen of it; UINT64_MAX: nothing */
	uint64_t since_ns;   /* it is away since; UINT64_MAX: it is not, or inside of a call */
	uint32_t stack;      /* … in this stack; 0: not known */
	uint32_t wait;       /* … for this; 0: not known */
	bool is_preempted;
	/* The last time it was blocked, and who let it go on. */
	uint64_t woken_until;
	uint32_t waker; /* number of the analysis's wakers; 0: not known */
	/* The last call of it that waits for a device. */
	uint64_t wait_end;
	uint32_t wait_function, wait_stack;
	/* While it is away for Python's lock: up to when who has it is in such a call; 0: not so. */
	uint64_t gil_until;
	uint32_t gil_function, gil_stack;
	bool has_launched;
	uint64_t batch_enter, batch_correlation; /* the latest batch that it launched; 0: none */
	struct thread_called called;
	struct thread_moment
		*moments; /* in the order of their end; those that may still be asked for */
	size_t moments_first, moments_count, moments_capacity;
};

/* Of a thread: where it is, in calls or not. */
struct thread_time {
	uint64_t first_ns, last_ns; /* seen; first UINT64_MAX: never */
	uint64_t away_since_ns;     /* UINT64_MAX: it is not */
	uint32_t stack, wait_string;
	bool is_preempted, has_exited;
	bool has_called_stack; /* a call's stack is known, which is whole */
};

/* Executions of one kernel by one process: the latest, while they may be asked for. */
enum { RUNNERS_MOST = 64 };
struct runners {
	struct runner {
		uint64_t started, ended, correlation;
		uint32_t path;
	} last[RUNNERS_MOST];
	unsigned int running, count; /* the first ones had not ended at the latest sample */
	uint64_t turns;              /* samples that were one of several's */
};

/* The command of a device with the latest end so far. */
struct device_last {
	uint64_t started, ended;
	uint32_t queue;
};

/* Sizes of a launch, and what follows from them. */
struct grid {
	uint64_t global_size[3], local_size[3];
	uint64_t groups, items; /* 0: not known */
	uint32_t dimensions;
};

/* Samples of one source and mode, of threads of one process that launch or do not: a row for each stack. */
struct sample_kind {
	uint64_t key, whose;
	struct analysis_sample about; /* without stack and sum */
	struct sample_sum *sums;      /* owned; by stack */
	size_t capacity;
};

struct sample_sum {
	uint64_t count, weight;
};

/* Of a kind or a stack that has no place in an array. */
struct sample_sparse {
	uint32_t kind, stack;
	struct sample_sum sum;
};

/* What nobody knows of threads, because rows were lost. */
struct sweep_lost {
	bool host, switches;
	bool is_told; /* the observer was told so */
};

/* Of a thread, or that its process has started. */
struct open_range {
	uint64_t end;
	uint32_t row; /* of the analysis */
};

struct open_ranges {
	struct open_range *ranges; /* owned */
	size_t count, capacity;
};

struct range_set {
	uint32_t row, rest;
};

/* When any device executed something: stretches one after the other. */
struct busy {
	uint64_t past_ns;    /* of all but the last stretch */
	uint64_t begin, end; /* the last; it may go on */
	bool has_any;
	/* Begins and ends of ranges that are not counted yet: a heap, the earliest on top. */
	struct busy_moment {
		uint64_t time;
		uint32_t row; /* of the analysis's ranges */
		bool is_end;
	} * moments; /* owned */
	size_t moments_count, moments_capacity;
};

#define RANGE_METRICS_LEFT_OUT SIZE_MAX       /* a series that is not chosen */
#define RANGE_METRICS_OF_ALL   (SIZE_MAX - 1) /* of no process: of all ranges */

/* What is counted within ranges. */
struct range_metrics {
	struct things series;
	size_t *process_of; /* owned; by series: index of its process, or one of the above */
	bool has_any;       /* a series is chosen */
	/* Ranges that readings to come may overlap. */
	struct counted_range {
		uint64_t begin, end;
		uint32_t row; /* of the analysis's ranges */
		size_t process;
	} * ranges; /* owned */
	size_t ranges_count, ranges_capacity, retire_at;
	struct event_counter *readings; /* owned; that end later than now */
	size_t readings_count, readings_capacity;
	uint64_t earliest_ns; /* end of any of them */
	struct pair_map rows; /* (row of ranges, index of series) -> index of range_metrics */
	size_t rows_capacity;
};

/* Launches that a first sweep found not to have executed; a second one opens no command for them. */
struct sweep_skipped {
	uint64_t *numbers; /* owned; of launch rows, ascending */
	size_t count, capacity;
};

/* While it sweeps. */
struct sweep {
	struct analysis *analysis;
	struct order *order;
	struct things devices, queues, contexts, processes, threads, codes;
	uint32_t *thread_process; /* thread index -> process index */
	struct calls *calls;      /* by thread index */
	struct thread_state *states;
	struct thread_time *times;
	struct correlate correlate;
	struct pair_map kernel_rows; /* (name string, device index) -> index */
	struct pair_map copy_rows;   /* (command, device index) -> index */
	struct pair_map call_rows;   /* (function string, is_launch) -> index */
	struct pair_map
		path_rows; /* (row << 32 | stack, function string << 32 | device or whom) -> index */
	struct pair_map
		launches_rows; /* (name << 32 | stack, function string << 32 | device or whom) -> index */
	struct pair_map whom_rows; /* (process id << 32 | thread id, queue id) -> number */
	bool by_thread;
	struct pair_map failure_rows; /* (kind << 32 | name, result) -> index */
	struct pair_map wait_rows;    /* (function string, stack) -> index */
	uint32_t
		told_source; /* string of the source that was asked for last: samples mostly have one */
	bool told_time;      /* … whether it tells time */
	struct sample_kind *sample_kinds; /* owned */
	size_t sample_kinds_count, sample_kinds_capacity;
	size_t stacks_dense;          /* ids below have a place in arrays */
	struct sample_sparse *sparse; /* owned */
	size_t sparse_count, sparse_capacity;
	struct pair_map sparse_rows; /* (index of kinds, stack) -> index of sparse */
	uint32_t sample_kind;        /* the latest */
	struct pair_map
		sample_rows; /* (source string << 32 | mode, process, launching) -> index of kinds */
	struct open_ranges *thread_ranges; /* owned; by thread index: pushed, the outermost first */
	struct open_ranges *process_ranges; /* owned; by process index: started */
	struct pair_map
		range_rows; /* (domain string << 32 | name string, parent << 32 | type) -> index */
	struct pair_map range_set_rows; /* (row, set of the rest) -> index of range_sets */
	struct range_set *range_sets;   /* owned */
	size_t range_sets_count, range_sets_capacity, ranges_capacity;
	struct busy busy;
	struct range_metrics range_metrics;
	struct pair_map gil_rows;         /* (function string, stack) -> index */
	struct device_last *lasts;        /* by device index */
	struct grid grid;                 /* of the latest launch of a kernel */
	struct pair_map away_rows;        /* (stack, wait string << 1 | is_preempted) -> index */
	struct pair_map state_rows;       /* (device << 32 | cause, wait << 32 | stack) -> index */
	struct pair_map runner_rows;      /* (process id, name string) -> index of runners */
	struct pair_map places;           /* (code << 32 | stall string, offset) -> number */
	struct pair_map told_places;      /* (place, stack << 32 | text string) -> number */
	struct pair_map instruction_rows; /* (path, place) -> index */
	struct runners **runners;         /* owned */
	size_t runners_count, runners_capacity, instructions_capacity;
	uint32_t places_count;
	bool has_instructions; /* the trace has samples of them */
	size_t waiting_most;   /* as analysis_options say */
	bool has_launches;
	struct addresses *addresses;           /* owned; NULL: it has none */
	struct windows *windows;               /* owned; NULL: it has none */
	struct contradictions *contradictions; /* owned; NULL: it has no samples of instructions */
	struct pair_map
		wait_numbers; /* (wait string << 32 | holder, waker) -> number of state_waits */
	struct pair_map waker_numbers; /* (thread << 32 | name, the next one) -> number of wakers */
	struct pair_map holding_rows;  /* (device << 32 | wait, stack) -> index */
	struct state_wait *state_waits; /* number 0 is none */
	size_t state_waits_count, state_waits_capacity, holdings_capacity;
	size_t paths_capacity, launches_capacity, failures_capacity, waits_capacity,
		samples_capacity, aways_capacity, states_capacity, gils_capacity, wakers_capacity;
	size_t kernels_capacity, copies_capacity, calls_capacity, losses_capacity;
	/* Executions that came before their launch (a clock off by more than it says): the latest. */
	struct event_execution *early;
	size_t early_next;
	struct pair_map early_rows;
	uint64_t *kept;           /* moments that may be asked of calls */
	struct queue_list *lists; /* by queue index: open commands in the order of their enter */
	struct dark *darks;       /* by device index; found in a first sweep, used in a second */
	bool uses_darks;
	struct unexecuted unexecuted;
	struct sweep_skipped *skipped;            /* found in a first sweep, used in a second */
	size_t skipped_next;                      /* index of the next launch that is skipped */
	const struct analysis_observer *observer; /* NULL: nobody is told */
	struct sweep_lost *lost;                  /* as the sweep before this one found */
	bool is_scouting;  /* a second sweep is certain: only what it needs is looked for */
	bool has_states;   /* the trace has rows of what ran on CPUs */
	bool has_switches; /* somebody recorded when threads left their processors */
	uint64_t delay_ns;
	uint64_t last_ns;  /* the latest moment in any row */
	uint64_t launches; /* rows, also of calls that failed */
};

/* Whose samples of an instruction are. */
struct sweep_found {
	uint32_t path;
	uint32_t row;  /* of the analysis's instructions; PAIR_MAP_NONE: to be found */
	size_t device; /* where no path tells: index into the analysis; ANALYSIS_NO_DEVICE */
	bool is_by_address, is_late, is_unknown_code;
	/* Why it is an estimate: several commands may have run it; nobody told how large its code is; it could not wait until all
	 * was known. */
	bool is_divided, is_unsized, is_early;
};

/* What is known of one execution. */
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

/* Without --from and --to every row is: the tables hold what was recorded, also a call that was not
 * over when the recording was. */
static inline bool is_in_window(const struct analysis *analysis, uint64_t begin, uint64_t end)
{
	if (!analysis->has_window)
		return true;
	if (begin == end)
		return begin >= analysis->from_ns && begin < analysis->to_ns;
	return begin < analysis->to_ns && end > analysis->from_ns;
}

static inline bool is_in_account(const struct joined *joined)
{
	return joined->is_timed && joined->is_placed && !ledger_rejects(joined->row);
}

static inline uint64_t larger(uint64_t left, uint64_t right)
{
	return left > right ? left : right;
}

static inline uint64_t smaller(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

/* ---- sweep_observer.c ---- */

int sweep_tell_begin(struct sweep *sweep);
int sweep_tell_row(struct sweep *sweep, const struct order_item *item);
int sweep_tell_flight(struct sweep *sweep, const struct open_command *command, uint64_t time_ns,
		      int by);
int sweep_tell_command(struct sweep *sweep, const struct joined *joined, uint32_t path);
int sweep_tell_part(struct sweep *sweep, const struct observed_part *part);

/* ---- sweep_tables.c ---- */

void sweep_count_section(struct sweep *sweep, const struct event_api *row);
int sweep_count_call(struct sweep *sweep, size_t process, const struct event_api *row,
		     bool is_launch);
/* Counts a matched execution in the table of its class and says which row it was. */
int sweep_count_command(struct sweep *sweep, const struct joined *joined, bool in_window,
			uint32_t *ret_tag);
/* The name of its kernel, else of its kind of command. *ret_id: no other name has it. launch NULL: none is known. */
const char *sweep_launch_name(const struct sweep *sweep, const struct open_command *launch,
			      uint32_t type, uint32_t *ret_id);
const char *sweep_command_name(const struct sweep *sweep, const struct joined *joined,
			       uint32_t *ret_id);
/* A command that its device gave back as failed. */
int sweep_count_failed(struct sweep *sweep, const struct joined *joined);
void sweep_on_share(void *context, uint32_t path, uint32_t process, uint64_t share_ns);
/* One row for each text, the largest total first. */
void sweep_sort_tables(struct analysis *analysis);

/* ---- sweep_paths.c ---- */

/* The path of an execution: its launch's stack, its row in the tables, its device. */
int sweep_find_path(struct sweep *sweep, const struct joined *joined, uint32_t tag,
		    uint32_t *ret_path);
void sweep_count_path(struct sweep *sweep, const struct joined *joined, uint32_t path);
void sweep_on_idle(void *context, uint32_t path, enum account_cause cause, uint64_t idle_ns);
/* What beside tag and stack makes a path: the function that was called, and the device or whom. */
int sweep_find_second(struct sweep *sweep, const struct open_command *command,
		      uint64_t *ret_second);
/* The path of a launch of which no execution is known, of a kernel (index of codes). is_final: it is that of executions. */
int sweep_find_launched_path(struct sweep *sweep, const struct open_command *command, uint32_t code,
			     uint32_t *ret_path, bool *ret_is_final);
/* A launch that worked, once it is in the table of open commands. */
int sweep_count_launch(struct sweep *sweep, uint32_t place);
/* … and has its execution. */
int sweep_count_outcome(struct sweep *sweep, const struct joined *joined);
/* After the accounts were closed. */
int sweep_close_paths(struct sweep *sweep);

/* ---- sweep_waits.c ---- */

int sweep_count_wait(struct sweep *sweep, const struct event_api *row);

/* ---- sweep_cpu.c ---- */

int sweep_count_sample(struct sweep *sweep, const struct event_cpu_sample *row);
int sweep_close_samples(struct sweep *sweep);
void sweep_samples_fini(struct sweep *sweep);
/* Before the first row. */
void sweep_mark_launchers(struct sweep *sweep);
/* Whether samples of a source come where the time goes; page faults and the like do not. */
bool sweep_tells_time(struct sweep *sweep, uint32_t source);

/* ---- sweep_fill.c ---- */

/* What a launch says of its work-groups. */
void sweep_measure_groups(struct sweep *sweep, const struct event_launch *row,
			  struct open_command *command);
/* Adds what two rows of one kernel have. */
void sweep_merge_fill(struct analysis_kernel *kernel, const struct analysis_kernel *other);
/* A timed kernel in the window. */
void sweep_count_fill(struct sweep *sweep, struct analysis_kernel *kernel,
		      const struct joined *joined);

/* ---- sweep_queues.c ---- */

int sweep_enter_queue(struct sweep *sweep, const struct open_command *command);
int sweep_leave_queue(struct sweep *sweep, const struct joined *joined);
/* A command of a queue is over. */
int sweep_end_queued(struct sweep *sweep, const struct open_command *command, uint64_t end);
/* Before the account takes the command. */
int sweep_count_latency(struct sweep *sweep, const struct joined *joined,
			const struct account_command *command);
int sweep_count_overlap(struct sweep *sweep, const struct joined *joined,
			const struct account_command *command);
void sweep_close_queues(struct sweep *sweep);

/* ---- sweep_gil.c ---- */

/* A call that waits for a device. */
void sweep_note_wait(struct sweep *sweep, size_t thread, const struct event_api *row);
/* A thread goes off its processor, outside of calls. */
void sweep_await_gil(struct sweep *sweep, size_t thread, const struct event_switch *row);
/* … and is back. -ENOMEM. */
int sweep_count_gil(struct sweep *sweep, size_t thread, uint64_t since_ns, uint64_t until_ns);

/* ---- sweep_ranges.c ---- */

int sweep_make_ranges(struct sweep *sweep);
void sweep_ranges_fini(struct sweep *sweep);
int sweep_take_range(struct sweep *sweep, const struct event_range *row);
/* A launch that worked; it is in the window. */
int sweep_launch_in_ranges(struct sweep *sweep, struct open_command *command, bool in_window);
/* … was executed in the window, timed. */
void sweep_execute_in_ranges(struct sweep *sweep, const struct joined *joined);
int sweep_sample_in_ranges(struct sweep *sweep, const struct event_cpu_sample *row);
void sweep_close_ranges(struct sweep *sweep);

/* A range that is counted in that row; executions of any device, in the order of their start. -ENOMEM. */
int sweep_range_busy(struct sweep *sweep, const struct event_range *row, uint32_t index);
void sweep_execute_busy(struct sweep *sweep, uint64_t started, uint64_t ended);
/* Behind close_accounts. */
void sweep_close_idle(struct sweep *sweep);

/* ---- sweep_metrics.c ---- */

int sweep_make_metrics(struct sweep *sweep); /* -ENOMEM, as all of them */
void sweep_metrics_fini(struct sweep *sweep);
int sweep_count_in_ranges(struct sweep *sweep, const struct event_counter *row);
/* A range that is counted in that row. */
int sweep_range_metrics(struct sweep *sweep, const struct event_range *row, uint32_t index);
int sweep_close_metrics(struct sweep *sweep);

/* ---- sweep_instructions.c ---- */

void sweep_instructions_fini(struct sweep *sweep);
/* An execution with its launch, of the path that it counts in. */
int sweep_note_runner(struct sweep *sweep, const struct joined *joined, uint32_t path);
int sweep_take_instruction(struct sweep *sweep, const struct event_instruction_sample *row);
/* One whose path is known, or ANALYSIS_NO_PATH. */
int sweep_give_instruction(struct sweep *sweep, const struct event_instruction_sample *row,
			   uint32_t path, bool is_estimated);
int sweep_sort_instructions(struct analysis *analysis);

/* Whether it is all one whose of two paths' a sample is. */
bool sweep_is_same_code(const struct analysis *analysis, uint32_t left, uint32_t right);
/* In the ledger and, in the window, in the table; found says then in which row. */
int sweep_count_instruction(struct sweep *sweep, const struct event_instruction_sample *row,
			    struct sweep_found *found);

/* ---- sweep_addresses.c ---- */

int sweep_make_addresses(struct sweep *sweep);
void sweep_addresses_fini(struct sweep *sweep);
/* A launch that worked; batch: correlation id of that which it is a part of; 0: it is none, or not known of which. */
int sweep_note_launched(struct sweep *sweep, const struct open_command *command, uint64_t batch);
/* An execution with its launch, of the path that it counts in; the trace has samples. */
int sweep_note_ran(struct sweep *sweep, const struct joined *joined, uint32_t path);
/* Whether a sample tells an address and a window alone. */
bool sweep_is_address(const struct event_instruction_sample *row);
int sweep_take_address(struct sweep *sweep, const struct event_instruction_sample *row);
/* Counts the samples about which nothing will come any more; UINT64_MAX: the trace is over. */
int sweep_release_addresses(struct sweep *sweep, uint64_t now_ns);

/* ---- sweep_windows.c ---- */

int sweep_make_windows(struct sweep *sweep);
void sweep_windows_fini(struct sweep *sweep);
/* An execution with its launch, of the path that it counts in; the trace has samples. */
int sweep_note_window_run(struct sweep *sweep, const struct joined *joined, uint32_t path);
/* Whether a sample tells its code and a window. */
bool sweep_is_window(const struct event_instruction_sample *row);
int sweep_take_window(struct sweep *sweep, const struct event_instruction_sample *row);
/* Counts the samples of windows that are over; UINT64_MAX: the trace is. */
int sweep_release_windows(struct sweep *sweep, uint64_t now_ns);

/* ---- sweep_contradictions.c ---- */

int sweep_make_contradictions(struct sweep *sweep);
void sweep_contradictions_fini(struct sweep *sweep);
/* A command of the account, in the order of their start. */
int sweep_add_busy(struct sweep *sweep, size_t device, uint64_t started, uint64_t ended);
int sweep_add_sampled(struct sweep *sweep, const struct event_instruction_sample *row);
/* Judges the samples whose surroundings are swept. */
void sweep_release_sampled(struct sweep *sweep, uint64_t now_ns);
/* Judges the rest; is_whole: no rows of unknown kind are missing. */
void sweep_close_contradictions(struct sweep *sweep, bool is_whole);

/* ---- sweep_states.c ---- */

void sweep_states_fini(struct sweep *sweep);
int sweep_take_sample(struct sweep *sweep, const struct event_cpu_sample *row);
int sweep_take_switch(struct sweep *sweep, const struct event_switch *row);
/* A thread calls: it is on a processor. waker: number of who let it go on; 0: not known. */
int sweep_come_back(struct sweep *sweep, size_t thread, uint64_t time_ns, uint32_t waker);
/* What is older than any moment that may be asked for. */
void sweep_forget_moments(struct sweep *sweep, size_t thread, const uint64_t *kept, size_t count);
/* Idle time of a device in a call, where part says; thread: id, where the stack is not the call's own. */
int sweep_add_call(struct sweep *sweep, const struct account *account,
		   const struct thread_call *call, uint32_t thread, struct observed_part part);
/* analysis.c: moments at which a gap may begin or the window cuts one, into sweep->kept; returns how many. */
size_t sweep_list_kept(struct sweep *sweep);
/* analysis.c: merges what a thread was away, where that is much; all later moments are at `now` or behind it. */
void sweep_compact_state(struct sweep *sweep, size_t thread, uint64_t now_ns);
/* The index of the device that an account is of. */
size_t sweep_device_of(const struct sweep *sweep, const struct account *account);
int sweep_on_thread(void *context, const struct account *account, uint32_t thread, uint64_t begin,
		    uint64_t end);
/* After the accounts were closed: divides what the accounts have by what was seen. */
int sweep_close_states(struct sweep *sweep);

/* ---- sweep_calls.c ---- */

/* Of a thread that is described. */
int sweep_cut_call(struct sweep *sweep, size_t thread, const struct event_api *row);
int sweep_note_call(struct sweep *sweep, size_t thread, const struct event_api *row,
		    bool is_launch);
/* A sample, or a switch away, inside of the thread's latest call. */
void sweep_see_in_call(struct sweep *sweep, size_t thread, uint64_t time_ns, uint32_t stack);
int sweep_on_calls(void *context, const struct account *account, uint32_t thread, uint64_t begin,
		   uint64_t end);

/* ---- sweep_threads.c ---- */

int sweep_thread_sampled(struct sweep *sweep, const struct event_cpu_sample *row);
int sweep_thread_switched(struct sweep *sweep, const struct event_switch *row);
/* A thread calls: it is on a processor. */
int sweep_thread_called(struct sweep *sweep, size_t thread, const struct event_api *row);
/* After the losses were counted. */
int sweep_close_threads(struct sweep *sweep);

/* ---- sweep_flight.c ---- */

/* A launch enters the table of open commands, in the order of their enter. */
void sweep_link_open(struct sweep *sweep, uint32_t place);
/* Its execution came before it, and tells nothing of others. */
void sweep_unlink_open(struct sweep *sweep, uint32_t place);
/* Its correlation id is used again, by a launch that is entered now. */
int sweep_replace_open(struct sweep *sweep, uint32_t place, uint64_t enter);
/* A launch leaves the table of open commands. */
int sweep_note_done(struct sweep *sweep, const struct joined *joined);
/* Whatever a queue was given before a call that waits for all of it is over when that returns. */
void sweep_note_finished(struct sweep *sweep, const struct event_api *row);
/* A command with its launch, which came before it. */
void sweep_add_executed(struct sweep *sweep, const struct joined *joined);
/* Counts the open launches whose queue was past them, and lists them where they did not execute. */
int sweep_find_unexecuted(struct sweep *sweep);
/* Whether the launch row that is swept now is one of them. */
bool sweep_is_skipped(struct sweep *sweep);
/* What was launched and never executed may run to the end of the recording. */
int sweep_note_all_in_flight(struct sweep *sweep);

/* ---- sweep_things.c ---- */

/* The lists of devices, queues, contexts, processes: one item more, for what is not described. */
int sweep_make_tables(struct sweep *sweep);

#endif
