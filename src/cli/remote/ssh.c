/* SPDX-License-Identifier: MIT
 *
 * cli/remote/ssh.c - run scripts on another machine through the user's ssh
 *
 * Runs in:  our own process
 * Gets:     the name of a machine, and scripts
 * Gives:    the output and status of the scripts
 * Owns:     the ssh processes until ssh_wait, and the folder of the shared connection
 * Fails:    -errno with the name of the machine; ssh prints its own reason on stderr
 * Why:      a script is sent through stdin, because the login shell there (csh, fish) may have
 *           other quotes than sh. dd reads it byte by byte, so that the rest of stdin is left for
 *           the script's commands
 */
#include "cli/remote/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock_ns.h"
#include "base/error.h"
#include "base/io.h"

extern char **environ;

#define SECOND_NS UINT64_C(1000000000)

/* The shared connection is asked for at most this long. */
enum { CONTROL_S = 10 };

static const int ending_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/* ---- the command ----------------------------------------------------------------------------- */

static int split_words(struct ssh *ssh, const char *command)
{
	char *rest = NULL, *word;

	ssh->text = strdup(command);
	if (!ssh->text)
		return error_set(-ENOMEM, "out of memory");
	for (word = strtok_r(ssh->text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		/* with room for our own options */
		if (ssh->words_count == SSH_MAX_WORDS / 2)
			return error_set(-E2BIG, "the command of ssh has more than %d words",
					 SSH_MAX_WORDS / 2);
		ssh->words[ssh->words_count++] = word;
	}
	if (!ssh->words_count)
		return error_set(-EINVAL, "the command of ssh is empty; unset DUET_SSH");
	return 0;
}

static void add_word(struct ssh *ssh, const char *word)
{
	ssh->words[ssh->words_count++] = word;
}

/* Waits for at most limit_s, then kills the process. Returns its wait status. */
static int wait_within(pid_t pid, unsigned int limit_s)
{
	static const struct timespec pause = {.tv_nsec = 10000000};
	const uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + limit_s * SECOND_NS;
	int status = 0;
	pid_t ended = 0;

	while (!ended && clock_ns(CLOCK_MONOTONIC) < end_ns) {
		ended = waitpid(pid, &status, WNOHANG);
		if (!ended)
			nanosleep(&pause, NULL);
	}
	if (ended)
		return status;
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return SSH_FAILED << 8;
}

/* Runs ssh itself for its shared connection: "check" or "exit". Returns the exit status. */
static int control(const struct ssh *ssh, const char *order)
{
	struct ssh copy = *ssh;
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status = -1;

	add_word(&copy, "-O");
	add_word(&copy, order);
	add_word(&copy, "--");
	add_word(&copy, ssh->host);
	add_word(&copy, NULL);
	posix_spawn_file_actions_init(&actions);
	for (int fd = 0; fd <= 2; fd++)
		posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	if (posix_spawnp(&pid, copy.words[0], &actions, NULL, (char **)copy.words, environ) == 0)
		status = wait_within(pid, CONTROL_S);
	posix_spawn_file_actions_destroy(&actions);
	return status;
}

/* A folder of the user alone, because the socket gives access to the other machine. The path of a
 * socket has at most 107 bytes, of which ssh needs 19. */
static bool make_folder(struct ssh *ssh, const char *above)
{
	int length;

	if (!above || !*above)
		return false;
	length = snprintf(ssh->folder, sizeof(ssh->folder), "%s/duet-ssh.XXXXXX", above);
	if (length > 0 && (size_t)length < sizeof(ssh->folder) && mkdtemp(ssh->folder))
		return true;
	ssh->folder[0] = '\0';
	return false;
}

/* A dead network is noticed after a minute, by the connection that is made first. For options ssh
 * uses the first value, so that those in the user's own command win. */
static void watch_connection(struct ssh *ssh)
{
	add_word(ssh, "-o");
	add_word(ssh, "ServerAliveInterval=20");
	add_word(ssh, "-o");
	add_word(ssh, "ServerAliveCountMax=3");
}

/* A connection that the user shares already is used; otherwise we share one of our own, which ends
 * a minute after the last use if duet is killed. */
static int share_connection(struct ssh *ssh)
{
	if (control(ssh, "check") == 0)
		return 0;
	watch_connection(ssh);
	if (!make_folder(ssh, getenv("XDG_RUNTIME_DIR")) && !make_folder(ssh, "/tmp"))
		return 0;
	if (asprintf(&ssh->control_path, "ControlPath=%s/s", ssh->folder) < 0) {
		ssh->control_path = NULL;
		return error_set(-ENOMEM, "out of memory");
	}
	add_word(ssh, "-o");
	add_word(ssh, ssh->control_path);
	add_word(ssh, "-o");
	add_word(ssh, "ControlMaster=auto");
	add_word(ssh, "-o");
	add_word(ssh, "ControlPersist=60");
	return 0;
}

static void block_signals(sigset_t *ret_before)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_COUNT(ending_signals); i++)
		sigaddset(&set, ending_signals[i]);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, ret_before);
}

