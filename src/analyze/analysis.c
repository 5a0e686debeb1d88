/* SPDX-License-Identifier: MIT
 *
 * analyze/analysis.c - the analysis of a trace: runs the sweep and collects its results
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     an open trace and a window
 * Gives:    the account, the ledger and the tables of a report
 * Owns:     its tables; during the sweep, commands that were launched and have not ended
 * Fails:    -ENOMEM and errors of the reader; rows of damaged chunks are counted as lost
 * Why one sweep in time order: the cause of an idle gap follows from what the launching thread did
 *           before the gap and from the command after the gap. A sweep in time order has both at
 *           hand. Memory grows with kernels, functions, queues and open commands, not with rows: a
 *           trace of 10^7 rows takes as much memory as one of 10^5.
 */
#include "analyze/analysis.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sweep/sweep.h"
#include "base/array.h"
#include "base/number.h"

/* Rows of a file that is still written are read this far beyond the window: commands without device
 * times, whose rows come when their end was seen, and waits that end after it. */
#define PAST_WINDOW_NS   UINT64_C(50000000)
#define PAST_WINDOW_ROWS 64 /* its end is looked for after each 64 rows */

static int scout_item(struct sweep *sweep, const struct order_item *item)
{
	switch (item->kind) {
	case EVENT_API:
		unexecuted_add_call(&sweep->join.unexecuted, item->row);
		return sweep_note_finished(sweep, item->row);
	case EVENT_LAUNCH:
		return sweep_scout_launch(sweep, item->row);
	case EVENT_EXECUTION:
		return sweep_scout_execution(sweep, item->row);
	default:
		return 0;
	}
}

static bool is_chosen(const struct sweep *sweep, const struct event_cpu_sample *row)
{
	size_t thread = entity_index_find(&sweep->entities.threads, row->thread);

	return sweep->analysis->processes[sweep->entities.thread_process[thread]].is_chosen;
}

static int on_sample(struct sweep *sweep, const struct event_cpu_sample *row)
{
	bool is_counted = is_chosen(sweep, row);
	int error = is_counted ? sweep_count_sample(sweep, row) : 0;

	sweep->trace.has_states = true;
	if (!error && is_counted)
		error = sweep_sample_in_ranges(sweep, row);
	if (!error)
		error = sweep_thread_sampled(sweep, row);
	return error ? error : sweep_take_sample(sweep, row);
}

static int on_switch(struct sweep *sweep, const struct event_switch *row)
{
	int error = sweep_thread_switched(sweep, row);

	sweep->trace.has_states = true;
	return error ? error : sweep_take_switch(sweep, row);
}

/* A sample with only an address goes to sample/addresses.c, one with code and a window to
 * sample/windows.c, any other to sample/runners.c. Samples come after the executions that they may
 * belong to. */
static int on_instruction(struct sweep *sweep, const struct event_instruction_sample *row)
{
	bool is_estimated;
	uint32_t path;

	note_time(sweep, row->begin);
	if (sweep_add_sampled(sweep, row))
		return -ENOMEM;
	if (row->device)
		sweep->analysis->devices[entity_index_find(&sweep->entities.devices, row->device)]
			.is_counted = true;
	if (sweep_is_address(row))
		return sweep_take_address(sweep, row);
	if (sweep_is_window(row))
		return sweep_take_window(sweep, row);
	path = sweep_find_runner(sweep, row, &is_estimated);
	return sweep_give_instruction(sweep, row, path, is_estimated);
}

static int on_range(struct sweep *sweep, const struct event_range *row)
{
	int error = sweep_take_range(sweep, row);

	if (!error)
		error = sweep_note_range(sweep, row);
	if (!error)
		error = sweep_take_profiler(sweep, row);
	return error ? error : sweep_take_overhead(sweep, row);
}

