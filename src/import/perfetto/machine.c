/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/machine.c - CPU samples and switches of processors
 *
 * Runs in:  our own process
 * Gets:     PerfSample, FtraceEventBundle
 * Gives:    samples, switches
 * Owns:     nothing
 * Fails:    errors of the target
 */
#include <errno.h>
#include <string.h>

#include "import/perfetto/import.h"
#include "import/target.h"
#include "perfetto_trace.numbers.h"

enum { MAX_CPUS = 65536 };

/* ---- samples ---- */

static uint32_t mode_of(uint64_t mode)
{
	return mode == PF_MODE_USER         ? MODE_USER
	       : mode == PF_MODE_KERNEL     ? MODE_KERNEL
	       : mode == PF_MODE_HYPERVISOR ? MODE_HYPERVISOR
					    : MODE_UNKNOWN;
}

/* The counter's increase since the last sample of this processor; 1 if there is no counter. */
static int take_weight(struct perfetto_sequence *sequence, struct wire message,
		       uint64_t *ret_weight)
{
	uint64_t cpu = wire_number(message, PF_PERF_SAMPLE_CPU, 0) & UINT32_MAX;
	uint64_t sum = wire_number(message, PF_PERF_SAMPLE_TIMEBASE_COUNT, 0);
	uint64_t before = hash_map_get(&sequence->cpus, cpu, 0);

	*ret_weight = sum > before ? sum - before : 1;
	return sum && cpu < MAX_CPUS && hash_map_put(&sequence->cpus, cpu, sum) ? -ENOMEM : 0;
}

int perfetto_machine_take_sample(struct perfetto_import *import, uint64_t time_ns,
				 struct perfetto_sequence *sequence, struct wire message)
{
	struct event_cpu_sample row = {
		.time = time_ns,
		.cpu = (uint32_t)wire_number(message, PF_PERF_SAMPLE_CPU, 0),
		.mode = mode_of(wire_number(message, PF_PERF_SAMPLE_CPU_MODE, 0))};
	uint32_t tid = (uint32_t)wire_number(message, PF_PERF_SAMPLE_TID, 0);
	uint32_t pid = (uint32_t)wire_number(message, PF_PERF_SAMPLE_PID, 0);
	const char *source = perfetto_import_text(import, sequence->timebase);
	int error = take_weight(sequence, message, &row.weight);

	if (error || import->pass != PASS_CALLS)
		return error;
	row.stack = (uint32_t)perfetto_sequence_get(
		sequence, PF_INTERNED_DATA_CALLSTACKS,
		wire_number(message, PF_PERF_SAMPLE_CALLSTACK_IID, 0));
	error = import_target_text(import->target, *source ? source : "samples",
				   &row.source_string);
	if (!error)
		error = perfetto_tracks_member(&import->tracks, pid, tid, "", &row.thread);
	return error ? error : import_target_sample(import->target, &row);
}

/* ---- switches ---- */

/* A thread of the list of the machine; the idle thread is 0. */
static int find_thread(struct perfetto_import *import, uint64_t tid, uint32_t name,
		       uint32_t *ret_thread)
{
	*ret_thread = 0;
	if (!(tid & UINT32_MAX))
		return 0;
	return perfetto_tracks_member(&import->tracks, 0, (uint32_t)tid,
				      perfetto_import_text(import, name), ret_thread);
}

/* State 0 is running: the thread could run on. */
static int write_switch(struct perfetto_import *import, struct event_switch *row,
			const uint64_t tids[2], const uint32_t names[2], uint64_t state)
{
	int error = find_thread(import, tids[0], names[0], &row->previous);

	if (!error)
		error = find_thread(import, tids[1], names[1], &row->next);
	if (error || (!row->previous && !row->next))
		return error;
	row->reason = !row->previous ? SWITCH_NOT_KNOWN
		      : state & 0xff ? (state & 0x30 ? SWITCH_EXITED : SWITCH_BLOCKED)
				     : SWITCH_PREEMPTED;
	return import_target_switch(import->target, row);
}

