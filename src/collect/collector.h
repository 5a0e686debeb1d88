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

#include "collect/injected.h"
#include "collect/session.h"

struct collector_option {
	const char *name; /* NULL ends the table */
	const char *help;
};

/* Of a collector that is chosen by how often it reads: NAME, NAME:HZ. */
struct collector_rate {
	size_t offset; /* of a uint32_t of the session's options; 0 in it: it is not chosen */
	uint32_t usual_hz, most_hz;
};

/* A library for a process, and the function of it that is called there: int (const char *argument), whose argument is as
 * ring/session.h says and whose result is an enum session_entered. */
struct collector_guest {
	const char *path, *entry;
};

struct entering_outcome;
struct environment;
struct source_list;
struct recording;

/* One that works in the recorder's own loop. state: its own, from open to close. */
struct collector_work {
	/* Whether the user asked for what there is. Errors: -errno with the error chain; nothing is started. NULL: it
	 * always is. */
	int (*check)(const struct session_options *session);
	/* NULL in *ret_state: it was not chosen. Errors: -errno with the error chain; the recording goes on without. */
	int (*open)(struct recording *recording, const struct session_options *session,
		    void **ret_state);
	/* A process that is about to become the program. Errors: as open; it is closed. */
	int (*watch)(void *state, pid_t pid);
	/* A running process. pid_fd: says whether the number is still its own; -1: the kernel has none. Errors: -ESRCH
	 * where it has ended; else as watch. */
	int (*attach)(void *state, pid_t pid, int pid_fd);
	/* Can be read from when drain should be called before its time; -1: nothing says so. */
	int (*descriptor)(const void *state);
	/* Up to the next call of drain, at most. */
	uint64_t (*interval_ns)(const void *state);
	void (*drain)(void *state);
	/* All that has happened before now: somebody is about to ask. */
	void (*catch_up)(void *state);
	void (*each_second)(void *state, uint64_t now_ns);
	void (*close)(void *state); /* NULL-safe */
};

struct collector {
	const char *name; /* begins with its room: "opencl", "cpu", "system" … */
	const char *help;
	const char *guest;   /* as which its guests say hello; NULL: it has none */
	uint32_t ring_bytes; /* for a thread of such a guest: a power of two; 0: as usual */
	const char *
		runtime; /* whose calls such a guest records: "ROCm"; NULL: OpenCL's, or no runtime's */
	explain_refusal *explain; /* what such a guest was refused; NULL: it is refused nothing */
	bool needs_program;       /* of a recording of all programs (-a) it is no default */
	/* … and of one such it is none at all, unless this says so. NULL: it does not. */
	bool (*can_do_all)(const struct session_options *session);
	bool by_request;                   /* it is never one */
	const struct collector_rate *rate; /* NULL: it is chosen by choose alone */
	const struct source_list *sources; /* of counters; NULL: it counts nothing */
	const struct collector_option *options;
	bool (*has_option)(const char *option); /* beside those of the table; NULL: no others */
	/* One with a value behind it: 0, -ENOENT: it is none, -EINVAL with what can be said in the error chain. NULL: there
	 * are none. */
	int (*check_option)(const char *option);
	/* Switches the collector on (or, with on false, off) in the session's options; option: one of
	 * the table, or NULL. With a rate: what beside the rate is chosen; NULL: nothing. */
	void (*choose)(struct session_options *session, bool on, const char *option);
	bool (*is_chosen)(const struct session_options *session); /* NULL: its rate says it */
	/* Whether it is chosen where the user says nothing; NULL: yes. */
	bool (*is_default)(void);
	/* When all choices are made: what else the user has said. is_named: the collector was asked for by its name. Errors:
	 * -errno with the error chain. NULL: nothing. */
	int (*settle)(struct session_options *session, bool is_named);
	/* Has the program that will be started load the guest, and notes what it cannot. Errors: -ENOMEM. NULL: session.c
	 * does, or there is none. */
	int (*arm)(struct recording *recording, const struct session_options *session,
		   struct environment *environment, bool *ret_armed);
	/* Whether the guest is to be brought into a process that runs (-p). is_alone: nobody has looked for another one in
	 * its stead, so that a process without the runtime is to be said. False: it is not, and ret_why says why; "": that
	 * needs no saying. NULL: it never is. */
	bool (*enter)(const struct session_options *session, pid_t pid, bool is_alone,
		      struct collector_guest *ret_guest, char *ret_why, size_t size);
	/* What became of it, as a sentence. Returns the collector's state with that. */
	uint32_t (*entered)(const struct session_options *session,
			    const struct entering_outcome *outcome, char *ret_text, size_t size);
	/* When all is recorded: why nothing of a runtime was, which the user may miss though the collector was armed or not
	 * asked for at all. has_device: one was seen. False: there is nothing to say. NULL: never. */
	bool (*tell_missing)(const struct session_options *session, bool has_guest, bool has_device,
			     char *ret_text, size_t size);
	const struct collector_work *work; /* NULL: guests do it */
};

/* All collectors, in the order in which they are listed. */
extern const struct collector *const collectors[];
extern const size_t collectors_count;
enum { COLLECTORS_MOST = 16 };

bool collector_is_chosen(const struct collector *collector, const struct session_options *session);

/* Applies --collect LIST ("opencl:host,-cpu"); NULL: the default of each, which looks at session->any. beside: a list of
 * what is chosen in addition, which puts nothing out; NULL: nothing. Errors: -EINVAL with what exists in the error
 * chain. */
int collectors_choose(const char *list, const char *beside, struct session_options *session);

/* Whether one word may stand in such a list. Errors: -EINVAL as above. */
int collectors_check(const char *word);

#endif
