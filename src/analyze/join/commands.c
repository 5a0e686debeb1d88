/* SPDX-License-Identifier: MIT
 *
 * analyze/join/commands.c - visits all commands of a trace, each with its launch and its execution
 *
 * Runs in:  our own process
 * Gets:     a model
 * Gives:    a callback per command; the ledger
 * Owns:     the rows of the open launches (whose command has not ended)
 * Fails:    -ENOMEM, errors of the reader, results of a callback
 */
#include "analyze/join/commands.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/join/join.h"
#include "analyze/model.h"
#include "base/array.h"

struct waiting_launch {
	struct event_launch row;
	uint64_t number, tag;
	uint32_t process;
};

struct commands {
	const struct model *model;
	const struct commands_visitor *visitor;
	void *context;
	struct join join;
	struct analysis_ledger ledger;
	struct waiting_launch *waiting; /* the launches, indexed by place in join.correlate */
	size_t waiting_capacity;
	uint64_t launches;
};

const char *commands_state_name(enum command_state state)
{
	static const char *const names[STATE_COUNT] = {"matched", "rejected", "in_flight",
						       "not_executed", "no_launch"};

	return array_text(names, ARRAY_COUNT(names), state, "unknown");
}

bool execution_has_span(const struct event_execution *row)
{
	return (row->valid & EXECUTION_STARTED) && (row->valid & EXECUTION_ENDED) &&
	       !(row->valid & ORDER_UNPLACED) && row->started <= row->ended;
}

bool command_has_span(const struct command *command)
{
	return command->execution && execution_has_span(command->execution);
}

bool command_is_in_account(const struct command *command)
{
	return command_has_span(command) && command->execution->status >= 0 &&
	       !(command->execution->valid & ORDER_IMPOSSIBLE);
}

bool command_is_over(const struct event_execution *row, enum order_point point)
{
	if (point == POINT_SEEN || point == POINT_ENDED)
		return true;
	if (row->valid & EXECUTION_ENDED)
		return false;
	if (point == POINT_STARTED)
		return true;
	if (row->valid & EXECUTION_STARTED)
		return false;
	return point == POINT_SUBMITTED || !(row->valid & EXECUTION_SUBMITTED);
}

bool command_is_estimated(const struct model *model, const struct event_execution *row)
{
	const struct event_queue *queue = model_entity(model, EVENT_QUEUE, row->queue);
	const struct clocks_domain *domain =
		queue ? clocks_find(model->clocks, queue->clock) : NULL;

	return domain && domain->certificate.method == CLOCK_METHOD_HULL;
}

bool command_duration(const struct command *command, uint64_t *ret_ns)
{
	const struct event_execution *row = command->execution;
	const uint32_t both = EXECUTION_STARTED | EXECUTION_ENDED;

	if (!row || row->status < 0 || (row->valid & ORDER_IMPOSSIBLE) ||
	    (row->valid & both) != both || row->ended < row->started)
		return false;
	*ret_ns = row->ended - row->started;
	return true;
}

uint64_t command_time(const struct command *command)
{
	const struct event_execution *row = command->execution;

	if (!row)
		return command->launch->enter;
	return (row->valid & EXECUTION_STARTED) && !(row->valid & ORDER_UNPLACED) ? row->started
										  : row->seen;
}

const char *command_name(const struct model *model, const struct command *command)
{
	const struct event_launch *launch = command->launch;
	uint32_t type;

	if (!launch)
		return "[no launch]";
	type = analysis_launch_command(model, launch);
	if (analysis_class(type) != ACCOUNT_KERNEL)
		return analysis_command_name(type);
	return *model_kernel_name(model, launch->kernel) ? model_kernel_name(model, launch->kernel)
							 : "[unknown kernel]";
}

