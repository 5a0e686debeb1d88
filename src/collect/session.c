/* SPDX-License-Identifier: MIT
 *
 * collect/session.c - start the program, gather what guests write, end well
 *
 * Runs in:  the recorder; one thread
 * Gets:     options   Gives: a trace file and the program's status
 * Owns:     the writer, the sockets, every attached process, a signalfd
 * Fails:    before the program starts with -errno; afterwards the program always runs on to its own end
 * Why:      the recorder polls the rings (every 1 to 5 ms while there is something) because waking it would
 *           cost the program a system call. Signals come through a descriptor, so that nothing is ever
 *           interrupted half-way.
 */
#include "collect/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/attach.h"
#include "collect/collector.h"
#include "collect/entering.h"
#include "collect/environment.h"
#include "collect/host_clocks.h"
#include "collect/injected.h"
#include "collect/owner.h"
#include "collect/proc.h"
#include "collect/processes.h"
#include "collect/running.h"
#include "collect/share.h"
#include "collect/unrecorded.h"
#include "collect/wake.h"

enum {
	POLL_LEAST_NS = 1000000,
	POLL_MOST_NS = 10000000,
	POLL_YOUNG_NS =
		5000000, /* while one has just come: it may soon be gone, with files that name its code */
	FLUSH_NS = 100000000,  /* how often the writer is asked to write out */
	SECOND_NS = 1000000000 /* losses, clocks */
};

/* What is many at a time is done in parts, and in between everybody else is looked after. */
enum {
	PROCESS_NS = 5000000, /* one process's rings in one round */
	LOOK_NS =
		10000000, /* between two looks at hellos and signals; a guest waits 250 ms at least */
	HELLOS_A_LOOK = 64,   /* some 20 ms */
	LAST_NS = 1000000000, /* what is left in the rings of limited users at their or our end */
	ANSWER_NS = 500000000 /* for all guests to hand over what their runtimes still hold */
};

struct attached {
	struct injected *injected; /* owned */
	int connection;            /* owned; until the guest's farewell; -1 afterwards */
	bool dead;
	uint64_t dead_ns; /* since when that is known */
	bool is_asked;    /* for what its runtime still holds */
};

/* Why a process was not recorded; the first of each is noted, the sum at the end. */
enum refusal {
	REFUSED_DESCRIPTORS,
	REFUSED_PROCESSES,
	REFUSED_BYTES,
	REFUSED_HELLOS,
	REFUSED_LATE,
	REFUSED_SILENT,
	REFUSED_OTHER,
	REFUSALS
};

struct session {
	const struct session_options *options;
	struct session_result *result;
	struct trace_writer *writer;
	struct recording recording;
	bool recording_open;
	void *states
		[COLLECTORS_MOST]; /* owned; of collectors with work of their own; NULL: not running */
	struct attach attach;
	struct running running;     /* processes that were there before us */
	struct enterings enterings; /* … and guests on their way into them */
	struct program_state state;
	struct environment environment;
	char mark[320]; /* what our program has in its environment, "" where it has nothing */
	struct attached *attached; /* owned */
	size_t attached_count, attached_capacity;
	size_t first;                                              /* of the next round */
	size_t attach_entries, first_collector, collector_entries; /* of what is polled */
	uint64_t next_round_ns;
	bool has_more; /* the last round did not come to the end of all rings */
	struct shares shares;
	bool has_greeted[COLLECTORS_MOST]; /* a guest of the collector's */
	uint64_t refused[REFUSALS];
	struct pollfd *entries; /* owned */
	size_t entries_capacity;
	struct wake wake;
	int signal_fd;
	bool output_begun;
	pid_t program;       /* 0: none, or already waited for */
	pid_t program_begun; /* its number, also afterwards */
	bool is_filtered;    /* it has put a seccomp filter on itself */
	bool has_guest;      /* … or has said hello, before or after an exec */
	struct ucred
		foreign; /* the first of a user whose programs are not taken; pid 0: none came */
	bool ending;
	uint64_t begin_ns, next_flush_ns, next_early_flush_ns, next_second_ns, interval_ns,
		young_until_ns;
};

/* ---- signals and the program ------------------------------------------------------------------- */

/* The newest image of the process: an exec ends an image, not with a status. */
static struct injected *find_guest(struct session *session, pid_t pid)
{
	for (size_t i = session->attached_count; i > 0; i--)
		if (session->attached[i - 1].injected->pid == pid)
			return session->attached[i - 1].injected;
	return NULL;
}

/* Until it is waited for, /proc has what the program was. */
static void look_at_zombie(struct session *session)
{
	siginfo_t ended = {0};

	if (waitid(P_PID, (id_t)session->program, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    ended.si_pid)
		session->is_filtered = unrecorded_is_filtered((uint32_t)session->program);
}

static void reap_program(struct session *session)
{
	struct injected *injected;
	int status = 0;
	pid_t ended;

	if (!session->program)
		return;
	look_at_zombie(session);
	ended = waitpid(session->program, &status, WNOHANG);
	injected = ended > 0 ? find_guest(session, ended) : NULL;
	if (injected)
		injected->process->row.status = status;
	if (ended == session->program || (ended < 0 && errno == ECHILD)) {
		session->result->program_status = status;
		session->program = 0;
		session->ending = true;
	}
}

/* True when a signal asked for the end. */
static bool read_signals(struct session *session, int *ret_signal)
{
	struct signalfd_siginfo signal;
	bool asked = false;

	while (read(session->signal_fd, &signal, sizeof(signal)) == (ssize_t)sizeof(signal)) {
		if (signal.ssi_signo == SIGCHLD) {
			reap_program(session);
		} else {
			asked = true;
			*ret_signal = (int)signal.ssi_signo;
		}
	}
	return asked;
}

static int open_signals(struct session *session)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	for (size_t i = 0; i < ARRAY_COUNT(ends); i++) {
		struct sigaction found;

		/* nohup, or a shell's background job: what was ignored stays ignored. */
		if (sigaction(ends[i], NULL, &found) == 0 && found.sa_handler != SIG_IGN)
			sigaddset(&signals, ends[i]);
	}
	program_state_take(&session->state, &signals);
	session->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return session->signal_fd < 0 ? error_set(-errno, "signalfd: %s", strerror(errno)) : 0;
}

static void note(struct session *session, uint32_t state, const char *text)
{
	recording_note(&session->recording, "opencl", state, 0, text);
	if (!session->result->note[0])
		snprintf(session->result->note, sizeof(session->result->note), "%s", text);
}

