/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/callbacks.c - the subscription of the simulated CUPTI, and the delivery of callbacks
 *
 * Runs in:  a program that uses CUDA, on the calling thread
 * Gets:     ENTER and EXIT of calls, and resources, from the driver
 * Gives:    the enabled callbacks
 * Owns:     the only subscription, the table of enabled callbacks, correlation ids
 * Why:      a call without an enabled callback costs one load. Its correlation id is counted all
 *           the same, because records contain it
 */
#include <stdlib.h>
#include <string.h>

#include "cupti.h"

struct CUpti_Subscriber_st {
	_Atomic(cupti_callback_function) function;
	void *_Atomic user;
	char name[CUPTI_SUBSCRIBER_NAME_MAX_LEN];
};

static struct CUpti_Subscriber_st subscriber;
static _Atomic uint8_t enabled[SIM_DOMAINS][MAX_SIM_CBIDS];
static _Atomic uint32_t correlations; /* so far, of calls */

static _Thread_local uint32_t runtime_correlation_id;
static _Thread_local bool is_in_callback;

/* ---- subscribing ----------------------------------------------------------------------------- */

static cupti_result subscribe(cupti_subscriber *ret_subscriber, cupti_callback_function callback,
			      void *user, const char *name)
{
	cupti_callback_function none = NULL;

	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!ret_subscriber || !callback)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!sim_options()->subscriber || subscriber.function)
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	subscriber.user = user;
	if (!atomic_compare_exchange_strong(&subscriber.function, &none, callback))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	strncpy(subscriber.name, name ? name : "", sizeof(subscriber.name) - 1);
	*ret_subscriber = &subscriber;
	return CUPTI_SUCCESS;
}

cupti_result cuptiSubscribe(cupti_subscriber *ret_subscriber, cupti_callback_function callback,
			    void *user)
{
	SIM_FAIL_AS_ASKED();
	return subscribe(ret_subscriber, callback, user, NULL);
}

cupti_result cuptiSubscribe_v2(cupti_subscriber *ret_subscriber, cupti_callback_function callback,
			       void *user, struct cupti_subscriber_params *params)
{
	const char *holder = sim_options()->subscriber ? subscriber.name : "sim-other";
	cupti_result result;

	SIM_FAIL_AS_ASKED();
	if (params && params->struct_bytes < CUpti_SubscriberParams_STRUCT_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	result = subscribe(ret_subscriber, callback, user, params ? params->name : NULL);
	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && params &&
	    params->old_name && params->old_name_bytes) {
		strncpy(params->old_name, holder, params->old_name_bytes - 1);
		params->old_name[params->old_name_bytes - 1] = '\0';
	}
	return result;
}

void sim_callbacks_reset(void)
{
	subscriber.function = NULL;
	for (size_t i = 0; i < SIM_DOMAINS; i++)
		for (size_t k = 0; k < MAX_SIM_CBIDS; k++)
			enabled[i][k] = 0;
}

cupti_result cuptiUnsubscribe(cupti_subscriber handle)
{
	SIM_FAIL_AS_ASKED();
	if (handle != &subscriber || !subscriber.function)
		return CUPTI_ERROR_INVALID_PARAMETER;
	sim_callbacks_reset();
	return CUPTI_SUCCESS;
}

static bool is_ours(cupti_subscriber handle)
{
	return handle == &subscriber && subscriber.function;
}

cupti_result cuptiEnableCallback(uint32_t enable, cupti_subscriber handle, cupti_domain domain,
				 uint32_t cbid)
{
	SIM_FAIL_AS_ASKED();
	if (!is_ours(handle) || !sim_is_callback(domain, cbid))
		return CUPTI_ERROR_INVALID_PARAMETER;
	enabled[domain][cbid] = enable != 0;
	return CUPTI_SUCCESS;
}

cupti_result cuptiEnableDomain(uint32_t enable, cupti_subscriber handle, cupti_domain domain)
{
	SIM_FAIL_AS_ASKED();
	if (!is_ours(handle) || !domain || domain >= SIM_DOMAINS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 1; i < MAX_SIM_CBIDS; i++)
		enabled[domain][i] = enable != 0;
	return CUPTI_SUCCESS;
}

