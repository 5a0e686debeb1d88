/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_eudebug.c - what drivers tell debuggers, as bytes; connections to made-up
 * drivers
 */
#include "collect/intel/experimental/eudebug.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "collect/host_clocks.h"
#include "collect/intel/experimental/eudebug_links.h"
#include "abi/i915_debug.h"
#include "abi/xe_debug.h"
#include "harness.h"

/* An event is the driver's head with what belongs to it, one behind the other. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-variable-sized-type-not-at-end"
#endif

enum { CLIENT = 3, SPACE = 9, BINARY = 21, QUEUE = 5, LRC = 0x1234, RANDOM_EVENTS = 200000 };
#define PATIENCE_NS UINT64_C(20000000000)

static struct eudebug_refs refs;
static struct eudebug_event event;

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Decodes all of it; each beginning of it is no event. */
static bool decode(const struct eudebug_driver *driver, const void *bytes, size_t size)
{
	uint8_t *copy = malloc(size);
	bool is_event = false;

	if (!copy)
		return false;
	for (size_t part = 0; part <= size; part++) {
		struct eudebug_refs unused = refs;
		uint8_t *cut = malloc(part ? part : 1);

		/* of its own length, so that reading behind it is noticed */
		memcpy(cut, bytes, part);
		if (part < size)
			CHECK(!driver->decode(&unused, cut, part, &event));
		free(cut);
	}
	memcpy(copy, bytes, size);
	is_event = driver->decode(&refs, bytes, size, &event);
	free(copy);
	return is_event;
}

#define XE_BASE(structure, what, how, number)                                               \
	{                                                                                   \
		.len = sizeof(structure), .type = (what), .flags = (how), .seqno = (number) \
	}

static const struct xe_debug_event_metadata xe_binary = {
	.base = XE_BASE(struct xe_debug_event_metadata, XE_DEBUG_EVENT_METADATA, XE_DEBUG_CREATE,
			1),
	.client = CLIENT,
	.metadata = BINARY,
	.type = XE_DEBUG_ELF,
	.len = 100};
static const struct xe_debug_event_bind xe_bind = {
	.base = XE_BASE(struct xe_debug_event_bind, XE_DEBUG_EVENT_BIND, XE_DEBUG_STATE_CHANGE, 10),
	.client = CLIENT,
	.vm = SPACE,
	.num_binds = 1};
static const struct xe_debug_event_bind_op xe_operation = {
	.base = XE_BASE(struct xe_debug_event_bind_op, XE_DEBUG_EVENT_BIND_OP, XE_DEBUG_CREATE, 11),
	.bind = 10,
	.num_extensions = 1,
	.addr = 0x8000,
	.range = 0x1000};
static const struct xe_debug_event_op_metadata xe_placed = {
	.base = XE_BASE(struct xe_debug_event_op_metadata, XE_DEBUG_EVENT_OP_METADATA,
			XE_DEBUG_CREATE, 12),
	.op = 11,
	.metadata = BINARY};
static const struct xe_debug_event_bind_fence xe_fence = {
	.base = XE_BASE(struct xe_debug_event_bind_fence, XE_DEBUG_EVENT_BIND_FENCE,
			XE_DEBUG_CREATE | XE_DEBUG_NEED_ACK, 13),
	.bind = 10};
static const struct xe_debug_event_placements xe_queue = {
	.base = XE_BASE(struct xe_debug_event_placements, XE_DEBUG_EVENT_PLACEMENTS,
			XE_DEBUG_CREATE, 14),
	.client = CLIENT,
	.vm = SPACE,
	.queue = QUEUE,
	.lrc = LRC};
static const struct {
	struct xe_debug_event_attention head;
	uint8_t mask[8];
} xe_attention = {{.base = {.len = sizeof(xe_attention),
			    .type = XE_DEBUG_EVENT_ATTENTION,
			    .flags = XE_DEBUG_STATE_CHANGE,
			    .seqno = 15},
		   .client = CLIENT,
		   .queue = QUEUE,
		   .lrc = LRC,
		   .bitmask_size = 8},
		  {0x0f, 0x80}};

