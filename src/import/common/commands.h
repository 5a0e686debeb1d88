/* SPDX-License-Identifier: MIT
 *
 * import/common/commands.h - names and numbers of commands that several formats share
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"

/* The command type (COMMAND_…) that duet's own exports name so, except that of kernels, because a
 * kernel may have the name of a command; `otherwise` for another name. */
uint32_t import_command_named(const char *name, uint32_t otherwise);

/* The command type that a launching function of CUDA or HIP launches. */
uint32_t import_command_of_call(const char *function);

/* Whether a function of CUDA, HIP or ROCr waits for the device, by its name: a synchronization or a
 * synchronous copy. Some formats have a field or rows for it, which count instead: duet's own
 * files, nsys. */
bool import_call_waits(const char *function);

/* The name of a device in duet's own exports, without its type in front. Sets *type if there is
 * one. */
const char *import_device_name(const char *name, enum event_device_type *type);

/* The number of sizes before the first 0. */
uint32_t import_dimensions(const uint64_t sizes[3]);

/* Sets the times before the start of an execution that has start and end: how long it waited
 * between submission and start, and between queue and submission. Negative: not known; a wait that
 * is longer than the time before it is left out. */
void import_set_waits(struct event_execution *row, int64_t submitted_ns, int64_t queued_ns);
