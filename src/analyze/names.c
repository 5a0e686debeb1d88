/* SPDX-License-Identifier: MIT
 *
 * analyze/names.c - the words for kinds, commands, losses and zones
 *
 * Runs in:  the readers
 * Gets:     numbers of event/event.h   Gives: constant texts, "other" for a number without a word
 * Owns:     nothing
 * Fails:    never
 * Why here: report and every exporter use the same word for the same thing, and a new kind of event
 *           gets its word in one place of 27 lines.
 */
#include "analyze/analysis.h"

#include <string.h>

#include "analyze/model.h"
#include "base/array.h"
#include "event/command_names.h"
#include "event/time_sources.h"

static const char *pick(const char *const *names, size_t count, uint32_t index)
{
	return index < count && names[index] ? names[index] : "other";
}

const char *analysis_zone_name(enum analysis_zone zone)
{
	static const char *const names[] = {"queued_submitted", "submitted_started",
					    "started_ended"};

	return pick(names, ARRAY_COUNT(names), zone);
}

/* The functions of a name with this word in it put a marker into a queue, in every version. */
uint32_t analysis_launch_command(const struct model *model, const struct event_launch *launch)
{
	if (launch->command == COMMAND_BARRIER &&
	    strstr(model_text(model, launch->function_string, ""), "Marker"))
		return ANALYSIS_MARKER;
	return launch->command;
}

const char *analysis_command_name(uint32_t command)
{
	if (command == ANALYSIS_MARKER)
		return "marker";
	return pick(command_names, ARRAY_COUNT(command_names), command);
}

const char *analysis_loss_name(uint32_t reason)
{
	static const char *const names[] = {
		[LOSS_RING_FULL] = "ring_full",
		[LOSS_NO_RING] = "no_ring",
		[LOSS_NESTED] = "nested",
		[LOSS_RING_BROKEN] = "ring_broken",
		[LOSS_TRACKING] = "tracking",
		[LOSS_DISK] = "disk",
		[LOSS_GAP] = "gap",
	};

	return pick(names, ARRAY_COUNT(names), reason);
}

const char *analysis_switch_name(uint32_t reason)
{
	static const char *const names[] = {
		[SWITCH_NOT_KNOWN] = "not_known",
		[SWITCH_BLOCKED] = "blocked",
		[SWITCH_PREEMPTED] = "preempted",
		[SWITCH_EXITED] = "exited",
	};

	return pick(names, ARRAY_COUNT(names), reason);
}

const char *analysis_range_type(uint32_t type)
{
	static const char *const names[] = {
		[RANGE_PUSH] = "push_pop",
		[RANGE_START] = "start_stop",
		[RANGE_MARK] = "mark",
	};

	return pick(names, ARRAY_COUNT(names), type);
}

const char *analysis_series_type(uint32_t type)
{
	static const char *const names[] = {
		[SERIES_LEVEL] = "level",
		[SERIES_AMOUNT] = "amount",
		[SERIES_RATIO] = "ratio",
	};

	return pick(names, ARRAY_COUNT(names), type);
}

const char *analysis_mode_name(uint32_t mode)
{
	static const char *const names[] = {
		[MODE_UNKNOWN] = "unknown",
		[MODE_USER] = "user",
		[MODE_KERNEL] = "kernel",
		[MODE_HYPERVISOR] = "hypervisor",
	};

	return pick(names, ARRAY_COUNT(names), mode);
}

const char *analysis_kind_name(uint32_t kind)
{
	static const char *const names[LOSS_KIND_STACK + 1] = {
		[EVENT_PADDING] = "unknown",
		[EVENT_HOST] = "host",
		[EVENT_PROCESS] = "process",
		[EVENT_THREAD] = "thread",
		[EVENT_MAPPING] = "mapping",
		[EVENT_DEVICE] = "device",
		[EVENT_CONTEXT] = "context",
		[EVENT_QUEUE] = "queue",
		[EVENT_CLOCK] = "clock",
		[EVENT_COLLECTOR] = "collector",
		[EVENT_CODE] = "code",
		[EVENT_SERIES] = "series",
		[EVENT_API] = "api",
		[EVENT_LAUNCH] = "launch",
		[EVENT_DEPENDENCY] = "dependency",
		[EVENT_EXECUTION] = "execution",
		[EVENT_GRAPH] = "graph",
		[EVENT_INSTRUCTION_SAMPLE] = "instruction_sample",
		[EVENT_CPU_SAMPLE] = "cpu_sample",
		[EVENT_SWITCH] = "switch",
		[EVENT_COUNTER] = "counter",
		[EVENT_RANGE] = "range",
		[EVENT_CLOCK_PAIR] = "clock_pair",
		[EVENT_LOSS] = "loss",
		[LOSS_KIND_STACK] = "stack",
	};

	return pick(names, ARRAY_COUNT(names), kind);
}

