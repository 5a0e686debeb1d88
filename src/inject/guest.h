/* SPDX-License-Identifier: MIT
 *
 * inject/guest.h - the core of every guest: attach to a recorder, a ring per thread, the time
 *
 * Runs in:  the profiled process
 * Manners:  never prints (unless DUET_DEBUG), exits, aborts, blocks, allocates on the hot path or
 *           changes errno. After an error it stops recording and counts the error for the recorder.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/unwind.h"
#include "ring/ring.h"
#include "ring/session.h"

/* Hidden: these symbols are not for the program's dynamic linker and need no detour through the
 * GOT, which was a third of an idle call's cost. */
#pragma GCC visibility push(hidden)

#define GUEST_LIKELY(x)   __builtin_expect(!!(x), 1)
#define GUEST_UNLIKELY(x) __builtin_expect(!!(x), 0)

enum guest_mode {
	GUEST_FRESH =
		0, /* nothing tried yet, or just forked: the kernel zeroes this page in a child */
	GUEST_IDLE = 1, /* no recorder; one load and one compare per call */
	GUEST_OFF = 2,  /* never in this process */
	/* and above: grows with every attachment, so that the same compare detects a ring of an
	 * earlier one */
	GUEST_RECORDING = 3,
};

/* A child starts with copies of its parent's locks, which may be held by threads that it does not
 * have. */
enum guest_locks { GUEST_LOCKS_COPIED = 0, GUEST_LOCKS_IN_RESET = 1, GUEST_LOCKS_OWN = 2 };

/* The one page that a fork wipes, so that a child starts afresh however it was made. */
struct guest_page {
	_Alignas(RING_WIPED_BYTES) _Atomic uint32_t mode;
	_Atomic uint32_t locks; /* enum guest_locks */
	char rest[RING_WIPED_BYTES - 2 * sizeof(uint32_t)];
};
extern struct guest_page guest_page;

/* One per ring, in memory mapped at attach. */
struct guest_thread {
	struct ring_writer writer;
	uint32_t mode;                    /* mode of the attachment that the ring belongs to */
	uint32_t clock;                   /* enum ring_clock */
	const struct ring_region *region; /* first page of that attachment */
	uint32_t options;
	uint32_t numbers[RING_NUMBERS];
	uint64_t correlation; /* the last one assigned; the upper bits are the ring's index */
	/* number of further calls whose queries to the runtime are measured one by one */
	uint32_t watched;
	uint64_t sections; /* ticks in sections that were too short for a row */
	/* stacks.c */
	uint64_t stack_hash; /* hash of the last stack */
	uint32_t stack;      /* id of the last stack */
	uint32_t stacks_new; /* stacks that differed from the previous one */
	struct guest_stack_memory *stack_memory;
	struct call_sites *sites;    /* stack_sites.c */
	bool has_no_sites;           /* there was no memory for them */
	struct guest_thread *before; /* the thread's ring of an earlier attachment; NULL: none */
	struct unwind_thread unwind;
};

extern _Thread_local struct guest_thread *guest_self __attribute__((tls_model("initial-exec")));

/* Slow path of guest_enter: first call of a process, of a thread, or after a fork. */
struct guest_thread *guest_enter_slow(void);

static inline bool guest_is_idle(void)
{
	return atomic_load_explicit(&guest_page.mode, memory_order_relaxed) == GUEST_IDLE;
}

/* The function that the program calls in place of function `name`: `look` and `callee` without a
 * recorder, otherwise record_NAME. It is a separate function of a load, a compare and a jump. If it
 * shared a frame with the recording, the saved registers alone would double its cost. */
#define GUEST_HOOK(type, name, parameters, arguments, look, callee) \
	static type hook_##name parameters                          \
	{                                                           \
		if (GUEST_LIKELY(guest_is_idle())) {                \
			look;                                       \
			return callee arguments;                    \
		}                                                   \
		return record_##name arguments;                     \
	}

