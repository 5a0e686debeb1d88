/* SPDX-License-Identifier: MIT
 *
 * export/pprof.c - export pprof's profile format: device time, CPU samples and device instructions
 * by stack
 *
 * Runs in:  our own process
 * Gets:     a model and filters
 * Gives:    one Profile (proto/pprof_profile.proto), compressed
 * Owns:     interned texts, functions, locations, files
 * Fails:    -ENOMEM, errors of the reader; -EPIPE ends it silently
 * Why instructions have a count and no device time: the profile already contains the time of their
 *           commands. A view that adds up all samples would count that time twice.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "base/array.h"
#include "base/file/stream.h"
#include "base/hash.h"
#include "export/common/gzip.h"
#include "export/common/profile.h"
#include "export/common/protobuf.h"
#include "export/formats.h"
#include "pprof_profile.numbers.h"

/* The part of a row that is added to one of a sample's values. */
enum addend { ADD_COUNT, ADD_DURATION, ADD_VALUE };

struct column {
	enum profile_kind kind;
	enum addend addend;
	const char *source; /* CPU samples: only this source; NULL: all */
	const char *type, *unit;
};

/* A file. Its members are complete once all its locations are known. */
struct mapping {
	uint32_t filename, build_id;
	uint64_t limit;
	bool is_used, lacks_functions, lacks_filenames, lacks_lines;
};

struct pprof {
	struct profile profile;
	struct gzip gzip;
	struct protobuf message;
	struct string_table strings;
	struct string_table functions, locations, files; /* keys are arrays of ids */
	struct mapping *mappings;                        /* by id - 1 */
	size_t mappings_capacity;
	struct column *columns;
	uint64_t *values; /* values of a sample, by column */
	size_t columns_count;
	uint64_t *key, *ids; /* key of a location; location ids of a sample */
	size_t key_capacity, ids_capacity;
	uint64_t rows;
	int error;
};

static void write_message(struct pprof *pprof)
{
	gzip_write(&pprof->gzip, pprof->message.bytes, pprof->message.size);
	protobuf_clear(&pprof->message);
}

static uint32_t text_of(struct pprof *pprof, const char *text)
{
	uint32_t id = string_table_add(&pprof->strings, text, strlen(text));

	if (!id && *text)
		pprof->error = -ENOMEM;
	return id;
}

/* The id of a key, from 1 on; *ret_is_new: the key is new. */
static uint32_t intern_key(struct pprof *pprof, struct string_table *table, const uint64_t *key,
			   size_t count, bool *ret_is_new)
{
	uint32_t before = table->count;
	uint32_t id = string_table_add(table, key, count * sizeof(*key));

	if (!id)
		pprof->error = -ENOMEM;
	*ret_is_new = id > before;
	return id;
}

/* ---- places ---------------------------------------------------------------------------------- */

static uint32_t mapping_of(struct pprof *pprof, const char *module, const char *build_id)
{
	const uint64_t key[] = {text_of(pprof, module), text_of(pprof, build_id)};
	bool is_new;
	uint32_t id = intern_key(pprof, &pprof->files, key, ARRAY_COUNT(key), &is_new);

	if (!id || !is_new)
		return id;
	if (array_grow(pprof->mappings, pprof->mappings_capacity, id)) {
		pprof->error = -ENOMEM;
		return 0;
	}
	pprof->mappings[id - 1] =
		(struct mapping){.filename = (uint32_t)key[0], .build_id = (uint32_t)key[1]};
	return id;
}

static void update_mapping(struct pprof *pprof, uint32_t id, const struct profile_frame *frame)
{
	struct mapping *mapping = &pprof->mappings[id - 1];

	mapping->is_used = true;
	if (frame->address >= mapping->limit)
		mapping->limit = frame->address + 1;
	mapping->lacks_functions |= frame->is_unnamed;
	mapping->lacks_filenames |= !frame->file;
	mapping->lacks_lines |= !frame->line;
}

