/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/candidate_runs.c - finds the commands that may have run the code at a device
 * address in a time window
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     launches and executions of kernels with an address
 * Gives:    paths with weights, for a code set and a window
 * Owns:     for each kernel, the executions and launches that a pending window may need
 * Fails:    -ENOMEM
 * Why binary search in both lists: samples may wait 30 s for code that is reported late, and the
 *           launches of that time are kept, and a program may have 10^4 launches per second
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sample/addresses.h"
#include "base/array.h"
#include "base/number.h"

struct ran {
	uint64_t started, ended, correlation;
	uint64_t latest; /* latest end of this and all earlier ones in the list */
	uint32_t path;
};

struct launched {
	uint64_t enter;
	uint32_t way;    /* index into addresses.ways */
	bool is_untimed; /* its execution has no times */
};

/* Launches of one kernel, sorted by enter. */
struct launched_list {
	struct launched *rows; /* owned */
	size_t count, capacity, limit;
};

/* The source of a launch. BY_DRIVER: a part of a batch, which BPF programs saw in the OS kernel's
 * driver. */
enum launched_by { BY_RUNTIME, BY_DRIVER, LAUNCHED_BY };

/* Executions and launches of one kernel. */
struct kernel_runs {
	struct ran *ran; /* owned; in the order of start */
	size_t ran_count, ran_capacity, ran_limit;
	struct launched_list launched[LAUNCHED_BY];
	uint64_t own_ns; /* enter of the first launch that its runtime reported */
	bool has_own;
	bool is_hidden; /* it had samples without a visible launch */
};

/* A stack and function that launched a kernel. It becomes a path when samples are attributed to
 * it. */
struct way {
	struct open_command command;
	/* The latest path and the code (index of codes) for which it was looked up. The source of
	 * the launch may not have known the code's name. */
	uint32_t code, path;
	bool is_final; /* path is the one of the kernel's executions and will not change */
};

/* A kernel in a batch that has no execution yet. */
struct batch_part {
	uint32_t code, way; /* indices of codes and of ways */
	uint32_t next;      /* next part of the batch; PAIR_MAP_NONE: end of the list */
};

int sweep_make_runs(struct sweep *sweep)
{
	struct addresses *addresses = sweep->addresses;

	addresses->free_part = PAIR_MAP_NONE;
	addresses->runs = calloc(sweep->entities.codes.count + 1, sizeof(*addresses->runs));
	return addresses->runs ? 0 : -ENOMEM;
}

void sweep_runs_fini(struct sweep *sweep)
{
	struct addresses *addresses = sweep->addresses;

	for (size_t i = 0; addresses->runs && i < sweep->entities.codes.count; i++) {
		free(addresses->runs[i].ran);
		for (size_t by = 0; by < LAUNCHED_BY; by++)
			free(addresses->runs[i].launched[by].rows);
	}
	for (size_t i = 0; i < addresses->splits_count; i++) {
		free(addresses->splits[i].candidates);
		free(addresses->splits[i].shares);
	}
	pair_map_fini(&addresses->way_rows);
	pair_map_fini(&addresses->debt_rows);
	pair_map_fini(&addresses->batch_rows);
	free(addresses->parts);
	free(addresses->runs);
	free(addresses->ways);
	free(addresses->splits);
	free(addresses->debts);
	free(addresses->site_runs);
}

/* ---- executions and launches ----------------------------------------------------------------- */

/* The earliest begin of all pending and future windows when the sweep is at now_ns. */
static uint64_t oldest_ns(const struct sweep *sweep, uint64_t now_ns)
{
	const struct addresses *addresses = sweep->addresses;
	const struct pending_window *first[] = {pending_samples_first(&addresses->waiting),
						pending_samples_first(&addresses->late)};
	uint64_t oldest = now_ns > sweep->delay_ns ? now_ns - sweep->delay_ns : 0;

	for (size_t i = 0; i < ARRAY_COUNT(first); i++)
		if (first[i])
			oldest = smaller(oldest, first[i]->head.begin);
	return oldest;
}

