/* SPDX-License-Identifier: MIT
 *
 * collect/session/session.c - a session: its start, its loop and its end
 *
 * Runs in:  the recorder; one thread
 * Gets:     options
 * Gives:    a trace file and the program's status
 * Owns:     the writer, the sockets, every attached process, a signalfd
 * Fails:    before the program starts with -errno; afterwards the program always runs on to its own
 *           end
 * Why:      The recorder polls the rings, every 1 to 10 ms while guests are attached. If the guests
 *           woke the recorder instead, each wake-up would cost the program a system call.
 */
#include "collect/session/private.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/format.h"
#include "base/thread.h"
#include "collect/device_choice.h"
#include "collect/host_clocks.h"
#include "collect/processes.h"
#include "collect/start/owner.h"

static size_t fill_entries(struct session *session)
{
	size_t most = 3 + ATTACH_LISTENERS + ATTACH_PENDING + MAX_COLLECTORS +
		      session->running.count + 2 * session->guests.count,
	       count = 0;

	if (array_grow(session->polled.entries, session->polled.entries_capacity, most) < 0)
		return 0;
	session->polled.entries[count++] =
		(struct pollfd){.fd = session->signal_fd, .events = POLLIN};
	session->polled.attach_entries =
		attach_poll(&session->attach, session->polled.entries + count);
	count += session->polled.attach_entries;
	count += running_poll(&session->running, session->polled.entries + count);
	if (session->options->owner_fd)
		session->polled.entries[count++] =
			(struct pollfd){.fd = session->options->owner_fd, .events = POLLIN};
	if (session->options->viewer_fd)
		session->polled.entries[count++] =
			(struct pollfd){.fd = session->options->viewer_fd, .events = POLLIN};
	session->polled.first_collector = count;
	session->polled.collector_entries =
		session_poll_collectors(session, session->polled.entries + count);
	count += session->polled.collector_entries;
	for (size_t i = 0; i < session->guests.count; i++) {
		session->polled.entries[count++] = (struct pollfd){
			.fd = session->guests.all[i].injected->pid_fd, .events = POLLIN};
		session->polled.entries[count++] =
			(struct pollfd){.fd = session->guests.all[i].connection, .events = POLLIN};
	}
	return count;
}

static uint64_t wait_ns(const struct session *session, uint64_t now_ns)
{
	uint64_t until = session->times.next_second_ns;
	uint64_t end_ns = session->times.begin_ns + session->options->duration_ns;
	uint64_t drain_ns = session_next_drain_ns(session, now_ns);

	if (session->times.next_look_ns < until)
		until = session->times.next_look_ns;
	if (session->options->duration_ns && end_ns < until)
		until = end_ns;
	if (session->guests.count && now_ns + session->times.interval_ns < until)
		until = now_ns + session->times.interval_ns;
	if (drain_ns < until)
		until = drain_ns;
	if (session->times.limits_ns < until)
		until = session->times.limits_ns;
	return until > now_ns ? until - now_ns : 0;
}

static void look_at_guests(struct session *session, size_t count)
{
	size_t first = count - 2 * session->guests.count;

	for (size_t i = 0; i < session->guests.count; i++) {
		struct attached *attached = &session->guests.all[i];

		if (session->polled.entries[first + 2 * i].revents)
			attached->dead = true;
		if (attached->connection >= 0 && session->polled.entries[first + 2 * i + 1].revents)
			session_read_farewell(session, attached);
	}
}

/* Sets the next interval so that the busiest ring is about an eighth full at the rate of this
 * round. */
static void adapt_interval(struct session *session, size_t most)
{
	const uint64_t longest_ns =
		host_clocks_now_ns() < session->times.young_until_ns ? POLL_YOUNG_NS : POLL_MAX_NS;
	uint64_t wanted = longest_ns;
	/* An interval of 0 cannot be scaled. Then the time of a round is assumed, so that the
	 * interval can grow again. */
	uint64_t interval_ns =
		session->times.interval_ns ? session->times.interval_ns : POLL_LEAST_NS / 4;

	if (most)
		wanted = interval_ns * (session->guests.all[0].injected->region.ring_bytes / 8) /
			 most;
	if (wanted < POLL_LEAST_NS / 4)
		wanted = 0;
	if (session->guests.has_more)
		wanted = 0;
	session->times.interval_ns = wanted > longest_ns ? longest_ns : wanted;
	if (wanted && wanted < POLL_LEAST_NS)
		session->times.interval_ns = POLL_LEAST_NS;
}

