/* SPDX-License-Identifier: MIT
 *
 * analyze/unexecuted.c - which launches never executed: one rule for all readers
 *
 * Runs in:  the readers
 * Gets:     commands with their launch, calls that wait   Gives: whether the queue of an open launch was past it
 * Owns:     a moment for each queue and process
 * Fails:    -ENOMEM
 * Why moments and no list: a launch that returned before a later one of an in-order queue was entered cannot run
 *           after that one started, so the latest enter of what ran decides for all of them. A recording of PyTorch
 *           has 1567 launches under one stream capture.
 * Why a wait alone says nothing: a program that is killed behind cuStreamSynchronize has run what CUPTI still holds the
 *           records of. A later record of the queue is the proof that the earlier one does not come.
 */
#include "analyze/unexecuted.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/correlate.h"
#include "analyze/ledger.h"
#include "analyze/model.h"
#include "analyze/order.h"
#include "trace/reader.h"

int unexecuted_init(struct unexecuted *unexecuted, const struct model *model)
{
	*unexecuted = (struct unexecuted){0};
	things_init(&unexecuted->queues, model->reader, EVENT_QUEUE);
	things_init(&unexecuted->processes, model->reader, EVENT_PROCESS);
	unexecuted->queue_passed_ns = calloc(unexecuted->queues.count + 1, sizeof(uint64_t));
	unexecuted->process_passed_ns = calloc(unexecuted->processes.count + 1, sizeof(uint64_t));
	unexecuted->waited_ns = calloc(unexecuted->queues.count + 1, sizeof(uint64_t));
	if (unexecuted->queue_passed_ns && unexecuted->process_passed_ns && unexecuted->waited_ns)
		return 0;
	unexecuted_fini(unexecuted);
	return -ENOMEM;
}

void unexecuted_fini(struct unexecuted *unexecuted)
{
	if (!unexecuted)
		return;
	free(unexecuted->queue_passed_ns);
	free(unexecuted->process_passed_ns);
	free(unexecuted->waited_ns);
	*unexecuted = (struct unexecuted){0};
}

static void raise_moment(uint64_t *moment, uint64_t time_ns)
{
	if (time_ns > *moment)
		*moment = time_ns;
}

static bool is_in_account(const struct event_execution *row)
{
	const uint32_t both = EXECUTION_STARTED | EXECUTION_ENDED;

	return (row->valid & both) == both && !(row->valid & ORDER_UNPLACED) &&
	       !ledger_rejects(row);
}

void unexecuted_add_execution(struct unexecuted *unexecuted, const struct event_execution *row,
			      uint32_t queue, uint32_t process, const struct open_command *launch)
{
	const size_t place = things_index(&unexecuted->queues, queue);

	if (!is_in_account(row))
		return;
	if (place < unexecuted->queues.count)
		raise_moment(&unexecuted->queue_passed_ns[place], launch->passes_ns);
	raise_moment(&unexecuted->process_passed_ns[things_index(&unexecuted->processes, process)],
		     launch->enter);
}

uint64_t unexecuted_add_launch(const struct unexecuted *unexecuted, uint32_t queue,
			       uint64_t enter_ns)
{
	const size_t place = things_index(&unexecuted->queues, queue);
	const struct event_queue *described = things_row(&unexecuted->queues, place);

	if (described && !(described->flags & QUEUE_OUT_OF_ORDER))
		return enter_ns;
	return unexecuted->waited_ns[place];
}

void unexecuted_add_call(struct unexecuted *unexecuted, const struct event_api *row)
{
	size_t place;

	if (row->type != API_TYPE_WAIT || row->result != 0 || row->argument > UINT32_MAX)
		return;
	place = things_index(&unexecuted->queues, (uint32_t)row->argument);
	if (place < unexecuted->queues.count)
		raise_moment(&unexecuted->waited_ns[place], row->begin);
}

bool unexecuted_is_passed(const struct unexecuted *unexecuted, uint32_t queue, uint32_t process,
			  uint64_t enter_ns, uint64_t exit_ns)
{
	const size_t place = things_index(&unexecuted->queues, queue);
	uint64_t passed_ns = unexecuted->queue_passed_ns[place];

	if (place == unexecuted->queues.count)
		passed_ns =
			unexecuted
				->process_passed_ns[things_index(&unexecuted->processes, process)];
	return enter_ns < passed_ns && exit_ns <= passed_ns;
}

bool unexecuted_is_whole(const struct model *model)
{
	struct trace_damage damage;

	trace_reader_check_rows(model->reader);
	trace_reader_damage(model->reader, &damage);
	return model_is_whole(model, &damage);
}

bool unexecuted_is_certain(const struct model *model, const struct analysis_ledger *ledger)
{
	return !ledger->lost_executions && !ledger->commands_uncounted &&
	       unexecuted_is_whole(model);
}