static int on_item(struct sweep *sweep, const struct order_item *item)
{
	int error;

	if (sweep->is_scouting)
		return scout_item(sweep, item);
	if (item->kind != EVENT_EXECUTION && item->kind != EVENT_INSTRUCTION_SAMPLE)
		note_time(sweep, item->time_ns);
	sweep_release_sampled(sweep, item->time_ns);
	error = sweep_release_addresses(sweep, item->time_ns);
	if (!error)
		error = sweep_release_windows(sweep, item->time_ns);
	if (error)
		return error;
	switch (item->kind) {
	case EVENT_API:
		return sweep_take_call(sweep, item->row);
	case EVENT_LAUNCH:
		return sweep_take_launch(sweep, item->row);
	case EVENT_DEPENDENCY:
		return correlate_dependency(&sweep->join.correlate, item->row);
	case EVENT_EXECUTION:
		return sweep_take_execution(sweep, item->row);
	case EVENT_CPU_SAMPLE:
		return on_sample(sweep, item->row);
	case EVENT_SWITCH:
		return on_switch(sweep, item->row);
	case EVENT_INSTRUCTION_SAMPLE:
		return on_instruction(sweep, item->row);
	case EVENT_RANGE:
		return on_range(sweep, item->row);
	case EVENT_COUNTER:
		return sweep_count_in_ranges(sweep, item->row);
	default:
		return 0;
	}
}

static bool is_part(const struct order_item *item)
{
	const struct event_launch *launch = item->row;

	return item->kind == EVENT_LAUNCH && (launch->flags & LAUNCH_PART);
}

/* Whether a command was launched before the end of the window and its end is not known. */
static bool has_open_command(const struct sweep *sweep)
{
	const struct correlate *correlate = &sweep->join.correlate;

	for (size_t i = 0; i < correlate->count; i++)
		if (correlate->commands[i].state == OPEN_LAUNCHED &&
		    correlate->commands[i].enter < sweep->analysis->to_ns)
			return true;
	return false;
}

/* Whether later rows change nothing in the window of a file that is still written. An idle gap
 * belongs to the next command, so that each device must have had one after the window. */
static bool is_past_window(const struct sweep *sweep, const struct order_item *item)
{
	const struct analysis *analysis = sweep->analysis;

	if (!sweep->options->arrived_ns || analysis->checks.rows % PAST_WINDOW_ROWS ||
	    item->time_ns <= add_saturated(analysis->to_ns, sweep->delay_ns + PAST_WINDOW_NS))
		return false;
	for (size_t i = 0; i < analysis->devices_count; i++)
		if (analysis->devices[i].account.last_end <= analysis->to_ns)
			return false;
	return !has_open_command(sweep);
}

static int run(struct sweep *sweep)
{
	struct order_item item;
	int status;

	while ((status = order_next(sweep->order, &item)) > 0) {
		int error;

		if (is_past_window(sweep, &item))
			return 0;
		sweep->launches += item.kind == EVENT_LAUNCH && !is_part(&item);
		error = on_item(sweep, &item);
		if (!error && !is_part(&item))
			error = sweep_observe_row(sweep, &item);
		if (error)
			return error;
		sweep->analysis->checks.rows++;
	}
	return status;
}

static int add_loss(struct sweep *sweep, const struct event_loss *row)
{
	const uint32_t kind = row->kind, reason = row->reason;
	const uint64_t count = row->count;
	struct analysis *analysis = sweep->analysis;
	size_t i;

	if (reason == LOSS_LIMIT)
		ledger_add_left_out(&analysis->ledger, kind, count);
	else
		ledger_add_lost(&analysis->ledger, kind, count);
	for (i = 0; i < analysis->losses_count; i++) {
		if (analysis->losses[i].kind == kind && analysis->losses[i].reason == reason)
			break;
	}
	if (i == analysis->losses_count) {
		if (array_grow(analysis->losses, sweep->tables.losses_capacity, i + 1))
			return -ENOMEM;
		analysis->losses_count++;
		analysis->losses[i] = (struct analysis_loss){.kind = kind, .reason = reason};
	}
	analysis->losses[i].count += count;
	analysis->losses[i].uncounted += count == LOSS_COUNT_UNKNOWN;
	analysis->losses[i].is_unbounded |= !sweep_is_bounded_loss(row);
	return 0;
}

