/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_rings.c - the kernel's records of what threads do, in the order of time
 *
 * Runs in:  the recorder
 * Gets:     threads   Gives: their samples, switches, lifetimes and mappings, one by one
 * Owns:     a descriptor for each thread that was attached, event and processor; the rings' mappings
 * Fails:    opening, with the kernel's reason; later records can only be lost, which the kernel counts
 * Why:      an event that its thread's children inherit can be read through a ring of one processor only,
 *           so there is one for each, and they are merged here: a mapping must be known before a sample
 *           in it. Half a MiB each is what an ordinary user may lock (perf_event_mlock_kb).
 */
#include "collect/cpu/perf_rings.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

enum {
	RING_PAGES = 128,
	RING_PAGES_LEAST = 8,
	RECORD_BYTES = 1 << 16, /* a record's size has 16 bits */
	BUILD_ID_BYTES = 20
};

/* Registers as <asm/perf_regs.h> numbers them, in the order of their numbers in a record. */
#if defined(__x86_64__)
enum {
	REGISTER_BP = 6,
	REGISTER_SP = 7,
	REGISTER_IP = 8,
	PLACE_BP = 0,
	PLACE_SP = 1,
	PLACE_IP = 2
};
#elif defined(__aarch64__)
enum {
	REGISTER_BP = 29,
	REGISTER_SP = 31,
	REGISTER_IP = 32,
	PLACE_BP = 0,
	PLACE_SP = 1,
	PLACE_IP = 2
};
#endif
enum { REGISTERS = 3, FORMAT_LOST = 1 << 4 /* PERF_FORMAT_LOST of newer headers */ };

struct ring {
	struct perf_event_mmap_page *page; /* owned; the records lie behind it */
	const uint8_t *data;
	int fd;        /* whose ring it is; owned by the list of descriptors; -1: none yet */
	uint64_t next; /* position */
	uint64_t head; /* … up to which the kernel has written, as far as we looked */
	uint64_t time; /* of the record at next; UINT64_MAX: none */
	uint64_t seen; /* up to here perf_rings_glance has told of samples */
};

struct perf_rings {
	struct perf_rings_options options;
	struct perf_rings_state state;
	struct perf_event_attr attribute;
	struct ring *rings; /* owned; one for each processor */
	int ring_count;
	struct ring *current; /* whose record is with the caller: it is left before the next */
	uint64_t current_size;
	int *descriptors; /* owned */
	size_t descriptor_count, descriptor_capacity;
	int wake_fd; /* owned; epoll of the rings; -1: not asked for, or none can be had */
	int glanced; /* ring */
	uint64_t scratch[RECORD_BYTES /
			 sizeof(uint64_t)]; /* a record that goes round the ring's end */
};

/* ---- opening ----------------------------------------------------------------------------------- */

