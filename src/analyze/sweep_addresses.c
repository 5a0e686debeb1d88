/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_addresses.c - whose command a sample is that tells an address of a device and a window alone
 *
 * Runs in:  the readers
 * Gets:     launches and executions of kernels with an address, samples   Gives: each sample to paths, counted whole
 * Owns:     samples that wait; of each kernel its executions and launches that may still be asked for
 * Fails:    -ENOMEM
 * Why samples wait: a window of 100 ms is told with its begin, and what ran in it begins later. Those of code that came late
 *           wait until it has; more than a million never do, the oldest are given away with what is known then.
 */
#include "analyze/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code_sites.h"
#include "analyze/shares.h"
#include "base/array.h"
#include "base/number.h"

/* Launches count that were entered in the window or so long before it; else the last ones before. */
#define LAUNCHED_BEFORE_NS UINT64_C(1000000000)
enum { LAUNCHES_KEPT = 64, WAITING_MOST = 1 << 20, AHEAD = 8 };

struct ran {
	uint64_t started, ended, correlation;
	uint32_t path;
};

struct launched {
	uint64_t enter;
	uint32_t way; /* index of ways */
	bool is_part; /* of a batch, by who saw it in the operating system's kernel */
};

/* Of one kernel. */
struct kernel_runs {
	struct ran *ran; /* owned; in the order of start */
	size_t ran_count, ran_capacity, ran_limit;
	struct launched *launched; /* owned; in the order of enter */
	size_t launched_count, launched_capacity, launched_limit;
	bool is_hidden; /* samples of it were counted for which no launch was seen */
};

/* Who launched what: becomes a path where samples are given to it. */
struct way {
	struct open_command command;
	/* As a launch of that code (index of codes), which whoever saw it need not have known by name. */
	uint32_t code, path;
	bool is_final; /* the path is that of the kernel's executions */
};

/* Rows in the order in which they are due. */
struct waiting {
	struct waiting_row {
		struct event_instruction_sample row;
		uint64_t due_ns;
	} * rows; /* owned; a ring of a power of two */
	size_t first, count, capacity;
};

struct sorted {
	uint32_t address, index;
};

struct candidate {
	uint32_t path, site, debt;
};

/* Whose the samples of one set of code are, in the latest window. */
struct split {
	uint64_t begin, end, correlation;
	struct candidate *candidates; /* owned */
	struct share *shares;         /* owned; one for each */
	size_t count, capacity, shares_capacity;
	bool is_made, is_estimated;
	bool is_hidden; /* nobody saw what of it ran then */
};

/* Rows of the analysis that samples of one address are counted in. */
struct place_rows {
	struct place_row {
		uint32_t stall, whose, row;
	} * rows; /* owned */
	size_t count, capacity, next;
};

/* Whose samples are: an index of debts, or one of these. */
#define WHOSE_NOBODY    0x80000000u /* with an index of codes */
#define WHOSE_NOT_KNOWN UINT32_MAX

/* A kernel in a batch that is under way. */
struct batch_part {
	uint32_t code, way; /* index of codes, of ways */
	uint32_t next;      /* of its batch; PAIR_MAP_NONE: it was the first */
};

struct addresses {
	struct code_index *index; /* owned */
	struct code_sites *sites; /* owned */
	struct waiting waiting, late;
	struct sorted *sorted; /* owned; a window's rows by address, and room for as many */
	size_t sorted_capacity;
	struct kernel_runs *runs; /* owned; by index of codes */
	struct pair_map way_rows; /* (code << 32 | stack, function or whom) -> index of ways */
	struct way *ways;         /* owned */
	size_t ways_count, ways_capacity;
	struct pair_map batch_rows; /* (process id, correlation) -> the latest of its parts */
	struct batch_part *parts;   /* owned */
	size_t parts_count, parts_capacity;
	uint32_t free_part;   /* PAIR_MAP_NONE: none */
	struct split *splits; /* owned; by set */
	size_t splits_count, splits_capacity;
	struct place_rows *places; /* owned; by place of the sites */
	size_t places_count, places_capacity;
	struct pair_map debt_rows; /* (code, path) -> index of debts */
	int64_t *debts;            /* owned */
	size_t debts_count, debts_capacity;
};

