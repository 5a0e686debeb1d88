/* SPDX-License-Identifier: MIT
 *
 * report/tables.c - the tables of kernels, copies, other commands and API calls
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    tables on stdout, lists of the document
 * Owns:     the groups of kernels while they are printed
 * Fails:    -ENOMEM
 * Why:      a table without rows is not printed at all: a program without copies has no COPIES
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/sample/occupancy.h"
#include "base/json.h"
#include "base/number.h"
#include "base/order/quantile.h"
#include "analyze/verdict/verdict.h"
#include "report/table.h"
#include "report/verdict/cause.h"
#include "report/verdict/sentence.h"

enum {
	MAX_LEFT_OUT = 20 /* percent of the kernels' time; with more, kernels are joined by name */
};

/* ---- kernels --------------------------------------------------------------------------------- */

/* The name with its device if several devices are shown. */
static void format_kernel_name(const struct report *report, const void *row, char *ret_name,
			       size_t size)
{
	const struct analysis_kernel *kernel = row;
	char label[REPORT_NAME_BYTES];

	if (!report_has_many_devices(report))
		snprintf(ret_name, size, "%s", report_kernel_name(report, kernel->name));
	else
		snprintf(ret_name, size, "%.*s on %s", REPORT_NAME_BYTES,
			 report_kernel_name(report, kernel->name),
			 report_device_label(report, kernel->device, label, sizeof(label)));
}

static void put_occupancy(const struct report *report, const void *row)
{
	struct occupancy occupancy;

	if (occupancy_of_kernel(report->analysis, row, &occupancy))
		printf("    a multiprocessor has room for %s%" PRIu64 " of %" PRIu64
		       " warps, limited by %s\n",
		       occupancy.is_at_most    ? "at most "
		       : occupancy.is_at_least ? "at least "
					       : "",
		       occupancy.warps, occupancy.of_warps, occupancy.limit);
}

static void write_occupancy(const struct report *report, const void *row, struct json_writer *json)
{
	struct occupancy occupancy;

	if (!occupancy_of_kernel(report->analysis, row, &occupancy))
		return;
	json_pair_object(json, "occupancy");
	json_pair_u64(json, "warps", occupancy.warps);
	json_pair_u64(json, "of_warps", occupancy.of_warps);
	json_pair_text(json, "limit", occupancy.limit);
	json_pair_bool(json, "is_at_most", occupancy.is_at_most);
	json_pair_bool(json, "is_at_least", occupancy.is_at_least);
	json_object_end(json);
}

/* The key "symbol" of a kernel that is shown by another name. */
static void write_symbol(const struct report *report, const void *row, struct json_writer *json)
{
	const struct analysis_kernel *kernel = row;

	if (*kernel->symbol && strcmp(kernel->name, kernel->symbol) != 0)
		json_pair_text(json, "symbol", kernel->symbol);
}

static void write_kernel_stacks(const struct report *report, const void *row,
				struct json_writer *json)
{
	const struct analysis_kernel *kernel = row;

	json_key(json, "stacks");
	report_write_stacks(report, ACCOUNT_KERNEL, kernel->name, kernel->device, json);
}

/* Casts const away: quantile_get sorts the values inside, which does not change any result. */
static struct table_cell duration_cell(const void *row, unsigned int percent)
{
	const struct quantile *durations = &((const struct analysis_kernel *)row)->durations;

	return (struct table_cell){.value =
					   quantile_get((struct quantile *)durations, percent, 100),
				   .is_blank = !durations->count};
}

static struct table_cell kernel_median(const struct report *report, const void *row)
{
	return duration_cell(row, 50);
}

static struct table_cell kernel_p95(const struct report *report, const void *row)
{
	return duration_cell(row, 95);
}

static struct table_cell kernel_p99(const struct report *report, const void *row)
{
	return duration_cell(row, 99);
}

#define KERNEL(member) TABLE_MEMBER(struct analysis_kernel, member)

