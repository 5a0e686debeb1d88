/* SPDX-License-Identifier: MIT
 *
 * cli/remote/job.h - one run of duet on the other machine
 */
#pragma once

#include <limits.h>
#include <stdio.h>

#include "cli/remote/arguments.h"
#include "cli/remote/machine.h"
#include "cli/remote/ssh.h"

struct remote_job {
	const struct ssh *ssh;
	const struct machine *machine;
	const struct cli_command *command;
	const struct remote_arguments *arguments;
	char folder[PATH_MAX]; /* there */
};

/* Whether the verb's output is a file of this side, which gets its stdout. */
bool remote_job_writes_here(const struct remote_job *job);

/* Makes the job's folder there, with the script that runs the verb. Errors: -errno with the error
 * chain. */
int remote_job_prepare(struct remote_job *job);

/* Runs it, with our stdin, stdout and stderr, and a terminal there if all three are ours. out: its
 * stdout goes there instead (remote_job_writes_here); NULL: to ours. Signals are passed on.
 * *ret_status: the exit status. Errors: -errno with the error chain; -ECONNRESET: the connection
 * was lost. */
int remote_job_run(struct remote_job *job, FILE *out, int *ret_status);

/* Removes the folder there. */
int remote_job_remove(struct remote_job *job);
