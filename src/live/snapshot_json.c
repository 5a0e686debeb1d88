/* SPDX-License-Identifier: MIT
 *
 * live/snapshot_json.c - write a snapshot as JSON
 *
 * Runs in:  our own process
 * Gets:     a snapshot
 * Gives:    members of a JSON object
 * Owns:     nothing
 * Fails:    the writer keeps its error
 * Why nanoseconds and not shares: a script that adds up seconds must get the sums of the report
 */
#include "live/snapshot_json.h"

#include <math.h>

#include "base/json.h"
#include "live/snapshot.h"

/* ---- references between lists ---------------------------------------------------------------- */

static void write_device_of(const struct live_snapshot *snapshot, uint32_t index,
			    struct json_writer *json)
{
	if (index < snapshot->devices_count)
		json_pair_text(json, "device", snapshot->devices[index].key);
}

static void write_process_of(const struct live_snapshot *snapshot, uint32_t index,
			     struct json_writer *json)
{
	if (index < snapshot->processes_count)
		json_pair_i64(json, "pid", snapshot->processes[index].pid);
}

/* ---- the lists ------------------------------------------------------------------------------- */

static void write_cause(const struct live_device *device, struct json_writer *json)
{
	if (device->open_ns) {
		json_pair_u64(json, "provisional_ns", device->open_ns);
		json_pair_u64(json, "no_command_ns", device->no_command_ns);
	}
	json_pair_object(json, "idle_causes");
	for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++)
		json_pair_u64(json, account_cause_name((enum account_cause)cause),
			      device->causes[cause]);
	json_object_end(json);
	if (!device->cause_ns)
		return;
	json_pair_object(json, "largest_cause");
	json_pair_text(json, "cause", account_cause_name(device->cause));
	json_pair_text(json, "text", account_cause_text(device->cause));
	json_pair_u64(json, "ns", device->cause_ns);
	if (*device->place)
		json_pair_text(json, "place", device->place);
	if (device->is_so_far)
		json_pair_bool(json, "so_far", true);
	if (*device->wait)
		json_pair_text(json, "wait", device->wait);
	json_object_end(json);
}

static void write_device(const struct live_device *device, struct json_writer *json)
{
	json_object_begin(json);
	json_pair_text(json, "name", device->name);
	json_pair_text(json, "key", device->key);
	json_pair_text(json, "vendor", device->vendor);
	json_pair_bool(json, "measured", device->is_measured);
	if (device->is_measured) {
		json_pair_u64(json, "busy_ns", device->busy_ns);
		json_pair_u64(json, "kernel_ns", device->kernel_ns);
		json_pair_u64(json, "copy_ns", device->copy_ns);
		json_pair_u64(json, "idle_ns", device->idle_ns);
		write_cause(device, json);
	}
	json_pair_u64(json, "launches", device->launches);
	json_pair_u64(json, "executions", device->executions);
	json_pair_u64(json, "in_flight", device->in_flight);
	if (device->in_flight_ns)
		json_pair_u64(json, "in_flight_ns", device->in_flight_ns);
	json_object_end(json);
}

static void write_process(const struct live_process *process, struct json_writer *json)
{
	json_object_begin(json);
	json_pair_i64(json, "pid", process->pid);
	json_pair_text(json, "name", process->name);
	if (*process->command)
		json_pair_text(json, "command", process->command);
	if (process->rank)
		json_pair_u64(json, "rank", process->rank - 1);
	if (*process->cgroup)
		json_pair_text(json, "cgroup", process->cgroup);
	json_pair_u64(json, "device_ns", process->busy_ns);
	json_pair_u64(json, "launches", process->launches);
	json_pair_u64(json, "executions", process->executions);
	json_pair_u64(json, "calls", process->calls);
	json_pair_u64(json, "calls_ns", process->calls_ns);
	if (process->has_times) {
		json_pair_u64(json, "on_cpu_ns", process->on_cpu_ns);
		json_pair_u64(json, "blocked_ns", process->blocked_ns);
	}
	json_object_end(json);
}

static void write_kernel(const struct live_snapshot *snapshot, const struct live_kernel *kernel,
			 struct json_writer *json)
{
	json_object_begin(json);
	json_pair_text(json, "name", kernel->name);
	write_device_of(snapshot, kernel->device, json);
	json_pair_u64(json, "count", kernel->count);
	json_pair_u64(json, "share_ns", kernel->share_ns);
	json_pair_u64(json, "total_ns", kernel->total_ns);
	if (kernel->max_ns)
		json_pair_u64(json, "max_ns", kernel->max_ns);
	json_object_end(json);
}

