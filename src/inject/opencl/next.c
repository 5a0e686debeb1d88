/* SPDX-License-Identifier: MIT
 *
 * inject/opencl/next.c - the functions of OpenCL that the wrappers call
 *
 * Runs in:  the profiled process
 * Gets:     nothing
 * Gives:    the table; opencl.c fills it
 * Owns:     the table
 * Fails:    never
 */
#include "inject/opencl/opencl.h"

struct opencl_functions next;
