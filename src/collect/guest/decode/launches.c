/* SPDX-License-Identifier: MIT
 *
 * collect/guest/decode/launches.c - turns calls, launches and executions of a guest into rows
 *
 * Runs in:  the recorder
 * Gets:     records of calls, launches, executions and nodes of graphs
 * Gives:    rows
 * Owns:     nothing; the tables belong to struct injected
 * Fails:    a record that makes no sense is counted; an execution without room to wait is a loss
 * Why:      A row may need the description of a queue, or of a call, from a ring that is read later
 * in the round. Such rows wait in struct pending_rows.
 */
#include "collect/guest/decode/private.h"

#include <stdlib.h>

#include "collect/correlation.h"
#include "collect/guest/record_texts.h"
#include "collect/processes.h"
#include "event/record_parts.h"

enum guest_section {
#define GUEST_SECTION(number, name, text) GUEST_SECTION_##name = (number),
#include "event/guest_sections.h"
};

/* Executions wait if their ring is read before the ring that describes their queue or a device of
 * their transfer; these take 32 MiB. */
enum { MAX_WAITING = 1 << 18 };

/* The clocks of guest and driver may differ by this much. A driver call takes longer, so the test
 * whether it lies within a runtime call still holds. */
#define CLOCK_ERROR_MAX_NS 1000

/* ---- calls and launches ---------------------------------------------------------------------- */

void decode_function(struct injected *injected, struct injected_ring *ring,
		     const struct record *head)
{
	const uint32_t index = head->detail - RECORD_FUNCTION_FIRST;
	const char *name;

	if (!record_texts(head, offsetof(struct record_function, texts), 0, &name, 1) ||
	    index >= MAX_RECORD_FUNCTION)
		return decode_broken(injected);
	if (!guest_budget_has(&injected->budget, strlen(name) + TEXT_BYTES))
		return decode_undescribed(injected);
	if (!ring->functions &&
	    guest_budget_hold(&injected->budget, MAX_RECORD_FUNCTION * sizeof(*ring->functions)))
		ring->functions = calloc(MAX_RECORD_FUNCTION, sizeof(*ring->functions));
	if (!ring->functions)
		return decode_undescribed(injected);
	ring->functions[index] = recording_string(injected->recording, name);
}

uint32_t decode_named_function(struct injected *injected, const struct injected_ring *ring,
			       uint32_t function)
{
	uint32_t index = function - RECORD_FUNCTION_FIRST;

	if (ring->functions && index < MAX_RECORD_FUNCTION && ring->functions[index])
		return ring->functions[index];
	decode_broken(injected);
	return 0;
}

static uint32_t function_string(struct injected *injected, const struct injected_ring *ring,
				uint32_t function)
{
	struct recording *recording = injected->recording;
	const char *name = guest_function_name(function);

	if (function >= RECORD_FUNCTION_FIRST)
		return decode_named_function(injected, ring, function);

	if (!*name) {
		decode_broken(injected);
		return 0;
	}
	if (!recording->functions[function])
		recording->functions[function] = recording_string(recording, name);
	return recording->functions[function];
}

void decode_api(struct injected *injected, struct injected_ring *ring, const struct record *head)
{
	const struct record_api *record = (const struct record_api *)head;
	struct event_api row;

	row = (struct event_api){
		.begin = record->begin,
		.end = record->end,
		.thread = ring->thread.id,
		.function_string = function_string(injected, ring, head->detail & 0xffff),
		.result = record->result,
		.type = head->detail >> 16 & 3,
		.argument = head->size >= RECORD_API_ARGUMENT_BYTES ? record->argument : 0,
		.stack = stacks_find(&ring->stacks, record->stack & ~RECORD_STACK_CARRIED),
	};
	row.stack_carried = row.stack && (record->stack & RECORD_STACK_CARRIED);
	if (row.type > API_TYPE_SIGNAL)
		return decode_broken(injected);
	if (row.type == API_TYPE_DUET && (head->detail & 0xffff) == GUEST_SECTION_HARVEST &&
	    row.end > row.begin)
		injected->harvest_ticks += row.end - row.begin;
	if (row.type == API_TYPE_WAIT && row.argument) {
		struct injected_queue *queue = decode_find_queue(injected, (uint32_t)row.argument);

		row.argument = queue ? queue->id : 0;
	}
	decode_put_row(injected, EVENT_API, ring->thread.id, &row);
}

