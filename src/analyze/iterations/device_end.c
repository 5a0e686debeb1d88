/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/device_end.c - when the device has done the work of the iterations
 *
 * Runs in:  our own process
 * Gets:     the steady part by launches, the executions of a trace
 * Gives:    the end of its last command
 * Owns:     nothing
 * Fails:    -ENOMEM and errors of the reader; damaged chunks are skipped
 * Why:      a program may launch its whole loop long before the device runs it
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/clocks.h"
#include "analyze/iterations/launches.h"
#include "analyze/model.h"
#include "base/number.h"
#include "trace/reader.h"

/* Commands of the last launches. */
struct last_commands {
	const struct model *model;
	uint64_t low, high; /* correlations */
	uint64_t enter;     /* when the first of these launches began */
	uint32_t process;
};

enum { LAST_LAUNCHES = 64 };

static uint64_t end_of(const struct last_commands *commands, const struct trace_chunk *chunk,
		       const struct event_execution *row)
{
	if (row->process != commands->process || row->correlation < commands->low ||
	    row->correlation > commands->high || !(row->valid & EXECUTION_ENDED))
		return 0;
	return clocks_to_host(commands->model->clocks, chunk->clock, row->ended);
}

/* None of the last commands started before its launch. */
static bool may_hold(const struct last_commands *commands, const struct trace_chunk *chunk)
{
	return chunk->kind == EVENT_EXECUTION &&
	       (chunk->by_seen || clocks_to_host(commands->model->clocks, chunk->clock,
						 chunk->last) >= commands->enter);
}

static int read_chunk(const struct last_commands *commands, size_t index, uint64_t *end)
{
	const struct trace_chunk *chunk = trace_reader_chunk(commands->model->reader, index);
	struct event_execution *rows = NULL;
	size_t count = 0;
	int error;

	if (!may_hold(commands, chunk))
		return 0;
	error = trace_reader_rows(commands->model->reader, index, (void **)&rows, &count);
	for (size_t i = 0; !error && i < count; i++)
		*end = larger(*end, end_of(commands, chunk, &rows[i]));
	free(rows);
	return error == -EBADMSG ? 0 : error;
}

int device_end_find(const struct model *model, const struct thread_launches *launches,
		    struct iteration *steady)
{
	struct last_commands commands = {
		.model = model, .low = UINT64_MAX, .process = launches->process};
	const size_t end = steady->first + steady->launches;
	const size_t begin = end - smaller(steady->launches, LAST_LAUNCHES);
	int error = 0;

	if (!steady->launches || steady->first >= launches->count ||
	    steady->launches >= launches->count - steady->first)
		return 0;
	commands.enter = launches->launches[begin].enter;
	for (size_t i = begin; i < end; i++) {
		const uint64_t correlation = launches->launches[i].correlation;

		commands.low = correlation ? smaller(commands.low, correlation) : commands.low;
		commands.high = larger(commands.high, correlation);
	}
	for (size_t i = 0; i < trace_reader_chunk_count(model->reader) && !error; i++)
		error = read_chunk(&commands, i, &steady->end);
	return error;
}
