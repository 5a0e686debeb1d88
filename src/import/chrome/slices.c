/* SPDX-License-Identifier: MIT
 *
 * import/chrome/slices.c - the stack of each slice of a Chrome trace, from the slices around it
 *
 * Runs in:  our own process
 * Gets:     slices of threads in any order
 * Gives:    their stacks in the same order
 * Owns:     two sorters; the slices that are open at one time
 * Fails:    -ENOMEM, -errno of a temporary file
 * Why sorted: PyTorch writes operators, Python functions and runtime calls one after the other, and
 *           each of them in the order of their ends or in none. Only in the order of their starts,
 *           thread by thread, is the caller known when the called slice comes. The records are
 *           sorted outside of memory, so that a file of a gigabyte needs no more memory than a
 *           small one.
 */
#include "import/chrome/slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order/record_sort.h"
#include "event/event.h"
#include "import/chrome/frames.h"
#include "import/chrome/join/arrows.h"
#include "import/chrome/join/launches.h"
#include "import/chrome/names.h"
#include "base/order/number_stream.h"
#include "import/target.h"

/* Max slices inside of each other; deeper ones are called by the last of these. */
#define MAX_OPEN 4096

/* Max operators around a slice whose callers are a text; further out ones are left out. Each such
 * text needs its own nodes of all of them. */
#define MAX_AROUND_TEXT 64

struct found {
	uint32_t number, stack;
};

/* A slice around the current one. */
struct open_frame {
	int64_t end_ns;
	uint32_t name, around; /* around: the stack of its caller */
	uint32_t inside;       /* the stack of what it calls; 0: not made yet */
	uint32_t collective;
	uint8_t type;
	bool is_frame;
};

struct chrome_slices {
	struct record_sort *by_time;
	struct number_stream by_number;
	struct chrome_frames frames;
	struct open_frame *open;
	size_t open_count, open_capacity;
	uint32_t row;
	bool has_owners;
};

