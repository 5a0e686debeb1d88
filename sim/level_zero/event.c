/* SPDX-License-Identifier: MIT
 *
 * sim/level_zero/event.c - event pools, events, fences
 *
 * Runs in:  the test program; the threads of queues signal events
 * Owns:     nothing beyond the objects
 * Fails:    like a driver, refuses timestamps of an event whose pool has none
 */
#include <stdlib.h>
#include <unistd.h>

#include "sim.h"

/* ---- pools and events ------------------------------------------------------------------------ */

static ze_result_t create_pool(ze_context_handle_t context, const ze_event_pool_desc_t *desc,
			       uint32_t count, ze_device_handle_t *devices,
			       ze_event_pool_handle_t *ret_pool)
{
	ze_event_pool_handle_t pool;

	if (!sim_is(context, SIM_CONTEXT) || !desc || !ret_pool)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!desc->count)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	pool = sim_new(SIM_POOL, sizeof(*pool));
	pool->flags = desc->flags;
	pool->count = desc->count;
	pool->context = context;
	*ret_pool = pool;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t destroy_pool(ze_event_pool_handle_t pool)
{
	if (!sim_is(pool, SIM_POOL))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	sim_free(pool);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t create_event(ze_event_pool_handle_t pool, const ze_event_desc_t *desc,
				ze_event_handle_t *ret_event)
{
	ze_event_handle_t event;

	if (!sim_is(pool, SIM_POOL) || !desc || !ret_event)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (desc->index >= pool->count)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	event = sim_new(SIM_EVENT, sizeof(*event));
	sim_level_zero_counts.events++;
	event->pool = pool;
	*ret_event = event;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t destroy_event(ze_event_handle_t event)
{
	if (!sim_is(event, SIM_EVENT))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	sim_free(event);
	return ZE_RESULT_SUCCESS;
}

void sim_signal(ze_event_handle_t event, uint64_t started_ns, uint64_t ended_ns)
{
	event->is_signalled = true;
	event->started = sim_ticks(started_ns);
	event->ended = sim_ticks(ended_ns);
	event->ended_ns = ended_ns;
	pthread_cond_broadcast(&sim_changed);
}

static ze_result_t signal_event(ze_event_handle_t event)
{
	if (!sim_is(event, SIM_EVENT))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	pthread_mutex_lock(&sim_lock);
	sim_signal(event, sim_now_ns(), sim_now_ns());
	pthread_mutex_unlock(&sim_lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t wait_for_event(ze_event_handle_t event, uint64_t timeout_ns)
{
	uint64_t deadline = sim_deadline(timeout_ns);
	bool is_signalled;

	if (!sim_is(event, SIM_EVENT))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	pthread_mutex_lock(&sim_lock);
	while (!event->is_signalled && sim_wait_changed(deadline))
		;
	is_signalled = event->is_signalled;
	pthread_mutex_unlock(&sim_lock);
	return is_signalled ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

static ze_result_t query_event(ze_event_handle_t event)
{
	bool is_signalled;

	if (!sim_is(event, SIM_EVENT))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	/* Objects of a context are destroyed with it. */
	if (sim_options.gone[0] && !sim_is(event->pool->context, SIM_CONTEXT))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	sim_level_zero_counts.queries++;
	if (sim_options.query_us > 0)
		usleep((useconds_t)sim_options.query_us);
	if (sim_options.slow[0] && unlink(sim_options.slow) == 0)
		usleep((useconds_t)(1000 * sim_options.slow_ms));
	pthread_mutex_lock(&sim_lock);
	is_signalled = event->is_signalled;
	pthread_mutex_unlock(&sim_lock);
	return is_signalled ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

static ze_result_t reset_event(ze_event_handle_t event)
{
	if (!sim_is(event, SIM_EVENT))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	pthread_mutex_lock(&sim_lock);
	event->is_signalled = false;
	pthread_mutex_unlock(&sim_lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t query_stamps(ze_event_handle_t event, ze_kernel_timestamp_result_t *ret_stamps)
{
	const uint64_t mask = sim_mask(sim_options.stamp_bits);
	ze_result_t result = ZE_RESULT_NOT_READY;

	if (!sim_is(event, SIM_EVENT) || !ret_stamps)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!(event->pool->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	pthread_mutex_lock(&sim_lock);
	if (event->is_signalled) {
		ret_stamps->global.kernelStart = event->started & mask;
		ret_stamps->global.kernelEnd = event->ended & mask;
		ret_stamps->context = ret_stamps->global;
		result = ZE_RESULT_SUCCESS;
	}
	pthread_mutex_unlock(&sim_lock);
	return result;
}

/* ---- fences ---------------------------------------------------------------------------------- */

static ze_result_t create_fence(ze_command_queue_handle_t queue, const ze_fence_desc_t *desc,
				ze_fence_handle_t *ret_fence)
{
	ze_fence_handle_t fence;

	if (!sim_is(queue, SIM_QUEUE) || !ret_fence)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	fence = sim_new(SIM_FENCE, sizeof(*fence));
	fence->is_signalled = desc && (desc->flags & ZE_FENCE_FLAG_SIGNALED);
	*ret_fence = fence;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t destroy_fence(ze_fence_handle_t fence)
{
	if (!sim_is(fence, SIM_FENCE))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	sim_free(fence);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t wait_for_fence(ze_fence_handle_t fence, uint64_t timeout_ns)
{
	uint64_t deadline = sim_deadline(timeout_ns);
	bool is_signalled;

	if (!sim_is(fence, SIM_FENCE))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	pthread_mutex_lock(&sim_lock);
	while (!fence->is_signalled && sim_wait_changed(deadline))
		;
	is_signalled = fence->is_signalled;
	pthread_mutex_unlock(&sim_lock);
	return is_signalled ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

static ze_result_t query_fence(ze_fence_handle_t fence)
{
	return wait_for_fence(fence, 0);
}

static ze_result_t reset_fence(ze_fence_handle_t fence)
{
	if (!sim_is(fence, SIM_FENCE))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	pthread_mutex_lock(&sim_lock);
	fence->is_signalled = false;
	pthread_mutex_unlock(&sim_lock);
	return ZE_RESULT_SUCCESS;
}

void sim_fill_pools(ze_event_pool_dditable_t *table)
{
	table->pfnCreate = create_pool;
	table->pfnDestroy = destroy_pool;
}

void sim_fill_events(ze_event_dditable_t *table)
{
	table->pfnCreate = create_event;
	table->pfnDestroy = destroy_event;
	table->pfnHostSignal = signal_event;
	table->pfnHostSynchronize = wait_for_event;
	table->pfnQueryStatus = query_event;
	table->pfnHostReset = reset_event;
	table->pfnQueryKernelTimestamp = query_stamps;
}

void sim_fill_fences(ze_fence_dditable_t *table)
{
	table->pfnCreate = create_fence;
	table->pfnDestroy = destroy_fence;
	table->pfnHostSynchronize = wait_for_fence;
	table->pfnQueryStatus = query_fence;
	table->pfnReset = reset_fence;
}
