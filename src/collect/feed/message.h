/* SPDX-License-Identifier: MIT
 *
 * collect/feed/message.h - how a recorder lets other recorders read its recording
 *
 * A recorder listens at the first free of a few abstract names of its user. Recorders of the same
 * user, and of root, may connect. The server sends a FEED_WELCOME with a descriptor of its trace
 * file, open for reading, and FEED_OWNS for the processes whose guests are attached to it, now and
 * later. The client sends nothing; it closes the connection when it needs no more.
 */
#pragma once

#include <stdint.h>

/* "@" and a printf format for the uid and the number of the name, from 1 on */
#define FEED_NAME "@duet-feed-%u.%u"

enum { FEED_NAMES = 8, FEED_BATCH = 32 };

#define FEED_MAGIC   UINT32_C(0x64656566) /* "feed" */
#define FEED_VERSION 2u

enum feed_type { FEED_WELCOME = 1, FEED_OWNS = 2 };

struct feed_message {
	uint32_t magic, version;
	uint32_t type;                  /* enum feed_type */
	uint32_t count;                 /* FEED_OWNS: number of processes */
	uint64_t offset;                /* FEED_WELCOME: the needed rows begin at this segment */
	uint32_t processes[FEED_BATCH]; /* FEED_OWNS: ids of the processes in the trace */
};
