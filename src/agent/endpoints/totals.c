/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/totals.c - adds up snapshots to counters that only grow
 *
 * Runs in:  our own process, the agent's child for endpoints
 * Gets:     snapshots of intervals that follow each other
 * Gives:    counters by device, kernel, process and copy
 * Owns:     the counters
 * Fails:    -ENOMEM
 * Why whole nanoseconds: adding seconds as floating point loses nanoseconds after 100 days, and
 *           parts would no longer add up to their sum.
 */
#include "agent/endpoints/totals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/endpoints/totals_private.h"
#include "base/array.h"
#include "base/error.h"
#include "live/snapshot.h"

enum { DEFAULT_ROWS = 100, MAX_DEVICES = 64, MAX_COPIES = 512 };
#define DEFAULT_FORGET_NS UINT64_C(3600000000000)
#define DEFAULT_REUSE_NS  UINT64_C(300000000000)

_Static_assert((size_t)DEVICE_VALUES <= LABEL_VALUES_MAX, "a row holds a device's values");

const char *totals_state_name(enum totals_state state)
{
	static const char *const names[TOTALS_STATE_COUNT] = {[TOTALS_ANALYSED] = "analysed",
							      [TOTALS_EMPTY] = "empty",
							      [TOTALS_SKIPPED] = "skipped"};

	return array_text(names, ARRAY_COUNT(names), state, "unknown");
}

static size_t or_default(size_t value, size_t otherwise)
{
	return value ? value : otherwise;
}

int totals_new(const struct totals_options *options, struct totals **ret_totals)
{
	struct totals *totals = calloc(1, sizeof(*totals));

	if (!totals)
		return error_no_memory();
	totals->options = *options;
	if (!totals->options.forget_ns)
		totals->options.forget_ns = DEFAULT_FORGET_NS;
	if (!totals->options.reuse_ns)
		totals->options.reuse_ns = DEFAULT_REUSE_NS;
	totals->real_ns = options->start_real_ns;
	totals->tables[TOTALS_DEVICES] = (struct label_table){.labels_count = 3,
							      .keys_count = 2,
							      .values_count = DEVICE_VALUES,
							      .max_rows = MAX_DEVICES,
							      .max_others = 1,
							      .other = "other"};
	totals->tables[TOTALS_KERNELS] =
		(struct label_table){.labels_count = 3,
				     .keys_count = 3,
				     .values_count = KERNEL_VALUES,
				     .max_rows = or_default(options->max_kernels, DEFAULT_ROWS),
				     .max_others = MAX_DEVICES,
				     .other = "other",
				     .can_forget = true};
	totals->tables[TOTALS_PROCESSES] =
		(struct label_table){.labels_count = 3,
				     .keys_count = 3,
				     .values_count = PROCESS_VALUES,
				     .max_rows = or_default(options->max_processes, DEFAULT_ROWS),
				     .max_others = 0,
				     .other = "other",
				     .can_forget = true};
	totals->tables[TOTALS_COPIES] = (struct label_table){.labels_count = 3,
							     .keys_count = 3,
							     .values_count = COPY_VALUES,
							     .max_rows = MAX_COPIES,
							     .max_others = MAX_DEVICES,
							     .other = "other"};
	*ret_totals = totals;
	return 0;
}

void totals_free(struct totals *totals)
{
	if (!totals)
		return;
	for (size_t i = 0; i < TOTALS_TABLES; i++)
		label_table_fini(&totals->tables[i]);
	gauges_fini(&totals->gauges);
	free(totals);
}

/* ---- one interval ---- */

struct interval {
	struct totals *totals;
	const struct live_snapshot *snapshot;
	uint64_t begin_ns, end_ns; /* CLOCK_REALTIME */
	uint64_t duration_ns;
};

static struct label_row *row_of(const struct interval *interval, enum totals_table table,
				const char *const *texts)
{
	return label_table_row(&interval->totals->tables[table], texts, interval->begin_ns,
			       interval->end_ns);
}

