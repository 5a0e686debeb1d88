/* SPDX-License-Identifier: MIT
 *
 * inject/opencl_commands.c - follow each command from its enqueue to its device time stamps
 *
 * Runs in:  the profiled process, around every enqueue; in PoCL's callbacks
 * Gets:     an enqueue call before and after   Gives: a launch record, later an execution record
 * Owns:     a pool of command slots mapped in blocks; one reference to each pending command's event
 * Fails:    no slot, no lock in time: the command is launched, not followed, and counted
 * Why:      completion is polled because a callback is a thread or a lock in many drivers; where callbacks
 *           are tested (PoCL) they are used too, since a program that sleeps and dies by _exit makes no
 *           call in which to poll (0 of 100 commands against 100 of 100). No driver function is ever called
 *           with the lock held: a driver may call us back with its own.
 */
#include <errno.h>
#include <string.h>

#include "inject/opencl.h"
#include "inject/opencl_handles.h"

enum { BLOCK_BITS = 14, BLOCK_SIZE = 1 << BLOCK_BITS, BLOCKS = 64, BATCH = 32 };
/* Most host time of one poll: 1 ms in ns, 0.3 to 0.5 ms in cycles. */
enum { POLL_MOST = 1 << 20 };

enum slot_state {
	SLOT_FREE,
	SLOT_PENDING, /* whoever swaps it to TAKEN asks for its time stamps */
	SLOT_TAKEN,
	SLOT_DONE /* recorded; waits in its queue's list to be freed */
};

/* What an event is of. */
struct followed {
	uint64_t correlation;
	uint32_t
		queue_id; /* the structure may be another queue's by the time the command is over */
	uint32_t stamps;  /* EXECUTION_…: which of the event's times are the command's */
};

struct command {
	cl_event event;
	struct followed of;
	struct opencl_queue *queue;
	uint32_t mode; /* of the attachment it was launched in: another's recorder knows it not */
	bool polled;   /* counted in opencl_polled */
	uint32_t next;
	uint32_t generation; /* tells a late callback that the slot is another command's now */
	_Atomic uint32_t state;
};

static struct {
	struct guest_lock lock; /* lists and pool */
	struct command *blocks[BLOCKS];
	uint32_t used; /* slots ever handed out */
	uint32_t free; /* first of the given back */
	_Atomic uint64_t next_poll;
	/* Queues with pending commands, first in first out, and perhaps some without. */
	struct opencl_queue *_Atomic first_busy;
	struct opencl_queue *last_busy;
	_Atomic uint32_t busy_count;
	uint32_t process; /* counts forks: in a child no queue is in the list */
} commands = {.free = NO_COMMAND, .process = 1};

_Atomic uint32_t opencl_polled;

/* The child has no other thread: nobody holds a batch. */
void opencl_commands_forked(void)
{
	struct opencl_queue *queue;

	atomic_store(&commands.lock.taken, 0);
	for (uint32_t i = 0; i < commands.used; i++) {
		queue = commands.blocks[i >> BLOCK_BITS][i & (BLOCK_SIZE - 1)].queue;
		if (queue) /* else the slot was just being taken */
			queue->first = queue->last = NO_COMMAND;
	}
	commands.process++;
	commands.used = 0;
	commands.free = NO_COMMAND;
	commands.first_busy = commands.last_busy = NULL;
	commands.busy_count = 0;
	atomic_store(&opencl_polled, 0);
}

static struct command *slot(uint32_t index)
{
	return &commands.blocks[index >> BLOCK_BITS][index & (BLOCK_SIZE - 1)];
}

/* ---- time stamps ------------------------------------------------------------------------------- */

/* 0: not to be had. Drivers have returned success and left the value alone; absent is not zero. */
static uint64_t read_stamp(cl_event event, cl_uint what)
{
	cl_ulong time = 0;

	return next.clGetEventProfilingInfo(event, what, sizeof(time), &time, NULL) == CL_SUCCESS
		       ? time
		       : 0;
}

/* Others return what happened to lie there: one stamp years away moves the whole clock. */
static bool is_real(uint64_t time, uint64_t queued)
{
	uint64_t distance = time > queued ? time - queued : queued - time;

	return time && !(queued && distance >> 57);
}

