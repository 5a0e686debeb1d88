/* SPDX-License-Identifier: MIT
 *
 * cli/report.h - what the parts of duet report share: cmd_report.c chooses, the others print
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "base/hash.h"

struct frame_name;
struct frames;
struct json_writer;
struct layers;
struct string_builder;
struct unit_shown;

#define ALL_DEVICES SIZE_MAX /* SELECTION_ALL_DEVICES */

enum { REPORT_NAME_BYTES = 256 };

struct report_values {
	bool json;
	const char *by, *device, *layers;
	uint64_t top, from_ns, to_ns;
};

struct report_numbers {
	uint64_t count, timed; /* timed: how many of them the times are from */
	uint64_t total_ns, share_ns;
};

/* What was launched from where: the paths of the analysis that are shown. */
struct report_paths {
	const struct analysis_path **by_share; /* the largest share first */
	const struct analysis_path **by_name;  /* by class, name, share */
	size_t count;
};

struct report_line {
	const char *call;            /* that waited there; NULL: commands were launched */
	const char *file, *function; /* file NULL: only the function is known */
	uint32_t line;
	size_t device;
	bool is_ambiguous; /* another file has the same name */
	struct report_numbers numbers;
};

struct report_lines {
	struct report_line *rows;
	size_t capacity, count;
	struct string_table keys;
};

/* While it is printed. */
struct report_state {
	uint64_t frames_bytes; /* of a document, written so far */
	int error;             /* -ENOMEM: something is left out, the report fails at its end */
};

struct report {
	const struct report_values *values;
	const struct model *model;
	const struct analysis *analysis;
	struct frames *frames;
	struct layers *layers;
	struct report_state *state;
	struct report_paths paths;
	const char *path;
	size_t device; /* index or ALL_DEVICES */
	uint64_t top;
};

/* ---- report.c ---- */

bool report_shows_device(const struct report *report, size_t device);
/* Whether a table that has `shown` lines is full. */
bool report_is_over_top(const struct report *report, size_t shown);
/* The names of a stack, root first, valid until the next call; without memory none, which the state has. */
size_t report_frames(const struct report *report, uint32_t stack,
		     const struct frame_name **ret_names);
const char *report_device_key(const struct analysis_device *device);
/* The key "symbol" of a kernel that is shown by another name. */
void report_write_symbol(const struct analysis_kernel *kernel, struct json_writer *json);
/* What was recorded: model_command. */
const char *report_command(const struct report *report);
/* The commands of a class over all devices shown, largest total first; room for ANALYSIS_COMMAND_COUNT. */
size_t report_list_copies(const struct report *report, enum account_class class,
			  struct analysis_copy *ret_copies);
/* Bytes per second; 0 where no bytes moved, or in no longer than the clock's error. */
double report_copy_rate(const struct report *report, const struct analysis_copy *copy);

/* ---- report_problems.c ---- */

void report_put_kept(const struct report *report);
void report_put_problems(const struct report *report);

/* ---- report_tables.c ---- */

void report_put_kernels(const struct report *report);
void report_put_processes(const struct report *report);
/* In the object of a process: its rank in a job, where it has one. */
void report_write_rank(const struct event_process *process, struct json_writer *json);
void report_put_queues(const struct report *report);
void report_put_copies(const struct report *report, enum account_class class, const char *title);
void report_put_calls(const struct report *report);
void report_put_zones(const struct report *report);
void report_put_depths(const struct report *report);

void report_name_queue(const struct report *report, const struct analysis_queue *queue,
		       char *ret_name, size_t size_of_name);

/* ---- report_stacks.c ---- */

int report_sort_paths(const struct report *report, struct report_paths *ret_paths); /* -ENOMEM */
void report_paths_fini(struct report_paths *paths);                                 /* NULL-safe */
void report_put_stacks(const struct report *report);
/* The cells of a row. */
void report_put_numbers(const struct report *report, size_t device,
			const struct report_numbers *numbers);
