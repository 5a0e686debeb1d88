/* SPDX-License-Identifier: MIT
 *
 * inject/level_zero/pending.c - record launches, track commands to their end, read their timestamps
 *
 * Runs in:  the profiled process, in appends and executions of lists, in waits, and before objects
 *           are destroyed
 * Gets:     launched commands with their events
 * Gives:    launch records, later execution records
 * Owns:     a pool of pending commands, mapped in blocks; a list of them for each queue
 * Fails:    without room, or without the lock in time, the command is launched, but not tracked,
 *           and counted
 * Why:      completion is polled, because Level Zero has no callbacks. A list that is executed
 *           again before its timestamps were read overwrites them, so timestamps that may belong to
 *           either execution are dropped. An event holds the timestamps of one command. If another
 *           command signals it before the first has completed, the first command gets no times. A
 *           program may destroy an event that a list refers to, and the guest may reuse its
 *           structure for another event. So each command contains the generation number of the
 *           structure.
 */
#include <errno.h>
#include <string.h>

#include "inject/level_zero/pending.h"

enum {
	BLOCK_SIZE = 1 << LEVEL_ZERO_BLOCK_BITS,
	/* Number of incomplete commands found before the poll leaves a queue. Commands may complete
	 * out of order. */
	MAX_VAIN = 32,
	/* MAX_POLL: most host time of one poll, 1 ms if guest_now counts ns, 0.3 to 0.5 ms if it
	 * counts cycles. MIN_POLL: least time of a poll (16 us; 5 to 8 us with cycles), so that
	 * its fixed cost is a small part. */
	MAX_POLL = 1 << 20,
	MIN_POLL = 1 << 14
};

struct level_zero_pending_commands level_zero_pending = {.free = NO_COMMAND};
_Atomic uint32_t level_zero_pending_count;

/* Commands pending at the fork belong to the parent. */
void level_zero_commands_forked(void)
{
	atomic_store(&level_zero_pending.lock.taken, 0);
	for (struct level_zero_queue *queue = level_zero_pending.queues; queue;
	     queue = queue->next_queue)
		queue->first = queue->last = NO_COMMAND;
	for (uint32_t i = 0; i < level_zero_pending.used; i++)
		if (level_zero_slot(i)->event)
			level_zero_slot(i)->event->pending = NO_COMMAND;
	level_zero_pending.used = 0;
	level_zero_pending.free = NO_COMMAND;
	atomic_store(&level_zero_pending_count, 0);
}

/* ---- timestamps ------------------------------------------------------------------------------ */

static void put_execution(struct guest_thread *thread, const struct level_zero_pending *pending,
			  uint32_t valid, uint64_t started, uint64_t ended, int32_t status)
{
	const struct record_parts parts = {.transfer = pending->transfer};
	struct record_execution *record;

	if (pending->mode != thread->mode)
		return;
	record = guest_reserve(thread, EVENT_EXECUTION,
			       (uint32_t)sizeof(*record) + record_parts_bytes(pending->detail),
			       valid | pending->detail);
	if (!record)
		return;
	record->correlation = pending->correlation;
	record->queued = record->submitted = 0;
	record->started = started;
	record->ended = ended;
	record->seen = guest_now(thread);
	record->queue = pending->queue_id;
	record->status = status;
	record_parts_write(record + 1, pending->detail, &parts);
	ring_commit(&thread->writer);
}

/* False: the event has no timestamps. */
static bool read_stamps(const struct level_zero_event *event, struct ze_stamps *ret_stamps)
{
	struct ze_kernel_stamps stamps = {0};

	if (!next.zeEventQueryKernelTimestamp ||
	    next.zeEventQueryKernelTimestamp(event->object.handle, &stamps) != ZE_SUCCESS)
		return false;
	*ret_stamps = stamps.global;
	return stamps.global.start || stamps.global.end;
}

