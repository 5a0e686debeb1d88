/* SPDX-License-Identifier: MIT
 *
 * collect/enter/inject_running.h - injects guests into running processes, in parallel to the
 * recording
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct recording;
struct running;
struct session_options;

/* The result of an injection. */
struct entering_outcome {
	pid_t pid;
	int error;           /* -errno, with the reason in `text` */
	int32_t entered;     /* enum session_entered */
	uint64_t stopped_ns; /* time for which the borrowed thread was stopped */
	char text[512];
};

struct entering;
struct enterings {
	struct entering **all; /* owned; NULL: reported and freed */
	size_t count;
};

/* Starts an injection for each process and each collector whose guest can be injected. addresses,
 * filters: values of DUET_SESSION and DUET_SECCOMP. Refusals are noted and printed. */
void enterings_begin(struct enterings *enterings, struct recording *recording,
		     const struct session_options *session, const struct running *running,
		     const char *addresses, const char *filters);

/* Notes and prints the results of finished injections. */
void enterings_look(struct enterings *enterings, struct recording *recording,
		    const struct session_options *session);

/* Cancels the remaining injections and waits until they have released their processes, which takes
 * some ms. One that has not after 2 s is abandoned with a warning; the kernel releases the process
 * when the recorder ends. */
void enterings_end(struct enterings *enterings, struct recording *recording,
		   const struct session_options *session);
