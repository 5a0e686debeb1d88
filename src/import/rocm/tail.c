/* SPDX-License-Identifier: MIT
 *
 * import/rocm/tail.c - calls without a command at the end of a recording of ROCm
 *
 * Runs in:  our own process
 * Gets:     calls of one process after the other, nearly in the order of their times
 * Gives:    launches without a command, calls
 * Owns:     the latest calls
 * Fails:    -ENOMEM, -errno of a write
 * Why:      a recording that was cut ends with launches whose commands ran later. After them it is
 *           not known whether the device was idle. A function launches if another call of it has a
 *           command. Before the latest launch with a command, such calls are calls: they were
 *           captured into a graph, or their commands were not recorded. So are calls that wait for
 *           their command, and those before a wait for the device.
 */
#include "import/rocm/tail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event/event.h"
#include "import/target.h"

/* Max number of calls after the latest launch with a command; earlier ones are calls. */
enum { MAX_CALLS = 1 << 14 };

void rocm_tail_fini(struct rocm_tail *tail)
{
	free(tail->calls);
	hash_map_fini(&tail->launching);
	*tail = (struct rocm_tail){0};
}

int rocm_tail_note_launch(struct rocm_tail *tail, const struct event_api *call, uint32_t command)
{
	if (call->begin > tail->latest_ns)
		tail->latest_ns = call->begin;
	return hash_map_put(&tail->launching, call->function_string, (uint64_t)command + 1);
}

static int write_launch(struct rocm_tail *tail, const struct event_api *call, uint32_t command)
{
	const struct event_launch launch = {.enter = call->begin,
					    .exit = call->end,
					    .thread = call->thread,
					    .function_string = call->function_string,
					    .stack = call->stack,
					    .command = command,
					    .correlation = import_target_correlation(tail->target)};

	tail->launches++;
	return import_target_launch(tail->target, &launch);
}

/* Writes the first `count` kept calls as calls. */
static int write_calls(struct rocm_tail *tail, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = import_target_call(tail->target, &tail->calls[i]);
	tail->count -= count;
	memmove(tail->calls, tail->calls + count, tail->count * sizeof(*tail->calls));
	return error;
}

int rocm_tail_add_call(struct rocm_tail *tail, const struct event_api *call)
{
	int error = 0;

	if (call->begin <= tail->latest_ns)
		return import_target_call(tail->target, call);
	if (call->function_string == tail->device_wait && !call->result &&
	    call->begin > tail->waited_ns)
		tail->waited_ns = call->begin;
	if (tail->count == MAX_CALLS)
		error = write_calls(tail, MAX_CALLS / 2);
	return error ? error : array_append(tail->calls, tail->capacity, tail->count, *call);
}

static bool may_be_in_flight(const struct rocm_tail *tail, const struct event_api *call)
{
	return call->begin > tail->latest_ns && call->end > tail->waited_ns &&
	       call->type != API_TYPE_WAIT;
}

int rocm_tail_end_process(struct rocm_tail *tail)
{
	int error = 0;

	for (size_t i = 0; i < tail->count && !error; i++) {
		const struct event_api *call = &tail->calls[i];
		const uint64_t command =
			may_be_in_flight(tail, call)
				? hash_map_get(&tail->launching, call->function_string, 0)
				: 0;

		error = command ? write_launch(tail, call, (uint32_t)command - 1)
				: import_target_call(tail->target, call);
	}
	tail->count = 0;
	tail->latest_ns = tail->waited_ns = 0;
	hash_map_fini(&tail->launching);
	return error;
}
