/* SPDX-License-Identifier: MIT
 *
 * analyze/collectives/collectives.c - pair collective operations across ranks
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     rows of collectives, in the order of their start
 * Gives:    for each rank: how often it arrived last, how long it waited
 * Owns:     the operations that some ranks have not reached yet
 * Fails:    -ENOMEM, errors of the reader
 * Why two passes: an operation is complete when all ranks of its communicator are in it, and only
 *           the whole trace shows which ranks use a communicator. A file of one rank may name a
 *           job of a thousand. A trace has few rows of this kind: 84 in a step of 8 ranks.
 */
#include "analyze/collectives/collectives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "analyze/order.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/pair_map.h"

/* Max number of rows in unfinished operations. Beyond it all of them count as incomplete, and their
 * later rows are ignored. */
enum { MAX_WAITING = 1 << 20 };
#define NO_MEMBER UINT32_MAX

/* One rank in an operation. */
struct member {
	uint32_t rank; /* index into ranks */
	uint32_t next; /* index of the next member of the operation, or NO_MEMBER */
	uint64_t begin, end, bytes;
};

struct operation {
	uint32_t first, count; /* index of the newest member, or NO_MEMBER; number of members */
	uint32_t next_free;    /* index of another closed operation, or NO_MEMBER */
};

struct pairing {
	const struct model *model;
	uint64_t from_ns, to_ns;
	struct collectives *result;
	size_t ranks_capacity;
	struct pair_map ranks;   /* process -> index into result->ranks */
	struct pair_map members; /* (communicator, process) -> 0: it uses the communicator */
	struct pair_map sizes;   /* communicator -> number of its processes */

	struct pair_map open; /* (communicator, sequence) -> index into operations */
	struct operation *operations;
	size_t operations_count, operations_capacity;
	struct member *waiting;
	size_t waiting_count, waiting_capacity;
	uint32_t free_operation, free_member; /* indices of unused places, or NO_MEMBER */
	uint32_t members_count;               /* in open operations */
	struct hash_map dropped; /* communicator -> the last operation that was forgotten */
};

static bool is_numbered(const struct event_collective *row)
{
	return row->communicator_string && row->sequence;
}

static bool is_in_window(const struct pairing *pairing, const struct event_collective *row)
{
	return row->begin < pairing->to_ns && row->end > pairing->from_ns;
}

/* ---- first pass: the ranks of each communicator ---------------------------------------------- */

static uint32_t find_rank(struct pairing *pairing, uint32_t process)
{
	return pair_map_add(
		&pairing->ranks, process, 0, pairing->result->ranks, pairing->ranks_capacity,
		pairing->result->ranks_count,
		(struct collectives_rank){
			.process = model_entity(pairing->model, EVENT_PROCESS, process)});
}

static int count_member(struct pairing *pairing, const struct event_collective *row)
{
	const uint32_t communicator = row->communicator_string;
	uint32_t size = pair_map_find(&pairing->sizes, communicator, 0);

	if (!is_numbered(row)) {
		pairing->result->unnumbered++;
		return 0;
	}
	if (find_rank(pairing, row->process) == PAIR_MAP_NONE)
		return -ENOMEM;
	if (pair_map_find(&pairing->members, communicator, row->process) != PAIR_MAP_NONE)
		return 0;
	if (pair_map_put(&pairing->members, communicator, row->process, 0))
		return -ENOMEM;
	return pair_map_put(&pairing->sizes, communicator, 0, size == PAIR_MAP_NONE ? 1 : size + 1);
}

/* ---- second pass: the operations ------------------------------------------------------------- */

/* The times of an operation: its first and last start and end, and the member that was last. */
struct span {
	uint64_t first_begin, last_begin, first_end, last_end;
	const struct member *last;
};

static struct span span_of(const struct pairing *pairing, const struct operation *operation)
{
	struct span span = {.first_begin = UINT64_MAX, .first_end = UINT64_MAX};

	for (uint32_t i = operation->first; i != NO_MEMBER; i = pairing->waiting[i].next) {
		const struct member *member = &pairing->waiting[i];

		if (!span.last || member->begin >= span.last_begin)
			span.last = member;
		span.last_begin = larger(span.last_begin, member->begin);
		span.first_begin = smaller(span.first_begin, member->begin);
		span.last_end = larger(span.last_end, member->end);
		span.first_end = smaller(span.first_end, member->end);
	}
	return span;
}

