/* SPDX-License-Identifier: MIT
 *
 * import/nsys/collectives.c - collective operations of NCCL in a file of Nsight Systems
 *
 * Runs in:  our own process
 * Gets:     kernels of NCCL with their calls; NCCL's NVTX ranges with their payloads
 * Gives:    collectives with communicator, size and rank
 * Owns:     two sorters, the ranks of communicators
 * Fails:    -ENOMEM, -errno of a temporary file or a write
 * Why ranges: a kernel's row has neither communicator nor size. NCCL launches the kernel of an
 *           operation inside of the range of its function (ncclAllReduce), or at the end of a group
 *           (ncclGroupEnd), which holds the operations since the last kernel of the thread.
 */
#include "import/nsys/collectives.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order/record_sort.h"
#include "event/event.h"
#include "import/common/collectives.h"
#include "import/nsys/commands.h"
#include "import/nsys/import.h"
#include "import/target.h"

/* A kernel of NCCL. */
struct nccl_command {
	uint32_t thread; /* 0: not known */
	uint64_t enter;  /* start of its call */
	struct event_collective row;
};

enum nccl_function { NCCL_OPERATION, NCCL_GROUP_START, NCCL_GROUP_END };

/* A range of NCCL. */
struct nccl_operation {
	uint32_t thread;
	enum nccl_function function;
	uint64_t begin, end;
	uint64_t communicator, bytes;
	uint32_t name_string;
};

static int compare(uint32_t thread, uint64_t time, uint32_t other_thread, uint64_t other_time)
{
	if (thread != other_thread)
		return thread < other_thread ? -1 : 1;
	return (time > other_time) - (time < other_time);
}

static int compare_commands(const void *left, const void *right)
{
	const struct nccl_command *a = left, *b = right;

	return compare(a->thread, a->enter, b->thread, b->enter);
}

static int compare_operations(const void *left, const void *right)
{
	const struct nccl_operation *a = left, *b = right;

	return compare(a->thread, a->begin, b->thread, b->begin);
}

void nsys_collectives_fini(struct nsys_collectives *collectives)
{
	hash_map_fini(&collectives->kernels);
	record_sort_free(collectives->commands);
	record_sort_free(collectives->ranges);
	nsys_payloads_fini(&collectives->payloads);
	free(collectives->members);
	pair_map_fini(&collectives->members_index);
	*collectives = (struct nsys_collectives){0};
}

static int add_record(struct record_sort **sort, size_t size, record_compare *order,
		      const void *record)
{
	int error = *sort ? 0 : record_sort_new(size, order, sort);

	return error ? error : record_sort_add(*sort, record);
}

/* ---- kernels ---- */

/* Strings of the trace. */
struct nccl_kernel {
	uint32_t operation;    /* 0: not in the name */
	uint32_t communicator; /* that of a file without payloads */
};

int nsys_collectives_add_kernel(struct nsys *nsys, uint32_t kernel, const char *name)
{
	size_t length;
	const char *operation = import_collective_of_kernel(name, &length);
	struct nccl_kernel strings;
	int error;

	if (!operation)
		return 0;
	error = import_collective_name(nsys->target, operation, length, &strings.operation);
	if (!error)
		error = import_collective_of_all(nsys->target, name, &strings.communicator);
	return error ? error
		     : hash_map_put(&nsys->collectives.kernels, kernel,
				    (uint64_t)strings.communicator << 32 | strings.operation);
}

int nsys_collectives_add_command(struct nsys *nsys, const struct import_cuda_command *command,
				 bool has_call)
{
	struct nsys_collectives *collectives = &nsys->collectives;
	const uint64_t *strings =
		collectives->kernels.count && command->launch.kernel
			? hash_map_find(&collectives->kernels, command->launch.kernel)
			: NULL;
	const struct nccl_command record = {
		.thread = has_call ? command->launch.thread : 0,
		.enter = command->launch.enter,
		.row = {.begin = command->row.started,
			.end = command->row.ended,
			.process = command->row.process,
			.thread = has_call ? command->launch.thread : 0,
			.correlation = command->row.correlation,
			.name_string = strings ? (uint32_t)*strings : 0,
			.communicator_string = strings ? (uint32_t)(*strings >> 32) : 0},
	};

	return strings ? add_record(&collectives->commands, sizeof(record), compare_commands,
				    &record)
		       : 0;
}

/* ---- ranges ---- */

static int add_member(struct nsys_collectives *collectives, uint32_t process,
		      const struct nsys_payload *payload)
{
	const uint64_t rank = payload->values[PAYLOAD_RANK];
	const uint64_t count = payload->values[PAYLOAD_RANK_COUNT];
	const struct nsys_member member = {(uint32_t)rank + 1, (uint32_t)count};

	if (!payload->has[PAYLOAD_RANK] || !payload->has[PAYLOAD_COMMUNICATOR] || rank >= count ||
	    count > UINT32_MAX)
		return 0;
	return pair_map_add(&collectives->members_index, process,
			    payload->values[PAYLOAD_COMMUNICATOR], collectives->members,
			    collectives->members_capacity, collectives->members_count,
			    member) == PAIR_MAP_NONE
		       ? -ENOMEM
		       : 0;
}

static enum nccl_function function_of(const char *name)
{
	if (strcmp(name, "ncclGroupStart") == 0)
		return NCCL_GROUP_START;
	return strcmp(name, "ncclGroupEnd") == 0 ? NCCL_GROUP_END : NCCL_OPERATION;
}