TEST(a_bind_of_xe_in_three_events)
{
	struct xe_debug_event_bind_op unbound = xe_operation;

	memset(&refs, 0, sizeof(refs));
	REQUIRE(decode(&eudebug_xe_driver, &xe_binary, sizeof(xe_binary)));
	CHECK_EQUAL(event.kind, EUDEBUG_BINARY);
	CHECK_EQUAL(event.client, CLIENT);
	CHECK_EQUAL(event.binaries[0], BINARY);
	CHECK(!event.is_end);
	REQUIRE(decode(&eudebug_xe_driver, &xe_bind, sizeof(xe_bind)));
	CHECK_EQUAL(event.kind, EUDEBUG_NOTHING);
	REQUIRE(decode(&eudebug_xe_driver, &xe_operation, sizeof(xe_operation)));
	CHECK_EQUAL(event.kind, EUDEBUG_BOUND);
	CHECK_EQUAL(event.space, SPACE);
	CHECK_EQUAL(event.begin, 0x8000);
	CHECK_EQUAL(event.size, 0x1000);
	REQUIRE(decode(&eudebug_xe_driver, &xe_placed, sizeof(xe_placed)));
	CHECK_EQUAL(event.kind, EUDEBUG_PLACED);
	CHECK_EQUAL(event.client, CLIENT);
	CHECK_EQUAL(event.space, SPACE);
	CHECK_EQUAL(event.begin, 0x8000);
	CHECK_EQUAL(event.binaries_count, 1);
	CHECK_EQUAL(event.binaries[0], BINARY);
	REQUIRE(decode(&eudebug_xe_driver, &xe_fence, sizeof(xe_fence)));
	CHECK_EQUAL(event.kind, EUDEBUG_NOTHING);
	CHECK(event.needs_ack);
	CHECK_EQUAL(event.type, XE_DEBUG_EVENT_BIND_FENCE);
	CHECK_EQUAL(event.number, 13);
	unbound.base.flags = XE_DEBUG_DESTROY;
	REQUIRE(decode(&eudebug_xe_driver, &unbound, sizeof(unbound)));
	CHECK_EQUAL(event.kind, EUDEBUG_BOUND);
	CHECK(event.is_end);
}

TEST(what_was_never_told_is_not_guessed)
{
	struct xe_debug_event_bind many = xe_bind;

	memset(&refs, 0, sizeof(refs));
	REQUIRE(decode(&eudebug_xe_driver, &xe_operation, sizeof(xe_operation)));
	CHECK_EQUAL(event.kind, EUDEBUG_UNKNOWN);
	REQUIRE(decode(&eudebug_xe_driver, &xe_placed, sizeof(xe_placed)));
	CHECK_EQUAL(event.kind, EUDEBUG_UNKNOWN);
	/* a bind that is too long ago */
	REQUIRE(decode(&eudebug_xe_driver, &xe_bind, sizeof(xe_bind)));
	for (uint32_t i = 0; i < EUDEBUG_REFS; i++) {
		many.base.seqno = 1000 + i;
		CHECK(eudebug_xe_driver.decode(&refs, &many, sizeof(many), &event));
	}
	REQUIRE(decode(&eudebug_xe_driver, &xe_operation, sizeof(xe_operation)));
	CHECK_EQUAL(event.kind, EUDEBUG_UNKNOWN);
}

TEST(queues_of_xe_and_threads_that_stand_still)
{
	struct {
		struct xe_debug_event_queue head;
		uint64_t lrc;
	} queue = {{.base = {.len = sizeof(queue),
			     .type = XE_DEBUG_EVENT_QUEUE,
			     .flags = XE_DEBUG_CREATE},
		    .client = CLIENT,
		    .queue = QUEUE,
		    .width = 1},
		   UINT64_C(0xabcdef00)};
	struct xe_debug_event_metadata other = xe_binary;
	struct xe_debug_event strange = {.len = sizeof(strange), .type = 77};
	uint8_t wrong[sizeof(xe_attention)];

	memset(&refs, 0, sizeof(refs));
	/* one byte of its context is told, and what is behind it is whatever lay there */
	CHECK(eudebug_xe_driver.decode(&refs, &queue, sizeof(queue), &event));
	CHECK_EQUAL(event.kind, EUDEBUG_QUEUE);
	CHECK_EQUAL(event.context, 0);
	REQUIRE(decode(&eudebug_xe_driver, &xe_queue, sizeof(xe_queue)));
	CHECK_EQUAL(event.kind, EUDEBUG_QUEUE);
	CHECK_EQUAL(event.context, LRC);
	REQUIRE(decode(&eudebug_xe_driver, &xe_attention, sizeof(xe_attention)));
	CHECK_EQUAL(event.kind, EUDEBUG_ATTENTION);
	CHECK_EQUAL(event.queue, QUEUE);
	REQUIRE(event.mask_bytes == 8 && event.mask != NULL);
	CHECK_EQUAL(event.mask[1], 0x80);
	/* a mask that is longer than its event */
	memcpy(wrong, &xe_attention, sizeof(wrong));
	((struct xe_debug_event_attention *)wrong)->bitmask_size = 9;
	CHECK(eudebug_xe_driver.decode(&refs, wrong, sizeof(wrong), &event));
	CHECK(event.kind == EUDEBUG_ATTENTION && !event.mask);
	other.type = XE_DEBUG_MODULE;
	CHECK(eudebug_xe_driver.decode(&refs, &other, sizeof(other), &event));
	CHECK_EQUAL(event.kind, EUDEBUG_NOTHING);
	CHECK(eudebug_xe_driver.decode(&refs, &strange, sizeof(strange), &event));
	CHECK_EQUAL(event.kind, EUDEBUG_NOTHING);
}

