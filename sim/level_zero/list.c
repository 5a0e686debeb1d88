/* SPDX-License-Identifier: MIT
 *
 * sim/level_zero/list.c - contexts, command lists, appends
 *
 * Runs in:  the test program
 * Owns:     the commands of each list
 * Fails:    with the result that the specification names
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* ---- contexts and lists ---------------------------------------------------------------------- */

ze_context_handle_t sim_default_context(void)
{
	static struct _ze_context_handle_t context = {.object = {SIM_CONTEXT, SIM_CONTEXT}};

	return &context;
}

static ze_result_t create_context(ze_driver_handle_t driver, const ze_context_desc_t *desc,
				  ze_context_handle_t *ret_context)
{
	if (!sim_is(driver, SIM_DRIVER) || !desc || !ret_context)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	*ret_context = sim_new(SIM_CONTEXT, sizeof(**ret_context));
	return ZE_RESULT_SUCCESS;
}

static ze_result_t destroy_context(ze_context_handle_t context)
{
	if (!sim_is(context, SIM_CONTEXT))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	sim_free(context);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t create_list(ze_context_handle_t context, ze_device_handle_t device,
			       const ze_command_list_desc_t *desc,
			       ze_command_list_handle_t *ret_list)
{
	ze_command_list_handle_t list;

	if (!sim_is(context, SIM_CONTEXT) || !sim_is(device, SIM_DEVICE) || !ret_list)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	list = sim_new(SIM_LIST, sizeof(*list));
	list->device = device;
	*ret_list = list;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t create_immediate(ze_context_handle_t context, ze_device_handle_t device,
				    const ze_command_queue_desc_t *desc,
				    ze_command_list_handle_t *ret_list)
{
	ze_result_t result = create_list(context, device, NULL, ret_list);

	if (result != ZE_RESULT_SUCCESS)
		return result;
	(*ret_list)->queue = sim_queue_new(device, desc);
	if ((*ret_list)->queue)
		return ZE_RESULT_SUCCESS;
	sim_free(*ret_list);
	*ret_list = NULL;
	return ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

static ze_result_t reset_list(ze_command_list_handle_t list)
{
	if (!sim_is(list, SIM_LIST))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	for (uint32_t i = 0; i < list->count; i++)
		free(list->commands[i].waits);
	list->count = 0;
	list->is_closed = false;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t destroy_list(ze_command_list_handle_t list)
{
	ze_result_t result = reset_list(list);

	if (result != ZE_RESULT_SUCCESS)
		return result;
	if (list->queue)
		sim_queue_free(list->queue);
	free(list->commands);
	sim_free(list);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t keep(ze_command_list_handle_t list, const struct sim_command *command)
{
	if (list->count == list->capacity) {
		uint32_t capacity = list->capacity ? 2 * list->capacity : 16;
		struct sim_command *larger = realloc(list->commands, capacity * sizeof(*larger));

		if (!larger)
			return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
		list->commands = larger;
		list->capacity = capacity;
	}
	list->commands[list->count++] = *command;
	return ZE_RESULT_SUCCESS;
}

ze_result_t sim_list_clone(ze_command_list_handle_t list, ze_command_list_handle_t *ret_list)
{
	ze_command_list_handle_t clone;

	if (!sim_is(list, SIM_LIST) || !ret_list)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (list->queue || !list->is_closed)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	clone = sim_new(SIM_LIST, sizeof(*clone));
	clone->device = list->device;
	clone->is_closed = true;
	for (uint32_t i = 0; i < list->count; i++) {
		struct sim_command command = list->commands[i];

		command.waits = calloc(command.wait_count + 1, sizeof(*command.waits));
		memcpy(command.waits, list->commands[i].waits,
		       command.wait_count * sizeof(*command.waits));
		keep(clone, &command);
	}
	*ret_list = clone;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t close_list(ze_command_list_handle_t list)
{
	if (!sim_is(list, SIM_LIST))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	list->is_closed = true;
	return ZE_RESULT_SUCCESS;
}

/* ---- appends --------------------------------------------------------------------------------- */

/* Arguments that every append has. */
struct order {
	ze_event_handle_t event;
	uint32_t wait_count;
	ze_event_handle_t *waits;
};

static ze_result_t check(ze_command_list_handle_t list, const struct order *order)
{
	if (!sim_is(list, SIM_LIST) || (order->event && !sim_is(order->event, SIM_EVENT)))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (list->is_closed || (order->wait_count && !order->waits))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	for (uint32_t i = 0; i < order->wait_count; i++)
		if (!sim_is(order->waits[i], SIM_EVENT))
			return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t append(ze_command_list_handle_t list, struct sim_command *command,
			  const struct order *order)
{
	ze_result_t result = check(list, order);

	if (result != ZE_RESULT_SUCCESS)
		return result;
	command->event = order->event;
	command->wait_count = order->wait_count;
	command->waits = calloc(order->wait_count + 1, sizeof(*command->waits));
	memcpy(command->waits, order->waits, order->wait_count * sizeof(*command->waits));
	if (!list->queue)
		return keep(list, command);
	result = sim_queue_put(list->queue, command, 1, NULL);
	free(command->waits);
	if (result == ZE_RESULT_SUCCESS && list->queue->is_synchronous)
		result = sim_queue_wait(list->queue, UINT64_MAX);
	return result;
}

ze_result_t sim_append_kernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
			      const ze_group_count_t *groups, ze_event_handle_t event,
			      uint32_t wait_count, ze_event_handle_t *waits)
{
	struct sim_command command = {.kind = SIM_COMMAND_KERNEL};

	if (!sim_is(kernel, SIM_KERNEL) || !groups)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!kernel->group[0])
		return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
	strcpy(command.name, kernel->module->kernels[kernel->index].name);
	command.address = kernel->module->kernels[kernel->index].address;
	memcpy(command.arguments, kernel->arguments, sizeof(command.arguments));
	command.items = (uint64_t)groups->groupCountX * groups->groupCountY * groups->groupCountZ *
			kernel->group[0] * kernel->group[1] * kernel->group[2];
	return append(list, &command, &(struct order){event, wait_count, waits});
}

static ze_result_t append_copy(ze_command_list_handle_t list, void *to, const void *from,
			       size_t bytes, ze_event_handle_t event, uint32_t wait_count,
			       ze_event_handle_t *waits)
{
	struct sim_command command = {
		.kind = SIM_COMMAND_COPY, .to = to, .from = from, .bytes = bytes};

	if (!to || !from)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	return append(list, &command, &(struct order){event, wait_count, waits});
}

static ze_result_t append_copy_from(ze_command_list_handle_t list, void *to,
				    ze_context_handle_t from_context, const void *from,
				    size_t bytes, ze_event_handle_t event, uint32_t wait_count,
				    ze_event_handle_t *waits)
{
	return sim_is(from_context, SIM_CONTEXT)
		       ? append_copy(list, to, from, bytes, event, wait_count, waits)
		       : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}

static ze_result_t append_fill(ze_command_list_handle_t list, void *memory, const void *pattern,
			       size_t pattern_bytes, size_t bytes, ze_event_handle_t event,
			       uint32_t wait_count, ze_event_handle_t *waits)
{
	struct sim_command command = {.kind = SIM_COMMAND_FILL,
				      .to = memory,
				      .bytes = bytes,
				      .pattern_bytes = pattern_bytes};

	if (!memory || !pattern)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	if (!pattern_bytes || pattern_bytes > SIM_PATTERN_BYTES)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	memcpy(command.pattern, pattern, pattern_bytes);
	return append(list, &command, &(struct order){event, wait_count, waits});
}

static ze_result_t append_barrier(ze_command_list_handle_t list, ze_event_handle_t event,
				  uint32_t wait_count, ze_event_handle_t *waits)
{
	struct sim_command command = {.kind = SIM_COMMAND_BARRIER};

	return append(list, &command, &(struct order){event, wait_count, waits});
}

static ze_result_t append_timestamp(ze_command_list_handle_t list, uint64_t *to,
				    ze_event_handle_t event, uint32_t wait_count,
				    ze_event_handle_t *waits)
{
	struct sim_command command = {.kind = SIM_COMMAND_TIMESTAMP, .to = to};

	return append(list, &command, &(struct order){event, wait_count, waits});
}

static ze_result_t append_about(ze_command_list_handle_t list, ze_event_handle_t event,
				enum sim_command_kind kind)
{
	struct sim_command command = {.kind = kind, .subject = event};

	if (!sim_is(event, SIM_EVENT))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	return append(list, &command, &(struct order){0});
}

static ze_result_t append_signal(ze_command_list_handle_t list, ze_event_handle_t event)
{
	return append_about(list, event, SIM_COMMAND_SIGNAL);
}

static ze_result_t append_reset(ze_command_list_handle_t list, ze_event_handle_t event)
{
	return append_about(list, event, SIM_COMMAND_RESET);
}

static ze_result_t append_wait(ze_command_list_handle_t list, uint32_t count,
			       ze_event_handle_t *events)
{
	return append_barrier(list, NULL, count, events);
}

void sim_fill_contexts(ze_context_dditable_t *table)
{
	table->pfnCreate = create_context;
	table->pfnDestroy = destroy_context;
}

void sim_fill_lists(ze_command_list_dditable_t *table)
{
	table->pfnCreate = create_list;
	table->pfnCreateImmediate = create_immediate;
	table->pfnDestroy = destroy_list;
	table->pfnClose = close_list;
	table->pfnReset = reset_list;
	table->pfnAppendLaunchKernel = sim_append_kernel;
	table->pfnAppendLaunchCooperativeKernel = sim_append_kernel;
	table->pfnAppendMemoryCopy = append_copy;
	table->pfnAppendMemoryCopyFromContext = append_copy_from;
	table->pfnAppendMemoryFill = append_fill;
	table->pfnAppendBarrier = append_barrier;
	table->pfnAppendWriteGlobalTimestamp = append_timestamp;
	table->pfnAppendSignalEvent = append_signal;
	table->pfnAppendEventReset = append_reset;
	table->pfnAppendWaitOnEvents = append_wait;
}