/* As a login would: caches and settings are the user's own, not root's, which it could not write. */
static int set_up_user(struct environment *environment, const struct program_user *user)
{
	int error = environment_init(environment);

	if (error || !user->set)
		return error;
	error = environment_set(environment, "HOME", user->home);
	if (!error)
		error = environment_set(environment, "USER", user->name);
	return error ? error : environment_set(environment, "LOGNAME", user->name);
}

const char *session_way(const struct session_options *options, const char **ret_why)
{
	bool preload = options->preload || !environment_loader_has_layers();

	if (!options->opencl)
		*ret_why = "OpenCL is not collected";
	else if (!options->guest)
		*ret_why = "the guest libduet-opencl.so is neither beside duet nor installed: "
			   "reinstall duet, or run it from its build folder";
	/* ld.so splits LD_PRELOAD at spaces too. */
	else if (options->command && strpbrk(options->guest, preload ? " :" : ":"))
		*ret_why = "the guest's path holds a space or a ':', which the dynamic "
			   "linker takes for a separator: move duet to another folder";
	else if (preload && options->command &&
		 program_kind_of(options->command[0], true) == PROGRAM_SANITIZED)
		*ret_why = program_kind_text(PROGRAM_SANITIZED);
	else
		return preload ? "LD_PRELOAD" : "OPENCL_LAYERS";
	return NULL;
}

static const char *seccomp_value(char *text, size_t size)
{
	int filters, mode = proc_seccomp((uint32_t)getpid(), &filters);

	if (filters < 0)
		snprintf(text, size, "%d", mode > 0 ? mode : 0);
	else
		snprintf(text, size, "%d:%d", mode > 0 ? mode : 0, filters);
	return text;
}

static int arm_opencl(struct session *session, bool *ret_armed)
{
	const struct session_options *options = session->options;
	const char *why, *way = session_way(options, &why);

	*ret_armed = way != NULL;
	if (!way && options->opencl)
		note(session, COLLECTOR_REFUSED, why);
	else if (options->opencl)
		recording_note(&session->recording, "opencl", COLLECTOR_AVAILABLE, 0, "");
	return way ? environment_append(&session->environment, way, options->guest, ':') : 0;
}

/* *ret_armed: at least one guest may be loaded. */
static int arm_guests(struct session *session, bool *ret_armed)
{
	int error = arm_opencl(session, ret_armed);

	for (size_t i = 0; i < collectors_count && !error; i++) {
		bool is_armed = false;

		if (collectors[i]->arm && collector_is_chosen(collectors[i], session->options))
			error = collectors[i]->arm(&session->recording, session->options,
						   &session->environment, &is_armed);
		*ret_armed |= is_armed;
	}
	return error;
}

static int prepare_environment(struct session *session)
{
	struct environment *environment = &session->environment;
	int error = set_up_user(environment, &session->options->user);
	char seccomp[32];
	bool is_armed;

	if (!error)
		error = arm_guests(session, &is_armed);
	if (error || !is_armed)
		return error;
	snprintf(session->mark, sizeof(session->mark), "%s=%s", SESSION_VARIABLE,
		 session->attach.addresses);
	session->recording.mark = session->mark;
	error = environment_set(environment, SESSION_VARIABLE, session->attach.addresses);
	return error ? error
		     : environment_set(environment, SESSION_SECCOMP_VARIABLE,
				       seccomp_value(seccomp, sizeof(seccomp)));
}

/* Some programs cannot take a guest in. What they started, or became by an exec, may have been recorded all the same. */
static void note_program(struct session *session)
{
	const char *name = session->options->command ? session->options->command[0] : NULL;
	const char *why = name ? program_kind_text(program_kind_of(name, false)) : NULL;
	char text[512];

	if (!why || session->has_guest)
		return;
	snprintf(text, sizeof(text), "OpenCL calls of '%.200s' itself are not recorded: %s", name,
		 why);
	note(session, session->result->processes ? COLLECTOR_PARTIAL : COLLECTOR_REFUSED, text);
}

/* What is refused is noted, and the recording goes on without. */
static void refuse_collector(struct session *session, size_t index)
{
	recording_note(&session->recording, collectors[index]->name, COLLECTOR_REFUSED, 0,
		       error_text());
	recording_warn(&session->recording, error_text());
	error_clear();
	collectors[index]->work->close(session->states[index]);
	session->states[index] = NULL;
}

int session_check(const struct session_options *options)
{
	int error = 0;

	for (size_t i = 0; i < collectors_count && !error; i++)
		if (collectors[i]->work && collectors[i]->work->check)
			error = collectors[i]->work->check(options);
	return error;
}

static bool can_do_all(const struct session *session, const struct collector *collector)
{
	return collector->can_do_all && collector->can_do_all(session->options);
}

static void refuse_without_program(struct session *session, const struct collector *collector)
{
	static const char reason[] =
		"what threads do is recorded of a program that is given after "
		"--, or of processes (-p); of all programs (-a) only their switches are, "
		"with --collect cpu:bpf";

	if (!collector_is_chosen(collector, session->options))
		return;
	recording_note(&session->recording, collector->name, COLLECTOR_REFUSED, 0, reason);
	recording_warn(&session->recording, reason);
}

static void open_collectors(struct session *session)
{
	for (size_t i = 0; i < collectors_count; i++) {
		const struct collector *collector = collectors[i];

		if (!collector->work)
			continue;
		if (collector->needs_program && !session->options->command &&
		    !session->options->pids_count && !can_do_all(session, collector)) {
			refuse_without_program(session, collector);
			continue;
		}
		if (collector->work->open(&session->recording, session->options,
					  &session->states[i]))
			refuse_collector(session, i);
		else if (session->states[i])
			recording_note(&session->recording, collector->name, COLLECTOR_AVAILABLE, 0,
				       "");
	}
}

/* Beside those whose work guests do. */
static bool has_other_collectors(const struct session_options *options)
{
	for (size_t i = 0; i < collectors_count; i++)
		if (collectors[i]->work && collector_is_chosen(collectors[i], options))
			return true;
	return false;
}

static bool has_guests(const struct session_options *options)
{
	for (size_t i = 0; i < collectors_count; i++)
		if (collectors[i]->guest && collector_is_chosen(collectors[i], options))
			return true;
	return false;
}

static bool has_collectors(const struct session *session)
{
	for (size_t i = 0; i < collectors_count; i++)
		if (session->states[i])
			return true;
	return false;
}

