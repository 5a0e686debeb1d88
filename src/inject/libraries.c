/* SPDX-License-Identifier: MIT
 *
 * inject/libraries.c - ask the loader what is loaded, and keep out of the way of a fork
 *
 * Runs in:  the profiled process, at launches; around its forks
 * Gets:     callbacks   Gives: what dl_iterate_phdr calls them with
 * Owns:     two counters
 * Fails:    by not asking
 * Why:      one forked child in a thousand hung for ever in dlopen where two threads launched all the time.
 */
#include "inject/libraries.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_NS = 50000, WAITS_MOST = 2000 /* 100 ms */ };

static struct {
	_Atomic uint32_t inside, forks;
} libraries;

/* A signal handler may fork where it interrupted this thread's own look: that is not to be waited for. */
static _Thread_local volatile uint32_t inside_here __attribute__((tls_model("initial-exec")));

bool libraries_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *data),
		       void *data)
{
	bool is_free;

	atomic_fetch_add(&libraries.inside, 1);
	is_free = atomic_load(&libraries.forks) == 0;
	if (is_free) {
		inside_here++;
		atomic_signal_fence(memory_order_seq_cst);
		dl_iterate_phdr(callback, data);
		atomic_signal_fence(memory_order_seq_cst);
		inside_here--;
	}
	atomic_fetch_sub(&libraries.inside, 1);
	return is_free;
}

/* Stops at the first object: the counters are the same in each. */
static int take_counts(struct dl_phdr_info *info, size_t size, void *ret_counts)
{
	(void)size;
	*(struct libraries_counts *)ret_counts =
		(struct libraries_counts){info->dlpi_adds, info->dlpi_subs};
	return 1;
}

bool libraries_count(struct libraries_counts *ret_counts)
{
	return libraries_iterate(take_counts, ret_counts);
}

static void sleep_raw(const struct timespec *wait)
{
	int saved = errno;

	syscall(SYS_nanosleep, wait, NULL);
	errno = saved;
}

void libraries_before_fork(void)
{
	const struct timespec wait = {0, WAIT_NS};

	atomic_fetch_add(&libraries.forks, 1);
	for (uint32_t i = 0; i < WAITS_MOST && !inside_here && atomic_load(&libraries.inside) != 0;
	     i++)
		/* most are out within the first look; a sleep lets the others run where there is one processor */
		if (i > 0)
			/* raw: neither a place to be cancelled nor one that changes errno */
			sleep_raw(&wait);
}

void libraries_after_fork(void)
{
	atomic_fetch_sub(&libraries.forks, 1);
}

void libraries_after_fork_in_child(void)
{
	atomic_store(&libraries.inside, inside_here);
	atomic_store(&libraries.forks, 0);
}
