/* SPDX-License-Identifier: MIT
 *
 * report/report.h - interface between the parts of duet report; cli/cmd_report.c fills struct
 * report, the files of report/ print it
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "base/hash.h"

struct collectives_rank;
struct finding;
struct frame_name;
struct frames;
struct json_writer;
struct layers;
struct sentence;
struct short_names;
struct string_builder;
struct table_rows;
struct unit_shown;
struct verdict;
struct verdict_cause;
struct verdict_place;

#define ALL_DEVICES SIZE_MAX /* SELECTION_ALL_DEVICES */

enum {
	REPORT_NAME_BYTES = 256,
	REPORT_COLUMNS = 100 /* width of the text if it does not go to a terminal */
};

struct report_values {
	bool json, full_names;
	const char *by, *device, *pids, *ranks, *layers, *color;
	uint64_t top, from_ns, to_ns;
};

/* The paths of the analysis (launching stack, command, device) that are shown. */
struct report_paths {
	const struct analysis_path **by_share; /* the largest share first */
	const struct analysis_path **by_name;  /* by class, name, share */
	size_t count;
};

/* State that changes while the report is printed. */
struct report_state {
	uint64_t frames_bytes; /* bytes of frames written to the JSON document so far */
	int error;             /* -ENOMEM: parts are left out; the report fails at its end */
};

struct report {
	const struct report_values *values;
	const struct model *model;
	const struct analysis *analysis;
	struct frames *frames;
	struct layers *layers;
	const struct short_names *short_names; /* kernels; NULL: full names, as in JSON */
	struct report_state *state;
	struct report_paths paths;
	const char *path;
	size_t device; /* index or ALL_DEVICES */
	uint64_t top;
	size_t columns; /* width of the text; 0: REPORT_COLUMNS */
};

/* ---- report.c ---- */

size_t report_columns(const struct report *report);
/* The columns of a table of numbers that a terminal has room for; without a terminal all of them.
 */
struct report_widths {
	size_t name, numbers; /* columns of the name; number of numbers */
};
/* A narrow terminal leaves out the last numbers until the name has min_name columns. */
struct report_widths report_find_widths(const struct report *report, struct report_widths usual,
					size_t min_name);
/* Width of the first column of a table that takes `width` in a text of REPORT_COLUMNS. */
size_t report_name_width(const struct report *report, size_t width);
/* Prints a line below a table, wrapped. */
void report_put_hint(const struct report *report, const char *text);
/* Prints a line in place of a table, wrapped. */
void report_put_note(const struct report *report, const char *text);
/* The name of a kernel as the text shows it. */
const char *report_kernel_name(const struct report *report, const char *name);

bool report_shows_device(const struct report *report, size_t device);
/* Several devices are shown. */
bool report_has_many_devices(const struct report *report);
/* The device's name, or "device 3" if another one has the same name. The text is cut to the buffer;
 * returns ret_label. */
const char *report_device_label(const struct report *report, size_t device, char *ret_label,
				size_t size);
/* Whether a table that has `shown` lines is full. */
bool report_is_over_top(const struct report *report, size_t shown);
/* The frames of a stack, root first, valid until the next call. Out of memory: returns 0 and sets
 * state->error. */
size_t report_frames(const struct report *report, uint32_t stack,
		     const struct frame_name **ret_names);
const char *report_device_key(const struct analysis_device *device);
/* The recorded command: model_command. */
const char *report_command(const struct report *report);
/* Whether the recording has several processes and none that duet started. */
bool report_is_of_all(const struct report *report);
/* The sums of each command of a class over all devices shown, the largest total first. ret_copies
 * has room for ANALYSIS_COMMAND_COUNT. */
size_t report_list_copies(const struct report *report, enum account_class class,
			  struct analysis_copy *ret_copies);
/* Bytes per second; 0 if no bytes moved or the copies took no longer than the clock's error. */
double report_copy_rate(const struct report *report, const struct analysis_copy *copy);

/* ---- report/problems.c ---- */

void report_put_kept(const struct report *report);
/* The key "part" of a file that is a part of a longer recording. */
void report_write_part(const struct report *report, struct json_writer *json);
/* The lines that begin with "!". put_problems: problems that change the result, above all numbers;
 * put_notes: the others, below the account. */
void report_put_problems(const struct report *report);
void report_put_notes(const struct report *report);

/* ---- report/tables.c ---- */

/* The key "kernels". */
void report_write_kernels(const struct report *report, struct json_writer *json);
/* A table, and the keys "copies" and "other_commands". */
void report_put_copies(const struct report *report, enum account_class class);
void report_write_copies(const struct report *report, enum account_class class,
			 struct json_writer *json);
