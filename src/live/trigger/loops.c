/* SPDX-License-Identifier: MIT
 *
 * live/trigger/loops.c - the main loop of each process
 *
 * Runs in:  the watcher of `duet record --trigger`
 * Gets:     launches and ranges of all threads
 * Gives:    findings for the expressions of iterations
 * Owns:     a loop for each of the first MAX_LOOPS threads with launches
 * Fails:    -ENOMEM; launches of further threads are ignored, and the user is warned
 * Why only the thread with the most launches: a thread that copies data now and then has pauses
 *           that belong to its work
 */
#include "live/trigger/private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"

#define COMMAND_KEY (UINT64_C(1) << 63)

void loops_fini(struct loops *loops)
{
	for (size_t i = 0; i < loops->count; i++)
		loop_fini(&loops->all[i]);
	hash_map_fini(&loops->keys);
	loops->count = 0;
}

void loops_begin(struct loops *loops)
{
	hash_map_clear(&loops->keys);
}

static struct loop *find_loop(struct loops *loops, uint32_t thread, uint32_t process)
{
	for (size_t i = 0; i < loops->count; i++)
		if (loops->all[i].thread == thread)
			return &loops->all[i];
	if (loops->count == MAX_LOOPS) {
		loops->is_full = true;
		return NULL;
	}
	loops->all[loops->count] = (struct loop){.thread = thread, .process = process};
	return &loops->all[loops->count++];
}

/* ---- launches -------------------------------------------------------------------------------- */

static uint64_t name_launch(const struct model *model, const struct event_launch *row)
{
	const struct event_code *code =
		row->kernel ? model_entity(model, EVENT_CODE, row->kernel) : NULL;

	if (code && code->name_string)
		return text_hash(model_text(model, code->name_string, ""));
	if (row->kernel)
		return row->kernel;
	return text_hash(model_text(model, row->function_string, "")) +
	       analysis_launch_command(model, row);
}

/* Equal for launches of kernels with one name, and for other commands of one kind and function. Ids
 * of texts differ between models, so the key is a hash of the text. */
static uint32_t key_of(struct loops *loops, const struct model *model,
		       const struct event_launch *row)
{
	uint64_t place =
		row->kernel ? row->kernel
			    : COMMAND_KEY | (uint64_t)row->command << 32 | row->function_string;
	const uint64_t *known = hash_map_find(&loops->keys, place);
	uint64_t key = known ? *known : name_launch(model, row);

	/* without memory it is found again each time */
	if (!known)
		(void)hash_map_put(&loops->keys, place, key);
	return (uint32_t)(key ^ key >> 32);
}

int loops_add(struct loops *loops, const struct model *model, const struct event_launch *row,
	      uint64_t enter_ns, uint64_t exit_ns)
{
	uint32_t process = model_process_of(model, row->thread);
	struct iterations_launch launch = {.enter = enter_ns,
					   .exit = exit_ns,
					   .correlation = row->correlation,
					   .thread = row->thread,
					   .is_blocking = row->flags & LAUNCH_BLOCKING};
	struct loop *loop;

	if (!process || row->result || (row->flags & (LAUNCH_PART | LAUNCH_FURTHER)) ||
	    model_is_nobodys(model, row))
		return 0;
	loop = find_loop(loops, row->thread, process);
	if (!loop)
		return 0;
	launch.key = key_of(loops, model, row);
	return loop_add(loop, &launch);
}

/* ---- findings -------------------------------------------------------------------------------- */

struct evaluation {
	struct trigger_set *set;
	const struct model *model;
};

/* "iteration 12", counted from 0 as in the report, with the process if there are several. */
static void describe(const struct evaluation *evaluation, const struct loop *loop, uint64_t number,
		     char *ret_text, size_t size)
{
	const struct event_process *process =
		model_entity(evaluation->model, EVENT_PROCESS, loop->process);
	const struct loops *loops = &evaluation->set->loops;
	bool is_alone = true;

	for (size_t i = 0; i < loops->count; i++)
		is_alone &= loops->all[i].process == loop->process;
	if (is_alone || !process)
		snprintf(ret_text, size, "iteration %llu", (unsigned long long)number);
	else
		snprintf(ret_text, size, "iteration %llu of %s (pid %u)",
			 (unsigned long long)number,
			 model_text(evaluation->model, process->name_string, "?"), process->pid);
}

