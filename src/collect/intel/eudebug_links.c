/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eudebug_links.c - connections to processes as the debugger of their GPU programs
 *
 * Runs in:  the recorder: connected by the main thread, which has its rights; read in a thread of its own, which has none
 * Gets:     a GPU and a process   Gives: code objects and where they lie; how many threads stood still
 * Owns:     a descriptor each, and what was told until it is taken
 * Fails:    a connection that fails is closed, which lets its process go on
 * Why a thread: the driver keeps 64 events, and then the process waits in its own call until they are read. And a bind whose
 *           fence waits for an acknowledgement does so until it comes: it comes at once, whatever the event says. Where the
 *           driver cannot take it yet it is tried again each 5 ms; where there are too many of these the connection is closed,
 *           by which the driver lets go of all. The kernel closes it too when the recorder is killed.
 */
#include "collect/intel/eudebug_links.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/thread.h"
#include "collect/host_clocks.h"
#include "collect/rights.h"

enum {
	EVENT_BYTES = 4096,
	EVENT_BYTES_MOST = 1 << 20,
	QUEUES_MOST = 64,
	WAITING_MOST = 256,
	MASK_BYTES = 4096,
	AGAIN_MS = 5,
	POLL_MS = 100,
	EVENTS_A_ROUND = 1024,
	TOLD_MOST = 1 << 18
};
#define BINARY_MOST   (UINT64_C(64) << 20)
#define BINARIES_MOST (UINT64_C(256) << 20) /* that nobody has taken yet */
/* Threads come to a stop one after the other. */
enum { STOP_LOOKS = 40, STOP_NAP_US = 250, TRIES = 200 };

struct link {
	uint32_t number;
	int fd; /* owned */
	const struct eudebug_driver *driver;
	const struct gpu_node *node;
	bool stops;
	uint64_t stopped_ns; /* the last time */
	struct eudebug_refs refs;
	/* What the driver could not take yet: acknowledgements, and binaries to be read. */
	struct eudebug_event waiting[WAITING_MOST];
	uint32_t waiting_count;
	struct eudebug_event queues[QUEUES_MOST];
	uint32_t queues_count;
};

struct eudebug_links {
	pthread_t thread;
	atomic_bool is_over;
	bool is_stopped;
	int wake_fd;     /* owned */
	uint8_t *buffer; /* owned; the thread's */
	size_t buffer_bytes;
	pthread_mutex_t lock; /* of all that follows; a link itself is the thread's */
	struct link *links[EUDEBUG_LINKS_MOST]; /* owned */
	uint32_t count, last_number;
	struct eudebug_told *told; /* owned, with their bytes */
	size_t told_count, told_capacity;
	uint64_t told_bytes;
	struct eudebug_counts counts;
};

static const struct eudebug_driver *driver_of(const struct gpu_node *node)
{
	return strcmp(node->driver, "i915") == 0 ? &eudebug_i915_driver : &eudebug_xe_driver;
}

/* ---- what is told ------------------------------------------------------------------------------ */

static void count(struct eudebug_links *links, uint64_t *counter, uint64_t more)
{
	pthread_mutex_lock(&links->lock);
	*counter += more;
	pthread_mutex_unlock(&links->lock);
}

/* Without its end a process would keep its debugger, and its kernels would go on: there is one for each connection. Other ends have as
 * much room again as all the rest. */
static bool has_place(const struct eudebug_links *links, enum eudebug_told_kind kind)
{
	switch (kind) {
	case EUDEBUG_TOLD_CLOSED:
		return true;
	case EUDEBUG_TOLD_SPACE_END:
	case EUDEBUG_TOLD_BINARY_END:
		return links->told_count < 2 * TOLD_MOST;
	default:
		return links->told_count < TOLD_MOST;
	}
}

/* False: there is no room; its bytes are the caller's still. */
static bool tell(struct eudebug_links *links, const struct link *link, struct eudebug_told *told)
{
	const uint64_t bytes = told->bytes ? told->size : 0;
	bool has_room;

	told->link = link->number;
	told->time_ns = host_clocks_now_ns();
	pthread_mutex_lock(&links->lock);
	has_room = has_place(links, told->kind) && links->told_bytes + bytes <= BINARIES_MOST &&
		   !array_grow(links->told, links->told_capacity, links->told_count + 1);
	if (has_room) {
		links->told[links->told_count++] = *told;
		links->told_bytes += bytes;
	} else {
		links->counts.lost++;
	}
	pthread_mutex_unlock(&links->lock);
	return has_room;
}