void report_write_numbers(const struct report_numbers *numbers, struct json_writer *json);
/* The key "frames". */
void report_write_frames(const struct report *report, uint32_t stack, struct json_writer *json);
/* An array of the stacks that launched a kernel or command on a device, or on ALL_DEVICES. */
void report_write_stacks(const struct report *report, enum account_class class, const char *name,
			 size_t device, struct json_writer *json);

/* ---- report_calls.c ---- */

/* What duet itself took of the program's time: a table, and the members "duet_itself" of an object. */
void report_put_own_time(const struct report *report);
void report_write_own_time(const struct report *report, struct json_writer *json);

/* In which calls the launching threads of a device were, of CAUSE_API_WAIT or CAUSE_API_CALL. */
int report_put_idle_calls(const struct report *report, size_t device, enum account_cause cause,
			  void (*put)(const char *name, uint64_t part,
				      uint64_t wall)); /* -ENOMEM */
/* The key "idle_calls". -ENOMEM. */
int report_write_idle_calls(const struct report *report, size_t device, struct json_writer *json);

/* ---- report_waits.c ---- */

/* What the time in which the launching threads of a device were blocked was spent on, or who ran while they were
 * preempted: the cause says which. what: so much of the name says that; who had or woke it is behind. */
int report_put_idle_waits(const struct report *report, size_t device, enum account_cause cause,
			  void (*put)(const char *name, size_t what, uint64_t part,
				      uint64_t wall)); /* -ENOMEM */
/* What most of that time was waited for. */
struct report_wait {
	const char *wait; /* the system call and its disk, "mutex" or "Python GIL" */
	uint64_t wait_ns;
	const struct event_thread *holder; /* that had it for most of wait_ns; NULL: not known */
	uint64_t holder_ns;
};

/* Of the time in which the program's innermost function was that one; NULL: of all. False: nothing is known. */
bool report_find_wait(const struct report *report, size_t device, const char *function,
		      struct report_wait *ret_wait);
/* The keys pid, tid and name of a thread. */
void report_write_thread(const struct report *report, const struct event_thread *thread,
			 struct json_writer *json);
/* Who ran for most of the time in which the launching threads were preempted: *ret_by of *ret_ns. False: not known. */
bool report_find_preemptor(const struct report *report, size_t device, const char **ret_by,
			   uint64_t *ret_ns);
/* The keys "idle_waits" and "idle_preempted". -ENOMEM. */
int report_write_idle_waits(const struct report *report, size_t device, struct json_writer *json);
int report_write_idle_preempted(const struct report *report, size_t device,
				struct json_writer *json);

/* ---- report_lines.c ---- */

int report_find_lines(const struct report *report, struct report_lines *ret_lines); /* -ENOMEM */
void report_lines_fini(struct report_lines *lines);                                 /* NULL-safe */
void report_name_line(const struct report_line *line, char *ret_name, size_t size);
int report_put_lines(const struct report *report); /* -ENOMEM */
/* The lines that waited, the longest first; share_ns is total_ns. -ENOMEM. */
int report_find_waits(const struct report *report, struct report_lines *ret_lines);
int report_put_waits(const struct report *report); /* -ENOMEM */

/* ---- report_instructions.c ---- */

int report_put_instructions(const struct report *report); /* -ENOMEM */
/* The rows of a list, which the caller begins and ends; is_by: of the list "by". -ENOMEM. */
int report_write_instructions(const struct report *report, bool is_by, struct json_writer *json);

/* Why there is none, and what would record some. */
void report_put_no_instructions(const struct report *report);
/* Whether it is of the device that is shown. */
bool report_shows_instruction(const struct report *report,
			      const struct analysis_instruction *instruction);
/* What share of the samples is not certainly who a table says. */
void report_put_doubts(const struct report *report);

/* ---- report_stalls.c ---- */

int report_put_stalls(const struct report *report); /* -ENOMEM */
/* The rows of the list "by". -ENOMEM. */
int report_write_stalls(const struct report *report, struct json_writer *json);

/* ---- report_cpu.c ---- */

