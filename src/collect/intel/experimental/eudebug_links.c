/* SPDX-License-Identifier: MIT
 *
 * collect/intel/experimental/eudebug_links.c - connections to processes as the debugger of their
 * GPU programs
 *
 * Runs in:  the recorder: connected by the main thread, which has its rights; read in a thread of
 *           its own, which has none
 * Gets:     a GPU and a process
 * Gives:    code objects and their addresses; numbers of stopped threads
 * Owns:     a descriptor per connection, and events until they are taken
 * Fails:    A connection that fails is closed, which lets its process continue
 * Why:      A thread reads the events. The driver queues 64 events; after that the process blocks
 *           in its own call until they are read. A bind whose fence needs an acknowledgement also
 *           blocks the process until the acknowledgement arrives. So the acknowledgement is sent at
 *           once, whatever the event contains. If the driver cannot accept it yet, it is sent again
 *           every 5 ms. If too many acknowledgements are unsent the connection is closed, which
 *           releases all blocked binds. The kernel also closes it when the recorder is killed.
 */
#include "collect/intel/experimental/eudebug_links.h"

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
#include "collect/start/rights.h"

enum {
	EVENT_BYTES = 4096,
	MAX_EVENT_BYTES = 1 << 20,
	MAX_QUEUES = 64,
	MAX_WAITING = 256,
	MASK_BYTES = 4096,
	AGAIN_MS = 5,
	POLL_MS = 100,
	EVENTS_A_ROUND = 1024,
	MAX_TOLD = 1 << 18
};
#define MAX_BINARY   (UINT64_C(64) << 20)
#define MAX_BINARIES (UINT64_C(256) << 20) /* bytes of code objects that are not taken yet */
/* Threads stop one after the other, so they are counted until the number stays the same. */
enum { STOP_LOOKS = 40, STOP_NAP_US = 250, TRIES = 200 };

struct link {
	uint32_t number;
	int fd; /* owned */
	const struct eudebug_driver *driver;
	const struct gpu_node *node;
	bool stops;
	uint64_t stopped_ns; /* time of the last stop */
	struct eudebug_refs refs;
	/* Pending requests that the driver could not accept yet: acknowledgements, and binaries to
	 * read. */
	struct eudebug_event waiting[MAX_WAITING];
	uint32_t waiting_count;
	struct eudebug_event queues[MAX_QUEUES];
	uint32_t queues_count;
};

struct eudebug_links {
	pthread_t thread;
	atomic_bool is_over;
	bool is_stopped;
	int wake_fd;     /* owned */
	uint8_t *buffer; /* owned; used by the thread */
	size_t buffer_bytes;
	pthread_mutex_t lock; /* protects all members below; a link itself belongs to the thread */
	struct link *links[MAX_EUDEBUG_LINKS]; /* owned */
	uint32_t count, last_number;
	struct eudebug_link_event *link_event; /* owned, with their bytes */
	size_t event_count, event_capacity;
	uint64_t event_bytes;
	struct eudebug_counts counts;
};

