/* SPDX-License-Identifier: MIT
 *
 * collect/program.h - start the program that is to be recorded
 */
#ifndef COLLECT_PROGRAM_H
#define COLLECT_PROGRAM_H

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

/* Saves the state and sets the recorder's: the signals of `blocked` blocked, SIGXFSZ and SIGPIPE ignored,
 * files as large and descriptors as many as the hard limits allow. */
void program_state_take(struct program_state *state, const sigset_t *blocked);

/* Undoes it. */
void program_state_restore(const struct program_state *state);

struct program_options {
	char *const *arguments;            /* NULL-terminated */
	char *const *environment;          /* NULL-terminated */
	const struct program_state *state; /* what the recorder changed for itself and gives back */
	struct program_user user;          /* who runs it; not set: the recorder's own user */
	/* Called when the process is there, before it becomes the program. NULL: nobody. */
	void (*on_forked)(void *context, pid_t pid);
	void *context;
};

/* Errors: -errno with the error chain set. *ret_exec_error: the same where execve(2) said it (-ENOENT no
 * such program, else not executable); 0 where all went well or the trouble is our own (fork, setuid). */
int program_start(const struct program_options *options, pid_t *ret_pid, int *ret_exec_error);

/* Looks a user up. Errors: -ENOENT. */
int program_find_user(const char *name, struct program_user *ret_user);

/* What a guest cannot be loaded into, and why. */
enum program_kind {
	PROGRAM_ORDINARY,
	PROGRAM_STATIC,
	PROGRAM_OTHER_CLASS, /* 32-bit */
	PROGRAM_SETUID,
	PROGRAM_SANITIZED, /* a layer is fine, a preloaded library is not */
	PROGRAM_UNKNOWN    /* a script, or not readable */
};
enum program_kind program_kind_of(const char *name, bool look_for_sanitizer);

/* Whether the word stands anywhere in its file: the name of a library that it is linked to does. */
bool program_mentions(const char *name, const char *word);

/* One sentence about a kind, NULL for the ordinary. */
const char *program_kind_text(enum program_kind kind);

#endif