/* Returns the calling thread's ring while recording, otherwise NULL. */
static inline struct guest_thread *guest_enter(void)
{
	uint32_t mode = atomic_load_explicit(&guest_page.mode, memory_order_relaxed);
	struct guest_thread *self;

	if (GUEST_LIKELY(mode == GUEST_IDLE))
		return NULL;
	self = guest_self;
	/* The order matters: a forked child does not have the region mapped, and its mode differs.
	 */
	if (GUEST_LIKELY(self && self->mode == mode && ring_region_is_owned(self->region)))
		return self;
	return guest_enter_slow();
}

static inline uint32_t guest_detail(const struct guest_thread *thread)
{
	return atomic_load_explicit(&thread->region->detail, memory_order_relaxed);
}

/* True: the recorder wants this call counted, not recorded. Read once per call, because it may
 * change during the call. */
static inline bool guest_leaves_out(const struct guest_thread *thread)
{
	return GUEST_UNLIKELY((guest_detail(thread) & RING_DETAIL_LEVEL) >= RING_DETAIL_COUNTERS);
}

/* Counts a launch, recorded or not: the recorder compares launches per second with and without
 * recording. */
static inline void guest_count_launch(const struct guest_thread *thread)
{
	ring_count(&thread->writer.control->launches);
}

/* For code that uses state of the back end before guest_enter, or without it: a child's state is
 * cleared first (on_fork). */
void guest_notice_fork(void);

/* As guest_enter, for a first call in which a guest attaches or misses everything after it: a
 * recorder that started this program (DUET_SESSION) gets some seconds more to answer. */
struct guest_thread *guest_enter_first(void);

/* For a guest that a recorder has injected into the process. argument: the recorder's address and
 * its number of filters (ring/session.h). NULL: *ret_why is the reason. */
struct guest_thread *guest_enter_for(const char *argument, enum session_entered *ret_why);

/* For slow calls (context, queue and program creation) of an idle guest: looks for a recorder, at
 * most 25 times per second, without waiting. */
void guest_look_for_recorder(void);

/* The next look is due at this time (ring_now_ms). */
extern _Atomic uint64_t guest_next_look_ms;

/* For calls of an idle guest that cost a microsecond or more, such as an enqueue: a program may do
 * nothing else for hours, and as seldom as it likes. Reading the clock costs some 5 ns. */
static inline void guest_look_if_due(void)
{
	if (GUEST_UNLIKELY(ring_now_ms() >=
			   atomic_load_explicit(&guest_next_look_ms, memory_order_relaxed)))
		guest_look_for_recorder();
}

static inline uint64_t guest_now(const struct guest_thread *thread)
{
	return ring_now(thread->clock);
}

/* False in a child, and after this attachment's recorder was replaced or has gone, because records
 * would not be read. */
static inline bool guest_is_current(const struct guest_thread *thread)
{
	return thread->mode == atomic_load_explicit(&guest_page.mode, memory_order_relaxed);
}

/* True while the recorder wants more; false once it has stopped, died or gone silent: the guest is
 * idle from then on. The next call (guest_enter) detects an end and a death; a full ring detects
 * silence. */
bool guest_still_recording(void);

/* Counts a call that guest_leaves_out is true for. In a child process that was created inside the
 * call the ring is not mapped. */
static inline void guest_count_left_out(const struct guest_thread *thread, bool is_launch)
{
	struct ring_control *control = thread->writer.control;

	if (guest_is_current(thread) && control)
		ring_count(is_launch ? &control->launches_left_out : &control->calls_left_out);
}

/* Reserves one record and fills in its head; NULL if it is lost (and counted). After filling in the
 * rest: ring_commit(&thread->writer). */