static void tell_place(struct eudebug_links *links, const struct link *link,
		       enum eudebug_told_kind kind, const struct eudebug_event *event,
		       uint64_t binary)
{
	struct eudebug_told told = {.kind = kind,
				    .client = event->client,
				    .space = event->space,
				    .binary = binary,
				    .begin = event->begin,
				    .size = event->size};

	tell(links, link, &told);
}

/* ---- threads that stand still ------------------------------------------------------------------ */

static void nap(uint32_t us)
{
	const struct timespec time = {.tv_nsec = (long)us * 1000};

	nanosleep(&time, NULL);
}

static uint32_t bits_of(const uint8_t *mask, uint32_t bytes)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i < bytes; i++)
		bits += (uint32_t)__builtin_popcount(mask[i]);
	return bits;
}

/* Those of the queue that stand still, as bits. The driver refuses while it is busy with the same threads. Returns how many, 0
 * where the queue is gone; -errno: perhaps there are some, and who knows of them may not stay. */
static int look_at_stopped(const struct link *link, const struct eudebug_event *queue,
			   uint8_t mask[MASK_BYTES], uint32_t *ret_bytes)
{
	int error = -EBUSY;

	for (int i = 0; (error == -EBUSY || error == -EINTR) && i < TRIES; i++) {
		if (i)
			nap(STOP_NAP_US);
		*ret_bytes = MASK_BYTES;
		memset(mask, 0, MASK_BYTES);
		error = link->driver->stopped(link->node, link->fd, queue, mask, ret_bytes);
	}
	if (error == -EINVAL || error == -ENOENT)
		return 0;
	if (error || *ret_bytes > MASK_BYTES)
		return error ? error : -EPROTO;
	return (int)bits_of(mask, *ret_bytes);
}

/* The driver refuses while it is busy with the same threads. 0; -errno. */
static int let_go(const struct link *link, const struct eudebug_event *queue, const uint8_t *mask,
		  uint32_t bytes)
{
	int error = -EBUSY;

	for (int i = 0; error == -EBUSY && i < TRIES; i++) {
		if (i)
			nap(STOP_NAP_US);
		error = link->driver->resume(link->node, link->fd, queue, mask, bytes);
	}
	return error;
}

/* Nobody is there who would look at them. False: they do not go on, and the connection has to end. */
static bool on_attention(struct eudebug_links *links, const struct link *link,
			 const struct eudebug_event *event)
{
	uint8_t mask[MASK_BYTES];
	uint32_t bytes = event->mask_bytes;
	int error, bits;

	if (!link->driver->resume)
		return false;
	if (event->mask && bytes <= MASK_BYTES) {
		memcpy(mask, event->mask, bytes);
		bits = (int)bits_of(mask, bytes);
	} else {
		bits = look_at_stopped(link, event, mask, &bytes);
	}
	if (bits <= 0)
		return bits == 0;
	error = let_go(link, event, mask, bytes);
	/* EINVAL: they went on already */
	if (error && error != -EINVAL)
		return false;
	count(links, &links->counts.resumed, error ? 0 : (uint64_t)bits);
	return true;
}

/* One look at how many threads of a queue there are: they are stopped, counted, and go on. False: as on_attention. */
static bool stop(struct eudebug_links *links, const struct link *link,
		 const struct eudebug_event *queue)
{
	const uint64_t begin_ns = host_clocks_now_ns();
	struct eudebug_told told = {.kind = EUDEBUG_TOLD_STOPPED};
	uint8_t mask[MASK_BYTES];
	int bits = 0, before = -1;
	uint32_t bytes;

	/* nothing of it runs, or it is not to be stopped now */
	if (link->driver->interrupt(link->node, link->fd, queue))
		return true;
	for (int i = 0; i < STOP_LOOKS && bits >= 0 && (!bits || bits != before); i++) {
		before = bits;
		nap(STOP_NAP_US);
		bits = look_at_stopped(link, queue, mask, &bytes);
	}
	if (bits <= 0)
		return bits == 0; /* an event will say who stands still later */
	if (let_go(link, queue, mask, bytes))
		return false;
	told.size = (uint64_t)bits;
	told.begin = host_clocks_now_ns() - begin_ns;
	tell(links, link, &told);
	pthread_mutex_lock(&links->lock);
	links->counts.stops++;
	links->counts.stopped_ns += told.begin;
	if (told.begin > links->counts.stopped_most_ns)
		links->counts.stopped_most_ns = told.begin;
	pthread_mutex_unlock(&links->lock);
	return true;
}