int sweep_make_addresses(struct sweep *sweep)
{
	struct addresses *addresses;

	if (!sweep->has_instructions)
		return 0;
	addresses = calloc(1, sizeof(*addresses));
	if (!addresses)
		return -ENOMEM;
	sweep->addresses = addresses;
	pair_map_init(&addresses->way_rows);
	pair_map_init(&addresses->debt_rows);
	pair_map_init(&addresses->batch_rows);
	addresses->free_part = PAIR_MAP_NONE;
	if (code_index_new(sweep->analysis->model, &addresses->index) ||
	    code_sites_new(addresses->index, &addresses->sites))
		return -ENOMEM;
	addresses->runs = calloc(sweep->codes.count + 1, sizeof(*addresses->runs));
	return addresses->runs ? 0 : -ENOMEM;
}

void sweep_addresses_fini(struct sweep *sweep)
{
	struct addresses *addresses = sweep->addresses;

	if (!addresses)
		return;
	for (size_t i = 0; addresses->runs && i < sweep->codes.count; i++) {
		free(addresses->runs[i].ran);
		free(addresses->runs[i].launched);
	}
	for (size_t i = 0; i < addresses->splits_count; i++) {
		free(addresses->splits[i].candidates);
		free(addresses->splits[i].shares);
	}
	code_sites_free(addresses->sites);
	code_index_free(addresses->index);
	pair_map_fini(&addresses->way_rows);
	pair_map_fini(&addresses->debt_rows);
	pair_map_fini(&addresses->batch_rows);
	free(addresses->parts);
	for (size_t i = 0; i < addresses->places_count; i++)
		free(addresses->places[i].rows);
	free(addresses->places);
	free(addresses->waiting.rows);
	free(addresses->sorted);
	free(addresses->late.rows);
	free(addresses->runs);
	free(addresses->ways);
	free(addresses->splits);
	free(addresses->debts);
	free(addresses);
	sweep->addresses = NULL;
}

/* ---- what ran and was launched ----------------------------------------------------------------- */

/* The earliest begin of a window that may still be asked for, when the sweep is at a moment. */
static uint64_t oldest_ns(const struct sweep *sweep, uint64_t now_ns)
{
	const struct addresses *addresses = sweep->addresses;
	const struct waiting *queues[] = {&addresses->waiting, &addresses->late};
	uint64_t oldest = now_ns > sweep->delay_ns ? now_ns - sweep->delay_ns : 0;

	for (size_t i = 0; i < ARRAY_COUNT(queues); i++)
		if (queues[i]->count)
			oldest = smaller(oldest, queues[i]->rows[queues[i]->first].row.begin);
	return oldest;
}

static int note_ran(struct sweep *sweep, struct kernel_runs *runs, const struct ran *ran)
{
	if (runs->ran_count >= runs->ran_limit) {
		const uint64_t oldest = oldest_ns(sweep, ran->started);
		size_t kept = 0;

		for (size_t i = 0; i < runs->ran_count; i++)
			if (runs->ran[i].ended > oldest)
				runs->ran[kept++] = runs->ran[i];
		runs->ran_count = kept;
		runs->ran_limit = 2 * kept + LAUNCHES_KEPT;
	}
	if (array_grow(runs->ran, runs->ran_capacity, runs->ran_count + 1))
		return -ENOMEM;
	runs->ran[runs->ran_count++] = *ran;
	return 0;
}

/* What no window that may come asks for; but the last ones before always. */
static void forget_launched(const struct sweep *sweep, struct kernel_runs *runs, uint64_t now_ns)
{
	const uint64_t oldest = oldest_ns(sweep, now_ns);
	size_t first = 0;

	while (first < runs->launched_count &&
	       runs->launched[first].enter + LAUNCHED_BEFORE_NS < oldest)
		first++;
	first = first > LAUNCHES_KEPT ? first - LAUNCHES_KEPT : 0;
	runs->launched_count -= first;
	if (first)
		memmove(runs->launched, runs->launched + first,
			runs->launched_count * sizeof(*runs->launched));
	runs->launched_limit = 2 * runs->launched_count + LAUNCHES_KEPT;
}