static void put_timed(struct guest_thread *thread, const struct level_zero_pending *pending,
		      const struct ze_stamps *stamps)
{
	struct level_zero_device *device = pending->queue->device;
	uint64_t ended = level_zero_extend(device, stamps->end), took = stamps->end - stamps->start;

	if (device->stamp_bits && device->stamp_bits < 64)
		took &= (UINT64_C(1) << device->stamp_bits) - 1;
	put_execution(thread, pending, EXECUTION_STARTED | EXECUTION_ENDED, ended - took, ended, 0);
}

/* The caller holds the lock. Ends a command that was recorded or cannot be. */
static void end_pending(struct level_zero_pending *pending, bool is_over)
{
	struct level_zero_event *event = pending->event;
	bool gives_back =
		pending->gives_back && level_zero_event_is_there(event, pending->event_serial);

	if (event->pending != NO_COMMAND && level_zero_slot(event->pending) == pending)
		event->pending = NO_COMMAND;
	pending->event = NULL;
	atomic_fetch_sub_explicit(&level_zero_pending_count, 1, memory_order_relaxed);
	if (gives_back && is_over)
		level_zero_event_give_back(event);
	else if (gives_back)
		level_zero_event_lose(event);
}

/* The caller holds the lock. Ends a command whose times can no longer be known. */
static void end_untimed(struct guest_thread *thread, struct level_zero_pending *pending)
{
	if (thread)
		put_execution(thread, pending, 0, 0, 0, 0);
	else if (pending->mode)
		guest_trouble(RING_TROUBLE_TRACKING);
	end_pending(pending, false);
}

/* The caller holds the lock. False: the command has not completed. thread NULL: no ring to write
 * to. */
static bool try_to_finish(struct guest_thread *thread, struct level_zero_pending *pending)
{
	const struct level_zero_event *event = pending->event;
	struct ze_stamps stamps = {0};
	bool has_stamps;
	ze_result status;

	if (!level_zero_event_is_there(event, pending->event_serial)) {
		end_untimed(thread, pending);
		return true;
	}
	if (event->is_overtaken)
		return false;
	status = next.zeEventQueryStatus(event->object.handle);
	/* The event may be destroyed during the query: its destroyer waits for the lock for only a
	 * second. */
	if (!level_zero_event_is_there(event, pending->event_serial)) {
		end_untimed(thread, pending);
		return true;
	}
	if (status == ZE_NOT_READY)
		return false;
	has_stamps = status == ZE_SUCCESS && read_stamps(event, &stamps);
	/* Old timestamps of a program's event that the device has not reset yet. */
	if (has_stamps && stamps.start == event->before.start && stamps.end == event->before.end)
		return false;
	if (!thread && pending->mode)
		guest_trouble(RING_TROUBLE_TRACKING);
	else if (thread && has_stamps)
		put_timed(thread, pending, &stamps);
	else if (thread)
		put_execution(thread, pending, 0, 0, 0, -(int32_t)status);
	end_pending(pending, true);
	return true;
}

bool level_zero_read_event_stamps(struct guest_thread *thread, struct level_zero_event *event)
{
	struct level_zero_pending *pending;

	if (event->pending == NO_COMMAND)
		return true;
	pending = level_zero_slot(event->pending);
	if (pending->event != event || try_to_finish(thread, pending))
		return true;
	end_untimed(thread, pending);
	return false;
}

void level_zero_settle_last(struct guest_thread *thread, struct level_zero_event *event)
{
	if (event->is_mixed && event->pending != NO_COMMAND &&
	    level_zero_slot(event->pending)->event == event)
		end_untimed(thread, level_zero_slot(event->pending));
	event->is_overtaken = event->is_mixed = false;
	level_zero_read_event_stamps(thread, event);
}

void level_zero_prepare(struct guest_thread *thread, struct level_zero_event *event,
			bool is_renewed)
{
	if (!level_zero_read_event_stamps(thread, event)) {
		event->is_overtaken = true;
		event->is_mixed = !is_renewed;
	}
	event->before = (struct ze_stamps){0};
	if (!event->context && next.zeEventQueryStatus(event->object.handle) == ZE_SUCCESS)
		read_stamps(event, &event->before);
}