/* Time in which processes of -p are looked at each second. */
#define LOOKS_NS UINT64_C(10000000000)

static void do_each_second(struct session *session, uint64_t now_ns)
{
	for (size_t i = 0; i < session->guests.count; i++) {
		struct attached *attached = &session->guests.all[i];

		if (attached->injected->region.shared)
			injected_count_losses(attached->injected, now_ns);
		if (attached->injected->pid_fd < 0 && !attached_is_alive(attached))
			attached->dead = true;
	}
	session_retire_unwanted(session, now_ns);
	session_second_collectors(session, now_ns);
	processes_forget(session->recording.processes, now_ns);
	attach_resume(&session->attach);
	attach_move_up(&session->attach);
	/* later the reason hardly changes, and reading the mappings takes up to milliseconds */
	if (now_ns < session->times.begin_ns + LOOKS_NS ||
	    (now_ns - session->times.begin_ns) / SECOND_NS % 10 == 0)
		session_look_at_running(session);
	wake_forget(&session->polled
			     .wake); /* descriptors may have been added or removed without notice */
	user_quotas_begin_second(&session->shares);
	recording_begin_second(&session->recording);
	host_clocks_read(session->writer, session->recording.tsc, &session->recording.last_tsc);
	session->times.next_second_ns = now_ns + SECOND_NS;
}

/* Empties the output file, now that the program runs. It is delayed until the first guest has its
 * answer or 100 ms have passed, because emptying a large file may take longer than a guest
 * waits. */
static void begin_output(struct session *session)
{
	session->output_begun = true;
	if (trace_writer_begin(session->writer) < 0)
		error_clear(); /* the next write tries again, and the result reports it */
}

static bool is_any_ready(const struct session *session, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++)
		if (session->polled.entries[i].revents)
			return true;
	return false;
}

/* A collector wakes the recorder some hundred times a second for Python samples, or to look ahead.
 * Rings are read at their own interval. */
static bool is_for_collectors(const struct session *session, enum wake_reason reason)
{
	return reason != WAKE_OTHERS && host_clocks_now_ns() < session->times.next_round_ns;
}

/* Polls all descriptors again, because they were added and removed meanwhile. Returns the number of
 * entries. */
static size_t look_who(struct session *session)
{
	size_t count = fill_entries(session);

	if (poll(session->polled.entries, count, 0) < 0)
		for (size_t i = 0; i < count; i++)
			session->polled.entries[i].revents = 0;
	wake_forget(&session->polled.wake);
	return count;
}

/* accept() without a caller costs the kernel a new socket each time, so only ready sockets are
 * asked. */
static void take_waiting_hellos(struct session *session)
{
	if (session->attach.pending_count ||
	    is_any_ready(session, 1, session->polled.attach_entries))
		session_take_hellos(session);
}

/* A viewer writes nothing, so the pipe is only ready once the viewer has ended. */
static bool has_lost_viewer(const struct session_options *options)
{
	struct pollfd viewer = {.fd = options->viewer_fd, .events = POLLIN};

	return options->viewer_fd && poll(&viewer, 1, 0) > 0;
}

static void answer_waiting(struct session *session)
{
	const int owner_fd = session->options->owner_fd;
	size_t count = look_who(session);

	if (session_read_signals(session, &session->result->signal) ||
	    (owner_fd && owner_has_left(owner_fd)) || has_lost_viewer(session->options))
		session->ending = true;
	if (count)
		look_at_guests(session, count);
	take_waiting_hellos(session);
}

/* Answers hellos before the collectors are read, because a program stands still until it is
 * answered and reading can take 10 ms. Ends of processes are handled after the collectors, which
 * take their last readings while /proc still shows the process. */
