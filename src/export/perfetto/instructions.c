/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/instructions.c - write samples of device instructions as samples with stacks
 *
 * Runs in:  our own process
 * Gets:     instruction samples, ordered by time
 * Gives:    PerfSample packets: launching stack if it was sampled, kernel, instruction, stall
 *           reason
 * Owns:     the code of devices; the texts, frames and stacks that are already written
 * Fails:    -ENOMEM, errors of writing
 * Why a process per device: the viewer draws one flame graph of all samples of a process. Samples
 *           of a device beside CPU samples would add up two different things.
 * Why a divisor: a PerfSample has no weight, and a row may stand for 10^6 samples. A file has at
 *           most 100,000 packets of about 30 bytes; the name of the event contains the divisor.
 */
#include "export/perfetto/instructions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "analyze/sample/code_sites.h"
#include "analyze/sample/device_code.h"
#include "analyze/text/row_names.h"
#include "base/array.h"
#include "base/string.h"
#include "event/event.h"
#include "export/common/profile.h"
#include "export/perfetto/packets.h"
#include "export/perfetto/samples.h"
#include "perfetto_trace.numbers.h"

#define MAX_PACKETS    100000
#define FIRST_PID      4194305             /* above all pids of Linux, as in chrome */
#define SEQUENCE       INT32_MAX           /* above those of samples.c */
#define FIRST_UUID     (UINT64_C(1) << 32) /* above those of tracks.c */
#define DEVICE_MAPPING 1                   /* number and path of the only mapping */

static int open_code(struct instructions *instructions)
{
	int error = device_code_new(instructions->model, &instructions->code);

	return error ? error : code_sites_of_model(instructions->model, &instructions->sites);
}

int instructions_init(struct instructions *instructions, const struct model *model,
		      struct packets *packets, struct samples *samples, uint64_t total)
{
	*instructions = (struct instructions){.model = model,
					      .packets = packets,
					      .samples = samples,
					      .divisor = total / MAX_PACKETS + 1};
	return total ? open_code(instructions) : 0;
}

void instructions_fini(struct instructions *instructions)
{
	if (!instructions)
		return;
	device_code_free(instructions->code);
	code_sites_free(instructions->sites);
	string_table_fini(&instructions->functions);
	string_table_fini(&instructions->paths);
	string_table_fini(&instructions->stacks);
	string_table_fini(&instructions->frames);
	free(instructions->sums);
	free(instructions->numbers);
	hash_map_fini(&instructions->processes);
}

/* ---- interned data --------------------------------------------------------------------------- */

/* The only mapping: frames need one. */
static void put_mapping(struct instructions *instructions)
{
	struct protobuf *texts = &instructions->packets->texts;
	uint64_t path = packets_intern(instructions->packets, &instructions->paths,
				       PF_INTERNED_DATA_MAPPING_PATHS, "[device]");
	size_t mapping = protobuf_begin(texts, PF_INTERNED_DATA_MAPPINGS);

	protobuf_u64(texts, PF_MAPPING_IID, DEVICE_MAPPING);
	protobuf_u64(texts, PF_MAPPING_PATH_STRING_IDS, path);
	protobuf_end(texts, mapping);
}

/* Frames with equal names are one frame: the name of an instruction contains its offset. */
static int push_frame(struct instructions *instructions, const char *name)
{
	struct protobuf *texts = &instructions->packets->texts;
	uint32_t before = instructions->frames.count;
	uint32_t number = string_table_add(&instructions->frames, name, strlen(name));
	uint64_t function;
	size_t begin;

	if (!number || array_append(instructions->numbers, instructions->numbers_capacity,
				    instructions->numbers_count, (uint64_t)number))
		return -ENOMEM;
	if (number <= before)
		return 0;
	function = packets_intern(instructions->packets, &instructions->functions,
				  PF_INTERNED_DATA_FUNCTION_NAMES, name);
	begin = protobuf_begin(texts, PF_INTERNED_DATA_FRAMES);
	protobuf_u64(texts, PF_FRAME_IID, number);
	protobuf_u64(texts, PF_FRAME_FUNCTION_NAME_ID, function);
	protobuf_u64(texts, PF_FRAME_MAPPING_ID, DEVICE_MAPPING);
	protobuf_u64(texts, PF_FRAME_REL_PC, number);
	protobuf_end(texts, begin);
	return 0;
}

