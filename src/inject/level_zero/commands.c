/* SPDX-License-Identifier: MIT
 *
 * inject/level_zero/commands.c - launch the commands of lists, from their append to each execution
 *
 * Runs in:  the profiled process, around every append and every execution of lists
 * Gets:     appends and executions before and after
 * Gives:    launches, which pending.c records and tracks
 * Owns:     the appended commands of each list
 * Fails:    without room the command is not stored, and its executions count as unseen
 * Why:      a list's commands are put into a queue when the list is executed, perhaps many times:
 *           each execution is a launch of each command, with the stack of the append, which is the
 *           code that requested the work.
 */
#include <errno.h>
#include <string.h>

#include "inject/level_zero/pending.h"

enum { COMMANDS_FIRST = 64, MAX_COMMANDS = 1 << 20 };

static _Atomic uint32_t last_thread;

/* Number of this thread; distinguishes threads that use the same ring one after the other. */
static _Thread_local uint32_t own_number __attribute__((tls_model("initial-exec")));

static uint32_t thread_number(void)
{
	if (GUEST_UNLIKELY(!own_number))
		own_number = atomic_fetch_add_explicit(&last_thread, 1, memory_order_relaxed) + 1;
	return own_number;
}

/* ---- appends --------------------------------------------------------------------------------- */

void level_zero_append_init(struct level_zero_append *append, uint32_t function, uint32_t command,
			    ze_handle list)
{
	memset(append, 0, sizeof(*append));
	append->command.function = (uint16_t)function;
	append->command.command = (uint8_t)command;
	append->list = level_zero_find(list, LEVEL_ZERO_LIST);
}

/* False: the state of the event is unknown, so its command has no times. */
static bool prepare_event(struct guest_thread *thread, struct level_zero_event *event,
			  bool is_renewed)
{
	if (!level_zero_lock()) {
		level_zero_spoil(event);
		return false;
	}
	level_zero_prepare(thread, event, is_renewed);
	level_zero_unlock();
	return true;
}

/* Records that a command of the list signals the event. True: an earlier command of the list does
 * so too, and the event is reset between the two. */
static bool set_signaller(const struct level_zero_list *list, struct level_zero_event *event)
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
	larger = capacity <= MAX_COMMANDS ? guest_memory(capacity * sizeof(*larger)) : NULL;
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

	if (!list || !(thread->options & LEVEL_ZERO_OPTION_TIME))
		return;
	/* A command that cannot be stored would keep our event forever. */
	if (!signal && !list->queue && !has_room(list))
		return;
	event = signal ? level_zero_find(signal, LEVEL_ZERO_EVENT)
		       : level_zero_event_take(list->context);
	if (!event || !event->is_timed)
		return;
	is_renewed = set_signaller(list, event);
	/* For a regular list this is done when the list is executed. */
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

/* The event then has timestamps that belong to no command. */
void level_zero_append_signal(struct guest_thread *thread, ze_handle handle)
{
	struct level_zero_event *event = level_zero_find(handle, LEVEL_ZERO_EVENT);
	int saved = errno;

	if (!event)
		return;
	if (event->pending != NO_COMMAND && level_zero_lock()) {
		level_zero_read_event_stamps(thread, event);
		level_zero_unlock();
	}
	level_zero_spoil(event);
	errno = saved;
}

ze_handle level_zero_append_begin(struct guest_thread *thread, struct level_zero_append *append,
				  ze_handle signal)
{
	int saved = errno;

	guest_timing_begin(thread, &append->timing);
	if (append->list && append->list->queue) /* it is executed at once */
		guest_count_launch(thread);
	append->command.asked = signal;
	if (append->list && append->list->queue)
		level_zero_queue_id(thread, append->list->queue);
	choose_event(thread, append, signal);
	append->command.stack =
		guest_stack_of(thread, guest_site(append->place, append->command.function,
						  (uintptr_t)append->kernel));
	append->command.stack_mode = thread->mode;
	append->command.stack_thread = thread_number();
	errno = saved;
	append->enter = guest_now(thread);
	return append->command.event ? append->command.event->object.handle : signal;
}

/* Memory that this context did not allocate is of unknown kind. Shared memory may be on the host or
 * on any device, so it has no device. Returns an enum event_memory. */
static uint8_t ask_about_memory(ze_handle context, const void *memory,
				struct level_zero_device **ret_device)
{
	static const uint8_t kinds[] = {[ZE_MEMORY_HOST] = MEMORY_PINNED,
					[ZE_MEMORY_DEVICE] = MEMORY_DEVICE,
					[ZE_MEMORY_SHARED] = MEMORY_MANAGED};
	struct ze_allocation_properties properties = {.type = ZE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
	ze_handle device = NULL;