TEST(events_of_intels_own_i915)
{
	struct {
		struct i915_debug_event_vm_bind head;
		uint64_t uuids[2];
	} __attribute__((packed))
	bind = {{.base = {.type = I915_DEBUG_EVENT_VM_BIND,
			  .flags = I915_DEBUG_CREATE | I915_DEBUG_NEED_ACK,
			  .seqno = 4,
			  .size = sizeof(bind)},
		 .client = CLIENT,
		 .vm = SPACE,
		 .va_start = 0x8000,
		 .va_length = 0x1000,
		 .num_uuids = 2},
		{BINARY, BINARY + 1}};
	const struct i915_debug_event_uuid uuid = {.base = {.type = I915_DEBUG_EVENT_UUID,
							    .flags = I915_DEBUG_CREATE,
							    .size = sizeof(uuid)},
						   .client = CLIENT,
						   .handle = BINARY,
						   .payload_size = 100};
	const struct i915_debug_event attention = {.type = I915_DEBUG_EVENT_ATTENTION,
						   .size = sizeof(attention)};

	REQUIRE(decode(&eudebug_i915_driver, &uuid, sizeof(uuid)));
	CHECK_EQUAL(event.kind, EUDEBUG_BINARY);
	CHECK_EQUAL(event.binaries[0], BINARY);
	REQUIRE(decode(&eudebug_i915_driver, &bind, sizeof(bind)));
	CHECK_EQUAL(event.kind, EUDEBUG_PLACED);
	CHECK(event.needs_ack);
	CHECK_EQUAL(event.binaries_count, 2);
	CHECK_EQUAL(event.binaries[1], BINARY + 1);
	CHECK_EQUAL(event.begin, 0x8000);
	bind.head.num_uuids = 3;
	CHECK(!eudebug_i915_driver.decode(&refs, &bind, sizeof(bind), &event));
	/* who waits for it does so all the same */
	CHECK(event.needs_ack);
	bind.head.num_uuids = 2;
	bind.head.base.flags = I915_DEBUG_DESTROY;
	CHECK(eudebug_i915_driver.decode(&refs, &bind, sizeof(bind), &event));
	CHECK_EQUAL(event.kind, EUDEBUG_BOUND);
	CHECK(event.is_end);
	CHECK(eudebug_i915_driver.decode(&refs, &attention, sizeof(attention), &event));
	CHECK_EQUAL(event.kind, EUDEBUG_ATTENTION);
}

TEST(bytes_at_random)
{
	uint8_t bytes[128];
	uint64_t random = 1;
	uint32_t taken = 0;

	memset(&refs, 0, sizeof(refs));
	for (uint32_t i = 0; i < RANDOM_EVENTS; i++) {
		const uint32_t size = 24 + 8 * (i % 13);

		for (size_t j = 0; j < sizeof(bytes); j++) {
			random = random * UINT64_C(6364136223846793005) + 1;
			bytes[j] = (uint8_t)(random >> 56);
		}
		memcpy(bytes, &size, sizeof(size));
		bytes[4] %= 16;
		bytes[5] = 0;
		taken += eudebug_xe_driver.decode(&refs, bytes, size, &event);
		CHECK(!event.mask || event.mask + event.mask_bytes <= bytes + size);
		memset(bytes + 1, 0, 3);
		bytes[0] = 4 + i % 7;
		memset(bytes + 16, 0, 8);
		bytes[16] = (uint8_t)size;
		taken += eudebug_i915_driver.decode(&refs, bytes, size, &event);
		CHECK(event.binaries_count <= MAX_EUDEBUG_BINARIES);
	}
	CHECK(taken > RANDOM_EVENTS / 2);
}

