/* SPDX-License-Identifier: MIT
 *
 * import/rocprof_compute.c - import the analysis database of rocprof-compute
 *
 * Runs in:  our own process
 * Gets:     tables compute_workload, compute_kernel, compute_dispatch, compute_pcsampling
 * Gives:    executions with a launch each, instruction samples with stall reasons
 * Owns:     the open database, ids of workloads and kernels
 * Fails:    -EBADMSG with the table, the row's id, the expected and the actual value
 * Why the metrics are left out: they are averages of all runs of a kernel, in floating point, and
 *           the program runs it once for each group of counters. They belong to no moment.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json_reader.h"
#include "base/number.h"
#include "event/absent_call.h"
#include "import/common/probe.h"
#include "import/faults.h"
#include "import/formats.h"
#include "import/source.h"
#include "import/sqlite_file.h"
#include "import/target.h"

#define MAX_COUNT ((int64_t)1 << 59)

struct compute_import {
	struct import_target *target;
	struct sqlite_file file;
	struct import_faults faults;
	struct hash_map workloads;   /* by the file's id: process */
	struct hash_map devices;     /* workload << 32 | number of the GPU: device */
	struct hash_map kernels;     /* by the file's id: process << 32 | kernel */
	struct hash_map workload_of; /* by kernel: the file's id of its workload */
	uint32_t absent, unit;
	uint64_t first_ns, last_ns; /* window of all dispatches */
	uint64_t usable, metrics;
};

/* ---- workloads, kernels and devices ---------------------------------------------------------- */

enum { WORKLOAD_ID, WORKLOAD_NAME, WORKLOAD_MODEL };
static const char *const workload_columns[] = {"workload_id", "name", "sub_name"};

static int find_device(struct compute_import *import, int64_t workload, int64_t gpu,
		       const char *model, uint32_t *ret_device)
{
	const uint64_t number = (uint64_t)workload << 32 | (uint32_t)gpu;
	const uint64_t known = hash_map_get(&import->devices, number, 0);
	char key[64], name[96];
	int error;

	*ret_device = (uint32_t)known;
	if (known)
		return 0;
	snprintf(key, sizeof(key), "%" PRId64 "/%" PRId64, workload, gpu);
	snprintf(name, sizeof(name), "%.64s", *model ? model : "AMD GPU");
	error = import_target_device(import->target, key, name, DEVICE_GPU, ret_device);
	return error ? error : hash_map_put(&import->devices, number, *ret_device);
}

static int on_workload(void *context, const struct sqlite_cursor *row)
{
	struct compute_import *import = context;
	const int64_t id = sqlite_cursor_number(row, WORKLOAD_ID);
	char key[32];
	uint32_t process, device;
	int error;

	snprintf(key, sizeof(key), "%" PRId64, id);
	error = import_target_process(import->target, key, 0,
				      sqlite_cursor_text(row, WORKLOAD_NAME), &process);
	if (!error)
		error = find_device(import, id, 0, sqlite_cursor_text(row, WORKLOAD_MODEL),
				    &device);
	return error ? error : hash_map_put(&import->workloads, (uint64_t)id, process);
}

enum { KERNEL_ID, KERNEL_WORKLOAD, KERNEL_NAME };
static const char *const kernel_columns[] = {"kernel_uuid", "workload_id", "kernel_name"};

static int on_kernel(void *context, const struct sqlite_cursor *row)
{
	struct compute_import *import = context;
	const int64_t workload = sqlite_cursor_number(row, KERNEL_WORKLOAD);
	const uint64_t process = hash_map_get(&import->workloads, (uint64_t)workload, 0);
	uint32_t kernel;
	int error;

	if (!process)
		return error_set(-EBADMSG,
				 "table %s, row %" PRIu64 ": expected the id of a workload, found "
				 "%" PRId64,
				 row->table, row->number, workload);
	error = import_target_kernel(import->target, (uint32_t)process, "",
				     sqlite_cursor_text(row, KERNEL_NAME), &kernel);
	if (!error)
		error = hash_map_put(&import->workload_of, kernel, (uint64_t)workload);
	return error ? error
		     : hash_map_put(&import->kernels,
				    (uint64_t)sqlite_cursor_number(row, KERNEL_ID),
				    process << 32 | kernel);
}

/* A kernel of the file, with its process and workload. */
struct known_kernel {
	uint32_t process, kernel;
	int64_t workload;
};

static int find_kernel(const struct compute_import *import, const struct sqlite_cursor *row,
		       size_t column, struct known_kernel *ret_kernel)
{
	const int64_t id = sqlite_cursor_number(row, column);
	const uint64_t known = hash_map_get(&import->kernels, (uint64_t)id, 0);

	if (!known)
		return error_set(-EBADMSG,
				 "table %s, row %" PRIu64 ": expected the id of a kernel, found "
				 "'%s'",
				 row->table, row->number, sqlite_cursor_text(row, column));
	ret_kernel->process = (uint32_t)(known >> 32);
	ret_kernel->kernel = (uint32_t)known;
	ret_kernel->workload = (int64_t)hash_map_get(&import->workload_of, ret_kernel->kernel, 0);
	return 0;
}

