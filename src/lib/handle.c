/* SPDX-License-Identifier: MIT
 *
 * lib/handle.c - connect a struct duet to a recorder's shared memory and give each thread a ring in
 * it
 *
 * Runs in:  the user's program
 * Gets:     a recorder's addresses
 * Gives:    the calling thread's ring
 * Owns:     the mappings of rings, the memory of their threads
 * Fails:    attaching with -errno and a message; entering a call by writing nothing
 * Why a pthread key for a thread's ring and not _Thread_local: handles are opened and closed, also
 *           by a plug-in that contains this library and is unloaded, and no thread may keep the
 *           ring of a closed handle. Deleting a key leaves nothing behind. A key costs 2 ns more
 *           than _Thread_local per access.
 */
#include "lib/handle.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	LOOK_INTERVAL_MS = 1000, /* between two searches for a recorder */
	ANSWER_INTERVAL_MS = 10, /* between two checks for its answer */
	/* once, in its first call: on a busy machine a recorder needed 316 ms */
	CHILD_WAIT_MS = 500,
	CLAIM_INTERVAL_MS = 5 /* scanning all rings costs a microsecond */
};

static uint32_t mode_of(const struct duet *duet)
{
	return atomic_load_explicit(&duet->page.mode, memory_order_acquire);
}

static void set_mode(struct duet *duet, uint32_t mode)
{
	atomic_store_explicit(&duet->page.mode, mode, memory_order_release);
}

void handle_set_idle(struct duet *duet, enum handle_mode mode)
{
	atomic_store(&duet->idle_mode, mode);
	set_mode(duet, mode);
}

/* ---- attaching ------------------------------------------------------------------------------- */

/* Starts afresh, also with rings that were there before: ranges open then are not open now. */
static void begin(struct duet *duet, const struct attachment *attachment)
{
	duet->recorded_by = attachment->recorder;
	set_mode(duet, HANDLE_RECORDING + ++duet->starts);
	atomic_store(&attachment->rings.region->begun_ns, ring_now(RING_CLOCK_MONOTONIC));
}

static int add_attachment(struct duet *duet, const struct handshake_environment *recorder,
			  struct handshake_rings *rings)
{
	/* One allocation for both, the attachment and its threads. */
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
		.recorder = recorder,
		.threads = (struct handle_thread *)(attachment + 1),
		.generation = atomic_load(&duet->page.generation),
	};
	for (int i = 0; i < RING_TROUBLE_COUNT; i++)
		atomic_fetch_add(&rings->region->trouble[i], atomic_load(&duet->missed[i]));
	atomic_store(&duet->attachment, attachment);
	open_handles_forget(duet->place);
	begin(duet, attachment);
	return 0;
}

static bool is_open(const struct handle_hello *hello)
{
	struct stat about;

	return hello->fd >= 0 && fstat(hello->fd, &about) == 0 && S_ISSOCK(about.st_mode) &&
	       about.st_ino == hello->inode;
}

void handle_hang_up(struct duet *duet)
{
	if (is_open(&duet->hello))
		close(duet->hello.fd);
	duet->hello.fd = -1;
	atomic_store(&duet->is_awaited, false);
	for (int i = 0; i < RING_TROUBLE_COUNT; i++)
		atomic_store(&duet->missed[i], 0);
}

static int send_hello(struct duet *duet, int fd)
{
	char name[OPEN_HANDLES_NAME_BYTES];
	struct stat about;
	int error;

	if (fd < 0)
		return -ECONNREFUSED;
	open_handles_name(duet->place, name);
	error = fstat(fd, &about) < 0 ? -errno : handshake_say_hello(fd, name);
	if (error) {
		close(fd);
		return error;
	}
	duet->hello.fd = fd;
	duet->hello.inode = about.st_ino;
	return 0;
}

/* To the recorder that the environment names, with is_any otherwise to one of the machine. */
static int say_hello(struct duet *duet, const struct handshake_environment *environment,
		     bool is_any)
{
	int fd;

	if (!handshake_may_use_sockets(environment))
		return -EACCES;
	duet->hello.next_place = 0;
	fd = handshake_connect(environment->names);
	if (fd < 0 && is_any)
		fd = handshake_connect_any(&duet->hello.next_place);
	return send_hello(duet, fd);
}

static uint32_t left_ms(uint64_t end_ms)
{
	const uint64_t now_ms = ring_now_ms();

	return now_ms < end_ms ? (uint32_t)(end_ms - now_ms) : 0;
}

