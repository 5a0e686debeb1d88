/* SPDX-License-Identifier: MIT
 *
 * tests/device/capture/capture_callbacks.c - subscribes, and writes down the callbacks that come
 *
 * Runs in:  the captured program, on its own threads, inside of its CUDA calls
 * Gets:     API, RESOURCE and STATE callbacks
 * Gives:    rows, cubins, stacks, contexts to sample PCs in
 * Owns:     a block of rows for each thread, which is written when it is full
 * Fails:    by a fact; rows beyond the limit are counted
 * Why:      rows and not records of API calls, because those come at another time and cost twice as
 *           much
 */
#include "capture_agent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CBID_LIMIT = 2048, MAX_CUBIN_BYTES = 1 << 18, MAX_STATE_FACTS = 50 };

enum call_class { NOT_KNOWN, LAUNCH, GRAPH_LAUNCH, COPY, SET, WAIT, MODULE, OTHER };

static const uint8_t driver_classes[CBID_LIMIT] = {
#define CLASS(name, number, class) [number] = class,
	CUPTI_DRIVER_CALLBACKS(CLASS)};
static const uint8_t runtime_classes[CBID_LIMIT] = {CUPTI_RUNTIME_CALLBACKS(CLASS)
#undef CLASS
};

static _Thread_local struct capture_thread *mine;

struct capture_thread *capture_thread_mine(struct agent *agent)
{
	struct capture_thread *thread = mine;

	if (thread)
		return thread;
	thread = guest_memory(sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = (uint32_t)gettid();
	pthread_mutex_init(&thread->lock, NULL);
	thread->next = atomic_load(&agent->threads);
	while (!atomic_compare_exchange_weak(&agent->threads, &thread->next, thread))
		;
	mine = thread;
	return thread;
}

static void write_rows(struct agent *agent, struct capture_thread *thread)
{
	if (thread->row_count)
		capture_write(agent->file, CAPTURE_CALLBACKS, thread->tid,
			      &(struct capture_part){thread->rows,
						     thread->row_count * sizeof(*thread->rows)},
			      1);
	thread->row_count = 0;
}

static void add_row(struct agent *agent, const struct capture_callback *row)
{
	struct capture_thread *thread = capture_thread_mine(agent);

	if (!thread || atomic_fetch_add(&agent->row_count, 1) >= 4 * agent->options.record_limit) {
		atomic_fetch_add(&agent->rows_lost, 1);
		return;
	}
	pthread_mutex_lock(&thread->lock);
	thread->rows[thread->row_count] = *row;
	thread->rows[thread->row_count++].tid = thread->tid;
	if (thread->row_count == CAPTURE_ROWS)
		write_rows(agent, thread);
	pthread_mutex_unlock(&thread->lock);
}

void capture_callbacks_write(struct agent *agent)
{
	for (struct capture_thread *thread = atomic_load(&agent->threads); thread;
	     thread = thread->next) {
		pthread_mutex_lock(&thread->lock);
		write_rows(agent, thread);
		pthread_mutex_unlock(&thread->lock);
	}
	if (agent->options.log == CAPTURE_LOG_NONE)
		return;
	capture_fact(agent->file, "callbacks", "%llu", (unsigned long long)agent->row_count);
	capture_fact(agent->file, "callbacks_lost", "%llu", (unsigned long long)agent->rows_lost);
}

static enum call_class class_of(cupti_domain domain, uint32_t cbid)
{
	if (cbid >= CBID_LIMIT)
		return NOT_KNOWN;
	return domain == CUPTI_CB_DOMAIN_DRIVER_API ? driver_classes[cbid] : runtime_classes[cbid];
}

static void on_api(struct agent *agent, cupti_domain domain, uint32_t cbid,
		   const struct cupti_callback_data *call)
{
	enum call_class class = class_of(domain, cbid);
	struct capture_callback row = {.monotonic_ns = capture_now_ns(),
				       .domain = domain,
				       .callback_id = cbid,
				       .site = call->site,
				       .correlation_id = call->correlation_id,
				       .context_uid = call->context_id};

	if (agent->options.stack != CAPTURE_STACK_NONE && call->site == CUPTI_API_ENTER &&
	    domain == CUPTI_CB_DOMAIN_DRIVER_API && (class == LAUNCH || class == GRAPH_LAUNCH)) {
		struct capture_thread *thread = capture_thread_mine(agent);

		if (thread)
			capture_stack_take(agent, thread, row.data);
	}
	/* each kernel is a range, and PCs are those of one kernel only until the next one ends */
	if (agent->options.pc == CAPTURE_PC_SERIALIZED && call->site == CUPTI_API_EXIT &&
	    domain == CUPTI_CB_DOMAIN_DRIVER_API && (class == LAUNCH || class == GRAPH_LAUNCH))
		capture_pc_drain(agent);
	if (agent->options.log == CAPTURE_LOG_NONE)
		return;
	snprintf(row.name, sizeof(row.name), "%s", call->function_name ? call->function_name : "?");
	add_row(agent, &row);
}

static void keep_cubin(struct agent *agent, const struct cupti_module_resource *module)
{
	struct cupti_cubin_crc_params params = {.struct_bytes = CUpti_GetCubinCrcParamsSize,
						.cubin_bytes = module->cubin_bytes,
						.cubin = module->cubin};
	struct capture_cubin head = {.module_id = module->module_id, .bytes = module->cubin_bytes};

	if (!agent->options.has_cubins || !module->cubin)
		return;
	if (CUPTI_CALL(&agent->cupti, agent->file, cuptiGetCubinCrc, &params))
		head.crc = params.ret_crc;
	if (module->cubin_bytes > MAX_CUBIN_BYTES) {
		capture_fact(agent->file, "cubin_too_large", "module %u crc %llx bytes %zu",
			     module->module_id, (unsigned long long)head.crc, module->cubin_bytes);
		return;
	}
	capture_write(agent->file, CAPTURE_CUBIN, module->module_id,
		      (struct capture_part[]){{&head, sizeof(head)},
					      {module->cubin, module->cubin_bytes}},
		      2);
}

static void describe_graph(struct agent *agent, uint32_t cbid,
			   const struct cupti_graph_resource *graph, uint64_t ret_data[2])
{
	struct cupti_all_functions *call = &agent->cupti.call;
	uint32_t id = 0, other = 0;

	if (cbid >= CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED &&
	    cbid != CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED &&
	    cbid != CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING &&
	    cbid != CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING) {
		if (graph->node && call->cuptiGetGraphNodeId)
			call->cuptiGetGraphNodeId(graph->node, &ret_data[0]);
		if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED && graph->original_node &&
		    call->cuptiGetGraphNodeId)
			call->cuptiGetGraphNodeId(graph->original_node, &ret_data[1]);
		return;
	}
	if (graph->graph && call->cuptiGetGraphId && call->cuptiGetGraphId(graph->graph, &id) == 0)
		ret_data[0] = id;
	if (cbid == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED && graph->graph_exec &&
	    call->cuptiGetGraphExecId && call->cuptiGetGraphExecId(graph->graph_exec, &other) == 0)
		ret_data[1] = other;
	else if (cbid == CUPTI_CBID_RESOURCE_GRAPH_CLONED && graph->original_graph &&
		 call->cuptiGetGraphId && call->cuptiGetGraphId(graph->original_graph, &other) == 0)
		ret_data[1] = other;
}

