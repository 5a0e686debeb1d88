/* SPDX-License-Identifier: MIT
 *
 * inject/opencl/commands.c - track each command from its enqueue to its device timestamps
 *
 * Runs in:  the profiled process, around every enqueue; in PoCL's callbacks
 * Gets:     an enqueue call before and after
 * Gives:    a launch record, later an execution record
 * Owns:     a pool of command slots mapped in blocks; one reference to each pending command's event
 * Fails:    without a slot, or without the lock in time, the command is launched, but not tracked,
 *           and counted
 * Why:      completion is polled, because many drivers need a thread or a lock for a callback. On
 *           platforms whose callbacks are tested (PoCL) the guest uses them too, because a program
 *           that sleeps and ends by _exit makes no call in which to poll (100 of 100 commands have
 *           times instead of 0). No driver function is called with the lock held, because a driver
 *           may call the guest back under the driver's own lock.
 */
#include <errno.h>
#include <string.h>

#include "inject/opencl/handles.h"
#include "inject/opencl/opencl.h"

enum { BLOCK_BITS = 14, BLOCK_SIZE = 1 << BLOCK_BITS, BLOCKS = 64, BATCH = 32, NEWEST_BITS = 12 };
/* Longest poll: 1 ms if guest_now counts ns, 0.3 to 0.5 ms if it counts cycles. */
enum { MAX_POLL = 1 << 20 };

enum slot_state {
	SLOT_FREE,
	SLOT_PENDING, /* the thread that swaps it to TAKEN reads its timestamps */
	SLOT_TAKEN,
	SLOT_DONE /* recorded; stays in its queue's list until freed */
};

struct command {
	cl_event event;
	struct opencl_followed of;
	struct opencl_queue *queue;
	uint32_t mode; /* attachment of the launch; the recorder of another one does not know it */
	bool polled;   /* counted in opencl_polled */
	uint32_t next;
	/* differs if a late callback finds the slot in use by another command */
	uint32_t generation;
	_Atomic uint32_t state;
};

static struct {
	struct guest_lock lock; /* protects lists and pool */
	struct command *blocks[BLOCKS];
	uint32_t used; /* number of slots ever handed out */
	uint32_t free; /* first slot that was given back */
	_Atomic uint64_t next_poll;
	/* Queues with pending commands, first in, first out. Some may have none. */
	struct opencl_queue *_Atomic first_busy;
	struct opencl_queue *last_busy;
	_Atomic uint32_t busy_count;
	/* number of forks; a queue's `busy` differs in a child, so no queue is in its list */
	uint32_t process;
	/* By place_of_event: slot of the last command with this hash. The slot may belong to
	 * another event by now. Earlier commands with the same hash are found only by polling. */
	uint32_t newest[1 << NEWEST_BITS];
} commands = {.free = NO_COMMAND, .process = 1};

_Atomic uint32_t opencl_polled;

