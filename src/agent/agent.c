/* SPDX-License-Identifier: MIT
 *
 * agent/agent.c - record continuously: the process that starts and watches the others
 *
 * Runs in:  the agent
 * Gets:     a configuration; SIGHUP, SIGTERM
 * Gives:    a recorder that always runs; a status; messages to systemd
 * Owns:     the status file, the children, the configuration
 * Fails:    -errno if the first recorder cannot start. Later failures are in the status, and the
 *           agent goes on
 * Why:      it reads nothing of other programs, so it can keep the rights that a new recorder
 * needs. It wakes once per second
 */
#include "agent/agent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/child.h"
#include "agent/metrics.h"
#include "agent/notify.h"
#include "agent/recorder.h"
#include "agent/spool.h"
#include "agent/status.h"
#include "agent/watch.h"
#include "base/array.h"
#include "base/clock_ns.h"
#include "base/error.h"
#include "base/format.h"
#include "base/string.h"
#include "agent/endpoints/options.h"
#include "net/pusher.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
	GRACE_S = 20,       /* for a child that was asked to end */
	RECENT_SECONDS = 60 /* interval of the recent CPU time */
};

/* The recorder is replaced when its file is this long; a file system may end at 16 TiB. */
#define MAX_FILE_END  (UINT64_C(1) << 40)
/* Another limit, in bytes, for tests. */
#define FILE_END_NAME "DUET_AGENT_FILE_END"

/* Processes of the agent. Rows of further services go here: each is started again when it ends. */
enum agent_service { SERVICE_RECORDER, SERVICE_METRICS, SERVICES };

struct agent {
	const struct agent_options *options; /* borrowed */
	struct agent_setup *setup;           /* owned, by options->unload */
	struct agent_status *status;         /* owned */
	struct agent_seen *seen;             /* owned; shared with all recorders */
	int status_fd;                       /* owned */
	char runtime[AGENT_PATH_TEXT];       /* folder of the status; does not change */
	int signal_fd;                       /* owned */
	sigset_t mask;                       /* before */
	struct agent_child children[SERVICES];
	bool ends, is_announced;
	uint64_t next_second_ns;
	uint64_t replaced_ns[SERVICES]; /* for a limit */
	uint64_t max_file_end;
	uint64_t hung_ns[SERVICES]; /* start of the child that was killed because it hangs */
	/* CPU time a minute ago, in a ring of seconds. */
	uint64_t cpu_ns[RECENT_SECONDS];
	uint64_t seconds;
};

static void say(struct agent *agent, const char *text)
{
	agent->options->on_message(agent->options->context, text);
}

/* A message that the status keeps too. */
static void complain(struct agent *agent, const char *text)
{
	agent_errors_add(&agent->status->errors, text);
	say(agent, text);
}

/* ---- the recorder ---------------------------------------------------------------------------- */

static int run_recorder(void *context)
{
	struct agent *agent = context;

	close(agent->signal_fd);
	return recorder_run(agent->setup, agent->status, agent->seen);
}

static void say_in_child(void *context, const char *text)
{
	say(context, text);
}

static int run_metrics(void *context)
{
	struct agent *agent = context;
	const struct metrics_hooks hooks = {
		.version = agent->options->version, .on_message = say_in_child, .context = agent};

	close(agent->signal_fd);
	return metrics_run(agent->setup, agent->status, &hooks);
}

/* Metrics are read from the recorder's file, so the recorder comes first. */
static bool is_wanted(const struct agent *agent, enum agent_service service)
{
	return service != SERVICE_METRICS ||
	       (metrics_is_wanted(agent->setup) && STATUS_GET(agent->status->is_ready));
}

static void start_due(struct agent *agent, uint64_t now_ns)
{
	for (int i = 0; i < SERVICES; i++) {
		struct agent_child *child = &agent->children[i];

		if (child->pid || agent->ends || now_ns < child->next_start_ns ||
		    !is_wanted(agent, (enum agent_service)i))
			continue;
		if (agent_child_start(child, &agent->mask, now_ns)) {
			complain(agent, error_text());
			error_clear();
			child->next_start_ns = now_ns + SECOND_NS;
		}
	}
	STATUS_SET(agent->status->recorder_pid, agent->children[SERVICE_RECORDER].pid);
	STATUS_SET(agent->status->metrics_pid, agent->children[SERVICE_METRICS].pid);
}