static void describe_context(struct agent *agent, const struct cupti_resource_data *resource,
			     uint64_t ret_data[2])
{
	uint32_t id = 0;

	if (agent->cupti.call.cuptiGetContextId(resource->context, &id) == 0)
		ret_data[0] = id;
	id = 0;
	if (agent->cupti.call.cuptiGetDeviceId(resource->context, &id) == 0)
		ret_data[1] = id;
}

/* Writes a row's data; returns the id's name. */
static const char *describe(struct agent *agent, uint32_t cbid,
			    const struct cupti_resource_data *resource, uint64_t ret_data[2])
{
	static const char *const texts[] = {
		"?",
		"CONTEXT_CREATED",
		"CONTEXT_DESTROY_STARTING",
		"STREAM_CREATED",
		"STREAM_DESTROY_STARTING",
		"CU_INIT_FINISHED",
		"MODULE_LOADED",
		"MODULE_UNLOAD_STARTING",
		"MODULE_PROFILED",
		"GRAPH_CREATED",
		"GRAPH_DESTROY_STARTING",
		"GRAPH_CLONED",
		"NODE_CREATE_STARTING",
		"NODE_CREATED",
		"NODE_DESTROY_STARTING",
		"NODE_DEPENDENCY",
		"NODE_DEPENDENCY_DESTROY",
		"EXEC_CREATE_STARTING",
		"EXEC_CREATED",
		"EXEC_DESTROY_STARTING",
		"NODE_CLONED",
		"STREAM_ATTRIBUTE",
		"NODE_UPDATED",
		"NODE_SET_PARAMS",
	};

	if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
		describe_context(agent, resource, ret_data);
	} else if (cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED && resource->descriptor) {
		const struct cupti_module_resource *module = resource->descriptor;

		ret_data[0] = module->module_id;
		ret_data[1] = module->cubin_bytes;
		keep_cubin(agent, module);
	} else if (cbid >= CUPTI_CBID_RESOURCE_GRAPH_CREATED &&
		   cbid != CUPTI_CBID_RESOURCE_STREAM_ATTRIBUTE_CHANGED && resource->descriptor) {
		describe_graph(agent, cbid, resource->descriptor, ret_data);
	}
	return cbid < sizeof(texts) / sizeof(*texts) ? texts[cbid] : "?";
}

