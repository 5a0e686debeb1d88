/* SPDX-License-Identifier: MIT
 *
 * export/duet_pb.c - export metrics as three files of length-delimited messages
 * (proto/duet_pb.proto)
 *
 * Runs in:  our own process
 * Gets:     a model and filters
 * Gives:    a folder: metrics of GPUs, of the machine, of disks
 * Owns:     the message of each file, the readings of the current sample
 * Fails:    -ENOMEM, -errno of a file, errors of the reader
 * Why batches of 512 samples: a reader needs memory for one batch only. Each message repeats 60
 *           bytes so that it can be read alone; that is one byte in five hundred.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/entity_index.h"
#include "analyze/filter.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "analyze/text/row_names.h"
#include "analyze/text/units.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/file/output_file.h"
#include "base/file/stream.h"
#include "base/pair_map.h"
#include "base/string.h"
#include "export/common/protobuf.h"
#include "export/formats.h"
#include "duet_pb.numbers.h"

enum { BATCH_SAMPLES = 512, BATCH_REGIONS = 4096 };

enum pb_file { FILE_GPU, FILE_SYSTEM, FILE_DISK, FILE_COUNT };
static const char *const file_names[FILE_COUNT] = {
	[FILE_GPU] = "gpu_metrics.pb",
	[FILE_SYSTEM] = "system_metrics.pb",
	[FILE_DISK] = "disk_metrics.pb",
};

/* The key that distinguishes the parts of a sample. */
enum pb_key { KEY_NONE, KEY_PROCESS, KEY_INSTANCE, KEY_DEVICE };
enum pb_shown { SHOWN_LEVEL, SHOWN_PERCENT, SHOWN_PER_SECOND };

/* A metric with a field of its own in the schema. */
struct pb_field {
	const char *metric;
	enum pb_file file;
	unsigned int part, number;
	enum pb_key key;
	enum pb_shown shown;
};

#define SYSTEM(part, field, key, shown) \
	FILE_SYSTEM, DUET_PB_SYSTEM_SAMPLE_##part, DUET_PB_##field, key, shown
#define DISK(part, field, key, shown) \
	FILE_DISK, DUET_PB_DISK_SAMPLE_##part, DUET_PB_##field, key, shown
