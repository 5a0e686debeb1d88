/* SPDX-License-Identifier: MIT
 *
 * cli/agent/setup.h - read the configuration of `duet agent`
 */
#pragma once

#include <stdbool.h>

#include "agent/endpoints/options.h"
#include "agent/settings.h"
#include "cli/record/request.h"

/* A configuration and what its texts belong to. */
struct agent_loaded {
	struct agent_setup setup; /* comes first */
	struct request request;
	pid_t pids[MAX_REQUEST_PIDS];
	char *guests[MAX_COLLECTORS];
	char *spool, *runtime; /* owned; defaults */
	struct endpoints_options endpoints;
};

/* The file that is read without -c, if it exists; NULL: there is none. */
const char *agent_default_config(void);

/* Folder of the status for a spool, if the configuration names none; spool NULL: the default one.
 * The caller frees it. NULL: no memory. */
char *agent_usual_runtime(const char *spool);

/* Reads a file; config NULL: the defaults. Prints mistakes. Errors: -EINVAL. */
int agent_loaded_new(const struct cli_command *command, const char *config,
		     struct agent_loaded **ret_loaded);
/* Prints a line for each field of a valid file that an agent ignores. config NULL: nothing. */
void agent_print_ignored(const struct cli_command *command, const char *config);
void agent_loaded_free(struct agent_loaded *loaded); /* NULL-safe */
