/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/graph.c - graphs of the simulated driver, and streams captured into them
 *
 * Runs in:  a program that uses CUDA
 * Owns:     graphs, their nodes, and executable graphs, which are copies
 * Why:      the nodes of one launch run one after the other, in the order in which they were added.
 *           That order satisfies all dependencies, and makes the records reproducible. A record
 *           refers to the copy of the node and to the executable graph, as in the real library.
 */
#include <stdlib.h>

#include "driver.h"

struct CUgraphNode_st {
	enum sim_magic magic;
	uint64_t id;
	CUgraph graph;
	struct sim_task task;
	CUgraphNode original, next;
};

struct CUgraph_st {
	enum sim_magic magic;
	uint32_t id;
	CUgraphNode first, *end;
};

struct CUgraphExec_st {
	enum sim_magic magic;
	uint32_t id;
	CUgraph graph;
};

static _Atomic uint32_t graph_ids = 1, graph_execs;
static _Atomic uint64_t node_ids = 1;

uint64_t sim_node_id(CUgraphNode node)
{
	return node && node->magic == SIM_NODE_MAGIC ? node->id : 0;
}

uint32_t sim_graph_id(CUgraph graph)
{
	return graph && graph->magic == SIM_GRAPH_MAGIC ? graph->id : 0;
}

uint32_t sim_graph_exec_count(void)
{
	return graph_execs;
}

uint32_t sim_graph_exec_id(CUgraphExec graph_exec)
{
	return graph_exec && graph_exec->magic == SIM_EXEC_MAGIC ? graph_exec->id : 0;
}

static void tell(uint32_t cbid, struct cupti_graph_resource descriptor)
{
	sim_resource(cbid, sim_current(), NULL, &descriptor);
}

static uint32_t node_type(const struct sim_task *task)
{
	switch (task->type) {
	case SIM_TASK_KERNEL:
		return CU_GRAPH_NODE_TYPE_KERNEL;
	case SIM_TASK_COPY:
		return CU_GRAPH_NODE_TYPE_MEMCPY;
	case SIM_TASK_SET:
		return CU_GRAPH_NODE_TYPE_MEMSET;
	case SIM_TASK_HOST:
		return CU_GRAPH_NODE_TYPE_HOST;
	default:
		return CU_GRAPH_NODE_TYPE_EMPTY;
	}
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static CUgraph new_graph(void)
{
	CUgraph graph = calloc(1, sizeof(*graph));

	if (graph) {
		graph->magic = SIM_GRAPH_MAGIC;
		graph->id = atomic_fetch_add(&graph_ids, 1);
		graph->end = &graph->first;
	}
	return graph;
}

static CUgraphNode new_node(CUgraph graph, const struct sim_task *task, CUgraphNode original)
{
	CUgraphNode node = calloc(1, sizeof(*node));

	if (node) {
		*node = (struct CUgraphNode_st){.magic = SIM_NODE_MAGIC,
						.id = atomic_fetch_add(&node_ids, 1),
						.graph = graph,
						.task = *task,
						.original = original};
		pthread_mutex_lock(&sim_lock);
		*graph->end = node;
		graph->end = &node->next;
		pthread_mutex_unlock(&sim_lock);
	}
	return node;
}

static void free_graph(CUgraph graph)
{
	while (graph->first) {
		CUgraphNode next = graph->first->next;

		graph->first->magic = 0;
		free(graph->first);
		graph->first = next;
	}
	graph->magic = 0;
	free(graph);
}

CUresult sim_graph_create(CUgraph *ret_graph)
{
	CUgraph graph = new_graph();

	if (!graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_graph = graph;
	tell(CUPTI_CBID_RESOURCE_GRAPH_CREATED, (struct cupti_graph_resource){.graph = graph});
	return CUDA_SUCCESS;
}

CUresult sim_graph_add(CUgraph graph, const struct sim_task *task, CUgraphNode *ret_node)
{
	CUgraphNode node;

	tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING,
	     (struct cupti_graph_resource){.graph = graph, .node_type = node_type(task)});
	node = new_node(graph, task, NULL);
	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_node = node;
	tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
	     (struct cupti_graph_resource){
		     .graph = graph, .node = node, .node_type = node_type(task)});
	return CUDA_SUCCESS;
}

