/* SPDX-License-Identifier: MIT
 *
 * analyze/account/account.c - the account: divides a device's wall time exactly into busy and idle
 * parts
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     the commands of one device, queue or context in the order of their start
 * Gives:    busy time by class and by command, idle time by cause; exact sums
 * Owns:     the commands that are executing at the time that the sweep has reached
 * Fails:    -ENOMEM
 * Why integers: shares of k overlapping commands as doubles lose up to k/2 ns by rounding at each
 *           of 10^7 starts and ends, and no sum could be checked. With integers the remainder of
 *           each span goes to the commands that started first, 1 ns each, and the parts add up to
 *           the wall time.
 */
#include "analyze/account/account.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/account/idle_gap.h"
#include "base/array.h"
#include "base/number.h"

#define MIN_CROWD 64 /* commands at once; a list is faster for fewer */

struct account_active {
	uint64_t started, ended, correlation, share_ns;
	uint32_t process, tag, tag2;
	enum account_class class;
};

const char *account_cause_name(enum account_cause cause)
{
	static const char *const names[CAUSE_COUNT] = {
		[CAUSE_API_WAIT] = "api_wait",
		[CAUSE_API_CALL] = "api_call",
		[CAUSE_ON_CPU] = "on_cpu",
		[CAUSE_PREEMPTED] = "preempted",
		[CAUSE_BLOCKED] = "blocked",
		[CAUSE_HOST] = "host",
		[CAUSE_DUET_ITSELF] = "duet_itself",
		[CAUSE_RUNTIME] = "runtime",
		[CAUSE_SUBMISSION] = "submission",
		[CAUSE_DEPENDENCY] = "dependency",
		[CAUSE_LATENCY] = "latency",
		[CAUSE_NOTHING_TO_DO] = "nothing_to_do",
		[CAUSE_UNKNOWN] = "unknown",
		[CAUSE_PROFILER_OVERHEAD] = "profiler_overhead",
	};

	return array_text(names, ARRAY_COUNT(names), cause, "unknown");
}

const char *account_cause_text(enum account_cause cause)
{
	static const char *const texts[CAUSE_COUNT] = {
		[CAUSE_API_WAIT] = "waiting in a call",
		[CAUSE_API_CALL] = "in another call",
		[CAUSE_ON_CPU] = "computing",
		[CAUSE_PREEMPTED] = "preempted",
		[CAUSE_BLOCKED] = "blocked",
		[CAUSE_HOST] = "outside of calls",
		[CAUSE_DUET_ITSELF] = "duet itself",
		[CAUSE_PROFILER_OVERHEAD] = "profiler overhead",
		[CAUSE_RUNTIME] = "launching call",
		[CAUSE_SUBMISSION] = "submission to the device",
		[CAUSE_DEPENDENCY] = "waiting for another command",
		[CAUSE_LATENCY] = "driver and queue latency",
		[CAUSE_NOTHING_TO_DO] = "nothing to do",
		[CAUSE_UNKNOWN] = "unknown",
	};

	return array_text(texts, ARRAY_COUNT(texts), cause, "unknown");
}

const char *account_cause_meaning(enum account_cause cause)
{
	static const char *const meanings[CAUSE_COUNT] = {
		[CAUSE_API_WAIT] = "until launched work is done",
		[CAUSE_API_CALL] = "not the launch of what came next",
		[CAUSE_ON_CPU] = "on a processor, outside of calls",
		[CAUSE_PREEMPTED] = "its processor ran others",
		[CAUSE_BLOCKED] = "asleep, or for I/O, locks …",
		[CAUSE_HOST] = "not known what it did",
		[CAUSE_DUET_ITSELF] = "its guest, in the same thread",
		[CAUSE_PROFILER_OVERHEAD] = "the recording tool held the launching thread",
		[CAUSE_RUNTIME] = "inside the enqueueing call",
		[CAUSE_SUBMISSION] = "returned, not yet submitted",
		[CAUSE_DEPENDENCY] = "of its wait list",
		[CAUSE_LATENCY] = "launched, not yet started",
		[CAUSE_NOTHING_TO_DO] = "before the first, after the last",
		[CAUSE_UNKNOWN] = "queue or run times are missing, or rows were lost",
	};

	return array_text(meanings, ARRAY_COUNT(meanings), cause, "");
}

bool account_cause_is_thread(enum account_cause cause)
{
	return cause <= CAUSE_HOST;
}