uint64_t decode_correlation(const struct injected *injected, uint64_t correlation)
{
	return correlation ? correlation_of_attachment(correlation, injected->attachment) : 0;
}

/* clock 0: the clock of the device times is unknown, so they are left out. The devices of the
 * transfer are still the guest's. */
static void put_execution(struct injected *injected, const struct event_execution *execution,
			  uint32_t clock)
{
	const struct id_map *devices = &injected->ids.devices;
	struct trace_source source = decode_source(injected, execution->queue);
	struct event_execution row = *execution;

	row.source_device = decode_get_id(devices, row.source_device);
	row.destination_device = decode_get_id(devices, row.destination_device);
	if (!clock)
		row.valid = 0;
	if (row.valid)
		source.clock = clock;
	trace_writer_row(injected->recording->writer, EVENT_EXECUTION, &source, &row);
}

/* For a command without device times only the launch is known. Its execution row is written at
 * once. */
static void put_untimed(struct injected *injected, const struct event_launch *launch)
{
	struct event_execution row = {
		.seen = launch->exit,
		.correlation = launch->correlation,
		.process = injected->process->row.id,
		.queue = launch->queue,
		.migration = launch->command == COMMAND_MIGRATE ? MIGRATION_REQUESTED : 0,
	};

	put_execution(injected, &row, 0);
}

static void put_dependencies(struct injected *injected, uint32_t thread,
			     const struct record_launch *record, const uint64_t *handles)
{
	for (uint32_t i = 0; i < record->wait_count; i++) {
		struct event_dependency row = {
			.time = record->enter,
			.process = injected->process->row.id,
			.correlation = decode_correlation(injected, record->correlation),
			.handle = handles[i],
		};

		decode_put_row(injected, EVENT_DEPENDENCY, thread, &row);
	}
}

/* The guest's id of the launch's stack, with RECORD_STACK_CARRIED; 0: none. */
static uint64_t guest_stack_of(const struct record_launch *record)
{
	uint32_t before = 2u * record->dimensions + record->wait_count;
	uint32_t values = (uint32_t)(record->head.size - sizeof(*record)) / 8;

	return record->head.detail >> 24 & RECORD_LAUNCH_STACK && before < values
		       ? record->values[before]
		       : 0;
}

static uint32_t stack_of(const struct injected_ring *ring, const struct record_launch *record)
{
	return stacks_find(&ring->stacks, guest_stack_of(record) & ~(uint64_t)RECORD_STACK_CARRIED);
}

/* Returns the launch's stack, extended by kernel frames if a driver call of this thread lies within
 * the launch. The comparison is widened by the error of the clock conversion. */
static uint32_t launch_stack(struct injected *injected, const struct injected_ring *ring,
			     const struct record_launch *record)
{
	struct recording *recording = injected->recording;
	const uint32_t stack = stack_of(ring, record);
	struct driver_call call = {.tid = ring->thread.tid};
	uint64_t error_ns;

	if (!stack || !recording->submissions.catch_up)
		return stack;
	call.enter_ns = recording_host_ns(recording, record->enter, &error_ns);
	if (error_ns > CLOCK_ERROR_MAX_NS)
		return stack;
	call.enter_ns -= error_ns;
	call.exit_ns = recording_host_ns(recording, record->exit, &error_ns) + error_ns;
	return driver_calls_extend(recording, &call, stack);
}

/* Keeps a call whose commands the device reports, possibly from another ring and before this
 * record. */
