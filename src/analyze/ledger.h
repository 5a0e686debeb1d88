/* SPDX-License-Identifier: MIT
 *
 * analyze/ledger.h - the outcome of every launch: matched, not executed, in flight, dropped or
 * rejected
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct event_execution;

/* Always: launched = matched + not_executed + in_flight_at_exit + dropped + rejected +
 * left_out. */
struct analysis_ledger {
	uint64_t launched;         /* launch rows with result 0, plus lost launch rows */
	uint64_t executed;         /* execution rows */
	uint64_t matched;          /* executions that have a launch and are not rejected */
	uint64_t dropped;          /* launches that were lost, or whose execution was lost */
	uint64_t dropped_launches; /* the part of dropped whose launch row was lost */
	uint64_t lost_executions;  /* lost rows; dropped has one per launch at most */
	uint64_t left_out; /* launches that --max-overhead left out: counted, not recorded */
	/* launches whose stack is that of an earlier launch of their call site */
	uint64_t stacks_carried;
	uint64_t commands_uncounted; /* losses of launches or executions of unknown size */
	uint64_t rejected;           /* executions that failed or have impossible timestamps */
	uint64_t passed;             /* open launches that a later command of their queue passed:
					analyze/join/unexecuted.h */
	uint64_t not_executed;       /* equals passed, or 0 if losses make that uncertain */
	uint64_t in_flight_at_exit;  /* the rest */
	uint64_t untimed;            /* the part of matched without device times */
	uint64_t
		unplaced; /* the part of matched whose device clock is not aligned with host time */
	uint64_t samples; /* CPU samples of threads */
	uint64_t samples_lost;
	uint64_t instructions; /* samples of device instructions */
	uint64_t instructions_lost;
	uint64_t instructions_uncounted; /* losses of instruction samples of unknown size */
	uint64_t instructions_estimated; /* instruction samples with an uncertain launch, for one or
					    more of the next three reasons */
	uint64_t
		instructions_divided; /* estimated: several commands may have run the instruction */
	uint64_t instructions_unsized; /* estimated: the code's size is not known */
	uint64_t instructions_early;   /* estimated: attributed early because too many samples were
					  pending */
	uint64_t instructions_unknown; /* instruction samples that were attributed to no launch */
	uint64_t instructions_unknown_code; /* unknown: not even the code is known; for the others
					       only the launch is not known */
	/* the part of unknown whose device is not known either */
	uint64_t instructions_no_device;
	uint64_t instructions_late; /* instruction samples at an address where the code was placed
				       only later */
	uint64_t orphaned; /* executions without a launch row; no other sum contains them */
	/* Instruction samples in kernels while the account shows their device as idle, plus
	 * accounts that do not add up. */
	uint64_t contradictions;
	/* At least 95 % of ledger_expected are matched. In a part of a recording those in flight do
	 * not count, because they end in the next part. */
	bool is_complete;
};

/* Whether an execution is rejected: its command failed, or its timestamps are impossible. */
bool ledger_rejects(const struct event_execution *row);

/* Counts an execution whose launch was found. */
void ledger_add_match(struct analysis_ledger *ledger, const struct event_execution *row);

/* Counts lost rows of any kind. */
void ledger_add_lost(struct analysis_ledger *ledger, uint32_t kind, uint64_t count);
/* Counts launches that were left out on purpose (LOSS_LIMIT). */
void ledger_add_left_out(struct analysis_ledger *ledger, uint32_t kind, uint64_t count);

/* Call after the last row, with launched, executed and passed already counted. knows_unexecuted:
 * the result of unexecuted_is_certain. */
void ledger_close(struct analysis_ledger *ledger, bool knows_unexecuted);

/* The same for a part of a recording, after ledger_close. */
void ledger_close_part(struct analysis_ledger *ledger);

/* Number of launches that should have an execution row in the trace. */
uint64_t ledger_expected(const struct analysis_ledger *ledger);

/* Whether less than 95 % are matched or there are contradictions: results may be wrong. Final only
 * after all accounts are closed. */
bool ledger_is_incomplete(const struct analysis_ledger *ledger);
