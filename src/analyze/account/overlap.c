/* SPDX-License-Identifier: MIT
 *
 * analyze/account/overlap.c - which kernels, copies and processes a device executed at the same
 * time
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     commands in the order of their start
 * Gives:    how long kernels, copies and processes overlapped
 * Owns:     the commands that are executing at the time that the sweep has reached, and a row for
 *           each process of the device
 * Fails:    -ENOMEM
 * Why not in account.c: the account gives each nanosecond to one command, and its sum is the
 *           device's time. An overlap counts the same nanosecond for several kinds and processes.
 */
#include "analyze/account/overlap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/order/heap.h"

#define FEW 8 /* processes that are searched one by one, which is faster than a table */

void overlap_init(struct overlap *overlap, uint64_t from, uint64_t to)
{
	*overlap = (struct overlap){.from = from, .to = to < from ? from : to, .cursor = from};
}

void overlap_fini(struct overlap *overlap)
{
	if (!overlap)
		return;
	free(overlap->users);
	free(overlap->members);
	free(overlap->stretches);
	pair_map_fini(&overlap->user_rows);
	overlap->users = NULL;
	overlap->members = NULL;
	overlap->stretches = NULL;
	overlap->users_count = overlap->members_count = 0;
}

static void note_stretch(struct overlap *overlap, uint64_t end)
{
	struct overlap_stretch *last =
		&overlap->stretches[(overlap->stretches_count - 1) % OVERLAP_STRETCHES];

	if (overlap->stretches_count && last->end == overlap->cursor &&
	    last->user == overlap->active_sum)
		last->end = end;
	else
		overlap->stretches[overlap->stretches_count++ % OVERLAP_STRETCHES] =
			(struct overlap_stretch){overlap->cursor, end, overlap->active_sum};
}

/* Counts the time up to `until`, in which the commands in execution do not change. */
static void count_until(struct overlap *overlap, uint64_t until)
{
	uint64_t end = until < overlap->to ? until : overlap->to, length;

	if (end <= overlap->cursor)
		return;
	length = end - overlap->cursor;
	if (overlap->active_users == 1 && overlap->stretches)
		note_stretch(overlap, end);
	overlap->cursor = end;
	if (overlap->active[ACCOUNT_KERNEL] && overlap->active[ACCOUNT_COPY])
		overlap->both_ns += length;
	else if (overlap->active[ACCOUNT_KERNEL])
		overlap->kernels_ns += length;
	else if (overlap->active[ACCOUNT_COPY])
		overlap->copies_ns += length;
	if (overlap->members_count > 1)
		overlap->several_ns += length;
	if (overlap->active_users > 1)
		overlap->processes_ns += length;
}

static void leave(struct overlap *overlap)
{
	const struct overlap_member first =
		HEAP_POP(overlap->members, overlap->members_count, a->ended < b->ended);

	overlap->active[first.class]--;
	if (!--overlap->users[first.user].active) {
		overlap->active_users--;
		overlap->active_sum ^= first.user;
	}
}

static void leave_until(struct overlap *overlap, uint64_t time)
{
	while (overlap->members_count && overlap->members[0].ended <= time) {
		count_until(overlap, overlap->members[0].ended);
		leave(overlap);
	}
}

static int find_user(struct overlap *overlap, uint32_t process, uint32_t *ret_user)
{
	uint32_t user = 0;

	while (user < overlap->users_count && user < FEW && overlap->users[user].process != process)
		user++;
	if (user == FEW)
		user = pair_map_find(&overlap->user_rows, process, 0);
	if (user < overlap->users_count) {
		*ret_user = user;
		return 0;
	}
	user = (uint32_t)overlap->users_count;
	if (array_grow(overlap->users, overlap->users_capacity, user + (size_t)1) ||
	    pair_map_put(&overlap->user_rows, process, 0, user))
		return -ENOMEM;
	overlap->users[user] = (struct overlap_user){.process = process};
	overlap->users_count++;
	*ret_user = user;
	return 0;
}

int overlap_add(struct overlap *overlap, uint64_t started, uint64_t ended, enum account_class class,
		uint32_t process)
{
	struct overlap_member added = {.ended = ended, .class = class};

	if (find_user(overlap, process, &added.user))
		return -ENOMEM;
	overlap->users[added.user].commands += started < overlap->to && ended > overlap->from;
	leave_until(overlap, started);
	if (ended <= started || ended <= overlap->cursor)
		return 0;
	count_until(overlap, started);
	if (array_append(overlap->members, overlap->members_capacity, overlap->members_count,
			 added))
		return -ENOMEM;
	HEAP_LIFT(overlap->members, overlap->members_count, a->ended < b->ended);
	overlap->active[class]++;
	if (!overlap->users[added.user].active++) {
		overlap->active_users++;
		overlap->active_sum ^= added.user;
	}
	return 0;
}

static uint64_t common(const struct overlap_stretch *stretch, uint64_t from, uint64_t to)
{
	const uint64_t begin = stretch->begin > from ? stretch->begin : from;
	const uint64_t end = stretch->end < to ? stretch->end : to;

	return begin < end ? end - begin : 0;
}

/* Adds the time in which another process alone used the device. Each interval counts once per
 * waiting process. */
static void count_waits(struct overlap *overlap, uint64_t from, uint64_t to, uint32_t user)
{
	const uint64_t count = overlap->stretches_count;
	const uint64_t first = count > OVERLAP_STRETCHES ? count - OVERLAP_STRETCHES : 0;

	for (uint64_t i = count; i > first; i--) {
		const struct overlap_stretch *stretch =
			&overlap->stretches[(i - 1) % OVERLAP_STRETCHES];
		const uint64_t length = common(stretch, from, to);

		if (stretch->end <= from)
			return;
		if (stretch->user == user)
			continue;
		overlap->waited_ns += length;
		overlap->users[user].waited_ns += length;
		overlap->users[stretch->user].kept_ns += length;
	}
}

int overlap_wait(struct overlap *overlap, uint64_t since, uint64_t started, uint32_t process)
{
	uint32_t user;
	uint64_t from;

	if (!overlap->stretches)
		overlap->stretches = calloc(OVERLAP_STRETCHES, sizeof(*overlap->stretches));
	if (!overlap->stretches || find_user(overlap, process, &user))
		return -ENOMEM;
	leave_until(overlap, started);
	count_until(overlap, started);
	from = overlap->users[user].waited_until;
	from = from > since ? from : since;
	if (from >= started)
		return 0;
	overlap->users[user].waited_until = started;
	if (overlap->users_count > 1)
		count_waits(overlap, from, started, user);
	return 0;
}

void overlap_share(struct overlap *overlap, uint32_t process, uint64_t share_ns)
{
	uint32_t user;

	/* A process with a share was added before. */
	if (overlap->users_count && !find_user(overlap, process, &user))
		overlap->users[user].share_ns += share_ns;
}

void overlap_finish(struct overlap *overlap, uint64_t to)
{
	if (to < overlap->to)
		overlap->to = to < overlap->from ? overlap->from : to;
	leave_until(overlap, UINT64_MAX);
}
