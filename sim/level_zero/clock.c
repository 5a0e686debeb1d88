/* SPDX-License-Identifier: MIT
 *
 * sim/level_zero/clock.c - host time, the devices' clock, and the log
 *
 * Runs in:  the test program
 * Gets:     CLOCK_MONOTONIC
 * Gives:    the same time, and ticks of the devices' counter
 * Owns:     the log
 * Why:      ticks are computed from host time by one formula, so a device's clock and its
 *           timestamps agree to the tick
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

uint64_t sim_now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void sim_sleep_until(uint64_t host_ns)
{
	const struct timespec until = {(time_t)(host_ns / 1000000000),
				       (long)(host_ns % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

uint64_t sim_ticks(uint64_t host_ns)
{
	return (uint64_t)((unsigned __int128)(host_ns + (uint64_t)sim_options.offset_ns) *
			  (uint64_t)sim_options.hz / 1000000000);
}

uint64_t sim_mask(int64_t bits)
{
	return bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

static const char *kind_of(const struct sim_command *command)
{
	static const char *const names[] = {"kernel", "copy",  "fill",     "barrier",
					    "signal", "reset", "timestamp"};

	return names[command->kind];
}

/* "h2d": memory is the host's if the driver does not know it or allocated it on the host. */
static const char *way_of(const struct sim_command *command)
{
	uint64_t begin, size;
	bool from_device, to_device;

	if (command->kind == SIM_COMMAND_KERNEL)
		return command->name;
	if (command->kind != SIM_COMMAND_COPY)
		return "-";
	from_device = sim_memory_type(command->from, &begin, &size) >= ZE_MEMORY_TYPE_DEVICE;
	to_device = sim_memory_type(command->to, &begin, &size) >= ZE_MEMORY_TYPE_DEVICE;
	if (from_device)
		return to_device ? "d2d" : "d2h";
	return to_device ? "h2d" : "h2h";
}

/* A line is one write, so that several processes may have one log. */
void sim_log(const struct _ze_command_queue_handle_t *queue, const struct sim_command *command,
	     uint64_t started_ns, uint64_t ended_ns)
{
	char line[256];
	int file, length;

	if (!sim_options.log[0])
		return;
	length = snprintf(line, sizeof(line), "%d %u %u %s %s %llu %llu %llu %llu %zu %u\n",
			  (int)getpid(), queue->device->index, queue->number, kind_of(command),
			  way_of(command), (unsigned long long)sim_ticks(started_ns),
			  (unsigned long long)sim_ticks(ended_ns), (unsigned long long)started_ns,
			  (unsigned long long)ended_ns, command->bytes, queue->engine);
	file = open(sim_options.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (file < 0 || write(file, line, (size_t)length) != length)
		fprintf(stderr, "sim-level_zero: %s cannot be written\n", sim_options.log);
	if (file >= 0)
		close(file);
}
