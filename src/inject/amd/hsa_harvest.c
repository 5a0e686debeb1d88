/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa_harvest.c - read the times of commands that have completed, and record them
 *
 * Runs in:  the profiled process: in the helper, in waits of the program, in the runtime's own
 *           thread for signals, and when all signals are in use
 * Gets:     the lists of pending dispatches; handlers that the runtime calls
 * Gives:    execution records; completes the program's signals
 * Owns:     the counts of commands whose signal belongs to the program
 * Fails:    by leaving a command pending: it is in flight at exit
 * Why:      several threads may harvest at once, without a lock: a thread that loses its processor
 *           delays only the commands that it has claimed. The runtime has one thread for all
 *           handlers, and a handler of the program may wait in that thread for a signal that the
 *           guest's handler has not completed yet. So the guest ends a command whose handler is
 *           late without that handler.
 */
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/amd/hsa_queue.h"

/* sched_yield() calls in favour of a thread that is reading times. Each takes a microsecond if no
 * other thread wants the processor. */
enum { MAX_TURNS = 20 };
/* Time that a handler of the runtime gets before the guest ends the command without it. A handler
 * comes within 20 us, or when its thread gets a processor: with four busy threads per processor one
 * was 10 ms late. The slot cannot be used again until the handler has come, and slots may be
 * few. */
enum { PATIENCE_MS = 50 };
/* Time that a harvester gets to leave a queue that ends. */
enum { OUT_MS = 1000 };

static struct {
	/* Commands whose completion signal is the program's. commands: number so far;
	 * commands_before: their number when the previous runtime ended; expected: those that have
	 * not ended. */
	_Atomic uint64_t commands, commands_before;
	_Atomic uint32_t expected;
	/* handlers that have not come for commands that were ended without them */
	_Atomic uint32_t late;
} harvest;

struct hsa_tracked_queue *_Atomic hsa_newest_queue;

void hsa_forget_expected(void)
{
	atomic_store(&harvest.commands_before, atomic_load(&harvest.commands));
	atomic_store(&harvest.expected, 0);
}

void hsa_harvest_forked(void)
{
	atomic_store(&harvest.late, 0);
	hsa_forget_expected();
}

uint64_t hsa_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

