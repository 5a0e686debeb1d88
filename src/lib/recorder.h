/* SPDX-License-Identifier: MIT
 *
 * lib/recorder.h - a recorder started by the program, from its start to its end
 *
 * Runs in:  the user's program
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/spawn.h"
#include "ring/session.h"

#pragma GCC visibility push(hidden)

/* All zero: none. Both descriptors close at exec. A forked child must not close them: it may have
 * done so already, and these numbers may be other files there. */
struct recorder {
	int control_fd; /* owned; our end of the socket pair described in ring/session.h */
	int text_fd;    /* owned; the file that is the recorder's stderr */
	uint32_t pid;   /* 0: none */
	struct spawn_keeper keeper;
};

struct recorder_options {
	const char *config, *output; /* "": not given */
	uint32_t turn; /* 1: the first of this handle; later ones write separate files */
};

/* The recorder's message, or ours if it wrote none: one line. */
struct recorder_text {
	char text[400];
};

/* Starts a recorder and waits until it records. Errors: as duet_start, with *ret_text. */
int recorder_start(struct recorder *recorder, const struct recorder_options *options,
		   char ret_names[SESSION_NAMES_BYTES], struct recorder_text *ret_text);

/* Stops it and waits for its file; all zero afterwards. Errors: as duet_stop, with *ret_text. */
int recorder_stop(struct recorder *recorder, struct recorder_text *ret_text);

/* False: it has ended, or died. */
bool recorder_is_there(const struct recorder *recorder);

#pragma GCC visibility pop