/* ---- pending commands ------------------------------------------------------------------------ */

static void give_back_slot(uint32_t index)
{
	level_zero_slot(index)->next = level_zero_pending.free;
	level_zero_pending.free = index;
}

/* The caller holds the lock. */
static uint32_t take_slot(void)
{
	uint32_t index = level_zero_pending.free;

	if (index != NO_COMMAND) {
		level_zero_pending.free = level_zero_slot(index)->next;
		return index;
	}
	if (level_zero_pending.used >= LEVEL_ZERO_BLOCKS * BLOCK_SIZE)
		return NO_COMMAND;
	if (!level_zero_pending.blocks[level_zero_pending.used >> LEVEL_ZERO_BLOCK_BITS]) {
		level_zero_pending.blocks[level_zero_pending.used >> LEVEL_ZERO_BLOCK_BITS] =
			guest_memory(BLOCK_SIZE * sizeof(struct level_zero_pending));
		if (!level_zero_pending.blocks[level_zero_pending.used >> LEVEL_ZERO_BLOCK_BITS])
			return NO_COMMAND;
	}
	return level_zero_pending.used++;
}

/* The caller holds the lock. Reads the timestamps of a queue until max_vain incomplete commands
 * were found or the deadline has passed. deadline: clock of guest_now; 0: none. */
static void harvest_queue(struct guest_thread *thread, struct level_zero_queue *queue,
			  uint32_t max_vain, uint64_t deadline)
{
	uint32_t *link = &queue->first, last = NO_COMMAND, vain = 0;
	bool is_late = false;

	while (*link != NO_COMMAND && vain < max_vain && !is_late) {
		uint32_t index = *link;
		struct level_zero_pending *pending = level_zero_slot(index);

		if (pending->event && !try_to_finish(thread, pending)) {
			/* Without a query to the driver for overtaken events. */
			vain += !pending->event->is_overtaken;
			last = index;
			link = &pending->next;
		} else {
			*link = pending->next;
			give_back_slot(index);
		}
		is_late = deadline && guest_now(thread) >= deadline;
	}
	if (*link == NO_COMMAND)
		queue->last = last;
}

/* The caller holds the lock. */
static void drop_pending(struct guest_thread *thread, struct level_zero_queue *queue)
{
	while (queue->first != NO_COMMAND) {
		uint32_t index = queue->first;

		queue->first = level_zero_slot(index)->next;
		if (level_zero_slot(index)->event)
			end_untimed(thread, level_zero_slot(index));
		give_back_slot(index);
	}
	queue->last = NO_COMMAND;
}

/* The caller holds the lock. Harvests all queues, and removes queues that were destroyed while
 * their destroyer could not get the lock. */
static void harvest_queues(struct guest_thread *thread, uint32_t max_vain, uint64_t deadline)
{
	struct level_zero_queue **link = &level_zero_pending.queues, *queue;

	while ((queue = *link)) {
		if (!level_zero_is_there(&queue->object)) {
			drop_pending(thread, queue);
			*link = queue->next_queue;
			continue;
		}
		if (queue->first != NO_COMMAND)
			harvest_queue(thread, queue, max_vain, deadline);
		if (deadline && guest_now(thread) >= deadline)
			return;
		link = &queue->next_queue;
	}
}

static void read_clocks(struct guest_thread *thread)
{
	level_zero_read_clocks(thread, guest_now(thread));
}

void level_zero_harvest(struct guest_thread *thread, struct level_zero_queue *queue)
{
	uint64_t begin = guest_watch_begin(thread);
	int saved = errno;

	if (!guest_is_current(thread) || !level_zero_lock())
		return;
	harvest_queue(thread, queue, MAX_VAIN, 0);
	level_zero_unlock();
	read_clocks(thread);
	guest_watch_end(thread, GUEST_SECTION_HARVEST, begin);
	errno = saved;
}