static const struct table kernels_table = {
	.title = "KERNELS",
	.one = "kernel",
	.many = "kernels",
	.width = 31,
	.is_cut_inside = true,
	.device = KERNEL(device),
	.format_name = format_kernel_name,
	.put_below = put_occupancy,
	.columns =
		(const struct table_column[]){
			{"name", NULL, TABLE_NAME, .value = KERNEL(name)},
			{.write = write_symbol},
			{"device", NULL, TABLE_TEXT, .device = KERNEL(device)},
			{"count", "count", TABLE_COUNT, .value = KERNEL(count), .width = 9},
			{"timed", NULL, TABLE_COUNT, .value = KERNEL(timed)},
			{"total_ns", "total", TABLE_TIME, .value = KERNEL(total_ns),
			 .needs = KERNEL(timed), .in_json = BLANK_HAS_VALUE, .blank = "not timed"},
			{NULL, "of busy", TABLE_PERCENT, .value = KERNEL(share_ns),
			 .device = KERNEL(device), .needs = KERNEL(timed), .blank = "", .width = 9},
			{"min_ns", NULL, TABLE_TIME, .value = KERNEL(min_ns),
			 .needs = KERNEL(timed), .in_json = BLANK_IS_NULL},
			{"median_ns", "median", TABLE_TIME, .get = kernel_median,
			 .in_json = BLANK_IS_NULL, .blank = "", .width = 10},
			{"p95_ns", "p95", TABLE_TIME, .get = kernel_p95, .in_json = BLANK_IS_NULL,
			 .blank = "", .width = 10},
			{"p99_ns", "p99", TABLE_TIME, .get = kernel_p99, .in_json = BLANK_IS_NULL,
			 .blank = "", .width = 10},
			{"max_ns", "max", TABLE_TIME, .value = KERNEL(max_ns),
			 .needs = KERNEL(timed), .in_json = BLANK_IS_NULL, .blank = "",
			 .width = 10},
			{"share_ns", NULL, TABLE_TIME, .value = KERNEL(share_ns)},
			{"percent", NULL, TABLE_PERCENT, .value = KERNEL(share_ns),
			 .device = KERNEL(device), .needs = KERNEL(timed),
			 .in_json = BLANK_HAS_VALUE},
			{.write = write_occupancy},
			{.write = write_kernel_stacks},
			{0},
		},
};

/* The rows of the list "by". */
static const struct table by_kernel_table = {
	.device = KERNEL(device),
	.columns =
		(const struct table_column[]){
			{"key", NULL, TABLE_NAME, .value = KERNEL(name)},
			{.write = write_symbol},
			{"device", NULL, TABLE_TEXT, .device = KERNEL(device)},
			{"count", NULL, TABLE_COUNT, .value = KERNEL(count)},
			{"timed", NULL, TABLE_COUNT, .value = KERNEL(timed)},
			{"total_ns", NULL, TABLE_TIME, .value = KERNEL(total_ns)},
			{"share_ns", NULL, TABLE_TIME, .value = KERNEL(share_ns)},
			{0},
		},
};

static struct table_rows kernel_rows(const struct report *report)
{
	return TABLE_ROWS(report->analysis->kernels, report->analysis->kernels_count);
}

void report_write_kernels(const struct report *report, struct json_writer *json)
{
	table_write_list(report, "kernels", &kernels_table, kernel_rows(report), json);
}

/* ---- kernels with numbered names ------------------------------------------------------------- */

static int add_kernel(void *group, const void *row, bool is_first)
{
	const struct analysis_kernel *kernel = row;
	struct analysis_kernel *sum = group;

	if (is_first) {
		*sum = *kernel;
		sum->durations = (struct quantile){.min = UINT64_MAX};
	} else {
		sum->count += kernel->count;
		sum->timed += kernel->timed;
		sum->total_ns += kernel->total_ns;
		sum->share_ns += kernel->share_ns;
		sum->max_ns = larger(sum->max_ns, kernel->max_ns);
	}
	return quantile_merge(&sum->durations, &kernel->durations);
}