int ssh_init(struct ssh *ssh, const char *command, const char *host)
{
	int error;

	*ssh = (struct ssh){.host = host};
	block_signals(&ssh->mask);
	if (!command)
		command = getenv("DUET_SSH");
	error = split_words(ssh, command ? command : "ssh");
	return error ? error : share_connection(ssh);
}

static void drop_broken_pipes(void)
{
	static const struct timespec now;
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	while (sigtimedwait(&pipe, NULL, &now) > 0)
		;
}

void ssh_fini(struct ssh *ssh)
{
	char socket[sizeof(ssh->folder) + 2];

	if (ssh->folder[0]) {
		control(ssh, "exit");
		snprintf(socket, sizeof(socket), "%s/s", ssh->folder);
		unlink(socket);
		rmdir(ssh->folder);
	}
	free(ssh->control_path);
	free(ssh->text);
	ssh->control_path = ssh->text = NULL;
	drop_broken_pipes();
	sigprocmask(SIG_SETMASK, &ssh->mask, NULL);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Ends of pipes: [0] is read, [1] is written. */
struct pipes {
	int in[2], out[2];
};

static void close_pair(int pair[2])
{
	for (int i = 0; i < 2; i++)
		if (pair[i] >= 0)
			close(pair[i]);
}

static int open_pipes(const struct ssh_start *start, struct pipes *pipes)
{
	*pipes = (struct pipes){.in = {-1, -1}, .out = {-1, -1}};
	if ((start->has_pipe_in && pipe2(pipes->in, O_CLOEXEC)) ||
	    (start->has_pipe_out && pipe2(pipes->out, O_CLOEXEC))) {
		int error = -errno;

		close_pair(pipes->in);
		return error_set(error, "pipe: %s", strerror(-error));
	}
	return 0;
}

static void set_actions(const struct ssh_start *start, const struct pipes *pipes,
			posix_spawn_file_actions_t *actions)
{
	posix_spawn_file_actions_init(actions);
	if (start->has_pipe_in)
		posix_spawn_file_actions_adddup2(actions, pipes->in[0], STDIN_FILENO);
	else if (start->has_no_in)
		posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (start->has_pipe_out)
		posix_spawn_file_actions_adddup2(actions, pipes->out[1], STDOUT_FILENO);
	else if (start->has_no_out)
		posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
}

/* A mask survives exec, and ssh does not unblock signals. So Ctrl-C reaches duet alone, which
 * decides when the connection ends. */
static void set_attributes(const struct ssh *ssh, const struct ssh_start *start,
			   posix_spawnattr_t *attributes)
{
	sigset_t mask = ssh->mask;

	for (size_t i = 0; start->holds_signals && i < ARRAY_COUNT(ending_signals); i++)
		sigaddset(&mask, ending_signals[i]);
	posix_spawnattr_init(attributes);
	posix_spawnattr_setsigmask(attributes, &mask);
	posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK);
}

int ssh_spawn(const struct ssh *ssh, const struct ssh_start *start, const char *command,
	      struct ssh_process *ret_process)
{
	struct ssh copy = *ssh;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	struct pipes pipes;
	pid_t pid;
	int error = open_pipes(start, &pipes);

