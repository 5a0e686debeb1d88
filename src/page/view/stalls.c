/* SPDX-License-Identifier: MIT
 *
 * page/view/stalls.c - the samples of device instructions in a view: launching stack, kernel,
 * instruction, stall reason
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    rows of small numbers as JSON
 * Owns:     the rows and the names that only they use
 * Fails:    -ENOMEM
 * Why at most 16384 instructions have rows of their own: a picture of 4000 px shows no box below a
 *           4000th part. The other instructions are added up by stack, kernel and reason (at most
 *           4096 rows). Samples that do not fit into these rows are added up by reason alone, so
 *           that no sample is lost. A trace of 10^6 addresses adds 164 KiB to the page.
 */
#include "page/view/stalls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "analyze/sample/device_code.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "page/view/code.h"

#define MAX_ROWS    ((size_t)16384)
#define MAX_SEVERAL ((size_t)4096)
#define MAX_REASONS ((size_t)256) /* vendors have about thirty */

typedef const struct analysis_instruction *instruction;

static int compare_samples(const void *left, const void *right)
{
	const instruction a = *(const instruction *)left, b = *(const instruction *)right;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return (a > b) - (a < b);
}

static int add_name(struct view_stalls *stalls, const char *text, uint32_t *ret_name)
{
	*ret_name = *text ? string_table_add(&stalls->names, text, strlen(text)) : 0;
	return *text && !*ret_name ? -ENOMEM : 0;
}

/* Sets the members that do not depend on the instruction's address. */
static int start_row(struct view_stalls *stalls, const struct analysis *analysis, instruction from,
		     struct view_code *code, struct view_stall *ret_row)
{
	const char *function =
		from->path == ANALYSIS_NO_PATH ? "" : analysis->paths[from->path].function;

	*ret_row = (struct view_stall){.samples = from->samples};
	if (view_code_call(code, from->stack, function, &ret_row->function, &ret_row->stack) ||
	    add_name(stalls, from->kernel, &ret_row->kernel) ||
	    add_name(stalls, from->stall, &ret_row->reason))
		return -ENOMEM;
	return 0;
}

static int append_row(struct view_stalls *stalls, const struct view_stall *row)
{
	return array_append(stalls->rows, stalls->capacity, stalls->count, *row);
}

static int add_row(struct view_stalls *stalls, const struct analysis *analysis, instruction from,
		   struct device_code *places, struct view_code *code)
{
	struct device_place place;
	struct view_stall row;
	const char *file;
	char address[24];

	if (device_code_find(places, from->code, from->offset, &place) ||
	    start_row(stalls, analysis, from, code, &row))
		return -ENOMEM;
	file = place.file
		       ? place.file
		       : model_source_file(analysis->model,
					   model_entity(analysis->model, EVENT_CODE, from->code));
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)place.address);
	if (add_name(stalls, *place.text ? place.text : from->text, &row.text) ||
	    add_name(stalls, address, &row.place) || add_name(stalls, file, &row.file))
		return -ENOMEM;
	row.line = place.line;
	return append_row(stalls, &row);
}

/* Adds samples by reason. The last of MAX_REASONS entries is kept for reason 0 (none), which takes
 * all further reasons; only a hostile trace has more. */
static int add_rest(struct view_stalls *stalls, uint32_t reason, uint64_t samples)
{
	size_t i = 0;

	while (i < stalls->rest_count && stalls->rest[i].reason != reason)
		i++;
	if (i == stalls->rest_count && i >= MAX_REASONS - 1 && reason)
		return add_rest(stalls, 0, samples);
	if (array_grow(stalls->rest, stalls->rest_capacity, i + 1))
		return -ENOMEM;
	if (i == stalls->rest_count)
		stalls->rest[stalls->rest_count++] = (struct view_rest){.reason = reason};
	stalls->rest[i].samples += samples;
	return 0;
}

/* Adds samples to the common row of a stack, kernel and reason. */
static int add_several(struct view_stalls *stalls, const struct analysis *analysis,
		       instruction from, struct view_code *code)
{
	uint64_t first, second;
	struct view_stall row;
	uint32_t index;

	if (start_row(stalls, analysis, from, code, &row))
		return -ENOMEM;
	first = (uint64_t)row.stack << 32 | row.function;
	second = (uint64_t)row.kernel << 32 | row.reason;
	index = pair_map_find(&stalls->several, first, second);
	if (index != PAIR_MAP_NONE) {
		stalls->rows[index].samples += from->samples;
		return 0;
	}
	if (stalls->several.count == MAX_SEVERAL)
		return add_rest(stalls, row.reason, from->samples);
	if (add_name(stalls, "[less frequent]", &row.text) ||
	    pair_map_put(&stalls->several, first, second, (uint32_t)stalls->count))
		return -ENOMEM;
	return append_row(stalls, &row);
}

static int add_all(struct view_stalls *stalls, const struct analysis *analysis,
		   const instruction *sorted, struct view_code *code)
{
	const size_t count = analysis->instructions_count;
	struct device_code *places;
	int error = device_code_new(analysis->model, &places);

	if (error)
		return error;
	for (size_t i = 0; i < count && !error; i++)
		error = i < MAX_ROWS ? add_row(stalls, analysis, sorted[i], places, code)
				     : add_several(stalls, analysis, sorted[i], code);
	device_code_free(places);
	return error;
}

int view_stalls_init(struct view_stalls *stalls, const struct analysis *analysis,
		     struct view_code *code)
{
	const size_t count = analysis->instructions_count;
	auto_free instruction *sorted = calloc(count + 1, sizeof(*sorted));

	*stalls = (struct view_stalls){0};
	if (!sorted)
		return -ENOMEM;
	if (!count)
		return 0;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &analysis->instructions[i];
	qsort(sorted, count, sizeof(*sorted), compare_samples);
	return add_all(stalls, analysis, sorted, code);
}

void view_stalls_fini(struct view_stalls *stalls)
{
	if (!stalls)
		return;
	string_table_fini(&stalls->names);
	pair_map_fini(&stalls->several);
	free(stalls->rows);
	free(stalls->rest);
	*stalls = (struct view_stalls){0};
}

static void write_row(const struct view_stall *row, struct json_writer *json)
{
	json_u64(json, row->stack);
	json_u64(json, row->function);
	json_u64(json, row->kernel);
	json_u64(json, row->text);
	json_u64(json, row->reason);
	json_u64(json, row->place);
	json_u64(json, row->file);
	json_u64(json, row->line);
	json_u64(json, row->samples);
}

void view_stalls_write(const struct view_stalls *stalls, struct json_writer *json)
{
	json_object_begin(json);
	json_pair_array(json, "names");
	view_code_write_texts(&stalls->names, 0, json);
	json_array_end(json);
	json_pair_array(json, "rows");
	for (size_t i = 0; i < stalls->count; i++)
		write_row(&stalls->rows[i], json);
	json_array_end(json);
	json_pair_array(json, "rest");
	for (size_t i = 0; i < stalls->rest_count; i++) {
		json_u64(json, stalls->rest[i].reason);
		json_u64(json, stalls->rest[i].samples);
	}
	json_array_end(json);
	json_object_end(json);
}
