/* SPDX-License-Identifier: MIT
 *
 * collect/host_clocks.h - read every host clock beside CLOCK_MONOTONIC, again and again
 */
#ifndef COLLECT_HOST_CLOCKS_H
#define COLLECT_HOST_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/writer.h"

/* Ids of the host's clock domains in every trace. */
enum {
	HOST_CLOCK_MONOTONIC = CLOCK_ID_MONOTONIC,
	HOST_CLOCK_RAW,
	HOST_CLOCK_BOOTTIME,
	HOST_CLOCK_REALTIME,
	HOST_CLOCK_TSC,
	HOST_CLOCK_COUNT = HOST_CLOCK_TSC
};

/* True where the time stamp counter runs at one rate through all states of the processor. */
bool host_clocks_have_tsc(void);

/* CLOCK_MONOTONIC in nanoseconds, as the kernel's own records have it: no time namespace shifts it. */
uint64_t host_clocks_now_ns(void);

/* The same moment for system calls that wait until a time: these take what the namespace shows. */
uint64_t host_clocks_deadline_ns(uint64_t host_ns);

/* Processor time of the calling thread in nanoseconds: what it waited for a processor is not in it. */
uint64_t host_clocks_own_ns(void);

/* Describes the domains; call once. */
int host_clocks_describe(struct trace_writer *writer, bool tsc);

/* Writes one pair for each domain; once a second and at both ends of a recording. ret_tsc: the TSC's. */
int host_clocks_read(struct trace_writer *writer, bool tsc, struct event_clock_pair *ret_tsc);

/* The TSC alone; 0 where there is none. */
uint64_t host_clocks_now_tsc(void);

/* One more pair of the TSC, which is not written. */
struct event_clock_pair host_clocks_read_tsc(void);

#endif
