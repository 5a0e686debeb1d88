/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_events.h - which perf events this kernel gives us, and why it refuses others
 */
#ifndef COLLECT_CPU_PERF_EVENTS_H
#define COLLECT_CPU_PERF_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/cpu/perf_rings.h"

/* What is opened for each thread and processor. */
enum perf_event_kind {
	PERF_EVENT_LIFE,    /* switches, lifetimes, mappings; takes no samples */
	PERF_EVENT_SAMPLES, /* of the source */
	PERF_EVENT_FAULTS,  /* of page faults */
	PERF_EVENT_KINDS
};

/* A fault takes 0.5 us and more, its sample some 5 us. A prime: programs fault in runs of powers of two. */
enum { PERF_FAULTS_PERIOD = 251 };

struct perf_events {
	struct perf_event_attr attributes[PERF_EVENT_KINDS];
	bool has[PERF_EVENT_KINDS];
};

/* Registers of a sample, in the order of their numbers in a record. */
enum { PERF_PLACE_BP, PERF_PLACE_SP, PERF_PLACE_IP, PERF_REGISTERS };

/* Tries on ourselves what the kernel takes. Errors: as perf_rings_open, with the error chain. */
int perf_events_find(const struct perf_rings_options *options, struct perf_events *ret_events,
		     struct perf_rings_state *ret_state);

/* Whether the kernel wakes who waits for each sample: not where they come faster than somebody could look at each. */
bool perf_events_wake(const struct perf_rings_options *options);

/* An event without records, to which a ring may belong. */
struct perf_event_attr perf_events_owner(uint32_t wakeup_bytes);

/* Returns a descriptor, or -errno. */
int perf_event_start(const struct perf_event_attr *attribute, pid_t thread, int cpu);

#endif
