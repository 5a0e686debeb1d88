/* SPDX-License-Identifier: MIT
 *
 * collect/feed/client.h - takes over rows of processes whose guests are attached to another
 * recorder
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/feed/coverage.h"
#include "collect/feed/identities.h"
#include "collect/feed/message.h"
#include "collect/recording.h"

struct taken_feed;

struct feeds_options {
	/* Whether this recording is to contain a process. */
	bool (*wants)(void *context, const struct event_process *process);
	/* Called for each process that is taken over, before its row is written; it may complete
	 * the row. */
	void (*on_process)(void *context, struct event_process *row);
	/* Called before its row is written again. */
	void (*complete)(void *context, struct event_process *row);
	void *context;
	uid_t uid;               /* the user of the other recorders */
	unsigned int own_number; /* number of our own server's name; 0: none */
};

struct feeds {
	struct recording *recording; /* borrowed */
	struct feeds_options options;
	struct taken_feed **all; /* owned */
	size_t count, capacity;
	uint64_t begin_ns;        /* earlier rows are left out; CLOCK_MONOTONIC */
	uint64_t begin_time;      /* the same in the guests' clock */
	uint64_t end_ns;          /* later rows are left out; UINT64_MAX: the recording goes on */
	uint64_t end_time;        /* the same in the guests' clock */
	uint32_t processes;       /* number of processes that were taken over */
	unsigned int places;      /* number of recorders that were found so far */
	uint64_t next_look_ns;    /* when to look for further recorders */
	uint64_t search_until_ns; /* looks in each step until then */
	uint64_t next_want_ns;    /* when to ask which processes are still wanted */
	uint64_t last_time;       /* LAST_NS in the guests' clock */
	struct feed_identities identities;
	struct feed_owned *own; /* owned; guests that are attached to this recorder */
	size_t own_count, own_capacity;
	struct coverage coverage;
};

void feeds_open(struct feeds *feeds, struct recording *recording,
		const struct feeds_options *options);
void feeds_close(struct feeds *feeds);

/* Looks for other recorders and copies the segments that they have finished. Call it every 100 ms.
 * It takes up to some 20 ms. */
void feeds_step(struct feeds *feeds, uint64_t now_ns);
/* A guest is attached to this recorder, or more is known of it; process: our id. */
void feeds_own(struct feeds *feeds, const struct feed_owned *owned);
/* Copies everything up to end_ns; waits for the other recorders, 2 s at most. Time
 * that no recorder covers is a loss. */
void feeds_finish(struct feeds *feeds, uint64_t end_ns);
