/* SPDX-License-Identifier: MIT
 *
 * export/speedscope.c - export speedscope's own format: profiles of devices, threads and queues
 *
 * Runs in:  our own process
 * Gets:     a model and filters
 * Gives:    one JSON document
 * Owns:     frames, rows by profile; the queues' events in a temporary file
 * Fails:    -ENOMEM, errors of the reader or the temporary file; -EPIPE ends it silently
 * Why lanes: in speedscope spans must nest, but commands of a queue may overlap. An overlapping
 *           command goes into the next profile of its queue (a lane), so that `at`, the time of an
 *           event, never decreases within a profile.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/filter.h"
#include "analyze/join/commands.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "base/array.h"
#include "base/file/stream.h"
#include "base/hash.h"
#include "base/json.h"
#include "export/common/multi_stream.h"
#include "export/common/profile.h"
#include "export/formats.h"

#define NO_LANE SIZE_MAX

struct frame {
	uint32_t name, file; /* strings */
	uint32_t line;
};

struct row {
	size_t first, count; /* in the pool of frames */
	uint64_t weight;
	uint32_t group;
};

/* A sampled profile. */
struct group {
	uint32_t name; /* string */
	const char *unit;
};

/* An evented profile: commands of a queue, none of which overlap. */
struct lane {
	uint32_t queue, number; /* id of the queue; number of the lane, from 1 */
	int64_t end;            /* end of the last command */
	size_t next;            /* next lane of the queue; NO_LANE: none */
};

struct speedscope {
	struct profile profile;
	struct filter filter;
	FILE *file;
	struct json_writer json;
	struct string_table strings, frame_keys;
	struct frame *frames; /* by index of frame_keys - 1 */
	size_t frames_capacity;
	struct string_table group_keys;
	struct group *groups;
	size_t groups_capacity;
	struct row *rows;
	size_t rows_count, rows_capacity;
	uint32_t *pool;
	size_t pool_count, pool_capacity;
	struct lane *lanes;
	size_t lanes_count, lanes_capacity;
	struct hash_map queues; /* id -> its first lane */
	struct spool *spool;
	int64_t begin, end; /* time span of the window and its commands */
	uint64_t commands;
};

static int string_of(struct speedscope *speedscope, const char *text, uint32_t *ret_id)
{
	*ret_id = string_table_add(&speedscope->strings, text, strlen(text));
	return *ret_id || !*text ? 0 : -ENOMEM;
}

static int frame_of(struct speedscope *speedscope, const char *name, const char *file,
		    uint32_t line, uint32_t *ret_index)
{
	struct frame frame = {.line = line};
	uint32_t id;

	if (string_of(speedscope, name, &frame.name) ||
	    string_of(speedscope, file ? file : "", &frame.file))
		return -ENOMEM;
	id = string_table_add(&speedscope->frame_keys, &frame, sizeof(frame));
	if (!id || array_grow(speedscope->frames, speedscope->frames_capacity, id))
		return -ENOMEM;
	speedscope->frames[id - 1] = frame;
	*ret_index = id - 1;
	return 0;
}

/* ---- sampled profiles: one per device, thread and source ------------------------------------- */

static void name_thread(const struct speedscope *speedscope, const struct profile_row *row,
			struct string_builder *name)
{
	const struct profile *profile = &speedscope->profile;
	const char *thread = profile_thread_name(profile, row);

	string_builder_appendf(name, "%s %" PRIu32 ", thread %" PRIu32 "%s%s: %s",
			       profile_comm(profile, row), profile_pid(profile, row),
			       profile_tid(profile, row), *thread ? " " : "", thread, row->source);
}

static void name_group(const struct speedscope *speedscope, const struct profile_row *row,
		       struct string_builder *name)
{
	const char *device = row->device ? row->device->name : "[unknown device]";

	if (row->kind == PROFILE_CPU_SAMPLE)
		name_thread(speedscope, row, name);
	else if (row->kind == PROFILE_EXECUTION)
		string_builder_appendf(name, "%s: device time", device);
	else
		string_builder_appendf(name, "%s: instruction samples", device);
}

static int make_group(struct speedscope *speedscope, const struct profile_row *row, uint32_t id)
{
	bool is_ns = row->kind == PROFILE_EXECUTION ||
		     (row->kind == PROFILE_CPU_SAMPLE && strcmp(row->unit, "ns") == 0);
	struct group group = {.unit = is_ns ? "nanoseconds" : "none"};
	struct string_builder name = {0};
	int error;

	name_group(speedscope, row, &name);
	error = name.error ? name.error
			   : string_of(speedscope, string_builder_text(&name), &group.name);
	string_builder_fini(&name);
	if (error || array_grow(speedscope->groups, speedscope->groups_capacity, id))
		return -ENOMEM;
	speedscope->groups[id - 1] = group;
	return 0;
}