CUresult cuGraphCreate(CUgraph *ret_graph, unsigned flags)
{
	const struct {
		CUgraph *ret_graph;
		unsigned flags;
	} parameters = {ret_graph, flags};
	SIM_CALL(cuGraphCreate, &parameters);

	if (sim_call_begin(&call))
		call.result = ret_graph && !flags ? sim_graph_create(ret_graph)
						  : CUDA_ERROR_INVALID_VALUE;
	return sim_call_end(&call);
}

CUresult cuGraphDestroy(CUgraph graph)
{
	SIM_CALL(cuGraphDestroy, &graph);

	if (sim_call_begin(&call)) {
		if (!sim_graph_id(graph)) {
			call.result = CUDA_ERROR_INVALID_VALUE;
		} else {
			tell(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING,
			     (struct cupti_graph_resource){.graph = graph});
			free_graph(graph);
		}
	}
	return sim_call_end(&call);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *ret_node, CUgraph graph,
				 const CUgraphNode *dependencies, size_t count,
				 const CUDA_KERNEL_NODE_PARAMS_v2 *parameters)
{
	const struct {
		CUgraphNode *ret_node;
		CUgraph graph;
		const CUgraphNode *dependencies;
		size_t count;
		const CUDA_KERNEL_NODE_PARAMS_v2 *parameters;
	} shown = {ret_node, graph, dependencies, count, parameters};
	struct sim_task task = {.type = SIM_TASK_KERNEL, .is_async = true};
	SIM_CALL(cuGraphAddKernelNode_v2, &shown);

	if (!sim_call_begin(&call))
		return sim_call_end(&call);
	if (!ret_node || !sim_graph_id(graph) || !parameters || !parameters->function ||
	    parameters->function->magic != SIM_FUNCTION_MAGIC || !!count != !!dependencies) {
		call.result = CUDA_ERROR_INVALID_VALUE;
	} else {
		task.function = parameters->function;
		task.shape = (struct sim_shape){
			.grid = {parameters->grid_x, parameters->grid_y, parameters->grid_z},
			.block = {parameters->block_x, parameters->block_y, parameters->block_z},
			.dynamic_shared_bytes = parameters->shared_bytes};
		call.result = sim_graph_add(graph, &task, ret_node);
	}
	return sim_call_end(&call);
}

/* ---- executable graphs ----------------------------------------------------------------------- */

static CUresult instantiate(CUgraph graph, CUgraphExec *ret_graph_exec)
{
	CUgraphExec graph_exec = calloc(1, sizeof(*graph_exec));
	CUgraph copy = new_graph();

	if (!graph_exec || !copy) {
		free(graph_exec);
		free(copy);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*graph_exec = (struct CUgraphExec_st){
		.magic = SIM_EXEC_MAGIC, .id = atomic_fetch_add(&graph_ids, 1), .graph = copy};
	tell(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING,
	     (struct cupti_graph_resource){.graph = graph});
	for (CUgraphNode node = graph->first; node; node = node->next) {
		CUgraphNode clone = new_node(copy, &node->task, node);

		if (clone)
			tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
			     (struct cupti_graph_resource){.graph = copy,
							   .original_graph = graph,
							   .node = clone,
							   .original_node = node,
							   .node_type = node_type(&node->task)});
	}
	tell(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED,
	     (struct cupti_graph_resource){.graph = graph, .graph_exec = graph_exec});
	*ret_graph_exec = graph_exec;
	graph_execs++;
	return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret_graph_exec, CUgraph graph,
				     unsigned long long flags)
{
	const struct {
		CUgraphExec *ret_graph_exec;
		CUgraph graph;
		unsigned long long flags;
	} parameters = {ret_graph_exec, graph, flags};
	SIM_CALL(cuGraphInstantiateWithFlags, &parameters);

	if (sim_call_begin(&call))
		call.result = ret_graph_exec && sim_graph_id(graph)
				      ? instantiate(graph, ret_graph_exec)
				      : CUDA_ERROR_INVALID_VALUE;
	return sim_call_end(&call);
}

CUresult cuGraphExecDestroy(CUgraphExec graph_exec)
{
	SIM_CALL(cuGraphExecDestroy, &graph_exec);

	if (sim_call_begin(&call)) {
		if (!sim_graph_exec_id(graph_exec)) {
			call.result = CUDA_ERROR_INVALID_VALUE;
		} else {
			tell(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
			     (struct cupti_graph_resource){.graph_exec = graph_exec});
			free_graph(graph_exec->graph);
			graph_execs--;
			graph_exec->magic = 0;
			free(graph_exec);
		}
	}
	return sim_call_end(&call);
}