static void watch_program(void *context, pid_t pid)
{
	struct session *session = context;

	for (size_t i = 0; i < collectors_count; i++)
		if (session->states[i] && collectors[i]->work->watch(session->states[i], pid))
			refuse_collector(session, i);
}

/* One that has ended in the meantime has nothing more to say. */
static void attach_running(struct session *session, size_t index)
{
	const struct running *running = &session->running;

	for (size_t i = 0; i < running->count && session->states[index]; i++) {
		int error = collectors[index]->work->attach(session->states[index],
							    running->processes[i].pid,
							    running->processes[i].fd);

		if (error && error != -ESRCH)
			refuse_collector(session, index);
		else if (error)
			error_clear();
	}
}

static void drain_collectors(struct session *session)
{
	for (size_t i = 0; i < collectors_count; i++)
		if (session->states[i])
			collectors[i]->work->drain(session->states[i]);
}

static void catch_up(struct session *session)
{
	for (size_t i = 0; i < collectors_count; i++)
		if (session->states[i])
			collectors[i]->work->catch_up(session->states[i]);
}

static void close_collectors(struct session *session)
{
	for (size_t i = 0; i < collectors_count; i++) {
		if (session->states[i])
			collectors[i]->work->close(session->states[i]);
		session->states[i] = NULL;
	}
}

static int start_program(struct session *session, int *ret_exec_error)
{
	struct program_options program = {
		.arguments = session->options->command,
		.environment = session->environment.entries,
		.state = &session->state,
		.user = session->options->user,
		.on_forked = has_collectors(session) ? watch_program : NULL,
		.context = session,
	};
	int error;

	if (!session->options->command)
		return 0;
	error = program_start(&program, &session->program, ret_exec_error);
	session->program_begun = session->program;
	session->result->has_program = error == 0;
	return error;
}

/* ---- guests ------------------------------------------------------------------------------------ */

static uint32_t ring_options(const struct session_options *options)
{
	return RING_OPTION_CODE | (options->device_time ? RING_OPTION_DEVICE_TIME : 0) |
	       (options->native_stacks ? RING_OPTION_NATIVE : 0) |
	       (options->python_stacks ? RING_OPTION_PYTHON : 0) |
	       (options->opencl ? RING_OPTION_OPENCL : 0) | options->amd_options |
	       (options->level_zero_time ? RING_OPTION_LEVEL_ZERO_TIME : 0) |
	       (options->cuda_graphs ? RING_OPTION_CUDA_GRAPHS : 0) |
	       (options->cuda_pc ? RING_OPTION_CUDA_PC : 0) |
	       (options->cuda_latency ? RING_OPTION_CUDA_LATENCY : 0) |
	       (options->cuda_waits ? RING_OPTION_CUDA_WAITS : 0) |
	       (options->cuda_pc_exact ? RING_OPTION_CUDA_PC_EXACT : 0) |
	       (options->cuda_idle ? RING_OPTION_CUDA_IDLE : 0) |
	       (options->cuda_subscribed ? RING_OPTION_CUDA_SUBSCRIBED : 0);
}

static void refuse(struct session *session, enum refusal refusal, const char *text)
{
	if (session->refused[refusal]++ == 0)
		note(session, COLLECTOR_PARTIAL, text);
}

/* False: this user has had its share, and a note says so. */
static bool has_share(struct session *session, uid_t uid)
{
	enum share_state state = shares_state(&session->shares, uid);
	char text[160];

	if (state == SHARE_LEFT && shares_hello(&session->shares, uid))
		return true;
	if (state == SHARE_LEFT) {
		snprintf(text, sizeof(text),
			 "user %u said hello more than %d times in a second: that many are not "
			 "listened to",
			 (unsigned)uid, SHARE_HELLOS);
		refuse(session, REFUSED_HELLOS, text);
		return false;
	}
	if (state == SHARE_PROCESSES_SPENT)
		snprintf(text, sizeof(text),
			 "user %u has %d processes recorded at the same time: more are not taken",
			 (unsigned)uid, SHARE_PROCESSES);
	else
		snprintf(text, sizeof(text),
			 "the programs of user %u have described %d MiB: no more of them are taken",
			 (unsigned)uid, SHARE_BYTES >> 20);
	refuse(session, state == SHARE_PROCESSES_SPENT ? REFUSED_PROCESSES : REFUSED_BYTES, text);
	return false;
}

/* What a process made the recorder keep goes on its user's account. */
static void settle(struct session *session, struct injected *injected)
{
	uid_t uid = injected->process->row.uid;

	shares_charge(&session->shares, uid, injected->kept_bytes);
	shares_hold(&session->shares, uid,
		    (int64_t)(injected->held_bytes - injected->held_charged));
	injected->kept_bytes = 0;
	injected->held_charged = injected->held_bytes;
	shares_put_looks(&session->shares, uid, &injected->looks);
}

static void note_refusals(struct session *session)
{
	uint64_t count = 0;
	char text[128];

	for (int i = 0; i < REFUSALS; i++)
		count += session->refused[i];
	if (count < 2)
		return;
	snprintf(text, sizeof(text), "%llu attempts of programs to be recorded were refused",
		 (unsigned long long)count);
	recording_note(&session->recording, "opencl", COLLECTOR_PARTIAL, 0, text);
}

static void refuse_for_descriptors(struct session *session)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "the recorder ran out of file descriptors (processes attached: %zu): raise its "
		 "hard "
		 "limit (ulimit -Hn)",
		 session->attached_count);
	refuse(session, REFUSED_DESCRIPTORS, text);
}

static const char late_text[] = "a program was gone, or had given up waiting, when the "
				"recorder came to its hello";

static void refuse_many(struct session *session, enum refusal refusal, uint64_t *count,
			const char *text)
{
	for (; *count; --*count)
		refuse(session, refusal, text);
}

static void note_turned_away(struct session *session)
{
	struct attach *attach = &session->attach;

	for (; attach->turned_away; attach->turned_away--)
		refuse_for_descriptors(session);
	refuse_many(session, REFUSED_LATE, &attach->late, late_text);
	refuse_many(session, REFUSED_SILENT, &attach->evicted,
		    "connections that said nothing were closed to make room for others");
}

static void relate(struct session *session, struct injected *added)
{
	for (size_t i = 0; i < session->attached_count; i++)
		injected_relate(session->attached[i].injected, added);
}

