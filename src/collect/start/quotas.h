/* SPDX-License-Identifier: MIT
 *
 * collect/start/quotas.h - limits what each user's programs take of a machine-wide recorder
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/quota.h"
#include "collect/start/lookup_budget.h"

/* Limits per user. A process takes one or two of the recorder's descriptors (limit 1024 to 1
 * million). Strings stay in memory until the end; a large program sends some 100 KiB. A process is
 * refused if less than MIN_SHARE_BYTES is left. A hello (connection of a guest) costs the
 * recorder some 300 us. SHARE_ROUND_NS is the max time for one user's rings per round, because the
 * rings of the others must be read in time: a ring holds 5 ms of calls without a pause, and seconds
 * of ordinary calls. */
enum {
	SHARE_PROCESSES = 1024,
	SHARE_BYTES = 256 << 20,
	MIN_SHARE_BYTES = 64 << 10,
	SHARE_HELLOS = 1000, /* a second */
	SHARE_ROUND_NS = 20000000
};

enum user_quota_state { SHARE_LEFT, SHARE_PROCESSES_SPENT, SHARE_BYTES_SPENT, SHARE_HELLOS_SPENT };

struct user_quota {
	uid_t uid;
	uint32_t processes;  /* attached now */
	uint32_t hellos;     /* in this second */
	struct quota memory; /* kept until the end, or until the user's processes end */
	uint64_t spent_ns;   /* in this round */
	struct lookup_budget looks;
};

struct user_quotas {
	/* owner of the recording; not limited, like root and the recorder's user */
	uid_t owner;
	struct user_quota **items; /* owned, with its elements; one for each other user */
	size_t count, capacity;
	struct lookup_budget looks; /* shared by the users without a limit */
};

void user_quotas_init(struct user_quotas *shares, uid_t owner);
void user_quotas_fini(struct user_quotas *shares);

/* Whether the quotas apply to this user; not to root, the recorder's user and the owner of the
 * recording. */
bool user_quotas_is_limited(const struct user_quotas *shares, uid_t uid);

/* Counts a hello. False: over the limit of this second. user_quotas_begin_second starts a new
 * second. */
bool user_quotas_hello(struct user_quotas *shares, uid_t uid);
void user_quotas_begin_second(struct user_quotas *shares);

/* Whether this user may have one more process. user_quotas_begin and user_quotas_end count the
 * processes. */
enum user_quota_state user_quotas_state(const struct user_quotas *shares, uid_t uid);
void user_quotas_begin(struct user_quotas *shares, uid_t uid);
void user_quotas_end(struct user_quotas *shares, uid_t uid);

/* The memory quota of this user, valid until user_quotas_fini. NULL: no limit. */
struct quota *user_quotas_memory(struct user_quotas *shares, uid_t uid);

/* The recorder's time for a user's rings in a round: time left, time spent. */
void user_quotas_begin_round(struct user_quotas *shares);
uint64_t user_quotas_time_left(const struct user_quotas *shares, uid_t uid);
void user_quotas_spend(struct user_quotas *shares, uid_t uid, uint64_t ns);

/* The user's budget for reading files; put_looks stores it after some was spent. */
struct lookup_budget user_quotas_looks(const struct user_quotas *shares, uid_t uid);
void user_quotas_put_looks(struct user_quotas *shares, uid_t uid,
			   const struct lookup_budget *looks);
