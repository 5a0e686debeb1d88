/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/part.c - finds the window of a named range or of an iteration
 *
 * Runs in:  our own process
 * Gets:     a model and the text of --range
 * Gives:    a window
 * Owns:     nothing
 * Fails:    -ENOENT if the recording has no such range
 * Why a window: the account of a window is exact already, so the account of a range is as well
 */
#include "analyze/compare/part.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/iterations/iterations.h"
#include "analyze/model.h"
#include "analyze/order.h"
#include "base/error.h"
#include "base/number.h"

struct named_part {
	const char *name;
	size_t length;
	uint64_t number; /* 0: not given */
};

/* The number is behind the last colon; names such as "aten::mm" have colons too. */
static struct named_part parse_name(const char *text)
{
	const char *colon = strrchr(text, ':');
	struct named_part part = {text, strlen(text), 0};
	char *end;
	uint64_t number;

	if (!colon || colon == text || colon[1] < '1' || colon[1] > '9')
		return part;
	number = strtoull(colon + 1, &end, 10);
	if (*end)
		return part;
	part.length = (size_t)(colon - text);
	part.number = number;
	return part;
}

static bool is_named(const struct model *model, const struct event_range *row,
		     const struct named_part *part)
{
	const char *name = model_range_name(model, row);

	return strncmp(name, part->name, part->length) == 0 && !name[part->length];
}

static int find_range(const struct model *model, struct order *order, const struct named_part *part,
		      uint64_t *ret_begin, uint64_t *ret_end)
{
	const uint64_t wanted = part->number ? part->number : 1;
	struct order_item item;
	uint64_t seen = 0;
	int result;

	while ((result = order_next(order, &item)) > 0) {
		const struct event_range *row = item.row;

		if (!is_named(model, row, part) || ++seen < wanted)
			continue;
		*ret_begin = row->begin;
		*ret_end = row->end;
		return 0;
	}
	if (result < 0)
		return result;
	return error_set(-ENOENT, "%" PRIu64 " %s named '%.*s': duet report --by range lists them",
			 seen, seen == 1 ? "range is" : "ranges are", (int)part->length,
			 part->name);
}

static int find_iteration(const struct model *model, const struct named_part *part,
			  uint64_t *ret_begin, uint64_t *ret_end)
{
	struct iterations iterations = {0};
	int error = iterations_find(model, true, &iterations);

	if (!error && (iterations.count < (part->number ? part->number : 1)))
		error = error_set(-ENOENT,
				  "%zu iterations were found: duet report --by iteration lists "
				  "them",
				  iterations.count);
	if (!error && part->number) {
		*ret_begin = iterations.list[part->number - 1].begin;
		*ret_end = iterations.list[part->number - 1].end;
	} else if (!error) {
		*ret_begin = iterations.list[0].begin;
		*ret_end = iterations.list[iterations.count - 1].end;
	}
	iterations_fini(&iterations);
	return error;
}

static bool is_iteration(const struct named_part *part)
{
	return part->length == strlen("iteration") &&
	       strncmp(part->name, "iteration", part->length) == 0;
}

int compare_part_find(const struct model *model, const char *name, uint64_t *ret_from_ns,
		      uint64_t *ret_to_ns)
{
	const struct named_part part = parse_name(name);
	const struct order_options ranges = {.kinds = 1u << EVENT_RANGE};
	/* the window begins as that of an analysis does: with the earliest row of all kinds */
	struct order *order = NULL, *all = NULL;
	uint64_t begin = 0, end = 0, start = 0, unused;
	int error = model_order(model, &ranges, &order);

	if (!error)
		error = model_order(model, &(struct order_options){.kinds = ANALYSIS_ORDER_KINDS},
				    &all);
	if (!error) {
		model_window(model, all, &start, &unused);
		error = is_iteration(&part) ? find_iteration(model, &part, &begin, &end)
					    : find_range(model, order, &part, &begin, &end);
	}
	order_free(order);
	order_free(all);
	if (error)
		return error;
	*ret_from_ns = begin - smaller(begin, start);
	*ret_to_ns = end - smaller(end, start);
	return 0;
}