void account_init(struct account *account, uint64_t from, uint64_t to, bool has_causes)
{
	*account = (struct account){.from = from,
				    .to = to < from ? from : to,
				    .has_causes = has_causes,
				    .steady.to = UINT64_MAX,
				    .in_flight_from = UINT64_MAX};
}

void account_fini(struct account *account)
{
	if (!account)
		return;
	free(account->active);
	fair_share_fini(&account->fair_share);
	account->active = NULL;
	account->active_count = account->active_capacity = 0;
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	if (value < low)
		return low;
	return value > high ? high : value;
}

/* Length of [begin, end) inside the window. */
static uint64_t inside(const struct account *account, uint64_t begin, uint64_t end)
{
	begin = clamp(begin, account->from, account->to);
	end = clamp(end, account->from, account->to);
	return end > begin ? end - begin : 0;
}

static bool is_busy(const struct account *account)
{
	return account->active_count || account->fair_share.count;
}

static void add_busy(const struct account *account, struct account_steady *part, uint64_t until)
{
	part->busy_ns +=
		inside(account, larger(account->cursor, part->from), smaller(until, part->to));
}

static void emit_busy_span(struct account *account, struct account_span span)
{
	span.is_busy = span.has_owner = true;
	if (account->on_span && span.begin < span.end && !account->error)
		account->error = account->on_span(account->context, account, &span);
}

static void emit_fair_share_part(void *context, uint32_t tag, uint64_t part_ns)
{
	struct account *account = context;

	const uint64_t end = account->emitted_until + part_ns;

	emit_busy_span(account, (struct account_span){.begin = account->emitted_until,
						      .end = end,
						      .shared_begin = account->emitted_until,
						      .shared_end = end,
						      .tag = tag});
	account->emitted_until = end;
}

/* Reports the shares of k members to on_span once every k divisions, so that the cost
 * per division stays constant. */
static void divide_fair_share(struct account *account, uint64_t length)
{
	account->busy_ns += length;
	fair_share_divide(&account->fair_share, length);
	if (account->on_span && ++account->unemitted_turns >= account->fair_share.count) {
		fair_share_emit(&account->fair_share, emit_fair_share_part, account);
		account->unemitted_turns = 0;
	}
}

/* Divides [cursor, until) among the k active commands: each gets length / k, and the first length %
 * k get 1 ns more. */
static void divide(struct account *account, uint64_t until)
{
	uint64_t length = inside(account, account->cursor, until);
	uint64_t first = clamp(account->cursor, account->from, account->to), begin = first;
	uint64_t count = account->active_count, share, extra;

	if (is_busy(account)) {
		add_busy(account, &account->steady, until);
		add_busy(account, &account->slowest, until);
	}
	account->cursor = until;
	if (length && account->fair_share.count)
		divide_fair_share(account, length);
	if (!length || !count)
		return;
	share = length / count;
	extra = length % count;
	account->busy_ns += length;
	for (size_t i = 0; i < count; i++) {
		struct account_active *active = &account->active[i];
		uint64_t part = share + (i < extra);

		active->share_ns += part;
		emit_busy_span(account, (struct account_span){.begin = begin,
							      .end = begin + part,
							      .shared_begin = first,
							      .shared_end = first + length,
							      .tag = active->tag});
		begin += part;
		account->classes[active->class] += part;
	}
}

/* A command in the list adds each part to its class at once; a member of the fair share adds all
 * when it ends. */
static void retire_fair_share(struct account *account, uint64_t time)
{
	while (fair_share_earliest_end(&account->fair_share) <= time && account->fair_share.count) {
		struct fair_share_member member = fair_share_leave(&account->fair_share);

		account->classes[member.class] += member.share_ns;
		emit_fair_share_part(account, member.tag, member.share_ns - member.emitted_ns);
		if (account->on_share)
			account->on_share(account->context, member.tag, member.tag2,
					  member.share_ns);
	}
}

static void retire(struct account *account, uint64_t time)
{
	size_t kept = 0;

	retire_fair_share(account, time);

	for (size_t i = 0; i < account->active_count; i++) {
		struct account_active *active = &account->active[i];

		if (active->ended > time)
			account->active[kept++] = *active;
		else if (account->on_share)
			account->on_share(account->context, active->tag, active->tag2,
					  active->share_ns);
	}
	account->active_count = kept;
}

