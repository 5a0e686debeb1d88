/* SPDX-License-Identifier: MIT
 *
 * collect/feed/server.c - lets other recorders read this recording while it is written
 *
 * Runs in:  the recorder
 * Gets:     connections of recorders of the same user or of root
 * Gives:    a read-only descriptor of the trace file, and the guests that are attached here, each
 *           with its time
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
	free(server->entries);
	*server = (struct feed_server){.listener = -1};
}

/* Sends the entries that a client does not know yet, as far as there is room for messages; the rest
 * follow in the next step. False: it has hung up. */
static bool send_entries(const struct feed_server *server, struct feed_client *client)
{
	while (client->sent < server->entries_count) {
		struct feed_message message = {
			.magic = FEED_MAGIC, .version = FEED_VERSION, .type = FEED_OWNS};

		while (message.count < FEED_BATCH &&
		       client->sent + message.count < server->entries_count) {
			message.owned[message.count] =
				server->entries[client->sent + message.count].owned;
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
	const struct feed_message welcome = {.magic = FEED_MAGIC,
					     .version = FEED_VERSION,
					     .type = FEED_WELCOME,
					     .offset = offset};

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
		if (!send_entries(server, &server->clients[i]))
			remove_client(server, i);
}

static bool is_same(const struct feed_owned *one, const struct feed_owned *other)
{
	return one->process == other->process && one->guest == other->guest;
}

void feed_server_own(struct feed_server *server, const struct feed_owned *owned)
{
	const struct feed_entry entry = {*owned, owned->done_ns};

	if (server->listener < 0)
		return;
	for (size_t i = 0; owned->done_ns && i < server->entries_count; i++)
		if (is_same(&server->entries[i].owned, owned) && !server->entries[i].ended_ns)
			server->entries[i].ended_ns = owned->done_ns;
	if (!array_append(server->entries, server->entries_capacity, server->entries_count, entry))
		send_to_all(server);
}

/* A client that comes now needs no rows of attachments that ended long before. */
static void forget_ended(struct feed_server *server, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < server->entries_count; i++) {
		const struct feed_entry entry = server->entries[i];

		if (!entry.ended_ns || now_ns < entry.ended_ns + 2 * EARLIER_NS) {
			server->entries[kept++] = entry;
			continue;
		}
		for (size_t j = 0; j < server->clients_count; j++)
			server->clients[j].sent -= server->clients[j].sent > kept;
	}
	server->entries_count = kept;
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

/* The next segment begins now, so a client knows that it has all rows of this time. */
void feed_server_finish(const struct feed_server *server, struct trace_writer *writer,
			uint64_t now_ns)
{
	if (!server->clients_count)
		return;
	trace_writer_set_pace(writer, FOLLOWED_FLUSH_NS, 1);
	trace_writer_flush(writer, now_ns);
}
