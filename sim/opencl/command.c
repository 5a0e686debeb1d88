/* SPDX-License-Identifier: MIT
 *
 * sim/opencl/command.c - events, the device's timeline, waiting, callbacks
 *
 * Runs in:  the test program; no thread of its own
 * Gets:     commands
 * Gives:    events whose four times are known as soon as those of their dependencies are
 * Owns:     the list of commands whose times are unknown, and the list of those with callbacks
 * Fails:    as the options request: commands that fail, never end, or have impossible timestamps
 * Why:      the times of a command are computed: it starts when its dependencies have ended and an
 *           engine of the device is free, and has ended when CLOCK_MONOTONIC has passed its end. So
 *           the correct times are known to the nanosecond at the enqueue, and no scheduler changes
 *           them. A program with this driver has one thread, as with drivers that complete in the
 *           kernel. Only a user event keeps times unknown.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_cond_t resolved = PTHREAD_COND_INITIALIZER;
static struct {
	cl_event unresolved, *unresolved_end; /* oldest first */
	cl_event called;                      /* those with callbacks; each retained */
	uint64_t count;                       /* commands that may fail, lie or hang */
} timeline = {.unresolved_end = &timeline.unresolved};
static atomic_uint called_count;

uint64_t sim_copy_ns(uint64_t bytes)
{
	return (uint64_t)sim_options.copy_ns + (uint64_t)((double)bytes / sim_options.copy_gbps);
}

uint64_t sim_kernel_ns(const struct _cl_kernel *kernel)
{
	const char *name = kernel ? kernel->program->names[kernel->index] : "";

	return (uint64_t)(sim_kernel_us(name) * 1000);
}

/* ---- the timeline ---------------------------------------------------------------------------- */

