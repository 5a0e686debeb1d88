/* SPDX-License-Identifier: MIT
 *
 * collect/feed/private.h - what the files of collect/feed share
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/pair_map.h"
#include "collect/feed/client.h"
#include "collect/feed/source.h"
#include "trace/copy.h"

/* A recorder from which rows are taken over. */
struct taken_feed {
	struct feeds *feeds; /* borrowed */
	struct feed_source source;
	unsigned int place;      /* among all feeds of our recording */
	struct trace_copy *copy; /* owned */
	bool has_gap;            /* rows are missing, and a note says so */
	bool has_unnumbered;     /* commands of the present part had no number */
	uint32_t partings;       /* how many partings of the source are known */
	struct hash_map threads; /* our ids of threads -> our ids of their processes */
	/* (process, command) launched before our recording began, or in a pause -> 1; their
	 * executions are left out. */
	struct pair_map earlier;
};

/* Translates ids, and says which rows to copy. context: a struct taken_feed. */
extern const struct trace_copy_options feed_copy_options;

/* The guest that is attached to this recorder now; NULL: none of the process is. */
const struct feed_owned *feeds_find_own(const struct feeds *feeds, uint32_t process);
/* Notes that rows are missing. The loss is the time that no recorder covers. */
void feed_note_gap(struct taken_feed *feed);