static void remember_call(struct injected *injected, const struct event_launch *row,
			  uint64_t correlation)
{
	const struct node_call call = {
		.correlation = correlation,
		.enter = row->enter,
		.exit = row->exit,
		.thread = row->thread,
		.function_string = row->function_string,
		.stack = row->stack,
	};

	if (!correlation)
		return;
	if (!injected->nodes.calls &&
	    !guest_budget_hold(&injected->budget, NODE_CALLS * sizeof(*injected->nodes.calls)))
		return;
	graph_nodes_remember(&injected->nodes, &call);
}

/* Writes an API call whose commands are written as launches of their own. */
static void put_call(struct injected *injected, const struct event_launch *launch)
{
	struct event_api row = {
		.begin = launch->enter,
		.end = launch->exit,
		.thread = launch->thread,
		.function_string = launch->function_string,
		.result = launch->result,
		.type = API_TYPE_CALL,
		.stack = launch->stack,
	};

	decode_put_row(injected, EVENT_API, launch->thread, &row);
}

void decode_launch(struct injected *injected, struct injected_ring *ring, const struct record *head)
{
	const struct record_launch *record = (const struct record_launch *)head;
	struct injected_queue *queue;
	struct event_launch row;

	if (record->dimensions > 3 ||
	    head->size - sizeof(*record) < 8u * (2u * record->dimensions + record->wait_count))
		return decode_broken(injected);
	queue = decode_find_queue(injected, record->queue);
	row = (struct event_launch){
		.enter = record->enter,
		.exit = record->exit,
		.thread = ring->thread.id,
		.function_string = function_string(injected, ring, head->detail & 0xffff),
		.result = record->result,
		.queue = queue ? queue->id : 0,
		.correlation = decode_correlation(injected, record->correlation),
		.command = head->detail >> 16 & 0xff,
		.flags = head->detail >> 24 &
			 ~(uint32_t)(RECORD_LAUNCH_STACK | RECORD_LAUNCH_PARENT |
				     RECORD_LAUNCH_EXECUTED),
		.kernel = decode_map_id(injected, &injected->ids.codes, record->kernel,
					&injected->recording->last_code),
		.dimensions = record->dimensions,
		.bytes = record->bytes,
		.handle = record->handle,
		.stack = launch_stack(injected, ring, record),
	};
	row.stack_carried = row.stack && (guest_stack_of(record) & RECORD_STACK_CARRIED);
	if (row.command >= COMMAND_COUNT)
		row.command = COMMAND_OTHER;
	for (uint32_t i = 0; i < row.dimensions; i++) {
		row.global_size[i] = record->values[i];
		row.local_size[i] = record->values[row.dimensions + i];
	}
	if (head->detail >> 24 & RECORD_LAUNCH_PARENT) {
		remember_call(injected, &row, record->correlation);
		if (row.command == COMMAND_GRAPH)
			return put_call(injected, &row);
	}
	if (!ring->has_launched)
		process_thread_launches(injected->recording->processes, injected->process->row.pid,
					&ring->thread);
	ring->has_launched = true;
	decode_put_row(injected, EVENT_LAUNCH, ring->thread.id, &row);
	put_dependencies(injected, ring->thread.id, record, record->values + 2 * row.dimensions);
	if (row.result == 0 && (row.flags & LAUNCH_UNTIMED) &&
	    !(head->detail >> 24 & RECORD_LAUNCH_EXECUTED))
		put_untimed(injected, &row);
}

static void keep_waiting(struct injected *injected, const struct event_execution *row,
			 uint32_t guest_queue)
{
	if (injected->pending.executions_count >= MAX_WAITING ||
	    !decode_grow(injected, injected->pending.executions,
			 injected->pending.executions_capacity,
			 injected->pending.executions_count + 1)) {
		injected->losses.executions++;
		return;
	}
	injected->pending.executions[injected->pending.executions_count++] =
		(struct waiting_execution){.row = *row, .guest_queue = guest_queue};
}

