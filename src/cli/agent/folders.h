/* SPDX-License-Identifier: MIT
 *
 * cli/agent/folders.h - find the folders of an agent, also with a configuration that has mistakes
 */
#pragma once

struct cli_command;

/* Folder of the status, and of the recordings, for a configuration; NULL: the defaults. Prints the
 * mistakes of the file. The caller frees the path. NULL: not found, with the error chain. */
char *agent_find_runtime(const struct cli_command *command, const char *config);
char *agent_find_spool(const struct cli_command *command, const char *config);
