/* SPDX-License-Identifier: MIT
 *
 * agent/recorder.h - the child process that records
 */
#pragma once

#include "agent/settings.h"
#include "agent/status.h"

/* Records until a signal or an error, and keeps the spool. Called in a child process. Returns its
 * exit status; errors are in status->recorder_errors. */
int recorder_run(const struct agent_setup *setup, struct agent_status *status,
		 struct agent_seen *seen);
