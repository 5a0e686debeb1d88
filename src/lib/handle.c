/* SPDX-License-Identifier: MIT
 *
 * lib/handle.c - where a struct duet writes: a recorder's memory, and in it a ring for each thread
 *
 * Runs in:  the user's program
 * Gets:     a recorder's addresses   Gives: the calling thread's ring
 * Owns:     the mappings of rings, the memory of their threads
 * Fails:    with -errno and a text where it is asked for; on the way to a ring by writing nothing
 * Why a key of pthreads for a thread's ring and no _Thread_local: handles come and go, also with a plug-in that has this
 *           library inside, and no thread may be left with the ring of one that is gone; a key that is deleted leaves
 *           nothing behind. It costs 2 ns more.
 */
#include "lib/handle.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	LOOK_INTERVAL_MS = 1000, /* between two looks for a recorder … */
	LOOK_WAIT_MS = 250,      /* … which holds the program up by no more */
	CHILD_WAIT_MS = 2000,    /* a busy machine's recorder was seen to need 316 ms */
	CALLS_BETWEEN_LOOKS = 64,
	CALLS_BETWEEN_CLAIMS = 1000
};

/* Neither the clock nor all rings are looked at in each call of a thread that has none: so many come before. */
static _Thread_local struct {
	uint32_t look, claim;
} patience __attribute__((tls_model("initial-exec")));

static uint32_t mode_of(const struct duet *duet)
{
	return atomic_load_explicit(&duet->page.mode, memory_order_acquire);
}

void handle_set_mode(struct duet *duet, uint32_t mode)
{
	atomic_store_explicit(&duet->page.mode, mode, memory_order_release);
}

static uint32_t idle_mode(const struct duet *duet)
{
	return duet->flags & DUET_JOIN ? HANDLE_LOOKING : HANDLE_IDLE;
}

/* ---- attaching --------------------------------------------------------------------------------- */

/* Anew, also with rings that were there before: what a thread had open then is not open now. */
static void begin(struct duet *duet)
{
	handle_set_mode(duet, HANDLE_RECORDING + ++duet->starts);
}

static int add_attachment(struct duet *duet, struct handshake_rings *rings)
{
	/* In one piece with the threads. */
	size_t bytes = sizeof(struct attachment) +
		       rings->ring_count * sizeof(*((struct attachment *)NULL)->threads);
	struct attachment *attachment = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (attachment == MAP_FAILED) {
		handshake_rings_close(rings);
		return -ENOMEM;
	}
	*attachment = (struct attachment){
		.older = atomic_load(&duet->attachment),
		.rings = *rings,
		.threads = (struct handle_thread *)(attachment + 1),
		.generation = atomic_load(&duet->page.generation),
	};
	atomic_store(&duet->attachment, attachment);
	begin(duet);
	return 0;
}

int handle_attach(struct duet *duet, const struct handshake_environment *environment, bool is_any,
		  uint32_t wait_ms)
{
	struct handshake_rings rings;
	int fd, error;

	if (!handshake_may_use_sockets(environment))
		return -EACCES;
	fd = handshake_connect(environment->names);
	if (fd < 0 && is_any)
		fd = handshake_connect_any();
	if (fd < 0)
		return -ECONNREFUSED;
	error = handshake_rings_open(fd, duet->guest, wait_ms, &rings);
	close(fd);
	return error ? error : add_attachment(duet, &rings);
}

/* The newest; a child has its parent's in memory, but not their rings. */
static const struct attachment *find_attachment(const struct duet *duet)
{
	const struct attachment *attachment = atomic_load(&duet->attachment);

	return attachment && attachment->generation == atomic_load(&duet->page.generation)
		       ? attachment
		       : NULL;
}

bool handle_is_read(const struct duet *duet)
{
	const struct attachment *attachment = find_attachment(duet);

	return attachment && ring_region_is_read(attachment->rings.region);
}

bool handle_resume(struct duet *duet)
{
	if (!handle_is_read(duet))
		return false;
	begin(duet);
	return true;
}

void handle_abandon(struct duet *duet)
{
	const struct attachment *attachment = find_attachment(duet);

	if (attachment)
		atomic_store(&attachment->rings.region->enabled, 0);
}

/* Of a process that ends its use of the rings while their recorder goes on. The first page stays: a recorder takes a
 * process that has it mapped no more to have called exec. */
static void leave(struct attachment *attachment)
{
	struct handshake_rings *rings = &attachment->rings;
	size_t bytes = ring_region_bytes(rings->ring_count, rings->ring_bytes);

	if (!ring_region_is_read(rings->region)) {
		handshake_rings_close(rings);
		return;
	}
	for (uint32_t i = 0; i < rings->ring_count; i++)
		ring_close(&attachment->threads[i].writer);
	munmap((uint8_t *)rings->region + RING_PAGE, bytes - RING_PAGE);
}

void handle_unmap(struct duet *duet)
{
	const uint32_t generation = atomic_load(&duet->page.generation);
	struct attachment *attachment = atomic_load(&duet->attachment), *older;

	for (; attachment; attachment = older) {
		older = attachment->older;
		if (attachment->generation == generation)
			leave(attachment);
		munmap(attachment, sizeof(*attachment) + attachment->rings.ring_count *
								 sizeof(*attachment->threads));
	}
	munmap(duet, sizeof(*duet));
}

/* ---- fork -------------------------------------------------------------------------------------- */