	if (error)
		return error;
	add_word(&copy, start->has_terminal ? "-t" : "-T");
	if (start->has_terminal) { /* not: "Shared connection closed" */
		add_word(&copy, "-o");
		add_word(&copy, "LogLevel=ERROR");
	}
	add_word(&copy, "--");
	add_word(&copy, ssh->host);
	add_word(&copy, command);
	add_word(&copy, NULL);
	set_actions(start, &pipes, &actions);
	set_attributes(ssh, start, &attributes);
	error = posix_spawnp(&pid, copy.words[0], &actions, &attributes, (char **)copy.words,
			     environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (error) {
		close_pair(pipes.in);
		close_pair(pipes.out);
		return error_set(-error,
				 "'%s': %s; install openssh-client, or name the program by --ssh "
				 "or DUET_SSH",
				 copy.words[0], strerror(error));
	}
	if (pipes.in[0] >= 0)
		close(pipes.in[0]);
	if (pipes.out[1] >= 0)
		close(pipes.out[1]);
	*ret_process = (struct ssh_process){.pid = pid, .in = pipes.in[1], .out = pipes.out[0]};
	return 0;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int ssh_wait(struct ssh_process *process)
{
	int status = 0;

	close_end(&process->in);
	close_end(&process->out);
	while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
		;
	process->pid = -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int ssh_wait_within(struct ssh_process *process, unsigned int limit_s)
{
	int status;

	close_end(&process->in);
	close_end(&process->out);
	status = wait_within(process->pid, limit_s);
	process->pid = -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- scripts --------------------------------------------------------------------------------- */

void ssh_append_quoted(struct string_builder *script, const char *word)
{
	static const struct byte_escape escapes[] = {{'\'', "'\\''"}, {0}};

	string_builder_append_char(script, '\'');
	string_builder_append_escaped(script, word, strlen(word), escapes);
	string_builder_append_char(script, '\'');
}

int ssh_start_script(const struct ssh *ssh, const struct ssh_start *start, const char *script,
		     struct ssh_process *ret_process)
{
	struct string_builder whole = {0};
	char command[128];
	int error;

	string_builder_appendf(&whole, "echo duet-remote-begin\n%s", script);
	snprintf(command, sizeof(command), "exec sh -c 'eval \"$(dd bs=1 count=%zu 2>/dev/null)\"'",
		 whole.length);
	error = whole.error ? error_set(-ENOMEM, "out of memory")
			    : ssh_spawn(ssh, start, command, ret_process);
	/* A failure to write is one of ssh, which its exit status reports. */
	if (!error)
		write_all(ret_process->in, whole.text, whole.length);
	string_builder_fini(&whole);
	return error;
}

int ssh_skip_to_mark(int fd)
{
	static const char mark[] = SSH_MARK;
	size_t matched = 0;
	char byte;

	/* The first letter of the mark does not occur in it again. */
	while (matched < strlen(mark)) {
		if (read_all(fd, &byte, 1))
			return -EREMOTEIO;
		if (byte == mark[matched])
			matched++;
		else
			matched = byte == mark[0];
	}
	return 0;
}

static int read_output(int fd, struct string_builder *output)
{
	size_t size;
	char *bytes;
	int error = read_fd(fd, 0, &bytes, &size);

	if (error)
		return error;
	string_builder_append_bytes(output, bytes, size);
	free(bytes);
	return 0;
}

int ssh_run(const struct ssh *ssh, const char *script, const void *bytes, size_t size,
	    struct string_builder *ret_output)
{
	const struct ssh_start start = {.has_pipe_in = true, .has_pipe_out = true};
	struct ssh_process process;
	int status, error = ssh_start_script(ssh, &start, script, &process);

	if (error)
		return error;
	write_all(process.in, bytes, size);
	close_end(&process.in);
	error = ssh_skip_to_mark(process.out);
	if (!error)
		error = read_output(process.out, ret_output);
	status = ssh_wait(&process);
	if (status == SSH_FAILED)
		return error_set(-EREMOTEIO, "%s: ssh failed; try: ssh %s true", ssh->host,
				 ssh->host);
	if (status)
		return error_set(-EREMOTEIO, "%s: a command failed there with status %d", ssh->host,
				 status);
	if (error)
		return error_set(-EREMOTEIO, "%s: no shell answered; try: ssh %s true", ssh->host,
				 ssh->host);
	return 0;
}

/* Reads up to the end of file. -ETIMEDOUT. */
static int read_until(int fd, uint64_t end_ns, struct string_builder *output)
{
	char piece[4096];
	ssize_t count = 1;

	while (count > 0) {
		const uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
		struct pollfd input = {.fd = fd, .events = POLLIN};

		if (now_ns >= end_ns)
			return -ETIMEDOUT;
		if (poll(&input, 1, (int)((end_ns - now_ns) / 1000000) + 1) <= 0)
			continue;
		count = read(fd, piece, sizeof(piece));
		if (count > 0)
			string_builder_append_bytes(output, piece, (size_t)count);
	}
	return output->error ? -ENOMEM : 0;
}

int ssh_run_within(const struct ssh *ssh, const char *script, unsigned int limit_s,
		   struct string_builder *ret_output)
{
	const struct ssh_start start = {.has_pipe_in = true, .has_pipe_out = true};
	const uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + limit_s * SECOND_NS;
	struct string_builder all = {0};
	struct ssh_process process;
	const char *mark;
	int status, error = ssh_start_script(ssh, &start, script, &process);

	if (error)
		return error;
	close_end(&process.in);
	error = read_until(process.out, end_ns, &all);
	if (error)
		kill(process.pid, SIGKILL);
	status = ssh_wait_within(&process, limit_s);
	mark = error ? NULL : strstr(string_builder_text(&all), SSH_MARK);
	if (mark)
		string_builder_append(ret_output, mark + strlen(SSH_MARK));
	else if (!error)
		error = -EREMOTEIO;
	string_builder_fini(&all);
	return error ? error : status ? -EREMOTEIO : 0;
}