static const struct eudebug_driver *driver_of(const struct gpu_node *node)
{
	return strcmp(node->driver, "i915") == 0 ? &eudebug_i915_driver : &eudebug_xe_driver;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void add_count(struct eudebug_links *links, uint64_t *counter, uint64_t more)
{
	pthread_mutex_lock(&links->lock);
	*counter += more;
	pthread_mutex_unlock(&links->lock);
}

/* Whether there is room for an item. The end of a connection always has room: without it the
 * process would keep its entry and its kernels would never end. Other ends may use twice the limit
 * of the rest. */
static bool has_place(const struct eudebug_links *links, enum eudebug_link_event_kind kind)
{
	switch (kind) {
	case EUDEBUG_LINK_CLOSED:
		return true;
	case EUDEBUG_LINK_SPACE_END:
	case EUDEBUG_LINK_BINARY_END:
		return links->event_count < 2 * MAX_TOLD;
	default:
		return links->event_count < MAX_TOLD;
	}
}

/* False: no room; the bytes still belong to the caller. */
static bool append_event(struct eudebug_links *links, const struct link *link,
			 struct eudebug_link_event *link_event)
{
	const uint64_t bytes = link_event->bytes ? link_event->size : 0;
	bool has_room;

	link_event->link = link->number;
	link_event->time_ns = host_clocks_now_ns();
	pthread_mutex_lock(&links->lock);
	has_room = has_place(links, link_event->kind) &&
		   links->event_bytes + bytes <= MAX_BINARIES &&
		   !array_grow(links->link_event, links->event_capacity, links->event_count + 1);
	if (has_room) {
		links->link_event[links->event_count++] = *link_event;
		links->event_bytes += bytes;
	} else {
		links->counts.lost++;
	}
	pthread_mutex_unlock(&links->lock);
	return has_room;
}

static void append_place(struct eudebug_links *links, const struct link *link,
			 enum eudebug_link_event_kind kind, const struct eudebug_event *event,
			 uint64_t binary)
{
	struct eudebug_link_event link_event = {.kind = kind,
						.client = event->client,
						.space = event->space,
						.binary = binary,
						.begin = event->begin,
						.size = event->size};

	append_event(links, link, &link_event);
}

/* ---- stopped threads ------------------------------------------------------------------------- */

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

/* Reads the queue's stopped threads as bits. The driver refuses while it handles the same threads,
 * so it is asked again. Returns their number, 0 if the queue is gone; -errno: some may have
 * stopped, so the connection must end. */
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

/* Resumes the threads; the driver refuses while it handles them, so it is asked again. Returns 0;
 * -errno. */
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

/* Resumes the threads, since no debugger inspects them. False: that failed, and the connection must
 * end. */
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
	/* EINVAL: they run already */
	if (error && error != -EINVAL)
		return false;
	add_count(links, &links->counts.resumed, error ? 0 : (uint64_t)bits);
	return true;
}

/* Stops a queue's threads, counts them and resumes them. False: as on_attention. */
static bool stop_queue(struct eudebug_links *links, const struct link *link,
		       const struct eudebug_event *queue)
{
	const uint64_t begin_ns = host_clocks_now_ns();
	struct eudebug_link_event link_event = {.kind = EUDEBUG_LINK_STOPPED};
	uint8_t mask[MASK_BYTES];
	int bits = 0, before = -1;
	uint32_t bytes;

	/* no thread runs, or the queue cannot be stopped now */
	if (link->driver->interrupt(link->node, link->fd, queue))
		return true;
	for (int i = 0; i < STOP_LOOKS && bits >= 0 && (!bits || bits != before); i++) {
		before = bits;
		nap(STOP_NAP_US);
		bits = look_at_stopped(link, queue, mask, &bytes);
	}
	if (bits <= 0)
		return bits == 0; /* threads that stop later are reported by an event */
	if (let_go(link, queue, mask, bytes))
		return false;
	link_event.size = (uint64_t)bits;
	link_event.begin = host_clocks_now_ns() - begin_ns;
	append_event(links, link, &link_event);
	pthread_mutex_lock(&links->lock);
	links->counts.stops++;
	links->counts.stopped_ns += link_event.begin;
	if (link_event.begin > links->counts.stopped_max_ns)
		links->counts.stopped_max_ns = link_event.begin;
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
		if (!stop_queue(links, link, &link->queues[i]))
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
	if (i < MAX_QUEUES)
		link->queues[i] = *event;
	if (i < MAX_QUEUES && i == link->queues_count)
		link->queues_count++;
}

/* ---- events ---------------------------------------------------------------------------------- */

