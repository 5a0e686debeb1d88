/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/call.c - start and end of every call of the simulated driver, and the hooks
 *
 * Runs in:  a program that uses CUDA, on the calling thread
 * Gets:     calls
 * Gives:    ENTER and EXIT for CUPTI, and the failures that SIM_NVIDIA requests
 * Owns:     the registered hooks
 */
#include "driver.h"

static _Atomic(const struct sim_hooks *) hooks;

const struct sim_hooks *sim_hooks(void)
{
	return atomic_load_explicit(&hooks, memory_order_acquire);
}

void sim_attach(const struct sim_hooks *new_hooks)
{
	atomic_store_explicit(&hooks, new_hooks, memory_order_release);
}

bool sim_call_begin(struct sim_call *call)
{
	call->context = sim_current();
	call->context_id = call->context ? call->context->id : CUPTI_INVALID_CONTEXT_ID;
	call->domain = CUPTI_CB_DOMAIN_DRIVER_API;
	call->hooks = sim_hooks();
	if (call->hooks)
		call->hooks->enter(call);
	call->result = (CUresult)sim_failure(call->name);
	if (!call->result && !sim_is_ready())
		call->result = CUDA_ERROR_NOT_INITIALIZED;
	return !call->result;
}

bool sim_call_begin_in_context(struct sim_call *call)
{
	if (!sim_call_begin(call))
		return false;
	if (!call->context || !sim_is_context(call->context))
		call->result = CUDA_ERROR_INVALID_CONTEXT;
	return !call->result;
}

CUresult sim_call_end(struct sim_call *call)
{
	if (call->hooks)
		call->hooks->exit(call);
	return call->result;
}

void sim_resource(uint32_t cbid, CUcontext context, CUstream stream, void *descriptor)
{
	const struct sim_hooks *now = sim_hooks();

	if (now)
		now->resource(cbid, context, stream, descriptor);
}

void sim_runtime_enter(struct sim_call *call, uint32_t cbid, const char *name,
		       const void *parameters)
{
	*call = (struct sim_call){.cbid = cbid,
				  .name = name,
				  .parameters = parameters,
				  .domain = CUPTI_CB_DOMAIN_RUNTIME_API,
				  .context = sim_current(),
				  .hooks = sim_hooks()};
	call->context_id = call->context ? call->context->id : CUPTI_INVALID_CONTEXT_ID;
	if (call->hooks)
		call->hooks->enter(call);
}

void sim_runtime_exit(struct sim_call *call)
{
	sim_call_end(call);
}