/* ended: as it was read. seen: when the program's side knew of the completion. */
static void put_execution(struct guest_thread *thread, cl_event event, const struct followed *of,
			  cl_int status, uint64_t ended, uint64_t seen)
{
	uint64_t queued = 0, submitted = 0, started = 0;
	struct record_execution *record;
	uint32_t valid = 0;

	if (GUEST_LIKELY(status >= 0)) {
		queued = read_stamp(event, CL_PROFILING_COMMAND_QUEUED);
		submitted = read_stamp(event, CL_PROFILING_COMMAND_SUBMIT);
		started = read_stamp(event, CL_PROFILING_COMMAND_START);
		valid = (queued ? EXECUTION_QUEUED : 0u) |
			(is_real(submitted, queued) ? EXECUTION_SUBMITTED : 0u) |
			(is_real(started, queued) ? EXECUTION_STARTED : 0u) |
			(is_real(ended, queued) ? EXECUTION_ENDED : 0u);
		valid &= of->stamps;
	}
	record = guest_reserve(thread, EVENT_EXECUTION, sizeof(*record), valid);
	if (!record)
		return;
	record->correlation = of->correlation;
	record->queued = queued;
	record->submitted = submitted;
	record->started = started;
	record->ended = status < 0 ? 0 : ended;
	record->seen = seen;
	record->queue = of->queue_id;
	record->status = status;
	ring_commit(&thread->writer);
}

/* 1 complete or failed, 0 not yet. */
static bool is_over(cl_event event, cl_int *ret_status)
{
	cl_int status = 1;

	if (next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
				NULL) != CL_SUCCESS)
		status = -1;
	*ret_status = status;
	return status <= CL_COMPLETE;
}

/* ---- slots ------------------------------------------------------------------------------------- */

static void give_back(uint32_t index)
{
	struct command *command = slot(index);

	atomic_store_explicit(&command->state, SLOT_FREE, memory_order_relaxed);
	command->next = commands.free;
	commands.free = index;
}

/* Under the lock. */
static uint32_t take_slot(void)
{
	uint32_t index = commands.free;

	if (index != NO_COMMAND) {
		commands.free = slot(index)->next;
		return index;
	}
	if (commands.used >= BLOCKS * BLOCK_SIZE)
		return NO_COMMAND;
	if (!commands.blocks[commands.used >> BLOCK_BITS]) {
		commands.blocks[commands.used >> BLOCK_BITS] =
			guest_memory(BLOCK_SIZE * sizeof(struct command));
		if (!commands.blocks[commands.used >> BLOCK_BITS])
			return NO_COMMAND;
	}
	return commands.used++;
}

static uint32_t pop(struct opencl_queue *queue)
{
	uint32_t index = queue->first;

	if (index != NO_COMMAND) {
		queue->first = slot(index)->next;
		if (queue->first == NO_COMMAND)
			queue->last = NO_COMMAND;
	}
	return index;
}

static void push_back(struct opencl_queue *queue, uint32_t index)
{
	slot(index)->next = NO_COMMAND;
	if (queue->last == NO_COMMAND)
		queue->first = index;
	else
		slot(queue->last)->next = index;
	queue->last = index;
}

static void push_front(struct opencl_queue *queue, uint32_t index)
{
	slot(index)->next = queue->first;
	queue->first = index;
	if (queue->last == NO_COMMAND)
		queue->last = index;
}

/* ---- queues with pending commands -------------------------------------------------------------- */

/* Under the lock. */
static void append_busy(struct opencl_queue *queue)
{
	queue->busy = commands.process;
	queue->next_busy = NULL;
	if (commands.last_busy)
		commands.last_busy->next_busy = queue;
	else
		commands.first_busy = queue;
	commands.last_busy = queue;
	atomic_fetch_add_explicit(&commands.busy_count, 1, memory_order_relaxed);
}

/* The queue that has waited longest, out of the list until it is given back; NULL: there is none. */
static struct opencl_queue *take_busy(void)
{
	struct opencl_queue *queue;

	if (!guest_lock(&commands.lock))
		return NULL;
	queue = commands.first_busy;
	if (queue) {
		commands.first_busy = queue->next_busy;
		if (!queue->next_busy)
			commands.last_busy = NULL;
		atomic_fetch_sub_explicit(&commands.busy_count, 1, memory_order_relaxed);
	}
	guest_unlock(&commands.lock);
	return queue;
}