static const struct pb_field fields[] = {
	/* The field of the first row also writes the counted time, the base of the part's
	 * percentages. */
	{"cpu.busy", SYSTEM(CPU, CPU_METRICS_TOTAL_UTILIZATION_PCT, KEY_NONE, SHOWN_PERCENT)},
	{"cpu.user", SYSTEM(CPU, CPU_METRICS_USER_PCT, KEY_NONE, SHOWN_PERCENT)},
	{"cpu.system", SYSTEM(CPU, CPU_METRICS_SYSTEM_PCT, KEY_NONE, SHOWN_PERCENT)},
	{"cpu.iowait", SYSTEM(CPU, CPU_METRICS_IOWAIT_PCT, KEY_NONE, SHOWN_PERCENT)},
	{"memory.total", SYSTEM(MEMORY, MEMORY_METRICS_TOTAL_BYTES, KEY_NONE, SHOWN_LEVEL)},
	{"memory.used", SYSTEM(MEMORY, MEMORY_METRICS_USED_BYTES, KEY_NONE, SHOWN_LEVEL)},
	{"memory.available", SYSTEM(MEMORY, MEMORY_METRICS_AVAILABLE_BYTES, KEY_NONE, SHOWN_LEVEL)},
	{"memory.buffers", SYSTEM(MEMORY, MEMORY_METRICS_BUFFERS_BYTES, KEY_NONE, SHOWN_LEVEL)},
	{"memory.cached", SYSTEM(MEMORY, MEMORY_METRICS_CACHED_BYTES, KEY_NONE, SHOWN_LEVEL)},
	{"process.cpu", SYSTEM(PROCESSES, PROCESS_METRICS_CPU_PCT, KEY_PROCESS, SHOWN_PERCENT)},
	{"process.memory.rss",
	 SYSTEM(PROCESSES, PROCESS_METRICS_RSS_BYTES, KEY_PROCESS, SHOWN_LEVEL)},
	{"process.memory.virtual",
	 SYSTEM(PROCESSES, PROCESS_METRICS_VMS_BYTES, KEY_PROCESS, SHOWN_LEVEL)},
	{"process.memory.shared",
	 SYSTEM(PROCESSES, PROCESS_METRICS_SHARED_BYTES, KEY_PROCESS, SHOWN_LEVEL)},
	{"disk.read",
	 DISK(DEVICES, DISK_METRICS_READ_BYTES_PER_SEC, KEY_INSTANCE, SHOWN_PER_SECOND)},
	{"disk.write",
	 DISK(DEVICES, DISK_METRICS_WRITE_BYTES_PER_SEC, KEY_INSTANCE, SHOWN_PER_SECOND)},
	{"disk.read.inflight",
	 DISK(DEVICES, DISK_METRICS_READ_QUEUE_DEPTH, KEY_INSTANCE, SHOWN_LEVEL)},
	{"disk.write.inflight",
	 DISK(DEVICES, DISK_METRICS_WRITE_QUEUE_DEPTH, KEY_INSTANCE, SHOWN_LEVEL)},
	{"process.io.read",
	 DISK(PROCESSES, PROCESS_DISK_METRICS_READ_BYTES_PER_SEC, KEY_PROCESS, SHOWN_PER_SECOND)},
	{"process.io.write",
	 DISK(PROCESSES, PROCESS_DISK_METRICS_WRITE_BYTES_PER_SEC, KEY_PROCESS, SHOWN_PER_SECOND)},
};
static const struct pb_field gpu_field = {
	.file = FILE_GPU,
	.part = DUET_PB_GPU_SAMPLE_DEVICES,
	.number = DUET_PB_GPU_DEVICE_METRICS_METRICS,
	.key = KEY_DEVICE,
	.shown = SHOWN_LEVEL,
};

/* In all three files the first fields of traces, samples and parts have the same numbers, so all
 * are written with those of the GPU file. */
