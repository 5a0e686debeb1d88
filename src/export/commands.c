/* SPDX-License-Identifier: MIT
 *
 * export/commands.c - launches and executions, joined as the report joins them
 *
 * Runs in:  our own process
 * Gets:     a model   Gives: commands, each with its launch and its execution
 * Owns:     the launches whose execution is to come, and the latest executions whose launch is
 * Fails:    -ENOMEM, what the reader fails with, what a callback gives
 * Why 4096 executions are kept for launches that come later: as many as the report keeps, so that both
 *           count the same commands as matched.
 */
#include "export/commands.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/correlate.h"
#include "analyze/model.h"
#include "analyze/unexecuted.h"
#include "base/array.h"

#define EARLY_COUNT 4096

struct waiting {
	struct event_launch row;
	uint64_t number;
	uint32_t process;
};

struct commands {
	const struct model *model;
	const struct commands_visitor *visitor;
	void *context;
	struct correlate correlate;
	struct unexecuted unexecuted;
	struct analysis_ledger lost; /* of its sums, what was lost */
	struct waiting *waiting;     /* by place of the correlation */
	size_t waiting_capacity;
	struct event_execution *early; /* EARLY_COUNT of them; correlation 0: none */
	struct pair_map early_places;  /* (process, correlation) -> index */
	size_t early_next;
	uint64_t launches;
};

const char *commands_state_name(enum command_state state)
{
	static const char *const names[STATE_COUNT] = {"matched", "rejected", "in_flight",
						       "not_executed", "no_launch"};

	return array_text(names, ARRAY_COUNT(names), state, "unknown");
}

