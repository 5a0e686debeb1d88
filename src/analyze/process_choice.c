/* SPDX-License-Identifier: MIT
 *
 * analyze/process_choice.c - limits a model to the rows of some processes
 *
 * Runs in:  our own process, in duet report --pid and --rank
 * Gets:     lists of pids and ranks
 * Gives:    the process of a row, and whether a row is chosen
 * Owns:     the ids of the chosen processes
 * Fails:    model_choose: a number that no process has, out of memory
 * Why in the model: the account, the iterations and the counters read the trace one after the
 *           other, and all must read the same processes
 */
#include "analyze/process_choice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "analyze/order.h"
#include "base/error.h"
#include "base/string.h"

void process_choice_free(struct process_choice *choice)
{
	if (choice)
		hash_map_fini(&choice->ids);
	free(choice);
}

bool model_has_process(const struct model *model, uint32_t process)
{
	return !model->choice || hash_map_find(&model->choice->ids, process);
}

bool model_has_thread(const struct model *model, uint32_t thread)
{
	return !model->choice || model_has_process(model, model_process_of(model, thread));
}

/* ---- the process of a row -------------------------------------------------------------------- */

static uint32_t process_of_counter(const struct model *model, const struct event_counter *row)
{
	const struct event_series *series = model_entity(model, EVENT_SERIES, row->series);

	return series ? series->process : 0;
}

static uint32_t thread_of(const struct order_item *item)
{
	const struct event_switch *row = item->row;

	switch (item->kind) {
	case EVENT_API:
		return ((const struct event_api *)item->row)->thread;
	case EVENT_CPU_SAMPLE:
		return ((const struct event_cpu_sample *)item->row)->thread;
	case EVENT_SWITCH:
		return row->previous ? row->previous : row->next;
	default:
		return ((const struct event_launch *)item->row)->thread;
	}
}

uint32_t model_process_of_item(const struct model *model, const struct order_item *item)
{
	const struct event_thread *thread;

	switch (item->kind) {
	case EVENT_EXECUTION:
		return ((const struct event_execution *)item->row)->process;
	case EVENT_INSTRUCTION_SAMPLE:
		return ((const struct event_instruction_sample *)item->row)->process;
	case EVENT_DEPENDENCY:
		return ((const struct event_dependency *)item->row)->process;
	case EVENT_RANGE:
		return ((const struct event_range *)item->row)->process;
	case EVENT_COUNTER:
		return process_of_counter(model, item->row);
	case EVENT_COLLECTIVE:
		return ((const struct event_collective *)item->row)->process;
	case EVENT_LOSS:
		return ((const struct event_loss *)item->row)->process;
	default:
		thread = model_entity(model, EVENT_THREAD, thread_of(item));
		return thread ? thread->process : 0;
	}
}

/* A sample without a process belongs to the process whose code it is in. The analysis looks up the
 * code of a sample that has only an address. */
static bool has_code(const struct model *model, const struct event_instruction_sample *row)
{
	const struct event_code *code = model_entity(model, EVENT_CODE, row->code);

	return !row->code || (code && model_has_process(model, code->process));
}

static bool has_item(const void *context, const struct order_item *item)
{
	const struct model *model = context;
	uint32_t process;

	if (!model->choice || item->kind == EVENT_SWITCH || item->kind == EVENT_CPU_SAMPLE)
		return true;
	process = model_process_of_item(model, item);
	if (process)
		return model_has_process(model, process);
	if (item->kind == EVENT_INSTRUCTION_SAMPLE)
		return has_code(model, item->row);
	return item->kind == EVENT_COUNTER;
}

/* ---- the choice -------------------------------------------------------------------------------
 */

typedef bool (*has_number)(const struct event_process *process, uint64_t number);

static bool has_pid(const struct event_process *process, uint64_t pid)
{
	return process->pid == pid;
}

/* The row has the launcher's number plus 1; 0: none. */
static bool has_rank(const struct event_process *process, uint64_t rank)
{
	return process->rank && process->rank - UINT64_C(1) == rank;
}

/* Keeps in `ids` the processes that have one of the numbers, among those that are already in it, or
 * among all. */
static int choose(const struct model *model, const char *list, const char *what, has_number has,
		  struct hash_map *ids, bool is_first)
{
	const struct event_process *processes;
	const size_t count = model_entities(model, EVENT_PROCESS, &processes);
	struct hash_map kept = {0};
	int error = *list ? 0 : error_set(-EINVAL, "the list of %ss is empty", what);
	uint64_t number = 0;

	for (const char *at = list; *at && !error;) {
		bool is_there = false;

		if (!number_list_next(&at, &number))
			error = error_set(-EINVAL, "'%s' is not a list of %ss, such as 12,345",
					  list, what);
		for (size_t i = 0; i < count && !error; i++) {
			if (!has(&processes[i], number))
				continue;
			is_there = true;
			if (is_first || hash_map_find(ids, processes[i].id))
				error = hash_map_put(&kept, processes[i].id, 1);
		}
		if (!error && !is_there)
			error = error_set(-ENOENT, "no process %s%" PRIu64,
					  has == has_rank ? "with rank " : "", number);
	}
	hash_map_fini(ids);
	*ids = kept;
	return error;
}

static void use_choice(struct model *model, struct process_choice *choice,
		       struct process_choice **ret_choice)
{
	*ret_choice = choice;
	model->choice = choice;
	model->has_item = has_item;
}

int model_choose_one(struct model *model, uint32_t process, struct process_choice **ret_choice)
{
	struct process_choice *choice = calloc(1, sizeof(*choice));

	*ret_choice = NULL;
	if (!choice || hash_map_put(&choice->ids, process, 1)) {
		process_choice_free(choice);
		return -ENOMEM;
	}
	use_choice(model, choice, ret_choice);
	return 0;
}

int model_choose(struct model *model, const char *pids, const char *ranks,
		 struct process_choice **ret_choice)
{
	struct process_choice *choice = NULL;
	int error = 0;

	*ret_choice = NULL;
	if (!pids && !ranks)
		return 0;
	choice = calloc(1, sizeof(*choice));
	if (!choice)
		return -ENOMEM;
	if (pids)
		error = choose(model, pids, "pid", has_pid, &choice->ids, true);
	if (!error && ranks)
		error = choose(model, ranks, "rank", has_rank, &choice->ids, !pids);
	if (!error && !choice->ids.count)
		error = error_set(-ENOENT, "no process of --pid has a rank of --rank");
	if (error) {
		process_choice_free(choice);
		return error;
	}
	use_choice(model, choice, ret_choice);
	return 0;
}
