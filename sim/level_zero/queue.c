/* SPDX-License-Identifier: MIT
 *
 * sim/level_zero/queue.c - command queues, each with a thread that executes
 *
 * Runs in:  the test program and the queues' threads
 * Gets:     commands
 * Gives:    completed work, signalled events and fences, and one log line per command
 * Owns:     the pending work, under sim_lock
 * Why:      start and end of a command are computed from its submission, its dependencies and its
 *           duration. The thread only sleeps until then, so log and timestamps agree to the tick
 *           however loaded the machine is. Work on a node is the exception: it ends when its driver
 *           reports so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim.h"

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t sim_changed;

static uint32_t last_number;

/* ---- waiting --------------------------------------------------------------------------------- */

uint64_t sim_deadline(uint64_t timeout_ns)
{
	uint64_t now = sim_now_ns();

	return timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
}

bool sim_wait_changed(uint64_t deadline_ns)
{
	const struct timespec until = {(time_t)(deadline_ns / 1000000000),
				       (long)(deadline_ns % 1000000000)};

	if (deadline_ns == UINT64_MAX)
		return pthread_cond_wait(&sim_changed, &sim_lock) == 0;
	return pthread_cond_timedwait(&sim_changed, &sim_lock, &until) != ETIMEDOUT;
}

/* ---- execution ------------------------------------------------------------------------------- */

static uint64_t duration_ns(const struct sim_command *command)
{
	switch (command->kind) {
	case SIM_COMMAND_KERNEL:
		return (uint64_t)(sim_options.kernel_us * 1000);
	case SIM_COMMAND_COPY:
	case SIM_COMMAND_FILL:
		return 1000 + (uint64_t)((double)command->bytes / sim_options.copy_gbps);
	default:
		return 1000;
	}
}

static void do_work(const struct sim_command *command)
{
	switch (command->kind) {
	case SIM_COMMAND_KERNEL:
		sim_run_kernel(command);
		break;
	case SIM_COMMAND_COPY:
		memmove(command->to, command->from, command->bytes);
		break;
	case SIM_COMMAND_FILL:
		for (size_t i = 0; i < command->bytes; i++)
			((uint8_t *)command->to)[i] = command->pattern[i % command->pattern_bytes];
		break;
	default:
		break;
	}
}

/* Under the lock. Returns when the dependencies of a command have ended. */
static uint64_t wait_for_all(const struct sim_command *command, uint64_t begin_ns)
{
	for (uint32_t i = 0; i < command->wait_count; i++) {
		while (!command->waits[i]->is_signalled)
			sim_wait_changed(UINT64_MAX);
		if (command->waits[i]->ended_ns > begin_ns)
			begin_ns = command->waits[i]->ended_ns;
	}
	return begin_ns;
}

/* Under the lock. */
static void finish(struct sim_work *work, uint64_t started_ns, uint64_t ended_ns)
{
	struct sim_command *command = &work->command;

	if (command->kind == SIM_COMMAND_RESET)
		command->subject->is_signalled = false;
	if (command->kind == SIM_COMMAND_SIGNAL)
		sim_signal(command->subject, started_ns, ended_ns);
	if (command->kind == SIM_COMMAND_TIMESTAMP) {
		uint64_t ticks = sim_ticks(ended_ns) & sim_mask(sim_options.clock_bits);

		memcpy(command->to, &ticks, sizeof(ticks));
	}
	if (command->event)
		sim_signal(command->event, started_ns, ended_ns);
	if (work->fence)
		work->fence->is_signalled = true;
}

/* Under the lock, which is given up while the work is done. */
static void execute(ze_command_queue_handle_t queue, struct sim_work *work)
{
	uint64_t begin_ns, end_ns;

	begin_ns = wait_for_all(&work->command, sim_now_ns());
	if (queue->free_ns > begin_ns)
		begin_ns = queue->free_ns;
	end_ns = begin_ns + duration_ns(&work->command);
	pthread_mutex_unlock(&sim_lock);
	if (work->sync) {
		sim_batches_wait(queue->batches, work->sync);
		end_ns = sim_now_ns();
	}
	sim_sleep_until(end_ns);
	do_work(&work->command);
	sim_log(queue, &work->command, begin_ns, end_ns);
	pthread_mutex_lock(&sim_lock);
	queue->free_ns = end_ns;
	finish(work, begin_ns, end_ns);
}

static void *run_queue(void *argument)
{
	ze_command_queue_handle_t queue = argument;

	pthread_mutex_lock(&sim_lock);
	while (queue->first || !queue->is_ending) {
		struct sim_work *work = queue->first;

		if (!work) {
			sim_wait_changed(UINT64_MAX);
			continue;
		}
		queue->first = work->next;
		if (!work->next)
			queue->last = &queue->first;
		queue->is_busy = true;
		execute(queue, work);
		queue->is_busy = false;
		pthread_cond_broadcast(&sim_changed);
		free(work->command.waits);
		free(work);
	}
	pthread_mutex_unlock(&sim_lock);
	return NULL;
}

/* ---- queues ---------------------------------------------------------------------------------- */

ze_command_queue_handle_t sim_queue_new(ze_device_handle_t device,
					const ze_command_queue_desc_t *desc)
{
	ze_command_queue_handle_t queue = sim_new(SIM_QUEUE, sizeof(*queue));

	queue->device = device;
	queue->last = &queue->first;
	queue->is_synchronous = desc && desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
	if (desc && !sim_engine(desc->ordinal, desc->index, &queue->engine)) {
		free(queue);
		return NULL;
	}
	if (device->node && !(queue->batches = sim_batches_new(device->node))) {
		free(queue);
		return NULL;
	}
	pthread_mutex_lock(&sim_lock);
	queue->number = ++last_number;
	pthread_mutex_unlock(&sim_lock);
	if (pthread_create(&queue->thread, NULL, run_queue, queue) == 0)
		return queue;
	sim_batches_free(queue->batches);
	free(queue);
	return NULL;
}