static int compare_totals(const void *left, const void *right)
{
	const struct analysis_kernel *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return strcmp(a->name, b->name);
}

static void fini_kernel(void *sum)
{
	quantile_fini(&((struct analysis_kernel *)sum)->durations);
}

static const struct row_grouping by_kernel = {.size = sizeof(struct analysis_kernel),
					      .add = add_kernel,
					      .compare = compare_totals,
					      .fini = fini_kernel};

/* Joins all kernels but the first rows of the table, which stay alone. */
static int add_kernels(const struct report *report, struct row_groups *groups)
{
	const struct analysis *analysis = report->analysis;
	size_t alone = report->top - 1;
	int error = 0;

	for (size_t i = 0; i < analysis->kernels_count && !error; i++) {
		const struct analysis_kernel *kernel = &analysis->kernels[i];
		char device[24];

		if (!report_shows_device(report, kernel->device))
			continue;
		snprintf(device, sizeof(device), "%zu", kernel->device);
		error = row_groups_add(groups, alone ? NULL : device,
				       report_kernel_name(report, kernel->name), kernel);
		alone -= alone > 0;
	}
	return error;
}

static void format_kernel_group(const struct report *report, const void *row, char *ret_name,
				size_t size)
{
	const struct name_group *names = row_grouping_names(&by_kernel, row);

	if (names->count > 1)
		name_group_label(names, "kernels", ret_name, size);
	else
		format_kernel_name(report, row, ret_name, size);
}

static void put_group_occupancy(const struct report *report, const void *row)
{
	if (row_grouping_names(&by_kernel, row)->count == 1)
		put_occupancy(report, row);
}

/* Whether the table would leave out a fifth of the kernels' time. */
static bool has_many_kernels(const struct report *report)
{
	const struct analysis *analysis = report->analysis;
	uint64_t all_ns = 0, shown_ns = 0;
	size_t shown = 0;

	for (size_t i = 0; i < analysis->kernels_count; i++) {
		const struct analysis_kernel *kernel = &analysis->kernels[i];

		if (!report_shows_device(report, kernel->device))
			continue;
		all_ns += kernel->share_ns;
		if (!report_is_over_top(report, shown++))
			shown_ns += kernel->share_ns;
	}
	return shown_ns < all_ns / 100 * (100 - MAX_LEFT_OUT);
}

int report_by_kernel(const struct report *report, struct json_writer *json)
{
	struct row_groups groups = {.grouping = &by_kernel};
	struct table table = kernels_table;
	int error;

	if (json || !has_many_kernels(report))
		return table_print(report, &kernels_table, &by_kernel_table, kernel_rows(report),
				   json);
	error = add_kernels(report, &groups);
	if (!error) {
		table.one = "row";
		table.many = "rows";
		table.format_name = format_kernel_group;
		table.put_below = put_group_occupancy;
		table_put(report, &table, row_groups_sort(&groups));
	}
	row_groups_fini(&groups);
	return error;
}

/* ---- copies and other commands --------------------------------------------------------------- */

static const char *copy_command(const void *row)
{
	return analysis_command_name(((const struct analysis_copy *)row)->command);
}

static void format_copy_name(const struct report *report, const void *row, char *ret_name,
			     size_t size)
{
	const uint32_t command = ((const struct analysis_copy *)row)->command;

	snprintf(ret_name, size, "%s%s", copy_command(row),
		 command == COMMAND_READ    ? " (device to host)"
		 : command == COMMAND_WRITE ? " (host to device)"
					    : "");
}

static void write_copy_command(const struct report *report, const void *row,
			       struct json_writer *json)
{
	const enum account_class class =
		analysis_class(((const struct analysis_copy *)row)->command);

	json_pair_text(json, class == ACCOUNT_COPY ? "direction" : "command", copy_command(row));
}

static struct table_cell copy_mean_size(const struct report *report, const void *row)
{
	const struct analysis_copy *copy = row;

	return (struct table_cell){.number = (double)copy->bytes / (double)copy->count,
				   .is_blank = !copy->bytes};
}