int handle_attach(struct duet *duet, const struct handshake_environment *environment, bool is_any,
		  uint32_t wait_ms)
{
	const uint64_t end_ms = ring_now_ms() + wait_ms;
	struct handshake_rings rings;
	int error = is_open(&duet->hello) ? 0 : say_hello(duet, environment, is_any);

	if (!error)
		error = handshake_rings_open(duet->hello.fd, wait_ms, &rings);
	/* a recorder of other processes refuses; the next one may record this one */
	while (error == -ENODATA && is_any) {
		handle_hang_up(duet);
		error = send_hello(duet, handshake_connect_any(&duet->hello.next_place));
		if (!error)
			error = handshake_rings_open(duet->hello.fd, left_ms(end_ms), &rings);
	}
	if (error == -ETIMEDOUT)
		return error;
	if (!error)
		error = add_attachment(duet, environment, &rings);
	handle_hang_up(duet);
	return error;
}

/* The caller holds the lock. Tries the recorder of the handle or of its parent, otherwise any
 * recorder. */
static void try_to_attach(struct duet *duet, uint32_t wait_ms)
{
	const bool is_any = duet->recorded_by != &duet->own;
	const struct handshake_environment *environment = is_any ? &duet->other : &duet->own;
	int error = handle_attach(duet, environment, is_any, wait_ms);

	atomic_store(&duet->next_look_ms,
		     ring_now_ms() + (error == -ETIMEDOUT ? ANSWER_INTERVAL_MS : LOOK_INTERVAL_MS));
	if (error && error != -ETIMEDOUT)
		set_mode(duet, atomic_load(&duet->idle_mode));
}

/* The newest attachment; a child has its parent's in memory, but not their rings mapped. */
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
	begin(duet, find_attachment(duet));
	return true;
}

void handle_abandon(struct duet *duet)
{
	const struct attachment *attachment = find_attachment(duet);

	if (attachment)
		atomic_store(&attachment->rings.region->enabled, 0);
}

/* Returns the first page if a recorder still reads the rings, because that recorder continues. */
static void *leave(struct attachment *attachment)
{
	struct handshake_rings *rings = &attachment->rings;
	size_t bytes = ring_region_bytes(rings->ring_count, rings->ring_bytes);

	if (!ring_region_is_read(rings->region)) {
		handshake_rings_close(rings);
		return NULL;
	}
	for (uint32_t i = 0; i < rings->ring_count; i++)
		ring_close(&attachment->threads[i].writer);
	atomic_store(&rings->region->left, 1);
	munmap((uint8_t *)rings->region + RING_PAGE, bytes - RING_PAGE);
	return rings->region;
}

void *handle_leave(struct duet *duet)
{
	const uint32_t generation = atomic_load(&duet->page.generation);
	struct attachment *attachment = atomic_load(&duet->attachment);
	void *kept = NULL, *page;

	for (; attachment; attachment = attachment->older) {
		page = attachment->generation == generation ? leave(attachment) : NULL;
		/* If several recorders still read, only the newest can be met again. */
		if (page && kept)
			munmap(page, RING_PAGE);
		else if (page)
			kept = page;
	}
	return kept;
}

