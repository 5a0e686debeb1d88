/* SPDX-License-Identifier: MIT
 *
 * live/snapshot.c - copy the numbers of an analysis
 *
 * Runs in:  our own process, in the viewer of a running recording
 * Gets:     an analysis of a short interval
 * Gives:    devices, processes, queues, copies, metrics and the ledger of that interval
 * Owns:     the snapshot
 * Fails:    -ENOMEM
 * Why a copy: an analysis borrows its texts from the trace. One second of a recording is read in
 *           bytes that are freed before the next second is read, while a screen shows the first
 */
#include "live/snapshot.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "analyze/text/cgroup.h"
#include "analyze/text/metrics.h"
#include "analyze/text/units.h"
#include "base/array.h"
#include "base/number.h"
#include "base/string.h"
#include "live/in_flight.h"
#include "live/present.h"
#include "live/snapshot_private.h"

/* ---- devices --------------------------------------------------------------------------------- */

static void fill_cause(struct live_device *device)
{
	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++)
		if (device->causes[cause] > device->cause_ns) {
			device->cause = (enum account_cause)cause;
			device->cause_ns = device->causes[cause];
		}
}

/* The time after the last command is not known to be idle: the device may run the one in flight. */
static void forget_idle(const struct analysis *analysis, const struct account *account,
			struct live_device *device)
{
	const uint64_t last_ns = account->commands ? account->last_end : 0;
	const uint64_t from_ns = larger(last_ns, analysis->from_ns);
	const uint64_t after_ns = smaller(analysis->to_ns - smaller(from_ns, analysis->to_ns),
					  device->causes[CAUSE_NOTHING_TO_DO]);

	device->causes[CAUSE_NOTHING_TO_DO] -= after_ns;
	device->causes[CAUSE_UNKNOWN] += after_ns;
}

static void add_in_flight(const struct live_in_flight *flight, const struct analysis *analysis,
			  size_t index, struct live_device *device)
{
	const uint32_t id = analysis->devices[index].device->id;
	const uint64_t end_ns = analysis->to_ns;
	const uint64_t in_rows = device->in_flight;
	uint64_t enter = end_ns;

	for (size_t i = 0; i < flight->before.count; i++)
		device->in_flight += flight->before.all[i].device == id;
	for (size_t i = 0; i < flight->known.count; i++)
		if (flight->known.all[i].device == id)
			enter = smaller(enter, flight->known.all[i].enter);
	device->in_flight_ns = end_ns - enter;
	if (device->in_flight > in_rows)
		forget_idle(analysis, &analysis->devices[index].account, device);
}

/* The time after the last command by the present state of the thread that launched it. */
static void add_open_gap(const struct snapshot_maker *maker, size_t index,
			 struct live_device *device)
{
	const struct analysis *analysis = maker->analysis;
	const struct account *account = &analysis->devices[index].account;
	struct live_open_gap *gap = &maker->gaps[index];
	uint64_t left;

	live_present_find_gap(maker->options->present, analysis->devices[index].device->id,
			      account->commands ? account->last_end : 0, gap);
	left = smaller(gap->ns, device->causes[CAUSE_NOTHING_TO_DO]);
	if (!left)
		gap->ns = 0;
	device->open_ns = left;
	device->no_command_ns = gap->ns ? gap->so_far_ns : 0;
	device->causes[CAUSE_NOTHING_TO_DO] -= left;
	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++) {
		const uint64_t part = smaller(gap->causes[cause], left);

		device->causes[cause] += part;
		left -= part;
	}
	device->causes[CAUSE_UNKNOWN] += left;
}

static void fill_device(const struct snapshot_maker *maker, size_t index,
			struct live_device *device)
{
	const struct analysis *analysis = maker->analysis;
	const struct analysis_device *from = &analysis->devices[index];
	char label[LIVE_NAME];

	analysis_device_label(analysis, index, label, sizeof(label));
	snapshot_copy_text(label, device->name, sizeof(device->name));
	snapshot_copy_text(from->key, device->key, sizeof(device->key));
	snapshot_copy_text(from->vendor, device->vendor, sizeof(device->vendor));
	device->busy_ns = from->account.busy_ns;
	device->kernel_ns = from->account.classes[ACCOUNT_KERNEL];
	device->copy_ns = from->account.classes[ACCOUNT_COPY];
	device->idle_ns = from->account.idle_ns;
	memcpy(device->causes, from->account.causes, sizeof(device->causes));
	device->launches = from->launches;
	device->executions = from->executions;
	device->is_measured = from->is_measured;
	for (size_t i = 0; i <= analysis->queues_count; i++)
		if (analysis->queues[i].device == index)
			device->in_flight += analysis->queues[i].depth.at_end;
	if (maker->options->in_flight && from->device)
		add_in_flight(maker->options->in_flight, analysis, index, device);
	if (maker->gaps && from->device && !device->in_flight && device->is_measured)
		add_open_gap(maker, index, device);
	fill_cause(device);
}