static int group_of(struct speedscope *speedscope, const struct profile_row *row,
		    uint32_t *ret_group)
{
	uint64_t key[3] = {row->kind};
	uint32_t before = speedscope->group_keys.count, source;

	if (row->kind == PROFILE_CPU_SAMPLE) {
		if (string_of(speedscope, row->source, &source))
			return -ENOMEM;
		key[1] = (uint64_t)row->process << 32 | row->thread;
		key[2] = source;
	} else if (row->device) {
		key[1] = (uint64_t)(row->device - speedscope->profile.analysis->devices) + 1;
	}
	*ret_group = string_table_add(&speedscope->group_keys, key, sizeof(key));
	if (!*ret_group)
		return -ENOMEM;
	return *ret_group > before ? make_group(speedscope, row, *ret_group) : 0;
}

/* speedscope adds up frames that are equal in name, file and line: the line of a call would make
 * several functions of one. An instruction keeps its line. */
static uint32_t line_of(const struct profile_frame *frame)
{
	return frame->kind == PROFILE_DEVICE_INSTRUCTION ? frame->line : frame->first_line;
}

static int on_row(void *context, const struct profile_row *row)
{
	struct speedscope *speedscope = context;
	struct row kept = {.first = speedscope->pool_count,
			   .count = row->frames_count,
			   .weight = row->kind == PROFILE_INSTRUCTION ? row->count : row->value};
	int error = group_of(speedscope, row, &kept.group);

	if (!error &&
	    (array_grow(speedscope->pool, speedscope->pool_capacity, kept.first + kept.count) ||
	     array_grow(speedscope->rows, speedscope->rows_capacity, speedscope->rows_count + 1)))
		error = -ENOMEM;
	for (size_t i = 0; i < kept.count && !error; i++)
		error = frame_of(speedscope, row->frames[i].function, row->frames[i].file,
				 line_of(&row->frames[i]), &speedscope->pool[kept.first + i]);
	if (error)
		return error;
	speedscope->pool_count += kept.count;
	speedscope->rows[speedscope->rows_count++] = kept;
	return 0;
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static void begin_profile(struct speedscope *speedscope, const char *type, const char *name,
			  const char *unit, int64_t begin, uint64_t end)
{
	struct json_writer *json = &speedscope->json;

	json_newline(json);
	json_object_begin(json);
	json_pair_text(json, "type", type);
	json_pair_text(json, "name", name);
	json_pair_text(json, "unit", unit);
	json_key(json, "startValue");
	json_i64(json, begin);
	json_pair_u64(json, "endValue", end);
}

static void write_weights(struct speedscope *speedscope, const struct row *rows, size_t count)
{
	struct json_writer *json = &speedscope->json;

	json_newline(json);
	json_key(json, "weights");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		json_u64(json, rows[i].weight);
	json_array_end(json);
}

static void write_sampled(struct speedscope *speedscope, const struct row *rows, size_t count)
{
	const struct group *group = &speedscope->groups[rows->group - 1];
	struct json_writer *json = &speedscope->json;
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += rows[i].weight;
	begin_profile(speedscope, "sampled",
		      string_table_text(&speedscope->strings, group->name, NULL), group->unit, 0,
		      sum);
	json_newline(json);
	json_key(json, "samples");
	json_array_begin(json);
	for (size_t i = 0; i < count; i++) {
		json_newline(json);
		json_array_begin(json);
		for (size_t k = 0; k < rows[i].count; k++)
			json_u64(json, speedscope->pool[rows[i].first + k]);
		json_array_end(json);
	}
	json_array_end(json);
	write_weights(speedscope, rows, count);
	json_object_end(json);
}

static void write_all_sampled(struct speedscope *speedscope)
{
	const struct row *rows = speedscope->rows;
	size_t count = speedscope->rows_count;

	if (count)
		qsort(speedscope->rows, count, sizeof(*rows), compare_rows);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && rows[end].group == rows[i].group; end++)
			;
		write_sampled(speedscope, &rows[i], end - i);
	}
}

/* ---- evented profiles: one per lane of a queue ----------------------------------------------- */

