/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/endpoints.c - serve and push metrics of a recording while it is written
 *
 * Runs in:  our own process, a child of the agent
 * Gets:     the recorder's file, options
 * Gives:    /metrics, /healthz, pushes
 * Owns:     the totals, the server, the pushers
 * Fails:    -errno if an endpoint cannot start; later failures are counted and reported once
 * Why a process of its own: reading a recording takes memory and time that depend on the data. The
 *           recorder must not wait for it, nor share its limit.
 */
#include "agent/endpoints/endpoints.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>

#include "agent/endpoints/feed.h"
#include "agent/endpoints/prometheus.h"
#include "agent/endpoints/real_clock.h"
#include "agent/endpoints/streams.h"
#include "agent/endpoints/totals.h"
#include "base/cleanup.h"
#include "base/clock_ns.h"
#include "base/error.h"
#include "base/number.h"
#include "event/event.h"
#include "live/snapshot.h"
#include "net/http_server.h"

enum { NS_PER_S = 1000000000, NS_PER_MS = 1000000 };
/* /healthz fails when the newest counted time, or the recorder's last sign, is older. */
#define STALE_NS UINT64_C(15000000000)

struct endpoints {
	const struct endpoints_options *options;
	const struct endpoints_hooks *hooks;
	pthread_mutex_t lock; /* guards totals and own, which the server's thread reads */
	struct totals *totals;
	struct own own;
	struct feed feed;
	struct real_clock clock;
	struct http_server *server;
	struct streams *streams;
	/* CLOCK_MONOTONIC up to which all is counted or skipped, and the end of the last interval
	 * that was not skipped; both under the lock. */
	uint64_t cursor_ns, counted_ns;
	bool has_reported; /* that a read failed */
};

static void report(const struct endpoints *endpoints, const char *text)
{
	if (endpoints->hooks->on_message)
		endpoints->hooks->on_message(endpoints->hooks->context, text);
}

/* ---- answers ---- */

static uint64_t age_ns(uint64_t then_ns)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	return now_ns > then_ns ? now_ns - then_ns : 0;
}

static uint64_t behind_ns(const struct endpoints *endpoints)
{
	return age_ns(endpoints->cursor_ns);
}

static void answer_metrics(struct endpoints *endpoints, const char *accept,
			   struct http_reply *reply)
{
	struct prometheus text = {.format = prometheus_choose(accept)};
	struct metric_visitor visitor = prometheus_visitor(&text);
	struct own own;

	pthread_mutex_lock(&endpoints->lock);
	own = endpoints->own;
	own.behind_ns = behind_ns(endpoints);
	streams_read(endpoints->streams, &own);
	totals_visit(endpoints->totals, &visitor);
	own_visit(&own, &visitor);
	pthread_mutex_unlock(&endpoints->lock);
	prometheus_end(&text);
	reply->size = text.text.length;
	reply->body = string_builder_take(&text.text);
	reply->status = reply->body ? 200 : 503;
	reply->content_type = prometheus_content_type(text.format);
	string_builder_fini(&text.text);
}

/* Time without a recorder, and time that was skipped, is not healthy, although the cursor goes on.
 */
static uint64_t unwell_ns(struct endpoints *endpoints)
{
	const struct endpoints_hooks *hooks = endpoints->hooks;
	uint64_t silent_ns = hooks->read_beat ? age_ns(hooks->read_beat(hooks->context)) : 0;
	uint64_t uncounted_ns;

	pthread_mutex_lock(&endpoints->lock);
	uncounted_ns = age_ns(endpoints->counted_ns);
	pthread_mutex_unlock(&endpoints->lock);
	return larger(silent_ns, uncounted_ns);
}

static void answer_health(struct endpoints *endpoints, struct http_reply *reply)
{
	struct string_builder text = {0};
	const uint64_t behind = unwell_ns(endpoints);

	string_builder_appendf(&text, "%s\nbehind_seconds %.3f\n",
			       behind < STALE_NS ? "ok" : "behind", (double)behind / NS_PER_S);
	reply->size = text.length;
	reply->body = string_builder_take(&text);
	reply->status = behind < STALE_NS ? 200 : 503;
	reply->content_type = "text/plain; charset=utf-8";
}

