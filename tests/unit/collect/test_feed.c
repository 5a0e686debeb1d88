/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_feed.c - the guests that a recorder announces to others, and what these
 * know of their rows
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

#include "collect/feed/coverage.h"
#include "collect/feed/message.h"
#include "collect/feed/server.h"
#include "collect/feed/source.h"
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
			CHECK_EQUAL(message.owned[i].process, next++);
	}
	return next;
}

static void own(struct feed_server *server, uint32_t process, uint64_t done_ns)
{
	const struct feed_owned owned = {.process = process,
					 .guest = 1,
					 .begin_ns = 1,
					 .end_ns = done_ns,
					 .done_ns = done_ns};

	feed_server_own(server, &owned);
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
		own(&server, i, 0);
	client = connect_client(&server);
	for (int i = 0; i < 1000 && next <= PROCESSES; i++) {
		feed_server_step(&server, writer, SECOND);
		next = take_messages(client, next);
	}
	CHECK_EQUAL(next, PROCESSES + 1);
	/* a client that reads nothing for a while is not given up */
	for (uint32_t i = PROCESSES + 1; i <= 2 * PROCESSES; i++)
		own(&server, i, 0);
	CHECK_EQUAL(server.clients_count, 1);
	for (int i = 0; i < 2000 && next <= 2 * PROCESSES; i++) {
		feed_server_step(&server, writer, SECOND);
		next = take_messages(client, next);
	}
	CHECK_EQUAL(next, 2 * PROCESSES + 1);
	/* attachments that ended long ago are forgotten; each end is told once */
	for (uint32_t i = 1; i < 2 * PROCESSES; i++) {
		own(&server, i, 2 * SECOND);
		take_messages(client, i);
	}
	feed_server_step(&server, writer, 3 * SECOND);
	CHECK_EQUAL(server.entries_count, 4 * PROCESSES - 1);
	feed_server_step(&server, writer, 60 * SECOND);
	CHECK_EQUAL(server.entries_count, 1);
	own(&server, next, 0);
	CHECK_EQUAL(take_messages(client, next), next + 1);
	close(client);
	feed_server_step(&server, writer, 60 * SECOND);
	CHECK_EQUAL(server.clients_count, 0);
	feed_server_close(&server);
	trace_writer_close(writer, SECOND);
	unlink(path);
}

/* ---- the other side -------------------------------------------------------------------------- */

static void tell(struct feed_source *source, const struct feed_owned *owned)
{
	struct feed_message message = {
		.magic = FEED_MAGIC, .version = FEED_VERSION, .type = FEED_OWNS, .count = 1};

	message.owned[0] = *owned;
	feed_source_take(source, &message, -1);
}

TEST(a_source_knows_its_attachments)
{
	struct feed_source source = {.connection = -1};
	struct feed_owned owned = {.process = 3, .guest = 7, .pid = 100};
	struct feed_message foreign = {.magic = FEED_MAGIC, .version = FEED_VERSION - 1};

	tell(&source, &owned);
	owned.begin_ns = SECOND;
	tell(&source, &owned);
	CHECK_EQUAL(source.owned_count, 1);
	CHECK_EQUAL(source.owned[0].begin_ns, SECOND);
	CHECK_EQUAL(feed_source_until(&source, &source.owned[0]), 0);
	/* rows of the time just before a segment may come in it */
	source.until_ns = 5 * SECOND;
	CHECK_EQUAL(feed_source_until(&source, &source.owned[0]), 5 * SECOND - FEED_LATE_NS);
	/* an attachment that ended is complete when all its segments are read */
	owned.end_ns = 6 * SECOND;
	owned.done_ns = 7 * SECOND;
	tell(&source, &owned);
	CHECK_EQUAL(source.owned_count, 1);
	CHECK_EQUAL(source.partings, 1);
	CHECK_EQUAL(feed_source_until(&source, &source.owned[0]), 5 * SECOND - FEED_LATE_NS);
	source.until_ns = 7 * SECOND;
	CHECK_EQUAL(feed_source_until(&source, &source.owned[0]), 6 * SECOND);
	/* the guest comes back; a process that ends is no parting */
	owned = (struct feed_owned){.process = 3, .guest = 7, .begin_ns = 8 * SECOND};
	tell(&source, &owned);
	owned.end_ns = owned.done_ns = 9 * SECOND;
	owned.is_over = 1;
	tell(&source, &owned);
	CHECK_EQUAL(source.owned_count, 2);
	CHECK_EQUAL(source.partings, 1);
	CHECK(!source.has_left);
	feed_source_take(&source, &foreign, -1);
	CHECK(source.has_left);
	feed_source_close(&source);
}