/* Under the lock. A child is a process of its own: what its parent recorded with is its parent's. */
static void be_born(struct duet *duet)
{
	atomic_store(&duet->page.generation, ++duet->generation);
	duet->recorder = (struct recorder){0};
	handle_set_mode(duet, idle_mode(duet));
}

void handle_lock(struct duet *duet, int *ret_cancel)
{
	/* A thread that is cancelled inside would take the lock with it. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, ret_cancel);
	pthread_mutex_lock(&duet->page.lock);
	if (mode_of(duet) == HANDLE_FORKED)
		be_born(duet);
}

void handle_unlock(struct duet *duet, int cancel)
{
	pthread_mutex_unlock(&duet->page.lock);
	pthread_setcancelstate(cancel, NULL);
}

/* ---- threads ----------------------------------------------------------------------------------- */

void handle_on_thread_exit(void *value)
{
	struct handle_thread *thread = value;

	/* In a child the parent's rings are not mapped. */
	if (thread->attachment->generation == atomic_load(&thread->duet->page.generation))
		ring_close(&thread->writer);
}

static struct handle_thread *claim(struct duet *duet, const struct attachment *attachment)
{
	const struct handshake_rings *rings = &attachment->rings;
	struct handle_thread *thread;
	struct ring_writer writer;
	size_t index;

	if (!ring_claim(rings->region, rings->ring_count, rings->ring_bytes,
			(uint32_t)syscall(SYS_gettid), &writer)) {
		patience.claim = CALLS_BETWEEN_CLAIMS;
		return NULL;
	}
	index = ((uint8_t *)writer.control - (uint8_t *)rings->region) /
		ring_slot_bytes(rings->ring_bytes);
	thread = &attachment->threads[index];
	*thread = (struct handle_thread){.writer = writer,
					 .clock = rings->region->clock,
					 .duet = duet,
					 .region = rings->region,
					 .attachment = attachment};
	pthread_setspecific(duet->key, thread);
	return thread;
}

static bool is_ended(const struct ring_region *region)
{
	return !atomic_load_explicit(&region->enabled, memory_order_relaxed);
}

/* Unless another thread has found a new recorder meanwhile. */
static void go_idle(struct duet *duet, uint32_t mode)
{
	atomic_compare_exchange_strong(&duet->page.mode, &mode, idle_mode(duet));
}

/* NULL, and counted, where more threads write than there are rings. */
static struct handle_thread *get_ring(struct duet *duet, uint32_t mode)
{
	const struct attachment *attachment = atomic_load(&duet->attachment);
	struct handle_thread *thread = pthread_getspecific(duet->key);

	if (is_ended(attachment->rings.region)) {
		go_idle(duet, mode);
		return NULL;
	}
	if (!thread || thread->attachment != attachment) {
		thread = patience.claim ? NULL : claim(duet, attachment);
		patience.claim -= patience.claim != 0 && !thread;
	}
	if (!thread) {
		atomic_fetch_add_explicit(&attachment->rings.region->trouble[RING_TROUBLE_NO_RING],
					  1, memory_order_relaxed);
		return NULL;
	}
	thread->mode = mode;
	thread->depth = 0;
	return thread;
}

static void look(struct duet *duet)
{
	uint64_t now_ms = ring_now_ms();

	patience.look = CALLS_BETWEEN_LOOKS;
	if (now_ms < atomic_load(&duet->next_look_ms) || pthread_mutex_trylock(&duet->page.lock))
		return;
	if (mode_of(duet) == HANDLE_LOOKING && now_ms >= atomic_load(&duet->next_look_ms)) {
		atomic_store(&duet->next_look_ms, now_ms + LOOK_INTERVAL_MS);
		handle_attach(duet, &duet->other, true, LOOK_WAIT_MS);
	}
	pthread_mutex_unlock(&duet->page.lock);
}

/* A child of a fork, in its first call. */
static void try_to_be_born(struct duet *duet)
{
	if (pthread_mutex_trylock(&duet->page.lock))
		return;
	if (mode_of(duet) == HANDLE_FORKED) {
		be_born(duet);
		if (duet->recorded_by)
			handle_attach(duet, duet->recorded_by, false, CHILD_WAIT_MS);
	}
	pthread_mutex_unlock(&duet->page.lock);
}

struct handle_thread *handle_enter_slow(struct duet *duet)
{
	struct handle_thread *thread = NULL;
	uint32_t mode = mode_of(duet);
	int saved = errno, cancel;

	if (mode == HANDLE_LOOKING && patience.look) {
		patience.look--;
		return NULL;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (mode == HANDLE_FORKED)
		try_to_be_born(duet);
	else if (mode == HANDLE_LOOKING)
		look(duet);
	mode = mode_of(duet);
	if (mode >= HANDLE_RECORDING)
		thread = get_ring(duet, mode);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return thread;
}

void *handle_reserve(struct handle_thread *thread, uint16_t kind, uint32_t size, uint32_t detail)
{
	struct record *record;

	/* A ring that nobody reads would take the program's memory for nothing, until it is full. */
	if (LIB_UNLIKELY(is_ended(thread->region))) {
		go_idle(thread->duet, thread->mode);
		return NULL;
	}
	record = ring_reserve(&thread->writer, kind, size);
	if (LIB_UNLIKELY(!record)) {
		if (!ring_region_is_read(thread->region))
			go_idle(thread->duet, thread->mode);
		return NULL;
	}
	record->kind = kind;
	record->size = (uint16_t)size;
	record->detail = detail;
	return record;
}
