/* SPDX-License-Identifier: MIT
 *
 * analyze/gap.h - a stretch of idle time: how much of it has which cause, and where in it that is
 *
 * Of this room only. The sums are the account's and exact; where each cause stands comes from what the sums were made
 * of. Where that does not say (calls merged to one span, clamped rows) the causes that are left stand one behind the
 * other, so that what is told of a gap always adds up to its sums.
 */
#ifndef ANALYZE_GAP_H
#define ANALYZE_GAP_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/account.h"

struct gap {
	struct account *account;
	const struct account_command *command; /* that it belongs to; NULL: nobody */
	uint64_t at, end;                      /* told up to `at`; inside of the window */
	uint64_t left[CAUSE_COUNT];            /* not told yet */
	enum account_cause rest;               /* of a thread: what is outside of calls */
	bool has_away;                         /* … or where it was then */
};

/* `begin` and `end` may be outside of the window. */
void gap_init(struct gap *gap, struct account *account, const struct account_command *command,
	      uint64_t begin, uint64_t end);

/* How much of it has a cause. */
void gap_add(struct gap *gap, enum account_cause cause, uint64_t idle_ns);

/* To the account's on_span, once all was added: all of one cause, but where a command without times may have run. */
void gap_tell(struct gap *gap, enum account_cause cause);
/* … what the command's launching thread did. */
void gap_tell_thread(struct gap *gap);

#endif
