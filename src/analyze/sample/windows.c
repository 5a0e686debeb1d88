/* SPDX-License-Identifier: MIT
 *
 * analyze/sample/windows.c - attributes samples with code and a time window, as NVIDIA's GPUs
 * deliver them, to launches
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     executions of kernels, samples
 * Gives:    whole numbers of samples for each call path
 * Owns:     the pending samples; for each kernel the executions that a pending window may need
 * Fails:    -ENOMEM
 * Why samples wait: a sample comes at the begin of its window, before the executions in that
 *           window. A kernel is identified by process and name, because a launch does not identify
 *           the loaded code more precisely. A sample whose correlation id is that of a known
 *           command belongs to that command. Otherwise samples are divided by the overlap of timed
 *           executions with the window. If none overlaps, each untimed launch inside the window
 *           gets an equal share. If there is none either, each call path weighs as many untimed
 *           launches as it has had so far.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/sample/apportion.h"
#include "base/array.h"

enum { MAX_WAITING = 1 << 20, MIN_RAN = 64 };

/* An execution without times comes only when the recorder has seen its end, up to this much
 * later. */
#define UNTIMED_LATE_NS UINT64_C(1000000000)

struct ran {
	uint64_t started, ended,
		correlation; /* without times: started and ended are the launch's enter */
	uint32_t path;
};

struct candidate {
	uint32_t path;
	uint64_t weight;   /* in the latest window */
	uint64_t launches; /* number of launches without times so far */
	int64_t debt; /* rounding error as in struct portion, kept from one window to the next */
};

/* The executions and candidates of one kernel of one process. */
struct kernel_runs {
	struct ran *ran; /* owned; in the order of start */
	size_t ran_count, ran_capacity, ran_limit;
	/* The candidates for its samples in the latest window. */
	uint64_t begin, end, correlation;
	uint32_t device;              /* the sample's id */
	struct candidate *candidates; /* owned; all paths of the kernel so far */
	struct portion *shares; /* owned; one for each candidate with a weight, in the same order */
	size_t count, capacity, shares_count, shares_capacity;
	bool is_made, is_estimated;
	bool is_by_launches; /* weighed by launches, or no candidate */
};

/* Visible launches of a kernel. */
enum launch_sight { LAUNCH_SEEN, LAUNCH_HIDDEN };

struct windows {
	struct pair_map rows;         /* (process, name) -> index of kernels */
	struct pair_map launches;     /* (process, name) -> enum launch_sight */
	struct kernel_runs **kernels; /* owned */
	size_t count, capacity;
	/* Sorted by begin. If windows do not overlap, they are sorted by end too. */
	struct event_instruction_sample
		*waiting; /* owned; a ring whose capacity is a power of two */
	size_t first, waiting_count, waiting_capacity;
	uint64_t wait_until_ns; /* host ns until which the first sample waits for untimed launches;
				   0: not examined yet */
};

int sweep_make_windows(struct sweep *sweep)
{
	if (!sweep->trace.has_instructions)
		return 0;
	sweep->windows = calloc(1, sizeof(*sweep->windows));
	return sweep->windows ? 0 : -ENOMEM;
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
	pair_map_fini(&windows->launches);
	free(windows->kernels);
	free(windows->waiting);
	free(windows);
	sweep->windows = NULL;
}

/* ---- executions ------------------------------------------------------------------------------ */

/* Finds the kernel, with is_new makes it. NULL: the kernel did not run; with is_new: out of
 * memory. */
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

/* Removes executions that no pending or future window needs. */
static void remove_old_runs(const struct sweep *sweep, struct kernel_runs *kernel, uint64_t now_ns)
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
	kernel->ran_limit = 2 * kept + MIN_RAN;
}

