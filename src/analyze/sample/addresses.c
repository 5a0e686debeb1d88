/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/addresses.c - attributes a sample that has only a device address and a window to a
 * launch
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     samples; from sample/candidate_runs.c the commands that may have run their code
 * Gives:    whole numbers of samples for each path
 * Owns:     the pending samples; the index of the code; for each place in code the analysis's rows
 *           that count its samples
 * Fails:    -ENOMEM
 * Why samples wait: the rows of a 100 ms window come at its begin, before the executions in it.
 *           Samples at an address whose code appears later wait for that code. At most 2^22 rows
 *           wait. Beyond that the oldest are attributed by the executions and code known so far,
 *           and the ledger counts them as early. The largest window of the recorder has 2^19
 *           instructions, so 2^22 rows hold several.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sample/addresses.h"
#include "base/array.h"
#include "base/number.h"

enum { MAX_WAITING = 1 << 22, FEW_ROWS = 48, FIRST_CELLS = 64, AHEAD = 16 };

struct sorted {
	uint32_t address, index;
};

/* Owner of the samples in a cell: an index of debts, or one of these. */
#define WHOSE_NOBODY    0x80000000u /* code known, launch not: combined with an index of codes */
#define WHOSE_NOT_KNOWN UINT32_MAX

/* The analysis's rows that count the samples of one stretch of code. */
struct place {
	struct cell {
		uint32_t address; /* lower 32 bits */
		uint32_t stall, whose;
		uint32_t row; /* PAIR_MAP_NONE: the cell is free */
	} * cells;            /* owned; a hash table whose capacity is a power of two */
	size_t count, capacity;
};

int sweep_make_addresses(struct sweep *sweep)
{
	struct addresses *addresses;
	const size_t most = sweep->options->max_waiting;

	if (!sweep->trace.has_instructions)
		return 0;
	addresses = calloc(1, sizeof(*addresses));
	if (!addresses)
		return -ENOMEM;
	sweep->addresses = addresses;
	addresses->max_waiting = most ? most : MAX_WAITING;
	if (sweep_make_runs(sweep) || code_index_new(sweep->analysis->model, &addresses->index) ||
	    code_sites_new(addresses->index, &addresses->sites))
		return -ENOMEM;
	return 0;
}

void sweep_addresses_fini(struct sweep *sweep)
{
	struct addresses *addresses = sweep->addresses;

	if (!addresses)
		return;
	sweep_runs_fini(sweep);
	code_sites_free(addresses->sites);
	code_index_free(addresses->index);
	for (size_t i = 0; i < addresses->places_count; i++)
		free(addresses->places[i].cells);
	free(addresses->places);
	free(addresses->sorted);
	pending_samples_fini(&addresses->waiting);
	pending_samples_fini(&addresses->late);
	free(addresses);
	sweep->addresses = NULL;
}

/* ---- rows of the analysis -------------------------------------------------------------------- */

static struct place *find_place(struct addresses *addresses, uint32_t number)
{
	if (number >= addresses->places_count) {
		if (array_grow(addresses->places, addresses->places_capacity, number + (size_t)1))
			return NULL;
		addresses->places_count = number + (size_t)1;
	}
	return &addresses->places[number];
}