/* Losses that the recorder reported. */
static int count_losses(struct sweep *sweep)
{
	const struct event_loss *losses = NULL;
	size_t count = trace_reader_losses(sweep->analysis->model->reader, &losses);

	for (size_t i = 0; i < count; i++) {
		if (losses[i].process &&
		    !model_has_process(sweep->analysis->model, losses[i].process))
			continue;
		if (add_loss(sweep, &losses[i]))
			return -ENOMEM;
	}
	return 0;
}

/* Rows of chunks that the sweep found damaged. */
static int count_damaged(struct sweep *sweep)
{
	static const enum event_kind kinds[] = {
		EVENT_API,        EVENT_LAUNCH, EVENT_DEPENDENCY,         EVENT_EXECUTION,
		EVENT_CPU_SAMPLE, EVENT_SWITCH, EVENT_INSTRUCTION_SAMPLE, EVENT_COUNTER,
		EVENT_RANGE};

	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		const struct event_loss row = {.kind = kinds[i],
					       .count = order_damaged_rows(sweep->order, kinds[i])};

		if (row.count && add_loss(sweep, &row))
			return -ENOMEM;
	}
	return 0;
}

/* A device has no account, and all its time is unknown, in two cases: it got commands but none has
 * device times, or the trace has only its counters or instruction samples. If the file ends early,
 * the time after the last command is unknown too, because later commands may be lost. */
static int close_device(struct analysis_device *device, uint64_t to_ns, bool ends_early)
{
	bool got_commands = device->all_launches || device->all_executions;
	/* Counters and samples cover all users of a device. Without a queue in the trace they do
	 * not prove that it was idle. */
	bool is_watched = device->has_queue || !device->is_counted;

	device->is_measured = device->account.commands || (!got_commands && is_watched);
	if (!device->is_measured || ends_early)
		account_in_flight(&device->account, 0);
	return account_finish(&device->account, to_ns);
}

static void find_counted(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	const struct event_series *series;
	size_t count = model_entities(analysis->model, EVENT_SERIES, &series);

	for (size_t i = 0; i < count; i++)
		if (series[i].device)
			analysis->devices[entity_index_find(&sweep->entities.devices,
							    series[i].device)]
				.is_counted = true;
	for (size_t i = 0; i < analysis->queues_count; i++)
		analysis->devices[analysis->queues[i].device].has_queue = true;
}

static int close_accounts(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	uint64_t to = analysis->to_ns;
	bool ends_early = !sweep->options->arrived_ns && analysis_ends_early(analysis);

	find_counted(sweep);
	for (size_t i = 0; i <= analysis->devices_count; i++) {
		int error = close_device(&analysis->devices[i], to, ends_early);

		if (error)
			return error;
		analysis->checks.inexact += !account_is_exact(&analysis->devices[i].account);
	}
	for (size_t i = 0; i <= analysis->queues_count; i++) {
		account_finish(&analysis->queues[i].account, to);
		analysis->checks.inexact += !account_is_exact(&analysis->queues[i].account);
	}
	for (size_t i = 0; i <= analysis->contexts_count; i++) {
		account_finish(&analysis->contexts[i].account, to);
		analysis->checks.inexact += !account_is_exact(&analysis->contexts[i].account);
	}
	analysis->checks.is_exact = !analysis->checks.inexact;
	analysis->ledger.contradictions += analysis->checks.inexact;
	return 0;
}

static void close_window(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;

	if (analysis->end_ns == UINT64_MAX)
		analysis->end_ns =
			sweep->last_ns > analysis->begin_ns ? sweep->last_ns : analysis->begin_ns;
	if (analysis->to_ns > analysis->end_ns)
		analysis->to_ns = analysis->end_ns;
	analysis->from_ns = smaller(analysis->from_ns, analysis->end_ns);
	if (analysis->to_ns < analysis->from_ns)
		analysis->to_ns = analysis->from_ns;
}