static struct table_cell copy_rate(const struct report *report, const void *row)
{
	const double rate = report_copy_rate(report, row);

	return (struct table_cell){.number = rate, .is_blank = rate <= 0};
}

static void write_copy_stacks(const struct report *report, const void *row,
			      struct json_writer *json)
{
	const struct analysis_copy *copy = row;

	json_key(json, "stacks");
	report_write_stacks(report, analysis_class(copy->command), copy_command(row),
			    report->device, json);
}

#define COPY(member) TABLE_MEMBER(struct analysis_copy, member)

static const struct table_column copy_columns[] = {
	{NULL, NULL, TABLE_NAME},
	{.write = write_copy_command},
	{"count", "count", TABLE_COUNT, .value = COPY(count)},
	{"timed", NULL, TABLE_COUNT, .value = COPY(timed)},
	{NULL, "total", TABLE_TIME, .value = COPY(total_ns), .needs = COPY(timed),
	 .blank = "not timed"},
	{NULL, "mean", TABLE_TIME, .value = COPY(total_ns), .per = COPY(timed),
	 .needs = COPY(timed)},
	{"bytes", "bytes", TABLE_BYTES, .value = COPY(bytes)},
	{"total_ns", NULL, TABLE_TIME, .value = COPY(total_ns)},
	{"share_ns", NULL, TABLE_TIME, .value = COPY(share_ns)},
	{"mean_bytes", "mean size", TABLE_SIZE, .get = copy_mean_size, .in_json = BLANK_HAS_VALUE},
	{"bytes_per_s", "bytes/s", TABLE_SIZE, .get = copy_rate, .in_json = BLANK_IS_NULL},
	{.write = write_copy_stacks},
	{0},
};

static const struct table copies_table = {
	.title = "COPIES",
	.one = "kind",
	.many = "kinds",
	.width = 34,
	.format_name = format_copy_name,
	.columns = copy_columns,
};

static const struct table others_table = {
	.title = "OTHER COMMANDS",
	.one = "kind",
	.many = "kinds",
	.width = 34,
	.format_name = format_copy_name,
	.columns = copy_columns,
};

/* Prints how much of the time with copies had kernels too; nothing without timed copies. */
static void put_overlap(const struct report *report)
{
	uint64_t both_ns = 0, copies_ns = 0;
	char text[160];

	for (size_t i = 0; i <= report->analysis->devices_count; i++) {
		const struct overlap *overlap = &report->analysis->devices[i].overlap;

		if (!report_shows_device(report, i))
			continue;
		both_ns += overlap->both_ns;
		copies_ns += overlap->both_ns + overlap->copies_ns;
	}
	if (!copies_ns)
		return;
	snprintf(text, sizeof(text), "kernels ran during %s of the %s with copies (%s)",
		 format_duration(both_ns).text, format_duration(copies_ns).text,
		 format_percent(both_ns, copies_ns).text);
	report_put_hint(report, text);
}

void report_write_overlap(const struct overlap *overlap, struct json_writer *json)
{
	json_pair_object(json, "overlap");
	json_pair_u64(json, "kernels_only_ns", overlap->kernels_ns);
	json_pair_u64(json, "copies_only_ns", overlap->copies_ns);
	json_pair_u64(json, "both_ns", overlap->both_ns);
	json_object_end(json);
}

void report_put_copies(const struct report *report, enum account_class class)
{
	struct analysis_copy copies[ANALYSIS_COMMAND_COUNT];
	size_t count = report_list_copies(report, class, copies);

	if (class == ACCOUNT_COPY && table_put(report, &copies_table, TABLE_ROWS(copies, count)))
		put_overlap(report);
	if (class != ACCOUNT_COPY)
		table_put(report, &others_table, TABLE_ROWS(copies, count));
}

void report_write_copies(const struct report *report, enum account_class class,
			 struct json_writer *json)
{
	struct analysis_copy copies[ANALYSIS_COMMAND_COUNT];
	size_t count = report_list_copies(report, class, copies);