static uint64_t earliest_end(const struct account *account)
{
	uint64_t end = fair_share_earliest_end(&account->fair_share);

	for (size_t i = 0; i < account->active_count; i++) {
		if (account->active[i].ended < end)
			end = account->active[i].ended;
	}
	return end;
}

/* Divides everything up to the last end by `time` and retires what ended by then. */
static void retire_until(struct account *account, uint64_t time)
{
	while (is_busy(account)) {
		uint64_t end = earliest_end(account);

		if (end > time)
			return;
		divide(account, end);
		retire(account, end);
	}
}

static bool is_in(const struct account_steady *part, uint64_t time)
{
	return time >= part->from && time < part->to;
}

/* The end of the piece of [begin, end) that no limit of the steady part or of the slowest iteration
 * divides. */
static uint64_t piece_end(const struct account *account, uint64_t begin, uint64_t end)
{
	const uint64_t limits[] = {account->steady.from, account->steady.to, account->slowest.from,
				   account->slowest.to};

	for (size_t i = 0; i < ARRAY_COUNT(limits); i++)
		if (begin < limits[i] && limits[i] < end)
			end = limits[i];
	return end;
}

static struct gap make_gap(struct account *account, const struct account_command *command,
			   uint64_t begin, uint64_t end, bool is_after)
{
	struct gap gap;

	gap_init(&gap, account, command, begin, end);
	gap.is_after = is_after;
	gap.is_steady = account->commands && !is_after && is_in(&account->steady, begin);
	gap.is_slowest = account->commands && !is_after && is_in(&account->slowest, begin);
	return gap;
}

static void add_cause_piece(struct account *account, const struct account_command *command,
			    struct account_idle idle, uint64_t begin, uint64_t end)
{
	struct gap gap = make_gap(account, command, begin, end, false);
	uint64_t unknown = 0;

	gap.is_full = idle.is_full;
	if (account->untimed && idle.cause != CAUSE_UNKNOWN)
		unknown = untimed_intervals_inside(account->untimed, gap.at, gap.end);
	gap_add_finer(&gap, idle.cause, idle.finer, gap.end - gap.at - unknown);
	gap_add(&gap, CAUSE_UNKNOWN, unknown);
	gap_emit(&gap, idle.cause);
}

/* Adds [begin, end) to one cause, except for untimed intervals, in which an untimed command may
 * have run. */
static void add_finer(struct account *account, const struct account_command *command,
		      struct account_idle idle, uint64_t begin, uint64_t end)
{
	while (begin < end) {
		const uint64_t until = piece_end(account, begin, end);

		add_cause_piece(account, command, idle, begin, until);
		begin = until;
	}
}

static void add_cause(struct account *account, const struct account_command *command,
		      enum account_cause cause, uint64_t begin, uint64_t end)
{
	add_finer(account, command, (struct account_idle){.cause = cause, .finer = cause}, begin,
		  end);
}

/* A part of the launching call without overheads of a profiler, with the part in which the command
 * buffer was full. */
static void add_launching(struct account *account, const struct account_command *command,
			  uint64_t enter, uint64_t exit)
{
	const uint64_t begin = clamp(command->full_begin, enter, exit);
	const uint64_t end = clamp(command->full_end, begin, exit);

	add_cause(account, command, CAUSE_RUNTIME, enter, begin);
	add_finer(account, command,
		  (struct account_idle){
			  .cause = CAUSE_RUNTIME, .finer = CAUSE_RUNTIME, .is_full = true},
		  begin, end);
	add_cause(account, command, CAUSE_RUNTIME, end, exit);
}

struct launching {
	struct account *account;
	const struct account_command *command;
	uint64_t at; /* the call is divided up to here */
};

static void on_launching(void *context, enum calls_state state, uint64_t until)
{
	struct launching *launching = context;

	if (state == CALLS_PROFILER)
		add_cause(launching->account, launching->command, CAUSE_PROFILER_OVERHEAD,
			  launching->at, until);
	else
		add_launching(launching->account, launching->command, launching->at, until);
	launching->at = until;
}

/* The launching call. The sums of `calls` are not exact inside of it. */
static void add_runtime(struct account *account, const struct account_command *command,
			uint64_t enter, uint64_t exit)
{
	struct launching launching = {.account = account, .command = command, .at = enter};

	if (command->overheads)
		calls_walk(command->overheads, enter, exit, on_launching, &launching);
	else
		add_launching(account, command, enter, exit);
}

