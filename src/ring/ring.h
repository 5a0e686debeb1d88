/* SPDX-License-Identifier: MIT
 *
 * ring/ring.h - shared-memory queues from the threads of a guest to the recorder
 *
 * Runs in:  guests produce (one thread per ring), the recorder consumes
 * Memory:   a region is one shared file made, sized and sealed by the recorder: a page of struct
 *           ring_region, then ring_count slots, each a page of struct ring_control and ring_bytes
 *           of data. A guest may map a prefix of it and then has fewer rings.
 * Trust:    neither side trusts the other's bytes. Each side keeps the sizes and positions that
 *           decide which memory it touches privately, and checks everything it reads from the
 *           region.
 * Order:    the producer stores records, then head (release); the consumer loads head (acquire),
 *           copies, then stores tail (release). Positions only grow; an offset is position &
 *           (ring_bytes - 1).
 *
 * Writing never blocks, locks or allocates; a record that does not fit is counted in lost[].
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "event/event.h"
#include "event/record.h"

#define RING_MAGIC   0x31676e6972746575u /* "uetring1" */
#define RING_PAGE    4096u
#define RING_VERSION 2u

/* The largest page size that a kernel for this processor may have: a fork wipes whole pages. */
#if defined(__x86_64__)
enum { RING_WIPED_BYTES = 4096 };
#else
enum { RING_WIPED_BYTES = 65536 };
#endif

enum ring_clock { RING_CLOCK_MONOTONIC = 0, RING_CLOCK_TSC = 1 };

enum ring_option {
	RING_OPTION_DEVICE_TIME = 1, /* ask the device for time stamps */
	RING_OPTION_CODE = 2,        /* keep sources, binaries and build logs */
	RING_OPTION_NATIVE = 4,      /* take the stacks of launches and waits … */
	RING_OPTION_PYTHON = 8,      /* … and the Python functions in them */
	RING_OPTION_GUEST = 256      /* this bit and those above are the guest's own */
};
#define RING_OPTIONS_OF_GUEST (~(uint32_t)(RING_OPTION_GUEST - 1))

/* Options of the guest's own that are numbers; 0: as usual. */
enum { RING_NUMBERS = 2 };

/* Events that a guest could not record, per process, because they have no ring to be counted in. */
enum ring_trouble {
	/* calls of threads that found no free ring: from the ranges guest, ranges */
	RING_TROUBLE_NO_RING,
	RING_TROUBLE_TRACKING,       /* commands that could not be tracked to their end */
	RING_TROUBLE_NO_RING_LAUNCH, /* the same, for calls that enqueue a command */
	RING_TROUBLE_OBJECTS,        /* uses of an object that could not be stored */
	RING_TROUBLE_STACKS,         /* stacks that could not be stored */
	RING_TROUBLE_STACKS_CHECKED, /* not a trouble: stacks that were unwound a second way */
	RING_TROUBLE_STACKS_WRONG,   /* stacks whose second way gave another result */
	/* interpreters with unknown frame layout: native frames are kept */
	RING_TROUBLE_PYTHON_UNKNOWN,
	RING_TROUBLE_NO_RING_SAMPLE, /* instruction samples delivered in a thread without a ring */
	/* libduet: counter values of threads that found no free ring */
	RING_TROUBLE_NO_RING_COUNTER,
	/* Not a trouble: the guest's own time in the program, in ticks of the region's clock.
	 * Sections too short for a row */
	RING_TROUBLE_SECTIONS,
	RING_TROUBLE_SECTIONS_TICKS,
	RING_TROUBLE_TIMED_CALLS, /* … and a sample of the calls */
	RING_TROUBLE_TIMED_TICKS,
	RING_TROUBLE_GUEST = 16, /* from here on: the guest's own */
	RING_TROUBLE_COUNT = 48
};

enum { RING_PYTHON_BYTES = 48 };

/* The final events that a runtime still holds when a recording ends before the program. */
enum ring_last {
	RING_LAST_NONE,    /* there are none, or no thread to deliver them */
	RING_LAST_OFFERED, /* guest: a thread of its own delivers them on request */
	RING_LAST_ASKED,   /* recorder: now */
	RING_LAST_GIVEN    /* guest: they are in the rings */
};

/* The bits of `enabled` that name the recorder's thread (FUTEX_TID_MASK). The recorder clears them
 * when the recording ends; the kernel does when the recorder is killed
 * (collect/guest/robust_region.c). */
enum { RING_OWNER = 0x3fffffff, RING_OWNER_DIED = 0x40000000 };

