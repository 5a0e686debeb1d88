/* SPDX-License-Identifier: MIT
 *
 * page/scope/write.c - write the page of a heat map
 *
 * Runs in:  our own process
 * Gets:     cells, a drawing
 * Gives:    an HTML file with cells and drawing; docs/design/flamescope.md describes its content
 * Owns:     the texts of the file's sections, during a call
 * Fails:    -ENOMEM, errors of the file
 */
#include "page/scope/cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/stream.h"
#include "base/json.h"
#include "flame/drawing.h"
#include "flame/escape.h"
#include "page/causes.h"
#include "page/scope/page.h"
#include "page/scope/stacks.h"
#include "page/view/sections.h"

/* The roles of items in the page's format. ROLE_LENGTHS is the first of several: one for
 * each class of durations. */
enum role {
	ROLE_PLAIN,
	ROLE_DIVIDED,
	ROLE_WEIGHT,
	ROLE_COUNT,
	ROLE_KNOWN,
	ROLE_SEEN,
	ROLE_LENGTHS
};

enum rule { RULE_STATES, RULE_INSTRUCTIONS };

struct used_item {
	uint32_t number; /* in the file; SCOPE_NO_STACK: left out */
	uint32_t role, stack, group, row;
};

/* An amount that the page divides among stacks. */
struct group {
	uint32_t rule, stack; /* stack: gets the amount if no sample divides it */
	uint32_t unsampled;   /* 1 + row of the time that no sample covers; 0: none */
};

/* An instruction. rank: its position in the order of addresses, which orders instructions with
 * equal numbers of samples. */
struct place {
	uint32_t path, rank;
};

struct page {
	const struct scope_cells *cells;
	struct drawing *drawing;
	const struct scope_about *about;
	struct scope_stacks stacks;
	struct used_item *items; /* parallel to cells->items */
	size_t items_capacity;
	struct group *groups;
	size_t groups_count, groups_capacity;
	struct pair_map group_numbers; /* (rule << 32 | device or path, cause) -> index */
	struct place *places;          /* by number of the instruction */
	uint64_t sum;                  /* sum of all shown values */
};

static int find_group(struct page *page, enum rule rule, uint32_t of, uint32_t cause,
		      uint32_t *ret_group)
{
	uint64_t key = (uint64_t)rule << 32 | of;

	*ret_group =
		pair_map_add(&page->group_numbers, key, cause, page->groups, page->groups_capacity,
			     page->groups_count, (struct group){.rule = rule});
	return *ret_group == PAIR_MAP_NONE ? -ENOMEM : 0;
}

static int use_divided(struct page *page, struct used_item *used, enum rule rule, uint32_t of,
		       uint32_t cause)
{
	int error = find_group(page, rule, of, cause, &used->group);

	used->role = ROLE_DIVIDED;
	if (!error)
		page->groups[used->group].stack = used->stack;
	return error;
}

static int use_path(struct page *page, const struct scope_item *item, struct used_item *used)
{
	const struct analysis_instruction *rows;

	if (item->part != DRAWN_BUSY ||
	    !analysis_instructions_of(page->drawing->analysis, item->index, &rows))
		return 0;
	return use_divided(page, used, RULE_INSTRUCTIONS, item->index, 0);
}

static int use_state(struct page *page, const struct scope_item *item, struct used_item *used)
{
	const struct analysis_state *state = &page->drawing->analysis->cpu.states[item->index];
	int error = find_group(page, RULE_STATES, (uint32_t)state->device,
			       analysis_state_group(state->cause, state->is_after), &used->group);

	used->role = ROLE_KNOWN + item->part;
	if (!error && !state->stack && !state->wait_string)
		page->groups[used->group].unsampled = item->index + 1;
	return error;
}

static int use_item(struct page *page, const struct scope_item *item, struct used_item *used)
{
	switch (item->kind) {
	case DRAWN_PATH:
		return use_path(page, item, used);
	case SCOPE_DIVIDED:
		return use_divided(page, used, RULE_STATES, item->index, item->part);
	case DRAWN_STATE:
		return use_state(page, item, used);
	case DRAWN_INSTRUCTION:
		used->role = ROLE_WEIGHT + item->part;
		used->row = page->places[item->index].rank;
		return find_group(page, RULE_INSTRUCTIONS, page->places[item->index].path, 0,
				  &used->group);
	default:
		return 0;
	}
}

