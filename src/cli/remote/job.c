/* SPDX-License-Identifier: MIT
 *
 * cli/remote/job.c - one run of duet on the other machine
 *
 * Runs in:  our own process
 * Gets:     the words for the verb there
 * Gives:    its exit status
 * Owns:     two ssh processes: one for the run, one for the guard that ends the recording
 * Fails:    -errno with the name of the machine; -ECONNRESET when the connection is lost
 * Why a guard: without a terminal, sshd ends nothing when a connection is lost. The guard reads
 *           names of signals from its stdin and sends them; when its stdin ends, because the
 *           connection or duet has ended, it ends the recording
 */
#include "cli/remote/job.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "base/string.h"

/* With this many signals the user gives up the connection. */
enum { SIGNALS_TO_LEAVE = 3 };

/* After the end of the connection: time to connect again and ask for the status, and for the guard
 * to end. */
enum { STATUS_S = 20, GUARD_S = 5 };

/* ---- preparation ----------------------------------------------------------------------------- */

/* stdin: the script to run ($size bytes), then the configuration. */
static const char prepare_script[] =
	"umask 077\n"
	"mkdir -p \"$cache/recordings\" &&\n"
	"job=$(mktemp -d \"$cache/recordings/$(date +%Y%m%d-%H%M%S).XXXXXX\") &&\n"
	"dd bs=1 count=$size >\"$job/run\" 2>/dev/null &&\n"
	"cat >\"$job/config\" || exit 1\n"
	"echo \"job $job\"\n";

/* The verb runs in a shell of its own, which leaves its pid. This shell survives the signals and
 * leaves the status. If it leads its process group, it leaves that, too: terminals send signals to
 * groups. */
static const char run_start[] = "job=${0%/*}\n"
				"trap : HUP INT QUIT TERM\n"
				"unset CDPATH\n"
				"read -r own_stat </proc/$$/stat\n";
static const char run_group[] = "set -- $own_stat\n"
				"[ \"$5\" = $$ ] && echo $$ >\"$job/group\"\n"
				"sh -c 'echo $$ >\"$0\"; exec \"$@\"' \"$job/pid\" ";
static const char run_end[] = "\nstatus=$?\n"
			      "echo $status >\"$job/status\"\n"
			      "exit $status\n";

static void append_folder(const struct remote_job *job, struct string_builder *script)
{
	const char *asked = job->arguments->values.folder;
	auto_free char *own = asked ? NULL : getcwd(NULL, 0);
	const int failed =
		job->command->remote->kind == REMOTE_RECORD ? RECORD_FAILED : STATUS_FAILED;

	string_builder_append(script, "cd -- ");
	ssh_append_quoted(script, asked ? asked : own ? own : "/nowhere");
	if (asked)
		string_builder_appendf(script, " || { echo >\"$job/status\" %d; exit %d; }\n",
				       failed, failed);
	else
		string_builder_append(script, " 2>/dev/null || cd\n");
}

bool remote_job_writes_here(const struct remote_job *job)
{
	const struct remote_arguments *arguments = job->arguments;

	if (job->command->remote->kind != REMOTE_WRITE)
		return false;
	return arguments->output ? strcmp(arguments->output, "-") != 0 : !arguments->prints;
}

/* The verb's options of this side are replaced by those for the job. */
static void append_verb(const struct remote_job *job, struct string_builder *script)
{
	const struct remote_arguments *arguments = job->arguments;
	const struct remote_way *way = job->command->remote;

	ssh_append_quoted(script, job->machine->duet);
	string_builder_appendf(script, " %s", job->command->name);
	for (size_t i = 0; i < arguments->options_count; i++) {
		string_builder_append_char(script, ' ');
		ssh_append_quoted(script, arguments->words[i]);
	}
	if (arguments->config)
		string_builder_append(script, " --config \"$job/config\"");
	if (way->kind == REMOTE_RECORD)
		string_builder_append(script, " --output \"$job/recording.duet\"");
	if (way->kind == REMOTE_RECORD && !arguments->has_archive)
		string_builder_append(script, " --archive");
	if (way->kind == REMOTE_WRITE && (arguments->output || !arguments->prints))
		string_builder_append(script, " --output -");
	if (arguments->has_separator || way->kind == REMOTE_RECORD)
		string_builder_append(script, arguments->trace ? " --" : "");
	for (size_t i = arguments->options_count; i < arguments->count; i++) {
		string_builder_append_char(script, ' ');
		ssh_append_quoted(script, arguments->words[i]);
	}
}

static void append_run(const struct remote_job *job, struct string_builder *script)
{
	if (remote_job_writes_here(job))
		string_builder_append(script, "echo duet-remote-begin\n");
	string_builder_append(script, run_start);
	append_folder(job, script);
	string_builder_append(script, run_group);
	append_verb(job, script);
	string_builder_append(script, run_end);
}