static void answer_hellos(struct session *session)
{
	look_who(session);
	take_waiting_hellos(session);
}

static enum wake_reason wait_for_work(struct session *session)
{
	uint64_t until_ns;

	if (!session->polled.wake.is_open) {
		size_t count = fill_entries(session);

		wake_register(&session->polled.wake, session->polled.entries, count,
			      session->polled.first_collector, session->polled.collector_entries);
	}
	until_ns = wait_ns(session, host_clocks_now_ns());
	return wake_wait(&session->polled.wake,
			 session->times.ahead_ns < until_ns ? session->times.ahead_ns : until_ns);
}

/* Looks for a reason why the program loads no guest: 0.1, 0.2, 0.4 and 0.8 s after the start. At
 * the end /proc no longer shows the program's mappings. */
static void look_at_libraries(struct session *session, uint64_t now_ns)
{
	if (now_ns < session->times.next_look_ns)
		return;
	session->times.next_look_ns = now_ns + (now_ns - session->times.begin_ns);
	if (session->child.pid && !session->result->processes)
		session->child.obstacle = collectors[0]->way->find_obstacle(session->child.pid);
	if (session->child.obstacle || session->result->processes ||
	    now_ns >= session->times.begin_ns + SECOND_NS)
		session->times.next_look_ns = UINT64_MAX;
}

/* Writes all rows 0.1, 0.2, 0.4 and 0.8 s after the start, so that a recording that is killed early
 * keeps at least half of its time. Later only rows of the age that the user allows are written,
 * which is cheaper. */
static void flush_writer(struct session *session, uint64_t now_ns)
{
	const struct session_options *options = session->options;

	if (now_ns < session->times.next_flush_ns)
		return;
	session->times.next_flush_ns = now_ns + FLUSH_NS;
	if (session->output_begun) {
		session_share_guests(session);
		feed_server_step(&session->feed_server, session->writer, now_ns);
		feeds_step(&session->feeds, now_ns);
	}
	if (options->on_tick && options->on_tick(options->tick_context, session->writer, now_ns))
		session->ending = true;
	if (now_ns < session->times.next_early_flush_ns ||
	    now_ns >= session->times.begin_ns + SECOND_NS) {
		trace_writer_flush(session->writer, now_ns);
		return;
	}
	trace_writer_flush_all(session->writer, now_ns);
	session->times.next_early_flush_ns = now_ns + (now_ns - session->times.begin_ns);
}

static void run_round(struct session *session)
{
	enum wake_reason reason = wait_for_work(session);
	uint64_t now_ns;
	size_t most;

	session->times.ahead_ns = session_look_ahead(session);
	if (reason == WAKE_TIME && is_for_collectors(session, reason))
		return;
	if (reason == WAKE_OTHERS)
		answer_hellos(session);
	session_drain_collectors(session);
	if (is_for_collectors(session, reason))
		return;
	if (reason == WAKE_OTHERS)
		answer_waiting(session);
	session_note_turned_away(session);
	session_step_limits(session, host_clocks_now_ns());
	most = session_drain_guests(session);
	if (session->recording.submissions.settle)
		session->recording.submissions.settle(session->recording.submissions.context);
	if (session->guests.count)
		adapt_interval(session, most);
	enterings_look(&session->enterings, &session->recording, session->options);
	now_ns = host_clocks_now_ns();
	session_remove_dead(session, now_ns);
	if (now_ns >= session->times.next_second_ns)
		do_each_second(session, now_ns);
	if (!session->output_begun &&
	    (session->guests.count || now_ns >= session->times.begin_ns + FLUSH_NS))
		begin_output(session);
	flush_writer(session, now_ns);
	look_at_libraries(session, now_ns);
	if (session_is_over(session, now_ns) || running_have_ended(&session->running))
		session->ending = true;
	session->times.next_round_ns = now_ns + wait_ns(session, now_ns);
}

/* With -p, guests look for a machine-wide recorder. If another recording has that name, this one
 * goes on without guests in the processes of -p. */
