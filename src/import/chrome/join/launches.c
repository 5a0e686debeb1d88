/* SPDX-License-Identifier: MIT
 *
 * import/chrome/join/launches.c - the call of each command of a Chrome trace, by its correlation id
 *
 * Runs in:  our own process
 * Gets:     calls and commands in any order
 * Gives:    in the order of the file: for a command its call, for a call whether it has commands
 * Owns:     three sorters
 * Fails:    -ENOMEM, -errno of a temporary file
 * Why sorted: a file may list all calls before all commands, or the other way round, and a graph
 *           has thousands of commands of one call. If both waited for each other in memory, a file
 *           of a gigabyte would need 300 MB.
 */
#include "import/chrome/join/launches.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/order/record_sort.h"
#include "base/order/number_stream.h"
#include "import/chrome/slices.h"

/* A call or a command. */
struct joined {
	int64_t owner, correlation;
	uint32_t number;
	bool is_command;
	struct chrome_call call; /* a command: begin_ns alone */
};

struct command_call {
	uint32_t number;
	struct chrome_call call;
};

struct chrome_launches {
	struct record_sort *joined;
	struct number_stream calls, commands; /* calls with a command; commands with a call */
	struct joined current;                /* the latest call of the id */
	bool has_current, has_command;
	uint32_t *early; /* numbers of commands that started before the first call of their id */
	size_t early_count, early_capacity;
};

static int compare_joined(const void *left, const void *right)
{
	const struct joined *a = left, *b = right;

	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	if (a->correlation != b->correlation)
		return a->correlation < b->correlation ? -1 : 1;
	if (a->call.begin_ns != b->call.begin_ns)
		return a->call.begin_ns < b->call.begin_ns ? -1 : 1;
	if (a->is_command != b->is_command)
		return a->is_command ? 1 : -1;
	return (a->number > b->number) - (a->number < b->number);
}

int chrome_launches_new(struct chrome_launches **ret_launches)
{
	struct chrome_launches *launches = calloc(1, sizeof(*launches));

	if (!launches)
		return -ENOMEM;
	if (record_sort_new(sizeof(struct joined), compare_joined, &launches->joined) ||
	    record_sort_new(sizeof(uint32_t), number_stream_compare, &launches->calls.sort) ||
	    record_sort_new(sizeof(struct command_call), number_stream_compare,
			    &launches->commands.sort)) {
		chrome_launches_free(launches);
		return -ENOMEM;
	}
	*ret_launches = launches;
	return 0;
}

void chrome_launches_free(struct chrome_launches *launches)
{
	if (!launches)
		return;
	record_sort_free(launches->joined);
	record_sort_free(launches->calls.sort);
	record_sort_free(launches->commands.sort);
	free(launches->early);
	free(launches);
}

int chrome_launches_add_call(struct chrome_launches *launches, const struct chrome_slice *slice,
			     int64_t owner, uint32_t stack, uint32_t collective)
{
	const struct joined joined = {.owner = owner,
				      .correlation = slice->correlation,
				      .number = slice->number,
				      .call = {.begin_ns = slice->begin_ns,
					       .end_ns = slice->end_ns,
					       .row = slice->row,
					       .name = slice->name,
					       .stack = stack,
					       .collective = collective,
					       .result = slice->result,
					       .type = slice->type,
					       .is_further = slice->is_further}};

	return record_sort_add(launches->joined, &joined);
}

int chrome_launches_add_command(struct chrome_launches *launches, int64_t owner,
				int64_t correlation, int64_t begin_ns, uint32_t number)
{
	const struct joined joined = {.owner = owner,
				      .correlation = correlation,
				      .number = number,
				      .is_command = true,
				      .call.begin_ns = begin_ns};

	return record_sort_add(launches->joined, &joined);
}

/* The first command of a call shows the call; later ones are further commands of it. */
static int add_command(struct chrome_launches *launches, uint32_t number)
{
	struct command_call found = {.number = number, .call = launches->current.call};
	int error = 0;

	found.call.is_further |= launches->has_command;
	if (!launches->has_command)
		error = record_sort_add(launches->calls.sort, &launches->current.number);
	launches->has_command = true;
	return error ? error : record_sort_add(launches->commands.sort, &found);
}

static int add_call(struct chrome_launches *launches, const struct joined *call)
{
	int error = 0;

	launches->current = *call;
	launches->has_current = true;
	launches->has_command = false;
	for (size_t i = 0; i < launches->early_count && !error; i++)
		error = add_command(launches, launches->early[i]);
	launches->early_count = 0;
	return error;
}

static int take_joined(struct chrome_launches *launches, const struct joined *joined)
{
	if (joined->owner != launches->current.owner ||
	    joined->correlation != launches->current.correlation) {
		launches->has_current = false;
		launches->early_count = 0;
		launches->current.owner = joined->owner;
		launches->current.correlation = joined->correlation;
	}
	if (!joined->is_command)
		return add_call(launches, joined);
	if (launches->has_current)
		return add_command(launches, joined->number);
	return array_append(launches->early, launches->early_capacity, launches->early_count,
			    joined->number);
}

int chrome_launches_finish(struct chrome_launches *launches)
{
	const void *record;
	int error = record_sort_finish(launches->joined);

	while (!error && !(error = record_sort_next(launches->joined, &record)) && record)
		error = take_joined(launches, record);
	record_sort_free(launches->joined);
	launches->joined = NULL;
	if (!error)
		error = record_sort_finish(launches->calls.sort);
	return error ? error : record_sort_finish(launches->commands.sort);
}

int chrome_launches_find_call(struct chrome_launches *launches, uint32_t number,
			      struct chrome_call *ret_call, bool *ret_has)
{
	const void *record;
	int error = number_stream_find(&launches->commands, number, &record);

	*ret_has = record != NULL;
	if (record)
		*ret_call = ((const struct command_call *)record)->call;
	return error;
}

int chrome_launches_has_command(struct chrome_launches *launches, uint32_t number, bool *ret_has)
{
	const void *record;
	int error = number_stream_find(&launches->calls, number, &record);

	*ret_has = record != NULL;
	return error;
}