static const char *key_of(const struct live_device *device)
{
	return *device->key ? device->key : device->name;
}

static int add_device(const struct interval *interval, const struct live_device *device)
{
	const char *const texts[] = {key_of(device), device->name, device->vendor};
	struct label_row *row = row_of(interval, TOTALS_DEVICES, texts);

	if (!row)
		return -ENOMEM;
	row->values[DEVICE_LAUNCHES] += device->launches;
	row->values[DEVICE_EXECUTIONS] += device->executions;
	row->values[DEVICE_IN_FLIGHT] += device->in_flight;
	if (!device->is_measured) {
		row->values[DEVICE_UNMEASURED] += interval->duration_ns;
		return 0;
	}
	row->values[DEVICE_BUSY] += device->busy_ns;
	row->values[DEVICE_KERNELS] += device->kernel_ns;
	row->values[DEVICE_COPIES] += device->copy_ns;
	for (size_t cause = 0; cause < CAUSE_COUNT; cause++)
		row->values[DEVICE_CAUSES + cause] += device->causes[cause];
	return 0;
}

static int add_kernel(const struct interval *interval, const struct live_kernel *kernel)
{
	const struct live_snapshot *snapshot = interval->snapshot;
	const struct live_device *device = kernel->device < snapshot->devices_count
						   ? &snapshot->devices[kernel->device]
						   : NULL;
	const char *const texts[] = {device ? key_of(device) : "", device ? device->name : "",
				     kernel->name};
	struct label_row *row = row_of(interval, TOTALS_KERNELS, texts);

	if (!row)
		return -ENOMEM;
	row->values[KERNEL_BUSY] += kernel->share_ns;
	row->values[KERNEL_DURATION] += kernel->total_ns;
	row->values[KERNEL_EXECUTIONS] += kernel->count;
	return 0;
}

/* A machine starts thousands of processes that use no device; they would fill all rows. */
static bool uses_devices(const struct live_process *process)
{
	return process->busy_ns || process->launches || process->executions || process->calls;
}

static int add_process(const struct interval *interval, const struct live_process *process)
{
	char pid[24];
	const char *const texts[] = {pid, process->cgroup, process->name};
	struct label_row *row;

	snprintf(pid, sizeof(pid), "%d", process->pid);
	row = uses_devices(process)
		      ? row_of(interval, TOTALS_PROCESSES, texts)
		      : label_table_other(&interval->totals->tables[TOTALS_PROCESSES], texts,
					  interval->begin_ns, interval->end_ns);
	if (!row)
		return -ENOMEM;
	row->values[PROCESS_BUSY] += process->busy_ns;
	row->values[PROCESS_LAUNCHES] += process->launches;
	row->values[PROCESS_EXECUTIONS] += process->executions;
	row->values[PROCESS_CALLS] += process->calls;
	row->values[PROCESS_CALLS_TIME] += process->calls_ns;
	if (process->has_times) {
		row->values[PROCESS_ON_CPU] += process->on_cpu_ns;
		row->values[PROCESS_BLOCKED] += process->blocked_ns;
		interval->totals->has_cpu_times = true;
	}
	return 0;
}

static int add_copy(const struct interval *interval, const struct live_copy *copy)
{
	const struct live_snapshot *snapshot = interval->snapshot;
	const struct live_device *device =
		copy->device < snapshot->devices_count ? &snapshot->devices[copy->device] : NULL;
	const char *const texts[] = {device ? key_of(device) : "", device ? device->name : "",
				     copy->name};
	struct label_row *row = row_of(interval, TOTALS_COPIES, texts);

	if (!row)
		return -ENOMEM;
	row->values[COPY_BYTES] += copy->bytes;
	row->values[COPY_TIME] += copy->total_ns;
	row->values[COPY_COUNT] += copy->count;
	return 0;
}