void hsa_pause_briefly(void)
{
	static const struct timespec nap = {0, 20000};

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Counts a command that was launched in this recording and claimed by a thread without a ring. */
static void count_lost(const struct hsa_slot *slot)
{
	if (slot->mode == atomic_load(&guest_page.mode))
		guest_missed(RING_TROUBLE_TRACKING);
}

static void write_parts(struct record_execution *record, const struct hsa_slot *slot)
{
	const struct record_parts parts = {.transfer = slot->transfer,
					   .shape = {.local_bytes = slot->local_bytes},
					   .graph = slot->graph};

	record_parts_write(record + 1, slot->detail, &parts);
}

void hsa_put_execution(struct guest_thread *thread, const struct hsa_slot *slot,
		       const struct hsa_times *times)
{
	bool is_real = times->start && times->end >= times->start;
	struct hsa_times awake = *times;
	struct record_execution *record;

	if (!thread)
		count_lost(slot);
	if (!thread || slot->mode != thread->mode)
		return;
	if (is_real)
		hsa_skip_suspend(&awake);
	record = guest_reserve(thread, EVENT_EXECUTION,
			       (uint32_t)sizeof(*record) + record_parts_bytes(slot->detail),
			       slot->detail | (is_real ? EXECUTION_STARTED | EXECUTION_ENDED : 0));
	if (!record)
		return;
	record->correlation = slot->correlation;
	record->queued = record->submitted = 0;
	record->started = is_real ? awake.start : 0;
	record->ended = is_real ? awake.end : 0;
	record->seen = guest_now(thread);
	record->queue = slot->queue_id;
	record->status = 0;
	if (slot->detail & RECORD_PARTS)
		write_parts(record, slot);
	ring_commit(&thread->writer);
}

/* ---- completed dispatches -------------------------------------------------------------------- */

static void record_dispatch(struct guest_thread *thread, const struct hsa_slot *slot)
{
	struct hsa_times times = {0, 0};

	if (thread && slot->mode == thread->mode &&
	    hsa_next.dispatch_time(slot->agent, slot->signal, &times) != HSA_SUCCESS)
		times = (struct hsa_times){0, 0};
	hsa_put_execution(thread, slot, &times);
}

/* Claims a completed command. Threads harvest in parallel, so a thread that loses its processor
 * delays only the commands it has claimed. With one thread at a time, 4096 dispatches arrived while
 * it waited. */
static bool take_slot(struct hsa_slot *slot, uint64_t place)
{
	return hsa_signal_is_done(slot->signal) &&
	       atomic_compare_exchange_strong(&slot->place, &place, 0);
}

/* Moves the head past the completed entries in front. An entry is not used again before the head
 * has passed it. */
static void advance_head(struct hsa_tracked_queue *queue, uint64_t tail)
{
	uint64_t head = atomic_load(&queue->head), next;

	do {
		for (next = head; next < tail && !atomic_load(&queue->pending[next % PENDING]);)
			next++;
	} while (next != head && !atomic_compare_exchange_weak(&queue->head, &head, next));
}

/* Harvests up to WINDOW entries. Dispatches of one queue may overlap, so one that still runs must
 * not hide the completed ones behind it. */
static uint32_t harvest_window(struct guest_thread *thread, struct hsa_tracked_queue *queue)
{
	uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
	uint64_t head = atomic_load_explicit(&queue->head, memory_order_acquire);
	struct hsa_slot *done[BATCH];
	uint32_t count = 0, total = 0;

	for (uint64_t i = head; i < tail && i < head + WINDOW; i++) {
		struct hsa_slot *slot =
			atomic_load_explicit(&queue->pending[i % PENDING], memory_order_acquire);

		if (!slot || !take_slot(slot, hsa_place_of(queue, i)))
			continue;
		/* Immediately, because the head cannot move past an entry that is not cleared. */
		atomic_store_explicit(&queue->pending[i % PENDING], NULL, memory_order_release);
		record_dispatch(thread, slot);
		done[count++] = slot;
		total++;
		if (count == BATCH) {
			hsa_signals_give(done, count);
			count = 0;
		}
	}
	hsa_signals_give(done, count);
	advance_head(queue, tail);
	return total;
}

/* Repeats until every entry was checked or the oldest dispatches still run. */
static uint32_t harvest_windows(struct guest_thread *thread, struct hsa_tracked_queue *queue)
{
	uint32_t total = 0, count;
	uint64_t head;

	do {
		head = atomic_load(&queue->head);
		count = harvest_window(thread, queue);
		total += count;
	} while (count && atomic_load(&queue->tail) > head + WINDOW);
	return total;
}

/* Number of harvests that this thread is in. The handler of a signal may interrupt it there and end
 * a queue or the runtime. */
static _Thread_local volatile uint32_t harvests_here __attribute__((tls_model("initial-exec")));

uint32_t hsa_harvest_queue(struct guest_thread *thread, struct hsa_tracked_queue *queue)
{
	uint32_t total = 0;

	harvests_here++;
	atomic_signal_fence(memory_order_seq_cst);
	if (!(atomic_fetch_add(&queue->harvesters, 1) & ENDING))
		total = harvest_windows(thread, queue);
	atomic_fetch_sub(&queue->harvesters, 1);
	atomic_signal_fence(memory_order_seq_cst);
	harvests_here--;
	return total;
}

bool hsa_shut_harvesters_out(struct hsa_tracked_queue *queue)
{
	uint64_t end_ms = hsa_now_ms() + OUT_MS;

	atomic_fetch_or(&queue->harvesters, ENDING);
	while (atomic_load(&queue->harvesters) & ~(uint32_t)ENDING) {
		if (harvests_here || hsa_now_ms() >= end_ms)
			return false;
		hsa_pause_briefly();
	}
	return true;
}

static uint32_t harvest_queues(struct guest_thread *thread)
{
	uint32_t total = 0;

	for (struct hsa_tracked_queue *queue = atomic_load(&hsa_newest_queue); queue;
	     queue = queue->older)
		if (atomic_load(&queue->handle) && queue->is_followed)
			total += hsa_harvest_queue(thread, queue);
	return total;
}

/* ---- commands whose signal belongs to the program -------------------------------------------- */

static void end_dispatch(const struct hsa_slot *slot, struct hsa_times *times)
{
	const struct hsa_signal_memory *own = hsa_signal_at(slot->signal);
	struct hsa_signal_memory *original = hsa_signal_at(slot->original);

	if (hsa_next.dispatch_time(slot->agent, slot->signal, times) != HSA_SUCCESS)
		*times = (struct hsa_times){0, 0};
	/* The program may query the times of its own signal. */
	if (original && original->kind == HSA_SIGNAL_KIND_USER) {
		original->start_ticks = own->start_ticks;
		original->end_ticks = own->end_ticks;
	}
}

static void end_copy(const struct hsa_slot *slot, struct hsa_times *times)
{
	if (hsa_next.copy_time(slot->signal, times) != HSA_SUCCESS)
		*times = (struct hsa_times){0, 0};
	if (slot->original.handle)
		hsa_copy_ended(slot->original, times);
}

/* The handler and the thread that ends the command call this. The second of them gives the slot
 * back, so that a handler never meets a later command. */
static void release_slot(struct hsa_slot *slot)
{
	if (atomic_fetch_sub(&slot->holders, 1) == 1)
		hsa_signals_give(&slot, 1);
}

/* Writes the record before the program's signal completes, because the program may exit as soon as
 * it does. */
static void end_command(struct guest_thread *thread, struct hsa_slot *slot, uint64_t number)
{
	const hsa_signal original = slot->original;
	struct hsa_times times = {0, 0};

	if (slot->is_copy)
		end_copy(slot, &times);
	else
		end_dispatch(slot, &times);
	hsa_put_execution(thread, slot, &times);
	/* Before the signal completes: the program continues at once and may want a slot. */
	release_slot(slot);
	if (original.handle)
		hsa_signal_complete(original);
	if (number > atomic_load(&harvest.commands_before))
		atomic_fetch_sub(&harvest.expected, 1);
}

/* Called in the runtime's own thread. */
static bool on_ended(hsa_signal_value value, void *data)
{
	struct hsa_slot *slot = data;
	struct guest_thread *thread = guest_enter();
	uint64_t number = atomic_load(&slot->place);
	bool is_first = number && take_slot(slot, number);
	int saved = errno;

	release_slot(slot);
	if (is_first)
		end_command(thread, slot, number);
	else
		atomic_fetch_sub(&harvest.late, 1);
	if (thread)
		hsa_read_clock(thread, false);
	errno = saved;
	return false;
}

bool hsa_expect(struct hsa_slot *slot)
{
	if (!hsa_helper_start())
		return false;
	atomic_store(&slot->holders, 2);
	atomic_store(&slot->seen_ms, 0);
	atomic_fetch_add(&harvest.expected, 1);
	atomic_store(&slot->place, atomic_fetch_add(&harvest.commands, 1) + 1);
	if (hsa_next.async_handler(slot->signal, HSA_CONDITION_LT, 1, on_ended, slot) ==
	    HSA_SUCCESS) {
		if (hsa_helper_is_asleep())
			hsa_helper_wake();
		return true;
	}
	atomic_store(&slot->place, 0);
	atomic_fetch_sub(&harvest.expected, 1);
	return false;
}

void hsa_watch(void)
{
	if (atomic_load(&harvest.expected))
		hsa_helper_start();
}

/* True if the command is complete and its handler is overdue. The runtime has one thread for all
 * handlers. It may be inside a handler of the program that waits for a signal we have not completed
 * yet. While one handler is overdue, the guest does not wait for others. */
static bool is_left_alone(struct hsa_slot *slot)
{
	uint64_t seen_ms = atomic_load(&slot->seen_ms);

	if (!hsa_signal_is_done(slot->signal))
		return false;
	if (atomic_load(&harvest.late))
		return true;
	if (!seen_ms)
		atomic_store(&slot->seen_ms, hsa_now_ms());
	return seen_ms && hsa_now_ms() - seen_ms >= PATIENCE_MS;
}

static uint32_t end_expected(struct guest_thread *thread)
{
	uint32_t count = 0, total = 0;
	struct hsa_slot *slots =
		atomic_load(&harvest.expected) ? hsa_signals_all(HSA_WAKING, &count) : NULL;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t number = atomic_load(&slots[i].place);

		if (!number || !is_left_alone(&slots[i]) || !take_slot(&slots[i], number))
			continue;
		atomic_fetch_add(&harvest.late, 1);
		end_command(thread, &slots[i], number);
		total++;
	}
	return total;
}

/* ---- harvests -------------------------------------------------------------------------------- */

uint32_t hsa_harvest(struct guest_thread *thread)
{
	int saved = errno;
	uint32_t total;

	if (!hsa_is_pending())
		return 0;
	total = harvest_queues(thread) + end_expected(thread);
	errno = saved;
	return total;
}

void hsa_await_harvesters(void)
{
	uint32_t turns = 0;

	for (struct hsa_tracked_queue *queue = atomic_load(&hsa_newest_queue); queue;
	     queue = queue->older)
		while (atomic_load(&queue->harvesters) && turns++ < MAX_TURNS)
			sched_yield();
}

bool hsa_is_pending(void)
{
	if (atomic_load(&harvest.expected))
		return true;
	for (struct hsa_tracked_queue *queue = atomic_load(&hsa_newest_queue); queue;
	     queue = queue->older)
		if (atomic_load(&queue->tail) != atomic_load(&queue->head))
			return true;
	return false;
}
