/* SPDX-License-Identifier: MIT
 *
 * analyze/account/idle_gap.c - one idle gap: how much of it each cause has, and where in the gap
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     the parts of a gap from the account
 * Gives:    sums, and spans in the order of time
 * Owns:     nothing
 * Fails:    stores an error of on_span in the account
 * Why sums first: the calls of a thread that polled through a long gap are merged, and only their
 *           sums are left. Each span is cut to the part of its cause's sum that is still left, so
 *           spans add up exactly to the account.
 */
#include "analyze/account/idle_gap.h"

void gap_init(struct gap *gap, struct account *account, const struct account_command *command,
	      uint64_t begin, uint64_t end)
{
	begin = begin < account->from ? account->from : begin;
	end = end > account->to ? account->to : end;
	*gap = (struct gap){.account = account,
			    .command = command,
			    .at = begin,
			    .end = end > begin ? end : begin};
}

static const struct account_command *owner_of(const struct gap *gap, enum account_cause cause)
{
	return cause == CAUSE_NOTHING_TO_DO || gap->is_after ? NULL : gap->command;
}

void gap_add_finer(struct gap *gap, enum account_cause cause, enum account_cause finer,
		   uint64_t idle_ns)
{
	struct account *account = gap->account;
	const struct account_command *owner = owner_of(gap, cause);
	const struct account_idle idle = {.cause = cause,
					  .finer = finer,
					  .ns = idle_ns,
					  .is_steady = gap->is_steady,
					  .is_slowest = gap->is_slowest,
					  .is_full = gap->is_full,
					  .awaited = owner ? owner->awaited : 0,
					  .waited = owner ? owner->waited : 0};

	gap->left[cause] += idle_ns;
	account->causes[cause] += idle_ns;
	if (gap->is_steady)
		account->steady.causes[finer] += idle_ns;
	if (gap->is_slowest)
		account->slowest.causes[finer] += idle_ns;
	if (cause == CAUSE_UNKNOWN && finer != cause)
		account->not_started_ns += idle_ns;
	if (!owner)
		(account->commands ? account->after : account->before)[cause] += idle_ns;
	if (idle_ns && owner && account->on_idle)
		account->on_idle(account->context, owner->tag, &idle);
}

void gap_add(struct gap *gap, enum account_cause cause, uint64_t idle_ns)
{
	gap_add_finer(gap, cause, cause, idle_ns);
}

static void emit_cause(struct gap *gap, enum account_cause cause, uint64_t *length)
{
	struct account *account = gap->account;
	const struct account_command *owner = owner_of(gap, cause);
	uint64_t part = *length < gap->left[cause] ? *length : gap->left[cause];
	struct account_span span = {.begin = gap->at,
				    .end = gap->at + part,
				    .shared_begin = gap->at,
				    .shared_end = gap->at + part,
				    .has_owner = owner != NULL,
				    .tag = owner ? owner->tag : 0,
				    .cause = cause};

	if (!part)
		return;
	gap->left[cause] -= part;
	gap->at += part;
	*length -= part;
	if (!account->error)
		account->error = account->on_span(account->context, account, &span);
}

static void emit_until(struct gap *gap, enum account_cause cause, uint64_t until)
{
	uint64_t length = until > gap->at ? until - gap->at : 0;

	emit_cause(gap, cause, &length);
	for (unsigned int other = 0; length && other < CAUSE_COUNT; other++)
		emit_cause(gap, (enum account_cause)other, &length);
}

void gap_emit(struct gap *gap, enum account_cause cause)
{
	const struct untimed_interval *interval;

	if (!gap->account->on_span)
		return;
	while (gap->left[CAUSE_UNKNOWN] && cause != CAUSE_UNKNOWN &&
	       (interval = untimed_intervals_find(gap->account->untimed, gap->at)) &&
	       interval->begin < gap->end) {
		emit_until(gap, cause, interval->begin);
		emit_until(gap, CAUSE_UNKNOWN, interval->end < gap->end ? interval->end : gap->end);
	}
	emit_until(gap, cause, gap->end);
}

static void on_away(void *context, enum calls_state state, uint64_t until)
{
	static const enum account_cause causes[] = {[CALLS_OUTSIDE] = CAUSE_ON_CPU,
						    [CALLS_WAIT] = CAUSE_PREEMPTED,
						    [CALLS_CALL] = CAUSE_BLOCKED,
						    [CALLS_DUET] = CAUSE_HOST};

	emit_until(context, causes[state], until);
}

static void on_call(void *context, enum calls_state state, uint64_t until)
{
	static const enum account_cause causes[] = {[CALLS_WAIT] = CAUSE_API_WAIT,
						    [CALLS_CALL] = CAUSE_API_CALL,
						    [CALLS_DUET] = CAUSE_DUET_ITSELF,
						    [CALLS_PROFILER] = CAUSE_PROFILER_OVERHEAD};
	struct gap *gap = context;

	if (state == CALLS_OUTSIDE && gap->has_away)
		calls_walk(gap->command->away, gap->at, until, on_away, gap);
	else if (state == CALLS_OUTSIDE)
		emit_until(gap, gap->rest, until);
	else
		emit_until(gap, gap->is_after ? gap->rest : causes[state], until);
}

void gap_emit_thread(struct gap *gap)
{
	if (gap->account->on_span && gap->at < gap->end)
		calls_walk(gap->command->calls, gap->at, gap->end, on_call, gap);
}
