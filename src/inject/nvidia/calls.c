/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/calls.c - calls of the CUDA driver
 *
 * Runs in:  the profiled process, in the calling thread, before and after the call
 * Gets:     CUPTI's callbacks
 * Gives:    a record of each call, a launch record for a call that puts a command into a stream
 * Owns:     the map from callbacks to calls; each thread's open calls
 * Fails:    by leaving a record out, counted
 * Why:      every program uses the driver's calls: the runtime's calls go through them, with the
 *           same correlation id, and cuBLAS and Triton call only the driver. CUPTI is queried for
 *           the driver's calls by name, so that new launch calls of a driver are not missed. A call
 *           that is captured into a graph launches nothing: CUPTI reports the node while the call
 *           runs. The direction of a copy between any addresses, and the contents of a graph, come
 *           only from the device's records.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "inject/describe.h"
#include "inject/nvidia/cuda.h"

/* CUDA 13.0 has 806. */
enum { MAX_CALLS = 2048, MAX_DEPTH = 4 };

enum call_class { CALL_NONE, CALL_PLAIN, CALL_WAIT, CALL_KERNEL, CALL_COPY, CALL_SET, CALL_MANY };

/* The first entry that a name starts with decides. */
static const struct {
	const char *begin;
	enum call_class class;
} rules[] = {
	{"cuLaunchHostFunc", CALL_PLAIN},
	{"cuLaunchCooperativeKernelMultiDevice", CALL_MANY},
	{"cuLaunch", CALL_KERNEL},
	{"cuGraphLaunch", CALL_MANY},
	{"cuMemcpyHtoD", CALL_COPY},
	{"cuMemcpyDtoH", CALL_COPY},
	{"cuMemcpyDtoD", CALL_COPY},
	{"cuMemcpy", CALL_MANY},
	{"cuMemset", CALL_SET},
	{"cuCtxSynchronize", CALL_WAIT},
	{"cuStreamSynchronize", CALL_WAIT},
	{"cuEventSynchronize", CALL_WAIT},
	{"cuModuleLoad", CALL_PLAIN},
	{"cuModuleUnload", CALL_PLAIN},
	{"cuLibraryLoad", CALL_PLAIN},
	{"cuLibraryUnload", CALL_PLAIN},
	{"cuLinkComplete", CALL_PLAIN},
	{"cuMemAlloc", CALL_PLAIN},
	{"cuMemFree", CALL_PLAIN},
	{"cuMemHost", CALL_PLAIN},
	{"cuMemPrefetch", CALL_PLAIN},
	{"cuMemBatchDecompress", CALL_PLAIN},
	{"cuMemCreate", CALL_PLAIN},
	{"cuMemMap", CALL_PLAIN},
	{"cuMemUnmap", CALL_PLAIN},
	{"cuGraphAdd", CALL_PLAIN},
	{"cuGraphInstantiate", CALL_PLAIN},
	{"cuGraphExec", CALL_PLAIN},
	{"cuGraphUpload", CALL_PLAIN},
	{"cuStreamBeginCapture", CALL_PLAIN},
	{"cuStreamEndCapture", CALL_PLAIN},
	{"cuStreamCreate", CALL_PLAIN},
	{"cuStreamDestroy", CALL_PLAIN},
	{"cuStreamWait", CALL_PLAIN},
	{"cuCtxCreate", CALL_PLAIN},
	{"cuCtxDestroy", CALL_PLAIN},
};

/* Layout of a call's parameters. */
enum call_shape {
	SHAPE_NONE,
	SHAPE_LAUNCH,    /* struct cupti_launch_kernel_parameters */
	SHAPE_LAUNCH_EX, /* … _ex */
	SHAPE_LINEAR,    /* two words, a count, a stream */
	SHAPE_PLANE,     /* three words, width, height, a stream */
	SHAPE_SIZE,      /* a word and a count */
	SHAPE_STREAM     /* a stream */
};

struct call {
	const char *name; /* CUPTI's name */
	uint8_t class, shape, command, unit_bytes;
	bool is_per_thread; /* the default stream is the thread's own */
	bool is_async;
	bool is_release; /* the call destroys, frees or unloads something */
	bool has_stack;  /* each call has one; otherwise slow and failed ones do */
	bool is_cooperative;
	bool is_graph; /* its first parameter is the graph that it launches */
};