static int find_way(struct sweep *sweep, uint32_t code, const struct open_command *command,
		    uint32_t *ret_way)
{
	struct addresses *addresses = sweep->addresses;
	const uint64_t first = (uint64_t)code << 32 | command->stack;
	uint64_t second;
	int error = sweep_find_second(sweep, command, &second);

	if (error)
		return error;
	*ret_way = pair_map_find(&addresses->way_rows, first, second);
	if (*ret_way != PAIR_MAP_NONE)
		return 0;
	*ret_way = (uint32_t)addresses->ways_count;
	if (array_grow(addresses->ways, addresses->ways_capacity, addresses->ways_count + 1) ||
	    pair_map_put(&addresses->way_rows, first, second, *ret_way))
		return -ENOMEM;
	addresses->ways[addresses->ways_count++] =
		(struct way){.command = *command, .path = ANALYSIS_NO_PATH};
	return 0;
}

static int find_path(struct sweep *sweep, struct way *way, uint32_t code, uint32_t *ret_path)
{
	int error = 0;

	if (!way->is_final || way->code != code)
		error = sweep_find_launched_path(sweep, &way->command, code, &way->path,
						 &way->is_final);
	way->code = code;
	if (!error)
		*ret_path = way->path;
	return error;
}

/* The batch was launched by the same call: its execution is that of each of its parts. */
static int note_batch(struct addresses *addresses, const struct open_command *part, uint32_t code,
		      uint32_t way, uint64_t batch)
{
	uint32_t index = addresses->free_part;

	if (index != PAIR_MAP_NONE) {
		addresses->free_part = addresses->parts[index].next;
	} else {
		index = (uint32_t)addresses->parts_count;
		if (array_grow(addresses->parts, addresses->parts_capacity, index + (size_t)1))
			return -ENOMEM;
		addresses->parts_count++;
	}
	addresses->parts[index] = (struct batch_part){
		code, way, pair_map_find(&addresses->batch_rows, part->process, batch)};
	return pair_map_put(&addresses->batch_rows, part->process, batch, index);
}

int sweep_note_launched(struct sweep *sweep, const struct open_command *command, uint64_t batch)
{
	struct addresses *addresses = sweep->addresses;
	const size_t code = addresses ? things_index(&sweep->codes, command->kernel) : 0;
	struct launched launched = {.enter = command->enter,
				    .is_part = command->flags & LAUNCH_PART};
	struct kernel_runs *runs;

	if (!addresses || !code_index_has(addresses->index, code))
		return 0;
	runs = &addresses->runs[code];
	if (find_way(sweep, (uint32_t)code, command, &launched.way))
		return -ENOMEM;
	if (runs->launched_count >= runs->launched_limit)
		forget_launched(sweep, runs, command->enter);
	if (array_grow(runs->launched, runs->launched_capacity, runs->launched_count + 1))
		return -ENOMEM;
	runs->launched[runs->launched_count++] = launched;
	return batch ? note_batch(addresses, command, (uint32_t)code, launched.way, batch) : 0;
}

/* The parts of a batch, with its times. */
static int note_parts(struct sweep *sweep, const struct ran *batch, uint32_t first)
{
	struct addresses *addresses = sweep->addresses;
	struct ran ran = *batch;
	int error = 0;

	for (uint32_t i = first, next; i != PAIR_MAP_NONE; i = next) {
		struct batch_part *part = &addresses->parts[i];

		next = part->next;
		if (!error)
			error = find_path(sweep, &addresses->ways[part->way], part->code,
					  &ran.path);
		if (!error)
			error = note_ran(sweep, &addresses->runs[part->code], &ran);
		part->next = addresses->free_part;
		addresses->free_part = i;
	}
	return error;
}

int sweep_note_ran(struct sweep *sweep, const struct joined *joined, uint32_t path)
{
	struct addresses *addresses = sweep->addresses;
	const struct event_execution *row = joined->row;
	const size_t code = things_index(&sweep->codes, joined->launch->kernel);
	const struct ran ran = {.started = row->started,
				.ended = row->ended,
				.correlation = row->correlation,
				.path = path};
	const uint32_t first =
		pair_map_remove(&addresses->batch_rows, row->process, row->correlation);
	int error = first == PAIR_MAP_NONE ? 0 : note_parts(sweep, &ran, first);

	if (error || !code_index_has(addresses->index, code))
		return error;
	return note_ran(sweep, &addresses->runs[code], &ran);
}

/* ---- candidates -------------------------------------------------------------------------------- */

/* While the candidates of one set and window are looked for. */
struct search {
	struct sweep *sweep;
	const struct code_set *set;
	struct split *split;
	uint64_t begin, end, correlation;
	enum code_role role; /* of the sites that are looked at */
};

