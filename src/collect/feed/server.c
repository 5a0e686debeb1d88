/* SPDX-License-Identifier: MIT
 *
 * collect/feed/server.c - lets other recorders read this recording while it is written
 *
 * Runs in:  the recorder
 * Gets:     connections of recorders of the same user or of root
 * Gives:    a read-only descriptor of the trace file, and the ids of the processes whose guests are
 *           attached here
 * Owns:     a socket and its connections
 * Fails:    never; a client that cannot be served is closed
 * Why:      A guest writes into the rings of one recorder, so that a call costs the same however
 *           many recorders there are. The others read the file, which costs this recorder nothing
 *           but shorter segments.
 */
#include "collect/feed/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/feed/message.h"
#include "ring/descriptor.h"
#include "ring/session.h"

/* While a client reads: rows are in the file after 0.2 s, and complete segments each second. */
#define FOLLOWED_FLUSH_NS   UINT64_C(200000000)
#define FOLLOWED_SEGMENT_NS UINT64_C(1000000000)
/* A client's recording began up to this long before it was accepted: recorders look for others each
 * second. */
#define EARLIER_NS          UINT64_C(3000000000)

static int listen_at(uid_t uid, unsigned int number)
{
	struct sockaddr_un address;
	char name[64];
	int length = snprintf(name, sizeof(name), FEED_NAME, (unsigned)uid, number);
	socklen_t size = session_address(name, (size_t)length, &address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, FEED_CLIENTS) == 0)
		return fd;
	close(fd);
	return -1;
}

void feed_server_open(struct feed_server *server)
{
	*server = (struct feed_server){.listener = -1, .uid = geteuid()};
	while (server->listener < 0 && server->number < FEED_NAMES)
		server->listener = listen_at(server->uid, ++server->number);
}

void feed_server_close(struct feed_server *server)
{
	for (size_t i = 0; i < server->clients_count; i++)
		close(server->clients[i].fd);
	if (server->listener >= 0)
		close(server->listener);
	free(server->processes);
	*server = (struct feed_server){.listener = -1};
}

/* Sends the processes that a client does not know yet, as far as there is room for messages; the
 * rest follow in the next step. False: it has hung up. */
static bool send_processes(const struct feed_server *server, struct feed_client *client)
{
	while (client->sent < server->processes_count) {
		struct feed_message message = {FEED_MAGIC, FEED_VERSION, FEED_OWNS, 0, 0, {0}};

		while (message.count < FEED_BATCH &&
		       client->sent + message.count < server->processes_count) {
			message.processes[message.count] =
				server->processes[client->sent + message.count].id;
			message.count++;
		}
		if (send(client->fd, &message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL) !=
		    (ssize_t)sizeof(message))
			return errno == EAGAIN || errno == EINTR || errno == ENOBUFS;
		client->sent += message.count;
	}
	return true;
}

static bool send_welcome(int client, int file, uint64_t offset)
{
	const struct feed_message welcome = {FEED_MAGIC, FEED_VERSION, FEED_WELCOME,
					     0,          offset,       {0}};

	return descriptor_send(client, &welcome, sizeof(welcome), file);
}

/* The file holds data of all processes that are recorded here. Only users who can read it by its
 * name get it. */
static bool is_trusted(const struct feed_server *server, int client)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == server->uid || peer.uid == 0);
}

static bool greet_client(const struct trace_writer *writer, int client, uint64_t now_ns)
{
	const uint64_t from_ns = now_ns > EARLIER_NS ? now_ns - EARLIER_NS : 0;
	int file = trace_writer_open_again(writer);
	bool is_greeted =
		file >= 0 && send_welcome(client, file, trace_writer_offset_at(writer, from_ns));

	if (file >= 0)
		close(file);
	return is_greeted;
}

static void take_clients(struct feed_server *server, const struct trace_writer *writer,
			 uint64_t now_ns)
{
	int client;

	/* A stranger that connects again and again must not hold the recorder. */
	for (int i = 0; i < FEED_CLIENTS; i++) {
		client = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (client < 0)
			break;
		if (server->clients_count < FEED_CLIENTS && is_trusted(server, client) &&
		    greet_client(writer, client, now_ns)) {
			server->clients[server->clients_count++] = (struct feed_client){client, 0};
			continue;
		}
		server->turned_away++;
		close(client);
	}
}

static void remove_client(struct feed_server *server, size_t index)
{
	close(server->clients[index].fd);
	server->clients[index] = server->clients[--server->clients_count];
}

static bool has_left(int client)
{
	char byte;
	ssize_t got = recv(client, &byte, sizeof(byte), MSG_DONTWAIT);

	return got >= 0 || (errno != EAGAIN && errno != EINTR);
}

static void send_to_all(struct feed_server *server)
{
	for (size_t i = server->clients_count; i-- > 0;)
		if (!send_processes(server, &server->clients[i]))
			remove_client(server, i);
}

void feed_server_own(struct feed_server *server, uint32_t process)
{
	const struct feed_process owned = {.id = process};

	if (server->listener < 0 || array_append(server->processes, server->processes_capacity,
						 server->processes_count, owned))
		return;
	send_to_all(server);
}

void feed_server_end(struct feed_server *server, uint32_t process, uint64_t now_ns)
{
	for (size_t i = 0; i < server->processes_count; i++)
		if (server->processes[i].id == process)
			server->processes[i].ended_ns = now_ns;
}

/* A client that comes now needs no rows of processes that ended long before. */
static void forget_ended(struct feed_server *server, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < server->processes_count; i++) {
		const struct feed_process process = server->processes[i];

		if (!process.ended_ns || now_ns < process.ended_ns + 2 * EARLIER_NS) {
			server->processes[kept++] = process;
			continue;
		}
		for (size_t j = 0; j < server->clients_count; j++)
			server->clients[j].sent -= server->clients[j].sent > kept;
	}
	server->processes_count = kept;
}

void feed_server_step(struct feed_server *server, struct trace_writer *writer, uint64_t now_ns)
{
	const size_t before = server->clients_count;

	if (server->listener < 0)
		return;
	forget_ended(server, now_ns);
	take_clients(server, writer, now_ns);
	send_to_all(server);
	for (size_t i = server->clients_count; i-- > 0;)
		if (has_left(server->clients[i].fd))
			remove_client(server, i);
	if (server->clients_count && !before)
		trace_writer_set_pace(writer, FOLLOWED_FLUSH_NS, FOLLOWED_SEGMENT_NS);
	else if (before && !server->clients_count)
		trace_writer_set_pace(writer, 0, 0);
}
