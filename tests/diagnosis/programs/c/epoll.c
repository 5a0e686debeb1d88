/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/epoll.c - an event loop waits in epoll for another process
 */
#include "diagnosis.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static void open_events(void);
static void run_events(uint64_t ns);

PLANT(.name = "epoll", .kinds = "event_wait", .words = "run_events poll", .prepare = open_events,
      .act = run_events);

static int events, peer, ends[2];

static void open_events(void)
{
	struct epoll_event event = {.events = EPOLLIN};

	check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
	peer = start_slow_peer(ends[1]);
	events = epoll_create1(EPOLL_CLOEXEC);
	check(epoll_ctl(events, EPOLL_CTL_ADD, ends[0], &event) == 0, "epoll_ctl");
}

NOINLINE static void run_events(uint64_t ns)
{
	struct epoll_event event;
	char value;

	PLANT_BEGIN();
	ask_slow_peer(peer, ns);
	check(epoll_wait(events, &event, 1, -1) == 1, "epoll_wait");
	check(read(ends[0], &value, 1) == 1, "read");
	PLANT_END();
}
