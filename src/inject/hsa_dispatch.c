/* SPDX-License-Identifier: MIT
 *
 * inject/hsa_dispatch.c - follow each packet from the queue it is written into to its times
 *
 * Runs in:  the profiled process: in the thread that rings a doorbell, under the lock of its queue; in the runtime's own
 *           thread for signals; in the helper, and in waits of the program
 * Gets:     packets on their way to the device   Gives: launch records, later execution records
 * Owns:     what is known of each queue, and a list of its pending dispatches
 * Fails:    by passing a packet on as it came: it runs without its times, and is counted
 * Why:      a device writes its times into the signal that a packet completes. Where the program has none we put a
 *           quiet one of ours and look at it from time to time, each queue's in a list of its own: a dispatch may wait
 *           for one of another queue that was written later, so that nothing may ever wait for the oldest of all. Where
 *           it has one, ours takes its place and the runtime calls us when it completes: only then may the program's be
 *           completed, with the times in it that the program may ask for.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/hsa.h"

/* PENDING: places in the list of a queue; more than there are signals, because it has holes. WINDOW: of those that the
 * first may hide. */
enum { PENDING = 2 * HSA_QUIET_MOST, WINDOW = 1024, SPARE = 32, BATCH = 64, WAKE_EVERY = 512 };
/* Where all signals are out, and none of them done, they are looked at each so many dispatches. */
enum { LOOK_EVERY = 64 };
/* Of the processor that are given away to who is taking times: each is a microsecond where nobody else wants it. */
enum { TURNS_MOST = 20 };
/* That a handler of the runtime's is given. It is there in 20 us, or when its thread has a processor: with four busy threads
 * a processor one was late by 10 ms. Until it has come its slot is out, of which there may be few. */
enum { PATIENCE_MS = 50 };
/* That a harvester is given to leave a queue which ends. */
enum { OUT_MS = 1000 };
/* In `harvesters`, beside their number: the queue ends, and no more come in. */
enum { ENDING = 1 << 30 };
/* Marks in a queue of the runtimes that fail when theirs is full, and the smallest queue that has room for them. */
enum { MARKS = 8, MARKED_LEAST = 64 };

struct mark {
	struct hsa_slot *slot;
	uint64_t position; /* of the packet behind it */
};

struct hsa_followed {
	struct hsa_followed *older;
	struct hsa_queue *_Atomic handle; /* NULL: free for another */
	struct hsa_device *device;
	uint32_t id;
	_Atomic uint32_t mode; /* of the attachment it is described in */
	bool is_followed;
	/* Another tool's handlers come behind ours. That tool would take a signal of ours for the program's, and leave the
	 * dispatch alone or keep its times for itself. */
	bool is_above;
	uint64_t counted; /* packets, where it is not … */
	enum ring_trouble reason;
	/* The thread that writes packets, under the runtime's lock. */
	struct hsa_slot *spare[SPARE];
	uint32_t spare_count, blind; /* dispatches until the next look */
	struct mark marks[MARKS];
	uint32_t oldest_mark, newest_mark; /* count on */
	uint32_t mark_every;               /* packets; 0: none are needed */
	uint32_t since_mark;
	uint64_t written, passed; /* packets of ours; of those the device is known to have taken */
	struct hsa_dispatch_packet *
		batch; /* room for as many packets as the queue has, and one; NULL: none is needed */
	size_t batch_bytes;
	_Alignas(64) _Atomic uint64_t tail; /* of pending; counts on */
	/* Whoever harvests: several threads may at once. */
	_Alignas(64) _Atomic uint64_t head;
	_Atomic uint32_t harvesters;
	struct hsa_slot *_Atomic pending[PENDING]; /* NULL: done */
};

static struct {
	struct guest_lock lock; /* the list of queues */
	struct hsa_followed *_Atomic newest;
	/* Commands whose signal is the program's: how many there were, … up to which the runtime before this one had
	 * them, and those that have not ended. */
	_Atomic uint64_t commands, commands_before;
	_Atomic uint32_t expected;
	_Atomic uint32_t not_followed; /* queues */
	_Atomic uint32_t
		late; /* handlers that have not come to commands that were ended without them */
} dispatch;

static void forget_expected(void)
{
	atomic_store(&dispatch.commands_before, atomic_load(&dispatch.commands));
	atomic_store(&dispatch.expected, 0);
}

