/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/streams.c - the pushes to OTLP and pprof receivers
 *
 * Runs in:  our own process, the agent's child for endpoints
 * Gets:     totals, the newest part of the recording
 * Gives:    bodies to pushers
 * Owns:     the pushers
 * Fails:    a body that cannot be made is counted as dropped
 * Why profiles have an interval of their own: a profile of a second is noise, and each one is read
 *           from the recording a second time.
 */
#include "agent/endpoints/streams.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "agent/endpoints/forked.h"
#include "agent/endpoints/otlp_metrics.h"
#include "agent/endpoints/profiles.h"
#include "agent/endpoints/totals.h"
#include "base/array.h"
#include "base/error.h"
#include "base/number.h"
#include "export/exporter.h"
#include "live/follow.h"
#include "net/pusher.h"

enum {
	NS_PER_S = 1000000000,
	NS_PER_MS = 1000000,
	METRICS_MAX_ITEMS = 4, /* cumulative: only the newest matters */
	PROFILES_MAX_ITEMS = 8,
	MAX_BYTES = 8 << 20, /* limit of one queue */
	PROFILE_MAX_MEMORY = 256 << 20,
	PROFILE_MAX_BYTES = 64 << 20 /* limit of a recording that is read for a profile */
};
#define MAX_AGE_NS     UINT64_C(300000000000)
#define DRAIN_NS       UINT64_C(5000000000)
/* Time limit of making a profile. */
#define PROFILE_NS     UINT64_C(20000000000)
#define PROFILE_MAX_NS UINT64_C(120000000000) /* a longer interval is cut to its end */

struct stream {
	struct pusher *pusher; /* NULL: not configured */
	uint64_t interval_ns, next_ns;
	/* Profiles: the time after the last one; the one that a child makes at present. */
	uint64_t from_ns;
	struct forked *forked; /* NULL: none */
	bool is_skipping;      /* the last profile could not be made, and a message said so */
	struct profile_job {
		struct live_follow *follow;
		const struct exporter *exporter;
		const char *version;
		uint64_t from_ns, until_ns;
	} job;
};

struct streams {
	const struct endpoints_options *options;
	const struct endpoints_hooks *hooks;
	struct stream all[STREAM_COUNT];
	struct utsname host;
	uint64_t end_ns; /* end of the last pushes; 0: not yet */
};

const char *stream_kind_name(enum stream_kind kind)
{
	static const char *const names[STREAM_COUNT] = {[STREAM_OTLP_METRICS] = "otlp_metrics",
							[STREAM_OTLP_PROFILES] = "otlp_profiles",
							[STREAM_PPROF] = "pprof"};

	return array_text(names, ARRAY_COUNT(names), kind, "unknown");
}

/* ---- start and end ---- */

static int start_stream(struct streams *streams, enum stream_kind kind,
			const struct push_options *push, uint64_t interval_ns, uint64_t now_ns)
{
	bool is_otlp = kind != STREAM_PPROF;
	struct stream *stream = &streams->all[kind];
	const struct pusher_options options = {
		.name = stream_kind_name(kind),
		.content_type = is_otlp ? "application/x-protobuf"
					: profile_content_type(streams->options->pprof_receiver),
		.content_encoding = is_otlp && streams->options->otlp_has_gzip ? "gzip" : NULL,
		.headers = (const char *const *)push->headers,
		.max_items = kind == STREAM_OTLP_METRICS ? METRICS_MAX_ITEMS : PROFILES_MAX_ITEMS,
		.max_bytes = MAX_BYTES,
		.max_age_ns = MAX_AGE_NS,
		.timeout_ms = (uint32_t)(push->timeout_ns / NS_PER_MS),
		.is_optional = kind == STREAM_OTLP_PROFILES,
		.on_message = streams->hooks->on_message,
		.context = streams->hooks->context,
	};

	stream->interval_ns = interval_ns;
	stream->next_ns = now_ns + interval_ns;
	stream->from_ns = now_ns;
	return pusher_new(&options, &stream->pusher);
}

int streams_new(const struct endpoints_options *options, const struct endpoints_hooks *hooks,
		uint64_t now_ns, struct streams **ret_streams)
{
	struct streams *streams = calloc(1, sizeof(*streams));
	int error = 0;

	if (!streams)
		return error_no_memory();
	streams->options = options;
	streams->hooks = hooks;
	uname(&streams->host);
	if (options->otlp.url)
		error = start_stream(streams, STREAM_OTLP_METRICS, &options->otlp,
				     options->otlp.interval_ns, now_ns);
	if (!error && options->otlp.url && options->otlp_has_profiles)
		error = start_stream(streams, STREAM_OTLP_PROFILES, &options->otlp,
				     options->otlp_profiles_ns, now_ns);
	if (!error && options->pprof.url)
		error = start_stream(streams, STREAM_PPROF, &options->pprof,
				     options->pprof.interval_ns, now_ns);
	if (error) {
		streams_free(streams);
		return error;
	}
	*ret_streams = streams;
	return 0;
}