static int add_lane(struct speedscope *speedscope, uint32_t queue, size_t last, size_t *ret_index)
{
	size_t index = speedscope->lanes_count;
	struct lane lane = {.queue = queue, .number = 1, .next = NO_LANE};

	if (array_grow(speedscope->lanes, speedscope->lanes_capacity, index + 1))
		return -ENOMEM;
	if (last == NO_LANE && hash_map_put(&speedscope->queues, queue, index))
		return -ENOMEM;
	if (last != NO_LANE) {
		lane.number = speedscope->lanes[last].number + 1;
		speedscope->lanes[last].next = index;
	}
	speedscope->lanes[index] = lane;
	speedscope->lanes_count++;
	*ret_index = index;
	return 0;
}

/* Finds the first free lane of the queue; adds one if all are busy. */
static int find_lane(struct speedscope *speedscope, uint32_t queue, int64_t begin,
		     size_t *ret_index)
{
	size_t index = hash_map_get(&speedscope->queues, queue, NO_LANE), last = NO_LANE;

	for (; index != NO_LANE; index = speedscope->lanes[index].next) {
		if (speedscope->lanes[index].end <= begin) {
			*ret_index = index;
			return 0;
		}
		last = index;
	}
	return add_lane(speedscope, queue, last, ret_index);
}

static bool is_wanted(const struct speedscope *speedscope, const struct command *command)
{
	const struct filter *filter = &speedscope->filter;

	return command_is_in_account(command) &&
	       filter_has_time(filter, command->execution->started) &&
	       filter_has_process(filter, command->process) &&
	       filter_has_kind(filter, EVENT_EXECUTION);
}

static int write_span(struct speedscope *speedscope, size_t index, uint32_t frame, int64_t from,
		      int64_t to)
{
	char text[160];
	int size = snprintf(text, sizeof(text),
			    "%s\n{\"type\":\"O\",\"frame\":%" PRIu32 ",\"at\":%" PRId64
			    "},{\"type\":\"C\",\"frame\":%" PRIu32 ",\"at\":%" PRId64 "}",
			    spool_is_empty(speedscope->spool, index) ? "" : ",", frame, from, frame,
			    to);

	return spool_write(speedscope->spool, index, text, (size_t)size);
}

static int on_command(void *context, const struct command *command)
{
	struct speedscope *speedscope = context;
	const struct event_execution *row = command->execution;
	int64_t from, to;
	uint32_t frame;
	size_t index;
	int error;

	if (!is_wanted(speedscope, command))
		return 0;
	from = (int64_t)(row->started - speedscope->filter.begin_ns);
	if (__builtin_add_overflow(from, (int64_t)(row->ended - row->started), &to))
		to = INT64_MAX;
	error = find_lane(speedscope, command->queue, from, &index);
	if (!error)
		error = frame_of(speedscope, command_name(speedscope->profile.model, command), NULL,
				 0, &frame);
	if (error)
		return error;
	speedscope->lanes[index].end = to;
	speedscope->begin = from < speedscope->begin ? from : speedscope->begin;
	speedscope->end = to > speedscope->end ? to : speedscope->end;
	speedscope->commands++;
	return write_span(speedscope, index, frame, from, to);
}

static void name_lane(const struct speedscope *speedscope, const struct lane *lane,
		      struct string_builder *name)
{
	const struct model *model = speedscope->profile.model;
	const struct event_queue *queue = model_entity(model, EVENT_QUEUE, lane->queue);
	const struct event_device *device =
		queue ? model_entity(model, EVENT_DEVICE, queue->device) : NULL;

	string_builder_appendf(
		name, "%s: queue %" PRIu32,
		model_text(model, device ? device->name_string : 0, "[unknown device]"),
		lane->queue);
	if (lane->number > 1)
		string_builder_appendf(name, ", lane %" PRIu32, lane->number);
}

static int write_evented(struct speedscope *speedscope, size_t index)
{
	struct json_writer *json = &speedscope->json;
	struct string_builder name = {0};
	int error;

	name_lane(speedscope, &speedscope->lanes[index], &name);
	begin_profile(speedscope, "evented", string_builder_text(&name), "nanoseconds",
		      speedscope->begin, (uint64_t)speedscope->end);
	error = name.error;
	string_builder_fini(&name);
	json_key(json, "events");
	json_array_begin(json);
	if (!error)
		error = spool_copy(speedscope->spool, index, speedscope->file);
	json_array_end(json);
	json_object_end(json);
	return error;
}

static int compare_lanes(const void *left, const void *right, void *context)
{
	const struct lane *lanes = context;
	const struct lane *a = &lanes[*(const size_t *)left], *b = &lanes[*(const size_t *)right];

	if (a->queue != b->queue)
		return a->queue < b->queue ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static int write_all_evented(struct speedscope *speedscope)
{
	size_t count = speedscope->lanes_count;
	size_t *order = calloc(count + 1, sizeof(*order));
	int error = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !error; i++)
		order[i] = i;
	if (!error)
		qsort_r(order, count, sizeof(*order), compare_lanes, speedscope->lanes);
	for (size_t i = 0; i < count && !error; i++)
		error = write_evented(speedscope, order[i]);
	free(order);
	return error;
}