void hsa_dispatch_forked(void)
{
	atomic_store(&dispatch.lock.taken, 0);
	atomic_store(&dispatch.newest, NULL);
	atomic_store(&dispatch.not_followed, 0);
	atomic_store(&dispatch.late, 0);
	forget_expected();
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* ---- records ----------------------------------------------------------------------------------- */

/* Launched in this recording, and taken by a thread that has no ring. */
static void count_lost(const struct hsa_slot *slot)
{
	if (slot->mode == atomic_load(&guest_page.mode))
		guest_missed(RING_TROUBLE_TRACKING);
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
	hsa_skip_suspend(&awake);
	record = guest_reserve(thread, EVENT_EXECUTION, sizeof(*record),
			       is_real ? EXECUTION_STARTED | EXECUTION_ENDED : 0);
	if (!record)
		return;
	record->correlation = slot->correlation;
	record->queued = record->submitted = 0;
	record->started = is_real ? awake.start : 0;
	record->ended = is_real ? awake.end : 0;
	record->seen = guest_now(thread);
	record->queue = slot->queue_id;
	record->status = 0;
	ring_commit(&thread->writer);
}

/* ---- what completes ---------------------------------------------------------------------------- */

static void finish(struct guest_thread *thread, const struct hsa_slot *slot)
{
	struct hsa_times times = {0, 0};

	if (thread && slot->mode == thread->mode &&
	    hsa_next.dispatch_time(slot->agent, slot->signal, &times) != HSA_SUCCESS)
		times = (struct hsa_times){0, 0};
	hsa_put_execution(thread, slot, &times);
}

/* Of a dispatch while it is pending; never that of another, so that who takes one takes that dispatch. */
static uint64_t place_of(const struct hsa_followed *queue, uint64_t position)
{
	return (uint64_t)queue->id << 40 | (position + 1);
}

/* Threads harvest side by side, so that one which loses its processor in there holds up nothing but what it has in
 * hand: with one at a time, 4096 dispatches come while it waits. */
static bool take(struct hsa_slot *slot, uint64_t place)
{
	return hsa_signal_is_done(slot->signal) &&
	       atomic_compare_exchange_strong(&slot->place, &place, 0);
}

/* The places in front that are done are given up. Nobody uses one again while the head is where it was. */
static void advance(struct hsa_followed *queue, uint64_t tail)
{
	uint64_t head = atomic_load(&queue->head), next;

	do {
		for (next = head; next < tail && !atomic_load(&queue->pending[next % PENDING]);)
			next++;
	} while (next != head && !atomic_compare_exchange_weak(&queue->head, &head, next));
}

/* Dispatches of one queue may overlap: behind one that takes long others are looked for. */
static uint32_t harvest_window(struct guest_thread *thread, struct hsa_followed *queue)
{
	uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
	uint64_t head = atomic_load_explicit(&queue->head, memory_order_acquire);
	struct hsa_slot *done[BATCH];
	uint32_t count = 0, total = 0;

	for (uint64_t i = head; i < tail && i < head + WINDOW; i++) {
		struct hsa_slot *slot =
			atomic_load_explicit(&queue->pending[i % PENDING], memory_order_acquire);

		if (!slot || !take(slot, place_of(queue, i)))
			continue;
		/* At once: while a place in front is taken nobody looks far behind it. */
		atomic_store_explicit(&queue->pending[i % PENDING], NULL, memory_order_release);
		finish(thread, slot);
		done[count++] = slot;
		total++;
		if (count == BATCH) {
			hsa_signals_give(done, count);
			count = 0;
		}
	}
	hsa_signals_give(done, count);
	advance(queue, tail);
	return total;
}

static void pause_briefly(void)
{
	static const struct timespec nap = {0, 20000};

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
}

/* Until all was looked at, or what is in front still runs. */
static uint32_t harvest_windows(struct guest_thread *thread, struct hsa_followed *queue)
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

/* A signal's handler may end a queue, or the runtime, where it has interrupted this thread in there. */
static _Thread_local volatile uint32_t harvests_here __attribute__((tls_model("initial-exec")));

static uint32_t harvest_queue(struct guest_thread *thread, struct hsa_followed *queue)
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

/* Nothing in there waits, so that all are out soon. False: one is not, or it is this thread. */
static bool shut_harvesters_out(struct hsa_followed *queue)
{
	uint64_t end_ms = now_ms() + OUT_MS;

	atomic_fetch_or(&queue->harvesters, ENDING);
	while (atomic_load(&queue->harvesters) & ~(uint32_t)ENDING) {
		if (harvests_here || now_ms() >= end_ms)
			return false;
		pause_briefly();
	}
	return true;
}

static uint32_t harvest_queues(struct guest_thread *thread)
{
	uint32_t total = 0;

	for (struct hsa_followed *queue = atomic_load(&dispatch.newest); queue;
	     queue = queue->older)
		if (atomic_load(&queue->handle) && queue->is_followed)
			total += harvest_queue(thread, queue);
	return total;
}

/* ---- commands whose signal is the program's ---------------------------------------------------- */

static void end_dispatch(const struct hsa_slot *slot, struct hsa_times *times)
{
	const struct hsa_signal_memory *own = hsa_signal_at(slot->signal);
	struct hsa_signal_memory *original = hsa_signal_at(slot->original);

	if (hsa_next.dispatch_time(slot->agent, slot->signal, times) != HSA_SUCCESS)
		*times = (struct hsa_times){0, 0};
	/* The program may ask for the times of its own signal. */
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

/* Of the handler and who ends the command, the second gives the slot back: no handler comes for a later command. */
static void leave_slot(struct hsa_slot *slot)
{
	if (atomic_fetch_sub(&slot->holders, 1) == 1)
		hsa_signals_give(&slot, 1);
}

/* The record is written before the program can know: one that ends then has it. */
static void end_command(struct guest_thread *thread, struct hsa_slot *slot, uint64_t number)
{
	const hsa_signal original = slot->original;
	struct hsa_times times = {0, 0};

	if (slot->is_copy)
		end_copy(slot, &times);
	else
		end_dispatch(slot, &times);
	hsa_put_execution(thread, slot, &times);
	/* First: the program goes on at once, and may want a slot. */
	leave_slot(slot);
	if (original.handle)
		hsa_signal_complete(original);
	if (number > atomic_load(&dispatch.commands_before))
		atomic_fetch_sub(&dispatch.expected, 1);
}

/* In the runtime's own thread. */
static bool on_ended(hsa_signal_value value, void *data)
{
	struct hsa_slot *slot = data;
	struct guest_thread *thread = guest_enter();
	uint64_t number = atomic_load(&slot->place);
	bool is_first = number && take(slot, number);
	int saved = errno;

	(void)value;
	leave_slot(slot);
	if (is_first)
		end_command(thread, slot, number);
	else
		atomic_fetch_sub(&dispatch.late, 1);
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
	atomic_fetch_add(&dispatch.expected, 1);
	atomic_store(&slot->place, atomic_fetch_add(&dispatch.commands, 1) + 1);
	if (hsa_next.async_handler(slot->signal, HSA_CONDITION_LT, 1, on_ended, slot) ==
	    HSA_SUCCESS) {
		if (hsa_helper_is_asleep())
			hsa_helper_wake();
		return true;
	}
	atomic_store(&slot->place, 0);
	atomic_fetch_sub(&dispatch.expected, 1);
	return false;
}

void hsa_watch(void)
{
	if (atomic_load(&dispatch.expected))
		hsa_helper_start();
}

/* The runtime has one thread for all handlers, which may be inside of one of the program's that waits for what we have
 * not completed yet. Where it has not come back from one it is not waited for again. */
static bool is_left_alone(struct hsa_slot *slot)
{
	uint64_t seen_ms = atomic_load(&slot->seen_ms);

	if (!hsa_signal_is_done(slot->signal))
		return false;
	if (atomic_load(&dispatch.late))
		return true;
	if (!seen_ms)
		atomic_store(&slot->seen_ms, now_ms());
	return seen_ms && now_ms() - seen_ms >= PATIENCE_MS;
}

static uint32_t end_expected(struct guest_thread *thread)
{
	uint32_t count = 0, total = 0;
	struct hsa_slot *slots =
		atomic_load(&dispatch.expected) ? hsa_signals_all(HSA_WAKING, &count) : NULL;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t number = atomic_load(&slots[i].place);

		if (!number || !is_left_alone(&slots[i]) || !take(&slots[i], number))
			continue;
		atomic_fetch_add(&dispatch.late, 1);
		end_command(thread, &slots[i], number);
		total++;
	}
	return total;
}

/* ---- who looks --------------------------------------------------------------------------------- */

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

	for (struct hsa_followed *queue = atomic_load(&dispatch.newest); queue;
	     queue = queue->older)
		while (atomic_load(&queue->harvesters) && turns++ < TURNS_MOST)
			sched_yield();
}