/* ---- a driver that there is none of ---------------------------------------------------------- */

enum { MAX_PUT = 512, MAX_EVENT = 8192 };

static struct {
	pthread_mutex_t lock;
	int connect_error;
	uint32_t version;
	_Atomic int fd;
	size_t put, taken;
	struct {
		uint32_t size;
		uint8_t bytes[MAX_EVENT];
	} events[MAX_PUT];
	_Atomic int refusals; /* so many more calls are refused with EBUSY */
	size_t repeated;      /* so many events come once … */
	uint32_t repeats;     /* … and the next one so often once more */
	int read_error;       /* behind the last event; 0: EAGAIN */
	_Atomic int resume_error, stopped_error;
	_Atomic int busy; /* so many more looks at threads are refused with EBUSY */
	_Atomic uint32_t acks, reads, interrupts, resumes;
	_Atomic uint64_t last_ack;
	uint8_t resumed[8];
	uint8_t threads[8]; /* those that stand still when they are asked for */
} made;

static int fail(int error)
{
	errno = error;
	return -1;
}

static int made_read(struct xe_debug_event *into)
{
	int result = 0;

	pthread_mutex_lock(&made.lock);
	if (made.taken == made.put) {
		result = fail(made.read_error ? made.read_error : EAGAIN);
	} else if (into->len < made.events[made.taken].size) {
		into->len = made.events[made.taken].size;
		result = fail(EMSGSIZE);
	} else {
		memcpy(into, made.events[made.taken].bytes, made.events[made.taken].size);
		if (made.taken == made.repeated && made.repeats)
			made.repeats--;
		else
			made.taken++;
	}
	pthread_mutex_unlock(&made.lock);
	return result;
}

static int made_control(struct xe_debug_control *control)
{
	uint8_t *mask = (uint8_t *)(uintptr_t)control->bitmask_ptr;

	if (control->client != CLIENT || control->queue != QUEUE || control->lrc != LRC)
		return fail(EINVAL);
	switch (control->cmd) {
	case XE_DEBUG_INTERRUPT_ALL:
		made.interrupts++;
		return control->bitmask_size ? fail(EINVAL) : 0;
	case XE_DEBUG_STOPPED:
		if (made.busy > 0) {
			made.busy--;
			return fail(EBUSY);
		}
		if (made.stopped_error)
			return fail(made.stopped_error);
		memcpy(mask, made.threads, sizeof(made.threads));
		control->bitmask_size = sizeof(made.threads);
		return 0;
	default:
		if (made.resume_error)
			return fail(made.resume_error);
		memcpy(made.resumed, mask, sizeof(made.resumed));
		made.resumes++;
		return 0;
	}
}

static int made_ioctl(int fd, unsigned long request, void *argument)
{
	struct xe_debug_connect *connect = argument;
	struct xe_debug_read_metadata *read = argument;

	if (request == XE_IOCTL_DEBUG_CONNECT && made.connect_error)
		return fail(made.connect_error);
	if (request == XE_IOCTL_DEBUG_CONNECT) {
		connect->version = made.version;
		made.fd = eventfd(1, 0);
		return made.fd;
	}
	if (request == XE_DEBUG_IOCTL_READ_EVENT)
		return made_read(argument);
	if (made.refusals > 0) {
		made.refusals--;
		return fail(EBUSY);
	}
	switch (request) {
	case XE_DEBUG_IOCTL_ACK:
		made.last_ack = ((struct xe_debug_ack *)argument)->seqno;
		made.acks++;
		return 0;
	case XE_DEBUG_IOCTL_READ_METADATA:
		if (read->metadata != BINARY)
			return fail(EINVAL);
		if (read->size)
			memset((void *)(uintptr_t)read->ptr, 'b', 100);
		read->size = 100;
		made.reads++;
		return 0;
	case XE_DEBUG_IOCTL_CONTROL:
		return made_control(argument);
	default:
		return fail(EINVAL);
	}
}

