/* SPDX-License-Identifier: MIT
 *
 * agent/agent.h - record continuously: the process that starts and watches the others
 */
#pragma once

#include "agent/settings.h"

struct agent_options {
	const char *version; /* duet's */
	const char *config;  /* path of the configuration, for the status; "": defaults */
	/* Reads the configuration. Errors: -errno; its mistakes have been printed. unload: frees
	 * it. */
	int (*load)(void *context, struct agent_setup **ret_setup);
	void (*unload)(void *context, struct agent_setup *setup);
	/* A line for the log. */
	void (*on_message)(void *context, const char *text);
	void *context;
};

/* Runs until SIGTERM or SIGINT. Errors: -errno with the error chain: it could not start. */
int agent_run(const struct agent_options *options);
