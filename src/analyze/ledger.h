/* SPDX-License-Identifier: MIT
 *
 * analyze/ledger.h - what became of every launch: one rule for all who count
 */
#ifndef ANALYZE_LEDGER_H
#define ANALYZE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

struct event_execution;

/* launched = matched + not_executed + in_flight_at_exit + dropped + rejected, always. */
struct analysis_ledger {
	uint64_t launched;         /* launch rows with result 0, and launch rows lost */
	uint64_t executed;         /* execution rows */
	uint64_t matched;          /* executions with their launch, not rejected */
	uint64_t dropped;          /* launches or executions lost */
	uint64_t dropped_launches; /* of dropped: launches, of which nothing else is known */
	uint64_t lost_executions;  /* rows; in dropped are those that an open launch may lack */
	uint64_t
		commands_uncounted; /* times that launches or executions were lost, nobody knows how many */
	uint64_t rejected;          /* failed, or with impossible stamps */
	uint64_t passed;       /* open launches whose queue was past them: analyze/unexecuted.h */
	uint64_t not_executed; /* of passed: those whose execution was not lost */
	uint64_t in_flight_at_exit; /* the rest */
	uint64_t untimed;           /* of matched: without device times */
	uint64_t unplaced; /* of matched: timed, but by a clock without place in host time */
	uint64_t samples;  /* of threads on processors */
	uint64_t samples_lost;
	uint64_t instructions; /* samples of device instructions */
	uint64_t instructions_lost;
	uint64_t instructions_uncounted; /* times that more were lost, nobody knows how many */
	uint64_t instructions_estimated; /* of them: by one or more of the three reasons below */
	uint64_t instructions_divided;   /* of those: given to one of several commands */
	uint64_t instructions_unsized;   /* of those: of code of which nobody told where it ends */
	uint64_t instructions_early;     /* of those: given away before all was known */
	uint64_t instructions_unknown;   /* of them: given to none */
	uint64_t
		instructions_unknown_code; /* of those: nobody knows even the code; of the others, who launched it */
	uint64_t
		instructions_no_device; /* of those given to none: not even their device is known */
	uint64_t instructions_late;     /* of them: of code that came to its place later */
	uint64_t orphaned;              /* of executed: no launch row, so in no other sum */
	/* Samples in kernels while the account has their device idle, and accounts that do not add up. */
	uint64_t contradictions;
	bool is_complete; /* 95 % or more matched, of those that executed */
};

/* Its command failed, or its stamps cannot be. */
bool ledger_rejects(const struct event_execution *row);

/* An execution with its launch. */
void ledger_add_match(struct analysis_ledger *ledger, const struct event_execution *row);

/* Rows that are not in the trace, of any kind. */
void ledger_add_lost(struct analysis_ledger *ledger, uint32_t kind, uint64_t count);

/* After the last row; launched, executed and passed were counted one by one. is_whole: rows of unknown kind are not
 * missing. */
void ledger_close(struct analysis_ledger *ledger, bool is_whole);

/* Launches that should have an execution row in the trace. */
uint64_t ledger_expected(const struct analysis_ledger *ledger);

/* Less than 95 % matched, or contradictions: what is made of the trace may be wrong. Final when all accounts are closed. */
bool ledger_is_incomplete(const struct analysis_ledger *ledger);

#endif
