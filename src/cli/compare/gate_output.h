/* SPDX-License-Identifier: MIT
 *
 * cli/compare/gate_output.h - where the result of a gate is written to
 */
#pragma once

#include <stdbool.h>

struct cli_command;
struct gate_report;

/* NULL: not wanted; "-": stdout, in place of the text. */
struct gate_outputs {
	const char *junit, *markdown;
	const char *annotations; /* "github", or "gitlab:FILE" */
	bool json;
};

/* Checks that at most one output goes to stdout and each file has one output. Returns a status;
 * messages are printed. */
int gate_outputs_check(const struct cli_command *command, const struct gate_outputs *outputs);

/* Refuses outputs that would replace an input. Returns a status; messages are printed. */
int gate_outputs_check_input(const struct cli_command *command, const struct gate_outputs *outputs,
			     const char *path);

/* Writes all. Returns STATUS_DONE, or STATUS_USAGE with a message: a result that cannot be written
 * must not look like a regression. */
int gate_outputs_write(const struct cli_command *command, const struct gate_outputs *outputs,
		       const struct gate_report *report);
