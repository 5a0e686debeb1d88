/* SPDX-License-Identifier: MIT
 *
 * import/common/rocm.h - what the names of ROCm's calls, copies and kernels mean
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

/* Whether it is a call of a runtime. rpd records other functions of the program and its own work
 * beside the calls. */
bool rocm_names_is_call(const char *function);

/* Whether the call waits for the device or another call does. */
enum event_api_type rocm_names_call_type(const char *function);

/* The command type (COMMAND_…) of an operation, such as CopyHostToDevice of rpd and
 * MEMORY_COPY_HOST_TO_DEVICE of rocprofv3. COMMAND_OTHER: an unknown name. */
uint32_t rocm_names_command(const char *operation);

/* Length of a kernel's name without the ending of its descriptor: ".kd", demangled " [clone .kd]".
 */
size_t rocm_names_kernel_length(const char *name);
/* Removes the ".kd" of a kernel's descriptor, in place. */
void rocm_names_trim_kernel(char *kernel);

/* The name of a program, from its command; "[imported]" for none. */
const char *rocm_names_program(const char *command, char ret_name[64]);

/* The type of the range that a call of roctx makes. */
enum event_range_type rocm_names_range_type(const char *function);
