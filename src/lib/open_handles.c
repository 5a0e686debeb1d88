/* SPDX-License-Identifier: MIT
 *
 * lib/open_handles.c - which handles of this process are open
 *
 * Runs in:  the user's program, in open and close, and in a thread that ends
 * Gets:     handles   Gives: places to them
 * Owns:     the one thing of the library's that is of the whole process, in a page that a fork wipes: a child's handles
 *           find places there when they first do something, and no lock in it is one that a thread of the parent's holds
 * Fails:    with -errno where there is no place
 * Why:      a key's destructor may be on its way while another thread deletes the key and frees what it was given. Only
 *           memory that is never freed can tell it so. And a place is used again: ten thousand handles one after the
 *           other cost a recorder as much as one.
 */
#include "lib/open_handles.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/handle.h"

enum { BYTES = OPEN_HANDLES_MOST * 2 * sizeof(void *) + sizeof(pthread_mutex_t) };

/* Zeros are an open mutex, and places that nobody has. */
static union {
	struct {
		pthread_mutex_t lock;
		struct {
			struct duet *duet;
			void *page; /* owned mapping */
		} places[OPEN_HANDLES_MOST];
	};
	char bytes[(BYTES / RING_WIPED_BYTES + 1) * RING_WIPED_BYTES];
} open_handles __attribute__((aligned(RING_WIPED_BYTES)));

int open_handles_add(struct duet *duet, uint32_t *ret_place)
{
	uint32_t place = 0;

	if (madvise(&open_handles, sizeof(open_handles), MADV_WIPEONFORK) < 0)
		return -ENOSYS;
	pthread_mutex_lock(&open_handles.lock);
	while (place < OPEN_HANDLES_MOST && open_handles.places[place].duet)
		place++;
	if (place < OPEN_HANDLES_MOST)
		open_handles.places[place].duet = duet;
	pthread_mutex_unlock(&open_handles.lock);
	if (place == OPEN_HANDLES_MOST)
		return -EAGAIN;
	*ret_place = place;
	return 0;
}

/* Under the lock. */
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
	/* The page tells copies of the library in one process apart, and leaves room for places below it. */
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
	/* In a child the parent's rings are not mapped; and where a handle was closed another may have its memory. */
	return attachment && attachment->generation == atomic_load(&duet->page.generation) &&
	       atomic_load(&thread->tid) == (uint32_t)syscall(SYS_gettid);
}

void open_handles_on_thread_exit(void *value)
{
	struct handle_thread *thread = value;

	pthread_mutex_lock(&open_handles.lock);
	for (uint32_t i = 0; i < OPEN_HANDLES_MOST; i++)
		if (open_handles.places[i].duet && has_ring(open_handles.places[i].duet, thread)) {
			ring_close(&thread->writer);
			break;
		}
	pthread_mutex_unlock(&open_handles.lock);
}
