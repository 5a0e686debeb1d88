/* SPDX-License-Identifier: MIT
 *
 * report/queues.c - the tables of queues: use, depth, waiting times; contexts
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    three tables on stdout; the lists "queues" and "contexts", and the rows of --by queue,
 *           as JSON
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why three tables: one row with the 16 values of a queue would be wider than 100 columns
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "base/number.h"
#include "report/table.h"

void report_name_queue(const struct report *report, const struct analysis_queue *queue,
		       char *ret_name, size_t size_of_name)
{
	char label[REPORT_NAME_BYTES];

	if (!queue->queue)
		snprintf(ret_name, size_of_name, "[unknown queue]");
	else
		snprintf(ret_name, size_of_name, "queue %" PRIu32 "%s%.64s%s of %s",
			 queue->queue->id, queue->queue->name_string ? " " : "",
			 model_text(report->analysis->model, queue->queue->name_string, ""),
			 queue->queue->flags & QUEUE_OUT_OF_ORDER ? " (out of order)" : "",
			 report_device_label(report, queue->device, label, sizeof(label)));
}

static void format_queue_name(const struct report *report, const void *row, char *ret_name,
			      size_t size)
{
	report_name_queue(report, row, ret_name, size);
}

static struct table_cell queue_id(const struct report *report, const void *row)
{
	const struct event_queue *queue = ((const struct analysis_queue *)row)->queue;

	return (struct table_cell){.value = queue ? queue->id : 0, .is_blank = !queue};
}

/* ---- use ------------------------------------------------------------------------------------- */

static bool is_timed(const struct analysis_queue *queue)
{
	return !queue->executions || queue->account.commands;
}

static struct table_cell queue_busy(const struct report *report, const void *row)
{
	const struct analysis_queue *queue = row;

	return (struct table_cell){.value = queue->account.busy_ns,
				   .whole = queue->account.wall_ns,
				   .is_blank = !is_timed(queue)};
}

static struct table_cell queue_idle(const struct report *report, const void *row)
{
	const struct analysis_queue *queue = row;

	return (struct table_cell){.value = queue->account.idle_ns, .is_blank = !is_timed(queue)};
}

static void write_flags(const struct report *report, const void *row, struct json_writer *json)
{
	const struct event_queue *queue = ((const struct analysis_queue *)row)->queue;
	const uint32_t flags = queue ? queue->flags : 0;

	json_pair_u64(json, "context", queue ? queue->context : 0);
	json_pair_u64(json, "id", queue ? queue->id : 0);
	json_pair_u64(json, "process", queue ? queue->process : 0);
	json_pair_bool(json, "out_of_order", flags & QUEUE_OUT_OF_ORDER);
	json_pair_bool(json, "timed", flags & QUEUE_TIMED);
	json_pair_bool(json, "timing_forced", flags & QUEUE_TIMING_FORCED);
}

/* ---- waiting times, depth, latency ----------------------------------------------------------- */

/* Casts const away: quantile_get sorts the values inside, which does not change any result. */
static uint64_t get_quantile(const struct quantile *quantile, unsigned int percent)
{
	return quantile_get((struct quantile *)quantile, percent, 100);
}

static struct table_cell zone_cell(const void *row, unsigned int zone, unsigned int percent)
{
	const struct quantile *quantile = &((const struct analysis_queue *)row)->zones[zone];

	return quantile->count ? (struct table_cell){.value = get_quantile(quantile, percent)}
			       : (struct table_cell){.is_blank = true};
}

static struct table_cell latency_cell(const void *row, unsigned int percent)
{
	const struct quantile *quantile = &((const struct analysis_queue *)row)->latency;

	return quantile->count ? (struct table_cell){.value = get_quantile(quantile, percent)}
			       : (struct table_cell){.is_blank = true};
}

/* Defines the getter `name` of one quantile. */
#define ZONE_GETTER(name, zone, percent)                                            \
	static struct table_cell name(const struct report *report, const void *row) \
	{                                                                           \
		return zone_cell(row, zone, percent);                               \
	}
#define LATENCY_GETTER(name, percent)                                               \
	static struct table_cell name(const struct report *report, const void *row) \
	{                                                                           \
		return latency_cell(row, percent);                                  \
	}

ZONE_GETTER(submit_p50, ZONE_QUEUED_SUBMITTED, 50)
ZONE_GETTER(submit_p99, ZONE_QUEUED_SUBMITTED, 99)
ZONE_GETTER(start_p50, ZONE_SUBMITTED_STARTED, 50)
ZONE_GETTER(start_p99, ZONE_SUBMITTED_STARTED, 99)
ZONE_GETTER(end_p50, ZONE_STARTED_ENDED, 50)
ZONE_GETTER(end_p99, ZONE_STARTED_ENDED, 99)
LATENCY_GETTER(latency_p50, 50)
LATENCY_GETTER(latency_p99, 99)
LATENCY_GETTER(latency_max, 100)

