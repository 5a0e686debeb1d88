/* SPDX-License-Identifier: MIT
 *
 * export/verdicts.c - which launches will have a slice of the device, known beforehand
 *
 * Runs in:  our own process
 * Gets:     a model   Gives: for each launch whether its execution is drawn, else why not; the ledger
 * Owns:     the launches whose own row does not tell
 * Fails:    -ENOMEM, what the reader fails with
 * Why a pass of its own: a launch is written when it begins, and that the trace has no execution for
 *           it is known only at the end. An arrow without an end, or a launch that says nothing, is
 *           what the pass avoids; it takes 0.2 s for 10^6 events. It stores exceptions only: what was
 *           open at the end or lost, and no entry for the usual launch.
 */
#include "export/verdicts.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/correlate.h"
#include "analyze/model.h"
#include "analyze/unexecuted.h"
#include "base/array.h"

/* As many early executions are kept as the report keeps. */
#define EARLY_COUNT 4096

struct open_launch {
	uint64_t enter;
	uint32_t thread, queue, process;
	enum verdict expected; /* what the row alone says */
};

struct pass {
	struct verdicts *verdicts;
	struct correlate correlate;
	struct unexecuted unexecuted;
	struct open_launch *launches; /* by place */
	size_t launches_capacity;
	struct event_execution early[EARLY_COUNT];
	struct pair_map early_places;
	size_t early_next;
};

bool verdict_is_drawable(const struct event_execution *row)
{
	return (row->valid & EXECUTION_STARTED) && (row->valid & EXECUTION_ENDED) &&
	       !(row->valid & ORDER_UNPLACED) && row->started <= row->ended;
}

const char *verdict_text(enum verdict verdict)
{
	static const char *const texts[] = {
		[VERDICT_FAILED_CALL] = "the call failed",
		[VERDICT_UNTIMED] = "no device times were asked for, or none can be had",
		[VERDICT_NO_SPAN] = "the device gave no start or no end",
		[VERDICT_UNPLACED] = "the device's clock has no place in host time",
		[VERDICT_BACKWARDS] = "it ended before it started",
		[VERDICT_NEVER] = "no execution in the trace: in flight at the end, or lost",
		[VERDICT_NOT_EXECUTED] = "it was not executed: its queue was past it",
		[VERDICT_REPLACED] = "its correlation id was used again before it was executed",
		[VERDICT_OUTSIDE] = "it is not in the exported part",
	};

	return array_text(texts, ARRAY_COUNT(texts), verdict, NULL);
}

static enum verdict expected_of(const struct model *model, const struct event_launch *row)
{
	const struct event_queue *queue = model_thing(model, EVENT_QUEUE, row->queue);

	if (row->result)
		return VERDICT_FAILED_CALL;
	if ((row->flags & LAUNCH_UNTIMED) || (queue && !(queue->flags & QUEUE_TIMED)))
		return VERDICT_UNTIMED;
	if (queue && queue->clock && !clocks_is_placed(model->clocks, queue->clock))
		return VERDICT_UNPLACED;
	return VERDICT_DRAWN;
}

enum verdict verdicts_of(const struct verdicts *verdicts, const struct event_launch *row)
{
	uint32_t stored = pair_map_find(&verdicts->map, row->thread, row->enter);

	if (row->result || stored == PAIR_MAP_NONE)
		return expected_of(verdicts->model, row);
	return (enum verdict)stored;
}

bool verdicts_has_end(const struct verdicts *verdicts, enum verdict verdict)
{
	return verdict != VERDICT_REPLACED && verdict != VERDICT_NOT_EXECUTED &&
	       (verdict != VERDICT_NEVER || !verdicts->lost_executions);
}

static int decide(struct pass *pass, uint32_t place, enum verdict verdict)
{
	const struct open_launch *launch = &pass->launches[place];
	const struct verdicts *verdicts = pass->verdicts;

	bool is_gone = verdict == VERDICT_NEVER || verdict == VERDICT_REPLACED ||
		       verdict == VERDICT_NOT_EXECUTED;

	/* What is launched before the exported part is not drawn, but may be in flight in it. */
	if (verdict == launch->expected || launch->enter >= verdicts->to_ns ||
	    (launch->enter < verdicts->from_ns && !is_gone))
		return 0;
	return pair_map_put(&pass->verdicts->map, launch->thread, launch->enter, verdict);
}