static int listen_for_guests(struct session *session, uid_t owner, gid_t group)
{
	const struct session_options *options = session->options;
	bool by_pid = options->pids_count && session_has_guests(options);
	int error = attach_open(&session->attach, options->any || by_pid, owner, group);

	if (error != -EADDRINUSE || !by_pid ||
	    !(options->owner_fd || session_has_other_collectors(options)))
		return error;
	session_note(session, COLLECTOR_REFUSED, error_text());
	error_clear();
	attach_close(&session->attach);
	return attach_open(&session->attach, false, owner, group);
}

/* Loads guests into the processes of -p. They say hello while we wait. */
static void enter_running(struct session *session)
{
	char seccomp[32];

	enterings_begin(&session->enterings, &session->recording, session->options,
			&session->running, session->attach.addresses,
			session_seccomp_value(seccomp, sizeof(seccomp)));
}

/* Whether rows of a process are taken over from the recorder to which its guest is attached. */
static bool wants_process(void *context, const struct event_process *process)
{
	const struct session *session = context;

	return (session->options->any || running_has(&session->running, (pid_t)process->pid)) &&
	       session_wants_fed(session, process);
}

/* Samples and switches are this recording's own. Processes of -p are sampled from the start. */
static void begin_fed(void *context, struct event_process *row)
{
	struct session *session = context;
	const struct session_options *options = session->options;

	session_attach_guest(session, (pid_t)row->pid, -1);
	if (options->describe_process)
		options->describe_process(options->process_context, session->writer, row, true);
}

static void complete_fed(void *context, struct event_process *row)
{
	const struct session *session = context;
	const struct session_options *options = session->options;

	if (options->describe_process)
		options->describe_process(options->process_context, session->writer, row, false);
}

/* The feeds need the recording's clocks and host. */
static void open_feeds(struct session *session)
{
	const struct session_options *options = session->options;
	const struct feeds_options feeds = {
		.wants = wants_process,
		.on_process = begin_fed,
		.complete = complete_fed,
		.uid = session->attach.opener,
		.context = session,
		.own_number = session->feed_server.listener < 0 ? 0 : session->feed_server.number};

	if (session_has_guests(options) && (options->any || options->pids_count))
		feeds_open(&session->feeds, &session->recording, &feeds);
}

static int open_session(struct session *session)
{
	const struct session_options *options = session->options;
	uid_t owner = options->user.set ? options->user.uid : geteuid();
	gid_t group = options->user.set ? options->user.gid : getegid();
	struct trace_writer_options output = options->writer;
	int error = session_open_signals(session);

	user_quotas_init(&session->shares, owner);
	/* An earlier recording is kept until the program has been started. */
	output.hold = output.only_traces = true;
	if (options->devices) {
		options->devices->recording = &session->recording;
		output.has_row = device_choice_has;
		output.context = options->devices;
	}
	if (!error)
		error = trace_writer_open(options->output, &output, &session->writer);
	if (!error)
		error = recording_init(&session->recording, session->writer);
	session->recording_open = error == 0;
	session->recording.command = options->command;
	session->recording.is_unverified = collectors_is_unverified;
	session->recording.on_warning = options->on_warning;
	session->recording.on_hint = options->on_hint;
	session->recording.warning_context = options->warning_context;
	session->recording.keeps_files = options->archive != NULL;
	if (!error)
		error = listen_for_guests(session, owner, group);
	if (!error)
		error = session_prepare_environment(session);
	if (error)
		return error;
	feed_server_open(&session->feed_server);
	session_open_collectors(session);
	session->times.begin_ns = host_clocks_now_ns();
	session_attach_running(session);
	attach_begin(&session->attach);
	session->times.next_second_ns = session->times.begin_ns + SECOND_NS;
	session->times.next_flush_ns = session->times.begin_ns + FLUSH_NS;
	session->times.next_look_ns =
		session_collects_first(session) ? session->times.begin_ns + FLUSH_NS : UINT64_MAX;
	session->times.interval_ns = POLL_LEAST_NS;
	session->times.ahead_ns = UINT64_MAX;
	session->times.limits_ns = UINT64_MAX;
	recording_describe_host(&session->recording, session->times.begin_ns, 0);
	host_clocks_read(session->writer, session->recording.tsc, &session->recording.first_tsc);
	session->recording.last_tsc = session->recording.first_tsc;
	open_feeds(session);
	enter_running(session);
	return 0;
}

