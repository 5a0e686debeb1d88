/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_addresses.c - whose command a sample is that tells an address of a device and a window alone
 *
 * Runs in:  the readers
 * Gets:     samples; of sweep_runs.c who may have run their code   Gives: each sample to paths, counted whole
 * Owns:     samples that wait; of each place in code the rows that its samples are counted in
 * Fails:    -ENOMEM
 * Why samples wait: a window of 100 ms is told with its begin, and what ran in it begins later. Those of code that came late
 *           wait until it has; more than four million never do, the oldest are given away with what is known then, and that is
 *           counted. A window of all 2^19 instructions that a recorder counts at a time has about as many.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sweep_addresses.h"
#include "base/array.h"
#include "base/number.h"

enum { WAITING_MOST = 1 << 22, FEW_ROWS = 48, FIRST_CELLS = 16, AHEAD = 16 };

struct sorted {
	uint32_t address, index;
};

/* Whose samples are: an index of debts, or one of these. */
#define WHOSE_NOBODY    0x80000000u /* with an index of codes */
#define WHOSE_NOT_KNOWN UINT32_MAX

/* Rows of the analysis that samples of a stretch of code are counted in. */
struct place {
	struct cell {
		uint32_t address; /* its lower bits */
		uint32_t stall, whose;
		uint32_t row; /* PAIR_MAP_NONE: the cell is free */
	} * cells;            /* owned; a hash table of a power of two */
	size_t count, capacity;
};

int sweep_make_addresses(struct sweep *sweep)
{
	struct addresses *addresses;
	const size_t most = sweep->waiting_most;

	if (!sweep->has_instructions)
		return 0;
	addresses = calloc(1, sizeof(*addresses));
	if (!addresses)
		return -ENOMEM;
	sweep->addresses = addresses;
	addresses->waiting_most = most ? most : WAITING_MOST;
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
	waiting_fini(&addresses->waiting);
	waiting_fini(&addresses->late);
	free(addresses);
	sweep->addresses = NULL;
}

/* ---- rows of the analysis ---------------------------------------------------------------------- */

static struct place *find_place(struct addresses *addresses, uint32_t number)
{
	if (number >= addresses->places_count) {
		if (array_grow(addresses->places, addresses->places_capacity, number + (size_t)1))
			return NULL;
		addresses->places_count = number + (size_t)1;
	}
	return &addresses->places[number];
}

