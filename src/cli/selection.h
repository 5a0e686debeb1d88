/* SPDX-License-Identifier: MIT
 *
 * cli/selection.h - open the trace, and check the window, processes and device that the command
 * line selects
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cli/command.h"

struct analysis;
struct model;
struct process_choice;

/* The trace that `record` writes, and the other verbs read, by default. */
#define SELECTION_FILE "duet.duet"

#define SELECTION_ALL_DEVICES SIZE_MAX

/* If the default file does not exist, adds a hint to record first to the error chain. Returns
 * error. */
int selection_explain(const char *path, int error);

/* Opens a trace as model_open does, with that hint. */
int selection_open(const char *path, struct model **ret_model);

/* Refuses an output file that is the trace itself, also through a link, because writing would
 * destroy the trace. output may be NULL. Errors: -EINVAL with the error chain. */
int selection_check_output(const char *output, const char *trace);

/* Prints a message and returns STATUS_FAILED if `from` is after the end of the recording, because
 * the window would be empty. */
int selection_check_window(const struct cli_command *command, uint64_t from_ns, uint64_t length_ns);

/* Limits the model to the processes of --pid and --rank, lists that may be NULL: see model_choose.
 * *ret_choice is freed after the model. If a number has no process, prints those of the trace and
 * returns STATUS_USAGE. */
int selection_choose_processes(const struct cli_command *command, struct model *model,
			       const char *pids, const char *ranks, const char *path,
			       struct process_choice **ret_choice);
/* Prints the processes of the trace on stderr, with their ranks. */
void selection_print_processes(const struct model *model);

/* Finds a device by key, name or number; wanted NULL: all devices. Otherwise prints the existing
 * devices and returns STATUS_USAGE. */
int selection_find_device(const struct cli_command *command, const struct analysis *analysis,
			  const char *wanted, const char *path, size_t *ret_device);