static void evaluate(struct pairing *pairing, const struct operation *operation)
{
	struct collectives *result = pairing->result;
	const struct span span = span_of(pairing, operation);
	struct collectives_rank *last = &result->ranks[span.last->rank];

	for (uint32_t i = operation->first; i != NO_MEMBER; i = pairing->waiting[i].next) {
		const struct member *member = &pairing->waiting[i];
		struct collectives_rank *rank = &result->ranks[member->rank];
		const uint64_t waited_ns = span.last_begin - member->begin;

		rank->operations++;
		rank->waited_ns += waited_ns;
		rank->max_waited_ns = larger(rank->max_waited_ns, waited_ns);
		rank->device_ns += member->end - member->begin;
		rank->bytes += member->bytes;
		result->waited_ns += waited_ns;
		last->caused_ns += waited_ns;
		last->max_caused_ns = larger(last->max_caused_ns, waited_ns);
	}
	last->last_count++;
	result->operations++;
	result->max_waited_ns = larger(result->max_waited_ns, span.last_begin - span.first_begin);
	result->starts_apart_ns += span.last_begin - span.first_begin;
	result->ends_apart_ns += span.last_end - span.first_end;
}

static bool has_rank(const struct pairing *pairing, const struct operation *operation,
		     uint32_t rank)
{
	for (uint32_t i = operation->first; i != NO_MEMBER; i = pairing->waiting[i].next)
		if (pairing->waiting[i].rank == rank)
			return true;
	return false;
}

static void forget_members(struct pairing *pairing)
{
	pair_map_fini(&pairing->open);
	pairing->operations_count = pairing->waiting_count = 0;
	pairing->free_operation = pairing->free_member = NO_MEMBER;
	pairing->members_count = 0;
}

/* Forgets the operations that are open, and what the other ranks will add to them. */
static int drop_open(struct pairing *pairing)
{
	const struct pair_map *open = &pairing->open;
	int error = 0;

	for (size_t i = 0; i < open->capacity && !error; i++) {
		const struct pair_slot *slot = &open->slots[i];

		if (slot->value != PAIR_MAP_NONE &&
		    slot->second > hash_map_get(&pairing->dropped, slot->first, 0))
			error = hash_map_put(&pairing->dropped, slot->first, slot->second);
	}
	pairing->result->incomplete += open->count;
	forget_members(pairing);
	return error;
}

/* Gives the places of all members back. */
static void empty_operation(struct pairing *pairing, struct operation *operation)
{
	uint32_t *end = &operation->first;

	while (*end != NO_MEMBER)
		end = &pairing->waiting[*end].next;
	*end = pairing->free_member;
	pairing->free_member = operation->first;
	pairing->members_count -= operation->count;
	*operation = (struct operation){NO_MEMBER, 0, NO_MEMBER};
}

static void close_operation(struct pairing *pairing, const struct event_collective *row)
{
	const uint32_t index =
		pair_map_remove(&pairing->open, row->communicator_string, row->sequence);
	struct operation *operation = &pairing->operations[index];

	empty_operation(pairing, operation);
	operation->next_free = pairing->free_operation;
	pairing->free_operation = index;
}

/* The open operation of a row, or a new one; NO_MEMBER: out of memory. */
static uint32_t find_operation(struct pairing *pairing, const struct event_collective *row)
{
	uint32_t index = pair_map_find(&pairing->open, row->communicator_string, row->sequence);

	if (index != PAIR_MAP_NONE)
		return index;
	index = pairing->free_operation;
	if (index != NO_MEMBER)
		pairing->free_operation = pairing->operations[index].next_free;
	else if (array_append(pairing->operations, pairing->operations_capacity,
			      pairing->operations_count,
			      (struct operation){NO_MEMBER, 0, NO_MEMBER}))
		return NO_MEMBER;
	else
		index = (uint32_t)pairing->operations_count - 1;
	return pair_map_put(&pairing->open, row->communicator_string, row->sequence, index)
		       ? NO_MEMBER
		       : index;
}