/* Finds or makes the candidate of a path. A new one has no weight and no launches. */
static int find_candidate(struct kernel_runs *kernel, uint32_t path, struct candidate **ret)
{
	for (size_t i = 0; i < kernel->count; i++)
		if (kernel->candidates[i].path == path) {
			*ret = &kernel->candidates[i];
			return 0;
		}
	if (array_grow(kernel->candidates, kernel->capacity, kernel->count + 1) ||
	    array_grow(kernel->shares, kernel->shares_capacity, kernel->count + 1))
		return -ENOMEM;
	kernel->candidates[kernel->count] = (struct candidate){.path = path};
	*ret = &kernel->candidates[kernel->count++];
	return 0;
}

static int add_launch(struct kernel_runs *kernel, uint32_t path)
{
	struct candidate *candidate;
	int error = find_candidate(kernel, path, &candidate);

	if (!error)
		candidate->launches++;
	return error;
}

int sweep_note_window_run(struct sweep *sweep, const struct joined *joined, uint32_t path)
{
	const struct event_code *code =
		entity_index_get(&sweep->entities.codes, joined->launch->kernel);
	const bool has_times = is_in_account(joined);
	const uint64_t started = has_times ? joined->row->started : joined->launch->enter,
		       ended = has_times ? joined->row->ended : started;
	struct kernel_runs *kernel;

	if (!code || !code->name_string)
		return 0;
	kernel = find_kernel(sweep->windows, joined->row->process, code->name_string, true);
	if (!kernel)
		return -ENOMEM;
	if (kernel->ran_count >= kernel->ran_limit)
		remove_old_runs(sweep, kernel, started);
	if (array_append(kernel->ran, kernel->ran_capacity, kernel->ran_count,
			 (struct ran){.started = started,
				      .ended = ended,
				      .correlation = joined->row->correlation,
				      .path = path}))
		return -ENOMEM;
	return has_times ? 0 : add_launch(kernel, path);
}

/* ---- kernels without a launch ---------------------------------------------------------------- */

int sweep_note_window_launch(struct sweep *sweep, const struct open_command *command)
{
	const struct event_code *code = entity_index_get(&sweep->entities.codes, command->kernel);

	if (!sweep->windows || !code || !code->name_string)
		return 0;
	return pair_map_put(&sweep->windows->launches, command->process, code->name_string,
			    LAUNCH_SEEN);
}

/* Counts samples of kernels that were never launched, for the finding about launches that the
 * collectors miss. A kernel with a launch may have lost its execution, which the ledger reports. */
static int count_hidden(struct sweep *sweep, const struct event_instruction_sample *row,
			bool has_path)
{
	const struct event_code *code = entity_index_get(&sweep->entities.codes, row->code);
	struct analysis_hidden *hidden;
	uint32_t sight;

	if (!row->device || !code || !code->name_string ||
	    !analysis_shows(sweep->analysis, row->begin, row->begin))
		return 0;
	hidden = &sweep->analysis->devices[entity_index_find(&sweep->entities.devices, row->device)]
			  .hidden;
	hidden->samples = add_saturated(hidden->samples, row->count);
	sight = pair_map_find(&sweep->windows->launches, row->process, code->name_string);
	if (has_path || sight == LAUNCH_SEEN)
		return 0;
	hidden->is_by_name = true;
	hidden->hidden = add_saturated(hidden->hidden, row->count);
	hidden->never_launched = add_saturated(hidden->never_launched, row->count);
	if (sight == LAUNCH_HIDDEN)
		return 0;
	hidden->kernels++;
	return pair_map_put(&sweep->windows->launches, row->process, code->name_string,
			    LAUNCH_HIDDEN);
}

/* ---- candidates and weights ------------------------------------------------------------------ */

static uint64_t overlap(const struct ran *ran, const struct event_instruction_sample *row)
{
	const uint64_t begin = larger(row->begin, ran->started),
		       end = smaller(row->end, ran->ended);

	return begin < end ? end - begin : 0;
}

