/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/perf_rings.c - reads the perf rings and returns their records in the order of time
 *
 * Runs in:  the recorder
 * Gets:     threads to attach
 * Gives:    their samples, switches, lifetimes and mappings, one by one
 * Owns:     a descriptor for each combination of attached thread, event and processor; the rings
 *           and their mappings
 * Fails:    when opened, with the kernel's reason. Later, records can only be lost, and the kernel
 *           counts those
 * Why:      an inherited event (one that also counts the thread's children) needs a ring for each
 *           processor. This file merges the rings, because a mapping must be known before a sample
 *           in it. An ordinary user may lock about 512 KiB for each processor
 *           (kernel.perf_event_mlock_kb). A sample takes 17 KiB, so 20000 a second fill 33 MiB in
 *           100 ms; a busy machine may keep the recorder off its processor for that long.
 */
#include "collect/cpu/perf_rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/number.h"
#include "collect/cpu/perf_events.h"
#include "collect/cpu/perf_rights.h"
#include "collect/proc.h"

enum {
	/* a ring of switches, lifetimes and mappings; holds some 10000 records */
	LIFE_BYTES = 512 << 10,
	MIN_RING_BYTES = 32 << 10,
	WAKEUP_PART = 4,        /* a ring wakes the recorder when it is 1/4 full */
	RECORD_BYTES = 1 << 16, /* a record's size has 16 bits */
	FULL_BYTES = 1 << 13,   /* a ring with less room may have lost records */
	BUILD_ID_BYTES = 20
};

/* Kind of records in a ring. */
enum ring_kind { RING_LIFE, RING_SAMPLES, RING_KINDS };

struct ring {
	struct perf_event_mmap_page *page; /* owned; the records follow this page; NULL: no ring */
	const uint8_t *data;
	uint32_t bytes; /* a power of two */
	int fd;         /* owned; the event that owns the ring; -1: none */
	uint64_t next;  /* read position */
	uint64_t head;  /* the kernel's write position when it was last read */
	uint64_t time;  /* timestamp of the record at `next`; UINT64_MAX: no record */
	uint64_t seen;  /* position up to which glances were returned */
	uint64_t taken; /* timestamp of the record taken last */
	bool is_full;   /* it was full when `head` was read, so later records may be lost */
};

struct descriptor {
	int fd; /* owned */
	pid_t thread;
	enum perf_event_kind kind;
};

struct perf_rings {
	struct perf_rings_options options;
	struct perf_rings_state state;
	struct perf_events events;
	struct ring *rings; /* owned; RING_KINDS for each processor */
	int cpu_count;
	int poll_fd;          /* owned */
	int program;          /* borrowed; a BPF program to be run at each sample; -1: none */
	struct ring *current; /* the ring whose record the caller still uses; NULL: none */
	uint64_t current_size;
	struct descriptor *descriptors; /* owned */
	size_t descriptor_count, descriptor_capacity;
	struct hash_map ids;        /* event id -> kind << 32 | thread for which it was opened */
	struct hash_map owners;     /* thread -> attached thread whose events report it */
	bool has_owners;            /* a running thread was attached, so duplicates are possible */
	uint32_t owner;             /* the attached thread whose event wrote the current record */
	bool wakes_for_samples;     /* each sample makes poll_fd readable */
	size_t glanced[RING_KINDS]; /* index of the ring for the next perf_rings_glance */
	uint64_t scratch[RECORD_BYTES /
			 sizeof(uint64_t)]; /* copy of a record that wraps around the ring's end */
};

/* ---- opening --------------------------------------------------------------------------------- */

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t ring_count(const struct perf_rings *rings)
{
	return (size_t)rings->cpu_count * RING_KINDS;
}

static struct ring *ring_at(const struct perf_rings *rings, int cpu, enum ring_kind kind)
{
	return &rings->rings[(size_t)cpu * RING_KINDS + kind];
}

static enum ring_kind kind_of(const struct perf_rings *rings, const struct ring *ring)
{
	return (enum ring_kind)((ring - rings->rings) % RING_KINDS);
}

static void close_ring(struct ring *ring)
{
	if (ring->page)
		munmap(ring->page, page_bytes() + ring->bytes);
	if (ring->fd >= 0)
		close(ring->fd);
	*ring = (struct ring){.fd = -1, .time = UINT64_MAX};
}

/* The ring belongs to an event of the recorder, so it outlives the profiled threads. An offline
 * processor has no ring. */
static int open_ring(struct perf_rings *rings, struct ring *ring, int cpu, uint32_t bytes)
{
	struct perf_event_attr attribute = perf_events_owner(bytes / WAKEUP_PART);
	struct epoll_event event = {.events = EPOLLIN};
	void *page;
	int error;

	ring->fd = perf_event_start(&attribute, 0, cpu);
	if (ring->fd == -ENODEV) {
		ring->fd = -1;
		return 0;
	}
	if (ring->fd < 0) {
		error = ring->fd;
		ring->fd = -1;
		return perf_refused(error);
	}
	page = mmap(NULL, page_bytes() + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	ring->page = page;
	ring->data = (const uint8_t *)page + page_bytes();
	ring->bytes = bytes;
	/* a ring of samples that wakes for each sample is not polled until perf_rings_wake */
	if (kind_of(rings, ring) == RING_LIFE || !perf_events_wake(&rings->options))
		epoll_ctl(rings->poll_fd, EPOLL_CTL_ADD, ring->fd, &event);
	return 0;
}

static int open_rings_of(struct perf_rings *rings, uint32_t life_bytes, uint32_t samples_bytes)
{
	int error = 0;

	for (int cpu = 0; cpu < rings->cpu_count && !error; cpu++) {
		error = open_ring(rings, ring_at(rings, cpu, RING_LIFE), cpu, life_bytes);
		if (!error && rings->events.has[PERF_EVENT_SAMPLES])
			error = open_ring(rings, ring_at(rings, cpu, RING_SAMPLES), cpu,
					  samples_bytes);
	}
	for (size_t i = 0; error && i < ring_count(rings); i++)
		close_ring(&rings->rings[i]);
	return error;
}

/* All rings of a kind have the same size. If they exceed the limit of locked memory, all are opened
 * again with half the size, first those of samples. */
static int open_rings(struct perf_rings *rings)
{
	uint32_t life = LIFE_BYTES,
		 samples = perf_events_ring_bytes(&rings->options, rings->cpu_count);
	int error = open_rings_of(rings, life, samples);

	while ((error == -EPERM || error == -ENOMEM) && life > MIN_RING_BYTES) {
		if (samples >= life)
			samples /= 2;
		else
			life /= 2;
		error_clear();
		error = open_rings_of(rings, life, samples);
	}
	if (error == -EPERM || error == -ENOMEM)
		return error_set(error,
				 "memory for perf events: %s: raise the limit of locked memory "
				 "(ulimit -l, or sysctl kernel.perf_event_mlock_kb)",
				 strerror(-error));
	rings->state.life_bytes = life;
	rings->state.samples_bytes = rings->events.has[PERF_EVENT_SAMPLES] ? samples : 0;
	return error;
}

int perf_rings_open(const struct perf_rings_options *options, struct perf_rings **ret_rings)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct perf_rings *rings = calloc(1, sizeof(*rings));
	int error = 0;

	if (!rings)
		return error_set(-ENOMEM, "perf events: out of memory");
	rings->options = *options;
	rings->cpu_count = cpus > 0 ? (int)cpus : 1;
	rings->program = -1;
	rings->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	rings->rings = calloc(ring_count(rings), sizeof(*rings->rings));
	for (size_t i = 0; rings->rings && i < ring_count(rings); i++)
		rings->rings[i] = (struct ring){.fd = -1, .time = UINT64_MAX};
	if (!rings->rings)
		error = error_set(-ENOMEM, "perf events: out of memory");
	else if (rings->poll_fd < 0)
		error = perf_refused(-errno);
	if (!error)
		error = perf_events_find(options, &rings->events, &rings->state);
	if (!error)
		error = open_rings(rings);
	if (error) {
		perf_rings_close(rings);
		return error;
	}
	*ret_rings = rings;
	return 0;
}

void perf_rings_close(struct perf_rings *rings)
{
	if (!rings)
		return;
	for (size_t i = 0; rings->rings && i < ring_count(rings); i++)
		close_ring(&rings->rings[i]);
	for (size_t i = 0; i < rings->descriptor_count; i++)
		close(rings->descriptors[i].fd);
	if (rings->poll_fd >= 0)
		close(rings->poll_fd);
	hash_map_fini(&rings->ids);
	hash_map_fini(&rings->owners);
	free(rings->descriptors);
	free(rings->rings);
	free(rings);
}

void perf_rings_state(const struct perf_rings *rings, struct perf_rings_state *ret_state)
{
	*ret_state = rings->state;
}

int perf_rings_descriptor(const struct perf_rings *rings)
{
	return rings->poll_fd;
}

int perf_rings_add(struct perf_rings *rings, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(rings->poll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* ---- attaching ------------------------------------------------------------------------------- */

/* A record contains the id of the event that was opened for the attached thread, also when a child
 * that inherited the event caused it. */
static int note_id(struct perf_rings *rings, const struct descriptor *descriptor)
{
	uint64_t id, value = (uint64_t)descriptor->kind << 32 | (uint32_t)descriptor->thread;

	if (ioctl(descriptor->fd, PERF_EVENT_IOC_ID, &id) < 0)
		return error_set(-errno, "perf events: an event's id: %s", strerror(errno));
	if (hash_map_put(&rings->ids, id, value))
		return error_set(-ENOMEM, "perf events: out of memory");
	return 0;
}

/* If this fails, the recorder reads Python frames itself. */
static void run_program(const struct perf_rings *rings, const struct descriptor *descriptor)
{
	if (rings->program >= 0 && descriptor->kind != PERF_EVENT_LIFE)
		ioctl(descriptor->fd, PERF_EVENT_IOC_SET_BPF, rings->program);
}

void perf_rings_run(struct perf_rings *rings, int program)
{
	rings->program = program;
	for (size_t i = 0; i < rings->descriptor_count; i++)
		run_program(rings, &rings->descriptors[i]);
}

/* An offline processor has no ring. */
static int attach_one(struct perf_rings *rings, enum perf_event_kind kind, pid_t thread, int cpu,
		      bool on_exec)
{
	const struct ring *ring =
		ring_at(rings, cpu, kind == PERF_EVENT_LIFE ? RING_LIFE : RING_SAMPLES);
	struct perf_event_attr attribute = rings->events.attributes[kind];
	struct descriptor descriptor = {.thread = thread, .kind = kind};
	int fd, error = 0;

	if (!rings->events.has[kind] || !ring->page)
		return 0;
	if (array_grow(rings->descriptors, rings->descriptor_capacity, rings->descriptor_count + 1))
		return error_set(-ENOMEM, "perf events: out of memory");
	attribute.enable_on_exec = on_exec;
	fd = perf_event_start(&attribute, thread, cpu);
	if (fd == -ENODEV)
		return 0;
	if (fd == -ESRCH)
		return fd;
	if (fd < 0)
		return perf_refused(fd);
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0)
		error = error_set(
			-errno,
			"perf events: cannot send an event to its processor's shared ring "
			"buffer: %s",
			strerror(errno));
	descriptor.fd = fd;
	if (!error)
		error = note_id(rings, &descriptor);
	if (error) {
		close(fd);
		return error;
	}
	rings->descriptors[rings->descriptor_count++] = descriptor;
	run_program(rings, &descriptor);
	return 0;
}

int perf_rings_attach(struct perf_rings *rings, pid_t thread, int pid_fd, bool on_exec)
{
	size_t before = rings->descriptor_count;
	int error = 0;

	/* PERF_EVENT_LIFE comes first, so that mappings are recorded before the first sample */
	for (int kind = 0; kind < PERF_EVENT_KINDS && !error; kind++)
		for (int cpu = 0; cpu < rings->cpu_count && !error; cpu++)
			error = attach_one(rings, (enum perf_event_kind)kind, thread, cpu, on_exec);
	if (!error && pid_fd >= 0 && !proc_is_alive(pid_fd, (uint32_t)thread))
		error = -ESRCH;
	if (!error && !on_exec && hash_map_put(&rings->owners, (uint64_t)thread, (uint64_t)thread))
		error = error_set(-ENOMEM, "perf events: out of memory");
	if (error) {
		while (rings->descriptor_count > before)
			close(rings->descriptors[--rings->descriptor_count].fd);
		return error;
	}
	rings->has_owners |= !on_exec;
	for (size_t i = before; !on_exec && i < rings->descriptor_count; i++)
		ioctl(rings->descriptors[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	return 0;
}

/* The event of an attached thread also counts the records that its children lost. */
void perf_rings_lost(const struct perf_rings *rings, uint64_t *ret_samples, uint64_t *ret_others,
		     uint64_t *ret_since_ns)
{
	uint64_t lost[2] = {0}, since_ns = UINT64_MAX;

	for (size_t i = 0; rings->state.counts_lost && i < rings->descriptor_count; i++) {
		const struct descriptor *descriptor = &rings->descriptors[i];
		uint64_t values[2]; /* count of the event, count of lost records */

		if (read(descriptor->fd, values, sizeof(values)) == (ssize_t)sizeof(values))
			lost[descriptor->kind == PERF_EVENT_LIFE] += values[1];
	}
	for (int cpu = 0; cpu < rings->cpu_count; cpu++)
		if (ring_at(rings, cpu, RING_LIFE)->is_full)
			since_ns = smaller(since_ns, ring_at(rings, cpu, RING_LIFE)->taken);
	*ret_samples = lost[0];
	*ret_others = lost[1];
	*ret_since_ns = since_ns == UINT64_MAX ? 0 : since_ns;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Records are aligned to 8 bytes and have a multiple of 8 bytes. */
static uint64_t word_at(const struct ring *ring, uint64_t position)
{
	uint64_t word;

	memcpy(&word, ring->data + (position & (ring->bytes - 1)), sizeof(word));
	return word;
}

static struct perf_event_header header_at(const struct ring *ring)
{
	uint64_t word = word_at(ring, ring->next);
	struct perf_event_header header;

	memcpy(&header, &word, sizeof(header));
	return header;
}

/* Offsets of the timestamp. A sample starts with header, ip, pid and tid, time, id. All other
 * records end with pid and tid, time, id, cpu. */
enum { SAMPLE_TIME = 24, SAMPLE_ID = 32, TRAILER_BYTES = 32, TRAILER_TIME = 24 };

/* Sets ring->time to the timestamp of its next record. */
static void ring_read_time(struct ring *ring)
{
	struct perf_event_header header;

	ring->time = UINT64_MAX;
	if (ring->next == ring->head)
		return;
	header = header_at(ring);
	if (header.size < sizeof(header) + TRAILER_BYTES) {
		/* the kernel writes no such record: the memory was overwritten; skips everything */
		ring->next = ring->head;
		return;
	}
	ring->time = word_at(ring, ring->next + (header.type == PERF_RECORD_SAMPLE
							 ? SAMPLE_TIME
							 : header.size - TRAILER_TIME));
}

static const uint8_t *record_bytes(struct perf_rings *rings, const struct ring *ring, size_t size)
{
	size_t at = ring->next & (ring->bytes - 1), first;

	if (at + size <= ring->bytes)
		return ring->data + at;
	first = ring->bytes - at;
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
	ring->taken = ring->time;
	__atomic_store_n(&ring->page->data_tail, ring->next, __ATOMIC_RELEASE);
	ring_read_time(ring);
	rings->current = NULL;
}

static struct ring *find_earliest(struct perf_rings *rings)
{
	struct ring *found = NULL;

	for (size_t i = 0; i < ring_count(rings); i++) {
		struct ring *ring = &rings->rings[i];

		if (!ring->page)
			continue;
		if (ring->time == UINT64_MAX) {
			ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
			if (ring->head != ring->next)
				ring->is_full = ring->head - ring->next + FULL_BYTES > ring->bytes;
			ring_read_time(ring);
		}
		if (ring->time != UINT64_MAX && (!found || ring->time < found->time))
			found = ring;
	}
	return found;
}

static const char *take_text(struct cursor *cursor)
{
	const char *text = (const char *)cursor->at;
	const void *end = memchr(text, '\0', (size_t)(cursor->end - cursor->at));

	return end ? text : "";
}

static void take_kernel_chain(struct cursor *cursor, struct perf_record *record)
{
	uint64_t count = cursor_take(cursor, 8);
	const uint64_t *chain = count < RECORD_BYTES / 8 ? cursor_skip(cursor, count * 8) : NULL;

	if (!chain)
		return;
	/* a marker word before the addresses gives their context: kernel or user */
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
	uint64_t registers[PERF_REGISTERS] = {0}, size;

	record->has_user = cursor_take(cursor, 8) != PERF_SAMPLE_REGS_ABI_NONE;
	if (record->has_user) {
		for (int i = 0; i < PERF_REGISTERS; i++)
			registers[i] = cursor_take(cursor, 8);
		record->bp = registers[PERF_PLACE_BP];
		record->sp = registers[PERF_PLACE_SP];
		record->ip = registers[PERF_PLACE_IP];
	}
	size = cursor_take(cursor, 8);
	record->stack = size ? cursor_skip(cursor, size) : NULL;
	if (record->stack) {
		record->stack_bytes = cursor_take(cursor, 8);
		if (record->stack_bytes > size)
			record->stack_bytes = 0;
	}
}

/* Reads the event id of a record: sets rings->owner, returns the kind of event. */
static enum perf_event_kind take_id(struct perf_rings *rings, struct cursor *cursor)
{
	uint64_t found = hash_map_get(&rings->ids, cursor_take(cursor, 8), 0);

	rings->owner = (uint32_t)found;
	return (enum perf_event_kind)(found >> 32);
}

static void take_sample(struct perf_rings *rings, struct cursor *cursor, uint16_t misc,
			struct perf_record *record)
{
	record->kind = PERF_SAMPLE;
	record->is_kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	record->address = cursor_take(cursor, 8);
	record->pid = (uint32_t)cursor_take(cursor, 4);
	record->tid = (uint32_t)cursor_take(cursor, 4);
	cursor_take(cursor, 8);
	record->is_fault = take_id(rings, cursor) == PERF_EVENT_FAULTS;
	record->cpu = (uint32_t)cursor_take(cursor, 8);
	record->weight = record->is_fault ? PERF_FAULTS_PERIOD : cursor_take(cursor, 8);
	take_kernel_chain(cursor, record);
	take_user(cursor, record);
}

static void take_map(struct cursor *cursor, uint16_t misc, struct perf_record *record)
{
	struct perf_map *map = &record->map;

	record->kind = PERF_MAP;
	record->pid = (uint32_t)cursor_take(cursor, 4);
	record->tid = (uint32_t)cursor_take(cursor, 4);
	map->address = cursor_take(cursor, 8);
	map->size_bytes = cursor_take(cursor, 8);
	map->file_offset_bytes = cursor_take(cursor, 8);
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		const uint8_t *id;

		map->build_id_bytes = (uint32_t)cursor_take(cursor, 4) & 0xff;
		id = cursor_skip(cursor, BUILD_ID_BYTES);
		if (map->build_id_bytes > BUILD_ID_BYTES || !id)
			map->build_id_bytes = 0;
		memcpy(map->build_id, id ? id : (const uint8_t *)"", map->build_id_bytes);
	} else {
		map->major = (uint32_t)cursor_take(cursor, 4);
		map->minor = (uint32_t)cursor_take(cursor, 4);
		map->inode = cursor_take(cursor, 8);
		cursor_take(cursor, 8);
	}
	cursor_take(cursor, 8); /* protection and flags */
	record->text = take_text(cursor);
}

static void take_task(struct cursor *cursor, enum perf_record_kind kind, struct perf_record *record)
{
	record->kind = kind;
	record->pid = (uint32_t)cursor_take(cursor, 4);
	record->other_pid = (uint32_t)cursor_take(cursor, 4);
	record->tid = (uint32_t)cursor_take(cursor, 4);
	record->other_tid = (uint32_t)cursor_take(cursor, 4);
}

static void take_name(struct cursor *cursor, uint16_t misc, struct perf_record *record)
{
	record->kind = misc & PERF_RECORD_MISC_COMM_EXEC ? PERF_EXEC : PERF_NAME;
	record->pid = (uint32_t)cursor_take(cursor, 4);
	record->tid = (uint32_t)cursor_take(cursor, 4);
	record->text = take_text(cursor);
}

static void take_switch(uint16_t misc, struct perf_record *record)
{
	record->kind = misc & PERF_RECORD_MISC_SWITCH_OUT ? PERF_OUT : PERF_IN;
	record->is_preempted = misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
}

/* Parses a record. False: the recorder does not use records of this kind. */
static bool take_record(struct perf_rings *rings, const struct perf_event_header *header,
			const uint8_t *bytes, struct perf_record *record)
{
	struct cursor cursor = {bytes + sizeof(*header), bytes + header->size};
	struct cursor trailer = {bytes + header->size - TRAILER_BYTES, bytes + header->size};

	if (header->type == PERF_RECORD_SAMPLE) {
		take_sample(rings, &cursor, header->misc, record);
		return true;
	}
	cursor.end = trailer.at;
	record->pid = (uint32_t)cursor_take(&trailer, 4);
	record->tid = (uint32_t)cursor_take(&trailer, 4);
	cursor_take(&trailer, 8);
	take_id(rings, &trailer);
	record->cpu = (uint32_t)cursor_take(&trailer, 4);
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
		cursor_take(&cursor, 8);
		record->count = cursor_take(&cursor, 8);
		record->since_ns = rings->current->taken;
		record->has_samples = kind_of(rings, rings->current) == RING_SAMPLES;
		return true;
	case PERF_RECORD_THROTTLE:
		record->kind = PERF_THROTTLED;
		return true;
	default:
		return false;
	}
}

/* Whether a record is a duplicate. A thread found in /proc/PID/task may also have inherited events
 * from an attached thread that started it; both then report it. Each thread therefore has one
 * owner, and only records from the owner's events are used. An attached thread is its own owner. A
 * thread that it starts gets the same owner. */
static bool is_double(struct perf_rings *rings, const struct perf_record *record)
{
	uint32_t thread = record->kind == PERF_FORK ? record->other_tid : record->tid;
	uint64_t owner;

	if (!rings->has_owners || !rings->owner || record->kind == PERF_LOST ||
	    record->kind == PERF_THROTTLED)
		return false;
	owner = hash_map_get(&rings->owners, thread, rings->owner);
	/* after exec, the calling thread has the tid of its process's first thread */
	if (owner != rings->owner && record->kind != PERF_EXEC)
		return true;
	if (record->kind == PERF_FORK) {
		thread = record->tid;
		if (hash_map_get(&rings->owners, thread, 0) == thread)
			return false; /* it was attached itself, with all events */
	}
	if (record->kind == PERF_EXIT)
		hash_map_remove(&rings->owners, thread, NULL);
	else
		/* if this fails, the next record tries again */
		hash_map_put(&rings->owners, thread, rings->owner);
	return false;
}

bool perf_rings_next(struct perf_rings *rings, uint64_t until_ns, struct perf_record *ret_record)
{
	struct ring *ring;

	for (;;) {
		struct perf_event_header header;

		leave_current(rings);
		ring = find_earliest(rings);
		if (!ring || ring->time >= until_ns)
			return false;
		header = header_at(ring);
		rings->current = ring;
		rings->current_size = header.size;
		*ret_record = (struct perf_record){.time_ns = ring->time};
		if (take_record(rings, &header, record_bytes(rings, ring, header.size),
				ret_record) &&
		    !is_double(rings, ret_record))
			return true;
	}
}

bool perf_rings_are_filling(const struct perf_rings *rings)
{
	for (size_t i = 0; i < ring_count(rings); i++) {
		const struct ring *ring = &rings->rings[i];

		if (ring->page &&
		    __atomic_load_n(&ring->page->data_head, __ATOMIC_RELAXED) - ring->next >=
			    ring->bytes / WAKEUP_PART)
			return true;
	}
	return false;
}

/* ---- looking ahead for samples --------------------------------------------------------------- */

void perf_rings_wake(struct perf_rings *rings)
{
	struct epoll_event event = {.events = EPOLLIN};

	if (rings->wakes_for_samples || !perf_events_wake(&rings->options))
		return;
	rings->wakes_for_samples = true;
	for (int cpu = 0; cpu < rings->cpu_count; cpu++) {
		const struct ring *ring = ring_at(rings, cpu, RING_SAMPLES);

		if (ring->page)
			epoll_ctl(rings->poll_fd, EPOLL_CTL_ADD, ring->fd, &event);
	}
}

static void fill_glance(const struct perf_rings *rings, const struct ring *ring, uint64_t at,
			const struct perf_event_header *header, struct perf_glance *ret_glance)
{
	const bool is_sample = header->type == PERF_RECORD_SAMPLE;
	const uint64_t time_at = at + (is_sample ? SAMPLE_TIME : header->size - TRAILER_TIME);
	const uint64_t ids = word_at(ring, time_at - sizeof(uint64_t));
	const uint64_t event = hash_map_get(&rings->ids, word_at(ring, at + SAMPLE_ID), 0);

	*ret_glance = (struct perf_glance){
		.time_ns = word_at(ring, time_at),
		.is_fault = is_sample && event >> 32 == PERF_EVENT_FAULTS,
		.is_blocked = !is_sample && (header->misc & PERF_RECORD_MISC_SWITCH_OUT) &&
			      !(header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT),
		.pid = (uint32_t)ids,
		.tid = (uint32_t)(ids >> 32)};
}

/* Finds the next record of a type in a ring that was not returned before; false: none. */
static bool glance_at(const struct perf_rings *rings, struct ring *ring, uint32_t type,
		      struct perf_glance *ret_glance)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

	if (ring->seen < ring->next)
		ring->seen = ring->next;
	while (ring->seen < head) {
		uint64_t at = ring->seen, word = word_at(ring, at);
		struct perf_event_header header;

		memcpy(&header, &word, sizeof(header));
		ring->seen = header.size < sizeof(header) + TRAILER_BYTES ? head : at + header.size;
		if (header.type != type)
			continue;
		fill_glance(rings, ring, at, &header, ret_glance);
		return true;
	}
	return false;
}

bool perf_rings_glance(struct perf_rings *rings, bool is_of_switches,
		       struct perf_glance *ret_glance)
{
	const enum ring_kind kind = is_of_switches ? RING_LIFE : RING_SAMPLES;
	const uint32_t type = is_of_switches ? PERF_RECORD_SWITCH : PERF_RECORD_SAMPLE;
	size_t *glanced = &rings->glanced[kind];

	for (; *glanced < ring_count(rings); ++*glanced) {
		struct ring *ring = &rings->rings[*glanced];

		if (ring->page && kind_of(rings, ring) == kind &&
		    glance_at(rings, ring, type, ret_glance))
			return true;
	}
	*glanced = 0;
	return false;
}
