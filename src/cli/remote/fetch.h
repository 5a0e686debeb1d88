/* SPDX-License-Identifier: MIT
 *
 * cli/remote/fetch.h - copy a recording from the other machine
 */
#pragma once

#include <stdbool.h>

#include "cli/remote/job.h"

/* Refuses an output that is not a trace, and that the recording would replace. Errors: -errno with
 * the error chain. */
int fetch_check_output(const char *path);

enum { FETCH_NOTHING, FETCH_TRACE, FETCH_SYMBOLS };

/* Copies the job's recording to `path`. ret_found: there is none, a recording, or one with symbol
 * files. Errors: -errno with the error chain; the recording is still there, and nothing is here. */
int fetch_trace(const struct remote_job *job, const char *path, int *ret_found);

/* Copies the recording's symbol files to PATH.symbols, except those that are there already. Errors:
 * -errno with the error chain. */
int fetch_symbols(const struct remote_job *job, const char *path);
