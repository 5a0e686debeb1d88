/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_windows.c - whose command a sample is that tells its code and a window, as NVIDIA's GPUs do
 *
 * Runs in:  the readers
 * Gets:     executions of kernels, samples   Gives: each sample to paths, counted whole
 * Owns:     samples that wait; of each kernel the executions that a window may still ask for
 * Fails:    -ENOMEM
 * Why samples wait: they are told with the begin of their window, and what ran in it begins later. A kernel is its name in its
 *           process: the launch knows no other. Executions of the kernel have a share of its samples by how long they
 *           were in the window, unless the sample says which one it is of.
 */
#include "analyze/sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/shares.h"
#include "base/array.h"

enum { WAITING_MOST = 1 << 20, RAN_LEAST = 64 };

struct ran {
	uint64_t started, ended, correlation;
	uint32_t path;
};

struct candidate {
	uint32_t path;
	uint64_t weight; /* in the latest window */
	int64_t debt;    /* as in struct share, from one window to the next */
};

/* Of one kernel of one process. */
struct kernel_runs {
	struct ran *ran; /* owned; in the order of start */
	size_t ran_count, ran_capacity, ran_limit;
	/* Whose its samples are, in the latest window. */
	uint64_t begin, end, correlation;
	struct candidate *candidates; /* owned; all paths so far */
	struct share *shares;         /* owned; of those with weight, in their order */
	size_t count, capacity, shares_count, shares_capacity;
	bool is_made, is_estimated;
};

struct windows {
	struct pair_map rows;         /* (process, name) -> index of kernels */
	struct kernel_runs **kernels; /* owned */
	size_t count, capacity;
	/* In the order of their begin, which is that of their end too where they do not overlap. */
	struct event_instruction_sample *waiting; /* owned; a ring of a power of two */
	size_t first, waiting_count, waiting_capacity;
};

int sweep_make_windows(struct sweep *sweep)
{
	if (!sweep->has_instructions)
		return 0;
	sweep->windows = calloc(1, sizeof(*sweep->windows));
	if (!sweep->windows)
		return -ENOMEM;
	pair_map_init(&sweep->windows->rows);
	return 0;
}

void sweep_windows_fini(struct sweep *sweep)
{
	struct windows *windows = sweep->windows;

	if (!windows)
		return;
	for (size_t i = 0; i < windows->count; i++) {
		free(windows->kernels[i]->ran);
		free(windows->kernels[i]->candidates);
		free(windows->kernels[i]->shares);
		free(windows->kernels[i]);
	}
	pair_map_fini(&windows->rows);
	free(windows->kernels);
	free(windows->waiting);
	free(windows);
	sweep->windows = NULL;
}

/* ---- what ran ---------------------------------------------------------------------------------- */

/* NULL: nobody ran it, and with is_new no memory. */
static struct kernel_runs *find_kernel(struct windows *windows, uint32_t process, uint32_t name,
				       bool is_new)
{
	uint32_t index = pair_map_find(&windows->rows, process, name);
	struct kernel_runs *made;

	if (index != PAIR_MAP_NONE || !is_new)
		return index == PAIR_MAP_NONE ? NULL : windows->kernels[index];
	if (array_grow(windows->kernels, windows->capacity, windows->count + 1))
		return NULL;
	made = calloc(1, sizeof(*made));
	if (!made || pair_map_put(&windows->rows, process, name, (uint32_t)windows->count)) {
		free(made);
		return NULL;
	}
	windows->kernels[windows->count++] = made;
	return made;
}

/* What no window that waits or may come asks for is forgotten. */
static void forget(const struct sweep *sweep, struct kernel_runs *kernel, uint64_t now_ns)
{
	const struct windows *windows = sweep->windows;
	uint64_t oldest = now_ns > sweep->delay_ns ? now_ns - sweep->delay_ns : 0;
	size_t kept = 0;

	if (windows->waiting_count)
		oldest = smaller(oldest, windows->waiting[windows->first].begin);
	for (size_t i = 0; i < kernel->ran_count; i++)
		if (kernel->ran[i].ended > oldest)
			kernel->ran[kept++] = kernel->ran[i];
	kernel->ran_count = kept;
	kernel->ran_limit = 2 * kept + RAN_LEAST;
}

int sweep_note_window_run(struct sweep *sweep, const struct joined *joined, uint32_t path)
{
	const struct event_code *code =
		things_row(&sweep->codes, things_index(&sweep->codes, joined->launch->kernel));
	struct kernel_runs *kernel;

	if (!code || !code->name_string)
		return 0;
	kernel = find_kernel(sweep->windows, joined->row->process, code->name_string, true);
	if (!kernel)
		return -ENOMEM;
	if (kernel->ran_count >= kernel->ran_limit)
		forget(sweep, kernel, joined->row->started);
	if (array_grow(kernel->ran, kernel->ran_capacity, kernel->ran_count + 1))
		return -ENOMEM;
	kernel->ran[kernel->ran_count++] = (struct ran){.started = joined->row->started,
							.ended = joined->row->ended,
							.correlation = joined->row->correlation,
							.path = path};
	return 0;
}

/* ---- whose samples are ------------------------------------------------------------------------- */

static uint64_t overlap(const struct ran *ran, const struct event_instruction_sample *row)
{
	const uint64_t begin = larger(row->begin, ran->started),
		       end = smaller(row->end, ran->ended);

	return begin < end ? end - begin : 0;
}

