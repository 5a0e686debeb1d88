/* SPDX-License-Identifier: MIT
 *
 * collect/feed/coverage.h - the times of which a recording has all calls of a guest, and the gaps
 * between them
 *
 * Pure. Times are of CLOCK_MONOTONIC, ids those of our recording.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct coverage_span {
	uint64_t begin_ns, end_ns;
};

/* A guest whose calls are taken over. */
struct coverage_guest {
	uint32_t process, guest;
	uint64_t settled_ns;         /* everything before is covered, or was reported as a gap */
	uint64_t over_ns;            /* the guest has ended; UINT64_MAX: it lives */
	bool has_settled;            /* settled_ns stays */
	bool is_noted;               /* for the caller: its first gap has a note */
	struct coverage_span *spans; /* owned; after settled_ns, in their order, apart */
	size_t count, capacity;
};

struct coverage {
	struct hash_map places;        /* process << 32 | guest -> index + 1 */
	struct coverage_guest *guests; /* owned */
	size_t count, capacity;
	bool has_failed; /* out of memory: gaps may be reported that are none */
};

void coverage_init(struct coverage *coverage);
void coverage_fini(struct coverage *coverage);

/* All calls of a guest in a time are recorded. The first time begins its coverage. */
void coverage_add(struct coverage *coverage, uint32_t process, uint32_t guest, uint64_t begin_ns,
		  uint64_t end_ns);
/* The same for all known guests of a process, in a time that the recording is not to contain. */
void coverage_excuse(struct coverage *coverage, uint32_t process, uint64_t begin_ns,
		     uint64_t end_ns);
/* A guest makes no calls after a time. */
void coverage_end(struct coverage *coverage, uint32_t process, uint32_t guest, uint64_t end_ns);
/* How far a guest's calls are recorded without a gap after until_ns; 0: not at all. */
uint64_t coverage_until(const struct coverage_guest *guest);

typedef void coverage_gap(void *context, struct coverage_guest *guest, uint64_t begin_ns,
			  uint64_t end_ns);

/* Reports the gaps that end at or before a time, each once. No span that begins before it may be
 * added later. A gap that goes on is reported when it ends. */
void coverage_settle(struct coverage *coverage, uint64_t until_ns, coverage_gap *report,
		     void *context);
/* Reports all gaps up to the end of the recording. */
void coverage_finish(struct coverage *coverage, uint64_t end_ns, coverage_gap *report,
		     void *context);
