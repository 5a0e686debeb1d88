/* SPDX-License-Identifier: MIT
 *
 * collect/feed/message.h - how a recorder lets other recorders read its recording
 *
 * A recorder listens at the first free of a few abstract names of its user. Recorders of the same
 * user, and of root, may connect. The server sends a FEED_WELCOME with a descriptor of its trace
 * file, open for reading, and FEED_OWNS for the guests that are attached to it, now and later. A
 * guest is named again when more is known of it. The client sends nothing; it closes the connection
 * when it needs no more.
 */
#pragma once

#include <stdint.h>

/* "@" and a printf format for the uid and the number of the name, from 1 on */
#define FEED_NAME "@duet-feed-%u.%u"

enum { FEED_NAMES = 8, FEED_BATCH = 32 };

#define FEED_MAGIC   UINT32_C(0x64656566) /* "feed" */
#define FEED_VERSION 3u

enum feed_type { FEED_WELCOME = 1, FEED_OWNS = 2 };

/* One attachment of a guest. Times are of CLOCK_MONOTONIC. */
struct feed_owned {
	uint32_t process;  /* id in the server's trace */
	uint32_t guest;    /* names the guest within its process, in all recorders alike */
	uint32_t pid, uid; /* the process, as the server sees it */
	uint64_t begin_ns; /* calls from here on are recorded; 0: not known yet */
	uint64_t end_ns;   /* calls up to here are; 0: the attachment lasts */
	uint64_t done_ns;  /* segments that begin from here on have no rows of it; 0: it lasts */
	uint32_t is_over;  /* the process image has ended */
	uint32_t reserved; /* 0 */
};

struct feed_message {
	uint32_t magic, version;
	uint32_t type;   /* enum feed_type */
	uint32_t count;  /* FEED_OWNS: number of attachments */
	uint64_t offset; /* FEED_WELCOME: the needed rows begin at this segment */
	struct feed_owned owned[FEED_BATCH]; /* FEED_OWNS */
};
