/* SPDX-License-Identifier: MIT
 *
 * collect/feed/message.h - how a recorder lets other recorders read its recording
 *
 * A recorder listens at the first free of a few abstract names of its user. Recorders of the same
 * user, and of root, may connect. The server sends a FEED_WELCOME with a descriptor of its trace
 * file, open for reading, and one FEED_OWNS for each process whose guest is attached to it, now and
 * later. The client sends nothing; it closes the connection when it needs no more.
 */
#pragma once

#include <stdint.h>

/* "@" and a printf format for the uid and the number of the name, from 1 on */
#define FEED_NAME "@duet-feed-%u.%u"

enum { FEED_NAMES = 8 };

#define FEED_MAGIC   UINT32_C(0x64656566) /* "feed" */
#define FEED_VERSION 1u

enum feed_type { FEED_WELCOME = 1, FEED_OWNS = 2 };

struct feed_message {
	uint32_t magic, version;
	uint32_t type;    /* enum feed_type */
	uint32_t process; /* FEED_OWNS: id of the process in the trace */
};