bool hsa_is_pending(void)
{
	if (atomic_load(&dispatch.expected))
		return true;
	for (struct hsa_followed *queue = atomic_load(&dispatch.newest); queue;
	     queue = queue->older)
		if (atomic_load(&queue->tail) != atomic_load(&queue->head))
			return true;
	return false;
}

/* Under the lock: packets of queues that are not followed, as far as their write index says. */
static void count_not_followed(struct hsa_followed *queue)
{
	struct hsa_queue *handle = atomic_load(&queue->handle);
	uint64_t index;

	if (!handle || queue->is_followed)
		return;
	index = hsa_next.queue_write_index(handle);
	if (index <= queue->counted)
		return;
	guest_trouble_many(queue->reason, index - queue->counted);
	queue->counted = index;
}

void hsa_count_not_followed(void)
{
	if (!hsa_any_not_followed() || !guest_lock(&dispatch.lock))
		return;
	for (struct hsa_followed *queue = atomic_load(&dispatch.newest); queue;
	     queue = queue->older)
		count_not_followed(queue);
	guest_unlock(&dispatch.lock);
}

void hsa_harvest_last(uint64_t most_ms)
{
	struct guest_thread *thread = guest_enter();
	uint64_t end_ms = now_ms() + most_ms;

	hsa_count_not_followed();
	do {
		hsa_harvest(thread);
		if (!hsa_is_pending())
			break;
		pause_briefly();
	} while (now_ms() < end_ms);
	if (thread)
		hsa_read_clock(thread, true);
}

