/* SPDX-License-Identifier: MIT
 *
 * inject/guest.h - what every guest needs: attaching to a recorder, a ring per thread, the time
 *
 * Runs in:  the profiled process
 * Manners:  never prints (unless DUET_DEBUG), exits, aborts, blocks, allocates on the hot path or changes
 *           errno. On trouble it goes quiet and counts it where the recorder reads it.
 */
#ifndef INJECT_GUEST_H
#define INJECT_GUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/unwind.h"
#include "ring/ring.h"
#include "ring/session.h"

/* Nothing here is for the program's dynamic linker, and what is not needs no detour through the GOT: that
 * detour was a third of an idle call's cost. */
#pragma GCC visibility push(hidden)

#define GUEST_LIKELY(x)   __builtin_expect(!!(x), 1)
#define GUEST_UNLIKELY(x) __builtin_expect(!!(x), 0)

enum guest_mode {
	GUEST_FRESH =
		0, /* nothing tried yet, or just forked: the kernel zeroes this page in a child */
	GUEST_IDLE = 1, /* no recorder; one load and one compare a call */
	GUEST_OFF = 2,  /* never in this process */
	GUEST_RECORDING =
		3, /* and above: grows with every attachment, so that a thread's ring of an
			      * earlier one is told apart with the same compare */
};

/* A child starts with copies of its parent's locks, perhaps held by threads that it does not have. */
enum guest_locks { GUEST_LOCKS_COPIED = 0, GUEST_LOCKS_IN_RESET = 1, GUEST_LOCKS_OWN = 2 };

/* The one page that a fork wipes, so that a child starts fresh whichever way it was made. */
struct guest_page {
	_Alignas(RING_WIPED_BYTES) _Atomic uint32_t mode;
	_Atomic uint32_t locks; /* enum guest_locks */
	char rest[RING_WIPED_BYTES - 2 * sizeof(uint32_t)];
};
extern struct guest_page guest_page;

/* One per ring, in memory mapped at attach. */
struct guest_thread {
	struct ring_writer writer;
	uint32_t mode;                    /* of the attachment it belongs to */
	uint32_t clock;                   /* enum ring_clock */
	const struct ring_region *region; /* … and its first page */
	uint32_t options;
	uint32_t numbers[RING_NUMBER_COUNT];
	uint64_t correlation; /* the last one given out; the ring's index in its upper bits */
	uint32_t
		watched; /* so many calls more have what they ask the runtime measured one by one */
	/* stacks.c */
	uint64_t stack_hash; /* of the last stack … */
	uint32_t stack;      /* … whose id this is */
	uint32_t stacks_new; /* stacks that were not the one before */
	struct guest_stack_memory *stack_memory;
	struct guest_thread *before; /* the thread's ring of an earlier attachment; NULL: none */
	struct unwind_thread unwind;
};

extern _Thread_local struct guest_thread *guest_self __attribute__((tls_model("initial-exec")));

/* The slow half of guest_enter: first call of a process, of a thread, or after a fork. */
struct guest_thread *guest_enter_slow(void);

static inline bool guest_is_idle(void)
{
	return atomic_load_explicit(&guest_page.mode, memory_order_relaxed) == GUEST_IDLE;
}

/* What the program calls in the place of function `name`: `look` and `callee` while nobody records, else record_NAME. It is a
 * function of its own: a load, a compare and a jump, which must not share a frame with the recording, whose saved registers alone
 * would double its cost. */
#define GUEST_HOOK(type, name, parameters, arguments, look, callee) \
	static type hook_##name parameters                          \
	{                                                           \
		if (GUEST_LIKELY(guest_is_idle())) {                \
			look;                                       \
			return callee arguments;                    \
		}                                                   \
		return record_##name arguments;                     \
	}

/* The calling thread's ring while someone records, else NULL. */
static inline struct guest_thread *guest_enter(void)
{
	uint32_t mode = atomic_load_explicit(&guest_page.mode, memory_order_relaxed);
	struct guest_thread *self;

	if (GUEST_LIKELY(mode == GUEST_IDLE))
		return NULL;
	self = guest_self;
	/* In this order: a child of a fork, whose mode differs, has not the region mapped. */
	if (GUEST_LIKELY(self && self->mode == mode && ring_region_is_owned(self->region)))
		return self;
	return guest_enter_slow();
}

/* For what looks at state of the back end's before guest_enter, or without it: a child's is cleared first (on_fork). */
void guest_notice_fork(void);