/* ---- dispatches ------------------------------------------------------------------------------ */

enum { DISPATCH_KERNEL, DISPATCH_GPU, DISPATCH_START, DISPATCH_END };
static const char *const dispatch_columns[] = {"kernel_uuid", "gpu_id", "start_timestamp",
					       "end_timestamp"};

static int write_dispatch(struct compute_import *import, const struct known_kernel *kernel,
			  uint32_t device, struct event_execution *row)
{
	struct event_launch launch = {.enter = row->started,
				      .exit = row->started,
				      .function_string = import->absent,
				      .command = COMMAND_KERNEL,
				      .kernel = kernel->kernel};
	int error = import_target_queue(import->target, kernel->process, device, "", &row->queue);

	if (!error)
		error = import_target_thread(import->target, kernel->process, 0, "[unknown thread]",
					     &launch.thread);
	if (error)
		return error;
	launch.queue = row->queue;
	launch.correlation = row->correlation = import_target_correlation(import->target);
	error = import_target_launch(import->target, &launch);
	return error ? error : import_target_execution(import->target, row);
}

static int on_dispatch(void *context, const struct sqlite_cursor *row)
{
	struct compute_import *import = context;
	struct event_execution execution = {.valid = EXECUTION_STARTED | EXECUTION_ENDED};
	struct known_kernel kernel;
	uint32_t device;
	int64_t gpu;
	int error =
		sqlite_cursor_take_times(row, DISPATCH_START, &execution.started, &execution.ended);

	if (!error)
		error = sqlite_cursor_take_number(row, DISPATCH_GPU, "a GPU", 0, UINT32_MAX, &gpu);
	if (!error)
		error = find_kernel(import, row, DISPATCH_KERNEL, &kernel);
	if (!error)
		error = find_device(import, kernel.workload, gpu, "", &device);
	if (error)
		return error;
	execution.seen = execution.ended;
	execution.process = kernel.process;
	import->first_ns = smaller(import->first_ns, execution.started);
	import->last_ns = larger(import->last_ns, execution.ended);
	error = write_dispatch(import, &kernel, device, &execution);
	import->usable += !error;
	return error;
}

/* ---- PC samples ------------------------------------------------------------------------------ */

enum { SAMPLE_KERNEL, SAMPLE_TEXT, SAMPLE_OFFSET, SAMPLE_ISSUED, SAMPLE_STALLED, SAMPLE_REASONS };
static const char *const sample_columns[] = {"kernel_uuid", "instruction", "offset",
					     "count_issue", "count_stall", "stall_reason"};

struct text_reader {
	const char *text;
	size_t length;
};

static ssize_t read_text(void *context, void *buffer, size_t size)
{
	struct text_reader *reader = context;
	const size_t part = size < reader->length ? size : reader->length;

	memcpy(buffer, reader->text, part);
	reader->text += part;
	reader->length -= part;
	return (ssize_t)part;
}

static int write_samples(struct compute_import *import, struct event_instruction_sample *row,
			 int64_t count, const char *stall)
{
	char lower[64];
	size_t i = 0;
	int error;

	if (count <= 0 || count > MAX_COUNT)
		return 0;
	for (; stall[i] && i + 1 < sizeof(lower); i++)
		lower[i] = (char)tolower((unsigned char)stall[i]);
	lower[i] = '\0';
	row->count = (uint64_t)count;
	error = import_target_text(import->target, lower, &row->stall_string);
	return error ? error : import_target_instruction(import->target, row);
}

/* Reads an object such as {"WAITCNT": 40}. *ret_known: the sum of its numbers. */
static int write_reasons(struct compute_import *import, struct event_instruction_sample *row,
			 const char *text, int64_t *ret_known)
{
	struct text_reader from = {text, strlen(text)};
	char reason[64] = "";
	struct json_reader *reader;
	int error = json_reader_new(read_text, &from, &reader), token = JSON_END;

	if (!error)
		error = json_reader_expect(reader, JSON_OBJECT_BEGIN);
	while (!error && (token = json_reader_next(reader)) == JSON_KEY) {
		int64_t count;

		snprintf(reason, sizeof(reason), "%s", json_reader_text(reader, NULL));
		error = json_reader_expect(reader, JSON_NUMBER);
		if (error)
			continue;
		count = strtoll(json_reader_text(reader, NULL), NULL, 10);
		if (count <= 0 || count > MAX_COUNT || *ret_known > MAX_COUNT)
			continue;
		*ret_known += count;
		error = write_samples(import, row, count, reason);
	}
	json_reader_free(reader);
	return error ? error : token < 0 ? token : 0;
}