/* ---- room in a queue that must not become full -------------------------------------------------- */

static bool take_oldest_mark(struct hsa_followed *queue)
{
	struct mark *mark = &queue->marks[queue->oldest_mark % MARKS];

	if (queue->oldest_mark == queue->newest_mark || !hsa_signal_is_done(mark->slot->signal))
		return false;
	queue->passed = mark->position;
	queue->oldest_mark++;
	return true;
}

/* A full queue lets its writer wait: here it waits before the runtime sees that it is full. */
static void await_room(struct hsa_followed *queue)
{
	const uint64_t most = (MARKS - 1) * (uint64_t)queue->mark_every;
	int saved = errno;

	while (take_oldest_mark(queue))
		;
	for (uint32_t tries = 0; queue->written - queue->passed >= most; tries++) {
		if (take_oldest_mark(queue))
			continue;
		if (tries < 10)
			sched_yield();
		else
			pause_briefly();
	}
	errno = saved;
}

/* A barrier that waits for nothing: it completes when the device has come to it. */
static void fill_mark(struct hsa_followed *queue, struct hsa_dispatch_packet *packet)
{
	struct mark *mark = &queue->marks[queue->newest_mark++ % MARKS];

	hsa_next.silent_store(mark->slot->signal, 1);
	mark->position = queue->written;
	memset(packet, 0, sizeof(*packet));
	packet->header = HSA_PACKET_BARRIER_AND;
	packet->completion = mark->slot->signal;
	queue->since_mark = 0;
}

/* packets: with room for one more behind them. The runtime is called once: before ROCm 6.0 a second call of the writer
 * crashes it. */
static void write_packets(struct hsa_followed *queue, struct hsa_dispatch_packet *packets,
			  uint64_t count, hsa_packet_writer *writer)
{
	if (GUEST_UNLIKELY(queue->mark_every)) {
		await_room(queue);
		queue->written += count;
		queue->since_mark += (uint32_t)count;
		if (queue->since_mark >= queue->mark_every) {
			queue->written++;
			fill_mark(queue, &packets[count++]);
		}
	}
	writer(packets, count);
}

/* ---- dispatches -------------------------------------------------------------------------------- */

/* All may be out, and some of them done, where nobody came to look: the helper waits for a processor as others do. */
static void look_for_spare(struct guest_thread *thread, struct hsa_followed *queue)
{
	queue->spare_count = hsa_signals_take(HSA_QUIET, SPARE, queue->spare);
	if (queue->spare_count)
		return;
	if (queue->blind) {
		queue->blind--;
		return;
	}
	if (hsa_harvest(thread))
		queue->spare_count = hsa_signals_take(HSA_QUIET, SPARE, queue->spare);
	else
		queue->blind = LOOK_EVERY;
}

static struct hsa_slot *take_spare(struct guest_thread *thread, struct hsa_followed *queue)
{
	if (GUEST_UNLIKELY(!queue->spare_count))
		look_for_spare(thread, queue);
	return queue->spare_count ? queue->spare[--queue->spare_count] : NULL;
}

static void fill_slot(struct hsa_slot *slot, const struct hsa_followed *queue,
		      const struct guest_thread *thread, uint64_t correlation)
{
	slot->queue_id = queue->id;
	slot->mode = thread->mode;
	slot->is_copy = false;
	slot->agent = hsa_device_agent(queue->device);
	slot->original.handle = 0;
	slot->correlation = correlation;
}

/* Ours in the place of the program's. NULL: none is to be had, or nobody would complete the program's. */
static struct hsa_slot *stand_in(struct hsa_followed *queue, const struct guest_thread *thread,
				 struct hsa_dispatch_packet *packet, uint64_t correlation)
{
	struct hsa_slot *slot;

