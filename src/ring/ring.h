/* SPDX-License-Identifier: MIT
 *
 * ring/ring.h - shared-memory queues from the threads of a guest to the recorder
 *
 * Runs in:  guests produce (one thread per ring), the recorder consumes
 * Memory:   a region is one shared file made, sized and sealed by the recorder: a page of struct
 *           ring_region, then ring_count slots, each a page of struct ring_control and ring_bytes of
 *           data. A guest may map a prefix of it and then has fewer rings.
 * Trust:    neither side believes the other's bytes. Sizes and positions that decide where memory is
 *           touched are kept privately by each side; what is read from the region is checked.
 * Order:    the producer stores records, then head (release); the consumer loads head (acquire), copies,
 *           then stores tail (release). Positions only grow; an offset is position & (ring_bytes - 1).
 *
 * Writing never blocks, locks or allocates; a record that does not fit is counted in lost[].
 */
#ifndef RING_RING_H
#define RING_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "event/event.h"
#include "event/record.h"

#define RING_MAGIC   0x31676e6972746575u /* "uetring1" */
#define RING_PAGE    4096u
#define RING_VERSION 1u

/* The largest page that a kernel for this processor may be built with: what a fork wipes is whole pages. */
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
	/* Of the HSA guest: which dispatches it times. */
	RING_OPTION_AMD_LITE = 16,      /* not those that carry a signal */
	RING_OPTION_AMD_FULL = 32,      /* those in batches too */
	RING_OPTION_AMD_FORCE = 64,     /* also where the runtime is known to fail */
	RING_OPTION_AMD_PCS = 256,      /* samples instructions too */
	RING_OPTION_AMD_NO_HIP = 512,   /* the calls of HIP are not wanted */
	RING_OPTION_CUDA_GRAPHS = 1024, /* of the CUDA guest: a launch of a graph is one command */
	RING_OPTION_CUDA_PC = 4096,     /* … instructions of kernels are sampled … */
	RING_OPTION_CUDA_PC_EXACT = 8192, /* … of one kernel at a time */
	RING_OPTION_CUDA_LATENCY =
		65536, /* … kernels have the times when they were queued and submitted */
	RING_OPTION_CUDA_WAITS = 131072, /* … what is waited for is told by the runtime too */
	RING_OPTION_CUDA_IDLE =
		16384, /* … nothing is: it is loaded with CUPTI, and there it ends … */
	RING_OPTION_CUDA_SUBSCRIBED = 32768, /* … or, with that, once it has subscribed */
	RING_OPTION_LEVEL_ZERO_TIME =
		2048,            /* of the Level Zero guest: asks devices for time stamps */
	RING_OPTION_OPENCL = 128 /* what AMD's OpenCL does is recorded by the guest for that */
};

/* Options that are numbers; 0: as usual. */
enum ring_number {
	RING_NUMBER_CUDA_PC_WINDOW_MS, /* instructions are sampled for so long … */
	RING_NUMBER_CUDA_PC_PERIOD_MS, /* … in each so many ms */
	RING_NUMBER_COUNT
};

