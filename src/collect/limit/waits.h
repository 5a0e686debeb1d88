/* SPDX-License-Identifier: MIT
 *
 * collect/limit/waits.h - how long the threads that launch waited for a processor
 *
 * Pure. A process has several threads that launch: the wait of each counts by its part of the
 * launches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A ring's thread at the last look. */
struct limit_wait {
	uint32_t tid; /* 0: not seen yet */
	uint64_t launches, waited_ns, looked_ns;
};

/* Zeroed: nothing is known. */
struct limit_waits {
	struct limit_wait *all; /* owned; by index of the ring */
	size_t capacity;
	uint64_t looked_ns; /* the last look; 0: none */
	uint64_t due_ns;    /* the next one */
	/* The present look. */
	uint32_t read;
	double launches, waited; /* waited: sum of launches * part of the time */
	/* Sums since the start: time between two looks, and how much of it was waited. */
	uint64_t known_ns, known_waited_ns;
};

/* Whether a ring's count of launches is new, so that its thread's wait is needed. */
bool limit_waits_wants(const struct limit_waits *waits, size_t ring, uint32_t tid,
		       uint64_t launches);
/* Takes the launches and the time waited so far of a ring's thread. Errors: -ENOMEM. */
int limit_waits_add(struct limit_waits *waits, size_t ring, uint32_t tid, uint64_t launches,
		    uint64_t waited_ns, uint64_t now_ns);
/* Ends a look. */
void limit_waits_end(struct limit_waits *waits, uint64_t now_ns);
void limit_waits_fini(struct limit_waits *waits);
