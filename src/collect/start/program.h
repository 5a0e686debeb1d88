/* SPDX-License-Identifier: MIT
 *
 * collect/start/program.h - starts the profiled program
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct program_user {
	bool set;
	uid_t uid;
	gid_t gid;
	char name[64], home[4096];
};

/* The signal mask, dispositions and limits the program would have had without duet. */
struct program_state {
	sigset_t mask;
	struct sigaction file_size, broken_pipe, child; /* SIGXFSZ, SIGPIPE, SIGCHLD */
	struct rlimit file_limit;                       /* RLIMIT_FSIZE */
	struct rlimit descriptor_limit;                 /* RLIMIT_NOFILE */
};

/* Saves the state and sets the recorder's: blocks the signals of `blocked`, ignores SIGXFSZ and
 * SIGPIPE, raises RLIMIT_FSIZE and RLIMIT_NOFILE to their hard limits. */
void program_state_take(struct program_state *state, const sigset_t *blocked);

/* Restores the saved state. */
void program_state_restore(const struct program_state *state);

struct program_options {
	char *const *arguments;            /* NULL-terminated */
	char *const *environment;          /* NULL-terminated */
	const struct program_state *state; /* saved by program_state_take; restored in the child */
	struct program_user user;          /* the program's user; not set: the recorder's user */
	bool has_one_output;               /* its stderr is the recorder's stdout */
	/* Called after the fork, before the child executes the program. NULL: no call. */
	void (*on_forked)(void *context, pid_t pid);
	void *context;
};

/* Errors: -errno with the error chain set. *ret_exec_error: the error of execve(2) (-ENOENT: no
 *         such program, otherwise not executable); 0 on success, or if a step of duet failed (fork,
 *         setuid). */
int program_start(const struct program_options *options, pid_t *ret_pid, int *ret_exec_error);

/* Looks a user up. Errors: -ENOENT. */
int program_find_user(const char *name, struct program_user *ret_user);

/* Kind of a program file: whether a guest can be loaded into it, and why not. */
enum program_kind {
	PROGRAM_ORDINARY,
	PROGRAM_STATIC,
	PROGRAM_OTHER_CLASS, /* 32-bit */
	PROGRAM_SETUID,
	PROGRAM_SANITIZED, /* accepts an OpenCL layer, but no preloaded library */
	PROGRAM_UNKNOWN    /* a script, or not readable */
};
enum program_kind program_kind_of(const char *name, bool look_for_sanitizer);

/* Whether the program's file contains the word. It contains, for example, the names of the
 * libraries that it is linked to. */
bool program_mentions(const char *name, const char *word);

/* The reason why no guest can be loaded; NULL for ordinary and unknown programs. */
const char *program_kind_text(enum program_kind kind);