/* Whose guest says so, collectors_count: nobody's that we know. Behind a ':' it only tells itself apart. */
static size_t index_of_collector(const struct attach_hello *hello)
{
	const char *name = hello->hello.guest;
	const size_t length = strcspn(name, ":");

	for (size_t i = 0; i < collectors_count; i++) {
		const char *guest = collectors[i]->guest;

		if (guest && strlen(guest) == length && strncmp(guest, name, length) == 0)
			return i;
	}
	return collectors_count;
}

struct greeting {
	struct session *session;
	const struct attach_hello *hello;
};

/* The program stands still until it is answered. What the collectors have not read yet can take 10 ms: an exec just before
 * is among it, which makes another process of it. */
static void greet(void *context, const struct injected *injected, int region_fd)
{
	const struct greeting *greeting = context;

	attach_answer(greeting->hello->fd, injected->ring_count, injected->ring_bytes, region_fd);
	catch_up(greeting->session);
}

/* Makes the rings and sends them. sibling: another guest of the same process, NULL: this is the first. Errors:
 * -errno. */
static int welcome(struct session *session, const struct attach_hello *hello,
		   struct injected *sibling)
{
	const size_t index = index_of_collector(hello);
	struct greeting greeting = {session, hello};
	struct injected_peer peer = {
		.collector = collectors[index]->name,
		.ring_bytes = collectors[index]->ring_bytes,
		.numbers = {[RING_NUMBER_CUDA_PC_WINDOW_MS] = session->options->cuda_pc_window_ms,
			    [RING_NUMBER_CUDA_PC_PERIOD_MS] = session->options->cuda_pc_period_ms},
		.explain = collectors[index]->explain,
		.guest = hello->hello.guest,
		.sibling = sibling,
		.pid = hello->pid,
		.ns_pid = hello->hello.pid,
		.uid = hello->uid,
		.pid_fd = hello->pid_fd,
		.looks = shares_looks(&session->shares, hello->uid),
		.on_region = greet,
		.context = &greeting,
	};
	struct attached *attached;
	int region_fd = -1, error;

	if (array_grow(session->attached, session->attached_capacity, session->attached_count + 1) <
	    0) {
		if (hello->pid_fd >= 0)
			close(hello->pid_fd);
		return error_set(-ENOMEM, "process %d: out of memory", (int)hello->pid);
	}
	attached = &session->attached[session->attached_count];
	*attached = (struct attached){.connection = hello->fd};
	error = injected_open(&session->recording, &peer, ring_options(session->options),
			      &attached->injected, &region_fd);
	if (error)
		return error;
	if (!sibling) {
		relate(session, attached->injected);
		session->result->processes++;
	}
	session->attached_count++;
	session->has_greeted[index] = true;
	session->has_guest |= hello->pid == session->program_begun;
	session->young_until_ns = host_clocks_now_ns() + SECOND_NS;
	shares_begin(&session->shares, hello->uid);
	settle(session, attached->injected);
	close(region_fd);
	return 0;
}

static void turn_down(const struct attach_hello *hello)
{
	attach_answer(hello->fd, 0, 0, -1);
	close(hello->fd);
}

static void note_gap(struct session *session, struct injected *injected)
{
	char text[160];

	snprintf(text, sizeof(text),
		 "process %u lost sight of the recorder and found it again: what it did in between "
		 "is not recorded",
		 injected->process->row.pid);
	injected->note = recording_note(&session->recording, injected->collector, COLLECTOR_PARTIAL,
					injected->process->row.id, text);
}

/* A guest that saw no sign of life of us for 10 s looks for a recorder and finds us again; one of libduet's has left and
 * comes back. It is the process it was, with a new region. */
static int welcome_again(struct session *session, struct attached *attached,
			 const struct attach_hello *hello)
{
	struct injected *injected = attached->injected;
	const bool has_gap = !injected_has_left(injected);
	int region_fd = -1, error;

	injected->looks = shares_looks(&session->shares, injected->process->row.uid);
	error = injected_renew(injected, ring_options(session->options), PROCESS_NS, &region_fd);
	settle(session, injected);
	if (error) {
		attached->dead = true;
		return error;
	}
	if (has_gap && !injected->note)
		note_gap(session, injected);
	if (attached->connection >= 0)
		close(attached->connection);
	attached->connection = hello->fd;
	if (hello->pid_fd >= 0)
		close(hello->pid_fd);
	attach_answer(hello->fd, injected->ring_count, injected->ring_bytes, region_fd);
	close(region_fd);
	return 0;
}

static bool is_alive(const struct attached *attached)
{
	return proc_is_alive(attached->injected->pid_fd, (uint32_t)attached->injected->pid);
}

/* A process that says hello again has another guest, or one of its guests has come back, or it has called exec: what
 * it was before has nothing more to say. True: a guest has come back and been answered; else *ret_sibling is one that
 * it has beside this one. */