enum account_class analysis_class(uint32_t command)
{
	switch (command) {
	case COMMAND_KERNEL:
		return ACCOUNT_KERNEL;
	case COMMAND_READ:
	case COMMAND_WRITE:
	case COMMAND_COPY:
	case COMMAND_FILL:
	case COMMAND_MAP:
	case COMMAND_UNMAP:
	case COMMAND_MIGRATE:
		return ACCOUNT_COPY;
	default:
		return ACCOUNT_OTHER;
	}
}

const char *analysis_error_name(int32_t result)
{
	static const char *const names[] = {
		[1] = "CL_DEVICE_NOT_FOUND",
		[2] = "CL_DEVICE_NOT_AVAILABLE",
		[3] = "CL_COMPILER_NOT_AVAILABLE",
		[4] = "CL_MEM_OBJECT_ALLOCATION_FAILURE",
		[5] = "CL_OUT_OF_RESOURCES",
		[6] = "CL_OUT_OF_HOST_MEMORY",
		[7] = "CL_PROFILING_INFO_NOT_AVAILABLE",
		[8] = "CL_MEM_COPY_OVERLAP",
		[9] = "CL_IMAGE_FORMAT_MISMATCH",
		[10] = "CL_IMAGE_FORMAT_NOT_SUPPORTED",
		[11] = "CL_BUILD_PROGRAM_FAILURE",
		[12] = "CL_MAP_FAILURE",
		[13] = "CL_MISALIGNED_SUB_BUFFER_OFFSET",
		[14] = "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
		[15] = "CL_COMPILE_PROGRAM_FAILURE",
		[16] = "CL_LINKER_NOT_AVAILABLE",
		[17] = "CL_LINK_PROGRAM_FAILURE",
		[18] = "CL_DEVICE_PARTITION_FAILED",
		[19] = "CL_KERNEL_ARG_INFO_NOT_AVAILABLE",
		[30] = "CL_INVALID_VALUE",
		[31] = "CL_INVALID_DEVICE_TYPE",
		[32] = "CL_INVALID_PLATFORM",
		[33] = "CL_INVALID_DEVICE",
		[34] = "CL_INVALID_CONTEXT",
		[35] = "CL_INVALID_QUEUE_PROPERTIES",
		[36] = "CL_INVALID_COMMAND_QUEUE",
		[37] = "CL_INVALID_HOST_PTR",
		[38] = "CL_INVALID_MEM_OBJECT",
		[39] = "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR",
		[40] = "CL_INVALID_IMAGE_SIZE",
		[41] = "CL_INVALID_SAMPLER",
		[42] = "CL_INVALID_BINARY",
		[43] = "CL_INVALID_BUILD_OPTIONS",
		[44] = "CL_INVALID_PROGRAM",
		[45] = "CL_INVALID_PROGRAM_EXECUTABLE",
		[46] = "CL_INVALID_KERNEL_NAME",
		[47] = "CL_INVALID_KERNEL_DEFINITION",
		[48] = "CL_INVALID_KERNEL",
		[49] = "CL_INVALID_ARG_INDEX",
		[50] = "CL_INVALID_ARG_VALUE",
		[51] = "CL_INVALID_ARG_SIZE",
		[52] = "CL_INVALID_KERNEL_ARGS",
		[53] = "CL_INVALID_WORK_DIMENSION",
		[54] = "CL_INVALID_WORK_GROUP_SIZE",
		[55] = "CL_INVALID_WORK_ITEM_SIZE",
		[56] = "CL_INVALID_GLOBAL_OFFSET",
		[57] = "CL_INVALID_EVENT_WAIT_LIST",
		[58] = "CL_INVALID_EVENT",
		[59] = "CL_INVALID_OPERATION",
		[60] = "CL_INVALID_GL_OBJECT",
		[61] = "CL_INVALID_BUFFER_SIZE",
		[62] = "CL_INVALID_MIP_LEVEL",
		[63] = "CL_INVALID_GLOBAL_WORK_SIZE",
		[64] = "CL_INVALID_PROPERTY",
		[65] = "CL_INVALID_IMAGE_DESCRIPTOR",
		[66] = "CL_INVALID_COMPILER_OPTIONS",
		[67] = "CL_INVALID_LINKER_OPTIONS",
		[68] = "CL_INVALID_DEVICE_PARTITION_COUNT",
		[69] = "CL_INVALID_PIPE_SIZE",
		[70] = "CL_INVALID_DEVICE_QUEUE",
		[71] = "CL_INVALID_SPEC_ID",
		[72] = "CL_MAX_SIZE_RESTRICTION_EXCEEDED",
	};
	uint32_t index = result < 0 ? 0u - (uint32_t)result : 0;

	return index < ARRAY_COUNT(names) && names[index] ? names[index] : "";
}

bool analysis_is_gil(const char *wait)
{
	return strcmp(wait, "Python GIL") == 0;
}

bool analysis_tells_time(const char *source)
{
	return time_source_unit(source) != NULL;
}

const char *analysis_source_unit(const char *source)
{
	const char *unit = time_source_unit(source);

	return unit ? unit : source;
}