static inline void *guest_reserve(struct guest_thread *thread, uint16_t kind, uint32_t size,
				  uint32_t detail)
{
	struct record *record;

	/* A child process created inside the call has no ring, because rings are not mapped there.
	 */
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

/* A section that takes this long has a row of its own: 16 us, or 3 to 8 us if the clock counts
 * cycles. A row is 32 bytes and 20 ns. Shorter sections are added up, because a program may make a
 * million kernels and readers do not look for the cause of shorter idle gaps. */
enum { GUEST_SECTION_TICKS = 1 << 14 };
/* After a query to the runtime that took this long, the next calls are watched too; at first all
 * are. */
enum { GUEST_WATCHED_CALLS = 64 };

/* For the guest's own work that does not occur in every call: querying the runtime, describing,
 * harvesting. Sections may nest; the outer one counts. A call of the program must not be inside. */
static inline uint64_t guest_section_begin(const struct guest_thread *thread)
{
	return guest_now(thread);
}
void guest_section_end(struct guest_thread *thread, enum guest_section section, uint64_t begin);

/* The same in a frequent call: reads the clock twice only while the thread is watched. */
static inline uint64_t guest_watch_begin(const struct guest_thread *thread)
{
	return GUEST_UNLIKELY(thread->watched) ? guest_now(thread) : 0;
}
void guest_watch_end(struct guest_thread *thread, enum guest_section section, uint64_t begin);

/* True for one record in 256. The phase moves on with each 8 KiB of the ring, so that no position
 * in it is preferred, and no counter is written. */
static inline bool guest_is_timed(const struct guest_thread *thread)
{
	uint32_t head = (uint32_t)thread->writer.head;

	return GUEST_UNLIKELY((((head >> 5) ^ (head >> 13)) & 255) == 0);
}
/* Times for the guest's cost of a call, before and after it, if guest_is_timed chose it. */
struct guest_timing {
	uint64_t began; /* 0: it is not timed */
	/* value of the thread's `sections` at that time, because sections are counted separately */
	uint64_t sections;
};
static inline void guest_timing_begin(const struct guest_thread *thread,
				      struct guest_timing *timing)
{
	timing->began = 0;
	if (!guest_is_timed(thread))
		return;
	timing->began = guest_now(thread);
	timing->sections = thread->sections;
}
void guest_timing_count(struct guest_thread *thread, const struct guest_timing *timing,
			uint64_t enter, uint64_t exit);
/* The program's call itself was from `enter` to `exit`. */
static inline void guest_timing_end(struct guest_thread *thread, const struct guest_timing *timing,
				    uint64_t enter, uint64_t exit)
{
	if (GUEST_UNLIKELY(timing->began))
		guest_timing_count(thread, timing, enter, exit);
}

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

/* A call without a stack that took this long gets one after its return, from the same callers: 131
 * us, or 26 to 65 us if the clock counts cycles. The walk takes 0.1 to 0.4 us (bench/stacks.py). */
enum { GUEST_SLOW_CALL_TICKS = 1 << 17 };
static inline bool guest_is_slow(uint64_t begin, uint64_t end)
{
	return GUEST_UNLIKELY(end - begin >= GUEST_SLOW_CALL_TICKS);
}
uint32_t guest_slow_stack(struct guest_thread *thread);
void guest_put_slow_api(struct guest_thread *thread, uint32_t detail, uint64_t begin, uint64_t end,
			int32_t result, uint64_t argument);

/* As guest_put_api, for a call that is timed. */
void guest_put_api_timed(struct guest_thread *thread, uint32_t detail, uint64_t begin, uint64_t end,
			 int32_t result, uint64_t argument, uint32_t stack);

/* Writes the record of a call. detail: function | enum event_api_type << 16; times: as guest_now;
 * argument: 0 if it has none. */
static inline void guest_put_api(struct guest_thread *thread, uint32_t detail, uint64_t begin,
				 uint64_t end, int32_t result, uint64_t argument, uint32_t stack)
{
	if (guest_is_slow(begin, end) && !stack) {
		guest_put_slow_api(thread, detail, begin, end, result, argument);
		return;
	}
	if (guest_is_timed(thread)) {
		guest_put_api_timed(thread, detail, begin, end, result, argument, stack);
		return;
	}
	guest_put_api_row(thread, detail, begin, end, result, argument, stack);
}

/* For a back end that has its own thread and a runtime that holds events back: the recorder may ask
 * for the remaining events before it ends (enum ring_last), once per attachment. */
void guest_offer_last(void);
bool guest_is_asked_last(void);
void guest_give_last(void); /* no more events will come, whether the recorder asked or not */

void guest_trouble(uint32_t trouble);
void guest_trouble_many(uint32_t trouble, uint64_t count);
/* Reports an interpreter of an unsupported version. */
void guest_python_unknown(const char *version);

/* Counts a call that guest_enter gave no ring for, while recording. */
void guest_missed(uint32_t trouble);

/* Returns an id that is unique in the process: the ring's index, then a count that outlives the
 * ring's threads. One instruction takes a number, so a signal handler on this thread never gets the
 * same one. It has no lock prefix against other processors: that would cost 5 ns, and only this
 * thread counts here. */
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

/* Properties of a back end, set once before the first guest_enter. */
struct guest_backend {
	char name[20];
	/* Called in the first call of a forked child: locks may be held by threads that it does not
	 * have, and pending events are the parent's. */
	void (*on_fork)(void);
	void (*at_exit)(void); /* called when the process exits while recorded */
};
void guest_init(const struct guest_backend *backend);

/* Registers the guest's exit handler. Handlers run in the reverse order of registration, so the
 * caller registers after the runtime has loaded its libraries: exit then starts for the guest
 * before it starts for them. Later calls register again: the first few, and those after further
 * libraries were loaded. */
void guest_hook_exit(void);

/* True from the guest's exit handler on. The guest then makes no more queries to the runtime,
 * because its libraries may be finalized already. Calls of the program are still recorded. */
extern _Atomic bool guest_exit_begun;
static inline bool guest_exit_has_begun(void)
{
	return GUEST_UNLIKELY(atomic_load_explicit(&guest_exit_begun, memory_order_relaxed));
}

/* Returns the id of the calling thread's stack, which is described at its first use; 0: not
 * requested, or not available. */
uint32_t guest_take_stack(struct guest_thread *thread);
/* The same if the recorder wants less than all stacks. site: the same number for all launches from
 * one place. Returns the site's last stack with RECORD_STACK_CARRIED for most launches. */
uint32_t guest_sample_stack(struct guest_thread *thread, uint64_t site);
void guest_stacks_forked(void); /* called in a forked child */
/* From now on stacks start outside the library that contains this code. The guest uses it for the
 * runtime's own library, which is between the program's call and its callback to the guest. The
 * caller ensures that only one thread calls this at a time. */
void guest_stacks_leave_out(const void *code);

static inline uint32_t guest_stack_of(struct guest_thread *thread, uint64_t site)
{
	if (GUEST_LIKELY(!(thread->options & (RING_OPTION_NATIVE | RING_OPTION_PYTHON))))
		return 0;
	return GUEST_LIKELY(!guest_detail(thread)) ? guest_take_stack(thread)
						   : guest_sample_stack(thread, site);
}

/* The site of a call that a runtime passes on from one place of its own. place: return
 * address of the program's call, or 0 if it is not known; function: number of the API's function;
 * kernel: handle or id, or 0. */
static inline uint64_t guest_site(uint64_t place, uint32_t function, uint64_t kernel)
{
	const uint64_t both = (place ^ (uint64_t)function << 48) * UINT64_C(0xff51afd7ed558ccd);

	return (both ^ both >> 32 ^ kernel) * UINT64_C(0xc4ceb9fe1a85ec53);
}

/* The site is the place to which the calling function returns. */
#define guest_stack(thread) guest_stack_of(thread, (uint64_t)(uintptr_t)__builtin_return_address(0))

/* Returns zeroed memory; NULL if the program's limits refuse it. Most of it lives as long as the
 * process.
 */
void *guest_memory(size_t bytes);
void guest_memory_free(void *memory, size_t bytes);

/* Memory for small structures that are never freed, in pieces of 64 KiB. Zeroed is empty. */
struct guest_pool {
	char *next;
	size_t left;
};

/* Zeroed memory, aligned to 16 bytes. bytes: at most a piece. NULL: no memory. Locks: the
 * caller's. */
static inline void *guest_pool_take(struct guest_pool *pool, size_t bytes)
{
	enum { PIECE_BYTES = 65536 };
	void *taken;

	bytes = (bytes + 15) & ~(size_t)15;
	if (pool->left < bytes) {
		pool->next = guest_memory(PIECE_BYTES);
		pool->left = pool->next ? PIECE_BYTES : 0;
		if (!pool->next)
			return NULL;
	}
	taken = pool->next;
	pool->next += bytes;
	pool->left -= bytes;
	return taken;
}

/* A lock for slow paths. It gives up (false) instead of waiting for long: a signal handler may have
 * interrupted the holder. */
struct guest_lock {
	_Atomic uint32_t taken;
};
bool guest_lock(struct guest_lock *lock);
static inline void guest_unlock(struct guest_lock *lock)
{
	atomic_store_explicit(&lock->taken, 0, memory_order_release);
}

/* A call that is recorded: record_NAME, and the hook before it. `code` and `value` are in the
 * record; `unseen` and `after` run after a call that was not recorded, and after one that was. */
#define GUEST_CALL(type, number, name, parameters, arguments, callee, look, code, value, unseen, \
		   after)                                                                        \
	static __attribute__((noinline)) type record_##name parameters                           \
	{                                                                                        \
		struct guest_thread *thread;                                                     \
		uint64_t begin;                                                                  \
		type result;                                                                     \
                                                                                                 \
		look;                                                                            \
		thread = guest_enter();                                                          \
		if (!thread) {                                                                   \
			guest_missed(RING_TROUBLE_NO_RING);                                      \
			result = callee arguments;                                               \
			unseen;                                                                  \
			return result;                                                           \
		}                                                                                \
		if (guest_leaves_out(thread)) {                                                  \
			result = callee arguments;                                               \
			guest_count_left_out(thread, false);                                     \
			after;                                                                   \
			return result;                                                           \
		}                                                                                \
		begin = guest_now(thread);                                                       \
		result = callee arguments;                                                       \
		guest_put_api(thread, number, begin, guest_now(thread), code, value, 0);         \
		after;                                                                           \
		return result;                                                                   \
	}                                                                                        \
	GUEST_HOOK(type, name, parameters, arguments, look, callee)

