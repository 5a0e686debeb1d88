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
 *           overwrites them: what nobody can tell apart has none.
 */
#include <errno.h>
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
	/* Most host time of one poll: 1 ms in ns, 0.3 to 0.5 ms in cycles. */
	POLL_MOST = 1 << 20
};

struct pending {
	struct level_zero_event *event; /* NULL: it is over, and recorded */
	struct level_zero_queue *queue;
	uint64_t correlation;
	uint32_t queue_id;
	uint32_t mode; /* of the attachment: another's recorder knows it not */
	uint32_t next;
	bool gives_back; /* the event is one of ours, and no list's */
};

static struct {
	struct guest_lock lock; /* lists and pool */
	struct pending *blocks[BLOCKS];
	uint32_t used; /* slots ever handed out */
	uint32_t free; /* first of the given back */
	struct level_zero_queue *queues;
	_Atomic uint32_t pending_count;
	_Atomic uint64_t next_poll;
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

void level_zero_commands_add_queue(struct level_zero_queue *queue)
{
	if (!guest_lock(&commands.lock))
		return;
	queue->next_queue = commands.queues;
	commands.queues = queue;
	guest_unlock(&commands.lock);
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
static void end_pending(struct pending *pending)
{
	struct level_zero_event *event = pending->event;

	if (event->pending != NO_COMMAND && slot(event->pending) == pending)
		event->pending = NO_COMMAND;
	pending->event = NULL;
	atomic_fetch_sub_explicit(&commands.pending_count, 1, memory_order_relaxed);
	if (pending->gives_back)
		level_zero_event_give_back(event);
}

/* Under the lock; false: it is not over. thread NULL: nobody to tell. */
static bool try_to_finish(struct guest_thread *thread, struct pending *pending)
{
	const struct level_zero_event *event = pending->event;
	ze_result status = next.zeEventQueryStatus(event->object.handle);
	struct ze_stamps stamps = {0};
	bool has_stamps;

	if (status == ZE_NOT_READY || event->is_overtaken)
		return false;
	has_stamps = status == ZE_SUCCESS && read_stamps(event, &stamps);
	/* An event of the program's that the device has not reset yet. */
	if (has_stamps && stamps.start == event->before.start && stamps.end == event->before.end)
		return false;
	if (!thread)
		guest_trouble(RING_TROUBLE_TRACKING);
	else if (has_stamps)
		put_timed(thread, pending, &stamps);
	else
		put_execution(thread, pending, 0, 0, 0, -(int32_t)status);
	end_pending(pending);
	return true;
}

/* Under the lock: from now on nobody can know when it was. */
static void give_up(struct guest_thread *thread, struct pending *pending)
{
	if (thread)
		put_execution(thread, pending, 0, 0, 0, 0);
	else
		guest_trouble(RING_TROUBLE_TRACKING);
	end_pending(pending);
}

/* Under the lock. */
static void settle(struct guest_thread *thread, struct level_zero_event *event)
{
	struct pending *pending;

	if (event->pending == NO_COMMAND)
		return;
	pending = slot(event->pending);
	if (pending->event == event && !try_to_finish(thread, pending))
		give_up(thread, pending);
}

/* Under the lock, before the event is given to another command. One of the program's that is signalled says so until the
 * device has reset it. */
static void prepare(struct guest_thread *thread, struct level_zero_event *event)
{
	settle(thread, event);
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

/* Under the lock; all: to the end, else until so many are found that are not over. */
static void harvest(struct guest_thread *thread, struct level_zero_queue *queue, uint32_t vain_most)
{
	uint32_t *link = &queue->first, last = NO_COMMAND, vain = 0;

	while (*link != NO_COMMAND && vain < vain_most) {
		uint32_t index = *link;
		struct pending *pending = slot(index);

		if (pending->event && !try_to_finish(thread, pending)) {
			vain++;
			last = index;
			link = &pending->next;
			continue;
		}
		*link = pending->next;
		give_back_slot(index);
	}
	if (*link == NO_COMMAND)
		queue->last = last;
}

static void read_clocks(struct guest_thread *thread)
{
	level_zero_read_clocks(thread, guest_now(thread));
}

void level_zero_harvest(struct guest_thread *thread, struct level_zero_queue *queue)
{
	int saved = errno;

	if (!guest_is_current(thread) || !guest_lock(&commands.lock))
		return;
	harvest(thread, queue, VAIN_MOST);
	guest_unlock(&commands.lock);
	read_clocks(thread);
	errno = saved;
}

void level_zero_harvest_all(struct guest_thread *thread)
{
	int saved = errno;

	if (!guest_is_current(thread) || !guest_lock(&commands.lock))
		return;
	for (struct level_zero_queue *queue = commands.queues; queue; queue = queue->next_queue)
		harvest(thread, queue, VAIN_MOST);
	guest_unlock(&commands.lock);
	read_clocks(thread);
	errno = saved;
}

void level_zero_poll(struct guest_thread *thread)
{
	uint64_t begin, due, spare, deadline;
	int saved;

	if (GUEST_LIKELY(!atomic_load_explicit(&commands.pending_count, memory_order_relaxed)))
		return;
	begin = guest_now(thread);
	due = atomic_load_explicit(&commands.next_poll, memory_order_relaxed);
	if (begin < due || !guest_is_current(thread) || !guest_lock(&commands.lock))
		return;
	saved = errno;
	/* At most 1/16 of the time; what was not used of it is there for a program that slept and makes one call. */
	spare = due ? (begin - due) / 16 : 0;
	deadline = begin + (spare < POLL_MOST ? spare : POLL_MOST);
	for (struct level_zero_queue *queue = commands.queues; queue; queue = queue->next_queue) {
		if (queue->first != NO_COMMAND)
			harvest(thread, queue, 1);
		if (guest_now(thread) >= deadline)
			break;
	}
	guest_unlock(&commands.lock);
	read_clocks(thread);
	atomic_store_explicit(&commands.next_poll, begin + 16 * (guest_now(thread) - begin),
			      memory_order_relaxed);
	errno = saved;
}

/* Under the lock. */
static bool fill_pending(struct guest_thread *thread, const struct pending *filled)
{
	uint32_t index = take_slot();
	struct level_zero_queue *queue = filled->queue;

	if (index == NO_COMMAND)
		return false;
	*slot(index) = *filled;
	slot(index)->mode = thread->mode;
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

	if (guest_lock(&commands.lock)) {
		is_followed = fill_pending(thread, pending);
		guest_unlock(&commands.lock);
	}
	if (!is_followed)
		guest_trouble(RING_TROUBLE_TRACKING);
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

/* Of a command that the driver has accepted: it is recorded, and followed where it has an event. gives_back: the event is
 * one of ours and no list's. */
static void launch_command(struct guest_thread *thread, struct launch *launch,
			   struct pending *pending)
{
	struct level_zero_event *event = launch->command->event;

	launch->correlation = guest_new_correlation(thread);
	launch->flags |= launch->command->flags | (event ? 0 : LAUNCH_UNTIMED) |
			 (launch->queue->is_synchronous ? LAUNCH_BLOCKING : 0);
	if (!put_launch(thread, launch) || !event) {
		if (event && pending->gives_back && launch->queue->is_synchronous)
			level_zero_event_give_back(event);
		return;
	}
	pending->event = event;
	pending->queue = launch->queue;
	pending->queue_id = launch->queue->object.id;
	pending->correlation = launch->correlation;
	follow(thread, pending);
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

static void prepare_event(struct guest_thread *thread, struct level_zero_event *event)
{
	if (!guest_lock(&commands.lock))
		return;
	prepare(thread, event);
	guest_unlock(&commands.lock);
}

static void choose_event(struct guest_thread *thread, struct level_zero_append *append,
			 ze_handle signal)
{
	struct level_zero_list *list = append->list;
	struct level_zero_event *event;

	if (!list || !(thread->options & RING_OPTION_LEVEL_ZERO_TIME))
		return;
	event = signal ? level_zero_find(signal, LEVEL_ZERO_EVENT)
		       : level_zero_event_take(list->context);
	if (!event || !event->is_timed)
		return;
	/* A list's command signals it when the list is executed. */
	if (list->queue && !event->context)
		prepare_event(thread, event);
	append->command.event = event;
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
	struct level_zero_event *event = append->command.event;
	struct pending pending = {.gives_back = event && event->context};

	if (result == ZE_SUCCESS) {
		launch_command(thread, &launch, &pending);
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

/* What the list's events say of its last execution is read, and those of ours are reset. is_over: the program may call this
 * only when the list is not executed. */
static void prepare_list(struct guest_thread *thread, struct level_zero_list *list, bool is_over)
{
	if (!guest_lock(&commands.lock))
		return;
	for (uint32_t i = 0; i < list->count; i++) {
		struct level_zero_event *event = list->commands[i].event;

		if (!event)
			continue;
		if (is_over)
			event->is_overtaken = false;
		else if (event->pending != NO_COMMAND &&
			 next.zeEventQueryStatus(event->object.handle) == ZE_NOT_READY)
			event->is_overtaken = true;
		prepare(thread, event);
		if (event->context)
			next.zeEventHostReset(event->object.handle);
	}
	guest_unlock(&commands.lock);
}

void level_zero_execute_begin(struct guest_thread *thread, struct level_zero_execute *execute)
{
	int saved = errno;

	level_zero_queue_id(thread, execute->queue);
	for (uint32_t i = 0; execute->lists && i < execute->count; i++) {
		struct level_zero_list *list = level_zero_find(execute->lists[i], LEVEL_ZERO_LIST);

		if (list)
			prepare_list(thread, list, false);
	}
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
		struct pending pending = {.gives_back = false};
		struct launch launch = {
			.command = command,
			.queue = execute->queue,
			.function = execute->function,
			.flags = (*launched)++ ? LAUNCH_FURTHER : 0,
			.stack = stack_of(thread, command, execute->stack),
			.enter = execute->enter,
			.exit = execute->exit,
		};

		launch_command(thread, &launch, &pending);
	}
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
	if (!launched)
		guest_put_api(thread, execute->function, execute->enter, execute->exit,
			      (int32_t)result, 0, execute->stack);
	if (launched && execute->queue->is_synchronous)
		level_zero_harvest(thread, execute->queue);
	level_zero_poll(thread);
	errno = saved;
}

/* ---- what ends --------------------------------------------------------------------------------- */

void level_zero_before_event_changes(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_event *event = level_zero_find(handle, LEVEL_ZERO_EVENT);
	int saved = errno;

	if (!event || event->pending == NO_COMMAND)
		return;
	if (guest_lock(&commands.lock)) {
		settle(thread, event);
		guest_unlock(&commands.lock);
	}
	errno = saved;
}

void level_zero_before_list_changes(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_list *list = level_zero_find(handle, LEVEL_ZERO_LIST);
	int saved = errno;

	if (!list)
		return;
	if (list->count)
		prepare_list(thread, list, true);
	for (uint32_t i = 0; i < list->count; i++)
		if (list->commands[i].event && list->commands[i].event->context)
			level_zero_event_give_back(list->commands[i].event);
	if (list->commands)
		guest_memory_free(list->commands, list->capacity * sizeof(*list->commands));
	list->commands = NULL;
	list->count = list->capacity = 0;
	list->has_unseen = false;
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
}

void level_zero_before_queue_goes(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_queue *queue = level_zero_queue(handle);
	int saved = errno;

	if (!queue || !guest_lock(&commands.lock))
		return;
	harvest(thread, queue, UINT32_MAX);
	while (queue->first != NO_COMMAND) {
		uint32_t index = queue->first;

		queue->first = slot(index)->next;
		give_up(thread, slot(index));
		give_back_slot(index);
	}
	unlink_queue(queue);
	guest_unlock(&commands.lock);
	errno = saved;
}

void level_zero_before_context_goes(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_context *context = level_zero_find(handle, LEVEL_ZERO_CONTEXT);
	int saved = errno;

	if (!context || !guest_lock(&commands.lock))
		return;
	for (struct level_zero_queue *queue = commands.queues; queue; queue = queue->next_queue) {
		harvest(thread, queue, UINT32_MAX);
		for (uint32_t i = queue->first; i != NO_COMMAND; i = slot(i)->next)
			if (slot(i)->event && slot(i)->event->context == context)
				give_up(thread, slot(i));
	}
	guest_unlock(&commands.lock);
	level_zero_events_destroy(context);
	errno = saved;
}