int nsys_collectives_add_range(struct nsys *nsys, const struct event_range *range, const char *name,
			       const struct nsys_payload *payload)
{
	struct nsys_collectives *collectives = &nsys->collectives;
	struct nccl_operation record = {.thread = range->thread,
					.function = function_of(name),
					.begin = range->begin,
					.end = range->end,
					.communicator = payload->values[PAYLOAD_COMMUNICATOR],
					.bytes = payload->values[PAYLOAD_BYTES]};
	int error = add_member(collectives, range->process, payload);

	if (error)
		return error;
	if (record.function == NCCL_OPERATION) {
		if (!payload->has[PAYLOAD_COMMUNICATOR] || !payload->has[PAYLOAD_BYTES])
			return 0;
		collectives->has_operations = true;
		error = import_collective_name(nsys->target, name + 4, strlen(name + 4),
					       &record.name_string);
	}
	return error ? error
		     : add_record(&collectives->ranges, sizeof(record), compare_operations,
				  &record);
}

/* ---- the join ---- */

/* The state of a thread. */
struct join {
	struct nsys *nsys;
	struct import_sequences *sequences;
	const struct nccl_operation *next; /* NULL: the end */
	uint32_t thread, depth;            /* depth: number of open groups */
	struct nccl_operation last;        /* the last operation without a kernel */
	uint64_t count, bytes;             /* sums over the operations without a kernel */
	bool is_mixed;                     /* they have several communicators */
	uint64_t group_end;                /* end of the last range ncclGroupEnd */
};

static int move_range(struct join *join)
{
	const void *record = NULL;
	int error = join->nsys->collectives.ranges
			    ? record_sort_next(join->nsys->collectives.ranges, &record)
			    : 0;

	join->next = error ? NULL : record;
	return error;
}

static void forget_operations(struct join *join)
{
	join->count = join->bytes = 0;
	join->is_mixed = false;
}

static void add_operation(struct join *join, const struct nccl_operation *operation)
{
	if (!join->depth)
		forget_operations(join);
	join->is_mixed |= join->count && operation->communicator != join->last.communicator;
	join->bytes += operation->bytes;
	join->count++;
	join->last = *operation;
}

static void take_range(struct join *join, const struct nccl_operation *range)
{
	if (range->thread != join->thread) {
		forget_operations(join);
		join->thread = range->thread;
		join->depth = 0;
		join->group_end = 0;
	}
	switch (range->function) {
	case NCCL_OPERATION:
		add_operation(join, range);
		break;
	case NCCL_GROUP_START:
		if (!join->depth++)
			forget_operations(join);
		break;
	case NCCL_GROUP_END:
		join->depth -= join->depth > 0;
		join->group_end = range->end;
		break;
	}
}

/* Sets the size of the operations that a call launches; false: it is not known which these are. */
static bool find_operations(const struct join *join, const struct nccl_command *command,
			    uint64_t *ret_bytes)
{
	const bool is_inside = command->enter < join->last.end;

	if (!join->count || !command->thread || command->thread != join->thread)
		return false;
	*ret_bytes = is_inside ? join->last.bytes : join->bytes;
	return is_inside || (command->enter < join->group_end && !join->is_mixed);
}

static int describe_row(struct join *join, struct event_collective *row)
{
	const struct nsys_collectives *collectives = &join->nsys->collectives;
	const uint32_t member =
		pair_map_find(&collectives->members_index, row->process, join->last.communicator);
	char communicator[24];

	if (!row->name_string)
		row->name_string = join->last.name_string;
	if (member != PAIR_MAP_NONE) {
		row->rank = collectives->members[member].rank;
		row->rank_count = collectives->members[member].rank_count;
	}
	snprintf(communicator, sizeof(communicator), "%016" PRIx64, join->last.communicator);
	return import_target_text(join->nsys->target, communicator, &row->communicator_string);
}

/* A kernel without an operation has no communicator if others have one. Other ranks may know the
 * kernel's communicator, and count it. */
static int write_command(struct join *join, const struct nccl_command *command)
{
	struct event_collective row = command->row;
	int error = 0;

	if (find_operations(join, command, &row.bytes)) {
		error = describe_row(join, &row);
		forget_operations(join);
	} else if (join->nsys->collectives.has_operations) {
		row.communicator_string = 0;
		error = import_sequences_break(join->sequences, &row);
	}
	return error ? error : import_sequences_add(join->sequences, &row);
}

static bool is_before(const struct nccl_operation *range, const struct nccl_command *command)
{
	return compare(range->thread, range->begin, command->thread, command->enter) <= 0;
}

static int join_all(struct join *join)
{
	const void *record;
	int error = 0;

	while (!error && !(error = record_sort_next(join->nsys->collectives.commands, &record)) &&
	       record) {
		const struct nccl_command *command = record;

		while (!error && join->next && is_before(join->next, command)) {
			take_range(join, join->next);
			error = move_range(join);
		}
		if (!error)
			error = write_command(join, command);
	}
	return error;
}

int nsys_collectives_write(struct nsys *nsys)
{
	struct nsys_collectives *collectives = &nsys->collectives;
	struct join join = {.nsys = nsys};
	int error;

	if (!collectives->commands)
		return 0;
	error = import_sequences_new(&join.sequences);
	if (!error)
		error = record_sort_finish(collectives->commands);
	if (!error && collectives->ranges)
		error = record_sort_finish(collectives->ranges);
	if (!error)
		error = move_range(&join);
	if (!error)
		error = join_all(&join);
	if (!error)
		error = import_sequences_write(join.sequences, nsys->target);
	import_sequences_free(join.sequences);
	return error;
}
