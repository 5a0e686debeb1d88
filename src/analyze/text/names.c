/* SPDX-License-Identifier: MIT
 *
 * analyze/text/names.c - the names of kinds, commands, losses and zones
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     numbers of event/event.h
 * Gives:    constant texts, "other" for a number without a name
 * Owns:     nothing
 * Fails:    never
 * Why one place: the report and every exporter use the same name, and a new kind of event gets its
 *           name in one place.
 */
#include "analyze/analysis.h"

#include <string.h>

#include "analyze/model.h"
#include "base/array.h"
#include "event/command_names.h"
#include "event/time_sources.h"

static const char *pick(const char *const *names, size_t count, uint32_t index)
{
	return array_text(names, count, index, "other");
}

const char *analysis_zone_name(enum analysis_zone zone)
{
	static const char *const names[] = {"queued_submitted", "submitted_started",
					    "started_ended"};

	return pick(names, ARRAY_COUNT(names), zone);
}

/* All OpenCL functions whose name contains "Marker" queue a marker. */
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
		[LOSS_UNSEEN] = "unseen",
		[LOSS_LIMIT] = "limit",
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

const char *analysis_memory_name(uint32_t memory)
{
	static const char *const names[] = {
		[MEMORY_UNKNOWN] = "unknown",
		[MEMORY_PAGEABLE] = "pageable",
		[MEMORY_PINNED] = "pinned",
		[MEMORY_DEVICE] = "device",
		[MEMORY_MANAGED] = "managed",
		[MEMORY_ARRAY] = "array",
		[MEMORY_DEVICE_STATIC] = "device_static",
	};

	return pick(names, ARRAY_COUNT(names), memory);
}

const char *analysis_migration_name(uint32_t cause)
{
	static const char *const names[] = {
		[MIGRATION_UNKNOWN] = "unknown",       [MIGRATION_REQUESTED] = "requested",
		[MIGRATION_PAGE_FAULT] = "page_fault", [MIGRATION_SPECULATIVE] = "speculative",
		[MIGRATION_EVICTION] = "eviction",
	};

	return pick(names, ARRAY_COUNT(names), cause);
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
#define ENTITY(event, KIND, ...)    [EVENT_##KIND] = #event,
#define HAPPENING(event, KIND, ...) [EVENT_##KIND] = #event,
	static const char *const names[LOSS_KIND_STACK + 1] = {
		[EVENT_PADDING] = "unknown",
#include "event/fields.def"
		[EVENT_GRAPH] = "graph",
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

enum analysis_call_class analysis_call_class_of(uint32_t type)
{
	return type == API_TYPE_OPERATOR   ? ANALYSIS_CALL_OPERATOR
	       : type == API_TYPE_FUNCTION ? ANALYSIS_CALL_FUNCTION
					   : ANALYSIS_CALL_RUNTIME;
}

bool analysis_has_states(const struct analysis *analysis, enum account_cause cause)
{
	return cause <= CAUSE_BLOCKED || cause == CAUSE_NOTHING_TO_DO ||
	       (cause == CAUSE_HOST && analysis->cpu.has_functions);
}

bool analysis_is_gil(const char *wait)
{
	return strcmp(wait, SWITCH_PYTHON_LOCK) == 0;
}

bool analysis_source_is_time(const char *source)
{
	return time_source_unit(source) != NULL;
}

const char *analysis_source_unit(const char *source)
{
	const char *unit = time_source_unit(source);

	return unit ? unit : source;
}