/* The child has no other thread, so no thread holds a batch. */
void opencl_commands_forked(void)
{
	struct opencl_queue *queue;

	atomic_store(&commands.lock.taken, 0);
	for (uint32_t i = 0; i < commands.used; i++) {
		queue = commands.blocks[i >> BLOCK_BITS][i & (BLOCK_SIZE - 1)].queue;
		if (queue) /* NULL: the slot was being taken */
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

static uint32_t place_of_event(cl_event event)
{
	return (uint32_t)((uintptr_t)event * UINT64_C(0x9e3779b97f4a7c15) >> (64 - NEWEST_BITS));
}

/* ---- state of a command's event -------------------------------------------------------------- */

/* True: complete or failed. */
static bool is_over(cl_event event, cl_int *ret_status)
{
	cl_int status = 1;

	if (next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
				NULL) != CL_SUCCESS)
		status = -1;
	*ret_status = status;
	return status <= CL_COMPLETE;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static void give_back_slot(uint32_t index)
{
	struct command *command = slot(index);

	atomic_store_explicit(&command->state, SLOT_FREE, memory_order_relaxed);
	command->next = commands.free;
	commands.free = index;
}

/* The caller holds the lock. */
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

static uint32_t pop_command(struct opencl_queue *queue)
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

/* ---- queues with pending commands ------------------------------------------------------------ */

/* The caller holds the lock. */
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

/* Takes the queue that has waited longest out of the list until it is given back. NULL: the list is
 * empty. */
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

/* Does not wait forever for the lock: a signal handler may have interrupted its holder and wait for
 * this thread. Without the lock the queue stays out of the list until its next command. */
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

/* The caller holds the lock. Removes commands that a callback finished, so that the list stays
 * short. */
static void free_done(struct opencl_queue *queue)
{
	for (int i = 0; i < 4 && queue->first != NO_COMMAND; i++) {
		if (atomic_load_explicit(&slot(queue->first)->state, memory_order_acquire) !=
		    SLOT_DONE)
			return;
		give_back_slot(pop_command(queue));
	}
}

/* ---- completion ------------------------------------------------------------------------------ */

/* Queries the end time first: if it is there, the command has completed. That saves a query of the
 * status, which takes 1600 ns on some runtimes. */
static bool finish_command(struct guest_thread *thread, struct command *command)
{
	cl_event event = command->event;
	uint64_t ended = opencl_read_stamp(event, CL_PROFILING_COMMAND_END);
	cl_int status = CL_COMPLETE;

	if (!ended) {
		if (!is_over(event, &status))
			return false;
		/* The command may have ended between the two queries. */
		ended = opencl_read_stamp(event, CL_PROFILING_COMMAND_END);
	}
	if (command->mode == thread->mode)
		opencl_put_execution(thread, event, &command->of, status, ended, guest_now(thread));
	if (command->polled)
		atomic_fetch_sub_explicit(&opencl_polled, 1, memory_order_relaxed);
	next.clReleaseEvent(event);
	return true;
}

/* Gives up a command that is in no list and cannot be put back. If it has a callback, the callback
 * records it. Its slot is never reused. */
static void abandon_command(struct command *command)
{
	uint32_t expected = SLOT_PENDING;

	if (!command->polled ||
	    !atomic_compare_exchange_strong(&command->state, &expected, SLOT_TAKEN))
		return;
	atomic_fetch_sub_explicit(&opencl_polled, 1, memory_order_relaxed);
	next.clReleaseEvent(command->event);
	guest_trouble(RING_TROUBLE_TRACKING);
}

/* True: the command leaves the list for good. */
static bool try_to_finish(struct guest_thread *thread, struct command *command)
{
	uint32_t expected = SLOT_PENDING;

	if (!atomic_compare_exchange_strong(&command->state, &expected, SLOT_TAKEN))
		return expected == SLOT_DONE;
	if (finish_command(thread, command))
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
		batch[count++] = pop_command(queue);
	guest_unlock(&commands.lock);
	return count;
}

/* Puts incomplete commands back and frees the others; returns the number of incomplete ones. In an
 * out-of-order queue they go to the end, so that a few that hang do not hide all others. */
static uint32_t return_batch(struct opencl_queue *queue, const uint32_t *batch, const bool *over,
			     uint32_t count)
{
	uint32_t left = 0;

	if (!guest_lock(&commands.lock)) {
		for (uint32_t i = 0; i < count; i++)
			if (!over[i])
				abandon_command(slot(batch[i]));
		return 0;
	}
	for (uint32_t i = count; i-- > 0;) {
		if (over[i]) {
			give_back_slot(batch[i]);
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

/* Checks at most `most` commands of a queue and returns how many. ret_left: number of incomplete
 * ones among them. */
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

/* In an in-order queue, no command behind an incomplete one has completed. In an out-of-order queue
 * one may have, so up to 32 queries may find incomplete commands, continuing where the last search
 * ended. */
static void harvest_queue(struct guest_thread *thread, struct opencl_queue *queue)
{
	uint32_t max_vain = queue->flags & QUEUE_OUT_OF_ORDER ? BATCH : 1;
	uint32_t vain = 0, count = BATCH, left;

	while (queue->first != NO_COMMAND && count == BATCH && vain < max_vain) {
		count = harvest_some(thread, queue, BATCH, &left);
		vain += left;
	}
}

void opencl_harvest(struct guest_thread *thread, struct opencl_queue *queue)
{
	int saved = errno;

	if (!opencl_may_ask(thread))
		return;
	harvest_queue(thread, queue);
	errno = saved;
}

/* Claims the pending command of an event; only the caller reads its timestamps then. NULL: the
 * event is not tracked, or another thread has claimed it. */
static struct command *take_command(cl_event event)
{
	struct command *command = NULL;
	uint32_t pending = SLOT_PENDING, index;

	if (!guest_lock(&commands.lock))
		return NULL;
	index = commands.newest[place_of_event(event)];
	if (index < commands.used && slot(index)->event == event &&
	    atomic_compare_exchange_strong(&slot(index)->state, &pending, SLOT_TAKEN))
		command = slot(index);
	guest_unlock(&commands.lock);
	return command;
}

/* The command stays in its list; the next harvest of its queue frees it. */
static void finish_in_place(struct guest_thread *thread, struct command *command)
{
	struct opencl_queue *queue = command->queue;

	atomic_store_explicit(&command->state,
			      finish_command(thread, command) ? SLOT_DONE : SLOT_PENDING,
			      memory_order_release);
	/* In an in-order queue, earlier commands have completed too. */
	if (!(queue->flags & QUEUE_OUT_OF_ORDER))
		harvest_queue(thread, queue);
}

void opencl_event_is_over(struct guest_thread *thread, cl_event event)
{
	struct command *command;
	uint64_t begin;
	int saved = errno;

	if (!atomic_load_explicit(&opencl_polled, memory_order_relaxed) || !opencl_may_ask(thread))
		return;
	command = take_command(event);
	if (command) {
		begin = guest_section_begin(thread);
		finish_in_place(thread, command);
		guest_section_end(thread, GUEST_SECTION_HARVEST, begin);
	}
	errno = saved;
}

void opencl_harvest_all(struct guest_thread *thread)
{
	uint32_t count = atomic_load_explicit(&commands.busy_count, memory_order_relaxed);
	struct opencl_queue *queue = atomic_load(&commands.first_busy);
	int saved = errno;

	if (!opencl_may_ask(thread))
		return;
	/* Most programs have one queue, which need not leave the list for this. */
	if (count == 1 && queue) {
		harvest_queue(thread, queue);
		count = 0;
	}
	for (; count > 0; count--) {
		queue = take_busy();
		if (!queue)
			break;
		harvest_queue(thread, queue);
		give_back_busy(queue);
	}
	errno = saved;
}

/* Harvests the queues in turn until the deadline. */
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
	/* A query costs 6 ns on one runtime and 1600 ns on another, so polling takes at most 1/16
	 * of the time. A program that slept and makes one call before its end may use the share it
	 * did not use before. */
	spare = due ? (begin - due) / 16 : 0;
	poll_queues(thread, begin + (spare < MAX_POLL ? spare : MAX_POLL));
	guest_section_end(thread, GUEST_SECTION_HARVEST, begin);
	cost = guest_now(thread) - begin;
	atomic_store_explicit(&commands.next_poll, begin + 16 * cost, memory_order_relaxed);
	errno = saved;
}

static void begin_polling(struct command *command)
{
	command->polled = true;
	atomic_fetch_add_explicit(&opencl_polled, 1, memory_order_relaxed);
}

static void on_complete(cl_event event, cl_int status, void *data)
{
	uint32_t index = (uint32_t)(uintptr_t)data, generation = (uint32_t)((uintptr_t)data >> 32);
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
	/* The slot was freed and taken again between the two checks, or this thread has no ring: a
	 * thread that has one polls the command. */
	if (command->generation != generation || (!thread && guest_still_recording())) {
		if (command->generation == generation)
			begin_polling(command);
		atomic_store_explicit(&command->state, SLOT_PENDING, memory_order_release);
		return;
	}
	/* Otherwise its recording has ended, and only our reference to the event is released. */
	if (thread && thread->mode == command->mode)
		opencl_put_execution(thread, event, &command->of, status,
				     opencl_read_stamp(event, CL_PROFILING_COMMAND_END),
				     guest_now(thread));
	next.clReleaseEvent(command->event);
	atomic_store_explicit(&command->state, SLOT_DONE, memory_order_release);
	errno = saved;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The caller holds the lock. */
static struct command *fill_slot(const struct guest_thread *thread, uint32_t index,
				 struct opencl_queue *queue, cl_event event,
				 const struct opencl_followed *of)
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

/* The caller holds the lock. */
static void make_busy(struct opencl_queue *queue, uint32_t index)
{
	push_back(queue, index);
	if (slot(index)->polled)
		commands.newest[place_of_event(slot(index)->event)] = index;
	if (queue->busy != commands.process)
		append_busy(queue);
}

/* Sets the callback before the command is in a list, because a thread that finds it there releases
 * our reference to the event. */
static void follow_by_callback(struct command *command, uint32_t index)
{
	struct opencl_queue *queue = command->queue;
	uint32_t generation = command->generation;

	if (next.clSetEventCallback(command->event, CL_COMPLETE, (cl_callback)on_complete,
				    (void *)((uintptr_t)generation << 32 | index)) != CL_SUCCESS)
		begin_polling(command);
	if (!guest_lock(&commands.lock)) {
		abandon_command(command);
		return;
	}
	make_busy(queue, index);
	guest_unlock(&commands.lock);
}

/* Not inline, because the path without it then saves no registers. */
static __attribute__((noinline)) void track_command(struct guest_thread *thread,
						    struct opencl_launch *launch, cl_event event,
						    const struct opencl_followed *of)
{
	struct opencl_queue *queue = launch->known;
	struct command *command = NULL;
	uint32_t index = NO_COMMAND;

	if (guest_lock(&commands.lock)) {
		free_done(queue);
		index = take_slot();
		if (index != NO_COMMAND)
			command = fill_slot(thread, index, queue, event, of);
		if (command && command->polled) {
			begin_polling(command);
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
	guest_timing_begin(thread, &launch->timing);
	launch->asked = event;
	launch->known = opencl_queue(thread, launch->queue);
	launch->timed =
		launch->known && (launch->known->flags & QUEUE_TIMED) && !guest_exit_has_begun();
	/* Programs launch all kernels from one place of their own library or of Python's. */
	launch->stack = guest_stack_of(thread, launch->site ^ (uint64_t)(uintptr_t)launch->kernel);
	ring_prefetch(&thread->writer,
		      sizeof(struct record_launch) + sizeof(struct record_execution));
	launch->enter = guest_now(thread);
	return launch->timed && !event ? &launch->own : event;
}

static uint32_t clip_wait_count(const struct opencl_launch *launch)
{
	if (!launch->wait_list)
		return 0;
	return launch->wait_count < MAX_RECORD_WAIT ? launch->wait_count : MAX_RECORD_WAIT;
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
		/* Devices may support more dimensions than a launch record. */
		if (launch->dimensions > 3)
			launch->dimensions = 3;
		if (launch->kernel)
			kernel = opencl_kernel(thread, launch->kernel, launch->known);
	} else {
		/* The arguments of a refused call may be invalid, so they are not read. */
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

/* Runs in the caller's section. */
static void finish_waited_for(struct guest_thread *thread, const struct opencl_launch *launch)
{
	struct command *command;

	if (!opencl_may_ask(thread))
		return;
	for (uint32_t i = 0; launch->wait_list && i < launch->wait_count; i++) {
		command = take_command(launch->wait_list[i]);
		if (command)
			finish_in_place(thread, command);
	}
}

/* Tracks a command whose launch was recorded and that has timestamps, or will have. */
static void follow_to_the_end(struct guest_thread *thread, struct opencl_launch *launch,
			      cl_event event, uint64_t correlation)
{
	const struct opencl_followed of = {.correlation = correlation,
					   .queue_id = launch->known->id,
					   .stamps = opencl_is_marker(launch) ? EXECUTION_QUEUED
									      : EXECUTION_TIMED,
					   .is_migration = launch->command == COMMAND_MIGRATE};
	uint64_t begin = guest_watch_begin(thread);

	if (launch->flags & LAUNCH_BLOCKING) {
		opencl_put_execution(thread, event, &of, CL_COMPLETE,
				     opencl_read_stamp(event, CL_PROFILING_COMMAND_END),
				     launch->exit);
		if (!launch->asked)
			next.clReleaseEvent(event);
		/* The commands of its wait list have completed. In an in-order queue, so have all
		 * earlier commands. */
		if (launch->known->flags & QUEUE_OUT_OF_ORDER)
			finish_waited_for(thread, launch);
		if (launch->known->first != NO_COMMAND)
			harvest_queue(thread, launch->known);
		opencl_read_device_timer(thread, launch->known, launch->exit);
	} else if (!launch->asked || next.clRetainEvent(event) == CL_SUCCESS) {
		track_command(thread, launch, event, &of);
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
	/* In a child process created inside the call, even the event belongs to the parent. */
	if (GUEST_UNLIKELY(atomic_load(&guest_page.mode) == GUEST_FRESH))
		return;
	kept = put_launch(thread, launch, result, correlation);
	if (result == CL_SUCCESS && launch->timed && event) {
		saved = errno;
		if (kept)
			follow_to_the_end(thread, launch, event, correlation);
		else if (!launch->asked) /* without a launch record its execution could not be
					    matched */
			next.clReleaseEvent(event);
		errno = saved;
	}
	guest_timing_end(thread, &launch->timing, launch->enter, launch->exit);
	if (GUEST_UNLIKELY(atomic_load_explicit(&opencl_polled, memory_order_relaxed)))
		opencl_poll(thread);
}