static int compare_slices(const void *left, const void *right)
{
	const struct chrome_slice *a = left, *b = right;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

int chrome_slices_new(struct chrome_slices **ret_slices)
{
	struct chrome_slices *slices = calloc(1, sizeof(*slices));

	if (!slices)
		return -ENOMEM;
	if (record_sort_new(sizeof(struct chrome_slice), compare_slices, &slices->by_time) ||
	    record_sort_new(sizeof(struct found), number_stream_compare, &slices->by_number.sort)) {
		chrome_slices_free(slices);
		return -ENOMEM;
	}
	*ret_slices = slices;
	return 0;
}

void chrome_slices_free(struct chrome_slices *slices)
{
	if (!slices)
		return;
	record_sort_free(slices->by_time);
	record_sort_free(slices->by_number.sort);
	chrome_frames_fini(&slices->frames);
	free(slices->open);
	free(slices);
}

int chrome_slices_add(struct chrome_slices *slices, const struct chrome_slice *slice)
{
	return record_sort_add(slices->by_time, slice);
}

/* The stack of what the innermost open slice calls. */
static int stack_inside(struct chrome_slices *slices, uint32_t *ret_stack)
{
	struct open_frame *top = slices->open_count ? &slices->open[slices->open_count - 1] : NULL;
	int error = 0;

	*ret_stack = 0;
	if (!top)
		return 0;
	if (!top->inside) {
		top->inside = top->around;
		if (top->is_frame)
			error = chrome_frames_push(&slices->frames, top->type, top->name,
						   &top->inside);
	}
	*ret_stack = top->inside;
	return error;
}

/* The stack of a slice whose callers in Python are a text: these, and the operators around it. */
static int stack_of_text(struct chrome_slices *slices, uint32_t call_stack, uint32_t *ret_stack)
{
	uint32_t stack = 0;
	int error = chrome_frames_text(&slices->frames, call_stack, &stack);
	const size_t count = slices->open_count;

	for (size_t i = count > MAX_AROUND_TEXT ? count - MAX_AROUND_TEXT : 0; i < count && !error;
	     i++)
		if (slices->open[i].is_frame && slices->open[i].type != API_TYPE_FUNCTION)
			error = chrome_frames_push(&slices->frames, slices->open[i].type,
						   slices->open[i].name, &stack);
	*ret_stack = stack;
	return error;
}

static uint32_t collective_of(const struct open_frame *around, const struct chrome_slice *slice)
{
	return slice->collective ? slice->collective : around ? around->collective : 0;
}

static int open_slice(struct chrome_slices *slices, const struct chrome_slice *slice,
		      uint32_t around)
{
	struct open_frame *top = slices->open_count ? &slices->open[slices->open_count - 1] : NULL;

	if (slices->open_count == MAX_OPEN)
		return 0;
	/* times in whole microseconds make a slice end after the one around it */
	return array_append(slices->open, slices->open_capacity, slices->open_count,
			    (struct open_frame){.end_ns = top && top->end_ns < slice->end_ns
								  ? top->end_ns
								  : slice->end_ns,
						.name = slice->name,
						.around = around,
						.collective = collective_of(top, slice),
						.type = slice->type,
						.is_frame = slice->is_frame});
}

static int find_around(struct chrome_slices *slices, const struct chrome_slice *slice,
		       uint32_t *ret_stack)
{
	if (slice->row != slices->row)
		slices->open_count = 0;
	slices->row = slice->row;
	while (slices->open_count && slices->open[slices->open_count - 1].end_ns <= slice->begin_ns)
		slices->open_count--;
	return slice->call_stack ? stack_of_text(slices, slice->call_stack, ret_stack)
				 : stack_inside(slices, ret_stack);
}

static int take_slice(struct chrome_slices *slices, struct import_target *target,
		      struct chrome_names *names, struct chrome_launches *launches,
		      struct chrome_arrows *arrows, const struct chrome_slice *slice)
{
	struct found found = {.number = slice->number};
	uint32_t around, collective;
	int error = find_around(slices, slice, &around);

	collective = collective_of(
		slices->open_count ? &slices->open[slices->open_count - 1] : NULL, slice);
	if (!error)
		error = open_slice(slices, slice, around);
	found.stack = around;
	if (!error && slice->stack_key)
		error = chrome_names_stack_of(names, target, slice->stack_key, &found.stack);
	else if (!error && (slice->type == API_TYPE_FUNCTION || slice->type == API_TYPE_OPERATOR))
		error = stack_inside(slices, &found.stack);
	if (!error && slice->has_correlation)
		error = chrome_launches_add_call(launches, slice,
						 slices->has_owners ? slice->owner : 0, found.stack,
						 collective);
	if (!error && !slice->is_range)
		error = chrome_arrows_pass_call(arrows, slice, found.stack, collective);
	return error ? error : record_sort_add(slices->by_number.sort, &found);
}

int chrome_slices_finish(struct chrome_slices *slices, struct import_target *target,
			 struct chrome_names *names, struct chrome_launches *launches,
			 struct chrome_arrows *arrows, bool has_owners)
{
	const void *record;
	int error = record_sort_finish(slices->by_time);

	slices->has_owners = has_owners;
	chrome_frames_init(&slices->frames, target, names);
	while (!error && !(error = record_sort_next(slices->by_time, &record)) && record)
		error = take_slice(slices, target, names, launches, arrows, record);
	record_sort_free(slices->by_time);
	slices->by_time = NULL;
	return error ? error : record_sort_finish(slices->by_number.sort);
}

int chrome_slices_find(struct chrome_slices *slices, uint32_t number, uint32_t *ret_stack)
{
	const void *record;
	int error = number_stream_find(&slices->by_number, number, &record);

	*ret_stack = record ? ((const struct found *)record)->stack : 0;
	return error;
}