/* The newest error of a recorder says why it ended. */
static void report_recorder_errors(struct agent *agent, uint64_t *inout_seen)
{
	const struct agent_errors *errors = &agent->status->recorder_errors;
	const uint64_t count = STATUS_GET(errors->count);

	if (count > *inout_seen + AGENT_ERRORS)
		*inout_seen = count - AGENT_ERRORS;
	for (; *inout_seen < count; (*inout_seen)++)
		say(agent, errors->all[*inout_seen % AGENT_ERRORS].text);
}

static void describe_end(const struct agent_child *child, int status, char *text, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(text, size, "%s: killed by signal %s; a new one starts in %.1f s",
			 child->name, format_signal(WTERMSIG(status)).text,
			 (double)child->delay_ns / 1e9);
	else
		snprintf(text, size, "%s: ended with status %d; a new one starts in %.1f s",
			 child->name, WEXITSTATUS(status), (double)child->delay_ns / 1e9);
}

static void reap_children(struct agent *agent, uint64_t now_ns)
{
	char text[AGENT_ERROR_TEXT];
	int status;

	for (int i = 0; i < SERVICES; i++) {
		struct agent_child *child = &agent->children[i];
		const bool was_asked = child->kill_ns != 0;

		if (!agent_child_reap(child, now_ns, &status))
			continue;
		if (i == SERVICE_RECORDER)
			STATUS_SET(agent->status->is_ready, 0);
		if (agent->ends || was_asked)
			continue;
		if (i == SERVICE_RECORDER)
			STATUS_ADD(agent->status->recorder_restarts, 1);
		else
			STATUS_ADD(agent->status->metrics_restarts, 1);
		describe_end(child, status, text, sizeof(text));
		complain(agent, text);
	}
}

/* ---- each second ----------------------------------------------------------------------------- */

static uint64_t own_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * SECOND_NS + (uint64_t)used.tv_nsec;
}

static void measure_cpu(struct agent *agent)
{
	struct agent_status *status = agent->status;
	uint64_t cpu_ns = own_cpu_ns(), first;

	for (int i = 0; i < SERVICES; i++)
		cpu_ns += agent_child_cpu_ns(&agent->children[i]);
	first = agent->seconds < RECENT_SECONDS ? 0 : agent->seconds % RECENT_SECONDS;
	if (agent->seconds) {
		STATUS_SET(status->recent_cpu_ns, cpu_ns - agent->cpu_ns[first]);
		STATUS_SET(status->recent_ns,
			   (agent->seconds < RECENT_SECONDS ? agent->seconds : RECENT_SECONDS) *
				   SECOND_NS);
	}
	agent->cpu_ns[agent->seconds++ % RECENT_SECONDS] = cpu_ns;
	STATUS_SET(status->cpu_ns, cpu_ns);
}

static void measure_memory(struct agent *agent, uint64_t ret_private[SERVICES])
{
	uint64_t resident, private, all_resident, all_private;

	agent_memory(getpid(), &all_resident, &all_private);
	for (int i = 0; i < SERVICES; i++) {
		ret_private[i] = 0;
		if (!agent->children[i].pid)
			continue;
		agent_memory(agent->children[i].pid, &resident, &private);
		all_resident += resident;
		all_private += private;
		ret_private[i] = private;
	}
	STATUS_SET(agent->status->resident_bytes, all_resident);
	STATUS_SET(agent->status->private_bytes, all_private);
	if (all_resident > agent->status->max_resident_bytes)
		STATUS_SET(agent->status->max_resident_bytes, all_resident);
}