/* Names a device of --device that no collector reported. */
static void warn_of_devices(const struct session *session)
{
	const struct session_options *options = session->options;
	const struct device_choice *choice = options->devices;
	const char *name;
	char text[512];
	size_t i = 0;

	while (options->on_warning && (name = device_choice_unmet(choice, &i))) {
		snprintf(text, sizeof(text),
			 "device '%s': nothing was recorded of it; no collector reported such a "
			 "device, and %zu %s left out. Without --device, duet report lists all",
			 name, choice->left,
			 choice->left == 1 ? "other one was" : "other ones were");
		options->on_warning(options->warning_context, text);
	}
}

/* Closes the writer last, because collectors write their last rows when they are closed. is_failed:
 * the program was never started, and the file keeps its old content. */
static void close_session(struct session *session, bool is_failed)
{
	const struct session_options *options = session->options;
	int signal;

	enterings_end(&session->enterings, &session->recording, session->options);
	session_close_collectors(session);
	if (session->recording_open && options->devices && !is_failed)
		warn_of_devices(session);
	if (session->recording_open)
		recording_fini(&session->recording);
	if (is_failed)
		trace_writer_abandon(session->writer);
	else
		session_close_writer(session);
	attach_close(&session->attach);
	feed_server_close(&session->feed_server);
	feeds_close(&session->feeds);
	environment_fini(&session->environment);
	if (session->signal_fd >= 0) {
		session_read_signals(session, &signal);
		close(session->signal_fd);
	}
	/* Drops signals that asked for the recording's end. */
	program_state_restore(&session->child.state);
	running_close(&session->running);
	free(session->guests.all);
	user_quotas_fini(&session->shares);
	free(session->polled.entries);
	wake_forget(&session->polled.wake);
}

/* On a terminal: a recording without a program ends only when the user ends it. */
static void hint_end(const struct session *session)
{
	const struct session_options *options = session->options;
	char what[64] = "all programs with duet's guest", until[64] = "", text[192];

	if (!options->pids_count && !options->any)
		return;
	if (options->pids_count)
		snprintf(what, sizeof(what), "%zu %s", options->pids_count,
			 format_noun(options->pids_count, "process", "processes"));
	if (options->duration_ns)
		snprintf(until, sizeof(until), " for %s",
			 format_duration(options->duration_ns).text);
	snprintf(text, sizeof(text), "recording %s%s; Ctrl-C ends the recording", what, until);
	recording_hint(&session->recording, text);
}

int session_run(const struct session_options *options, struct session_result *ret_result,
		int *ret_exec_error)
{
	struct session *session;
	int error = session_check(options);

	*ret_result = (struct session_result){0};
	*ret_exec_error = 0;
	if (error)
		return error;
	session = calloc(1, sizeof(*session));
	if (!session)
		return error_set(-ENOMEM, "out of memory");
	session->options = options;
	session->result = ret_result;
	session->signal_fd = -1;
	attach_init(&session->attach);
	session->feed_server.listener = -1;
	error = running_open(&session->running, options->pids, options->pids_count);
	if (error) {
		free(session);
		return error;
	}
	error = open_session(session);
	if (!error)
		error = session_start_program(session, ret_exec_error);
	if (!error && options->owner_fd)
		error = owner_send_ready(options->owner_fd, session->attach.addresses);
	if (!error) {
		hint_end(session);
		/* not before, because the program would inherit it */
		thread_shorten_slice();
		while (!session->ending)
			run_round(session);
		session_end_recording(session);
		session_close_writer(session);
		session_wait_for_program(session);
	}
	close_session(session, error != 0);
	free(session);
	return error;
}