static bool take_again(struct session *session, const struct attach_hello *hello, bool is_welcome,
		       struct injected **ret_sibling)
{
	*ret_sibling = NULL;
	for (size_t i = 0; i < session->attached_count; i++) {
		struct attached *attached = &session->attached[i];
		bool is_same = strcmp(attached->injected->guest, hello->hello.guest) == 0;

		if (attached->injected->pid != hello->pid || attached->dead)
			continue;
		/* That it was another image is believed of a guest that is here twice, and of others when it is seen. */
		if (is_alive(attached) &&
		    injected_is_same_image(attached->injected,
					   !is_same || injected_has_left(attached->injected))) {
			if (is_same && is_welcome && welcome_again(session, attached, hello) == 0)
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

/* Whose parent has ended is init's child; whoever followed its forks knows better. */
static bool is_followed(struct session *session, pid_t pid)
{
	const struct process *process;

	catch_up(session);
	process = processes_find(session->recording.processes, (uint32_t)pid);
	return process && !process->has_ended;
}

static bool is_meant(struct session *session, const struct attach_hello *hello)
{
	const size_t index = index_of_collector(hello);

	return index < collectors_count &&
	       collector_is_chosen(collectors[index], session->options) &&
	       (running_has(&session->running, hello->pid) || is_followed(session, hello->pid));
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
		turn_down(hello);
		return;
	}
	error = welcome(session, hello, sibling);
	if (!error)
		return;
	if (error == -EMFILE || error == -ENFILE) {
		refuse_for_descriptors(session);
		attach_rest(&session->attach);
	} else if (error == -ESRCH) {
		refuse(session, REFUSED_LATE, late_text);
	} else {
		refuse(session, REFUSED_OTHER, error_text());
	}
	error_clear();
	turn_down(hello);
}

static void read_farewell(struct session *session, struct attached *attached)
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
	if (farewell.ring_count >= attached->injected->ring_count)
		return;
	snprintf(text, sizeof(text),
		 "process %u could map %u of %u rings (%s): raise its limit on address "
		 "space (ulimit -v)",
		 attached->injected->process->row.pid, farewell.ring_count,
		 attached->injected->ring_count,
		 farewell.error > 0 && farewell.error < 200 ? strerror(farewell.error)
							    : "no reason given");
	recording_note(&session->recording, attached->injected->collector,
		       farewell.ring_count ? COLLECTOR_PARTIAL : COLLECTOR_REFUSED,
		       attached->injected->process->row.id, text);
}

/* What is left in its rings was read, or is given up. */
static void end_guest(struct session *session, struct attached *attached)
{
	uid_t uid = attached->injected->process->row.uid;
	struct look_time looks;

	/* Its end may be seen before the signal that tells of it: its status goes with its last row. */
	if (attached->dead && attached->injected->pid == session->program)
		reap_program(session);
	attached->injected->process->row.ended = attached->dead;
	if (attached->connection >= 0)
		close(attached->connection);
	settle(session, attached->injected);
	shares_hold(&session->shares, uid, -(int64_t)attached->injected->held_charged);
	shares_end(&session->shares, uid);
	attached->injected->looks = shares_looks(&session->shares, uid);
	looks = injected_close(attached->injected);
	shares_put_looks(&session->shares, uid, &looks);
}

/* Returns the bytes taken from the fullest ring. */
static size_t drain_guest(struct session *session, struct attached *attached)
{
	struct injected *injected = attached->injected;
	uint64_t left_ns = shares_time_left(&session->shares, injected->process->row.uid);
	uint64_t begin_ns = host_clocks_now_ns();
	size_t taken = 0;

	if (left_ns) {
		injected->room_bytes =
			shares_bytes_left(&session->shares, injected->process->row.uid);
		injected->looks = shares_looks(&session->shares, injected->process->row.uid);
		taken = injected_drain(injected, left_ns < PROCESS_NS ? left_ns : PROCESS_NS);
		settle(session, injected);
		shares_spend(&session->shares, injected->process->row.uid,
			     host_clocks_now_ns() - begin_ns);
	} else {
		injected_beat(injected);
		injected->has_more = true;
	}
	session->has_more |= injected->has_more;
	return taken;
}

/* False: there may be more. */
static bool take_hellos(struct session *session)
{
	struct attach_hello hello;
	int count = 0;

	for (; count < HELLOS_A_LOOK && attach_next(&session->attach, &hello); count++)
		add_guest(session, &hello);
	note_turned_away(session);
	return count < HELLOS_A_LOOK;
}

static bool is_over(const struct session *session, uint64_t now_ns)
{
	return session->options->duration_ns &&
	       now_ns >= session->begin_ns + session->options->duration_ns;
}

/* In a round that takes long. Those that are added come with the next one. */
static void look_around(struct session *session, uint64_t now_ns)
{
	wake_forget(&session->wake);
	if (read_signals(session, &session->result->signal) || is_over(session, now_ns))
		session->ending = true;
	else
		take_hellos(session);
}

static size_t drain_guests(struct session *session)
{
	uint64_t look_ns = host_clocks_now_ns() + LOOK_NS, now_ns;
	size_t most = 0, count = session->attached_count;

	shares_begin_round(&session->shares);
	session->has_more = false;
	session->first++; /* where time is short it is not always the last ones' */
	for (size_t i = 0; i < count && !session->ending; i++) {
		size_t taken =
			drain_guest(session, &session->attached[(session->first + i) % count]);

		most = taken > most ? taken : most;
		now_ns = host_clocks_now_ns();
		if (now_ns < look_ns)
			continue;
		look_around(session, now_ns);
		look_ns = host_clocks_now_ns() + LOOK_NS;
	}
	return most;
}

/* What a process that has ended left in its rings is read in rounds like everybody's. */
static bool is_read(struct session *session, struct attached *attached, uint64_t now_ns)
{
	struct injected *injected = attached->injected;

	if (!injected->region)
		return true;
	if (!injected->is_frozen) {
		injected_freeze(injected);
		attached->dead_ns = now_ns;
		drain_guest(session, attached);
	}
	return !injected->has_more ||
	       (shares_is_limited(&session->shares, injected->process->row.uid) &&
		now_ns - attached->dead_ns > LAST_NS);
}

static void remove_dead(struct session *session, uint64_t now_ns)
{
	size_t left = 0;

	for (size_t i = 0; i < session->attached_count; i++) {
		struct attached *attached = &session->attached[i];

		/* Names are looked for at a process's end: many that end together wait for the next rounds. */
		if (attached->dead && host_clocks_now_ns() - now_ns < LOOK_NS &&
		    is_read(session, attached, now_ns))
			end_guest(session, attached);
		else
			session->attached[left++] = *attached;
	}
	session->attached_count = left;
}

/* ---- the loop ---------------------------------------------------------------------------------- */

static size_t fill_entries(struct session *session)
{
	size_t most = 2 + ATTACH_LISTENERS + ATTACH_PENDING + COLLECTORS_MOST +
		      session->running.count + 2 * session->attached_count,
	       count = 0;

	if (array_grow(session->entries, session->entries_capacity, most) < 0)
		return 0;
	session->entries[count++] = (struct pollfd){.fd = session->signal_fd, .events = POLLIN};
	session->attach_entries = attach_poll(&session->attach, session->entries + count);
	count += session->attach_entries;
	count += running_poll(&session->running, session->entries + count);
	if (session->options->owner_fd)
		session->entries[count++] =
			(struct pollfd){.fd = session->options->owner_fd, .events = POLLIN};
	session->first_collector = count;
	for (size_t i = 0; i < collectors_count; i++)
		if (session->states[i])
			session->entries[count++] = (struct pollfd){
				.fd = collectors[i]->work->descriptor(session->states[i]),
				.events = POLLIN};
	session->collector_entries = count - session->first_collector;
	for (size_t i = 0; i < session->attached_count; i++) {
		session->entries[count++] = (struct pollfd){
			.fd = session->attached[i].injected->pid_fd, .events = POLLIN};
		session->entries[count++] =
			(struct pollfd){.fd = session->attached[i].connection, .events = POLLIN};
	}
	return count;
}

static uint64_t wait_ns(const struct session *session, uint64_t now_ns)
{
	uint64_t until = session->next_second_ns;
	uint64_t end_ns = session->begin_ns + session->options->duration_ns;

	if (session->options->duration_ns && end_ns < until)
		until = end_ns;
	if (session->attached_count && now_ns + session->interval_ns < until)
		until = now_ns + session->interval_ns;
	for (size_t i = 0; i < collectors_count; i++) {
		uint64_t next_ns = UINT64_MAX;

		if (session->states[i])
			next_ns = now_ns + collectors[i]->work->interval_ns(session->states[i]);
		if (next_ns < until)
			until = next_ns;
	}
	return until > now_ns ? until - now_ns : 0;
}

static void look_at_guests(struct session *session, size_t count)
{
	size_t first = count - 2 * session->attached_count;

	for (size_t i = 0; i < session->attached_count; i++) {
		struct attached *attached = &session->attached[i];

		if (session->entries[first + 2 * i].revents)
			attached->dead = true;
		if (attached->connection >= 0 && session->entries[first + 2 * i + 1].revents)
			read_farewell(session, attached);
	}
}

/* The next round comes when the busiest ring will be about an eighth full at the rate seen. */
static void adapt_interval(struct session *session, size_t most)
{
	const uint64_t longest_ns =
		host_clocks_now_ns() < session->young_until_ns ? POLL_YOUNG_NS : POLL_MOST_NS;
	uint64_t wanted = longest_ns;
	/* After a round without a wait: about what a round takes, so that the way back is open. */
	uint64_t interval_ns = session->interval_ns ? session->interval_ns : POLL_LEAST_NS / 4;

	if (most)
		wanted = interval_ns * (session->attached[0].injected->ring_bytes / 8) / most;
	if (wanted < POLL_LEAST_NS / 4)
		wanted = 0;
	if (session->has_more)
		wanted = 0;
	session->interval_ns = wanted > longest_ns ? longest_ns : wanted;
	if (wanted && wanted < POLL_LEAST_NS)
		session->interval_ns = POLL_LEAST_NS;
}

static void do_each_second(struct session *session, uint64_t now_ns)
{
	for (size_t i = 0; i < session->attached_count; i++) {
		struct attached *attached = &session->attached[i];

		if (attached->injected->region)
			injected_count_losses(attached->injected, now_ns);
		if (attached->injected->pid_fd < 0 && !is_alive(attached))
			attached->dead = true;
	}
	for (size_t i = 0; i < collectors_count; i++)
		if (session->states[i])
			collectors[i]->work->each_second(session->states[i], now_ns);
	processes_forget(session->recording.processes, now_ns);
	attach_resume(&session->attach);
	wake_forget(&session->wake); /* whatever was added or taken away without a word */
	shares_begin_second(&session->shares);
	recording_begin_second(&session->recording);
	host_clocks_read(session->writer, session->recording.tsc, &session->recording.last_tsc);
	session->next_second_ns = now_ns + SECOND_NS;
}

/* The program runs, so what the output held is given up: not before the first guest has its answer, or a
 * while has passed, because emptying a large file may take longer than a guest waits. */
static void begin_output(struct session *session)
{
	session->output_begun = true;
	if (trace_writer_begin(session->writer) < 0)
		error_clear(); /* tried again with the next write, and told at the end */
}

static bool is_any_ready(const struct session *session, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++)
		if (session->entries[i].revents)
			return true;
	return false;
}

