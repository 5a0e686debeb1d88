/* SPDX-License-Identifier: MIT
 *
 * base/quota.h - a memory budget: a limit and the bytes in use
 *
 * Every memory budget of duet is a quota. Threads may share a quota. All functions accept NULL,
 * which means no limit.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define QUOTA_UNLIMITED UINT64_MAX

struct quota {
	_Atomic uint64_t limit;
	_Atomic uint64_t used;    /* may be above the limit: see quota_charge */
	_Atomic uint64_t refused; /* calls of quota_take and quota_admit that returned false */
};

/* Bytes that can still be taken; QUOTA_UNLIMITED if there is no limit. */
uint64_t quota_left(const struct quota *quota);
bool quota_is_limited(const struct quota *quota);

/* Whether more is in use than the limit, which may have become smaller. */
bool quota_is_exceeded(const struct quota *quota);

/* Whether `bytes` are left. Takes nothing and counts no refusal. */
bool quota_has(const struct quota *quota, uint64_t bytes);

/* Whether anything is left; counts a refusal. For data whose size is known only after it was read;
 * then call quota_charge. */
bool quota_admit(struct quota *quota);

/* Takes all of the bytes, or none and returns false. */
bool quota_take(struct quota *quota, uint64_t bytes);

/* Adds bytes that are already in use, even above the limit. */
void quota_charge(struct quota *quota, uint64_t bytes);

void quota_give_back(struct quota *quota, uint64_t bytes);