cupti_result cuptiEnableAllDomains(uint32_t enable, cupti_subscriber handle)
{
	cupti_result result = CUPTI_SUCCESS;

	SIM_FAIL_AS_ASKED();
	for (cupti_domain i = 1; i < SIM_DOMAINS && !result; i++)
		result = cuptiEnableDomain(enable, handle, i);
	return result;
}

cupti_result cuptiGetCallbackState(uint32_t *ret_enable, cupti_subscriber handle,
				   cupti_domain domain, uint32_t cbid)
{
	SIM_FAIL_AS_ASKED();
	if (!ret_enable || !is_ours(handle) || !sim_is_callback(domain, cbid))
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_enable = enabled[domain][cbid];
	return CUPTI_SUCCESS;
}

cupti_result cuptiGetCallbackName(cupti_domain domain, uint32_t cbid, const char **ret_name)
{
	SIM_FAIL_AS_ASKED();
	if (!ret_name || !sim_callback_name(domain, cbid))
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_name = sim_callback_name(domain, cbid);
	return CUPTI_SUCCESS;
}

/* ---- telling --------------------------------------------------------------------------------- */

/* A call that the client makes inside its callback is not reported. */
static void tell(cupti_domain domain, uint32_t cbid, const void *data)
{
	cupti_callback_function function = subscriber.function;

	if (!function || is_in_callback)
		return;
	is_in_callback = true;
	function(subscriber.user, domain, cbid, data);
	is_in_callback = false;
}

static void tell_call(struct sim_call *call, uint32_t site)
{
	const struct cupti_callback_data data = {
		.site = site,
		.function_name = call->name,
		.function_parameters = call->parameters,
		.function_return_value = site == CUPTI_API_EXIT ? &call->result : NULL,
		.symbol_name = call->symbol,
		.context = call->context,
		.context_id = call->context_id,
		.correlation_data = &call->correlation_data,
		.correlation_id = call->correlation_id};

	if (call->cbid < MAX_SIM_CBIDS && enabled[call->domain][call->cbid])
		tell(call->domain, call->cbid, &data);
}

void sim_on_enter(struct sim_call *call)
{
	bool is_runtime = call->domain == CUPTI_CB_DOMAIN_RUNTIME_API;

	call->correlation_id = runtime_correlation_id;
	if (is_runtime || !runtime_correlation_id)
		call->correlation_id =
			(uint32_t)sim_options()->correlation + atomic_fetch_add(&correlations, 1);
	if (is_runtime)
		runtime_correlation_id = call->correlation_id;
	if (sim_is_kind_on(is_runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER,
			   call->context_id))
		call->start_ns = sim_timestamp();
	tell_call(call, CUPTI_API_ENTER);
}

void sim_on_exit(struct sim_call *call)
{
	if (call->domain == CUPTI_CB_DOMAIN_DRIVER_API)
		sim_pc_on_exit(call->context_id);
	tell_call(call, CUPTI_API_EXIT);
	if (call->domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		runtime_correlation_id = 0;
	if (call->start_ns)
		sim_on_api(call);
}

void sim_on_resource(uint32_t cbid, CUcontext context, CUstream stream, void *descriptor)
{
	const struct cupti_resource_data data = {context, stream, descriptor};

	if (enabled[CUPTI_CB_DOMAIN_RESOURCE][cbid])
		tell(CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}

void sim_on_synchronized(const struct sim_wait *wait)
{
	const struct cupti_synchronize_data data = {wait->context, wait->stream};
	uint32_t cbid = 0;

	if (wait->type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE)
		cbid = CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED;
	else if (wait->type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE)
		cbid = CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED;
	if (cbid && enabled[CUPTI_CB_DOMAIN_SYNCHRONIZE][cbid])
		tell(CUPTI_CB_DOMAIN_SYNCHRONIZE, cbid, &data);
}