/* The script to run, and behind it the configuration file. */
static int make_input(const struct remote_job *job, struct string_builder *input, size_t *ret_size)
{
	const char *path = job->arguments->config;
	auto_free char *config = NULL;
	size_t size = 0;
	int error = path ? read_file(path, 0, &config, &size) : 0;

	if (error)
		return error;
	append_run(job, input);
	*ret_size = input->length;
	string_builder_append_bytes(input, config, size);
	return input->error ? error_set(-ENOMEM, "out of memory") : 0;
}

int remote_job_prepare(struct remote_job *job)
{
	struct string_builder input = {0}, script = {0}, output = {0};
	size_t size = 0;
	int error = make_input(job, &input, &size);

	string_builder_appendf(&script, "cache=%s\nsize=%zu\n%s", job->machine->cache, size,
			       prepare_script);
	if (!error)
		error = ssh_run(job->ssh, string_builder_text(&script), input.text, input.length,
				&output);
	if (!error && sscanf(string_builder_text(&output), "job %4095s", job->folder) != 1)
		error = error_set(-EREMOTEIO, "%s: no folder was made in '%s'", job->ssh->host,
				  job->machine->cache);
	string_builder_fini(&input);
	string_builder_fini(&script);
	string_builder_fini(&output);
	return error;
}

/* ---- the guard ------------------------------------------------------------------------------- */

/* A word "g:NAME" is for the process group, "NAME" for duet alone. */
static const char guard_script[] =
	"turn=0\n"
	"while [ ! -s \"$job/pid\" ] && [ ! -s \"$job/status\" ] && [ -d \"$job\" ] &&\n"
	"  [ $turn -lt 600 ]; do\n"
	"  sleep 0.1 2>/dev/null || sleep 1\n"
	"  turn=$((turn + 1))\n"
	"done\n"
	"pid=$(cat \"$job/pid\" 2>/dev/null) || exit\n"
	"send() { [ -s \"$job/status\" ] || kill -s \"$1\" -- \"$2\" 2>/dev/null; }\n"
	"while read -r word; do\n"
	"  case $word in\n"
	"  end) exit;;\n"
	"  g:*) group=$(cat \"$job/group\" 2>/dev/null) &&\n"
	"    send \"${word#g:}\" \"-$group\" || send \"${word#g:}\" \"$pid\";;\n"
	"  *) send \"$word\" \"$pid\";;\n"
	"  esac\n"
	"done\n"
	"send HUP \"$pid\"\n";

static int start_guard(const struct remote_job *job, struct ssh_process *ret_guard)
{
	const struct ssh_start start = {
		.has_pipe_in = true, .has_no_out = true, .holds_signals = true};
	struct string_builder script = {0};
	int error;

	string_builder_appendf(&script, "job=%s\n%s", job->folder, guard_script);
	error = script.error ? error_set(-ENOMEM, "out of memory")
			     : ssh_start_script(job->ssh, &start, string_builder_text(&script),
						ret_guard);
	string_builder_fini(&script);
	return error;
}

/* The guard's failure is noticed by the run, which has the same connection. */
static void send_word(const struct ssh_process *guard, const char *word)
{
	write_all(guard->in, word, strlen(word));
}

static const struct forwarded {
	int number;
	const char *name;
} forwarded[] = {{SIGHUP, "HUP"}, {SIGINT, "INT"}, {SIGQUIT, "QUIT"}, {SIGTERM, "TERM"}};

/* The kernel sends signals for keys of the terminal, to all processes of a group; so the program
 * gets them, too. */
static void forward_signal(const struct ssh_process *guard, const siginfo_t *about)
{
	char word[16];

	for (size_t i = 0; i < ARRAY_COUNT(forwarded); i++) {
		if (forwarded[i].number != about->si_signo)
			continue;
		snprintf(word, sizeof(word), "%s%s\n", about->si_code == SI_KERNEL ? "g:" : "",
			 forwarded[i].name);
		send_word(guard, word);
	}
}

/* ---- the run --------------------------------------------------------------------------------- */