void level_zero_harvest_all(struct guest_thread *thread)
{
	uint64_t begin = guest_watch_begin(thread);
	int saved = errno;

	if (!guest_is_current(thread) || !level_zero_lock())
		return;
	harvest_queues(thread, MAX_VAIN, 0);
	level_zero_unlock();
	read_clocks(thread);
	guest_watch_end(thread, GUEST_SECTION_HARVEST, begin);
	errno = saved;
}

void level_zero_poll_pending(struct guest_thread *thread)
{
	uint64_t begin, due, spare;
	int saved;

	begin = guest_now(thread);
	due = atomic_load_explicit(&level_zero_pending.next_poll, memory_order_relaxed);
	/* Does not wait for the lock: its holder reads completed commands already, or the next poll
	 * does. */
	if (begin < due ||
	    atomic_load_explicit(&level_zero_pending.lock.taken, memory_order_relaxed) ||
	    !guest_is_current(thread) || !level_zero_lock())
		return;
	saved = errno;
	/* At most 1/16 of the time. A program that slept and makes one call may use the share it
	 * did not use before. */
	spare = due ? (begin - due) / 16 : 0;
	spare = spare < MIN_POLL ? (uint64_t)MIN_POLL : spare;
	harvest_queues(thread, 1, begin + (spare < MAX_POLL ? spare : (uint64_t)MAX_POLL));
	level_zero_unlock();
	read_clocks(thread);
	guest_section_end(thread, GUEST_SECTION_HARVEST, begin);
	atomic_store_explicit(&level_zero_pending.next_poll,
			      begin + 16 * (guest_now(thread) - begin), memory_order_relaxed);
	errno = saved;
}

/* The caller holds the lock. */
static void link_queue(struct level_zero_queue *queue)
{
	if (queue->is_linked)
		return;
	queue->is_linked = true;
	queue->next_queue = level_zero_pending.queues;
	level_zero_pending.queues = queue;
}

/* The caller holds the lock. Assigns the event to this command. A pending command that had it gets
 * no times. */
static void replace_pending(struct guest_thread *thread, const struct level_zero_pending *filled)
{
	struct level_zero_event *event = filled->event;

	if (event->pending == NO_COMMAND || level_zero_slot(event->pending)->event != event)
		return;
	event->is_overtaken = true;
	event->is_mixed = !filled->is_renewed ||
			  level_zero_slot(event->pending)->contents != filled->contents;
	end_untimed(thread, level_zero_slot(event->pending));
}

/* The caller holds the lock. */
static bool fill_pending(struct guest_thread *thread, const struct level_zero_pending *filled)
{
	struct level_zero_queue *queue = filled->queue;
	uint32_t index;

	replace_pending(thread, filled);
	index = take_slot();
	if (index == NO_COMMAND)
		return false;
	link_queue(queue);
	*level_zero_slot(index) = *filled;
	level_zero_slot(index)->next = NO_COMMAND;
	filled->event->pending = index;
	if (queue->last == NO_COMMAND)
		queue->first = index;
	else
		level_zero_slot(queue->last)->next = index;
	queue->last = index;
	atomic_fetch_add_explicit(&level_zero_pending_count, 1, memory_order_relaxed);
	return true;
}

static void track_command(struct guest_thread *thread, const struct level_zero_pending *pending)
{
	bool is_followed = false;

	if (level_zero_lock()) {
		is_followed = fill_pending(thread, pending);
		level_zero_unlock();
	}
	if (is_followed)
		return;
	if (pending->mode)
		guest_trouble(RING_TROUBLE_TRACKING);
	if (pending->gives_back)
		level_zero_event_lose(pending->event);
	else
		level_zero_spoil(pending->event);
}

/* ---- launches -------------------------------------------------------------------------------- */

static void fill_values(struct record_launch *record, const struct level_zero_launch *launch)
{
	const struct level_zero_command *command = launch->command;
	uint64_t *value = record->values;

	for (uint32_t i = 0; i < record->dimensions; i++)
		*value++ = command->global_size[i];
	for (uint32_t i = 0; i < record->dimensions; i++)
		*value++ = command->local_size[i];
	for (uint32_t i = 0; i < record->wait_count; i++)
		*value++ = command->waits[i];
	if (launch->stack)
		*value = launch->stack;
}