/* ---- the document ---------------------------------------------------------------------------- */

static void append_line(void *context, const char *line)
{
	struct string_builder *title = context;

	string_builder_appendf(title, "%s%s", title->length ? "; " : "", line);
}

static void write_head(struct speedscope *speedscope)
{
	struct json_writer *json = &speedscope->json;
	struct string_builder text = {0};

	json_object_begin(json);
	json_pair_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	string_builder_appendf(&text, "duet@%s", speedscope->filter.options->version);
	json_pair_text(json, "exporter", string_builder_text(&text));
	string_builder_clear(&text);
	profile_describe(&speedscope->profile, append_line, &text);
	json_pair_text(json, "name", string_builder_text(&text));
	string_builder_fini(&text);
	json_pair_u64(json, "activeProfileIndex", 0);
}

static void write_frames(struct speedscope *speedscope)
{
	struct json_writer *json = &speedscope->json;

	json_newline(json);
	json_key(json, "shared");
	json_object_begin(json);
	json_key(json, "frames");
	json_array_begin(json);
	for (uint32_t i = 0; i < speedscope->frame_keys.count; i++) {
		const struct frame *frame = &speedscope->frames[i];

		json_newline(json);
		json_object_begin(json);
		json_pair_text(json, "name",
			       string_table_text(&speedscope->strings, frame->name, NULL));
		if (frame->file)
			json_pair_text(json, "file",
				       string_table_text(&speedscope->strings, frame->file, NULL));
		if (frame->line)
			json_pair_u64(json, "line", frame->line);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static int write_document(struct speedscope *speedscope)
{
	struct json_writer *json = &speedscope->json;
	int error;

	write_head(speedscope);
	json_newline(json);
	json_key(json, "profiles");
	json_array_begin(json);
	write_all_sampled(speedscope);
	error = write_all_evented(speedscope);
	/* speedscope refuses a file without profiles */
	if (!speedscope->rows_count && !speedscope->lanes_count) {
		begin_profile(speedscope, "evented", "nothing was executed or sampled",
			      "nanoseconds", 0, 0);
		json_key(json, "events");
		json_array_begin(json);
		json_array_end(json);
		json_object_end(json);
	}
	json_array_end(json);
	write_frames(speedscope);
	json_object_end(json);
	putc('\n', speedscope->file);
	if (error || json_error(json) == -ENOMEM)
		return error ? error : -ENOMEM;
	return stream_flush(speedscope->file);
}

static int gather_rows(struct speedscope *speedscope, const struct model *model,
		       const struct output_options *options)
{
	const struct commands_visitor visitor = {.on_command = on_command, .in_order = true};
	int error = profile_open(&speedscope->profile, model, options);

	if (!error)
		error = filter_open(&speedscope->filter, model, options);
	if (!error)
		error = spool_new(&speedscope->spool);
	if (!error) {
		const struct analysis *analysis = speedscope->profile.analysis;

		speedscope->begin = (int64_t)(analysis->from_ns - analysis->begin_ns);
		speedscope->end = (int64_t)(analysis->to_ns - analysis->begin_ns);
	}
	if (!error)
		error = profile_each(&speedscope->profile, on_row, speedscope);
	return error ? error : commands_each(model, &visitor, speedscope);
}

static void speedscope_fini(struct speedscope *speedscope)
{
	profile_close(&speedscope->profile);
	string_table_fini(&speedscope->strings);
	string_table_fini(&speedscope->frame_keys);
	string_table_fini(&speedscope->group_keys);
	hash_map_fini(&speedscope->queues);
	spool_free(speedscope->spool);
	free(speedscope->frames);
	free(speedscope->groups);
	free(speedscope->rows);
	free(speedscope->pool);
	free(speedscope->lanes);
}

static int write_speedscope(const struct model *model, const struct output_options *options,
			    FILE *file, uint64_t *ret_rows)
{
	struct speedscope speedscope = {.file = file};
	int error;

	json_init_file(&speedscope.json, file);
	error = gather_rows(&speedscope, model, options);
	if (!error)
		error = write_document(&speedscope);
	*ret_rows = speedscope.rows_count + speedscope.commands;
	speedscope_fini(&speedscope);
	return error;
}

const struct exporter export_speedscope = {
	.name = "speedscope",
	.help = "profiles for speedscope.app: device time, CPU samples of each thread, commands of "
		"each queue",
	.kinds = PROFILE_KINDS,
	.write = write_speedscope,
};
