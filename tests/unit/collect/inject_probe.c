/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/inject_probe.c - a library that is brought into a program
 *
 * Runs in:  that program
 * Gets:     the path of a file
 * Gives:    a byte more in it, the number of the call as result; slowly: after a while
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static _Atomic int calls;

__attribute__((visibility("default"))) int inject_probe_enter(const char *path);
__attribute__((visibility("default"))) int inject_probe_enter(const char *path)
{
	const struct timespec time = {0, 1000000};
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	ssize_t done = fd < 0 ? -1 : write(fd, "x", 1);

	close(fd);
	nanosleep(&time, NULL); /* another's sleep is not disturbed by ours */
	return done == 1 ? ++calls : -1;
}

__attribute__((visibility("default"))) int inject_probe_slowly(const char *path);
__attribute__((visibility("default"))) int inject_probe_slowly(const char *path)
{
	const struct timespec time = {0, 500000000};

	nanosleep(&time, NULL);
	return inject_probe_enter(path);
}
