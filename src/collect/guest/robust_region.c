/* SPDX-License-Identifier: MIT
 *
 * collect/guest/robust_region.c - shared memory in which the kernel clears a word when the recorder
 * dies
 *
 * Runs in:  the recorder, in the thread that reads the rings
 * Gets:     a memfd
 * Gives:    its mapping, with a private page of the recorder in front
 * Owns:     the mapping; this thread's list of robust futexes (set_robust_list(2))
 * Fails:    mapping returns NULL with errno. On a kernel without robust futexes a guest only stops
 *           when its ring is full.
 * Why:      A recorder that was killed cannot inform its guests. A guest that checked for the
 *           recorder by a clock or a descriptor would pay for the check in each call. When a thread
 *           dies, even by SIGKILL, the kernel walks its list of robust futexes and writes into each
 *           futex that the thread owns; guests read that word in each call for other reasons, too.
 *           The links of the list are outside the shared memory, because a program that could write
 *           them would choose where the kernel and the recorder write. The kernel follows at most
 *           2048 links; further regions lack this protection.
 */
#include "collect/guest/robust_region.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/ring.h"

_Static_assert(RING_OWNER == FUTEX_TID_MASK && RING_OWNER_DIED == FUTEX_OWNER_DIED,
	       "the bits that the kernel clears and sets");

/* The kernel needs the same distance from link to futex for all. So each link is at the start of a
 * private page in front of its region. */
enum { LINK_BYTES = RING_WIPED_BYTES };

/* The head of this thread's list, whose address the kernel knows. It replaces the list of libc,
 * which is for robust mutexes; this thread uses none. */
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

/* The thread may be killed between any two stores, so the list must be valid after each. */
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
