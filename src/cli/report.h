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

struct frames;
struct json_writer;
struct layers;

#define ALL_DEVICES SIZE_MAX /* SELECTION_ALL_DEVICES */

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

struct report {
	const struct report_values *values;
	const struct model *model;
	const struct analysis *analysis;
	struct frames *frames;
	struct layers *layers;
	uint64_t *frames_bytes; /* of a document, written so far */
	struct report_paths paths;
	const char *path;
	size_t device; /* index or ALL_DEVICES */
	uint64_t top;
};

/* ---- report.c ---- */

bool report_shows_device(const struct report *report, size_t device);
/* Whether a table that has `shown` lines is full. */
bool report_is_over_top(const struct report *report, size_t shown);
const char *report_device_key(const struct analysis_device *device);
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

/* ---- report_waits.c ---- */

/* What the time in which the launching threads of a device were blocked was spent on. */
void report_put_idle_waits(const struct report *report, size_t device,
			   void (*put)(const char *name, uint64_t part, uint64_t wall));
/* The key "idle_waits". */
void report_write_idle_waits(const struct report *report, size_t device, struct json_writer *json);

/* ---- report_lines.c ---- */

int report_find_lines(const struct report *report, struct report_lines *ret_lines); /* -ENOMEM */
void report_lines_fini(struct report_lines *lines);                                 /* NULL-safe */
void report_name_line(const struct report_line *line, char *ret_name, size_t size);
void report_put_lines(const struct report *report);
/* The lines that waited, the longest first; share_ns is total_ns. -ENOMEM. */
int report_find_waits(const struct report *report, struct report_lines *ret_lines);
void report_put_waits(const struct report *report);

/* ---- report_instructions.c ---- */

int report_put_instructions(const struct report *report); /* -ENOMEM */
/* The rows of a list, which the caller begins and ends; is_by: of the list "by". -ENOMEM. */
int report_write_instructions(const struct report *report, bool is_by, struct json_writer *json);

/* ---- report_cpu.c ---- */

/* A table for each source of CPU samples, those that tell time first. */
void report_put_cpu(const struct report *report);
/* The key "cpu": what there is of each source. */
void report_write_sources(const struct report *report, struct json_writer *json);
/* The rows of a list, which the caller begins and ends. -ENOMEM. */
int report_write_cpu(const struct report *report, struct json_writer *json);

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
	uint64_t ns;
};

/* The function of a stack that is the program's own; false: nothing is known of the stack. */
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

#endif