static int push_host(struct instructions *instructions, uint32_t stack)
{
	const struct profile_frame *frames = NULL;
	size_t count = 0;
	int error =
		stack ? profile_frames(&instructions->samples->profile, stack, "", &frames, &count)
		      : 0;

	for (size_t i = 0; i < count && !error; i++)
		error = push_frame(instructions, frames[i].function);
	return error;
}

static int push_instruction(struct instructions *instructions,
			    const struct event_instruction_sample *row)
{
	const char *kernel = model_kernel_name(instructions->model, row->code);
	struct device_place place;
	char text[512];
	int error = device_code_find(instructions->code, row->code, row->offset, &place);

	if (error)
		return error;
	if (!*kernel)
		kernel = *place.function ? place.function : "[unknown kernel]";
	if (row->text_string)
		place.text = model_text(instructions->model, row->text_string, "");
	error = push_frame(instructions, kernel);
	if (place.file && place.line && !error) {
		snprintf(text, sizeof(text), "%s:%" PRIu32, place.file, place.line);
		error = push_frame(instructions, text);
	}
	snprintf(text, sizeof(text), "+0x%" PRIx64 " %s", row->offset,
		 *place.text ? place.text : "[unknown instruction]");
	return error ? error : push_frame(instructions, text);
}

static int put_stack(struct instructions *instructions, uint32_t number,
		     const struct event_instruction_sample *row)
{
	const char *stall = model_text(instructions->model, row->stall_string, "");
	struct protobuf *texts = &instructions->packets->texts;
	size_t begin;
	int error;

	instructions->numbers_count = 0;
	error = push_host(instructions, row->stack);
	if (!error)
		error = push_instruction(instructions, row);
	if (!error && *stall)
		error = push_frame(instructions, stall);
	if (error)
		return error;
	begin = protobuf_begin(texts, PF_INTERNED_DATA_CALLSTACKS);
	protobuf_u64(texts, PF_CALLSTACK_IID, number);
	for (size_t i = 0; i < instructions->numbers_count; i++)
		protobuf_u64(texts, PF_CALLSTACK_FRAME_IDS, instructions->numbers[i]);
	protobuf_end(texts, begin);
	return 0;
}

/* The number of the row's stack; a new one is written with the packet. */
static int number_stack(struct instructions *instructions,
			const struct event_instruction_sample *row, uint32_t *ret_number)
{
	const uint64_t key[] = {row->stack, row->code, row->offset,
				(uint64_t)row->stall_string << 32 | row->text_string};
	uint32_t before = instructions->stacks.count;

	*ret_number = string_table_add(&instructions->stacks, key, sizeof(key));
	if (!*ret_number ||
	    array_grow(instructions->sums, instructions->sums_capacity, *ret_number))
		return -ENOMEM;
	if (*ret_number <= before)
		return 0;
	/* the first samples of a stack are written as soon as half a packet is due: a rounded
	 * number of packets for each stack */
	instructions->sums[*ret_number - 1] = instructions->divisor / 2;
	return put_stack(instructions, *ret_number, row);
}

/* ---- packets --------------------------------------------------------------------------------- */