#define SAME_IN_ALL(field)                                                  \
	_Static_assert(DUET_PB_GPU_##field == DUET_PB_SYSTEM_##field &&     \
			       DUET_PB_GPU_##field == DUET_PB_DISK_##field, \
		       #field)
SAME_IN_ALL(METRICS_TRACE_RECORDING);
SAME_IN_ALL(METRICS_TRACE_SAMPLES);
SAME_IN_ALL(METRICS_TRACE_REGIONS);
SAME_IN_ALL(SAMPLE_TIMESTAMP_NS);
SAME_IN_ALL(SAMPLE_INTERVAL_NS);
_Static_assert(DUET_PB_GPU_DEVICE_METRICS_DEVICE == DUET_PB_DISK_METRICS_DEVICE &&
		       DUET_PB_GPU_DEVICE_METRICS_DEVICE == DUET_PB_PROCESS_METRICS_PID &&
		       DUET_PB_GPU_DEVICE_METRICS_DEVICE == DUET_PB_PROCESS_DISK_METRICS_PID,
	       "first field of a part");

/* A reading of the current sample. */
struct reading {
	const struct pb_field *field;
	const struct event_series *series;
	struct event_counter row;
};

struct output {
	FILE *file;
	struct protobuf recording; /* the first fields of every message */
	struct protobuf message;
	size_t samples; /* in the message */
};

struct pb {
	struct filter filter;
	struct output_folder *folder;
	struct output outputs[FILE_COUNT];
	const struct pb_field **of_series; /* by index; NULL: not exported */
	struct entity_index series;
	struct pair_map tracked;
	struct reading *readings; /* readings with the same start and end */
	size_t readings_count, readings_capacity;
	uint64_t *latest; /* by series: number of the sample with its latest reading, from 1 */
	uint64_t sample;
	uint64_t rows;
};

/* ---- fields of series ---- */

static bool has_key(const struct event_series *series, enum pb_key key)
{
	return !series->cpu && !series->device && (series->process != 0) == (key == KEY_PROCESS) &&
	       (series->instance_string != 0) == (key == KEY_INSTANCE);
}

/* Whether the series has the type that its field shows. */
static bool has_type(const struct event_series *series, const struct pb_field *field)
{
	switch (field->shown) {
	case SHOWN_LEVEL:
		return series->type == SERIES_LEVEL;
	case SHOWN_PER_SECOND:
		return series->type == SERIES_AMOUNT;
	default:
		return series->type != SERIES_LEVEL;
	}
}

static const struct pb_field *field_of(const struct pb *pb, const struct event_series *series)
{
	const char *metric = model_text(pb->filter.model, series->metric_string, "");

	if (series->device)
		return &gpu_field;
	for (size_t i = 0; i < ARRAY_COUNT(fields); i++) {
		const struct pb_field *field = &fields[i];

		if (strcmp(field->metric, metric) == 0 && has_key(series, field->key) &&
		    has_type(series, field))
			return field;
	}
	return NULL;
}

static int find_fields(struct pb *pb)
{
	entity_index_init(&pb->series, pb->filter.model->reader, EVENT_SERIES);
	pb->of_series = calloc(pb->series.count + 1, sizeof(*pb->of_series));
	pb->latest = calloc(pb->series.count + 1, sizeof(*pb->latest));
	if (!pb->of_series || !pb->latest)
		return -ENOMEM;
	for (size_t i = 0; i < pb->series.count; i++)
		pb->of_series[i] = field_of(pb, entity_index_row(&pb->series, i));
	return 0;
}

/* ---- first fields of every message ---- */

static const char *device_key(const struct pb *pb, uint32_t device)
{
	const struct event_device *row = model_entity(pb->filter.model, EVENT_DEVICE, device);

	return row ? model_text(pb->filter.model, row->key_string, "") : "";
}

/* Writes the process or device of a series in a field for numbers or in one for texts. */
static void put_key(const struct pb *pb, struct protobuf *message, const struct pb_field *field,
		    const struct event_series *series, unsigned int pids, unsigned int devices)
{
	switch (field->key) {
	case KEY_PROCESS:
		protobuf_u64(message, pids, model_pid(pb->filter.model, series->process));
		break;
	case KEY_INSTANCE:
		protobuf_text(message, devices,
			      model_text(pb->filter.model, series->instance_string, ""));
		break;
	case KEY_DEVICE:
		protobuf_text(message, devices, device_key(pb, series->device));
		break;
	default:
		break;
	}
}

/* Sets *ret_is_new if the process or device of a series is not yet described in the file. */
static int mark_tracked(struct pb *pb, size_t index, bool *ret_is_new)
{
	const struct event_series *row = entity_index_row(&pb->series, index);
	const struct pb_field *field = pb->of_series[index];
	uint32_t id = field->key == KEY_PROCESS    ? row->process
		      : field->key == KEY_INSTANCE ? row->instance_string
						   : row->device;
	uint64_t first = (uint64_t)field->key << 32 | id;

	*ret_is_new = pair_map_find(&pb->tracked, first, field->file) == PAIR_MAP_NONE;
	return *ret_is_new ? pair_map_put(&pb->tracked, first, field->file, 0) : 0;
}

static int put_tracked(struct pb *pb, struct protobuf *message, size_t index)
{
	const struct event_series *row = entity_index_row(&pb->series, index);
	bool is_new;
	int error = mark_tracked(pb, index, &is_new);

	if (error || !is_new)
		return error;
	put_key(pb, message, pb->of_series[index], row, DUET_PB_RECORDING_TRACKED_PIDS,
		DUET_PB_RECORDING_TRACKED_DEVICES);
	return 0;
}

static uint64_t shortest_interval(const struct pb *pb, enum pb_file file)
{
	uint64_t shortest = 0;

	for (size_t i = 0; i < pb->series.count; i++) {
		const struct event_series *row = entity_index_row(&pb->series, i);

		if (pb->of_series[i] && pb->of_series[i]->file == file && row->interval_ns &&
		    (!shortest || row->interval_ns < shortest))
			shortest = row->interval_ns;
	}
	return shortest;
}

static int put_recording(struct pb *pb, enum pb_file file)
{
	const struct model *model = pb->filter.model;
	struct protobuf *message = &pb->outputs[file].recording;
	const struct event_host *host;
	const void *rows = NULL;
	uint64_t realtime_ns;
	size_t begin = protobuf_begin(message, DUET_PB_GPU_METRICS_TRACE_RECORDING);
	int error = 0;

	host = model_entities(model, EVENT_HOST, &rows) ? rows : NULL;
	if (host)
		protobuf_text(message, DUET_PB_RECORDING_HOSTNAME,
			      model_text(model, host->name_string, ""));
	protobuf_u64(message, DUET_PB_RECORDING_INTERVAL_NS, shortest_interval(pb, file));
	for (size_t i = 0; i < pb->series.count && !error; i++)
		if (pb->of_series[i] && pb->of_series[i]->file == file)
			error = put_tracked(pb, message, i);
	protobuf_u64(message, DUET_PB_RECORDING_BEGIN_NS, pb->filter.begin_ns);
	if (model_wall_clock(model, pb->filter.begin_ns, &realtime_ns))
		protobuf_u64(message, DUET_PB_RECORDING_BEGIN_REALTIME_NS, realtime_ns);
	if (host && host->end_ns)
		protobuf_u64(message, DUET_PB_RECORDING_END_NS, host->end_ns);
	protobuf_end(message, begin);
	return error;
}

/* ---- files ---- */

static int open_file(struct pb *pb, enum pb_file file)
{
	int error;

	pb->outputs[file].file = output_folder_stream(pb->folder, file_names[file], &error);
	return error ? error : put_recording(pb, file);
}

/* Writes a batch: called when it is full and at the end of the export. */
static int write_message(struct output *output)
{
	uint8_t length[MAX_VARINT];
	size_t size = output->recording.size + output->message.size;
	int error = output->recording.error ? output->recording.error : output->message.error;

	if (error)
		return error;
	fwrite(length, 1, (size_t)(varint_write(length, size) - length), output->file);
	protobuf_write(&output->recording, output->file);
	protobuf_write(&output->message, output->file);
	protobuf_clear(&output->message);
	output->samples = 0;
	return ferror(output->file) ? stream_flush(output->file) : 0;
}

static int close_file(struct output *output)
{
	int error = 0;

	if (!output->file)
		return 0;
	error = stream_flush(output->file);
	if (fclose(output->file) != 0 && !error)
		error = error_set(-errno, "write: %s", strerror(errno));
	output->file = NULL;
	return error;
}

/* ---- samples ---- */

static int compare_numbers(uint64_t left, uint64_t right)
{
	return (left > right) - (left < right);
}

/* Sorts readings by file, part and entity, so that the fields of a part follow each other. */
static int compare_readings(const void *left, const void *right)
{
	const struct reading *a = left, *b = right;
	const uint64_t keys[][2] = {
		{a->field->file, b->field->file},
		{a->field->part, b->field->part},
		{a->series->process, b->series->process},
		{a->series->device, b->series->device},
		/* in device parts the instance belongs to the metric's name */
		{a->series->device ? 0 : a->series->instance_string,
		 b->series->device ? 0 : b->series->instance_string},
		{a->field->number, b->field->number},
		{a->series->id, b->series->id},
	};
	int order = 0;

	for (size_t i = 0; i < ARRAY_COUNT(keys) && !order; i++)
		order = compare_numbers(keys[i][0], keys[i][1]);
	return order;
}

static bool is_same_part(const struct reading *a, const struct reading *b)
{
	return a->field->file == b->field->file && a->field->part == b->field->part &&
	       a->series->process == b->series->process && a->series->device == b->series->device &&
	       (a->series->device || a->series->instance_string == b->series->instance_string);
}

static double value_of(const struct pb *pb, const struct reading *reading)
{
	struct unit_shown unit = unit_shown_of(pb->filter.model, reading->series);

	if (reading->field->shown == SHOWN_PER_SECOND)
		unit.factor = 1;
	return unit_value_of(&unit, reading->series->type, &reading->row);
}

static void put_gpu_metric(const struct pb *pb, struct protobuf *message,
			   const struct reading *reading)
{
	struct unit_shown unit = unit_shown_of(pb->filter.model, reading->series);
	size_t begin = protobuf_begin(message, DUET_PB_GPU_DEVICE_METRICS_METRICS);
	struct string_builder name = {0};

	row_name_series(pb->filter.model, reading->series, &name);
	protobuf_text(message, DUET_PB_GPU_METRIC_NAME, string_builder_text(&name));
	protobuf_text(message, DUET_PB_GPU_METRIC_UNIT, unit.text);
	protobuf_double(message, DUET_PB_GPU_METRIC_VALUE, value_of(pb, reading));
	string_builder_fini(&name);
	protobuf_end(message, begin);
}

static void put_value(const struct pb *pb, struct protobuf *message, const struct reading *reading)
{
	int64_t value = reading->row.value;

	if (reading->field->key == KEY_DEVICE)
		put_gpu_metric(pb, message, reading);
	else if (reading->field->shown == SHOWN_LEVEL)
		protobuf_u64(message, reading->field->number, value < 0 ? 0 : (uint64_t)value);
	else
		protobuf_double(message, reading->field->number, value_of(pb, reading));
	if (reading->field == &fields[0] && reading->row.of)
		protobuf_u64(message, DUET_PB_CPU_METRICS_COUNTED_NS, reading->row.of);
}

/* Writes a sample with the readings [first, end), which belong to one file. */
static int put_sample(struct pb *pb, size_t first, size_t end)
{
	const struct reading *readings = pb->readings;
	struct output *output = &pb->outputs[readings[first].field->file];
	struct protobuf *message = &output->message;
	size_t sample = protobuf_begin(message, DUET_PB_GPU_METRICS_TRACE_SAMPLES);

	protobuf_u64(message, DUET_PB_GPU_SAMPLE_TIMESTAMP_NS, readings[first].row.end);
	protobuf_u64(message, DUET_PB_GPU_SAMPLE_INTERVAL_NS,
		     readings[first].row.end - readings[first].row.begin);
	for (size_t i = first; i < end;) {
		size_t part = protobuf_begin(message, readings[i].field->part), of = i;

		put_key(pb, message, readings[of].field, readings[of].series,
			DUET_PB_GPU_DEVICE_METRICS_DEVICE, DUET_PB_GPU_DEVICE_METRICS_DEVICE);
		for (; i < end && is_same_part(&readings[of], &readings[i]); i++)
			put_value(pb, message, &readings[i]);
		protobuf_end(message, part);
	}
	protobuf_end(message, sample);
	return ++output->samples == BATCH_SAMPLES ? write_message(output) : message->error;
}

static int put_samples(struct pb *pb)
{
	size_t first = 0;
	int error = 0;

	if (pb->readings_count)
		qsort(pb->readings, pb->readings_count, sizeof(*pb->readings), compare_readings);
	for (size_t i = 0; i < pb->readings_count && !error; i++) {
		bool is_last = i + 1 == pb->readings_count ||
			       pb->readings[i + 1].field->file != pb->readings[i].field->file;

		if (!is_last)
			continue;
		error = put_sample(pb, first, i + 1);
		first = i + 1;
	}
	pb->readings_count = 0;
	pb->sample++;
	return error;
}

/* Whether a reading starts a new sample: its time differs, or its series already has a reading at
 * that time. */
static bool is_new_sample(const struct pb *pb, const struct event_counter *row, size_t index)
{
	const struct event_counter *first;

	if (!pb->readings_count)
		return false;
	first = &pb->readings[0].row;
	return first->begin != row->begin || first->end != row->end ||
	       pb->latest[index] == pb->sample;
}

/* Levels with a field of their own are never negative; a negative value was not read. */
static bool says_something(const struct pb *pb, const struct reading *reading)
{
	if (!reading->series || !reading->field || isnan(value_of(pb, reading)))
		return false;
	return reading->row.value >= 0 || reading->field->key == KEY_DEVICE;
}

static int on_counter(struct pb *pb, const struct event_counter *row)
{
	size_t index = entity_index_find(&pb->series, row->series);
	struct reading reading = {pb->of_series[index], entity_index_row(&pb->series, index), *row};
	int error = 0;

	if (!says_something(pb, &reading))
		return 0;
	if (is_new_sample(pb, row, index))
		error = put_samples(pb);
	if (error || array_grow(pb->readings, pb->readings_capacity, pb->readings_count + 1))
		return error ? error : -ENOMEM;
	pb->readings[pb->readings_count++] = reading;
	pb->latest[index] = pb->sample;
	pb->rows++;
	return 0;
}

/* ---- regions ---- */

static void put_region(struct pb *pb, struct protobuf *message, const struct event_range *row)
{
	const struct model *model = pb->filter.model;
	const struct event_thread *thread = model_entity(model, EVENT_THREAD, row->thread);
	size_t begin = protobuf_begin(message, DUET_PB_GPU_METRICS_TRACE_REGIONS);

	protobuf_text(message, DUET_PB_REGION_NAME, model_range_name(model, row));
	protobuf_u64(message, DUET_PB_REGION_START_NS, row->begin);
	protobuf_u64(message, DUET_PB_REGION_END_NS, row->end);
	protobuf_u64(message, DUET_PB_REGION_PID, model_pid(pb->filter.model, row->process));
	if (thread)
		protobuf_u64(message, DUET_PB_REGION_TID, thread->tid);
	protobuf_text(message, DUET_PB_REGION_DOMAIN, model_text(model, row->domain_string, ""));
	protobuf_end(message, begin);
}

/* Writes a region into each of the files, after all samples. */
static int on_range(struct pb *pb, const struct event_range *row, bool is_full)
{
	int error = 0;

	for (enum pb_file file = 0; file < FILE_COUNT && !error; file++) {
		put_region(pb, &pb->outputs[file].message, row);
		if (is_full)
			error = write_message(&pb->outputs[file]);
	}
	pb->rows++;
	return error;
}

/* ---- the export ---- */

static int each_row(struct pb *pb, enum event_kind kind)
{
	const struct order_options options = {.kinds = 1u << kind, .parts = true};
	struct order *order = NULL;
	struct order_item item;
	uint64_t regions = 0;
	int error = model_order(pb->filter.model, &options, &order), status;

	while (!error && (status = order_next(order, &item)) != 0) {
		if (status < 0)
			error = status;
		else if (filter_has_item(&pb->filter, &item))
			error = kind == EVENT_COUNTER
					? on_counter(pb, item.row)
					: on_range(pb, item.row, ++regions % BATCH_REGIONS == 0);
	}
	order_free(order);
	return error;
}

static int write_all(struct pb *pb)
{
	int error = find_fields(pb);

	for (enum pb_file file = 0; file < FILE_COUNT && !error; file++)
		error = open_file(pb, file);
	if (!error)
		error = each_row(pb, EVENT_COUNTER);
	if (!error)
		error = put_samples(pb);
	if (!error)
		error = each_row(pb, EVENT_RANGE);
	for (enum pb_file file = 0; file < FILE_COUNT && !error; file++)
		error = write_message(&pb->outputs[file]);
	return error;
}

static int write_duet_pb(const struct model *model, const struct output_options *options,
			 struct output_folder *folder, uint64_t *ret_rows)
{
	struct pb pb = {.folder = folder, .sample = 1};
	int error = filter_open(&pb.filter, model, options);

	if (!error)
		error = write_all(&pb);
	for (enum pb_file file = 0; file < FILE_COUNT; file++) {
		int failed = close_file(&pb.outputs[file]);

		error = error ? error : failed;
		protobuf_fini(&pb.outputs[file].recording);
		protobuf_fini(&pb.outputs[file].message);
	}
	pair_map_fini(&pb.tracked);
	free(pb.of_series);
	free(pb.latest);
	free(pb.readings);
	*ret_rows = pb.rows;
	return error;
}

const struct exporter export_duet_pb = {
	.name = "duet-pb",
	.help = "a folder of counters of GPUs, machine and disks, and of ranges, as protobuf "
		"messages",
	.kinds = "counter, range",
	.is_binary = true,
	.write_folder = write_duet_pb,
};