static uint32_t function_of(struct pprof *pprof, const struct profile_frame *frame)
{
	const uint64_t key[] = {text_of(pprof, frame->function),
				text_of(pprof, frame->file ? frame->file : ""), frame->first_line};
	struct protobuf *message = &pprof->message;
	bool is_new;
	uint32_t id = intern_key(pprof, &pprof->functions, key, ARRAY_COUNT(key), &is_new);
	size_t begin;

	if (!id || !is_new)
		return id;
	/* No system name is written: if it equals the name, pprof demangles the name and drops the
	 * text in < >. Python's <module> would become empty. */
	begin = protobuf_begin(message, PPROF_PROFILE_FUNCTION);
	protobuf_u64(message, PPROF_FUNCTION_ID, id);
	protobuf_u64(message, PPROF_FUNCTION_NAME, key[0]);
	if (key[1])
		protobuf_u64(message, PPROF_FUNCTION_FILENAME, key[1]);
	if (key[2])
		protobuf_u64(message, PPROF_FUNCTION_START_LINE, key[2]);
	protobuf_end(message, begin);
	write_message(pprof);
	return id;
}

static void write_location(struct pprof *pprof, uint32_t id, const uint64_t *key, size_t count)
{
	struct protobuf *message = &pprof->message;
	size_t begin = protobuf_begin(message, PPROF_PROFILE_LOCATION);

	protobuf_u64(message, PPROF_LOCATION_ID, id);
	if (key[0])
		protobuf_u64(message, PPROF_LOCATION_MAPPING_ID, key[0]);
	if (key[1])
		protobuf_u64(message, PPROF_LOCATION_ADDRESS, key[1]);
	for (size_t i = 2; i + 1 < count; i += 2) {
		size_t line = protobuf_begin(message, PPROF_LOCATION_LINE);

		protobuf_u64(message, PPROF_LINE_FUNCTION_ID, key[i]);
		if (key[i + 1])
			protobuf_u64(message, PPROF_LINE_LINE, key[i + 1]);
		protobuf_end(message, line);
	}
	protobuf_end(message, begin);
	write_message(pprof);
}

/* A location is one address: the function, followed by those that were inlined there. */
static uint32_t location_of(struct pprof *pprof, const struct profile_frame *frames, size_t count)
{
	size_t length = 2 + 2 * count;
	bool is_new;
	uint32_t id;

	if (array_grow(pprof->key, pprof->key_capacity, length)) {
		pprof->error = -ENOMEM;
		return 0;
	}
	pprof->key[0] = frames->module ? mapping_of(pprof, frames->module, frames->build_id) : 0;
	pprof->key[1] = frames->address;
	for (size_t i = 0; i < count; i++) {
		pprof->key[2 + 2 * i] = function_of(pprof, &frames[count - 1 - i]);
		pprof->key[3 + 2 * i] = frames[count - 1 - i].line;
	}
	id = intern_key(pprof, &pprof->locations, pprof->key, length, &is_new);
	if (pprof->error || !is_new)
		return id;
	for (size_t i = 0; pprof->key[0] && i < count; i++)
		update_mapping(pprof, (uint32_t)pprof->key[0], &frames[i]);
	write_location(pprof, id, pprof->key, length);
	return id;
}

/* The locations of a stack, leaf first. */
static size_t list_locations(struct pprof *pprof, const struct profile_row *row)
{
	size_t count = 0;

	if (array_grow(pprof->ids, pprof->ids_capacity, row->frames_count)) {
		pprof->error = -ENOMEM;
		return 0;
	}
	for (size_t i = 0, length; i < row->frames_count; i += length) {
		length = profile_inlined(&row->frames[i], row->frames_count - i);
		pprof->ids[count++] = location_of(pprof, &row->frames[i], length);
	}
	for (size_t i = 0; i < count / 2; i++) {
		uint64_t moved = pprof->ids[i];

		pprof->ids[i] = pprof->ids[count - 1 - i];
		pprof->ids[count - 1 - i] = moved;
	}
	return count;
}

/* ---- samples --------------------------------------------------------------------------------- */

static void put_text(struct pprof *pprof, const char *key, const char *text)
{
	uint32_t text_id = text_of(pprof, text);
	size_t begin;

	if (!*text)
		return;
	begin = protobuf_begin(&pprof->message, PPROF_SAMPLE_LABEL);
	protobuf_u64(&pprof->message, PPROF_LABEL_KEY, text_of(pprof, key));
	protobuf_u64(&pprof->message, PPROF_LABEL_STR, text_id);
	protobuf_end(&pprof->message, begin);
}

