/* SPDX-License-Identifier: MIT
 *
 * import/chrome/join/arrows.c - arrows from calls to commands in the Chrome traces of rpd2tracing
 *
 * Runs in:  our own process
 * Gets:     both ends of arrows and the places of commands in any order; then calls, row by row
 * Gives:    to the launches: the calls at which an arrow starts, and the commands that it reaches
 * Owns:     four sorters; the latest calls of a row
 * Fails:    -ENOMEM, -errno of a temporary file
 * Why:      these files have no correlation ids. An arrow (ph "s" and "f", with one id) leads from
 * a moment in a thread to the start of a command in a queue. The moment is the start of the command
 * or 2 us before the end of the call, whichever is earlier. In a call of less than 2 us the moment
 * lies before the call.
 */
#include "import/chrome/join/arrows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/order/record_sort.h"
#include "import/chrome/join/launches.h"
#include "import/chrome/slices.h"

enum {
	BEFORE_END_NS = 2000,
	ROUNDING_NS = 1000, /* times are whole microseconds, a duration too */
	MAX_CALLS = 8       /* max number of calls between the start of a call and its arrow */
};

/* Owner of the correlation ids made here; no process has it, but -1 is in files. */
#define OWNER INT64_MIN

struct arrow_end {
	int64_t id;
	struct arrow_place place;
	bool is_target;
};

struct arrow {
	struct arrow_place from; /* a moment at or after the start of the call */
	struct arrow_place to;
	uint32_t number;    /* in the order of the ids */
	bool is_before_end; /* the call ends at `from` */
};

/* A command in a queue, or the correlation id for one. */
struct placed {
	struct arrow_place place;
	uint32_t number; /* an event or an arrow */
	int64_t correlation;
};

struct passed_call {
	struct chrome_slice slice;
	uint32_t stack, collective;
	bool is_known; /* the launches have it */
};

struct chrome_arrows {
	struct record_sort *ends, *arrows, *commands, *targets;
	struct chrome_launches *launches; /* not owned */
	const struct arrow *next;         /* NULL: the end */
	struct passed_call calls[MAX_CALLS];
	size_t calls_count; /* calls of the row so far */
	uint32_t row;
};

static int compare_numbers(int64_t left, int64_t right)
{
	return (left > right) - (left < right);
}

static int compare_places(const struct arrow_place *a, const struct arrow_place *b)
{
	return a->row != b->row ? compare_numbers(a->row, b->row)
				: compare_numbers(a->ts_ns, b->ts_ns);
}

static int compare_ends(const void *left, const void *right)
{
	const struct arrow_end *a = left, *b = right;

	return a->id != b->id ? compare_numbers(a->id, b->id)
			      : compare_numbers(a->is_target, b->is_target);
}

static int compare_arrows(const void *left, const void *right)
{
	const struct arrow *a = left, *b = right;
	const int order = compare_places(&a->from, &b->from);

	return order ? order : compare_numbers(a->number, b->number);
}

static int compare_placed(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;
	const int order = compare_places(&a->place, &b->place);

	return order ? order : compare_numbers(a->number, b->number);
}

int chrome_arrows_new(struct chrome_arrows **ret_arrows)
{
	struct chrome_arrows *arrows = calloc(1, sizeof(*arrows));

	if (!arrows)
		return -ENOMEM;
	if (record_sort_new(sizeof(struct arrow_end), compare_ends, &arrows->ends) ||
	    record_sort_new(sizeof(struct arrow), compare_arrows, &arrows->arrows) ||
	    record_sort_new(sizeof(struct placed), compare_placed, &arrows->commands) ||
	    record_sort_new(sizeof(struct placed), compare_placed, &arrows->targets)) {
		chrome_arrows_free(arrows);
		return -ENOMEM;
	}
	*ret_arrows = arrows;
	return 0;
}

void chrome_arrows_free(struct chrome_arrows *arrows)
{
	if (!arrows)
		return;
	record_sort_free(arrows->ends);
	record_sort_free(arrows->arrows);
	record_sort_free(arrows->commands);
	record_sort_free(arrows->targets);
	free(arrows);
}

int chrome_arrows_add_end(struct chrome_arrows *arrows, int64_t id, bool is_target,
			  const struct arrow_place *place)
{
	const struct arrow_end end = {.id = id, .place = *place, .is_target = is_target};

	return record_sort_add(arrows->ends, &end);
}

int chrome_arrows_add_command(struct chrome_arrows *arrows, const struct arrow_place *place,
			      uint32_t number)
{
	const struct placed command = {.place = *place, .number = number};

	return record_sort_add(arrows->commands, &command);
}

static int add_arrow(struct chrome_arrows *arrows, const struct arrow_place *from,
		     const struct arrow_place *to, uint32_t number)
{
	struct arrow arrow = {.from = *from,
			      .to = *to,
			      .number = number,
			      .is_before_end = from->ts_ns < to->ts_ns};

	if (arrow.is_before_end)
		arrow.from.ts_ns += BEFORE_END_NS;
	return record_sort_add(arrows->arrows, &arrow);
}

