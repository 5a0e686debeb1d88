/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_feed.c - the processes that a recorder announces to others
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

#include "collect/feed/message.h"
#include "collect/feed/server.h"
#include "ring/session.h"

#define SECOND ((uint64_t)1000000000)

enum { PROCESSES = 2000 };

static int connect_client(const struct feed_server *server)
{
	struct sockaddr_un address;
	char name[64];
	int length = snprintf(name, sizeof(name), FEED_NAME, (unsigned)server->uid, server->number);
	socklen_t size = session_address(name, (size_t)length, &address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	CHECK(connect(fd, (struct sockaddr *)&address, size) == 0);
	return fd;
}

/* Counts the processes in all messages that are there; they come in their order from `next` on. */
static uint32_t take_messages(int fd, uint32_t next)
{
	struct feed_message message;

	while (recv(fd, &message, sizeof(message), MSG_DONTWAIT) == (ssize_t)sizeof(message)) {
		CHECK_EQUAL(message.version, FEED_VERSION);
		for (uint32_t i = 0; message.type == FEED_OWNS && i < message.count; i++)
			CHECK_EQUAL(message.processes[i], next++);
	}
	return next;
}

/* More than a socket's buffer holds: the rest follow in the next steps. */
TEST(a_client_hears_of_all_processes)
{
	char path[] = "/tmp/duet-feed-XXXXXX";
	struct trace_writer *writer;
	struct feed_server server;
	uint32_t next = 1;
	int fd = mkstemp(path), client;

	REQUIRE(fd >= 0 && close(fd) == 0);
	REQUIRE(trace_writer_open(path, NULL, &writer) == 0);
	feed_server_open(&server);
	REQUIRE(server.listener >= 0);
	for (uint32_t i = 1; i <= PROCESSES; i++)
		feed_server_own(&server, i);
	client = connect_client(&server);
	for (int i = 0; i < 100 && next <= PROCESSES; i++) {
		feed_server_step(&server, writer, SECOND);
		next = take_messages(client, next);
	}
	CHECK_EQUAL(next, PROCESSES + 1);
	/* a client that reads nothing for a while is not given up */
	for (uint32_t i = PROCESSES + 1; i <= 2 * PROCESSES; i++)
		feed_server_own(&server, i);
	CHECK_EQUAL(server.clients_count, 1);
	for (int i = 0; i < 2000 && next <= 2 * PROCESSES; i++) {
		feed_server_step(&server, writer, SECOND);
		next = take_messages(client, next);
	}
	CHECK_EQUAL(next, 2 * PROCESSES + 1);
	/* processes that ended long ago are forgotten, and none is told twice */
	for (uint32_t i = 1; i < 2 * PROCESSES; i++)
		feed_server_end(&server, i, 2 * SECOND);
	feed_server_step(&server, writer, 3 * SECOND);
	CHECK_EQUAL(server.processes_count, 2 * PROCESSES);
	feed_server_step(&server, writer, 60 * SECOND);
	CHECK_EQUAL(server.processes_count, 1);
	feed_server_own(&server, next);
	CHECK_EQUAL(take_messages(client, next), next + 1);
	close(client);
	feed_server_step(&server, writer, 60 * SECOND);
	CHECK_EQUAL(server.clients_count, 0);
	feed_server_close(&server);
	trace_writer_close(writer, SECOND);
	unlink(path);
}

int main(void)
{
	RUN(a_client_hears_of_all_processes);
	return harness_end();
}
