/* SPDX-License-Identifier: MIT
 *
 * cli/remote/options.c - the options of --host, which many verbs have
 *
 * Runs in:  our own process
 * Gets:     nothing
 * Gives:    rows for the command line and for --help
 * Owns:     nothing
 * Fails:    never
 * Why:      no verb has these rows in its own table, because they are taken out of the command line
 *           before the verb reads it
 */
#include "cli/remote/options.h"

const struct option_row remote_rows[] = {
	{"keep-remote", 0, OPTION_FLAG, NULL, "keep the recording there after it is copied here",
	 offsetof(struct remote_values, keep_remote)},
	{"host", 0, OPTION_TEXT, "HOST", "run this verb on HOST ([USER@]MACHINE) through ssh",
	 offsetof(struct remote_values, host)},
	{"ssh", 0, OPTION_TEXT, "COMMAND",
	 "ssh program and options (default: $DUET_SSH, otherwise ssh)",
	 offsetof(struct remote_values, ssh)},
	{"remote-dir", 0, OPTION_TEXT, "DIR",
	 "working directory there (default: this one if it exists there, otherwise home)",
	 offsetof(struct remote_values, folder)},
	{"forget-bundle", 0, OPTION_FLAG, NULL, "remove the copies of duet there at the end",
	 offsetof(struct remote_values, forget_bundle)},
	{NULL},
};
