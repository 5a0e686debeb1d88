/* SPDX-License-Identifier: MIT
 *
 * import/nsys/counters.c - device memory, metrics of GPUs
 *
 * Runs in:  our own process
 * Gets:     CUDA_GPU_MEMORY_USAGE_EVENTS, GPU_METRICS
 * Gives:    counters
 * Owns:     the bytes that are allocated on each device
 * Fails:    -ENOMEM; -EBADMSG of SQLite, or with the table and the row
 * Why a sum: the file has a row for each allocation; the amount in use is what explains an
 *           allocation that fails
 */
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"
#include "event/event.h"
#include "import/nsys/import.h"
#include "import/target.h"

/* ---- memory ---- */

enum { MEMORY_START, MEMORY_GLOBAL, MEMORY_DEVICE_ID, MEMORY_BYTES, MEMORY_KIND, MEMORY_OPERATION };
static const char *const memory_columns[] = {
	"start", "globalPid", "deviceId", "bytes", "memKind", "memoryOperationType",
};

/* Kinds of memory that take space on the device. */
enum { KIND_DEVICE = 2, KIND_MANAGED = 4, KIND_STATIC = 5 };
enum { OPERATION_FREE = 1 };

struct level {
	int64_t value;
	uint64_t time; /* time of the last reading */
	bool has_time;
};

struct memory {
	struct nsys *nsys;
	struct level *devices; /* by id of a device */
	size_t capacity;
};

static int write_level(struct nsys *nsys, uint32_t series, struct level *level, uint64_t time)
{
	const struct event_counter row = {.begin = level->has_time ? level->time : time,
					  .end = time,
					  .value = level->value,
					  .series = series};

	level->time = time;
	level->has_time = true;
	nsys->rows++;
	return import_target_counter(nsys->target, &row);
}

static int on_memory(void *context, const struct sqlite_cursor *row)
{
	struct memory *memory = context;
	struct nsys *nsys = memory->nsys;
	const int64_t kind = sqlite_cursor_number(row, MEMORY_KIND);
	const bool is_free = sqlite_cursor_number(row, MEMORY_OPERATION) == OPERATION_FREE;
	struct level *level;
	uint32_t device, series;
	int64_t time, bytes;
	int error = sqlite_cursor_take_number(row, MEMORY_START, "a time", 0, INT64_MAX, &time);

	if (!error)
		error = sqlite_cursor_take_number(row, MEMORY_BYTES, "bytes", 0, INT64_MAX >> 16,
						  &bytes);
	if (error || (kind != KIND_DEVICE && kind != KIND_MANAGED && kind != KIND_STATIC))
		return error;
	error = nsys_machine_device(nsys, (uint64_t)sqlite_cursor_number(row, MEMORY_GLOBAL),
				    sqlite_cursor_number(row, MEMORY_DEVICE_ID), &device);
	if (!error)
		error = import_target_series(nsys->target, "gpu.memory.allocated", "bytes",
					     SERIES_LEVEL, device, &series);
	if (error)
		return error;
	if (array_grow(memory->devices, memory->capacity, (size_t)device + 1))
		return -ENOMEM;
	level = &memory->devices[device];
	if (__builtin_add_overflow(level->value, is_free ? -bytes : bytes, &level->value))
		level->value = INT64_MAX;
	if (level->value < 0) /* allocated before the recording */
		level->value = 0;
	return write_level(nsys, series, level, (uint64_t)time);
}

static int read_memory(struct nsys *nsys)
{
	static const struct sqlite_query query = {"CUDA_GPU_MEMORY_USAGE_EVENTS",
						  SQLITE_COLUMNS(memory_columns, 6), NULL, "start"};
	struct memory memory = {.nsys = nsys};
	int error = nsys_each_row(nsys, &query, on_memory, &memory);

	free(memory.devices);
	return error;
}

/* ---- page faults of managed memory ---- */

enum { FAULT_START, FAULT_GLOBAL, FAULT_END, FAULT_DEVICE, FAULT_COUNT };
static const char *const fault_columns[] = {
	"start", "globalPid", "end", "deviceId", "numberOfPageFaults",
};