static uint64_t now_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void streams_free(struct streams *streams)
{
	if (!streams)
		return;
	for (size_t i = 0; i < STREAM_COUNT; i++) {
		uint64_t now_ns = now_monotonic_ns();

		if (streams->all[i].forked)
			pusher_send(streams->all[i].pusher, NULL, NULL, 0);
		forked_free(streams->all[i].forked);
		pusher_free(streams->all[i].pusher,
			    streams->end_ns > now_ns ? streams->end_ns - now_ns : 0, NULL);
	}
	free(streams);
}

static void read_stream(const struct stream *stream, struct own_stream *row)
{
	struct pusher_state state;

	pusher_read_state(stream->pusher, &state);
	row->is_on = state.is_on;
	row->is_failing = state.is_failing;
	row->problem_ns = state.problem_ns;
	snprintf(row->problem, sizeof(row->problem), "%s", state.problem);
	row->counts = state.counts;
}

void streams_read(struct streams *streams, struct own *own)
{
	own->streams_count = 0;
	for (unsigned int i = 0; i < STREAM_COUNT; i++) {
		struct own_stream *row = &own->streams[own->streams_count];

		if (!streams->all[i].pusher)
			continue;
		row->name = stream_kind_name((enum stream_kind)i);
		row->url = i == STREAM_PPROF ? streams->options->pprof.url
					     : streams->options->otlp.url;
		read_stream(&streams->all[i], row);
		own->streams_count++;
	}
}

/* ---- bodies ---- */

static uint64_t real_offset_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec - now_monotonic_ns();
}

static void push_metrics(const struct streams *streams, const struct totals *totals,
			 const struct own *own)
{
	struct otlp_metrics metrics = {.host = streams->host.nodename,
				       .os_version = streams->host.release,
				       .version = streams->hooks->version,
				       .time_ns = totals_real_ns(totals)};
	struct metric_visitor visitor = otlp_metrics_visitor(&metrics);
	size_t size;
	void *bytes;

	otlp_metrics_begin(&metrics);
	totals_visit(totals, &visitor);
	own_visit(own, &visitor);
	otlp_metrics_end(&metrics);
	size = metrics.message.size;
	bytes = metrics.message.error ? NULL : metrics.message.bytes;
	if (bytes)
		metrics.message = (struct protobuf){.bytes = NULL};
	if (streams->options->otlp_has_gzip)
		bytes = gzip_bytes(bytes, &size);
	otlp_metrics_fini(&metrics);
	pusher_send(streams->all[STREAM_OTLP_METRICS].pusher,
		    url_join(streams->options->otlp.url, "v1/metrics"), bytes, size);
}

/* ---- profiles ---- */

static int make_profile(void *context, void **ret_bytes, size_t *ret_size)
{
	const struct profile_job *job = context;
	const struct live_window_options options = {.begin_ns = job->from_ns,
						    .end_ns = job->until_ns,
						    .by_thread = true,
						    .max_bytes = PROFILE_MAX_BYTES};
	struct live_window window = {0};
	int error = live_follow_analyse(job->follow, &options, &window);

	if (!error)
		error = profile_export(&window, job->exporter, job->version, ret_bytes, ret_size);
	live_window_fini(&window);
	return error;
}

static void push_otlp_profile(const struct streams *streams, void *bytes, size_t size)
{
	if (bytes && streams->options->otlp_has_gzip)
		bytes = gzip_bytes(bytes, &size);
	pusher_send(streams->all[STREAM_OTLP_PROFILES].pusher,
		    url_join(streams->options->otlp.url, "v1development/profiles"), bytes, size);
}

static void push_pprof(const struct streams *streams, const struct profile_job *job, void *bytes,
		       size_t size)
{
	const struct endpoints_options *options = streams->options;
	const uint64_t offset_ns = real_offset_ns();
	const struct profile_place place = {.url = options->pprof.url,
					    .name = options->pprof_name,
					    .host = streams->host.nodename,
					    .from_ns = job->from_ns + offset_ns,
					    .until_ns = job->until_ns + offset_ns};

	if (bytes)
		bytes = profile_body(options->pprof_receiver, &place, bytes, &size);
	pusher_send(streams->all[STREAM_PPROF].pusher, profile_url(options->pprof_receiver, &place),
		    bytes, size);
}

static uint64_t profile_limit_ns(const struct streams *streams)
{
	return streams->hooks->profile_ns ? streams->hooks->profile_ns : PROFILE_NS;
}

/* A profile that could not be made. The first one of a series is logged. */
static void skip_profile(struct streams *streams, enum stream_kind kind, int error)
{
	struct stream *stream = &streams->all[kind];
	const bool is_slow = error == -ETIMEDOUT;
	char problem[200], text[400];

	if (is_slow)
		snprintf(problem, sizeof(problem), "making a profile took longer than %u s",
			 (unsigned)(profile_limit_ns(streams) / NS_PER_S));
	else
		snprintf(problem, sizeof(problem), "a profile could not be made: %s",
			 error == -ECHILD ? "its process ended early, perhaps at its limit of "
					    "memory"
					  : strerror(-error));
	pusher_skip(stream->pusher, is_slow, problem);
	if (stream->is_skipping || !streams->hooks->on_message)
		return;
	stream->is_skipping = true;
	snprintf(text, sizeof(text), "%s: %s; the profile of %.0f s is dropped%s",
		 stream_kind_name(kind), problem,
		 (double)(stream->job.until_ns - stream->job.from_ns) / NS_PER_S,
		 is_slow ? ". Leave duet more of a processor, or push shorter profiles (interval_s)"
			 : "");
	streams->hooks->on_message(streams->hooks->context, text);
}