static void judge_iteration(void *context, struct loop *loop,
			    const struct loop_iteration *iteration)
{
	const struct evaluation *evaluation = context;
	struct trigger_set *set = evaluation->set;
	char what[128] = "";
	const struct trigger_finding finding = {iteration->begin_ns, iteration->end_ns,
						loop->process, what};

	describe(evaluation, loop, iteration->number - 1, what, sizeof(what));
	for (uint32_t i = 0; i < set->count; i++)
		if (set->exprs[i].subject == TRIGGER_ITERATION) {
			set->matched |= UINT64_C(1) << i;
			firings_judge(&set->firings, set->exprs, i, &loop->baseline, &finding);
		}
	/* without memory there is no statistic, and no trigger that needs it */
	(void)baseline_add(&loop->baseline, iteration->end_ns - iteration->begin_ns);
}

/* ---- ranges as iterations -------------------------------------------------------------------- */

void loops_add_range(struct trigger_set *set, const struct model *model,
		     const struct event_range *row, uint64_t begin_ns, uint64_t end_ns)
{
	struct evaluation evaluation = {set, model};
	char name[TRIGGER_NAME];

	for (size_t i = 0; i < set->loops.count; i++) {
		struct loop *loop = &set->loops.all[i];

		if (loop->method != LOOP_BY_RANGES || loop->thread != row->thread)
			continue;
		name_without_numbers(model_range_name(model, row), name, sizeof(name));
		if (strcmp(name, loop->range) == 0)
			loop_add_range(loop, begin_ns, end_ns, judge_iteration, &evaluation);
	}
}

/* If the program named its iterations, its ranges are used from now on. The ranges of the model are
 * the first ones. */
static int look_for_ranges(struct trigger_set *set, const struct model *model)
{
	struct evaluation evaluation = {set, model};
	struct iterations found = {0};
	struct loop *loop;
	int error = iterations_find(model, true, &found);

	if (!error && found.method == ITERATIONS_RANGES) {
		loop = find_loop(&set->loops, found.thread, model_process_of(model, found.thread));
		if (loop && loop->method != LOOP_BY_RANGES) {
			error = loop_use_ranges(loop, found.name);
			for (size_t i = 0; !error && i < found.count; i++)
				loop_add_range(loop, found.list[i].begin, found.list[i].end,
					       judge_iteration, &evaluation);
		}
	}
	iterations_fini(&found);
	return error;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

/* Whether no other thread of the process has more launches, or named iterations. */
static bool is_main(const struct loops *loops, const struct loop *loop)
{
	if (loop->method == LOOP_BY_RANGES)
		return true;
	for (size_t i = 0; i < loops->count; i++) {
		const struct loop *other = &loops->all[i];

		if (other->process == loop->process &&
		    (other->launches > loop->launches || other->method == LOOP_BY_RANGES))
			return false;
	}
	return true;
}

static int evaluate_loop(struct trigger_set *set, const struct model *model, struct loop *loop,
			 bool is_last)
{
	struct evaluation evaluation = {set, model};
	int error = 0;

	if (loop_is_due(loop, is_last)) {
		if (model_has(model, EVENT_RANGE))
			error = look_for_ranges(set, model);
		if (!error && loop->method != LOOP_BY_RANGES)
			error = loop_search(loop);
	}
	return error ? error : loop_advance(loop, judge_iteration, &evaluation);
}

int loops_evaluate(struct trigger_set *set, const struct model *model, bool is_last)
{
	struct loops *loops = &set->loops;
	int error = 0;

	if (loops->is_full)
		firings_add_problem(&set->firings,
				    "iterations of only %d threads are watched; name them by "
				    "ranges, as in 'range:step > 2 x p99'",
				    MAX_LOOPS);
	for (size_t i = 0; i < loops->count && !error; i++) {
		loop_sort(&loops->all[i]);
		if (is_main(loops, &loops->all[i]))
			error = evaluate_loop(set, model, &loops->all[i], is_last);
	}
	return error;
}
