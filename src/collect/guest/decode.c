/* SPDX-License-Identifier: MIT
 *
 * collect/guest/decode.c - turns records of guests into rows of the trace
 *
 * Runs in:  the recorder
 * Gets:     private copies of records, whose bytes may be anything
 * Gives:    rows and entities in the trace
 * Owns:     nothing; the tables of ids belong to struct injected
 * Fails:    a record that makes no sense is counted and left out
 * Why:      The guest writes as little as it can: its own ids, raw times. The recorder does all
 *           expensive work, in this file. It takes about 100 ns per record, the guest only 2 ns.
 */
#include "collect/guest/decode/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/devices.h"
#include "collect/guest/record_texts.h"
#include "collect/host_clocks.h"

enum { MAX_REFUSALS = 16 }; /* notes of refusals per guest */

static void decode_clock_pair(struct injected *injected, struct injected_ring *ring,
			      const struct record *head)
{
	const struct record_clock_pair *record = (const struct record_clock_pair *)head;
	struct trace_source source = {0};
	struct event_clock_pair row;
	uint64_t before_error, after_error;

	source.clock = decode_get_id(&injected->ids.device_clocks, record->device);
	row = (struct event_clock_pair){
		.time = record->time,
		.host_lower_ns =
			recording_host_ns(injected->recording, record->before, &before_error),
		.host_upper_ns =
			recording_host_ns(injected->recording, record->after, &after_error),
	};
	row.host_lower_ns -= before_error < row.host_lower_ns ? before_error : row.host_lower_ns;
	row.host_upper_ns += after_error;
	if (source.clock)
		trace_writer_row(injected->recording->writer, EVENT_CLOCK_PAIR, &source, &row);
}

static const char *unit_name(uint32_t unit)
{
	static const char *const names[] = {
#define PC_UNIT(number, name, text) [number] = (text),
#include "event/pc_sampling.h"
#undef PC_UNIT
	};

	return unit < ARRAY_COUNT(names) ? names[unit] : "";
}

static const char *stall_name(uint32_t stall)
{
	static const char *const names[] = {
#define PC_STALL(number, text) [number] = (text),
#include "event/pc_sampling.h"
#undef PC_STALL
	};

	return stall < ARRAY_COUNT(names) && names[stall] ? names[stall] : "";
}

static uint32_t stall_string(struct injected *injected, const struct injected_ring *ring,
			     uint32_t stall)
{
	return stall >= RECORD_FUNCTION_FIRST
		       ? decode_named_function(injected, ring, stall)
		       : recording_string(injected->recording, stall_name(stall));
}

/* Writes one row of samples. detail: that of the record, which has one of two kinds. */
static void write_samples(struct injected *injected, const struct injected_ring *ring,
			  uint32_t detail, const struct record_samples *record)
{
	struct trace_source source = decode_source(injected, injected->process->row.id);
	struct event_instruction_sample row = {
		.begin = record->begin,
		.end = record->end,
		.offset = record->offset,
		.correlation =
			record->correlation ? decode_correlation(injected, record->correlation) : 0,
		.count = record->count,
		.period = record->period,
		.period_unit_string =
			recording_string(injected->recording, unit_name(detail >> 16)),
		.stall_string = stall_string(injected, ring, detail & 0xffff),
		.process = injected->process->row.id,
		.device = decode_get_id(&injected->ids.devices, record->device),
		.code = record->code ? decode_map_id(injected, &injected->ids.codes, record->code,
						     &injected->recording->last_code)
				     : 0,
	};

	source.clock = decode_get_id(&injected->ids.device_clocks, record->device);
	/* A device that was never described has no clock to place the time. */
	if (!source.clock)
		return decode_broken(injected);
	trace_writer_row(injected->recording->writer, EVENT_INSTRUCTION_SAMPLE, &source, &row);
}

static void decode_instruction(struct injected *injected, struct injected_ring *ring,
			       const struct record *head)
{
	const struct record_instruction *record = (const struct record_instruction *)head;

	write_samples(injected, ring, head->detail,
		      &(struct record_samples){.begin = record->time,
					       .end = record->time,
					       .offset = record->offset,
					       .count = 1,
					       .period = record->period,
					       .code = record->code,
					       .device = record->device});
}

static void decode_samples(struct injected *injected, struct injected_ring *ring,
			   const struct record *head)
{
	const struct record_samples *record = (const struct record_samples *)head;

	if (record->end < record->begin)
		return decode_broken(injected);
	write_samples(injected, ring, head->detail, record);
}

static void tell_refused(const struct injected *injected)
{
	const struct recording *recording = injected->recording;

	if (recording->on_refused)
		recording->on_refused(recording->refused_context, injected->kind.collector,
				      injected->process->row.pid);
}