	table_write_list(report, class == ACCOUNT_COPY ? "copies" : "other_commands", &copies_table,
			 TABLE_ROWS(copies, count), json);
}

/* ---- API calls ------------------------------------------------------------------------------- */

static struct table_cell call_remark(const struct report *report, const void *row)
{
	return (struct table_cell){.text = ((const struct analysis_call *)row)->is_wait ? "waits"
											: ""};
}

#define CALL(member) TABLE_MEMBER(struct analysis_call, member)

static const struct table_column call_columns[] = {
	{"name", NULL, TABLE_NAME, .value = CALL(name)},
	{"count", "count", TABLE_COUNT, .value = CALL(count)},
	{"failed", NULL, TABLE_COUNT, .value = CALL(failed)},
	{"total_ns", "total", TABLE_TIME, .value = CALL(total_ns)},
	{NULL, "mean", TABLE_TIME, .value = CALL(total_ns), .per = CALL(count)},
	{NULL, "failed", TABLE_COUNT, .value = CALL(failed), .needs = CALL(failed)},
	{"launches", NULL, TABLE_FLAG, .value = CALL(is_launch)},
	{"waits", NULL, TABLE_FLAG, .value = CALL(is_wait)},
	{NULL, "", TABLE_REMARK, .get = call_remark},
	{0},
};

/* Operators and functions contain each other, and calls of a runtime: their totals do not add up.
 */
static const struct table_column inner_columns[] = {
	{"name", NULL, TABLE_NAME, .value = CALL(name)},
	{"count", "count", TABLE_COUNT, .value = CALL(count)},
	{"total_ns", "total", TABLE_TIME, .value = CALL(total_ns)},
	{NULL, "mean", TABLE_TIME, .value = CALL(total_ns), .per = CALL(count)},
	{0},
};

static const struct {
	const char *key;
	struct table table;
} call_tables[ANALYSIS_CALL_CLASSES] = {
	[ANALYSIS_CALL_RUNTIME] = {"api",
				   {.title = "API CALLS",
				    .one = "function",
				    .many = "functions",
				    .width = 40,
				    .columns = call_columns}},
	[ANALYSIS_CALL_OPERATOR] = {"operators",
				    {.title = "OPERATORS",
				     .one = "operator",
				     .many = "operators",
				     .width = 40,
				     .columns = inner_columns}},
	[ANALYSIS_CALL_FUNCTION] = {"functions",
				    {.title = "FUNCTIONS",
				     .one = "function",
				     .many = "functions",
				     .width = 40,
				     .columns = inner_columns}},
};

static struct table_rows rows_of_class(const struct report *report, enum analysis_call_class class)
{
	const struct analysis_program *program = &report->analysis->program;
	size_t first = 0, end;

	while (first < program->calls_count && program->calls[first].class < class)
		first++;
	for (end = first; end < program->calls_count && program->calls[end].class == class; end++)
		;
	/* without calls there is no array to point into */
	return TABLE_ROWS(first < end ? &program->calls[first] : program->calls, end - first);
}

void report_say_full(const struct report *report, struct sentence *sentence)
{
	const struct analysis_full *full = &report->analysis->program.full;
	struct verdict_place place;

	say(sentence, "%" PRIu64 " %s%s waited %s because the command buffer was full; longest %s",
	    full->launches, table_noun(full->launches, "launch", "launches"),
	    full->is_reported ? "" : " probably", format_duration(full->ns).text,
	    format_duration(full->longest_ns).text);
	if (report_place_of(report, full->stack, &place))
		say_in(sentence, "called from", &place);
}

/* A full command buffer makes the host wait, and not the device: its queue is full. */
static void put_full(const struct report *report)
{
	struct sentence text = {0};

	if (!report->analysis->program.full.launches)
		return;
	report_say_full(report, &text);
	printf("  ");
	sentence_put_wrapped(text.text, 2, 4, report_columns(report));
	putchar('\n');
}

