/* SPDX-License-Identifier: MIT
 *
 * cli/info/batch.h - `duet info --batch`
 */
#ifndef CLI_INFO_BATCH_H
#define CLI_INFO_BATCH_H

#include "cli/command.h"

/* Values of the options of --batch; NULL: not set. */
struct info_batch_request {
	const char *path;
	const char *generation, *address, *start;
	bool json;
};

/* Describes the batch buffer in a file, and returns the exit status. */
int info_batch(const struct cli_command *command, const struct info_batch_request *request);

#endif