static void remove_old_executions(const struct sweep *sweep, struct kernel_runs *runs,
				  uint64_t now_ns)
{
	const uint64_t oldest = oldest_ns(sweep, now_ns);
	uint64_t latest = 0;
	size_t kept = 0;

	for (size_t i = 0; i < runs->ran_count; i++) {
		struct ran ran = runs->ran[i];

		if (ran.ended <= oldest)
			continue;
		latest = ran.latest = larger(latest, ran.ended);
		runs->ran[kept++] = ran;
	}
	runs->ran_count = kept;
	runs->ran_limit = 2 * kept + LAUNCHES_KEPT;
}

/* Inserts an execution by start. An execution that came before its launch is inserted late, after
 * executions that started later. */
static int insert_execution(struct sweep *sweep, struct kernel_runs *runs, const struct ran *ran)
{
	size_t place;

	if (runs->ran_count >= runs->ran_limit)
		remove_old_executions(sweep, runs, ran->started);
	if (array_grow(runs->ran, runs->ran_capacity, runs->ran_count + 1))
		return -ENOMEM;
	place = runs->ran_count++;
	for (; place && runs->ran[place - 1].started > ran->started; place--)
		runs->ran[place] = runs->ran[place - 1];
	runs->ran[place] = *ran;
	for (; place < runs->ran_count; place++)
		runs->ran[place].latest =
			larger(runs->ran[place].ended, place ? runs->ran[place - 1].latest : 0);
	return 0;
}

/* Removes launches that no pending or future window needs. The last LAUNCHES_KEPT before such a
 * window stay. */
static void remove_old_launches(const struct sweep *sweep, struct launched_list *list,
				uint64_t now_ns)
{
	const uint64_t oldest = oldest_ns(sweep, now_ns);
	size_t first = 0;

	while (first < list->count && list->rows[first].enter + LAUNCHED_BEFORE_NS < oldest)
		first++;
	first = first > LAUNCHES_KEPT ? first - LAUNCHES_KEPT : 0;
	list->count -= first;
	if (first)
		memmove(list->rows, list->rows + first, list->count * sizeof(*list->rows));
	list->limit = 2 * list->count + LAUNCHES_KEPT;
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
	*ret_way = pair_map_add(&addresses->way_rows, first, second, addresses->ways,
				addresses->ways_capacity, addresses->ways_count,
				(struct way){.command = *command, .path = ANALYSIS_NO_PATH});
	return *ret_way == PAIR_MAP_NONE ? -ENOMEM : 0;
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

/* Records a part of a batch. The batch's execution will count as the execution of each part. */
static int append_batch_part(struct addresses *addresses, const struct open_command *part,
			     uint32_t code, uint32_t way, uint64_t batch)
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
	const size_t code =
		addresses ? entity_index_find(&sweep->entities.codes, command->kernel) : 0;
	const bool is_part = command->flags & LAUNCH_PART;
	/* a part has the times of its batch */
	struct launched launched = {.enter = command->enter,
				    .is_untimed =
					    is_part ? !batch : command->flags & LAUNCH_UNTIMED};
	struct kernel_runs *runs;
	struct launched_list *list;

	if (!addresses || !code_index_has(addresses->index, code))
		return 0;
	runs = &addresses->runs[code];
	list = &runs->launched[is_part ? BY_DRIVER : BY_RUNTIME];
	if (find_way(sweep, (uint32_t)code, command, &launched.way))
		return -ENOMEM;
	if (list->count >= list->limit)
		remove_old_launches(sweep, list, command->enter);
	if (array_grow(list->rows, list->capacity, list->count + 1))
		return -ENOMEM;
	if (!is_part && !runs->has_own) {
		runs->has_own = true;
		runs->own_ns = command->enter;
	}
	list->rows[list->count++] = launched;
	return batch ? append_batch_part(addresses, command, (uint32_t)code, launched.way, batch)
		     : 0;
}

/* Adds an execution with the batch's times for each of its parts. */
static int insert_batch_parts(struct sweep *sweep, const struct ran *batch, uint32_t first)
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
			error = insert_execution(sweep, &addresses->runs[part->code], &ran);
		part->next = addresses->free_part;
		addresses->free_part = i;
	}
	return error;
}

