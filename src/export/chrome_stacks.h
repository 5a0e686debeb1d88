/* SPDX-License-Identifier: MIT
 *
 * export/chrome_stacks.h - the samples of a Chrome trace and the stacks that it names
 */
#ifndef EXPORT_CHROME_STACKS_H
#define EXPORT_CHROME_STACKS_H

#include "export/chrome_events.h"
#include "export/chrome_rows.h"
#include "export/filter.h"
#include "export/stack_set.h"

struct json_writer;

/* An array of all CPU samples that are asked for. Their stacks go into the set; *rows grows by their number. -ENOMEM,
 * what the reader fails with. */
int chrome_stacks_samples(const struct chrome_events *events, const struct chrome_rows *places,
			  const struct filter *filter, struct stack_set *stacks, uint64_t *rows);

/* An object: each stack of the set by its id, as its innermost frame and its caller. -ENOMEM. */
int chrome_stacks_frames(struct json_writer *json, const struct export_options *options,
			 const struct stack_set *stacks);

#endif
