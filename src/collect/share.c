/* SPDX-License-Identifier: MIT
 *
 * collect/share.c - count what each user's programs take of a machine-wide recorder
 *
 * Runs in:  the recorder
 * Gets:     users, processes, bytes, time   Gives: whether there is any left for them
 * Owns:     one row for each user who is neither root, nor runs the recorder, nor owns the recording
 * Fails:    never; a user who cannot be counted (out of memory) is not limited
 * Why:      anybody may connect to root's recorder, 250 ms are enough for a process to describe 32 MiB, and
 *           one user must not cost the others their recording
 */
#include "collect/share.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"

void shares_init(struct shares *shares, uid_t owner)
{
	*shares = (struct shares){.owner = owner};
}

void shares_fini(struct shares *shares)
{
	free(shares->items);
	*shares = (struct shares){0};
}

/* NULL for a user who is not counted, or not yet. */
static struct share *find(const struct shares *shares, uid_t uid)
{
	for (size_t i = 0; i < shares->count; i++)
		if (shares->items[i].uid == uid)
			return &shares->items[i];
	return NULL;
}

bool shares_is_limited(const struct shares *shares, uid_t uid)
{
	return uid != 0 && uid != geteuid() && uid != shares->owner;
}

static struct share *find_or_add(struct shares *shares, uid_t uid)
{
	struct share *share = find(shares, uid);

	if (share || !shares_is_limited(shares, uid) ||
	    array_grow(shares->items, shares->capacity, shares->count + 1) < 0)
		return share;
	share = &shares->items[shares->count++];
	*share = (struct share){.uid = uid};
	return share;
}

enum share_state shares_state(const struct shares *shares, uid_t uid)
{
	const struct share *share = find(shares, uid);

	if (share && share->processes >= SHARE_PROCESSES)
		return SHARE_PROCESSES_SPENT;
	return shares_bytes_left(shares, uid) < SHARE_BYTES_LEAST ? SHARE_BYTES_SPENT : SHARE_LEFT;
}

void shares_begin(struct shares *shares, uid_t uid)
{
	struct share *share = find_or_add(shares, uid);

	if (share)
		share->processes++;
}

void shares_end(struct shares *shares, uid_t uid)
{
	struct share *share = find(shares, uid);

	if (share && share->processes)
		share->processes--;
}

bool shares_hello(struct shares *shares, uid_t uid)
{
	struct share *share = find_or_add(shares, uid);

	return !share || ++share->hellos <= SHARE_HELLOS;
}

void shares_begin_second(struct shares *shares)
{
	for (size_t i = 0; i < shares->count; i++)
		shares->items[i].hellos = 0;
}

void shares_charge(struct shares *shares, uid_t uid, uint64_t bytes)
{
	struct share *share = bytes ? find_or_add(shares, uid) : NULL;

	if (share)
		share->bytes += bytes;
}

void shares_hold(struct shares *shares, uid_t uid, int64_t bytes)
{
	struct share *share = bytes ? find_or_add(shares, uid) : NULL;

	if (share)
		share->held_bytes += (uint64_t)bytes;
}

uint64_t shares_bytes_left(const struct shares *shares, uid_t uid)
{
	const struct share *share = find(shares, uid);
	uint64_t spent = share ? share->bytes + share->held_bytes : 0;

	if (!shares_is_limited(shares, uid))
		return UINT64_MAX;
	return spent < SHARE_BYTES ? SHARE_BYTES - spent : 0;
}

void shares_begin_round(struct shares *shares)
{
	for (size_t i = 0; i < shares->count; i++)
		shares->items[i].spent_ns = 0;
}

uint64_t shares_time_left(const struct shares *shares, uid_t uid)
{
	const struct share *share = find(shares, uid);

	if (!share)
		return UINT64_MAX;
	return share->spent_ns < SHARE_ROUND_NS ? SHARE_ROUND_NS - share->spent_ns : 0;
}

void shares_spend(struct shares *shares, uid_t uid, uint64_t ns)
{
	struct share *share = find_or_add(shares, uid);

	if (share)
		share->spent_ns += ns;
}

struct look_time shares_looks(const struct shares *shares, uid_t uid)
{
	const struct share *share = find(shares, uid);
	struct look_time looks = share ? share->looks : (struct look_time){0};

	if (!shares_is_limited(shares, uid))
		looks = shares->looks;
	looks.is_limited = shares_is_limited(shares, uid);
	return looks;
}

void shares_put_looks(struct shares *shares, uid_t uid, const struct look_time *looks)
{
	struct share *share = find_or_add(shares, uid);
	uint64_t *until_ns = share                            ? &share->looks.until_ns
			     : shares_is_limited(shares, uid) ? NULL
							      : &shares->looks.until_ns;

	/* One that was taken out earlier knows less. */
	if (until_ns && looks->until_ns > *until_ns)
		*until_ns = looks->until_ns;
}
