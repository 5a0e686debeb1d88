/* SPDX-License-Identifier: MIT
 *
 * report/by.c - the tables that --by prints, each as text and as JSON
 *
 * Runs in:  our own process
 * Gets:     an analysis and its frames
 * Gives:    the values of --by, the JSON list "by"
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why:      help, error message, text and JSON use one table of the values
 */
#include "report/report.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"

const struct report_by report_bys[] = {
	{"kernel", "busy time by kernel (default)", report_by_kernel},
	{"stack", "busy time by the stack that launched", report_by_stack},
	{"line", "busy time by the source line that launched", report_by_line},
	{"instruction", "sampled device instructions", report_by_instruction},
	{"stall", "reasons for which sampled device instructions waited", report_by_stall},
	{"queue", "use of each queue", report_by_queue},
	{"api", "calls of runtimes, operators and functions", report_by_api},
	{"process", "launches, calls and processor time by process", report_by_process},
	{"rank", "collective operations by rank, and waits for it", report_by_rank},
	{"thread", "processor time by thread", report_by_thread},
	{"range", "ranges that the program named", report_by_range},
	{"iteration", "iterations of the main loop, the slowest first", report_by_iteration},
	{"wait", "waiting calls by source line", report_by_wait},
	{"cpu", "CPU samples by function", report_by_cpu},
};
const size_t report_bys_count = ARRAY_COUNT(report_bys);

const struct report_by *report_by_find(const char *name)
{
	for (size_t i = 0; i < report_bys_count; i++)
		if (!name || strcmp(report_bys[i].name, name) == 0)
			return &report_bys[i];
	return NULL;
}

void report_by_list(char *ret_text, size_t size)
{
	size_t length = 0;

	for (size_t i = 0; i < report_bys_count && length < size; i++)
		length += (size_t)snprintf(ret_text + length, size - length, "%s%s",
					   !i                         ? ""
					   : i + 1 < report_bys_count ? ", "
								      : " or ",
					   report_bys[i].name);
}

int report_write_by(const struct report *report, struct json_writer *json)
{
	const struct report_by *by = report_by_find(report->values->by);
	int error;

	json_newline(json);
	json_pair_text(json, "grouped_by", by->name);
	json_line_array(json, "by");
	error = by->print(report, json);
	json_array_end(json);
	return error;
}