/* Leaves out CPU samples of other sources: the picture shows only one. */
static bool is_drawn(const struct page *page, const struct scope_item *item)
{
	return item->kind != DRAWN_SAMPLE || !page->stacks.source ||
	       strcmp(model_text(page->drawing->model, item->part, "samples"),
		      page->stacks.source) == 0;
}

static int use_items(struct page *page)
{
	const struct scope_cells *cells = page->cells;
	uint32_t count = 0;
	int error = 0;

	if (array_grow(page->items, page->items_capacity, cells->items_count + 1))
		return -ENOMEM;
	for (size_t i = 0; i < cells->items_count && !error; i++) {
		struct used_item *used = &page->items[i];

		used->stack = scope_stacks_find(&page->stacks, &cells->items[i]);
		used->number = SCOPE_NO_STACK;
		if (used->stack == SCOPE_NO_STACK || !is_drawn(page, &cells->items[i]))
			continue;
		used->number = count++;
		used->row = cells->items[i].index;
		error = use_item(page, &cells->items[i], used);
	}
	return error;
}

static bool is_used(const struct page *page, const struct scope_value *value)
{
	return value->value && page->items[value->item].number != SCOPE_NO_STACK;
}

static void sum_up(struct page *page)
{
	const struct scope_cells *cells = page->cells;

	page->sum = page->stacks.lost;
	for (size_t i = 0; i < cells->values_count; i++)
		if (is_used(page, &cells->values[i]) &&
		    page->items[cells->values[i].item].role <= ROLE_DIVIDED)
			page->sum += cells->values[i].value;
}

static int compare_places(const void *left, const void *right, void *context)
{
	const struct analysis_instruction *rows = context;
	const struct analysis_instruction *a = &rows[*(const uint32_t *)left];
	const struct analysis_instruction *b = &rows[*(const uint32_t *)right];

	if (a->code != b->code)
		return a->code < b->code ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return strcmp(a->stall, b->stall);
}

static int find_places(struct page *page)
{
	const struct analysis *analysis = page->drawing->analysis;
	size_t count = analysis->instructions_count;
	auto_free uint32_t *order = calloc(count + 1, sizeof(*order));

	page->places = calloc(count + 1, sizeof(*page->places));
	if (!order || !page->places)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof(*order), compare_places, analysis->instructions);
	for (uint32_t i = 0; i < count; i++) {
		const struct analysis_instruction *row = &analysis->instructions[order[i]];

		page->places[row->number] = (struct place){.path = row->path, .rank = i};
	}
	return 0;
}

static int page_init(struct page *page)
{
	int error = find_places(page);

	if (!error)
		error = scope_stacks_init(&page->stacks, page->drawing);
	if (!error)
		error = use_items(page);
	if (!error)
		sum_up(page);
	return error;
}

static void page_fini(struct page *page)
{
	scope_stacks_fini(&page->stacks);
	pair_map_fini(&page->group_numbers);
	free(page->items);
	free(page->groups);
	free(page->places);
}

/* ---- the head -------------------------------------------------------------------------------- */

static void write_frames(const struct page *page, struct json_writer *json)
{
	const struct flame *flame = page->drawing->flame;
	struct string_builder text = {0};

	json_pair_array(json, "names");
	for (uint32_t i = 0; i < flame->frames_count; i++) {
		string_builder_clear(&text);
		flame_escape_shown(&text, flame_frame_name(flame, i));
		json_string(json, flame->frames[i].frame_class == FLAME_SEPARATOR
					  ? FLAME_SEPARATOR_LABEL
					  : string_builder_text(&text));
	}
	json_array_end(json);
	json_pair_array(json, "classes");
	for (uint32_t i = 0; i < flame->frames_count; i++)
		json_u64(json, flame->frames[i].frame_class);
	json_array_end(json);
	json->error = text.error && !json->error ? text.error : json->error;
	string_builder_fini(&text);
}

