/* SPDX-License-Identifier: MIT
 *
 * analyze/account/account.h - the account: divides a device's wall time exactly into busy and idle
 * parts
 *
 * docs/design/account.md defines it; tests/golden/account fixes its results.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/account/calls.h"
#include "analyze/account/fair_share.h"
#include "analyze/account/untimed_intervals.h"

enum account_class { ACCOUNT_KERNEL, ACCOUNT_COPY, ACCOUNT_OTHER, ACCOUNT_CLASS_COUNT };

enum account_cause {
	CAUSE_API_WAIT,
	CAUSE_API_CALL,
	CAUSE_ON_CPU,
	CAUSE_PREEMPTED,
	CAUSE_BLOCKED,
	CAUSE_HOST,
	CAUSE_DUET_ITSELF,
	CAUSE_PROFILER_OVERHEAD,
	CAUSE_RUNTIME,
	CAUSE_SUBMISSION,
	CAUSE_DEPENDENCY,
	CAUSE_LATENCY,
	CAUSE_NOTHING_TO_DO,
	CAUSE_UNKNOWN,
	CAUSE_COUNT
};
const char *account_cause_name(enum account_cause cause); /* "api_wait", …: JSON key */
const char *account_cause_text(enum account_cause cause); /* "waiting in a call", …: text */
/* An explanation of the cause, such as "until launched work is done"; at most 49 columns. */
const char *account_cause_meaning(enum account_cause cause);
/* Whether the cause is a state of the thread that launches next, as in "launching thread waiting in
 * a call". */
bool account_cause_is_thread(enum account_cause cause);

/* A command that the device executed. All times in host ns. */
struct account_command {
	uint64_t started, ended; /* started <= ended */
	uint64_t correlation;
	uint32_t process;
	enum account_class class;
	uint32_t tag;  /* passed to on_share and on_idle */
	uint32_t tag2; /* passed to on_share */
	/* the command's times before its start, as far as known */
	bool has_launch, has_queued, has_submitted;
	bool has_call;        /* a recorded function launched it; imported launches may lack one */
	uint64_t enter, exit; /* the launch's */
	/* Overheads of a profiler in the launching thread, and nothing else; NULL: none. */
	const struct calls *overheads;
	/* A part of that call in which the command buffer was full; 0, 0: none. */
	uint64_t full_begin, full_end;
	uint64_t queued, submitted;
	uint64_t dependency_end;   /* end of the latest wait-list entry that ended in (exit,
				    started]; 0: none */
	uint32_t awaited;          /* passed to on_idle: that entry */
	uint32_t waited;           /* passed to on_idle */
	const struct calls *calls; /* the launching thread's; NULL: not known */
	struct calls_sum at_enter; /* calls_until(calls, enter) */
	/* When that thread was off its processor outside of calls. wait_ns: preempted; call_ns:
	 * blocked; duet_ns: not known whether it was. NULL: not known. */
	const struct calls *away;
	uint64_t watched_ns; /* `away` is known from then on */
	uint32_t thread;     /* passed to on_thread and on_calls */
};

/* A part of an idle gap that is explained by what a thread did. */
struct account_piece {
	uint64_t begin, end;
	uint32_t thread; /* the command's */
	/* CAUSE_HOST: each state of the thread has a cause of its own. CAUSE_NOTHING_TO_DO: all
	 * time outside of calls has this cause, and with is_after the time in calls too. */
	enum account_cause rest;
	bool is_after; /* after the last command */
	bool is_steady, is_slowest;
};

/* A part of a device's window: the one in which its program is in its main loop, or the slowest
 * iteration of this loop. */
struct account_steady {
	/* Limits that the caller gives: 0 and UINT64_MAX, or the iterations of the program. For the
	 * slowest iteration: its begin and end, or 0 and 0. */
	uint64_t from, to;
	/* Result: from the start of the first command to the end of the last one, inside of these
	 * limits and of the window. */
	uint64_t begin, end;
	uint64_t busy_ns;
	/* The idle time by cause. Time after the launching call of a command without a known
	 * submission is CAUSE_LATENCY here, and CAUSE_UNKNOWN in the account. */
	uint64_t causes[CAUSE_COUNT];
};

/* An interval of busy time of one command, or of idle time with one cause. */
struct account_span {
	uint64_t begin, end;
	/* For busy time that commands share: the whole interval that they share, of which this is
	 * one part. Otherwise begin and end. */
	uint64_t shared_begin, shared_end;
	bool is_busy;
	bool has_owner;           /* always if busy; if idle, the gap belongs to a command */
	uint32_t tag;             /* the owner's */
	enum account_cause cause; /* for idle time */
};