static bool is_described(const struct injected *injected, const struct injected_queue *queue,
			 const struct event_execution *row)
{
	const struct id_map *devices = &injected->ids.devices;

	return (!queue || queue->described) &&
	       (!row->source_device || decode_get_id(devices, row->source_device)) &&
	       (!row->destination_device || decode_get_id(devices, row->destination_device));
}

/* Writes the execution now if its queue and devices are described; otherwise it waits. */
static void take_execution(struct injected *injected, const struct event_execution *row,
			   uint32_t guest_queue)
{
	struct injected_queue *queue = decode_find_queue(injected, guest_queue);

	if (is_described(injected, queue, row))
		put_execution(injected, row, queue ? queue->clock : 0);
	else
		keep_waiting(injected, row, guest_queue);
}

/* The row of a record with the times of a command, of which there are two kinds. */
#define EXECUTION(injected, head, record, of)                                       \
	((struct event_execution){                                                  \
		.queued = (record)->queued,                                         \
		.submitted = (record)->submitted,                                   \
		.started = (record)->started,                                       \
		.ended = (record)->ended,                                           \
		.seen = (record)->seen,                                             \
		.correlation = decode_correlation(injected, (record)->correlation), \
		.process = (injected)->process->row.id,                             \
		.queue = (of) ? (of)->id : 0,                                       \
		.valid = (head)->detail & EXECUTION_TIMED,                          \
		.status = (record)->status,                                         \
		.hardware_queue = record_get_hardware_queue((head)->detail),        \
	})

/* Fills in the members of the record's parts. The devices are the guest's until put_execution. */
static void set_parts(struct event_execution *row, const struct record_parts *parts)
{
	const struct record_transfer *transfer = &parts->transfer;

	row->source_memory = transfer->source_memory < MEMORY_COUNT ? transfer->source_memory : 0;
	row->destination_memory =
		transfer->destination_memory < MEMORY_COUNT ? transfer->destination_memory : 0;
	row->migration = transfer->migration < MIGRATION_COUNT ? transfer->migration : 0;
	row->source_device = transfer->source_device;
	row->destination_device = transfer->destination_device;
	row->cluster_x = parts->shape.cluster[0];
	row->cluster_y = parts->shape.cluster[1];
	row->cluster_z = parts->shape.cluster[2];
	row->local_bytes = parts->shape.local_bytes;
	row->graph = parts->graph;
}

