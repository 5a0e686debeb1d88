/* SPDX-License-Identifier: MIT
 *
 * collect/feed/identities.h - which rows of another recorder are ours, and the numbers of their
 * commands in our recording
 *
 * Pure. All ids are those of our recording.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

enum { FEED_PAUSES = 8 };

/* A time in which a process was not wanted; end UINT64_MAX: now. */
struct feed_pause {
	uint64_t begin, end;
};

/* A process that is taken over. */
struct taken_process {
	uint32_t pid, uid, id;
	uint32_t origins;  /* numbers that were given for it */
	uint64_t begin_ns; /* when its calls begin in our recording; 0: as its row says */
	uint32_t pauses_count;
	struct feed_pause pauses[FEED_PAUSES]; /* the newest ones, oldest first */
};

struct feed_identities {
	struct hash_map origins;         /* (process, recorder, attachment there) -> number */
	struct hash_map by_id;           /* id -> index + 1 */
	struct taken_process *processes; /* owned */
	size_t count, capacity;
};

void feed_identities_init(struct feed_identities *identities);
void feed_identities_fini(struct feed_identities *identities);

/* Adds a process, or finds it. NULL: out of memory. The pointer is valid until the next call. */
struct taken_process *feed_identities_add(struct feed_identities *identities, uint32_t id,
					  uint32_t pid, uint32_t uid);

struct taken_process *feed_identities_find(const struct feed_identities *identities, uint32_t id);

/* Number of a command in our recording. place: the recorder, at most 2^17 of them. False: the
 * process has no number left, or it is not known. */
bool feed_identities_translate(struct feed_identities *identities, uint32_t process, uint32_t place,
			       uint64_t correlation, uint64_t *ret_correlation);

/* Whether the process is wanted, from this time of the guests' clock on. */
void taken_process_want(struct taken_process *process, bool is_wanted, uint64_t time);
/* Whether a process was paused at a time, which must have begun at least `since` before. A process
 * that is not known never is. */
bool feed_identities_is_paused(const struct feed_identities *identities, uint32_t process,
			       uint64_t time, uint64_t since);