void handle_unmap(struct duet *duet)
{
	struct attachment *attachment = atomic_load(&duet->attachment), *older;

	for (; attachment; attachment = older) {
		older = attachment->older;
		munmap(attachment, sizeof(*attachment) + attachment->rings.ring_count *
								 sizeof(*attachment->threads));
	}
	munmap(duet, sizeof(*duet));
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* The caller holds the lock. A child is a process of its own and its parent's recorder stays its
 * parent's. */
static void be_born(struct duet *duet)
{
	atomic_store(&duet->page.generation, ++duet->generation);
	duet->recorder = (struct recorder){0};
	handle_hang_up(duet);
	/* There is room: no more handles are open here than the parent had. */
	open_handles_add(duet, &duet->place);
	set_mode(duet, atomic_load(&duet->idle_mode));
}

void handle_lock(struct duet *duet, int *ret_cancel)
{
	/* A thread cancelled inside would never release the lock. */
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

/* ---- threads --------------------------------------------------------------------------------- */

static struct handle_thread *claim(struct duet *duet, struct attachment *attachment)
{
	const struct handshake_rings *rings = &attachment->rings;
	const uint32_t tid = (uint32_t)syscall(SYS_gettid);
	const uint64_t now_ms = ring_now_ms();
	struct handle_thread *thread;
	struct ring_writer writer;
	size_t index;

	if (now_ms < atomic_load(&attachment->next_claim_ms))
		return NULL;
	if (!ring_claim(rings->region, rings->ring_count, rings->ring_bytes, tid, &writer)) {
		atomic_store(&attachment->next_claim_ms, now_ms + CLAIM_INTERVAL_MS);
		return NULL;
	}
	index = ((uint8_t *)writer.control - (uint8_t *)rings->region) /
		ring_slot_bytes(rings->ring_bytes);
	thread = &attachment->threads[index];
	thread->writer = writer;
	thread->clock = rings->region->clock;
	thread->duet = duet;
	thread->region = rings->region;
	thread->attachment = attachment;
	/* A thread that ends and had a ring of a closed handle at this address may check its owner.
	 */
	atomic_store(&thread->tid, tid);
	pthread_setspecific(duet->key, thread);
	return thread;
}

/* Unless another thread has found a new recorder meanwhile. */
static void go_idle(struct duet *duet, uint32_t mode)
{
	atomic_compare_exchange_strong(&duet->page.mode, &mode, atomic_load(&duet->idle_mode));
}

/* NULL, and counted, if more threads write than there are rings. */
static struct handle_thread *get_ring(struct duet *duet, uint32_t mode, enum ring_trouble trouble)
{
	struct attachment *attachment = atomic_load(&duet->attachment);
	struct handle_thread *thread = pthread_getspecific(duet->key);

	if (!ring_region_is_owned(attachment->rings.region)) {
		go_idle(duet, mode);
		return NULL;
	}
	if (!thread || thread->attachment != attachment)
		thread = claim(duet, attachment);
	if (!thread) {
		atomic_fetch_add_explicit(&attachment->rings.region->trouble[trouble], 1,
					  memory_order_relaxed);
		return NULL;
	}
	thread->mode = mode;
	thread->depth = 0;
	return thread;
}

static bool is_time_to_look(const struct duet *duet)
{
	return ring_now_ms() >= atomic_load_explicit(&duet->next_look_ms, memory_order_relaxed);
}

static void look_for_recorder(struct duet *duet)
{
	if (pthread_mutex_trylock(&duet->page.lock))
		return;
	if (mode_of(duet) == HANDLE_LOOKING && is_time_to_look(duet))
		try_to_attach(duet, 0);
	pthread_mutex_unlock(&duet->page.lock);
}

/* For a forked child, in its first call. */
static void try_to_be_born(struct duet *duet)
{
	if (pthread_mutex_trylock(&duet->page.lock))
		return;
	if (mode_of(duet) == HANDLE_FORKED) {
		be_born(duet);
		if (duet->recorded_by) {
			atomic_store(&duet->is_awaited, true);
			set_mode(duet, HANDLE_LOOKING);
			try_to_attach(duet, CHILD_WAIT_MS);
		}
	}
	pthread_mutex_unlock(&duet->page.lock);
}

static void count_missed(struct duet *duet, enum ring_trouble trouble)
{
	if (atomic_load_explicit(&duet->is_awaited, memory_order_relaxed))
		atomic_fetch_add_explicit(&duet->missed[trouble], 1, memory_order_relaxed);
}

static struct handle_thread *enter(struct duet *duet, uint32_t mode, enum ring_trouble trouble)
{
	if (mode == HANDLE_FORKED)
		try_to_be_born(duet);
	else if (mode == HANDLE_LOOKING)
		look_for_recorder(duet);
	mode = mode_of(duet);
	if (mode >= HANDLE_RECORDING)
		return get_ring(duet, mode, trouble);
	count_missed(duet, trouble);
	return NULL;
}

struct handle_thread *handle_enter_slow(struct duet *duet, enum ring_trouble trouble)
{
	struct handle_thread *thread;
	uint32_t mode = mode_of(duet);
	int saved = errno, cancel;

	if (mode == HANDLE_LOOKING && !is_time_to_look(duet)) {
		count_missed(duet, trouble);
		return NULL;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	thread = enter(duet, mode, trouble);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return thread;
}

void *handle_reserve(struct handle_thread *thread, uint16_t kind, uint32_t size, uint32_t detail)
{
	struct record *record;

	/* A ring that is not read would use the program's memory in vain until it is full. */
	if (LIB_UNLIKELY(!ring_region_is_owned(thread->region))) {
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