static void write_copy(const struct live_snapshot *snapshot, const struct live_copy *copy,
		       struct json_writer *json)
{
	json_object_begin(json);
	json_pair_text(json, "direction", copy->name);
	write_device_of(snapshot, copy->device, json);
	json_pair_u64(json, "count", copy->count);
	json_pair_u64(json, "bytes", copy->bytes);
	json_pair_u64(json, "total_ns", copy->total_ns);
	json_object_end(json);
}

static void write_queue(const struct live_snapshot *snapshot, const struct live_queue *queue,
			struct json_writer *json)
{
	json_object_begin(json);
	json_pair_u64(json, "id", queue->id);
	write_device_of(snapshot, queue->device, json);
	write_process_of(snapshot, queue->process, json);
	json_pair_u64(json, "launches", queue->launches);
	json_pair_u64(json, "executions", queue->executions);
	json_pair_double(json, "mean_depth", queue->mean_depth);
	json_pair_u64(json, "max_depth", queue->max_depth);
	json_object_end(json);
}

static void write_metric(const struct live_snapshot *snapshot, const struct live_metric *metric,
			 struct json_writer *json)
{
	json_object_begin(json);
	json_pair_text(json, "name", metric->name);
	if (*metric->instance)
		json_pair_text(json, "instance", metric->instance);
	json_pair_text(json, "unit", metric->unit);
	write_device_of(snapshot, metric->device, json);
	write_process_of(snapshot, metric->process, json);
	if (metric->cpu)
		json_pair_u64(json, "cpu", metric->cpu - 1);
	json_pair_double(json, "mean", metric->mean);
	json_pair_double(json, "max", metric->max);
	if (!isnan(metric->limit))
		json_pair_double(json, "limit", metric->limit);
	json_object_end(json);
}

static void write_stack(const struct live_snapshot *snapshot, const struct live_stack *stack,
			struct json_writer *json)
{
	json_object_begin(json);
	json_pair_text(json, "stack", stack->text);
	json_pair_text(json, "kernel", stack->kernel);
	if (*stack->place)
		json_pair_text(json, "place", stack->place);
	write_device_of(snapshot, stack->device, json);
	write_process_of(snapshot, stack->process, json);
	json_pair_u64(json, "count", stack->count);
	json_pair_u64(json, "busy_ns", stack->busy_ns);
	json_pair_u64(json, "idle_ns", stack->idle_ns);
	json_object_end(json);
}

static void write_ledger(const struct live_ledger *ledger, struct json_writer *json)
{
	json_pair_object(json, "ledger");
	json_pair_u64(json, "launched", ledger->launched);
	json_pair_u64(json, "matched", ledger->matched);
	json_pair_u64(json, "in_flight", ledger->in_flight);
	json_pair_u64(json, "dropped", ledger->dropped);
	json_pair_u64(json, "rejected", ledger->rejected);
	json_pair_u64(json, "lost_rows", ledger->lost_rows);
	json_object_end(json);
}

/* A list whose rows name devices and processes. */
#define WRITE_LIST(key, list, write)                                \
	do {                                                        \
		json_pair_array(json, key);                         \
		for (size_t i = 0; i < snapshot->list##_count; i++) \
			write(snapshot, &snapshot->list[i], json);  \
		json_array_end(json);                               \
	} while (0)

void live_snapshot_write(const struct live_snapshot *snapshot, struct json_writer *json)
{
	json_pair_u64(json, "from_ns", snapshot->begin_ns - snapshot->start_ns);
	json_pair_u64(json, "to_ns", snapshot->end_ns - snapshot->start_ns);
	if (snapshot->real_ns)
		json_pair_u64(json, "to_unix_ns", snapshot->real_ns);
	json_pair_u64(json, "wall_ns", snapshot->end_ns - snapshot->begin_ns);
	json_pair_array(json, "devices");
	for (size_t i = 0; i < snapshot->devices_count; i++)
		write_device(&snapshot->devices[i], json);
	json_array_end(json);
	json_pair_array(json, "processes");
	for (size_t i = 0; i < snapshot->processes_count; i++)
		write_process(&snapshot->processes[i], json);
	json_array_end(json);
	WRITE_LIST("kernels", kernels, write_kernel);
	WRITE_LIST("copies", copies, write_copy);
	WRITE_LIST("queues", queues, write_queue);
	WRITE_LIST("metrics", metrics, write_metric);
	if (snapshot->stacks_count)
		WRITE_LIST("stacks", stacks, write_stack);
	write_ledger(&snapshot->ledger, json);
}
