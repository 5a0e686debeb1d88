/* SPDX-License-Identifier: MIT
 *
 * collect/share.c - count what each user's programs take of a machine-wide recorder
 *
 * Runs in:  the recorder
 * Gets:     users, processes, bytes   Gives: whether there is any left for them
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

static struct share *find_or_add(struct shares *shares, uid_t uid)
{
	struct share *share = find(shares, uid);

	if (share || uid == 0 || uid == geteuid() || uid == shares->owner ||
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
	return share && share->bytes > SHARE_BYTES ? SHARE_BYTES_SPENT : SHARE_LEFT;
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

bool shares_charge(struct shares *shares, uid_t uid, uint64_t bytes)
{
	struct share *share = find_or_add(shares, uid);

	if (!share)
		return true;
	share->bytes += bytes;
	return share->bytes <= SHARE_BYTES;
}
