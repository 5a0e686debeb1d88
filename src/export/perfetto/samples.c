/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/samples.c - write CPU samples with their stacks as packets of Perfetto
 *
 * Runs in:  our own process
 * Gets:     samples ordered by time
 * Gives:    PerfSample packets, and the texts, frames and stacks that they refer to by number
 * Owns:     symbols; for each sampled event, the texts, frames and stacks that are already written
 * Fails:    -ENOMEM, errors of writing
 * Why PerfSample and not slices: perf and traced_perf produce PerfSample packets, so the viewer
 *           draws flame graphs of any part of the timeline. PerfSample has no weight, so a counter
 *           that grows by each sample's weight expresses it.
 */
#include "export/perfetto/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/frames.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "base/array.h"
#include "base/number.h"
#include "base/pair_map.h"
#include "export/common/profile.h"
#include "export/perfetto/packets.h"
#include "perfetto_trace.numbers.h"

#define FIRST_SEQUENCE 2
#define MAX_BUILD_ID   32
/* trace_processor counts a sample without a stack as an error, so it gets one frame, under a number
 * that no stack of the trace has. */
#define NO_STACK       ((uint64_t)UINT32_MAX + 1)

/* The samples of one event. */
struct samples_stream {
	const char *source;
	bool is_begun;
	struct string_table functions, paths, build_ids, files;
	struct hash_map mappings; /* path << 32 | build id -> number */
	struct pair_map frames;   /* (frame id << 32 | line, address of the name) -> number */
	struct hash_map stacks;   /* ids of those already written */
	struct hash_map counts;   /* CPU -> sum of weights */
	uint64_t mappings_count;
	uint32_t frames_count;
	uint64_t *numbers; /* numbers of the frames of a stack */
	size_t numbers_capacity;
};

int samples_init(struct samples *samples, const struct model *model,
		 const struct output_options *options, struct packets *packets)
{
	*samples = (struct samples){.model = model, .packets = packets};
	return profile_open_names(&samples->profile, model, options);
}

static void stream_init(struct samples_stream *stream, const char *source)
{
	*stream = (struct samples_stream){.source = source};
}

static void stream_fini(struct samples_stream *stream)
{
	string_table_fini(&stream->functions);
	string_table_fini(&stream->paths);
	string_table_fini(&stream->build_ids);
	string_table_fini(&stream->files);
	hash_map_fini(&stream->mappings);
	pair_map_fini(&stream->frames);
	hash_map_fini(&stream->stacks);
	hash_map_fini(&stream->counts);
	free(stream->numbers);
}

void samples_fini(struct samples *samples)
{
	if (!samples)
		return;
	for (size_t i = 0; i < samples->streams_count; i++)
		stream_fini(&samples->streams[i]);
	free(samples->streams);
	profile_close(&samples->profile);
	hash_map_fini(&samples->by_source);
}

static int find_stream(struct samples *samples, uint32_t source, size_t *ret_index)
{
	uint64_t index = hash_map_get(&samples->by_source, source, samples->streams_count);

	if (index == samples->streams_count) {
		if (array_grow(samples->streams, samples->streams_capacity, index + 1) ||
		    hash_map_put(&samples->by_source, source, index))
			return -ENOMEM;
		stream_init(&samples->streams[index],
			    model_text(samples->model, source, "samples"));
		samples->streams_count++;
	}
	*ret_index = (size_t)index;
	return 0;
}

/* ---- interned data --------------------------------------------------------------------------- */

static int digit_of(char letter)
{
	const char *digits = "0123456789abcdef", *at = letter ? strchr(digits, letter) : NULL;

	return at ? (int)(at - digits) : -1;
}

static size_t parse_build_id(const char *text, uint8_t bytes[MAX_BUILD_ID])
{
	size_t size = 0;

	for (; size < MAX_BUILD_ID && digit_of(text[0]) >= 0 && digit_of(text[1]) >= 0; text += 2)
		bytes[size++] = (uint8_t)(digit_of(text[0]) << 4 | digit_of(text[1]));
	return size;
}