/* Without the lock the queue stays out of the list until its next command: a holder that a signal handler keeps may wait
 * for this very thread, which must not wait for it for ever. */
static void give_back_busy(struct opencl_queue *queue)
{
	bool is_locked = guest_lock(&commands.lock);

	queue->busy = 0;
	if (!is_locked)
		return;
	if (queue->first != NO_COMMAND)
		append_busy(queue);
	guest_unlock(&commands.lock);
}

/* Under the lock: commands that a callback finished leave the list, so that it stays short. */
static void reap(struct opencl_queue *queue)
{
	for (int i = 0; i < 4 && queue->first != NO_COMMAND; i++) {
		if (atomic_load_explicit(&slot(queue->first)->state, memory_order_acquire) !=
		    SLOT_DONE)
			return;
		give_back(pop(queue));
	}
}

/* ---- completion -------------------------------------------------------------------------------- */

/* The time of the end is asked first: where it is there, the command is over, and a query less is needed,
 * which takes 1600 ns on some runtimes. */
static bool finish(struct guest_thread *thread, struct command *command)
{
	cl_event event = command->event;
	uint64_t ended = read_stamp(event, CL_PROFILING_COMMAND_END);
	cl_int status = CL_COMPLETE;

	if (!ended) {
		if (!is_over(event, &status))
			return false;
		/* Perhaps it has ended between the two. */
		ended = read_stamp(event, CL_PROFILING_COMMAND_END);
	}
	if (command->mode == thread->mode)
		put_execution(thread, event, &command->of, status, ended, guest_now(thread));
	if (command->polled)
		atomic_fetch_sub_explicit(&opencl_polled, 1, memory_order_relaxed);
	next.clReleaseEvent(event);
	return true;
}

/* Of a command that is in no list and cannot be put back: what has a callback of its own is recorded by that. Its slot is
 * used no more. */
static void abandon(struct command *command)
{
	uint32_t expected = SLOT_PENDING;

	if (!command->polled ||
	    !atomic_compare_exchange_strong(&command->state, &expected, SLOT_TAKEN))
		return;
	atomic_fetch_sub_explicit(&opencl_polled, 1, memory_order_relaxed);
	next.clReleaseEvent(command->event);
	guest_trouble(RING_TROUBLE_TRACKING);
}

/* True: out of the list for good. */
static bool try_to_finish(struct guest_thread *thread, struct command *command)
{
	uint32_t expected = SLOT_PENDING;

	if (!atomic_compare_exchange_strong(&command->state, &expected, SLOT_TAKEN))
		return expected == SLOT_DONE;
	if (finish(thread, command))
		return true;
	atomic_store_explicit(&command->state, SLOT_PENDING, memory_order_release);
	return false;
}

static uint32_t pop_batch(struct opencl_queue *queue, uint32_t most, uint32_t batch[BATCH])
{
	uint32_t count = 0;

	if (!guest_lock(&commands.lock))
		return 0;
	while (count < most && queue->first != NO_COMMAND)
		batch[count++] = pop(queue);
	guest_unlock(&commands.lock);
	return count;
}

/* Puts back what is not over, frees the rest; returns how many are not over. Where commands end out of
 * order those go to the end, or a few that hang would hide all behind them. */
static uint32_t return_batch(struct opencl_queue *queue, const uint32_t *batch, const bool *over,
			     uint32_t count)
{
	uint32_t left = 0;

	if (!guest_lock(&commands.lock)) {
		for (uint32_t i = 0; i < count; i++)
			if (!over[i])
				abandon(slot(batch[i]));
		return 0;
	}
	for (uint32_t i = count; i-- > 0;) {
		if (over[i]) {
			give_back(batch[i]);
			continue;
		}
		left++;
		if (queue->flags & QUEUE_OUT_OF_ORDER)
			push_back(queue, batch[i]);
		else
			push_front(queue, batch[i]);
	}
	guest_unlock(&commands.lock);
	return left;
}

/* Asks at most `most` commands of a queue; returns how many, *ret_left: how many of those are not over. */
static uint32_t harvest_some(struct guest_thread *thread, struct opencl_queue *queue, uint32_t most,
			     uint32_t *ret_left)
{
	uint32_t batch[BATCH], count = pop_batch(queue, most < BATCH ? most : BATCH, batch);
	bool over[BATCH];

	for (uint32_t i = 0; i < count; i++)
		over[i] = try_to_finish(thread, slot(batch[i]));
	*ret_left = count ? return_batch(queue, batch, over, count) : 0;
	return count;
}