/* Cells of one address lie together. */
static size_t home_of(uint32_t address, uint32_t stall, uint32_t whose)
{
	return (size_t)((address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 40) * 16 +
	       (stall + 5 * whose) % 16;
}

/* Its cell, or the free one where it would go. There is a free one. */
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

/* ---- samples ----------------------------------------------------------------------------------- */

/* Rows of one window, and what is known of the one that is looked at. */
struct given {
	struct event_instruction_sample row; /* offset: the device's address */
	const struct code_set *set;
	struct split *split; /* NULL: the code is unknown */
	uint32_t set_number, place;
	struct sweep_found found;
};

/* A part of a row in a row of the analysis that is not known yet. */
static int count_new(struct sweep *sweep, struct given *given, const struct code_site *site,
		     struct event_instruction_sample *part)
{
	struct addresses *addresses = sweep->addresses;
	const struct event_code *code;
	int error;

	if (site) {
		code = things_row(&sweep->codes, site->range->code);
		part->code = code->id;
		error = code_index_offset(addresses->index, site->range, given->row.offset,
					  &part->offset);
		if (error)
			return error;
	}
	return sweep_count_instruction(sweep, part, &given->found);
}

/* site NULL: nobody knows the code. */
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

static int divide(struct sweep *sweep, struct given *given)
{
	struct split *split = given->split;
	struct debt *debts = sweep->addresses->debts;
	int error = 0;

	for (size_t i = 0; i < split->count; i++)
		split->shares[i].debt = debts[split->candidates[i].debt].things;
	shares_divide(split->shares, split->count, given->row.count);
	for (size_t i = 0; i < split->count; i++)
		debts[split->candidates[i].debt].things = split->shares[i].debt;
	for (size_t i = 0; i < split->count && !error; i++)
		if (split->shares[i].part)
			error = count_share(sweep, given, i, split->shares[i].part);
	return error;
}

/* What each has for certain, and the rest to one after the other. */
static int divide_many(struct sweep *sweep, struct given *given)
{
	struct split *split = given->split;
	uint64_t left = given->row.count;
	int error = 0;

	if (left >= split->count) {
		left = shares_round_down(split->shares, split->count, left);
		for (size_t i = 0; i < split->count && !error; i++)
			if (split->shares[i].part)
				error = count_share(sweep, given, i, split->shares[i].part);
	}
	for (; left && !error; left--)
		error = count_share(sweep, given,
				    shares_turn(split->shares, split->count, split->turns++), 1);
	return error;
}

/* For who asks whether launches go past whoever looks for them. */
static void count_hidden(struct sweep *sweep, const struct given *given)
{
	struct analysis_hidden *hidden = &sweep->analysis->devices[given->found.device].hidden;
	const struct split *split = given->split;
	const uint64_t count = given->row.count;

	if (!is_in_window(sweep->analysis, given->row.begin, given->row.begin))
		return;
	hidden->samples = add_saturated(hidden->samples, count);
	if (!split->is_hidden || given->set->is_late)
		return;
	hidden->hidden = add_saturated(hidden->hidden, count);
	if (!split->count)
		hidden->never_launched = add_saturated(hidden->never_launched, count);
	hidden->kernels += sweep_is_newly_hidden(sweep, given->set->sites[0].range->code);
}

/* All that ran and was launched by the end of its window is known now, unless it is given away early. */
static int give(struct sweep *sweep, struct given *given)
{
	const struct split *split = given->split;
	const struct code_site *first = split ? &given->set->sites[0] : NULL;

	given->found.path = ANALYSIS_NO_PATH;
	given->found.is_unknown_code = !first;
	given->found.is_late = given->set->is_late;
	given->found.is_divided = split && split->is_divided;
	if (split)
		count_hidden(sweep, given);
	if (!split || !split->count)
		return count_part(sweep, given, first,
				  first ? first->range->code | WHOSE_NOBODY : WHOSE_NOT_KNOWN,
				  given->row.count);
	if (split->count == 1)
		return count_share(sweep, given, 0, given->row.count);
	return split->count < MANY_CANDIDATES ? divide(sweep, given) : divide_many(sweep, given);
}

/* By address, those of one in the order in which they came: byte by byte, from the lowest on. */
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

static int sort_window(struct addresses *addresses, const struct waiting *waiting, size_t count)
{
	struct sorted *sorted;

	if (array_grow(addresses->sorted, addresses->sorted_capacity, 2 * count))
		return -ENOMEM;
	sorted = addresses->sorted;
	for (size_t i = 0; i < count; i++)
		sorted[i] =
			(struct sorted){(uint32_t)waiting_row_at(waiting, i)->offset, (uint32_t)i};
	if (count < FEW_ROWS)
		sort_few(sorted, count);
	else
		sort_bytes(sorted, sorted + count, count);
	return 0;
}

static void begin_given(const struct sweep *sweep, struct given *given,
			const struct event_instruction_sample *row, bool is_early)
{
	*given = (struct given){.row = *row,
				.set_number = UINT32_MAX,
				.found = {.is_by_address = true,
					  .is_early = is_early,
					  .device = things_index(&sweep->devices, row->device)}};
}

/* The code is looked for again: the answer of its address is the same. is_last: it does not wait any more. */
static int release(struct sweep *sweep, struct given *given, bool is_last, uint64_t now_ns)
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
		return waiting_put(&addresses->late, row,
				   given->set->begin_ns + LAUNCHED_BEFORE_NS + sweep->delay_ns + 1);
	if (number != given->set_number) {
		given->split = NULL;
		if (given->set->count)
			error = sweep_make_split(sweep, row, number, &given->split);
		given->set_number = number;
	}
	return error ? error : give(sweep, given);
}

/* Neighbours have their code, launches and rows in common, and what is asked of one is still at hand for the next. */
static int release_window(struct sweep *sweep, struct waiting *waiting, uint64_t now_ns)
{
	struct addresses *addresses = sweep->addresses;
	const struct waiting_window *window = waiting_first(waiting);
	const bool is_last = waiting == &addresses->late;
	struct given given;
	int error = sort_window(addresses, waiting, window->count);

	begin_given(sweep, &given, &window->head, window->due_ns > now_ns);
	for (size_t i = 0; i < window->count && !error; i++) {
		const struct waiting_row *row = waiting_row_at(waiting, addresses->sorted[i].index);

		if (i + AHEAD < window->count)
			__builtin_prefetch(
				waiting_row_at(waiting, addresses->sorted[i + AHEAD].index));
		given.row.offset = row->offset;
		given.row.count = row->count;
		given.row.stall_string = row->stall_string;
		error = release(sweep, &given, is_last, now_ns);
	}
	waiting_drop(waiting);
	return error;
}

static bool is_due(const struct addresses *addresses, const struct waiting *waiting,
		   uint64_t now_ns)
{
	const struct waiting_window *window = waiting_first(waiting);

	return window &&
	       (window->due_ns <= now_ns || waiting_size(waiting) > addresses->waiting_most);
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
		return waiting_put(&sweep->addresses->waiting, row, row->end + sweep->delay_ns + 1);
	/* nobody ever has code anywhere, as in many an imported trace: nothing is to be waited for */
	begin_given(sweep, &given, row, false);
	return release(sweep, &given, true, row->begin);
}