/* The same for a call that waits for a device, or sets an event (kind: API_TYPE_WAIT or _SIGNAL);
 * it is recorded with its stack. */
#define GUEST_WAIT(type, number, name, parameters, arguments, callee, look, kind, code, value, \
		   after)                                                                      \
	static __attribute__((noinline)) type record_##name parameters                         \
	{                                                                                      \
		struct guest_thread *thread = guest_enter();                                   \
		uint64_t begin, end;                                                           \
		uint32_t stack;                                                                \
		type result;                                                                   \
                                                                                               \
		if (!thread) {                                                                 \
			guest_missed(RING_TROUBLE_NO_RING);                                    \
			return callee arguments;                                               \
		}                                                                              \
		if (guest_leaves_out(thread)) {                                                \
			result = callee arguments;                                             \
			end = guest_now(thread);                                               \
			guest_count_left_out(thread, false);                                   \
			after;                                                                 \
			return result;                                                         \
		}                                                                              \
		stack = guest_stack(thread);                                                   \
		begin = guest_now(thread);                                                     \
		result = callee arguments;                                                     \
		end = guest_now(thread);                                                       \
		guest_put_api(thread, number | (kind) << 16, begin, end, code, value, stack);  \
		after;                                                                         \
		return result;                                                                 \
	}                                                                                      \
	GUEST_HOOK(type, name, parameters, arguments, look, callee)

#pragma GCC visibility pop