static bool stop_all(struct eudebug_links *links, struct link *link)
{
	const uint64_t now_ns = host_clocks_now_ns();

	if (!link->stops || now_ns - link->stopped_ns < EUDEBUG_STOP_EVERY_NS)
		return true;
	link->stopped_ns = now_ns;
	for (uint32_t i = 0; i < link->queues_count; i++)
		if (!stop(links, link, &link->queues[i]))
			return false;
	return true;
}

static void meet_queue(struct link *link, const struct eudebug_event *event)
{
	uint32_t i = 0;

	while (i < link->queues_count && link->queues[i].queue != event->queue)
		i++;
	if (event->is_end) {
		if (i < link->queues_count)
			link->queues[i] = link->queues[--link->queues_count];
		return;
	}
	if (i < QUEUES_MOST)
		link->queues[i] = *event;
	if (i < QUEUES_MOST && i == link->queues_count)
		link->queues_count++;
}

/* ---- events ------------------------------------------------------------------------------------ */

static int read_into(const struct link *link, const struct eudebug_event *event, void **ret_bytes,
		     uint64_t *ret_size)
{
	auto_free void *bytes = NULL;
	uint64_t size = 0;
	int error = link->driver->read_binary(link->node, link->fd, event->client,
					      event->binaries[0], NULL, &size);

	if (error)
		return error;
	if (!size || size > BINARY_MOST)
		return -EFBIG;
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	error = link->driver->read_binary(link->node, link->fd, event->client, event->binaries[0],
					  bytes, &size);
	if (error)
		return error;
	*ret_bytes = take_ptr(bytes);
	*ret_size = size;
	return 0;
}

/* 0, or -EBUSY: it has to be tried again. */
static int take_binary(struct eudebug_links *links, const struct link *link,
		       const struct eudebug_event *event)
{
	struct eudebug_told told = {
		.kind = EUDEBUG_TOLD_BINARY, .client = event->client, .binary = event->binaries[0]};
	const int error = read_into(link, event, &told.bytes, &told.size);

	if (error == -EBUSY)
		return error;
	if (error)
		count(links, &links->counts.lost, 1);
	else if (!tell(links, link, &told))
		free(told.bytes);
	return 0;
}

static int acknowledge(struct eudebug_links *links, const struct link *link,
		       const struct eudebug_event *event)
{
	const int error = link->driver->acknowledge(link->node, link->fd, event);

	if (!error)
		count(links, &links->counts.acknowledged, 1);
	return error == -EBUSY || error == -EINTR ? -EBUSY : 0;
}

/* False: there are too many. */
static bool put_off(struct link *link, const struct eudebug_event *event)
{
	if (link->waiting_count == WAITING_MOST)
		return false;
	link->waiting[link->waiting_count] = *event;
	link->waiting[link->waiting_count++].mask = NULL;
	return true;
}

static void try_again(struct eudebug_links *links, struct link *link)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < link->waiting_count; i++) {
		const struct eudebug_event event = link->waiting[i];

		if (event.needs_ack ? acknowledge(links, link, &event)
				    : take_binary(links, link, &event))
			link->waiting[kept++] = event;
	}
	link->waiting_count = kept;
}

