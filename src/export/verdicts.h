/* SPDX-License-Identifier: MIT
 *
 * export/verdicts.h - which launches will have a slice of the device, and what became of all, known beforehand
 */
#ifndef EXPORT_VERDICTS_H
#define EXPORT_VERDICTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/ledger.h"
#include "analyze/pair_map.h"
#include "event/event.h"

struct model;

enum verdict {
	VERDICT_DRAWN,        /* its execution has a slice */
	VERDICT_DRAWN_BEFORE, /* … that begins before the launch: no arrow goes back in time */
	VERDICT_FAILED_CALL,
	VERDICT_UNTIMED,
	VERDICT_NO_SPAN,
	VERDICT_UNPLACED,
	VERDICT_BACKWARDS,
	VERDICT_NEVER,
	VERDICT_NOT_EXECUTED, /* its queue was past it: analyze/unexecuted.h */
	VERDICT_REPLACED,
	VERDICT_OUTSIDE
};

/* Only what a launch's own row does not tell is stored. */
struct verdicts {
	const struct model *model;     /* borrowed */
	struct pair_map map;           /* (thread, enter) -> enum verdict */
	uint64_t from_ns, to_ns;       /* what is exported */
	bool lost_executions;          /* so one that has none is not known to be in flight */
	struct analysis_ledger ledger; /* of the whole trace */
	uint64_t
		delay_ns; /* let executions come this much later and none comes before its launch */
};

/* One pass over launches and executions. -ENOMEM and what the reader fails with. */
int verdicts_init(struct verdicts *verdicts, const struct model *model, uint64_t from_ns,
		  uint64_t to_ns);
void verdicts_fini(struct verdicts *verdicts); /* NULL-safe */

enum verdict verdicts_of(const struct verdicts *verdicts, const struct event_launch *row);

/* Whether a launch is in flight up to its execution, or up to the end of the recording. One that did not execute never is. Where
 * executions were lost, one without its own is not known to be. */
bool verdicts_has_end(const struct verdicts *verdicts, enum verdict verdict);

/* Whether a slice can be drawn: started and ended are there, in order, and have a place. */
bool verdict_is_drawable(const struct event_execution *row);

/* Why there is no slice, for people; NULL where there is one. */
const char *verdict_text(enum verdict verdict);

#endif
