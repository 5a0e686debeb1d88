/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/launch.c - kernels, host functions, and the common path of all work
 *
 * Runs in:  a program that uses CUDA; each host function on a thread of its own
 * Gets:     tasks
 * Gives:    positions on the timeline, or nodes while the stream is being captured
 * Why:      kernels do nothing but take time; SIM_NVIDIA sets how much
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

static pthread_cond_t host_done = PTHREAD_COND_INITIALIZER;

/* ---- tasks ----------------------------------------------------------------------------------- */

/* The first launch of a function loads it. */
static void load_function(struct sim_call *call, CUfunction function)
{
	const struct sim_hooks *hooks = sim_hooks();
	uint64_t start_ns = sim_now();

	if (atomic_exchange(&function->is_loaded, true) || !hooks)
		return;
	hooks->overhead(
		&(struct sim_overhead){.kind = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING,
				       .correlation_id = call->correlation_id,
				       .start_ns = start_ns,
				       .end_ns = sim_now() + 1});
}

static void set_memory(const struct sim_task *task)
{
	uint8_t *to = task->to;

	for (uint64_t i = 0; i < task->size_bytes; i += task->element_bytes)
		memcpy(to + i, &task->value, task->element_bytes);
}

struct host_call {
	CUstream stream;
	CUhostFn function;
	void *user;
	uint64_t at_ns;
};

static void *run_host(void *data)
{
	struct host_call host = *(struct host_call *)data;

	free(data);
	sim_sleep_until(host.at_ns);
	host.function(host.user);
	pthread_mutex_lock(&sim_lock);
	host.stream->host_count--;
	pthread_cond_broadcast(&host_done);
	pthread_mutex_unlock(&sim_lock);
	return NULL;
}

void sim_wait_for_hosts(CUstream stream)
{
	pthread_mutex_lock(&sim_lock);
	while (stream->host_count)
		pthread_cond_wait(&host_done, &sim_lock);
	pthread_mutex_unlock(&sim_lock);
}

static void start_host(CUstream stream, const struct sim_task *task)
{
	struct host_call *host = malloc(sizeof(*host));
	pthread_t thread;

	if (!host)
		return;
	pthread_mutex_lock(&sim_lock);
	stream->host_count++;
	*host = (struct host_call){stream, task->host, task->user, stream->free_ns};
	pthread_mutex_unlock(&sim_lock);
	if (pthread_create(&thread, NULL, run_host, host) == 0)
		pthread_detach(thread);
	else
		run_host(host);
}

static void describe_copy(const struct sim_task *task, struct sim_work *work)
{
	work->kind = task->is_peer ? SIM_PEER_COPY : SIM_COPY;
	work->copy_kind = task->copy_kind;
	work->source_kind = task->source_kind;
	work->destination_kind = task->destination_kind;
	if (!task->is_peer)
		return;
	work->source_device_id = task->source_context->device_id;
	work->source_context_id = task->source_context->id;
	work->destination_device_id = task->destination_context->device_id;
	work->destination_context_id = task->destination_context->id;
}

uint64_t sim_run(struct sim_call *call, CUstream stream, const struct sim_task *task,
		 uint64_t graph_node_id, uint32_t graph_id)
{
	struct sim_work work = {.correlation_id = call->correlation_id,
				.graph_node_id = graph_node_id,
				.graph_id = graph_id,
				.is_async = task->is_async,
				.size_bytes = task->size_bytes,
				.value = task->value};

	switch (task->type) {
	case SIM_TASK_KERNEL:
		load_function(call, task->function);
		work.kind = SIM_KERNEL;
		work.kernel = &task->function->kernel;
		work.shape = task->shape;
		return sim_place(stream, &work, sim_kernel_ns(task->function->kernel.name));
	case SIM_TASK_COPY:
		memmove(task->to, task->from, task->size_bytes);
		describe_copy(task, &work);
		return sim_place(stream, &work, sim_copy_ns(task->size_bytes));
	case SIM_TASK_SET:
		set_memory(task);
		work.kind = SIM_SET;
		work.destination_kind = task->destination_kind;
		return sim_place(stream, &work, sim_copy_ns(task->size_bytes));
	case SIM_TASK_HOST:
		start_host(stream, task);
		return 0;
	default:
		return 0;
	}
}

CUresult sim_submit(struct sim_call *call, CUstream handle, const struct sim_task *task)
{
	CUstream stream = sim_stream_of(handle);
	uint64_t end_ns;

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->capture)
		return task->is_async || task->type != SIM_TASK_COPY
			       ? sim_capture(stream, task)
			       : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	end_ns = sim_run(call, stream, task, 0, 0);
	if (!task->is_async)
		sim_sleep_until(end_ns);
	return CUDA_SUCCESS;
}

/* ---- launches -------------------------------------------------------------------------------- */

static bool is_shape(const struct sim_shape *shape)
{
	uint64_t threads = (uint64_t)shape->block[0] * shape->block[1] * shape->block[2];

	return threads > 0 && threads <= 1024 && shape->grid[0] && shape->grid[1] && shape->grid[2];
}

static CUresult launch(struct sim_call *call, CUfunction function, const struct sim_shape *shape,
		       CUstream stream)
{
	const struct sim_task task = {
		.type = SIM_TASK_KERNEL, .function = function, .shape = *shape, .is_async = true};

	if (!function || function->magic != SIM_FUNCTION_MAGIC)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!is_shape(shape))
		return CUDA_ERROR_INVALID_VALUE;
	return sim_submit(call, stream, &task);
}