/* False: it does not go on. */
static bool take_event(struct eudebug_links *links, struct link *link,
		       const struct eudebug_event *event)
{
	switch (event->kind) {
	case EUDEBUG_BINARY:
		if (event->is_end)
			tell_place(links, link, EUDEBUG_TOLD_BINARY_END, event, event->binaries[0]);
		else if (take_binary(links, link, event))
			return put_off(link, event);
		return true;
	case EUDEBUG_SPACE:
		if (event->is_end)
			tell_place(links, link, EUDEBUG_TOLD_SPACE_END, event, 0);
		return true;
	case EUDEBUG_BOUND:
		tell_place(links, link, EUDEBUG_TOLD_BOUND, event, 0);
		return true;
	case EUDEBUG_PLACED:
		for (uint32_t i = 0; i < event->binaries_count; i++)
			tell_place(links, link, EUDEBUG_TOLD_PLACED, event, event->binaries[i]);
		return true;
	case EUDEBUG_QUEUE:
		meet_queue(link, event);
		return true;
	case EUDEBUG_ATTENTION:
		return on_attention(links, link, event);
	case EUDEBUG_UNKNOWN:
		count(links, &links->counts.broken, 1);
		return true;
	case EUDEBUG_NOTHING:
		break;
	}
	return true;
}

static bool take_bytes(struct eudebug_links *links, struct link *link, size_t size)
{
	struct eudebug_event event;

	if (!link->driver->decode(&link->refs, links->buffer, size, &event)) {
		count(links, &links->counts.broken, 1);
		return !event.needs_ack || !acknowledge(links, link, &event) ||
		       put_off(link, &event);
	}
	count(links, &links->counts.events, 1);
	/* first of all: somebody waits for it */
	if (event.needs_ack && acknowledge(links, link, &event) && !put_off(link, &event))
		return false;
	event.needs_ack = false;
	return take_event(links, link, &event);
}

static bool make_room(struct eudebug_links *links, size_t needed)
{
	uint8_t *bigger = needed > links->buffer_bytes && needed <= EVENT_BYTES_MOST
				  ? realloc(links->buffer, needed)
				  : NULL;

	if (!bigger)
		return false;
	links->buffer = bigger;
	links->buffer_bytes = needed;
	return true;
}

/* 0, or why the connection has ended. */
static int read_events(struct eudebug_links *links, struct link *link)
{
	for (int i = 0; i < EVENTS_A_ROUND; i++) {
		size_t needed = 0;
		const ssize_t size = link->driver->read(link->node, link->fd, links->buffer,
							links->buffer_bytes, &needed);

		if (size == 0)
			return 0;
		if (size == -EMSGSIZE && make_room(links, needed))
			continue;
		if (size < 0)
			return (int)-size;
		if (!take_bytes(links, link, (size_t)size))
			return EPROTO;
	}
	return 0;
}

/* ---- the thread -------------------------------------------------------------------------------- */

static void end_link(struct eudebug_links *links, struct link *link, int error)
{
	struct eudebug_told told = {.kind = EUDEBUG_TOLD_CLOSED, .error = error};

	close(link->fd);
	tell(links, link, &told);
	pthread_mutex_lock(&links->lock);
	for (uint32_t i = 0; i < links->count; i++) {
		if (links->links[i] != link)
			continue;
		links->links[i] = links->links[--links->count];
		break;
	}
	pthread_mutex_unlock(&links->lock);
	free(link);
}

static void serve(struct eudebug_links *links, struct link *link, short events)
{
	int error = 0;

	if (events)
		error = read_events(links, link);
	if (!error && link->waiting_count)
		try_again(links, link);
	if (!error && !stop_all(links, link))
		error = EPROTO;
	/* nothing is left to be read of one that has hung up */
	if (!error && (events & (POLLHUP | POLLERR)) && !(events & POLLIN))
		error = ENOTCONN;
	if (error)
		end_link(links, link, error);
}