/* The hash of a cell. Cells of one address are close together, for the cache. */
static size_t home_of(uint32_t address, uint32_t stall, uint32_t whose)
{
	return (size_t)((address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 40) * 16 +
	       (stall + 5 * whose) % 16;
}

/* The cell of these three, or the free cell where it would be inserted. The table always has a free
 * cell. */
static struct cell *find_cell(const struct place *place, uint32_t address, uint32_t stall,
			      uint32_t whose)
{
	const size_t mask = place->capacity - 1;
	size_t i = home_of(address, stall, whose) & mask;

	while (place->cells[i].row != PAIR_MAP_NONE &&
	       (place->cells[i].address != address || place->cells[i].stall != stall ||
		place->cells[i].whose != whose))
		i = (i + 1) & mask;
	return &place->cells[i];
}

static int grow_place(struct place *place)
{
	struct place larger = {.count = place->count,
			       .capacity = place->capacity ? 2 * place->capacity : FIRST_CELLS};

	larger.cells = malloc(larger.capacity * sizeof(*larger.cells));
	if (!larger.cells)
		return -ENOMEM;
	for (size_t i = 0; i < larger.capacity; i++)
		larger.cells[i].row = PAIR_MAP_NONE;
	for (size_t i = 0; i < place->capacity; i++) {
		const struct cell *cell = &place->cells[i];

		if (cell->row != PAIR_MAP_NONE)
			*find_cell(&larger, cell->address, cell->stall, cell->whose) = *cell;
	}
	free(place->cells);
	*place = larger;
	return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The row that is being attributed, with its code and candidates. */
struct given {
	struct event_instruction_sample row; /* row.offset: the device address */
	const struct code_set *set;
	struct split *split; /* NULL: the code is unknown */
	uint32_t set_number, place;
	struct sweep_found found;
};

/* Counts a part of a row in a new row of the analysis. */
static int count_new(struct sweep *sweep, struct given *given, const struct code_site *site,
		     struct event_instruction_sample *part)
{
	struct addresses *addresses = sweep->addresses;
	const struct event_code *code;
	int error;

	if (site) {
		code = entity_index_row(&sweep->entities.codes, site->range->code);
		part->code = code->id;
		error = code_index_offset(addresses->index, site->range, given->row.offset,
					  &part->offset);
		if (error)
			return error;
	}
	return sweep_count_instruction(sweep, part, &given->found);
}

/* Counts `count` samples of the row for one owner. site NULL: the code is not known. */
static int count_part(struct sweep *sweep, struct given *given, const struct code_site *site,
		      uint32_t whose, uint64_t count)
{
	const uint32_t address = (uint32_t)given->row.offset, stall = given->row.stall_string;
	struct place *place = find_place(sweep->addresses, given->place);
	struct event_instruction_sample part;
	struct cell *cell;
	int error;

	given->found.is_unsized = site && !(site->range->known & 1);
	given->found.row = PAIR_MAP_NONE;
	if (!place || (2 * (place->count + 1) > place->capacity && grow_place(place)))
		return -ENOMEM;
	cell = find_cell(place, address, stall, whose);
	if (!given->row.text_string && cell->row != PAIR_MAP_NONE) {
		const uint64_t whole = given->row.count;

		given->found.row = cell->row;
		given->row.count = count;
		error = sweep_count_instruction(sweep, &given->row, &given->found);
		given->row.count = whole;
		return error;
	}
	part = given->row;
	part.count = count;
	error = count_new(sweep, given, site, &part);
	if (error || given->row.text_string || given->found.row == PAIR_MAP_NONE)
		return error;
	*cell = (struct cell){address, stall, whose, given->found.row};
	place->count++;
	return 0;
}

static int count_share(struct sweep *sweep, struct given *given, size_t index, uint64_t count)
{
	const struct candidate *candidate = &given->split->candidates[index];

	given->found.path = candidate->path;
	return count_part(sweep, given, &given->set->sites[candidate->site], candidate->debt,
			  count);
}

static int divide_row(struct sweep *sweep, struct given *given)
{
	struct split *split = given->split;
	struct debt *debts = sweep->addresses->debts;
	int error = 0;

	for (size_t i = 0; i < split->count; i++)
		split->shares[i].debt = debts[split->candidates[i].debt].entities;
	portions_divide(split->shares, split->count, given->row.count);
	for (size_t i = 0; i < split->count; i++)
		debts[split->candidates[i].debt].entities = split->shares[i].debt;
	for (size_t i = 0; i < split->count && !error; i++)
		if (split->shares[i].part)
			error = count_share(sweep, given, i, split->shares[i].part);
	return error;
}

/* Gives each candidate its rounded-down share, and the rest as single samples in turns. */
static int divide_row_in_turns(struct sweep *sweep, struct given *given)
{
	struct split *split = given->split;
	uint64_t left = given->row.count;
	int error = 0;

	if (left >= split->count) {
		left = portions_round_down(split->shares, split->count, left);
		for (size_t i = 0; i < split->count && !error; i++)
			if (split->shares[i].part)
				error = count_share(sweep, given, i, split->shares[i].part);
	}
	for (; left && !error; left--)
		error = count_share(sweep, given,
				    portions_turn(split->shares, split->count, split->turns++), 1);
	return error;
}

/* Counts samples in kernels without a visible launch, for the finding about launches that the
 * collectors miss. */
static void count_hidden(struct sweep *sweep, const struct given *given)
{
	struct analysis_hidden *hidden = &sweep->analysis->devices[given->found.device].hidden;
	const struct split *split = given->split;
	const uint64_t count = given->row.count;

	if (!analysis_shows(sweep->analysis, given->row.begin, given->row.begin))
		return;
	hidden->samples = add_saturated(hidden->samples, count);
	if (!split->is_hidden || given->set->is_late)
		return;
	hidden->hidden = add_saturated(hidden->hidden, count);
	if (!split->count)
		hidden->never_launched = add_saturated(hidden->never_launched, count);
	hidden->kernels += sweep_is_newly_hidden(sweep, given->set->sites[0].range->code);
}

/* Whether one of the kernels at the row's address belongs to a process that is left out. */
static bool has_left_out(const struct sweep *sweep, const struct code_set *set,
			 bool *ret_has_chosen)
{
	bool is_out = false;

	*ret_has_chosen = false;
	for (size_t i = 0; i < set->count; i++) {
		const struct event_code *code =
			entity_index_row(&sweep->entities.codes, set->sites[i].range->code);
		bool is_chosen = model_has_process(sweep->analysis->model, code->process);

		*ret_has_chosen |= is_chosen;
		is_out |= !is_chosen;
	}
	return is_out;
}

/* Attributes a row. All launches and executions up to the end of its window are known by now,
 * unless is_early is set. */
static int attribute_row(struct sweep *sweep, struct given *given)
{
	const struct split *split = given->split;
	const struct code_site *first = split ? &given->set->sites[0] : NULL;
	bool has_chosen = true, is_out = false;

	if (sweep->analysis->model->choice)
		is_out = has_left_out(sweep, given->set, &has_chosen);
	if (!has_chosen)
		return 0;
	given->found.path = ANALYSIS_NO_PATH;
	given->found.is_unknown_code = !first;
	given->found.is_late = given->set->is_late;
	given->found.is_divided = is_out || (split && split->is_divided);
	if (split)
		count_hidden(sweep, given);
	if (!split || !split->count)
		return count_part(sweep, given, first,
				  first ? first->range->code | WHOSE_NOBODY : WHOSE_NOT_KNOWN,
				  given->row.count);
	if (split->count == 1)
		return count_share(sweep, given, 0, given->row.count);
	return split->count < MANY_CANDIDATES ? divide_row(sweep, given)
					      : divide_row_in_turns(sweep, given);
}

/* A stable radix sort by address, one byte per pass. */
static void sort_bytes(struct sorted *from, struct sorted *to, size_t count)
{
	for (unsigned int shift = 0; shift < 32; shift += 8) {
		size_t places[257] = {0};
		struct sorted *other = from;

		for (size_t i = 0; i < count; i++)
			places[(from[i].address >> shift & 255) + 1]++;
		for (size_t i = 1; i < 257; i++)
			places[i] += places[i - 1];
		for (size_t i = 0; i < count; i++)
			to[places[from[i].address >> shift & 255]++] = from[i];
		from = to;
		to = other;
	}
}

static void sort_few(struct sorted *rows, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const struct sorted row = rows[i];
		size_t at = i;

		for (; at && rows[at - 1].address > row.address; at--)
			rows[at] = rows[at - 1];
		rows[at] = row;
	}
}

static int sort_window(struct addresses *addresses, const struct pending_samples *waiting,
		       size_t count)
{
	struct sorted *sorted;

	if (array_grow(addresses->sorted, addresses->sorted_capacity, 2 * count))
		return -ENOMEM;
	sorted = addresses->sorted;
	for (size_t i = 0; i < count; i++)
		sorted[i] = (struct sorted){(uint32_t)pending_samples_row_at(waiting, i)->offset,
					    (uint32_t)i};
	if (count < FEW_ROWS)
		sort_few(sorted, count);
	else
		sort_bytes(sorted, sorted + count, count);
	return 0;
}

static void begin_given(const struct sweep_entities *entities, struct given *given,
			const struct event_instruction_sample *row, bool is_early)
{
	*given = (struct given){
		.row = *row,
		.set_number = UINT32_MAX,
		.found = {.is_by_address = true,
			  .is_early = is_early,
			  .device = entity_index_find(&entities->devices, row->device)}};
}

/* Looks up the row's code and attributes the row, or lets it wait for late code. is_last: it has
 * waited already. */
static int release_row(struct sweep *sweep, struct given *given, bool is_last, uint64_t now_ns)
{
	struct addresses *addresses = sweep->addresses;
	const struct event_instruction_sample *row = &given->row;
	uint32_t number;
	int error = code_sites_find(addresses->sites, row->device, row->offset, row->begin,
				    row->end, &number, &given->place);

	if (error)
		return error;
	given->set = code_sites_set(addresses->sites, number);
	if (!is_last && given->set->is_late && given->set->begin_ns + LAUNCHED_BEFORE_NS >= now_ns)
		return pending_samples_put(&addresses->late, row,
					   given->set->begin_ns + LAUNCHED_BEFORE_NS +
						   sweep->delay_ns + 1);
	if (number != given->set_number) {
		given->split = NULL;
		if (given->set->count)
			error = sweep_make_split(sweep, row, number, &given->split);
		given->set_number = number;
	}
	return error ? error : attribute_row(sweep, given);
}

/* Attributes a window's rows in the order of addresses. Neighbours share code, launches and rows,
 * so the lookups of one are still in the cache for the next. */
static int release_window(struct sweep *sweep, struct pending_samples *waiting, uint64_t now_ns)
{
	struct addresses *addresses = sweep->addresses;
	const struct pending_window *window = pending_samples_first(waiting);
	const bool is_last = waiting == &addresses->late;
	struct given given;
	int error = sort_window(addresses, waiting, window->count);

	begin_given(&sweep->entities, &given, &window->head, window->due_ns > now_ns);
	for (size_t i = 0; i < window->count && !error; i++) {
		const struct pending_row *row =
			pending_samples_row_at(waiting, addresses->sorted[i].index);

		if (i + AHEAD < window->count)
			__builtin_prefetch(pending_samples_row_at(
				waiting, addresses->sorted[i + AHEAD].index));
		given.row.offset = row->offset;
		given.row.count = row->count;
		given.row.stall_string = row->stall_string;
		error = release_row(sweep, &given, is_last, now_ns);
	}
	pending_samples_drop(waiting);
	return error;
}

static bool is_due(const struct addresses *addresses, const struct pending_samples *waiting,
		   uint64_t now_ns)
{
	const struct pending_window *window = pending_samples_first(waiting);

	return window &&
	       (window->due_ns <= now_ns || pending_samples_size(waiting) > addresses->max_waiting);
}

int sweep_release_addresses(struct sweep *sweep, uint64_t now_ns)
{
	struct addresses *addresses = sweep->addresses;
	int error = 0;

	if (!addresses)
		return 0;
	while (!error && is_due(addresses, &addresses->waiting, now_ns))
		error = release_window(sweep, &addresses->waiting, now_ns);
	while (!error && is_due(addresses, &addresses->late, now_ns))
		error = release_window(sweep, &addresses->late, now_ns);
	return error;
}

bool sweep_is_address(const struct event_instruction_sample *row)
{
	return !row->code && row->device && !row->stack;
}

int sweep_take_address(struct sweep *sweep, const struct event_instruction_sample *row)
{
	struct given given;

	if (!code_index_is_empty(sweep->addresses->index))
		return pending_samples_put(&sweep->addresses->waiting, row,
					   row->end + sweep->delay_ns + 1);
	/* the trace has no code addresses, as is common in imported traces: waiting is useless */
	begin_given(&sweep->entities, &given, row, false);
	return release_row(sweep, &given, true, row->begin);
}
