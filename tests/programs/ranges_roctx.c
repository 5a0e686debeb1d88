/* SPDX-License-Identifier: MIT
 *
 * tests/programs/ranges_roctx.c - names ranges by roctx, in counts that a test knows
 *
 *	ranges_roctx			7 times "step", in each 3 times "inner" and a mark; 5 ranges
 *		that another thread
 *					stops; 2 that stay open; 11 more "step" of another thread
 *	ranges_roctx push COUNT DEPTH	COUNT times DEPTH ranges in one another
 *	ranges_roctx kill		is killed within "step"
 *	ranges_roctx fork		"parent", and in a child "child"
 *	ranges_roctx wait		many times "before", of which one is popped now and then
 *		between marks; until a line is
 *					on stdin
 *
 * Prints what the calls returned, so that a test sees that it is the same with duet and without.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void roctxMarkA(const char *message);
extern int roctxRangePushA(const char *message);
extern int roctxRangePop(void);
extern uint64_t roctxRangeStartA(const char *message);
extern void roctxRangeStop(uint64_t id);
extern uint64_t roctxSimCalls(void);

enum { BEFORE = 10000, STEPS = 7, INNERS = 3, MOVED = 5, OTHERS = 11 };

static uint64_t ids[MOVED];
static long levels;

static void step(int inners)
{
	levels += 100 * roctxRangePushA("step");
	for (int i = 0; i < inners; i++) {
		levels += roctxRangePushA("inner");
		roctxMarkA("mark");
		levels += roctxRangePop();
	}
	levels += 100 * roctxRangePop();
}

static void *other_thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < MOVED; i++)
		roctxRangeStop(ids[i]);
	for (int i = 0; i < OTHERS; i++)
		step(0);
	return NULL;
}

static int run_counts(void)
{
	pthread_t thread;

	for (int i = 0; i < STEPS; i++)
		step(INNERS);
	for (int i = 0; i < MOVED; i++)
		ids[i] = roctxRangeStartA("moved");
	if (pthread_create(&thread, NULL, other_thread, NULL))
		return 1;
	pthread_join(thread, NULL);
	roctxRangePushA("left open");
	ids[0] = roctxRangeStartA("left started");
	printf("levels %ld, first of two %llu, %d without a push, %llu calls\n", levels,
	       (unsigned long long)ids[1], STEPS, (unsigned long long)roctxSimCalls());
	return 0;
}

static int run_push(long count, int depth)
{
	for (long i = 0; i < count; i++) {
		for (int level = 0; level < depth; level++)
			roctxRangePushA("pushed");
		for (int level = 0; level < depth; level++)
			roctxRangePop();
	}
	return 0;
}

static int run_kill(void)
{
	roctxRangePushA("step");
	roctxMarkA("last words");
	usleep(50000); /* the recorder reads what was written, dead or alive: a kill is no hurry */
	return raise(SIGKILL);
}

static int run_fork(void)
{
	pid_t pid;

	roctxRangePushA("parent");
	pid = fork();
	if (pid == 0) {
		roctxRangePushA("child");
		roctxRangePop();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	roctxRangePop();
	return 0;
}

/* Calls often enough for an idle guest to look for a recorder, which it does once a second. */
static int run_wait(void)
{
	struct pollfd input = {.events = POLLIN};

	for (int i = 0; i < BEFORE; i++)
		roctxRangePushA("before");
	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, 20) == 0) {
		for (int i = 0; i < 100; i++)
			roctxMarkA("after");
		roctxRangePop();
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "push") && argc == 4)
		return run_push(atol(argv[2]), atoi(argv[3]));
	if (!strcmp(what, "kill"))
		return run_kill();
	if (!strcmp(what, "fork"))
		return run_fork();
	if (!strcmp(what, "wait"))
		return run_wait();
	return run_counts();
}