/* A group of faults of one GPU. */
static int on_gpu_faults(void *context, const struct sqlite_cursor *row)
{
	struct nsys *nsys = context;
	const uint64_t global = (uint64_t)sqlite_cursor_number(row, FAULT_GLOBAL);
	uint32_t device = 0;
	struct event_counter counter = {0};
	int64_t begin, end;
	int error = sqlite_cursor_take_number(row, FAULT_START, "a start", 0, INT64_MAX, &begin);

	if (!error)
		error = sqlite_cursor_take_number(row, FAULT_END, "an end", begin, INT64_MAX, &end);
	if (!error)
		error = sqlite_cursor_take_number(row, FAULT_COUNT, "a number of faults", 0,
						  INT64_MAX >> 16, &counter.value);
	if (!error)
		error = nsys_machine_device(nsys, global, sqlite_cursor_number(row, FAULT_DEVICE),
					    &device);
	if (!error)
		error = import_target_series(nsys->target, "gpu.memory.faults", "events",
					     SERIES_AMOUNT, device, &counter.series);
	if (error)
		return error;
	counter.begin = (uint64_t)begin;
	counter.end = (uint64_t)end;
	nsys->rows++;
	return import_target_counter(nsys->target, &counter);
}

struct faults {
	struct nsys *nsys;
	struct hash_map processes;  /* id -> index of list */
	struct event_counter *list; /* the faults of a process at one moment */
	size_t count, capacity;
};

static int find_moment(struct faults *faults, uint32_t process, uint64_t time,
		       struct event_counter **ret_moment)
{
	struct event_series series = {.type = SERIES_AMOUNT, .process = process};
	const uint64_t *known = hash_map_find(&faults->processes, process);
	const uint64_t before = time ? time - 1 : 0;
	struct event_counter moment = {.begin = before, .end = time};
	int error;

	*ret_moment = known ? &faults->list[*known] : NULL;
	if (known)
		return 0;
	error = import_target_describe_series(faults->nsys->target, "memory.managed.faults",
					      "events", &series, &moment.series);
	if (error)
		return error;
	if (array_append(faults->list, faults->capacity, faults->count, moment))
		return -ENOMEM;
	*ret_moment = &faults->list[faults->count - 1];
	return hash_map_put(&faults->processes, process, faults->count - 1);
}

/* A fault has a moment and no duration, so its counter lasts from the fault before. */
static int on_cpu_fault(void *context, const struct sqlite_cursor *row)
{
	struct faults *faults = context;
	struct nsys *nsys = faults->nsys;
	struct event_counter *moment;
	uint32_t process = 0;
	int64_t time;
	int error = sqlite_cursor_take_number(row, FAULT_START, "a time", 0, INT64_MAX, &time);

	if (!error)
		error = nsys_machine_process(
			nsys, (uint64_t)sqlite_cursor_number(row, FAULT_GLOBAL), &process);
	if (!error)
		error = find_moment(faults, process, (uint64_t)time, &moment);
	if (!error && (uint64_t)time > moment->end) {
		error = import_target_counter(nsys->target, moment);
		moment->begin = moment->end;
		moment->end = (uint64_t)time;
		moment->value = 0;
	}
	if (error)
		return error;
	moment->value++;
	nsys->rows++;
	return 0;
}

static int read_cpu_faults(struct nsys *nsys)
{
	static const struct sqlite_query query = {"CUDA_UM_CPU_PAGE_FAULT_EVENTS",
						  SQLITE_COLUMNS(fault_columns, 2), NULL, "start"};
	struct faults faults = {.nsys = nsys};
	int error = nsys_each_row(nsys, &query, on_cpu_fault, &faults);

	for (size_t i = 0; i < faults.count && !error; i++)
		error = import_target_counter(nsys->target, &faults.list[i]);
	hash_map_fini(&faults.processes);
	free(faults.list);
	return error;
}

static int read_gpu_faults(struct nsys *nsys)
{
	static const struct sqlite_query query = {"CUDA_UM_GPU_PAGE_FAULT_EVENTS",
						  SQLITE_COLUMNS(fault_columns, 5), NULL, "start"};

	return nsys_each_row(nsys, &query, on_gpu_faults, nsys);
}

/* ---- metrics ---- */

