/* SPDX-License-Identifier: MIT
 *
 * collect/session/guests.c - attaches guests, reads their rings and removes them
 *
 * Runs in:  the recorder; one thread
 * Gets:     hellos (the first messages of guests), rings
 * Gives:    rows, through collect/guest/injected.h; notes about refusals
 * Owns:     nothing; attached processes belong to the session
 * Fails:    never; a guest that is refused gets an answer, and the reason is noted
 * Why:      A guest waits 250 ms for its answer. Long work is therefore done in parts of 5 to 10
 *           ms, and hellos and signals are handled between two parts.
 */
#include "collect/session/private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/host_clocks.h"
#include "collect/proc.h"
#include "collect/processes.h"

struct greeting {
	struct session *session;
	const struct attach_hello *hello;
};

/* Returns the options of a guest's region; numbers: the guest's own options. */
static uint32_t ring_options(const struct session_options *options,
			     const struct collector *collector, uint32_t numbers[RING_NUMBERS])
{
	const struct collector_choice *choice = collector_options(options, collector->name);
	const uint32_t own = collector->way->options ? collector->way->options(options, numbers)
						     : choice->words & RING_OPTIONS_OF_GUEST;

	return RING_OPTION_CODE | (options->native_stacks ? RING_OPTION_NATIVE : 0) |
	       (options->python_stacks ? RING_OPTION_PYTHON : 0) | own;
}

/* False: the user has reached a limit, and a note says which. */
static bool has_share(struct session *session, uid_t uid)
{
	enum user_quota_state state = user_quotas_state(&session->shares, uid);
	char text[160];

	if (state == SHARE_LEFT && user_quotas_hello(&session->shares, uid))
		return true;
	if (state == SHARE_LEFT) {
		snprintf(text, sizeof(text),
			 "some programs of user %u are not recorded: more than %d connected in a "
			 "second",
			 (unsigned)uid, SHARE_HELLOS);
		session_refuse(session, REFUSED_HELLOS, text);
		return false;
	}
	if (state == SHARE_PROCESSES_SPENT)
		snprintf(text, sizeof(text),
			 "some programs of user %u are not recorded: the limit of %d processes at "
			 "a time is reached",
			 (unsigned)uid, SHARE_PROCESSES);
	else
		snprintf(text, sizeof(text),
			 "some programs of user %u are not recorded: the recorder's memory for "
			 "this user has reached its limit of %d MiB",
			 (unsigned)uid, SHARE_BYTES >> 20);
	session_refuse(session, state == SHARE_PROCESSES_SPENT ? REFUSED_PROCESSES : REFUSED_BYTES,
		       text);
	return false;
}

/* Charges the time for reading a process's files to its user. */
static void charge_looks(struct session *session, struct injected *injected)
{
	user_quotas_put_looks(&session->shares, injected->process->row.uid, &injected->looks);
}

static bool is_recorded(const struct session *session, pid_t pid)
{
	for (size_t i = 0; i < session->guests.count; i++) {
		const struct attached *attached = &session->guests.all[i];

		if (attached->injected->pid == pid && !attached->dead && !attached->is_leaving)
			return true;
	}
	return false;
}

static bool does_want(const struct session *session, pid_t pid, uid_t uid, bool is_recorded)
{
	const struct session_options *options = session->options;

	return !options->wants_process ||
	       options->wants_process(options->process_context, pid, uid, is_recorded);
}

static bool is_wanted(const struct session *session, pid_t pid, uid_t uid)
{
	return does_want(session, pid, uid, is_recorded(session, pid));
}

/* Whether the calls of a process were taken over from another recorder until now. */
static bool is_fed(const struct session *session, pid_t pid)
{
	const struct process *process = processes_find(session->recording.processes, (uint32_t)pid);

	return process && process->is_fed;
}

bool session_wants_fed(const struct session *session, const struct event_process *row)
{
	const struct process *process = processes_find(session->recording.processes, row->pid);

	return does_want(session, (pid_t)row->pid, row->uid,
			 process && process->is_fed && !process->has_ended);
}

/* Lets the caller of the session complete the process's row. */
static void complete_row(const struct session *session, struct injected *injected, bool is_new)
{
	const struct session_options *options = session->options;

	if (!options->describe_process)
		return;
	options->describe_process(options->process_context, session->writer,
				  &injected->process->row, is_new);
	trace_writer_entity(session->writer, EVENT_PROCESS, &injected->process->row);
}

