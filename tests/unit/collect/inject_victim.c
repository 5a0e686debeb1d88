/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/inject_victim.c - a program that notices what is done to its threads
 *
 * Runs in:  a process of its own, until its stdin ends
 * Gets:     what its threads do: read, busy, wide, allocate, threads, alarm, sleep, wait, signals,
 *           alone, fiber, hostile (INJECT_VICTIM_FILE: what that one would have written by somebody
 *           else)
 * Gives:    "ready", and at the end "wrong N", what went otherwise than in a program that is let
 *           alone
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "collect/enter/inject_stub.h"

#define NOINLINE __attribute__((noinline))

static _Atomic int wrong;
static _Atomic bool is_over;
static _Atomic uint64_t alarms;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void fail(const char *what)
{
	wrong++;
	fprintf(stderr, "victim: %s: %s\n", what, strerror(errno));
}

/* A read that is interrupted is no read. */
static void do_read(void)
{
	char byte;
	ssize_t got = read(0, &byte, 1);

	if (got != 0)
		fail("read");
}

/* Vector registers, flags and the red zone of a leaf. */
NOINLINE static double compute(uint64_t seed)
{
	double sums[8] = {0};
	volatile uint64_t zone[8];

	for (int i = 0; i < 8; i++)
		zone[i] = seed * (uint64_t)(i + 1);
	for (uint64_t i = 1; i < 4000; i++)
		for (int k = 0; k < 8; k++)
			sums[k] +=
				(double)(i % 97) * 0.5 + (double)(k + 1) / (double)(seed % 13 + 1);
	for (int i = 0; i < 8; i++)
		if (zone[i] != seed * (uint64_t)(i + 1))
			return -1;
	return sums[0] + sums[3] + sums[7];
}

typedef double vector __attribute__((vector_size(32)));

/* Whole vectors, in registers all the time; their upper halves are kept apart from the lower
 * ones. */
__attribute__((target("avx"), noinline)) static double compute_wide(uint64_t seed)
{
	vector a = {1, 2, 3, 4}, b = {5, 6, 7, 8}, c = {9, 10, 11, 12};
	const vector step = {(double)seed, 2, 0.5, 3};

	for (int i = 0; i < 4000; i++) {
		__asm__ volatile("" : "+x"(a), "+x"(b), "+x"(c));
		a += step;
		b += a * step;
		c -= b;
	}
	return a[0] + a[3] + b[1] + b[2] + c[0] + c[3];
}

static double compute_any(uint64_t seed)
{
	return __builtin_cpu_supports("avx") ? compute_wide(seed) : compute(seed);
}

static void do_wide(void)
{
	double wanted[16];

	for (uint64_t i = 0; i < 16; i++)
		wanted[i] = compute_any(i);
	for (uint64_t i = 0; !is_over; i++)
		if (compute_any(i % 16) != wanted[i % 16])
			fail("compute_wide");
}

static void do_busy(void)
{
	double wanted[16];

	for (uint64_t i = 0; i < 16; i++)
		wanted[i] = compute(i);
	for (uint64_t i = 0; !is_over; i++)
		if (compute(i % 16) != wanted[i % 16])
			fail("compute");
}

static void do_allocate(void)
{
	uint32_t state = (uint32_t)(uintptr_t)&state | 1;
	struct {
		unsigned char *memory, byte;
		size_t bytes;
	} kept[64] = {0};

	while (!is_over) {
		size_t at = (state = state * 1664525 + 1013904223) >> 26;

		for (size_t i = 0; i < kept[at].bytes; i += 64)
			if (kept[at].memory[i] != kept[at].byte)
				fail("memory");
		free(kept[at].memory);
		kept[at].bytes = (state >> 8) % (at % 8 ? 400 : 300000) + 1;
		kept[at].byte = (unsigned char)state;
		kept[at].memory = malloc(kept[at].bytes);
		if (!kept[at].memory)
			abort();
		for (size_t i = 0; i < kept[at].bytes; i += 64)
			kept[at].memory[i] = kept[at].byte;
	}
}

static void on_alarm(int number)
{
	int saved = errno;

	(void)number;
	alarms++;
	if (compute(3) < 0)
		wrong++;
	errno = saved;
}