static void find_slowest(struct analysis *analysis)
{
	struct iterations *iterations = &analysis->iterations;
	uint64_t longest_ns = 0;

	iterations->slowest = SIZE_MAX;
	for (size_t i = 0; i < iterations->count; i++) {
		const struct iteration *row = &iterations->list[i];

		if (!analysis_shows(analysis, row->begin, row->end) ||
		    (iterations->slowest != SIZE_MAX && row->end - row->begin <= longest_ns))
			continue;
		longest_ns = row->end - row->begin;
		iterations->slowest = i;
	}
}

static void find_window(struct sweep *sweep, const struct analysis_options *options)
{
	struct analysis *analysis = sweep->analysis;

	if (!model_entities(analysis->model, EVENT_HOST, &analysis->host))
		analysis->host = NULL;
	model_window(analysis->model, sweep->order, &analysis->begin_ns, &analysis->end_ns);
	analysis->dropped_before_ns = model_dropped_ns(analysis->model);
	if (options->arrived_ns)
		analysis->end_ns = larger(analysis->begin_ns, options->arrived_ns);
	analysis->from_ns = analysis->begin_ns;
	analysis->to_ns = analysis->end_ns;
	analysis->has_window = options->has_from || options->has_to;
	if (options->has_from)
		analysis->from_ns = smaller(add_saturated(analysis->begin_ns, options->from_ns),
					    analysis->end_ns);
	if (options->has_to)
		analysis->to_ns = smaller(add_saturated(analysis->begin_ns, options->to_ns),
					  analysis->end_ns);
	find_slowest(analysis);
}

/* Whether the trace has every call of every thread: no loss of calls, no damage. Calls that were
 * left out on purpose lie in known intervals, for which sweep_make_untimed gives no cause. */
static bool knows_calls(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->losses_count; i++)
		if ((analysis->losses[i].kind == EVENT_API ||
		     analysis->losses[i].kind == EVENT_LAUNCH) &&
		    analysis->losses[i].reason != LOSS_LIMIT)
			return false;
	return model_is_whole(analysis->model, &analysis->damage);
}

static void forget_host(struct analysis *analysis)
{
	for (size_t i = 0; i <= analysis->devices_count; i++)
		account_forget_host(analysis->devices[i].account.causes);
	for (size_t i = 0; i < analysis->paths_count; i++)
		account_forget_host(analysis->paths[i].causes);
}

/* Whether switches may be lost at any time. A loss of this kind can stand for other rows too,
 * because the BPF programs count the rows that did not fit into their ring together. */
static bool has_lost_switches(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->losses_count; i++)
		if (analysis->losses[i].kind == EVENT_SWITCH &&
		    analysis->losses[i].reason != LOSS_UNSEEN && analysis->losses[i].is_unbounded)
			return true;
	return false;
}

static void forget_switches(struct analysis *analysis)
{
	for (size_t i = 0; i <= analysis->devices_count; i++)
		account_forget_switches(analysis->devices[i].account.causes);
	for (size_t i = 0; i < analysis->paths_count; i++)
		account_forget_switches(analysis->paths[i].causes);
	analysis->cpu.gils_count = 0;
}

/* A file that is still written has no end yet, but its rows have arrived. */
static void read_damage(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;

	trace_reader_damage(analysis->model->reader, &analysis->damage);
	if (sweep->options->arrived_ns)
		analysis->damage.truncated = false;
}

/* Which thread states are unknown because of the losses and damage found so far. */
static struct sweep_lost find_lost(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	struct sweep_lost lost = {.is_told = true};

	read_damage(sweep);
	lost.host = !knows_calls(analysis);
	lost.switches = lost.host || has_lost_switches(analysis);
	return lost;
}

