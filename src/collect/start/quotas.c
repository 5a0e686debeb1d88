/* SPDX-License-Identifier: MIT
 *
 * collect/start/quotas.c - limits what each user's programs take of a machine-wide recorder
 *
 * Runs in:  the recorder
 * Gets:     users, processes, bytes, time
 * Gives:    whether a user's quota has room
 * Owns:     one quota for each user, except root, the recorder's user and the owner of the
 *           recording
 * Fails:    never; a user who cannot be counted (out of memory) is not limited
 * Why:      every user may connect to root's recorder, and a process can send 32 MiB of
 *           descriptions in 250 ms. One user must not spoil the recording of others
 */
#include "collect/start/quotas.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"

void user_quotas_init(struct user_quotas *shares, uid_t owner)
{
	*shares = (struct user_quotas){.owner = owner};
}

void user_quotas_fini(struct user_quotas *shares)
{
	for (size_t i = 0; i < shares->count; i++)
		free(shares->items[i]);
	free(shares->items);
	*shares = (struct user_quotas){0};
}

/* NULL: the user has no limit, or no quota yet. */
static struct user_quota *find_share(const struct user_quotas *shares, uid_t uid)
{
	for (size_t i = 0; i < shares->count; i++)
		if (shares->items[i]->uid == uid)
			return shares->items[i];
	return NULL;
}

bool user_quotas_is_limited(const struct user_quotas *shares, uid_t uid)
{
	return uid != 0 && uid != geteuid() && uid != shares->owner;
}

static struct user_quota *find_or_add_share(struct user_quotas *shares, uid_t uid)
{
	struct user_quota *share = find_share(shares, uid);

	if (share || !user_quotas_is_limited(shares, uid) ||
	    array_grow(shares->items, shares->capacity, shares->count + 1) < 0)
		return share;
	share = calloc(1, sizeof(*share));
	if (!share)
		return NULL;
	share->uid = uid;
	share->memory.limit = SHARE_BYTES;
	shares->items[shares->count++] = share;
	return share;
}

enum user_quota_state user_quotas_state(const struct user_quotas *shares, uid_t uid)
{
	const struct user_quota *share = find_share(shares, uid);

	if (share && share->processes >= SHARE_PROCESSES)
		return SHARE_PROCESSES_SPENT;
	return share && !quota_has(&share->memory, MIN_SHARE_BYTES) ? SHARE_BYTES_SPENT
								    : SHARE_LEFT;
}

void user_quotas_begin(struct user_quotas *shares, uid_t uid)
{
	struct user_quota *share = find_or_add_share(shares, uid);

	if (share)
		share->processes++;
}

void user_quotas_end(struct user_quotas *shares, uid_t uid)
{
	struct user_quota *share = find_share(shares, uid);

	if (share && share->processes)
		share->processes--;
}

bool user_quotas_hello(struct user_quotas *shares, uid_t uid)
{
	struct user_quota *share = find_or_add_share(shares, uid);

	return !share || ++share->hellos <= SHARE_HELLOS;
}

void user_quotas_begin_second(struct user_quotas *shares)
{
	for (size_t i = 0; i < shares->count; i++)
		shares->items[i]->hellos = 0;
}

struct quota *user_quotas_memory(struct user_quotas *shares, uid_t uid)
{
	struct user_quota *share = find_or_add_share(shares, uid);

	return share ? &share->memory : NULL;
}

void user_quotas_begin_round(struct user_quotas *shares)
{
	for (size_t i = 0; i < shares->count; i++)
		shares->items[i]->spent_ns = 0;
}

uint64_t user_quotas_time_left(const struct user_quotas *shares, uid_t uid)
{
	const struct user_quota *share = find_share(shares, uid);

	if (!share)
		return UINT64_MAX;
	return share->spent_ns < SHARE_ROUND_NS ? SHARE_ROUND_NS - share->spent_ns : 0;
}

void user_quotas_spend(struct user_quotas *shares, uid_t uid, uint64_t ns)
{
	struct user_quota *share = find_or_add_share(shares, uid);

	if (share)
		share->spent_ns += ns;
}

struct lookup_budget user_quotas_looks(const struct user_quotas *shares, uid_t uid)
{
	const struct user_quota *share = find_share(shares, uid);
	struct lookup_budget looks = share ? share->looks : (struct lookup_budget){0};

	if (!user_quotas_is_limited(shares, uid))
		looks = shares->looks;
	looks.is_limited = user_quotas_is_limited(shares, uid);
	return looks;
}

void user_quotas_put_looks(struct user_quotas *shares, uid_t uid, const struct lookup_budget *looks)
{
	struct user_quota *share = find_or_add_share(shares, uid);
	uint64_t *until_ns = share                                 ? &share->looks.until_ns
			     : user_quotas_is_limited(shares, uid) ? NULL
								   : &shares->looks.until_ns;

	/* a copy that was taken earlier may have an older time */
	if (until_ns && looks->until_ns > *until_ns)
		*until_ns = looks->until_ns;
}