static struct table_cell mean_depth(const struct report *report, const void *row)
{
	return (struct table_cell){
		.number = depth_mean(&((const struct analysis_queue *)row)->depth)};
}

static void write_quantile(const char *key, const struct quantile *quantile, bool has_max,
			   struct json_writer *json)
{
	json_pair_object(json, key);
	json_pair_u64(json, "count", quantile->count);
	json_pair_u64(json, "sum", quantile->sum);
	json_pair_u64(json, "p50", get_quantile(quantile, 50));
	json_pair_u64(json, "p99", get_quantile(quantile, 99));
	if (has_max)
		json_pair_u64(json, "max", quantile->max);
	json_object_end(json);
}

static void write_zones(const struct report *report, const void *row, struct json_writer *json)
{
	const struct analysis_queue *queue = row;

	json_pair_object(json, "zones");
	for (unsigned int i = 0; i < ZONE_COUNT; i++)
		write_quantile(analysis_zone_name(i), &queue->zones[i], false, json);
	json_object_end(json);
}

/* Null if the ends of its commands are not known. */
static void write_depth(const struct report *report, const void *row, struct json_writer *json)
{
	const struct analysis_queue *queue = row;

	json_key(json, "depth");
	if (!queue->has_depth) {
		json_null(json);
		return;
	}
	json_object_begin(json);
	json_pair_double(json, "mean", depth_mean(&queue->depth));
	json_pair_u64(json, "max", queue->depth.max);
	json_pair_u64(json, "empty_ns", queue->depth.empty_ns);
	json_object_end(json);
}

static void write_latencies(const struct report *report, const void *row, struct json_writer *json)
{
	const struct analysis_queue *queue = row;

	write_quantile("latency", &queue->latency, true, json);
	write_quantile("idle_latency", &queue->prompt, true, json);
}

/* ---- the tables ------------------------------------------------------------------------------ */

#define QUEUE(member) TABLE_MEMBER(struct analysis_queue, member)

static const struct table queues_table = {
	.title = "QUEUES",
	.one = "queue",
	.many = "queues",
	.width = 50,
	.device = QUEUE(device),
	.needs = QUEUE(is_chosen),
	.format_name = format_queue_name,
	.columns =
		(const struct table_column[]){
			{NULL, NULL, TABLE_NAME},
			{"device", NULL, TABLE_TEXT, .device = QUEUE(device)},
			{.write = write_flags},
			{"launches", NULL, TABLE_COUNT, .value = QUEUE(launches)},
			{"executions", "executions", TABLE_COUNT, .value = QUEUE(executions)},
			{"wall_ns", NULL, TABLE_TIME, .value = QUEUE(account.wall_ns)},
			{"busy_ns", "busy", TABLE_TIME, .get = queue_busy,
			 .in_json = BLANK_HAS_VALUE, .blank = "not timed"},
			{NULL, "of wall", TABLE_PERCENT, .get = queue_busy, .blank = ""},
			{"idle_ns", "idle", TABLE_TIME, .get = queue_idle,
			 .in_json = BLANK_HAS_VALUE, .blank = ""},
			{.write = write_zones},
			{.write = write_depth},
			{.write = write_latencies},
			{0},
		},
};

static const struct table by_queue_table = {
	.device = QUEUE(device),
	.needs = QUEUE(is_chosen),
	.format_name = format_queue_name,
	.columns =
		(const struct table_column[]){
			{"key", NULL, TABLE_NAME},
			{"id", NULL, TABLE_COUNT, .get = queue_id},
			{"device", NULL, TABLE_TEXT, .device = QUEUE(device)},
			{"count", NULL, TABLE_COUNT, .value = QUEUE(executions)},
			{"timed", NULL, TABLE_COUNT, .value = QUEUE(account.commands)},
			{"total_ns", NULL, TABLE_TIME,
			 .value = QUEUE(zones[ZONE_STARTED_ENDED].sum)},
			{"share_ns", NULL, TABLE_TIME, .value = QUEUE(account.busy_ns)},
			{"wall_ns", NULL, TABLE_TIME, .value = QUEUE(account.wall_ns)},
			{"idle_ns", NULL, TABLE_TIME, .value = QUEUE(account.idle_ns)},
			{0},
		},
};