int sweep_note_ran(struct sweep *sweep, const struct joined *joined, uint32_t path)
{
	struct addresses *addresses = sweep->addresses;
	const struct event_execution *row = joined->row;
	const size_t code = entity_index_find(&sweep->entities.codes, joined->launch->kernel);
	const struct ran ran = {.started = row->started,
				.ended = row->ended,
				.correlation = row->correlation,
				.path = path};
	const uint32_t first =
		pair_map_remove(&addresses->batch_rows, row->process, row->correlation);
	int error = first == PAIR_MAP_NONE ? 0 : insert_batch_parts(sweep, &ran, first);

	if (error || !code_index_has(addresses->index, code))
		return error;
	return insert_execution(sweep, &addresses->runs[code], &ran);
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* State of the search for the candidates of one set and window. */
struct search {
	struct sweep *sweep;
	const struct code_set *set;
	struct split *split;
	uint64_t begin, end, correlation;
	uint64_t number;
	enum code_role role; /* only sites of this role are considered */
	bool is_for_untimed; /* only untimed launches are considered; executions of the others are
				known */
	uint64_t launch_weight; /* weight of one launch */
};

static int find_debt(struct addresses *addresses, uint32_t code, uint32_t path, uint32_t *ret_debt)
{
	*ret_debt =
		pair_map_add(&addresses->debt_rows, code, path, addresses->debts,
			     addresses->debts_capacity, addresses->debts_count, (struct debt){0});
	return *ret_debt == PAIR_MAP_NONE ? -ENOMEM : 0;
}

/* Adds weight to the candidate for a site and path. Each site and path has one debt and one
 * candidate. */
static int add_candidate(struct search *search, uint32_t site, uint32_t path, uint64_t weight)
{
	struct addresses *addresses = search->sweep->addresses;
	struct split *split = search->split;
	struct candidate candidate = {.path = path, .site = site};
	struct portion *share;
	struct debt *debt;

	if (find_debt(addresses, search->set->sites[site].range->code, path, &candidate.debt))
		return -ENOMEM;
	debt = &addresses->debts[candidate.debt];
	if (debt->search == search->number) {
		share = &split->shares[debt->candidate];
		share->weight = add_saturated(share->weight, weight);
		return 0;
	}
	if (array_grow(split->candidates, split->capacity, split->count + 1) ||
	    array_grow(split->shares, split->shares_capacity, split->count + 1))
		return -ENOMEM;
	debt->search = search->number;
	debt->candidate = (uint32_t)split->count;
	split->candidates[split->count] = candidate;
	split->shares[split->count++] = (struct portion){.weight = weight};
	return 0;
}

static const struct kernel_runs *runs_of(const struct search *search, size_t site)
{
	return &search->sweep->addresses->runs[search->set->sites[site].range->code];
}

/* ---- executions ------------------------------------------------------------------------------ */

static uint64_t weight_in_window(const struct search *search, const struct ran *ran)
{
	const uint64_t begin = larger(search->begin, ran->started);
	const uint64_t end = smaller(search->end, ran->ended);

	if (search->correlation)
		return ran->correlation == search->correlation;
	if (search->begin == search->end)
		return ran->started <= search->begin && search->begin < ran->ended;
	return begin < end ? end - begin : 0;
}

/* Index of the first execution that may overlap the window. */
static size_t first_ran(const struct search *search, const struct kernel_runs *runs)
{
	return LOWER_BOUND(search->correlation ? 0 : runs->ran_count, i,
			   runs->ran[i].latest <= search->begin);
}

/* Adds all executions that overlap the window. Those of a twin count for the site before it. */
static int add_executions(struct search *search)
{
	uint64_t *counts = search->sweep->addresses->site_runs;
	uint32_t site = 0;

	for (uint32_t i = 0; i < search->set->count; i++) {
		const struct kernel_runs *runs = runs_of(search, i);

		counts[i] = 0;
		if (search->set->sites[i].role != SITE_TWIN)
			site = i;
		for (size_t one = first_ran(search, runs); one < runs->ran_count; one++) {
			const struct ran *ran = &runs->ran[one];
			const uint64_t weight = weight_in_window(search, ran);

			if (!search->correlation && ran->started > search->end)
				break;
			if (weight && add_candidate(search, site, ran->path, weight))
				return -ENOMEM;
			counts[site] += weight != 0;
		}
	}
	return 0;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Time of a launch relative to the window. WHEN_AFTER: only for late code, until one second after
 * it was loaded. */
enum when { WHEN_IN, WHEN_BEFORE, WHEN_AFTER, WHEN_NEVER };

/* The latest enter of a launch that can be a candidate. */
static uint64_t last_ns(const struct search *search)
{
	return search->set->is_late
		       ? larger(search->end, search->set->begin_ns + LAUNCHED_BEFORE_NS)
		       : search->end;
}

/* Number of launches entered at `moment` or earlier; with is_before, only earlier. */
static size_t count_until(const struct launched_list *list, uint64_t moment, bool is_before)
{
	return LOWER_BOUND(list->count, i,
			   is_before ? list->rows[i].enter < moment
				     : list->rows[i].enter <= moment);
}

/* The part [*ret_first, *ret_end) of the list that matches `when`. */
static void find_when(const struct search *search, const struct launched_list *list, enum when when,
		      size_t *ret_first, size_t *ret_end)
{
	const uint64_t since =
		search->begin > LAUNCHED_BEFORE_NS ? search->begin - LAUNCHED_BEFORE_NS : 0;
	const size_t before = count_until(list, since, true);
	const size_t in = count_until(list, search->end, false);

	switch (when) {
	case WHEN_IN:
		*ret_first = before;
		*ret_end = in;
		return;
	case WHEN_BEFORE:
		*ret_first = before > LAUNCHES_KEPT ? before - LAUNCHES_KEPT : 0;
		*ret_end = before;
		return;
	default:
		*ret_first = in;
		*ret_end = count_until(list, last_ns(search), false);
	}
}

/* Number of sites in the group of a site and its twins. */
static uint32_t count_twins(const struct search *search, uint32_t site)
{
	uint32_t count = 1;

	while (site + count < search->set->count &&
	       search->set->sites[site + count].role == SITE_TWIN)
		count++;
	return count;
}

static int add_launches(struct search *search, uint32_t site, const struct launched_list *list,
			enum when when)
{
	size_t first, end;
	uint32_t path;

	find_when(search, list, when, &first, &end);
	while (end-- > first) {
		const struct launched *launched = &list->rows[end];

		if (search->is_for_untimed && !launched->is_untimed)
			continue;
		if (find_path(search->sweep, &search->sweep->addresses->ways[launched->way],
			      search->set->sites[site].range->code, &path) ||
		    add_candidate(search, site, path, search->launch_weight))
			return -ENOMEM;
	}
	return 0;
}

/* Whether the program's runtime reported launches of the site's kernel. The driver then saw the
 * same launches, and they are ignored. */
static bool has_own(const struct search *search, uint32_t site)
{
	const struct kernel_runs *runs = runs_of(search, site);

	return runs->has_own && runs->own_ns <= last_ns(search);
}

/* Adds the launches of a site and its twins. */
static int add_launches_of(struct search *search, uint32_t site, enum when when)
{
	const bool is_own = has_own(search, site);
	const uint32_t count = is_own ? 1 : count_twins(search, site);
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++)
		error = add_launches(
			search, site,
			&runs_of(search, site + i)->launched[is_own ? BY_RUNTIME : BY_DRIVER],
			when);
	return error;
}

/* Whether the site's kernel was launched after `moment`, which proves that it was still loaded. */
static bool is_launched_behind(const struct search *search, uint32_t site, uint64_t moment)
{
	const bool is_own = has_own(search, site);
	const uint32_t count = is_own ? 1 : count_twins(search, site);
	size_t first, end;

	for (uint32_t i = 0; i < count; i++) {
		const struct launched_list *list =
			&runs_of(search, site + i)->launched[is_own ? BY_RUNTIME : BY_DRIVER];

		find_when(search, list, WHEN_IN, &first, &end);
		if (first < end && list->rows[end - 1].enter > moment)
			return true;
	}
	return false;
}

/* The role of a site. Code that was replaced in one address space may still be loaded in another
 * one of its process. */
static enum code_role role_of(const struct search *search, uint32_t site)
{
	const struct code_site *one = &search->set->sites[site];

	if (one->role == SITE_REPLACED && is_launched_behind(search, site, one->replaced_ns))
		return SITE_NOW;
	return one->role;
}

static int add_launches_when(struct search *search, enum when when)
{
	int error = 0;

	for (uint32_t i = 0; i < search->set->count && !error; i += count_twins(search, i))
		if (role_of(search, i) == search->role)
			error = add_launches_of(search, i, when);
	return error;
}

/* ---- candidates with times and candidates without -------------------------------------------- */

static uint64_t count_launches(const struct search *search, uint32_t site, bool is_untimed)
{
	const bool is_own = has_own(search, site);
	const uint32_t count = is_own ? 1 : count_twins(search, site);
	size_t first, end;
	uint64_t found = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct launched_list *list =
			&runs_of(search, site + i)->launched[is_own ? BY_RUNTIME : BY_DRIVER];

		find_when(search, list, WHEN_IN, &first, &end);
		for (size_t one = first; one < end; one++)
			found += !is_untimed || list->rows[one].is_untimed;
	}
	return found;
}

