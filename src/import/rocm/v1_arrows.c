/* SPDX-License-Identifier: MIT
 *
 * import/rocm/v1_arrows.c - arrows from calls to operations in the JSON of rocprof
 *
 * Runs in:  our own process
 * Gets:     the ends of arrows, by id
 * Gives:    a number that a call and its operations have in common
 * Owns:     the arrows
 * Fails:    -ENOMEM
 * Why arrows: the operations of a trace of HIP do not say which call launched them. An arrow leaves
 *           in the middle of the call, or when the operation starts, if that is earlier
 */
#include "import/rocm/v1_arrows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/number.h"

/* Calls with an index have lower numbers. */
#define OWN_NUMBERS (UINT64_C(1) << 62)

static int compare_points(const struct v1_point *left, const struct v1_point *right)
{
	int order = compare_u64(&left->pid, &right->pid);

	if (!order)
		order = compare_u64(&left->tid, &right->tid);
	return order ? order : compare_u64(&left->us, &right->us);
}

static int compare_from(const void *left, const void *right)
{
	const struct v1_arrow *a = left, *b = right;
	int order = compare_points(&a->from, &b->from);

	return order ? order : compare_u64(&a->id, &b->id);
}

static int compare_to(const void *left, const void *right, void *context)
{
	const struct v1_arrow *list = context;
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	int order = compare_points(&list[a].to, &list[b].to);

	return order ? order : compare_u64(&list[a].id, &list[b].id);
}

int v1_arrows_add(struct v1_arrows *arrows, uint64_t id, const struct v1_point *point, bool is_end)
{
	const uint64_t *known = hash_map_find(&arrows->ids, id);
	size_t index = known ? (size_t)*known : arrows->count;
	int error = 0;

	if (!known) {
		if (array_append(arrows->list, arrows->capacity, arrows->count,
				 (struct v1_arrow){.id = id}))
			return -ENOMEM;
		error = hash_map_put(&arrows->ids, id, index);
	}
	if (is_end)
		arrows->list[index].to = *point;
	else
		arrows->list[index].from = *point;
	return error;
}

int v1_arrows_sort(struct v1_arrows *arrows)
{
	hash_map_fini(&arrows->ids);
	if (!arrows->count)
		return 0;
	arrows->by_end = calloc(arrows->count, sizeof(*arrows->by_end));
	arrows->taken = calloc(arrows->count, sizeof(*arrows->taken));
	if (!arrows->by_end || !arrows->taken)
		return -ENOMEM;
	qsort(arrows->list, arrows->count, sizeof(*arrows->list), compare_from);
	for (size_t i = 0; i < arrows->count; i++)
		arrows->by_end[i] = (uint32_t)i;
	qsort_r(arrows->by_end, arrows->count, sizeof(*arrows->by_end), compare_to, arrows->list);
	return 0;
}

void v1_arrows_fini(struct v1_arrows *arrows)
{
	hash_map_fini(&arrows->ids);
	free(arrows->list);
	free(arrows->by_end);
	free(arrows->taken);
}

/* The first arrow that leaves at the point or after it. */
static size_t first_from(const struct v1_arrows *arrows, const struct v1_point *point)
{
	return LOWER_BOUND(arrows->count, i, compare_points(&arrows->list[i].from, point) < 0);
}

static const struct v1_arrow *arrow_by_end(const struct v1_arrows *arrows, size_t position)
{
	return &arrows->list[arrows->by_end[position]];
}

/* The number of the first arrow that leaves from this row between two times. */
static uint64_t number_between(const struct v1_arrows *arrows, const struct v1_point *begin,
			       uint64_t end_us)
{
	const size_t index = first_from(arrows, begin);
	const struct v1_arrow *arrow = index < arrows->count ? &arrows->list[index] : NULL;

	return arrow && arrow->from.pid == begin->pid && arrow->from.tid == begin->tid &&
			       arrow->from.us <= end_us
		       ? OWN_NUMBERS + index
		       : 0;
}

/* The arrow in the middle is the call's own: short calls share a microsecond with others. */
uint64_t v1_arrows_from(const struct v1_arrows *arrows, const struct v1_point *begin,
			uint64_t middle_us, uint64_t end_us)
{
	const struct v1_point middle = {begin->pid, begin->tid, middle_us};
	const uint64_t number = number_between(arrows, &middle, middle_us);

	return number ? number : number_between(arrows, begin, end_us);
}

uint64_t v1_arrows_to(struct v1_arrows *arrows, const struct v1_point *point)
{
	const size_t first = LOWER_BOUND(arrows->count, i,
					 compare_points(&arrow_by_end(arrows, i)->to, point) < 0);
	size_t next;

	if (first == arrows->count)
		return 0;
	next = first + arrows->taken[first];
	if (next == arrows->count || compare_points(&arrow_by_end(arrows, next)->to, point) != 0)
		return 0;
	arrows->taken[first]++;
	return OWN_NUMBERS + first_from(arrows, &arrow_by_end(arrows, next)->from);
}