/* What an execution is for the launch that it is of. */
static enum verdict judge(const struct verdicts *verdicts, const struct event_execution *row)
{
	bool is_timed = row->valid & EXECUTION_TIMED;

	if (!is_timed)
		return VERDICT_UNTIMED;
	if (!(row->valid & EXECUTION_STARTED) || !(row->valid & EXECUTION_ENDED))
		return VERDICT_NO_SPAN;
	if (row->valid & ORDER_UNPLACED)
		return VERDICT_UNPLACED;
	if (!verdict_is_drawable(row))
		return VERDICT_BACKWARDS;
	if (row->started < verdicts->from_ns || row->started >= verdicts->to_ns)
		return VERDICT_OUTSIDE;
	return VERDICT_DRAWN;
}

static int keep_early(struct pass *pass, const struct event_execution *row)
{
	uint32_t place = (uint32_t)(pass->early_next++ % EARLY_COUNT);
	struct event_execution *early = &pass->early[place];

	if (pair_map_find(&pass->early_places, early->process, early->correlation) == place)
		pair_map_remove(&pass->early_places, early->process, early->correlation);
	*early = *row;
	return pair_map_put(&pass->early_places, row->process, row->correlation, place);
}

static int match(struct pass *pass, uint32_t place, const struct event_execution *row)
{
	enum verdict verdict = judge(pass->verdicts, row);
	int error;

	if (verdict == VERDICT_DRAWN && row->started < pass->launches[place].enter)
		verdict = VERDICT_DRAWN_BEFORE;
	ledger_add_match(&pass->verdicts->ledger, row);
	error = decide(pass, place, verdict);
	return error ? error : correlate_done(&pass->correlate, place, 0);
}

static int on_execution(struct pass *pass, const struct event_execution *row)
{
	uint32_t place = correlate_find(&pass->correlate, row->process, row->correlation);

	pass->verdicts->ledger.executed++;
	if (place != CORRELATE_NONE) {
		const struct open_launch *launch = &pass->launches[place];

		unexecuted_add_execution(&pass->unexecuted, row, launch->queue, launch->process,
					 &pass->correlate.commands[place]);
		return match(pass, place, row);
	}
	pass->verdicts->ledger.orphaned++;
	return keep_early(pass, row);
}

/* The execution came first: the second pass must wait for the launch that much longer. */
static int match_early(struct pass *pass, uint32_t process, uint64_t correlation, uint32_t place)
{
	uint32_t index = pair_map_remove(&pass->early_places, process, correlation);
	uint64_t enter = pass->launches[place].enter;
	const struct event_execution *row;

	if (index == PAIR_MAP_NONE)
		return 0;
	row = &pass->early[index];
	if (judge(pass->verdicts, row) == VERDICT_DRAWN && enter > row->started &&
	    enter - row->started > pass->verdicts->delay_ns)
		pass->verdicts->delay_ns = enter - row->started;
	pass->verdicts->ledger.orphaned--;
	return match(pass, place, row);
}

static int on_launch(struct pass *pass, const struct event_launch *row)
{
	const struct model *model = pass->verdicts->model;
	uint32_t process = model_process_of(model, row->thread), place;
	struct event_launch launch = *row;
	int error = 0;

	if (row->result)
		return 0;
	pass->verdicts->ledger.launched++;
	launch.handle = 0; /* nobody asks who waits for whom */
	place = correlate_find(&pass->correlate, process, row->correlation);
	if (place != CORRELATE_NONE)
		error = decide(pass, place, VERDICT_REPLACED);
	if (!error)
		error = correlate_launch(&pass->correlate, process, &launch, &place);
	if (!error && array_grow(pass->launches, pass->launches_capacity, (size_t)place + 1))
		error = -ENOMEM;
	if (error)
		return error;
	pass->correlate.commands[place].passes_ns =
		unexecuted_add_launch(&pass->unexecuted, row->queue, row->enter);
	pass->launches[place] = (struct open_launch){.enter = row->enter,
						     .thread = row->thread,
						     .queue = row->queue,
						     .process = process,
						     .expected = expected_of(model, row)};
	return match_early(pass, process, row->correlation, place);
}