static struct gpu_node node;
static struct eudebug_links *links;
static size_t told_count;
static struct eudebug_link_event told[MAX_PUT], told_last[2];

static void on_link_event(void *context, const struct eudebug_link_event *row)
{
	if (told_count < MAX_PUT)
		told[told_count++] = *row;
	told_last[0] = told_last[1];
	told_last[1] = *row;
	/* told of alone: the bytes are not looked at afterwards */
	if (row->kind == EUDEBUG_LINK_BINARY) {
		CHECK(row->size == 100 && ((const char *)row->bytes)[99] == 'b');
		free(row->bytes);
	}
}

static void begin(void)
{
	memset(&made, 0, sizeof(made));
	pthread_mutex_init(&made.lock, NULL);
	made.version = XE_DEBUG_VERSION;
	node = (struct gpu_node){.fd = -1, .ioctl = made_ioctl};
	strcpy(node.driver, "xe");
	told_count = 0;
	if (eudebug_links_open(&links))
		abort();
}

static void put(const void *bytes, uint32_t size)
{
	pthread_mutex_lock(&made.lock);
	made.events[made.put].size = size;
	memcpy(made.events[made.put++].bytes, bytes, size);
	pthread_mutex_unlock(&made.lock);
}
#define PUT(what) put(&(what), sizeof(what))

/* Until so many were told. */
static bool wait_told(size_t count)
{
	const uint64_t end_ns = host_clocks_now_ns() + PATIENCE_NS;

	while (told_count < count && host_clocks_now_ns() < end_ns) {
		eudebug_links_take(links, on_link_event, NULL);
		usleep(1000);
	}
	return told_count >= count;
}

static bool wait_for(const _Atomic uint32_t *counter, uint32_t count)
{
	const uint64_t end_ns = host_clocks_now_ns() + PATIENCE_NS;

	while (*counter < count && host_clocks_now_ns() < end_ns)
		usleep(1000);
	return *counter >= count;
}

static void end(struct eudebug_counts *ret_counts)
{
	eudebug_links_stop(links);
	eudebug_links_take(links, on_link_event, NULL);
	eudebug_links_counted(links, ret_counts);
	eudebug_links_close(links);
}

TEST(a_program_that_is_there_already)
{
	struct xe_debug_event_metadata gone = xe_binary;
	struct eudebug_counts counts;

	begin();
	/* while it is told what there is, the driver takes nothing else */
	made.refusals = 7;
	PUT(xe_binary);
	PUT(xe_bind);
	PUT(xe_operation);
	PUT(xe_placed);
	PUT(xe_fence);
	gone.metadata = BINARY + 1; /* … whose bytes nobody gives */
	PUT(gone);
	CHECK(eudebug_links_connect(links, &node, 1, false) > 0);
	REQUIRE(wait_told(3));
	CHECK(wait_for(&made.acks, 1));
	CHECK_EQUAL(made.last_ack, 13);
	end(&counts);
	CHECK_EQUAL(told_count, 3);
	/* the binary comes behind its place */
	CHECK_EQUAL(told[0].kind, EUDEBUG_LINK_BOUND);
	CHECK_EQUAL(told[1].kind, EUDEBUG_LINK_PLACED);
	CHECK_EQUAL(told[1].binary, BINARY);
	CHECK_EQUAL(told[2].kind, EUDEBUG_LINK_BINARY);
	CHECK_EQUAL(counts.acknowledged, 1);
	CHECK_EQUAL(counts.events, 6);
	CHECK_EQUAL(counts.lost, 1);
	CHECK_EQUAL(counts.broken, 0);
	CHECK_EQUAL(fcntl(made.fd, F_GETFD), -1);
}

TEST(an_acknowledgement_that_is_never_taken_ends_the_connection)
{
	struct xe_debug_event_bind_fence fence = xe_fence;
	struct eudebug_counts counts;

	begin();
	made.refusals = INT32_MAX;
	for (uint32_t i = 0; i < 300; i++) {
		fence.base.seqno = i;
		PUT(fence);
	}
	CHECK(eudebug_links_connect(links, &node, 1, false) > 0);
	REQUIRE(wait_told(1));
	CHECK_EQUAL(told[0].kind, EUDEBUG_LINK_CLOSED);
	/* by which the driver lets go of who waits */
	CHECK_EQUAL(fcntl(made.fd, F_GETFD), -1);
	end(&counts);
	CHECK_EQUAL(counts.acknowledged, 0);
}

