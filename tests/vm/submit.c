/* SPDX-License-Identifier: MIT
 *
 * tests/vm/submit.c - jobs for tests/vm/made_up_gpu, of two threads, and when they ran by its own
 * word
 *
 *	submit [TIMES]	jobs that take so many times as long
 *
 * Runs in:  a virtual machine that has the module
 * Gives:    lines, read by tests/vm/check_vm.py; times of CLOCK_MONOTONIC:
 *		submitter PID
 *		submitted TIME TIME TID THREAD, before and after; jobs run in this order
 *		ran TIME TIME TIME CLIENT, from, until, and when we knew of it; in the same order
 * Fails:    exits 1, with a line that says where
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "made_up_gpu/report.h"

static const uint32_t durations_ms[] = {8, 20, 4, 12, 8};
enum { JOBS = sizeof(durations_ms) / sizeof(durations_ms[0]), OF_THREAD = 2 };

static int gpu;
static uint32_t times = 1;

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

static void give_up(const char *what)
{
	printf("failed %s: %s\n", what, strerror(errno));
	exit(1);
}

static void submit(int index)
{
	const unsigned long long before_ns = now_ns();
	const uint32_t duration_ms = times * durations_ms[index];
	char name[16];

	if (write(gpu, &duration_ms, sizeof(duration_ms)) < 0)
		give_up("write");
	prctl(PR_GET_NAME, name);
	printf("submitted %llu %llu %d %s\n", before_ns, now_ns(), gettid(), name);
}

static void *submit_some(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "other_thread");
	for (int i = 0; i < OF_THREAD; i++)
		submit(i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1)
		times = (uint32_t)atoi(argv[1]);
	gpu = open("/dev/made_up_gpu", O_RDWR);
	if (gpu < 0)
		give_up("open");
	printf("submitter %d\n", getpid());
	if (pthread_create(&thread, NULL, submit_some, NULL))
		give_up("thread");
	pthread_join(thread, NULL);
	for (int i = OF_THREAD; i < JOBS; i++)
		submit(i);
	for (int i = 0; i < JOBS; i++) {
		struct gpu_report report;

		if (read(gpu, &report, sizeof(report)) < 0)
			give_up("read");
		printf("ran %llu %llu %llu %llu\n", report.run_ns, report.done_ns, now_ns(),
		       report.client);
	}
	return 0;
}