/* Writes a build id; false: the text is none. */
static bool put_build_id(struct samples *samples, uint64_t number, const char *text)
{
	struct protobuf *texts = &samples->packets->texts;
	uint8_t bytes[MAX_BUILD_ID];
	size_t entry, size = parse_build_id(text, bytes);

	if (!size)
		return false;
	entry = protobuf_begin(texts, PF_INTERNED_DATA_BUILD_IDS);
	protobuf_u64(texts, PF_INTERNED_STRING_IID, number);
	protobuf_bytes(texts, PF_INTERNED_STRING_STR, bytes, size);
	protobuf_end(texts, entry);
	return true;
}

/* Writes a mapping; its build id has the same number. */
static void put_mapping(struct samples *samples, uint64_t number, uint64_t path,
			const char *build_id)
{
	struct protobuf *texts = &samples->packets->texts;
	bool has_build_id = put_build_id(samples, number, build_id);
	size_t mapping = protobuf_begin(texts, PF_INTERNED_DATA_MAPPINGS);

	protobuf_u64(texts, PF_MAPPING_IID, number);
	if (has_build_id)
		protobuf_u64(texts, PF_MAPPING_BUILD_ID, number);
	protobuf_u64(texts, PF_MAPPING_PATH_STRING_IDS, path);
	protobuf_end(texts, mapping);
}

/* The path of a frame's mapping; the viewer recognises "kernel". */
static const char *path_of(const struct profile_frame *frame)
{
	static const char *const own[PROFILE_FRAME_KIND_COUNT] = {[PROFILE_KERNEL] = "kernel",
								  [PROFILE_PYTHON] = "[python]",
								  [PROFILE_JIT] = "[jit]"};

	if (own[frame->kind])
		return own[frame->kind];
	return frame->module ? frame->module : "[none]";
}

static int number_mapping(struct samples *samples, struct samples_stream *stream,
			  const struct profile_frame *frame, uint64_t *ret_number)
{
	uint64_t path = packets_intern(samples->packets, &stream->paths,
				       PF_INTERNED_DATA_MAPPING_PATHS, path_of(frame));
	uint64_t key = path << 32 | string_table_add(&stream->build_ids, frame->build_id,
						     strlen(frame->build_id));

	*ret_number = hash_map_get(&stream->mappings, key, 0);
	if (*ret_number)
		return 0;
	*ret_number = ++stream->mappings_count;
	put_mapping(samples, *ret_number, path, frame->build_id);
	return hash_map_put(&stream->mappings, key, *ret_number);
}

static unsigned int kind_of(const struct profile_frame *frame)
{
	static const unsigned int kinds[PROFILE_FRAME_KIND_COUNT] = {
		[PROFILE_NATIVE] = PF_KIND_NATIVE,
		[PROFILE_INLINED] = PF_KIND_NATIVE,
		[PROFILE_PYTHON] = PF_KIND_INTERPRETED,
		[PROFILE_JIT] = PF_KIND_JIT,
		[PROFILE_KERNEL] = PF_KIND_KERNEL};

	return kinds[frame->kind];
}

static void put_place(struct samples *samples, const struct profile_frame *frame, uint64_t file)
{
	struct protobuf *texts = &samples->packets->texts;

	/* Python frames have no address: the frame's id distinguishes them */
	protobuf_u64(texts, PF_FRAME_REL_PC,
		     frame->kind == PROFILE_PYTHON ? frame->trace_frame : frame->address);
	if (file)
		protobuf_u64(texts, PF_FRAME_SOURCE_PATH_IID, file);
	if (file && frame->line)
		protobuf_u64(texts, PF_FRAME_LINE_NUMBER, frame->line);
	if (kind_of(frame))
		protobuf_u64(texts, PF_FRAME_KIND, kind_of(frame));
}