static const struct table depths_table = {
	.title = "QUEUE DEPTH, LAUNCH LATENCY",
	.one = "queue",
	.many = "queues",
	.width = 34,
	.device = QUEUE(device),
	.needs = QUEUE(has_depth),
	.format_name = format_queue_name,
	.columns =
		(const struct table_column[]){
			{NULL, NULL, TABLE_NAME},
			{NULL, "mean", TABLE_DECIMAL, .get = mean_depth},
			{NULL, "max", TABLE_COUNT, .value = QUEUE(depth.max)},
			{NULL, "empty", TABLE_PERCENT, .value = QUEUE(depth.empty_ns),
			 .whole = QUEUE(account.wall_ns)},
			{NULL, "to start", TABLE_TIME, .get = latency_p50},
			{NULL, "p99", TABLE_TIME, .get = latency_p99},
			{NULL, "max", TABLE_TIME, .get = latency_max},
			{0},
		},
};

static const struct table zones_table = {
	.title = "WAITING TIMES (p50 and p99)",
	.one = "queue",
	.many = "queues",
	.width = 34,
	.device = QUEUE(device),
	.needs = QUEUE(executions),
	.format_name = format_queue_name,
	.columns =
		(const struct table_column[]){
			{NULL, NULL, TABLE_NAME},
			{NULL, "to submit", TABLE_TIME, .get = submit_p50},
			{NULL, "p99", TABLE_TIME, .get = submit_p99},
			{NULL, "to start", TABLE_TIME, .get = start_p50},
			{NULL, "p99", TABLE_TIME, .get = start_p99},
			{NULL, "to end", TABLE_TIME, .get = end_p50},
			{NULL, "p99", TABLE_TIME, .get = end_p99},
			{0},
		},
};

static struct table_cell context_id(const struct report *report, const void *row)
{
	return (struct table_cell){.value = ((const struct analysis_context *)row)->context->id};
}

static struct table_cell context_process(const struct report *report, const void *row)
{
	return (struct table_cell){
		.value = ((const struct analysis_context *)row)->context->process};
}

#define CONTEXT(member) TABLE_MEMBER(struct analysis_context, member)

static const struct table contexts_table = {
	.needs = CONTEXT(is_chosen),
	.columns =
		(const struct table_column[]){
			{"id", NULL, TABLE_COUNT, .get = context_id},
			{"process", NULL, TABLE_COUNT, .get = context_process},
			{"wall_ns", NULL, TABLE_TIME, .value = CONTEXT(account.wall_ns)},
			{"busy_ns", NULL, TABLE_TIME, .value = CONTEXT(account.busy_ns)},
			{"idle_ns", NULL, TABLE_TIME, .value = CONTEXT(account.idle_ns)},
			{0},
		},
};

static struct table_rows queue_rows(const struct report *report)
{
	return TABLE_ROWS(report->analysis->queues, analysis_queues_shown(report->analysis));
}

/* ---- the order and the groups of the text ---------------------------------------------------- */

static int compare_weight(const void *left, const void *right)
{
	const struct analysis_queue *a = left, *b = right;

	if (a->account.busy_ns != b->account.busy_ns)
		return a->account.busy_ns < b->account.busy_ns ? 1 : -1;
	if (a->launches != b->launches)
		return a->launches < b->launches ? 1 : -1;
	if (a->queue && b->queue)
		return (a->queue->id > b->queue->id) - (a->queue->id < b->queue->id);
	return (a->queue == NULL) - (b->queue == NULL);
}

/* The numbers of a queue are added to these. */
static struct analysis_queue first_sum(const struct analysis_queue *queue)
{
	struct analysis_queue sum = {.queue = queue->queue,
				     .is_chosen = true,
				     .device = queue->device,
				     .context = queue->context,
				     .has_depth = true,
				     .latency = {.min = UINT64_MAX},
				     .depth = {.from = queue->depth.from, .to = queue->depth.to}};

	for (unsigned int i = 0; i < ZONE_COUNT; i++)
		sum.zones[i] = (struct quantile){.min = UINT64_MAX};
	return sum;
}

/* depth: the sum of the means, and the maximum. */
static int add_queue(void *group, const void *row, bool is_first)
{
	const struct analysis_queue *queue = row;
	struct analysis_queue *sum = group;
	int error;

	if (is_first)
		*sum = first_sum(queue);
	error = quantile_merge(&sum->latency, &queue->latency);
	for (unsigned int i = 0; i < ZONE_COUNT && !error; i++)
		error = quantile_merge(&sum->zones[i], &queue->zones[i]);
	sum->launches += queue->launches;
	sum->executions += queue->executions;
	sum->account.commands += queue->account.commands;
	sum->account.busy_ns += queue->account.busy_ns;
	sum->account.idle_ns += queue->account.idle_ns;
	sum->account.wall_ns += queue->account.wall_ns;
	sum->has_depth &= queue->has_depth;
	sum->depth.max = larger(sum->depth.max, queue->depth.max);
	sum->depth.empty_ns += queue->depth.empty_ns;
	sum->depth.sum += queue->depth.sum;
	return error;
}