/* A terminal is used if duet runs in its foreground. */
static bool has_terminal(bool needs_out)
{
	return isatty(STDIN_FILENO) && (!needs_out || isatty(STDOUT_FILENO)) &&
	       (!needs_out || isatty(STDERR_FILENO)) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static int start_run(const struct remote_job *job, bool has_pipe, struct ssh_process *ret_run)
{
	const struct ssh_start start = {
		.has_terminal = !has_pipe && has_terminal(true),
		.holds_signals = !has_pipe,
		.has_pipe_out = has_pipe,
		/* reading would stop a process in the background */
		.has_no_in = isatty(STDIN_FILENO) && !has_terminal(false),
	};
	auto_free char *command = NULL;

	if (asprintf(&command, "exec sh %s/run", job->folder) < 0)
		return error_set(-ENOMEM, "out of memory");
	return ssh_spawn(job->ssh, &start, command, ret_run);
}

/* Signals that were ignored when duet started stay so. */
static void choose_signals(sigset_t *ret_set)
{
	sigemptyset(ret_set);
	sigaddset(ret_set, SIGCHLD);
	for (size_t i = 0; i < ARRAY_COUNT(forwarded); i++) {
		struct sigaction action;

		if (sigaction(forwarded[i].number, NULL, &action) == 0 &&
		    action.sa_handler != SIG_IGN)
			sigaddset(ret_set, forwarded[i].number);
	}
}

/* The connection may be dead, so that nothing more is asked of it. */
static void leave_run(const struct ssh_process *run, const struct ssh_process *guard)
{
	kill(run->pid, SIGKILL);
	kill(guard->pid, SIGKILL);
}

/* Waits for the end of the run and passes signals on. modes: those of the terminal, NULL: none is
 * used. Returns its exit status, or -ECONNRESET if the user gave up the connection. */
static int watch_run(struct ssh_process *run, const struct ssh_process *guard,
		     const struct termios *modes)
{
	unsigned count = 0;
	sigset_t set, before;
	siginfo_t about, ended = {0};
	int status;

	choose_signals(&set);
	sigprocmask(SIG_BLOCK, &set, &before);
	while (waitid(P_PID, (id_t)run->pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       !ended.si_pid) {
		if (sigwaitinfo(&set, &about) < 0 || about.si_signo == SIGCHLD)
			continue;
		forward_signal(guard, &about);
		if (++count == SIGNALS_TO_LEAVE)
			leave_run(run, guard);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	status = ssh_wait(run);
	if (count < SIGNALS_TO_LEAVE)
		return status;
	if (modes) /* ssh cannot restore them when it is killed */
		tcsetattr(STDIN_FILENO, TCSANOW, modes);
	return -ECONNRESET;
}

/* Copies the stdout of the run. -errno with the error chain. */
static int copy_output(const struct remote_job *job, int fd, FILE *out)
{
	char piece[1 << 16];
	ssize_t count;

	if (ssh_skip_to_mark(fd))
		return 0; /* the status has the reason */
	while ((count = read(fd, piece, sizeof(piece))) != 0) {
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return error_set(-errno, "%s: %s", job->ssh->host, strerror(errno));
		if (fwrite(piece, 1, (size_t)count, out) != (size_t)count)
			return error_set(-errno, "write: %s", strerror(errno));
	}
	return 0;
}

/* The status that the shell there left; ssh's own is ambiguous: 255 may be the program's. If the
 * connection is lost, another one may wait forever. */
static int read_status(struct remote_job *job, int *ret_status)
{
	struct string_builder script = {0}, output = {0};
	int error;

	string_builder_appendf(&script, "cat %s/status 2>/dev/null || :\n", job->folder);
	error = ssh_run_within(job->ssh, string_builder_text(&script), STATUS_S, &output);
	if (!error && sscanf(string_builder_text(&output), "%d", ret_status) != 1)
		error = -ENODATA;
	string_builder_fini(&script);
	string_builder_fini(&output);
	return error;
}

/* Waits for the run, and finds out whether the connection lasted. -ECONNRESET: it did not; then the
 * end of the guard's stdin ends the recording. */
static int finish_run(struct remote_job *job, struct ssh_process *run,
		      const struct ssh_process *guard, const struct termios *modes, int *ret_status)
{
	int status = watch_run(run, guard, modes);

	if (status == -ECONNRESET ||
	    ((status == SSH_FAILED || status > 128) && read_status(job, &status))) {
		error_clear();
		return error_set(-ECONNRESET, "%s: the connection was lost; %s", job->ssh->host,
				 job->command->remote->kind == REMOTE_RECORD
					 ? "the recording there ends now"
					 : "try again");
	}
	send_word(guard, "end\n");
	*ret_status = status;
	return 0;
}

int remote_job_run(struct remote_job *job, FILE *out, int *ret_status)
{
	struct ssh_process guard, run;
	struct termios modes;
	const bool has_modes = has_terminal(true) && tcgetattr(STDIN_FILENO, &modes) == 0;
	int copied = 0, error = start_guard(job, &guard);

	if (error)
		return error;
	error = start_run(job, out != NULL, &run);
	if (!error && out)
		copied = copy_output(job, run.out, out);
	if (copied)
		kill(run.pid, SIGTERM);
	if (copied)
		ssh_wait(&run);
	else if (!error)
		error = finish_run(job, &run, &guard, has_modes ? &modes : NULL, ret_status);
	if (error == -ECONNRESET)
		ssh_wait_within(&guard, GUARD_S);
	else
		ssh_wait(&guard);
	return copied ? copied : error;
}

int remote_job_remove(struct remote_job *job)
{
	struct string_builder script = {0}, output = {0};
	int error;

	string_builder_appendf(&script, "rm -rf %s\n", job->folder);
	error = ssh_run(job->ssh, string_builder_text(&script), NULL, 0, &output);
	string_builder_fini(&script);
	string_builder_fini(&output);
	return error;
}