static int add_devices(struct snapshot_maker *maker)
{
	const struct analysis *analysis = maker->analysis;
	struct live_snapshot *snapshot = maker->snapshot;
	const size_t count = analysis_devices_shown(analysis);

	snapshot->devices = calloc(count + 1, sizeof(*snapshot->devices));
	if (!snapshot->devices)
		return -ENOMEM;
	snapshot->devices_count = count;
	if (maker->options->present) {
		maker->gaps = calloc(count + 1, sizeof(*maker->gaps));
		if (!maker->gaps)
			return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		const struct event_device *row = analysis->devices[i].device;

		fill_device(maker, i, &snapshot->devices[i]);
		if (row && hash_map_put(&maker->devices, row->id, i))
			return -ENOMEM;
	}
	return 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void fill_process(const struct model *model, const struct analysis_process *from,
			 struct live_process *process)
{
	const struct event_process *row = from->process;

	process->pid = (int32_t)row->pid;
	process->rank = row->rank;
	process->start_ns = model_process_started_ns(model, row);
	snapshot_copy_text(from->name, process->name, sizeof(process->name));
	snapshot_copy_text(model_text(model, row->command_string, ""), process->command,
			   sizeof(process->command));
	snapshot_copy_text(cgroup_path_of(model_text(model, row->cgroup_string, "")),
			   process->cgroup, sizeof(process->cgroup));
	process->busy_ns = from->share_ns;
	process->launches = from->launches;
	process->executions = from->executions;
	process->calls = from->calls;
	process->calls_ns = from->calls_ns;
	process->has_times = from->has_times;
	process->on_cpu_ns = from->on_cpu_ns;
	process->blocked_ns = from->blocked_ns;
}

/* As the report's table of processes with --by process. */
static bool is_shown(const struct analysis_process *process)
{
	return process->process && process->is_chosen &&
	       (process->has_calls || process->samples || process->has_times);
}

static int add_processes(struct snapshot_maker *maker)
{
	const struct analysis *analysis = maker->analysis;
	struct live_snapshot *snapshot = maker->snapshot;

	snapshot->processes = calloc(analysis->processes_count + 1, sizeof(*snapshot->processes));
	if (!snapshot->processes)
		return -ENOMEM;
	for (size_t i = 0; i < analysis->processes_count; i++) {
		const struct analysis_process *process = &analysis->processes[i];

		if (!is_shown(process))
			continue;
		fill_process(analysis->model, process,
			     &snapshot->processes[snapshot->processes_count]);
		if (hash_map_put(&maker->processes, process->process->id,
				 snapshot->processes_count++))
			return -ENOMEM;
	}
	return 0;
}

/* ---- queues and copies ----------------------------------------------------------------------- */

static void fill_queue(const struct snapshot_maker *maker, const struct analysis_queue *from,
		       struct live_queue *queue)
{
	const struct analysis *analysis = maker->analysis;
	const struct event_context *context = from->context < analysis->contexts_count
						      ? analysis->contexts[from->context].context
						      : NULL;

	queue->id = from->queue ? from->queue->id : 0;
	queue->device = maker_device(maker, from->device);
	queue->process = context ? maker_process(maker, context->process) : LIVE_NO_INDEX;
	queue->launches = from->launches;
	queue->executions = from->executions;
	queue->mean_depth = depth_mean(&from->depth);
	queue->max_depth = from->depth.max;
}

static int add_queues(struct snapshot_maker *maker)
{
	const struct analysis *analysis = maker->analysis;
	struct live_snapshot *snapshot = maker->snapshot;
	const size_t count = analysis_queues_shown(analysis);

	snapshot->queues = calloc(count + 1, sizeof(*snapshot->queues));
	if (!snapshot->queues)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct analysis_queue *queue = &analysis->queues[i];

		if (queue->is_chosen && (queue->launches || queue->executions || queue->depth.max))
			fill_queue(maker, queue, &snapshot->queues[snapshot->queues_count++]);
	}
	return 0;
}

static int add_copies(struct snapshot_maker *maker)
{
	const struct analysis *analysis = maker->analysis;
	struct live_snapshot *snapshot = maker->snapshot;

	snapshot->copies = calloc(analysis->copies_count + 1, sizeof(*snapshot->copies));
	if (!snapshot->copies)
		return -ENOMEM;
	for (size_t i = 0; i < analysis->copies_count; i++) {
		const struct analysis_copy *from = &analysis->copies[i];
		struct live_copy *copy = &snapshot->copies[i];

		snapshot_copy_text(analysis_command_name(from->command), copy->name,
				   sizeof(copy->name));
		copy->device = maker_device(maker, from->device);
		copy->count = from->count;
		copy->bytes = from->bytes;
		copy->total_ns = from->total_ns;
	}
	snapshot->copies_count = analysis->copies_count;
	return 0;
}

