/* SPDX-License-Identifier: MIT
 *
 * agent/metrics.c - the child process that serves and pushes metrics
 *
 * Runs in:  a child of the agent
 * Gets:     the configured endpoints, the recorder's ring, the status
 * Gives:    metrics and profiles, through agent/endpoints
 * Owns:     nothing
 * Fails:    with an exit status and a message; the agent starts it again
 * Why:      an endpoint that hangs, or a long analysis, must not stop the recorder. The process
 *           reads one file and answers the network, so it keeps one right: to reach that file
 */
#include "agent/metrics.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "agent/endpoints/endpoints.h"
#include "agent/spool.h"
#include "agent/user.h"
#include "base/clock_ns.h"
#include "base/error.h"
#include "base/string.h"
#include "net/pusher.h"

/* Rows are in the file when they are this old; then they are counted. */
#define LAG_NS (METRICS_FLUSH_NS + UINT64_C(800000000))

bool metrics_is_wanted(const struct agent_setup *setup)
{
	return setup->endpoints && endpoints_options_has_any(setup->endpoints);
}

struct metrics_context {
	/* It writes metrics_beat_ns, endpoints and metrics_errors only. */
	struct agent_status *status;
	const struct metrics_hooks *hooks;
	const struct endpoints_options *options;
	pthread_mutex_t lock; /* guards metrics_errors: pushers have threads of their own */
};

static void on_message(void *context, const char *text)
{
	struct metrics_context *metrics = context;

	pthread_mutex_lock(&metrics->lock);
	agent_errors_add(&metrics->status->metrics_errors, text);
	pthread_mutex_unlock(&metrics->lock);
	metrics->hooks->on_message(metrics->hooks->context, text);
}

/* The port may have been chosen by the kernel. */
static void on_listen(void *context, uint16_t port)
{
	const struct metrics_context *metrics = context;
	const char *listen = metrics->options->listen, *colon = strrchr(listen, ':');
	const int host = colon ? (int)(colon - listen) : 0;

	snprintf(metrics->status->endpoints.listen, sizeof(metrics->status->endpoints.listen),
		 "%.*s:%u", host ? host : (int)strlen("127.0.0.1"), host ? listen : "127.0.0.1",
		 port);
}

static void show_receiver(const struct own_stream *stream, struct agent_receiver *receiver)
{
	const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	snprintf(receiver->name, sizeof(receiver->name), "%s", stream->name);
	pusher_show_url(stream->url, receiver->url);
	receiver->sent = stream->counts.sent;
	receiver->dropped = push_counts_dropped(&stream->counts);
	receiver->waiting = stream->counts.waiting;
	receiver->is_on = stream->is_on;
	receiver->is_failing = stream->is_failing;
	receiver->error_boot_ns =
		stream->problem_ns ? (uint64_t)spool_now_ns() - (now_ns - stream->problem_ns) : 0;
	string_make_printable(stream->problem, receiver->error, sizeof(receiver->error));
}

static void on_streams(void *context, const struct own_stream *streams, size_t count)
{
	struct agent_endpoints *endpoints =
		&((const struct metrics_context *)context)->status->endpoints;

	for (size_t i = 0; i < count && i < AGENT_RECEIVERS; i++)
		show_receiver(&streams[i], &endpoints->all[i]);
	endpoints->count = (uint32_t)count;
}

static bool read_spool(void *context, struct endpoints_spool *ret_spool)
{
	const struct agent_status *status = ((const struct metrics_context *)context)->status;
	const struct agent_spool_state *state = &status->spool_state;

	*ret_spool = (struct endpoints_spool){.files = STATUS_GET(state->files),
					      .bytes = STATUS_GET(state->bytes) +
						       STATUS_GET(state->ring_bytes),
					      .max_bytes = STATUS_GET(status->max_disk_bytes),
					      .added = STATUS_GET(state->added),
					      .dropped = STATUS_GET(state->dropped),
					      .dropped_bytes = STATUS_GET(state->dropped_bytes),
					      .skipped = STATUS_GET(state->skipped),
					      .skipped_ns = STATUS_GET(state->skipped_ns),
					      .start_ns = STATUS_GET(state->start_real_ns)};
	return true;
}

/* A new recorder has another pid; 0: none runs. */
static pid_t read_recorder_pid(void *context)
{
	return STATUS_GET(((const struct metrics_context *)context)->status->recorder_pid);
}

static uint64_t read_beat(void *context)
{
	return STATUS_GET(((const struct metrics_context *)context)->status->beat_ns);
}

static void on_round(void *context, uint64_t now_ns)
{
	struct agent_status *status = ((const struct metrics_context *)context)->status;

	STATUS_SET(status->metrics_beat_ns, now_ns);
}

static int enter_user(const struct agent_settings *settings)
{
	struct agent_user user = {0};
	int error = settings->user ? agent_user_find(settings->user, &user) : 0;

	if (!error)
		error = agent_user_prepare(&user);
	if (!error)
		error = agent_user_enter_reader(&user);
	/* The kernel clears it when the user changes. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	return error;
}

int metrics_run(const struct agent_setup *setup, struct agent_status *status,
		const struct metrics_hooks *hooks)
{
	struct metrics_context context = {.status = status,
					  .hooks = hooks,
					  .options = setup->endpoints,
					  .lock = PTHREAD_MUTEX_INITIALIZER};
	const struct endpoints_hooks endpoints = {.version = hooks->version,
						  .lag_ns = LAG_NS,
						  .read_recorder_pid = read_recorder_pid,
						  .read_beat = read_beat,
						  .read_spool = read_spool,
						  .on_round = on_round,
						  .on_streams = on_streams,
						  .on_listen = on_listen,
						  .on_message = on_message,
						  .context = &context};
	char path[AGENT_PATH_TEXT + sizeof("/" SPOOL_RING)];
	int error = enter_user(&setup->settings);

	snprintf(path, sizeof(path), "%s/" SPOOL_RING, setup->settings.spool);
	status->endpoints = (struct agent_endpoints){.count = 0};
	if (!error)
		error = endpoints_run(setup->endpoints, &endpoints, path, -1);
	if (error)
		on_message(&context, error_text());
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