static void log_truth(const struct _cl_event *event)
{
	static int file = -1;
	char line[512];
	int length;

	if (!sim_options.log[0])
		return;
	if (file < 0)
		file = open(sim_options.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	length = snprintf(
		line, sizeof(line), "%d %u %#x %llu %llu %llu %llu %d %d\n", (int)getpid(),
		event->queue->device->index, event->type, (unsigned long long)event->queued_ns,
		(unsigned long long)event->submitted_ns, (unsigned long long)event->started_ns,
		(unsigned long long)event->ended_ns, event->status, event->bad);
	if (file >= 0 && write(file, line, (size_t)length) != length)
		file = -1;
}

/* Status that the device reports; constant, because a program may query it twice. */
static void make_stamps(cl_event event)
{
	const uint64_t times[4] = {event->queued_ns, event->submitted_ns, event->started_ns,
				   event->ended_ns};

	for (int i = 0; i < 4; i++)
		event->stamps[i] = sim_stamp(times[i]);
	if (!event->bad)
		return;
	switch (sim_options.bad_stamp) {
	case SIM_BAD_REVERSED:
		event->stamps[3] = event->stamps[2] - 1000;
		break;
	case SIM_BAD_ZERO:
		event->stamps[2] = event->stamps[3] = 0;
		break;
	case SIM_BAD_FAR:
		event->stamps[2] = event->stamps[3] = UINT64_C(1) << 62;
		break;
	default:
		break;
	}
}

static uint64_t *take_engine(cl_device_id device)
{
	uint64_t *earliest = &device->engine_free_ns[0];

	for (int64_t i = 1; i < sim_options.engines; i++)
		if (device->engine_free_ns[i] < *earliest)
			earliest = &device->engine_free_ns[i];
	return earliest;
}

/* Time that a device needs to wake up at start_ns. */
static uint64_t wake_ns(const struct _cl_device_id *device, uint64_t start_ns)
{
	uint64_t latest = 0;

	for (int64_t i = 0; i < sim_options.engines; i++)
		if (device->engine_free_ns[i] > latest)
			latest = device->engine_free_ns[i];
	return start_ns > latest + (uint64_t)sim_options.doze_ms * 1000000
		       ? (uint64_t)sim_options.wake_us * 1000
		       : 0;
}

static void place_on_device(cl_event event, uint64_t ready_ns)
{
	cl_device_id device = event->queue->device;
	uint64_t *engine = take_engine(device);

	event->started_ns = ready_ns > *engine ? ready_ns : *engine;
	event->started_ns += wake_ns(device, event->started_ns);
	event->ended_ns = event->never ? SIM_NEVER : event->started_ns + event->duration_ns;
	if (!event->never) /* a hanging command must not take the other queues with it */
		*engine = event->ended_ns;
}

/* Under the lock; false: something it waits for is open. */
static bool resolve(cl_event event)
{
	uint64_t ready_ns = event->submitted_ns;
	bool failed = false;

	for (cl_uint i = 0; i < event->wait_count; i++) {
		if (!event->waits[i]->resolved)
			return false;
		if (event->waits[i]->ended_ns > ready_ns)
			ready_ns = event->waits[i]->ended_ns;
		failed |= i < event->listed_count && event->waits[i]->status < 0;
	}
	if (event->floor_ns > ready_ns)
		ready_ns = event->floor_ns;
	if (failed)
		event->status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	event->started_ns = event->ended_ns = ready_ns;
	if (ready_ns != SIM_NEVER && !failed && event->duration_ns)
		place_on_device(event, ready_ns);
	event->resolved = true;
	make_stamps(event);
	log_truth(event);
	if (event->ended_ns > event->queue->ended_ns)
		event->queue->ended_ns = event->ended_ns;
	return true;
}

static void drop_waits(cl_event event)
{
	for (cl_uint i = 0; i < event->wait_count; i++)
		sim_put_event(event->waits[i]);
	free(event->waits);
	event->waits = NULL;
	event->wait_count = 0;
}

/* Under the lock. A command waits for earlier ones only, so one pass in their order is enough. */
static void resolve_all(void)
{
	cl_event *link = &timeline.unresolved, event;

	while ((event = *link)) {
		if (!resolve(event)) {
			link = &event->next_unresolved;
			continue;
		}
		*link = event->next_unresolved;
		event->queue->unresolved--;
		drop_waits(event);
		sim_put_event(event);
	}
	timeline.unresolved_end = link;
	pthread_cond_broadcast(&resolved);
}

/* ---- events ---------------------------------------------------------------------------------- */

void sim_put_event(cl_event event)
{
	if (!sim_drop(event))
		return;
	while (event->callbacks) {
		struct sim_callback *next = event->callbacks->next;

		free(event->callbacks);
		event->callbacks = next;
	}
	drop_waits(event);
	sim_put_queue(event->queue);
	sim_put_context(event->context);
	free(event);
}

/* Under the lock. */
static cl_int status_at(const struct _cl_event *event, uint64_t now_ns)
{
	if (!event->resolved)
		return event->queue ? CL_QUEUED : CL_SUBMITTED;
	if (now_ns >= event->ended_ns)
		return event->status;
	if (now_ns >= event->started_ns)
		return CL_RUNNING;
	return now_ns >= event->submitted_ns ? CL_SUBMITTED : CL_QUEUED;
}

cl_event sim_clCreateUserEvent(cl_context context, cl_int *errcode_ret)
{
	cl_event event;

	if (!sim_is(context, SIM_CONTEXT))
		return sim_no(CL_INVALID_CONTEXT, errcode_ret);
	event = sim_new(SIM_EVENT, sizeof(*event));
	if (event) {
		sim_retain(context);
		event->context = context;
		event->type = CL_COMMAND_USER;
	}
	return sim_yes(event, errcode_ret);
}

cl_int sim_clSetUserEventStatus(cl_event event, cl_int execution_status)
{
	cl_int result = CL_SUCCESS;

	if (!sim_is(event, SIM_EVENT) || event->queue)
		return CL_INVALID_EVENT;
	if (execution_status > CL_COMPLETE)
		return CL_INVALID_VALUE;
	pthread_mutex_lock(&sim_lock);
	if (event->resolved) {
		result = CL_INVALID_OPERATION;
	} else {
		event->status = execution_status;
		event->ended_ns = sim_now();
		event->resolved = true;
		resolve_all();
	}
	pthread_mutex_unlock(&sim_lock);
	sim_notice();
	return result;
}

cl_int sim_clRetainEvent(cl_event event)
{
	if (!sim_is(event, SIM_EVENT))
		return CL_INVALID_EVENT;
	sim_retain(event);
	return CL_SUCCESS;
}

cl_int sim_clReleaseEvent(cl_event event)
{
	if (!sim_is(event, SIM_EVENT))
		return CL_INVALID_EVENT;
	sim_put_event(event);
	return CL_SUCCESS;
}

cl_int sim_clGetEventInfo(cl_event event, cl_event_info param_name, size_t param_value_size,
			  void *param_value, size_t *param_value_size_ret)
{
	cl_int status;

	if (!sim_is(event, SIM_EVENT))
		return CL_INVALID_EVENT;
	switch (param_name) {
	case CL_EVENT_COMMAND_QUEUE:
		return SIM_ANSWER(cl_command_queue, event->queue);
	case CL_EVENT_CONTEXT:
		return SIM_ANSWER(cl_context, event->context);
	case CL_EVENT_COMMAND_TYPE:
		return SIM_ANSWER(cl_command_type, event->type);
	case CL_EVENT_REFERENCE_COUNT:
		return SIM_ANSWER(cl_uint, atomic_load(&event->object.references));
	case CL_EVENT_COMMAND_EXECUTION_STATUS:
		sim_spin(sim_options.query_ns);
		pthread_mutex_lock(&sim_lock);
		status = status_at(event, sim_now());
		pthread_mutex_unlock(&sim_lock);
		sim_notice();
		return SIM_ANSWER(cl_int, status);
	default:
		return CL_INVALID_VALUE;
	}
}

cl_int sim_clGetEventProfilingInfo(cl_event event, cl_profiling_info param_name,
				   size_t param_value_size, void *param_value,
				   size_t *param_value_size_ret)
{
	unsigned int which = param_name - CL_PROFILING_COMMAND_QUEUED;
	bool available;

	if (!sim_is(event, SIM_EVENT))
		return CL_INVALID_EVENT;
	if (which > CL_PROFILING_COMMAND_COMPLETE - CL_PROFILING_COMMAND_QUEUED)
		return CL_INVALID_VALUE;
	sim_spin(sim_options.query_ns);
	pthread_mutex_lock(&sim_lock);
	available = event->queue && (event->queue->properties & CL_QUEUE_PROFILING_ENABLE) &&
		    status_at(event, sim_now()) == CL_COMPLETE;
	pthread_mutex_unlock(&sim_lock);
	if (!available)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	if (event->bad && sim_options.bad_stamp == SIM_BAD_UNTOUCHED)
		return CL_SUCCESS;
	return SIM_ANSWER(cl_ulong, event->stamps[which < 3 ? which : 3]);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

cl_int sim_clSetEventCallback(cl_event event, cl_int type,
			      void(CL_CALLBACK *function)(cl_event, cl_int, void *), void *data)
{
	struct sim_callback *callback;

	if (!sim_is(event, SIM_EVENT))
		return CL_INVALID_EVENT;
	if (!function || type < CL_COMPLETE || type > CL_SUBMITTED)
		return CL_INVALID_VALUE;
	callback = calloc(1, sizeof(*callback));
	if (!callback)
		return CL_OUT_OF_HOST_MEMORY;
	*callback = (struct sim_callback){.type = type, .function = function, .data = data};
	pthread_mutex_lock(&sim_lock);
	if (!event->callbacks) {
		sim_retain(event);
		event->next_called = timeline.called;
		timeline.called = event;
	}
	callback->next = event->callbacks;
	event->callbacks = callback;
	atomic_fetch_add(&called_count, 1);
	pthread_mutex_unlock(&sim_lock);
	sim_notice();
	return CL_SUCCESS;
}

/* Under the lock. Takes one due callback out of its lists. ret_last: it is the event's last one,
 * whose reference goes to the caller. */
static struct sim_callback *take_due(cl_event *ret_event, cl_int *ret_status, bool *ret_last)
{
	uint64_t now_ns = sim_now();

	for (cl_event *link = &timeline.called; *link; link = &(*link)->next_called) {
		cl_int status = status_at(*link, now_ns);

		for (struct sim_callback **at = &(*link)->callbacks; *at; at = &(*at)->next) {
			struct sim_callback *due = *at;

			if (status > due->type)
				continue;
			*at = due->next;
			*ret_event = *link;
			*ret_status = status < 0 ? status : due->type;
			*ret_last = !(*link)->callbacks;
			if (*ret_last)
				*link = (*link)->next_called;
			return due;
		}
	}
	return NULL;
}

void sim_notice(void)
{
	while (atomic_load(&called_count)) {
		struct sim_callback *due;
		cl_event event;
		cl_int status;
		bool is_last;

		pthread_mutex_lock(&sim_lock);
		due = take_due(&event, &status, &is_last);
		pthread_mutex_unlock(&sim_lock);
		if (!due)
			return;
		atomic_fetch_sub(&called_count, 1);
		due->function(event, status, due->data);
		free(due);
		if (is_last)
			sim_put_event(event);
	}
}

/* ---- waiting --------------------------------------------------------------------------------- */

static uint64_t wait_resolved(cl_event event)
{
	uint64_t ended_ns;

	pthread_mutex_lock(&sim_lock);
	while (!event->resolved)
		pthread_cond_wait(&resolved, &sim_lock);
	ended_ns = event->ended_ns;
	pthread_mutex_unlock(&sim_lock);
	return ended_ns;
}

static cl_int wait_for(cl_event event)
{
	sim_sleep_until(wait_resolved(event));
	return event->status < 0 ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
}

cl_int sim_clWaitForEvents(cl_uint num_events, const cl_event *event_list)
{
	cl_int result = CL_SUCCESS;

	if (!num_events || !event_list)
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < num_events; i++)
		if (!sim_is(event_list[i], SIM_EVENT))
			return CL_INVALID_EVENT;
	for (cl_uint i = 0; i < num_events; i++)
		if (wait_for(event_list[i]) != CL_SUCCESS)
			result = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	sim_notice();
	return result;
}

cl_int sim_finish(cl_command_queue queue)
{
	uint64_t ended_ns;

	pthread_mutex_lock(&sim_lock);
	while (queue->unresolved)
		pthread_cond_wait(&resolved, &sim_lock);
	ended_ns = queue->ended_ns;
	pthread_mutex_unlock(&sim_lock);
	sim_sleep_until(ended_ns);
	sim_notice();
	return CL_SUCCESS;
}

cl_int sim_clFinish(cl_command_queue queue)
{
	return sim_is(queue, SIM_QUEUE) ? sim_finish(queue) : CL_INVALID_COMMAND_QUEUE;
}

/* Nothing waits for a flush here, as in drivers that submit at once. */
cl_int sim_clFlush(cl_command_queue queue)
{
	if (!sim_is(queue, SIM_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	sim_notice();
	return CL_SUCCESS;
}

/* ---- enqueueing ------------------------------------------------------------------------------ */

cl_int sim_check(cl_command_queue queue, cl_uint wait_count, const cl_event *wait_list)
{
	if (!sim_is(queue, SIM_QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!wait_count != !wait_list)
		return CL_INVALID_EVENT_WAIT_LIST;
	for (cl_uint i = 0; i < wait_count; i++)
		if (!sim_is(wait_list[i], SIM_EVENT))
			return CL_INVALID_EVENT_WAIT_LIST;
	return CL_SUCCESS;
}

static void add_wait(cl_event event, cl_event on)
{
	if (!on)
		return;
	sim_retain(on);
	event->waits[event->wait_count++] = on;
}

/* Under the lock. Returns the dependencies of the command: its wait list, its queue's order, and
 * barriers. */
static bool list_waits(cl_event event, const struct sim_command *command)
{
	cl_command_queue queue = command->queue;
	bool in_order = !(queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	bool after_all = (command->is_barrier || command->is_marker) && !command->wait_count;

	event->waits = calloc(command->wait_count + queue->unresolved + 2, sizeof(*event->waits));
	if (!event->waits)
		return false;
	for (cl_uint i = 0; i < command->wait_count; i++)
		add_wait(event, command->wait_list[i]);
	event->listed_count = event->wait_count;
	add_wait(event, in_order ? queue->last : queue->barrier);
	if (in_order || !after_all)
		return true;
	if (queue->ended_ns > event->floor_ns)
		event->floor_ns = queue->ended_ns;
	for (cl_event open = timeline.unresolved; open; open = open->next_unresolved)
		if (open->queue == queue)
			add_wait(event, open);
	return true;
}

static void replace(cl_event *place, cl_event event)
{
	sim_put_event(*place);
	sim_retain(event);
	*place = event;
}

/* Blocking commands and commands without device time are exempt, because the program uses them to
 * learn its position. */
static void spoil(cl_event event, const struct sim_command *command)
{
	uint64_t count;

	if (command->blocking || !command->duration_ns)
		return;
	count = ++timeline.count;
	if (sim_options.fail_every && count % (uint64_t)sim_options.fail_every == 0)
		event->status = CL_OUT_OF_RESOURCES;
	else if (sim_options.never_every && count % (uint64_t)sim_options.never_every == 0)
		event->never = true;
	else if (sim_options.bad_stamp_every && count % (uint64_t)sim_options.bad_stamp_every == 0)
		event->bad = true;
}

/* Under the lock. */
static bool put(cl_event event, const struct sim_command *command)
{
	cl_command_queue queue = command->queue;

	if (!list_waits(event, command))
		return false;
	spoil(event, command);
	if (resolve(event)) {
		drop_waits(event);
	} else {
		sim_retain(event);
		queue->unresolved++;
		*timeline.unresolved_end = event;
		timeline.unresolved_end = &event->next_unresolved;
	}
	replace(&queue->last, event);
	if (command->is_barrier)
		replace(&queue->barrier, event);
	for (cl_uint i = 0; i < command->signal_count; i++)
		replace(&command->signals[i]->signal, event);
	return true;
}

cl_int sim_enqueue(const struct sim_command *command, cl_event *ret_event)
{
	cl_int result = sim_check(command->queue, command->wait_count, command->wait_list);
	cl_event event;
	bool done;

	if (result != CL_SUCCESS)
		return result;
	event = sim_new(SIM_EVENT, sizeof(*event));
	if (!event)
		return CL_OUT_OF_HOST_MEMORY;
	sim_retain(command->queue);
	sim_retain(command->queue->context);
	event->queue = command->queue;
	event->context = command->queue->context;
	event->type = command->type;
	event->duration_ns = command->duration_ns;
	pthread_mutex_lock(&sim_lock);
	event->queued_ns = sim_now();
	event->submitted_ns = event->queued_ns + (uint64_t)sim_options.latency_ns / 3;
	event->floor_ns = event->queued_ns + (uint64_t)sim_options.latency_ns;
	done = put(event, command);
	pthread_mutex_unlock(&sim_lock);
	if (!done) {
		sim_put_event(event);
		return CL_OUT_OF_HOST_MEMORY;
	}
	if (command->blocking)
		result = wait_for(event);
	if (ret_event && result == CL_SUCCESS)
		*ret_event = event;
	else
		sim_put_event(event);
	sim_notice();
	return result;
}