static void relate_processes(struct session *session, struct injected *added)
{
	for (size_t i = 0; i < session->guests.count; i++)
		injected_relate(session->guests.all[i].injected, added);
}

/* Answers the guest; its program stands still until then. Before the answer, /proc shows the image
 * that says hello. Reading the collectors' events can take 10 ms, so it is done after the answer.
 * It stops at until_ns, because an exec after the answer starts an image that has not said hello.
 */
static void greet_guest(void *context, const struct injected *injected, int region_fd)
{
	const struct greeting *greeting = context;
	const uint64_t until_ns = host_clocks_now_ns();

	collectors_look(greeting->session->states);
	attach_answer(greeting->hello->fd, injected->region.ring_count, injected->region.ring_bytes,
		      region_fd);
	collectors_catch_up(greeting->session->states, until_ns);
}

/* Several guests of a kind, which a suffix distinguishes, count as one. */
static uint32_t guest_key(const char *name)
{
	uint32_t hash = 2166136261u;

	while (*name && *name != ':')
		hash = (hash ^ (uint8_t)*name++) * 16777619u;
	return hash;
}

static void share_guest(struct session *session, const struct attached *attached)
{
	feed_server_own(&session->feed_server, &attached->owned);
	feeds_own(&session->feeds, &attached->owned);
}

static void begin_sharing(struct session *session, struct attached *attached)
{
	const struct event_process *process = &attached->injected->process->row;

	attached->owned = (struct feed_owned){.process = process->id,
					      .guest = guest_key(attached->injected->guest),
					      .pid = process->pid,
					      .uid = process->uid};
	share_guest(session, attached);
}

/* The guest's clock is that of the recorder, but it can write any time. */
static void take_begin(struct attached *attached)
{
	const uint64_t begun_ns = injected_begun_ns(attached->injected);
	const uint64_t now_ns = host_clocks_now_ns();

	if (begun_ns && !attached->owned.begin_ns)
		attached->owned.begin_ns = begun_ns < now_ns ? begun_ns : now_ns;
}

void session_share_guests(struct session *session)
{
	for (size_t i = 0; i < session->guests.count; i++) {
		struct attached *attached = &session->guests.all[i];

		if (attached->owned.begin_ns)
			continue;
		take_begin(attached);
		if (attached->owned.begin_ns)
			share_guest(session, attached);
	}
}

/* Its rings are read. */
static void end_sharing(struct session *session, struct attached *attached)
{
	struct feed_owned *owned = &attached->owned;

	owned->done_ns = host_clocks_now_ns();
	owned->end_ns = attached->stopped_ns ? attached->stopped_ns : owned->done_ns;
	owned->is_over = attached->dead;
	share_guest(session, attached);
}

/* Creates the rings and sends them. sibling: another guest of the same process; NULL: this is the
 * first. Errors: -errno. */
static int welcome_guest(struct session *session, const struct attach_hello *hello,
			 struct injected *sibling)
{
	const size_t index = session_find_collector(hello);
	const struct guest_way *way = collectors[index]->way;
	struct greeting greeting = {session, hello};
	struct injected_peer peer = {
		.kind = {.collector = collectors[index]->name,
			 .explain = way->explain,
			 .facts = way->facts,
			 .untimed = way->untimed},
		.ring_bytes = way->ring_bytes,
		.guest = hello->hello.guest,
		.sibling = sibling,
		.pid = hello->pid,
		.ns_pid = hello->hello.pid,
		.uid = hello->uid,
		.pid_fd = hello->pid_fd,
		.looks = user_quotas_looks(&session->shares, hello->uid),
		.memory = user_quotas_memory(&session->shares,
					     sibling ? sibling->process->row.uid : hello->uid),
		.on_region = greet_guest,
		.context = &greeting,
	};
	struct attached *attached;
	int region_fd = -1, error;
	bool was_fed;

