/* SPDX-License-Identifier: MIT
 *
 * export/chrome/links.c - the numbers that link calls, commands and operators in a Chrome trace
 *
 * Runs in:  our own process
 * Gets:     launches and operators in the order of their start
 * Gives:    numbers that are unique in the file
 * Owns:     the latest call and the open operators of each thread
 * Fails:    -ENOMEM
 * Why the call's number for all of its commands: PyTorch's profiler writes a graph launch and its
 *           kernels this way, and readers find them by it. A trace of duet has a number for each
 *           command.
 */
#include "export/chrome/links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/join/commands.h"
#include "analyze/model.h"
#include "base/array.h"
#include "event/absent_call.h"

#define PROCESS_SHIFT  40
#define OPERATOR_FIRST (1 << 30) /* most traces have fewer launches */

int chrome_links_init(struct chrome_links *links, const struct model *model)
{
	*links = (struct chrome_links){.model = model};
	entity_index_init(&links->threads, model->reader, EVENT_THREAD);
	links->by_thread = calloc(links->threads.count + 1, sizeof(*links->by_thread));
	return links->by_thread ? 0 : -ENOMEM;
}

void chrome_links_fini(struct chrome_links *links)
{
	if (!links)
		return;
	for (size_t i = 0; links->by_thread && i <= links->threads.count; i++)
		free(links->by_thread[i].operators);
	free(links->by_thread);
	free(links->held);
	hash_map_fini(&links->processes);
}

int chrome_links_correlation(struct chrome_links *links, uint32_t process, uint64_t correlation,
			     uint64_t *ret_correlation)
{
	uint64_t index = hash_map_get(&links->processes, process, 0);
	int error = 0;

	if (!index) {
		index = links->processes.count + 1;
		error = hash_map_put(&links->processes, process, index);
	}
	*ret_correlation = ((index - 1) << PROCESS_SHIFT) + correlation;
	return error;
}

static struct chrome_thread_links *find_thread(struct chrome_links *links, uint32_t thread)
{
	return &links->by_thread[entity_index_find(&links->threads, thread)];
}

static void end_operators(struct chrome_thread_links *thread, uint64_t now)
{
	while (thread->operators_count && thread->operators[thread->operators_count - 1].end <= now)
		thread->operators_count--;
}

static bool is_absent(const struct chrome_links *links, const struct event_launch *row)
{
	return strcmp(model_text(links->model, row->function_string, ""), ABSENT_CALL) == 0;
}

int chrome_links_launch(struct chrome_links *links, const struct event_launch *row,
			bool has_command, struct chrome_link *ret_link)
{
	struct chrome_thread_links *thread = find_thread(links, row->thread);
	struct chrome_link link = {0};
	int error = chrome_links_correlation(links, model_process_of(links->model, row->thread),
					     row->correlation, &link.correlation);

	if (is_absent(links, row)) {
		link.has_no_call = has_command;
	} else if (row->flags & LAUNCH_FURTHER) {
		link.has_no_call = has_command && thread->is_shared;
		if (link.has_no_call)
			link.correlation = thread->call;
	} else {
		thread->call = link.correlation;
		thread->is_shared = has_command;
	}
	end_operators(thread, row->enter);
	link.external = thread->operators_count
				? thread->operators[thread->operators_count - 1].number
				: link.correlation;
	*ret_link = link;
	return error;
}

int chrome_links_hold(struct chrome_links *links, const struct chrome_link *link, uint64_t *ret_tag)
{
	size_t place = links->free_held;

	if (place) {
		links->free_held = links->held[place - 1].next_free;
	} else {
		if (array_grow(links->held, links->held_capacity, links->held_count + 1))
			return -ENOMEM;
		place = ++links->held_count;
	}
	links->held[place - 1].link = *link;
	*ret_tag = place;
	return 0;
}

int chrome_links_take(struct chrome_links *links, const struct command *command,
		      struct chrome_link *ret_link)
{
	struct chrome_held_link *held;
	int error;

	if (command->tag) {
		held = &links->held[command->tag - 1];
		*ret_link = held->link;
		held->next_free = links->free_held;
		links->free_held = command->tag;
		return 0;
	}
	*ret_link = (struct chrome_link){0};
	if (!command->execution)
		return 0;
	error = chrome_links_correlation(links, command->process, command->execution->correlation,
					 &ret_link->correlation);
	ret_link->external = ret_link->correlation;
	return error;
}

int chrome_links_operator(struct chrome_links *links, const struct event_api *row,
			  uint64_t *ret_number)
{
	struct chrome_thread_links *thread = find_thread(links, row->thread);

	end_operators(thread, row->begin);
	if (array_grow(thread->operators, thread->operators_capacity, thread->operators_count + 1))
		return -ENOMEM;
	*ret_number = OPERATOR_FIRST + links->operators++;
	thread->operators[thread->operators_count++] =
		(struct chrome_operator){row->end, *ret_number};
	return 0;
}