static int find_debt(struct addresses *addresses, uint32_t code, uint32_t path, uint32_t *ret_debt)
{
	*ret_debt = pair_map_find(&addresses->debt_rows, code, path);
	if (*ret_debt != PAIR_MAP_NONE)
		return 0;
	*ret_debt = (uint32_t)addresses->debts_count;
	if (array_grow(addresses->debts, addresses->debts_capacity, addresses->debts_count + 1))
		return -ENOMEM;
	addresses->debts[addresses->debts_count++] = 0;
	return pair_map_put(&addresses->debt_rows, code, path, *ret_debt);
}

static int add_candidate(struct search *search, uint32_t site, uint32_t path, uint64_t weight)
{
	struct addresses *addresses = search->sweep->addresses;
	struct split *split = search->split;
	struct candidate candidate = {.path = path, .site = site};

	for (size_t i = split->count; i-- > 0;)
		if (split->candidates[i].path == path && split->candidates[i].site == site) {
			split->shares[i].weight += weight;
			return 0;
		}
	if (find_debt(addresses, search->set->sites[site].range->code, path, &candidate.debt) ||
	    array_grow(split->candidates, split->capacity, split->count + 1) ||
	    array_grow(split->shares, split->shares_capacity, split->count + 1))
		return -ENOMEM;
	split->candidates[split->count] = candidate;
	split->shares[split->count++] = (struct share){.weight = weight};
	return 0;
}

static const struct kernel_runs *runs_of(const struct search *search, size_t site)
{
	return &search->sweep->addresses->runs[search->set->sites[site].range->code];
}

static uint64_t weigh(const struct search *search, const struct ran *ran)
{
	const uint64_t begin = larger(search->begin, ran->started);
	const uint64_t end = smaller(search->end, ran->ended);

	if (search->correlation)
		return ran->correlation == search->correlation;
	if (search->begin == search->end)
		return ran->started <= search->begin && search->begin < ran->ended;
	return begin < end ? end - begin : 0;
}

/* A twin's are those of the site that it stands behind. */
static int add_executions(struct search *search)
{
	uint32_t site = 0;

	for (uint32_t i = 0; i < search->set->count; i++) {
		const struct kernel_runs *runs = runs_of(search, i);

		if (search->set->sites[i].role != SITE_TWIN)
			site = i;
		for (size_t one = 0; one < runs->ran_count; one++) {
			const uint64_t weight = weigh(search, &runs->ran[one]);

			if (weight && add_candidate(search, site, runs->ran[one].path, weight))
				return -ENOMEM;
		}
	}
	return 0;
}

/* WHEN_AFTER: of code that came late, until it was there for a second. */
enum when { WHEN_IN, WHEN_BEFORE, WHEN_AFTER, WHEN_NEVER };

static enum when when_of(const struct search *search, uint64_t enter)
{
	if (enter > search->end)
		return search->set->is_late && enter <= search->set->begin_ns + LAUNCHED_BEFORE_NS
			       ? WHEN_AFTER
			       : WHEN_NEVER;
	return enter + LAUNCHED_BEFORE_NS < search->begin ? WHEN_BEFORE : WHEN_IN;
}

/* How many sites a site and its twins are. */
static uint32_t count_twins(const struct search *search, uint32_t site)
{
	uint32_t count = 1;

	while (site + count < search->set->count &&
	       search->set->sites[site + count].role == SITE_TWIN)
		count++;
	return count;
}

/* Launches that its program's own runtime told of: the driver saw the same ones from below. */
static bool has_own(const struct search *search, uint32_t site)
{
	const struct kernel_runs *runs = runs_of(search, site);

	for (size_t i = runs->launched_count; i-- > 0;)
		if (!runs->launched[i].is_part &&
		    when_of(search, runs->launched[i].enter) != WHEN_NEVER)
			return true;
	return false;
}

static int add_launches(struct search *search, uint32_t site, const struct kernel_runs *runs,
			bool are_parts, enum when when)
{
	size_t most = when == WHEN_BEFORE ? LAUNCHES_KEPT : SIZE_MAX;
	uint32_t path;

	for (size_t i = runs->launched_count; i-- > 0 && most;) {
		const struct launched *launched = &runs->launched[i];

		if (launched->is_part != are_parts || when_of(search, launched->enter) != when)
			continue;
		most--;
		if (find_path(search->sweep, &search->sweep->addresses->ways[launched->way],
			      search->set->sites[site].range->code, &path) ||
		    add_candidate(search, site, path, 1))
			return -ENOMEM;
	}
	return 0;
}

