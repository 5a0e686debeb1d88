/* SPDX-License-Identifier: MIT
 *
 * analyze/ledger.c - the outcome of every launch: matched, not executed, in flight, dropped or
 * rejected
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     matched executions, and losses
 * Gives:    sums that add up to the number of launches
 * Owns:     nothing
 * Fails:    never
 * Why apart from the analysis: the rules that separate lost commands from commands in flight must
 *           be the same in the report and in every exporter. An exporter that needs only the ledger
 *           does not have to compute an account.
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

void ledger_add_left_out(struct analysis_ledger *ledger, uint32_t kind, uint64_t count)
{
	if (kind == EVENT_LAUNCH)
		ledger->left_out += count;
}

uint64_t ledger_expected(const struct analysis_ledger *ledger)
{
	return ledger->launched - ledger->not_executed - ledger->left_out;
}

bool ledger_is_incomplete(const struct analysis_ledger *ledger)
{
	return !ledger->is_complete || ledger->contradictions;
}

static bool is_enough(uint64_t matched, uint64_t expected)
{
	return (unsigned __int128)matched * 100 >= (unsigned __int128)expected * 95;
}

/* The lost executions can exceed the open launches, because one event can be lost at two places.
 * The excess stays in the list of losses and does not enter the sum. */
void ledger_close(struct analysis_ledger *ledger, bool knows_unexecuted)
{
	uint64_t open = ledger->launched - ledger->matched - ledger->rejected;
	uint64_t lost = ledger->lost_executions < open ? ledger->lost_executions : open;

	ledger->launched += ledger->dropped_launches + ledger->left_out;
	ledger->dropped = ledger->dropped_launches + lost;
	ledger->not_executed = knows_unexecuted ? ledger->passed : 0;
	ledger->in_flight_at_exit = open - lost - ledger->not_executed;
	ledger->is_complete = is_enough(ledger->matched, ledger_expected(ledger));
}

void ledger_close_part(struct analysis_ledger *ledger)
{
	ledger->is_complete =
		is_enough(ledger->matched, ledger_expected(ledger) - ledger->in_flight_at_exit);
}