	if (!hsa_signals_take(HSA_WAKING, 1, &slot))
		return NULL;
	fill_slot(slot, queue, thread, correlation);
	slot->original = packet->completion;
	if (!hsa_expect(slot)) {
		hsa_signals_give(&slot, 1);
		return NULL;
	}
	packet->completion = slot->signal;
	return slot;
}

static void push(struct hsa_followed *queue, struct hsa_slot *slot)
{
	uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);

	atomic_store_explicit(&slot->place, place_of(queue, tail), memory_order_relaxed);
	atomic_store_explicit(&queue->pending[tail % PENDING], slot, memory_order_release);
	/* An exchange: the helper's state is looked at behind it. */
	atomic_exchange(&queue->tail, tail + 1);
	if (GUEST_UNLIKELY(hsa_helper_is_asleep() || tail % WAKE_EVERY == 0))
		hsa_helper_wake();
}

static bool has_place(const struct hsa_followed *queue)
{
	return atomic_load_explicit(&queue->tail, memory_order_relaxed) -
		       atomic_load_explicit(&queue->head, memory_order_relaxed) <
	       PENDING;
}

static struct hsa_slot *put_spare(struct hsa_followed *queue, struct guest_thread *thread,
				  struct hsa_dispatch_packet *packet, uint64_t correlation)
{
	struct hsa_slot *slot = has_place(queue) ? take_spare(thread, queue) : NULL;

	if (!slot)
		return NULL;
	fill_slot(slot, queue, thread, correlation);
	packet->completion = slot->signal;
	return slot;
}

static struct hsa_slot *leave_untimed(struct hsa_launch *launch, enum ring_trouble reason)
{
	guest_trouble(reason);
	launch->flags |= LAUNCH_UNTIMED;
	return NULL;
}

/* Gives the packet a signal of ours, or says in the launch that it has none. Returns a quiet one, which is to be pushed
 * once the packet is written; else NULL. */
static struct hsa_slot *time_dispatch(struct hsa_followed *queue, struct guest_thread *thread,
				      struct hsa_launch *launch, struct hsa_dispatch_packet *packet)
{
	bool is_quiet = !packet->completion.handle;
	bool is_left_alone = !is_quiet && (hsa_options & RING_OPTION_AMD_LITE);
	struct hsa_slot *slot = NULL;

	if (queue->is_above)
		return leave_untimed(launch, RING_TROUBLE_TOOL_BEHIND);
	if (is_left_alone)
		return leave_untimed(launch, RING_TROUBLE_MODE);
	if (is_quiet)
		slot = put_spare(queue, thread, packet, launch->correlation);
	else
		slot = stand_in(queue, thread, packet, launch->correlation);
	if (!slot)
		return leave_untimed(launch, RING_TROUBLE_SIGNALS);
	return is_quiet ? slot : NULL;
}

static void describe(struct guest_thread *thread, struct hsa_followed *queue)
{
	struct hsa_queue *handle = atomic_load(&queue->handle);

	hsa_describe_devices(thread);
	if (handle && hsa_describe_queue(thread, handle, queue->id, queue->device))
		atomic_store(&queue->mode, thread->mode);
}

/* Fills in what a packet's launch is, before it is written, and has it timed; returns as time_dispatch. */
static struct hsa_slot *begin_launch(struct guest_thread *thread, struct hsa_followed *queue,
				     struct hsa_launch *launch, struct hsa_dispatch_packet *packet)
{
	if (GUEST_UNLIKELY(atomic_load_explicit(&queue->mode, memory_order_relaxed) !=
			   thread->mode))
		describe(thread, queue);
	*launch = (struct hsa_launch){
		.command = COMMAND_KERNEL,
		.queue_id = queue->id,
		.kernel = hsa_kernel(thread, packet->kernel_object),
		.correlation = guest_new_correlation(thread),
		.packet = packet,
	};
	hsa_launch_begin(thread, launch, HSA_CALL_DISPATCH);
	return time_dispatch(queue, thread, launch, packet);
}

static bool is_dispatch(const struct hsa_dispatch_packet *packet)
{
	return (packet->header & 0xff) == HSA_PACKET_DISPATCH;
}

static void write_dispatch(struct guest_thread *thread, struct hsa_followed *queue,
			   struct hsa_dispatch_packet packets[2], hsa_packet_writer *writer)
{
	struct hsa_launch launch;
	struct hsa_slot *quiet = begin_launch(thread, queue, &launch, packets);

	write_packets(queue, packets, 1, writer);
	if (quiet)
		push(queue, quiet);
	hsa_put_launch(thread, &launch);
}

/* ---- packets that launch nothing ---------------------------------------------------------------- */

