/* SPDX-License-Identifier: MIT
 *
 * lib/open_handles.c - the open handles of this process
 *
 * Runs in:  the user's program: in open and close, and in a thread that ends
 * Gets:     handles
 * Gives:    an index for each
 * Owns:     the only process-wide state of the library. It is in a page that the kernel clears in a
 *           child of fork: a child's handles get their index at their first use, and the child's
 *           lock is never held by a thread of the parent
 * Fails:    with -errno if all indexes are taken
 * Why:      a key's destructor may be running while another thread deletes the key and frees its
 *           argument. Only memory that is never freed can detect that. Indexes are reused: ten
 *           thousand handles one after the other cost a recorder as much as one.
 */
#include "lib/open_handles.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/handle.h"

enum { BYTES = MAX_OPEN_HANDLES * 2 * sizeof(void *) + sizeof(pthread_mutex_t) };

/* Zeros are an unlocked mutex, and free indexes. */
static union {
	struct {
		pthread_mutex_t lock;
		struct {
			struct duet *duet;
			void *page; /* owned mapping */
		} places[MAX_OPEN_HANDLES];
	};
	char bytes[(BYTES / RING_WIPED_BYTES + 1) * RING_WIPED_BYTES];
} open_handles __attribute__((aligned(RING_WIPED_BYTES)));

int open_handles_add(struct duet *duet, uint32_t *ret_place)
{
	uint32_t place = 0;

	if (madvise(&open_handles, sizeof(open_handles), MADV_WIPEONFORK) < 0)
		return -ENOSYS;
	pthread_mutex_lock(&open_handles.lock);
	while (place < MAX_OPEN_HANDLES && open_handles.places[place].duet)
		place++;
	if (place < MAX_OPEN_HANDLES)
		open_handles.places[place].duet = duet;
	pthread_mutex_unlock(&open_handles.lock);
	if (place == MAX_OPEN_HANDLES)
		return -EAGAIN;
	*ret_place = place;
	return 0;
}

/* The caller holds the lock. */
static void replace_page(uint32_t place, void *page)
{
	if (open_handles.places[place].page)
		munmap(open_handles.places[place].page, RING_PAGE);
	open_handles.places[place].page = page;
}

void open_handles_remove(uint32_t place)
{
	void *page;

	pthread_mutex_lock(&open_handles.lock);
	page = handle_leave(open_handles.places[place].duet);
	if (page)
		replace_page(place, page);
	open_handles.places[place].duet = NULL;
	pthread_mutex_unlock(&open_handles.lock);
}

void open_handles_forget(uint32_t place)
{
	pthread_mutex_lock(&open_handles.lock);
	replace_page(place, NULL);
	pthread_mutex_unlock(&open_handles.lock);
}

void open_handles_name(uint32_t place, char ret_name[OPEN_HANDLES_NAME_BYTES])
{
	/* The page's address distinguishes copies of the library in one process; its low bits hold
	 * the index. */
	const uint64_t number = (uint64_t)(uintptr_t)&open_handles | place;

	snprintf(ret_name, OPEN_HANDLES_NAME_BYTES, "ranges:%012llx",
		 (unsigned long long)(number & 0xffffffffffff));
}

static bool has_ring(const struct duet *duet, const struct handle_thread *thread)
{
	const struct attachment *attachment = atomic_load(&duet->attachment);

	while (attachment && (thread < attachment->threads ||
			      thread >= attachment->threads + attachment->rings.ring_count))
		attachment = attachment->older;
	/* In a child the parent's rings are not mapped; the memory of a closed handle may now hold
	 * another. */
	return attachment && attachment->generation == atomic_load(&duet->page.generation) &&
	       atomic_load(&thread->tid) == (uint32_t)syscall(SYS_gettid);
}

void open_handles_on_thread_exit(void *value)
{
	struct handle_thread *thread = value;

	pthread_mutex_lock(&open_handles.lock);
	for (uint32_t i = 0; i < MAX_OPEN_HANDLES; i++)
		if (open_handles.places[i].duet && has_ring(open_handles.places[i].duet, thread)) {
			ring_close(&thread->writer);
			break;
		}
	pthread_mutex_unlock(&open_handles.lock);
}