static struct agent_vitals read_vitals(const struct agent *agent, enum agent_service service,
				       uint64_t private_bytes)
{
	const struct agent_status *status = agent->status;
	struct agent_vitals vitals = {.private_bytes = private_bytes};

	if (service == SERVICE_RECORDER) {
		vitals.beat_ns = STATUS_GET(status->beat_ns);
		vitals.is_ready = STATUS_GET(status->is_ready);
		vitals.file_end = STATUS_GET(status->spool_state.ring_end);
	} else {
		vitals.beat_ns = STATUS_GET(status->metrics_beat_ns);
		vitals.is_ready = vitals.beat_ns > agent->children[service].started_ns;
	}
	/* A recorder that has just started has not measured its own file yet. */
	if (!vitals.is_ready)
		vitals.file_end = 0;
	return vitals;
}

static void count_verdict(struct agent_status *status, enum agent_service service,
			  enum agent_verdict verdict)
{
	uint64_t *const counts[SERVICES][AGENT_VERDICTS] = {
		[SERVICE_RECORDER] = {[CHILD_HANGS] = &status->recorder_hangs,
				      [CHILD_IS_LARGE] = &status->recorder_recycles,
				      [CHILD_FILE_IS_LARGE] = &status->recorder_turns},
		[SERVICE_METRICS] = {[CHILD_HANGS] = &status->metrics_hangs,
				     [CHILD_IS_LARGE] = &status->metrics_recycles}};
	uint64_t *count = counts[service][verdict];

	if (count)
		STATUS_ADD(*count, 1);
}

/* Tables of names and stacks only grow, so a child that has reached its limit is replaced. */
static enum agent_verdict watch_child(struct agent *agent, enum agent_service service,
				      uint64_t private_bytes, uint64_t now_ns)
{
	const struct agent_limits limits = {
		.memory_bytes = agent->setup->settings.max_memory_bytes,
		.file_end = service == SERVICE_RECORDER ? agent->max_file_end : 0};
	const struct agent_vitals vitals = read_vitals(agent, service, private_bytes);
	struct agent_child *child = &agent->children[service];
	const enum agent_verdict verdict =
		agent_watch_judge(child, &vitals, &limits, now_ns, &agent->replaced_ns[service]);
	char text[AGENT_ERROR_TEXT];

	/* The kernel may let a killed process wait for a disk. */
	if (verdict == CHILD_HANGS && agent->hung_ns[service] == child->started_ns)
		return verdict;
	count_verdict(agent->status, service, verdict);
	if (verdict == CHILD_HANGS) {
		agent->hung_ns[service] = child->started_ns;
		snprintf(text, sizeof(text),
			 "%s: did not answer for 30 s, or for 300 s at its start, and is killed; a "
			 "new one starts",
			 child->name);
		complain(agent, text);
		kill(child->pid, SIGKILL);
	} else if (verdict != CHILD_IS_WELL) {
		agent_child_end(child, now_ns, GRACE_S * SECOND_NS);
	}
	return verdict;
}

/* Without a beat of the recorder systemd gets no message either, in case that a new recorder hangs
 * too. */
static void watch_children(struct agent *agent, const uint64_t private[SERVICES], uint64_t now_ns)
{
	for (int i = 0; i < SERVICES; i++)
		if (watch_child(agent, (enum agent_service)i, private[i], now_ns) != CHILD_HANGS &&
		    i == SERVICE_RECORDER)
			notify_send("WATCHDOG=1");
}

static void append_push(struct string_builder *line, const struct push_options *push,
			const char *what)
{
	char url[PUSHER_URL];

	if (!push->url)
		return;
	pusher_show_url(push->url, url);
	string_builder_appendf(line, ", %s to %s", what, url);
}

