/* SPDX-License-Identifier: MIT
 *
 * analyze/unexecuted.h - which launches never executed: one rule for all readers
 *
 * A launch without an execution row is not executed when its queue was past it (docs/design/account.md, "The ledger").
 */
#ifndef ANALYZE_UNEXECUTED_H
#define ANALYZE_UNEXECUTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/things.h"
#include "event/event.h"

struct analysis_ledger;
struct model;
struct open_command;

struct unexecuted {
	struct things queues, processes;
	/* What was entered before this moment and returned by then is behind the queue. One item more each, for what is
	 * not described. 0: nothing is. */
	uint64_t *queue_passed_ns, *process_passed_ns; /* owned */
	uint64_t
		*waited_ns; /* owned; by queue: begin of the latest call that waits for all of it */
};

/* -ENOMEM. model must outlive it. */
int unexecuted_init(struct unexecuted *unexecuted, const struct model *model);
void unexecuted_fini(struct unexecuted *unexecuted); /* NULL-safe */

void unexecuted_add_call(struct unexecuted *unexecuted, const struct event_api *row);
/* A launch; returns what its queue is past once it has run, which its execution needs. */
uint64_t unexecuted_add_launch(const struct unexecuted *unexecuted, uint32_t queue,
			       uint64_t enter_ns);
/* A command with its launch, which came before it: ids of the launch's queue and process. */
void unexecuted_add_execution(struct unexecuted *unexecuted, const struct event_execution *row,
			      uint32_t queue, uint32_t process, const struct open_command *launch);

/* Whether the queue of an open launch was past it. Final after the last row. */
bool unexecuted_is_passed(const struct unexecuted *unexecuted, uint32_t queue, uint32_t process,
			  uint64_t enter_ns, uint64_t exit_ns);

/* For ledger_close: whether the file has all rows that its losses do not count. Reads the whole file. */
bool unexecuted_is_whole(const struct model *model);

/* Whether every launch that was passed is not executed. Where execution rows are missing, one of them may be its own. */
bool unexecuted_is_certain(const struct model *model, const struct analysis_ledger *ledger);

#endif