/* In order, whatever is behind a command that is not over is not over either. Out of order it may be: 32
 * vain queries are spent on finding it, from where the last search ended. */
static void harvest(struct guest_thread *thread, struct opencl_queue *queue)
{
	uint32_t vain_most = queue->flags & QUEUE_OUT_OF_ORDER ? BATCH : 1;
	uint32_t vain = 0, count = BATCH, left;

	while (queue->first != NO_COMMAND && count == BATCH && vain < vain_most) {
		count = harvest_some(thread, queue, BATCH, &left);
		vain += left;
	}
}

void opencl_harvest(struct guest_thread *thread, struct opencl_queue *queue)
{
	int saved = errno;

	if (!opencl_may_ask(thread))
		return;
	harvest(thread, queue);
	errno = saved;
}

void opencl_harvest_all(struct guest_thread *thread)
{
	uint32_t count = atomic_load_explicit(&commands.busy_count, memory_order_relaxed);
	struct opencl_queue *queue = atomic_load(&commands.first_busy);
	int saved = errno;

	if (!opencl_may_ask(thread))
		return;
	/* Most programs have one queue: it need not leave the list for that. */
	if (count == 1 && queue) {
		harvest(thread, queue);
		count = 0;
	}
	for (; count > 0; count--) {
		queue = take_busy();
		if (!queue)
			break;
		harvest(thread, queue);
		give_back_busy(queue);
	}
	errno = saved;
}

/* Looks at each queue in turn until the time is up. */
static void poll_queues(struct guest_thread *thread, uint64_t deadline)
{
	uint32_t count = atomic_load_explicit(&commands.busy_count, memory_order_relaxed);

	do {
		struct opencl_queue *queue = take_busy();
		uint32_t left = 0;

		if (!queue)
			return;
		while (queue->first != NO_COMMAND && harvest_some(thread, queue, 4, &left) &&
		       !left && guest_now(thread) < deadline)
			;
		give_back_busy(queue);
	} while (--count && guest_now(thread) < deadline);
}

void opencl_poll(struct guest_thread *thread)
{
	uint64_t begin = guest_now(thread), due, spare, cost;
	int saved;

	due = atomic_load_explicit(&commands.next_poll, memory_order_relaxed);
	if (begin < due || !atomic_load_explicit(&commands.busy_count, memory_order_relaxed) ||
	    !opencl_may_ask(thread))
		return;
	saved = errno;
	/* A query costs 6 ns on one runtime and 1600 on another: polling takes at most 1/16 of the time. What
	 * was not used of it is there for a program that slept and makes one call before it dies. */
	spare = due ? (begin - due) / 16 : 0;
	poll_queues(thread, begin + (spare < POLL_MOST ? spare : POLL_MOST));
	guest_section_end(thread, GUEST_SECTION_HARVEST, begin);
	cost = guest_now(thread) - begin;
	atomic_store_explicit(&commands.next_poll, begin + 16 * cost, memory_order_relaxed);
	errno = saved;
}

static void on_complete(cl_event event, cl_int status, void *data)
{
	uint32_t index = (uint32_t)(uintptr_t)data;
	uint32_t generation = (uint32_t)((uintptr_t)data >> 32);
	struct guest_thread *thread = guest_enter();
	uint32_t expected = SLOT_PENDING;
	struct command *command;
	int saved = errno;

	if (index >= commands.used || guest_exit_has_begun())
		return;
	command = slot(index);
	if (command->generation != generation ||
	    !atomic_compare_exchange_strong(&command->state, &expected, SLOT_TAKEN))
		return;
	if (command->generation != generation) {
		/* Freed and taken again between the two looks. */
		atomic_store_explicit(&command->state, SLOT_PENDING, memory_order_release);
		return;
	}
	/* Else its recording is over, and only our reference is left to give up. */
	if (thread && thread->mode == command->mode)
		put_execution(thread, event, &command->of, status,
			      read_stamp(event, CL_PROFILING_COMMAND_END), guest_now(thread));
	next.clReleaseEvent(command->event);
	atomic_store_explicit(&command->state, SLOT_DONE, memory_order_release);
	errno = saved;
}

/* ---- launches ---------------------------------------------------------------------------------- */

