/* SPDX-License-Identifier: MIT
 *
 * analyze/text/row_names.c - names of devices, queues and series in a timeline
 *
 * Runs in:  our own process
 * Gets:     entities of a model
 * Gives:    names
 * Owns:     nothing
 * Fails:    out of memory is recorded in the string builder
 * Why one place: a user who compares two viewers finds the same names in both
 */
#include "analyze/text/row_names.h"

#include <inttypes.h>

#include "analyze/model.h"
#include "base/array.h"
#include "base/string.h"

static const char *type_name(uint32_t type)
{
	static const char *const names[] = {[DEVICE_OTHER] = "device",
					    [DEVICE_CPU] = "CPU device",
					    [DEVICE_GPU] = "GPU",
					    [DEVICE_ACCELERATOR] = "accelerator"};

	return names[type < ARRAY_COUNT(names) ? type : DEVICE_OTHER];
}

void row_name_device(const struct model *model, const struct event_device *row,
		     struct string_builder *name)
{
	if (row)
		string_builder_appendf(name, "%s %s", type_name(row->type),
				       model_text(model, row->name_string, "[unnamed]"));
	else
		string_builder_append(name, "[unknown device]");
}

void row_name_queue(const struct model *model, const struct event_queue *row,
		    struct string_builder *name)
{
	const struct event_process *process =
		row ? model_entity(model, EVENT_PROCESS, row->process) : NULL;

	if (!row)
		string_builder_append(name, "[unknown queue]");
	else
		string_builder_appendf(name, "queue %" PRIu32, row->id);
	if (row && row->name_string)
		string_builder_appendf(name, " %s", model_text(model, row->name_string, ""));
	if (process)
		string_builder_appendf(name, " of process %" PRIu32, process->pid);
}

void row_name_series(const struct model *model, const struct event_series *row,
		     struct string_builder *name)
{
	if (!row) {
		string_builder_append(name, "[unknown metric]");
		return;
	}
	string_builder_append(name, model_text(model, row->metric_string, "[unnamed metric]"));
	if (row->cpu)
		string_builder_appendf(name, " cpu %" PRIu32, row->cpu - 1);
	if (row->instance_string)
		string_builder_appendf(name, " %s", model_text(model, row->instance_string, ""));
}
