/* SPDX-License-Identifier: MIT
 *
 * collect/feed/source.h - another recorder: the connection to it, its attachments, its trace file
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "collect/feed/message.h"
#include "trace/tail.h"

/* Rows of a time may come in a segment that begins later by up to this time, because the recorder
 * reads them after the call's end. */
#define FEED_LATE_NS UINT64_C(100000000)

struct feed_source {
	int connection;            /* owned; -1: none */
	pid_t pid;                 /* the other recorder's */
	unsigned int number;       /* its name has this number */
	struct trace_tail *tail;   /* owned; NULL: no welcome yet */
	struct hash_map processes; /* ids of the processes that are attached there -> 1 */
	struct hash_map places;    /* process << 32 | guest -> index + 1 of the last attachment */
	struct feed_owned *owned;  /* owned; its attachments */
	size_t owned_count, owned_capacity;
	uint32_t last_segment; /* read */
	bool has_started;      /* last_segment is known */
	bool has_left;         /* its recording has ended */
	uint32_t partings;     /* attachments that ended before their process */
	/* Its rows of the time between are read, without a hole; until_ns UINT64_MAX: all are. 0:
	 * none is. */
	uint64_t from_ns, until_ns;
};

/* Errors: -ENOENT: no recorder of this or root's user has the name; it is our own; -ENOMEM. */
int feed_source_open(struct feed_source *source, uid_t uid, unsigned int number);
void feed_source_close(struct feed_source *source);

/* Reads what it has sent. Without a connection: that it has left. */
void feed_source_listen(struct feed_source *source);
/* Takes one message. fd: its descriptor, which is closed; -1: none. */
void feed_source_take(struct feed_source *source, const struct feed_message *message, int fd);

enum feed_part {
	FEED_NOTHING, /* no segment has ended since */
	FEED_LOOKING, /* the file has more to be looked through */
	FEED_ROWS,    /* some segments that have ended */
};

/* Gets the next segments as a trace; the caller frees it. Segments that ended before begin_ns are
 * left out. *ret_has_hole: with FEED_ROWS: earlier ones are missing, and from_ns is new. */
enum feed_part feed_source_read(struct feed_source *source, uint64_t begin_ns, uint8_t **ret_bytes,
				size_t *ret_size, bool *ret_has_hole);
/* How far the calls of an attachment are read: all that began before. 0: not known. */
uint64_t feed_source_until(const struct feed_source *source, const struct feed_owned *owned);
