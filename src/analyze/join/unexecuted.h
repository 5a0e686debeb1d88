/* SPDX-License-Identifier: MIT
 *
 * analyze/join/unexecuted.h - detects launches that were never executed, with one rule for all
 * users
 *
 * A launch without an execution row counts as not executed if a later command of its queue ran
 * (docs/design/account.md, "The ledger"). Its queue has "passed" it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/entity_index.h"
#include "event/event.h"

struct analysis_ledger;
struct model;

struct unexecuted {
	struct entity_index queues;
	/* By queue. The queue has passed each launch that was entered before this time and returned
	 * by then. The last item stands for queues without a row. It stays 0, so nothing is passed
	 * there. */
	uint64_t *queue_passed_ns; /* owned */
	/* owned; by queue: begin of the latest call that waited for the whole queue */
	uint64_t *waited_ns;
};

/* -ENOMEM. model must outlive it. */
int unexecuted_init(struct unexecuted *unexecuted, const struct model *model);
void unexecuted_fini(struct unexecuted *unexecuted); /* NULL-safe */

void unexecuted_add_call(struct unexecuted *unexecuted, const struct event_api *row);

/* In the functions below, queue is an index into queues. */

/* Returns the time before which launches of the queue are passed once this launch has run.
 * unexecuted_add_execution needs it. */
uint64_t unexecuted_add_launch(const struct unexecuted *unexecuted, size_t queue,
			       uint64_t enter_ns);
/* Adds an execution that was matched after its launch. passes_ns: the result of
 * unexecuted_add_launch. */
void unexecuted_add_execution(struct unexecuted *unexecuted, const struct event_execution *row,
			      size_t queue, uint64_t passes_ns);

/* Whether the queue has passed an open launch. Final after the last row. */
bool unexecuted_is_passed(const struct unexecuted *unexecuted, size_t queue, uint64_t enter_ns,
			  uint64_t exit_ns);

/* Whether all passed launches were really not executed. If execution rows are missing, one of them
 * may belong to such a launch. The ledger must contain the losses. Reads the whole file. */
bool unexecuted_is_certain(const struct model *model, const struct analysis_ledger *ledger);