/* 0: none of those that are counted. */
static uint32_t barrier_of(const struct hsa_dispatch_packet *packet)
{
	switch (packet->header & 0xff) {
	case HSA_PACKET_BARRIER_AND:
		return HSA_CALL_BARRIER_AND;
	case HSA_PACKET_BARRIER_OR:
		return HSA_CALL_BARRIER_OR;
	case HSA_PACKET_VENDOR:
		return (packet->dimensions & 0xff) == HSA_PACKET_FORMAT_BARRIER_VALUE
			       ? HSA_CALL_BARRIER_VALUE
			       : 0;
	default:
		return 0;
	}
}

/* What a call above puts between its kernels is part of that call. */
static void put_barrier(struct guest_thread *thread, const struct hsa_dispatch_packet *packet)
{
	uint32_t function = hsa_caller ? 0 : barrier_of(packet);
	uint64_t now;

	if (!function)
		return;
	if (!thread) {
		guest_missed(RING_TROUBLE_NO_RING);
		return;
	}
	now = guest_now(thread);
	guest_put_api(thread, function | API_TYPE_CALL << 16, now, now, 0, 0, 0);
}

/* ---- batches ----------------------------------------------------------------------------------- */

static uint32_t count_dispatches(const struct hsa_dispatch_packet *packets, uint64_t count)
{
	uint32_t dispatches = 0;

	for (uint64_t i = 0; i < count; i++)
		dispatches += is_dispatch(&packets[i]);
	return dispatches;
}

static void put_batch(struct guest_thread *thread, uint64_t begin, uint32_t dispatches)
{
	/* Before the record: a stack is one of its own. */
	uint32_t stack = guest_stack(thread);

	guest_put_api(thread, HSA_CALL_BATCH | API_TYPE_CALL << 16, begin, guest_now(thread), 0,
		      dispatches, stack);
}

/* Of those that leave no rows. */
static void count_batch(const struct guest_thread *thread, uint32_t dispatches)
{
	bool is_wanted = hsa_options & RING_OPTION_AMD_FULL;

	guest_trouble_many(is_wanted && !thread ? RING_TROUBLE_NO_RING_LAUNCH
						: RING_TROUBLE_BATCHES,
			   dispatches);
}

static void time_batch(struct guest_thread *thread, struct hsa_followed *queue,
		       struct hsa_dispatch_packet *packets, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		struct hsa_launch launch;
		struct hsa_slot *quiet;

		if (!is_dispatch(&packets[i]))
			continue;
		quiet = begin_launch(thread, queue, &launch, &packets[i]);
		/* Its signal is at 1 until the packet was written and has run. */
		if (quiet)
			push(queue, quiet);
		hsa_put_launch(thread, &launch);
	}
}

/* A batch goes on as one: what is in it belongs together. */
static void write_batch(struct guest_thread *thread, struct hsa_followed *queue,
			const struct hsa_dispatch_packet *packets, uint64_t count,
			hsa_packet_writer *writer)
{
	bool fits = queue->batch && (count + 1) * sizeof(*packets) <= queue->batch_bytes;
	uint32_t dispatches = guest_is_idle() ? 0 : count_dispatches(packets, count);
	uint64_t begin = thread ? guest_now(thread) : 0;

	for (uint64_t i = 0; i < count; i++)
		put_barrier(thread, &packets[i]);
	if (fits)
		memcpy(queue->batch, packets, count * sizeof(*packets));
	if (fits && thread && (hsa_options & RING_OPTION_AMD_FULL))
		time_batch(thread, queue, queue->batch, count);
	else
		count_batch(thread, dispatches);
	if (fits)
		write_packets(queue, queue->batch, count, writer);
	else
		writer(packets, count);
	if (hsa_caller)
		hsa_caller->batched += dispatches;
	else if (dispatches && thread)
		put_batch(thread, begin, dispatches);
	else if (dispatches)
		guest_missed(RING_TROUBLE_NO_RING);
}

static void write_one(struct guest_thread *thread, struct hsa_followed *queue, const void *packet,
		      hsa_packet_writer *writer)
{
	struct hsa_dispatch_packet copy[2];

	memcpy(copy, packet, sizeof(copy[0]));
	if (thread && is_dispatch(copy)) {
		write_dispatch(thread, queue, copy, writer);
		return;
	}
	if (is_dispatch(copy))
		guest_missed(RING_TROUBLE_NO_RING_LAUNCH);
	else
		put_barrier(thread, copy);
	write_packets(queue, copy, 1, writer);
}

/* What the runtime calls with packets that the program has written, under the queue's lock. */
static void on_packets(const void *packets, uint64_t count, uint64_t index, void *data,
		       hsa_packet_writer *writer)
{
	struct hsa_followed *queue = data;
	struct guest_thread *thread = guest_enter();
	int saved = errno;

	(void)index;
	if (GUEST_UNLIKELY(count != 1))
		write_batch(thread, queue, packets, count, writer);
	else
		write_one(thread, queue, packets, writer);
	errno = saved;
}