static int open_event(const struct perf_event_attr *attribute, pid_t thread, int cpu)
{
	int fd =
		(int)syscall(SYS_perf_event_open, attribute, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static struct perf_event_attr make_attribute(const struct perf_rings_options *options,
					     const struct perf_event_source *source)
{
	struct perf_event_attr attribute = {
		.type = source->type,
		.size = sizeof(attribute),
		.config = source->config,
		.config1 = source->config1,
		.config2 = source->config2,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
		.disabled = 1,
		.inherit = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.context_switch = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.build_id = 1,
		.wakeup_events = 1, /* who polls is woken for each sample */
	};

	if (options->frequency_hz) {
		attribute.freq = 1;
		attribute.sample_freq = options->frequency_hz;
		attribute.sample_type |=
			PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attribute.exclude_callchain_user = 1;
		attribute.sample_regs_user = UINT64_C(1) << REGISTER_BP |
					     UINT64_C(1) << REGISTER_SP |
					     UINT64_C(1) << REGISTER_IP;
		attribute.sample_stack_user = options->stack_bytes;
	}
	return attribute;
}

/* Tried on ourselves: whether the kernel would take it. */
static int try_attribute(const struct perf_event_attr *attribute)
{
	int fd = open_event(attribute, 0, -1);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* With the kernel's own time where that is allowed, with build ids where the kernel (5.12) tells them, with a count of
 * what was lost (6.0): records tell of it only where a later one had room. */
static int find_attribute(struct perf_rings *rings, const struct perf_event_source *source)
{
	struct perf_event_attr attribute = make_attribute(&rings->options, source);
	int error = -EINVAL;

	for (unsigned int variant = 0; variant < 8 && error; variant++) {
		attribute.build_id = !(variant & 2);
		attribute.exclude_kernel = variant & 1;
		attribute.read_format = variant & 4 ? 0 : FORMAT_LOST;
		error = try_attribute(&attribute);
		if (error == -EPERM || error == -ENOSYS || error == -ENOENT)
			break;
	}
	if (error)
		return error;
	rings->attribute = attribute;
	rings->state.source = *source;
	rings->state.has_build_ids = attribute.build_id;
	rings->state.has_kernel = !attribute.exclude_kernel;
	rings->state.counts_lost = attribute.read_format != 0;
	return 0;
}

static const struct perf_event_source cycles = {
	.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES, .name = "cycles"};
static const struct perf_event_source cpu_clock = {
	.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .name = "cpu-clock"};
static const struct perf_event_source dummy = {
	.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .name = "dummy"};

/* -1: not known. */
static int paranoid_level(void)
{
	auto_free char *text = NULL;

	return read_file("/proc/sys/kernel/perf_event_paranoid", 16, &text, NULL) == 0 ? atoi(text)
										       : -1;
}

static int refused(int error)
{
	int paranoid = paranoid_level();

	if (error == -ENOSYS)
		return error_set(error, "perf events: this kernel has no perf_event_open, or a "
					"filter of this container or "
					"service says so");
	if (paranoid > 2)
		return error_set(error,
				 "perf events: kernel.perf_event_paranoid is %d: run 'sysctl "
				 "kernel.perf_event_paranoid=2', or give duet the capability: "
				 "'setcap cap_perfmon+ep' on its file",
				 paranoid);
	if (error == -ENOENT || error == -EOPNOTSUPP)
		return error_set(error, "perf events: this machine has no such event");
	if (error == -EPERM || error == -EACCES)
		return error_set(
			error,
			"perf events are refused (%s), though "
			"kernel.perf_event_paranoid is %d: a seccomp filter of this container "
			"or service allows no perf_event_open; allow it there",
			strerror(-error), paranoid);
	return error_set(error, "perf events: %s", strerror(-error));
}

static int find_source(struct perf_rings *rings)
{
	const struct perf_event_source *wanted = &rings->options.source;
	int error;

	if (!rings->options.frequency_hz)
		error = find_attribute(rings, &dummy);
	else if (wanted->name[0])
		error = find_attribute(rings, wanted);
	else {
		error = find_attribute(rings, &cycles);
		if (error)
			error = find_attribute(rings, &cpu_clock);
	}
	return error ? refused(error) : 0;
}

int perf_rings_open(const struct perf_rings_options *options, struct perf_rings **ret_rings)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct perf_rings *rings = calloc(1, sizeof(*rings));
	int error;

	if (!rings)
		return error_set(-ENOMEM, "perf events: out of memory");
	rings->options = *options;
	rings->wake_fd = -1;
	rings->ring_count = cpus > 0 ? (int)cpus : 1;
	rings->rings = calloc((size_t)rings->ring_count, sizeof(*rings->rings));
	for (int i = 0; rings->rings && i < rings->ring_count; i++)
		rings->rings[i] = (struct ring){.fd = -1, .time = UINT64_MAX};
	error = rings->rings ? find_source(rings)
			     : error_set(-ENOMEM, "perf events: out of memory");
	if (error) {
		perf_rings_close(rings);
		return error;
	}
	*ret_rings = rings;
	return 0;
}

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

void perf_rings_close(struct perf_rings *rings)
{
	if (!rings)
		return;
	for (int i = 0; rings->rings && i < rings->ring_count; i++)
		if (rings->rings[i].page)
			munmap(rings->rings[i].page, page_bytes() + rings->state.ring_bytes);
	for (size_t i = 0; i < rings->descriptor_count; i++)
		close(rings->descriptors[i]);
	if (rings->wake_fd >= 0)
		close(rings->wake_fd);
	free(rings->descriptors);
	free(rings->rings);
	free(rings);
}

void perf_rings_state(const struct perf_rings *rings, struct perf_rings_state *ret_state)
{
	*ret_state = rings->state;
}

/* ---- attaching --------------------------------------------------------------------------------- */

/* The first ring's size is every ring's. */
static int map_ring(struct perf_rings *rings, struct ring *ring, int fd)
{
	size_t bytes =
		rings->state.ring_bytes ? rings->state.ring_bytes : RING_PAGES * page_bytes();
	size_t least = rings->state.ring_bytes ? bytes : RING_PAGES_LEAST * page_bytes();
	void *page = MAP_FAILED;

	for (; bytes >= least && page == MAP_FAILED; bytes /= 2)
		page = mmap(NULL, page_bytes() + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return error_set(-errno,
				 "memory for perf events: %s: raise the limit of locked memory "
				 "(ulimit -l, or sysctl kernel.perf_event_mlock_kb)",
				 strerror(errno));
	rings->state.ring_bytes = (uint32_t)(bytes * 2);
	ring->page = page;
	ring->data = (const uint8_t *)page + page_bytes();
	ring->fd = fd;
	return 0;
}

/* A processor that is switched off has no ring. */
static int attach_one(struct perf_rings *rings, const struct perf_event_attr *attribute,
		      pid_t thread, int cpu)
{
	struct ring *ring = &rings->rings[cpu];
	int fd, error = 0;

	if (array_grow(rings->descriptors, rings->descriptor_capacity, rings->descriptor_count + 1))
		return error_set(-ENOMEM, "perf events: out of memory");
	fd = open_event(attribute, thread, cpu);
	if (fd == -ENODEV)
		return 0;
	if (fd == -ESRCH)
		return fd;
	if (fd < 0)
		return refused(fd);
	if (!ring->page)
		error = map_ring(rings, ring, fd);
	else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0)
		error = error_set(-errno, "perf events: one ring for all: %s", strerror(errno));
	if (error) {
		close(fd);
		return error;
	}
	rings->descriptors[rings->descriptor_count++] = fd;
	return 0;
}

int perf_rings_attach(struct perf_rings *rings, pid_t thread, bool on_exec)
{
	struct perf_event_attr attribute = rings->attribute;
	size_t before = rings->descriptor_count;
	int error = 0;

	attribute.enable_on_exec = on_exec;
	for (int cpu = 0; cpu < rings->ring_count && !error; cpu++)
		error = attach_one(rings, &attribute, thread, cpu);
	if (error)
		return error;
	for (size_t i = before; !on_exec && i < rings->descriptor_count; i++)
		ioctl(rings->descriptors[i], PERF_EVENT_IOC_ENABLE, 0);
	return 0;
}

uint64_t perf_rings_lost(const struct perf_rings *rings)
{
	uint64_t lost = 0;

	for (size_t i = 0; rings->state.counts_lost && i < rings->descriptor_count; i++) {
		uint64_t values[2]; /* of the event, lost */

		if (read(rings->descriptors[i], values, sizeof(values)) == (ssize_t)sizeof(values))
			lost += values[1];
	}
	return lost;
}

/* ---- reading ----------------------------------------------------------------------------------- */

/* A record lies in 64-bit words, at a place that is a multiple of 8. */
static uint64_t word_at(const struct perf_rings *rings, const struct ring *ring, uint64_t position)
{
	uint64_t word;

	memcpy(&word, ring->data + (position & (rings->state.ring_bytes - 1)), sizeof(word));
	return word;
}

static struct perf_event_header header_at(const struct perf_rings *rings, const struct ring *ring)
{
	uint64_t word = word_at(rings, ring, ring->next);
	struct perf_event_header header;

	memcpy(&header, &word, sizeof(header));
	return header;
}

/* A sample: header, ip, pid and tid, time. All others end with pid and tid, time, cpu. */
enum { SAMPLE_TIME = 24, TRAILER_BYTES = 24, TRAILER_TIME = 16 };

/* Finds out the time of the ring's next record. */
static void look(const struct perf_rings *rings, struct ring *ring)
{
	struct perf_event_header header;

	ring->time = UINT64_MAX;
	if (ring->next == ring->head)
		return;
	header = header_at(rings, ring);
	if (header.size < sizeof(header) + TRAILER_BYTES) {
		ring->next =
			ring->head; /* the kernel writes no such record: the ring was scribbled over */
		return;
	}
	ring->time = word_at(rings, ring,
			     ring->next + (header.type == PERF_RECORD_SAMPLE
						   ? SAMPLE_TIME
						   : header.size - TRAILER_TIME));
}

static const uint8_t *record_bytes(struct perf_rings *rings, const struct ring *ring, size_t size)
{
	size_t at = ring->next & (rings->state.ring_bytes - 1), first;

	if (at + size <= rings->state.ring_bytes)
		return ring->data + at;
	first = rings->state.ring_bytes - at;
	memcpy(rings->scratch, ring->data + at, first);
	memcpy((uint8_t *)rings->scratch + first, ring->data, size - first);
	return (const uint8_t *)rings->scratch;
}

static void leave_current(struct perf_rings *rings)
{
	struct ring *ring = rings->current;

	if (!ring)
		return;
	ring->next += rings->current_size;
	__atomic_store_n(&ring->page->data_tail, ring->next, __ATOMIC_RELEASE);
	look(rings, ring);
	rings->current = NULL;
}

static struct ring *earliest(struct perf_rings *rings)
{
	struct ring *found = NULL;

	for (int i = 0; i < rings->ring_count; i++) {
		struct ring *ring = &rings->rings[i];

		if (!ring->page)
			continue;
		if (ring->time == UINT64_MAX) {
			ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
			look(rings, ring);
		}
		if (ring->time != UINT64_MAX && (!found || ring->time < found->time))
			found = ring;
	}
	return found;
}

/* What a record's fields are taken from; reading beyond the end gives 0. */
struct cursor {
	const uint8_t *at, *end;
};

static uint64_t take(struct cursor *cursor, size_t bytes)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->at) < bytes) {
		cursor->at = cursor->end;
		return 0;
	}
	memcpy(&value, cursor->at, bytes);
	cursor->at += bytes;
	return value;
}

