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

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>

#include "agent/endpoints/endpoints.h"
#include "agent/spool.h"
#include "agent/user.h"
#include "base/error.h"

/* Rows are in the file when they are this old; then they are counted. */
#define LAG_NS (METRICS_FLUSH_NS + UINT64_C(800000000))

bool metrics_is_wanted(const struct agent_setup *setup)
{
	return setup->endpoints && endpoints_options_has_any(setup->endpoints);
}

struct metrics_context {
	struct agent_status *status; /* it writes metrics_beat_ns only */
	const struct metrics_hooks *hooks;
};

static void on_message(void *context, const char *text)
{
	const struct metrics_context *metrics = context;

	metrics->hooks->on_message(metrics->hooks->context, text);
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
	struct metrics_context context = {status, hooks};
	const struct endpoints_hooks endpoints = {.version = hooks->version,
						  .lag_ns = LAG_NS,
						  .read_recorder_pid = read_recorder_pid,
						  .read_beat = read_beat,
						  .read_spool = read_spool,
						  .on_round = on_round,
						  .on_message = on_message,
						  .context = &context};
	char path[AGENT_PATH_TEXT + sizeof("/" SPOOL_RING)];
	int error = enter_user(&setup->settings);

	snprintf(path, sizeof(path), "%s/" SPOOL_RING, setup->settings.spool);
	if (!error)
		error = endpoints_run(setup->endpoints, &endpoints, path, -1);
	if (error)
		hooks->on_message(hooks->context, error_text());
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