bool command_has_span(const struct command *command)
{
	const struct event_execution *row = command->execution;

	return row && (row->valid & EXECUTION_STARTED) && (row->valid & EXECUTION_ENDED) &&
	       !(row->valid & ORDER_UNPLACED) && row->started <= row->ended;
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
	const struct event_queue *queue = model_thing(model, EVENT_QUEUE, row->queue);
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

/* row NULL: it has no execution, and `otherwise` is its state. */
static int give(struct commands *commands, const struct waiting *waiting,
		const struct event_execution *row, enum command_state otherwise)
{
	struct command command = {.launch = waiting ? &waiting->row : NULL,
				  .execution = row,
				  .launch_number = waiting ? waiting->number : 0,
				  .process = row ? row->process : waiting->process,
				  .queue = row && row->queue ? row->queue
							     : (waiting ? waiting->row.queue : 0),
				  .state = STATE_MATCHED};

	if (!waiting)
		command.state = STATE_NO_LAUNCH;
	else if (!row)
		command.state = otherwise;
	else if (row->status < 0 || (row->valid & ORDER_IMPOSSIBLE))
		command.state = STATE_REJECTED;
	return commands->visitor->on_command(commands->context, &command);
}

/* ---- executions that come first ---------------------------------------------------------------- */

/* The one that makes room had its chance: its launch is not in the trace. */
static int keep_early(struct commands *commands, const struct event_execution *row)
{
	uint32_t place = (uint32_t)(commands->early_next++ % EARLY_COUNT), other;
	struct event_execution *kept = &commands->early[place];
	int error = 0;

	if (kept->correlation) {
		pair_map_remove(&commands->early_places, kept->process, kept->correlation);
		error = give(commands, NULL, kept, STATE_NO_LAUNCH);
	}
	other = pair_map_find(&commands->early_places, row->process, row->correlation);
	if (!error && other != PAIR_MAP_NONE) {
		error = give(commands, NULL, &commands->early[other], STATE_NO_LAUNCH);
		commands->early[other].correlation = 0;
	}
	*kept = *row;
	if (!error)
		error = pair_map_put(&commands->early_places, row->process, row->correlation,
				     place);
	return error;
}

static int give_early(struct commands *commands)
{
	int error = 0;

	for (size_t i = 0; i < EARLY_COUNT && !error && commands->early_next; i++) {
		size_t place = (commands->early_next + i) % EARLY_COUNT;

		if (commands->early[place].correlation)
			error = give(commands, NULL, &commands->early[place], STATE_NO_LAUNCH);
	}
	return error;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static int match(struct commands *commands, uint32_t place, const struct event_execution *row)
{
	int error = give(commands, &commands->waiting[place], row, STATE_MATCHED);

	return error ? error : correlate_done(&commands->correlate, place, 0);
}

static int on_execution(struct commands *commands, const struct event_execution *row)
{
	uint32_t place = correlate_find(&commands->correlate, row->process, row->correlation);

	if (place != CORRELATE_NONE) {
		const struct waiting *waiting = &commands->waiting[place];

		unexecuted_add_execution(&commands->unexecuted, row, waiting->row.queue,
					 waiting->process, &commands->correlate.commands[place]);
		return match(commands, place, row);
	}
	if (commands->visitor->in_order || !row->correlation)
		return give(commands, NULL, row, STATE_NO_LAUNCH);
	return keep_early(commands, row);
}

static int wait_for(struct commands *commands, const struct event_launch *row, uint32_t process,
		    uint32_t *ret_place)
{
	struct event_launch launch = *row;
	int error;

	launch.handle = 0; /* nobody asks who waits for whom */
	error = correlate_launch(&commands->correlate, process, &launch, ret_place);
	if (!error &&
	    array_grow(commands->waiting, commands->waiting_capacity, (size_t)*ret_place + 1))
		error = -ENOMEM;
	if (error)
		return error;
	commands->waiting[*ret_place] = (struct waiting){*row, commands->launches, process};
	commands->correlate.commands[*ret_place].passes_ns =
		unexecuted_add_launch(&commands->unexecuted, row->queue, row->enter);
	return 0;
}

static int on_launch(struct commands *commands, const struct event_launch *row)
{
	uint32_t process = model_process_of(commands->model, row->thread), place, early;
	int error = 0;

	commands->launches++;
	if (commands->visitor->on_launch)
		error = commands->visitor->on_launch(commands->context, row, commands->launches);
	if (error || row->result)
		return error;
	place = correlate_find(&commands->correlate, process, row->correlation);
	if (place != CORRELATE_NONE) /* the id is used again */
		error = give(commands, &commands->waiting[place], NULL, STATE_IN_FLIGHT);
	if (!error)
		error = wait_for(commands, row, process, &place);
	if (error)
		return error;
	early = pair_map_remove(&commands->early_places, process, row->correlation);
	if (early == PAIR_MAP_NONE)
		return 0;
	error = match(commands, place, &commands->early[early]);
	commands->early[early].correlation = 0;
	return error;
}

static int on_api(struct commands *commands, const struct order_item *item)
{
	unexecuted_add_call(&commands->unexecuted, item->row);
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

/* ---- the end ----------------------------------------------------------------------------------- */

static int compare_numbers(const void *left, const void *right, void *context)
{
	const struct waiting *waiting = context;
	uint64_t a = waiting[*(const uint32_t *)left].number;
	uint64_t b = waiting[*(const uint32_t *)right].number;

	return (a > b) - (a < b);
}

static void count_lost(struct commands *commands, const struct order *order)
{
	const struct event_loss *losses;
	const size_t count = trace_reader_losses(commands->model->reader, &losses);
	const uint64_t damaged = order_damaged_rows(order, EVENT_EXECUTION);

	for (size_t i = 0; i < count; i++)
		ledger_add_lost(&commands->lost, losses[i].kind, losses[i].count);
	if (damaged)
		ledger_add_lost(&commands->lost, EVENT_EXECUTION, damaged);
}

static bool is_passed(const struct commands *commands, uint32_t place)
{
	const struct waiting *waiting = &commands->waiting[place];

	return unexecuted_is_passed(&commands->unexecuted, waiting->row.queue, waiting->process,
				    waiting->row.enter, waiting->row.exit);
}

static bool knows_unexecuted(const struct commands *commands, const uint32_t *places, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_passed(commands, places[i]))
			return unexecuted_is_certain(commands->model, &commands->lost);
	return false;
}

static int give_open(struct commands *commands)
{
	const struct correlate *correlate = &commands->correlate;
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
	is_certain = knows_unexecuted(commands, places, count);
	for (size_t i = 0; i < count && !error; i++)
		error = give(commands, &commands->waiting[places[i]], NULL,
			     is_certain && is_passed(commands, places[i]) ? STATE_NOT_EXECUTED
									  : STATE_IN_FLIGHT);
	free(places);
	return error;
}

static void commands_fini(struct commands *commands)
{
	correlate_fini(&commands->correlate);
	unexecuted_fini(&commands->unexecuted);
	pair_map_fini(&commands->early_places);
	free(commands->waiting);
	free(commands->early);
}

int commands_each(const struct model *model, const struct commands_visitor *visitor, void *context)
{
	struct order_options options = {
		.kinds = 1u << EVENT_API | 1u << EVENT_LAUNCH | 1u << EVENT_EXECUTION |
			 visitor->more_kinds,
		.execution_delay_ns = visitor->delay_ns ? visitor->delay_ns
							: clocks_device_error_ns(model->clocks)};
	struct commands commands = {.model = model,
				    .visitor = visitor,
				    .context = context,
				    .early = calloc(EARLY_COUNT, sizeof(*commands.early))};
	struct order *order = NULL;
	int error = commands.early ? model_order(model, &options, &order) : -ENOMEM;

	correlate_init(&commands.correlate);
	pair_map_init(&commands.early_places);
	if (!error)
		error = unexecuted_init(&commands.unexecuted, model);
	if (!error)
		error = run(&commands, order);
	if (!error)
		count_lost(&commands, order);
	if (!error)
		error = give_early(&commands);
	if (!error)
		error = give_open(&commands);
	order_free(order);
	commands_fini(&commands);
	return error;
}
