/* SPDX-License-Identifier: MIT
 *
 * cli/doctor/probe.h - load vendors' libraries in a separate process
 *
 * If a driver crashes, hangs or prints while it is loaded, only a child process is affected. The
 * caller gets the result.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct probe_result {
	bool ok;
	char text[1024]; /* ok: the result; otherwise the reason */
};

/* Loads `library` (a name or a path). ok: text is the path of the file that was loaded. */
void probe_library(const char *library, struct probe_result *ret_result);

/* Lists the devices of the OpenCL loader `library`. ok: it has at least one; text contains their
 * names. */
void probe_opencl_devices(const char *library, struct probe_result *ret_result);

/* The same with a changed environment: "NAME" removes a variable, "NAME=VALUE" sets it; `variables`
 * ends with NULL. */
void probe_opencl_devices_in(const char *library, const char *const *variables,
			     struct probe_result *ret_result);

/* Lists the GPUs of NVML. ok: at least one; text contains their names and the counters that duet
 * supports. */
void probe_nvml(struct probe_result *ret_result);

/* Whether the file contains the bytes of `word`. */
bool probe_file_contains(const char *path, const char *word);
