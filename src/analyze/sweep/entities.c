/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep/entities.c - makes the lists that an analysis fills
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     the entities of a trace
 * Gives:    a row for each device, queue, context, process and thread
 * Owns:     nothing; the lists belong to the analysis
 * Fails:    -ENOMEM
 * Why one row more than entities: a loss or damage can remove the description of a device on which
 *           commands ran. These commands are then shown on an unknown device instead of being left
 *           out.
 */
#include "analyze/sweep/sweep.h"

#include <errno.h>
#include <stdlib.h>

static void set_slowest(const struct analysis *analysis, struct account_steady *slowest)
{
	const struct iterations *iterations = &analysis->iterations;

	if (iterations->slowest == SIZE_MAX)
		return;
	slowest->from = iterations->list[iterations->slowest].begin;
	slowest->to = iterations->list[iterations->slowest].end;
}

static int make_devices(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	size_t count = sweep->entities.devices.count;

	analysis->devices = calloc(count + 1, sizeof(*analysis->devices));
	sweep->per_thread.kept = calloc(count + 7, sizeof(*sweep->per_thread.kept));
	sweep->lasts = calloc(count + 1, sizeof(*sweep->lasts));
	if (!analysis->devices || !sweep->per_thread.kept || !sweep->lasts)
		return -ENOMEM;
	analysis->devices_count = count;
	for (size_t i = 0; i <= count; i++) {
		struct analysis_device *device = &analysis->devices[i];
		const struct event_device *row = entity_index_row(&sweep->entities.devices, i);

		device->device = row;
		device->name =
			model_text(analysis->model, row ? row->name_string : 0, "[unknown device]");
		device->key = model_text(analysis->model, row ? row->key_string : 0, "");
		device->vendor = model_text(analysis->model, row ? row->vendor_string : 0, "");
		overlap_init(&device->overlap, analysis->from_ns, analysis->to_ns);
		account_init(&device->account, analysis->from_ns, analysis->to_ns, true);
		iterations_steady(&analysis->iterations, &device->account.steady.from,
				  &device->account.steady.to);
		set_slowest(analysis, &device->account.slowest);
		device->account.untimed =
			sweep->untimed.uses_intervals ? &sweep->untimed.intervals[i] : NULL;
		device->account.on_share = sweep_on_share;
		device->account.on_idle = sweep_on_idle;
		device->account.on_thread = sweep_on_thread;
		device->account.on_calls = sweep_on_piece;
		device->account.context = sweep;
	}
	return 0;
}

static int make_queues(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	size_t count = sweep->entities.queues.count;

	analysis->queues = calloc(count + 1, sizeof(*analysis->queues));
	sweep->untimed.lists = calloc(count + 1, sizeof(*sweep->untimed.lists));
	if (!analysis->queues || !sweep->untimed.lists)
		return -ENOMEM;
	analysis->queues_count = count;
	for (size_t i = 0; i <= count; i++) {
		struct analysis_queue *queue = &analysis->queues[i];
		const struct event_queue *row = entity_index_row(&sweep->entities.queues, i);

		sweep->untimed.lists[i] = (struct queue_list){CORRELATE_NONE, CORRELATE_NONE};
		queue->queue = row;
		queue->is_chosen = !row || model_has_process(analysis->model, row->process);
		queue->device = entity_index_find(&sweep->entities.devices, row ? row->device : 0);
		queue->context =
			entity_index_find(&sweep->entities.contexts, row ? row->context : 0);
		for (unsigned int zone = 0; zone < ZONE_COUNT; zone++)
			quantile_init(&queue->zones[zone]);
		quantile_init(&queue->latency);
		quantile_init(&queue->prompt);
		depth_init(&queue->depth, analysis->from_ns, analysis->to_ns);
		account_init(&queue->account, analysis->from_ns, analysis->to_ns, false);
	}
	return 0;
}

static int make_contexts(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	size_t count = sweep->entities.contexts.count;

	analysis->contexts = calloc(count + 1, sizeof(*analysis->contexts));
	if (!analysis->contexts)
		return -ENOMEM;
	analysis->contexts_count = count;
	for (size_t i = 0; i <= count; i++) {
		struct analysis_context *context = &analysis->contexts[i];

		context->context = entity_index_row(&sweep->entities.contexts, i);
		context->is_chosen = !context->context ||
				     model_has_process(analysis->model, context->context->process);
		account_init(&context->account, analysis->from_ns, analysis->to_ns, false);
	}
	return 0;
}

