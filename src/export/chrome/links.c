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
	int error;

	*links = (struct chrome_links){.model = model};
	error = thread_nesting_init(&links->nesting, model);
	links->calls = calloc(links->nesting.threads.count + 1, sizeof(*links->calls));
	return error || links->calls ? error : -ENOMEM;
}

void chrome_links_fini(struct chrome_links *links)
{
	if (!links)
		return;
	thread_nesting_fini(&links->nesting);
	free(links->calls);
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

static bool is_absent(const struct chrome_links *links, const struct event_launch *row)
{
	return is_call_added(model_text(links->model, row->function_string, ""));
}

int chrome_links_launch(struct chrome_links *links, const struct event_launch *row,
			bool has_command, struct chrome_link *ret_link)
{
	struct chrome_call_link *call =
		&links->calls[entity_index_find(&links->nesting.threads, row->thread)];
	struct chrome_link link = {0};
	int error = chrome_links_correlation(links, model_process_of(links->model, row->thread),
					     row->correlation, &link.correlation);

	if (is_absent(links, row)) {
		link.has_no_call = has_command;
	} else if (row->flags & LAUNCH_FURTHER) {
		/* the call of a live graph launch is a row of its own, without a correlation */
		const bool is_same = row->enter >= call->enter && row->enter <= call->exit;

		link.has_no_call = has_command && (call->is_shared || !is_same);
		if (link.has_no_call && is_same)
			link.correlation = call->correlation;
	} else {
		*call = (struct chrome_call_link){link.correlation, row->enter, row->exit,
						  has_command};
	}
	link.external = thread_nesting_find(&links->nesting, row->thread, row->enter);
	if (!link.external)
		link.external = link.correlation;
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
	*ret_number = OPERATOR_FIRST + links->operators++;
	return thread_nesting_add(&links->nesting, row->thread, row->begin, row->end, *ret_number);
}