bool level_zero_put_launch(struct guest_thread *thread, const struct level_zero_launch *launch)
{
	const struct level_zero_command *command = launch->command;
	bool is_launched = launch->result == ZE_SUCCESS;
	uint32_t dimensions = is_launched ? command->dimensions : 0;
	uint32_t wait_count = is_launched ? command->wait_count : 0;
	uint32_t size = (uint32_t)sizeof(struct record_launch) +
			8 * (2 * dimensions + wait_count + (launch->stack != 0));
	uint32_t flags = launch->flags | (launch->stack ? (uint32_t)RECORD_LAUNCH_STACK : 0);
	uint32_t queue = level_zero_queue_id(thread, launch->queue);
	struct record_launch *record =
		guest_reserve(thread, EVENT_LAUNCH, size,
			      launch->function | command->command << 16 | flags << 24);

	if (!record)
		return false;
	record->enter = launch->enter;
	record->exit = launch->exit;
	record->correlation = launch->correlation;
	record->bytes = command->bytes;
	record->handle = is_launched ? (uintptr_t)command->asked : 0;
	record->result = (int32_t)launch->result;
	record->queue = queue;
	record->kernel = command->kernel_mode == thread->mode ? command->kernel : 0;
	record->dimensions = (uint16_t)dimensions;
	record->wait_count = (uint16_t)wait_count;
	fill_values(record, launch);
	ring_commit(&thread->writer);
	if (command->waits_cut && is_launched)
		ring_count_lost(&thread->writer, EVENT_DEPENDENCY, command->waits_cut);
	return true;
}

/* The bits of a record for the engine that executes the command: its number over all groups of the
 * device. A driver may give a copy of a queue that also computes to another engine. */
static uint32_t engine_of(const struct level_zero_queue *queue, uint32_t command)
{
	const struct level_zero_device *device = queue->device;
	const struct level_zero_group *group;
	uint32_t engine = queue->index;

	if (!device || queue->ordinal >= device->groups_count)
		return 0;
	group = &device->groups[queue->ordinal];
	if (queue->index >= group->engines || (group->computes && command != COMMAND_KERNEL))
		return 0;
	for (uint32_t i = 0; i < queue->ordinal; i++)
		engine += device->groups[i].engines;
	return record_hardware_queue(engine);
}

static void fill_parts(struct guest_thread *thread, struct level_zero_pending *pending,
		       const struct level_zero_command *command)
{
	ze_handle driver = pending->queue->context ? pending->queue->context->driver : NULL;
	struct record_parts parts = {0};

	parts.transfer = (struct record_transfer){
		.source_device = level_zero_device_id(thread, command->from_device, driver),
		.destination_device = level_zero_device_id(thread, command->to_device, driver),
		.source_memory = command->from_memory,
		.destination_memory = command->to_memory,
	};
	pending->transfer = parts.transfer;
	pending->detail = record_parts_detail(&parts) | engine_of(pending->queue, command->command);
}

void level_zero_launch_command(struct guest_thread *thread, struct level_zero_launch *launch,
			       bool gives_back, uint64_t contents)
{
	const struct level_zero_command *command = launch->command;
	struct level_zero_event *event =
		level_zero_event_is_there(command->event, command->event_serial) ? command->event
										 : NULL;
	struct level_zero_pending pending = {
		.event = event,
		.event_serial = command->event_serial,
		.queue = launch->queue,
		.contents = contents,
		.gives_back = gives_back,
		.is_renewed = command->is_renewed,
	};
	bool is_executed;

	launch->correlation = guest_new_correlation(thread);
	launch->flags |= launch->command->flags | (event ? 0 : LAUNCH_UNTIMED) |
			 (launch->queue->is_synchronous ? LAUNCH_BLOCKING : 0);
	fill_parts(thread, &pending, command);
	is_executed = !event && (pending.detail & RECORD_PARTS);
	launch->flags |= is_executed ? (uint32_t)RECORD_LAUNCH_EXECUTED : 0;
	pending.mode = level_zero_put_launch(thread, launch) ? thread->mode : 0;
	pending.queue_id = launch->queue->object.id;
	pending.correlation = launch->correlation;
	if (event)
		track_command(thread, &pending);
	else if (is_executed)
		put_execution(thread, &pending, 0, 0, 0, 0);
}

