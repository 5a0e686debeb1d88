/* SPDX-License-Identifier: MIT
 *
 * analyze/join/launch_outcomes.c - determines before an export which launches will get a device
 * slice
 *
 * Runs in:  our own process
 * Gets:     a model
 * Gives:    for each launch whether its execution is drawn, or why it is not; the ledger
 * Owns:     the verdicts that do not follow from the launch's own row
 * Fails:    -ENOMEM, errors of the reader
 * Why a pass of its own: the exporter writes a launch at its begin, but the end of the trace
 *           decides whether it has an execution. Without this pass, arrows would have no end and
 *           launches no reason. The pass takes 0.2 s for 10^6 events. It stores only exceptions,
 *           such as launches that were open at the end or lost.
 */
#include "analyze/join/launch_outcomes.h"

#include "analyze/analysis.h"
#include "analyze/join/commands.h"
#include "analyze/model.h"
#include "base/array.h"

const char *verdict_text(enum launch_outcome verdict)
{
	static const char *const texts[] = {
		[VERDICT_FAILED_CALL] = "the call failed",
		[VERDICT_UNTIMED] = "device times were not requested or are not available",
		[VERDICT_NO_SPAN] = "the device gave no start or no end",
		[VERDICT_UNPLACED] = "the device's clock could not be aligned with host time",
		[VERDICT_BACKWARDS] = "it ended before it started",
		[VERDICT_NEVER] = "no execution in the trace: in flight at the end, or lost",
		[VERDICT_NOT_EXECUTED] = "it was not executed: a later command of its queue ran",
		[VERDICT_REPLACED] = "its correlation id was used again before it was executed",
		[VERDICT_OUTSIDE] = "it is not in the exported part",
	};

	return array_text(texts, ARRAY_COUNT(texts), verdict, NULL);
}

static enum launch_outcome expected_of(const struct model *model, const struct event_launch *row)
{
	const struct event_queue *queue = model_entity(model, EVENT_QUEUE, row->queue);

	if (row->result)
		return VERDICT_FAILED_CALL;
	if ((row->flags & LAUNCH_UNTIMED) || (queue && !(queue->flags & QUEUE_TIMED)))
		return VERDICT_UNTIMED;
	if (queue && queue->clock && !clocks_is_placed(model->clocks, queue->clock))
		return VERDICT_UNPLACED;
	return VERDICT_DRAWN;
}

enum launch_outcome verdicts_of(const struct verdicts *verdicts, const struct event_launch *row)
{
	uint32_t stored = pair_map_find(&verdicts->map, row->thread, row->enter);

	if (row->result || stored == PAIR_MAP_NONE)
		return expected_of(verdicts->model, row);
	return (enum launch_outcome)stored;
}

bool verdicts_has_end(const struct verdicts *verdicts, enum launch_outcome verdict)
{
	return verdict != VERDICT_REPLACED && verdict != VERDICT_NOT_EXECUTED &&
	       (verdict != VERDICT_NEVER || !verdicts->lost_executions);
}

/* The verdict on a launch with this execution. */
static enum launch_outcome judge(const struct verdicts *verdicts, const struct event_execution *row)
{
	bool is_timed = row->valid & EXECUTION_TIMED;

	if (!is_timed)
		return VERDICT_UNTIMED;
	if (!(row->valid & EXECUTION_STARTED) || !(row->valid & EXECUTION_ENDED))
		return VERDICT_NO_SPAN;
	if (row->valid & ORDER_UNPLACED)
		return VERDICT_UNPLACED;
	if (!execution_has_span(row))
		return VERDICT_BACKWARDS;
	if (row->started < verdicts->from_ns || row->started >= verdicts->to_ns)
		return VERDICT_OUTSIDE;
	return VERDICT_DRAWN;
}

/* Stores the verdict if it differs from the expected one. */
static int add_verdict(struct verdicts *verdicts, const struct command *command,
		       enum launch_outcome verdict)
{
	const struct event_launch *launch = command->launch;
	bool is_gone = !command->execution;

	/* A launch before the exported part is not drawn, but can be in flight in that part. */
	if (verdict == (enum launch_outcome)command->tag || launch->enter >= verdicts->to_ns ||
	    (launch->enter < verdicts->from_ns && !is_gone))
		return 0;
	return pair_map_put(&verdicts->map, launch->thread, launch->enter, verdict);
}

/* The execution came before its launch. The exporter's pass must delay executions by at least this
 * difference. */
static void extend_delay(struct verdicts *verdicts, const struct command *command)
{
	uint64_t enter = command->launch->enter, started = command->execution->started;

	if (enter > started && enter - started > verdicts->delay_ns)
		verdicts->delay_ns = enter - started;
}

static int on_launch(void *context, const struct event_launch *row, uint64_t number,
		     uint64_t *ret_tag)
{
	const struct verdicts *verdicts = context;

	*ret_tag = expected_of(verdicts->model, row);
	return 0;
}

static int on_command(void *context, const struct command *command)
{
	struct verdicts *verdicts = context;
	enum launch_outcome verdict;

	if (!command->launch)
		return 0;
	if (!command->execution) {
		verdict = command->state == STATE_NOT_EXECUTED ? VERDICT_NOT_EXECUTED
			  : command->is_replaced               ? VERDICT_REPLACED
							       : VERDICT_NEVER;
		return add_verdict(verdicts, command, verdict);
	}
	verdict = judge(verdicts, command->execution);
	if (verdict == VERDICT_DRAWN && command->is_early)
		extend_delay(verdicts, command);
	if (verdict == VERDICT_DRAWN && command->execution->started < command->launch->enter)
		verdict = VERDICT_DRAWN_BEFORE;
	return add_verdict(verdicts, command, verdict);
}

int verdicts_init(struct verdicts *verdicts, const struct model *model, uint64_t from_ns,
		  uint64_t to_ns)
{
	const struct commands_visitor visitor = {
		.on_launch = on_launch, .on_command = on_command, .ret_ledger = &verdicts->ledger};
	struct trace_damage damage;
	int error;

	*verdicts = (struct verdicts){.model = model,
				      .from_ns = from_ns,
				      .to_ns = to_ns,
				      .delay_ns = clocks_device_error_ns(model->clocks)};
	error = commands_each(model, &visitor, verdicts);
	trace_reader_damage(model->reader, &damage);
	verdicts->lost_executions = verdicts->ledger.lost_executions ||
				    verdicts->ledger.commands_uncounted || damage.rows;
	return error;
}

void verdicts_fini(struct verdicts *verdicts)
{
	if (verdicts)
		pair_map_fini(&verdicts->map);
}