/* A collector is woken for each sample of a Python program, some hundred times a second: guests have their own time. */
static bool is_for_collectors(const struct session *session, enum wake_reason reason)
{
	return reason == WAKE_RINGS && host_clocks_now_ns() < session->next_round_ns;
}

/* Who can be read from. Descriptors come and go here: what is waited for is put together anew. Returns the number of
 * entries. */
static size_t look_who(struct session *session)
{
	size_t count = fill_entries(session);

	if (poll(session->entries, count, 0) < 0)
		for (size_t i = 0; i < count; i++)
			session->entries[i].revents = 0;
	wake_forget(&session->wake);
	return count;
}

/* To ask a socket that has no caller costs the kernel a new one each time. */
static void take_waiting_hellos(struct session *session)
{
	if (session->attach.pending_count || is_any_ready(session, 1, session->attach_entries))
		take_hellos(session);
}

static void answer(struct session *session)
{
	const int owner_fd = session->options->owner_fd;
	size_t count = look_who(session);

	if (read_signals(session, &session->result->signal) ||
	    (owner_fd && owner_has_left(owner_fd)))
		session->ending = true;
	if (count)
		look_at_guests(session, count);
	take_waiting_hellos(session);
}

/* A program that says hello stands still until it is answered, and what the collectors have to read can take 10 ms. Its end
 * is looked at after them: they take their last readings of it while /proc still has it. */
static void answer_hellos(struct session *session)
{
	look_who(session);
	take_waiting_hellos(session);
}

static enum wake_reason wait_for_work(struct session *session)
{
	if (!session->wake.is_open) {
		size_t count = fill_entries(session);

		wake_register(&session->wake, session->entries, count, session->first_collector,
			      session->collector_entries);
	}
	return wake_wait(&session->wake, wait_ns(session, host_clocks_now_ns()));
}

/* What is killed early leaves half of its time at least: all is written 0.1, 0.2, 0.4 and 0.8 s after the start. Later a
 * row is written when it is as old as the user allows, which is cheaper. */
static void flush(struct session *session, uint64_t now_ns)
{
	if (now_ns < session->next_flush_ns)
		return;
	session->next_flush_ns = now_ns + FLUSH_NS;
	if (now_ns < session->next_early_flush_ns || now_ns >= session->begin_ns + SECOND_NS) {
		trace_writer_flush(session->writer, now_ns);
		return;
	}
	trace_writer_flush_all(session->writer, now_ns);
	session->next_early_flush_ns = now_ns + (now_ns - session->begin_ns);
}

