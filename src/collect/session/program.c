/* SPDX-License-Identifier: MIT
 *
 * collect/session/program.c - signals of the recorder, and the program that it starts
 *
 * Runs in:  the recorder; one thread
 * Gets:     the command; signals from a signalfd
 * Gives:    the running program, with the variables that its guests need
 * Owns:     nothing
 * Fails:    -errno before the program starts
 * Why:      Signals are read from a descriptor, so that they never interrupt other work.
 */
#include "collect/session/private.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/proc.h"
#include "collect/unrecorded.h"

/* Returns the newest image of the process. The status belongs to it, because an exec ends an image
 * without a status. */
static struct injected *find_guest(struct session *session, pid_t pid)
{
	for (size_t i = session->guests.count; i > 0; i--)
		if (session->guests.all[i - 1].injected->pid == pid)
			return session->guests.all[i - 1].injected;
	return NULL;
}

/* /proc still describes the program until it is waited for. */
static void look_at_zombie(struct session *session)
{
	siginfo_t ended = {0};

	if (waitid(P_PID, (id_t)session->child.pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    ended.si_pid)
		session->child.is_filtered = unrecorded_is_filtered((uint32_t)session->child.pid);
}

void session_reap_program(struct session *session)
{
	struct injected *injected;
	int status = 0;
	pid_t ended;

	if (!session->child.pid)
		return;
	look_at_zombie(session);
	ended = waitpid(session->child.pid, &status, WNOHANG);
	injected = ended > 0 ? find_guest(session, ended) : NULL;
	if (injected)
		injected->process->row.status = status;
	if (ended == session->child.pid || (ended < 0 && errno == ECHILD)) {
		session->result->program_status = status;
		session->child.pid = 0;
		session->ending = true;
	}
}

bool session_read_signals(struct session *session, int *ret_signal)
{
	struct signalfd_siginfo signal;
	bool asked = false;

	while (read(session->signal_fd, &signal, sizeof(signal)) == (ssize_t)sizeof(signal)) {
		if (signal.ssi_signo == SIGCHLD) {
			session_reap_program(session);
		} else {
			asked = true;
			*ret_signal = (int)signal.ssi_signo;
		}
	}
	return asked;
}

int session_open_signals(struct session *session)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	for (size_t i = 0; i < ARRAY_COUNT(ends); i++) {
		struct sigaction found;

		/* Ignored signals stay ignored, as under nohup or in a shell's background job. */
		if (sigaction(ends[i], NULL, &found) == 0 && found.sa_handler != SIG_IGN)
			sigaddset(&signals, ends[i]);
	}
	program_state_take(&session->child.state, &signals);
	session->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return session->signal_fd < 0 ? error_set(-errno, "signalfd: %s", strerror(errno)) : 0;
}

/* Sets the variables that a login sets, so that caches and settings are the user's own. The user
 * could not write root's. */
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

const char *session_seccomp_value(char *text, size_t size)
{
	int filters, mode = proc_seccomp((uint32_t)getpid(), &filters);

	if (filters < 0)
		snprintf(text, size, "%d", mode > 0 ? mode : 0);
	else
		snprintf(text, size, "%d:%d", mode > 0 ? mode : 0, filters);
	return text;
}

int session_prepare_environment(struct session *session)
{
	struct environment *environment = &session->environment;
	int error = set_up_user(environment, &session->options->user);
	char seccomp[32];
	bool is_armed;

	if (!error)
		error = session_arm_guests(session, &is_armed);
	if (error || !is_armed)
		return error;
	snprintf(session->child.mark, sizeof(session->child.mark), "%s=%s", SESSION_VARIABLE,
		 session->attach.addresses);
	session->recording.mark = session->child.mark;
	error = environment_set(environment, SESSION_VARIABLE, session->attach.addresses);
	return error ? error
		     : environment_set(environment, SESSION_SECCOMP_VARIABLE,
				       session_seccomp_value(seccomp, sizeof(seccomp)));
}

int session_start_program(struct session *session, int *ret_exec_error)
{
	struct program_options program = {
		.arguments = session->options->command,
		.environment = session->environment.entries,
		.state = &session->child.state,
		.user = session->options->user,
		.has_one_output = session->options->viewer_fd != 0,
		.on_forked = session_has_collectors(session) ? session_watch_program : NULL,
		.context = session,
	};
	int error;

	if (!session->options->command)
		return 0;
	error = program_start(&program, &session->child.pid, ret_exec_error);
	session->child.begun_pid = session->child.pid;
	session->result->has_program = error == 0;
	return error;
}

bool session_is_over(const struct session *session, uint64_t now_ns)
{
	return session->options->duration_ns &&
	       now_ns >= session->times.begin_ns + session->options->duration_ns;
}

void session_wait_for_program(struct session *session)
{
	struct pollfd waiting = {.fd = session->signal_fd, .events = POLLIN};

	session_reap_program(session);
	while (session->child.pid && !session->options->viewer_fd) {
		poll(&waiting, 1, -1);
		if (session_read_signals(session, &session->result->signal)) {
			session->result->interrupted = true;
			return;
		}
	}
}