/* What a guest could not record, by process (no ring of its own to count in). */
enum ring_trouble {
	RING_TROUBLE_NO_RING, /* calls of threads that found no ring free, of the ranges guest ranges … */
	RING_TROUBLE_TRACKING,       /* commands that could not be followed to their end */
	RING_TROUBLE_NO_RING_LAUNCH, /* … that put a command into a queue */
	RING_TROUBLE_OBJECTS,        /* uses of an object that could not be remembered */
	RING_TROUBLE_STACKS,         /* stacks that could not be remembered */
	RING_TROUBLE_STACKS_CHECKED, /* no trouble: stacks that were taken a second way … */
	RING_TROUBLE_STACKS_WRONG,   /* … and that way said otherwise */
	RING_TROUBLE_PYTHON_UNKNOWN, /* interpreters whose frames are not known: native ones are kept */
	/* Of the HSA guest: dispatches without times … */
	RING_TROUBLE_SIGNALS, /* … because all signals were out */
	RING_TROUBLE_MODE,    /* … because they carry one and the mode leaves those alone */
	RING_TROUBLE_BATCHES, /* … because they are in batches; no launch records either */
	/* Packets of queues that are not followed, because the runtime may crash of it, they are none of those that
	 * can be, or something was refused. */
	RING_TROUBLE_NOT_FOLLOWED,
	RING_TROUBLE_QUEUE_SPECIAL,
	RING_TROUBLE_QUEUE_REFUSED,
	RING_TROUBLE_KERNELS,        /* kernels whose code was not seen */
	RING_TROUBLE_NO_QUEUE,       /* kernels were loaded, and no queue was seen */
	RING_TROUBLE_LAYOUT,         /* tables of the runtime that are not known */
	RING_TROUBLE_HIP_BEFORE,     /* HIP is found before the guest: its calls are not seen */
	RING_TROUBLE_NO_SAMPLES,     /* nothing samples instructions here */
	RING_TROUBLE_NO_RING_SAMPLE, /* samples of instructions that came in a thread without a ring */
	/* Of libduet: calls of threads that found no ring free, which are counter values. */
	RING_TROUBLE_NO_RING_COUNTER,
	/* Of the CUDA guest: */
	RING_TROUBLE_CUDA_TIMES, /* records of CUPTI's with times that cannot be */
	RING_TROUBLE_CUDA_GRAPHS, /* nodes of graphs came too fast: graphs are recorded as a whole since then */
	RING_TROUBLE_CUDA_PC_FULL, /* times that the GPU's buffer of samples was full */
	RING_TROUBLE_CUDA_PC_CODE, /* samples of kernels whose code was not seen */
	RING_TROUBLE_CUDA_PC_RARE, /* windows of sampling are rarer than they were asked for */
	RING_TROUBLE_CUDA_PC_OVER, /* … and there are none any more */
	RING_TROUBLE_CUDA_PC_CONTEXTS, /* contexts that are not sampled: too many, or the helper is in CUPTI */
	RING_TROUBLE_LEVEL_ZERO_VERSION, /* of Level Zero, whose loader's tables are not known */
	RING_TROUBLE_QUEUES,             /* commands in streams that could not be told apart */
	RING_TROUBLE_CUDA_MEMORY,        /* allocations that could not be remembered */
	/* Of the HSA guest, where another tool comes before it in HSA_TOOLS_LIB: dispatches without times, because that
	 * tool is between us and the device … */
	RING_TROUBLE_TOOL_BEHIND,
	RING_TROUBLE_TOOL_BLIND, /* … and queues of ours are not seen by it, because those that it makes are plain */
	/* No trouble: the guest's own time in the program, in ticks of the region's clock. Sections too short for a row, … */
	RING_TROUBLE_SECTIONS,
	RING_TROUBLE_SECTIONS_TICKS,
	RING_TROUBLE_TIMED_CALLS, /* … and a sample of the calls */
	RING_TROUBLE_TIMED_TICKS,
	RING_TROUBLE_COUNT
};

enum { RING_PYTHON_BYTES = 48 };

/* What a runtime still holds of commands that are over, when a recording ends before the program. */
enum ring_last {
	RING_LAST_NONE,    /* there is nothing of that kind, or nobody who would hand it over */
	RING_LAST_OFFERED, /* guest: a thread of its own hands it over where it is asked */
	RING_LAST_ASKED,   /* recorder: now */
	RING_LAST_GIVEN    /* guest: it is in the rings */
};

/* The bits of `enabled` that name the recorder's thread (FUTEX_TID_MASK). The recorder clears them when the recording ends;
 * the kernel does when the recorder is killed (collect/robust_region.c). */
enum { RING_OWNER = 0x3fffffff, RING_OWNER_DIED = 0x40000000 };

/* A recorder without a beat for so long is taken to be gone by a guest whose ring is full: that one writes no more. */
enum { RING_SILENT_MS = 10000 };

struct ring_region {
	uint64_t magic;
	uint32_t version;
	uint32_t ring_count;
	uint32_t ring_bytes; /* power of two, at least 64 KiB */
	uint32_t clock;      /* enum ring_clock */
	uint32_t options;    /* enum ring_option */
	_Atomic uint32_t
		enabled; /* recorder: its thread (RING_OWNER); without one the recording has ended */
	_Atomic uint64_t beat_ns; /* recorder: CLOCK_MONOTONIC when it last looked */
	_Atomic uint32_t left;    /* guest: 1, it has closed its rings; it may say hello again */
	uint32_t numbers[RING_NUMBER_COUNT];                       /* of enum ring_number */
	_Atomic uint32_t last;                                     /* enum ring_last */
	_Alignas(64) _Atomic uint64_t trouble[RING_TROUBLE_COUNT]; /* guest */
	char python_unknown
		[RING_PYTHON_BYTES]; /* guest, before that trouble: its version, NUL-terminated */
};

