/* SPDX-License-Identifier: MIT
 *
 * inject/level_zero_commands.c - follow each command from its append to its device's time stamps
 *
 * Runs in:  the profiled process, around every append and every execution of lists
 * Gets:     appends and executions before and after   Gives: launch records, later execution records
 * Owns:     a pool of pending commands, mapped in blocks; what was appended to each list
 * Fails:    no room, no lock in time: the command is launched, not followed, and counted
 * Why:      a list's commands are put into a queue when the list is executed, perhaps many times: each execution is a
 *           launch of each command, and its stack is that of the append, which says whose work it is. Completion is
 *           polled, since Level Zero has no callbacks. A list that is executed again before its time stamps were read
 *           overwrites them: what nobody can tell apart has none. An event has one command at most whose time stamps it
 *           may show; where another one signals it before that is over, the earlier one is given up. The program's
 *           events may go while lists name them: a list's command has the number of the use of the structure too, and
 *           the driver is asked about none that has gone.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "inject/level_zero.h"

enum {
	BLOCK_BITS = 14,
	BLOCK_SIZE = 1 << BLOCK_BITS,
	BLOCKS = 64,
	COMMANDS_FIRST = 64,
	COMMANDS_MOST = 1 << 20,
	/* Queries of commands that are not over, before a queue is left alone: they may end in another order. */
	VAIN_MOST = 32,
	/* Most host time of one poll: 1 ms in ns, 0.3 to 0.5 ms in cycles. Least, so that what a poll costs besides the
	 * queries is not most of it: 16 µs, 5 to 8 in cycles. */
	POLL_MOST = 1 << 20,
	POLL_LEAST = 1 << 14
};

struct pending {
	struct level_zero_event *event; /* NULL: it is over, and recorded */
	uint64_t event_serial;
	struct level_zero_queue *queue;
	uint64_t contents; /* of the list that it is of */
	uint64_t correlation;
	uint32_t queue_id;
	uint32_t
		mode; /* of the attachment: another's recorder knows it not; 0: its launch was lost */
	uint32_t next;
	bool gives_back; /* the event is one of ours, and no list's */
	bool is_renewed; /* as of struct level_zero_command */
};

static struct {
	struct guest_lock lock; /* lists and pool */
	int cancel; /* under the lock: whether its holder may be cancelled when it has unlocked */
	struct pending *blocks[BLOCKS];
	uint32_t used; /* slots ever handed out */
	uint32_t free; /* first of the given back */
	struct level_zero_queue *queues;
	_Atomic uint32_t pending_count;
	_Atomic uint64_t next_poll;
	_Atomic uint64_t last_contents;
	_Atomic uint32_t last_thread;
} commands = {.free = NO_COMMAND};

/* Tells threads apart whose rings are the same one after the other. */
static _Thread_local uint32_t own_number __attribute__((tls_model("initial-exec")));

static uint32_t thread_number(void)
{
	if (GUEST_UNLIKELY(!own_number))
		own_number =
			atomic_fetch_add_explicit(&commands.last_thread, 1, memory_order_relaxed) +
			1;
	return own_number;
}

static struct pending *slot(uint32_t index)
{
	return &commands.blocks[index >> BLOCK_BITS][index & (BLOCK_SIZE - 1)];
}

/* What was pending is the parent's. */
void level_zero_commands_forked(void)
{
	atomic_store(&commands.lock.taken, 0);
	for (struct level_zero_queue *queue = commands.queues; queue; queue = queue->next_queue)
		queue->first = queue->last = NO_COMMAND;
	for (uint32_t i = 0; i < commands.used; i++)
		if (slot(i)->event)
			slot(i)->event->pending = NO_COMMAND;
	commands.used = 0;
	commands.free = NO_COMMAND;
	atomic_store(&commands.pending_count, 0);
}

/* The driver is asked under the lock, and a thread that is cancelled there would keep it for good. */
static bool lock_commands(void)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (guest_lock(&commands.lock)) {
		commands.cancel = cancel;
		return true;
	}
	pthread_setcancelstate(cancel, NULL);
	return false;
}

static void unlock_commands(void)
{
	int cancel = commands.cancel;

	guest_unlock(&commands.lock);
	pthread_setcancelstate(cancel, NULL);
}

uint64_t level_zero_new_contents(void)
{
	return atomic_fetch_add_explicit(&commands.last_contents, 1, memory_order_relaxed) + 1;
}

