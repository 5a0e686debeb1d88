/* SPDX-License-Identifier: MIT
 *
 * report/ranks.c - the ranks of a job: which of them the others wait for
 *
 * Runs in:  our own process
 * Gets:     an analysis with its collective operations
 * Gives:    a table on stdout, the keys "collectives" and, with --by rank, "by"
 * Owns:     the rows while they are printed
 * Fails:    -ENOMEM
 * Why two times for a rank: a rank that waits for long is fast; the rank that the others wait for
 *           is the slow one. One number would not show which of the two it is.
 */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/collectives/collectives.h"
#include "base/json.h"
#include "report/table.h"

/* A process of a job, or with collective operations. */
struct rank_row {
	const struct analysis_process *process;
	struct collectives_rank counts; /* zero without collective operations */
	uint64_t pid, launches, share_ns;
	bool has_operations;
};

const char *report_rank_label(const struct collectives_rank *rank, char *ret_label, size_t size)
{
	const struct event_process *process = rank->process;

	if (process && process->rank)
		snprintf(ret_label, size, "rank %" PRIu32, process->rank - 1);
	else
		snprintf(ret_label, size, "process %" PRIu32, process ? process->pid : 0);
	return ret_label;
}

void report_write_late_rank(const char *key, const struct collectives_rank *rank,
			    struct json_writer *json)
{
	json_pair_object(json, key);
	if (rank->process && rank->process->rank)
		json_pair_u64(json, "rank", rank->process->rank - 1);
	json_pair_u64(json, "pid", rank->process ? rank->process->pid : 0);
	json_pair_u64(json, "last_count", rank->last_count);
	json_pair_u64(json, "caused_ns", rank->caused_ns);
	json_pair_u64(json, "max_caused_ns", rank->max_caused_ns);
	json_object_end(json);
}

static void format_name(const struct report *report, const void *row, char *ret_name, size_t size)
{
	const struct rank_row *rank = row;
	const struct collectives_rank named = {.process = rank->process->process};
	char label[48];

	report_rank_label(&named, label, sizeof(label));
	snprintf(ret_name, size, "%s  %.64s", label, rank->process->name);
}

static void write_rank(const struct report *report, const void *row, struct json_writer *json)
{
	const struct event_process *process = ((const struct rank_row *)row)->process->process;

	if (process && process->rank)
		json_pair_u64(json, "rank", process->rank - 1);
}

#define RANK(member)  TABLE_MEMBER(struct rank_row, member)
#define COUNT(member) .value = RANK(counts.member), .needs = RANK(has_operations)

static const struct table_column columns[] = {
	{"key", NULL, TABLE_NAME},
	{.write = write_rank},
	{"pid", "pid", TABLE_COUNT, .value = RANK(pid)},
	{"launches", NULL, TABLE_COUNT, .value = RANK(launches)},
	{"share_ns", "busy", TABLE_TIME, .value = RANK(share_ns)},
	{"operations", "operations", TABLE_COUNT, COUNT(operations)},
	{"last_count", "last", TABLE_COUNT, COUNT(last_count)},
	{"waited_ns", "waited", TABLE_TIME, COUNT(waited_ns)},
	{"max_waited_ns", "at most", TABLE_TIME, COUNT(max_waited_ns)},
	{"caused_ns", "caused", TABLE_TIME, COUNT(caused_ns)},
	{"max_caused_ns", NULL, TABLE_TIME, COUNT(max_caused_ns)},
	{"collectives_ns", NULL, TABLE_TIME, COUNT(device_ns)},
	{"bytes", NULL, TABLE_BYTES, COUNT(bytes)},
	{0},
};

static const struct table rank_table = {
	.title = "RANKS",
	.one = "rank",
	.many = "ranks",
	.width = 22,
	.format_name = format_name,
	.columns = columns,
};

static const struct collectives_rank *find_counts(const struct collectives *collectives,
						  const struct event_process *process)
{
	for (size_t i = 0; i < collectives->ranks_count; i++)
		if (collectives->ranks[i].process == process)
			return &collectives->ranks[i];
	return NULL;
}

static int compare_rows(const void *left, const void *right)
{
	const struct event_process *a = ((const struct rank_row *)left)->process->process;
	const struct event_process *b = ((const struct rank_row *)right)->process->process;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Returns the number of rows; the caller frees them. -ENOMEM. */
static int make_rows(const struct report *report, struct rank_row **ret_rows, size_t *ret_count)
{
	const struct analysis *analysis = report->analysis;
	struct rank_row *rows = calloc(analysis->processes_count + 1, sizeof(*rows));
	size_t count = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < analysis->processes_count; i++) {
		const struct analysis_process *process = &analysis->processes[i];
		const struct collectives_rank *counts =
			find_counts(&analysis->program.collectives, process->process);

		if (!process->process || !process->is_chosen ||
		    (!process->process->rank && !counts))
			continue;
		rows[count] = (struct rank_row){.process = process,
						.pid = process->process->pid,
						.launches = process->launches,
						.share_ns = process->share_ns};
		if (counts) {
			rows[count].counts = *counts;
			rows[count].has_operations = true;
		}
		count++;
	}
	qsort(rows, count, sizeof(*rows), compare_rows);
	*ret_rows = rows;
	*ret_count = count;
	return 0;
}

int report_by_rank(const struct report *report, struct json_writer *json)
{
	struct rank_row *rows;
	size_t count;
	int error = make_rows(report, &rows, &count);

	if (error)
		return error;
	table_print(report, &rank_table, &rank_table, TABLE_ROWS(rows, count), json);
	free(rows);
	if (!json && !count)
		report_put_note(report,
				"  no process has a rank, and none has collective operations");
	return 0;
}

/* Operations that were not evaluated, and clocks that do not agree. */
static void put_doubts(const struct report *report)
{
	const struct collectives *collectives = &report->analysis->program.collectives;
	char line[256];

	if (collectives->incomplete) {
		snprintf(line, sizeof(line),
			 "%" PRIu64 " %s not evaluated: a rank is missing in it",
			 collectives->incomplete,
			 table_noun(collectives->incomplete, "operation was", "operations were"));
		report_put_hint(report, line);
	}
	if (!collectives_is_aligned(collectives))
		report_put_hint(report,
				"the clocks of the ranks may differ: the ends of the same "
				"operation lie apart, so the rank that is last is not known");
}

int report_put_ranks(const struct report *report)
{
	int error = 0;

	if (report->analysis->program.collectives.operations)
		error = report_by_rank(report, NULL);
	put_doubts(report);
	return error;
}

void report_write_collectives(const struct report *report, struct json_writer *json)
{
	const struct collectives *collectives = &report->analysis->program.collectives;

	if (!model_has(report->model, EVENT_COLLECTIVE))
		return;
	json_newline(json);
	json_pair_object(json, "collectives");
	json_pair_u64(json, "operations", collectives->operations);
	json_pair_u64(json, "incomplete", collectives->incomplete);
	json_pair_u64(json, "unnumbered", collectives->unnumbered);
	json_pair_u64(json, "waited_ns", collectives->waited_ns);
	json_pair_u64(json, "max_waited_ns", collectives->max_waited_ns);
	json_pair_u64(json, "starts_apart_ns", collectives->starts_apart_ns);
	json_pair_u64(json, "ends_apart_ns", collectives->ends_apart_ns);
	json_pair_bool(json, "aligned", collectives_is_aligned(collectives));
	json_object_end(json);
}