static void answer(void *context, const struct http_request *request, struct http_reply *reply)
{
	if (strcmp(request->path, "/metrics") == 0)
		answer_metrics(context, request->accept, reply);
	else if (strcmp(request->path, "/healthz") == 0)
		answer_health(context, reply);
}

/* ---- counting ---- */

static void report_skipped(struct endpoints *endpoints, const struct feed_interval *interval)
{
	char text[1024];

	if (endpoints->has_reported)
		return;
	endpoints->has_reported = true;
	snprintf(text, sizeof(text), "endpoints: %.1f s of the recording are not counted: %s",
		 (double)(interval->end_ns - interval->begin_ns) / NS_PER_S,
		 interval->error ? error_text() : "the endpoints were more than a minute behind");
	report(endpoints, text);
}

/* Before the points of a round get their times. */
static void follow_clock(struct endpoints *endpoints)
{
	const int64_t before_ns = endpoints->clock.offset_ns;
	int64_t ahead_ns;
	char text[256];
	bool is_back;

	/* The thread of the server reads the totals. */
	pthread_mutex_lock(&endpoints->lock);
	is_back = real_clock_follow(&endpoints->clock, real_clock_difference_ns(), &ahead_ns);
	totals_shift(endpoints->totals, (uint64_t)(endpoints->clock.offset_ns - before_ns));
	pthread_mutex_unlock(&endpoints->lock);
	if (!is_back)
		return;
	snprintf(text, sizeof(text),
		 "endpoints: the machine's clock was set back by %.1f s; times of points stay "
		 "ahead of it, because they must not go back. Reload the agent to start new series",
		 (double)ahead_ns / NS_PER_S);
	report(endpoints, text);
}

static void count_interval(struct endpoints *endpoints, struct feed_interval *interval)
{
	struct live_snapshot *snapshot = interval->snapshot;

	if (interval->state == TOTALS_SKIPPED)
		report_skipped(endpoints, interval);
	error_clear();
	pthread_mutex_lock(&endpoints->lock);
	if (snapshot) {
		uint64_t missing_ns = snapshot->begin_ns > interval->begin_ns
					      ? snapshot->begin_ns - interval->begin_ns
					      : 0;

		snapshot->real_ns = real_clock_at(&endpoints->clock, snapshot->end_ns);
		if (missing_ns)
			totals_pass(endpoints->totals, TOTALS_EMPTY, missing_ns,
				    real_clock_at(&endpoints->clock, snapshot->begin_ns));
		totals_add(endpoints->totals, snapshot);
	} else {
		totals_pass(endpoints->totals, interval->state,
			    interval->end_ns - interval->begin_ns,
			    real_clock_at(&endpoints->clock, interval->end_ns));
	}
	for (size_t i = 0; i < interval->losses_count; i++)
		totals_add_loss(endpoints->totals, &interval->losses[i]);
	endpoints->cursor_ns = interval->end_ns;
	if (interval->state != TOTALS_SKIPPED)
		endpoints->counted_ns = interval->end_ns;
	pthread_mutex_unlock(&endpoints->lock);
	live_snapshot_free(snapshot);
	free(interval->losses);
}

static void read_own(struct endpoints *endpoints, uint64_t spent_ns)
{
	const struct endpoints_hooks *hooks = endpoints->hooks;
	struct own *own = &endpoints->own;
	const pid_t recorder = hooks->read_recorder_pid ? hooks->read_recorder_pid(hooks->context)
							: hooks->recorder_pid;

	pthread_mutex_lock(&endpoints->lock);
	own->analysis_ns += spent_ns;
	own_read_process(getpid(), &endpoints->clock, &own->processes[0]);
	if (recorder)
		own_read_process(recorder, &endpoints->clock, &own->processes[1]);
	if (hooks->read_spool)
		own->has_spool = hooks->read_spool(hooks->context, &own->spool);
	own->behind_ns = behind_ns(endpoints);
	streams_read(endpoints->streams, own);
	pthread_mutex_unlock(&endpoints->lock);
	if (hooks->on_streams)
		hooks->on_streams(hooks->context, own->streams, own->streams_count);
}

static void count_due(struct endpoints *endpoints)
{
	uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	struct feed_interval interval;

	follow_clock(endpoints);
	while (feed_next(&endpoints->feed, clock_ns(CLOCK_MONOTONIC), &interval))
		count_interval(endpoints, &interval);
	read_own(endpoints, clock_ns(CLOCK_MONOTONIC) - start_ns);
}