static int on_sample(void *context, const struct sqlite_cursor *row)
{
	struct compute_import *import = context;
	const bool has_times = import->last_ns > 0;
	struct event_instruction_sample sample = {.begin = has_times ? import->first_ns : 0,
						  .end = has_times ? import->last_ns : 1,
						  .period = 1,
						  .period_unit_string = import->unit};
	const char *reasons = sqlite_cursor_text(row, SAMPLE_REASONS);
	struct known_kernel kernel;
	int64_t offset, known = 0;
	int error = find_kernel(import, row, SAMPLE_KERNEL, &kernel);

	if (!error)
		error = sqlite_cursor_take_number(row, SAMPLE_OFFSET, "an offset", 0, INT64_MAX,
						  &offset);
	if (!error)
		error = find_device(import, kernel.workload, 0, "", &sample.device);
	if (!error)
		error = import_target_text(import->target, sqlite_cursor_text(row, SAMPLE_TEXT),
					   &sample.text_string);
	if (error)
		return error;
	sample.offset = (uint64_t)offset;
	sample.process = kernel.process;
	sample.code = kernel.kernel;
	error = write_samples(import, &sample, sqlite_cursor_number(row, SAMPLE_ISSUED), "issued");
	if (!error && *reasons)
		error = write_reasons(import, &sample, reasons, &known);
	if (!error)
		error = write_samples(import, &sample,
				      sqlite_cursor_number(row, SAMPLE_STALLED) - known, "other");
	import->usable += !error;
	return error;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int on_metric(void *context, const struct sqlite_cursor *row)
{
	((struct compute_import *)context)->metrics++;
	return 0;
}

static const char *const metric_columns[] = {"metric_uuid"};

/* Parents come before the rows that refer to them. Samples have no times: they get the window of
 * all dispatches. */
static const struct {
	struct sqlite_query query;
	int (*on_row)(void *context, const struct sqlite_cursor *row);
	bool is_needed;
} tables[] = {
	{{"compute_workload", SQLITE_COLUMNS(workload_columns, 1), NULL, NULL}, on_workload, true},
	{{"compute_kernel", SQLITE_COLUMNS(kernel_columns, 3), NULL, NULL}, on_kernel, true},
	{{"compute_dispatch", SQLITE_COLUMNS(dispatch_columns, 4), NULL, "start_timestamp"},
	 on_dispatch,
	 false},
	{{"compute_pcsampling", SQLITE_COLUMNS(sample_columns, 3), NULL, NULL}, on_sample, false},
	{{"compute_kernel_metric_value", SQLITE_COLUMNS(metric_columns, 0), NULL, NULL},
	 on_metric,
	 false},
};

static int read_table(struct compute_import *import, size_t index)
{
	enum sqlite_table found;
	int error = sqlite_file_find_table(&import->file, tables[index].query.table, &found);

	if (error)
		return error;
	if (found == SQLITE_TABLE_PLAIN)
		return sqlite_file_each_row(&import->file, &tables[index].query, &import->faults,
					    tables[index].on_row, import);
	return !tables[index].is_needed
		       ? 0
		       : error_set(-EBADMSG, "expected a plain table %s, found none",
				   tables[index].query.table);
}

static int read_rocprof_compute(struct import_source *source, struct import_target *target)
{
	struct compute_import import = {
		.target = target, .faults = {target, "row", "rows"}, .first_ns = UINT64_MAX};
	int error = sqlite_file_open(&import.file, import_source_path(source));

	if (!error)
		error = import_target_text(target, ABSENT_CALL, &import.absent);
	if (!error)
		error = import_target_text(target, "samples", &import.unit);
	for (size_t i = 0; i < ARRAY_COUNT(tables) && !error; i++)
		error = read_table(&import, i);
	if (!error)
		error = import_faults_end(&import.faults, import.usable, "row");
	if (!error)
		import_target_note_count(target, import.metrics, "value", "values",
					 "left out: metrics, which are averages of kernels");
	hash_map_fini(&import.workloads);
	hash_map_fini(&import.devices);
	hash_map_fini(&import.kernels);
	hash_map_fini(&import.workload_of);
	sqlite_file_close(&import.file);
	return error;
}

static bool recognize_rocprof_compute(const struct import_probe *probe)
{
	return import_probe_has_table(probe, "compute_workload") &&
	       import_probe_has_table(probe, "compute_kernel");
}

const struct importer import_rocprof_compute = {
	.name = "rocprof-compute",
	.help = "databases of rocprof-compute: kernels of AMD GPUs with PC samples",
	.read = read_rocprof_compute,
	.recognize = recognize_rocprof_compute,
};