/* Writes a frame after the texts and the mapping that it refers to. */
static int put_frame(struct samples *samples, struct samples_stream *stream, uint64_t number,
		     const struct profile_frame *frame)
{
	struct packets *packets = samples->packets;
	uint64_t mapping;
	int error = number_mapping(samples, stream, frame, &mapping);
	uint64_t function = packets_intern(packets, &stream->functions,
					   PF_INTERNED_DATA_FUNCTION_NAMES, frame->function);
	uint64_t file = packets_intern(packets, &stream->files, PF_INTERNED_DATA_SOURCE_PATHS,
				       frame->file ? frame->file : "");
	size_t begin = protobuf_begin(&packets->texts, PF_INTERNED_DATA_FRAMES);

	protobuf_u64(&packets->texts, PF_FRAME_IID, number);
	if (function)
		protobuf_u64(&packets->texts, PF_FRAME_FUNCTION_NAME_ID, function);
	protobuf_u64(&packets->texts, PF_FRAME_MAPPING_ID, mapping);
	put_place(samples, frame, file);
	protobuf_end(&packets->texts, begin);
	return error;
}

/* Inlined functions share one frame of the trace but are separate frames here. */
static int number_frame(struct samples *samples, struct samples_stream *stream,
			const struct profile_frame *frame, uint64_t *ret_number)
{
	uint64_t first = (uint64_t)frame->trace_frame << 32 | frame->line;
	uint64_t second = (uintptr_t)frame->function;

	*ret_number = pair_map_find(&stream->frames, first, second);
	if (*ret_number != PAIR_MAP_NONE)
		return 0;
	*ret_number = ++stream->frames_count;
	if (pair_map_put(&stream->frames, first, second, stream->frames_count))
		return -ENOMEM;
	return put_frame(samples, stream, *ret_number, frame);
}

static uint64_t number_stack(uint32_t stack)
{
	return stack ? stack : NO_STACK;
}

static void put_callstack(struct samples *samples, uint32_t stack, const uint64_t *numbers,
			  size_t count)
{
	struct protobuf *texts = &samples->packets->texts;
	size_t begin = protobuf_begin(texts, PF_INTERNED_DATA_CALLSTACKS);

	protobuf_u64(texts, PF_CALLSTACK_IID, number_stack(stack));
	for (size_t i = 0; i < count; i++)
		protobuf_u64(texts, PF_CALLSTACK_FRAME_IDS, numbers[i]);
	protobuf_end(texts, begin);
}

/* Writes a stack unless it is already written; its number is the trace's id. */
static int write_stack(struct samples *samples, struct samples_stream *stream, uint32_t stack)
{
	const struct profile_frame *frames;
	size_t count;
	int error;

	if (hash_map_find(&stream->stacks, number_stack(stack)))
		return 0;
	error = profile_frames(&samples->profile, stack, "", &frames, &count);
	if (!error && array_grow(stream->numbers, stream->numbers_capacity, count))
		error = -ENOMEM;
	for (size_t i = 0; !error && i < count; i++)
		error = number_frame(samples, stream, &frames[i], &stream->numbers[i]);
	if (error)
		return error;
	put_callstack(samples, stack, stream->numbers, count);
	return hash_map_put(&stream->stacks, number_stack(stack), 1);
}

/* ---- packets --------------------------------------------------------------------------------- */

/* Perfetto's number of a known event, from which the viewer derives the unit; 0: unknown. */
static unsigned int counter_of(const char *source)
{
	static const struct {
		const char *name;
		unsigned int counter;
	} known[] = {{"cpu-clock", PF_SW_CPU_CLOCK},       {"task-clock", PF_SW_TASK_CLOCK},
		     {"page-faults", PF_SW_PAGE_FAULTS},   {"cycles", PF_HW_CPU_CYCLES},
		     {"ref-cycles", PF_HW_REF_CPU_CYCLES}, {"instructions", PF_HW_INSTRUCTIONS}};

	for (size_t i = 0; i < ARRAY_COUNT(known); i++)
		if (strcmp(source, known[i].name) == 0)
			return known[i].counter;
	return 0;
}