/* As guest_enter, for a first call in which a guest is there or misses all that follows: a recorder that has started this
 * program (DUET_SESSION) is given some seconds more to answer. */
struct guest_thread *guest_enter_first(void);

/* Where a recorder has brought the guest into the process, and says where it is found and what it knows of filters (argument:
 * ring/session.h). NULL: *ret_why says why it is not recorded. */
struct guest_thread *guest_enter_for(const char *argument, enum session_entered *ret_why);

/* For slow calls (context, queue and program creation) of an idle guest: looks for a recorder, at most
 * once a second, without waiting. */
void guest_look_for_recorder(void);

static inline uint64_t guest_now(const struct guest_thread *thread)
{
	return ring_now(thread->clock);
}

/* False once another recorder has come, or the thread's has gone, or in a child: what the thread would write
 * nobody reads. */
static inline bool guest_is_current(const struct guest_thread *thread)
{
	return thread->mode == atomic_load_explicit(&guest_page.mode, memory_order_relaxed);
}

/* True while the recorder wants more; false once it has said stop, has died or has gone silent: the guest is idle from
 * then on. An end and a death are seen in the next call (guest_enter), silence when a ring is full. */
bool guest_still_recording(void);

/* Room for one record, its head filled in; NULL when it is lost (and counted). After filling in the rest:
 * ring_commit(&thread->writer). */
static inline void *guest_reserve(struct guest_thread *thread, uint16_t kind, uint32_t size,
				  uint32_t detail)
{
	struct record *record;

	/* A child that was made inside of the call has no ring: it is not mapped there. */
	if (GUEST_UNLIKELY(!guest_is_current(thread)))
		return NULL;
	record = ring_reserve(&thread->writer, kind, size);
	if (GUEST_UNLIKELY(!record)) {
		guest_still_recording();
		return NULL;
	}
	record->kind = kind;
	record->size = (uint16_t)size;
	record->detail = detail;
	return record;
}

/* ---- the guest's own time in the program ---- */

enum guest_section {
#define GUEST_SECTION(number, name, text) GUEST_SECTION_##name = (number),
#include "event/guest_sections.h"
};

/* A section that takes this long has a row of its own: 16 us, or 3 to 8 us where the clock counts cycles. A row is 32 bytes
 * and 20 ns; shorter sections are added up, because a program may make a million kernels and an idle gap of less has no
 * cause that a reader looks for. */
enum { GUEST_SECTION_TICKS = 1 << 14 };
/* Where asking the runtime takes so long, the next calls are watched too; at the begin all are. */
enum { GUEST_WATCHED_CALLS = 64 };

/* Around what the guest does for itself and not in every call: asking the runtime, describing, harvesting. Sections may
 * nest; the outer one counts. A call of the program must not be inside. */
static inline uint64_t guest_section_begin(const struct guest_thread *thread)
{
	return guest_now(thread);
}
void guest_section_end(struct guest_thread *thread, enum guest_section section, uint64_t begin);

/* The same in a call that is made often: two readings of the clock only while the thread is watched. */
static inline uint64_t guest_watch_begin(const struct guest_thread *thread)
{
	return GUEST_UNLIKELY(thread->watched) ? guest_now(thread) : 0;
}
void guest_watch_end(struct guest_thread *thread, enum guest_section section, uint64_t begin);

/* True for one record in 256. The phase moves on with each 8 KiB of the ring, so that no place of it is preferred, and no
 * counter is written. */
static inline bool guest_is_timed(const struct guest_thread *thread)
{
	uint32_t head = (uint32_t)thread->writer.head;

	return GUEST_UNLIKELY((((head >> 5) ^ (head >> 13)) & 255) == 0);
}
/* What recording a call took that guest_is_timed chose. A slow one is left out: its sections have rows, and it makes the
 * thread watched. */
void guest_count_timed(struct guest_thread *thread, uint64_t ticks);

static inline void guest_put_api_row(struct guest_thread *thread, uint32_t detail, uint64_t begin,
				     uint64_t end, int32_t result, uint64_t argument,
				     uint32_t stack)
{
	uint32_t size = argument ? RECORD_API_ARGUMENT_BYTES : RECORD_API_BYTES;
	struct record_api *record = guest_reserve(thread, EVENT_API, size, detail);

	if (GUEST_UNLIKELY(!record))
		return;
	record->begin = begin;
	record->end = end;
	record->result = result;
	record->stack = stack;
	if (argument)
		record->argument = argument;
	ring_commit(&thread->writer);
}

