/* SPDX-License-Identifier: MIT
 *
 * inject/opencl/executions.c - the record of a command that has completed
 *
 * Runs in:  the profiled process, in the thread that found the command complete
 * Gets:     an event, and the attributes of its command
 * Gives:    an execution record
 * Owns:     nothing
 * Fails:    by losing a record, which the ring counts; a time that the driver does not report, or
 *           that makes no sense, is left out
 */
#include "event/record_parts.h"
#include "inject/opencl/opencl.h"

uint64_t opencl_read_stamp(cl_event event, cl_uint what)
{
	cl_ulong time = 0;

	return next.clGetEventProfilingInfo(event, what, sizeof(time), &time, NULL) == CL_SUCCESS
		       ? time
		       : 0;
}

/* False for values that some drivers leave uninitialised. One timestamp that is years off would
 * move the whole clock. */
static bool is_real(uint64_t time, uint64_t queued)
{
	uint64_t distance = time > queued ? time - queued : queued - time;

	return time && !(queued && distance >> 57);
}

void opencl_put_execution(struct guest_thread *thread, cl_event event,
			  const struct opencl_followed *of, cl_int status, uint64_t ended,
			  uint64_t seen)
{
	static const struct record_parts parts = {.transfer.migration = MIGRATION_REQUESTED};
	uint64_t queued = 0, submitted = 0, started = 0;
	struct record_execution *record;
	uint32_t valid = 0, detail = of->is_migration ? RECORD_PART_TRANSFER : 0;

	if (GUEST_LIKELY(status >= 0)) {
		queued = opencl_read_stamp(event, CL_PROFILING_COMMAND_QUEUED);
		submitted = opencl_read_stamp(event, CL_PROFILING_COMMAND_SUBMIT);
		started = opencl_read_stamp(event, CL_PROFILING_COMMAND_START);
		valid = (queued ? EXECUTION_QUEUED : 0u) |
			(is_real(submitted, queued) ? EXECUTION_SUBMITTED : 0u) |
			(is_real(started, queued) ? EXECUTION_STARTED : 0u) |
			(is_real(ended, queued) ? EXECUTION_ENDED : 0u);
		valid &= of->stamps;
	}
	record = guest_reserve(thread, EVENT_EXECUTION,
			       (uint32_t)sizeof(*record) + record_parts_bytes(detail),
			       valid | detail);
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
	record_parts_write(record + 1, detail, &parts);
	ring_commit(&thread->writer);
}