static void *run(void *argument)
{
	struct eudebug_links *links = argument;
	struct pollfd entries[EUDEBUG_LINKS_MOST + 1];
	struct link *all[EUDEBUG_LINKS_MOST];

	rights_keep_none();
	while (!links->is_over) {
		int timeout_ms = POLL_MS;
		uint64_t woken;
		uint32_t number;

		pthread_mutex_lock(&links->lock);
		number = links->count;
		memcpy(all, links->links, number * sizeof(all[0]));
		pthread_mutex_unlock(&links->lock);
		entries[0] = (struct pollfd){.fd = links->wake_fd, .events = POLLIN};
		for (uint32_t i = 0; i < number; i++) {
			entries[i + 1] = (struct pollfd){.fd = all[i]->fd, .events = POLLIN};
			if (all[i]->waiting_count)
				timeout_ms = AGAIN_MS;
		}
		if (poll(entries, number + 1, timeout_ms) < 0 && errno != EINTR)
			nap(STOP_NAP_US);
		if (entries[0].revents && read(links->wake_fd, &woken, sizeof(woken)) < 0)
			continue;
		for (uint32_t i = 0; i < number; i++)
			serve(links, all[i], entries[i + 1].revents);
	}
	return NULL;
}

/* ---- for the main thread ----------------------------------------------------------------------- */

int eudebug_links_open(struct eudebug_links **ret_links)
{
	struct eudebug_links *links = calloc(1, sizeof(*links));

	if (!links)
		return error_set(-ENOMEM, "debugging GPU programs: out of memory");
	pthread_mutex_init(&links->lock, NULL);
	links->buffer_bytes = EVENT_BYTES;
	links->buffer = malloc(EVENT_BYTES);
	links->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (links->buffer && links->wake_fd >= 0 && thread_start(&links->thread, run, links)) {
		*ret_links = links;
		return 0;
	}
	if (links->wake_fd >= 0)
		close(links->wake_fd);
	free(links->buffer);
	free(links);
	return error_set(-EAGAIN, "debugging GPU programs: no thread to read what drivers tell");
}

static void wake(const struct eudebug_links *links)
{
	const uint64_t one = 1;

	/* it can only fail where it is woken already */
	if (write(links->wake_fd, &one, sizeof(one)) < 0)
		return;
}

int eudebug_links_connect(struct eudebug_links *links, const struct gpu_node *node, pid_t pid,
			  bool stops)
{
	auto_free struct link *link = NULL;
	int error = 0;

	if (links->count == EUDEBUG_LINKS_MOST)
		return -ENOSPC;
	link = calloc(1, sizeof(*link));
	if (!link)
		return -ENOMEM;
	link->driver = driver_of(node);
	link->node = node;
	link->stops = stops && link->driver->interrupt;
	link->fd = link->driver->connect(node, pid);
	if (link->fd < 0)
		return link->fd;
	pthread_mutex_lock(&links->lock);
	error = (int)(link->number = ++links->last_number);
	links->links[links->count++] = take_ptr(link);
	pthread_mutex_unlock(&links->lock);
	wake(links);
	return error;
}

void eudebug_links_take(struct eudebug_links *links,
			void (*on_told)(void *context, const struct eudebug_told *told),
			void *context)
{
	auto_free struct eudebug_told *told = NULL;
	size_t told_count;

	pthread_mutex_lock(&links->lock);
	told = take_ptr(links->told);
	told_count = links->told_count;
	links->told_count = links->told_capacity = 0;
	links->told_bytes = 0;
	pthread_mutex_unlock(&links->lock);
	for (size_t i = 0; i < told_count; i++)
		on_told(context, &told[i]);
}

void eudebug_links_counted(struct eudebug_links *links, struct eudebug_counts *ret_counts)
{
	pthread_mutex_lock(&links->lock);
	*ret_counts = links->counts;
	pthread_mutex_unlock(&links->lock);
}

void eudebug_links_stop(struct eudebug_links *links)
{
	if (links->is_stopped)
		return;
	links->is_stopped = true;
	links->is_over = true;
	wake(links);
	pthread_join(links->thread, NULL);
	for (uint32_t i = 0; i < links->count; i++) {
		struct link *link = links->links[i];

		/* what came since the last look, and acknowledgements with it */
		if (read_events(links, link) == 0)
			try_again(links, link);
		close(link->fd);
		free(link);
	}
	links->count = 0;
}

void eudebug_links_close(struct eudebug_links *links)
{
	if (!links)
		return;
	eudebug_links_stop(links);
	for (size_t i = 0; i < links->told_count; i++)
		free(links->told[i].bytes);
	close(links->wake_fd);
	free(links->told);
	free(links->buffer);
	free(links);
}