static int add_weight(struct kernel_runs *kernel, uint32_t path, uint64_t weight)
{
	struct candidate *candidate;
	int error = find_candidate(kernel, path, &candidate);

	if (error)
		return error;
	kernel->shares_count += !candidate->weight;
	candidate->weight += weight;
	return 0;
}

/* Whether the sample can belong to this path. It cannot if the path is of another device. */
static bool is_of_device(const struct sweep *sweep, const struct event_instruction_sample *row,
			 uint32_t path)
{
	return !row->device || sweep->analysis->paths[path].device ==
				       entity_index_find(&sweep->entities.devices, row->device);
}

/* The rules for weights; the first that finds a candidate counts. By correlation id: the sample has
 * one and its command is known, which is not so for nodes of graphs. By time in the window. By
 * launches in the window, one each. */
enum weighing { BY_CORRELATION, BY_TIME, BY_LAUNCHES, WEIGHINGS };

static uint64_t weight_of(const struct ran *ran, const struct event_instruction_sample *row,
			  enum weighing weighing)
{
	switch (weighing) {
	case BY_CORRELATION:
		return row->correlation && ran->correlation == row->correlation;
	case BY_TIME:
		return overlap(ran, row);
	default:
		return ran->started == ran->ended && ran->started >= row->begin &&
		       ran->started < row->end;
	}
}

static int weigh_runs(const struct sweep *sweep, struct kernel_runs *kernel,
		      const struct event_instruction_sample *row, enum weighing weighing)
{
	int error = 0;

	for (size_t i = 0; i < kernel->ran_count && !error; i++) {
		const struct ran *ran = &kernel->ran[i];
		const uint64_t weight = weight_of(ran, row, weighing);

		if (weight && is_of_device(sweep, row, ran->path))
			error = add_weight(kernel, ran->path, weight);
	}
	return error;
}

/* The last rule: weighs each path by all its launches so far. */
static void weigh_launches(const struct sweep *sweep, struct kernel_runs *kernel,
			   const struct event_instruction_sample *row)
{
	for (size_t i = 0; i < kernel->count; i++) {
		struct candidate *candidate = &kernel->candidates[i];

		if (!is_of_device(sweep, row, candidate->path))
			continue;
		candidate->weight = candidate->launches;
		kernel->shares_count += candidate->weight != 0;
	}
}

/* Whether the attribution is an estimate: candidates of different code have a weight. With weights
 * by launches, all earlier launches of the kernel count too. */
static bool is_estimate(const struct sweep *sweep, const struct kernel_runs *kernel,
			const struct event_instruction_sample *row)
{
	uint32_t first = ANALYSIS_NO_PATH;

	for (size_t i = 0; i < kernel->count; i++) {
		const struct candidate *candidate = &kernel->candidates[i];

		if (!candidate->weight && !(kernel->is_by_launches && candidate->launches &&
					    is_of_device(sweep, row, candidate->path)))
			continue;
		if (first != ANALYSIS_NO_PATH &&
		    !sweep_is_same_code(sweep->analysis, first, candidate->path))
			return true;
		first = candidate->path;
	}
	return false;
}

static int make_split(const struct sweep *sweep, struct kernel_runs *kernel,
		      const struct event_instruction_sample *row)
{
	int error = 0;

	if (kernel->is_made && kernel->begin == row->begin && kernel->end == row->end &&
	    kernel->correlation == row->correlation && kernel->device == row->device)
		return 0;
	for (size_t i = 0; i < kernel->count; i++)
		kernel->candidates[i].weight = 0;
	kernel->shares_count = 0;
	for (int by = 0; by < WEIGHINGS && !kernel->shares_count && !error; by++) {
		error = weigh_runs(sweep, kernel, row, (enum weighing)by);
		kernel->is_by_launches = by == BY_LAUNCHES;
	}
	if (!error && !kernel->shares_count)
		weigh_launches(sweep, kernel, row);
	kernel->is_estimated = is_estimate(sweep, kernel, row);
	kernel->begin = row->begin;
	kernel->end = row->end;
	kernel->correlation = row->correlation;
	kernel->device = row->device;
	kernel->is_made = !error;
	return error;
}