static void forget_lost(struct sweep *sweep)
{
	struct sweep_lost lost = find_lost(sweep);

	if (lost.switches)
		forget_switches(sweep->analysis);
	if (lost.host)
		forget_host(sweep->analysis);
	lost.is_told = lost.host == sweep->lost->host && lost.switches == sweep->lost->switches;
	*sweep->lost = lost;
}

static int finish(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	struct model_part part;
	int error;

	error = count_damaged(sweep);
	if (!error)
		error = sweep_find_unexecuted(sweep);
	if (error)
		return error;
	if (sweep->is_scouting)
		return sweep_note_all_in_flight(sweep);
	error = sweep_release_addresses(sweep, UINT64_MAX);
	if (!error)
		error = sweep_release_windows(sweep, UINT64_MAX);
	if (error)
		return error;
	close_window(sweep);
	read_damage(sweep);
	sweep_close_contradictions(sweep, model_is_whole(analysis->model, &analysis->damage));
	ledger_close(&analysis->ledger,
		     analysis->ledger.passed &&
			     unexecuted_is_certain(analysis->model, &analysis->ledger));
	if (model_find_part(analysis->model, &part))
		ledger_close_part(&analysis->ledger);
	error = sweep_note_all_in_flight(sweep);
	if (error)
		return error;
	read_damage(sweep);
	error = close_accounts(sweep);
	if (error)
		return error;
	sweep_close_queues(sweep);
	error = sweep_close_samples(sweep);
	if (error)
		return error;
	analysis->cpu.knows_switches = sweep->trace.has_switches && !has_lost_switches(analysis);
	analysis->cpu.has_switch_losses = sweep->switch_losses.count;
	forget_lost(sweep);
	error = sweep_close_paths(sweep);
	if (!error)
		error = sweep_close_states(sweep);
	if (!error)
		error = sweep_close_threads(sweep);
	if (!error)
		error = sweep_close_metrics(sweep);
	if (error)
		return error;
	sweep_close_ranges(sweep->analysis);
	sweep_close_idle(sweep);
	error = sweep_sort_tables(analysis);
	if (error)
		return error;
	/* freed first: the sort holds the rows twice for a moment */
	sweep_addresses_fini(sweep);
	error = sweep_sort_instructions(analysis);
	/* Without CPU rows and counters, a process is in the trace only because it made API
	 * calls. */
	for (size_t i = 0; i < analysis->processes_count; i++) {
		analysis->processes[i].has_calls |=
			!sweep->trace.has_states && !model_has(analysis->model, EVENT_COUNTER);
		analysis->processes[i].has_calls &= analysis->processes[i].is_chosen;
		analysis->processes_called += analysis->processes[i].has_calls;
	}
	analysis->checks.peak_rows = order_peak_rows(sweep->order);
	analysis->checks.peak_commands = sweep->join.correlate.count;
	return error;
}

static void sweep_fini(struct sweep *sweep)
{
	sweep_states_fini(sweep);
	sweep_switch_losses_fini(&sweep->switch_losses);
	sweep_samples_fini(&sweep->samples);
	sweep_instructions_fini(&sweep->instructions);
	sweep_addresses_fini(sweep);
	sweep_windows_fini(sweep);
	sweep_contradictions_fini(sweep);
	sweep_ranges_fini(sweep);
	sweep_metrics_fini(&sweep->ranges.metrics);
	sweep_tables_fini(&sweep->tables);
	sweep_paths_fini(&sweep->paths);
	sweep_entities_fini(sweep);
	join_fini(&sweep->join);
	order_free(sweep->order);
}

static void clear_device(struct analysis_device *device)
{
	account_fini(&device->account);
	overlap_fini(&device->overlap);
}

static void clear_queue(struct analysis_queue *queue)
{
	account_fini(&queue->account);
	for (unsigned int zone = 0; zone < ZONE_COUNT; zone++)
		quantile_fini(&queue->zones[zone]);
	quantile_fini(&queue->latency);
	quantile_fini(&queue->prompt);
	depth_fini(&queue->depth);
}

