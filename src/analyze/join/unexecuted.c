/* SPDX-License-Identifier: MIT
 *
 * analyze/join/unexecuted.c - detects launches that were never executed, with one rule for all
 * users
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     launches, matched executions, calls that wait
 * Gives:    whether the queue has passed an open launch
 * Owns:     two times for each queue
 * Fails:    -ENOMEM
 * Why no list of launches per queue: in an in-order queue, a launch cannot run after a later launch
 *           has started. So one time per queue, the latest enter of all launches that ran, decides
 *           for all earlier launches. A recording of PyTorch has 1567 launches in one stream
 *           capture that never ran.
 * Why a wait alone proves nothing: if a program is killed after cuStreamSynchronize, its commands
 *           ran but CUPTI still holds their records. Only a later record of the same queue proves
 *           that the earlier record will not come.
 * Why only queues with a row: imported traces name a launch's queue only if the command ran. A
 *           later command may belong to another queue while the launch still runs or hangs.
 */
#include "analyze/join/unexecuted.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/ledger.h"
#include "analyze/model.h"
#include "analyze/order.h"
#include "trace/reader.h"

int unexecuted_init(struct unexecuted *unexecuted, const struct model *model)
{
	*unexecuted = (struct unexecuted){0};
	entity_index_init(&unexecuted->queues, model->reader, EVENT_QUEUE);
	unexecuted->queue_passed_ns = calloc(unexecuted->queues.count + 1, sizeof(uint64_t));
	unexecuted->waited_ns = calloc(unexecuted->queues.count + 1, sizeof(uint64_t));
	if (unexecuted->queue_passed_ns && unexecuted->waited_ns)
		return 0;
	unexecuted_fini(unexecuted);
	return -ENOMEM;
}

void unexecuted_fini(struct unexecuted *unexecuted)
{
	if (!unexecuted)
		return;
	free(unexecuted->queue_passed_ns);
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
			      size_t queue, uint64_t passes_ns)
{
	if (queue < unexecuted->queues.count && is_in_account(row))
		raise_moment(&unexecuted->queue_passed_ns[queue], passes_ns);
}

uint64_t unexecuted_add_launch(const struct unexecuted *unexecuted, size_t queue, uint64_t enter_ns)
{
	const struct event_queue *described = entity_index_row(&unexecuted->queues, queue);

	if (described && !(described->flags & QUEUE_OUT_OF_ORDER))
		return enter_ns;
	return unexecuted->waited_ns[queue];
}

void unexecuted_add_call(struct unexecuted *unexecuted, const struct event_api *row)
{
	size_t place;

	if (row->type != API_TYPE_WAIT || row->result != 0 || row->argument > UINT32_MAX)
		return;
	place = entity_index_find(&unexecuted->queues, (uint32_t)row->argument);
	if (place < unexecuted->queues.count)
		raise_moment(&unexecuted->waited_ns[place], row->begin);
}

bool unexecuted_is_passed(const struct unexecuted *unexecuted, size_t queue, uint64_t enter_ns,
			  uint64_t exit_ns)
{
	const uint64_t passed_ns = unexecuted->queue_passed_ns[queue];

	return enter_ns < passed_ns && exit_ns <= passed_ns;
}

bool unexecuted_is_certain(const struct model *model, const struct analysis_ledger *ledger)
{
	struct trace_damage damage;

	if (ledger->lost_executions || ledger->commands_uncounted)
		return false;
	trace_reader_check_rows(model->reader);
	trace_reader_damage(model->reader, &damage);
	return model_is_whole(model, &damage);
}