static void put_number(struct pprof *pprof, const char *key, uint64_t number)
{
	size_t begin;

	if (!number)
		return;
	begin = protobuf_begin(&pprof->message, PPROF_SAMPLE_LABEL);
	protobuf_u64(&pprof->message, PPROF_LABEL_KEY, text_of(pprof, key));
	protobuf_u64(&pprof->message, PPROF_LABEL_NUM, number);
	protobuf_u64(&pprof->message, PPROF_LABEL_NUM_UNIT, text_of(pprof, "id"));
	protobuf_end(&pprof->message, begin);
}

static void put_device(struct pprof *pprof, const struct profile_row *row)
{
	put_text(pprof, "gpu_view", row->kind == PROFILE_INSTRUCTION ? "pc_sample" : "kernel_time");
	put_text(pprof, "kernel", row->command);
	if (row->kind == PROFILE_INSTRUCTION)
		put_text(pprof, "stall_reason", row->stall);
	put_number(pprof, "queue", row->queue);
	if (!row->device)
		return;
	put_text(pprof, "gpu", row->device->name);
	if (strcmp(row->device->key, row->device->name) != 0)
		put_text(pprof, "gpu_id", row->device->key);
}

static void put_labels(struct pprof *pprof, const struct profile_row *row)
{
	put_number(pprof, "pid", profile_pid(&pprof->profile, row));
	put_text(pprof, "comm", profile_comm(&pprof->profile, row));
	put_number(pprof, "thread_id", profile_tid(&pprof->profile, row));
	put_text(pprof, "thread", profile_thread_name(&pprof->profile, row));
	if (row->kind == PROFILE_CPU_SAMPLE)
		put_text(pprof, "source", row->source);
	else
		put_device(pprof, row);
}

static bool is_column_of(const struct column *column, const struct profile_row *row)
{
	return column->kind == row->kind &&
	       (!column->source || strcmp(column->source, row->source) == 0);
}

static uint64_t value_of(const struct column *column, const struct profile_row *row)
{
	uint64_t value = row->count;

	if (!is_column_of(column, row))
		return 0;
	if (column->addend != ADD_COUNT)
		value = column->addend == ADD_VALUE ? row->value : row->duration_ns;
	return value > INT64_MAX ? INT64_MAX : value;
}

static int write_sample(void *context, const struct profile_row *row)
{
	struct pprof *pprof = context;
	size_t count = list_locations(pprof, row), begin;

	for (size_t i = 0; i < pprof->columns_count; i++)
		pprof->values[i] = value_of(&pprof->columns[i], row);
	begin = protobuf_begin(&pprof->message, PPROF_PROFILE_SAMPLE);
	protobuf_packed(&pprof->message, PPROF_SAMPLE_LOCATION_ID, pprof->ids, count);
	protobuf_packed(&pprof->message, PPROF_SAMPLE_VALUE, pprof->values, pprof->columns_count);
	put_labels(pprof, row);
	protobuf_end(&pprof->message, begin);
	write_message(pprof);
	pprof->rows++;
	return pprof->error;
}

/* ---- types of values ------------------------------------------------------------------------- */

/* A source of CPU samples. */
struct source {
	const char *name;
	bool is_ns;
};

struct sources {
	bool has[PROFILE_INSTRUCTION + 1];
	struct source *all;
	size_t count, capacity;
};

static int add_source(void *context, const struct profile_row *row)
{
	struct sources *sources = context;
	size_t i = 0;

	sources->has[row->kind] = true;
	if (row->kind != PROFILE_CPU_SAMPLE)
		return 0;
	while (i < sources->count && strcmp(sources->all[i].name, row->source) != 0)
		i++;
	if (i < sources->count)
		return 0;
	if (array_grow(sources->all, sources->capacity, i + 1))
		return -ENOMEM;
	sources->all[sources->count++] =
		(struct source){row->source, row->is_time && strcmp(row->unit, "ns") == 0};
	return 0;
}

enum { COLUMNS_BESIDE = 5 }; /* columns besides those of sources */

static void add_column(struct pprof *pprof, const struct column *column)
{
	pprof->columns[pprof->columns_count++] = *column;
}

