/* SPDX-License-Identifier: MIT
 *
 * collect/opencl/ways.h - how the guest for OpenCL gets into a program
 */
#pragma once

#include <sys/types.h>

#include "collect/session.h"

#define OPENCL_GUEST "libduet-opencl.so"

/* Returns the reason why a process with OpenCL cannot load the guest; NULL: none found. */
const char *opencl_obstacle(pid_t pid);
/* Returns the reason why no call of a running process is recorded. */
const char *opencl_why_unrecorded(pid_t pid);