enum { METRIC_TIME, METRIC_TYPE, METRIC_ID, METRIC_VALUE };
static const char *const metric_columns[] = {"timestamp", "typeId", "metricId", "value"};
enum { METRIC_NAME_TYPE, METRIC_NAME_ID, METRIC_NAME };
static const char *const metric_name_columns[] = {"typeId", "metricId", "metricName"};

struct metric {
	uint32_t series;
	bool is_percent;
	uint64_t time;
};

struct metrics {
	struct nsys *nsys;
	struct string_table keys; /* type and number */
	struct metric *list;      /* by id of a key - 1 */
	size_t capacity;
};

/* "SM Active [Throughput %]" becomes "nsys.sm_active". */
static void format_name(const char *text, struct string_builder *name)
{
	bool is_gap = false;

	string_builder_append(name, "nsys.");
	for (; *text && *text != '['; text++) {
		if (!isalnum((unsigned char)*text)) {
			is_gap = true;
			continue;
		}
		if (is_gap && name->length > 5)
			string_builder_append_char(name, '_');
		is_gap = false;
		string_builder_append_char(name, (char)tolower((unsigned char)*text));
	}
}

static int on_metric_name(void *context, const struct sqlite_cursor *row)
{
	struct metrics *metrics = context;
	struct nsys *nsys = metrics->nsys;
	const int64_t key[] = {sqlite_cursor_number(row, METRIC_NAME_TYPE),
			       sqlite_cursor_number(row, METRIC_NAME_ID)};
	const uint32_t id = string_table_add(&metrics->keys, key, sizeof(key));
	const char *text = sqlite_cursor_text(row, METRIC_NAME);
	struct string_builder name = {0};
	struct metric *metric;
	uint32_t device = 0;
	/* the lowest byte of the type is the number of the GPU */
	int error = nsys_machine_device(nsys, nsys->default_global, key[0] & 0xff, &device);

	if (!id || array_grow(metrics->list, metrics->capacity, id))
		return -ENOMEM;
	metric = &metrics->list[id - 1];
	metric->is_percent = strchr(text, '%');
	format_name(text, &name);
	if (!error)
		error = name.error;
	if (!error)
		error = import_target_series(nsys->target, string_builder_text(&name), "events",
					     metric->is_percent ? SERIES_RATIO : SERIES_LEVEL,
					     device, &metric->series);
	string_builder_fini(&name);
	return error;
}

static int on_metric(void *context, const struct sqlite_cursor *row)
{
	struct metrics *metrics = context;
	const int64_t key[] = {sqlite_cursor_number(row, METRIC_TYPE),
			       sqlite_cursor_number(row, METRIC_ID)};
	const uint32_t id = string_table_find(&metrics->keys, key, sizeof(key));
	struct event_counter counter = {.value = sqlite_cursor_number(row, METRIC_VALUE)};
	struct metric *metric;
	int64_t time;
	int error = sqlite_cursor_take_number(row, METRIC_TIME, "a time", 0, INT64_MAX, &time);

	if (error || !id || !metrics->list[id - 1].series)
		return error;
	metric = &metrics->list[id - 1];
	counter.series = metric->series;
	counter.of = metric->is_percent ? 100 : 0;
	counter.begin =
		metric->time && metric->time < (uint64_t)time ? metric->time : (uint64_t)time;
	counter.end = metric->time = (uint64_t)time;
	metrics->nsys->rows++;
	return import_target_counter(metrics->nsys->target, &counter);
}

static int read_metrics(struct nsys *nsys)
{
	static const struct sqlite_query names = {"TARGET_INFO_GPU_METRICS",
						  SQLITE_COLUMNS(metric_name_columns, 3)};
	static const struct sqlite_query values = {"GPU_METRICS", SQLITE_COLUMNS(metric_columns, 4),
						   NULL, "timestamp"};
	struct metrics metrics = {.nsys = nsys};
	int error = nsys_each_row(nsys, &names, on_metric_name, &metrics);

	if (!error)
		error = nsys_each_row(nsys, &values, on_metric, &metrics);
	string_table_fini(&metrics.keys);
	free(metrics.list);
	return error;
}

int nsys_read_counters(struct nsys *nsys)
{
	int error = read_memory(nsys);

	if (!error)
		error = read_cpu_faults(nsys);
	if (!error)
		error = read_gpu_faults(nsys);
	return error ? error : read_metrics(nsys);
}
