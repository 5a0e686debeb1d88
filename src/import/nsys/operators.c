/* SPDX-License-Identifier: MIT
 *
 * import/nsys/operators.c - the stacks of operators that a framework marks with NVTX
 *
 * Runs in:  our own process
 * Gets:     operators of a thread in the order of their begin
 * Gives:    the stack of each: the operators around it
 * Owns:     the operators of each thread that have not ended
 * Fails:    -ENOMEM
 * Why:      a GPU of a recording idles 59 ms, 38 ms of them while its thread was in operators and
 *           outside of CUDA's calls. The innermost operator names the place.
 */
#include "import/nsys/operators.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "event/event.h"
#include "import/target.h"

enum { DEPTH_MAX = 256 };

struct open_operator {
	uint64_t end;
	uint32_t stack;
};

struct nsys_open_operators {
	struct open_operator *open; /* the innermost one last */
	size_t count, capacity;
	uint64_t begin; /* begin of the last one */
};

void nsys_operators_fini(struct nsys_operators *operators)
{
	for (size_t i = 0; i < operators->count; i++)
		free(operators->list[i].open);
	free(operators->list);
	hash_map_fini(&operators->threads);
	*operators = (struct nsys_operators){0};
}

static int find_thread(struct nsys_operators *operators, uint32_t thread,
		       struct nsys_open_operators **ret_thread)
{
	const uint64_t *index = hash_map_find(&operators->threads, thread);

	if (index) {
		*ret_thread = &operators->list[*index];
		return 0;
	}
	if (array_append(operators->list, operators->capacity, operators->count,
			 (struct nsys_open_operators){0}))
		return -ENOMEM;
	*ret_thread = &operators->list[operators->count - 1];
	return hash_map_put(&operators->threads, thread, operators->count - 1);
}

int nsys_operators_add(struct nsys_operators *operators, struct import_target *target,
		       const struct event_api *row, const char *name, uint32_t *ret_stack)
{
	struct nsys_open_operators *thread;
	int error = find_thread(operators, row->thread, &thread);

	if (error)
		return error;
	/* out of order: the operators around it are not known */
	if (row->begin < thread->begin)
		thread->count = 0;
	thread->begin = row->begin;
	while (thread->count && thread->open[thread->count - 1].end <= row->begin)
		thread->count--;
	*ret_stack = thread->count ? thread->open[thread->count - 1].stack : 0;
	error = import_target_push(target, FRAME_NATIVE, 0, name, "", ret_stack);
	if (error || thread->count >= DEPTH_MAX)
		return error;
	return array_append(thread->open, thread->capacity, thread->count,
			    (struct open_operator){row->end, *ret_stack});
}
