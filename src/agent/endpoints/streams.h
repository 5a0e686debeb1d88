/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/streams.h - the pushes to OTLP and pprof receivers
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/endpoints/endpoints.h"
#include "agent/endpoints/own.h"

struct live_follow;
struct streams;
struct totals;

enum stream_kind { STREAM_OTLP_METRICS, STREAM_OTLP_PROFILES, STREAM_PPROF, STREAM_COUNT };
/* "otlp_metrics", …: label `stream`. */
const char *stream_kind_name(enum stream_kind kind);

/* Starts the pushers of the configured receivers. Errors: those of pusher_new. */
int streams_new(const struct endpoints_options *options, const struct endpoints_hooks *hooks,
		uint64_t now_ns, struct streams **ret_streams);
/* Sends the rest within the time of streams_push_last. NULL-safe. */
void streams_free(struct streams *streams);

/* Starts and sends all pushes that are due. until_ns: CLOCK_MONOTONIC up to which the recording was
 * read; follow: the recording, NULL: none. */
void streams_push(struct streams *streams, const struct totals *totals, const struct own *own,
		  struct live_follow *follow, uint64_t until_ns, uint64_t now_ns);
/* The same for the last time: everything is due. Waits for profiles that
 * are being made, at most for endpoints_hooks.drain_ns. */
void streams_push_last(struct streams *streams, const struct totals *totals, const struct own *own,
		       struct live_follow *follow, uint64_t until_ns, uint64_t now_ns);

/* Descriptors that can be read when streams_push has something to do; returns their number. */
size_t streams_poll(const struct streams *streams, struct pollfd ret_fds[STREAM_COUNT]);

void streams_read(struct streams *streams, struct own *own);