/* ---- metrics --------------------------------------------------------------------------------- */

static void fill_metric(const struct snapshot_maker *maker, const struct metric_summary *from,
			struct live_metric *metric)
{
	const struct model *model = maker->analysis->model;
	const struct event_series *series = from->series;
	const struct unit_shown unit = unit_shown_of(model, series);

	snapshot_copy_text(model_text(model, series->metric_string, ""), metric->name,
			   sizeof(metric->name));
	snapshot_copy_text(model_text(model, series->instance_string, ""), metric->instance,
			   sizeof(metric->instance));
	snapshot_copy_text(unit.text, metric->unit, sizeof(metric->unit));
	metric->device = (uint32_t)hash_map_get(&maker->devices, series->device, LIVE_NO_INDEX);
	metric->process = maker_process(maker, series->process);
	metric->cpu = series->cpu;
	metric->mean = from->mean * unit.factor;
	metric->max = from->max * unit.factor;
	metric->limit = series->limit ? (double)series->limit * unit.factor : NAN;
}

static int add_metrics(struct snapshot_maker *maker)
{
	const struct analysis *analysis = maker->analysis;
	struct live_snapshot *snapshot = maker->snapshot;
	struct metrics metrics;
	int error;

	if (!model_has(analysis->model, EVENT_COUNTER))
		return 0;
	error = metrics_new(analysis->model, analysis->from_ns, analysis->to_ns, &metrics);
	if (error)
		return error;
	snapshot->metrics = calloc(metrics.count + 1, sizeof(*snapshot->metrics));
	if (snapshot->metrics) {
		snapshot->metrics_count = metrics.count;
		for (size_t i = 0; i < metrics.count; i++)
			fill_metric(maker, &metrics.all[i], &snapshot->metrics[i]);
	}
	metrics_fini(&metrics);
	return snapshot->metrics ? 0 : -ENOMEM;
}

/* ---- the snapshot ---------------------------------------------------------------------------- */

static void fill_ledger(const struct analysis *analysis, struct live_ledger *ledger)
{
	ledger->launched = analysis->ledger.launched;
	ledger->matched = analysis->ledger.matched;
	ledger->in_flight = analysis->ledger.in_flight_at_exit;
	ledger->dropped = analysis->ledger.dropped;
	ledger->rejected = analysis->ledger.rejected;
	for (size_t i = 0; i < analysis->losses_count; i++)
		ledger->lost_rows += analysis->losses[i].count;
}

static int fill_snapshot(struct snapshot_maker *maker)
{
	const struct analysis *analysis = maker->analysis;
	struct live_snapshot *snapshot = maker->snapshot;
	int error;

	snapshot->begin_ns = analysis->from_ns;
	snapshot->end_ns = analysis->to_ns;
	snapshot->start_ns = analysis->begin_ns - analysis->dropped_before_ns;
	model_wall_clock(analysis->model, analysis->to_ns, &snapshot->real_ns);
	fill_ledger(analysis, &snapshot->ledger);
	error = add_devices(maker);
	if (!error)
		error = add_processes(maker);
	if (!error)
		error = add_queues(maker);
	if (!error)
		error = add_copies(maker);
	if (!error)
		error = add_metrics(maker);
	if (!error)
		error = snapshot_add_kernels(maker);
	if (!error && maker->options->has_stacks)
		error = snapshot_add_stacks(maker);
	if (!error && maker->options->places)
		error = live_places_find(maker->options->places, maker);
	return error;
}

int live_snapshot_new(const struct analysis *analysis, const struct live_snapshot_options *options,
		      struct live_snapshot **ret_snapshot)
{
	struct snapshot_maker maker = {.analysis = analysis,
				       .options = options,
				       .snapshot = calloc(1, sizeof(*maker.snapshot))};
	int error;

	if (!maker.snapshot)
		return -ENOMEM;
	error = fill_snapshot(&maker);
	hash_map_fini(&maker.processes);
	hash_map_fini(&maker.devices);
	frames_free(maker.frames);
	free(maker.gaps);
	if (error)
		live_snapshot_free(maker.snapshot);
	else
		*ret_snapshot = maker.snapshot;
	return error;
}

void live_snapshot_free(struct live_snapshot *snapshot)
{
	if (!snapshot)
		return;
	for (size_t i = 0; i < snapshot->kernels_count; i++)
		free(snapshot->kernels[i].name);
	for (size_t i = 0; i < snapshot->stacks_count; i++) {
		free(snapshot->stacks[i].text);
		free(snapshot->stacks[i].kernel);
	}
	free(snapshot->devices);
	free(snapshot->processes);
	free(snapshot->kernels);
	free(snapshot->copies);
	free(snapshot->queues);
	free(snapshot->metrics);
	free(snapshot->stacks);
	free(snapshot);
}