/* The key "overlap" of a device: its time with kernels, with copies, and with both. */
void report_write_overlap(const struct overlap *overlap, struct json_writer *json);
/* Tables, and the keys "api", "operators" and "functions". */
void report_put_calls(const struct report *report);
void report_write_calls(const struct report *report, struct json_writer *json);
/* "198 launches waited 912.0 ms because the command buffer was full; longest 110.2 ms" */
void report_say_full(const struct report *report, struct sentence *sentence);
/* The key "command_buffer_full"; nothing if no launch waited for that. */
void report_write_full(const struct report *report, struct json_writer *json);
/* The key "profiler_overhead"; nothing if the recording has no overhead of a profiler. */
void report_write_profiler(const struct report *report, struct json_writer *json);

/* ---- report/groups.c ---- */

enum { GROUPS_HEAVY = 10 }; /* percent of a table's sum */

/* Names with one pattern. */
struct name_group {
	const char *name;    /* that of the first */
	const char *pattern; /* owned by the groups */
	size_t count;
	bool is_mixed; /* they have several names */
};

/* How the rows of a table become the sums of groups. */
struct row_grouping {
	size_t size; /* bytes of a sum, which table columns read */
	/* Adds a row of the table to a sum, whose bytes are 0 before the first row. -ENOMEM. */
	int (*add)(void *sum, const void *row, bool is_first);
	int (*compare)(const void *left, const void *right); /* the order of the sums */
	void (*fini)(void *sum);                             /* NULL: a sum owns nothing */
};

/* Zero but `grouping`: empty. */
struct row_groups {
	const struct row_grouping *grouping;
	struct string_table keys; /* an id is an index + 1 */
	char *rows;               /* owned; a sum, and behind it its name_group */
	size_t count, capacity;
};

/* Whether a row stays alone: it has much of the table's sum. */
static inline bool row_groups_is_heavy(uint64_t value, uint64_t sum)
{
	/* the part of whole hundreds, and of the rest; rounded up */
	return value && value >= sum / 100 * GROUPS_HEAVY + (sum % 100 * GROUPS_HEAVY + 99) / 100;
}

/* Adds a row by its name; names of different scopes are never in one group. scope NULL: a group of
 * its own. -ENOMEM. */
int row_groups_add(struct row_groups *groups, const char *scope, const char *name, const void *row);
/* The sum of a group, by index. */
void *row_groups_sum(const struct row_groups *groups, size_t index);
/* The names of a sum. */
const struct name_group *row_grouping_names(const struct row_grouping *grouping, const void *sum);
/* Sorts the sums, and gives them to a table. */
struct table_rows row_groups_sort(struct row_groups *groups);
/* "worker-* (1000 threads)"; the name itself if the group has one member. */
void name_group_label(const struct name_group *group, const char *noun, char *ret_label,
		      size_t size);
void row_groups_fini(struct row_groups *groups);

/* ---- report/processes.c ---- */

/* Processes that called a runtime; with more of them than rows, by program. -ENOMEM. */
int report_put_processes(const struct report *report);
/* The key "processes": all processes. */
void report_write_processes(const struct report *report, struct json_writer *json);

/* ---- report/ranks.c ---- */

/* The table of ranks, if ranks wait for each other in collective operations. -ENOMEM. */
int report_put_ranks(const struct report *report);
/* The key "collectives". */
void report_write_collectives(const struct report *report, struct json_writer *json);
/* "rank 3", otherwise "process 4711" */
const char *report_rank_label(const struct collectives_rank *rank, char *ret_label, size_t size);
void report_write_late_rank(const char *key, const struct collectives_rank *rank,
			    struct json_writer *json);

/* ---- report/queues.c ---- */

/* Two tables: the waiting times of commands; the depth of queues and the latency of launches. The
 * busiest queue comes first; queues of one kind are one row if there are more than rows.
 * -ENOMEM. */
int report_put_waiting_times(const struct report *report);
/* The keys "queues" and "contexts". */
void report_write_queues(const struct report *report, struct json_writer *json);

void report_name_queue(const struct report *report, const struct analysis_queue *queue,
		       char *ret_name, size_t size_of_name);

/* ---- report/stacks.c ---- */

int report_sort_paths(const struct report *report, struct report_paths *ret_paths); /* -ENOMEM */
void report_paths_fini(struct report_paths *paths);                                 /* NULL-safe */
/* The key "frames". */
void report_write_frames(const struct report *report, uint32_t stack, struct json_writer *json);
/* An array of the stacks that launched a kernel or command on a device, or on ALL_DEVICES. */
void report_write_stacks(const struct report *report, enum account_class class, const char *name,
			 size_t device, struct json_writer *json);

/* ---- report/cost.c ---- */

/* The cost of recording, as --max-overhead measured it: lines, and keys of "cost". -ENOMEM, errors
 * of the reader. */
int report_put_cost(const struct report *report);
int report_write_cost(const struct report *report, struct json_writer *json);

