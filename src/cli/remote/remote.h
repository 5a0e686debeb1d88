/* SPDX-License-Identifier: MIT
 *
 * cli/remote/remote.h - run a verb on another machine, with --host
 */
#pragma once

#include "cli/command.h"

/* Whether the command line has --host, or another option of cli/remote/. Then the verb has run on
 * the other machine, or a mistake was printed, and *ret_status is the exit status. */
bool remote_run(const struct cli_command *command, int argc, char **argv, int *ret_status);
