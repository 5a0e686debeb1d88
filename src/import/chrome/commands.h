/* SPDX-License-Identifier: MIT
 *
 * import/chrome/commands.h - the type, times and sizes of a command in a Chrome trace
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "import/chrome/file.h"

struct event_execution;
struct event_launch;

/* The command type (COMMAND_…) that a name describes; `otherwise` for an unknown name. */
uint32_t chrome_commands_by_name(const char *name, uint32_t otherwise);

/* The command type of an event of a device. */
uint32_t chrome_commands_type(const struct chrome_event *event);

/* Whether a runtime function of this name launches commands. */
bool chrome_commands_is_launch(const char *name);

/* Sets the valid times of an execution before its start, from the event's waiting times. */
void chrome_commands_take_times(const struct chrome_event *event, struct event_execution *row);

/* Sets the work sizes of a launch. */
void chrome_commands_take_sizes(const struct chrome_arguments *arguments,
				struct event_launch *launch);
