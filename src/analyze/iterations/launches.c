/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/launches.c - reads the launches of the thread that launches most
 *
 * Runs in:  our own process
 * Gets:     the launch chunks of that thread: the chunk heads contain thread and number of rows
 * Gives:    launches in host time
 * Owns:     the launches
 * Fails:    -ENOMEM; a damaged chunk is skipped
 * Why the kernel's name is the key: a program may create a kernel object in each iteration
 */
#include "analyze/iterations/launches.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "base/array.h"
#include "base/hash.h"
#include "trace/reader.h"

#define KEY_IS_COMMAND UINT32_C(0x80000000)

/* The thread with the most launches; 0: there are none. */
static int find_thread(const struct model *model, uint32_t *ret_thread)
{
	struct hash_map rows = {0};
	uint64_t most = 0;
	int error = 0;

	*ret_thread = 0;
	for (size_t i = 0; i < trace_reader_chunk_count(model->reader) && !error; i++) {
		const struct trace_chunk *chunk = trace_reader_chunk(model->reader, i);
		uint64_t sum = hash_map_get(&rows, chunk->source, 0) + chunk->rows;

		if (chunk->kind != EVENT_LAUNCH || !model_has_thread(model, chunk->source))
			continue;
		error = hash_map_put(&rows, chunk->source, sum);
		if (sum > most) {
			most = sum;
			*ret_thread = chunk->source;
		}
	}
	hash_map_fini(&rows);
	return error;
}

static uint32_t key_of(const struct model *model, const struct event_launch *row)
{
	const struct event_code *code =
		row->kernel ? model_entity(model, EVENT_CODE, row->kernel) : NULL;

	if (code && code->name_string)
		return code->name_string & ~KEY_IS_COMMAND;
	if (row->kernel)
		return ~row->kernel & ~KEY_IS_COMMAND;
	return KEY_IS_COMMAND | analysis_launch_command(model, row) << 24 |
	       (row->function_string & 0xffffff);
}

static int add_row(const struct model *model, const struct clocks_domain *clock,
		   const struct event_launch *row, struct thread_launches *launches)
{
	size_t count = launches->count;

	if (row->result || (row->flags & (LAUNCH_PART | LAUNCH_FURTHER)) ||
	    model_is_nobodys(model, row))
		return 0;
	if (array_grow(launches->launches, launches->capacity, count + 1) ||
	    array_grow(launches->stacks, launches->stacks_capacity, count + 1))
		return -ENOMEM;
	launches->launches[count] =
		(struct iterations_launch){.enter = clocks_domain_to_host(clock, row->enter),
					   .exit = clocks_domain_to_host(clock, row->exit),
					   .correlation = row->correlation,
					   .thread = row->thread,
					   .is_blocking = row->flags & LAUNCH_BLOCKING,
					   .key = key_of(model, row)};
	launches->stacks[count] = row->stack;
	launches->count++;
	return 0;
}

static int read_chunk(const struct model *model, size_t index, struct thread_launches *launches)
{
	const struct trace_chunk *chunk = trace_reader_chunk(model->reader, index);
	const struct clocks_domain *clock = clocks_find(model->clocks, chunk->clock);
	struct event_launch *rows = NULL;
	size_t count = 0;
	int error = trace_reader_rows(model->reader, index, (void **)&rows, &count);

	for (size_t i = 0; !error && i < count; i++) {
		launches->is_cut |= launches->count == ITERATIONS_MAX_LAUNCHES;
		if (!launches->is_cut)
			error = add_row(model, clock, &rows[i], launches);
	}
	free(rows);
	return error == -EBADMSG ? 0 : error;
}

static bool is_sorted(const struct thread_launches *launches)
{
	for (size_t i = 1; i < launches->count; i++)
		if (launches->launches[i].enter < launches->launches[i - 1].enter)
			return false;
	return true;
}

/* Restores the order of launches whose chunks were not in the order of time. Stacks are given up,
 * since only the launches are sorted. */
static int compare_launches(const void *left, const void *right)
{
	const struct iterations_launch *a = left, *b = right;

	return (a->enter > b->enter) - (a->enter < b->enter);
}

static void sort_launches(struct thread_launches *launches)
{
	if (is_sorted(launches))
		return;
	if (launches->count)
		qsort(launches->launches, launches->count, sizeof(*launches->launches),
		      compare_launches);
	for (size_t i = 0; i < launches->count; i++)
		launches->stacks[i] = 0;
}

int thread_launches_read(const struct model *model, struct thread_launches *ret_launches)
{
	int error;

	*ret_launches = (struct thread_launches){0};
	error = find_thread(model, &ret_launches->thread);
	ret_launches->process = model_process_of(model, ret_launches->thread);
	for (size_t i = 0; i < trace_reader_chunk_count(model->reader) && !error; i++) {
		const struct trace_chunk *chunk = trace_reader_chunk(model->reader, i);

		if (chunk->kind == EVENT_LAUNCH && chunk->source == ret_launches->thread &&
		    !ret_launches->is_cut)
			error = read_chunk(model, i, ret_launches);
	}
	sort_launches(ret_launches);
	if (error)
		thread_launches_fini(ret_launches);
	return error;
}

void thread_launches_fini(struct thread_launches *launches)
{
	free(launches->launches);
	free(launches->stacks);
	*launches = (struct thread_launches){0};
}

size_t thread_launches_from(const struct thread_launches *launches, uint64_t time)
{
	return LOWER_BOUND(launches->count, i, launches->launches[i].enter < time);
}
