/* SPDX-License-Identifier: MIT
 *
 * import/common/rocm.c - what the names of ROCm's calls, copies and kernels mean
 *
 * Runs in:  our own process; pure functions
 * Gets:     names
 * Gives:    types of events
 * Owns:     nothing
 * Fails:    never; an unknown name has the type of an ordinary call or other command
 * Why names: the formats have no field for the type of a call; that of a copy is a name in all of
 *           them, in three spellings
 */
#include "import/common/rocm.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "import/common/commands.h"

bool rocm_names_is_call(const char *function)
{
	static const char *const beginnings[] = {"hip", "__hip", "hsa", "nccl", "rccl", "roc"};

	for (size_t i = 0; i < ARRAY_COUNT(beginnings); i++)
		if (strncmp(function, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

enum event_api_type rocm_names_call_type(const char *function)
{
	return import_call_waits(function) ? API_TYPE_WAIT : API_TYPE_CALL;
}

uint32_t rocm_names_command(const char *operation)
{
	/* the first match counts */
	static const struct {
		const char *part;
		uint32_t command;
	} rows[] = {
		{"HOST_TO_DEVICE", COMMAND_WRITE},
		{"HostToDevice", COMMAND_WRITE},
		{"H2D", COMMAND_WRITE},
		{"DEVICE_TO_HOST", COMMAND_READ},
		{"DeviceToHost", COMMAND_READ},
		{"D2H", COMMAND_READ},
		{"Fill", COMMAND_FILL},
		{"Memset", COMMAND_FILL},
		{"Barrier", COMMAND_BARRIER},
		{"Marker", COMMAND_BARRIER},
		{"Copy", COMMAND_COPY},
		{"Memcpy", COMMAND_COPY},
		{"_TO_", COMMAND_COPY},
		{"Kernel", COMMAND_KERNEL},
		{"Task", COMMAND_KERNEL}, /* a node of a graph, named by its kernel */
	};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		if (strcasestr(operation, rows[i].part))
			return rows[i].command;
	return COMMAND_OTHER;
}

size_t rocm_names_kernel_length(const char *name)
{
	static const char *const suffixes[] = {" [clone .kd]", ".kd"};
	const size_t length = strlen(name);

	for (size_t i = 0; i < ARRAY_COUNT(suffixes); i++) {
		const size_t size = strlen(suffixes[i]);

		if (length > size && strcmp(name + length - size, suffixes[i]) == 0)
			return length - size;
	}
	return length;
}

void rocm_names_trim_kernel(char *kernel)
{
	size_t length = strlen(kernel);

	if (length > 3 && strcmp(kernel + length - 3, ".kd") == 0)
		kernel[length - 3] = '\0';
}

enum event_range_type rocm_names_range_type(const char *function)
{
	if (strstr(function, "Mark"))
		return RANGE_MARK;
	return strstr(function, "Process") || strstr(function, "RangeStart") ? RANGE_START
									     : RANGE_PUSH;
}

const char *rocm_names_program(const char *command, char ret_name[64])
{
	const size_t length = strcspn(command, " ");
	size_t first = length;

	while (first && command[first - 1] != '/')
		first--;
	snprintf(ret_name, 64, "%.*s", (int)(length - first), command + first);
	return *ret_name ? ret_name : "[imported]";
}