	if (!next.zeMemGetAllocProperties ||
	    next.zeMemGetAllocProperties(context, memory, &properties, &device) != ZE_SUCCESS ||
	    properties.memory_type > ZE_MEMORY_SHARED)
		return MEMORY_UNKNOWN;
	if (properties.memory_type == ZE_MEMORY_DEVICE)
		*ret_device = level_zero_device(device);
	return kinds[properties.memory_type];
}

/* Shared memory counts as the device's, because it may be there. */
static bool is_on_device(uint8_t memory)
{
	return memory == MEMORY_DEVICE || memory == MEMORY_MANAGED;
}

/* Determines both ends of a copy, and its direction. */
static void describe_copy(struct level_zero_append *append)
{
	struct level_zero_command *command = &append->command;
	ze_handle context = append->list->context ? append->list->context->object.handle : NULL;
	bool is_from_device;

	if (!context)
		return;
	command->from_memory =
		ask_about_memory(append->from_context ? append->from_context : context,
				 append->from, &command->from_device);
	command->to_memory = ask_about_memory(context, append->to, &command->to_device);
	is_from_device = is_on_device(command->from_memory);
	if (is_from_device != is_on_device(command->to_memory))
		command->command = is_from_device ? COMMAND_READ : COMMAND_WRITE;
}

/* Further properties of a launch are a list. */
static bool is_cooperative(const struct ze_desc *more)
{
	enum { MAX_PROPERTIES = 16 };

	for (int i = 0; more && i < MAX_PROPERTIES; i++, more = more->next)
		if (more->type == ZE_TYPE_COOPERATIVE_DESC)
			return ((const struct ze_cooperative_desc *)more)->is_cooperative;
	return false;
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
			command->dimensions = (uint8_t)(i + 1);
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

	command->wait_count =
		(uint8_t)(count < MAX_LEVEL_ZERO_WAITS ? count : MAX_LEVEL_ZERO_WAITS);
	command->waits_cut = count - command->wait_count;
	for (uint32_t i = 0; i < command->wait_count; i++)
		command->waits[i] = (uintptr_t)append->waits[i];
}

/* Describes an append that the driver has accepted. The arguments of a refused call may point
 * anywhere. */
static void describe_append(struct guest_thread *thread, struct level_zero_append *append)
{
	if (append->kernel)
		describe_kernel(thread, append);
	else if (append->from && append->to)
		describe_copy(append);
	if (is_cooperative(append->more))
		append->command.flags |= LAUNCH_COOPERATIVE;
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
	struct level_zero_launch launch = {
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
		level_zero_launch_command(thread, &launch, event && event->context,
					  append->list->contents);
		if (launch.queue->is_synchronous)
			level_zero_harvest(thread, launch.queue);
		return;
	}
	launch.flags = LAUNCH_UNTIMED;
	level_zero_put_launch(thread, &launch);
}

void level_zero_append_end(struct guest_thread *thread, struct level_zero_append *append,
			   ze_result result)
{
	struct level_zero_event *event = append->command.event;
	struct level_zero_list *list = append->list;
	int saved = errno;

	/* In a child process created inside the call, even the event belongs to the parent. */
	if (GUEST_UNLIKELY(!guest_is_current(thread)))
		return;
	if (result == ZE_SUCCESS && list)
		describe_append(thread, append);
	if (list && list->queue)
		launch_now(thread, append, result);
	else
		guest_put_api_row(thread, append->command.function, append->enter, append->exit,
				  (int32_t)result, append->command.bytes, append->command.stack);
	if (list && !list->queue && result == ZE_SUCCESS)
		remember_command(append);
	if (result != ZE_SUCCESS && event && event->context)
		level_zero_event_give_back(event);
	guest_timing_end(thread, &append->timing, append->enter, append->exit);
	level_zero_poll(thread);
	errno = saved;
}

void level_zero_append_unseen(ze_handle handle)
{
	struct level_zero_list *list = level_zero_find(handle, LEVEL_ZERO_LIST);

	if (list && !list->queue)
		list->has_unseen = true;
}

/* ---- executions of lists --------------------------------------------------------------------- */

static inline struct level_zero_event *event_of(const struct level_zero_command *command)
{
	return level_zero_event_is_there(command->event, command->event_serial) ? command->event
										: NULL;
}

/* The caller holds the lock. */
static bool is_pending_of(const struct level_zero_event *event, const struct level_zero_list *list)
{
	return event->pending != NO_COMMAND && level_zero_slot(event->pending)->event == event &&
	       level_zero_slot(event->pending)->contents == list->contents;
}

static void spoil_list(const struct level_zero_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (event_of(&list->commands[i]))
			level_zero_spoil(list->commands[i].event);
}

/* Called before the list is executed. Reads the timestamps of the previous execution and resets our
 * events. */
static void prepare_list(struct guest_thread *thread, const struct level_zero_list *list)
{
	if (!level_zero_lock()) {
		spoil_list(list);
		return;
	}
	for (uint32_t i = 0; i < list->count; i++) {
		struct level_zero_event *event = event_of(&list->commands[i]);

		if (!event)
			continue;
		/* Executions of one list run one after the other. */
		level_zero_prepare(thread, event, is_pending_of(event, list));
		if (event->context)
			next.zeEventHostReset(event->object.handle);
	}
	level_zero_unlock();
}

/* Reads the events of a list that the program resets or destroys; it may do so only when the list
 * is not executing. False: the lock is not available, and events may still be pending. */
static bool settle_list(struct guest_thread *thread, const struct level_zero_list *list)
{
	if (!level_zero_lock())
		return false;
	for (uint32_t i = 0; i < list->count; i++) {
		struct level_zero_event *event = event_of(&list->commands[i]);

		if (event && (event->context || is_pending_of(event, list)))
			level_zero_settle_last(thread, event);
	}
	level_zero_unlock();
	return true;
}

/* Prepares the call's own event, which is signalled when the lists have completed. */
static void prepare_signal(struct guest_thread *thread, struct level_zero_execute *execute)
{
	const struct level_zero_list *list = level_zero_find(execute->immediate, LEVEL_ZERO_LIST);
	struct level_zero_event *event = level_zero_find(execute->signal, LEVEL_ZERO_EVENT);

	if (!list || !event || !event->is_timed || !(thread->options & LEVEL_ZERO_OPTION_TIME))
		return;
	execute->is_renewed = set_signaller(list, event);
	if (prepare_event(thread, event, execute->is_renewed))
		execute->event = event;
}

void level_zero_execute_begin(struct guest_thread *thread, struct level_zero_execute *execute)
{
	int saved = errno;

	guest_timing_begin(thread, &execute->timing);
	guest_count_launch(thread);
	level_zero_queue_id(thread, execute->queue);
	for (uint32_t i = 0; execute->lists && i < execute->count; i++) {
		struct level_zero_list *list = level_zero_find(execute->lists[i], LEVEL_ZERO_LIST);

		if (list)
			prepare_list(thread, list);
	}
	if (execute->signal)
		prepare_signal(thread, execute);
	execute->stack = guest_stack_of(thread, guest_site(execute->place, execute->function,
							   (uintptr_t)execute->immediate));
	errno = saved;
	execute->enter = guest_now(thread);
}

/* Returns the stack of the append, which shows who requested the work. If another thread appended,
 * only that thread's ring knows the stack; then `otherwise`. */
static uint32_t stack_of(const struct guest_thread *thread,
			 const struct level_zero_command *command, uint32_t otherwise)
{
	return command->stack && command->stack_mode == thread->mode &&
			       command->stack_thread == thread_number()
		       ? command->stack
		       : otherwise;
}

/* launched: number of commands that the call has put into the queue so far. */
static void launch_list(struct guest_thread *thread, const struct level_zero_execute *execute,
			const struct level_zero_list *list, uint32_t *launched)
{
	static const struct level_zero_command unseen = {.command = COMMAND_GRAPH};
	uint32_t count = list ? list->count : 0;

	for (uint32_t i = 0; i < count || (i == count && (!list || list->has_unseen)); i++) {
		const struct level_zero_command *command = i < count ? &list->commands[i] : &unseen;
		struct level_zero_launch launch = {
			.command = command,
			.queue = execute->queue,
			.function = execute->function,
			.flags = (*launched)++ ? LAUNCH_FURTHER : 0,
			.stack = stack_of(thread, command, execute->stack),
			.enter = execute->enter,
			.exit = execute->exit,
		};

		level_zero_launch_command(thread, &launch, false, list ? list->contents : 0);
	}
}

/* The events that the call itself waits for and signals are recorded as a barrier behind its
 * lists. */
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
	struct level_zero_launch launch = {
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
	level_zero_launch_command(thread, &launch, false, 0);
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
		guest_put_api_row(thread, execute->function, execute->enter, execute->exit,
				  (int32_t)result, 0, execute->stack);
	if (launched && execute->queue->is_synchronous)
		level_zero_harvest(thread, execute->queue);
	guest_timing_end(thread, &execute->timing, execute->enter, execute->exit);
	level_zero_poll(thread);
	errno = saved;
}

/* ---- resets and clones --------------------------------------------------------------------------
 */

/* Empties the list. gives_back: our events become available again; otherwise they may still be
 * pending and are never reused. */
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
	/* An immediate list stores no commands, and a reset does not end the commands that run. */
	if (!list->queue)
		empty_list(list, settle_list(thread, list));
	errno = saved;
}

/* Executions of the clone signal the events of this list too. From now on their timestamps belong
 * to no command, and our events among them are never reused. */
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
