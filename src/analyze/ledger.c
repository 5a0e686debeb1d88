/* SPDX-License-Identifier: MIT
 *
 * analyze/ledger.c - what became of every launch: one rule for all who count
 *
 * Runs in:  the readers
 * Gets:     executions that found their launch, and losses   Gives: sums that add up
 * Owns:     nothing
 * Fails:    never
 * Why apart from the analysis: what is lost and what merely was in flight is told apart by rules, and two programs
 *           that count alike by different code do so until one of them is changed; an exporter that wants the ledger
 *           alone need not pay for an account.
 */
#include "analyze/ledger.h"

#include "analyze/order.h"
#include "event/event.h"

bool ledger_rejects(const struct event_execution *row)
{
	return row->status < 0 || (row->valid & ORDER_IMPOSSIBLE);
}

void ledger_add_match(struct analysis_ledger *ledger, const struct event_execution *row)
{
	bool is_timed = (row->valid & EXECUTION_STARTED) && (row->valid & EXECUTION_ENDED);

	if (ledger_rejects(row)) {
		ledger->rejected++;
		return;
	}
	ledger->matched++;
	ledger->untimed += !is_timed;
	ledger->unplaced += is_timed && (row->valid & ORDER_UNPLACED);
}

void ledger_add_lost(struct analysis_ledger *ledger, uint32_t kind, uint64_t count)
{
	if (count == LOSS_COUNT_UNKNOWN && (kind == EVENT_LAUNCH || kind == EVENT_EXECUTION))
		ledger->commands_uncounted++;
	switch (kind) {
	case EVENT_LAUNCH:
		ledger->dropped_launches += count;
		break;
	case EVENT_EXECUTION:
		ledger->lost_executions += count;
		break;
	case EVENT_CPU_SAMPLE:
		ledger->samples_lost += count;
		break;
	case EVENT_INSTRUCTION_SAMPLE:
		ledger->instructions_lost += count;
		ledger->instructions_uncounted += count == LOSS_COUNT_UNKNOWN;
		break;
	default:
		break;
	}
}

uint64_t ledger_expected(const struct analysis_ledger *ledger)
{
	return ledger->launched - ledger->not_executed;
}

bool ledger_is_incomplete(const struct analysis_ledger *ledger)
{
	return !ledger->is_complete || ledger->contradictions;
}

/* A lost execution is that of a launch that was passed before it is that of one in flight. */
static uint64_t count_not_executed(const struct analysis_ledger *ledger, uint64_t lost,
				   bool is_whole)
{
	if (!is_whole || ledger->commands_uncounted || ledger->passed < lost)
		return 0;
	return ledger->passed - lost;
}

/* More executions can be reported lost than launches are open (one lost twice on its way): what is
 * above stays in the list of losses and out of the sum. */
void ledger_close(struct analysis_ledger *ledger, bool is_whole)
{
	uint64_t open = ledger->launched - ledger->matched - ledger->rejected;
	uint64_t lost = ledger->lost_executions < open ? ledger->lost_executions : open;

	ledger->launched += ledger->dropped_launches;
	ledger->dropped = ledger->dropped_launches + lost;
	ledger->not_executed = count_not_executed(ledger, lost, is_whole);
	ledger->in_flight_at_exit = open - lost - ledger->not_executed;
	ledger->is_complete = (unsigned __int128)ledger->matched * 100 >=
			      (unsigned __int128)ledger_expected(ledger) * 95;
}
