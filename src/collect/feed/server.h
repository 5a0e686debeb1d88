/* SPDX-License-Identifier: MIT
 *
 * collect/feed/server.h - lets other recorders read this recording while it is written
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "collect/feed/message.h"
#include "trace/writer.h"

enum { FEED_CLIENTS = 16 };

struct feed_client {
	int fd;      /* owned connection */
	size_t sent; /* number of the entries that it knows */
};

/* The state of an attachment at some time. The last entry of an attachment is complete. */
struct feed_entry {
	struct feed_owned owned;
	uint64_t ended_ns; /* when the attachment ended; 0: it lasts */
};

struct feed_server {
	int listener;        /* owned; -1: not open */
	uid_t uid;           /* the recorder's user when it opened the name */
	unsigned int number; /* its name has this number */
	struct feed_client clients[FEED_CLIENTS];
	size_t clients_count;
	struct feed_entry *entries; /* owned */
	size_t entries_count, entries_capacity;
	uint64_t turned_away; /* clients of other users, or too many */
};

/* Takes the first free name. If all are taken, the recording is not shared. */
void feed_server_open(struct feed_server *server);
void feed_server_close(struct feed_server *server);

/* Announces a guest that is attached to this recorder, or more about it. If it has an end, clients
 * that come within the next seconds still hear of it. */
void feed_server_own(struct feed_server *server, const struct feed_owned *owned);

/* Accepts clients and notices those that left. Call it every 100 ms. */
void feed_server_step(struct feed_server *server, struct trace_writer *writer, uint64_t now_ns);
/* At the end of the recording, when all attachments have ended: completes their last segment for
 * the clients. */
void feed_server_finish(const struct feed_server *server, struct trace_writer *writer,
			uint64_t now_ns);
