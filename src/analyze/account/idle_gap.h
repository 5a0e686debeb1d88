/* SPDX-License-Identifier: MIT
 *
 * analyze/account/idle_gap.h - one idle gap: how much of it each cause has, and where in the gap
 *
 * Private to analyze/. The sums per cause are those of the account, and exact. The places of the
 * causes in the gap come from the calls and times that were summed up. If these do not contain the
 * places (merged calls, clamped rows), the remaining causes follow one after the other. So the
 * spans of a gap always add up to its sums.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/account/account.h"

struct gap {
	struct account *account;
	const struct account_command *command; /* its owner; NULL: none */
	uint64_t at, end;           /* spans are passed up to `at`; clamped to the window */
	uint64_t left[CAUSE_COUNT]; /* not passed to on_span yet */
	enum account_cause rest;    /* cause of time outside of calls */
	bool has_away;              /* command->away explains that time instead */
	bool is_after;              /* it follows the last command */
	bool is_steady, is_slowest;
	bool is_full; /* as in struct account_idle */
};

/* `begin` and `end` may be outside of the window. */
void gap_init(struct gap *gap, struct account *account, const struct account_command *command,
	      uint64_t begin, uint64_t end);

/* Adds idle_ns to a cause, for the gap and for the account. */
void gap_add(struct gap *gap, enum account_cause cause, uint64_t idle_ns);
/* finer: the cause in the steady part, see struct account_steady. */
void gap_add_finer(struct gap *gap, enum account_cause cause, enum account_cause finer,
		   uint64_t idle_ns);

/* Call once all was added. Passes the gap to on_span: one cause, except for untimed intervals. */
void gap_emit(struct gap *gap, enum account_cause cause);
/* The same for a gap that is divided by what the command's launching thread did. */
void gap_emit_thread(struct gap *gap);
