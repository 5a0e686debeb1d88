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

struct feed_client {
	int fd;      /* owned connection */
	size_t sent; /* number of the processes that it knows */
};

/* A process whose guest is ours. */
struct feed_process {
	uint32_t id;
	uint64_t ended_ns; /* 0: it is recorded */
};

struct feed_server {
	int listener;        /* owned; -1: not open */
	uid_t uid;           /* the recorder's user when it opened the name */
	unsigned int number; /* its name has this number */
	struct feed_client clients[FEED_CLIENTS];
	size_t clients_count;
	struct feed_process *processes; /* owned */
	size_t processes_count, processes_capacity;
	uint64_t turned_away; /* clients of other users, or too many */
};

/* Takes the first free name. If all are taken, the recording is not shared. */
void feed_server_open(struct feed_server *server);
void feed_server_close(struct feed_server *server);

/* Announces a process whose guest is attached to this recorder. */
void feed_server_own(struct feed_server *server, uint32_t process);
/* Its recording has ended. Clients that come within the next seconds still hear of it. */
void feed_server_end(struct feed_server *server, uint32_t process, uint64_t now_ns);

/* Accepts clients and notices those that left. Call it every 100 ms. */
void feed_server_step(struct feed_server *server, struct trace_writer *writer, uint64_t now_ns);
