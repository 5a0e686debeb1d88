/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_events.h - finds the perf_event_attr variants that this kernel accepts;
 * reads the fields of records
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "collect/cpu/perf_rings.h"

/* The events that are opened for each thread and processor. */
enum perf_event_kind {
	PERF_EVENT_LIFE,    /* switches, lifetimes, mappings; takes no samples */
	PERF_EVENT_SAMPLES, /* samples of the chosen source */
	PERF_EVENT_FAULTS,  /* samples of page faults */
	PERF_EVENT_KINDS
};

/* One of this many faults is sampled: a fault takes at least 0.5 us, its sample some 5 us. The
 * number is a prime because programs often fault in runs of powers of two. */
enum { PERF_FAULTS_PERIOD = 251 };

struct perf_events {
	struct perf_event_attr attributes[PERF_EVENT_KINDS];
	bool has[PERF_EVENT_KINDS];
};

/* Indexes of a sample's registers: the kernel writes them in the order of their numbers. */
enum { PERF_PLACE_BP, PERF_PLACE_SP, PERF_PLACE_IP, PERF_REGISTERS };

/* Finds the accepted attributes by opening events for the calling thread. Errors: as
 * perf_rings_open, with the error chain. */
int perf_events_find(const struct perf_rings_options *options, struct perf_events *ret_events,
		     struct perf_rings_state *ret_state);

/* Whether the ring of samples wakes the recorder for each sample. False for frequencies above 1000
 * Hz, at which the recorder could not handle each sample. */
bool perf_events_wake(const struct perf_rings_options *options);

/* Size of a ring that holds the samples of 1/10 second, within the limits. */
uint32_t perf_events_ring_bytes(const struct perf_rings_options *options, int cpu_count);

/* An event without records of its own, which owns a ring. */
struct perf_event_attr perf_events_owner(uint32_t wakeup_bytes);

/* Calls perf_event_open(2). Returns a descriptor, or -errno. */
int perf_event_start(const struct perf_event_attr *attribute, pid_t thread, int cpu);

/* Reads the fields of a record one after the other; reads beyond the end return 0. */
struct cursor {
	const uint8_t *at, *end;
};

static inline uint64_t cursor_take(struct cursor *cursor, size_t bytes)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->at) < bytes) {
		cursor->at = cursor->end;
		return 0;
	}
	memcpy(&value, cursor->at, bytes);
	cursor->at += bytes;
	return value;
}

static inline const void *cursor_skip(struct cursor *cursor, size_t bytes)
{
	const uint8_t *at = cursor->at;

	if ((size_t)(cursor->end - at) < bytes) {
		cursor->at = cursor->end;
		return NULL;
	}
	cursor->at += bytes;
	return at;
}