struct gaps {
	uint64_t begin_ns[8], end_ns[8];
	size_t count;
};

static void keep_gap(void *context, struct coverage_guest *guest, uint64_t begin_ns,
		     uint64_t end_ns)
{
	struct gaps *gaps = context;

	CHECK(gaps->count < 8 && begin_ns < end_ns && guest->process == 1);
	gaps->begin_ns[gaps->count] = begin_ns;
	gaps->end_ns[gaps->count++] = end_ns;
}

/* Three recorders, whose files are read in another order than they had the guest. */
TEST(gaps_between_recorders)
{
	struct coverage coverage;
	struct gaps gaps = {0};

	coverage_init(&coverage);
	coverage_add(&coverage, 1, 1, 500, 600);
	coverage_add(&coverage, 1, 1, 100, 200);
	coverage_add(&coverage, 1, 1, 100, 250);
	coverage_settle(&coverage, 90, keep_gap, &gaps);
	CHECK_EQUAL(gaps.count, 0);
	coverage_add(&coverage, 1, 1, 300, 400);
	coverage_add(&coverage, 1, 1, 350, 450);
	coverage_settle(&coverage, 400, keep_gap, &gaps);
	REQUIRE(gaps.count == 1);
	CHECK(gaps.begin_ns[0] == 250 && gaps.end_ns[0] == 300);
	CHECK_EQUAL(coverage_until(&coverage.guests[0]), 450);
	/* each once, also when the same times are added again */
	coverage_add(&coverage, 1, 1, 100, 450);
	coverage_settle(&coverage, 550, keep_gap, &gaps);
	coverage_settle(&coverage, 700, keep_gap, &gaps);
	REQUIRE(gaps.count == 2);
	CHECK(gaps.begin_ns[1] == 450 && gaps.end_ns[1] == 500);
	/* one that goes on is reported at the end */
	coverage_finish(&coverage, 900, keep_gap, &gaps);
	coverage_finish(&coverage, 900, keep_gap, &gaps);
	REQUIRE(gaps.count == 3);
	CHECK(gaps.begin_ns[2] == 600 && gaps.end_ns[2] == 900);
	CHECK(!coverage.has_failed);
	coverage_fini(&coverage);
}

TEST(times_without_a_gap)
{
	struct coverage coverage;
	struct gaps gaps = {0};

	coverage_init(&coverage);
	/* spans that touch, a time in which the process is not wanted, and the process's end */
	coverage_add(&coverage, 1, 1, 100, 200);
	coverage_add(&coverage, 1, 1, 200, 300);
	coverage_excuse(&coverage, 1, 250, 500);
	coverage_excuse(&coverage, 2, 250, 900);
	coverage_add(&coverage, 1, 1, 480, 600);
	coverage_end(&coverage, 1, 1, 600);
	/* an empty time begins nothing */
	coverage_add(&coverage, 1, 2, 100, 100);
	coverage_settle(&coverage, 1000, keep_gap, &gaps);
	coverage_finish(&coverage, 1000, keep_gap, &gaps);
	CHECK_EQUAL(gaps.count, 0);
	CHECK_EQUAL(coverage.count, 1);
	/* guests of a process are apart */
	coverage_add(&coverage, 1, 2, 700, 800);
	coverage_add(&coverage, 1, 2, 900, 1000);
	coverage_finish(&coverage, 1000, keep_gap, &gaps);
	REQUIRE(gaps.count == 1);
	CHECK(gaps.begin_ns[0] == 800 && gaps.end_ns[0] == 900);
	coverage_fini(&coverage);
}

int main(void)
{
	RUN(a_client_hears_of_all_processes);
	RUN(a_source_knows_its_attachments);
	RUN(gaps_between_recorders);
	RUN(times_without_a_gap);
	return harness_end();
}