static void clear_kernels(struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->kernels_count; i++)
		quantile_fini(&analysis->kernels[i].durations);
	free(analysis->kernels);
}

static void clear(struct analysis *analysis)
{
	for (size_t i = 0; analysis->devices && i <= analysis->devices_count; i++)
		clear_device(&analysis->devices[i]);
	for (size_t i = 0; analysis->contexts && i <= analysis->contexts_count; i++)
		account_fini(&analysis->contexts[i].account);
	for (size_t i = 0; analysis->queues && i <= analysis->queues_count; i++)
		clear_queue(&analysis->queues[i]);
	free(analysis->devices);
	free(analysis->queues);
	free(analysis->contexts);
	free(analysis->processes);
	clear_kernels(analysis);
	free(analysis->copies);
	free(analysis->program.calls);
	free(analysis->losses);
	free(analysis->launches);
	free(analysis->program.failures);
	free(analysis->program.dependencies);
	free(analysis->program.waited);
	free(analysis->program.waits);
	free(analysis->samples);
	free(analysis->cpu.threads);
	free(analysis->cpu.aways);
	free(analysis->cpu.states);
	free(analysis->cpu.wakers);
	free(analysis->cpu.gils);
	free(analysis->cpu.holdings);
	free(analysis->paths);
	free(analysis->instructions);
	free(analysis->program.ranges);
	free(analysis->program.range_metrics);
}

/* Results of the first sweep that the second sweep over the same trace needs from its first row
 * on. */
struct sweep_findings {
	struct untimed_intervals *intervals; /* owned; by device index */
	struct sweep_skipped skipped;        /* owned */
	struct sweep_lost lost;
	bool is_used; /* a first sweep is complete */
};

static int sweep_once(struct analysis *analysis, const struct analysis_options *options,
		      struct sweep_findings *findings)
{
	struct order_options order = {.kinds = ANALYSIS_ORDER_KINDS};
	struct sweep sweep = {.analysis = analysis,
			      .options = options,
			      .untimed = {.intervals = findings->intervals,
					  .uses_intervals = findings->is_used,
					  .skipped = &findings->skipped},
			      .lost = &findings->lost,
			      .samples.stacks_dense =
				      2 * trace_reader_stack_count(analysis->model->reader) + 64};
	int error;

	sweep.trace.has_instructions = model_has(analysis->model, EVENT_INSTRUCTION_SAMPLE);
	sweep.trace.has_launches = model_has(analysis->model, EVENT_LAUNCH);
	order.parts = sweep.trace.has_instructions;
	sweep.trace.has_switches = model_has(analysis->model, EVENT_SWITCH);
	analysis->clock_error_ns = clocks_device_error_ns(analysis->model->clocks);
	sweep.delay_ns = order.execution_delay_ns = analysis->clock_error_ns;
	error = model_order(analysis->model, &order, &sweep.order);
	if (!error) {
		find_window(&sweep, options);
		error = sweep_make_tables(&sweep);
	}
	if (!error)
		error = join_init(&sweep.join, analysis->model);
	if (!error)
		error = sweep_make_addresses(&sweep);
	if (!error)
		error = sweep_make_windows(&sweep);
	if (!error)
		error = sweep_make_contradictions(&sweep);
	if (!error)
		error = sweep_make_untimed(&sweep);
	if (!error)
		error = count_losses(&sweep);
	if (!error)
		error = sweep_make_switch_losses(&sweep);
	if (!error && findings->lost.is_told)
		findings->lost = find_lost(&sweep);
	if (!error)
		sweep_mark_launchers(&sweep);
	if (!error)
		error = sweep_observe_begin(&sweep);
	if (!error)
		error = run(&sweep);
	if (!error)
		error = finish(&sweep);
	sweep_fini(&sweep);
	return error;
}

/* Whether the first sweep found untimed commands or launches that did not execute. Its accounts
 * were made without knowing them. */