static int make_processes(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	size_t count = sweep->entities.processes.count;

	analysis->processes = calloc(count + 1, sizeof(*analysis->processes));
	if (!analysis->processes)
		return -ENOMEM;
	analysis->processes_count = count;
	for (size_t i = 0; i <= count; i++) {
		struct analysis_process *process = &analysis->processes[i];

		process->process = entity_index_row(&sweep->entities.processes, i);
		process->name = model_text(analysis->model,
					   process->process ? process->process->name_string : 0,
					   "[unknown process]");
		process->is_chosen = model_has_process(analysis->model,
						       process->process ? process->process->id : 0);
	}
	return 0;
}

static int make_threads(struct sweep *sweep)
{
	size_t count = sweep->entities.threads.count;

	sweep->per_thread.calls = calloc(count + 1, sizeof(*sweep->per_thread.calls));
	sweep->per_thread.states = calloc(count + 1, sizeof(*sweep->per_thread.states));
	sweep->per_thread.times = calloc(count + 1, sizeof(*sweep->per_thread.times));
	sweep->entities.thread_process = calloc(count + 1, sizeof(*sweep->entities.thread_process));
	sweep->analysis->cpu.threads = calloc(count + 1, sizeof(*sweep->analysis->cpu.threads));
	if (!sweep->per_thread.calls || !sweep->per_thread.states || !sweep->per_thread.times ||
	    !sweep->entities.thread_process || !sweep->analysis->cpu.threads)
		return -ENOMEM;
	sweep->analysis->cpu.threads_count = count;
	for (size_t i = 0; i <= count; i++) {
		const struct event_thread *thread = entity_index_row(&sweep->entities.threads, i);
		size_t process =
			entity_index_find(&sweep->entities.processes, thread ? thread->process : 0);

		calls_init(&sweep->per_thread.calls[i]);
		calls_init(&sweep->per_thread.states[i].away);
		calls_init(&sweep->per_thread.states[i].overheads);
		sweep->per_thread.states[i].watched_ns = sweep->per_thread.states[i].since_ns =
			UINT64_MAX;
		sweep->per_thread.times[i].first_ns = sweep->per_thread.times[i].away_since_ns =
			UINT64_MAX;
		sweep->entities.thread_process[i] = (uint32_t)process;
		sweep->analysis->cpu.threads[i] = (struct analysis_thread){
			.thread = thread,
			.name = model_text(sweep->analysis->model, thread ? thread->name_string : 0,
					   "thread"),
			.process = process};
	}
	return 0;
}

static void count_code(struct sweep *sweep)
{
	struct analysis_code *code = &sweep->analysis->code;

	for (size_t i = 0; i < sweep->entities.codes.count; i++) {
		const struct event_code *row = entity_index_row(&sweep->entities.codes, i);

		code->sources += row->type == CODE_SOURCE;
		code->binaries += row->type == CODE_BINARY;
		code->il += row->type == CODE_IL;
		code->build_logs += row->type == CODE_BUILD_LOG;
		code->kernels += row->type == CODE_KERNEL;
	}
}

int sweep_make_tables(struct sweep *sweep)
{
	const struct trace_reader *reader = sweep->analysis->model->reader;
	int error;

	entity_index_init(&sweep->entities.devices, reader, EVENT_DEVICE);
	entity_index_init(&sweep->entities.queues, reader, EVENT_QUEUE);
	entity_index_init(&sweep->entities.contexts, reader, EVENT_CONTEXT);
	entity_index_init(&sweep->entities.processes, reader, EVENT_PROCESS);
	entity_index_init(&sweep->entities.threads, reader, EVENT_THREAD);
	entity_index_init(&sweep->entities.codes, reader, EVENT_CODE);
	count_code(sweep);
	error = make_devices(sweep);
	if (!error)
		error = make_queues(sweep);
	if (!error)
		error = make_contexts(sweep);
	if (!error)
		error = make_processes(sweep);
	if (!error)
		error = make_threads(sweep);
	if (!error)
		error = sweep_make_ranks(sweep);
	if (!error)
		error = sweep_make_metrics(sweep);
	return error ? error : sweep_make_ranges(sweep);
}

void sweep_entities_fini(struct sweep *sweep)
{
	struct sweep_per_thread *per_thread = &sweep->per_thread;

	for (size_t i = 0; per_thread->calls && i <= sweep->entities.threads.count; i++)
		calls_fini(&per_thread->calls[i]);
	free(per_thread->calls);
	free(per_thread->times);
	free(per_thread->kept);
	free(sweep->entities.thread_process);
	sweep_ranks_fini(&sweep->ranks_of_job);
	free(sweep->untimed.lists);
	free(sweep->untimed.left_out);
	sweep_unplaced_fini(&sweep->untimed.unplaced);
	free(sweep->lasts);
}