static void decode_refused(struct injected *injected, struct injected_ring *ring,
			   const struct record *head)
{
	const struct record_refused *record = (const struct record_refused *)head;
	const struct event_process *process = &injected->process->row;
	const char *texts[2]; /* function, holder */
	char text[512];
	int length;

	if (!injected->kind.explain ||
	    !record_texts(head, offsetof(struct record_refused, texts), 0, texts, 2))
		return decode_broken(injected);
	if (++injected->notes.refusals > MAX_REFUSALS)
		return;
	if (!guest_budget_has(&injected->budget, sizeof(text) + TEXT_BYTES))
		return decode_undescribed(injected);
	length = snprintf(text, sizeof(text), "%u %.64s: ", process->pid, injected->name);
	injected->kind.explain(texts[0], record->result, texts[1], text + length,
			       sizeof(text) - (size_t)length);
	recording_note(injected->recording, injected->kind.collector,
		       head->detail == REFUSED_ALL     ? COLLECTOR_REFUSED
		       : head->detail == REFUSED_LATER ? COLLECTOR_AVAILABLE
						       : COLLECTOR_PARTIAL,
		       process->id, text);
	if (head->detail != REFUSED_LATER)
		recording_warn(injected->recording, text);
	if (head->detail == REFUSED_ALL)
		tell_refused(injected);
}

typedef bool take_stack_record(struct stacks *, const struct stacks_owner *, const struct record *);

static void decode_stack_record(struct injected *injected, struct injected_ring *ring,
				take_stack_record *take, const struct record *record)
{
	const struct stacks_owner owner = {
		.recording = injected->recording,
		.pid = injected->process->row.pid,
		.pid_fd = injected->pid_fd,
		.process = injected->process->row.id,
		.collector = injected->kind.collector,
		.made = &injected->made,
		.images = &injected->images,
		.exe = injected->exe ? injected->exe : "",
		.looks = &injected->looks,
		.budget = &injected->budget,
		.refused = &injected->losses.stacks,
	};

	if (!take(&ring->stacks, &owner, record))
		decode_broken(injected);
}

static const struct {
	void (*decode)(struct injected *injected, struct injected_ring *ring,
		       const struct record *head);
	uint32_t least; /* bytes: a shorter record is broken */
} decoders[RECORD_KIND_END] = {
	[EVENT_API] = {decode_api, RECORD_API_BYTES},
	[EVENT_LAUNCH] = {decode_launch, sizeof(struct record_launch)},
	[EVENT_EXECUTION] = {decode_execution, sizeof(struct record_execution)},
	[EVENT_INSTRUCTION_SAMPLE] = {decode_instruction, sizeof(struct record_instruction)},
	[RECORD_SAMPLES] = {decode_samples, sizeof(struct record_samples)},
	[EVENT_DEVICE] = {decode_device, sizeof(struct record_device)},
	[EVENT_CONTEXT] = {decode_context, sizeof(struct record_context)},
	[EVENT_QUEUE] = {decode_queue, sizeof(struct record_queue)},
	[EVENT_CODE] = {decode_code, sizeof(struct record_code)},
	[RECORD_BYTES] = {decode_bytes, sizeof(struct record_bytes)},
	[EVENT_CLOCK_PAIR] = {decode_clock_pair, sizeof(struct record_clock_pair)},
	[RECORD_FUNCTION] = {decode_function, 0},
	[RECORD_NODE] = {decode_node, sizeof(struct record_node)},
	[RECORD_KERNEL_NEEDS] = {decode_kernel_needs, sizeof(struct record_kernel_needs)},
	[RECORD_CAPTURED] = {decode_captured, sizeof(struct record_captured)},
	[RECORD_REFUSED] = {decode_refused, sizeof(struct record_refused)},
};

static void decode(struct injected *injected, struct injected_ring *ring,
		   const struct record *record)
{
	switch (record->kind) {
	case EVENT_RANGE:
		return ranges_take(injected, ring, record) ? (void)0 : decode_broken(injected);
	case EVENT_COUNTER:
		return program_counters_take(injected, record) ? (void)0 : decode_broken(injected);
	case RECORD_STACK:
		return decode_stack_record(injected, ring, stacks_take_stack, record);
	case RECORD_PYTHON_CODE:
		return decode_stack_record(injected, ring, stacks_take_function, record);
	case RECORD_MODULE:
		return decode_stack_record(injected, ring, stacks_take_module, record);
	}
	if (record->kind >= RECORD_KIND_END || !decoders[record->kind].decode ||
	    record->size < decoders[record->kind].least)
		return decode_broken(injected);
	decoders[record->kind].decode(injected, ring, record);
}

void decode_record(struct injected *injected, struct injected_ring *ring,
		   const struct record *record)
{
	const struct recording *recording = injected->recording;
	uint64_t kept_bytes = recording->kept_bytes;

	decode(injected, ring, record);
	kept_bytes = recording->kept_bytes - kept_bytes;
	if (!kept_bytes)
		return;
	/* Stacks have a limit of their own, in stacks.c. */
	if (record->kind < RECORD_STACK)
		quota_charge(&injected->budget.described, kept_bytes);
	guest_budget_keep(&injected->budget, kept_bytes);
}