/* Overheads of the tool that made the recording. Those without a thread explain no idle time. */
static void put_profiler(const struct report *report)
{
	const struct analysis_profiler *profiler = &report->analysis->program.profiler;
	struct sentence text = {0};

	if (!profiler->count && !profiler->threadless)
		return;
	say(&text, "the recording tool took %s in %" PRIu64 " %s",
	    format_duration(profiler->ns + profiler->threadless_ns).text,
	    profiler->count + profiler->threadless,
	    table_noun(profiler->count + profiler->threadless, "overhead", "overheads"));
	if (profiler->threadless)
		say(&text,
		    "; %" PRIu64 " of them (%s) %s no thread in the recording and %s no idle time",
		    profiler->threadless, format_duration(profiler->threadless_ns).text,
		    table_noun(profiler->threadless, "has", "have"),
		    table_noun(profiler->threadless, "explains", "explain"));
	printf("  ");
	sentence_put_wrapped(text.text, 2, 4, report_columns(report));
	putchar('\n');
}

void report_put_calls(const struct report *report)
{
	table_put(report, &call_tables[ANALYSIS_CALL_RUNTIME].table,
		  rows_of_class(report, ANALYSIS_CALL_RUNTIME));
	put_full(report);
	put_profiler(report);
	for (unsigned int i = ANALYSIS_CALL_OPERATOR; i < ANALYSIS_CALL_CLASSES; i++)
		table_put(report, &call_tables[i].table,
			  rows_of_class(report, (enum analysis_call_class)i));
}

void report_write_full(const struct report *report, struct json_writer *json)
{
	const struct analysis_full *full = &report->analysis->program.full;

	if (!full->launches)
		return;
	json_newline(json);
	json_pair_object(json, "command_buffer_full");
	json_pair_u64(json, "launches", full->launches);
	json_pair_u64(json, "ns", full->ns);
	json_pair_u64(json, "longest_ns", full->longest_ns);
	json_pair_bool(json, "estimated", !full->is_reported);
	json_object_end(json);
}

void report_write_profiler(const struct report *report, struct json_writer *json)
{
	const struct analysis_profiler *profiler = &report->analysis->program.profiler;

	if (!profiler->count && !profiler->threadless)
		return;
	json_newline(json);
	json_pair_object(json, "profiler_overhead");
	json_pair_u64(json, "count", profiler->count);
	json_pair_u64(json, "ns", profiler->ns);
	json_pair_u64(json, "threadless", profiler->threadless);
	json_pair_u64(json, "threadless_ns", profiler->threadless_ns);
	json_object_end(json);
}

static struct table_cell call_class(const struct report *report, const void *row)
{
	return (struct table_cell){
		.text = call_tables[((const struct analysis_call *)row)->class].key};
}

static const struct table by_api_table = {
	.columns =
		(const struct table_column[]){
			{"table", NULL, TABLE_TEXT, .get = call_class},
			{"name", NULL, TABLE_NAME, .value = CALL(name)},
			{"count", NULL, TABLE_COUNT, .value = CALL(count)},
			{"failed", NULL, TABLE_COUNT, .value = CALL(failed)},
			{"total_ns", NULL, TABLE_TIME, .value = CALL(total_ns)},
			{"launches", NULL, TABLE_FLAG, .value = CALL(is_launch)},
			{"waits", NULL, TABLE_FLAG, .value = CALL(is_wait)},
			{0},
		},
};

int report_by_api(const struct report *report, struct json_writer *json)
{
	const struct analysis_program *program = &report->analysis->program;

	if (json)
		table_write(report, &by_api_table, TABLE_ROWS(program->calls, program->calls_count),
			    json);
	else
		report_put_calls(report);
	return 0;
}

void report_write_calls(const struct report *report, struct json_writer *json)
{
	for (unsigned int i = 0; i < ANALYSIS_CALL_CLASSES; i++) {
		const struct table_rows rows = rows_of_class(report, (enum analysis_call_class)i);

		if (i == ANALYSIS_CALL_RUNTIME || rows.count)
			table_write_list(report, call_tables[i].key, &call_tables[i].table, rows,
					 json);
	}
}