static int put_member(struct pairing *pairing, struct operation *operation,
		      const struct member *member)
{
	uint32_t index = pairing->free_member;

	if (index != NO_MEMBER) {
		pairing->free_member = pairing->waiting[index].next;
		pairing->waiting[index] = *member;
	} else {
		if (array_append(pairing->waiting, pairing->waiting_capacity,
				 pairing->waiting_count, *member))
			return -ENOMEM;
		index = (uint32_t)pairing->waiting_count - 1;
	}
	operation->first = index;
	operation->count++;
	pairing->members_count++;
	return 0;
}

static int add_member(struct pairing *pairing, const struct event_collective *row)
{
	const uint32_t rank = find_rank(pairing, row->process);
	const uint32_t size = pair_map_find(&pairing->sizes, row->communicator_string, 0);
	struct operation *operation;
	uint32_t index;

	if (pairing->members_count >= MAX_WAITING && drop_open(pairing))
		return -ENOMEM;
	if (row->sequence <= hash_map_get(&pairing->dropped, row->communicator_string, 0))
		return 0;
	index = find_operation(pairing, row);
	if (rank == PAIR_MAP_NONE || index == NO_MEMBER)
		return -ENOMEM;
	operation = &pairing->operations[index];
	if (has_rank(pairing, operation, rank)) {
		pairing->result->incomplete++;
		empty_operation(pairing, operation);
	}
	if (put_member(pairing, operation,
		       &(struct member){rank, operation->first, row->begin, row->end, row->bytes}))
		return -ENOMEM;
	if (operation->count < size)
		return 0;
	evaluate(pairing, operation);
	close_operation(pairing, row);
	return 0;
}

static int on_row(struct pairing *pairing, const struct event_collective *row)
{
	const uint32_t size = pair_map_find(&pairing->sizes, row->communicator_string, 0);

	return is_numbered(row) && size != PAIR_MAP_NONE && size > 1 ? add_member(pairing, row) : 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int each_row(struct pairing *pairing,
		    int (*take)(struct pairing *pairing, const struct event_collective *row))
{
	const struct order_options options = {.kinds = 1u << EVENT_COLLECTIVE};
	struct order *order = NULL;
	struct order_item item;
	int error = model_order(pairing->model, &options, &order), status;

	while (!error && (status = order_next(order, &item)) != 0) {
		const struct event_collective *row = item.row;

		if (status < 0)
			error = status;
		else if (is_in_window(pairing, row) &&
			 model_has_process(pairing->model, row->process))
			error = take(pairing, row);
	}
	order_free(order);
	return error;
}

static int compare_ranks(const void *left, const void *right)
{
	const struct event_process *a = ((const struct collectives_rank *)left)->process;
	const struct event_process *b = ((const struct collectives_rank *)right)->process;

	if (!a || !b)
		return (a == NULL) - (b == NULL);
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static void pairing_fini(struct pairing *pairing)
{
	pair_map_fini(&pairing->ranks);
	pair_map_fini(&pairing->members);
	pair_map_fini(&pairing->sizes);
	pair_map_fini(&pairing->open);
	hash_map_fini(&pairing->dropped);
	free(pairing->operations);
	free(pairing->waiting);
}

int collectives_read(const struct model *model, uint64_t from_ns, uint64_t to_ns,
		     struct collectives *ret_collectives)
{
	struct collectives result = {0};
	struct pairing pairing = {.model = model,
				  .from_ns = from_ns,
				  .to_ns = to_ns,
				  .result = &result,
				  .free_operation = NO_MEMBER,
				  .free_member = NO_MEMBER};
	int error = each_row(&pairing, count_member);

	if (!error)
		error = each_row(&pairing, on_row);
	result.incomplete += pairing.open.count;
	pairing_fini(&pairing);
	if (error) {
		collectives_fini(&result);
		return error;
	}
	if (result.ranks_count)
		qsort(result.ranks, result.ranks_count, sizeof(*result.ranks), compare_ranks);
	*ret_collectives = result;
	return 0;
}

void collectives_fini(struct collectives *collectives)
{
	free(collectives->ranks);
	*collectives = (struct collectives){0};
}

bool collectives_is_aligned(const struct collectives *collectives)
{
	return collectives->ends_apart_ns <= collectives->starts_apart_ns / 2;
}