static int give_command(struct commands *commands, struct command *command,
			const struct waiting_launch *waiting)
{
	if (waiting) {
		command->launch = &waiting->row;
		command->launch_number = waiting->number;
		command->tag = waiting->tag;
		command->process = waiting->process;
		command->queue = waiting->row.queue;
	}
	if (command->execution) {
		command->process = command->execution->process;
		if (command->execution->queue)
			command->queue = command->execution->queue;
	}
	return commands->visitor->on_command(commands->context, command);
}

static int give_orphan(void *context, const struct event_execution *row)
{
	struct command command = {.execution = row, .state = STATE_NO_LAUNCH};

	return give_command(context, &command, NULL);
}

static int give_match(struct commands *commands, uint32_t place, const struct event_execution *row,
		      bool is_early)
{
	struct command command = {.execution = row,
				  .state = ledger_rejects(row) ? STATE_REJECTED : STATE_MATCHED,
				  .is_early = is_early};
	int error = give_command(commands, &command, &commands->waiting[place]);

	ledger_add_match(&commands->ledger, row);
	return error ? error : correlate_done(&commands->join.correlate, place, 0);
}

static int give_open(struct commands *commands, uint32_t place, enum command_state state,
		     bool is_replaced)
{
	struct command command = {.state = state, .is_replaced = is_replaced};

	return give_command(commands, &command, &commands->waiting[place]);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int on_execution(struct commands *commands, const struct event_execution *row)
{
	uint32_t place = join_find(&commands->join, row->process, row->correlation);

	commands->ledger.executed++;
	if (place != CORRELATE_NONE) {
		join_add_executed(&commands->join, row, place);
		return give_match(commands, place, row, false);
	}
	commands->ledger.orphaned++;
	if (commands->visitor->in_order || !row->correlation)
		return give_orphan(commands, row);
	return join_keep_early(&commands->join, row);
}

static int open_launch(struct commands *commands, const struct event_launch *row, uint32_t process,
		       uint64_t tag, uint32_t *ret_place)
{
	struct event_launch launch = *row;
	uint32_t place = join_find(&commands->join, process, row->correlation);
	int error = 0;

	if (place != CORRELATE_NONE) /* a new launch uses the id again */
		error = give_open(commands, place, STATE_IN_FLIGHT, true);
	launch.handle = 0; /* this pass does not need dependencies */
	if (!error)
		error = join_open(&commands->join, process, &launch, &place);
	if (!error && array_grow(commands->waiting, commands->waiting_capacity, (size_t)place + 1))
		error = -ENOMEM;
	if (error)
		return error;
	commands->waiting[place] = (struct waiting_launch){*row, commands->launches, tag, process};
	*ret_place = place;
	return 0;
}

static int on_launch(struct commands *commands, const struct event_launch *row)
{
	const struct commands_visitor *visitor = commands->visitor;
	uint32_t process = model_process_of(commands->model, row->thread), place;
	const struct event_execution *early;
	uint64_t tag = 0;
	int error = 0;

	commands->launches++;
	if (visitor->on_launch)
		error = visitor->on_launch(commands->context, row, commands->launches, &tag);
	if (error || row->result)
		return error;
	commands->ledger.launched++;
	error = open_launch(commands, row, process, tag, &place);
	if (error)
		return error;
	early = join_take_early(&commands->join, process, row->correlation);
	if (!early)
		return 0;
	commands->ledger.orphaned--;
	return give_match(commands, place, early, true);
}

static int on_api(struct commands *commands, const struct order_item *item)
{
	unexecuted_add_call(&commands->join.unexecuted, item->row);
	if (!(commands->visitor->more_kinds & 1u << EVENT_API))
		return 0;
	return commands->visitor->on_row(commands->context, item);
}

static int run(struct commands *commands, struct order *order)
{
	struct order_item item;
	int error = 0, status;

	while (!error && (status = order_next(order, &item)) != 0) {
		if (status < 0)
			error = status;
		else if (item.kind == EVENT_LAUNCH)
			error = on_launch(commands, item.row);
		else if (item.kind == EVENT_EXECUTION)
			error = on_execution(commands, item.row);
		else if (item.kind == EVENT_API)
			error = on_api(commands, &item);
		else
			error = commands->visitor->on_row(commands->context, &item);
	}
	return error;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int compare_numbers(const void *left, const void *right, void *context)
{
	const struct waiting_launch *waiting = context;
	uint64_t a = waiting[*(const uint32_t *)left].number;
	uint64_t b = waiting[*(const uint32_t *)right].number;

	return (a > b) - (a < b);
}

/* Adds the losses that the recorder reported and the rows of damaged chunks to the ledger. */
static void count_lost(struct commands *commands, const struct order *order)
{
	static const enum event_kind kinds[] = {EVENT_LAUNCH, EVENT_EXECUTION};
	const struct event_loss *losses;
	const size_t count = trace_reader_losses(commands->model->reader, &losses);

	for (size_t i = 0; i < count; i++) {
		if (losses[i].reason == LOSS_LIMIT)
			ledger_add_left_out(&commands->ledger, losses[i].kind, losses[i].count);
		else
			ledger_add_lost(&commands->ledger, losses[i].kind, losses[i].count);
	}
	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		const uint64_t damaged = order_damaged_rows(order, kinds[i]);

		if (damaged)
			ledger_add_lost(&commands->ledger, kinds[i], damaged);
	}
}

static bool close_ledger(struct commands *commands)
{
	const struct join *join = &commands->join;
	struct analysis_ledger *ledger = &commands->ledger;
	struct model_part part;
	bool is_certain;

	for (uint32_t i = 0; i < join->correlate.count; i++)
		ledger->passed += join_is_passed(join, i);
	is_certain = ledger->passed && unexecuted_is_certain(commands->model, ledger);
	ledger_close(ledger, is_certain);
	if (model_find_part(commands->model, &part))
		ledger_close_part(ledger);
	return is_certain;
}

static int give_all_open(struct commands *commands)
{
	const struct correlate *correlate = &commands->join.correlate;
	uint32_t *places = malloc((correlate->count + 1) * sizeof(*places));
	size_t count = 0;
	bool is_certain;
	int error = 0;

	if (!places)
		return -ENOMEM;
	for (uint32_t i = 0; i < correlate->count; i++)
		if (correlate->commands[i].state == OPEN_LAUNCHED)
			places[count++] = i;
	qsort_r(places, count, sizeof(*places), compare_numbers, commands->waiting);
	is_certain = close_ledger(commands);
	for (size_t i = 0; i < count && !error; i++)
		error = give_open(commands, places[i],
				  is_certain && join_is_passed(&commands->join, places[i])
					  ? STATE_NOT_EXECUTED
					  : STATE_IN_FLIGHT,
				  false);
	free(places);
	return error;
}

int commands_each(const struct model *model, const struct commands_visitor *visitor, void *context)
{
	struct order_options options = {
		.kinds = 1u << EVENT_API | 1u << EVENT_LAUNCH | 1u << EVENT_EXECUTION |
			 visitor->more_kinds,
		.execution_delay_ns = visitor->delay_ns ? visitor->delay_ns
							: clocks_device_error_ns(model->clocks)};
	struct commands commands = {.model = model, .visitor = visitor, .context = context};
	struct order *order = NULL;
	int error = join_init(&commands.join, model);

	commands.join.on_orphan = give_orphan;
	commands.join.context = &commands;
	if (!error)
		error = model_order(model, &options, &order);
	if (!error)
		error = run(&commands, order);
	if (!error)
		count_lost(&commands, order);
	if (!error)
		error = join_give_orphans(&commands.join);
	if (!error)
		error = give_all_open(&commands);
	if (!error && visitor->ret_ledger)
		*visitor->ret_ledger = commands.ledger;
	order_free(order);
	join_fini(&commands.join);
	free(commands.waiting);
	return error;
}