static void turn(struct session *session)
{
	enum wake_reason reason = wait_for_work(session);
	uint64_t now_ns;
	size_t most;

	if (reason == WAKE_OTHERS)
		answer_hellos(session);
	drain_collectors(session);
	if (is_for_collectors(session, reason))
		return;
	if (reason == WAKE_OTHERS)
		answer(session);
	note_turned_away(session);
	most = drain_guests(session);
	if (session->recording.submissions.settle)
		session->recording.submissions.settle(session->recording.submissions.context);
	if (session->attached_count)
		adapt_interval(session, most);
	enterings_look(&session->enterings, &session->recording, session->options);
	now_ns = host_clocks_now_ns();
	remove_dead(session, now_ns);
	if (now_ns >= session->next_second_ns)
		do_each_second(session, now_ns);
	if (!session->output_begun &&
	    (session->attached_count || now_ns >= session->begin_ns + FLUSH_NS))
		begin_output(session);
	flush(session, now_ns);
	if (is_over(session, now_ns) || running_have_ended(&session->running))
		session->ending = true;
	session->next_round_ns = now_ns + wait_ns(session, now_ns);
}

/* ---- begin and end ----------------------------------------------------------------------------- */

/* Of processes that run already, guests look for recorders of the whole machine: where another recording is that, this
 * one goes without them. */
static int listen_for_guests(struct session *session, uid_t owner, gid_t group)
{
	const struct session_options *options = session->options;
	bool by_pid = options->pids_count && has_guests(options);
	int error = attach_open(&session->attach, options->any || by_pid, owner, group);

	if (error != -EADDRINUSE || !by_pid ||
	    !(options->owner_fd || has_other_collectors(options)))
		return error;
	note(session, COLLECTOR_REFUSED, error_text());
	error_clear();
	attach_close(&session->attach);
	return attach_open(&session->attach, false, owner, group);
}

/* They say hello while we wait for them. */
static void enter_running(struct session *session)
{
	char seccomp[32];

	enterings_begin(&session->enterings, &session->recording, session->options,
			&session->running, session->attach.addresses,
			seccomp_value(seccomp, sizeof(seccomp)));
}

static int open_session(struct session *session)
{
	const struct session_options *options = session->options;
	uid_t owner = options->user.set ? options->user.uid : geteuid();
	gid_t group = options->user.set ? options->user.gid : getegid();
	struct trace_writer_options output = options->writer;
	int error = open_signals(session);

	shares_init(&session->shares, owner);
	/* A program that cannot be started costs nobody an earlier recording. */
	output.hold = true;
	if (!error)
		error = trace_writer_open(options->output, &output, &session->writer);
	if (!error)
		error = recording_init(&session->recording, session->writer);
	session->recording_open = error == 0;
	session->recording.command = options->command;
	session->recording.on_warning = options->on_warning;
	session->recording.on_hint = options->on_hint;
	session->recording.warning_context = options->warning_context;
	session->recording.keeps_files = options->archive != NULL;
	if (!error)
		error = listen_for_guests(session, owner, group);
	if (!error)
		error = prepare_environment(session);
	if (error)
		return error;
	open_collectors(session);
	session->begin_ns = host_clocks_now_ns();
	for (size_t i = 0; i < collectors_count; i++)
		attach_running(session, i);
	session->next_second_ns = session->begin_ns + SECOND_NS;
	session->next_flush_ns = session->begin_ns + FLUSH_NS;
	session->interval_ns = POLL_LEAST_NS;
	recording_describe_host(&session->recording, session->begin_ns, 0);
	host_clocks_read(session->writer, session->recording.tsc, &session->recording.first_tsc);
	session->recording.last_tsc = session->recording.first_tsc;
	enter_running(session);
	return 0;
}

static bool is_asked(const struct attached *attached)
{
	return attached->is_asked && is_alive(attached) &&
	       !injected_has_given_last(attached->injected);
}

/* Those that were asked and live, and have not answered yet. */
static size_t count_asked(const struct session *session)
{
	size_t count = 0;

	for (size_t i = 0; i < session->attached_count; i++)
		count += is_asked(&session->attached[i]);
	return count;
}

static void note_silent(struct session *session)
{
	char text[200];

	for (size_t i = 0; i < session->attached_count; i++) {
		const struct injected *injected = session->attached[i].injected;

		if (!is_asked(&session->attached[i]))
			continue;
		snprintf(text, sizeof(text),
			 "process %u did not hand over what its runtime held at the recording's "
			 "end within %d ms: "
			 "its last commands look as if they had not come to their end",
			 injected->process->row.pid, ANSWER_NS / 1000000);
		recording_note(&session->recording, injected->collector, COLLECTOR_PARTIAL,
			       injected->process->row.id, text);
	}
}

/* Runtimes hold back what they have of commands that are over: a guest that can hands it over before the end, and who does
 * not in time goes without. Meanwhile everybody's rings are read as before. */
static void gather_last(struct session *session)
{
	static const struct timespec tick = {0, POLL_LEAST_NS};
	const uint64_t end_ns = host_clocks_now_ns() + ANSWER_NS;

	for (size_t i = 0; i < session->attached_count; i++)
		session->attached[i].is_asked = injected_ask_last(session->attached[i].injected);
	while (count_asked(session) && host_clocks_now_ns() < end_ns) {
		drain_collectors(session);
		shares_begin_round(&session->shares);
		for (size_t i = 0; i < session->attached_count; i++)
			if (session->attached[i].injected->region)
				drain_guest(session, &session->attached[i]);
		nanosleep(&tick, NULL);
	}
	note_silent(session);
}

/* What the rings hold now, all of it; of limited users as much as a second allows. */
static void drain_last(struct session *session)
{
	uint64_t end_ns = host_clocks_now_ns() + LAST_NS;
	bool has_more = true;

	for (size_t i = 0; i < session->attached_count; i++)
		if (session->attached[i].injected->region &&
		    !session->attached[i].injected->is_frozen)
			injected_freeze(session->attached[i].injected);
	while (has_more) {
		has_more = false;
		shares_begin_round(&session->shares);
		for (size_t i = 0; i < session->attached_count; i++) {
			struct attached *attached = &session->attached[i];
			uid_t uid = attached->injected->process->row.uid;

			if (!attached->injected->region ||
			    (shares_is_limited(&session->shares, uid) &&
			     host_clocks_now_ns() >= end_ns))
				continue;
			drain_guest(session, attached);
			has_more |= attached->injected->has_more;
		}
	}
}

static void keep_files(struct session *session)
{
	size_t failed = kept_files_finish(&session->recording.kept, session->options->archive);
	char text[128];

	if (!failed)
		return;
	snprintf(text, sizeof(text), "%zu files that were deleted or replaced could not be kept",
		 failed);
	note(session, COLLECTOR_PARTIAL, text);
}

enum { EXPLAINED_MAX = 3 }; /* processes of -p; what each of more lacks is the same as a rule */