/* As guest_put_api, of a call that is timed. */
void guest_put_api_timed(struct guest_thread *thread, uint32_t detail, uint64_t begin, uint64_t end,
			 int32_t result, uint64_t argument, uint32_t stack);

/* The record of a call. detail: function | enum event_api_type << 16; times: as guest_now; argument: 0 where it has
 * none. */
static inline void guest_put_api(struct guest_thread *thread, uint32_t detail, uint64_t begin,
				 uint64_t end, int32_t result, uint64_t argument, uint32_t stack)
{
	if (guest_is_timed(thread)) {
		guest_put_api_timed(thread, detail, begin, end, result, argument, stack);
		return;
	}
	guest_put_api_row(thread, detail, begin, end, result, argument, stack);
}

/* For a back end that has a thread of its own, and a runtime that holds back what it has of commands: the recorder may ask for the
 * rest of it before it ends (enum ring_last), once in an attachment. */
void guest_offer_last(void);
bool guest_is_asked_last(void);
void guest_give_last(void); /* asked or not: no more will come */

void guest_trouble(enum ring_trouble trouble);
void guest_trouble_many(enum ring_trouble trouble, uint64_t count);
/* That an interpreter of this version is not known. */
void guest_python_unknown(const char *version);

/* A call that guest_enter gave no ring for: counted while someone records. */
void guest_missed(enum ring_trouble trouble);

/* Unique in the process: the ring's place, then a count that outlives the ring's threads. One instruction
 * takes a number, so that a signal handler on this thread never takes the same; the lock prefix that would
 * keep other processors out too is left away: it costs 5 ns and no other thread counts here. */
static inline uint64_t guest_new_correlation(struct guest_thread *thread)
{
#if defined(__x86_64__)
	uint64_t number = 1;

	__asm__ volatile("xaddq %0, %1" : "+r"(number), "+m"(thread->correlation) : : "cc");
	return number + 1;
#else
	return __atomic_add_fetch(&thread->correlation, 1, __ATOMIC_RELAXED);
#endif
}

/* What a back end tells the guest about itself, once, before the first guest_enter. */
struct guest_backend {
	char name[20];
	/* In the first call of a forked child: locks may be held by threads that it does not have, and
	 * what was pending is the parent's. */
	void (*on_fork)(void);
	void (*at_exit)(void); /* the process exits while recorded */
};
void guest_init(const struct guest_backend *backend);

/* Registers the guest's exit handler. Handlers run in the reverse order of registration, so the caller registers after
 * the runtime has loaded its libraries: exit has then begun for the guest before it begins for them. A few later calls
 * register again, for libraries that a runtime loads late. */
void guest_hook_exit(void);

/* True from the guest's exit handler on. The guest then asks the runtime nothing more, because the runtime's own
 * libraries may be finalized already. Calls of the program are still recorded. */
extern _Atomic bool guest_exit_begun;
static inline bool guest_exit_has_begun(void)
{
	return GUEST_UNLIKELY(atomic_load_explicit(&guest_exit_begun, memory_order_relaxed));
}

/* Id of the calling thread's stack, described first where it is new; 0: none is wanted, or none can be had. */
uint32_t guest_take_stack(struct guest_thread *thread);
void guest_stacks_forked(void); /* in a forked child */
/* From now on stacks begin outside of the library that this code is in: the runtime's own, which stands between the
 * program's call and what it tells a guest. By one thread at a time. */
void guest_stacks_leave_out(const void *code);

static inline uint32_t guest_stack(struct guest_thread *thread)
{
	return GUEST_LIKELY(!(thread->options & (RING_OPTION_NATIVE | RING_OPTION_PYTHON)))
		       ? 0
		       : guest_take_stack(thread);
}

/* Zeroed memory, NULL where the program's limits refuse it. Most lives as long as the process. */
void *guest_memory(size_t bytes);
void guest_memory_free(void *memory, size_t bytes);

/* A lock for slow paths. It gives up (false) rather than wait for long: a signal handler may have
 * interrupted the holder. */
struct guest_lock {
	_Atomic uint32_t taken;
};
bool guest_lock(struct guest_lock *lock);
static inline void guest_unlock(struct guest_lock *lock)
{
	atomic_store_explicit(&lock->taken, 0, memory_order_release);
}

#pragma GCC visibility pop

#endif
