/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa_launch.c - the record of a launch, attributed to the call that made it
 *
 * Runs in:  the profiled process, in the thread that dispatches or copies
 * Gets:     commands put into a queue
 * Gives:    a launch record each
 * Owns:     the thread's current call of a runtime above HSA
 * Fails:    by losing a record, which the ring counts
 * Why:      a HIP call is one row with its own interval, which is known when the call has ended: so
 *           the record of its first launch is written when the call ends. Further launches (the
 *           kernels of a graph, a copy in pieces) are marked as part of the call, so that the call
 *           is not counted twice.
 */
#include "inject/amd/hsa.h"

_Thread_local struct hsa_caller *hsa_caller __attribute__((tls_model("initial-exec")));

static void put_launch_row(struct guest_thread *thread, const struct hsa_launch *launch,
			   uint64_t exit)
{
	const struct hsa_dispatch_packet *packet = launch->packet;
	uint32_t dimensions = packet ? packet->dimensions & 3 : 0, at = 2 * dimensions;
	uint32_t size =
		(uint32_t)(sizeof(struct record_launch) + 8 * (at + (launch->stack ? 1 : 0)));
	uint32_t flags = launch->flags | (launch->stack ? RECORD_LAUNCH_STACK : 0);
	struct record_launch *record = guest_reserve(
		thread, EVENT_LAUNCH, size, launch->function | launch->command << 16 | flags << 24);

	if (!record)
		return;
	record->enter = launch->enter;
	record->exit = exit;
	record->correlation = launch->correlation;
	record->bytes = launch->bytes;
	record->handle = 0;
	record->result = launch->result;
	record->queue = launch->queue_id;
	record->kernel = launch->kernel;
	record->dimensions = (uint16_t)dimensions;
	record->wait_count = 0;
	for (uint32_t i = 0; i < dimensions; i++) {
		record->values[i] = packet->grid[i];
		record->values[dimensions + i] = packet->workgroup[i];
	}
	if (launch->stack)
		record->values[at] = launch->stack;
	ring_commit(&thread->writer);
}

void hsa_launch_begin(struct guest_thread *thread, struct hsa_launch *launch, uint32_t function)
{
	struct hsa_caller *caller = hsa_caller;

	guest_count_launch(thread);
	if (!caller) {
		launch->function = function;
		launch->stack = guest_stack_of(thread, guest_site(0, function, launch->kernel));
	} else {
		launch->function = caller->function;
		launch->stack = hsa_caller_stack(thread, caller, launch->kernel);
		launch->flags |= caller->has_first
					 ? LAUNCH_FURTHER | (caller->flags & LAUNCH_COOPERATIVE)
					 : caller->flags;
		/* A runtime kernel that copies or fills is recorded as the copy or fill that the
		 * program requested. */
		if (caller->command != COMMAND_OTHER && launch->command == COMMAND_KERNEL)
			launch->command = caller->command;
	}
	launch->enter = caller && !caller->has_first ? caller->begin : guest_now(thread);
}

static void keep_first(struct hsa_caller *caller, const struct hsa_launch *launch)
{
	caller->first = *launch;
	if (launch->packet) {
		caller->packet = *launch->packet;
		caller->first.packet = &caller->packet;
	}
	caller->has_first = true;
}

void hsa_put_launch(struct guest_thread *thread, const struct hsa_launch *launch)
{
	struct hsa_caller *caller = hsa_caller;

	/* A failed launch put nothing into a queue. The result of the HIP call above it is in that
	 * call's row. */
	if (caller && launch->result)
		return;
	if (caller && !caller->has_first) {
		keep_first(caller, launch);
		return;
	}
	if (caller)
		caller->later_bytes += launch->bytes;
	put_launch_row(thread, launch, guest_now(thread));
}

/* The first launch is recorded even if the call failed afterwards. */
void hsa_caller_put_first(struct guest_thread *thread, struct hsa_caller *caller, uint64_t end)
{
	/* A copy by an engine has its own size; a copy by a kernel takes the remaining bytes of the
	 * call. */
	if (caller->first.packet && caller->bytes > caller->later_bytes)
		caller->first.bytes = caller->bytes - caller->later_bytes;
	put_launch_row(thread, &caller->first, end);
}
