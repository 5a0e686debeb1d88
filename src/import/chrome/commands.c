/* SPDX-License-Identifier: MIT
 *
 * import/chrome/commands.c - the type, times and sizes of a command in a Chrome trace
 *
 * Runs in:  our own process; pure functions
 * Gets:     names and arguments of events
 * Gives:    members of launches and executions
 * Owns:     nothing
 * Fails:    never; an unknown name has the type that the caller gives
 * Why the type follows from the name: the format has no field for the type of a command. PyTorch
 *           names a copy "Memcpy HtoD (Pageable -> Device)", duet names it "write".
 */
#include "import/chrome/commands.h"

#include <string.h>

#include "base/array.h"
#include "event/event.h"
#include "import/chrome/categories.h"
#include "import/common/commands.h"
#include "import/common/rocm.h"

uint32_t chrome_commands_by_name(const char *name, uint32_t otherwise)
{
	static const struct {
		const char *name;
		uint32_t command;
	} rows[] = {{"Memcpy HtoD", COMMAND_WRITE},
		    {"Memcpy DtoH", COMMAND_READ},
		    {"Memcpy", COMMAND_COPY},
		    {"Memset", COMMAND_FILL}};

	for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
		if (strncmp(rows[i].name, name, strlen(rows[i].name)) == 0)
			return rows[i].command;
	return import_command_named(name, otherwise);
}

/* Accelerators have one category for all commands. */
static uint32_t type_of_accelerator(const struct chrome_event *event)
{
	const char *name = string_builder_text(&event->name);
	const char *direction = string_builder_text(&event->arguments.direction);

	if (strcmp(name, "event_wait") == 0 || strcmp(name, "event_record") == 0)
		return COMMAND_BARRIER;
	if (strcmp(name, "dma_request") != 0)
		return COMMAND_KERNEL;
	return strcmp(direction, "HOST_TO_DEVICE") == 0   ? COMMAND_WRITE
	       : strcmp(direction, "DEVICE_TO_HOST") == 0 ? COMMAND_READ
							  : COMMAND_COPY;
}

uint32_t chrome_commands_type(const struct chrome_event *event)
{
	const uint32_t categories = event->categories;

	if (categories & CATEGORY_ACCELERATOR)
		return type_of_accelerator(event);
	if (categories & CATEGORY_KERNEL)
		return COMMAND_KERNEL;
	if (categories & CATEGORY_OPERATION)
		return rocm_names_command(string_builder_text(&event->arguments.description));
	return chrome_commands_by_name(string_builder_text(&event->name),
				       categories & CATEGORY_COPY       ? COMMAND_COPY
				       : categories & CATEGORY_FILL     ? COMMAND_FILL
				       : categories & CATEGORY_REJECTED ? COMMAND_KERNEL
									: COMMAND_OTHER);
}

bool chrome_commands_is_launch(const char *name)
{
	static const char *const parts[] = {"Launch", "Memcpy", "Memset"};

	for (size_t i = 0; i < ARRAY_COUNT(parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

void chrome_commands_take_times(const struct chrome_event *event, struct event_execution *row)
{
	const struct json_integer *waited = &event->arguments.submitted_to_started;
	const struct json_integer *queued = &event->arguments.queued_to_submitted;

	import_set_waits(row, waited->is_known ? waited->value : -1,
			 queued->is_known ? queued->value : -1);
}

void chrome_commands_take_sizes(const struct chrome_arguments *arguments,
				struct event_launch *launch)
{
	bool has_groups = !arguments->dimensions && arguments->grid[0];

	launch->dimensions = has_groups ? 3 : arguments->dimensions;
	for (int i = 0; i < 3; i++) {
		uint64_t items = arguments->block[i] ? arguments->block[i] : 1;

		launch->local_size[i] = has_groups ? items : arguments->local[i];
		if (!has_groups)
			launch->global_size[i] = arguments->global[i];
		else if (__builtin_mul_overflow(arguments->grid[i] ? arguments->grid[i] : 1, items,
						&launch->global_size[i]))
			launch->global_size[i] = UINT64_MAX;
	}
}