TEST(threads_go_on)
{
	struct eudebug_counts counts;

	begin();
	PUT(xe_queue);
	PUT(xe_attention);
	CHECK(eudebug_links_connect(links, &node, 1, false) > 0);
	REQUIRE(wait_for(&made.resumes, 1));
	CHECK(memcmp(made.resumed, xe_attention.mask, sizeof(made.resumed)) == 0);
	end(&counts);
	CHECK_EQUAL(counts.resumed, 5);
	CHECK_EQUAL(made.interrupts, 0);
	CHECK_EQUAL(told_count, 0);
}

TEST(threads_are_stopped_where_that_was_asked_for)
{
	struct eudebug_counts counts;

	begin();
	memset(made.threads, 0x11, sizeof(made.threads));
	PUT(xe_queue);
	CHECK(eudebug_links_connect(links, &node, 1, true) > 0);
	REQUIRE(wait_told(2));
	end(&counts);
	CHECK_EQUAL(told[0].kind, EUDEBUG_LINK_STOPPED);
	CHECK_EQUAL(told[0].size, 16);
	CHECK(told[0].begin != 0);
	CHECK_EQUAL(made.interrupts, made.resumes);
	CHECK(memcmp(made.resumed, made.threads, sizeof(made.resumed)) == 0);
	CHECK_EQUAL(counts.stops, made.resumes);
	CHECK(counts.stopped_max_ns && counts.stopped_max_ns <= counts.stopped_ns);
}

TEST(threads_that_do_not_go_on_end_the_connection)
{
	struct eudebug_counts counts;

	begin();
	made.resume_error = EIO;
	memset(made.threads, 0x11, sizeof(made.threads));
	PUT(xe_queue);
	CHECK(eudebug_links_connect(links, &node, 1, true) > 0);
	REQUIRE(wait_told(1));
	CHECK_EQUAL(told[0].kind, EUDEBUG_LINK_CLOSED);
	CHECK_EQUAL(fcntl(made.fd, F_GETFD), -1);
	end(&counts);
	CHECK_EQUAL(counts.stops, 0);
}

/* It does not say which threads stand still. */
static void put_fault(void)
{
	uint8_t bytes[sizeof(xe_attention)];

	memcpy(bytes, &xe_attention, sizeof(bytes));
	((struct xe_debug_event *)bytes)->type = XE_DEBUG_EVENT_PAGE_FAULT;
	put(bytes, sizeof(bytes));
}

/* The driver is at the same ones when it is asked. */
TEST(threads_that_nobody_told_of_go_on)
{
	struct eudebug_counts counts;

	begin();
	made.busy = 20;
	memset(made.threads, 0x11, sizeof(made.threads));
	PUT(xe_queue);
	put_fault();
	CHECK(eudebug_links_connect(links, &node, 1, false) > 0);
	REQUIRE(wait_for(&made.resumes, 1));
	CHECK(memcmp(made.resumed, made.threads, sizeof(made.resumed)) == 0);
	end(&counts);
	CHECK_EQUAL(counts.resumed, 16);
}

TEST(threads_that_cannot_be_looked_at_end_the_connection)
{
	struct eudebug_counts counts;

	for (int stops = 0; stops < 2; stops++) {
		begin();
		made.stopped_error = EIO;
		PUT(xe_queue);
		if (!stops)
			put_fault();
		CHECK(eudebug_links_connect(links, &node, 1, stops) > 0);
		REQUIRE(wait_told(1));
		CHECK_EQUAL(told[0].kind, EUDEBUG_LINK_CLOSED);
		CHECK_EQUAL(fcntl(made.fd, F_GETFD), -1);
		end(&counts);
	}
}

/* More is placed than there is room for, and nobody takes it. */
TEST(ends_have_room)
{
	enum { PLACED = 300000, ROOM = 1 << 18 };
	const uint64_t end_ns = host_clocks_now_ns() + PATIENCE_NS;
	struct xe_debug_event_metadata gone = xe_binary;
	struct eudebug_counts counts;

	begin();
	gone.base.flags = XE_DEBUG_DESTROY;
	PUT(xe_bind);
	PUT(xe_operation);
	PUT(xe_placed);
	PUT(gone);
	made.repeated = 2;
	made.repeats = PLACED - 1;
	made.read_error = ENODEV;
	CHECK(eudebug_links_connect(links, &node, 1, false) > 0);
	while (fcntl(made.fd, F_GETFD) >= 0 && host_clocks_now_ns() < end_ns)
		usleep(1000);
	end(&counts);
	CHECK_EQUAL(counts.lost, 1 + PLACED - ROOM);
	CHECK_EQUAL(told_last[0].kind, EUDEBUG_LINK_BINARY_END);
	CHECK_EQUAL(told_last[1].kind, EUDEBUG_LINK_CLOSED);
	CHECK_EQUAL(told_last[1].error, ENODEV);
}

