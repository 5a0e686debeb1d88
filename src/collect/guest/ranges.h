/* SPDX-License-Identifier: MIT
 *
 * collect/guest/ranges.h - joins the starts and ends of a program's ranges
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"
#include "event/record.h"

struct injected;
struct injected_ring;

/* The start of a range, or an end whose start has not been read yet. */
struct range_half {
	uint64_t time, id;
	uint32_t of; /* enum record_range_of */
	uint32_t thread, domain_string, name_string;
	uint32_t category_string, colour, payload_string; /* 0: none */
	bool is_missing; /* the push was lost; no other member is valid */
};

struct range_list {
	struct range_half *items; /* owned; the newest last */
	size_t count, capacity;
};

/* The ranges of one process. */
struct ranges {
	struct range_list started, stopped;
	uint64_t lost; /* ranges without room; not written yet */
};

/* Takes a record of kind EVENT_RANGE. False: it makes no sense. */
bool ranges_take(struct injected *injected, struct injected_ring *ring,
		 const struct record *record);

/* Writes the ranges that a thread pushed and did not pop. They end now. */
void ranges_end_thread(struct injected *injected, struct injected_ring *ring);
/* Writes the ranges that the process started and did not stop. Call it after the threads' ends. */
void ranges_end(struct injected *injected);

/* Frees the ranges of a ring without writing them. */
void ranges_thread_fini(struct injected_ring *ring);