static const char *symbol_of(CUfunction function)
{
	return function && function->magic == SIM_FUNCTION_MAGIC ? function->kernel.name : NULL;
}

/* What two functions are that differ in the stream that 0 stands for; the call's name and id tell
 * which. */
static CUstream stream_of(const struct sim_call *call, CUstream stream)
{
	bool is_per_thread = strstr(call->name, "_ptsz");

	return is_per_thread && !stream ? CU_STREAM_PER_THREAD : stream;
}

static CUresult launch_plain(struct sim_call *call,
			     const struct cupti_launch_kernel_parameters *shown, uint32_t type)
{
	const struct sim_shape shape = {.grid = {shown->grid_x, shown->grid_y, shown->grid_z},
					.block = {shown->block_x, shown->block_y, shown->block_z},
					.dynamic_shared_bytes = shown->shared_bytes,
					.launch_type = type};
	uint64_t blocks = (uint64_t)shown->grid_x * shown->grid_y * shown->grid_z;

	call->symbol = symbol_of(shown->function);
	if (sim_call_begin_in_context(call)) {
		if (type == CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE &&
		    blocks > (uint64_t)sim_options()->sms * 32)
			call->result = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
		else
			call->result = launch(call, shown->function, &shape,
					      stream_of(call, shown->stream));
	}
	return sim_call_end(call);
}

#define PLAIN(name, extra, type)                                              \
	const struct cupti_launch_kernel_parameters shown = {                 \
		function, grid_x,       grid_y, grid_z,     block_x, block_y, \
		block_z,  shared_bytes, stream, parameters, extra};           \
	SIM_CALL(name, &shown);                                               \
                                                                              \
	return launch_plain(&call, &shown, type)

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
			CUstream stream, void **parameters, void **extra)
{
	PLAIN(cuLaunchKernel, extra, CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR);
}

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			     unsigned block_x, unsigned block_y, unsigned block_z,
			     unsigned shared_bytes, CUstream stream, void **parameters,
			     void **extra)
{
	PLAIN(cuLaunchKernel_ptsz, extra, CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
				   unsigned grid_z, unsigned block_x, unsigned block_y,
				   unsigned block_z, unsigned shared_bytes, CUstream stream,
				   void **parameters)
{
	PLAIN(cuLaunchCooperativeKernel, NULL,
	      CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE);
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y,
					unsigned grid_z, unsigned block_x, unsigned block_y,
					unsigned block_z, unsigned shared_bytes, CUstream stream,
					void **parameters)
{
	PLAIN(cuLaunchCooperativeKernel_ptsz, NULL,
	      CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE);
}

static void read_attributes(const CUlaunchConfig *config, struct sim_shape *shape)
{
	for (unsigned i = 0; i < config->attribute_count; i++) {
		const CUlaunchAttribute *attribute = &config->attributes[i];

		if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
			shape->cluster[0] = attribute->value.cluster.x;
			shape->cluster[1] = attribute->value.cluster.y;
			shape->cluster[2] = attribute->value.cluster.z;
		} else if (attribute->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
			   attribute->value.cooperative) {
			shape->launch_type = CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE;
		}
	}
}

static CUresult launch_ex(struct sim_call *call,
			  const struct cupti_launch_kernel_ex_parameters *shown)
{
	const CUlaunchConfig *config = shown->config;
	struct sim_shape shape;

	call->symbol = symbol_of(shown->function);
	if (sim_call_begin_in_context(call) && !config) {
		call->result = CUDA_ERROR_INVALID_VALUE;
	} else if (!call->result) {
		shape = (struct sim_shape){
			.grid = {config->grid_x, config->grid_y, config->grid_z},
			.block = {config->block_x, config->block_y, config->block_z},
			.dynamic_shared_bytes = config->shared_bytes};
		read_attributes(config, &shape);
		call->result =
			launch(call, shown->function, &shape, stream_of(call, config->stream));
	}
	return sim_call_end(call);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
			  void **extra)
{
	const struct cupti_launch_kernel_ex_parameters shown = {config, function, parameters,
								extra};
	SIM_CALL(cuLaunchKernelEx, &shown);

	return launch_ex(&call, &shown);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **parameters,
			       void **extra)
{
	const struct cupti_launch_kernel_ex_parameters shown = {config, function, parameters,
								extra};
	SIM_CALL(cuLaunchKernelEx_ptsz, &shown);

	return launch_ex(&call, &shown);
}

struct host_parameters {
	CUstream stream;
	CUhostFn function;
	void *user;
};

static CUresult launch_host(struct sim_call *call, const struct host_parameters *shown)
{
	const struct sim_task task = {.type = SIM_TASK_HOST,
				      .host = shown->function,
				      .user = shown->user,
				      .is_async = true};

	if (sim_call_begin_in_context(call))
		call->result = shown->function
				       ? sim_submit(call, stream_of(call, shown->stream), &task)
				       : CUDA_ERROR_INVALID_VALUE;
	return sim_call_end(call);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user)
{
	const struct host_parameters shown = {stream, function, user};
	SIM_CALL(cuLaunchHostFunc, &shown);

	return launch_host(&call, &shown);
}

CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void *user)
{
	const struct host_parameters shown = {stream, function, user};
	SIM_CALL(cuLaunchHostFunc_ptsz, &shown);

	return launch_host(&call, &shown);
}