static void add_sources(struct pprof *pprof, const struct sources *sources, bool are_ns)
{
	for (size_t i = 0; i < sources->count; i++) {
		const char *name = sources->all[i].name;

		if (sources->all[i].is_ns != are_ns)
			continue;
		add_column(pprof, &(struct column){.kind = PROFILE_CPU_SAMPLE,
						   .addend = ADD_VALUE,
						   .source = name,
						   .type = are_ns ? "cpu" : name,
						   .unit = are_ns ? "nanoseconds" : "count"});
	}
}

static void add_columns(struct pprof *pprof, const struct sources *sources)
{
	static const struct column counts[] = {
		{PROFILE_EXECUTION, ADD_COUNT, NULL, "executions", "count"},
		{PROFILE_CPU_SAMPLE, ADD_COUNT, NULL, "cpu_samples", "count"},
		{PROFILE_INSTRUCTION, ADD_COUNT, NULL, "gpu_samples", "count"},
	};
	static const struct column times[] = {
		{PROFILE_EXECUTION, ADD_DURATION, NULL, "gpu_duration", "nanoseconds"},
		{PROFILE_EXECUTION, ADD_VALUE, NULL, "gpu_time", "nanoseconds"},
	};

	for (size_t i = 0; i < ARRAY_COUNT(counts); i++)
		if (sources->has[counts[i].kind])
			add_column(pprof, &counts[i]);
	add_sources(pprof, sources, false);
	add_sources(pprof, sources, true);
	for (size_t i = 0; i < ARRAY_COUNT(times) && sources->has[PROFILE_EXECUTION]; i++)
		add_column(pprof, &times[i]);
}

static int choose_columns(struct pprof *pprof)
{
	struct sources sources = {0};
	int error = profile_each(&pprof->profile, add_source, &sources);
	size_t most = sources.count + COLUMNS_BESIDE;

	if (!sources.has[PROFILE_CPU_SAMPLE] && !sources.has[PROFILE_INSTRUCTION])
		sources.has[PROFILE_EXECUTION] = true;
	pprof->columns = calloc(most, sizeof(*pprof->columns));
	pprof->values = calloc(most, sizeof(*pprof->values));
	if (!error && (!pprof->columns || !pprof->values))
		error = -ENOMEM;
	if (!error)
		add_columns(pprof, &sources);
	free(sources.all);
	return error;
}

static void put_type(struct pprof *pprof, unsigned int field, const struct column *column)
{
	struct protobuf *message = &pprof->message;
	size_t begin = protobuf_begin(message, field);

	protobuf_u64(message, PPROF_VALUE_TYPE_TYPE, text_of(pprof, column->type));
	protobuf_u64(message, PPROF_VALUE_TYPE_UNIT, text_of(pprof, column->unit));
	protobuf_end(message, begin);
}

static void write_types(struct pprof *pprof)
{
	const struct column *last = &pprof->columns[pprof->columns_count - 1];

	for (size_t i = 0; i < pprof->columns_count; i++)
		put_type(pprof, PPROF_PROFILE_SAMPLE_TYPE, &pprof->columns[i]);
	put_type(pprof, PPROF_PROFILE_PERIOD_TYPE, last);
	if (last->kind == PROFILE_EXECUTION)
		protobuf_u64(&pprof->message, PPROF_PROFILE_PERIOD, 1);
	protobuf_u64(&pprof->message, PPROF_PROFILE_DEFAULT_SAMPLE_TYPE,
		     text_of(pprof, last->type));
	write_message(pprof);
}

/* ---- the profile ----------------------------------------------------------------------------- */

/* pprof takes the first file for the program, so it is added before any location. */
static void name_program(struct pprof *pprof)
{
	const struct model *model = pprof->profile.model;
	const struct event_process *process = model_main_process(model);
	const char *exe = model_text(model, process ? process->exe_string : 0, "");

	if (*exe)
		mapping_of(pprof, exe, model_build_id(model, process->exe_string));
}

static void put_flag(struct protobuf *message, unsigned int field, bool is_set)
{
	if (is_set)
		protobuf_u64(message, field, 1);
}