static void start_profile(struct streams *streams, enum stream_kind kind,
			  struct live_follow *follow, uint64_t until_ns, uint64_t now_ns)
{
	struct stream *stream = &streams->all[kind];
	const struct forked_options forked = {.make = make_profile,
					      .context = &stream->job,
					      .time_limit_ns = profile_limit_ns(streams),
					      .max_bytes = MAX_BYTES,
					      .max_memory = streams->hooks->profile_memory
								    ? streams->hooks->profile_memory
								    : PROFILE_MAX_MEMORY};
	int error;

	stream->job = (struct profile_job){
		.follow = follow,
		.exporter = exporter_find(kind == STREAM_PPROF ? "pprof" : "otlp"),
		.version = streams->hooks->version,
		.from_ns = larger(stream->from_ns,
				  until_ns > PROFILE_MAX_NS ? until_ns - PROFILE_MAX_NS : 0),
		.until_ns = until_ns};
	stream->from_ns = until_ns;
	error = forked_start(&forked, now_ns, &stream->forked);
	if (error)
		skip_profile(streams, kind, error);
}

/* A profile that could not be made is counted as a drop. A time without data has no profile. */
static void take_profile(struct streams *streams, enum stream_kind kind, uint64_t now_ns)
{
	struct stream *stream = &streams->all[kind];
	void *bytes = NULL;
	size_t size = 0;
	int error = forked_take(stream->forked, now_ns, &bytes, &size);

	if (error == -EAGAIN)
		return;
	forked_free(stream->forked);
	stream->forked = NULL;
	if (error == -ENODATA)
		return;
	if (error) {
		skip_profile(streams, kind, error);
		return;
	}
	stream->is_skipping = false;
	if (kind == STREAM_OTLP_PROFILES)
		push_otlp_profile(streams, bytes, size);
	else
		push_pprof(streams, &stream->job, bytes, size);
}

static bool is_due(struct stream *stream, uint64_t now_ns)
{
	if (!stream->pusher || now_ns < stream->next_ns)
		return false;
	while (stream->next_ns <= now_ns)
		stream->next_ns += stream->interval_ns;
	return pusher_is_on(stream->pusher);
}

void streams_push(struct streams *streams, const struct totals *totals, const struct own *own,
		  struct live_follow *follow, uint64_t until_ns, uint64_t now_ns)
{
	if (is_due(&streams->all[STREAM_OTLP_METRICS], now_ns))
		push_metrics(streams, totals, own);
	for (unsigned int kind = STREAM_OTLP_PROFILES; kind < STREAM_COUNT; kind++) {
		struct stream *stream = &streams->all[kind];

		if (stream->forked)
			take_profile(streams, (enum stream_kind)kind, now_ns);
		/* While a profile is made, the next one waits and becomes longer. */
		if (!stream->forked && is_due(stream, now_ns) && follow &&
		    until_ns > stream->from_ns)
			start_profile(streams, (enum stream_kind)kind, follow, until_ns, now_ns);
	}
}

size_t streams_poll(const struct streams *streams, struct pollfd ret_fds[STREAM_COUNT])
{
	size_t count = 0;

	for (size_t i = 0; i < STREAM_COUNT; i++)
		if (streams->all[i].forked)
			ret_fds[count++] = (struct pollfd){.fd = forked_fd(streams->all[i].forked),
							   .events = POLLIN};
	return count;
}

/* Profiles that are being made, until the time. */
static void finish_profiles(struct streams *streams, uint64_t end_ns)
{
	struct pollfd fds[STREAM_COUNT];
	uint64_t now_ns = now_monotonic_ns();
	size_t count;

	while ((count = streams_poll(streams, fds)) != 0 && now_ns < end_ns) {
		poll(fds, count, (int)((end_ns - now_ns) / NS_PER_MS) + 1);
		now_ns = now_monotonic_ns();
		for (unsigned int kind = STREAM_OTLP_PROFILES; kind < STREAM_COUNT; kind++)
			if (streams->all[kind].forked)
				take_profile(streams, (enum stream_kind)kind, now_ns);
	}
}

void streams_push_last(struct streams *streams, const struct totals *totals, const struct own *own,
		       struct live_follow *follow, uint64_t until_ns, uint64_t now_ns)
{
	uint64_t drain_ns = streams->hooks->drain_ns ? streams->hooks->drain_ns : DRAIN_NS;
	uint64_t end_ns = streams->end_ns = now_ns + drain_ns;

	finish_profiles(streams, end_ns);
	for (size_t i = 0; i < STREAM_COUNT; i++)
		streams->all[i].next_ns = now_ns;
	streams_push(streams, totals, own, follow, until_ns, now_ns);
	finish_profiles(streams, end_ns);
}
