/* SPDX-License-Identifier: MIT
 *
 * page/scope/scope.c - the values of a flame graph over time
 *
 * Runs in:  our own process
 * Gets:     the callbacks of an analysis during its sweep
 * Gives:    cells, from which scope/write.c makes the page
 * Owns:     the cells
 * Fails:    -ENOMEM
 * Why shared amounts are stored undivided: processor time within a device's idle time is
 *           apportioned to stacks by CPU samples, but a cell of 20 ms has only two or three of
 *           them. So cells contain the samples and the total amount. The page divides the amounts
 *           of a selected range, like the flame graph of that range.
 */
#include "page/scope/scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/observer.h"
#include "base/array.h"
#include "base/error.h"
#include "page/scope/cells.h"

struct scope {
	const struct flame_view *view; /* NULL: all values are kept */
	const struct analysis *analysis;
	struct scope_grid asked;
	struct scope_cells cells;
	bool is_finished;
};

/* A map narrower than this says little. */
#define MIN_COLUMNS UINT64_C(30)

int scope_new(const struct scope_grid *grid, const struct flame_view *view,
	      struct scope **ret_scope)
{
	struct scope *scope = calloc(1, sizeof(*scope));

	if (!scope)
		return error_set(-ENOMEM, "heat map: out of memory");
	scope->view = view;
	scope->asked = *grid;
	*ret_scope = scope;
	return 0;
}

void scope_free(struct scope *scope)
{
	if (!scope)
		return;
	scope_cells_fini(&scope->cells);
	free(scope);
}

struct scope_grid scope_grid(const struct scope *scope)
{
	return scope->cells.grid;
}

/* The longest duration of a cell with which the window fills MIN_COLUMNS columns. */
static uint64_t choose_row_ns(const struct analysis *analysis, uint32_t rows)
{
	static const uint64_t nice[] = {20000000, 10000000, 5000000, 2000000, 1000000, 500000,
					200000,   100000,   50000,   20000,   10000};
	const uint64_t length_ns = analysis->to_ns - analysis->from_ns;

	for (size_t i = 0; i < ARRAY_COUNT(nice); i++)
		if (length_ns >= MIN_COLUMNS * rows * nice[i])
			return nice[i];
	return nice[ARRAY_COUNT(nice) - 1];
}

uint64_t scope_asked_row_ns(const struct scope *scope)
{
	return scope->cells.asked_row_ns;
}

static int on_begin(void *context, const struct analysis *analysis)
{
	struct scope *scope = context;
	struct scope_grid grid = scope->asked;

	scope->analysis = analysis;
	scope->is_finished = false;
	if (!grid.row_ns)
		grid.row_ns = choose_row_ns(analysis, grid.rows);
	scope_cells_clear(&scope->cells, &grid, analysis->from_ns);
	return 0;
}

static struct scope_item item_of_span(const struct scope *scope, size_t device,
				      const struct account_span *span)
{
	const struct account *account = &scope->analysis->devices[device].account;

	if (span->is_busy)
		return (struct scope_item){DRAWN_PATH, span->tag, DRAWN_BUSY};
	if (analysis_has_states(scope->analysis, span->cause))
		return (struct scope_item){
			SCOPE_DIVIDED, (uint32_t)device,
			analysis_state_group(span->cause, span->cause == CAUSE_NOTHING_TO_DO &&
								  account->commands)};
	if (span->has_owner)
		return (struct scope_item){DRAWN_PATH, span->tag, span->cause};
	return (struct scope_item){account->commands ? DRAWN_AFTER : DRAWN_BEFORE, (uint32_t)device,
				   span->cause};
}

static int on_span(void *context, size_t device, const struct account_span *span)
{
	struct scope *scope = context;
	const struct scope_item item = item_of_span(scope, device, span);
	const struct scope_amount amount = {.begin = span->shared_begin,
					    .end = span->shared_end,
					    .by = span->end - span->begin,
					    .before = span->begin - span->shared_begin};

	if (scope->view && !(span->is_busy ? scope->view->busy : scope->view->idle))
		return 0;
	return scope_cells_add(&scope->cells, &item, &amount);
}

