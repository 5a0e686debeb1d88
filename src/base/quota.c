/* SPDX-License-Identifier: MIT
 *
 * base/quota.c - a memory budget: a limit and the bytes in use
 *
 * Runs in:  the recorder, and all commands that read a trace, any thread
 * Gets:     amounts of memory
 * Gives:    whether they fit into the budget
 * Owns:     nothing
 * Fails:    returns false and counts the refusal
 * Why:      recorded programs can make the recorder store data of any size. One user's programs
 *           must not use up the memory that others need. The atomics are relaxed, because the
 *           counts order no other memory accesses.
 */
#include "base/quota.h"

#include <stdatomic.h>

uint64_t quota_left(const struct quota *quota)
{
	uint64_t limit, used;

	if (!quota)
		return QUOTA_UNLIMITED;
	limit = atomic_load_explicit(&quota->limit, memory_order_relaxed);
	used = atomic_load_explicit(&quota->used, memory_order_relaxed);
	if (limit == QUOTA_UNLIMITED)
		return QUOTA_UNLIMITED;
	return used < limit ? limit - used : 0;
}

bool quota_is_limited(const struct quota *quota)
{
	return quota && atomic_load_explicit(&quota->limit, memory_order_relaxed) < QUOTA_UNLIMITED;
}

bool quota_is_exceeded(const struct quota *quota)
{
	return quota && atomic_load_explicit(&quota->used, memory_order_relaxed) >
				atomic_load_explicit(&quota->limit, memory_order_relaxed);
}

bool quota_has(const struct quota *quota, uint64_t bytes)
{
	return bytes <= quota_left(quota);
}

static bool count_refusal(struct quota *quota)
{
	atomic_fetch_add_explicit(&quota->refused, 1, memory_order_relaxed);
	return false;
}

bool quota_admit(struct quota *quota)
{
	return quota_left(quota) > 0 || count_refusal(quota);
}

bool quota_take(struct quota *quota, uint64_t bytes)
{
	uint64_t used;

	if (!quota)
		return true;
	used = atomic_load_explicit(&quota->used, memory_order_relaxed);
	do {
		if (!quota_has(quota, bytes))
			return count_refusal(quota);
	} while (!atomic_compare_exchange_weak_explicit(
		&quota->used, &used, used + bytes, memory_order_relaxed, memory_order_relaxed));
	return true;
}

void quota_charge(struct quota *quota, uint64_t bytes)
{
	if (quota)
		atomic_fetch_add_explicit(&quota->used, bytes, memory_order_relaxed);
}

void quota_give_back(struct quota *quota, uint64_t bytes)
{
	if (quota)
		atomic_fetch_sub_explicit(&quota->used, bytes, memory_order_relaxed);
}
