/* SPDX-License-Identifier: MIT
 *
 * import/common/commands.c - names and numbers of commands that several formats share
 *
 * Runs in:  our own process
 * Gets:     names, sizes and waits of a foreign file
 * Gives:    command types, device types, dimensions, times
 * Owns:     constants
 * Fails:    never: an unknown name has the caller's answer
 * Why here: Chrome and Perfetto files of duet have the same names, and Chrome and nsys files those
 *           of the same runtimes
 */
#include "import/common/commands.h"

#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "event/command_names.h"

uint32_t import_command_named(const char *name, uint32_t otherwise)
{
	for (uint32_t i = 0; i < COMMAND_COUNT; i++)
		if (i != COMMAND_KERNEL && strcmp(command_names[i], name) == 0)
			return i;
	return strcmp(name, "marker") == 0 ? COMMAND_BARRIER : otherwise;
}

uint32_t import_command_of_call(const char *function)
{
	if (strstr(function, "Memset"))
		return COMMAND_FILL;
	if (strstr(function, "Memcpy"))
		return COMMAND_COPY;
	return strstr(function, "GraphLaunch") ? COMMAND_GRAPH : COMMAND_KERNEL;
}

/* A synchronous copy. From device to device it may return before its end. */
static bool is_blocking_copy(const char *name)
{
	const char *copy = strstr(name, "Memcpy");

	return copy && (strncmp(name, "cu", 2) == 0 || strncmp(name, "hip", 3) == 0) &&
	       !strstr(copy, "Async") && !strstr(copy, "DtoD") && !strstr(copy, "Node") &&
	       !strstr(copy, "Batch");
}

bool import_call_waits(const char *function)
{
	static const char *const begins[] = {"hsa_signal_wait", "hsa_amd_signal_wait",
					     "hsa_memory_copy"};

	for (size_t i = 0; i < ARRAY_COUNT(begins); i++)
		if (strncmp(function, begins[i], strlen(begins[i])) == 0)
			return true;
	return strstr(function, "Synchronize") || is_blocking_copy(function);
}

const char *import_device_name(const char *name, enum event_device_type *type)
{
	static const struct {
		const char *prefix;
		enum event_device_type type;
	} types[] = {{"CPU device ", DEVICE_CPU},
		     {"GPU ", DEVICE_GPU},
		     {"accelerator ", DEVICE_ACCELERATOR},
		     {"device ", DEVICE_OTHER}};

	for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
		if (strncmp(name, types[i].prefix, strlen(types[i].prefix)) == 0) {
			*type = types[i].type;
			return name + strlen(types[i].prefix);
		}
	}
	return name;
}

uint32_t import_dimensions(const uint64_t sizes[3])
{
	return !sizes[0] ? 0 : !sizes[1] ? 1 : !sizes[2] ? 2 : 3;
}

void import_set_waits(struct event_execution *row, int64_t submitted_ns, int64_t queued_ns)
{
	row->valid = EXECUTION_STARTED | EXECUTION_ENDED;
	if (submitted_ns < 0 || (uint64_t)submitted_ns > row->started)
		return;
	row->submitted = row->started - (uint64_t)submitted_ns;
	row->valid |= EXECUTION_SUBMITTED;
	if (queued_ns < 0 || (uint64_t)queued_ns > row->submitted)
		return;
	row->queued = row->submitted - (uint64_t)queued_ns;
	row->valid |= EXECUTION_QUEUED;
}