static int on_switch(struct perfetto_import *import, uint64_t time_ns, uint32_t cpu,
		     struct wire message)
{
	struct event_switch row = {.time = time_ns, .cpu = cpu};
	const uint64_t tids[2] = {wire_number(message, PF_SCHED_SWITCH_FTRACE_EVENT_PREV_PID, 0),
				  wire_number(message, PF_SCHED_SWITCH_FTRACE_EVENT_NEXT_PID, 0)};
	uint64_t state = wire_number(message, PF_SCHED_SWITCH_FTRACE_EVENT_PREV_STATE, 0);
	uint32_t names[2] = {0};
	struct wire_field field;
	int error = 0;

	while (!error && wire_next(&message, &field)) {
		if (field.number == PF_SCHED_SWITCH_FTRACE_EVENT_PREV_COMM)
			error = perfetto_sequences_text(&import->sequences, &field, &names[0]);
		else if (field.number == PF_SCHED_SWITCH_FTRACE_EVENT_NEXT_COMM)
			error = perfetto_sequences_text(&import->sequences, &field, &names[1]);
	}
	return error ? error : write_switch(import, &row, tids, names, state);
}

static int on_event(struct perfetto_import *import, uint32_t cpu, struct wire message)
{
	uint64_t time_ns = wire_number(message, PF_FTRACE_EVENT_TIMESTAMP, 0);
	struct wire_field field;
	int error = 0;

	if (!perfetto_clocks_convert(&import->clocks, NULL, PF_BUILTIN_CLOCK_BOOTTIME, &time_ns) ||
	    time_ns > PERFETTO_MAX_TIME_NS)
		return 0;
	while (!error && wire_next(&message, &field)) {
		if (field.number == PF_FTRACE_EVENT_SCHED_SWITCH && field.type == WIRE_BYTES)
			error = on_switch(import, time_ns, cpu, wire_inside(&field));
		else if (field.number > 2)
			import->counts.other_packets++;
	}
	return error;
}

/* The columns of many switches; previous is the next one of the switch before. */
struct columns {
	struct wire times, states, tids, commands;
};

static bool next_value(struct wire *column, uint64_t *ret_value)
{
	const uint8_t *at = wire_varint(column->at, column->end, ret_value);

	column->at = at ? at : column->end;
	return at;
}

static void read_columns(struct wire message, struct columns *columns)
{
	struct wire_field field;

	*columns = (struct columns){0};
	while (wire_next(&message, &field)) {
		if (field.type != WIRE_BYTES)
			continue;
		if (field.number == PF_COMPACT_SCHED_SWITCH_TIMESTAMP)
			columns->times = wire_inside(&field);
		else if (field.number == PF_COMPACT_SCHED_SWITCH_PREV_STATE)
			columns->states = wire_inside(&field);
		else if (field.number == PF_COMPACT_SCHED_SWITCH_NEXT_PID)
			columns->tids = wire_inside(&field);
	}
}

static int on_compact(struct perfetto_import *import, uint32_t cpu, struct wire message)
{
	const uint32_t names[2] = {0};
	uint64_t time = 0, step, state, tids[2] = {0};
	struct columns columns;
	int error = 0;

	read_columns(message, &columns);
	while (!error && next_value(&columns.times, &step) && next_value(&columns.states, &state) &&
	       next_value(&columns.tids, &tids[1])) {
		struct event_switch row = {.cpu = cpu};

		time += step;
		row.time = time;
		perfetto_clocks_convert(&import->clocks, NULL, PF_BUILTIN_CLOCK_BOOTTIME,
					&row.time);
		if (row.time > PERFETTO_MAX_TIME_NS)
			return 0;
		error = write_switch(import, &row, tids, names, state);
		tids[0] = tids[1];
	}
	return error;
}

int perfetto_machine_take_ftrace(struct perfetto_import *import, struct wire message)
{
	uint32_t cpu = (uint32_t)wire_number(message, PF_FTRACE_EVENT_BUNDLE_CPU, 0);
	struct wire_field field;
	int error = 0;

	if (import->pass != PASS_CALLS)
		return 0;
	while (!error && wire_next(&message, &field)) {
		if (field.type != WIRE_BYTES)
			continue;
		if (field.number == PF_FTRACE_EVENT_BUNDLE_EVENT)
			error = on_event(import, cpu, wire_inside(&field));
		else if (field.number == PF_FTRACE_EVENT_BUNDLE_COMPACT_SCHED)
			error = on_compact(import, cpu, wire_inside(&field));
	}
	return error;
}