/* Whether the driver may be asked about it. */
static bool is_there(const struct level_zero_event *event, uint64_t serial)
{
	return event &&
	       atomic_load_explicit(&event->object.serial, memory_order_acquire) == serial &&
	       (!event->context || level_zero_is_there(&event->context->object));
}

/* Something signals it, and nobody knows when: it has no time stamps that are somebody's until the program resets it. */
static void spoil(struct level_zero_event *event)
{
	event->is_overtaken = event->is_mixed = true;
}

/* ---- time stamps ------------------------------------------------------------------------------- */

static void put_execution(struct guest_thread *thread, const struct pending *pending,
			  uint32_t valid, uint64_t started, uint64_t ended, int32_t status)
{
	struct record_execution *record;

	if (pending->mode != thread->mode)
		return;
	record = guest_reserve(thread, EVENT_EXECUTION, sizeof(*record), valid);
	if (!record)
		return;
	record->correlation = pending->correlation;
	record->queued = record->submitted = 0;
	record->started = started;
	record->ended = ended;
	record->seen = guest_now(thread);
	record->queue = pending->queue_id;
	record->status = status;
	ring_commit(&thread->writer);
}

/* False: there are none. */
static bool read_stamps(const struct level_zero_event *event, struct ze_stamps *ret_stamps)
{
	struct ze_kernel_stamps stamps = {0};

	if (!next.zeEventQueryKernelTimestamp ||
	    next.zeEventQueryKernelTimestamp(event->object.handle, &stamps) != ZE_SUCCESS)
		return false;
	*ret_stamps = stamps.global;
	return stamps.global.start || stamps.global.end;
}

static void put_timed(struct guest_thread *thread, const struct pending *pending,
		      const struct ze_stamps *stamps)
{
	struct level_zero_device *device = pending->queue->device;
	uint64_t ended = level_zero_extend(device, stamps->end), took = stamps->end - stamps->start;

	if (device->stamp_bits && device->stamp_bits < 64)
		took &= (UINT64_C(1) << device->stamp_bits) - 1;
	put_execution(thread, pending, EXECUTION_STARTED | EXECUTION_ENDED, ended - took, ended, 0);
}

/* Under the lock: it is recorded, or nobody can. */
static void end_pending(struct pending *pending, bool is_over)
{
	struct level_zero_event *event = pending->event;
	bool gives_back = pending->gives_back && is_there(event, pending->event_serial);

	if (event->pending != NO_COMMAND && slot(event->pending) == pending)
		event->pending = NO_COMMAND;
	pending->event = NULL;
	atomic_fetch_sub_explicit(&commands.pending_count, 1, memory_order_relaxed);
	if (gives_back && is_over)
		level_zero_event_give_back(event);
	else if (gives_back)
		level_zero_event_lose(event);
}

/* Under the lock: from now on nobody can know when it was. */
static void give_up(struct guest_thread *thread, struct pending *pending)
{
	if (thread)
		put_execution(thread, pending, 0, 0, 0, 0);
	else if (pending->mode)
		guest_trouble(RING_TROUBLE_TRACKING);
	end_pending(pending, false);
}

/* Under the lock; false: it is not over. thread NULL: nobody to tell. */
static bool try_to_finish(struct guest_thread *thread, struct pending *pending)
{
	const struct level_zero_event *event = pending->event;
	struct ze_stamps stamps = {0};
	bool has_stamps;
	ze_result status;

	if (!is_there(event, pending->event_serial)) {
		give_up(thread, pending);
		return true;
	}
	if (event->is_overtaken)
		return false;
	status = next.zeEventQueryStatus(event->object.handle);
	/* It may have gone meanwhile: who destroys it waits for the lock for a second. */
	if (!is_there(event, pending->event_serial)) {
		give_up(thread, pending);
		return true;
	}
	if (status == ZE_NOT_READY)
		return false;
	has_stamps = status == ZE_SUCCESS && read_stamps(event, &stamps);
	/* An event of the program's that the device has not reset yet. */
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

/* Under the lock. False: its command was not over, and is given up. */
static bool settle(struct guest_thread *thread, struct level_zero_event *event)
{
	struct pending *pending;

	if (event->pending == NO_COMMAND)
		return true;
	pending = slot(event->pending);
	if (pending->event != event || try_to_finish(thread, pending))
		return true;
	give_up(thread, pending);
	return false;
}

/* Under the lock: the device signals it no more. */
static void settle_last(struct guest_thread *thread, struct level_zero_event *event)
{
	if (event->is_mixed && event->pending != NO_COMMAND && slot(event->pending)->event == event)
		give_up(thread, slot(event->pending));
	event->is_overtaken = event->is_mixed = false;
	settle(thread, event);
}

/* Under the lock, before the event is given to another command; is_renewed: that is the later one of the two if the one
 * before is not over. One of the program's that is signalled says so until the device has reset it. */
static void prepare(struct guest_thread *thread, struct level_zero_event *event, bool is_renewed)
{
	if (!settle(thread, event)) {
		event->is_overtaken = true;
		event->is_mixed = !is_renewed;
	}
	event->before = (struct ze_stamps){0};
	if (!event->context && next.zeEventQueryStatus(event->object.handle) == ZE_SUCCESS)
		read_stamps(event, &event->before);
}

/* ---- pending commands -------------------------------------------------------------------------- */

static void give_back_slot(uint32_t index)
{
	slot(index)->next = commands.free;
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
			guest_memory(BLOCK_SIZE * sizeof(struct pending));
		if (!commands.blocks[commands.used >> BLOCK_BITS])
			return NO_COMMAND;
	}
	return commands.used++;
}