/* How much a guest records of each call: a level, and for RING_DETAIL_SAMPLED the mean number of
 * launches of a call site between two stacks, in the bits from RING_DETAIL_SHIFT on. The recorder
 * changes it during the recording (--max-overhead). */
enum ring_detail {
	RING_DETAIL_ALL = 0,      /* as the options say */
	RING_DETAIL_SAMPLED = 1,  /* stacks of some launches and waits */
	RING_DETAIL_SPANS = 2,    /* no stacks */
	RING_DETAIL_COUNTERS = 3, /* launches and ordinary calls are counted, not recorded */
	RING_DETAIL_LEVEL = 0xff,
	RING_DETAIL_SHIFT = 8
};

/* If a recorder has not updated beat_ns for this long, a guest whose ring is full assumes that it
 * is gone and stops writing. */
enum { RING_SILENT_MS = 10000 };

struct ring_region {
	uint64_t magic;
	uint32_t version;
	uint32_t ring_count;
	uint32_t ring_bytes; /* power of two, at least 64 KiB */
	uint32_t clock;      /* enum ring_clock */
	uint32_t options;    /* enum ring_option */
	/* recorder: its thread id (RING_OWNER); 0: the recording has ended */
	_Atomic uint32_t enabled;
	_Atomic uint64_t beat_ns; /* recorder: CLOCK_MONOTONIC of its last drain */
	/* guest: 1 after it has closed its rings; it may say hello again */
	_Atomic uint32_t left;
	uint32_t numbers[RING_NUMBERS]; /* the guest's own */
	_Atomic uint32_t last;          /* enum ring_last */
	/* recorder: enum ring_detail; the guest reads it in each call, beside `enabled` */
	_Atomic uint32_t detail;
	/* guest: CLOCK_MONOTONIC, from which on it records all calls; 0: not yet */
	_Atomic uint64_t begun_ns;
	_Alignas(64) _Atomic uint64_t trouble[RING_TROUBLE_COUNT]; /* guest */
	/* guest, before that trouble: the interpreter's version, NUL-terminated */
	char python_unknown[RING_PYTHON_BYTES];
};

enum ring_state { RING_FREE = 0, RING_CLAIMED = 1, RING_BUSY = 2, RING_CLOSED = 3 };

struct ring_control {
	_Alignas(64) _Atomic uint64_t head; /* producer */
	/* producer: launches so far, recorded or not; those, and ordinary calls, that were not
	 * recorded because of RING_DETAIL_COUNTERS */
	_Atomic uint64_t launches, launches_left_out, calls_left_out;
	/* producer, by kind: records that did not fit, and records of signal handlers that
	 * interrupted a write */
	_Atomic uint64_t lost[EVENT_KIND_COUNT], nested[EVENT_KIND_COUNT];
	_Alignas(64) _Atomic uint64_t tail;  /* consumer */
	_Alignas(64) _Atomic uint32_t state; /* enum ring_state */
	uint32_t tid;                        /* thread id of the producer, in its pid namespace */
};

static inline size_t ring_slot_bytes(uint32_t ring_bytes)
{
	return RING_PAGE + (size_t)ring_bytes;
}

static inline size_t ring_region_bytes(uint32_t ring_count, uint32_t ring_bytes)
{
	return RING_PAGE + ring_count * ring_slot_bytes(ring_bytes);
}

/* For a region that has no reader any more: returns the memory of its records to the system,
 * although a program still has it mapped. Only the data is returned. The first page must still show
 * that the recording has ended, and a control page of zeros would offer a ring as free while a
 * thread is using it. Records that such a thread writes later allocate new pages, at most one
 * ring's worth. If the system refuses, the memory is held until the program ends. */
void ring_give_back_data(struct ring_region *region, uint32_t ring_count, uint32_t ring_bytes);

/* ---- time ------------------------------------------------------------------------------------ */