void decode_execution(struct injected *injected, struct injected_ring *ring,
		      const struct record *head)
{
	const struct record_execution *record = (const struct record_execution *)head;
	struct injected_queue *queue;
	struct event_execution row;
	struct record_parts parts;

	if (!record_parts_read(head, sizeof(*record), &parts))
		return decode_broken(injected);
	queue = decode_find_queue(injected, record->queue);
	row = EXECUTION(injected, head, record, queue);
	set_parts(&row, &parts);
	take_execution(injected, &row, record->queue);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void put_node(struct injected *injected, struct waiting_node *node,
		     const struct node_call *call)
{
	graph_nodes_complete(&injected->nodes, injected->recording, node, call);
	decode_put_row(injected, EVENT_LAUNCH, node->launch.thread, &node->launch);
	take_execution(injected, &node->execution, node->guest_queue);
}

static bool keep_node(struct injected *injected, const struct waiting_node *node)
{
	struct graph_nodes *nodes = &injected->nodes;

	if (nodes->waiting_count >= MAX_NODES_WAITING ||
	    !decode_grow(injected, nodes->waiting, nodes->waiting_capacity,
			 nodes->waiting_count + 1))
		return false;
	nodes->waiting[nodes->waiting_count++] = *node;
	return true;
}

void decode_node(struct injected *injected, struct injected_ring *ring, const struct record *head)
{
	const struct record_node *record = (const struct record_node *)head;
	const struct node_call *call;
	struct injected_queue *queue;
	struct waiting_node node;
	struct record_parts parts;
	bool is_whole;

	if (record->dimensions > 3 ||
	    !record_parts_read(head, sizeof(*record) + 16u * record->dimensions, &parts))
		return decode_broken(injected);
	queue = decode_find_queue(injected, record->queue);
	node = (struct waiting_node){
		.parent = record->parent,
		.graph_node = record->graph_node,
		.guest_queue = record->queue,
		.launch = {.enter = record->seen,
			   .exit = record->seen,
			   .queue = queue ? queue->id : 0,
			   .correlation = decode_correlation(injected, record->correlation),
			   .command = head->detail >> 16 & 0xff,
			   .flags = LAUNCH_FURTHER,
			   .kernel = decode_map_id(injected, &injected->ids.codes, record->kernel,
						   &injected->recording->last_code),
			   .dimensions = record->dimensions,
			   .bytes = record->bytes},
		.execution = EXECUTION(injected, head, record, queue),
	};
	set_parts(&node.execution, &parts);
	node.execution.graph_node = record->graph_node;
	if (head->detail & RECORD_NODE_COOPERATIVE)
		node.launch.flags |= LAUNCH_COOPERATIVE;
	if (node.launch.command >= COMMAND_COUNT)
		node.launch.command = COMMAND_OTHER;
	for (uint32_t i = 0; i < record->dimensions; i++) {
		node.launch.global_size[i] = record->values[i];
		node.launch.local_size[i] = record->values[record->dimensions + i];
	}
	call = graph_nodes_find(&injected->nodes, record->parent);
	/* The records of the call or of the captured node may be in a ring that is read later in
	 * this round. */
	is_whole = !record->parent ||
		   (call && (!record->graph_node ||
			     graph_nodes_is_captured(&injected->nodes, record->graph_node)));
	if (is_whole || !keep_node(injected, &node))
		put_node(injected, &node, call);
}

void decode_captured(struct injected *injected, struct injected_ring *ring,
		     const struct record *head)
{
	const struct record_captured *record = (const struct record_captured *)head;
	struct captured captured;

	if (!record->node)
		return decode_broken(injected);
	if (!guest_budget_hold(&injected->budget, CAPTURED_BYTES))
		return decode_undescribed(injected);
	if (record->original) {
		graph_nodes_copy(&injected->nodes, record->node, record->original);
		return;
	}
	captured = (struct captured){
		function_string(injected, ring, head->detail & 0xffff),
		stacks_find(&ring->stacks, record->stack & ~RECORD_STACK_CARRIED)};
	graph_nodes_capture(&injected->nodes, record->node, &captured);
}

/* final: the calls will not arrive any more, so all nodes are written. */
static void decode_waiting_nodes(struct injected *injected, bool final)
{
	struct graph_nodes *nodes = &injected->nodes;
	size_t left = 0;

	for (size_t i = 0; i < nodes->waiting_count; i++) {
		struct waiting_node node = nodes->waiting[i];
		const struct node_call *call = graph_nodes_find(nodes, node.parent);

		if (call || final)
			put_node(injected, &node, call);
		else
			nodes->waiting[left++] = node;
	}
	nodes->waiting_count = left;
}

/* ---- pending rows ---------------------------------------------------------------------------- */

void decode_waiting(struct injected *injected, bool final)
{
	size_t left = 0;

	if (final)
		decode_put_waiting_queues(injected, 0);
	decode_waiting_nodes(injected, final);
	for (size_t i = 0; i < injected->pending.executions_count; i++) {
		struct waiting_execution *waiting = &injected->pending.executions[i];
		struct injected_queue *queue = decode_find_queue(injected, waiting->guest_queue);

		if (final || is_described(injected, queue, &waiting->row)) {
			put_execution(injected, &waiting->row, queue ? queue->clock : 0);
		} else {
			injected->pending.executions[left++] = *waiting;
		}
	}
	injected->pending.executions_count = left;
}