static bool is_wanted(const struct flame_view *view, enum observed_table table)
{
	switch (table) {
	case OBSERVED_LAUNCHED:
	case OBSERVED_MATCHED:
	case OBSERVED_REJECTED:
		return view->count;
	case OBSERVED_SAMPLE:
		return view->cpu;
	case OBSERVED_AWAY:
		return view->offcpu;
	case OBSERVED_INSTRUCTION:
		return view->busy || view->stall;
	default:
		return view->idle;
	}
}

static int add_amount(struct scope *scope, const struct observed_part *part, uint32_t kind,
		      uint32_t sub_part, uint64_t by)
{
	const struct scope_item item = {kind, part->row, sub_part};
	const struct scope_amount amount = {.begin = part->begin, .end = part->end, .by = by};

	return scope_cells_add(&scope->cells, &item, &amount);
}

/* Moves a launch from the outcome "open" to its final outcome. */
static int end_launch(struct scope *scope, const struct observed_part *part,
		      enum drawing_outcome outcome)
{
	int error = add_amount(scope, part, DRAWN_LAUNCHES, DRAWN_OPEN, 0 - part->by);

	return error ? error : add_amount(scope, part, DRAWN_LAUNCHES, outcome, part->by);
}

static int add_instruction(struct scope *scope, const struct observed_part *part)
{
	const struct flame_view *view = scope->view;
	int error = 0;

	if (!view || view->stall)
		error = add_amount(scope, part, DRAWN_STALL, 0, part->count);
	if (error || (view && !view->busy))
		return error;
	error = add_amount(scope, part, DRAWN_INSTRUCTION, SCOPE_WEIGHT, part->by);
	return error ? error : add_amount(scope, part, DRAWN_INSTRUCTION, SCOPE_COUNT, part->count);
}

static int on_part(void *context, const struct observed_part *part)
{
	struct scope *scope = context;

	if (scope->view && !is_wanted(scope->view, part->table))
		return 0;
	switch (part->table) {
	case OBSERVED_LAUNCHED:
		return add_amount(scope, part, DRAWN_LAUNCHES, DRAWN_OPEN, part->by);
	case OBSERVED_MATCHED:
		return end_launch(scope, part, DRAWN_MATCHED);
	case OBSERVED_REJECTED:
		return end_launch(scope, part, DRAWN_REJECTED);
	case OBSERVED_SAMPLE:
		return add_amount(scope, part, DRAWN_SAMPLE, part->source_string, part->by);
	case OBSERVED_INSTRUCTION:
		return add_instruction(scope, part);
	case OBSERVED_AWAY:
		return add_amount(scope, part, DRAWN_AWAY, 0, part->by);
	case OBSERVED_STATE_KNOWN:
		return add_amount(scope, part, DRAWN_STATE, SCOPE_KNOWN, part->by);
	case OBSERVED_STATE_SEEN:
		return add_amount(scope, part, DRAWN_STATE, SCOPE_SEEN, part->by);
	case OBSERVED_STATE_LENGTH:
		return add_amount(scope, part, DRAWN_STATE, SCOPE_LENGTHS + part->length, part->by);
	}
	return 0;
}

void scope_observe(struct scope *scope, struct analysis_observer *ret_observer)
{
	*ret_observer = (struct analysis_observer){
		.context = scope, .on_begin = on_begin, .on_span = on_span, .on_part = on_part};
}

static int finish(struct scope *scope, uint64_t end_ns)
{
	if (scope->is_finished)
		return 0;
	scope->is_finished = true;
	return scope_cells_finish(&scope->cells, end_ns);
}

int scope_write_sections(struct scope *scope, struct drawing *drawing, const char *head,
			 const char *cells, FILE *file)
{
	int error = finish(scope, drawing->analysis->to_ns);

	return error ? error : scope_write_elements(&scope->cells, drawing, head, cells, file);
}

int scope_write(struct scope *scope, struct drawing *drawing, const struct scope_about *about,
		FILE *file)
{
	int error = finish(scope, drawing->analysis->to_ns);

	if (!error)
		error = scope_write_page(&scope->cells, drawing, about, file);
	if (error && !*error_text())
		return error_set(error, "write the heat map: %s", strerror(-error));
	return error;
}
