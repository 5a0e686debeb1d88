/* SPDX-License-Identifier: MIT
 *
 * flame/diff/diff.c - the stacks of two recordings in one graph
 *
 * Runs in:  our own process
 * Gets:     the graph of NEW and that of BASE
 * Gives:    one graph, with a second value per node
 * Owns:     the second values, 8 bytes per node
 * Fails:    -EINVAL, -EOVERFLOW, -ENOMEM, with a text
 * Why the values of BASE are beside the nodes: graphs of one recording keep nodes of 24 bytes. NEW
 *           is not copied, so a comparison takes the time and memory of adding the stacks of BASE.
 */
#include "flame/diff/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/string.h"
#include "flame/diff/change.h"
#include "flame/tree.h"

static int diff_out_of_memory(void)
{
	return error_set(-ENOMEM, "comparison of flame graphs: out of memory");
}

/* New items are 0: nodes that flame_insert adds by splitting have no value. */
static int grow_others(struct flame_diff *diff)
{
	return array_grow(diff->others, diff->others_capacity, diff->flame->nodes_count);
}

int flame_diff_init(struct flame_diff *diff, struct flame *flame)
{
	*diff = (struct flame_diff){.flame = flame};
	return grow_others(diff) ? diff_out_of_memory() : 0;
}

void flame_diff_fini(struct flame_diff *diff)
{
	free(diff->others);
	*diff = (struct flame_diff){0};
}

/* ---- adding the stacks of BASE --------------------------------------------------------------- */

/* ret_frames[frame of base]: the frame of the graph of both. */
static int map_frames(struct flame_diff *diff, const struct flame *base,
		      const struct flame_rename *rename, uint32_t *ret_frames)
{
	for (uint32_t i = 0; i < base->frames_count; i++) {
		const enum flame_class class = base->frames[i].frame_class;
		const char *name = flame_frame_name(base, i).bytes;

		if (rename)
			name = rename->find(rename->context, name, class);
		ret_frames[i] = flame_frame(diff->flame, name, class);
		if (ret_frames[i] == FLAME_NONE)
			return -ENOMEM;
	}
	for (size_t i = 0; i < base->notes_count; i++)
		if (flame_note(diff->flame, ret_frames[base->notes[i].frame], base->notes[i].text))
			return -ENOMEM;
	return 0;
}

static int add_stack(struct flame_diff *diff, const struct flame_path *path, uint64_t value)
{
	uint32_t node;
	int error = flame_insert(diff->flame, path->frames, path->count, &node);

	if (error)
		return error;
	if (grow_others(diff))
		return diff_out_of_memory();
	if (__builtin_add_overflow(diff->other_total, value, &diff->other_total))
		return error_set(-EOVERFLOW, "flame graph: the values add up to more than 2^64");
	diff->others[node] += value;
	return 0;
}

static int add_stacks(struct flame_diff *diff, const struct flame *base, const uint32_t *frames)
{
	struct flame_path path = {0};
	int error = 0;

	for (uint32_t i = 1; i < base->nodes_count && !error; i++) {
		if (!base->nodes[i].self)
			continue;
		if (flame_path_to(base, i, &path))
			error = diff_out_of_memory();
		for (size_t j = 0; j < path.count && !error; j++)
			path.frames[j] = frames[path.frames[j]];
		if (!error)
			error = add_stack(diff, &path, base->nodes[i].self);
	}
	free(path.frames);
	return error;
}

int flame_diff_add(struct flame_diff *diff, const struct flame *base,
		   const struct flame_rename *rename)
{
	auto_free uint32_t *frames = malloc((base->frames_count + (size_t)1) * sizeof(*frames));

	if (!frames || map_frames(diff, base, rename, frames))
		return diff_out_of_memory();
	return add_stacks(diff, base, frames);
}

/* ---- other values ---------------------------------------------------------------------------- */

/* Scales the sum up to each node, in the order of names, and takes the differences. So each value
 * is less than 1 away from the exact one, and no rounding error is left over. */
int flame_diff_scale(struct flame_diff *diff)
{
	const unsigned __int128 total = diff->flame->total;
	struct flame_order order;
	uint64_t sum = 0, scaled = 0;
	int error;

	if (!total || !diff->other_total)
		return error_set(-EINVAL, "cannot scale: the total of %s is 0",
				 total ? "BASE" : "NEW");
	error = flame_order_init(&order, diff->flame, NULL);
	for (uint32_t i = 0; i < diff->flame->nodes_count && !error; i++) {
		uint64_t *value = &diff->others[order.nodes[i]];
		const uint64_t before = scaled;

		sum += *value;
		scaled = (uint64_t)(total * sum / diff->other_total);
		*value = scaled - before;
	}
	flame_order_fini(&order);
	if (error)
		return diff_out_of_memory();
	diff->unscaled_total = diff->other_total;
	diff->other_total = diff->flame->total;
	return 0;
}

static void swap_values(uint64_t *first, uint64_t *second)
{
	const uint64_t value = *first;

	*first = *second;
	*second = value;
}

void flame_diff_swap(struct flame_diff *diff)
{
	for (uint32_t i = 0; i < diff->flame->nodes_count; i++)
		swap_values(&diff->flame->nodes[i].self, &diff->others[i]);
	swap_values(&diff->flame->total, &diff->other_total);
	diff->is_of_base = !diff->is_of_base;
}

int flame_diff_write_folded(const struct flame_diff *diff, FILE *out)
{
	return flame_write_folded_pair(diff->flame, diff->others, out);
}

bool flame_diff_is_equal(const struct flame_diff *diff)
{
	for (uint32_t i = 0; i < diff->flame->nodes_count; i++)
		if (diff->flame->nodes[i].self != diff->others[i])
			return false;
	return true;
}

void flame_diff_describe(const struct flame_diff *diff, const char *new_name, const char *base_name,
			 const char *unit, struct string_builder *ret_text)
{
	const struct flame_values totals =
		flame_diff_values(diff, diff->flame->total, diff->other_total);

	string_builder_append(ret_text, "total: ");
	flame_values_format(&totals, unit, ret_text);
	if (flame_diff_is_equal(diff))
		string_builder_append(ret_text, "; no stack changed");
	string_builder_appendf(ret_text, " \302\267 NEW is %s, BASE is %s", new_name, base_name);
	if (diff->is_of_base)
		string_builder_append(ret_text, "\nthe widths are the values of BASE");
	if (!diff->unscaled_total)
		return;
	string_builder_append(ret_text, "\nthe values of BASE are scaled from its total, ");
	flame_format_human(ret_text, diff->unscaled_total, unit);
	string_builder_append(ret_text, ", to the total of NEW");
}