/* Idle time of one cause. */
struct account_idle {
	enum account_cause cause;
	enum account_cause finer; /* as in account_steady.causes */
	uint64_t ns;
	bool is_steady, is_slowest;
	bool is_full;             /* CAUSE_RUNTIME: the command buffer was full */
	uint32_t awaited, waited; /* the command's */
};

struct account_active;

struct account {
	uint64_t from, to; /* the window; to is UINT64_MAX until it is known */
	bool has_causes;   /* idle time is split by cause: devices; not queues and contexts */
	const struct untimed_intervals
		*untimed; /* idle time in it has CAUSE_UNKNOWN; NULL: no such time */
	/* called when a command's share of the busy time is complete */
	void (*on_share)(void *context, uint32_t tag, uint32_t tag2, uint64_t share_ns);
	/* called for each piece of idle time that belongs to a command */
	void (*on_idle)(void *context, uint32_t tag, const struct account_idle *idle);
	/* called for a piece of idle time if it is known when the launching thread was on its
	 * processor */
	int (*on_thread)(void *context, const struct account *account,
			 const struct account_piece *piece);
	/* called for a piece of idle time if the launching thread's calls are known */
	int (*on_calls)(void *context, const struct account *account,
			const struct account_piece *piece);
	/* called for each span of the window, in the order of time, without overlap or break.
	 * Shared busy time is passed as one span per command, one after the other, each as long as
	 * the command's share. With many commands (fair_share), one span covers several divisions.
	 */
	int (*on_span)(void *context, const struct account *account,
		       const struct account_span *span);
	void *context;
	uint64_t wall_ns, busy_ns, idle_ns; /* complete after account_finish */
	uint64_t classes[ACCOUNT_CLASS_COUNT];
	uint64_t causes[CAUSE_COUNT];
	uint64_t before[CAUSE_COUNT],
		after[CAUSE_COUNT]; /* parts of causes that belong to no command: before the first
				       command and after the last */
	struct account_steady steady, slowest; /* slowest: the slowest iteration */
	uint64_t not_started_ns; /* part of CAUSE_UNKNOWN: launched, but the submission is not known
				  */
	uint64_t commands;
	uint64_t first_start;
	struct account_command last; /* the command with the latest end; only with has_causes */
	uint64_t last_end;      /* the latest end of any command so far, in or out of the window */
	uint64_t cursor;        /* busy time is divided up to here */
	uint64_t emitted_until; /* the time of fair_share is passed to on_span up to here */
	size_t unemitted_turns; /* divisions of fair_share since on_span was called */
	int error;              /* from on_thread, on_calls or on_span; account_add returns it */
	/* enter of the earliest command in flight at the end; UINT64_MAX */
	uint64_t in_flight_from;
	struct account_active *active; /* sorted by (started, process, correlation) */
	size_t active_count, active_capacity;
	struct fair_share fair_share; /* holds all active commands if there are many */
};

void account_init(struct account *account, uint64_t from, uint64_t to, bool has_causes);
void account_fini(struct account *account); /* NULL-safe */

/* Commands come in the order (started, process, correlation). -ENOMEM. */
int account_add(struct account *account, const struct account_command *command);

/* A command launched at `enter` is in flight at the end of the recording. After the last end of a
 * command, and from `enter` on, the device's state is unknown. */
void account_in_flight(struct account *account, uint64_t enter);

/* Divides the rest. `to` ends the window if it is earlier than the window's end so far; no command
 * may be later. Returns the errors of the callbacks. */
int account_finish(struct account *account, uint64_t to);

/* For traces with missing calls: moves the causes that mean "outside of calls" to CAUSE_UNKNOWN. */
void account_forget_host(uint64_t causes[CAUSE_COUNT]);
/* For traces with missing switches: moves computing, preempted and blocked time to CAUSE_HOST. */
void account_forget_switches(uint64_t causes[CAUSE_COUNT]);

/* One of the parts that add up to the wall time. */
struct account_part {
	bool is_busy;
	const char *what; /* "kernels", "copies", "other", or account_cause_name */
	uint64_t time_ns;
};
/* The parts by index; false after the last. */
bool account_part(const struct account *account, size_t index, struct account_part *ret_part);

/* Checks to the nanosecond: wall = busy + idle, busy = sum of its classes, idle = sum of its
 *                           causes. */
bool account_is_exact(const struct account *account);