static void write_mapping(struct pprof *pprof, uint32_t id)
{
	const struct mapping *mapping = &pprof->mappings[id - 1];
	struct protobuf *message = &pprof->message;
	bool has_lines = mapping->is_used && !mapping->lacks_lines;
	size_t begin = protobuf_begin(message, PPROF_PROFILE_MAPPING);

	protobuf_u64(message, PPROF_MAPPING_ID, id);
	protobuf_u64(message, PPROF_MAPPING_MEMORY_LIMIT, mapping->limit);
	protobuf_u64(message, PPROF_MAPPING_FILENAME, mapping->filename);
	if (mapping->build_id)
		protobuf_u64(message, PPROF_MAPPING_BUILD_ID, mapping->build_id);
	put_flag(message, PPROF_MAPPING_HAS_FUNCTIONS,
		 mapping->is_used && !mapping->lacks_functions);
	put_flag(message, PPROF_MAPPING_HAS_FILENAMES,
		 mapping->is_used && !mapping->lacks_filenames);
	put_flag(message, PPROF_MAPPING_HAS_LINE_NUMBERS, has_lines);
	put_flag(message, PPROF_MAPPING_HAS_INLINE_FRAMES, has_lines);
	protobuf_end(message, begin);
	write_message(pprof);
}

static void write_comment(void *context, const char *line)
{
	struct pprof *pprof = context;

	protobuf_u64(&pprof->message, PPROF_PROFILE_COMMENT, text_of(pprof, line));
}

static void write_times(struct pprof *pprof)
{
	const struct analysis *analysis = pprof->profile.analysis;
	uint64_t realtime_ns;

	if (model_wall_clock(pprof->profile.model, analysis->from_ns, &realtime_ns))
		protobuf_u64(&pprof->message, PPROF_PROFILE_TIME_NANOS, realtime_ns);
	protobuf_u64(&pprof->message, PPROF_PROFILE_DURATION_NANOS,
		     analysis->to_ns - analysis->from_ns);
	write_message(pprof);
}

static void write_strings(struct pprof *pprof)
{
	for (uint32_t i = 0; i <= pprof->strings.count; i++) {
		protobuf_text(&pprof->message, PPROF_PROFILE_STRING_TABLE,
			      string_table_text(&pprof->strings, i, NULL));
		write_message(pprof);
	}
}

static int write_profile(struct pprof *pprof)
{
	int error = choose_columns(pprof);

	if (error)
		return error;
	name_program(pprof);
	write_types(pprof);
	error = profile_each(&pprof->profile, write_sample, pprof);
	if (error)
		return error;
	for (uint32_t id = 1; id <= pprof->files.count; id++)
		write_mapping(pprof, id);
	write_times(pprof);
	profile_describe(&pprof->profile, write_comment, pprof);
	write_message(pprof);
	write_strings(pprof);
	gzip_end(&pprof->gzip);
	return pprof->error ? pprof->error : pprof->message.error;
}

static void pprof_fini(struct pprof *pprof)
{
	profile_close(&pprof->profile);
	gzip_fini(&pprof->gzip);
	protobuf_fini(&pprof->message);
	string_table_fini(&pprof->strings);
	string_table_fini(&pprof->functions);
	string_table_fini(&pprof->locations);
	string_table_fini(&pprof->files);
	free(pprof->mappings);
	free(pprof->columns);
	free(pprof->values);
	free(pprof->key);
	free(pprof->ids);
	free(pprof);
}

static int write_pprof(const struct model *model, const struct output_options *options, FILE *file,
		       uint64_t *ret_rows)
{
	struct pprof *pprof = calloc(1, sizeof(*pprof));
	int error;

	if (!pprof)
		return -ENOMEM;
	error = gzip_init(&pprof->gzip, file);
	if (!error)
		error = profile_open(&pprof->profile, model, options);
	if (!error)
		error = write_profile(pprof);
	*ret_rows = pprof->rows;
	pprof_fini(pprof);
	return error ? error : stream_flush(file);
}

const struct exporter export_pprof = {
	.name = "pprof",
	.help = "a profile for pprof, compressed with gzip: device time by launching stack, CPU "
		"samples",
	.kinds = PROFILE_KINDS,
	.is_binary = true,
	.write = write_pprof,
};
