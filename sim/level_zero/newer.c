/* SPDX-License-Identifier: MIT
 *
 * sim/level_zero/newer.c - functions that installed headers of Level Zero may be too old for, by
 * their slots
 *
 * Runs in:  the test program
 * Gets:     a table of the loader's version
 * Gives:    the functions for that version's slots
 * Owns:     nothing
 * Source:   ze_ddi.h and zer_ddi.h of Level Zero 1.17, the loader's public releases
 */
#include "sim.h"

#define EXPORTED __attribute__((visibility("default")))

enum {
	DRIVER_DEFAULT_CONTEXT = 8,
	LIST_LAUNCH_WITH = 36,
	LIST_APPEND_LISTS = 40,
	LIST_EXP_CLONE = 0,
	LIST_EXP_APPEND_LISTS = 1,
	ZER_DEFAULT_CONTEXT = 3,
	COOPERATIVE_DESC = 0x20036
};

static bool has(ze_api_version_t version, uint32_t minor)
{
	return version >= (1u << 16 | minor);
}

/* As Intel's driver does, it refuses any other description. */
static ze_result_t append_kernel_with(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
				      const ze_group_count_t *groups, const void *next,
				      ze_event_handle_t event, uint32_t wait_count,
				      ze_event_handle_t *waits)
{
	for (const ze_base_desc_t *desc = next; desc; desc = desc->pNext)
		if ((uint32_t)desc->stype != COOPERATIVE_DESC)
			return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
	return sim_append_kernel(list, kernel, groups, event, wait_count, waits);
}

/* ---- lists in a list ------------------------------------------------------------------------- */

static ze_result_t append_lists(ze_command_list_handle_t list, uint32_t count,
				ze_command_list_handle_t *lists, ze_event_handle_t signal,
				uint32_t wait_count, ze_event_handle_t *waits)
{
	struct sim_command barrier = {.kind = SIM_COMMAND_BARRIER};
	ze_result_t result = ZE_RESULT_SUCCESS;

	if (!sim_is(list, SIM_LIST) || !list->queue || (signal && !sim_is(signal, SIM_EVENT)))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	for (uint32_t i = 0; i < count; i++)
		if (!sim_is(lists[i], SIM_LIST) || lists[i]->queue || !lists[i]->is_closed)
			return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	barrier.waits = waits;
	barrier.wait_count = wait_count;
	if (wait_count)
		result = sim_queue_put(list->queue, &barrier, 1, NULL);
	for (uint32_t i = 0; i < count && result == ZE_RESULT_SUCCESS; i++)
		result = sim_queue_put(list->queue, lists[i]->commands, lists[i]->count, NULL);
	barrier.wait_count = 0;
	barrier.event = signal;
	if (signal && result == ZE_RESULT_SUCCESS)
		result = sim_queue_put(list->queue, &barrier, 1, NULL);
	if (result == ZE_RESULT_SUCCESS && list->queue->is_synchronous)
		result = sim_queue_wait(list->queue, UINT64_MAX);
	return result;
}

static ze_result_t append_lists_with(ze_command_list_handle_t list, uint32_t count,
				     ze_command_list_handle_t *lists, const void *next,
				     ze_event_handle_t signal, uint32_t wait_count,
				     ze_event_handle_t *waits)
{
	return append_lists(list, count, lists, signal, wait_count, waits);
}

static ze_result_t wait_for_list(ze_command_list_handle_t list, uint64_t timeout_ns)
{
	return sim_is(list, SIM_LIST) && list->queue ? sim_queue_wait(list->queue, timeout_ns)
						     : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}

/* ---- contexts that nobody makes -------------------------------------------------------------- */

static ze_context_handle_t default_context(ze_driver_handle_t of)
{
	return sim_is(of, SIM_DRIVER) ? sim_default_context() : NULL;
}

static ze_context_handle_t default_context_of_first(void)
{
	return sim_default_context();
}

/* ---- tables ---------------------------------------------------------------------------------- */

void sim_fill_newer_drivers(ze_api_version_t version, void **slots)
{
	if (has(version, 14))
		slots[DRIVER_DEFAULT_CONTEXT] = (void *)default_context;
}

void sim_fill_newer_lists(ze_api_version_t version, void **slots)
{
	enum { HOST_SYNCHRONIZE = 28 };

	if (has(version, 6))
		slots[HOST_SYNCHRONIZE] = (void *)wait_for_list;
	if (has(version, 14))
		slots[LIST_LAUNCH_WITH] = (void *)append_kernel_with;
	if (has(version, 16))
		slots[LIST_APPEND_LISTS] = (void *)append_lists_with;
}

EXPORTED ze_result_t zeGetCommandListExpProcAddrTable(ze_api_version_t version, void **slots);
EXPORTED ze_result_t zeGetCommandListExpProcAddrTable(ze_api_version_t version, void **slots)
{
	if (has(version, 8)) {
		slots[LIST_EXP_CLONE] = (void *)sim_list_clone;
		slots[LIST_EXP_APPEND_LISTS] = (void *)append_lists;
	}
	return ZE_RESULT_SUCCESS;
}

EXPORTED ze_result_t zerGetGlobalProcAddrTable(ze_api_version_t version, void **slots);
EXPORTED ze_result_t zerGetGlobalProcAddrTable(ze_api_version_t version, void **slots)
{
	if (has(version, 14))
		slots[ZER_DEFAULT_CONTEXT] = (void *)default_context_of_first;
	return ZE_RESULT_SUCCESS;
}