	if (array_grow(session->guests.all, session->guests.capacity, session->guests.count + 1) <
	    0) {
		if (hello->pid_fd >= 0)
			close(hello->pid_fd);
		return error_set(-ENOMEM, "process %d: out of memory", (int)hello->pid);
	}
	was_fed = is_fed(session, hello->pid);
	attached = &session->guests.all[session->guests.count];
	*attached = (struct attached){.connection = hello->fd};
	peer.options = ring_options(session->options, collectors[index], peer.numbers);
	error = injected_open(&session->recording, &peer, &attached->injected, &region_fd);
	if (error)
		return error;
	if (!sibling)
		complete_row(session, attached->injected, true);
	if (!sibling && !was_fed)
		session_note_joined(session, attached->injected);
	if (!sibling) {
		relate_processes(session, attached->injected);
		session->result->processes += !was_fed;
	}
	begin_sharing(session, attached);
	session_begin_limit(session, attached);
	session->guests.count++;
	processes_pause(session->recording.processes, (uint32_t)hello->pid, false);
	session_attach_guest(session, hello->pid, hello->pid_fd);
	session->has_greeted[index] = true;
	session->child.has_guest |= hello->pid == session->child.begun_pid;
	session->times.young_until_ns = host_clocks_now_ns() + SECOND_NS;
	user_quotas_begin(&session->shares, hello->uid);
	charge_looks(session, attached->injected);
	close(region_fd);
	return 0;
}

static void turn_guest_down(const struct attach_hello *hello)
{
	attach_answer(hello->fd, 0, 0, -1);
	close(hello->fd);
}

/* Gives a guest that came back a new region; its process stays the same. A guest looks for a
 * recorder again after 10 s without a heartbeat. A guest of libduet may leave and come back. */
static int welcome_guest_again(struct session *session, struct attached *attached,
			       const struct attach_hello *hello)
{
	struct injected *injected = attached->injected;
	const bool has_gap = !injected_has_left(injected);
	int region_fd = -1, error;

	/* The new region counts from 0 and records everything. */
	session_end_limit(session, attached);
	injected->looks = user_quotas_looks(&session->shares, injected->process->row.uid);
	error = injected_renew(injected, PROCESS_NS, &region_fd);
	charge_looks(session, injected);
	if (error) {
		attached->dead = true;
		return error;
	}
	session_begin_limit(session, attached);
	if (has_gap && !injected->notes.id)
		session_note_gap(session, injected);
	if (attached->connection >= 0)
		close(attached->connection);
	attached->connection = hello->fd;
	if (hello->pid_fd >= 0)
		close(hello->pid_fd);
	attach_answer(hello->fd, injected->region.ring_count, injected->region.ring_bytes,
		      region_fd);
	close(region_fd);
	return 0;
}

bool attached_is_alive(const struct attached *attached)
{
	return proc_is_alive(attached->injected->pid_fd, (uint32_t)attached->injected->pid);
}

/* Handles a further hello of an attached process. Either it is from another guest, or from the same
 * guest that attaches again, or the process called exec and the old image is over. True: the same
 * guest attached again and was answered. False: *ret_sibling is another guest of the process, or
 * NULL. */
static bool take_again(struct session *session, const struct attach_hello *hello, bool is_welcome,
		       struct injected **ret_sibling)
{
	*ret_sibling = NULL;
	for (size_t i = 0; i < session->guests.count; i++) {
		struct attached *attached = &session->guests.all[i];
		bool is_same = strcmp(attached->injected->guest, hello->hello.guest) == 0;

		if (attached->injected->pid != hello->pid || attached->dead || attached->is_leaving)
			continue;
		/* If this second has no time for a look into the mappings: an exec is assumed if
		 * the same guest says hello again without having left, and not otherwise. */
		if (attached_is_alive(attached) &&
		    injected_is_same_image(attached->injected,
					   !is_same || injected_has_left(attached->injected))) {
			if (is_same && is_welcome &&
			    welcome_guest_again(session, attached, hello) == 0)
				return true;
			if (!is_same) {
				*ret_sibling = attached->injected;
				continue;
			}
		}
		error_clear();
		attached->dead = true;
	}
	return false;
}

/* A process whose parent has ended is a child of init. The collectors that follow forks know that
 * it descends from the program. */
static bool is_followed(struct session *session, pid_t pid)
{
	const struct process *process;

	collectors_catch_up(session->states, host_clocks_now_ns());
	collectors_look(session->states);
	process = processes_find(session->recording.processes, (uint32_t)pid);
	return process && !process->has_ended;
}