/* An open one. */
static bool is_passed(const struct pass *pass, uint32_t place)
{
	const struct open_launch *launch = &pass->launches[place];

	return unexecuted_is_passed(&pass->unexecuted, launch->queue, launch->process,
				    launch->enter, pass->correlate.commands[place].exit);
}

static int judge_open(struct pass *pass)
{
	struct analysis_ledger *ledger = &pass->verdicts->ledger;
	const struct correlate *correlate = &pass->correlate;
	bool is_certain;
	int error = 0;

	for (uint32_t i = 0; i < correlate->count; i++)
		ledger->passed +=
			correlate->commands[i].state == OPEN_LAUNCHED && is_passed(pass, i);
	is_certain = ledger->passed && unexecuted_is_certain(pass->verdicts->model, ledger);
	for (uint32_t i = 0; i < correlate->count && !error; i++)
		if (correlate->commands[i].state == OPEN_LAUNCHED)
			error = decide(pass, i,
				       is_certain && is_passed(pass, i) ? VERDICT_NOT_EXECUTED
									: VERDICT_NEVER);
	return error;
}

/* Known to the recorder, or in chunks that are damaged. */
static void add_lost(struct analysis_ledger *ledger, const struct model *model,
		     const struct order *order)
{
	static const enum event_kind kinds[] = {EVENT_LAUNCH, EVENT_EXECUTION};
	const struct event_loss *losses;
	size_t count = trace_reader_losses(model->reader, &losses);

	for (size_t i = 0; i < count; i++)
		ledger_add_lost(ledger, losses[i].kind, losses[i].count);
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		const uint64_t damaged = order_damaged_rows(order, kinds[i]);

		if (damaged)
			ledger_add_lost(ledger, kinds[i], damaged);
	}
}

static int on_item(struct pass *pass, const struct order_item *item)
{
	switch (item->kind) {
	case EVENT_API:
		unexecuted_add_call(&pass->unexecuted, item->row);
		return 0;
	case EVENT_LAUNCH:
		return on_launch(pass, item->row);
	default:
		return on_execution(pass, item->row);
	}
}

static int judge_all(struct pass *pass)
{
	const struct model *model = pass->verdicts->model;
	struct analysis_ledger *ledger = &pass->verdicts->ledger;
	struct order_options options = {.kinds = 1u << EVENT_API | 1u << EVENT_LAUNCH |
						 1u << EVENT_EXECUTION,
					.execution_delay_ns = pass->verdicts->delay_ns};
	struct order_item item;
	struct order *order;
	int error = model_order(model, &options, &order), status;

	if (error)
		return error;
	while (!error && (status = order_next(order, &item)) != 0) {
		if (status < 0)
			error = status;
		else
			error = on_item(pass, &item);
	}
	if (!error)
		add_lost(ledger, model, order);
	order_free(order);
	if (!error)
		error = judge_open(pass);
	if (!error)
		ledger_close(ledger, !ledger->passed || unexecuted_is_whole(model));
	return error;
}

int verdicts_init(struct verdicts *verdicts, const struct model *model, uint64_t from_ns,
		  uint64_t to_ns)
{
	struct pass *pass = calloc(1, sizeof(*pass));
	struct trace_damage damage;
	int error;

	*verdicts = (struct verdicts){.model = model,
				      .from_ns = from_ns,
				      .to_ns = to_ns,
				      .delay_ns = clocks_device_error_ns(model->clocks)};
	pair_map_init(&verdicts->map);
	if (!pass)
		return -ENOMEM;
	pass->verdicts = verdicts;
	correlate_init(&pass->correlate);
	pair_map_init(&pass->early_places);
	error = unexecuted_init(&pass->unexecuted, model);
	if (!error)
		error = judge_all(pass);
	trace_reader_damage(model->reader, &damage);
	verdicts->lost_executions = verdicts->ledger.lost_executions ||
				    verdicts->ledger.commands_uncounted || damage.rows;
	correlate_fini(&pass->correlate);
	unexecuted_fini(&pass->unexecuted);
	pair_map_fini(&pass->early_places);
	free(pass->launches);
	free(pass);
	return error;
}

void verdicts_fini(struct verdicts *verdicts)
{
	if (verdicts)
		pair_map_fini(&verdicts->map);
}
