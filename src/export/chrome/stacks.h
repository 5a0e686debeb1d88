/* SPDX-License-Identifier: MIT
 *
 * export/chrome/stacks.h - write the samples of a Chrome trace and the stacks that the trace refers
 * to
 */
#pragma once

#include "analyze/filter.h"
#include "export/chrome/events.h"
#include "export/chrome/rows.h"
#include "export/common/stack_set.h"

struct json_writer;

/* Writes an array of the selected CPU samples. Adds their stacks to the set and their number to
 * *rows. Errors: -ENOMEM, errors of the reader. */
int chrome_stacks_samples(const struct chrome_events *events, const struct chrome_rows *places,
			  const struct filter *filter, struct stack_set *stacks, uint64_t *rows);

/* Writes an object: each stack of the set by its id, as its innermost frame and its caller. Errors:
 * -ENOMEM. */
int chrome_stacks_frames(struct json_writer *json, const struct output_options *options,
			 const struct stack_set *stacks);
