/* SPDX-License-Identifier: MIT
 *
 * inject/hsa_signals.c - signals to put into commands, made once and used again
 *
 * Runs in:  the profiled process: where packets are written, where commands end, in the helper
 * Gets:     slots that are free again   Gives: slots whose signal is at 1
 * Owns:     all signals of ours, for as long as the runtime lives
 * Fails:    by giving none: the command goes without its times, and that is counted
 * Why:      to make a signal takes 1 to 20 us and, if it raises interrupts, an event of the driver, of which a process
 *           has 4096, the program's own included. Where nothing grows any more none is made.
 */
#include <string.h>

#include "inject/hsa.h"

static struct pool {
	struct guest_lock lock;
	struct hsa_slot *free;
	struct hsa_slot *_Atomic returned; /* given back since; without the lock */
	_Atomic uint32_t count;            /* of those that were made */
	bool is_refused;
	struct hsa_slot *_Atomic slots;
} pools[2];

static _Atomic uint32_t created;

/* Of the program's signals, by their handles. */
static struct guest_lock completing[32];

static uint32_t most_of(uint32_t kind)
{
	return kind == HSA_QUIET ? HSA_QUIET_MOST : HSA_WAKING_MOST;
}

static bool create(uint32_t kind, hsa_signal *ret_signal)
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

/* Where the driver has no event left the runtime makes signals without one, and its thread polls for all that it waits
 * for as long as it waits for such a one: not on our account. Where it was told to do without any
 * (HSA_ENABLE_INTERRUPT=0), which the first says, it polls in any case. */
static bool is_as_the_first(const struct pool *pool, hsa_signal signal)
{
	return !pool->count || has_event(signal) || !has_event(pool->slots[0].signal);
}

/* False: it cannot be had, and the pool stays as large as it is. */
static bool add(struct pool *pool, uint32_t kind)
{
	struct hsa_slot *slot = &pool->slots[pool->count];

	if (!create(kind, &slot->signal)) {
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

/* Under the lock. The runtime takes none of ours in there. */
static bool grow(struct pool *pool, uint32_t kind, uint32_t count)
{
	uint32_t most = most_of(kind), before = pool->count;

	if (!pool->slots)
		pool->slots = guest_memory(most * sizeof(*pool->slots));
	/* One that has none at all asks again. */
	if (!pool->slots || (pool->is_refused && pool->count))
		return false;
	while (count-- && pool->count < most && add(pool, kind))
		;
	return pool->count > before;
}

static bool begin_pool(uint32_t kind, uint32_t count)
{
	struct pool *pool = &pools[kind];
	bool has_some;

	if (!guest_lock(&pool->lock))
		return false;
	has_some = pool->count || grow(pool, kind, count);
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

/* Under the lock. No: it was out when the runtime before this one ended. */
static bool is_of(const struct pool *pool, const struct hsa_slot *slot)
{
	return pool->slots && slot >= pool->slots && slot < pool->slots + most_of(slot->kind);
}

/* Under the lock. */
static void take_back(struct pool *pool)
{
	struct hsa_slot *slot =
		atomic_load(&pool->returned) ? atomic_exchange(&pool->returned, NULL) : NULL;

	while (slot) {
		struct hsa_slot *next = slot->next;

		if (is_of(pool, slot)) {
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
	while (taken < count && (pool->free || (!taken && grow(pool, kind, count)))) {
		ret_slots[taken++] = pool->free;
		pool->free = pool->free->next;
	}
	guest_unlock(&pool->lock);
	return taken;
}

/* Without a lock, which a signal handler may have interrupted the holder of: a slot that is not given back is lost. */
static void give(struct pool *pool, struct hsa_slot *slot)
{
	struct hsa_slot *first = atomic_load(&pool->returned);

	do
		slot->next = first;
	while (!atomic_compare_exchange_weak(&pool->returned, &first, slot));
}

void hsa_signals_give(struct hsa_slot *const *slots, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		/* Silently: the other store calls into the driver. */
		hsa_next.silent_store(slots[i]->signal, 1);
		give(&pools[slots[i]->kind], slots[i]);
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

/* ---- the program's own -------------------------------------------------------------------------- */

/* What learns by another signal that its work is done may destroy this one before we come to it: each of a pair that runs
 * in turn on one queue may be ended first. */
static struct guest_lock *completing_lock(hsa_signal signal)
{
	return &completing[(signal.handle >> 6) % (sizeof(completing) / sizeof(completing[0]))];
}

/* One that is shared with another process loses its kind when that one gives it up, and is as good as before: the
 * runtime, which knows, is asked by a question that changes nothing. */
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

/* ---- the end ------------------------------------------------------------------------------------ */

/* Under the lock. Those that are out may be written to by a device, or be read by a handler that comes late: they stay,
 * and their places with them. */
static void empty(struct pool *pool)
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
		empty(pool);
		guest_unlock(&pool->lock);
	}
	atomic_store(&created, 0);
}
