/* SPDX-License-Identifier: MIT
 *
 * analyze/iterations/places.c - where in the function of the loop each launch was called
 *
 * Runs in:  our own process
 * Gets:     the stacks of a loop's launches
 * Gives:    a place for each launch: the line of a Python function, the offset of a native one
 * Owns:     nothing
 * Fails:    never: without stacks, launches have no places
 * Why:      stacks of a loop share their outer frames up to the function with the loop. There the
 *           position rises from the head of the loop to its end, and falls only at the head. This
 *           is exact where gaps are not: a program that waits for its device has long gaps inside
 *           of an iteration.
 */
#include "analyze/iterations/launches.h"
#include "analyze/model.h"

enum { SAMPLES = 4096, FEW_PERCENT = 10 };

/* The innermost stack node that two stacks share; 0: none. A caller's id is smaller. */
static uint32_t shared_node(const struct model *model, uint32_t left, uint32_t right)
{
	while (left != right) {
		uint32_t *inner = left > right ? &left : &right;
		const struct event_stack *node = model_stack(model, *inner);

		*inner = node ? node->caller : 0;
	}
	return left;
}

/* The frame that a stack has right inside of a node; NULL: it has none. */
static const struct event_frame *frame_inside(const struct model *model, uint32_t stack,
					      uint32_t outer)
{
	const struct event_stack *node = model_stack(model, stack);

	while (node && node->caller != outer && node->caller > outer)
		node = model_stack(model, node->caller);
	return node && node->caller == outer && stack != outer ? model_frame(model, node->frame)
							       : NULL;
}

/* Whether two frames are of one function, as far as a trace knows it without symbols. */
static bool is_same_function(const struct event_frame *left, const struct event_frame *right)
{
	return left->type == right->type && left->name_string == right->name_string &&
	       left->file_string == right->file_string &&
	       left->module_string == right->module_string && left->first_line == right->first_line;
}

static uint32_t place_of(const struct event_frame *frame)
{
	if (frame->type == FRAME_PYTHON || frame->line)
		return frame->line;
	return frame->type == FRAME_NATIVE && frame->offset < UINT32_MAX ? (uint32_t)frame->offset
									 : 0;
}

/* The function of the loop, as one of its frames; NULL: the stacks do not show it. */
static const struct event_frame *find_function(const struct place_context *places, size_t first,
					       size_t last, uint32_t *ret_outer)
{
	size_t stride = (last - first) / SAMPLES + 1, known = 0, all = 0, equal = 0;
	const struct event_frame *function = NULL;
	uint32_t outer = 0;

	for (size_t i = first; i <= last; i += stride) {
		uint32_t stack = places->launches->stacks[i];

		all++;
		if (stack)
			outer = known++ ? shared_node(places->model, outer, stack) : stack;
	}
	if (!outer || (all - known) * 100 > all * FEW_PERCENT)
		return NULL;
	for (size_t i = first; i <= last; i += stride) {
		const struct event_frame *frame =
			frame_inside(places->model, places->launches->stacks[i], outer);

		if (frame && !function)
			function = frame;
		equal += frame && is_same_function(frame, function);
	}
	*ret_outer = outer;
	return (all - equal) * 100 > all * FEW_PERCENT ? NULL : function;
}

int places_find(void *context, size_t first, size_t last)
{
	const struct place_context *places = context;
	struct thread_launches *launches = places->launches;
	uint32_t outer = 0;
	const struct event_frame *function = find_function(places, first, last, &outer);

	for (size_t i = 0; i < launches->count; i++) {
		const struct event_frame *frame =
			function ? frame_inside(places->model, launches->stacks[i], outer) : NULL;

		launches->launches[i].place =
			frame && is_same_function(frame, function) ? place_of(frame) : 0;
	}
	return 0;
}