/* Whether the thread's calls explain [begin, end). They do not if any of it is untimed: the calls
 * are not kept up to moments inside of the interval, so it cannot be split there. */
static bool has_state(const struct account *account, const struct account_command *command,
		      uint64_t begin, uint64_t end)
{
	return command->calls &&
	       !(account->untimed && untimed_intervals_inside(account->untimed, begin, end));
}

static struct account_piece piece_of(const struct gap *gap)
{
	return (struct account_piece){.begin = gap->at,
				      .end = gap->end,
				      .thread = gap->command->thread,
				      .rest = gap->rest,
				      .is_after = gap->is_after,
				      .is_steady = gap->is_steady,
				      .is_slowest = gap->is_slowest};
}

/* Adds the part of a gap outside of calls, of this length, by the thread's state. */
static void add_outside(struct gap *gap, uint64_t length)
{
	const struct account_command *command = gap->command;
	const struct calls_sum first = calls_until(command->away, gap->at);
	const struct calls_sum last = calls_until(command->away, gap->end);
	uint64_t preempted = clamp(last.wait_ns - first.wait_ns, 0, length);
	uint64_t blocked = clamp(last.call_ns - first.call_ns, 0, length - preempted);
	uint64_t unknown = clamp(last.duet_ns - first.duet_ns, 0, length - preempted - blocked);

	gap->has_away = true;
	gap_add(gap, CAUSE_PREEMPTED, preempted);
	gap_add(gap, CAUSE_BLOCKED, blocked);
	gap_add(gap, CAUSE_HOST, unknown);
	gap_add(gap, CAUSE_ON_CPU, length - preempted - blocked - unknown);
}

/* Passes the gap to on_thread. Returns whether the thread's switches are known there. */
static bool pass_thread(const struct gap *gap)
{
	struct account *account = gap->account;
	const struct account_piece piece = piece_of(gap);

	const bool is_known = gap->command->away && gap->command->watched_ns <= gap->at;

	if (!gap->command->away || (!is_known && gap->rest == CAUSE_HOST))
		return false;
	if (account->on_thread && !account->error)
		account->error = account->on_thread(account->context, account, &piece);
	return is_known;
}

static void pass_calls(const struct gap *gap)
{
	struct account *account = gap->account;
	const struct account_piece piece = piece_of(gap);

	if (account->on_calls && !account->error)
		account->error = account->on_calls(account->context, account, &piece);
}

/* Time in calls, in duet's own code and in a profiler. Returns the rest of the length. */
static uint64_t add_calls(struct gap *gap, uint64_t length)
{
	const struct account_command *command = gap->command;
	const struct calls_sum first = calls_until(command->calls, gap->at);
	const struct calls_sum last = gap->end == command->enter
					      ? command->at_enter
					      : calls_until(command->calls, gap->end);
	uint64_t wait = clamp(last.wait_ns - first.wait_ns, 0, length);
	uint64_t call = clamp(last.call_ns - first.call_ns, 0, length - wait);
	uint64_t duet = clamp(last.duet_ns - first.duet_ns, 0, length - wait - call);
	uint64_t profiler =
		clamp(last.profiler_ns - first.profiler_ns, 0, length - wait - call - duet);

	gap_add(gap, gap->is_after ? gap->rest : CAUSE_API_WAIT, wait);
	gap_add(gap, gap->is_after ? gap->rest : CAUSE_API_CALL, call);
	gap_add(gap, gap->is_after ? gap->rest : CAUSE_DUET_ITSELF, duet);
	gap_add(gap, gap->is_after ? gap->rest : CAUSE_PROFILER_OVERHEAD, profiler);
	pass_calls(gap);
	return length - wait - call - duet - profiler;
}

static void add_state_piece(struct gap *gap)
{
	uint64_t length = add_calls(gap, gap->end - gap->at);

	if (pass_thread(gap) && gap->rest == CAUSE_HOST)
		add_outside(gap, length);
	else
		gap_add(gap, gap->rest, length);
	gap_emit_thread(gap);
}

/* Adds [begin, end) before the launch was entered, or after the last command, by what the launching
 * thread did. Time outside of calls has the cause `rest`: CAUSE_NOTHING_TO_DO before the first
 * command and after the last, otherwise CAUSE_HOST, which the thread's switches divide further.
 * Time in duet's own code is CAUSE_DUET_ITSELF, and that in a profiler CAUSE_PROFILER_OVERHEAD. */