static void begin_sequence(struct samples *samples, const struct samples_stream *stream)
{
	struct protobuf *packet = &samples->packets->packet;
	size_t defaults, samples_defaults, timebase;

	protobuf_u64(packet, PF_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE, 1);
	defaults = protobuf_begin(packet, PF_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
	samples_defaults = protobuf_begin(packet, PF_TRACE_PACKET_DEFAULTS_PERF_SAMPLE_DEFAULTS);
	timebase = protobuf_begin(packet, PF_PERF_SAMPLE_DEFAULTS_TIMEBASE);
	if (counter_of(stream->source))
		protobuf_u64(packet, PF_TIMEBASE_COUNTER, counter_of(stream->source));
	protobuf_text(packet, PF_TIMEBASE_NAME, stream->source);
	protobuf_end(packet, timebase);
	protobuf_end(packet, samples_defaults);
	protobuf_u64(packet, PF_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID,
		     PF_BUILTIN_CLOCK_MONOTONIC);
	protobuf_end(packet, defaults);
}

static unsigned int mode_of(uint32_t mode)
{
	static const unsigned int modes[] = {[MODE_USER] = PF_MODE_USER,
					     [MODE_KERNEL] = PF_MODE_KERNEL,
					     [MODE_HYPERVISOR] = PF_MODE_HYPERVISOR};

	return mode < ARRAY_COUNT(modes) ? modes[mode] : 0;
}

static int count_weight(struct samples_stream *stream, const struct event_cpu_sample *row,
			uint64_t *ret_sum)
{
	*ret_sum = add_saturated(hash_map_get(&stream->counts, row->cpu, 0), row->weight);
	return hash_map_put(&stream->counts, row->cpu, *ret_sum);
}

static void put_sample(struct samples *samples, const struct event_cpu_sample *row, uint64_t sum)
{
	const struct event_thread *thread = model_entity(samples->model, EVENT_THREAD, row->thread);
	uint32_t pid = thread ? model_pid(samples->model, thread->process) : 0;
	struct protobuf *packet = &samples->packets->packet;
	size_t begin = protobuf_begin(packet, PF_TRACE_PACKET_PERF_SAMPLE);

	protobuf_u64(packet, PF_PERF_SAMPLE_CPU, row->cpu);
	protobuf_u64(packet, PF_PERF_SAMPLE_PID, pid & INT32_MAX);
	protobuf_u64(packet, PF_PERF_SAMPLE_TID, thread ? thread->tid : 0);
	protobuf_u64(packet, PF_PERF_SAMPLE_CALLSTACK_IID, number_stack(row->stack));
	if (mode_of(row->mode))
		protobuf_u64(packet, PF_PERF_SAMPLE_CPU_MODE, mode_of(row->mode));
	protobuf_u64(packet, PF_PERF_SAMPLE_TIMEBASE_COUNT, sum);
	protobuf_end(packet, begin);
}

int samples_write(struct samples *samples, const struct event_cpu_sample *row)
{
	struct packets *packets = samples->packets;
	struct samples_stream *stream;
	uint64_t sum = 0;
	bool is_first;
	size_t index = 0;
	int error = find_stream(samples, row->source_string, &index);

	if (error)
		return error;
	stream = &samples->streams[index];
	packets_begin(packets);
	protobuf_u64(&packets->packet, PF_TRACE_PACKET_TIMESTAMP, row->time);
	is_first = !stream->is_begun;
	if (is_first)
		begin_sequence(samples, stream);
	stream->is_begun = true;
	error = write_stack(samples, stream, row->stack);
	if (!error)
		error = count_weight(stream, row, &sum);
	if (error)
		return error;
	put_sample(samples, row, sum);
	return packets_end_of(packets, FIRST_SEQUENCE + index, is_first);
}

int samples_name(struct samples *samples, uint32_t stack, const char **ret_function)
{
	const struct frame_name *names, *own;
	size_t count = 0;
	int error = stack ? frames_of_stack(samples->profile.frames, stack, &names, &count) : 0;

	own = count ? frames_own(samples->profile.frames, names, count) : NULL;
	*ret_function = own ? own->function : NULL;
	return error;
}