static int move_arrow(struct chrome_arrows *arrows)
{
	const void *record;
	int error = record_sort_next(arrows->arrows, &record);

	arrows->next = error ? NULL : record;
	return error;
}

int chrome_arrows_start(struct chrome_arrows *arrows, struct chrome_launches *launches)
{
	struct arrow_end from = {.is_target = true}; /* no end yet */
	const void *record;
	uint32_t number = 0;
	int error = record_sort_finish(arrows->ends);

	arrows->launches = launches;
	while (!error && !(error = record_sort_next(arrows->ends, &record)) && record) {
		const struct arrow_end end = *(const struct arrow_end *)record;

		if (end.is_target && !from.is_target && from.id == end.id)
			error = add_arrow(arrows, &from.place, &end.place, number++);
		from = end;
	}
	if (!error)
		error = record_sort_finish(arrows->arrows);
	return error ? error : move_arrow(arrows);
}

/* ---- the call of an arrow ---- */

static bool ends_at(const struct passed_call *call, int64_t ts_ns)
{
	return call->slice.end_ns <= ts_ns && call->slice.end_ns >= ts_ns - ROUNDING_NS;
}

static bool contains(const struct passed_call *call, int64_t ts_ns)
{
	return call->slice.begin_ns <= ts_ns && call->slice.end_ns >= ts_ns;
}

/* The latest call that ends at the arrow's moment, otherwise the latest one around its start. */
static struct passed_call *find_call(struct chrome_arrows *arrows, const struct arrow *arrow)
{
	const int64_t moment = arrow->from.ts_ns;
	const int64_t start = arrow->is_before_end ? moment - BEFORE_END_NS : moment;
	struct passed_call *around = NULL;

	if (arrow->from.row != arrows->row)
		return NULL;
	for (size_t i = 0; i < MAX_CALLS && i < arrows->calls_count; i++) {
		struct passed_call *call =
			&arrows->calls[(arrows->calls_count - 1 - i) % MAX_CALLS];

		if (arrow->is_before_end && ends_at(call, moment))
			return call;
		if (!around && contains(call, start))
			around = call;
	}
	return around;
}

static int take_arrow(struct chrome_arrows *arrows, const struct arrow *arrow)
{
	struct passed_call *call = find_call(arrows, arrow);
	struct placed target = {.place = arrow->to, .number = arrow->number};
	int error = 0;

	if (!call)
		return 0;
	call->slice.correlation = target.correlation = (int64_t)call->slice.number + 1;
	if (!call->is_known)
		error = chrome_launches_add_call(arrows->launches, &call->slice, OWNER, call->stack,
						 call->collective);
	call->is_known = true;
	return error ? error : record_sort_add(arrows->targets, &target);
}

/* Takes the arrows before a place; NULL: all. */
static int take_arrows(struct chrome_arrows *arrows, const struct arrow_place *place)
{
	int error = 0;

	while (!error && arrows->next &&
	       (!place || compare_places(&arrows->next->from, place) < 0)) {
		error = take_arrow(arrows, arrows->next);
		if (!error)
			error = move_arrow(arrows);
	}
	return error;
}

int chrome_arrows_pass_call(struct chrome_arrows *arrows, const struct chrome_slice *slice,
			    uint32_t stack, uint32_t collective)
{
	int error = take_arrows(arrows, &(struct arrow_place){slice->row, slice->begin_ns});

	if (arrows->row != slice->row)
		arrows->calls_count = 0;
	arrows->row = slice->row;
	arrows->calls[arrows->calls_count++ % MAX_CALLS] =
		(struct passed_call){.slice = *slice, .stack = stack, .collective = collective};
	return error;
}

/* ---- the command of an arrow ---- */

/* Arrows whose place has no command are left out. If several commands are at one place, the first
 * one has the first arrow. */
static int find_target(struct chrome_arrows *arrows, const struct arrow_place *place,
		       const struct placed **target)
{
	const void *record = *target;
	int error = 0;

	while (!error && record &&
	       compare_places(&((const struct placed *)record)->place, place) < 0)
		error = record_sort_next(arrows->targets, &record);
	*target = error ? NULL : record;
	return error;
}

static int join_commands(struct chrome_arrows *arrows, const struct placed *target)
{
	const void *record;
	int error = 0;

	while (!error && target && !(error = record_sort_next(arrows->commands, &record)) &&
	       record) {
		const struct placed *command = record;

		error = find_target(arrows, &command->place, &target);
		if (error || !target || compare_places(&target->place, &command->place) != 0)
			continue;
		error = chrome_launches_add_command(arrows->launches, OWNER, target->correlation,
						    command->place.ts_ns, command->number);
		if (!error)
			error = record_sort_next(arrows->targets, &record);
		target = error ? NULL : record;
	}
	return error;
}

int chrome_arrows_finish(struct chrome_arrows *arrows)
{
	const void *first = NULL;
	int error = take_arrows(arrows, NULL);

	if (!error)
		error = record_sort_finish(arrows->commands);
	if (!error)
		error = record_sort_finish(arrows->targets);
	if (!error)
		error = record_sort_next(arrows->targets, &first);
	return error ? error : join_commands(arrows, first);
}