static void add_thread_state(struct account *account, const struct account_command *command,
			     uint64_t begin, uint64_t end, enum account_cause rest, bool is_after)
{
	while (begin < end) {
		const uint64_t until = piece_end(account, begin, end);
		struct gap gap = make_gap(account, command, begin, until, is_after);

		gap.rest = rest;
		if (gap.at < gap.end)
			add_state_piece(&gap);
		begin = until;
	}
}

static void add_before_enter(struct account *account, const struct account_command *command,
			     uint64_t begin, uint64_t end, bool is_first)
{
	if (has_state(account, command, begin, end))
		add_thread_state(account, command, begin, end,
				 is_first ? CAUSE_NOTHING_TO_DO : CAUSE_HOST, false);
	else if (is_first)
		add_cause(account, NULL, CAUSE_NOTHING_TO_DO, begin, end);
	else
		add_cause(account, command, CAUSE_UNKNOWN, begin, end);
}

/* Cuts the gap [begin, command->started) at the times of the command: enter, exit, submitted, end
 * of its dependency. */
static void explain_gap(struct account *account, const struct account_command *command,
			uint64_t begin, bool is_first)
{
	uint64_t end = command->started, enter, exit, submitted, early, dependency;

	if (command->has_launch) {
		enter = clamp(command->enter, begin, end);
		exit = clamp(command->exit, enter, end);
	} else {
		enter = end;
		if (command->has_queued)
			enter = clamp(command->queued, begin, end);
		else if (command->has_submitted)
			enter = clamp(command->submitted, begin, end);
		exit = enter;
	}
	submitted = command->has_submitted ? clamp(command->submitted, exit, end) : exit;
	early = command->dependency_end > submitted
			? exit
			: clamp(command->dependency_end, exit, submitted);
	dependency = clamp(command->dependency_end, submitted, end);
	add_before_enter(account, command, begin, enter, is_first);
	add_runtime(account, command, enter, exit);
	/* some runtimes submit a command only when its wait list has ended */
	add_cause(account, command, CAUSE_DEPENDENCY, exit, early);
	add_cause(account, command, CAUSE_SUBMISSION, early, submitted);
	add_cause(account, command, CAUSE_DEPENDENCY, submitted, dependency);
	add_cause(account, command,
		  command->has_submitted || command->has_call ? CAUSE_LATENCY : CAUSE_UNKNOWN,
		  dependency, end);
}

static void end_gap(struct account *account, const struct account_command *command)
{
	bool is_first = account->commands == 0;
	uint64_t begin = is_first ? account->from : account->last_end;

	if (begin >= command->started)
		return;
	account->idle_ns += inside(account, begin, command->started);
	if (account->has_causes)
		explain_gap(account, command, begin, is_first);
}

static bool is_earlier(const struct account_active *a, const struct account_active *b)
{
	if (a->started != b->started)
		return a->started < b->started;
	if (a->process != b->process)
		return a->process < b->process;
	return a->correlation < b->correlation;
}

static int join_fair_share(struct account *account, const struct account_active *active)
{
	const struct fair_share_member member = {.ended = active->ended,
						 .share_ns = active->share_ns,
						 .emitted_ns = active->share_ns,
						 .tag = active->tag,
						 .tag2 = active->tag2,
						 .class = active->class};

	return fair_share_join(&account->fair_share, &member);
}

/* Moves all active commands from the list, which is full, to the fair share. */
static int move_to_fair_share(struct account *account)
{
	int error = 0;

	account->emitted_until = clamp(account->cursor, account->from, account->to);
	account->unemitted_turns = 0;
	for (size_t i = 0; i < account->active_count && !error; i++) {
		const struct account_active *active = &account->active[i];

		error = join_fair_share(account, active);
		account->classes[active->class] -= active->share_ns;
	}
	account->active_count = 0;
	return error;
}

static int activate(struct account *account, const struct account_command *command)
{
	struct account_active added = {.started = command->started,
				       .ended = command->ended,
				       .correlation = command->correlation,
				       .process = command->process,
				       .tag = command->tag,
				       .tag2 = command->tag2,
				       .class = command->class};
	size_t i = account->active_count;

	if (i == MIN_CROWD) {
		int error = move_to_fair_share(account);

		if (error)
			return error;
	}
	if (account->fair_share.count)
		return join_fair_share(account, &added);
	if (array_grow(account->active, account->active_capacity, i + 1))
		return -ENOMEM;
	for (; i && is_earlier(&added, &account->active[i - 1]); i--)
		account->active[i] = account->active[i - 1];
	account->active[i] = added;
	account->active_count++;
	return 0;
}