static struct call
	calls[MAX_CALLS]; /* by callback id; written before the first callback is enabled */

/* State of a call between its start and its end. */
struct entered {
	uint32_t cbid, mode, stack;
	uint32_t spent; /* ticks of the guest before the call, if the call is timed; otherwise 0 */
	uint64_t correlation, enter;
	bool is_captured, is_open;
};

static _Thread_local struct {
	struct entered calls[MAX_DEPTH];
	uint32_t depth;
} inside __attribute__((tls_model("initial-exec")));

/* ---- recorded calls -------------------------------------------------------------------------- */

static bool begins_with(const char *name, const char *begin)
{
	return strncmp(name, begin, strlen(begin)) == 0;
}

static enum call_class class_of(const char *name)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (begins_with(name, rules[i].begin))
			return rules[i].class;
	return CALL_NONE;
}

static uint8_t unit_of(const char *name)
{
	return strstr(name, "D32") ? 4 : strstr(name, "D16") ? 2 : 1;
}

static void learn_kernel(struct call *call)
{
	if (begins_with(call->name, "cuLaunchKernelEx"))
		call->shape = SHAPE_LAUNCH_EX;
	else if (begins_with(call->name, "cuLaunchKernel") ||
		 begins_with(call->name, "cuLaunchCooperativeKernel"))
		call->shape = SHAPE_LAUNCH;
	call->command = COMMAND_KERNEL;
	call->is_async = true;
	call->is_cooperative = begins_with(call->name, "cuLaunchCooperativeKernel");
}

/* The first version of some calls has 32-bit addresses. */
static void learn_copy(struct call *call)
{
	call->command = strstr(call->name, "HtoD")   ? COMMAND_WRITE
			: strstr(call->name, "DtoH") ? COMMAND_READ
						     : COMMAND_COPY;
	call->shape = strstr(call->name, "_v2") ? SHAPE_LINEAR : SHAPE_NONE;
	call->unit_bytes = 1;
}

static void learn_set(struct call *call)
{
	bool is_wide = strstr(call->name, "_v2") || strstr(call->name, "Async");

	call->command = COMMAND_FILL;
	call->unit_bytes = unit_of(call->name + strlen("cuMemset"));
	if (begins_with(call->name, "cuMemsetD2D")) {
		call->unit_bytes = unit_of(call->name + strlen("cuMemsetD2"));
		call->shape = is_wide ? SHAPE_PLANE : SHAPE_NONE;
	} else {
		call->shape = is_wide ? SHAPE_LINEAR : SHAPE_NONE;
	}
}

static void learn_call(struct call *call, const char *name, enum call_class class)
{
	call->name = name;
	call->class = (uint8_t) class;
	call->is_per_thread = strstr(name, "_ptsz") || strstr(name, "_ptds");
	call->is_async = strstr(name, "Async") != NULL;
	call->is_graph = begins_with(name, "cuGraphLaunch");
	call->has_stack = class != CALL_PLAIN || begins_with(name, "cuStreamBeginCapture");
	call->is_release = strstr(name, "Destroy") || strstr(name, "Free") ||
			   strstr(name, "Unload") || strstr(name, "Unmap") ||
			   strstr(name, "Unregister");
	if (class == CALL_KERNEL)
		learn_kernel(call);
	else if (class == CALL_COPY)
		learn_copy(call);
	else if (class == CALL_SET)
		learn_set(call);
	else if (begins_with(name, "cuStreamSynchronize"))
		call->shape = SHAPE_STREAM;
	else if (strcmp(name, "cuMemAlloc_v2") == 0 || begins_with(name, "cuMemAllocAsync") ||
		 strcmp(name, "cuMemAllocHost_v2") == 0 || strcmp(name, "cuMemAllocManaged") == 0)
		call->shape = SHAPE_SIZE;
}