static const void *skip(struct cursor *cursor, size_t bytes)
{
	const uint8_t *at = cursor->at;

	if ((size_t)(cursor->end - at) < bytes) {
		cursor->at = cursor->end;
		return NULL;
	}
	cursor->at += bytes;
	return at;
}

static const char *take_text(struct cursor *cursor)
{
	const char *text = (const char *)cursor->at;
	const void *end = memchr(text, '\0', (size_t)(cursor->end - cursor->at));

	return end ? text : "";
}

static void take_kernel_chain(struct cursor *cursor, struct perf_record *record)
{
	uint64_t count = take(cursor, 8);
	const uint64_t *chain = count < RECORD_BYTES / 8 ? skip(cursor, count * 8) : NULL;

	if (!chain)
		return;
	/* the first word says whose addresses follow */
	for (uint64_t i = 0; i < count; i++) {
		if (chain[i] == PERF_CONTEXT_KERNEL) {
			record->kernel = chain + i + 1;
			record->kernel_count = count - i - 1;
		}
	}
	for (size_t i = 0; i < record->kernel_count; i++)
		if (record->kernel[i] >= PERF_CONTEXT_MAX)
			record->kernel_count = i;
}

static void take_user(struct cursor *cursor, struct perf_record *record)
{
	uint64_t registers[REGISTERS] = {0}, size;

	record->has_user = take(cursor, 8) != PERF_SAMPLE_REGS_ABI_NONE;
	if (record->has_user) {
		for (int i = 0; i < REGISTERS; i++)
			registers[i] = take(cursor, 8);
		record->bp = registers[PLACE_BP];
		record->sp = registers[PLACE_SP];
		record->ip = registers[PLACE_IP];
	}
	size = take(cursor, 8);
	record->stack = size ? skip(cursor, size) : NULL;
	if (record->stack) {
		record->stack_bytes = take(cursor, 8);
		if (record->stack_bytes > size)
			record->stack_bytes = 0;
	}
}