/* Writes a column: a number for each of count rows. */
static void write_column(struct json_writer *json, const char *key, size_t count,
			 uint64_t (*at)(const void *rows, size_t i), const void *rows)
{
	json_pair_array(json, key);
	for (size_t i = 0; i < count; i++)
		json_u64(json, at(rows, i));
	json_array_end(json);
}

static uint64_t parent_at(const void *rows, size_t i)
{
	return ((const struct scope_node *)rows)[i + 1].parent;
}

static uint64_t frame_at(const void *rows, size_t i)
{
	return ((const struct scope_node *)rows)[i + 1].frame;
}

static uint64_t rule_at(const void *rows, size_t i)
{
	return ((const struct group *)rows)[i].rule;
}

static uint64_t group_stack_at(const void *rows, size_t i)
{
	return ((const struct group *)rows)[i].stack;
}

static uint64_t nobody_at(const void *rows, size_t i)
{
	return ((const struct group *)rows)[i].unsampled;
}

/* Writes the columns of the items that are in the file. */
static void write_items(const struct page *page, struct json_writer *json)
{
	static const char *const keys[] = {"roles", "stacks", "groups", "rows"};

	for (size_t column = 0; column < ARRAY_COUNT(keys); column++) {
		json_pair_array(json, keys[column]);
		for (size_t i = 0; i < page->cells->items_count; i++) {
			const struct used_item *used = &page->items[i];
			const uint32_t values[] = {used->role, used->stack, used->group, used->row};

			if (used->number != SCOPE_NO_STACK)
				json_u64(json, values[column]);
		}
		json_array_end(json);
	}
}

static void write_tables(const struct page *page, struct json_writer *json)
{
	const struct scope_stacks *stacks = &page->stacks;

	json_pair_object(json, "frames");
	write_frames(page, json);
	json_object_end(json);
	json_pair_object(json, "stacks");
	write_column(json, "parents", stacks->nodes_count - 1, parent_at, stacks->nodes);
	write_column(json, "frames", stacks->nodes_count - 1, frame_at, stacks->nodes);
	json_object_end(json);
	json_pair_object(json, "items");
	write_items(page, json);
	json_object_end(json);
	json_pair_object(json, "groups");
	write_column(json, "rules", page->groups_count, rule_at, page->groups);
	write_column(json, "stacks", page->groups_count, group_stack_at, page->groups);
	write_column(json, "nobodies", page->groups_count, nobody_at, page->groups);
	json_object_end(json);
}

static void write_grid(const struct page *page, struct json_writer *json)
{
	const struct analysis *analysis = page->drawing->analysis;
	const struct scope_grid *grid = &page->cells->grid;
	uint64_t length_ns = analysis->to_ns - analysis->from_ns;
	uint64_t count = length_ns / grid->row_ns + (length_ns % grid->row_ns != 0);

	if (page->cells->values_count &&
	    page->cells->values[page->cells->values_count - 1].cell >= count)
		count = page->cells->values[page->cells->values_count - 1].cell + (uint64_t)1;
	json_pair_u64(json, "states", analysis->cpu.states_count);
	json_pair_u64(json, "row_ns", grid->row_ns);
	json_pair_u64(json, "asked_row_ns", page->cells->asked_row_ns);
	json_pair_u64(json, "rows", grid->rows);
	json_pair_u64(json, "cells", count ? count : 1);
	json_pair_u64(json, "from_ns", analysis->from_ns - analysis->begin_ns);
	json_pair_u64(json, "to_ns", analysis->to_ns - analysis->begin_ns);
}

static void write_about(const struct page *page, struct json_writer *json)
{
	const struct drawing *drawing = page->drawing;
	struct string_builder subtitle = {0};

	drawing_describe(drawing, &subtitle);
	json_pair_text(json, "schema", "duet.flamescope/1");
	json_pair_text(json, "version", page->about->version);
	json_pair_text(json, "title", page->about->title);
	json_pair_text(json, "view", drawing->view->name);
	json_pair_text(json, "unit", drawing_unit(drawing));
	json_pair_text(json, "about", string_builder_text(&subtitle));
	json_pair_text(json, "warning", page->about->warning);
	page_write_causes(json);
	json_pair_u64(json, "sum", page->sum);
	json_pair_u64(json, "cut_stacks", page->stacks.cut);
	json_pair_u64(json, "lost", page->stacks.lost);
	json_pair_u64(json, "lost_stack", page->stacks.lost_stack);
	json->error = subtitle.error && !json->error ? subtitle.error : json->error;
	string_builder_fini(&subtitle);
}