/* Under the lock. */
static struct command *fill_slot(const struct guest_thread *thread, uint32_t index,
				 struct opencl_queue *queue, cl_event event,
				 const struct followed *of)
{
	struct command *command = slot(index);

	command->generation++;
	command->event = event;
	command->of = *of;
	command->queue = queue;
	command->mode = thread->mode;
	command->polled = !queue->callbacks;
	atomic_store_explicit(&command->state, SLOT_PENDING, memory_order_release);
	return command;
}

/* Under the lock. */
static void make_busy(struct opencl_queue *queue, uint32_t index)
{
	push_back(queue, index);
	if (queue->busy != commands.process)
		append_busy(queue);
}

/* The callback is asked for while nobody else can see the command: who finds it in the list gives up our
 * reference to the event. */
static void follow_by_callback(struct command *command, uint32_t index)
{
	struct opencl_queue *queue = command->queue;
	uint32_t generation = command->generation;

	if (next.clSetEventCallback(command->event, CL_COMPLETE, (cl_callback)on_complete,
				    (void *)((uintptr_t)generation << 32 | index)) != CL_SUCCESS) {
		command->polled = true;
		atomic_fetch_add_explicit(&opencl_polled, 1, memory_order_relaxed);
	}
	if (!guest_lock(&commands.lock)) {
		abandon(command);
		return;
	}
	make_busy(queue, index);
	guest_unlock(&commands.lock);
}

/* Not inline: the way without it then saves no registers. */
static __attribute__((noinline)) void follow(struct guest_thread *thread,
					     struct opencl_launch *launch, cl_event event,
					     const struct followed *of)
{
	struct opencl_queue *queue = launch->known;
	struct command *command = NULL;
	uint32_t index = NO_COMMAND;

	if (guest_lock(&commands.lock)) {
		reap(queue);
		index = take_slot();
		if (index != NO_COMMAND)
			command = fill_slot(thread, index, queue, event, of);
		if (command && command->polled) {
			atomic_fetch_add_explicit(&opencl_polled, 1, memory_order_relaxed);
			make_busy(queue, index);
		}
		guest_unlock(&commands.lock);
	}
	if (!command) {
		guest_trouble(RING_TROUBLE_TRACKING);
		next.clReleaseEvent(event);
	} else if (queue->callbacks) {
		follow_by_callback(command, index);
	}
}

cl_event *opencl_launch_begin(struct guest_thread *thread, struct opencl_launch *launch,
			      cl_event *event)
{
	launch->began = guest_is_timed(thread) ? guest_now(thread) : 0;
	launch->asked = event;
	launch->known = opencl_queue(thread, launch->queue);
	launch->timed =
		launch->known && (launch->known->flags & QUEUE_TIMED) && !guest_exit_has_begun();
	launch->stack = guest_stack(thread);
	ring_prefetch(&thread->writer,
		      sizeof(struct record_launch) + sizeof(struct record_execution));
	launch->enter = guest_now(thread);
	return launch->timed && !event ? &launch->own : event;
}

static uint32_t clip_wait_count(const struct opencl_launch *launch)
{
	if (!launch->wait_list)
		return 0;
	return launch->wait_count < RECORD_WAIT_MOST ? launch->wait_count : RECORD_WAIT_MOST;
}

static void fill_values(struct record_launch *record, const struct opencl_launch *launch)
{
	uint64_t *value = record->values;

	for (uint32_t i = 0; i < launch->dimensions; i++)
		*value++ = launch->global_size ? launch->global_size[i] : 0;
	for (uint32_t i = 0; i < launch->dimensions; i++)
		*value++ = launch->local_size ? launch->local_size[i] : 0;
	for (uint32_t i = 0; i < record->wait_count; i++)
		*value++ = (uintptr_t)launch->wait_list[i];
	if (launch->stack)
		*value = launch->stack;
}