static void on_resource(struct agent *agent, uint32_t cbid,
			const struct cupti_resource_data *resource)
{
	struct capture_callback row = {.monotonic_ns = capture_now_ns(),
				       .domain = CUPTI_CB_DOMAIN_RESOURCE,
				       .callback_id = cbid,
				       .site = 2};

	snprintf(row.name, sizeof(row.name), "%s", describe(agent, cbid, resource, row.data));
	if (agent->options.log != CAPTURE_LOG_NONE)
		add_row(agent, &row);
	if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
		capture_pc_context(agent, resource->context);
	if (cbid == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING)
		capture_pc_drain(agent);
	if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING &&
	    !atomic_load(&agent->is_exiting)) {
		capture_pc_stop(agent, resource->context);
		capture_activity_flush(agent, 0);
	}
}

static void on_state(struct agent *agent, uint32_t cbid, const struct cupti_state_data *state)
{
	static atomic_uint count;

	if (state && atomic_fetch_add(&count, 1) < MAX_STATE_FACTS)
		capture_fact(agent->file, cbid == CUPTI_CBID_STATE_WARNING ? "warning" : "error",
			     "%d %s", (int)state->result, state->message ? state->message : "?");
}

static void on_callback(void *user, cupti_domain domain, uint32_t cbid, const void *data)
{
	struct agent *agent = user;

	if (atomic_load_explicit(&agent->is_over, memory_order_relaxed) || !data)
		return;
	if (!atomic_load_explicit(&agent->is_awake, memory_order_relaxed) &&
	    domain != CUPTI_CB_DOMAIN_RESOURCE)
		atomic_store(&agent->is_awake, true);
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		on_api(agent, domain, cbid, data);
	else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
		on_resource(agent, cbid, data);
	else if (domain == CUPTI_CB_DOMAIN_STATE)
		on_state(agent, cbid, data);
}

static void on_nothing(void *user, cupti_domain domain, uint32_t cbid, const void *data)
{
}

static bool subscribe(struct agent *agent, cupti_callback_function handler)
{
	char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 64] = "";
	struct cupti_subscriber_params params = {.struct_bytes = CUpti_SubscriberParams_STRUCT_SIZE,
						 .name = "duet capture",
						 .old_name = holder,
						 .old_name_bytes = sizeof(holder)};
	bool done;

	if (!agent->options.is_holder)
		return CUPTI_CALL(&agent->cupti, agent->file, cuptiSubscribe, &agent->subscriber,
				  handler, agent);
	done = CUPTI_CALL(&agent->cupti, agent->file, cuptiSubscribe_v2, &agent->subscriber,
			  handler, agent, &params);
	capture_fact(agent->file, "subscriber", "v2 %s, holder '%s'", done ? "done" : "refused",
		     holder);
	return done;
}

static uint32_t enable_table(struct agent *agent, cupti_domain domain, const uint8_t *classes,
			     bool launches_only)
{
	uint32_t count = 0, refused = 0;
	cupti_result last = 0;

	for (uint32_t cbid = 0; cbid < CBID_LIMIT; cbid++) {
		cupti_result result;

		if (!classes[cbid] ||
		    (launches_only && classes[cbid] != LAUNCH && classes[cbid] != GRAPH_LAUNCH))
			continue;
		result = agent->cupti.call.cuptiEnableCallback(1, agent->subscriber, domain, cbid);
		count += result == 0;
		refused += result != 0;
		last = result ? result : last;
	}
	if (refused)
		capture_fact(agent->file, "callbacks_refused", "domain %u: %u, the last with %d",
			     domain, refused, (int)last);
	return count;
}

static void enable_domain(struct agent *agent, cupti_domain domain)
{
	char call[64];

	snprintf(call, sizeof(call), "cuptiEnableDomain.%u", domain);
	capture_cupti_said(&agent->cupti, agent->file, call,
			   agent->cupti.call.cuptiEnableDomain(1, agent->subscriber, domain));
}

bool capture_callbacks_start(struct agent *agent)
{
	const struct capture_options *options = &agent->options;
	bool is_busy = options->mode == CAPTURE_RECORD &&
		       (options->log != CAPTURE_LOG_NONE || options->pc != CAPTURE_PC_OFF ||
			options->has_cubins || options->stack != CAPTURE_STACK_NONE);
	uint32_t count = 0;

	if (!subscribe(agent, is_busy ? on_callback : on_nothing))
		return false;
	if (options->log == CAPTURE_LOG_ALL) {
		enable_domain(agent, CUPTI_CB_DOMAIN_DRIVER_API);
		enable_domain(agent, CUPTI_CB_DOMAIN_RUNTIME_API);
	} else {
		count = enable_table(agent, CUPTI_CB_DOMAIN_DRIVER_API, driver_classes,
				     options->log == CAPTURE_LOG_NONE);
		if (options->log == CAPTURE_LOG_KNOWN)
			count += enable_table(agent, CUPTI_CB_DOMAIN_RUNTIME_API, runtime_classes,
					      false);
	}
	if (is_busy) {
		enable_domain(agent, CUPTI_CB_DOMAIN_RESOURCE);
		enable_domain(agent, CUPTI_CB_DOMAIN_STATE);
	}
	capture_fact(agent->file, "callbacks_enabled", "%u", count);
	return true;
}