static int add_weight(struct kernel_runs *kernel, uint32_t path, uint64_t weight)
{
	for (size_t i = 0; i < kernel->count; i++)
		if (kernel->candidates[i].path == path) {
			kernel->shares_count += !kernel->candidates[i].weight;
			kernel->candidates[i].weight += weight;
			return 0;
		}
	if (array_grow(kernel->candidates, kernel->capacity, kernel->count + 1) ||
	    array_grow(kernel->shares, kernel->shares_capacity, kernel->count + 1))
		return -ENOMEM;
	kernel->candidates[kernel->count++] = (struct candidate){.path = path, .weight = weight};
	kernel->shares_count++;
	return 0;
}

/* By correlation where the sample has one and its command is known, as nodes of graphs are not; else by time. */
static int weigh(struct kernel_runs *kernel, const struct event_instruction_sample *row,
		 bool by_time)
{
	int error = 0;

	for (size_t i = 0; i < kernel->ran_count && !error; i++) {
		const struct ran *ran = &kernel->ran[i];
		const uint64_t weight =
			by_time ? overlap(ran, row) : ran->correlation == row->correlation;

		if (weight)
			error = add_weight(kernel, ran->path, weight);
	}
	return error;
}

static bool is_estimate(const struct sweep *sweep, const struct kernel_runs *kernel)
{
	uint32_t first = ANALYSIS_NO_PATH;

	for (size_t i = 0; i < kernel->count; i++) {
		if (!kernel->candidates[i].weight)
			continue;
		if (first != ANALYSIS_NO_PATH &&
		    !sweep_is_same_code(sweep->analysis, first, kernel->candidates[i].path))
			return true;
		first = kernel->candidates[i].path;
	}
	return false;
}

static int make_split(const struct sweep *sweep, struct kernel_runs *kernel,
		      const struct event_instruction_sample *row)
{
	int error = 0;

	if (kernel->is_made && kernel->begin == row->begin && kernel->end == row->end &&
	    kernel->correlation == row->correlation)
		return 0;
	for (size_t i = 0; i < kernel->count; i++)
		kernel->candidates[i].weight = 0;
	kernel->shares_count = 0;
	if (row->correlation)
		error = weigh(kernel, row, false);
	if (!error && !kernel->shares_count)
		error = weigh(kernel, row, true);
	kernel->is_estimated = is_estimate(sweep, kernel);
	kernel->begin = row->begin;
	kernel->end = row->end;
	kernel->correlation = row->correlation;
	kernel->is_made = !error;
	return error;
}

static int divide(struct sweep *sweep, struct kernel_runs *kernel,
		  const struct event_instruction_sample *row)
{
	struct event_instruction_sample part = *row;
	int error = 0;

	for (size_t i = 0, share = 0; i < kernel->count; i++)
		if (kernel->candidates[i].weight)
			kernel->shares[share++] =
				(struct share){.weight = kernel->candidates[i].weight,
					       .debt = kernel->candidates[i].debt};
	shares_divide(kernel->shares, kernel->shares_count, row->count);
	for (size_t i = 0, share = 0; i < kernel->count && !error; i++) {
		struct candidate *candidate = &kernel->candidates[i];

		if (!candidate->weight)
			continue;
		candidate->debt = kernel->shares[share].debt;
		part.count = kernel->shares[share++].part;
		if (part.count)
			error = sweep_give_instruction(sweep, &part, candidate->path,
						       kernel->is_estimated);
	}
	return error;
}

static int give(struct sweep *sweep, const struct event_instruction_sample *row)
{
	const struct event_code *code =
		things_row(&sweep->codes, things_index(&sweep->codes, row->code));
	struct kernel_runs *kernel =
		code && code->name_string
			? find_kernel(sweep->windows, row->process, code->name_string, false)
			: NULL;
	int error = kernel ? make_split(sweep, kernel, row) : 0;

	if (error)
		return error;
	if (!kernel || !kernel->shares_count)
		return sweep_give_instruction(sweep, row, ANALYSIS_NO_PATH, false);
	return divide(sweep, kernel, row);
}

/* ---- waiting ----------------------------------------------------------------------------------- */

bool sweep_is_window(const struct event_instruction_sample *row)
{
	return row->code && row->end > row->begin && !row->stack;
}

int sweep_take_window(struct sweep *sweep, const struct event_instruction_sample *row)
{
	struct windows *windows = sweep->windows;

	/* as in many an imported trace: nothing is to be waited for */
	if (!sweep->has_launches)
		return sweep_give_instruction(sweep, row, ANALYSIS_NO_PATH, false);
	if (windows->waiting_count == windows->waiting_capacity) {
		const size_t capacity =
			windows->waiting_capacity ? 2 * windows->waiting_capacity : 256;
		struct event_instruction_sample *rows = calloc(capacity, sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		for (size_t i = 0; i < windows->waiting_count; i++)
			rows[i] = windows->waiting[(windows->first + i) &
						   (windows->waiting_capacity - 1)];
		free(windows->waiting);
		windows->waiting = rows;
		windows->waiting_capacity = capacity;
		windows->first = 0;
	}
	windows->waiting[(windows->first + windows->waiting_count++) &
			 (windows->waiting_capacity - 1)] = *row;
	return 0;
}

int sweep_release_windows(struct sweep *sweep, uint64_t now_ns)
{
	struct windows *windows = sweep->windows;
	int error = 0;

	while (windows && windows->waiting_count && !error) {
		const struct event_instruction_sample row = windows->waiting[windows->first];

		if (row.end + sweep->delay_ns >= now_ns && windows->waiting_count <= WAITING_MOST)
			break;
		error = give(sweep, &row);
		windows->first = (windows->first + 1) & (windows->waiting_capacity - 1);
		windows->waiting_count--;
	}
	return error;
}
