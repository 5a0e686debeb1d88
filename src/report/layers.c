/* SPDX-License-Identifier: MIT
 *
 * report/layers.c - host time by layer of the software
 *
 * Runs in:  our own process
 * Gets:     samples by layer
 * Gives:    a table of the threads that launch, or of all threads if none does; JSON of all threads
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why only threads that launch: a device waits for the work of its launching threads. Workers of
 *           the program or of the runtime would hide that work in the sums.
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/text/layers.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "report/table.h"

enum { NAME_WIDTH = 46 };

static size_t count_processes(const struct layers_row *rows, size_t count, bool is_launching)
{
	size_t processes = 0, last = SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		if (rows[i].is_launching != is_launching)
			continue;
		processes += rows[i].process != last;
		last = rows[i].process;
	}
	return processes;
}

static void put_row(const struct report *report, const struct layers_row *row, bool is_one)
{
	const struct analysis_process *process = &report->analysis->processes[row->process];
	char name[256];

	snprintf(name, sizeof(name), "%.64s", layers_text(row->layer));
	if (!is_one)
		snprintf(name, sizeof(name), "%.64s of %.64s %" PRIu32, layers_text(row->layer),
			 process->name, process->process ? process->process->pid : 0);
	table_put_name(name, report_name_width(report, NAME_WIDTH));
	table_put_cell(format_count(row->samples));
	if (strcmp(analysis_source_unit(row->source), "ns") == 0)
		table_put_cell(format_duration(row->weight));
	else
		table_put_cell(format_count(row->weight));
	table_put_cell(format_percent(row->weight, row->all));
	putchar('\n');
}

int report_put_layers(const struct report *report)
{
	static const char *const columns[] = {"samples", "time", "share", NULL};
	auto_free struct layers_row *rows = NULL;
	size_t count = 0, shown = 0, wanted = 0;
	int error = layers_divide(report->layers, report->analysis, &rows, &count);
	bool is_one, is_launching;

	if (error)
		return error;
	is_launching = count_processes(rows, count, true) > 0;
	is_one = count_processes(rows, count, is_launching) < 2;
	for (size_t i = 0; i < count; i++) {
		if (rows[i].is_launching != is_launching ||
		    (wanted++, report_is_over_top(report, shown)))
			continue;
		if (!shown++)
			table_put_title(is_launching ? "HOST TIME OF LAUNCHING THREADS"
						     : "HOST TIME OF ALL THREADS",
					report_name_width(report, NAME_WIDTH), columns);
		put_row(report, &rows[i], is_one);
	}
	table_put_rest(shown, wanted, "layer", "layers");
	return 0;
}

int report_write_layers(const struct report *report, struct json_writer *json)
{
	auto_free struct layers_row *rows = NULL;
	size_t count = 0;
	int error = layers_divide(report->layers, report->analysis, &rows, &count);

	json_line_array(json, "host_layers");
	for (size_t i = 0; i < count; i++) {
		const struct layers_row *row = &rows[i];
		const struct analysis_process *process = &report->analysis->processes[row->process];

		json_line_begin(json);
		json_pair_u64(json, "process", process->process ? process->process->pid : 0);
		json_pair_text(json, "threads", row->is_launching ? "launching" : "other");
		json_pair_text(json, "source", row->source);
		json_pair_text(json, "layer", row->layer);
		json_pair_u64(json, "samples", row->samples);
		json_pair_u64(json, "weight", row->weight);
		json_pair_text(json, "unit", analysis_source_unit(row->source));
		json_pair_double(json, "share",
				 row->all ? (double)row->weight / (double)row->all : 0);
		json_object_end(json);
	}
	json_array_end(json);
	return error;
}
