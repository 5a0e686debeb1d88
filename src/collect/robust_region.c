/* SPDX-License-Identifier: MIT
 *
 * collect/robust_region.c - shared memory that the kernel marks when this recorder dies
 *
 * Runs in:  the recorder, in the thread that records
 * Gets:     a memfd   Gives: its mapping, with a page in front of it that is the recorder's own
 * Owns:     the mapping; this thread's list of robust futexes (set_robust_list(2))
 * Fails:    mapping with NULL and errno. A kernel without such lists marks nothing: guests then stop when their ring is full
 * Why:      a recorder that is killed says nothing, and a guest that asked a clock or a descriptor for it would pay in each
 *           call. The kernel walks the list of a thread that dies, SIGKILL included, and writes into each futex that the
 *           thread owns; the guest reads that word anyway. The links of the list lie outside of the shared memory: a
 *           program that could write them would choose where the kernel and the recorder write. The kernel follows at most
 *           2048 links; regions beyond that go without the mark.
 */
#include "collect/robust_region.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/ring.h"

_Static_assert(RING_OWNER == FUTEX_TID_MASK && RING_OWNER_DIED == FUTEX_OWNER_DIED,
	       "the bits that the kernel clears and sets");

/* The kernel wants one distance from link to futex for all: each link begins a private page before its region. */
enum { LINK_BYTES = RING_WIPED_BYTES };

/* The kernel knows the list of each thread by its address. This one takes the place of libc's, which is for robust mutexes:
 * this thread has none. */
static _Thread_local struct robust_list_head owned;

static struct robust_list *link_of(const struct ring_region *region)
{
	return (struct robust_list *)((uintptr_t)region - LINK_BYTES);
}

static void register_list(void)
{
	owned.list.next = &owned.list;
	owned.futex_offset = LINK_BYTES + offsetof(struct ring_region, enabled);
	syscall(SYS_set_robust_list, &owned, sizeof(owned));
}

struct ring_region *robust_region_map(int fd, size_t bytes)
{
	uint8_t *link = mmap(NULL, LINK_BYTES + bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void *region;

	if (link == MAP_FAILED)
		return NULL;
	region = mmap(link + LINK_BYTES, bytes, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
	if (region == MAP_FAILED) {
		munmap(link, LINK_BYTES + bytes);
		return NULL;
	}
	return region;
}

/* The thread may be killed between any two stores: the list is whole before and after each. */
void robust_region_own(struct ring_region *region)
{
	struct robust_list *link = link_of(region);

	if (!owned.list.next)
		register_list();
	link->next = owned.list.next;
	atomic_signal_fence(memory_order_seq_cst);
	owned.list.next = link;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store(&region->enabled, (uint32_t)syscall(SYS_gettid));
}

void robust_region_disown(struct ring_region *region)
{
	const struct robust_list *link = link_of(region);
	struct robust_list *before = &owned.list;

	atomic_store(&region->enabled, 0);
	while (before->next && before->next != link && before->next != &owned.list)
		before = before->next;
	if (before->next == link)
		before->next = link->next;
}

void robust_region_unmap(struct ring_region *region, size_t bytes)
{
	robust_region_disown(region);
	munmap(link_of(region), LINK_BYTES + bytes);
}
