/* SPDX-License-Identifier: MIT
 *
 * cli/probe.h - try vendors' libraries in a process of their own
 *
 * A driver that crashes, hangs or prints while it is loaded does so in a child; the caller reads
 * what came of it.
 */
#ifndef CLI_PROBE_H
#define CLI_PROBE_H

#include <stdbool.h>
#include <stddef.h>

struct probe_result {
	bool ok;
	char text[1024]; /* ok: what was found; else why not */
};

/* Loads `library` (a name or a path). ok: text is the path of the file that was loaded. */
void probe_library(const char *library, struct probe_result *ret_result);

/* Asks the OpenCL loader `library` for its platforms and devices. ok: at least one device; text
 * lists their names. */
void probe_opencl_devices(const char *library, struct probe_result *ret_result);

/* The same in another environment: "NAME" is not set in it, "NAME=VALUE" is; `variables` ends with NULL. */
void probe_opencl_devices_in(const char *library, const char *const *variables,
			     struct probe_result *ret_result);

/* Asks NVML for its GPUs. ok: at least one; text names them, with what duet can count of them. */
void probe_nvml(struct probe_result *ret_result);

/* True where the file holds the bytes of `word`. */
bool probe_file_contains(const char *path, const char *word);

#endif
