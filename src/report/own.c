/* SPDX-License-Identifier: MIT
 *
 * report/own.c - the host time that duet itself took in the program
 *
 * Runs in:  our own process
 * Gets:     rows of sections (pieces of a guest's work), and the sums in process rows of sections
 *           that have no row
 * Gives:    a table, keys of the JSON
 * Owns:     nothing
 * Fails:    never
 * Why three kinds of numbers: a section of 16 us or more is recorded as a row with its times;
 *           shorter ones only as a sum for each process. Recording a call costs about 50 ns. The
 *           guest measures this cost in one call of 256, and the total is estimated from the number
 *           of calls.
 */
#include "report/report.h"

#include <stdio.h>

#include "base/json.h"
#include "base/number.h"
#include "report/table.h"

enum { NAME_COLUMNS = 46 };

/* Sums over the whole recording, because process rows have no times for their sections. */
struct own_time {
	uint64_t sections, sections_ns; /* sections without rows */
	uint64_t timed_calls, timed_ns;
	uint64_t calls; /* in the window */
	uint64_t rows, rows_ns;
};

static struct own_time sum_own_time(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	struct own_time sum = {0};

	for (size_t i = 0; i < analysis->processes_count; i++) {
		const struct event_process *process = analysis->processes[i].process;

		if (!process || !analysis->processes[i].is_chosen)
			continue;
		sum.sections += process->guest_sections;
		sum.sections_ns += process->guest_sections_ns;
		sum.timed_calls += process->guest_timed_calls;
		sum.timed_ns += process->guest_timed_ns;
	}
	for (size_t i = 0; i < analysis->program.calls_count; i++)
		sum.calls += analysis->program.calls[i].count;
	for (size_t i = 0; i < analysis->program.sections_count; i++) {
		sum.rows += analysis->program.sections[i].count;
		sum.rows_ns += analysis->program.sections[i].total_ns;
	}
	return sum;
}

static uint64_t calls_ns(const struct own_time *sum)
{
	return sum->timed_calls ? round_saturated((double)sum->timed_ns / (double)sum->timed_calls *
						  (double)sum->calls)
				: 0;
}

static void put_own_row(const struct report *report, const char *name, uint64_t count,
			uint64_t total_ns, const char *remark)
{
	table_put_name(name, report_name_width(report, NAME_COLUMNS));
	table_put_cell(format_count(count));
	table_put_cell(format_duration(total_ns));
	table_put_cell(format_duration(count ? total_ns / count : 0));
	if (*remark && !report->columns)
		printf("  %s", remark);
	putchar('\n');
}

void report_put_own_time(const struct report *report)
{
	static const char *const columns[] = {"count", "total", "mean", NULL};
	const struct analysis *analysis = report->analysis;
	const struct own_time sum = sum_own_time(report);

	if (!sum.rows && !sum.sections && !sum.timed_calls)
		return;
	table_put_title("HOST TIME OF DUET ITSELF", report_name_width(report, NAME_COLUMNS),
			columns);
	for (size_t i = 0; i < analysis->program.sections_count; i++)
		put_own_row(report, analysis->program.sections[i].name,
			    analysis->program.sections[i].count,
			    analysis->program.sections[i].total_ns, "");
	if (sum.sections)
		put_own_row(report, "short sections", sum.sections, sum.sections_ns, "");
	if (sum.timed_calls)
		put_own_row(report, "recording calls", sum.calls, calls_ns(&sum),
			    "estimated from a sample of them");
}

void report_write_own_time(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;
	const struct own_time sum = sum_own_time(report);

	json_pair_object(json, "duet_itself");
	json_pair_array(json, "sections");
	for (size_t i = 0; i < analysis->program.sections_count; i++) {
		const struct analysis_section *section = &analysis->program.sections[i];

		json_object_begin(json);
		json_pair_text(json, "name", section->name);
		json_pair_u64(json, "count", section->count);
		json_pair_u64(json, "total_ns", section->total_ns);
		json_pair_u64(json, "max_ns", section->longest_ns);
		json_object_end(json);
	}
	json_array_end(json);
	json_pair_u64(json, "short_sections", sum.sections);
	json_pair_u64(json, "short_sections_ns", sum.sections_ns);
	json_pair_u64(json, "calls", sum.calls);
	json_pair_u64(json, "timed_calls", sum.timed_calls);
	json_pair_u64(json, "timed_ns", sum.timed_ns);
	json_pair_u64(json, "calls_ns", calls_ns(&sum));
	json_object_end(json);
}
