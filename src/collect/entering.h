/* SPDX-License-Identifier: MIT
 *
 * collect/entering.h - guests are brought into processes that run already, beside the recording
 */
#ifndef COLLECT_ENTERING_H
#define COLLECT_ENTERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct recording;
struct running;
struct session_options;

/* What became of one. */
struct entering_outcome {
	pid_t pid;
	int error;           /* -errno, and text says why */
	int32_t entered;     /* enum session_entered */
	uint64_t stopped_ns; /* for how long one of its threads was stopped */
	char text[512];
};

struct entering;
struct enterings {
	struct entering **all; /* owned; NULL: told and gone */
	size_t count;
};

/* For each process and each collector whose guest can be brought into it. addresses, filters: as DUET_SESSION and
 * DUET_SECCOMP. Why one cannot be is noted and told. */
void enterings_begin(struct enterings *enterings, struct recording *recording,
		     const struct session_options *session, const struct running *running,
		     const char *addresses, const char *filters);

/* Notes and tells those that are over. */
void enterings_look(struct enterings *enterings, struct recording *recording,
		    const struct session_options *session);

/* No more of them is wanted: waits until they have let go, some ms. One that has not after 2 s is left behind, with a
 * warning; the kernel ends it with the recorder. */
void enterings_end(struct enterings *enterings, struct recording *recording,
		   const struct session_options *session);

#endif
