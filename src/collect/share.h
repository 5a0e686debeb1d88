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

/* A process takes one or two of the recorder's descriptors, of which it has 1024 to a million. Texts and
 * identities stay in memory to the end; a large program describes some 100 KiB. */
enum { SHARE_PROCESSES = 1024, SHARE_BYTES = 256 << 20 };

enum share_state { SHARE_LEFT, SHARE_PROCESSES_SPENT, SHARE_BYTES_SPENT };

struct share {
	uid_t uid;
	uint32_t processes; /* attached now */
	uint64_t bytes;     /* since the beginning */
};

struct shares {
	uid_t owner;         /* who, like root and the recorder's own user, takes what there is */
	struct share *items; /* owned; one for each other user */
	size_t count, capacity;
};

void shares_init(struct shares *shares, uid_t owner);
void shares_fini(struct shares *shares);

/* Whether this user may have one process more; begin and end count it. */
enum share_state shares_state(const struct shares *shares, uid_t uid);
void shares_begin(struct shares *shares, uid_t uid);
void shares_end(struct shares *shares, uid_t uid);

/* Counts what is kept for this user; false: more than the share. */
bool shares_charge(struct shares *shares, uid_t uid, uint64_t bytes);

#endif