TEST(events_that_are_longer_or_broken)
{
	struct {
		struct xe_debug_event_queue head;
		uint8_t rest[6000];
	} big = {{.base = {.len = sizeof(big),
			   .type = XE_DEBUG_EVENT_QUEUE,
			   .flags = XE_DEBUG_CREATE}},
		 {0}};
	struct xe_debug_event_bind_op lost = xe_operation;
	struct xe_debug_event small = {.len = sizeof(small),
				       .type = XE_DEBUG_EVENT_BIND,
				       .flags = XE_DEBUG_NEED_ACK,
				       .seqno = 99};
	struct eudebug_counts counts;

	begin();
	PUT(big);
	lost.bind = 555;
	PUT(lost);
	PUT(small);
	CHECK(eudebug_links_connect(links, &node, 1, false) > 0);
	/* nobody waits for ever for what we do not understand */
	REQUIRE(wait_for(&made.acks, 1));
	CHECK_EQUAL(made.last_ack, 99);
	end(&counts);
	CHECK_EQUAL(counts.events, 2);
	CHECK_EQUAL(counts.broken, 2);
}

TEST(refusals)
{
	static const struct {
		int error;
		const char *says;
	} all[] = {{EACCES, "another user"},
		   {EINVAL, "no interface for debuggers"},
		   {ENOTTY, "no interface for debuggers"},
		   {ENODEV, "echo 1"},
		   {EBUSY, "attached to process 7 already"},
		   {ENOMEM, "Cannot allocate memory"}};
	struct eudebug_counts counts;
	char text[600];

	begin();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		made.connect_error = all[i].error;
		CHECK_EQUAL(eudebug_links_connect(links, &node, 7, false), -all[i].error);
		eudebug_explain(&node, 7, all[i].error, text, sizeof(text));
		CHECK(strstr(text, all[i].says) != NULL);
	}
	made.connect_error = 0;
	made.version = 2;
	CHECK_EQUAL(eudebug_links_connect(links, &node, 7, false), -ENOTTY);
	CHECK_EQUAL(fcntl(made.fd, F_GETFD), -1);
	end(&counts);
	strcpy(node.driver, "i915");
	eudebug_explain(&node, 7, EINVAL, text, sizeof(text));
	CHECK(strstr(text, "intel-i915-dkms") != NULL);
}

TEST(numbers_of_the_interface)
{
	CHECK_EQUAL(XE_IOCTL_DEBUG_CONNECT, 0xc018649f);
	CHECK_EQUAL(XE_DEBUG_IOCTL_READ_METADATA, 0xc0286a03);
	CHECK_EQUAL(I915_IOCTL_DEBUGGER_OPEN, 0xc0206496);
	CHECK_EQUAL(I915_DEBUG_IOCTL_READ_UUID, 0xc0486a01);
	CHECK_EQUAL(sizeof(struct xe_debug_control), 56);
	CHECK_EQUAL(sizeof(struct xe_debug_ack), 16);
}

int main(void)
{
	RUN(numbers_of_the_interface);
	RUN(a_bind_of_xe_in_three_events);
	RUN(what_was_never_told_is_not_guessed);
	RUN(queues_of_xe_and_threads_that_stand_still);
	RUN(events_of_intels_own_i915);
	RUN(bytes_at_random);
	RUN(a_program_that_is_there_already);
	RUN(an_acknowledgement_that_is_never_taken_ends_the_connection);
	RUN(threads_go_on);
	RUN(threads_are_stopped_where_that_was_asked_for);
	RUN(threads_that_do_not_go_on_end_the_connection);
	RUN(threads_that_nobody_told_of_go_on);
	RUN(threads_that_cannot_be_looked_at_end_the_connection);
	RUN(ends_have_room);
	RUN(events_that_are_longer_or_broken);
	RUN(refusals);
	return harness_end();
}