static void take_sample(const struct perf_rings *rings, struct cursor *cursor, uint16_t misc,
			struct perf_record *record)
{
	record->kind = PERF_SAMPLE;
	record->is_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	record->address = take(cursor, 8);
	record->pid = (uint32_t)take(cursor, 4);
	record->tid = (uint32_t)take(cursor, 4);
	take(cursor, 8);
	record->cpu = (uint32_t)take(cursor, 8);
	record->weight = take(cursor, 8);
	if (!rings->options.frequency_hz)
		return;
	take_kernel_chain(cursor, record);
	take_user(cursor, record);
}

static void take_map(struct cursor *cursor, uint16_t misc, struct perf_record *record)
{
	struct perf_map *map = &record->map;

	record->kind = PERF_MAP;
	record->pid = (uint32_t)take(cursor, 4);
	record->tid = (uint32_t)take(cursor, 4);
	map->address = take(cursor, 8);
	map->size_bytes = take(cursor, 8);
	map->file_offset_bytes = take(cursor, 8);
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		const uint8_t *id;

		map->build_id_bytes = (uint32_t)take(cursor, 4) & 0xff;
		id = skip(cursor, BUILD_ID_BYTES);
		if (map->build_id_bytes > BUILD_ID_BYTES || !id)
			map->build_id_bytes = 0;
		memcpy(map->build_id, id ? id : (const uint8_t *)"", map->build_id_bytes);
	} else {
		map->major = (uint32_t)take(cursor, 4);
		map->minor = (uint32_t)take(cursor, 4);
		map->inode = take(cursor, 8);
		take(cursor, 8);
	}
	take(cursor, 8); /* protection and flags */
	record->text = take_text(cursor);
}

