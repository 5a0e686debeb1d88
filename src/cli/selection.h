/* SPDX-License-Identifier: MIT
 *
 * cli/selection.h - the trace, and the part of it, that a verb was asked for
 */
#ifndef CLI_SELECTION_H
#define CLI_SELECTION_H

#include <stddef.h>
#include <stdint.h>

#include "cli/command.h"

struct analysis;
struct model;

/* What `record` writes by default, and every other verb reads. */
#define SELECTION_FILE "duet.duet"

#define SELECTION_ALL_DEVICES SIZE_MAX

/* Adds what to do to the error chain, where the default file is not there. Returns error. */
int selection_explain(const char *path, int error);

/* As model_open. */
int selection_open(const char *path, struct model **ret_model);

/* -EINVAL with the error chain where `output` is the trace itself, also by a link: opening it for writing would
 * destroy it. output may be NULL. */
int selection_check_output(const char *output, const char *trace);

/* An account of no time at all is no answer: STATUS_FAILED with a message where `from` is behind the end. */
int selection_check_window(const struct command *command, uint64_t from_ns, uint64_t length_ns);

/* The device of that key, name or number; all of them where wanted is NULL. Else STATUS_USAGE, with the list of
 * those that exist. */
int selection_find_device(const struct command *command, const struct analysis *analysis,
			  const char *wanted, const char *path, size_t *ret_device);

#endif
