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
#include "trace/writer.h"

enum { FEED_CLIENTS = 16 };

struct feed_server {
	int listener;              /* owned; -1: not open */
	uid_t uid;                 /* the recorder's user at the start; a part of the name */
	unsigned int number;       /* its name has this number */
	int clients[FEED_CLIENTS]; /* owned connections */
	size_t clients_count;
	uint32_t *processes; /* owned; ids of the processes whose guests are ours */
	size_t processes_count, processes_capacity;
	uint64_t turned_away; /* clients of other users, or too many */
};

/* Takes the first free name. If all are taken, the recording is not shared. */
void feed_server_open(struct feed_server *server);
void feed_server_close(struct feed_server *server);

/* Announces a process whose guest is attached to this recorder. */
void feed_server_own(struct feed_server *server, uint32_t process);

/* Accepts clients and notices those that left. Call it every 100 ms. */
void feed_server_step(struct feed_server *server, struct trace_writer *writer);