static bool is_meant(struct session *session, const struct attach_hello *hello)
{
	const size_t index = session_find_collector(hello);

	return index < collectors_count &&
	       collector_is_chosen(collectors[index], session->options) &&
	       (running_has(&session->running, hello->pid) || is_followed(session, hello->pid)) &&
	       is_wanted(session, hello->pid, hello->uid);
}

static void add_guest(struct session *session, const struct attach_hello *hello)
{
	bool is_welcome = is_meant(session, hello) && has_share(session, hello->uid);
	struct injected *sibling;
	int error;

	if (take_again(session, hello, is_welcome, &sibling))
		return;
	if (!is_welcome) {
		if (hello->pid_fd >= 0)
			close(hello->pid_fd);
		turn_guest_down(hello);
		return;
	}
	error = welcome_guest(session, hello, sibling);
	if (!error)
		return;
	if (error == -EMFILE || error == -ENFILE) {
		session_refuse_for_descriptors(session);
		attach_rest(&session->attach);
	} else if (error == -ESRCH) {
		session_refuse_late(session);
	} else {
		session_refuse(session, REFUSED_OTHER, error_text());
	}
	error_clear();
	turn_guest_down(hello);
}

void session_read_farewell(struct session *session, struct attached *attached)
{
	struct session_attached farewell;
	ssize_t got = recv(attached->connection, &farewell, sizeof(farewell), MSG_DONTWAIT);
	char text[256];

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	close(attached->connection);
	attached->connection = -1;
	if (got != (ssize_t)sizeof(farewell) || farewell.magic != SESSION_MAGIC)
		return;
	if (farewell.ring_count >= attached->injected->region.ring_count)
		return;
	if (farewell.error == EOPNOTSUPP) {
		snprintf(text, sizeof(text),
			 "process %u was not recorded because it forbids itself to read the TSC "
			 "(prctl PR_SET_TSC)",
			 attached->injected->process->row.pid);
		recording_note(&session->recording, attached->injected->kind.collector,
			       COLLECTOR_REFUSED, attached->injected->process->row.id, text);
		return;
	}
	snprintf(text, sizeof(text),
		 "process %u could map %u of %u rings (%s): raise its limit on address "
		 "space (ulimit -v)",
		 attached->injected->process->row.pid, farewell.ring_count,
		 attached->injected->region.ring_count,
		 farewell.error > 0 && farewell.error < 200 ? strerror(farewell.error)
							    : "no reason given");
	recording_note(&session->recording, attached->injected->kind.collector,
		       farewell.ring_count ? COLLECTOR_PARTIAL : COLLECTOR_REFUSED,
		       attached->injected->process->row.id, text);
}

void session_end_guest(struct session *session, struct attached *attached)
{
	uid_t uid = attached->injected->process->row.uid;
	struct lookup_budget looks;

	session_end_limit(session, attached);
	take_begin(attached);
	/* The end may be seen before SIGCHLD. The status must be read first, because it goes with
	 * the last row. */
	if (attached->dead && attached->injected->pid == session->child.pid)
		session_reap_program(session);
	attached->injected->process->row.ended = attached->dead;
	if (attached->connection >= 0)
		close(attached->connection);
	charge_looks(session, attached->injected);
	if (attached->injected->process->references == 1)
		complete_row(session, attached->injected, false);
	user_quotas_end(&session->shares, uid);
	attached->injected->looks = user_quotas_looks(&session->shares, uid);
	looks = injected_close(attached->injected);
	user_quotas_put_looks(&session->shares, uid, &looks);
	/* its last rows are written */
	end_sharing(session, attached);
}

size_t session_drain_guest(struct session *session, struct attached *attached)
{
	struct injected *injected = attached->injected;
	uint64_t left_ns = user_quotas_time_left(&session->shares, injected->process->row.uid);
	uint64_t begin_ns = host_clocks_now_ns();
	size_t taken = 0;

	if (left_ns) {
		injected->looks = user_quotas_looks(&session->shares, injected->process->row.uid);
		taken = injected_drain(injected, left_ns < PROCESS_NS ? left_ns : PROCESS_NS);
		charge_looks(session, injected);
		user_quotas_spend(&session->shares, injected->process->row.uid,
				  host_clocks_now_ns() - begin_ns);
	} else {
		injected_beat(injected);
		injected->round.has_more = true;
	}
	session->guests.has_more |= injected->round.has_more;
	return taken;
}