static void launch(struct sim_call *call, CUgraphExec graph_exec, CUstream stream)
{
	struct sim_work whole = {.kind = SIM_GRAPH,
				 .device_id = stream->context->device_id,
				 .context_id = stream->context->id,
				 .stream_id = stream->id,
				 .correlation_id = call->correlation_id,
				 .graph_id = graph_exec->id,
				 .queued_ns = sim_now()};
	uint64_t end_ns;

	pthread_mutex_lock(&sim_lock);
	whole.start_ns = stream->free_ns;
	pthread_mutex_unlock(&sim_lock);
	if (whole.start_ns < whole.queued_ns)
		whole.start_ns = whole.queued_ns + (uint64_t)(sim_options()->latency_us * 1000);
	whole.end_ns = whole.start_ns;
	for (CUgraphNode node = graph_exec->graph->first; node; node = node->next) {
		end_ns = sim_run(call, stream, &node->task, node->id, graph_exec->id);
		if (end_ns > whole.end_ns)
			whole.end_ns = end_ns;
	}
	if (call->hooks)
		call->hooks->work(&whole);
}

CUresult cuGraphLaunch(CUgraphExec graph_exec, CUstream stream)
{
	const struct cupti_graph_launch_parameters parameters = {graph_exec, stream};
	CUstream found;
	SIM_CALL(cuGraphLaunch, &parameters);

	if (sim_call_begin_in_context(&call)) {
		found = sim_stream_of(stream);
		if (!sim_graph_exec_id(graph_exec))
			call.result = CUDA_ERROR_INVALID_VALUE;
		else if (!found)
			call.result = CUDA_ERROR_INVALID_HANDLE;
		else if (found->capture)
			call.result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		else
			launch(&call, graph_exec, found);
	}
	return sim_call_end(&call);
}

/* ---- capture --------------------------------------------------------------------------------- */

CUresult sim_capture(CUstream stream, const struct sim_task *task)
{
	CUgraphNode node;
	CUresult result = sim_graph_add(stream->capture, task, &node);

	if (!result) {
		pthread_mutex_lock(&sim_lock);
		stream->capture_last = node;
		pthread_mutex_unlock(&sim_lock);
	}
	return result;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	const struct {
		CUstream stream;
		CUstreamCaptureMode mode;
	} parameters = {stream, mode};
	CUstream found;
	CUgraph graph;
	SIM_CALL(cuStreamBeginCapture_v2, &parameters);

	if (sim_call_begin_in_context(&call)) {
		found = sim_stream_of(stream);
		if (!found)
			call.result = CUDA_ERROR_INVALID_HANDLE;
		else if (found->is_null || found->capture)
			call.result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		else
			call.result = sim_graph_create(&graph);
		if (!call.result) {
			found->capture_last = NULL;
			found->capture = graph;
		}
	}
	return sim_call_end(&call);
}

/* Those that joined by an event go with it. */
static void end_capture(CUcontext context, CUgraph graph)
{
	pthread_mutex_lock(&sim_lock);
	for (CUstream one = context->streams; one; one = one->next) {
		if (one->capture == graph)
			one->capture = NULL;
	}
	if (context->per_thread.capture == graph)
		context->per_thread.capture = NULL;
	pthread_mutex_unlock(&sim_lock);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *ret_graph)
{
	const struct {
		CUstream stream;
		CUgraph *ret_graph;
	} parameters = {stream, ret_graph};
	CUstream found;
	SIM_CALL(cuStreamEndCapture, &parameters);

	if (sim_call_begin_in_context(&call)) {
		found = sim_stream_of(stream);
		if (!found)
			call.result = CUDA_ERROR_INVALID_HANDLE;
		else if (!found->capture)
			call.result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
		else if (!ret_graph)
			call.result = CUDA_ERROR_INVALID_VALUE;
		if (!call.result) {
			*ret_graph = found->capture;
			end_capture(found->context, found->capture);
		}
	}
	return sim_call_end(&call);
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *ret_status)
{
	const struct {
		CUstream stream;
		CUstreamCaptureStatus *ret_status;
	} parameters = {stream, ret_status};
	CUstream found;
	SIM_CALL(cuStreamIsCapturing, &parameters);

	if (sim_call_begin_in_context(&call)) {
		found = sim_stream_of(stream);
		if (!found || !ret_status)
			call.result = CUDA_ERROR_INVALID_HANDLE;
		else
			*ret_status = found->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE
						     : CU_STREAM_CAPTURE_STATUS_NONE;
	}
	return sim_call_end(&call);
}