/* Under the lock; until so many are found that are not over, or the time is up. deadline: as guest_now, 0: none. */
static void harvest(struct guest_thread *thread, struct level_zero_queue *queue, uint32_t vain_most,
		    uint64_t deadline)
{
	uint32_t *link = &queue->first, last = NO_COMMAND, vain = 0;
	bool is_late = false;

	while (*link != NO_COMMAND && vain < vain_most && !is_late) {
		uint32_t index = *link;
		struct pending *pending = slot(index);

		if (pending->event && !try_to_finish(thread, pending)) {
			/* The driver was not asked about one that is overtaken. */
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

/* Under the lock. */
static void drop_pending(struct guest_thread *thread, struct level_zero_queue *queue)
{
	while (queue->first != NO_COMMAND) {
		uint32_t index = queue->first;

		queue->first = slot(index)->next;
		if (slot(index)->event)
			give_up(thread, slot(index));
		give_back_slot(index);
	}
	queue->last = NO_COMMAND;
}

/* Under the lock: all queues as harvest does; those that went while nobody had the lock leave the list. */
static void harvest_queues(struct guest_thread *thread, uint32_t vain_most, uint64_t deadline)
{
	struct level_zero_queue **link = &commands.queues, *queue;

	while ((queue = *link)) {
		if (!level_zero_is_there(&queue->object)) {
			drop_pending(thread, queue);
			*link = queue->next_queue;
			continue;
		}
		if (queue->first != NO_COMMAND)
			harvest(thread, queue, vain_most, deadline);
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
	int saved = errno;

	if (!guest_is_current(thread) || !lock_commands())
		return;
	harvest(thread, queue, VAIN_MOST, 0);
	unlock_commands();
	read_clocks(thread);
	errno = saved;
}

void level_zero_harvest_all(struct guest_thread *thread)
{
	int saved = errno;

	if (!guest_is_current(thread) || !lock_commands())
		return;
	harvest_queues(thread, VAIN_MOST, 0);
	unlock_commands();
	read_clocks(thread);
	errno = saved;
}

void level_zero_poll(struct guest_thread *thread)
{
	uint64_t begin, due, spare;
	int saved;

	if (GUEST_LIKELY(!atomic_load_explicit(&commands.pending_count, memory_order_relaxed)))
		return;
	begin = guest_now(thread);
	due = atomic_load_explicit(&commands.next_poll, memory_order_relaxed);
	/* Who has the lock looks at what is over already, or the next poll does: it is not waited for. */
	if (begin < due || atomic_load_explicit(&commands.lock.taken, memory_order_relaxed) ||
	    !guest_is_current(thread) || !lock_commands())
		return;
	saved = errno;
	/* At most 1/16 of the time; what was not used of it is there for a program that slept and makes one call. */
	spare = due ? (begin - due) / 16 : 0;
	spare = spare < POLL_LEAST ? (uint64_t)POLL_LEAST : spare;
	harvest_queues(thread, 1, begin + (spare < POLL_MOST ? spare : (uint64_t)POLL_MOST));
	unlock_commands();
	read_clocks(thread);
	atomic_store_explicit(&commands.next_poll, begin + 16 * (guest_now(thread) - begin),
			      memory_order_relaxed);
	errno = saved;
}

/* Under the lock. */
static void link_queue(struct level_zero_queue *queue)
{
	if (queue->is_linked)
		return;
	queue->is_linked = true;
	queue->next_queue = commands.queues;
	commands.queues = queue;
}

/* Under the lock: the event is this command's from now on. */
static void take_over(struct guest_thread *thread, const struct pending *filled)
{
	struct level_zero_event *event = filled->event;

	if (event->pending == NO_COMMAND || slot(event->pending)->event != event)
		return;
	event->is_overtaken = true;
	event->is_mixed = !filled->is_renewed || slot(event->pending)->contents != filled->contents;
	give_up(thread, slot(event->pending));
}

/* Under the lock. */
static bool fill_pending(struct guest_thread *thread, const struct pending *filled)
{
	struct level_zero_queue *queue = filled->queue;
	uint32_t index;

	take_over(thread, filled);
	index = take_slot();
	if (index == NO_COMMAND)
		return false;
	link_queue(queue);
	*slot(index) = *filled;
	slot(index)->next = NO_COMMAND;
	filled->event->pending = index;
	if (queue->last == NO_COMMAND)
		queue->first = index;
	else
		slot(queue->last)->next = index;
	queue->last = index;
	atomic_fetch_add_explicit(&commands.pending_count, 1, memory_order_relaxed);
	return true;
}

static void follow(struct guest_thread *thread, const struct pending *pending)
{
	bool is_followed = false;

	if (lock_commands()) {
		is_followed = fill_pending(thread, pending);
		unlock_commands();
	}
	if (is_followed)
		return;
	if (pending->mode)
		guest_trouble(RING_TROUBLE_TRACKING);
	if (pending->gives_back)
		level_zero_event_lose(pending->event);
	else
		spoil(pending->event);
}

/* ---- launches ---------------------------------------------------------------------------------- */

/* A launch record of a command; stack: whose id the calling thread's ring knows. */
struct launch {
	const struct level_zero_command *command;
	struct level_zero_queue *queue;
	uint32_t function, flags, stack;
	uint64_t correlation, enter, exit;
	ze_result result;
};

static void fill_values(struct record_launch *record, const struct launch *launch)
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

static bool put_launch(struct guest_thread *thread, const struct launch *launch)
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

/* Of a command that the driver has accepted: it is recorded, and followed where it has an event, so that this is known to
 * be in use: also where the record was lost. gives_back: the event is one of ours and no list's. */
static void launch_command(struct guest_thread *thread, struct launch *launch, bool gives_back,
			   uint64_t contents)
{
	const struct level_zero_command *command = launch->command;
	struct level_zero_event *event =
		is_there(command->event, command->event_serial) ? command->event : NULL;
	struct pending pending = {
		.event = event,
		.event_serial = command->event_serial,
		.queue = launch->queue,
		.contents = contents,
		.gives_back = gives_back,
		.is_renewed = command->is_renewed,
	};

	launch->correlation = guest_new_correlation(thread);
	launch->flags |= launch->command->flags | (event ? 0 : LAUNCH_UNTIMED) |
			 (launch->queue->is_synchronous ? LAUNCH_BLOCKING : 0);
	pending.mode = put_launch(thread, launch) ? thread->mode : 0;
	pending.queue_id = launch->queue->object.id;
	pending.correlation = launch->correlation;
	if (event)
		follow(thread, &pending);
}

/* ---- appends ----------------------------------------------------------------------------------- */

void level_zero_append_init(struct level_zero_append *append, uint32_t function, uint32_t command,
			    ze_handle list)
{
	memset(append, 0, sizeof(*append));
	append->command.function = function;
	append->command.command = command;
	append->list = level_zero_find(list, LEVEL_ZERO_LIST);
}

/* False: nobody knows what it is about, and the command that gets it has no times. */
static bool prepare_event(struct guest_thread *thread, struct level_zero_event *event,
			  bool is_renewed)
{
	if (!lock_commands()) {
		spoil(event);
		return false;
	}
	prepare(thread, event, is_renewed);
	unlock_commands();
	return true;
}

/* Notes that a command of the list signals the event. True: one before it does so too, and between them it is reset. */
static bool note_signaller(const struct level_zero_list *list, struct level_zero_event *event)
{
	bool is_renewed = event->contents == list->contents && event->is_renewed;

	event->contents = list->contents;
	event->is_renewed = false;
	return is_renewed;
}

static bool has_room(struct level_zero_list *list)
{
	uint32_t capacity = list->capacity ? 2 * list->capacity : COMMANDS_FIRST;
	struct level_zero_command *larger;

	if (list->count < list->capacity)
		return true;
	larger = capacity <= COMMANDS_MOST ? guest_memory(capacity * sizeof(*larger)) : NULL;
	if (!larger)
		return false;
	if (list->commands) {
		memcpy(larger, list->commands, list->count * sizeof(*larger));
		guest_memory_free(list->commands, list->capacity * sizeof(*larger));
	}
	list->commands = larger;
	list->capacity = capacity;
	return true;
}

static void choose_event(struct guest_thread *thread, struct level_zero_append *append,
			 ze_handle signal)
{
	struct level_zero_list *list = append->list;
	struct level_zero_event *event;
	bool is_renewed;

	if (!list || !(thread->options & RING_OPTION_LEVEL_ZERO_TIME))
		return;
	/* What could not be remembered would have our event for good. */
	if (!signal && !list->queue && !has_room(list))
		return;
	event = signal ? level_zero_find(signal, LEVEL_ZERO_EVENT)
		       : level_zero_event_take(list->context);
	if (!event || !event->is_timed)
		return;
	is_renewed = note_signaller(list, event);
	/* A list's command signals it when the list is executed. */
	if (list->queue && !event->context && !prepare_event(thread, event, is_renewed))
		return;
	append->command.event = event;
	append->command.event_serial = atomic_load(&event->object.serial);
	append->command.is_renewed = is_renewed;
}

void level_zero_append_reset(ze_handle list, ze_handle handle)
{
	const struct level_zero_list *known = level_zero_find(list, LEVEL_ZERO_LIST);
	struct level_zero_event *event = level_zero_find(handle, LEVEL_ZERO_EVENT);

	if (known && event && event->contents == known->contents)
		event->is_renewed = true;
}

/* It has time stamps then, and no command that they are of. */
void level_zero_append_signal(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_event *event = level_zero_find(handle, LEVEL_ZERO_EVENT);
	int saved = errno;

	if (!event)
		return;
	if (event->pending != NO_COMMAND && lock_commands()) {
		settle(thread, event);
		unlock_commands();
	}
	spoil(event);
	errno = saved;
}

ze_handle level_zero_append_begin(struct guest_thread *thread, struct level_zero_append *append,
				  ze_handle signal)
{
	int saved = errno;

	append->command.asked = signal;
	if (append->list && append->list->queue)
		level_zero_queue_id(thread, append->list->queue);
	choose_event(thread, append, signal);
	append->command.stack = guest_stack(thread);
	append->command.stack_mode = thread->mode;
	append->command.stack_thread = thread_number();
	errno = saved;
	append->enter = guest_now(thread);
	return append->command.event ? append->command.event->object.handle : signal;
}

static bool is_on_device(ze_handle context, const void *memory)
{
	struct ze_allocation_properties properties = {.type = ZE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
	ze_handle device = NULL;

	return next.zeMemGetAllocProperties &&
	       next.zeMemGetAllocProperties(context, memory, &properties, &device) == ZE_SUCCESS &&
	       (properties.memory_type == ZE_MEMORY_DEVICE ||
		properties.memory_type == ZE_MEMORY_SHARED);
}

/* What the program shares between host and device counts as the device's: it may be there. */
static uint32_t kind_of_copy(const struct level_zero_append *append)
{
	ze_handle context = append->list->context ? append->list->context->object.handle : NULL;
	bool is_from_device, is_to_device;

	if (!context)
		return COMMAND_COPY;
	is_from_device =
		is_on_device(append->from_context ? append->from_context : context, append->from);
	is_to_device = is_on_device(context, append->to);
	if (is_from_device == is_to_device)
		return COMMAND_COPY;
	return is_from_device ? COMMAND_READ : COMMAND_WRITE;
}

static void describe_kernel(struct guest_thread *thread, struct level_zero_append *append)
{
	const struct level_zero_kernel *kernel = level_zero_find(append->kernel, LEVEL_ZERO_KERNEL);
	struct level_zero_command *command = &append->command;
	const uint32_t *group = append->group[0] ? append->group : kernel ? kernel->group : NULL;

	command->kernel = level_zero_kernel_id(thread, append->kernel, append->enter);
	command->kernel_mode = thread->mode;
	if (!append->has_groups)
		return;
	command->dimensions = append->groups[2] > 1 ? 3 : append->groups[1] > 1 ? 2 : 1;
	for (uint32_t i = 0; group && i < 3; i++)
		if (group[i] > 1 && command->dimensions < i + 1)
			command->dimensions = i + 1;
	for (uint32_t i = 0; i < 3; i++) {
		command->local_size[i] = group ? group[i] : 0;
		command->global_size[i] =
			(uint64_t)append->groups[i] * (group && group[i] ? group[i] : 1);
	}
}

static void describe_waits(struct level_zero_append *append)
{
	struct level_zero_command *command = &append->command;
	uint32_t count = append->waits ? append->wait_count : 0;

	command->wait_count = count < LEVEL_ZERO_WAITS_MOST ? count : LEVEL_ZERO_WAITS_MOST;
	command->waits_cut = count - command->wait_count;
	for (uint32_t i = 0; i < command->wait_count; i++)
		command->waits[i] = (uintptr_t)append->waits[i];
}

/* What the driver has accepted: of a call that it refuses the arguments may point anywhere. */
static void describe(struct guest_thread *thread, struct level_zero_append *append)
{
	if (append->kernel)
		describe_kernel(thread, append);
	else if (append->from && append->to)
		append->command.command = kind_of_copy(append);
	describe_waits(append);
}

static void remember_command(struct level_zero_append *append)
{
	struct level_zero_list *list = append->list;

	if (has_room(list)) {
		list->commands[list->count++] = append->command;
		return;
	}
	list->has_unseen = true;
	guest_trouble(RING_TROUBLE_OBJECTS);
}

static void launch_now(struct guest_thread *thread, struct level_zero_append *append,
		       ze_result result)
{
	struct launch launch = {
		.command = &append->command,
		.queue = append->list->queue,
		.function = append->command.function,
		.stack = append->command.stack,
		.enter = append->enter,
		.exit = append->exit,
		.result = result,
	};
	const struct level_zero_event *event = append->command.event;

	if (result == ZE_SUCCESS) {
		launch_command(thread, &launch, event && event->context, append->list->contents);
		if (launch.queue->is_synchronous)
			level_zero_harvest(thread, launch.queue);
		return;
	}
	launch.flags = LAUNCH_UNTIMED;
	put_launch(thread, &launch);
}

void level_zero_append_end(struct guest_thread *thread, struct level_zero_append *append,
			   ze_result result)
{
	struct level_zero_event *event = append->command.event;
	struct level_zero_list *list = append->list;
	int saved = errno;

	/* In a child that was made inside of the call even the event is the parent's. */
	if (GUEST_UNLIKELY(!guest_is_current(thread)))
		return;
	if (result == ZE_SUCCESS && list)
		describe(thread, append);
	if (list && list->queue)
		launch_now(thread, append, result);
	else
		guest_put_api(thread, append->command.function, append->enter, append->exit,
			      (int32_t)result, append->command.bytes, append->command.stack);
	if (list && !list->queue && result == ZE_SUCCESS)
		remember_command(append);
	if (result != ZE_SUCCESS && event && event->context)
		level_zero_event_give_back(event);
	level_zero_poll(thread);
	errno = saved;
}

void level_zero_append_unseen(ze_handle handle)
{
	struct level_zero_list *list = level_zero_find(handle, LEVEL_ZERO_LIST);

	if (list && !list->queue)
		list->has_unseen = true;
}

/* ---- executions of lists ----------------------------------------------------------------------- */

static struct level_zero_event *event_of(const struct level_zero_command *command)
{
	return is_there(command->event, command->event_serial) ? command->event : NULL;
}

/* Under the lock. */
static bool is_pending_of(const struct level_zero_event *event, const struct level_zero_list *list)
{
	return event->pending != NO_COMMAND && slot(event->pending)->event == event &&
	       slot(event->pending)->contents == list->contents;
}

static void spoil_list(const struct level_zero_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (event_of(&list->commands[i]))
			spoil(list->commands[i].event);
}

/* Before the list is executed: what its events say of the last execution is read, and those of ours are reset. */
static void prepare_list(struct guest_thread *thread, const struct level_zero_list *list)
{
	if (!lock_commands()) {
		spoil_list(list);
		return;
	}
	for (uint32_t i = 0; i < list->count; i++) {
		struct level_zero_event *event = event_of(&list->commands[i]);

		if (!event)
			continue;
		/* The executions of a list come one after the other. */
		prepare(thread, event, is_pending_of(event, list));
		if (event->context)
			next.zeEventHostReset(event->object.handle);
	}
	unlock_commands();
}

/* The program may reset or destroy a list only when it is not executed. False: there is no lock, and its events may be
 * pending still. */
static bool settle_list(struct guest_thread *thread, const struct level_zero_list *list)
{
	if (!lock_commands())
		return false;
	for (uint32_t i = 0; i < list->count; i++) {
		struct level_zero_event *event = event_of(&list->commands[i]);

		if (event && (event->context || is_pending_of(event, list)))
			settle_last(thread, event);
	}
	unlock_commands();
	return true;
}

/* Its own event is signalled when the lists are over. */
static void prepare_signal(struct guest_thread *thread, struct level_zero_execute *execute)
{
	const struct level_zero_list *list = level_zero_find(execute->immediate, LEVEL_ZERO_LIST);
	struct level_zero_event *event = level_zero_find(execute->signal, LEVEL_ZERO_EVENT);

	if (!list || !event || !event->is_timed || !(thread->options & RING_OPTION_LEVEL_ZERO_TIME))
		return;
	execute->is_renewed = note_signaller(list, event);
	if (prepare_event(thread, event, execute->is_renewed))
		execute->event = event;
}

void level_zero_execute_begin(struct guest_thread *thread, struct level_zero_execute *execute)
{
	int saved = errno;

	level_zero_queue_id(thread, execute->queue);
	for (uint32_t i = 0; execute->lists && i < execute->count; i++) {
		struct level_zero_list *list = level_zero_find(execute->lists[i], LEVEL_ZERO_LIST);

		if (list)
			prepare_list(thread, list);
	}
	if (execute->signal)
		prepare_signal(thread, execute);
	execute->stack = guest_stack(thread);
	errno = saved;
	execute->enter = guest_now(thread);
}

/* The append says whose work it is; where another thread appended, its ring knows the stack, and this one's does not. */
static uint32_t stack_of(const struct guest_thread *thread,
			 const struct level_zero_command *command, uint32_t otherwise)
{
	return command->stack && command->stack_mode == thread->mode &&
			       command->stack_thread == thread_number()
		       ? command->stack
		       : otherwise;
}

/* *launched: how many commands the call has put into the queue so far. */
static void launch_list(struct guest_thread *thread, const struct level_zero_execute *execute,
			const struct level_zero_list *list, uint32_t *launched)
{
	static const struct level_zero_command unseen = {.command = COMMAND_GRAPH};
	uint32_t count = list ? list->count : 0;

	for (uint32_t i = 0; i < count || (i == count && (!list || list->has_unseen)); i++) {
		const struct level_zero_command *command = i < count ? &list->commands[i] : &unseen;
		struct launch launch = {
			.command = command,
			.queue = execute->queue,
			.function = execute->function,
			.flags = (*launched)++ ? LAUNCH_FURTHER : 0,
			.stack = stack_of(thread, command, execute->stack),
			.enter = execute->enter,
			.exit = execute->exit,
		};

		launch_command(thread, &launch, false, list ? list->contents : 0);
	}
}

/* What the call itself waits for and signals is a barrier behind its lists: from its event's begin to its end. */
static void launch_signal(struct guest_thread *thread, const struct level_zero_execute *execute,
			  uint32_t *launched)
{
	struct level_zero_append append = {
		.command = {.command = COMMAND_BARRIER,
			    .event = execute->event,
			    .is_renewed = execute->is_renewed,
			    .asked = execute->signal},
		.wait_count = execute->wait_count,
		.waits = execute->waits,
	};
	struct launch launch = {
		.command = &append.command,
		.queue = execute->queue,
		.function = execute->function,
		.flags = (*launched)++ ? LAUNCH_FURTHER : 0,
		.stack = execute->stack,
		.enter = execute->enter,
		.exit = execute->exit,
	};

	if (execute->event)
		append.command.event_serial = atomic_load(&execute->event->object.serial);
	describe_waits(&append);
	launch_command(thread, &launch, false, 0);
}

void level_zero_execute_end(struct guest_thread *thread, struct level_zero_execute *execute,
			    ze_result result)
{
	uint32_t launched = 0;
	int saved = errno;

	if (GUEST_UNLIKELY(!guest_is_current(thread)))
		return;
	for (uint32_t i = 0; result == ZE_SUCCESS && execute->queue && i < execute->count; i++)
		launch_list(thread, execute, level_zero_find(execute->lists[i], LEVEL_ZERO_LIST),
			    &launched);
	if (result == ZE_SUCCESS && execute->queue && (execute->signal || execute->wait_count))
		launch_signal(thread, execute, &launched);
	if (!launched)
		guest_put_api(thread, execute->function, execute->enter, execute->exit,
			      (int32_t)result, 0, execute->stack);
	if (launched && execute->queue->is_synchronous)
		level_zero_harvest(thread, execute->queue);
	level_zero_poll(thread);
	errno = saved;
}

void level_zero_event_is_over(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_event *event = thread ? level_zero_find(handle, LEVEL_ZERO_EVENT) : NULL;
	int saved = errno;

	/* Another thread that has the lock looks at it, or the next poll does. */
	if (GUEST_LIKELY(!event || event->pending == NO_COMMAND) ||
	    atomic_load_explicit(&commands.lock.taken, memory_order_relaxed) || !lock_commands())
		return;
	if (event->pending != NO_COMMAND && slot(event->pending)->event == event)
		try_to_finish(thread, slot(event->pending));
	unlock_commands();
	errno = saved;
}

/* ---- what ends --------------------------------------------------------------------------------- */

/* Where the host resets one that was signalled, the device is through with it, or the program would not know either what
 * it says afterwards. */
void level_zero_before_event_changes(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_event *event = level_zero_find(handle, LEVEL_ZERO_EVENT);
	int saved = errno;

	if (!event || (event->pending == NO_COMMAND && !event->is_overtaken))
		return;
	if (!lock_commands()) {
		spoil(event);
		return;
	}
	if (!settle(thread, event) && !event->is_overtaken)
		spoil(event);
	else if (event->is_overtaken && next.zeEventQueryStatus(handle) == ZE_SUCCESS)
		event->is_overtaken = event->is_mixed = false;
	unlock_commands();
	errno = saved;
}

/* The device signals it no more, or the program may not destroy it. */
bool level_zero_before_event_goes(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_event *event = level_zero_find(handle, LEVEL_ZERO_EVENT);
	bool is_locked;
	int saved = errno;

	if (!event || event->pending == NO_COMMAND)
		return true;
	is_locked = lock_commands();
	if (is_locked)
		settle_last(thread, event);
	level_zero_mark_gone(&event->object);
	if (is_locked)
		unlock_commands();
	errno = saved;
	return is_locked;
}

/* It holds nothing any more; of its own events none is asked for any more where another list has them too. */
static void empty_list(struct level_zero_list *list, bool gives_back)
{
	for (uint32_t i = 0; gives_back && i < list->count; i++) {
		struct level_zero_event *event = event_of(&list->commands[i]);

		if (event && event->context)
			level_zero_event_give_back(event);
	}
	if (list->commands)
		guest_memory_free(list->commands, list->capacity * sizeof(*list->commands));
	list->commands = NULL;
	list->count = list->capacity = 0;
	list->has_unseen = false;
	list->contents = level_zero_new_contents();
}

void level_zero_before_list_changes(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_list *list = level_zero_find(handle, LEVEL_ZERO_LIST);
	int saved = errno;

	if (!list)
		return;
	/* An immediate list holds nothing, and its commands may go on behind a reset. */
	if (!list->queue)
		empty_list(list, settle_list(thread, list));
	errno = saved;
}

/* An execution of the clone signals the events of this list: from now on they are no command's, and those of ours are
 * never used again. */
void level_zero_list_cloned(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_list *list = level_zero_find(handle, LEVEL_ZERO_LIST);
	int saved = errno;

	if (!list)
		return;
	settle_list(thread, list);
	spoil_list(list);
	for (uint32_t i = 0; i < list->count; i++)
		list->commands[i].event = NULL;
	errno = saved;
}

/* Under the lock. */
static void unlink_queue(struct level_zero_queue *queue)
{
	struct level_zero_queue **link = &commands.queues;

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
	/* Whoever has the lock next finds it marked, and takes it out of the list. */
	if (!lock_commands()) {
		level_zero_mark_gone(&queue->object);
		return false;
	}
	harvest(thread, queue, UINT32_MAX, 0);
	drop_pending(thread, queue);
	unlink_queue(queue);
	unlock_commands();
	errno = saved;
	return true;
}

bool level_zero_before_context_goes(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_context *context = level_zero_find(handle, LEVEL_ZERO_CONTEXT);
	int saved = errno;

	if (!context)
		return true;
	/* None of its events is asked about from now on, and with the context the driver's go. */
	if (!lock_commands()) {
		level_zero_mark_gone(&context->object);
		return false;
	}
	harvest_queues(thread, UINT32_MAX, 0);
	for (struct level_zero_queue *queue = commands.queues; queue; queue = queue->next_queue)
		for (uint32_t i = queue->first; i != NO_COMMAND; i = slot(i)->next)
			if (slot(i)->event && slot(i)->event->context == context)
				give_up(thread, slot(i));
	level_zero_mark_gone(&context->object);
	unlock_commands();
	level_zero_events_destroy(context);
	errno = saved;
	return true;
}