enum ring_state { RING_FREE = 0, RING_CLAIMED = 1, RING_BUSY = 2, RING_CLOSED = 3 };

struct ring_control {
	_Alignas(64) _Atomic uint64_t head; /* producer */
	/* producer, by kind: records that did not fit; records of signal handlers that interrupted the
	 * writing of another */
	_Atomic uint64_t lost[EVENT_KIND_COUNT], nested[EVENT_KIND_COUNT];
	_Alignas(64) _Atomic uint64_t tail;  /* consumer */
	_Alignas(64) _Atomic uint32_t state; /* enum ring_state */
	uint32_t tid;                        /* of the producer, as its namespace counts */
};

static inline size_t ring_slot_bytes(uint32_t ring_bytes)
{
	return RING_PAGE + (size_t)ring_bytes;
}

static inline size_t ring_region_bytes(uint32_t ring_count, uint32_t ring_bytes)
{
	return RING_PAGE + ring_count * ring_slot_bytes(ring_bytes);
}

/* ---- time -------------------------------------------------------------------------------------- */

/* By enum ring_clock. */
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

/* For waits: exact to a tick of the kernel's. */
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

/* … or has gone silent. */
static inline bool ring_region_is_read(const struct ring_region *region)
{
	uint64_t beat_ms = atomic_load_explicit(&region->beat_ns, memory_order_relaxed) / 1000000u;

	return ring_region_is_owned(region) && ring_now_ms() < beat_ms + RING_SILENT_MS;
}

/* ---- producer ---------------------------------------------------------------------------------- */

struct ring_writer {
	struct ring_control *control; /* borrowed from the mapping */
	uint8_t *data;                /* borrowed */
	uint64_t head;
	uint64_t tail_seen;
	uint64_t reserved; /* head after the open reservation */
	uint32_t bytes;
	volatile bool
		writing; /* between reserve and commit; seen by a signal handler on this thread */
};

/* Claims a free ring of the first ring_count of a mapped region. False when all are taken. */
bool ring_claim(struct ring_region *region, uint32_t ring_count, uint32_t ring_bytes, uint32_t tid,
		struct ring_writer *ret_writer);

/* The producer's thread ends: the recorder drains the rest and frees the ring. */
void ring_close(struct ring_writer *writer);

/* The way on when a record seems not to fit; see ring_reserve. */
void *ring_reserve_slow(struct ring_writer *writer, uint16_t kind, uint32_t size);
void *ring_reserve_nested(struct ring_writer *writer, uint16_t kind);

/* Room for a record of `size` bytes (a multiple of 8), or NULL: counted. Must be followed by
 * ring_commit before the thread reserves again. */
static inline void *ring_reserve(struct ring_writer *writer, uint16_t kind, uint32_t size)
{
	uint32_t offset;

	if (__builtin_expect(writer->writing, 0))
		return ring_reserve_nested(writer, kind);
	/* Before the head is looked at: a signal handler that comes in between moves it. */
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

/* Asks for the memory of the next `bytes`: the recorder has read it on another processor a round ago, and
 * what is asked for before a call is there after it. */
static inline void ring_prefetch(const struct ring_writer *writer, uint32_t bytes)
{
	uint32_t offset = (uint32_t)writer->head;

	for (uint32_t i = 0; i <= bytes; i += 64)
		__builtin_prefetch(writer->data + ((offset + i) & (writer->bytes - 1)), 1);
}

/* What is left out of a record that was written: it is lost in the same way. */
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

/* ---- consumer ---------------------------------------------------------------------------------- */

struct ring_reader {
	struct ring_control *control; /* borrowed from the mapping */
	const uint8_t *data;          /* borrowed */
	uint64_t tail;
	uint32_t bytes;
	uint64_t broken_bytes; /* skipped because they made no sense */
	uint64_t broken_times;
};

void ring_reader_init(struct ring_reader *reader, struct ring_region *region, uint32_t ring_bytes,
		      uint32_t index);

/* Called with a private copy of each record: size is at least sizeof(struct record), a multiple of 8 and
 * what the record says. */
typedef void ring_take(void *context, const struct record *record);

/* Takes what is there, at most `most` bytes; scratch holds a record (64 KiB). Returns the bytes taken. */
size_t ring_drain(struct ring_reader *reader, size_t most, void *scratch, ring_take *take,
		  void *context);

/* After ring_drain returned 0 on a closed ring: makes it free for another thread. */
void ring_recycle(struct ring_reader *reader);

#endif