static void say_start(struct agent *agent)
{
	const struct agent_settings *settings = &agent->setup->settings;
	const struct endpoints_options *endpoints = agent->setup->endpoints;
	struct string_builder line = {0};

	string_builder_appendf(&line, "recording into '%s'", settings->spool);
	if (settings->max_disk_bytes)
		string_builder_appendf(&line, ", at most %s",
				       format_size((double)settings->max_disk_bytes).text);
	if (settings->max_age_ns)
		string_builder_appendf(&line, ", files of the last %s",
				       format_duration(settings->max_age_ns).text);
	if (endpoints && endpoints->listen)
		string_builder_appendf(&line, "; metrics at %s", endpoints->listen);
	if (endpoints) {
		append_push(&line, &endpoints->otlp, "OTLP");
		append_push(&line, &endpoints->pprof, "profiles");
	}
	if (!line.error)
		say(agent, string_builder_text(&line));
	string_builder_fini(&line);
}

static void announce(struct agent *agent)
{
	if (agent->is_announced || !STATUS_GET(agent->status->is_ready))
		return;
	agent->is_announced = true;
	say_start(agent);
	notify_send("READY=1\nSTATUS=recording");
}

static void do_each_second(struct agent *agent, uint64_t now_ns)
{
	uint64_t private[SERVICES];

	agent->next_second_ns = now_ns + SECOND_NS;
	for (int i = 0; i < SERVICES; i++)
		agent_child_look(&agent->children[i], now_ns);
	measure_cpu(agent);
	measure_memory(agent, private);
	watch_children(agent, private, now_ns);
	STATUS_SET(agent->status->now_boot_ns, (uint64_t)spool_now_ns());
}

/* ---- signals --------------------------------------------------------------------------------- */

static void show_setup(struct agent *agent)
{
	struct agent_status *status = agent->status;

	status->max_disk_bytes = agent->setup->settings.max_disk_bytes;
	status->max_memory_bytes = agent->setup->settings.max_memory_bytes;
	snprintf(status->spool, sizeof(status->spool), "%s", agent->setup->settings.spool);
}

/* A recorder with the new configuration replaces the present one. */
static void reload(struct agent *agent, uint64_t now_ns)
{
	struct agent_setup *setup = NULL;

	notify_send("RELOADING=1");
	if (agent->options->load(agent->options->context, &setup)) {
		error_clear();
		STATUS_ADD(agent->status->reloads_refused, 1);
		complain(agent, "configuration: it has mistakes; the previous one stays in use. "
				"Correct it and reload again");
	} else {
		agent->options->unload(agent->options->context, agent->setup);
		agent->setup = setup;
		STATUS_ADD(agent->status->reloads, 1);
		show_setup(agent);
		/* The next process of the endpoints fills it. */
		if (!metrics_is_wanted(setup))
			agent->status->endpoints = (struct agent_endpoints){.count = 0};
		say(agent, "configuration: reloaded");
		for (int i = 0; i < SERVICES; i++)
			agent_child_end(&agent->children[i], now_ns, GRACE_S * SECOND_NS);
	}
	notify_send("READY=1");
}

static void end_all(struct agent *agent, uint64_t now_ns)
{
	if (agent->ends)
		return;
	agent->ends = true;
	notify_send("STOPPING=1");
	for (int i = 0; i < SERVICES; i++)
		agent_child_end(&agent->children[i], now_ns, GRACE_S * SECOND_NS);
}

static void read_signals(struct agent *agent, uint64_t now_ns)
{
	struct signalfd_siginfo signal;

	while (read(agent->signal_fd, &signal, sizeof(signal)) == (ssize_t)sizeof(signal)) {
		if (signal.ssi_signo == SIGHUP)
			reload(agent, now_ns);
		else if (signal.ssi_signo != SIGCHLD)
			end_all(agent, now_ns);
	}
}

/* ---- the agent ------------------------------------------------------------------------------- */

static bool has_children(const struct agent *agent)
{
	for (int i = 0; i < SERVICES; i++)
		if (agent->children[i].pid)
			return true;
	return false;
}

static int wait_ms(const struct agent *agent, uint64_t now_ns)
{
	uint64_t until_ns = agent->next_second_ns;

	for (int i = 0; i < SERVICES; i++)
		if (!agent->children[i].pid && agent->children[i].next_start_ns < until_ns &&
		    is_wanted(agent, (enum agent_service)i))
			until_ns = agent->children[i].next_start_ns;
	if (!agent->is_announced && now_ns + SECOND_NS / 10 < until_ns)
		until_ns = now_ns + SECOND_NS / 10;
	return until_ns > now_ns ? (int)((until_ns - now_ns) / 1000000) + 1 : 0;
}

