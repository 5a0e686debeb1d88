/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/poll.c - a wait for a timer in poll
 */
#include "diagnosis.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void open_timer(void);
static void wait_for_tick(uint64_t ns);

PLANT(.name = "poll", .kinds = "event_wait", .words = "wait_for_tick poll", .prepare = open_timer,
      .act = wait_for_tick);

static int timer;

static void open_timer(void)
{
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	check(timer >= 0, "timerfd_create");
}

NOINLINE static void wait_for_tick(uint64_t ns)
{
	const struct itimerspec when = {
		.it_value = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)}};
	struct pollfd wanted = {.fd = timer, .events = POLLIN};
	uint64_t count;

	PLANT_BEGIN();
	check(timerfd_settime(timer, 0, &when, NULL) == 0, "timerfd_settime");
	check(poll(&wanted, 1, -1) == 1, "poll");
	check(read(timer, &count, sizeof(count)) == sizeof(count), "read");
	PLANT_END();
}