static void note_unrecorded_running(struct session *session)
{
	const struct running *running = &session->running;
	char text[400];

	for (size_t i = 0; i < running->count && i < EXPLAINED_MAX; i++)
		if (unrecorded_explain((uint32_t)running->processes[i].pid, text, sizeof(text)))
			note(session, COLLECTOR_REFUSED, text);
}

/* What is known of a program without a recorded call. */
static void note_unrecorded_program(struct session *session)
{
	const struct program_user *user = &session->options->user;
	char text[500];

	if (session->is_filtered) {
		snprintf(text, sizeof(text), "process %d (%.100s) %s", (int)session->program_begun,
			 session->options->command[0], unrecorded_filtered);
		note(session, COLLECTOR_REFUSED, text);
	}
	if (!session->foreign.pid)
		return;
	snprintf(text, sizeof(text),
		 "process %d runs as user %u, and this recording takes programs of user %u only. "
		 "As root, "
		 "duet record --user NAME starts the program as that user, and duet record -a "
		 "takes the "
		 "programs of all users",
		 (int)session->foreign.pid, (unsigned)session->foreign.uid,
		 (unsigned)(user->set ? user->uid : geteuid()));
	note(session, COLLECTOR_REFUSED, text);
}

/* The recording ends with the program, its daemons do not. */
static void note_left(struct session *session)
{
	char *text = session->result->left;
	struct unrecorded_left left;

	if (session->program || !session->program_begun)
		return;
	unrecorded_find_left(session->program_begun, session->mark, &left);
	if (!left.count)
		return;
	snprintf(text, sizeof(session->result->left),
		 "the program has ended, and what it started still runs: %s. The recording ended "
		 "with the "
		 "program; duet record -p %u records what comes",
		 left.names, left.first_pid);
	if (left.has_guest || !session->result->processes)
		note(session, session->result->processes ? COLLECTOR_PARTIAL : COLLECTOR_REFUSED,
		     text);
}

static void note_no_guest(struct session *session)
{
	const bool is_empty = !session->result->processes;

	if (!session->options->opencl)
		return;
	note_program(session);
	if (is_empty && session->options->pids_count)
		note_unrecorded_running(session);
	if (is_empty && session->program_begun)
		note_unrecorded_program(session);
	note_left(session);
}

static void note_missing(struct session *session)
{
	for (size_t i = 0; i < collectors_count; i++) {
		struct session_result *result = session->result;
		char text[400];

		if (!collectors[i]->tell_missing ||
		    !collectors[i]->tell_missing(session->options, session->has_greeted[i],
						 session->recording.last_device != 0, text,
						 sizeof(text)))
			continue;
		recording_note(&session->recording, collectors[i]->name,
			       session->has_greeted[i] ? COLLECTOR_PARTIAL : COLLECTOR_REFUSED, 0,
			       text);
		result->missed = collectors[i]->runtime;
		snprintf(result->note, sizeof(result->note), "%s", text);
	}
}

static void end_recording(struct session *session)
{
	uint64_t now_ns;

	/* Who has said hello is taken in; then nobody is, and nobody waits for it. */
	now_ns = host_clocks_now_ns();
	while (!take_hellos(session) && host_clocks_now_ns() - now_ns < LAST_NS / 4)
		;
	session->foreign = session->attach.foreign;
	attach_close(&session->attach);
	enterings_end(&session->enterings, &session->recording, session->options);
	note_no_guest(session);
	note_missing(session);
	session->result->has_others = has_collectors(session);
	gather_last(session);
	for (size_t i = 0; i < session->attached_count; i++)
		if (session->attached[i].injected->region)
			injected_stop(session->attached[i].injected);
	drain_last(session);
	close_collectors(session);
	for (size_t i = 0; i < session->attached_count; i++) {
		struct attached *attached = &session->attached[i];

		attached->dead |= !is_alive(attached);
		/* Of a process the last guest counts. */
		if (!attached->dead && attached->injected->pid != session->program &&
		    attached->injected->process->references == 1)
			session->result->survivors++;
		end_guest(session, attached);
	}
	session->attached_count = 0;
	keep_files(session);
	note_refusals(session);
	host_clocks_read(session->writer, session->recording.tsc, &session->recording.last_tsc);
	now_ns = host_clocks_now_ns();
	recording_describe_host(&session->recording, session->begin_ns, now_ns);
}

static void close_writer(struct session *session)
{
	struct trace_writer_stats stats = {0};
	int error;

	if (!session->writer)
		return;
	error = trace_writer_finish(session->writer, host_clocks_now_ns(), &stats);
	session->writer = NULL;
	session->result->rows = stats.rows;
	session->result->rows_lost = stats.rows_lost;
	session->result->bytes = stats.bytes;
	session->result->write_error = stats.error ? stats.error : error;
}

/* The recording is over, the program is not: its status is ours to return. */
static void wait_for_program(struct session *session)
{
	struct pollfd waiting = {.fd = session->signal_fd, .events = POLLIN};

	reap_program(session);
	while (session->program) {
		poll(&waiting, 1, -1);
		if (read_signals(session, &session->result->signal)) {
			session->result->interrupted = true;
			return;
		}
	}
}

static void close_session(struct session *session)
{
	int signal;

	enterings_end(&session->enterings, &session->recording, session->options);
	close_collectors(session);
	if (session->recording_open)
		recording_fini(&session->recording);
	close_writer(session);
	attach_close(&session->attach);
	environment_fini(&session->environment);
	if (session->signal_fd >= 0) {
		read_signals(session, &signal);
		close(session->signal_fd);
	}
	/* Signals that came for the recording are answered by its end. */
	program_state_restore(&session->state);
	running_close(&session->running);
	free(session->attached);
	shares_fini(&session->shares);
	free(session->entries);
	wake_forget(&session->wake);
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
	error = running_open(&session->running, options->pids, options->pids_count);
	if (error) {
		free(session);
		return error;
	}
	error = open_session(session);
	if (!error)
		error = start_program(session, ret_exec_error);
	if (!error && options->owner_fd)
		error = owner_tell_ready(options->owner_fd, session->attach.addresses);
	if (!error) {
		while (!session->ending)
			turn(session);
		end_recording(session);
		close_writer(session);
		wait_for_program(session);
	}
	if (error) {
		trace_writer_abandon(session->writer);
		session->writer = NULL;
	}
	close_session(session);
	free(session);
	return error;
}