static void take_task(struct cursor *cursor, enum perf_record_kind kind, struct perf_record *record)
{
	record->kind = kind;
	record->pid = (uint32_t)take(cursor, 4);
	record->other_pid = (uint32_t)take(cursor, 4);
	record->tid = (uint32_t)take(cursor, 4);
	record->other_tid = (uint32_t)take(cursor, 4);
}

static void take_name(struct cursor *cursor, uint16_t misc, struct perf_record *record)
{
	record->kind = misc & PERF_RECORD_MISC_COMM_EXEC ? PERF_EXEC : PERF_NAME;
	record->pid = (uint32_t)take(cursor, 4);
	record->tid = (uint32_t)take(cursor, 4);
	record->text = take_text(cursor);
}

static void take_switch(uint16_t misc, struct perf_record *record)
{
	record->kind = misc & PERF_RECORD_MISC_SWITCH_OUT ? PERF_OUT : PERF_IN;
	record->is_preempted = misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
}

/* False: of a kind that nobody asked for. */
static bool take_record(const struct perf_rings *rings, const struct perf_event_header *header,
			const uint8_t *bytes, struct perf_record *record)
{
	struct cursor cursor = {bytes + sizeof(*header), bytes + header->size};
	struct cursor trailer = {bytes + header->size - TRAILER_BYTES, bytes + header->size};

	if (header->type == PERF_RECORD_SAMPLE) {
		take_sample(rings, &cursor, header->misc, record);
		return true;
	}
	cursor.end = trailer.at;
	record->pid = (uint32_t)take(&trailer, 4);
	record->tid = (uint32_t)take(&trailer, 4);
	take(&trailer, 8);
	record->cpu = (uint32_t)take(&trailer, 4);
	switch (header->type) {
	case PERF_RECORD_MMAP2:
		take_map(&cursor, header->misc, record);
		return true;
	case PERF_RECORD_COMM:
		take_name(&cursor, header->misc, record);
		return true;
	case PERF_RECORD_FORK:
		take_task(&cursor, PERF_FORK, record);
		return true;
	case PERF_RECORD_EXIT:
		take_task(&cursor, PERF_EXIT, record);
		return true;
	case PERF_RECORD_SWITCH:
		take_switch(header->misc, record);
		return true;
	case PERF_RECORD_LOST:
		record->kind = PERF_LOST;
		take(&cursor, 8);
		record->count = take(&cursor, 8);
		return true;
	case PERF_RECORD_THROTTLE:
		record->kind = PERF_THROTTLED;
		return true;
	default:
		return false;
	}
}

