/* SPDX-License-Identifier: MIT
 *
 * inject/libraries.c - list the loaded libraries without blocking a fork
 *
 * Runs in:  the profiled process, at launches; around its forks
 * Gets:     callbacks
 * Gives:    the callback's calls by dl_iterate_phdr
 * Owns:     two counters, on a page that the kernel clears in a child
 * Fails:    by not listing the libraries
 * Why:      a fork while another thread lists libraries copies the loader's lock in its locked
 *           state. When two threads launched all the time, one forked child in a thousand hung
 *           forever in dlopen. A child made by a raw clone runs no fork handler. With its parent's
 *           counters it would never list libraries again, or wait 100 ms at each of its own forks
 *           for threads that it does not have.
 */
#include "inject/libraries.h"

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/guest.h"

enum { WAIT_NS = 50000, MAX_WAITS = 2000 /* 100 ms */ };

static union {
	struct {
		_Atomic uint32_t inside, forks;
	};
	alignas(RING_WIPED_BYTES) char page[RING_WIPED_BYTES];
} libraries;

/* A signal handler may fork while it interrupts this thread's own listing: the fork must not wait
 * for that. Raised before `inside` and lowered after it, so that no part of the listing counts as
 * another thread's. */
static _Thread_local volatile uint32_t inside_here __attribute__((tls_model("initial-exec")));

void libraries_prepare(void)
{
	/* Before Linux 4.14 only a child made by fork() has counters of its own. */
	madvise(&libraries, sizeof(libraries), MADV_WIPEONFORK);
}

/* If a handler forked in between, the count is already 0 in the child. */
static void take_off(_Atomic uint32_t *count)
{
	uint32_t now = atomic_load(count);

	while (now && !atomic_compare_exchange_weak(count, &now, now - 1))
		;
}

bool libraries_iterate(int (*callback)(struct dl_phdr_info *info, size_t size, void *data),
		       void *data)
{
	bool is_free;

	inside_here++;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_fetch_add(&libraries.inside, 1);
	is_free = atomic_load(&libraries.forks) == 0;
	if (is_free)
		dl_iterate_phdr(callback, data);
	take_off(&libraries.inside);
	atomic_signal_fence(memory_order_seq_cst);
	inside_here--;
	return is_free;
}

/* Stops at the first object: the counters are the same in each. */
static int take_counts(struct dl_phdr_info *info, size_t size, void *ret_counts)
{
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

static int find_span(struct dl_phdr_info *info, size_t size, void *data)
{
	struct libraries_span *span = data;

	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t begin = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) ||
		    span->address < begin || span->address >= begin + segment->p_memsz)
			continue;
		span->begin = begin;
		span->end = begin + segment->p_memsz;
	}
	return 0;
}

bool libraries_find(struct libraries_span *span)
{
	span->begin = span->end = 0;
	return libraries_iterate(find_span, span) && span->end;
}

void libraries_before_fork(void)
{
	const struct timespec wait = {0, WAIT_NS};

	atomic_fetch_add(&libraries.forks, 1);
	for (uint32_t i = 0; i < MAX_WAITS && !inside_here && atomic_load(&libraries.inside) != 0;
	     i++)
		/* most threads are out after the first check; a sleep lets the others run on a
		 * single processor */
		if (i > 0)
			/* raw: not a cancellation point, and does not change errno */
			sleep_raw(&wait);
}

void libraries_after_fork(void)
{
	take_off(&libraries.forks);
}

void libraries_after_fork_in_child(void)
{
	atomic_store(&libraries.inside, 0);
	atomic_store(&libraries.forks, 0);
}