/* A product that cannot overflow, whatever the file contains. */
static uint64_t multiply(uint64_t left, uint64_t right)
{
	uint64_t product;

	return __builtin_mul_overflow(left, right, &product) ? UINT64_MAX / 2 : product;
}

/* Adds launches without times of other processes that have code at the address. Each such launch
 * weighs as much as the average launch with times. */
static int add_untimed(struct search *search)
{
	const uint64_t *runs = search->sweep->addresses->site_runs;
	uint64_t timed = 0, untimed = 0, ns = 0;
	int error = 0;

	for (uint32_t i = 0; i < search->set->count; i += count_twins(search, i)) {
		if (runs[i])
			timed += larger(runs[i], count_launches(search, i, false));
		else if (role_of(search, i) == SITE_NOW)
			untimed += count_launches(search, i, true);
	}
	if (!untimed)
		return 0;
	for (size_t i = 0; i < search->split->count; i++) {
		struct portion *share = &search->split->shares[i];

		ns = add_saturated(ns, share->weight);
		share->weight = multiply(share->weight, timed);
	}
	search->is_for_untimed = true;
	search->launch_weight = ns;
	for (uint32_t i = 0; i < search->set->count && !error; i += count_twins(search, i))
		if (!runs[i] && role_of(search, i) == SITE_NOW)
			error = add_launches_of(search, i, WHEN_IN);
	search->is_for_untimed = false;
	return error;
}