bool perf_rings_next(struct perf_rings *rings, uint64_t until_ns, struct perf_record *ret_record)
{
	struct ring *ring;

	for (;;) {
		struct perf_event_header header;

		leave_current(rings);
		ring = earliest(rings);
		if (!ring || ring->time >= until_ns)
			return false;
		header = header_at(rings, ring);
		rings->current = ring;
		rings->current_size = header.size;
		*ret_record = (struct perf_record){.time_ns = ring->time};
		if (take_record(rings, &header, record_bytes(rings, ring, header.size), ret_record))
			return true;
	}
}

/* ---- samples that are new ----------------------------------------------------------------------- */

int perf_rings_wake_fd(struct perf_rings *rings)
{
	if (rings->wake_fd >= 0)
		return rings->wake_fd;
	rings->wake_fd = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; rings->wake_fd >= 0 && i < rings->ring_count; i++) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = (uint32_t)i};

		if (rings->rings[i].page)
			epoll_ctl(rings->wake_fd, EPOLL_CTL_ADD, rings->rings[i].fd, &event);
	}
	return rings->wake_fd;
}

/* A ring whose threads have all ended would be readable for ever. */
static void take_wakes(struct perf_rings *rings)
{
	struct epoll_event events[64];
	int count = rings->wake_fd < 0 ? 0 : epoll_wait(rings->wake_fd, events, 64, 0);

	for (int i = 0; i < count; i++)
		if (events[i].events & (EPOLLHUP | EPOLLERR))
			epoll_ctl(rings->wake_fd, EPOLL_CTL_DEL,
				  rings->rings[events[i].data.u32].fd, NULL);
}

/* The next sample of a ring that nobody was told of; false: there is none. */
static bool glance_at(const struct perf_rings *rings, struct ring *ring,
		      struct perf_glance *ret_glance)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

	if (ring->seen < ring->next)
		ring->seen = ring->next;
	while (ring->seen < head) {
		uint64_t at = ring->seen, word = word_at(rings, ring, at), ids;
		struct perf_event_header header;

		memcpy(&header, &word, sizeof(header));
		ring->seen = header.size < sizeof(header) ? head : at + header.size;
		if (header.type != PERF_RECORD_SAMPLE)
			continue;
		ids = word_at(rings, ring, at + SAMPLE_TIME - sizeof(ids));
		*ret_glance =
			(struct perf_glance){.time_ns = word_at(rings, ring, at + SAMPLE_TIME),
					     .pid = (uint32_t)ids,
					     .tid = (uint32_t)(ids >> 32)};
		return true;
	}
	return false;
}

bool perf_rings_glance(struct perf_rings *rings, struct perf_glance *ret_glance)
{
	if (!rings->glanced)
		take_wakes(rings);
	for (; rings->glanced < rings->ring_count; rings->glanced++) {
		struct ring *ring = &rings->rings[rings->glanced];

		if (ring->page && glance_at(rings, ring, ret_glance))
			return true;
	}
	rings->glanced = 0;
	return false;
}