static bool put_launch(struct guest_thread *thread, struct opencl_launch *launch, cl_int result,
		       uint64_t correlation)
{
	uint32_t wait_count = 0, kernel = 0, size;
	struct record_launch *record;

	if (result == CL_SUCCESS) {
		wait_count = clip_wait_count(launch);
		/* A device may take more; a launch record does not. */
		if (launch->dimensions > 3)
			launch->dimensions = 3;
		if (launch->kernel)
			kernel = opencl_kernel(thread, launch->kernel, launch->known);
	} else {
		/* What the runtime has refused may be no kernel and no sizes at all: not to be touched. */
		launch->dimensions = 0;
	}
	size = (uint32_t)sizeof(*record) +
	       8 * (2 * launch->dimensions + wait_count + (launch->stack != 0));
	record = guest_reserve(thread, EVENT_LAUNCH, size,
			       launch->function | launch->command << 16 | launch->flags << 24 |
				       (launch->stack ? (uint32_t)RECORD_LAUNCH_STACK << 24 : 0));
	if (!record)
		return false;
	record->enter = launch->enter;
	record->exit = launch->exit;
	record->correlation = correlation;
	record->bytes = launch->bytes;
	record->handle = launch->asked && result == CL_SUCCESS ? (uintptr_t)*launch->asked : 0;
	record->result = result;
	record->queue = launch->known ? launch->known->id : 0;
	record->kernel = kernel;
	record->dimensions = (uint16_t)launch->dimensions;
	record->wait_count = (uint16_t)wait_count;
	fill_values(record, launch);
	ring_commit(&thread->writer);
	if (GUEST_UNLIKELY(launch->wait_count > wait_count) && wait_count)
		ring_count_lost(&thread->writer, EVENT_DEPENDENCY, launch->wait_count - wait_count);
	return true;
}

/* PoCL (3.1) enqueues the commands of a buffer and behind them a marker, whose event the buffer gets: three kernels of
 * 84 ms had an event that was submitted when they had ended and took 70 ns. */
static bool is_marker(const struct opencl_launch *launch)
{
	return launch->command == COMMAND_GRAPH && launch->known && launch->known->marks_graphs;
}

/* Of a command that was recorded and has time stamps, or will have. */
static void follow_to_the_end(struct guest_thread *thread, struct opencl_launch *launch,
			      cl_event event, uint64_t correlation)
{
	const struct followed of = {.correlation = correlation,
				    .queue_id = launch->known->id,
				    .stamps =
					    is_marker(launch) ? EXECUTION_QUEUED : EXECUTION_TIMED};
	uint64_t begin = guest_watch_begin(thread);

	if (launch->flags & LAUNCH_BLOCKING) {
		put_execution(thread, event, &of, CL_COMPLETE,
			      read_stamp(event, CL_PROFILING_COMMAND_END), launch->exit);
		if (!launch->asked)
			next.clReleaseEvent(event);
		/* In order, what was launched before it is over too. Nothing is harvested at exit. */
		if (launch->known->first != NO_COMMAND &&
		    !(launch->known->flags & QUEUE_OUT_OF_ORDER))
			harvest(thread, launch->known);
		opencl_read_device_timer(thread, launch->known, launch->exit);
	} else if (!launch->asked || next.clRetainEvent(event) == CL_SUCCESS) {
		follow(thread, launch, event, &of);
	} else {
		guest_trouble(RING_TROUBLE_TRACKING);
	}
	guest_watch_end(thread, GUEST_SECTION_HARVEST, begin);
}

void opencl_launch_end(struct guest_thread *thread, struct opencl_launch *launch, cl_int result)
{
	uint64_t correlation = result == CL_SUCCESS ? guest_new_correlation(thread) : 0;
	cl_event event = launch->asked ? NULL : launch->own;
	bool kept;
	int saved;

	if (result == CL_SUCCESS && launch->timed && launch->asked)
		event = *launch->asked;
	if (!launch->timed || !event)
		launch->flags |= LAUNCH_UNTIMED;
	/* In a child that was made inside of the call even the event is the parent's. */
	if (GUEST_UNLIKELY(atomic_load(&guest_page.mode) == GUEST_FRESH))
		return;
	kept = put_launch(thread, launch, result, correlation);
	if (result == CL_SUCCESS && launch->timed && event) {
		saved = errno;
		if (kept)
			follow_to_the_end(thread, launch, event, correlation);
		else if (!launch->asked) /* its completion would have nothing to belong to */
			next.clReleaseEvent(event);
		errno = saved;
	}
	if (GUEST_UNLIKELY(launch->began))
		guest_count_timed(thread,
				  launch->enter - launch->began + guest_now(thread) - launch->exit);
	if (GUEST_UNLIKELY(atomic_load_explicit(&opencl_polled, memory_order_relaxed)))
		opencl_poll(thread);
}