/* ---- queues ------------------------------------------------------------------------------------ */

/* Under the lock: one that was another queue's, or a new one. */
static struct hsa_followed *find_free(void)
{
	struct hsa_followed *queue = atomic_load(&dispatch.newest);

	while (queue && atomic_load(&queue->handle))
		queue = queue->older;
	if (queue)
		return queue;
	queue = guest_memory(sizeof(*queue));
	if (!queue) {
		guest_trouble(RING_TROUBLE_OBJECTS);
		return NULL;
	}
	queue->older = atomic_load(&dispatch.newest);
	atomic_store(&dispatch.newest, queue);
	return queue;
}

static struct hsa_followed *new_queue(struct hsa_queue *handle, struct hsa_device *device)
{
	struct hsa_followed *queue;

	if (!guest_lock(&dispatch.lock))
		return NULL;
	queue = find_free();
	if (queue) {
		queue->device = device;
		queue->id = hsa_new_queue();
		queue->counted = 0;
		queue->blind = 0;
		queue->is_followed = queue->is_above = false;
		atomic_store(&queue->mode, 0);
		atomic_store(&queue->handle, handle);
	}
	guest_unlock(&dispatch.lock);
	return queue;
}

static struct hsa_followed *find_queue(const struct hsa_queue *handle)
{
	struct hsa_followed *queue = atomic_load(&dispatch.newest);

	while (queue && atomic_load(&queue->handle) != handle)
		queue = queue->older;
	return queue;
}

bool hsa_queue_is_followed(const struct hsa_queue *handle)
{
	const struct hsa_followed *queue = find_queue(handle);

	return queue && queue->is_followed;
}

void hsa_queue_not_followed(struct hsa_queue *handle, enum ring_trouble reason)
{
	struct hsa_followed *queue = new_queue(handle, NULL);

	if (!queue)
		return;
	queue->reason = reason;
	atomic_fetch_add(&dispatch.not_followed, 1);
	hsa_helper_start();
	hsa_helper_wake();
}

bool hsa_any_not_followed(void)
{
	return atomic_load_explicit(&dispatch.not_followed, memory_order_relaxed) != 0;
}

bool hsa_any_queues(void)
{
	return atomic_load(&dispatch.newest) != NULL;
}

/* Written into the queue, and a device has not come to it. */
static bool is_under_way(const struct hsa_followed *queue, uint32_t index)
{
	return (index - queue->oldest_mark) % MARKS < queue->newest_mark - queue->oldest_mark &&
	       !hsa_signal_is_done(queue->marks[index].slot->signal);
}

static void give_marks(struct hsa_followed *queue, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!is_under_way(queue, i))
			hsa_signals_give(&queue->marks[i].slot, 1);
	queue->mark_every = 0;
}

static bool take_marks(struct hsa_followed *queue, uint32_t size)
{
	struct hsa_slot *slots[MARKS];
	uint32_t count = 0, more;

	/* First what other queues have left of those that were made, then new ones. */
	do {
		more = hsa_signals_take(HSA_QUIET, MARKS - count, slots + count);
		count += more;
	} while (more && count < MARKS);
	for (uint32_t i = 0; i < count; i++)
		queue->marks[i].slot = slots[i];
	queue->since_mark = queue->oldest_mark = queue->newest_mark = 0;
	if (count < MARKS) {
		give_marks(queue, count);
		return false;
	}
	queue->mark_every = size / MARKS;
	queue->written = queue->passed = 0;
	return true;
}

static bool make_batch(struct hsa_followed *queue, uint32_t size)
{
	queue->batch_bytes = (size + (size_t)1) * sizeof(struct hsa_dispatch_packet);
	queue->batch = guest_memory(queue->batch_bytes);
	return queue->batch != NULL;
}

static void free_batch(struct hsa_followed *queue)
{
	if (queue->batch)
		munmap(queue->batch, queue->batch_bytes);
	queue->batch = NULL;
}

/* What another tool's handlers come behind is as full as it would be without us. */
static bool prepare(struct hsa_followed *queue, uint32_t size)
{
	bool has_marks = hsa_is_overflow_fatal() && !queue->is_above;

	if (!(hsa_options & RING_OPTION_AMD_FULL) && !has_marks)
		return true;
	return make_batch(queue, size) && (!has_marks || take_marks(queue, size));
}

static void let_go(struct hsa_followed *queue)
{
	if (queue->mark_every)
		give_marks(queue, MARKS);
	free_batch(queue);
}