void sim_queue_free(ze_command_queue_handle_t queue)
{
	pthread_mutex_lock(&sim_lock);
	queue->is_ending = true;
	pthread_cond_broadcast(&sim_changed);
	pthread_mutex_unlock(&sim_lock);
	pthread_join(queue->thread, NULL);
	sim_batches_free(queue->batches);
	sim_free(queue);
}

/* NULL: no memory. */
static struct sim_work *copy_work(const struct sim_command *command, ze_fence_handle_t fence)
{
	struct sim_work *work = calloc(1, sizeof(*work));

	if (!work)
		return NULL;
	work->command = *command;
	work->fence = fence;
	work->command.waits = calloc(command->wait_count + 1, sizeof(*command->waits));
	memcpy(work->command.waits, command->waits, command->wait_count * sizeof(*command->waits));
	return work;
}

static void put(ze_command_queue_handle_t queue, struct sim_work *work)
{
	pthread_mutex_lock(&sim_lock);
	*queue->last = work;
	queue->last = &work->next;
	pthread_cond_broadcast(&sim_changed);
	pthread_mutex_unlock(&sim_lock);
}

/* The kernels from the first command on that fit into one batch. Which of the commands ends with
 * it: the last of them; none where there are none, or the node refuses (*ret_sync 0). */
static uint32_t submit(ze_command_queue_handle_t queue, const struct sim_command *commands,
		       uint32_t count, uint32_t *ret_sync)
{
	uint64_t addresses[MAX_SIM_BATCH_KERNELS];
	uint32_t kernels = 0, last = count;

	for (uint32_t i = 0; i < count && kernels < MAX_SIM_BATCH_KERNELS; i++) {
		if (commands[i].kind != SIM_COMMAND_KERNEL)
			continue;
		addresses[kernels++] = commands[i].address;
		last = i;
	}
	*ret_sync = kernels ? sim_batches_submit(queue->batches, addresses, kernels) : 0;
	return last;
}

ze_result_t sim_queue_put(ze_command_queue_handle_t queue, const struct sim_command *commands,
			  uint32_t count, ze_fence_handle_t fence)
{
	uint32_t sync = 0, last = 0;
	bool is_submitted = false;

	for (uint32_t i = 0; i < count; i++) {
		struct sim_work *work;

		if (queue->batches && !is_submitted) {
			last = i + submit(queue, commands + i, count - i, &sync);
			is_submitted = true;
			if (last < count && !sync)
				return ZE_RESULT_ERROR_DEVICE_LOST;
		}
		work = copy_work(&commands[i], i + 1 == count ? fence : NULL);
		if (!work)
			return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
		if (is_submitted && i == last) {
			work->sync = sync;
			is_submitted = false;
		}
		put(queue, work);
	}
	return ZE_RESULT_SUCCESS;
}

ze_result_t sim_queue_wait(ze_command_queue_handle_t queue, uint64_t timeout_ns)
{
	uint64_t deadline = sim_deadline(timeout_ns);
	bool is_done;

	pthread_mutex_lock(&sim_lock);
	while ((queue->first || queue->is_busy) && sim_wait_changed(deadline))
		;
	is_done = !queue->first && !queue->is_busy;
	pthread_mutex_unlock(&sim_lock);
	return is_done ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

static ze_result_t create_queue(ze_context_handle_t context, ze_device_handle_t device,
				const ze_command_queue_desc_t *desc,
				ze_command_queue_handle_t *ret_queue)
{
	if (!sim_is(context, SIM_CONTEXT) || !sim_is(device, SIM_DEVICE) || !ret_queue)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	*ret_queue = sim_queue_new(device, desc);
	return *ret_queue ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

static ze_result_t destroy_queue(ze_command_queue_handle_t queue)
{
	if (!sim_is(queue, SIM_QUEUE))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	sim_queue_free(queue);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t execute_lists(ze_command_queue_handle_t queue, uint32_t count,
				 ze_command_list_handle_t *lists, ze_fence_handle_t fence)
{
	static const struct sim_command nothing = {.kind = SIM_COMMAND_BARRIER};
	ze_result_t result = ZE_RESULT_SUCCESS;

	if (!sim_is(queue, SIM_QUEUE))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	for (uint32_t i = 0; i < count; i++)
		if (!sim_is(lists[i], SIM_LIST) || lists[i]->queue || !lists[i]->is_closed)
			return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < count && result == ZE_RESULT_SUCCESS; i++)
		result = sim_queue_put(queue, lists[i]->commands, lists[i]->count, NULL);
	if (fence && result == ZE_RESULT_SUCCESS)
		result = sim_queue_put(queue, &nothing, 1, fence);
	if (result != ZE_RESULT_SUCCESS)
		return result;
	return queue->is_synchronous ? sim_queue_wait(queue, UINT64_MAX) : ZE_RESULT_SUCCESS;
}

static ze_result_t synchronize(ze_command_queue_handle_t queue, uint64_t timeout_ns)
{
	return sim_is(queue, SIM_QUEUE) ? sim_queue_wait(queue, timeout_ns)
					: ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}

void sim_fill_queues(ze_command_queue_dditable_t *table)
{
	table->pfnCreate = create_queue;
	table->pfnDestroy = destroy_queue;
	table->pfnExecuteCommandLists = execute_lists;
	table->pfnSynchronize = synchronize;
}