/* A recorder that fails before its first tick would fail again: the configuration or the machine is
 * at fault. */
static bool has_failed_to_start(const struct agent *agent)
{
	return !agent->is_announced && !agent->ends && !has_children(agent) &&
	       agent->status->recorder_restarts;
}

static int run_loop(struct agent *agent)
{
	struct pollfd polled = {.fd = agent->signal_fd, .events = POLLIN};
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), seen = 0;

	while (!agent->ends || has_children(agent)) {
		start_due(agent, now_ns);
		poll(&polled, 1, wait_ms(agent, now_ns));
		now_ns = clock_ns(CLOCK_MONOTONIC);
		read_signals(agent, now_ns);
		announce(agent);
		reap_children(agent, now_ns);
		report_recorder_errors(agent, &seen);
		if (has_failed_to_start(agent))
			return error_set(-ECHILD, "the recorder could not start; the reason is "
						  "above");
		if (now_ns >= agent->next_second_ns)
			do_each_second(agent, now_ns);
	}
	return 0;
}

static int open_signals(struct agent *agent)
{
	static const int numbers[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGCHLD};
	sigset_t signals;

	sigemptyset(&signals);
	for (size_t i = 0; i < ARRAY_COUNT(numbers); i++)
		sigaddset(&signals, numbers[i]);
	sigprocmask(SIG_BLOCK, &signals, &agent->mask);
	agent->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return agent->signal_fd < 0 ? error_set(-errno, "signalfd: %s", strerror(errno)) : 0;
}

static void say_waiting(void *context, int pid)
{
	char text[AGENT_ERROR_TEXT];

	snprintf(text, sizeof(text), "waiting for the agent with pid %d to end", pid);
	say(context, text);
}

static int open_status(struct agent *agent)
{
	const struct agent_status_wait wait = {say_waiting, agent};
	int error;

	snprintf(agent->runtime, sizeof(agent->runtime), "%s", agent->setup->settings.runtime);
	error = agent_status_create(agent->runtime, &wait, &agent->status, &agent->status_fd);
	if (error)
		return error;
	agent->seen = mmap(NULL, sizeof(*agent->seen), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (agent->seen == MAP_FAILED) {
		agent->seen = NULL;
		return error_no_memory();
	}
	agent->status->pid = getpid();
	agent->status->start_boot_ns = agent->status->now_boot_ns = (uint64_t)spool_now_ns();
	snprintf(agent->status->duet_version, sizeof(agent->status->duet_version), "%s",
		 agent->options->version);
	snprintf(agent->status->config, sizeof(agent->status->config), "%s",
		 agent->options->config);
	show_setup(agent);
	return 0;
}

int agent_run(const struct agent_options *options)
{
	const char *file_end = getenv(FILE_END_NAME);
	struct agent agent = {.options = options,
			      .signal_fd = -1,
			      .status_fd = -1,
			      .max_file_end =
				      file_end ? strtoull(file_end, NULL, 10) : MAX_FILE_END};
	int error = options->load(options->context, &agent.setup);

	if (error)
		return error;
	agent.children[SERVICE_RECORDER] =
		(struct agent_child){.name = "recorder", .run = run_recorder, .context = &agent};
	agent.children[SERVICE_METRICS] =
		(struct agent_child){.name = "metrics", .run = run_metrics, .context = &agent};
	error = open_status(&agent);
	if (!error)
		error = open_signals(&agent);
	if (!error)
		error = run_loop(&agent);
	agent_status_remove(agent.runtime, agent.status, agent.status_fd);
	if (agent.seen)
		munmap(agent.seen, sizeof(*agent.seen));
	if (agent.signal_fd >= 0) {
		close(agent.signal_fd);
		sigprocmask(SIG_SETMASK, &agent.mask, NULL);
	}
	options->unload(options->context, agent.setup);
	return error;
}