/* Writes the node at which the busy time of each path ends, in the order of the paths; 0: none. */
static void write_paths(const struct page *page, struct json_writer *json)
{
	const struct analysis *analysis = page->drawing->analysis;

	json_pair_array(json, "paths");
	for (uint32_t i = 0; i < analysis->paths_count && analysis->paths[i].name; i++) {
		const struct scope_item item = {DRAWN_PATH, i, DRAWN_BUSY};
		uint32_t node = scope_stacks_find(&page->stacks, &item);

		json_u64(json, node == SCOPE_NO_STACK ? 0 : node);
	}
	json_array_end(json);
}

static void write_graph(const struct page *page, struct json_writer *json)
{
	write_grid(page, json);
	write_paths(page, json);
	write_tables(page, json);
}

static void write_head(const struct page *page, struct json_writer *json)
{
	write_about(page, json);
	write_grid(page, json);
	write_tables(page, json);
}

/* ---- the cells ------------------------------------------------------------------------------- */

static uint64_t column_at(const struct page *page, const struct scope_value *value, size_t column,
			  uint32_t last_cell)
{
	const uint64_t columns[] = {value->cell - last_cell, page->items[value->item].number,
				    value->value};

	return columns[column];
}

/* Writes values in the order of cells; a cell is written as the difference to the one before. */
static void write_cells(const struct page *page, struct json_writer *json)
{
	static const char *const keys[] = {"cells", "items", "values"};
	const struct scope_cells *cells = page->cells;

	for (size_t column = 0; column < ARRAY_COUNT(keys); column++) {
		uint32_t last_cell = 0;

		json_pair_array(json, keys[column]);
		for (size_t i = 0; i < cells->values_count; i++) {
			const struct scope_value *value = &cells->values[i];

			if (!is_used(page, value))
				continue;
			json_u64(json, column_at(page, value, column, last_cell));
			last_cell = value->cell;
		}
		json_array_end(json);
	}
}

/* ---- the file -------------------------------------------------------------------------------- */

static int write_section(const struct page *page, const char *id,
			 void (*write)(const struct page *page, struct json_writer *json),
			 FILE *file)
{
	struct view_deflater deflater;
	struct string_builder text = {0};
	struct json_writer json;
	int error = view_deflater_init(&deflater);

	json_init_text(&json, &text);
	json_object_begin(&json);
	write(page, &json);
	json_object_end(&json);
	if (!error)
		error = json_error(&json);
	if (!error)
		error = view_sections_write_bytes(&deflater, id, text.text, text.length, file);
	string_builder_fini(&text);
	view_deflater_fini(&deflater);
	return error;
}

int scope_write_elements(const struct scope_cells *cells, struct drawing *drawing,
			 const char *head_id, const char *cells_id, FILE *file)
{
	struct page page = {.cells = cells, .drawing = drawing};
	int error = page_init(&page);

	if (!error)
		error = write_section(&page, head_id, write_graph, file);
	if (!error)
		error = write_section(&page, cells_id, write_cells, file);
	page_fini(&page);
	return error;
}

static int write_file(const struct page *page, FILE *file)
{
	int error;

	fwrite(scope_page_begin, 1, scope_page_begin_size, file);
	error = write_section(page, "head", write_head, file);
	if (!error)
		error = write_section(page, "cells", write_cells, file);
	fwrite(scope_page_script, 1, scope_page_script_size, file);
	fwrite(scope_page_end, 1, scope_page_end_size, file);
	return error ? error : stream_flush(file);
}

int scope_write_page(const struct scope_cells *cells, struct drawing *drawing,
		     const struct scope_about *about, FILE *file)
{
	struct page page = {.cells = cells, .drawing = drawing, .about = about};
	int error = page_init(&page);

	if (!error)
		error = write_file(&page, file);
	page_fini(&page);
	return error;
}