/* A table for each source of CPU samples, those that tell time first. -ENOMEM. */
int report_put_cpu(const struct report *report);
/* The key "cpu": what there is of each source. */
void report_write_sources(const struct report *report, struct json_writer *json);
/* The rows of a list, which the caller begins and ends. -ENOMEM. */
int report_write_cpu(const struct report *report, struct json_writer *json);

/* ---- report_threads.c ---- */

/* Of a thread, or of all of a process. */
struct report_times {
	bool is_known; /* the switches are */
	uint64_t on_cpu_ns, blocked_ns, preempted_ns;
	uint64_t samples;
};

int report_put_threads(const struct report *report); /* -ENOMEM */
int report_put_process_times(
	const struct report *report); /* -ENOMEM; nothing where nothing is known */
/* The rows of a list, which the caller begins and ends. -ENOMEM. */
int report_write_threads(const struct report *report, struct json_writer *json);
struct report_times report_process_times(const struct analysis_process *process);
/* The keys samples and on_cpu_ns, blocked_ns, preempted_ns, as far as they are known. */
void report_write_times(const struct report_times *times, struct json_writer *json);

/* ---- report_ranges.c ---- */

int report_put_ranges(const struct report *report); /* -ENOMEM */
/* The rows of a list, which the caller begins and ends; is_by: of the list "by". -ENOMEM. */
int report_write_ranges(const struct report *report, bool is_by, struct json_writer *json);

/* ---- report_metrics.c ---- */

/* Nothing where there are no counters. -ENOMEM, what the reader fails with. */
int report_put_metrics(const struct report *report);
/* The rows of a list, which the caller begins and ends. The same. */
int report_write_metrics(const struct report *report, struct json_writer *json);

/* "disk.read nvme0n1, MB/s", and name and pid of its process. So that it fits into width bytes, names lose their
 * middles: the unit is worth more. */
void report_name_series(const struct report *report, const struct event_series *series,
			const struct unit_shown *unit, size_t width, struct string_builder *name);
/* Four digits: no counter is measured better. */
struct number report_format_value(double value);
/* The keys that tell a series from others: "name", "instance", "pid", "process", "device", "cpu". */
void report_write_series(const struct report *report, const struct event_series *series,
			 struct json_writer *json);

/* ---- report_by.c ---- */

/* The keys "grouped_by" and "by". -ENOMEM. */
int report_write_by(const struct report *report, struct json_writer *json);

/* ---- report_culprit.c ---- */

/* A function, and how long it was seen to be the reason. */
struct report_culprit {
	const char *function;
	const char *file; /* NULL: not known */
	uint32_t line;    /* 0: not known */
	uint32_t stack;   /* one of those that it was seen in */
	bool is_own;      /* the program's; else the innermost of a stack that has none of those */
	uint64_t ns;
};

/* The function of a stack that is the program's own, else the innermost; false: nothing is known of the stack, or
 * its inner frames are missing. */
bool report_place_of(const struct report *report, uint32_t stack,
		     struct report_culprit *ret_culprit);
/* Where the launching threads were in the idle time of a device that has this cause, CAUSE_ON_CPU or CAUSE_BLOCKED. */
bool report_find_culprit(const struct report *report, size_t device, enum account_cause cause,
			 struct report_culprit *ret_culprit);

/* ---- report_findings.c ---- */

/* -ENOMEM. */
int report_put_findings(const struct report *report);
/* The key "findings". -ENOMEM. */
int report_write_findings(const struct report *report, struct json_writer *json);

/* ---- report_layers.c ---- */

/* -ENOMEM. */
int report_put_layers(const struct report *report);
/* The key "host_layers". -ENOMEM. */
int report_write_layers(const struct report *report, struct json_writer *json);

/* ---- report_text.c, report_json.c ---- */

int report_print_text(const struct report *report); /* -ENOMEM */
int report_print_json(const struct report *report); /* -ENOMEM */
/* The document as a value of another. -ENOMEM. */
int report_write_json(const struct report *report, struct json_writer *json);

#endif
