/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa_signals.c - a pool of signals for commands
 *
 * Runs in:  the profiled process, when packets are written and when commands end; and in the helper
 *           thread
 * Gets:     slots that are free again
 * Gives:    free slots; the value of their signals is 1
 * Owns:     all signals of the guest, until the runtime ends
 * Fails:    by giving none: the command runs without its times, and is counted
 * Why:      creating a signal takes 1 to 20 us. A signal that raises interrupts also takes an event
 *           of the driver; a process has 4096 of these, including the program's own. A pool that
 *           has reached its limit creates no more.
 */
#include <string.h>

#include "inject/amd/hsa.h"

static struct pool {
	struct guest_lock lock;
	struct hsa_slot *free;
	/* slots given back and not yet in `free`; pushed without the lock */
	struct hsa_slot *_Atomic returned;
	_Atomic uint32_t count; /* number of slots created */
	bool is_refused;
	struct hsa_slot *_Atomic slots;
} pools[2];

static _Atomic uint32_t created;

/* Locks for the program's signals, selected by a hash of the handle. */
static struct guest_lock completing[32];

static uint32_t most_of(uint32_t kind)
{
	return kind == HSA_QUIET ? MAX_HSA_QUIET : MAX_HSA_WAKING;
}

static bool create_signal(uint32_t kind, hsa_signal *ret_signal)
{
	hsa_status status =
		kind == HSA_QUIET
			? hsa_next.amd_signal_create(1, 0, NULL, HSA_SIGNAL_GPU_ONLY, ret_signal)
			: hsa_next.signal_create(1, 0, NULL, ret_signal);

	if (status != HSA_SUCCESS)
		return false;
	atomic_fetch_add_explicit(&created, 1, memory_order_relaxed);
	return true;
}

static bool has_event(hsa_signal signal)
{
	return hsa_signal_at(signal)->mailbox != 0;
}

/* False if the runtime created a signal without an event because the driver has none left. The
 * runtime's thread polls for all its signals while it waits for such a signal, and the guest must
 * not cause that. If the first signal has no event either, the runtime works without events
 * (HSA_ENABLE_INTERRUPT=0) and polls anyway. */
static bool is_as_the_first(const struct pool *pool, hsa_signal signal)
{
	return !pool->count || has_event(signal) || !has_event(pool->slots[0].signal);
}

/* False: the runtime refuses, and the pool keeps its size. */
static bool add_signal(struct pool *pool, uint32_t kind)
{
	struct hsa_slot *slot = &pool->slots[pool->count];

	if (!create_signal(kind, &slot->signal)) {
		pool->is_refused = true;
		return false;
	}
	if (!is_as_the_first(pool, slot->signal)) {
		hsa_next.signal_destroy(slot->signal);
		pool->is_refused = true;
		return false;
	}
	slot->kind = kind;
	slot->next = pool->free;
	pool->free = slot;
	pool->count++;
	return true;
}

/* The caller holds the lock. Creating a signal never re-enters this pool. */
static bool grow_pool(struct pool *pool, uint32_t kind, uint32_t count)
{
	uint32_t most = most_of(kind), before = pool->count;

	if (!pool->slots)
		pool->slots = guest_memory(most * sizeof(*pool->slots));
	/* A pool without any signals tries again. */
	if (!pool->slots || (pool->is_refused && pool->count))
		return false;
	while (count-- && pool->count < most && add_signal(pool, kind))
		;
	return pool->count > before;
}

static bool begin_pool(uint32_t kind, uint32_t count)
{
	struct pool *pool = &pools[kind];
	bool has_some;

	if (!guest_lock(&pool->lock))
		return false;
	has_some = pool->count || grow_pool(pool, kind, count);
	guest_unlock(&pool->lock);
	return has_some;
}

bool hsa_signals_init(void)
{
	return hsa_is_loaded() && begin_pool(HSA_QUIET, HSA_SIGNALS_FIRST);
}

void hsa_signals_begin(void)
{
	begin_pool(HSA_WAKING, 1);
}

/* The caller holds the lock. False: the slot was in use when the previous runtime ended. */
static bool is_in_pool(const struct pool *pool, const struct hsa_slot *slot)
{
	return pool->slots && slot >= pool->slots && slot < pool->slots + most_of(slot->kind);
}