static void do_alarm(void)
{
	struct itimerval timer = {.it_interval = {0, 1000}, .it_value = {0, 1000}};
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	uint64_t before;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	do_busy();
	for (int i = 0; i < 3; i++) { /* they still come */
		before = alarms;
		for (double end = now() + 5; alarms == before && now() < end;)
			compute(1);
		if (alarms == before)
			fail("alarms");
	}
	timer = (struct itimerval){0};
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Not interrupted, not shorter, and not begun anew. */
static void do_sleep(void)
{
	while (!is_over) {
		const struct timespec time = {0, 150000000};
		double begin = now(), took;
		int result = nanosleep(&time, NULL);

		took = now() - begin;
		if (result || took < 0.15)
			fail(result ? "nanosleep was interrupted" : "nanosleep was short");
	}
}

static void do_wait(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

	while (!is_over) {
		double begin = now();
		struct epoll_event event;
		struct timespec until;

		if (epoll_wait(epoll_fd, &event, 1, 40) != 0 || now() - begin < 0.039)
			fail("epoll_wait");
		begin = now();

		if (poll(NULL, 0, 40) != 0 || now() - begin < 0.039)
			fail("poll");
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 40000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_mutex_lock(&mutex);
		if (pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT)
			fail("pthread_cond_timedwait");
		pthread_mutex_unlock(&mutex);
	}
	close(epoll_fd);
}

static void *watch_stdin(void *unused)
{
	char byte;

	(void)unused;
	while (read(0, &byte, 1) > 0)
		;
	is_over = true;
	return NULL;
}

static void *run_other(void *unused)
{
	(void)unused;
	if ((uintptr_t)pthread_self() / 4096 % 2)
		do_wait();
	else
		do_allocate();
	return NULL;
}

static void do_threads(void)
{
	pthread_t threads[50];

	for (int i = 0; i < 50; i++)
		if (pthread_create(&threads[i], NULL, run_other, NULL) != 0)
			abort();
	for (int i = 0; i < 50; i++)
		pthread_join(threads[i], NULL);
}

static void ignore(int number)
{
	(void)number;
}

/* No signal is left by which a thread could stop itself. */
static void handle_all(void)
{
	for (int i = 1; i < 32; i++)
		signal(i, ignore);
}

/* It may have no more threads. */
static void do_alone(void)
{
	const struct rlimit none = {0, 0};

	if (setrlimit(RLIMIT_NPROC, &none))
		fail("setrlimit");
	do_read();
}

/* ---- a stack in the middle of other memory --------------------------------------------------- */

enum { HEAP_BYTES = 1 << 20, FIBER_BYTES = 4096, FIBER_AT = HEAP_BYTES / 2, PATTERN = 0xa5 };

static ucontext_t outside;

static bool has_input(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};

	return poll(&input, 1, 0) != 0;
}

static void run_fiber(void)
{
	volatile uint64_t turns = 0;

	do {
		for (int i = 0; i < 1000000; i++)
			turns++;
	} while (!has_input());
}

/* What is below the stack's end is not touched. */
static void do_fiber(void)
{
	static ucontext_t fiber;
	uint8_t *heap =
		mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (heap == MAP_FAILED || getcontext(&fiber)) {
		fail("fiber");
		return;
	}
	memset(heap, PATTERN, HEAP_BYTES);
	fiber.uc_stack.ss_sp = heap + FIBER_AT;
	fiber.uc_stack.ss_size = FIBER_BYTES;
	fiber.uc_link = &outside;
	makecontext(&fiber, run_fiber, 0);
	swapcontext(&outside, &fiber);
	for (size_t i = 0; i < FIBER_AT; i++)
		if (heap[i] != PATTERN) {
			fail("memory below a fiber's stack");
			break;
		}
}

/* ---- one that lies --------------------------------------------------------------------------- */

static bool write_own(uint64_t address, const void *bytes, size_t size)
{
	struct iovec here = {(void *)(uintptr_t)bytes, size},
		     there = {(void *)(uintptr_t)address, size};

	return process_vm_writev(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* Where the recorder's block is; 0: nowhere yet. */
static uint64_t find_block(void)
{
	static const char wanted[] = "inject_probe_slowly";
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t found = 0, begin, end;
	char line[512], entry[sizeof(wanted)];

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		char rights[5];
		struct iovec here = {entry, sizeof(entry)}, there;

		if (sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3 ||
		    strcmp(rights, "rw-p") != 0)
			continue;
		there.iov_base =
			(void *)(uintptr_t)(begin + offsetof(struct injected_block, entry));
		there.iov_len = sizeof(entry);
		if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == sizeof(entry) &&
		    memcmp(entry, wanted, sizeof(wanted)) == 0)
			found = begin;
	}
	if (maps)
		fclose(maps);
	return found;
}

/* Says as long as the block is there that the library is to be written into a descriptor of its
 * choice. */
static void do_hostile(void)
{
	const char *path = getenv("INJECT_VICTIM_FILE");
	const int32_t fd = path ? open(path, O_RDONLY | O_NONBLOCK) : -1;
	const uint32_t wants = 1, stage = INJECTED_WANTS_FILE;
	uint64_t block = 0, times = 0;

	while (!is_over && !block)
		block = find_block();
	while (!is_over && block &&
	       write_own(block + offsetof(struct injected_block, memory_fd), &fd, sizeof(fd)) &&
	       write_own(block + offsetof(struct injected_block, wants_file), &wants,
			 sizeof(wants)) &&
	       write_own(block + offsetof(struct injected_block, stage), &stage, sizeof(stage)))
		times++;
	if (fd < 0 || !times)
		fail("nothing could be lied about");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "read";
	static const struct {
		const char *name;
		void (*run)(void);
		bool watches;
	} all[] = {
		{"wide", do_wide, true},     {"read", do_read, false},
		{"busy", do_busy, true},     {"allocate", do_allocate, true},
		{"alarm", do_alarm, true},   {"sleep", do_sleep, true},
		{"wait", do_wait, true},     {"threads", do_threads, true},
		{"signals", do_read, false}, {"alone", do_alone, false},
		{"fiber", do_fiber, false},  {"hostile", do_hostile, true},
	};
	pthread_t watcher;
	sigset_t alarm_set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&alarm_set);
	sigaddset(&alarm_set, SIGALRM);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(all[i].name, what) != 0)
			continue;
		pthread_sigmask(SIG_BLOCK, &alarm_set, NULL);
		if (all[i].watches && pthread_create(&watcher, NULL, watch_stdin, NULL) != 0)
			return 2;
		pthread_sigmask(SIG_UNBLOCK, &alarm_set, NULL);
		if (strcmp(what, "signals") == 0)
			handle_all();
		printf("ready\n");
		fflush(stdout);
		all[i].run();
	}
	printf("wrong %d\n", wrong);
	return wrong != 0;
}
