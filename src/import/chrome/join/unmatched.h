/* SPDX-License-Identifier: MIT
 *
 * import/chrome/join/unmatched.h - launches of a Chrome trace whose command has no event
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"

struct chrome_unmatched;

/* Takes a launch. launch->queue: 0 if its process has no command. */
typedef int chrome_unmatched_visit(void *context, const struct event_launch *launch, bool is_named);

int chrome_unmatched_new(struct chrome_unmatched **ret_unmatched);
void chrome_unmatched_free(struct chrome_unmatched *unmatched); /* NULL-safe */

/* A launch of a process with a command. Errors: as for record_sort_add. */
int chrome_unmatched_add_mark(struct chrome_unmatched *unmatched, uint32_t process,
			      const struct event_launch *launch);
/* A launch without. is_named: it is a launch by the name of its function alone. */
int chrome_unmatched_add(struct chrome_unmatched *unmatched, uint32_t process,
			 const struct event_launch *launch, bool is_named);

/* Passes all launches without a command to `visit`, with the queue of the next launch of the same
 * thread, otherwise of the launch before, otherwise of the first launch of the process. */
int chrome_unmatched_visit_all(struct chrome_unmatched *unmatched, chrome_unmatched_visit *visit,
			       void *context);
