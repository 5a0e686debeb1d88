/* SPDX-License-Identifier: MIT
 *
 * event/command_names.h - the names of commands in views, exports and imports
 *
 * Runs in:  our own process
 */
#pragma once

#include "event/event.h"

static const char *const command_names[COMMAND_COUNT] = {
	[COMMAND_OTHER] = "other",
	[COMMAND_KERNEL] = "kernel",
	[COMMAND_READ] = "read",
	[COMMAND_WRITE] = "write",
	[COMMAND_COPY] = "copy",
	[COMMAND_FILL] = "fill",
	[COMMAND_MAP] = "map",
	[COMMAND_UNMAP] = "unmap",
	[COMMAND_MIGRATE] = "migrate",
	[COMMAND_BARRIER] = "barrier",
	[COMMAND_NATIVE] = "native",
	[COMMAND_GRAPH] = "graph",
	[COMMAND_ACQUIRE] = "acquire",
	[COMMAND_RELEASE] = "release",
	[COMMAND_SEMAPHORE] = "semaphore",
	[COMMAND_FREE] = "free",
	[COMMAND_BATCH] = "batch",
};