static int add_launches_when(struct search *search, enum when when)
{
	uint32_t count;
	int error = 0;

	for (uint32_t i = 0; i < search->set->count && !error; i += count) {
		const bool is_own = has_own(search, i);

		count = count_twins(search, i);
		if (search->set->sites[i].role != search->role)
			continue;
		for (uint32_t one = 0; one < (is_own ? 1 : count) && !error; one++)
			error = add_launches(search, i, runs_of(search, i + one), !is_own, when);
	}
	return error;
}

static int find_candidates(struct search *search)
{
	static const enum code_role roles[] = {SITE_NOW, SITE_REPLACED};
	int error = add_executions(search);

	for (size_t i = 0; i < ARRAY_COUNT(roles) && !search->correlation; i++) {
		search->role = roles[i];
		for (enum when when = WHEN_IN; when < WHEN_NEVER; when++)
			if (!error && !search->split->count) {
				error = add_launches_when(search, when);
				search->split->is_hidden = when == WHEN_BEFORE;
			}
	}
	return error;
}

static bool is_one(const struct search *search, const struct candidate *a,
		   const struct candidate *b)
{
	return a->site == b->site && sweep_is_same_code(search->sweep->analysis, a->path, b->path);
}

static int make_split(struct sweep *sweep, const struct event_instruction_sample *row, uint32_t set,
		      struct split **ret_split)
{
	struct addresses *addresses = sweep->addresses;
	struct search search = {.sweep = sweep,
				.set = code_sites_set(addresses->sites, set),
				.begin = row->begin,
				.end = row->end,
				.correlation = row->correlation};
	struct split *split;
	int error;

	if (set >= addresses->splits_count) {
		if (array_grow(addresses->splits, addresses->splits_capacity, set + (size_t)1))
			return -ENOMEM;
		addresses->splits_count = set + (size_t)1;
	}
	split = search.split = *ret_split = &addresses->splits[set];
	if (split->is_made && split->begin == row->begin && split->end == row->end &&
	    split->correlation == row->correlation)
		return 0;
	split->count = 0;
	split->is_estimated = split->is_hidden = false;
	error = find_candidates(&search);
	split->is_hidden |= !split->count;
	for (size_t i = 1; i < split->count; i++)
		split->is_estimated |=
			!is_one(&search, &split->candidates[0], &split->candidates[i]);
	split->begin = row->begin;
	split->end = row->end;
	split->correlation = row->correlation;
	split->is_made = !error;
	return error;
}

/* ---- samples ----------------------------------------------------------------------------------- */

/* A sample, and what is known of it. */
struct given {
	const struct event_instruction_sample *row;
	const struct code_set *set;
	uint32_t place; /* of the sites */
	struct sweep_found found;
};

static struct place_rows *find_place(struct addresses *addresses, uint32_t place)
{
	if (place >= addresses->places_count) {
		if (array_grow(addresses->places, addresses->places_capacity, place + (size_t)1))
			return NULL;
		addresses->places_count = place + (size_t)1;
	}
	return &addresses->places[place];
}

/* From window to window the same ones follow one another: mostly the first that is looked at is it. */
static uint32_t find_known(struct place_rows *rows, uint32_t stall, uint32_t whose)
{
	size_t at = rows->next;

	for (size_t i = 0; i < rows->count; i++) {
		at = at < rows->count ? at : 0;
		if (rows->rows[at].stall == stall && rows->rows[at].whose == whose) {
			rows->next = at + 1;
			return rows->rows[at].row;
		}
		at++;
	}
	return PAIR_MAP_NONE;
}

static int keep_known(struct place_rows *rows, uint32_t stall, uint32_t whose, uint32_t row)
{
	if (array_grow(rows->rows, rows->capacity, rows->count + 1))
		return -ENOMEM;
	rows->rows[rows->count++] = (struct place_row){stall, whose, row};
	rows->next = rows->count;
	return 0;
}