static bool follow(struct hsa_queue *handle, struct hsa_device *device, bool is_above)
{
	struct hsa_followed *queue = new_queue(handle, device);

	if (!queue)
		return false;
	queue->is_above = is_above;
	if (prepare(queue, handle->size) && hsa_next.set_profiler(handle, 1) == HSA_SUCCESS &&
	    hsa_next.intercept_register(handle, on_packets, queue) == HSA_SUCCESS) {
		queue->is_followed = true;
		return true;
	}
	let_go(queue);
	atomic_store(&queue->handle, NULL);
	return false;
}

/* All cooperative queues of a device are one, which may not be wrapped. */
bool hsa_can_follow(uint32_t size, uint32_t type)
{
	return type != HSA_QUEUE_COOPERATIVE && (!hsa_is_overflow_fatal() || size >= MARKED_LEAST);
}

bool hsa_before_queue(hsa_agent agent)
{
	if (!hsa_device_of(agent) || !hsa_signals_init())
		return false;
	hsa_samples_begin();
	return true;
}

bool hsa_join_queue(struct hsa_queue *handle, hsa_agent agent, bool is_above)
{
	if (!follow(handle, hsa_device_of(agent), is_above))
		return false;
	hsa_helper_start();
	return true;
}

hsa_status hsa_follow_queue(hsa_agent agent, uint32_t size, uint32_t type, hsa_queue_error *error,
			    void *data, uint32_t private_bytes, uint32_t group_bytes,
			    struct hsa_queue **ret_queue)
{
	struct hsa_device *device = hsa_device_of(agent);
	int saved = errno;
	hsa_status status;

	if (!hsa_before_queue(agent))
		return HSA_ERROR;
	status = hsa_next.intercept_create(agent, size, type, error, data, private_bytes,
					   group_bytes, ret_queue);
	if (status != HSA_SUCCESS)
		return status;
	/* An intercept queue without marks may become full, and end the program. */
	if (follow(*ret_queue, device, false)) {
		hsa_helper_start();
	} else {
		hsa_next.queue_destroy(*ret_queue);
		status = HSA_ERROR;
	}
	errno = saved;
	return status;
}

/* Behind the lock nobody asks the runtime for its write index any more. */
static void end_not_followed(struct hsa_followed *queue)
{
	bool is_locked = guest_lock(&dispatch.lock);

	atomic_store(&queue->handle, NULL);
	atomic_fetch_sub(&dispatch.not_followed, 1);
	if (is_locked)
		guest_unlock(&dispatch.lock);
}

struct hsa_followed *hsa_queue_ends(struct hsa_queue *handle)
{
	struct guest_thread *thread = guest_enter();
	struct hsa_followed *queue = find_queue(handle);

	hsa_count_not_followed();
	if (!queue)
		return NULL;
	if (!queue->is_followed) {
		end_not_followed(queue);
		return NULL;
	}
	harvest_queue(thread, queue);
	return queue;
}

/* is_gone: nothing writes into its signals any more. Else what a device may write to stays out for good. */
static void give_up_pending(struct hsa_followed *queue, bool is_gone)
{
	uint64_t tail = atomic_load(&queue->tail);

	for (uint64_t i = atomic_load(&queue->head); i < tail; i++) {
		struct hsa_slot *slot = atomic_load(&queue->pending[i % PENDING]);

		if (slot && (is_gone || hsa_signal_is_done(slot->signal)))
			hsa_signals_give(&slot, 1);
		atomic_store(&queue->pending[i % PENDING], NULL);
	}
	atomic_store(&queue->head, tail);
}

static void end_queue(struct hsa_followed *queue, bool is_gone)
{
	/* Left as it is until the runtime ends, and no queue's by its handle: its signals are not used again. */
	if (!shut_harvesters_out(queue)) {
		atomic_store(&queue->head, atomic_load(&queue->tail));
		atomic_store(&queue->handle, (struct hsa_queue *)(void *)queue);
		return;
	}
	give_up_pending(queue, is_gone);
	hsa_signals_give(queue->spare, queue->spare_count);
	queue->spare_count = 0;
	if (is_gone)
		queue->oldest_mark = queue->newest_mark;
	let_go(queue);
	atomic_fetch_and(&queue->harvesters, ~(uint32_t)ENDING);
	atomic_store(&queue->handle, NULL);
}

void hsa_queue_ended(struct hsa_followed *queue)
{
	if (queue)
		end_queue(queue, true);
}

void hsa_queues_fini(void)
{
	for (struct hsa_followed *queue = atomic_load(&dispatch.newest); queue;
	     queue = queue->older)
		if (atomic_load(&queue->handle))
			end_queue(queue, false);
	atomic_store(&dispatch.not_followed, 0);
	forget_expected();
}