/* ---- report/calls.c ---- */

/* The host time that duet itself took in the program: a table, and the key "duet_itself". */
void report_put_own_time(const struct report *report);
void report_write_own_time(const struct report *report, struct json_writer *json);

/* The key "idle_calls". -ENOMEM. */
int report_write_idle_calls(const struct report *report, size_t device, struct json_writer *json);

/* ---- report/waits.c ---- */

/* The wait that took most of the blocked time. */
struct report_wait {
	const char *wait; /* the system call and its disk, "mutex" or "Python GIL" */
	uint64_t wait_ns;
	const struct event_thread *holder; /* the holder for most of wait_ns; NULL: not known */
	uint64_t holder_ns;
};

/* The longest wait in the steady part while `function` was the program's innermost function; NULL:
 * in any function. False: not known. */
bool report_find_wait(const struct report *report, size_t device, const char *function,
		      struct report_wait *ret_wait);
/* The keys pid, tid and name of a thread. */
void report_write_thread(const struct report *report, const struct event_thread *thread,
			 struct json_writer *json);
/* The program that ran for most of the time in which the launching threads were preempted in the
 * steady part, and that time. False: not known. */
bool report_find_preemptor(const struct report *report, size_t device, const char **ret_by,
			   uint64_t *ret_ns);
/* The key "idle_waits" of CAUSE_BLOCKED, "idle_preempted" of CAUSE_PREEMPTED. -ENOMEM. */
int report_write_idle_waits(const struct report *report, size_t device, enum account_cause cause,
			    struct json_writer *json);

/* ---- report/instructions.c ---- */

int report_put_instructions(const struct report *report); /* -ENOMEM */
/* The rows of a list, which the caller begins and ends. -ENOMEM. */
int report_write_instructions(const struct report *report, struct json_writer *json);

/* Prints the reason why there are no instruction samples, and the collectors that record some. */
void report_put_no_instructions(const struct report *report);
/* Whether its device is shown. */
bool report_shows_instruction(const struct report *report,
			      const struct analysis_instruction *instruction);
/* Prints the share of the samples whose attribution is not certain, by reason. */
void report_put_doubts(const struct report *report);

/* ---- report/cpu.c ---- */

/* The key "cpu": the sums of each source. */
void report_write_sources(const struct report *report, struct json_writer *json);

/* ---- report/threads.c ---- */

/* Times of a thread, or of all threads of a process. */
struct report_times {
	bool is_known; /* switches were recorded */
	uint64_t on_cpu_ns, blocked_ns, preempted_ns, unknown_ns;
	uint64_t samples;
};

int report_put_process_times(const struct report *report); /* -ENOMEM; prints only known times */
struct report_times report_process_times(const struct analysis_process *process);
/* The keys samples, on_cpu_ns, blocked_ns, preempted_ns and unknown_ns, as far as they are known.
 */
void report_write_times(const struct report_times *times, struct json_writer *json);

/* ---- report/ranges.c ---- */

int report_put_ranges(const struct report *report); /* -ENOMEM */
/* The rows of a list, which the caller begins and ends. -ENOMEM. */
int report_write_ranges(const struct report *report, struct json_writer *json);

/* ---- report/iterations.c ---- */

/* Prints nothing without iterations, unless --by asks for them. -ENOMEM. */
int report_put_iterations(const struct report *report);
/* The key "iterations", only if iterations were found. -ENOMEM. */
int report_write_iterations(const struct report *report, struct json_writer *json);

/* ---- report/metrics.c ---- */

/* Prints nothing without counters. -ENOMEM, errors of the reader. */
int report_put_metrics(const struct report *report);
/* The rows of a list, which the caller begins and ends. -ENOMEM, errors of the reader. */
int report_write_metrics(const struct report *report, struct json_writer *json);

/* "disk.read nvme0n1, MB/s", with the name and pid of its process. If it is longer than width
 * bytes, names lose their middles, so that the unit is always shown. */
void report_name_series(const struct report *report, const struct event_series *series,
			const struct unit_shown *unit, size_t width, struct string_builder *name);
/* The keys that identify a series: "name", "instance", "pid", "process", "device", "cpu". */
void report_write_series(const struct report *report, const struct event_series *series,
			 struct json_writer *json);

/* ---- report/by.c ---- */

/* A value of --by. */
struct report_by {
	const char *name, *help;
	/* Prints the table; json not NULL: writes the rows of the list "by". -ENOMEM. */
	int (*print)(const struct report *report, struct json_writer *json);
};

