/* SPDX-License-Identifier: MIT
 *
 * tests/soak/clock_hook.c - moves CLOCK_REALTIME of a process by the seconds in $CLOCK_HOOK_FILE
 *
 * Runs in:  the agent under test, by LD_PRELOAD
 * Gets:     a file with a number, read at each call
 * Gives:    time() and clock_gettime(CLOCK_REALTIME) that are moved by it
 * Owns:     nothing
 * Fails:    never; without the file the clock is the machine's
 * Why:      the machine's own clock must not be set by a test
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int read_clock(clockid_t clock, struct timespec *ret_time);

static long read_offset(void)
{
	const char *path = getenv("CLOCK_HOOK_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	char text[32] = "";

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strtol(text, NULL, 10);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	static read_clock *real;
	int result;

	if (!real)
		real = (read_clock *)dlsym(RTLD_NEXT, "clock_gettime");
	result = real(clock, ret_time);
	if (!result && clock == CLOCK_REALTIME)
		ret_time->tv_sec += read_offset();
	return result;
}

__attribute__((visibility("default"))) time_t time(time_t *ret_time)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret_time)
		*ret_time = now.tv_sec;
	return now.tv_sec;
}