/* Only this thread changes totals and own, so it reads them without the lock. */
static void push_due(struct endpoints *endpoints, bool is_last)
{
	(is_last ? streams_push_last : streams_push)(
		endpoints->streams, endpoints->totals, &endpoints->own, endpoints->feed.follow,
		endpoints->cursor_ns, clock_ns(CLOCK_MONOTONIC));
}

/* ---- start, loop, end ---- */

static int start_server(struct endpoints *endpoints)
{
	const struct http_server_options options = {
		.listen = endpoints->options->listen, .answer = answer, .context = endpoints};
	int error;

	if (!options.listen)
		return 0;
	error = http_server_new(&options, &endpoints->server);
	if (error)
		return error_note(error, "endpoints");
	if (endpoints->hooks->on_listen)
		endpoints->hooks->on_listen(endpoints->hooks->context,
					    http_server_port(endpoints->server));
	return 0;
}

static int start_all(struct endpoints *endpoints)
{
	const uint64_t begin_ns = endpoints->cursor_ns;
	const uint64_t begin_real_ns = real_clock_at(&endpoints->clock, begin_ns);
	const struct totals_options totals = {.max_kernels = endpoints->options->max_kernels,
					      .max_processes = endpoints->options->max_processes,
					      .start_real_ns = begin_real_ns,
					      .version = endpoints->hooks->version};
	int error = totals_new(&totals, &endpoints->totals);

	endpoints->own = (struct own){.start_ns = begin_real_ns, .processes[0].role = "endpoints"};
	if (endpoints->hooks->recorder_pid || endpoints->hooks->read_recorder_pid)
		endpoints->own.processes[1].role = "recorder";
	if (!error)
		error = streams_new(endpoints->options, endpoints->hooks, begin_ns,
				    &endpoints->streams);
	return error ? error : start_server(endpoints);
}

/* A descriptor that can be read after SIGTERM or SIGINT. */
static int open_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_CLOEXEC);
}

/* Waits for the next interval or a profile; true: stop. */
static bool wait_stop(const struct endpoints *endpoints, int stop_fd, int signal_fd)
{
	struct pollfd fds[2 + STREAM_COUNT] = {{.fd = signal_fd, .events = POLLIN},
					       {.fd = stop_fd, .events = POLLIN}};
	uint64_t due_ns = feed_due_ns(&endpoints->feed), now_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t wait_ms = due_ns > now_ns ? (due_ns - now_ns) / NS_PER_MS + 1 : 1;
	size_t count = 2 + streams_poll(endpoints->streams, fds + 2);

	return poll(fds, count, (int)wait_ms) > 0 && (fds[0].revents || fds[1].revents);
}

static void loop(struct endpoints *endpoints, int stop_fd, int signal_fd)
{
	do {
		if (endpoints->hooks->on_round)
			endpoints->hooks->on_round(endpoints->hooks->context,
						   clock_ns(CLOCK_MONOTONIC));
		count_due(endpoints);
		if (endpoints->hooks->ends_with_file && feed_is_complete(&endpoints->feed))
			break;
		push_due(endpoints, false);
		http_server_look(endpoints->server);
	} while (!wait_stop(endpoints, stop_fd, signal_fd));
	push_due(endpoints, true);
}

int endpoints_run(const struct endpoints_options *options, const struct endpoints_hooks *hooks,
		  const char *path, int stop_fd)
{
	struct endpoints endpoints = {.options = options,
				      .hooks = hooks,
				      .cursor_ns = hooks->begin_ns ? hooks->begin_ns
								   : clock_ns(CLOCK_MONOTONIC)};
	auto_close int signal_fd = open_signals();
	int error;

	endpoints.counted_ns = endpoints.cursor_ns;
	real_clock_init(&endpoints.clock);
	pthread_mutex_init(&endpoints.lock, NULL);
	feed_init(&endpoints.feed, path, endpoints.cursor_ns, hooks->lag_ns);
	error = start_all(&endpoints);
	if (!error)
		loop(&endpoints, stop_fd, signal_fd);
	http_server_free(endpoints.server);
	streams_free(endpoints.streams);
	totals_free(endpoints.totals);
	feed_fini(&endpoints.feed);
	pthread_mutex_destroy(&endpoints.lock);
	return error;
}