/* site NULL: nobody knows the code. */
static int count_part(struct sweep *sweep, struct given *given, const struct code_site *site,
		      uint32_t whose, uint64_t count)
{
	struct addresses *addresses = sweep->addresses;
	struct event_instruction_sample part = *given->row;
	struct place_rows *rows = find_place(addresses, given->place);
	const bool is_plain = !part.text_string;
	uint32_t known;
	int error = 0;

	if (!rows)
		return -ENOMEM;
	known = is_plain ? find_known(rows, part.stall_string, whose) : PAIR_MAP_NONE;
	part.count = count;
	given->found.row = known;
	if (known == PAIR_MAP_NONE && site) {
		const struct event_code *code = things_row(&sweep->codes, site->range->code);

		part.code = code->id;
		error = code_index_offset(addresses->index, site->range, part.offset, &part.offset);
	}
	if (!error)
		error = sweep_count_instruction(sweep, &part, &given->found);
	if (error || !is_plain || known != PAIR_MAP_NONE || given->found.row == PAIR_MAP_NONE)
		return error;
	return keep_known(rows, part.stall_string, whose, given->found.row);
}

static int divide(struct sweep *sweep, struct given *given, struct split *split)
{
	int64_t *debts = sweep->addresses->debts;
	int error = 0;

	given->found.is_estimated = split->is_estimated;
	for (size_t i = 0; i < split->count; i++)
		split->shares[i].debt = debts[split->candidates[i].debt];
	if (split->count == 1)
		split->shares[0].part = given->row->count;
	else
		shares_divide(split->shares, split->count, given->row->count);
	for (size_t i = 0; i < split->count; i++)
		debts[split->candidates[i].debt] = split->shares[i].debt;
	for (size_t i = 0; i < split->count && !error; i++) {
		const struct candidate *candidate = &split->candidates[i];

		given->found.path = candidate->path;
		if (split->shares[i].part)
			error = count_part(sweep, given, &given->set->sites[candidate->site],
					   candidate->debt, split->shares[i].part);
	}
	return error;
}

/* For who asks whether launches go past whoever looks for them. */
static void count_hidden(struct sweep *sweep, const struct given *given, const struct split *split)
{
	struct analysis_hidden *hidden = &sweep->analysis->devices[given->found.device].hidden;
	struct kernel_runs *runs = &sweep->addresses->runs[given->set->sites[0].range->code];
	const uint64_t count = given->row->count;

	if (!is_in_window(sweep->analysis, given->row->begin, given->row->begin))
		return;
	hidden->samples = add_saturated(hidden->samples, count);
	if (!split->is_hidden || given->set->is_late)
		return;
	hidden->hidden = add_saturated(hidden->hidden, count);
	if (!split->count)
		hidden->never_launched = add_saturated(hidden->never_launched, count);
	hidden->kernels += !runs->is_hidden;
	runs->is_hidden = true;
}

/* All that ran and was launched by the end of its window is known now. */
static int give(struct sweep *sweep, const struct event_instruction_sample *row, uint32_t set,
		uint32_t place)
{
	struct given given = {.row = row,
			      .set = code_sites_set(sweep->addresses->sites, set),
			      .place = place,
			      .found = {.path = ANALYSIS_NO_PATH,
					.is_by_address = true,
					.device = things_index(&sweep->devices, row->device)}};
	const struct code_site *first = given.set->count ? &given.set->sites[0] : NULL;
	struct split *split = NULL;
	int error = 0;

	given.found.is_late = given.set->is_late;
	given.found.is_unknown_code = !first;
	if (first)
		error = make_split(sweep, row, set, &split);
	if (error)
		return error;
	if (first)
		count_hidden(sweep, &given, split);
	if (!first || !split->count)
		return count_part(sweep, &given, first,
				  first ? first->range->code | WHOSE_NOBODY : WHOSE_NOT_KNOWN,
				  row->count);
	return divide(sweep, &given, split);
}