/* The caller holds the lock. */
static void take_back(struct pool *pool)
{
	struct hsa_slot *slot =
		atomic_load(&pool->returned) ? atomic_exchange(&pool->returned, NULL) : NULL;

	while (slot) {
		struct hsa_slot *next = slot->next;

		if (is_in_pool(pool, slot)) {
			slot->next = pool->free;
			pool->free = slot;
		}
		slot = next;
	}
}

uint32_t hsa_signals_take(enum hsa_signal_kind kind, uint32_t count, struct hsa_slot **ret_slots)
{
	struct pool *pool = &pools[kind];
	uint32_t taken = 0;

	if (!hsa_is_loaded() || !guest_lock(&pool->lock))
		return 0;
	take_back(pool);
	while (taken < count && (pool->free || (!taken && grow_pool(pool, kind, count)))) {
		ret_slots[taken++] = pool->free;
		pool->free = pool->free->next;
	}
	guest_unlock(&pool->lock);
	return taken;
}

/* Without the lock, because a signal handler may have interrupted its holder. A slot that is not
 * given back would be lost. */
static void push_returned(struct pool *pool, struct hsa_slot *slot)
{
	struct hsa_slot *first = atomic_load(&pool->returned);

	do
		slot->next = first;
	while (!atomic_compare_exchange_weak(&pool->returned, &first, slot));
}

void hsa_signals_give(struct hsa_slot *const *slots, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		/* The silent store: the other one calls the driver. */
		hsa_next.silent_store(slots[i]->signal, 1);
		push_returned(&pools[slots[i]->kind], slots[i]);
	}
}

struct hsa_slot *hsa_signals_all(enum hsa_signal_kind kind, uint32_t *ret_count)
{
	struct hsa_slot *slots = atomic_load(&pools[kind].slots);

	*ret_count = slots ? atomic_load(&pools[kind].count) : 0;
	return slots;
}

uint32_t hsa_signals_created(void)
{
	return atomic_load_explicit(&created, memory_order_relaxed);
}

/* ---- the program's signals ------------------------------------------------------------------- */

/* A thread that learns through another signal that its work is done may destroy this signal before
 * we complete it. Two signals in turn on one queue are an example: either may end first. */
static struct guest_lock *completing_lock(hsa_signal signal)
{
	return &completing[(signal.handle >> 6) % (sizeof(completing) / sizeof(completing[0]))];
}

/* A signal shared with another process loses its kind when that process releases it, and still
 * works. A query that changes nothing asks the runtime. */
bool hsa_signal_is_alive(hsa_signal signal)
{
	struct hsa_times unused;

	return __atomic_load_n(&hsa_signal_at(signal)->kind, __ATOMIC_RELAXED) !=
		       HSA_SIGNAL_KIND_INVALID ||
	       hsa_next.copy_time(signal, &unused) != HSA_ERROR_INVALID_SIGNAL;
}

void hsa_signal_complete(hsa_signal original)
{
	struct guest_lock *lock = completing_lock(original);
	bool is_locked = guest_lock(lock);

	if (hsa_signal_is_alive(original))
		hsa_next.subtract(original, 1);
	if (is_locked)
		guest_unlock(lock);
}

hsa_status hsa_signal_end(hsa_signal signal)
{
	struct guest_lock *lock = completing_lock(signal);
	bool is_locked = guest_lock(lock);
	hsa_status status = hsa_next.signal_destroy(signal);

	if (is_locked)
		guest_unlock(lock);
	return status;
}

void hsa_signals_forked(void)
{
	for (size_t i = 0; i < sizeof(completing) / sizeof(completing[0]); i++)
		guest_unlock(&completing[i]);
	memset(pools, 0, sizeof(pools));
	atomic_store(&created, 0);
}

/* ---- end ------------------------------------------------------------------------------------- */

/* The caller holds the lock. Signals in use stay, together with their slots: a device may still
 * write to them, or a late handler read them. */
static void empty_pool(struct pool *pool)
{
	uint32_t destroyed = 0;

	take_back(pool);
	for (; pool->free; pool->free = pool->free->next) {
		hsa_next.signal_destroy(pool->free->signal);
		destroyed++;
	}
	if (destroyed < pool->count)
		pool->slots = NULL;
	pool->count = 0;
	pool->is_refused = false;
}

void hsa_signals_fini(void)
{
	for (uint32_t kind = HSA_QUIET; kind <= HSA_WAKING; kind++) {
		struct pool *pool = &pools[kind];

		if (!guest_lock(&pool->lock))
			continue;
		empty_pool(pool);
		guest_unlock(&pool->lock);
	}
	atomic_store(&created, 0);
}
