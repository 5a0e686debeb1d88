/* SPDX-License-Identifier: MIT
 *
 * collect/collector.h - what a collector is: a source of events with a name
 */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/session.h"

struct collector_option {
	const char *name; /* NULL ends the table */
	const char *help;
};

struct recording;

/* One that works in the recorder's own loop. state: its own, from open to close. */
struct collector_work {
	uint64_t interval_ns; /* between two calls of drain, at most */
	/* Whether the user asked for what there is. Errors: -errno with the error chain; nothing is started. NULL: it
	 * always is. */
	int (*check)(const struct session_options *session);
	/* NULL in *ret_state: it was not chosen. Errors: -errno with the error chain; the recording goes on without. */
	int (*open)(struct recording *recording, const struct session_options *session,
		    void **ret_state);
	/* A process that is about to become the program. Errors: as open; it is closed. */
	int (*watch)(void *state, pid_t pid);
	void (*drain)(void *state);
	/* A descriptor that is readable where drain should be called sooner; -1: none is now. NULL: never. */
	int (*wake_fd)(void *state);
	/* All that has happened before now: somebody is about to ask. */
	void (*catch_up)(void *state);
	void (*each_second)(void *state, uint64_t now_ns);
	void (*close)(void *state); /* NULL-safe */
};

struct collector {
	const char *name; /* begins with its room: "opencl", "cpu", "system" … */
	const char *help;
	bool by_request; /* not part of the default */
	const struct collector_option *options;
	/* Switches the collector on (or, with on false, off) in the session's options; option: one of
	 * the table, or NULL. */
	void (*choose)(struct session_options *session, bool on, const char *option);
	bool (*is_chosen)(const struct session_options *session);
	const struct collector_work *work; /* NULL: guests do it */
};

/* All collectors, in the order in which they are listed. */
extern const struct collector *const collectors[];
extern const size_t collectors_count;
enum { COLLECTORS_MOST = 16 };

/* Applies --collect LIST ("opencl:host,-cpu"); NULL: the default of each. Errors: -EINVAL with what
 * exists in the error chain. */
int collectors_choose(const char *list, struct session_options *session);

#endif