/* ---- splits ---------------------------------------------------------------------------------- */

static int find_candidates(struct search *search)
{
	static const enum code_role roles[] = {SITE_NOW, SITE_REPLACED};
	struct addresses *addresses = search->sweep->addresses;
	int error;

	if (array_grow(addresses->site_runs, addresses->site_runs_capacity, search->set->count))
		return -ENOMEM;
	error = add_executions(search);
	if (!error && search->split->count && search->set->count > 1 && !search->correlation)
		error = add_untimed(search);
	search->launch_weight = 1;
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

static int find_split(struct addresses *addresses, uint32_t set, struct split **ret_split)
{
	if (set >= addresses->splits_count) {
		if (array_grow(addresses->splits, addresses->splits_capacity, set + (size_t)1))
			return -ENOMEM;
		addresses->splits_count = set + (size_t)1;
	}
	*ret_split = &addresses->splits[set];
	return 0;
}

int sweep_make_split(struct sweep *sweep, const struct event_instruction_sample *row, uint32_t set,
		     struct split **ret_split)
{
	struct addresses *addresses = sweep->addresses;
	struct search search = {.sweep = sweep,
				.set = code_sites_set(addresses->sites, set),
				.begin = row->begin,
				.end = row->end,
				.correlation = row->correlation};
	struct split *split;
	int error = find_split(addresses, set, ret_split);

	if (error)
		return error;
	split = search.split = *ret_split;
	if (split->is_made && split->begin == row->begin && split->end == row->end &&
	    split->correlation == row->correlation)
		return 0;
	search.number = ++addresses->searches;
	split->count = 0;
	split->is_divided = split->is_hidden = false;
	error = find_candidates(&search);
	split->is_hidden |= !split->count;
	for (size_t i = 1; i < split->count && !split->is_divided; i++)
		split->is_divided = !is_one(&search, &split->candidates[0], &split->candidates[i]);
	if (split->count >= MANY_CANDIDATES)
		portions_line_up(split->shares, split->count);
	split->begin = row->begin;
	split->end = row->end;
	split->correlation = row->correlation;
	split->is_made = !error;
	return error;
}

bool sweep_is_newly_hidden(struct sweep *sweep, uint32_t code)
{
	struct kernel_runs *runs = &sweep->addresses->runs[code];
	const bool is_new = !runs->is_hidden;

	runs->is_hidden = true;
	return is_new;
}