bool session_take_hellos(struct session *session)
{
	struct attach_hello hello;
	int count = 0;

	for (; count < HELLOS_A_LOOK && attach_next(&session->attach, &hello); count++)
		add_guest(session, &hello);
	session_note_turned_away(session);
	return count < HELLOS_A_LOOK;
}

/* Handles signals and hellos during a long round. New guests are read in the next round. */
static void look_around(struct session *session, uint64_t now_ns)
{
	wake_forget(&session->polled.wake);
	if (session_read_signals(session, &session->result->signal) ||
	    session_is_over(session, now_ns))
		session->ending = true;
	else
		session_take_hellos(session);
}

size_t session_drain_guests(struct session *session)
{
	uint64_t look_ns = host_clocks_now_ns() + LOOK_NS, now_ns;
	size_t most = 0, count = session->guests.count;

	user_quotas_begin_round(&session->shares);
	session->guests.has_more = false;
	session->guests.first++; /* so that a lack of time does not always hit the last ones */
	for (size_t i = 0; i < count && !session->ending; i++) {
		size_t taken = session_drain_guest(
			session, &session->guests.all[(session->guests.first + i) % count]);

		most = taken > most ? taken : most;
		now_ns = host_clocks_now_ns();
		if (now_ns < look_ns)
			continue;
		look_around(session, now_ns);
		look_ns = host_clocks_now_ns() + LOOK_NS;
	}
	return most;
}

/* Whether the rings of a process that has ended are read. They are read in rounds, like those of
 * all others. */
static bool is_read(struct session *session, struct attached *attached, uint64_t now_ns)
{
	struct injected *injected = attached->injected;

	if (!injected->region.shared)
		return true;
	if (!injected->round.is_frozen) {
		injected_freeze(injected);
		attached->dead_ns = now_ns;
		session_drain_guest(session, attached);
	}
	return !injected->round.has_more ||
	       (user_quotas_is_limited(&session->shares, injected->process->row.uid) &&
		now_ns - attached->dead_ns > LAST_NS);
}

void session_retire_unwanted(struct session *session, uint64_t now_ns)
{
	for (size_t i = 0; i < session->guests.count && session->options->wants_process; i++) {
		struct attached *attached = &session->guests.all[i];

		if (attached->dead || attached->is_leaving ||
		    is_wanted(session, attached->injected->pid,
			      attached->injected->process->row.uid))
			continue;
		attached->is_leaving = true;
		attached->leaving_ns = now_ns;
		processes_pause(session->recording.processes, (uint32_t)attached->injected->pid,
				true);
		attached->is_asked = injected_ask_last(attached->injected);
	}
}

void session_stop_guest(struct attached *attached)
{
	if (!attached->injected->region.shared)
		return;
	attached->stopped_ns = host_clocks_now_ns();
	injected_stop(attached->injected);
}

/* Whether a guest that leaves has handed over what its runtime holds back, or had the time for it.
 * Its rings are disabled then. */
static bool has_left(struct attached *attached, uint64_t now_ns)
{
	if (!attached->is_leaving)
		return false;
	if (attached->is_stopped)
		return true;
	if (attached->is_asked && !injected_has_given_last(attached->injected) &&
	    now_ns - attached->leaving_ns < ANSWER_NS)
		return false;
	session_stop_guest(attached);
	attached->is_stopped = true;
	return true;
}

void session_remove_dead(struct session *session, uint64_t now_ns)
{
	size_t left = 0;

	for (size_t i = 0; i < session->guests.count; i++) {
		struct attached *attached = &session->guests.all[i];

		/* JIT code is named when a process ends. If many end together, the rest wait for
		 * the next rounds. */
		if ((attached->dead || has_left(attached, now_ns)) &&
		    host_clocks_now_ns() - now_ns < LOOK_NS && is_read(session, attached, now_ns))
			session_end_guest(session, attached);
		else
			session->guests.all[left++] = *attached;
	}
	session->guests.count = left;
}