int report_by_kernel(const struct report *report, struct json_writer *json);
int report_by_stack(const struct report *report, struct json_writer *json);
int report_by_line(const struct report *report, struct json_writer *json);
int report_by_instruction(const struct report *report, struct json_writer *json);
int report_by_stall(const struct report *report, struct json_writer *json);
int report_by_queue(const struct report *report, struct json_writer *json);
int report_by_api(const struct report *report, struct json_writer *json);
int report_by_process(const struct report *report, struct json_writer *json);
int report_by_rank(const struct report *report, struct json_writer *json);
int report_by_thread(const struct report *report, struct json_writer *json);
int report_by_iteration(const struct report *report, struct json_writer *json);
int report_by_range(const struct report *report, struct json_writer *json);
int report_by_wait(const struct report *report, struct json_writer *json);
/* A table for each source of CPU samples, the sources that measure time first. */
int report_by_cpu(const struct report *report, struct json_writer *json);

/* In the order of the help; the first is the default. */
extern const struct report_by report_bys[];
extern const size_t report_bys_count;

/* name NULL: the default. Returns NULL for an unknown name. */
const struct report_by *report_by_find(const char *name);
/* All values of --by: "kernel, stack or line". */
void report_by_list(char *ret_text, size_t size);
/* The keys "grouped_by" and "by". -ENOMEM. */
int report_write_by(const struct report *report, struct json_writer *json);

/* ---- report/culprit.c ---- */

/* The innermost function of a stack that belongs to the program, or the innermost of all if there
 * is none. False: the stack is not known, or its inner frames are missing. */
bool report_place_of(const struct report *report, uint32_t stack, struct verdict_place *ret_place);
/* The function in which the launching threads spent most of the idle time of this cause in a
 * device's steady part, one of the stacks with it, and that time: CAUSE_ON_CPU, CAUSE_BLOCKED or
 * CAUSE_PREEMPTED. False: no function is known. */
bool report_find_culprit(const struct report *report, size_t device, enum account_cause cause,
			 struct verdict_place *ret_place, uint64_t *ret_ns);
/* Its keys. ns: the idle time that the function explains; 0: not known. */
void report_write_culprit(const struct report *report, const struct verdict_place *place,
			  uint64_t ns, struct json_writer *json);

/* ---- report/verdict/trigger.c ---- */

/* The newest firings of triggers in the file, with the causes of idle time in each. Nothing if only
 * a part of the file is shown. -ENOMEM and the errors of the reader. */
int report_put_triggers(const struct report *report);
/* The key "triggers"; nothing without any. */
void report_write_triggers(const struct report *report, struct json_writer *json);

/* ---- report/verdict/verdict.c ---- */

/* At most three sentences. -ENOMEM. */
int report_put_verdict(const struct report *report);
/* A line with a cause, its time and its part of wall_ns. */
void report_put_cause(const struct report *report, const struct verdict_cause *cause,
		      uint64_t wall_ns, size_t indent);
/* The key "verdict". -ENOMEM. */
int report_write_verdict(const struct report *report, struct json_writer *json);

/* The device's busy time in the slowest iteration, and the largest cause of its idle time there: a
 * line, and the keys "busy_ns" and "cause". -ENOMEM. */
int report_put_slowest_cause(const struct report *report);
int report_write_slowest_cause(const struct report *report, struct json_writer *json);

/* The key "idle_kinds": the parts of a device's idle causes. -ENOMEM. */
int report_write_idle_kinds(const struct report *report, size_t device, struct json_writer *json);

typedef void (*report_put_row)(const struct report *report, const char *name, uint64_t part,
			       uint64_t wall, const char *origin);
/* The functions, waits or preemptors of one cause. verdict: that of the whole window. */
void report_put_idle_places(const struct report *report, const struct verdict *verdict,
			    enum account_cause cause, report_put_row put);

/* ---- report/failures.c ---- */

void report_say_failure(const struct report *report, const struct finding *finding,
			struct sentence *sentence);
void report_write_failure(const struct report *report, const struct finding *finding,
			  struct json_writer *json);
/* The place of a call: its own stack, otherwise the stack that was sampled inside of calls of this
 * function for the longest idle time. */
bool report_find_call_place(const struct report *report, const char *function, uint32_t stack,
			    struct verdict_place *ret_place);

/* ---- report/findings.c ---- */

/* -ENOMEM. */
int report_put_findings(const struct report *report);
/* The key "findings". -ENOMEM. */
int report_write_findings(const struct report *report, struct json_writer *json);

/* ---- report/layers.c ---- */

/* -ENOMEM. */
int report_put_layers(const struct report *report);
/* The key "host_layers". -ENOMEM. */
int report_write_layers(const struct report *report, struct json_writer *json);

/* ---- report/text.c, report/json.c ---- */

int report_print_text(const struct report *report); /* -ENOMEM */
int report_print_json(const struct report *report); /* -ENOMEM */
/* The document as a value inside of another document. -ENOMEM. */
int report_write_json(const struct report *report, struct json_writer *json);
