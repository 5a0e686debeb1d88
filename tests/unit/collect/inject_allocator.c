/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/inject_allocator.c - a program with an allocator of its own, which notices
 * when it is entered twice
 *
 * Runs in:  a process of its own, until its stdin ends
 * Gets:     "allocate": one thread, which allocates; "wait": another one waits for stdin
 * Gives:    "ready", and at the end "wrong N": how often a thread came into the allocator in which
 *           it was already
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

enum { POOL_BYTES = 64 << 20, HEAD_BYTES = 16, WORK = 20000 };

static _Alignas(HEAD_BYTES) uint8_t pool[POOL_BYTES];
static _Atomic size_t used;
static _Atomic int wrong;
static _Atomic bool is_over, is_begun;
static _Thread_local volatile int inside;

/* Takes its time, as an allocator with locks and lists does. Memory is never given back: the
 * program's own needs none. */
static void *take(size_t bytes)
{
	const size_t size = (bytes + 2 * HEAD_BYTES - 1) & ~(size_t)(HEAD_BYTES - 1);
	size_t at;

	if (inside++)
		wrong++;
	for (volatile int i = 0; is_begun && i < WORK; i++)
		;
	at = atomic_fetch_add(&used, size);
	inside--;
	if (at + size > POOL_BYTES)
		return NULL;
	memcpy(pool + at, &bytes, sizeof(bytes));
	return pool + at + HEAD_BYTES;
}

EXPORTED void *malloc(size_t bytes)
{
	return take(bytes);
}

EXPORTED void free(void *memory)
{
	(void)memory;
}

EXPORTED void *calloc(size_t count, size_t bytes)
{
	return take(count * bytes);
}

EXPORTED void *realloc(void *memory, size_t bytes)
{
	void *other = take(bytes);
	size_t before;

	if (other && memory) {
		memcpy(&before, (uint8_t *)memory - HEAD_BYTES, sizeof(before));
		memcpy(other, memory, before < bytes ? before : bytes);
	}
	return other;
}

static void *wait_for_stdin(void *unused)
{
	char byte;

	(void)unused;
	while (read(0, &byte, 1) > 0)
		;
	is_over = true;
	return NULL;
}

/* Without waiting: poll would be a moment in which the thread may well be borrowed. */
static bool is_at_end(void)
{
	char byte;

	return read(0, &byte, 1) == 0;
}

int main(int argc, char **argv)
{
	const bool waits = argc > 1 && strcmp(argv[1], "wait") == 0;
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!waits && fcntl(0, F_SETFL, O_NONBLOCK) < 0)
		return 2;
	if (waits && pthread_create(&thread, NULL, wait_for_stdin, NULL) != 0)
		return 2;
	if (write(1, "ready\n", 6) != 6)
		return 2;
	is_begun = true;
	while (waits ? !is_over : !is_at_end())
		for (int i = 0; i < 20; i++)
			take(1);
	printf("wrong %d\n", wrong);
	return wrong != 0;
}