static void fini_sum(void *sum)
{
	struct analysis_queue *queue = sum;

	for (unsigned int i = 0; i < ZONE_COUNT; i++)
		quantile_fini(&queue->zones[i]);
	quantile_fini(&queue->latency);
}

static const struct row_grouping by_kind = {.size = sizeof(struct analysis_queue),
					    .add = add_queue,
					    .compare = compare_weight,
					    .fini = fini_sum};

static const struct name_group *names_of(const void *sum)
{
	return row_grouping_names(&by_kind, sum);
}

/* Queues of one kind have one device, one name and one order of execution. */
static int add_to_kind(struct row_groups *groups, const struct analysis_queue *queue, bool is_alone)
{
	char kind[64];

	if (!queue->queue || is_alone)
		return row_groups_add(groups, NULL, "", queue);
	snprintf(kind, sizeof(kind), "%zu %" PRIu32 " %d", queue->device, queue->queue->name_string,
		 (queue->queue->flags & QUEUE_OUT_OF_ORDER) != 0);
	return row_groups_add(groups, kind, "", queue);
}

/* Waiting times are those of executions; --by shows launches that never executed too. */
static bool is_used(const struct analysis_queue *queue, bool is_by)
{
	return queue->is_chosen && (queue->executions || (is_by && queue->launches));
}

/* Queues of one kind are one group if there are more queues than rows. is_by: a queue with much of
 * the busy time stays alone. */
static int add_queues(const struct report *report, bool is_by, struct row_groups *groups)
{
	const struct analysis *analysis = report->analysis;
	const size_t count = analysis_queues_shown(analysis);
	uint64_t busy_ns = 0;
	size_t used = 0;
	bool is_grouped;
	int error = 0;

	for (size_t i = 0; i < count; i++) {
		const struct analysis_queue *queue = &analysis->queues[i];

		used += is_used(queue, is_by) && report_shows_device(report, queue->device);
		busy_ns += queue->account.busy_ns;
	}
	is_grouped = report->top && used > report->top;
	for (size_t i = 0; i < count && !error; i++) {
		const struct analysis_queue *queue = &analysis->queues[i];
		const bool is_heavy = is_by && row_groups_is_heavy(queue->account.busy_ns, busy_ns);

		if (is_used(queue, is_by))
			error = add_to_kind(groups, queue, !is_grouped || is_heavy);
	}
	for (size_t i = 0; i < groups->count; i++) {
		struct analysis_queue *sum = row_groups_sum(groups, i);

		sum->depth.sum /= names_of(sum)->count;
	}
	return error;
}

static void format_group_name(const struct report *report, const void *row, char *ret_name,
			      size_t size)
{
	const struct analysis_queue *sum = row;
	char label[REPORT_NAME_BYTES];

	if (names_of(sum)->count == 1)
		report_name_queue(report, sum, ret_name, size);
	else
		snprintf(ret_name, size, "%zu queues%s%.64s%s of %s", names_of(sum)->count,
			 sum->queue->name_string ? " " : "",
			 model_text(report->model, sum->queue->name_string, ""),
			 sum->queue->flags & QUEUE_OUT_OF_ORDER ? " (out of order)" : "",
			 report_device_label(report, sum->device, label, sizeof(label)));
}

int report_put_waiting_times(const struct report *report)
{
	struct table zones = zones_table, depths = depths_table;
	struct row_groups groups = {.grouping = &by_kind};
	int error = add_queues(report, false, &groups);

	zones.format_name = depths.format_name = format_group_name;
	if (!error) {
		table_put(report, &zones, row_groups_sort(&groups));
		table_put(report, &depths, row_groups_sort(&groups));
	}
	row_groups_fini(&groups);
	return error;
}

void report_write_queues(const struct report *report, struct json_writer *json)
{
	const struct analysis *analysis = report->analysis;

	table_write_list(report, "queues", &queues_table, queue_rows(report), json);
	table_write_list(report, "contexts", &contexts_table,
			 TABLE_ROWS(analysis->contexts, analysis->contexts_count), json);
}

int report_by_queue(const struct report *report, struct json_writer *json)
{
	struct table queues = queues_table;
	struct row_groups groups = {.grouping = &by_kind};
	int error;

	if (json)
		return table_print(report, &queues_table, &by_queue_table, queue_rows(report),
				   json);
	error = add_queues(report, true, &groups);
	queues.format_name = format_group_name;
	if (!error)
		table_put(report, &queues, row_groups_sort(&groups));
	row_groups_fini(&groups);
	return error;
}
