/* SPDX-License-Identifier: MIT
 *
 * bench/proc_floor.c - what the kernel's own reads cost: the floor beside which bench/system.py
 * puts the samplers
 *
 *	proc_floor ROUNDS PID...
 *
 * Prints "threads N", and processor time in ns of a round: "tick NS" of nothing, 1000 times a
 * second; 100 times a second "schedstat NS" with the files of all threads kept open, and "clock NS"
 * with the CPU clock of each process. A round sleeps first, as a sampler does: what it reads has
 * left the caches by then.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 65536 };
static int files[FILES];
static size_t file_count, pid_count;
static char **pids;

static uint64_t used_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void open_threads(const char *pid)
{
	char path[300];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)) && file_count < FILES) {
		snprintf(path, sizeof(path), "/proc/%s/task/%.20s/schedstat", pid, entry->d_name);
		files[file_count] = entry->d_name[0] == '.' ? -1 : open(path, O_RDONLY | O_CLOEXEC);
		file_count += files[file_count] >= 0;
	}
	if (folder)
		closedir(folder);
}

static int do_nothing(void)
{
	return 0;
}

static int read_threads(void)
{
	char text[128];

	for (size_t i = 0; i < file_count; i++)
		if (pread(files[i], text, sizeof(text), 0) <= 0)
			return 1;
	return 0;
}

static int read_clocks(void)
{
	struct timespec now;

	for (size_t i = 0; i < pid_count; i++)
		if (clock_gettime((clockid_t)(~(unsigned int)atoi(pids[i]) << 3) | 2, &now))
			return 1;
	return 0;
}

static int measure(const char *name, int (*read_all)(void), int rounds, long interval_ns)
{
	struct timespec next;
	uint64_t begin = used_ns();

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (int i = 0; i < rounds; i++) {
		next.tv_nsec += interval_ns;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		if (read_all())
			return 1;
	}
	printf("%s %.0f\n", name, (double)(used_ns() - begin) / rounds);
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[1]) : 0;

	if (rounds < 1)
		return 2;
	pids = argv + 2;
	pid_count = (size_t)argc - 2;
	for (size_t i = 0; i < pid_count; i++)
		open_threads(pids[i]);
	printf("threads %zu\n", file_count);
	return measure("tick", do_nothing, 10 * rounds, 1000000) ||
	       measure("schedstat", read_threads, rounds, 10000000) ||
	       measure("clock", read_clocks, rounds, 10000000);
}
