/* SPDX-License-Identifier: MIT
 *
 * cli/remote/ssh.h - run scripts on another machine through the user's ssh
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/string.h"

enum { SSH_MAX_WORDS = 64, SSH_FAILED = 255 };

struct ssh {
	const char *host;
	char *text; /* the words of the command, owned */
	const char *words[SSH_MAX_WORDS];
	size_t words_count;
	char *control_path; /* our option among the words, owned; NULL: none */
	char folder[80];    /* holds the socket that our connections share; "": none */
	sigset_t mask;      /* signals that were blocked before */
};

struct ssh_process {
	pid_t pid;
	int in, out; /* our ends of pipes to its stdin and from its stdout; -1: none */
};

struct ssh_start {
	bool has_terminal;  /* -t */
	bool holds_signals; /* it gets no SIGINT, SIGTERM, SIGHUP and SIGQUIT */
	bool has_pipe_in, has_pipe_out;
	bool has_no_in, has_no_out; /* /dev/null; otherwise our own */
};

/* command: program and options, separated by spaces; NULL: $DUET_SSH or ssh. Blocks the signals
 * that end a process. Errors: -errno with the error chain. */
int ssh_init(struct ssh *ssh, const char *command, const char *host);
/* Ends the shared connection, and unblocks the signals: one that has arrived takes effect here. */
void ssh_fini(struct ssh *ssh);

/* Starts ssh with a command for the login shell there, which may be any shell: only plain
 * characters and single quotes. Errors: -errno with the error chain. */
int ssh_spawn(const struct ssh *ssh, const struct ssh_start *start, const char *command,
	      struct ssh_process *ret_process);
/* Closes the pipes. Returns the exit status, or 128 + signal. */
int ssh_wait(struct ssh_process *process);

/* The same; after limit_s the process is killed, and the status is SSH_FAILED. */
int ssh_wait_within(struct ssh_process *process, unsigned int limit_s);

/* Starts a script of sh(1) there. Its stdin is what is written to `in` next. Its stdout begins with
 * SSH_MARK, because start files of shells may print, too. */
#define SSH_MARK "duet-remote-begin\n"
int ssh_start_script(const struct ssh *ssh, const struct ssh_start *start, const char *script,
		     struct ssh_process *ret_process);

/* Runs a script with this stdin. ret_output: its stdout. Errors: -errno with the error chain;
 * -EREMOTEIO: its status was not 0, or the connection failed. */
int ssh_run(const struct ssh *ssh, const char *script, const void *bytes, size_t size,
	    struct string_builder *ret_output);

/* The same without stdin, for a connection that may be dead: gives up after limit_s. -ETIMEDOUT;
 * -EREMOTEIO without a message. */
int ssh_run_within(const struct ssh *ssh, const char *script, unsigned int limit_s,
		   struct string_builder *ret_output);

/* Reads up to and including SSH_MARK. -EREMOTEIO without a message: it did not come. */
int ssh_skip_to_mark(int fd);

/* Appends a word in quotes of sh(1). */
void ssh_append_quoted(struct string_builder *script, const char *word);
