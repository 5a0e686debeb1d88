/* SPDX-License-Identifier: MIT
 *
 * collect/host_clocks.h - reads each host clock together with CLOCK_MONOTONIC
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/writer.h"

/* Ids of the host's clock domains, the same in every trace. */
enum {
	HOST_CLOCK_MONOTONIC = CLOCK_ID_MONOTONIC,
	HOST_CLOCK_RAW,
	HOST_CLOCK_BOOTTIME,
	HOST_CLOCK_REALTIME,
	HOST_CLOCK_TSC,
	HOST_CLOCK_COUNT = HOST_CLOCK_TSC
};

/* Whether the TSC runs at one rate in all states of the processor. */
bool host_clocks_have_tsc(void);

/* CLOCK_MONOTONIC in nanoseconds as the kernel's records have it, without the shift of a time
 * namespace. */
uint64_t host_clocks_now_ns(void);

/* Converts such a time for system calls that wait until a time, which expect the time of the
 * namespace. */
uint64_t host_clocks_deadline_ns(uint64_t host_ns);

/* CPU time of the calling thread in nanoseconds. */
uint64_t host_clocks_own_ns(void);

/* Describes the clock domains; call once. */
int host_clocks_describe(struct trace_writer *writer, bool tsc);

/* Writes one pair per domain. Call it once a second and at both ends of a recording. ret_tsc: the
 * TSC's pair. */
int host_clocks_read(struct trace_writer *writer, bool tsc, struct event_clock_pair *ret_tsc);

/* Reads the TSC; 0: there is none. */
uint64_t host_clocks_now_tsc(void);

/* Returns a pair of the TSC without writing it. */
struct event_clock_pair host_clocks_read_tsc(void);
