/* SPDX-License-Identifier: MIT
 *
 * collect/share.h - how much of a recorder one user's programs may take
 */
#ifndef COLLECT_SHARE_H
#define COLLECT_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/look_time.h"

/* A process takes one or two of the recorder's descriptors, of which it has 1024 to a million. Texts stay in
 * memory to the end; a large program describes some 100 KiB, and a process for which LEAST is not left is
 * not begun. A hello costs the recorder some 300 us. ROUND: of the recorder's time between two looks at
 * everybody else's rings, which hold 5 ms of calls without a pause and seconds of ordinary ones. */
enum {
	SHARE_PROCESSES = 1024,
	SHARE_BYTES = 256 << 20,
	SHARE_BYTES_LEAST = 64 << 10,
	SHARE_HELLOS = 1000, /* a second */
	SHARE_ROUND_NS = 20000000
};

enum share_state { SHARE_LEFT, SHARE_PROCESSES_SPENT, SHARE_BYTES_SPENT, SHARE_HELLOS_SPENT };

struct share {
	uid_t uid;
	uint32_t processes;  /* attached now */
	uint32_t hellos;     /* in this second */
	uint64_t bytes;      /* kept since the beginning, to the end */
	uint64_t held_bytes; /* kept now, until the processes end that they are for */
	uint64_t spent_ns;   /* in this round */
	struct look_time looks;
};

struct shares {
	uid_t owner;         /* who, like root and the recorder's own user, takes what there is */
	struct share *items; /* owned; one for each other user */
	size_t count, capacity;
	struct look_time looks; /* of all who are not limited */
};

void shares_init(struct shares *shares, uid_t owner);
void shares_fini(struct shares *shares);

/* Whether everything here is about this user: root, the recorder's user and the recording's are not limited. */
bool shares_is_limited(const struct shares *shares, uid_t uid);

/* Counts a hello. A new second begins with shares_begin_second. */
bool shares_hello(struct shares *shares, uid_t uid);
void shares_begin_second(struct shares *shares);

/* Whether this user may have one process more; begin and end count it. */
enum share_state shares_state(const struct shares *shares, uid_t uid);
void shares_begin(struct shares *shares, uid_t uid);
void shares_end(struct shares *shares, uid_t uid);

/* Counts what is kept for this user, to the end or (held, negative: given back) for now. */
void shares_charge(struct shares *shares, uid_t uid, uint64_t bytes);
void shares_hold(struct shares *shares, uid_t uid, int64_t bytes);

/* How much more may be kept; UINT64_MAX for a user who is not limited. */
uint64_t shares_bytes_left(const struct shares *shares, uid_t uid);

/* The recorder's time: how much of this round is left, and what of it was used. */
void shares_begin_round(struct shares *shares);
uint64_t shares_time_left(const struct shares *shares, uid_t uid);
void shares_spend(struct shares *shares, uid_t uid, uint64_t ns);

/* The user's time for looking into files, and what is left of it after some was spent. */
struct look_time shares_looks(const struct shares *shares, uid_t uid);
void shares_put_looks(struct shares *shares, uid_t uid, const struct look_time *looks);

#endif
