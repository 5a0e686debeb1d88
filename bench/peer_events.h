/* SPDX-License-Identifier: MIT
 *
 * bench/peer_events.h - the tracepoints of peer.c and lib_ranges.c, in the form that LTTng-UST
 * wants
 *
 * It is included several times by LTTng's own headers, so its guard lets those through.
 */
/* clang-format off: LTTng's lists of fields have no commas between them */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER duet_peer

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./peer_events.h"

#if !defined(BENCH_PEER_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_PEER_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include <lttng/tracepoint.h>

#define PEER_POINTER(name) lttng_ust_field_integer_hex(uintptr_t, name, (uintptr_t)name)

LTTNG_UST_TRACEPOINT_EVENT(duet_peer, get_platform_ids_begin,
			   LTTNG_UST_TP_ARGS(uint32_t, entries, const void *, platforms,
					     const void *, count),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, entries, entries)
						       PEER_POINTER(platforms) PEER_POINTER(count)))

LTTNG_UST_TRACEPOINT_EVENT(duet_peer, get_platform_ids_end,
			   LTTNG_UST_TP_ARGS(int32_t, result, uint32_t, count),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int32_t, result, result)
						       lttng_ust_field_integer(uint32_t, count,
									       count)))

LTTNG_UST_TRACEPOINT_EVENT(
	duet_peer, enqueue_read_buffer_begin,
	LTTNG_UST_TP_ARGS(const void *, queue, const void *, buffer, uint32_t, blocking, uint64_t,
			  offset, uint64_t, size),
	LTTNG_UST_TP_FIELDS(PEER_POINTER(queue) PEER_POINTER(buffer)
				    lttng_ust_field_integer(uint32_t, blocking, blocking)
					    lttng_ust_field_integer(uint64_t, offset, offset)
						    lttng_ust_field_integer(uint64_t, size, size)))

LTTNG_UST_TRACEPOINT_EVENT(duet_peer, enqueue_read_buffer_end,
			   LTTNG_UST_TP_ARGS(int32_t, result, const void *, event),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int32_t, result, result)
						       PEER_POINTER(event)))

LTTNG_UST_TRACEPOINT_EVENT(duet_peer, range_push,
			   LTTNG_UST_TP_ARGS(const char *, domain, const char *, name),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_string(domain, domain)
						       lttng_ust_field_string(name, name)))

LTTNG_UST_TRACEPOINT_EVENT(duet_peer, range_pop, LTTNG_UST_TP_ARGS(const char *, domain),
			   LTTNG_UST_TP_FIELDS(lttng_ust_field_string(domain, domain)))

#endif

#include <lttng/tracepoint-event.h>
