/* SPDX-License-Identifier: MIT
 *
 * import/common/cuda_join.c - join a call of CUDA's API with the commands that it launched
 *
 * Runs in:  our own process
 * Gets:     the calls and commands of one correlation id after the other
 * Gives:    launches and executions, calls
 * Owns:     the numbers of calls and of open captures of threads
 * Fails:    -ENOMEM, errors of the target
 * Why one launch per command: a graph of 400 kernels is one call, and each kernel needs a launch.
 *           The first one has the call's times, the others have no duration.
 */
#include "import/common/cuda_join.h"

#include "event/absent_call.h"
#include "import/target.h"

int import_cuda_join_open(struct import_cuda_join *join, struct import_target *target)
{
	int error = import_target_text(target, ABSENT_CALL, &join->absent);

	join->target = target;
	return error ? error : import_target_text(target, MANAGED_CALL, &join->managed);
}

void import_cuda_join_close(struct import_cuda_join *join)
{
	hash_map_fini(&join->captures);
	hash_map_fini(&join->calls);
	hash_map_fini(&join->callers);
}

int import_cuda_join_count_call(struct import_cuda_join *join, uint32_t process, uint32_t thread)
{
	const uint32_t caller = (uint32_t)hash_map_get(&join->callers, process, 0);
	const uint64_t count = hash_map_get(&join->calls, thread, 0) + 1;
	int error = hash_map_put(&join->calls, thread, count);

	return error || (caller && hash_map_get(&join->calls, caller, 0) >= count)
		       ? error
		       : hash_map_put(&join->callers, process, thread);
}

/* ---- calls ---- */

static int write_call(struct import_cuda_join *join)
{
	const struct import_cuda_group *group = &join->group;
	const struct event_launch *call = &group->call.row;
	const uint32_t flags = group->call.function.flags;
	const bool waits = (flags & CUDA_WAITS || group->has_sync) && !(flags & CUDA_NEVER_WAITS);
	const struct event_api row = {.begin = call->enter,
				      .end = call->exit,
				      .thread = call->thread,
				      .function_string = call->function_string,
				      .result = call->result,
				      .type = waits ? API_TYPE_WAIT : API_TYPE_CALL,
				      .argument =
					      waits && flags & CUDA_WAITS_STREAM ? group->queue : 0,
				      .stack = group->stack};

	return import_target_call(join->target, &row);
}

/* A launch without a command in the file: it is in flight when the file ends. If the file has no
 * commands at all, they were executed at unknown times. */
static int write_unexecuted(struct import_cuda_join *join)
{
	struct event_launch launch = join->group.call.row;
	struct event_execution execution = {.seen = launch.exit,
					    .process = join->group.call.process};
	int error;

	launch.stack = join->group.stack;
	launch.command = join->group.call.function.command;
	launch.correlation = launch.result ? 0 : import_target_correlation(join->target);
	launch.flags = join->has_executions ? 0 : LAUNCH_UNTIMED;
	execution.correlation = launch.correlation;
	error = import_target_launch(join->target, &launch);
	join->unexecuted++;
	return error || join->has_executions || launch.result
		       ? error
		       : import_target_execution(join->target, &execution);
}

/* Ids rise in the order of a thread's calls, so a capture's calls come between its two ends. */
static int count_captures(struct import_cuda_join *join)
{
	const struct import_cuda_call *call = &join->group.call;
	const uint32_t flags = call->function.flags, thread = call->row.thread;
	const uint64_t open = hash_map_get(&join->captures, thread, 0);

	if (flags & CUDA_BEGINS_CAPTURE && !call->row.result)
		return hash_map_put(&join->captures, thread, open + 1);
	if (flags & CUDA_ENDS_CAPTURE && open)
		return hash_map_put(&join->captures, thread, open - 1);
	return 0;
}

/* Writes the call of the group unless it is the launch of a command that was written. */
static int finish_call(struct import_cuda_join *join)
{
	const struct import_cuda_group *group = &join->group;
	int error;

	if (!group->has_call || group->has_command)
		return 0;
	error = count_captures(join);
	if (error)
		return error;
	if (!(group->call.function.flags & CUDA_LAUNCHES) ||
	    (join->is_nested && join->has_executions))
		return write_call(join);
	if (!hash_map_get(&join->captures, group->call.row.thread, 0))
		return write_unexecuted(join);
	join->captured++;
	return write_call(join);
}

int import_cuda_join_next_call(struct import_cuda_join *join)
{
	int error = finish_call(join);

	join->group.has_call = false;
	join->group.stack = 0;
	return error;
}

void import_cuda_join_set_call(struct import_cuda_join *join, const struct import_cuda_call *call)
{
	join->group.call = *call;
	join->group.has_call = true;
}

/* ---- commands ---- */

/* A launch of no duration when the command starts. The driver migrates memory when a page is
 * missing, and no call does. The thread with the most calls stands for the process until then. */
static int make_up_launch(struct import_cuda_join *join, const struct import_cuda_command *command,
			  struct event_launch *launch)
{
	const uint32_t process = command->row.process;
	const uint64_t caller =
		launch->command == COMMAND_MIGRATE ? hash_map_get(&join->callers, process, 0) : 0;

	launch->enter = launch->exit = command->row.started;
	launch->function_string = caller ? join->managed : join->absent;
	launch->thread = (uint32_t)caller;
	join->made_up++;
	return caller ? 0
		      : import_target_thread(join->target, process, 0, "[unknown thread]",
					     &launch->thread);
}

/* The first command of a call has the call as its launch; the others have one of no duration at its
 * start. */
static int make_launch(struct import_cuda_join *join, const struct import_cuda_command *command,
		       struct event_launch *launch)
{
	struct import_cuda_group *group = &join->group;
	const struct event_launch *call = &group->call.row;

	launch->queue = command->row.queue;
	launch->stack = group->stack;
	if (!group->has_call)
		return make_up_launch(join, command, launch);
	launch->enter = launch->exit = call->enter;
	launch->thread = call->thread;
	launch->function_string = call->function_string;
	if (group->has_command) {
		launch->flags |= LAUNCH_FURTHER;
		return 0;
	}
	launch->exit = call->exit;
	if (group->call.function.flags & CUDA_BLOCKS && command->row.ended <= call->exit)
		launch->flags |= LAUNCH_BLOCKING;
	group->has_command = true;
	return 0;
}

int import_cuda_join_add_command(struct import_cuda_join *join, struct import_cuda_command *command)
{
	int error = make_launch(join, command, &command->launch);

	if (error)
		return error;
	command->row.correlation = command->launch.correlation =
		import_target_correlation(join->target);
	error = import_target_launch(join->target, &command->launch);
	return error ? error : import_target_execution(join->target, &command->row);
}

/* ---- groups ---- */

void import_cuda_join_begin(struct import_cuda_join *join)
{
	join->group = (struct import_cuda_group){0};
}

int import_cuda_join_end(struct import_cuda_join *join)
{
	int error = finish_call(join);

	import_cuda_join_begin(join);
	return error;
}

void import_cuda_join_put_notes(const struct import_cuda_join *join)
{
	import_target_note_count(join->target, join->made_up, "command", "commands",
				 "without a call: duet adds a launch of no duration");
	import_target_note_count(join->target, join->captured, "launch", "launches",
				 "under a stream capture: imported as a call, because it became a "
				 "node of a graph");
	import_target_note_count(join->target, join->unexecuted, "launch", "launches",
				 "without a command in the file");
}