int account_add(struct account *account, const struct account_command *command)
{
	struct account_command added = *command;
	int error = 0;

	/* A row that comes too late (its chunk's header was wrong) counts from the cursor on. */
	if (added.started < account->cursor)
		added.started = account->cursor;
	if (added.ended < added.started)
		added.ended = added.started;
	retire_until(account, added.started);
	if (!is_busy(account))
		end_gap(account, &added);
	/* A command without duration ends a gap but adds no busy time. */
	if (added.ended > added.started) {
		divide(account, added.started);
		error = activate(account, &added);
	}
	if (!account->commands++)
		account->first_start = added.started;
	if (added.ended > account->last_end) {
		account->last_end = added.ended;
		if (account->has_causes)
			account->last = added;
	}
	return error ? error : account->error;
}

void account_in_flight(struct account *account, uint64_t enter)
{
	if (enter < account->in_flight_from)
		account->in_flight_from = enter;
}

/* The time after the last command, by what the thread did that launched it. */
static void add_after(struct account *account, uint64_t begin, uint64_t end)
{
	if (account->commands && has_state(account, &account->last, begin, end))
		add_thread_state(account, &account->last, begin, end, CAUSE_NOTHING_TO_DO, true);
	else
		add_cause(account, NULL, CAUSE_NOTHING_TO_DO, begin, end);
}

static void close_part(const struct account *account, struct account_steady *steady)
{
	uint64_t begin = steady->from > account->first_start ? steady->from : account->first_start;
	uint64_t end = steady->to < account->last_end ? steady->to : account->last_end;

	if (!account->commands)
		return;
	steady->begin = clamp(begin, account->from, account->to);
	steady->end = clamp(end, steady->begin, account->to);
}

int account_finish(struct account *account, uint64_t to)
{
	uint64_t begin, known;

	if (to < account->to)
		account->to = to < account->from ? account->from : to;
	retire_until(account, UINT64_MAX);
	begin = account->commands ? account->last_end : account->from;
	account->idle_ns += inside(account, begin, account->to);
	if (account->has_causes) {
		known = clamp(account->in_flight_from, begin, UINT64_MAX);
		add_after(account, begin, known < account->to ? known : account->to);
		add_cause(account, NULL, CAUSE_UNKNOWN, known, account->to);
	}
	account->wall_ns = account->to - account->from;
	close_part(account, &account->steady);
	close_part(account, &account->slowest);
	return account->error;
}

void account_forget_host(uint64_t causes[CAUSE_COUNT])
{
	causes[CAUSE_UNKNOWN] += causes[CAUSE_HOST];
	causes[CAUSE_HOST] = 0;
}

void account_forget_switches(uint64_t causes[CAUSE_COUNT])
{
	static const enum account_cause emitted_until[] = {CAUSE_ON_CPU, CAUSE_PREEMPTED,
							   CAUSE_BLOCKED};

	for (size_t i = 0; i < ARRAY_COUNT(emitted_until); i++) {
		causes[CAUSE_HOST] += causes[emitted_until[i]];
		causes[emitted_until[i]] = 0;
	}
}

bool account_part(const struct account *account, size_t index, struct account_part *ret_part)
{
	static const char *const classes[ACCOUNT_CLASS_COUNT] = {
		[ACCOUNT_KERNEL] = "kernels", [ACCOUNT_COPY] = "copies", [ACCOUNT_OTHER] = "other"};
	size_t cause = index - ACCOUNT_CLASS_COUNT;

	if (index < ACCOUNT_CLASS_COUNT)
		*ret_part = (struct account_part){true, classes[index], account->classes[index]};
	else if (cause < CAUSE_COUNT)
		*ret_part =
			(struct account_part){false, account_cause_name((enum account_cause)cause),
					      account->causes[cause]};
	else
		return false;
	return true;
}

bool account_is_exact(const struct account *account)
{
	uint64_t classes = 0, causes = 0;

	for (size_t i = 0; i < ACCOUNT_CLASS_COUNT; i++)
		classes += account->classes[i];
	for (size_t i = 0; i < CAUSE_COUNT; i++)
		causes += account->causes[i];
	return account->wall_ns == account->busy_ns + account->idle_ns &&
	       classes == account->busy_ns && (!account->has_causes || causes == account->idle_ns);
}
