/* SPDX-License-Identifier: MIT
 *
 * analyze/account.h - the account: a span of time, divided exactly
 *
 * The definition is docs/design/account.md, frozen with tests/golden/account.
 */
#ifndef ANALYZE_ACCOUNT_H
#define ANALYZE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/calls.h"
#include "analyze/crowd.h"
#include "analyze/dark.h"

enum account_class { ACCOUNT_KERNEL, ACCOUNT_COPY, ACCOUNT_OTHER, ACCOUNT_CLASS_COUNT };

enum account_cause {
	CAUSE_API_WAIT,
	CAUSE_API_CALL,
	CAUSE_ON_CPU,
	CAUSE_PREEMPTED,
	CAUSE_BLOCKED,
	CAUSE_HOST,
	CAUSE_DUET_ITSELF,
	CAUSE_RUNTIME,
	CAUSE_SUBMISSION,
	CAUSE_DEPENDENCY,
	CAUSE_LATENCY,
	CAUSE_NOTHING_TO_DO,
	CAUSE_UNKNOWN,
	CAUSE_COUNT
};
const char *account_cause_name(enum account_cause cause); /* "api_wait", …: for programs */
const char *account_cause_text(enum account_cause cause); /* "waiting in a call", …: for people */
/* What that is, in at most 32 columns: "clFinish and the like". */
const char *account_cause_meaning(enum account_cause cause);
/* Whether it is the state of the thread that will launch: "launching thread waiting in a call". */
bool account_cause_is_thread(enum account_cause cause);

/* A command that the device executed. All times in host ns. */
struct account_command {
	uint64_t started, ended; /* started <= ended */
	uint64_t correlation;
	uint32_t process;
	enum account_class class;
	uint32_t tag;  /* handed to on_share */
	uint32_t tag2; /* … */
	/* what is known of the way there */
	bool has_launch, has_queued, has_submitted;
	uint64_t enter, exit; /* of the launch */
	uint64_t queued, submitted;
	uint64_t dependency_end;   /* end of the latest wait-list entry that ended in (submitted,
				    started]; 0: none */
	const struct calls *calls; /* of the launching thread; NULL: not known */
	struct calls_sum at_enter; /* calls_until(calls, enter) */
	/* When it was off its processor outside of calls: wait_ns because it was preempted, call_ns because it
	 * was blocked. NULL: not known. */
	const struct calls *away;
	uint64_t watched_ns; /* known from then on */
	uint32_t thread;     /* handed to on_thread */
};

/* A stretch of time with one content. */
struct account_span {
	uint64_t begin, end;
	/* Of busy time that commands share: where all of their parts are, of which this is one; else begin and end. */
	uint64_t shared_begin, shared_end;
	bool is_busy;
	bool has_owner;           /* busy: always; idle: where the gap belongs to a command */
	uint32_t tag;             /* of the owner */
	enum account_cause cause; /* of idle time */
};

struct account_active;

struct account {
	uint64_t from, to;       /* the window; to is UINT64_MAX until it is known */
	bool has_causes;         /* idle time is split by cause: devices; not queues and contexts */
	const struct dark *dark; /* idle time in it is unknown; NULL: none is */
	/* called when a command's share of the busy time is complete */
	void (*on_share)(void *context, uint32_t tag, uint32_t tag2, uint64_t share_ns);
	/* called for each piece of idle time that belongs to a command */
	void (*on_idle)(void *context, uint32_t tag, enum account_cause cause, uint64_t idle_ns);
	/* called for [begin, end) of idle time of which is known when the launching thread was on its processor */
	int (*on_thread)(void *context, const struct account *account, uint32_t thread,
			 uint64_t begin, uint64_t end);
	/* called for [begin, end) of idle time in which the launching thread was in calls, for some of it at least */
	int (*on_calls)(void *context, const struct account *account, uint32_t thread,
			uint64_t begin, uint64_t end);
	/* called for each stretch of the window, in the order of time, without overlap or break. Time that commands
	 * share is told one behind the other, each as long as its share; what a crowd shares, several of its moments
	 * at once. */
	int (*on_span)(void *context, const struct account *account,
		       const struct account_span *span);
	void *context;
	uint64_t wall_ns, busy_ns, idle_ns; /* complete after account_finish */
	uint64_t classes[ACCOUNT_CLASS_COUNT];
	uint64_t causes[CAUSE_COUNT];
	uint64_t before[CAUSE_COUNT],
		after[CAUSE_COUNT]; /* of causes: before the first command, after
							     the last, and no command's */
	uint64_t commands;
	uint64_t last_end; /* the latest end of any command so far, in or out of the window */
	uint64_t cursor;   /* busy time is divided up to here */
	uint64_t told;     /* of a crowd's time: told up to here */
	size_t told_turns; /* … and that many stretches of it are not */
	int error;         /* of on_thread, on_calls or on_span; account_add returns it */
	uint64_t
		in_flight_from; /* enter of the earliest command in flight at the end; UINT64_MAX */
	struct account_active *active; /* sorted by (started, process, correlation) */
	size_t active_count, active_capacity;
	struct crowd crowd; /* all of them instead, where they are many */
};

void account_init(struct account *account, uint64_t from, uint64_t to, bool has_causes);
void account_fini(struct account *account); /* NULL-safe */

/* Commands come in the order (started, process, correlation). -ENOMEM. */
int account_add(struct account *account, const struct account_command *command);

/* A command entered at `enter` is in flight at the end: after the last end and from then on nobody
 * knows what the device did. */
void account_in_flight(struct account *account, uint64_t enter);

/* Divides the rest. The window ends at `to` where that is earlier than it was said to: no command
 * may be later than that. Errors: those of the callbacks. */
int account_finish(struct account *account, uint64_t to);

/* Where calls may be missing, nobody knows that a thread was outside of them. */
void account_forget_host(uint64_t causes[CAUSE_COUNT]);
/* Where switches may be missing, nobody knows what it did there. */
void account_forget_switches(uint64_t causes[CAUSE_COUNT]);

/* One of the parts that add up to the wall. */
struct account_part {
	bool is_busy;
	const char *what; /* "kernels", "copies", "other"; else account_cause_name */
	uint64_t time_ns;
};
/* false behind the last. */
bool account_part(const struct account *account, size_t index, struct account_part *ret_part);

/* wall = busy + idle, busy = its classes, idle = its causes: to the nanosecond. */
bool account_is_exact(const struct account *account);

#endif