static int divide_sample(struct sweep *sweep, struct kernel_runs *kernel,
			 const struct event_instruction_sample *row)
{
	struct event_instruction_sample part = *row;
	int error = 0;

	for (size_t i = 0, share = 0; i < kernel->count; i++)
		if (kernel->candidates[i].weight)
			kernel->shares[share++] =
				(struct portion){.weight = kernel->candidates[i].weight,
						 .debt = kernel->candidates[i].debt};
	portions_divide(kernel->shares, kernel->shares_count, row->count);
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

/* The sample's kernel; NULL: it did not run so far. */
static struct kernel_runs *kernel_of(const struct sweep *sweep,
				     const struct event_instruction_sample *row)
{
	const struct event_code *code = entity_index_get(&sweep->entities.codes, row->code);

	return code && code->name_string
		       ? find_kernel(sweep->windows, row->process, code->name_string, false)
		       : NULL;
}

static int attribute_sample(struct sweep *sweep, const struct event_instruction_sample *row)
{
	struct kernel_runs *kernel = kernel_of(sweep, row);
	int error = kernel ? make_split(sweep, kernel, row) : 0;

	if (!error)
		error = count_hidden(sweep, row, kernel && kernel->shares_count);
	if (error)
		return error;
	if (!kernel || !kernel->shares_count)
		return sweep_give_instruction(sweep, row, ANALYSIS_NO_PATH, false);
	return divide_sample(sweep, kernel, row);
}

/* ---- waiting --------------------------------------------------------------------------------- */

bool sweep_is_window(const struct event_instruction_sample *row)
{
	return row->code && row->end > row->begin && !row->stack;
}

int sweep_take_window(struct sweep *sweep, const struct event_instruction_sample *row)
{
	struct windows *windows = sweep->windows;

	/* no launches, as in some imported traces: waiting is useless */
	if (!sweep->trace.has_launches)
		return sweep_give_instruction(sweep, row, ANALYSIS_NO_PATH, false);
	if (array_grow_ring(windows->waiting, windows->waiting_capacity, windows->first,
			    windows->waiting_count))
		return -ENOMEM;
	windows->waiting[(windows->first + windows->waiting_count++) &
			 (windows->waiting_capacity - 1)] = *row;
	return 0;
}

/* Returns 1 if executions without times may still come, 0 if not, or -errno. */
static int waits_for_launches(struct sweep *sweep, const struct event_instruction_sample *row,
			      uint64_t now_ns)
{
	struct windows *windows = sweep->windows;

	if (!windows->wait_until_ns) {
		struct kernel_runs *kernel = kernel_of(sweep, row);
		const int error = kernel ? make_split(sweep, kernel, row) : 0;

		if (error)
			return error;
		if (kernel && !kernel->is_by_launches)
			return 0;
		windows->wait_until_ns = row->end + sweep->delay_ns + UNTIMED_LATE_NS;
		if (kernel)
			kernel->is_made = false;
	}
	return now_ns <= windows->wait_until_ns;
}

int sweep_release_windows(struct sweep *sweep, uint64_t now_ns)
{
	struct windows *windows = sweep->windows;

	while (windows && windows->waiting_count) {
		const struct event_instruction_sample row = windows->waiting[windows->first];
		int error = 0;

		if (windows->waiting_count <= MAX_WAITING) {
			if (row.end + sweep->delay_ns >= now_ns)
				return 0;
			error = waits_for_launches(sweep, &row, now_ns);
		}
		if (error)
			return error < 0 ? error : 0;
		error = attribute_sample(sweep, &row);
		if (error)
			return error;
		windows->wait_until_ns = 0;
		windows->first = (windows->first + 1) & (windows->waiting_capacity - 1);
		windows->waiting_count--;
	}
	return 0;
}