static bool needs_findings(const struct analysis *analysis, struct sweep_findings *findings)
{
	bool needs = findings->skipped.count;

	for (size_t i = 0; i <= analysis->devices_count; i++) {
		untimed_intervals_close(&findings->intervals[i]);
		needs |= analysis->devices[i].account.commands && findings->intervals[i].count;
	}
	return needs;
}

static bool needs_sweep(const struct analysis *analysis, const struct analysis_options *options,
			struct sweep_findings *findings)
{
	if (!findings->is_used && needs_findings(analysis, findings))
		return true;
	return options->observer && !findings->lost.is_told;
}

/* The sweep explains a gap when the next command starts. It cannot know then whether a command that
 * is still open will have no device times. Few traces have such commands, and those are swept
 * twice. That costs less than holding back every gap until all its open commands have ended. With
 * an observer, a trace is also swept again if damage found during the sweep changes what is known
 * of threads. */
static int analyze(struct analysis *analysis, const struct analysis_options *options)
{
	const struct model *model = analysis->model;
	const void *entities = NULL;
	size_t count = model_entities(model, EVENT_DEVICE, &entities) + 1;
	struct sweep_findings findings = {.intervals = calloc(count, sizeof(*findings.intervals)),
					  .lost = {.is_told = true}};
	int error = findings.intervals ? sweep_once(analysis, options, &findings) : -ENOMEM;

	while (!error && needs_sweep(analysis, options, &findings)) {
		findings.is_used = true;
		clear(analysis);
		*analysis = (struct analysis){.model = model, .iterations = analysis->iterations};
		error = sweep_once(analysis, options, &findings);
	}
	for (size_t i = 0; findings.intervals && i < count; i++)
		untimed_intervals_fini(&findings.intervals[i]);
	free(findings.intervals);
	free(findings.skipped.numbers);
	return error;
}

int analysis_new(const struct model *model, const struct analysis_options *options,
		 struct analysis **ret_analysis)
{
	static const struct analysis_options defaults;
	struct analysis *analysis = calloc(1, sizeof(*analysis));
	int error;

	if (!analysis)
		return -ENOMEM;
	analysis->model = model;
	options = options ? options : &defaults;
	error = options->finds_iterations ? iterations_find(model, true, &analysis->iterations) : 0;
	if (!error)
		error = analyze(analysis, options);
	if (!error && model_has(model, EVENT_COLLECTIVE))
		error = collectives_read(model, analysis->from_ns, analysis->to_ns,
					 &analysis->program.collectives);
	if (error) {
		analysis_free(analysis);
		return error;
	}
	*ret_analysis = analysis;
	return 0;
}

void analysis_free(struct analysis *analysis)
{
	if (!analysis)
		return;
	clear(analysis);
	iterations_fini(&analysis->iterations);
	collectives_fini(&analysis->program.collectives);
	free(analysis);
}

bool analysis_ends_early(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->losses_count; i++)
		if (analysis->losses[i].reason == LOSS_DISK)
			return true;
	return analysis->damage.truncated;
}

const char *analysis_device_label(const struct analysis *analysis, size_t device, char *ret_label,
				  size_t size)
{
	const struct analysis_device *row = &analysis->devices[device];
	bool is_repeated = false;

	for (size_t i = 0; i < analysis->devices_count && !is_repeated; i++)
		is_repeated = i != device && strcmp(analysis->devices[i].name, row->name) == 0;
	if (is_repeated && *row->key)
		snprintf(ret_label, size, "%s %s", row->name, row->key);
	else
		snprintf(ret_label, size, "%s", row->name);
	return ret_label;
}

const char *analysis_device_numbered(const struct analysis *analysis, size_t device,
				     char *ret_label, size_t size)
{
	const size_t length = (size_t)snprintf(ret_label, size, "%zu: ", device);

	if (length < size)
		analysis_device_label(analysis, device, ret_label + length, size - length);
	return ret_label;
}
