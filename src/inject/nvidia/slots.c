/* SPDX-License-Identifier: MIT
 *
 * inject/nvidia/slots.c - match the device's records to the calls that launched the commands
 *
 * Runs in:  the profiled process: calls on the program's threads, records on CUPTI's or the
 *           helper's
 * Gets:     CUPTI's correlation ids
 * Gives:    the command of a record
 * Owns:     a table by the lower bits of the id
 * Fails:    if a command takes longer than 262144 calls: its record finds no slot and is counted
 * Why:      ids count up by one with each call of the driver, so that a slot is found without a
 *           search or a lock. They have 32 bits and wrap after hours of small kernels, so an id is
 *           extended to the value nearest to the latest id. CUPTI also delivers records of commands
 *           launched before the recorder attached. Only commands in the table have a launch; those
 *           launched outside a recording, or in an earlier one, are not losses of this one.
 */
#include "inject/nvidia/cuda.h"

enum { SLOTS = 1 << 18, LATEST_STEP = 1 << 20 };

struct slot {
	_Atomic uint64_t correlation; /* 0: free */
	uint32_t mode;                /* attachment in which the call was made */
	_Atomic uint32_t records;     /* number of records that have come */
	bool is_graph;
};

static struct {
	struct slot *slots;
	/* opened: calls with commands; seen: calls with at least one record; graphs_ms: last launch
	 * or record of a graph, whose number of records is unknown. */
	_Atomic uint64_t opened, seen, graphs_ms;
	/* calls of earlier attachments whose records are not expected any more */
	_Atomic uint64_t lost;
	_Atomic uint64_t latest; /* latest id, to within LATEST_STEP */
	_Atomic uint64_t first;  /* id of the first call of this attachment; 0: none yet */
} table;

bool cuda_slots_init(void)
{
	if (!table.slots)
		table.slots = guest_memory(SLOTS * sizeof(*table.slots));
	return table.slots != NULL;
}

void cuda_slots_reset(void)
{
	atomic_store(&table.seen, atomic_load(&table.opened));
	atomic_store(&table.lost, 0);
	atomic_store(&table.graphs_ms, 0);
}

void cuda_slots_begin(void)
{
	atomic_store(&table.first, 0);
	atomic_store(&table.lost, atomic_load(&table.opened) - atomic_load(&table.seen));
}

/* Written rarely, because all threads read `latest` in each call. */
uint64_t cuda_correlation(uint32_t correlation)
{
	uint64_t latest = atomic_load_explicit(&table.latest, memory_order_relaxed);
	int64_t away = (int32_t)(correlation - (uint32_t)latest);
	uint64_t whole;

	/* The first id, or one from before it. */
	if (!latest || (away < 0 && (uint64_t)-away > latest)) {
		atomic_compare_exchange_strong(&table.latest, &(uint64_t){0}, correlation);
		return correlation;
	}
	whole = latest + (uint64_t)away;
	while (whole > latest + LATEST_STEP &&
	       !atomic_compare_exchange_weak(&table.latest, &latest, whole))
		;
	return whole;
}

static struct slot *slot_of(uint64_t correlation)
{
	return &table.slots[correlation & (SLOTS - 1)];
}

bool cuda_slot_open(uint64_t correlation, uint32_t mode, bool is_graph)
{
	struct slot *slot = slot_of(correlation);

	if (!correlation || (atomic_load(&slot->correlation) == correlation && slot->mode == mode))
		return false;
	slot->mode = mode;
	slot->is_graph = is_graph;
	atomic_store(&slot->records, 0);
	atomic_store_explicit(&slot->correlation, correlation, memory_order_release);
	atomic_fetch_add_explicit(&table.opened, 1, memory_order_relaxed);
	if (!atomic_load_explicit(&table.first, memory_order_relaxed))
		atomic_compare_exchange_strong(&table.first, &(uint64_t){0}, correlation);
	if (is_graph)
		atomic_store(&table.graphs_ms, ring_now_ms());
	return true;
}

void cuda_slot_pass(uint64_t correlation)
{
	struct slot *slot = slot_of(correlation);

	if (!correlation || atomic_load(&slot->correlation) == correlation)
		return;
	slot->mode = 0;
	atomic_store_explicit(&slot->correlation, correlation, memory_order_release);
}

/* True if a call that no longer has a slot was made before all calls of this attachment. */
static bool is_earlier(uint64_t correlation)
{
	uint64_t first = atomic_load(&table.first);

	return !first || correlation < first;
}

void cuda_slot_close(uint64_t correlation)
{
	struct slot *slot = slot_of(correlation);

	if (atomic_compare_exchange_strong(&slot->correlation, &correlation, 0) &&
	    !atomic_load(&slot->records))
		atomic_fetch_add_explicit(&table.seen, 1, memory_order_relaxed);
}

enum cuda_slot_kind cuda_slot_take(uint64_t correlation, uint32_t mode)
{
	struct slot *slot = slot_of(correlation);
	uint32_t before;

	if (!correlation)
		return CUDA_SLOT_NONE;
	if (atomic_load_explicit(&slot->correlation, memory_order_acquire) != correlation)
		return is_earlier(correlation) ? CUDA_SLOT_OTHERS : CUDA_SLOT_NONE;
	if (slot->mode != mode)
		return CUDA_SLOT_OTHERS;
	before = atomic_fetch_add(&slot->records, 1);
	if (!before)
		atomic_fetch_add_explicit(&table.seen, 1, memory_order_relaxed);
	if (!slot->is_graph)
		return before ? CUDA_SLOT_NODE : CUDA_SLOT_FIRST;
	atomic_store(&table.graphs_ms, ring_now_ms());
	return CUDA_SLOT_NODE;
}

bool cuda_slots_have_graphs(void)
{
	return atomic_load(&table.graphs_ms) != 0;
}

bool cuda_slots_are_awaited(void)
{
	return atomic_load(&table.opened) - atomic_load(&table.seen) != atomic_load(&table.lost);
}

bool cuda_slots_are_open(void)
{
	enum { GRAPH_MS = 1000 };

	return cuda_slots_are_awaited() || ring_now_ms() < atomic_load(&table.graphs_ms) + GRAPH_MS;
}