/* The time on an enum ring_clock. */
static inline uint64_t ring_now(uint32_t clock)
{
	struct timespec now;

#if defined(__x86_64__)
	if (__builtin_expect(clock == RING_CLOCK_TSC, 1))
		return __builtin_ia32_rdtsc();
#endif
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* For waits: exact to a tick of the kernel. */
static inline uint64_t ring_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* False once the recording has ended or its recorder is dead. */
static inline bool ring_region_is_owned(const struct ring_region *region)
{
	return atomic_load_explicit(&region->enabled, memory_order_relaxed) & RING_OWNER;
}

/* As ring_region_is_owned, and the recorder has not gone silent. */
static inline bool ring_region_is_read(const struct ring_region *region)
{
	uint64_t beat_ms = atomic_load_explicit(&region->beat_ns, memory_order_relaxed) / 1000000u;

	return ring_region_is_owned(region) && ring_now_ms() < beat_ms + RING_SILENT_MS;
}

/* ---- producer -------------------------------------------------------------------------------- */

struct ring_writer {
	struct ring_control *control; /* borrowed from the mapping */
	uint8_t *data;                /* borrowed */
	uint64_t head;
	uint64_t tail_seen;
	uint64_t reserved; /* head after the open reservation */
	uint32_t bytes;
	/* between reserve and commit; read by a signal handler on this thread */
	volatile bool writing;
};

/* Claims a free ring among the first ring_count of a mapped region. False if all are taken. */
bool ring_claim(struct ring_region *region, uint32_t ring_count, uint32_t ring_bytes, uint32_t tid,
		struct ring_writer *ret_writer);

/* The producer's thread ends: the recorder drains the rest and frees the ring. */
void ring_close(struct ring_writer *writer);

/* Slow path of ring_reserve, for a record that does not seem to fit. */
void *ring_reserve_slow(struct ring_writer *writer, uint16_t kind, uint32_t size);
void *ring_reserve_nested(struct ring_writer *writer, uint16_t kind);

/* Room for a record of `size` bytes (a multiple of 8), or NULL (counted). Call ring_commit before
 * the thread reserves again. */
static inline void *ring_reserve(struct ring_writer *writer, uint16_t kind, uint32_t size)
{
	uint32_t offset;

	if (__builtin_expect(writer->writing, 0))
		return ring_reserve_nested(writer, kind);
	/* Set before the head is read: a signal handler that comes in between moves it. */
	writer->writing = true;
	atomic_signal_fence(memory_order_seq_cst);
	offset = (uint32_t)writer->head & (writer->bytes - 1);
	if (__builtin_expect(offset + size > writer->bytes ||
				     writer->head + size - writer->tail_seen > writer->bytes,
			     0))
		return ring_reserve_slow(writer, kind, size);
	writer->reserved = writer->head + size;
	return writer->data + offset;
}

/* Counts for the ring's own thread. One instruction, so that a signal handler of this thread loses
 * no count; without a lock prefix, because no other thread writes it. */
static inline void ring_count(_Atomic uint64_t *counter)
{
#if defined(__x86_64__)
	__asm__ volatile("incq %0" : "+m"(*counter) : : "cc");
#else
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
#endif
}

/* Prefetches the memory of the next `bytes`. The recorder has read it on another processor in the
 * last round; a prefetch before a call completes during the call. */
static inline void ring_prefetch(const struct ring_writer *writer, uint32_t bytes)
{
	uint32_t offset = (uint32_t)writer->head;

	for (uint32_t i = 0; i <= bytes; i += 64)
		__builtin_prefetch(writer->data + ((offset + i) & (writer->bytes - 1)), 1);
}

/* Counts a part that is left out of a written record as lost. */
static inline void ring_count_lost(struct ring_writer *writer, uint16_t kind, uint64_t count)
{
	atomic_fetch_add_explicit(&writer->control->lost[kind], count, memory_order_relaxed);
}

static inline void ring_commit(struct ring_writer *writer)
{
	writer->head = writer->reserved;
	atomic_store_explicit(&writer->control->head, writer->head, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	writer->writing = false;
}

/* ---- consumer -------------------------------------------------------------------------------- */

struct ring_reader {
	struct ring_control *control; /* borrowed from the mapping */
	const uint8_t *data;          /* borrowed */
	uint64_t tail;
	uint32_t bytes;
	uint64_t broken_bytes; /* skipped because they were invalid */
	uint64_t broken_times;
};

void ring_reader_init(struct ring_reader *reader, struct ring_region *region, uint32_t ring_bytes,
		      uint32_t index);

/* Called with a private copy of each record: its size is at least sizeof(struct record), a multiple
 * of 8, and equal to the record's size field. */
typedef void ring_take(void *context, const struct record *record);

/* Reads at most `most` bytes of records; scratch holds one record (64 KiB). Returns the bytes read.
 */
size_t ring_drain(struct ring_reader *reader, size_t most, void *scratch, ring_take *take,
		  void *context);

/* After ring_drain returned 0 on a closed ring: frees it for another thread. */
void ring_recycle(struct ring_reader *reader);