/* Module callbacks are enabled only if code is needed, because each reads the whole cubin. */
cupti_result cuda_calls_enable(cupti_subscriber subscriber, bool has_modules)
{
	static const uint32_t resources[] = {
		CUPTI_CBID_RESOURCE_CONTEXT_CREATED,   CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
		CUPTI_CBID_RESOURCE_STREAM_CREATED,    CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
		CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
	};
	cupti_result first = CUPTI_SUCCESS, result;
	const char *name;

	for (uint32_t cbid = 1; cbid < MAX_CALLS; cbid++) {
		enum call_class class = CALL_NONE;

		name = NULL;
		if (!cuda_cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, cbid, &name) &&
		    name)
			class = class_of(name);
		if (class == CALL_NONE)
			continue;
		learn_call(&calls[cbid], name, class);
		result = cuda_cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
							cbid);
		first = first ? first : result;
	}
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		result = cuda_cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
							resources[i]);
		first = first ? first : result;
	}
	if (has_modules) {
		result = cuda_cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
							CUPTI_CBID_RESOURCE_MODULE_LOADED);
		first = first ? first : result;
	}
	return first;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Returns the function's number, described once in each ring. */
static uint32_t function_of(struct guest_thread *thread, uint32_t cbid)
{
	static _Thread_local struct {
		uint32_t mode;
		uint64_t described[MAX_CALLS / 64];
	} known __attribute__((tls_model("initial-exec")));
	const uint64_t bit = UINT64_C(1) << cbid % 64;
	struct record_function record = {
		.head = {.kind = RECORD_FUNCTION, .detail = RECORD_FUNCTION_FIRST + cbid}};
	const struct guest_tail tail = {.texts = &calls[cbid].name, .text_count = 1};

	if (known.mode != thread->mode) {
		memset(known.described, 0, sizeof(known.described));
		known.mode = thread->mode;
	}
	if (!(known.described[cbid / 64] & bit) &&
	    guest_put_with_texts(thread, &record.head, offsetof(struct record_function, texts),
				 &tail))
		known.described[cbid / 64] |= bit;
	return RECORD_FUNCTION_FIRST + cbid;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* The command that a call puts into a stream. */
struct submitted {
	CUstream stream;
	bool has_stream;
	uint64_t bytes;
	uint32_t grid[3], block[3], dimensions;
};

static uint64_t word(const void *parameters, uint32_t index)
{
	uint64_t value;

	memcpy(&value, (const char *)parameters + 8 * index, sizeof(value));
	return value;
}

static void read_shape(struct submitted *submitted, const unsigned *grid, const unsigned *block)
{
	for (uint32_t i = 0; i < 3; i++) {
		submitted->grid[i] = grid[i];
		submitted->block[i] = block[i];
	}
	submitted->dimensions = 3;
}

static void read_launch(const void *parameters, struct submitted *submitted)
{
	const struct cupti_launch_kernel_parameters *shown = parameters;

	read_shape(submitted, &shown->grid_x, &shown->block_x);
	submitted->stream = shown->stream;
	submitted->has_stream = true;
}

static void read_launch_ex(const void *parameters, struct submitted *submitted)
{
	const struct cupti_launch_kernel_ex_parameters *shown = parameters;

	if (!shown->config)
		return;
	read_shape(submitted, &shown->config->grid_x, &shown->config->block_x);
	submitted->stream = shown->config->stream;
	submitted->has_stream = true;
}

/* The call must have succeeded: the driver has then read the attributes too. */
static bool is_cooperative(const struct call *call, const void *parameters)
{
	const struct cupti_launch_kernel_ex_parameters *shown = parameters;
	const CUlaunchConfig *config;

	if (call->shape != SHAPE_LAUNCH_EX || !shown || !shown->config)
		return call->is_cooperative;
	config = shown->config;
	for (unsigned i = 0; config->attributes && i < config->attribute_count; i++)
		if (config->attributes[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
			return config->attributes[i].value.cooperative;
	return false;
}

/* The function or the graph that a call launches; 0: none. */
static uint64_t launched_by(const struct call *call, const void *parameters)
{
	if (!parameters)
		return 0;
	if (call->shape == SHAPE_LAUNCH_EX)
		return (uintptr_t)((const struct cupti_launch_kernel_ex_parameters *)parameters)
			->function;
	return call->shape == SHAPE_LAUNCH || call->is_graph ? word(parameters, 0) : 0;
}

/* CUPTI calls back from one place. */
static uint32_t stack_of(struct guest_thread *thread, uint32_t cbid, const void *parameters)
{
	return guest_stack_of(thread, guest_site(0, cbid, launched_by(&calls[cbid], parameters)));
}

static void read_parameters(const struct call *call, const void *parameters,
			    struct submitted *submitted)
{
	*submitted = (struct submitted){.dimensions = 0};
	if (!parameters)
		return;
	switch (call->shape) {
	case SHAPE_LAUNCH:
		read_launch(parameters, submitted);
		break;
	case SHAPE_LAUNCH_EX:
		read_launch_ex(parameters, submitted);
		break;
	case SHAPE_LINEAR:
		submitted->bytes = word(parameters, 2) * call->unit_bytes;
		submitted->stream =
			call->is_async ? (CUstream)(uintptr_t)word(parameters, 3) : NULL;
		submitted->has_stream = true;
		break;
	case SHAPE_PLANE:
		submitted->bytes = word(parameters, 3) * word(parameters, 4) * call->unit_bytes;
		submitted->stream =
			call->is_async ? (CUstream)(uintptr_t)word(parameters, 5) : NULL;
		submitted->has_stream = true;
		break;
	case SHAPE_SIZE:
		submitted->bytes = word(parameters, 1);
		break;
	case SHAPE_STREAM:
		submitted->stream = (CUstream)(uintptr_t)word(parameters, 0);
		submitted->has_stream = true;
		break;
	default:
		break;
	}
}

static uint32_t queue_of(struct guest_thread *thread, const struct call *call,
			 const struct cupti_callback_data *data, const struct submitted *submitted)
{
	return submitted->has_stream && data->context
		       ? cuda_queue_of(thread, data->context, data->context_id, submitted->stream,
				       call->is_per_thread)
		       : 0;
}

/* ---- records --------------------------------------------------------------------------------- */

static bool is_timed(enum call_class class)
{
	switch (class) {
	case CALL_KERNEL:
		return cuda_has_kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	case CALL_COPY:
		return cuda_has_kind(CUPTI_ACTIVITY_KIND_MEMCPY);
	case CALL_SET:
		return cuda_has_kind(CUPTI_ACTIVITY_KIND_MEMSET);
	default:
		return true;
	}
}

static bool may_launch(const struct call *call)
{
	return call->class >= CALL_KERNEL;
}

/* Writes the record of a launch, or of a call whose commands only the device's records list. */
static void put_launch(struct guest_thread *thread, const struct entered *entered,
		       const struct cupti_callback_data *data, uint64_t exit, int32_t result)
{
	const struct call *call = &calls[entered->cbid];
	const bool is_many = call->class == CALL_MANY;
	const uint32_t command = is_many ? COMMAND_GRAPH : call->command;
	uint32_t flags = RECORD_LAUNCH_PARENT, at, size, function, queue, kernel;
	struct record_launch *record;
	struct submitted submitted;

	read_parameters(call, data->function_parameters, &submitted);
	if (is_many || result)
		submitted.dimensions = 0;
	if (!is_many && !is_timed(call->class))
		flags |= LAUNCH_UNTIMED;
	if (!call->is_async && !is_many)
		flags |= LAUNCH_BLOCKING;
	if (!result && is_cooperative(call, data->function_parameters))
		flags |= LAUNCH_COOPERATIVE;
	if (entered->stack)
		flags |= RECORD_LAUNCH_STACK;
	function = function_of(thread, entered->cbid);
	queue = is_many ? 0 : queue_of(thread, call, data, &submitted);
	kernel = call->class == CALL_KERNEL ? cuda_kernel(thread, data->symbol_name) : 0;
	at = 2 * submitted.dimensions;
	size = (uint32_t)(sizeof(*record) + 8 * (at + (entered->stack ? 1 : 0)));
	record = guest_reserve(thread, EVENT_LAUNCH, size, function | command << 16 | flags << 24);
	if (!record)
		return;
	record->enter = entered->enter;
	record->exit = exit;
	record->correlation = result ? 0 : entered->correlation;
	record->bytes = submitted.bytes;
	record->handle = 0;
	record->result = result;
	record->queue = queue;
	record->kernel = kernel;
	record->dimensions = (uint16_t)submitted.dimensions;
	record->wait_count = 0;
	for (uint32_t i = 0; i < submitted.dimensions; i++) {
		record->values[i] = (uint64_t)submitted.grid[i] * submitted.block[i];
		record->values[submitted.dimensions + i] = submitted.block[i];
	}
	if (entered->stack)
		record->values[at] = entered->stack;
	ring_commit(&thread->writer);
}

static void put_call(struct guest_thread *thread, const struct entered *entered,
		     const struct cupti_callback_data *data, uint64_t exit, int32_t result)
{
	const struct call *call = &calls[entered->cbid];
	const bool is_wait = call->class == CALL_WAIT;
	uint32_t stack = entered->stack;
	struct submitted submitted;
	uint64_t argument;

	read_parameters(call, data->function_parameters, &submitted);
	if (!stack && guest_is_slow(entered->enter, exit))
		stack = guest_slow_stack(thread);
	else if (!stack && result)
		stack = stack_of(thread, entered->cbid, NULL);
	argument = is_wait ? queue_of(thread, call, data, &submitted) : submitted.bytes;
	if (may_launch(call) || (is_wait && cuda_queue_is_shared((uint32_t)argument)))
		argument = 0;
	guest_put_api_row(thread,
			  function_of(thread, entered->cbid) |
				  (uint32_t)(is_wait ? API_TYPE_WAIT : API_TYPE_CALL) << 16,
			  entered->enter, exit, result, argument, stack);
}

/* ---- start and end of a call ----------------------------------------------------------------- */

/* The attachment that ends. Commands launched after its last flush would look as if they never
 * completed, so they are not recorded. */
static _Atomic uint32_t ended_mode;

void cuda_calls_end(uint32_t mode)
{
	atomic_store(&ended_mode, mode);
}

static bool is_over(const struct guest_thread *thread)
{
	return thread->mode == atomic_load_explicit(&ended_mode, memory_order_relaxed);
}

/* Guest time of the call in ticks, without its short sections; 1 if they took all of it. Kept
 * instead of the timing itself, because thread-local storage is scarce in a library that is loaded
 * late. */
static uint32_t spent_since(const struct guest_thread *thread, const struct guest_timing *timing,
			    uint64_t enter)
{
	uint64_t taken = enter - timing->began, sections = thread->sections - timing->sections;
	uint64_t spent = taken > sections ? taken - sections : 1;

	return spent < UINT32_MAX ? (uint32_t)spent : UINT32_MAX;
}

static void on_enter(uint32_t cbid, const struct cupti_callback_data *data)
{
	struct guest_thread *thread = guest_enter();
	const struct call *call = &calls[cbid];
	struct guest_timing timing;
	struct entered *entered;

	/* Also without a recorder, because graphs decide how CUPTI is given back. */
	if (call->class == CALL_MANY)
		cuda_saw_graph(thread);
	if (!thread)
		return;
	if (GUEST_UNLIKELY(is_over(thread))) {
		if (may_launch(call))
			cuda_slot_pass(cuda_correlation(data->correlation_id));
		return;
	}
	/* All MAX_DEPTH calls were left by jumps. */
	if (inside.depth == MAX_DEPTH)
		inside.depth = 0;
	if (may_launch(call))
		guest_count_launch(thread);
	entered = &inside.calls[inside.depth++];
	guest_timing_begin(thread, &timing);
	entered->correlation = cuda_correlation(data->correlation_id);
	entered->cbid = cbid;
	entered->mode = thread->mode;
	entered->is_captured = entered->is_open = false;
	entered->stack = call->has_stack ? stack_of(thread, cbid, data->function_parameters) : 0;
	/* Before the call runs, because its command may complete before it returns. */
	if (may_launch(call) && is_timed((enum call_class)call->class))
		entered->is_open = cuda_slot_open(entered->correlation, thread->mode,
						  call->class == CALL_MANY);
	entered->enter = guest_now(thread);
	entered->spent = timing.began ? spent_since(thread, &timing, entered->enter) : 0;
}

/* Returns the call entered last with this id. Calls entered after it were left by jumps. */
static bool take_entered(uint32_t cbid, uint64_t correlation, struct entered *ret_entered)
{
	for (uint32_t i = inside.depth; i > 0; i--) {
		if (inside.calls[i - 1].cbid != cbid ||
		    inside.calls[i - 1].correlation != correlation)
			continue;
		*ret_entered = inside.calls[i - 1];
		inside.depth = i - 1;
		return true;
	}
	return false;
}

static void on_exit_of_call(uint32_t cbid, const struct cupti_callback_data *data)
{
	struct guest_thread *thread = guest_enter();
	uint64_t exit = thread ? guest_now(thread) : 0;
	struct guest_timing timing = {.sections = thread ? thread->sections : 0};
	struct entered entered;
	int32_t result = 0;
	bool launched;

	if (data->function_return_value)
		memcpy(&result, data->function_return_value, sizeof(result));
	if (!take_entered(cbid, cuda_correlation(data->correlation_id), &entered) || !thread ||
	    entered.mode != thread->mode) {
		if (!thread && !guest_is_idle())
			guest_missed(may_launch(&calls[cbid]) ? RING_TROUBLE_NO_RING_LAUNCH
							      : RING_TROUBLE_NO_RING);
		return;
	}
	launched = may_launch(&calls[cbid]) && !entered.is_captured;
	if (entered.is_open && (!launched || result))
		cuda_slot_close(entered.correlation);
	/* A second part of one call of the CUDA runtime: its commands are recorded as nodes of the
	 * first part. */
	if (launched && !result && !entered.is_open && is_timed((enum call_class)calls[cbid].class))
		launched = false;
	if (launched)
		put_launch(thread, &entered, data, exit, result);
	else
		put_call(thread, &entered, data, exit, result);
	timing.began = entered.spent ? entered.enter - entered.spent : 0;
	guest_timing_end(thread, &timing, entered.enter, exit);
}

static void put_captured(uint64_t node, uint64_t original, const struct entered *entered)
{
	struct guest_thread *thread = guest_enter();
	uint32_t function = 0, stack = 0;
	struct record_captured *record;

	if (!thread)
		return;
	if (entered && entered->mode == thread->mode) {
		function = function_of(thread, entered->cbid);
		stack = entered->stack ? entered->stack : stack_of(thread, entered->cbid, NULL);
	}
	record = guest_reserve(thread, RECORD_CAPTURED, sizeof(*record), function);
	if (!record)
		return;
	record->node = node;
	record->original = original;
	record->stack = stack;
	record->reserved = 0;
	ring_commit(&thread->writer);
}

static uint64_t node_id(CUgraphNode node)
{
	uint64_t id = 0;

	return cuda_cupti.cuptiGetGraphNodeId && node && !cuda_cupti.cuptiGetGraphNodeId(node, &id)
		       ? id
		       : 0;
}

/* Runs inside the call that creates the node. */
static void on_node_created(const struct cupti_graph_resource *graph)
{
	struct entered *entered = inside.depth ? &inside.calls[inside.depth - 1] : NULL;
	uint64_t id = graph && entered ? node_id(graph->node) : 0;

	if (entered)
		entered->is_captured = true;
	cuda_saw_graph(guest_enter());
	if (id)
		put_captured(id, 0, entered);
}

static void on_node_cloned(const struct cupti_graph_resource *graph)
{
	uint64_t id = graph ? node_id(graph->node) : 0;
	uint64_t original = id ? node_id(graph->original_node) : 0;

	if (original)
		put_captured(id, original, NULL);
}

static void on_resource(uint32_t cbid, const struct cupti_resource_data *data)
{
	switch (cbid) {
	case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
		guest_hook_exit();
		cuda_samples_add(data->context);
		cuda_helper_start();
		break;
	case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
		cuda_samples_remove(data->context);
		cuda_stream_ends(data->context, NULL);
		break;
	case CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING:
		cuda_stream_ends(data->context, data->stream);
		break;
	case CUPTI_CBID_RESOURCE_MODULE_LOADED:
		cuda_module_loaded(data->context, data->descriptor);
		break;
	case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
		on_node_created(data->descriptor);
		break;
	case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
		on_node_cloned(data->descriptor);
		break;
	default:
		cuda_handles_changed();
		break;
	}
}

void cuda_on_callback(void *user, cupti_domain domain, uint32_t cbid, const void *data)
{
	int saved = errno;

	guest_notice_fork();
	if (cuda_is_live() && domain == CUPTI_CB_DOMAIN_RESOURCE) {
		on_resource(cbid, data);
	} else if (cuda_is_live() && domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid < MAX_CALLS &&
		   calls[cbid].class != CALL_NONE) {
		const struct cupti_callback_data *call = data;

		if (call->site == CUPTI_API_ENTER) {
			on_enter(cbid, call);
		} else {
			on_exit_of_call(cbid, call);
			/* CUPTI is not ended in a call that releases something, because the end may
			 * wait for the device. */
			if (!calls[cbid].is_release)
				cuda_leave();
		}
	}
	errno = saved;
}
