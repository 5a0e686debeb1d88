/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/context.c - contexts of the simulated driver, and each thread's current one
 *
 * Runs in:  a program that uses CUDA
 * Owns:     the contexts, which are never freed because CUPTI may still refer to them; each
 *           thread's stack of them
 * Why:      ids count from 1, and the default stream has id 7, as in the real driver
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { STREAM_NULL_ID = 7, STREAM_PER_THREAD_ID = 8 };

static struct CUctx_st contexts[MAX_SIM_CONTEXTS];
static uint32_t context_count, last_id;
static CUcontext primary[MAX_SIM_DEVICES];
static unsigned primary_flags[MAX_SIM_DEVICES];

static _Thread_local CUcontext stack[MAX_SIM_STACK];
static _Thread_local int depth;

bool sim_is_context(CUcontext context)
{
	bool is_one;

	pthread_mutex_lock(&sim_lock);
	is_one = context >= contexts && context < contexts + context_count && context->is_live;
	pthread_mutex_unlock(&sim_lock);
	return is_one;
}

CUcontext sim_current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

static void set_current(CUcontext context)
{
	if (!depth)
		depth = 1;
	stack[depth - 1] = context;
	if (!context && depth == 1)
		depth = 0;
}

/* Under the lock; NULL: too many. */
static CUcontext find_place(void)
{
	for (uint32_t i = 0; sim_options()->context_reuse && i < context_count; i++)
		if (!contexts[i].is_live)
			return &contexts[i];
	return context_count < MAX_SIM_CONTEXTS ? &contexts[context_count++] : NULL;
}

/* Under the lock; NULL: too many. */
static CUcontext make(CUdevice device, unsigned flags)
{
	CUcontext context = find_place();

	if (!context)
		return NULL;
	*context = (struct CUctx_st){.magic = SIM_CONTEXT_MAGIC,
				     .id = ++last_id,
				     .device_id = (uint32_t)device,
				     .flags = flags,
				     .is_live = true};
	sim_stream_init(&context->null, context, STREAM_NULL_ID, 0);
	context->null.is_null = true;
	sim_stream_init(&context->per_thread, context, STREAM_PER_THREAD_ID, 0);
	return context;
}

static void tell_created(CUcontext context)
{
	const struct sim_hooks *hooks = sim_hooks();

	if (hooks) {
		hooks->context(context->id, context->device_id);
		sim_tell_stream(&context->null);
	}
	sim_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, NULL, NULL);
}

static void destroy(CUcontext context)
{
	sim_resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context, NULL, NULL);
	sim_sleep_until(context->all_ns);
	pthread_mutex_lock(&sim_lock);
	context->is_live = false;
	pthread_mutex_unlock(&sim_lock);
	sim_streams_free(context);
}

CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned flags, CUdevice device)
{
	const struct {
		CUcontext *ret_context;
		unsigned flags;
		CUdevice device;
	} parameters = {ret_context, flags, device};
	CUcontext context = NULL;
	SIM_CALL(cuCtxCreate_v2, &parameters);

	if (!sim_call_begin(&call))
		return sim_call_end(&call);
	if (!ret_context)
		call.result = CUDA_ERROR_INVALID_VALUE;
	else if (device < 0 || device >= (CUdevice)sim_visible_count())
		call.result = CUDA_ERROR_INVALID_DEVICE;
	if (call.result)
		return sim_call_end(&call);
	pthread_mutex_lock(&sim_lock);
	if (depth < MAX_SIM_STACK)
		context = make(device, flags);
	pthread_mutex_unlock(&sim_lock);
	if (context) {
		stack[depth++] = context;
		*ret_context = context;
		tell_created(context);
	} else {
		call.result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return sim_call_end(&call);
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
	SIM_CALL(cuCtxDestroy_v2, &context);

	if (sim_call_begin(&call)) {
		if (!sim_is_context(context) || context->is_primary) {
			call.result = CUDA_ERROR_INVALID_CONTEXT;
		} else {
			destroy(context);
			if (sim_current() == context)
				depth--;
		}
	}
	return sim_call_end(&call);
}

/* ---- the primary one ------------------------------------------------------------------------- */

static CUresult retain(CUdevice device, CUcontext *ret_context)
{
	CUcontext context;
	bool is_new = false;

	pthread_mutex_lock(&sim_lock);
	context = primary[device];
	if (!context) {
		context = make(device, primary_flags[device]);
		is_new = context != NULL;
		if (context)
			context->is_primary = true;
		primary[device] = context;
	}
	if (context)
		context->references++;
	pthread_mutex_unlock(&sim_lock);
	if (!context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_context = context;
	if (is_new)
		tell_created(context);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ret_context, CUdevice device)
{
	const struct {
		CUcontext *ret_context;
		CUdevice device;
	} parameters = {ret_context, device};
	SIM_CALL(cuDevicePrimaryCtxRetain, &parameters);

	if (sim_call_begin(&call)) {
		if (!ret_context)
			call.result = CUDA_ERROR_INVALID_VALUE;
		else if (device < 0 || device >= (CUdevice)sim_visible_count())
			call.result = CUDA_ERROR_INVALID_DEVICE;
		else
			call.result = retain(device, ret_context);
	}
	return sim_call_end(&call);
}

static CUresult drop(CUdevice device, bool is_reset)
{
	CUcontext context, dead = NULL;

	if (device < 0 || device >= (CUdevice)sim_visible_count())
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&sim_lock);
	context = primary[device];
	if (context && (is_reset || --context->references == 0)) {
		dead = context;
		primary[device] = NULL;
	}
	pthread_mutex_unlock(&sim_lock);
	if (dead)
		destroy(dead);
	return context || is_reset ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	SIM_CALL(cuDevicePrimaryCtxRelease_v2, &device);

	if (sim_call_begin(&call))
		call.result = drop(device, false);
	return sim_call_end(&call);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	SIM_CALL(cuDevicePrimaryCtxReset_v2, &device);

	if (sim_call_begin(&call))
		call.result = drop(device, true);
	return sim_call_end(&call);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
	const struct {
		CUdevice device;
		unsigned flags;
	} parameters = {device, flags};
	SIM_CALL(cuDevicePrimaryCtxSetFlags_v2, &parameters);

	if (sim_call_begin(&call)) {
		if (device < 0 || device >= (CUdevice)sim_visible_count()) {
			call.result = CUDA_ERROR_INVALID_DEVICE;
		} else {
			pthread_mutex_lock(&sim_lock);
			primary_flags[device] = flags;
			pthread_mutex_unlock(&sim_lock);
		}
	}
	return sim_call_end(&call);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *ret_flags, int *ret_active)
{
	const struct {
		CUdevice device;
		unsigned *ret_flags;
		int *ret_active;
	} parameters = {device, ret_flags, ret_active};
	SIM_CALL(cuDevicePrimaryCtxGetState, &parameters);

	if (sim_call_begin(&call)) {
		if (device < 0 || device >= (CUdevice)sim_visible_count()) {
			call.result = CUDA_ERROR_INVALID_DEVICE;
		} else if (!ret_flags || !ret_active) {
			call.result = CUDA_ERROR_INVALID_VALUE;
		} else {
			pthread_mutex_lock(&sim_lock);
			*ret_flags = primary_flags[device];
			*ret_active = primary[device] != NULL;
			pthread_mutex_unlock(&sim_lock);
		}
	}
	return sim_call_end(&call);
}

/* ---- which one a thread uses ----------------------------------------------------------------- */

CUresult cuCtxSetCurrent(CUcontext context)
{
	SIM_CALL(cuCtxSetCurrent, &context);

	if (sim_call_begin(&call)) {
		if (context && !sim_is_context(context))
			call.result = CUDA_ERROR_INVALID_CONTEXT;
		else
			set_current(context);
	}
	return sim_call_end(&call);
}

CUresult cuCtxGetCurrent(CUcontext *ret_context)
{
	SIM_CALL(cuCtxGetCurrent, &ret_context);

	if (sim_call_begin(&call)) {
		if (ret_context)
			*ret_context = sim_current();
		else
			call.result = CUDA_ERROR_INVALID_VALUE;
	}
	return sim_call_end(&call);
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
	SIM_CALL(cuCtxPushCurrent_v2, &context);

	if (sim_call_begin(&call)) {
		if (!sim_is_context(context) || depth == MAX_SIM_STACK)
			call.result = CUDA_ERROR_INVALID_CONTEXT;
		else
			stack[depth++] = context;
	}
	return sim_call_end(&call);
}

CUresult cuCtxPopCurrent_v2(CUcontext *ret_context)
{
	SIM_CALL(cuCtxPopCurrent_v2, &ret_context);

	if (sim_call_begin(&call)) {
		if (!depth) {
			call.result = CUDA_ERROR_INVALID_CONTEXT;
		} else {
			depth--;
			if (ret_context)
				*ret_context = stack[depth];
		}
	}
	return sim_call_end(&call);
}

CUresult cuCtxGetDevice(CUdevice *ret_device)
{
	SIM_CALL(cuCtxGetDevice, &ret_device);

	if (sim_call_begin_in_context(&call)) {
		if (ret_device)
			*ret_device = (CUdevice)call.context->device_id;
		else
			call.result = CUDA_ERROR_INVALID_VALUE;
	}
	return sim_call_end(&call);
}

CUresult cuCtxSynchronize(void)
{
	uint64_t until_ns;
	SIM_CALL(cuCtxSynchronize, NULL);

	if (sim_call_begin_in_context(&call)) {
		pthread_mutex_lock(&sim_lock);
		until_ns = call.context->all_ns;
		pthread_mutex_unlock(&sim_lock);
		sim_wait(&call, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, NULL,
			 CUPTI_SYNCHRONIZATION_INVALID_VALUE, until_ns);
	}
	return sim_call_end(&call);
}

/* ---- for CUPTI ------------------------------------------------------------------------------- */

bool sim_context_ids(CUcontext context, uint32_t *ret_id, uint32_t *ret_device_id)
{
	if (!context)
		context = sim_current();
	if (context < contexts || context >= contexts + MAX_SIM_CONTEXTS || !context->id)
		return false;
	if (ret_id)
		*ret_id = context->id;
	if (ret_device_id)
		*ret_device_id = context->device_id;
	return true;
}

void sim_replay(void)
{
	const struct sim_hooks *hooks = sim_hooks();

	for (uint32_t i = 0; i < MAX_SIM_CONTEXTS; i++) {
		CUcontext context = &contexts[i];
		struct sim_stream_facts facts[64];
		size_t count = 0;

		pthread_mutex_lock(&sim_lock);
		if (context->is_live) {
			facts[count++] = sim_stream_facts_of(&context->null);
			for (CUstream one = context->streams; one && count < 64; one = one->next)
				facts[count++] = sim_stream_facts_of(one);
		}
		pthread_mutex_unlock(&sim_lock);
		if (!count || !hooks)
			continue;
		hooks->context(context->id, context->device_id);
		for (size_t k = 0; k < count; k++)
			hooks->stream(&facts[k]);
	}
}