void level_zero_event_is_over(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_event *event = thread ? level_zero_find(handle, LEVEL_ZERO_EVENT) : NULL;
	int saved = errno;

	/* Does not wait for the lock: its holder reads the event already, or the next poll does. */
	if (GUEST_LIKELY(!event || event->pending == NO_COMMAND) ||
	    atomic_load_explicit(&level_zero_pending.lock.taken, memory_order_relaxed) ||
	    !level_zero_lock())
		return;
	if (event->pending != NO_COMMAND && level_zero_slot(event->pending)->event == event)
		try_to_finish(thread, level_zero_slot(event->pending));
	level_zero_unlock();
	errno = saved;
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* If the host resets a signalled event, the device has finished with it. Otherwise the program
 * could not interpret the event either. */
void level_zero_before_event_changes(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_event *event = level_zero_find(handle, LEVEL_ZERO_EVENT);
	int saved = errno;

	if (!event || (event->pending == NO_COMMAND && !event->is_overtaken))
		return;
	if (!level_zero_lock()) {
		level_zero_spoil(event);
		return;
	}
	if (!level_zero_read_event_stamps(thread, event) && !event->is_overtaken)
		level_zero_spoil(event);
	else if (event->is_overtaken && next.zeEventQueryStatus(handle) == ZE_SUCCESS)
		event->is_overtaken = event->is_mixed = false;
	level_zero_unlock();
	errno = saved;
}

/* The device no longer signals the event, or the program may not destroy it. */
bool level_zero_before_event_goes(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_event *event = level_zero_find(handle, LEVEL_ZERO_EVENT);
	bool is_locked;
	int saved = errno;

	if (!event || event->pending == NO_COMMAND)
		return true;
	is_locked = level_zero_lock();
	if (is_locked)
		level_zero_settle_last(thread, event);
	level_zero_mark_gone(&event->object);
	if (is_locked)
		level_zero_unlock();
	errno = saved;
	return is_locked;
}

/* The caller holds the lock. */
static void unlink_queue(struct level_zero_queue *queue)
{
	struct level_zero_queue **link = &level_zero_pending.queues;

	while (*link && *link != queue)
		link = &(*link)->next_queue;
	if (*link)
		*link = queue->next_queue;
	queue->is_linked = false;
}

bool level_zero_before_queue_goes(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_queue *queue = level_zero_queue(handle);
	int saved = errno;

	if (!queue)
		return true;
	/* The next holder of the lock finds the queue marked and removes it from the list. */
	if (!level_zero_lock()) {
		level_zero_mark_gone(&queue->object);
		return false;
	}
	harvest_queue(thread, queue, UINT32_MAX, 0);
	drop_pending(thread, queue);
	unlink_queue(queue);
	level_zero_unlock();
	errno = saved;
	return true;
}

bool level_zero_before_context_goes(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_context *context = level_zero_find(handle, LEVEL_ZERO_CONTEXT);
	int saved = errno;

	if (!context)
		return true;
	/* From here on the driver is not called with events of this context, because they are
	 * destroyed with it. */
	if (!level_zero_lock()) {
		level_zero_mark_gone(&context->object);
		return false;
	}
	harvest_queues(thread, UINT32_MAX, 0);
	for (struct level_zero_queue *queue = level_zero_pending.queues; queue;
	     queue = queue->next_queue)
		for (uint32_t i = queue->first; i != NO_COMMAND; i = level_zero_slot(i)->next)
			if (level_zero_slot(i)->event &&
			    level_zero_slot(i)->event->context == context)
				end_untimed(thread, level_zero_slot(i));
	level_zero_mark_gone(&context->object);
	level_zero_unlock();
	level_zero_events_destroy(context);
	errno = saved;
	return true;
}