static void begin_sequence(struct instructions *instructions)
{
	struct protobuf *packet = &instructions->packets->packet;
	size_t defaults, samples, timebase;
	char name[64] = "instruction samples";

	if (instructions->divisor > 1)
		snprintf(name, sizeof(name), "instruction samples, 1 of %" PRIu64,
			 instructions->divisor);
	protobuf_u64(packet, PF_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE, 1);
	defaults = protobuf_begin(packet, PF_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
	samples = protobuf_begin(packet, PF_TRACE_PACKET_DEFAULTS_PERF_SAMPLE_DEFAULTS);
	timebase = protobuf_begin(packet, PF_PERF_SAMPLE_DEFAULTS_TIMEBASE);
	protobuf_text(packet, PF_TIMEBASE_NAME, name);
	protobuf_end(packet, timebase);
	protobuf_end(packet, samples);
	protobuf_u64(packet, PF_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID,
		     PF_BUILTIN_CLOCK_MONOTONIC);
	protobuf_end(packet, defaults);
	put_mapping(instructions);
}

static uint32_t pid_of(uint32_t device)
{
	return (FIRST_PID + device) & INT32_MAX;
}

static int describe_device(struct instructions *instructions, uint32_t id)
{
	struct protobuf *packet = &instructions->packets->packet;
	const struct event_device *device = model_entity(instructions->model, EVENT_DEVICE, id);
	struct string_builder name = {0};
	size_t mark, inner;

	if (hash_map_find(&instructions->processes, id))
		return 0;
	row_name_device(instructions->model, device, &name);
	string_builder_append(&name, ": instructions");
	packets_begin(instructions->packets);
	mark = protobuf_begin(packet, PF_TRACE_PACKET_TRACK_DESCRIPTOR);
	protobuf_u64(packet, PF_TRACK_DESCRIPTOR_UUID, FIRST_UUID + id);
	inner = protobuf_begin(packet, PF_TRACK_DESCRIPTOR_PROCESS);
	protobuf_u64(packet, PF_PROCESS_DESCRIPTOR_PID, pid_of(id));
	protobuf_text(packet, PF_PROCESS_DESCRIPTOR_PROCESS_NAME, string_builder_text(&name));
	protobuf_end(packet, inner);
	protobuf_end(packet, mark);
	string_builder_fini(&name);
	if (hash_map_put(&instructions->processes, id, 1))
		return -ENOMEM;
	return packets_end(instructions->packets);
}

/* Writes one packet. The stack is written with the first one, even if the stack's samples are too
 * few for a packet: a later packet refers to it. */
static int write_packet(struct instructions *instructions,
			const struct event_instruction_sample *row, bool has_sample,
			uint32_t number)
{
	struct packets *packets = instructions->packets;
	struct protobuf *packet = &packets->packet;
	bool is_first = !instructions->is_begun;
	size_t begin;

	instructions->is_begun = true;
	if (has_sample) {
		protobuf_u64(packet, PF_TRACE_PACKET_TIMESTAMP, row->begin);
		begin = protobuf_begin(packet, PF_TRACE_PACKET_PERF_SAMPLE);
		protobuf_u64(packet, PF_PERF_SAMPLE_CPU, 0);
		protobuf_u64(packet, PF_PERF_SAMPLE_PID, pid_of(row->device));
		protobuf_u64(packet, PF_PERF_SAMPLE_TID, pid_of(row->device));
		protobuf_u64(packet, PF_PERF_SAMPLE_CALLSTACK_IID, number);
		protobuf_u64(packet, PF_PERF_SAMPLE_TIMEBASE_COUNT, instructions->count);
		protobuf_end(packet, begin);
	}
	return packets_end_of(packets, SEQUENCE, is_first);
}

static int write_row(struct instructions *instructions, const struct event_instruction_sample *row)
{
	uint32_t number;
	uint64_t sum, packets;
	size_t before;
	int error;

	before = instructions->packets->packet.size;
	packets_begin(instructions->packets);
	if (!instructions->is_begun)
		begin_sequence(instructions);
	error = number_stack(instructions, row, &number);
	if (error)
		return error;
	instructions->count += row->count;
	sum = instructions->sums[number - 1] + row->count;
	packets = sum / instructions->divisor;
	instructions->sums[number - 1] = sum % instructions->divisor;
	if (!packets && instructions->is_begun && !instructions->packets->texts.size) {
		instructions->packets->packet.size = before; /* the packet would be empty */
		return 0;
	}
	error = write_packet(instructions, row, packets > 0, number);
	for (uint64_t i = 1; i < packets && !error; i++) {
		packets_begin(instructions->packets);
		error = write_packet(instructions, row, true, number);
	}
	return error;
}

int instructions_write(struct instructions *instructions,
		       const struct event_instruction_sample *row)
{
	struct event_instruction_sample resolved = *row;
	const struct event_code *code;
	/* a damaged trace has rows that were not counted */
	int error = instructions->code ? 0 : open_code(instructions);

	if (!error)
		error = code_sites_resolve(instructions->sites, &resolved);
	code = model_entity(instructions->model, EVENT_CODE, resolved.code);
	if (!resolved.device && code)
		resolved.device = code->device;
	if (!error)
		error = describe_device(instructions, resolved.device);
	return error ? error : write_row(instructions, &resolved);
}
