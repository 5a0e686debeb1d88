/* SPDX-License-Identifier: MIT
 *
 * analyze/sweep_things.c - the lists that an analysis fills
 *
 * Runs in:  the readers
 * Gets:     the things of a trace   Gives: a row for each device, queue, context, process and thread
 * Owns:     nothing; the lists are the analysis's
 * Fails:    -ENOMEM
 * Why one row more: a loss or damage can take the description of a device that commands ran on, and
 *           what they did is then shown as that of an unknown one instead of left out.
 */
#include "analyze/sweep.h"

#include <errno.h>
#include <stdlib.h>

static int make_devices(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	size_t count = sweep->devices.count;

	analysis->devices = calloc(count + 1, sizeof(*analysis->devices));
	sweep->kept = calloc(count + 3, sizeof(*sweep->kept));
	sweep->lasts = calloc(count + 1, sizeof(*sweep->lasts));
	if (!analysis->devices || !sweep->kept || !sweep->lasts)
		return -ENOMEM;
	analysis->devices_count = count;
	for (size_t i = 0; i <= count; i++) {
		struct analysis_device *device = &analysis->devices[i];
		const struct event_device *row = things_row(&sweep->devices, i);

		device->device = row;
		device->name =
			model_text(analysis->model, row ? row->name_string : 0, "[unknown device]");
		device->key = model_text(analysis->model, row ? row->key_string : 0, "");
		device->vendor = model_text(analysis->model, row ? row->vendor_string : 0, "");
		overlap_init(&device->overlap, analysis->from_ns, analysis->to_ns);
		account_init(&device->account, analysis->from_ns, analysis->to_ns, true);
		device->account.dark = sweep->uses_darks ? &sweep->darks[i] : NULL;
		device->account.on_share = sweep_on_share;
		device->account.on_idle = sweep_on_idle;
		device->account.on_thread = sweep_on_thread;
		device->account.on_calls = sweep_on_calls;
		device->account.context = sweep;
	}
	return 0;
}

static int make_queues(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	size_t count = sweep->queues.count;

	analysis->queues = calloc(count + 1, sizeof(*analysis->queues));
	sweep->lists = calloc(count + 1, sizeof(*sweep->lists));
	if (!analysis->queues || !sweep->lists)
		return -ENOMEM;
	analysis->queues_count = count;
	for (size_t i = 0; i <= count; i++) {
		struct analysis_queue *queue = &analysis->queues[i];
		const struct event_queue *row = things_row(&sweep->queues, i);

		sweep->lists[i] = (struct queue_list){CORRELATE_NONE, CORRELATE_NONE};
		queue->queue = row;
		queue->device = things_index(&sweep->devices, row ? row->device : 0);
		queue->context = things_index(&sweep->contexts, row ? row->context : 0);
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
	size_t count = sweep->contexts.count;

	analysis->contexts = calloc(count + 1, sizeof(*analysis->contexts));
	if (!analysis->contexts)
		return -ENOMEM;
	analysis->contexts_count = count;
	for (size_t i = 0; i <= count; i++) {
		struct analysis_context *context = &analysis->contexts[i];

		context->context = things_row(&sweep->contexts, i);
		account_init(&context->account, analysis->from_ns, analysis->to_ns, false);
	}
	return 0;
}

static int make_processes(struct sweep *sweep)
{
	struct analysis *analysis = sweep->analysis;
	size_t count = sweep->processes.count;

	analysis->processes = calloc(count + 1, sizeof(*analysis->processes));
	if (!analysis->processes)
		return -ENOMEM;
	analysis->processes_count = count;
	for (size_t i = 0; i <= count; i++) {
		struct analysis_process *process = &analysis->processes[i];

		process->process = things_row(&sweep->processes, i);
		process->name = model_text(analysis->model,
					   process->process ? process->process->name_string : 0,
					   "[unknown process]");
	}
	return 0;
}

static int make_threads(struct sweep *sweep)
{
	size_t count = sweep->threads.count;

	sweep->calls = calloc(count + 1, sizeof(*sweep->calls));
	sweep->states = calloc(count + 1, sizeof(*sweep->states));
	sweep->times = calloc(count + 1, sizeof(*sweep->times));
	sweep->thread_process = calloc(count + 1, sizeof(*sweep->thread_process));
	sweep->analysis->threads = calloc(count + 1, sizeof(*sweep->analysis->threads));
	if (!sweep->calls || !sweep->states || !sweep->times || !sweep->thread_process ||
	    !sweep->analysis->threads)
		return -ENOMEM;
	sweep->analysis->threads_count = count;
	for (size_t i = 0; i <= count; i++) {
		const struct event_thread *thread = things_row(&sweep->threads, i);
		size_t process = things_index(&sweep->processes, thread ? thread->process : 0);

		calls_init(&sweep->calls[i]);
		calls_init(&sweep->states[i].away);
		sweep->states[i].watched_ns = sweep->states[i].since_ns = UINT64_MAX;
		sweep->times[i].first_ns = sweep->times[i].away_since_ns = UINT64_MAX;
		sweep->thread_process[i] = (uint32_t)process;
		sweep->analysis->threads[i] = (struct analysis_thread){
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

	for (size_t i = 0; i < sweep->codes.count; i++) {
		const struct event_code *row = things_row(&sweep->codes, i);

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

	things_init(&sweep->devices, reader, EVENT_DEVICE);
	things_init(&sweep->queues, reader, EVENT_QUEUE);
	things_init(&sweep->contexts, reader, EVENT_CONTEXT);
	things_init(&sweep->processes, reader, EVENT_PROCESS);
	things_init(&sweep->threads, reader, EVENT_THREAD);
	things_init(&sweep->codes, reader, EVENT_CODE);
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
		error = sweep_make_metrics(sweep);
	return error ? error : sweep_make_ranges(sweep);
}