static int read_into(const struct link *link, const struct eudebug_event *event, void **ret_bytes,
		     uint64_t *ret_size)
{
	auto_free void *bytes = NULL;
	uint64_t size = 0;
	int error = link->driver->read_binary(link->node, link->fd, event->client,
					      event->binaries[0], NULL, &size);

	if (error)
		return error;
	if (!size || size > MAX_BINARY)
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

/* Returns 0; -EBUSY: try again later. */
static int take_binary(struct eudebug_links *links, const struct link *link,
		       const struct eudebug_event *event)
{
	struct eudebug_link_event link_event = {
		.kind = EUDEBUG_LINK_BINARY, .client = event->client, .binary = event->binaries[0]};
	const int error = read_into(link, event, &link_event.bytes, &link_event.size);

	if (error == -EBUSY)
		return error;
	if (error)
		add_count(links, &links->counts.lost, 1);
	else if (!append_event(links, link, &link_event))
		free(link_event.bytes);
	return 0;
}

static int acknowledge(struct eudebug_links *links, const struct link *link,
		       const struct eudebug_event *event)
{
	const int error = link->driver->acknowledge(link->node, link->fd, event);

	if (!error)
		add_count(links, &links->counts.acknowledged, 1);
	return error == -EBUSY || error == -EINTR ? -EBUSY : 0;
}

/* False: too many requests wait. */
static bool put_off(struct link *link, const struct eudebug_event *event)
{
	if (link->waiting_count == MAX_WAITING)
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

/* False: the connection must end. */
static bool take_event(struct eudebug_links *links, struct link *link,
		       const struct eudebug_event *event)
{
	switch (event->kind) {
	case EUDEBUG_BINARY:
		if (event->is_end)
			append_place(links, link, EUDEBUG_LINK_BINARY_END, event,
				     event->binaries[0]);
		else if (take_binary(links, link, event))
			return put_off(link, event);
		return true;
	case EUDEBUG_SPACE:
		if (event->is_end)
			append_place(links, link, EUDEBUG_LINK_SPACE_END, event, 0);
		return true;
	case EUDEBUG_BOUND:
		append_place(links, link, EUDEBUG_LINK_BOUND, event, 0);
		return true;
	case EUDEBUG_PLACED:
		for (uint32_t i = 0; i < event->binaries_count; i++)
			append_place(links, link, EUDEBUG_LINK_PLACED, event, event->binaries[i]);
		return true;
	case EUDEBUG_QUEUE:
		meet_queue(link, event);
		return true;
	case EUDEBUG_ATTENTION:
		return on_attention(links, link, event);
	case EUDEBUG_UNKNOWN:
		add_count(links, &links->counts.broken, 1);
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
		add_count(links, &links->counts.broken, 1);
		return !event.needs_ack || !acknowledge(links, link, &event) ||
		       put_off(link, &event);
	}
	add_count(links, &links->counts.events, 1);
	/* the acknowledgement goes first, because the process waits for it */
	if (event.needs_ack && acknowledge(links, link, &event) && !put_off(link, &event))
		return false;
	event.needs_ack = false;
	return take_event(links, link, &event);
}

static bool make_room(struct eudebug_links *links, size_t needed)
{
	uint8_t *bigger = needed > links->buffer_bytes && needed <= MAX_EVENT_BYTES
				  ? realloc(links->buffer, needed)
				  : NULL;

	if (!bigger)
		return false;
	links->buffer = bigger;
	links->buffer_bytes = needed;
	return true;
}

/* Returns 0, or the reason why the connection has ended. */
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

/* ---- the thread ------------------------------------------------------------------------------ */

static void end_link(struct eudebug_links *links, struct link *link, int error)
{
	struct eudebug_link_event link_event = {.kind = EUDEBUG_LINK_CLOSED, .error = error};

	close(link->fd);
	append_event(links, link, &link_event);
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
	/* nothing is left to read after a hang-up */
	if (!error && (events & (POLLHUP | POLLERR)) && !(events & POLLIN))
		error = ENOTCONN;
	if (error)
		end_link(links, link, error);
}

static void *run(void *argument)
{
	struct eudebug_links *links = argument;
	struct pollfd entries[MAX_EUDEBUG_LINKS + 1];
	struct link *all[MAX_EUDEBUG_LINKS];

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

/* ---- for the main thread --------------------------------------------------------------------- */

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
	return error_set(-EAGAIN,
			 "debugging GPU programs: cannot start the thread that reads events");
}

static void wake(const struct eudebug_links *links)
{
	const uint64_t one = 1;

	/* a failed write means that the thread is woken already */
	if (write(links->wake_fd, &one, sizeof(one)) < 0)
		return;
}

int eudebug_links_connect(struct eudebug_links *links, const struct gpu_node *node, pid_t pid,
			  bool stops)
{
	auto_free struct link *link = NULL;
	int error = 0;

	if (links->count == MAX_EUDEBUG_LINKS)
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
			void (*on_link_event)(void *context,
					      const struct eudebug_link_event *link_event),
			void *context)
{
	auto_free struct eudebug_link_event *link_event = NULL;
	size_t event_count;

	pthread_mutex_lock(&links->lock);
	link_event = take_ptr(links->link_event);
	event_count = links->event_count;
	links->event_count = links->event_capacity = 0;
	links->event_bytes = 0;
	pthread_mutex_unlock(&links->lock);
	for (size_t i = 0; i < event_count; i++)
		on_link_event(context, &link_event[i]);
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

		/* events since the last call, with their acknowledgements */
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
	for (size_t i = 0; i < links->event_count; i++)
		free(links->link_event[i].bytes);
	close(links->wake_fd);
	free(links->link_event);
	free(links->buffer);
	free(links);
}