static int push(struct waiting *waiting, const struct event_instruction_sample *row,
		uint64_t due_ns)
{
	size_t last = (waiting->first + waiting->count - 1) & (waiting->capacity - 1);

	if (waiting->count == waiting->capacity) {
		const size_t capacity = waiting->capacity ? 2 * waiting->capacity : 256;
		struct waiting_row *rows = calloc(capacity, sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		for (size_t i = 0; i < waiting->count; i++)
			rows[i] = waiting->rows[(waiting->first + i) & (waiting->capacity - 1)];
		free(waiting->rows);
		*waiting = (struct waiting){
			.rows = rows, .count = waiting->count, .capacity = capacity};
		last = waiting->count - 1;
	}
	if (waiting->count)
		due_ns = larger(due_ns, waiting->rows[last].due_ns);
	last = (waiting->first + waiting->count++) & (waiting->capacity - 1);
	waiting->rows[last] = (struct waiting_row){*row, due_ns};
	return 0;
}

static const struct event_instruction_sample *row_at(const struct waiting *waiting, size_t index)
{
	return &waiting->rows[(waiting->first + index) & (waiting->capacity - 1)].row;
}

static bool is_due(const struct waiting *waiting, uint64_t now_ns)
{
	return waiting->count &&
	       (waiting->rows[waiting->first].due_ns <= now_ns || waiting->count > WAITING_MOST);
}

/* How many of one window are at the front. */
static size_t count_window(const struct waiting *waiting)
{
	const struct event_instruction_sample *first = row_at(waiting, 0);
	size_t count = 1;

	while (count < waiting->count && row_at(waiting, count)->begin == first->begin &&
	       row_at(waiting, count)->end == first->end)
		count++;
	return count;
}

/* By address, those of one in the order in which they came: byte by byte, from the lowest on. */
static int sort_window(struct addresses *addresses, const struct waiting *waiting, size_t count)
{
	struct sorted *from, *to;

	if (array_grow(addresses->sorted, addresses->sorted_capacity, 2 * count))
		return -ENOMEM;
	from = addresses->sorted;
	to = from + count;
	for (size_t i = 0; i < count; i++)
		from[i] = (struct sorted){(uint32_t)row_at(waiting, i)->offset, (uint32_t)i};
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
	return 0;
}

/* The code is looked for again: the answer of its address is the same. */
static int release(struct sweep *sweep, const struct event_instruction_sample *row, bool is_late,
		   uint64_t now_ns)
{
	struct addresses *addresses = sweep->addresses;
	const struct code_set *set;
	uint32_t number, place;
	int error = code_sites_find(addresses->sites, row->device, row->offset, row->begin,
				    row->end, &number, &place);

	if (error)
		return error;
	set = code_sites_set(addresses->sites, number);
	if (!is_late && set->is_late && set->begin_ns + LAUNCHED_BEFORE_NS >= now_ns)
		return push(&addresses->late, row,
			    set->begin_ns + LAUNCHED_BEFORE_NS + sweep->delay_ns + 1);
	return give(sweep, row, number, place);
}

/* Neighbours have their code, launches and rows in common, and what is asked of one is still at hand for the next. */
static int release_window(struct sweep *sweep, struct waiting *waiting, bool is_late,
			  uint64_t now_ns)
{
	struct addresses *addresses = sweep->addresses;
	const size_t count = count_window(waiting);
	int error = sort_window(addresses, waiting, count);

	for (size_t i = 0; i < count && !error; i++) {
		if (i + AHEAD < count) {
			const struct event_instruction_sample *ahead =
				row_at(waiting, addresses->sorted[i + AHEAD].index);

			__builtin_prefetch(ahead);
			__builtin_prefetch((const char *)ahead + 64);
		}
		error = release(sweep, row_at(waiting, addresses->sorted[i].index), is_late,
				now_ns);
	}
	waiting->first = (waiting->first + count) & (waiting->capacity - 1);
	waiting->count -= count;
	return error;
}

int sweep_release_addresses(struct sweep *sweep, uint64_t now_ns)
{
	struct addresses *addresses = sweep->addresses;
	int error = 0;

	if (!addresses || (!addresses->waiting.count && !addresses->late.count))
		return 0;
	while (!error && is_due(&addresses->waiting, now_ns))
		error = release_window(sweep, &addresses->waiting, false, now_ns);
	while (!error && is_due(&addresses->late, now_ns))
		error = release_window(sweep, &addresses->late, true, now_ns);
	return error;
}

bool sweep_is_address(const struct event_instruction_sample *row)
{
	return !row->code && row->device && !row->stack;
}

int sweep_take_address(struct sweep *sweep, const struct event_instruction_sample *row)
{
	/* nobody ever has code anywhere, as in many an imported trace: nothing is to be waited for */
	if (code_index_is_empty(sweep->addresses->index))
		return release(sweep, row, true, row->begin);
	return push(&sweep->addresses->waiting, row, row->end + sweep->delay_ns + 1);
}