static int add_metric(const struct interval *interval, const struct live_metric *metric)
{
	const struct live_snapshot *snapshot = interval->snapshot;
	const struct live_device *device = metric->device < snapshot->devices_count
						   ? &snapshot->devices[metric->device]
						   : NULL;
	const struct live_process *process = metric->process < snapshot->processes_count
						     ? &snapshot->processes[metric->process]
						     : NULL;
	char pid[24] = "", cpu[24] = "";
	const struct gauge_key key = {
		.name = metric->name,
		.unit = metric->unit,
		.labels = {device ? key_of(device) : "", device ? device->name : "", pid,
			   process ? process->name : "", metric->instance, cpu}};

	if (process)
		snprintf(pid, sizeof(pid), "%d", process->pid);
	if (metric->cpu)
		snprintf(cpu, sizeof(cpu), "%u", metric->cpu - 1);
	return gauges_set(&interval->totals->gauges, &key, metric->mean, interval->end_ns);
}

void totals_add_loss(struct totals *totals, const struct event_loss *loss)
{
	if (loss->count == LOSS_COUNT_UNKNOWN)
		totals->unknown_losses++;
	else
		totals->lost[loss->kind < EVENT_KIND_COUNT ? loss->kind : EVENT_PADDING] +=
			loss->count;
}

static int add_rows(const struct interval *interval)
{
	const struct live_snapshot *snapshot = interval->snapshot;
	int error = 0;

	for (size_t i = 0; i < snapshot->devices_count && !error; i++)
		error = add_device(interval, &snapshot->devices[i]);
	for (size_t i = 0; i < snapshot->kernels_count && !error; i++)
		error = add_kernel(interval, &snapshot->kernels[i]);
	for (size_t i = 0; i < snapshot->processes_count && !error; i++)
		error = add_process(interval, &snapshot->processes[i]);
	for (size_t i = 0; i < snapshot->copies_count && !error; i++)
		error = add_copy(interval, &snapshot->copies[i]);
	for (size_t i = 0; i < snapshot->metrics_count && !error; i++)
		error = add_metric(interval, &snapshot->metrics[i]);
	return error;
}

/* The number in flight is a level, not a sum over intervals. */
static void clear_levels(struct label_table *devices)
{
	for (size_t i = 0; i < devices->count; i++)
		devices->rows[i].values[DEVICE_IN_FLIGHT] = 0;
}

static void end_interval(struct totals *totals)
{
	for (size_t i = 0; i < TOTALS_TABLES; i++)
		label_table_forget(&totals->tables[i], totals->real_ns, totals->options.forget_ns,
				   totals->options.reuse_ns);
	gauges_forget(&totals->gauges, totals->real_ns);
}

int totals_add(struct totals *totals, const struct live_snapshot *snapshot)
{
	const uint64_t duration_ns = snapshot->end_ns - snapshot->begin_ns;
	const struct interval interval = {.totals = totals,
					  .snapshot = snapshot,
					  .begin_ns = snapshot->real_ns - duration_ns,
					  .end_ns = snapshot->real_ns,
					  .duration_ns = duration_ns};
	int error;

	clear_levels(&totals->tables[TOTALS_DEVICES]);
	error = add_rows(&interval);
	totals->states[error ? TOTALS_SKIPPED : TOTALS_ANALYSED] += duration_ns;
	totals->real_ns = snapshot->real_ns;
	end_interval(totals);
	return error;
}

void totals_pass(struct totals *totals, enum totals_state state, uint64_t duration_ns,
		 uint64_t real_ns)
{
	totals->states[state] += duration_ns;
	totals->real_ns = real_ns;
	end_interval(totals);
}

void totals_shift(struct totals *totals, uint64_t step_ns)
{
	for (size_t i = 0; i < TOTALS_TABLES; i++)
		for (size_t k = 0; k < totals->tables[i].count; k++)
			totals->tables[i].rows[k].used_ns += step_ns;
	for (size_t i = 0; i < totals->gauges.count; i++)
		totals->gauges.all[i].set_ns += step_ns;
}

uint64_t totals_real_ns(const struct totals *totals)
{
	return totals->real_ns;
}
