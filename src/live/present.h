/* SPDX-License-Identifier: MIT
 *
 * live/present.h - what launching threads do now, while their device has no command
 *
 * An idle gap belongs to the command that ends it. Until that command comes, the gap is open, and
 * its time is shown provisionally by the states of the thread that launched on the device last. A
 * thread that waits for seconds has no rows in the meantime, so states are remembered from one look
 * to the next.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/account/account.h"

struct analysis;
struct observed_command;
struct order_item;

enum { LIVE_WAIT = 64, LIVE_PLACE = 128 };

/* A thread that has launched commands. */
struct live_thread {
	uint32_t id, process;     /* ids in the trace */
	enum account_cause doing; /* CAUSE_ON_CPU, _BLOCKED, _PREEMPTED; CAUSE_UNKNOWN */
	uint64_t since_ns;        /* begin of that state */
	uint32_t stack;       /* the state's stack, in the rows of the present look; 0: not known */
	uint32_t wait_string; /* the same for the object that it waits for */
	bool is_named;        /* place and wait are those of the state */
	bool has_ended;
	char place[LIVE_PLACE], wait[LIVE_WAIT];
};

/* The last launch of a thread on a device. */
struct live_launcher {
	uint32_t device, thread; /* ids */
	uint64_t enter;          /* time of the last launch; 0: none so far */
	uint64_t ended;          /* the device's last end of a command so far; 0: not known */
};

/* A state of a thread in the interval. */
struct live_segment {
	uint32_t thread; /* id */
	uint32_t stack;  /* 0: not known */
	uint64_t begin, end;
	enum account_cause doing;
};

/* Zero: nothing is known. */
struct live_present {
	struct live_thread *threads, *threads_before; /* before: those of the last look */
	size_t threads_count, threads_capacity, before_count, before_capacity;
	struct live_launcher *launchers;
	size_t launchers_count, launchers_capacity;
	struct live_segment *segments, *calls;
	size_t segments_count, segments_capacity, calls_count, calls_capacity;
	uint64_t from_ns, to_ns; /* the interval of the look */
	bool has_switches;       /* without them it is not known when threads run */
};

/* The open gap of one device. */
struct live_open_gap {
	uint64_t ns;                  /* its part of the interval; 0: there is none */
	uint64_t so_far_ns;           /* since the device's last command */
	uint64_t causes[CAUSE_COUNT]; /* parts of ns */
	const struct live_thread *thread;
	uint32_t stack; /* the longest state of the largest cause; 0: not known */
};

void live_present_fini(struct live_present *present);
/* Forgets all: the next look shows another time. */
void live_present_clear(struct live_present *present);

/* A look at [from_ns, to_ns) starts, or its analysis starts again. -ENOMEM. */
int live_present_begin(struct live_present *present, uint64_t from_ns, uint64_t to_ns);
/* The device and the process of a launch. */
struct live_owner {
	uint32_t device, process; /* ids; 0: not known, or not a launch */
};
/* A row of the analysis, in the order of time. -ENOMEM. */
int live_present_row(struct live_present *present, const struct order_item *item,
		     const struct live_owner *owner);
/* A command of a device has ended. */
void live_present_command(struct live_present *present, uint32_t device, uint64_t ended);
/* All rows of the look were given. -ENOMEM. */
int live_present_close(struct live_present *present, const struct analysis *analysis);

/* The gap of a device that has nothing in flight. begin_ns: the end of its last command in these
 * rows; 0: none. The result is all 0 unless a thread that launched on it still runs. */
void live_present_find_gap(const struct live_present *present, uint32_t device, uint64_t begin_ns,
			   struct live_open_gap *ret_gap);
