/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/paths.c - kernels of both profiles that share call paths
 *
 * Runs in:  our own process, in duet diff
 * Gets:     kernels that no name matched, and the stacks of all kernels
 * Gives:    an edge for each two of them that run from common call paths
 * Owns:     nodes and edges
 * Fails:    -ENOMEM
 * Why at most 8 kernels per path: the main function of a small program may launch thousands. Pairs
 *           of all with all would take quadratic time and prove nothing. Such a path is divided by
 *           the neighbours in time whose names are equal in both profiles.
 */
#include "analyze/compare/match/paths.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/match/names.h"
#include "base/array.h"

enum { MAX_PER_PATH = 8, NAME_BITS = 256 };

/* Edges between kernels that share less are left out, unless all paths of the one are among many
 * of the other. */
static const double min_share = 0.25, min_larger_share = 0.5;
static const double min_contained_share = 0.05, contained_share = 0.9;

struct path_entry {
	uint64_t hash;
	uint64_t slot; /* previous and next neighbour; 0: unknown */
	uint32_t scope, index;
	double share; /* part of the item's executions */
	uint8_t side;
	bool has_stacks, is_free;
};

struct entries {
	struct path_entry *rows;
	size_t count, capacity;
};

/* ---- neighbours ------------------------------------------------------------------------------ */

struct placed_item {
	uint32_t scope, position, index;
};

static int compare_placed(const void *left, const void *right)
{
	const struct placed_item *a = left, *b = right;

	if (a->scope != b->scope)
		return a->scope < b->scope ? -1 : 1;
	if (a->position != b->position)
		return a->position < b->position ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

/* The row of an item that can be a neighbour of others: its name is equal in both profiles. */
static uint32_t anchor_of(const struct matcher *matcher, enum match_side side, uint32_t index)
{
	const uint32_t row = matcher->sides[side].rows[index];

	return row && matcher->drafts[row - 1].reason == MATCH_EXACT ? row : 0;
}

static void set_neighbours(struct paths *paths, enum match_side side,
			   const struct placed_item *placed, size_t count)
{
	uint32_t row = 0;

	for (size_t i = 0; i < count; i++) {
		const uint32_t own = anchor_of(paths->matcher, side, placed[i].index);

		if (i && placed[i - 1].scope != placed[i].scope)
			row = 0;
		paths->nodes[side][placed[i].index].previous = row;
		row = own ? own : row;
	}
	row = 0;
	for (size_t i = count; i-- > 0;) {
		const uint32_t own = anchor_of(paths->matcher, side, placed[i].index);

		if (i + 1 < count && placed[i + 1].scope != placed[i].scope)
			row = 0;
		paths->nodes[side][placed[i].index].next = row;
		row = own ? own : row;
	}
}

static int find_neighbours(struct paths *paths, enum match_side side)
{
	const struct matcher_side *items = &paths->matcher->sides[side];
	struct placed_item *placed = calloc(items->count + 1, sizeof(*placed));
	size_t count = 0;

	if (!placed)
		return -ENOMEM;
	for (size_t i = 0; i < items->count; i++)
		if (items->items[i].is_kernel && items->items[i].position)
			placed[count++] = (struct placed_item){
				items->items[i].scope, items->items[i].position, (uint32_t)i};
	if (count)
		qsort(placed, count, sizeof(*placed), compare_placed);
	set_neighbours(paths, side, placed, count);
	free(placed);
	return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash ? hash : 1;
}

/* A bit for each pair of letters of the function. */
static void describe_name(struct path_node *node, const char *name)
{
	char text[KERNEL_KEY_BYTES];
	const char *pattern;

	if (kernel_family_loose(name, text, sizeof(text), &pattern))
		node->family = hash_text(text);
	if (!kernel_plain_name(name, PLAIN_FUNCTION, text, sizeof(text)))
		return;
	for (const char *at = text; at[0] && at[1]; at++) {
		const unsigned int pair = (unsigned int)tolower((unsigned char)at[0]) * 31u +
					  (unsigned int)tolower((unsigned char)at[1]);
		const unsigned int bit = pair * 2654435761u >> 24;

		node->name_bits[bit / 64] |= (uint64_t)1 << bit % 64;
	}
}

/* ---- edges ----------------------------------------------------------------------------------- */

static int add_entries(struct paths *paths, enum match_side side, uint32_t index,
		       struct entries *entries)
{
	const struct match_item *item = matcher_item(paths->matcher, side, index);
	const struct path_node *node = &paths->nodes[side][index];
	struct path_entry entry = {.scope = item->scope,
				   .index = index,
				   .share = 1,
				   .side = (uint8_t)side,
				   .slot = (uint64_t)node->previous << 32 | node->next,
				   .is_free = matcher_is_free(paths->matcher, side, index)};
	double total = 0;

	if (!item->stacks_count)
		return array_append(entries->rows, entries->capacity, entries->count, entry);
	for (size_t i = 0; i < item->stacks_count; i++)
		total += (double)item->stacks[i].count;
	entry.has_stacks = true;
	for (size_t i = 0; i < item->stacks_count && total > 0; i++) {
		entry.hash = item->stacks[i].hash;
		entry.share = (double)item->stacks[i].count / total;
		if (array_append(entries->rows, entries->capacity, entries->count, entry))
			return -ENOMEM;
	}
	return 0;
}

static int compare_entries(const void *left, const void *right)
{
	const struct path_entry *a = left, *b = right;

	if (a->has_stacks != b->has_stacks)
		return a->has_stacks - b->has_stacks;
	if (a->scope != b->scope)
		return a->scope < b->scope ? -1 : 1;
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->is_free != b->is_free)
		return b->is_free - a->is_free;
	if (a->slot != b->slot)
		return a->slot < b->slot ? -1 : 1;
	if (a->side != b->side)
		return a->side - b->side;
	return (a->index > b->index) - (a->index < b->index);
}

static int add_edges(struct paths *paths, const struct path_entry *rows, size_t count,
		     uint32_t others)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count && rows[i].side == SIDE_BASE; j++) {
			const struct path_edge edge = {rows[i].index,
						       rows[j].index,
						       rows[i].share,
						       rows[j].share,
						       others,
						       rows[i].has_stacks,
						       0};

			if (rows[j].side == SIDE_CHANGED &&
			    array_append(paths->edges, paths->capacity, paths->count, edge))
				return -ENOMEM;
		}
	return 0;
}

static bool is_small(const struct path_entry *rows, size_t count)
{
	size_t sides[SIDES] = {0};

	for (size_t i = 0; i < count && i <= MAX_PER_PATH * 2; i++)
		sides[rows[i].side]++;
	return sides[SIDE_BASE] <= MAX_PER_PATH && sides[SIDE_CHANGED] <= MAX_PER_PATH;
}

/* A crowded path, or kernels without stacks: only those between the same two neighbours. */
static int add_edges_by_slot(struct paths *paths, const struct path_entry *rows, size_t count,
			     uint32_t others)
{
	size_t end;

	for (size_t begin = 0; begin < count; begin = end) {
		const uint64_t slot = rows[begin].slot;

		for (end = begin; end < count && rows[end].slot == slot;)
			end++;
		if (slot >> 32 && (uint32_t)slot && is_small(rows + begin, end - begin) &&
		    add_edges(paths, rows + begin, end - begin, others))
			return -ENOMEM;
	}
	return 0;
}

static int add_path(struct paths *paths, const struct path_entry *rows, size_t count)
{
	size_t free_count = 0;
	uint32_t others;

	while (free_count < count && rows[free_count].is_free)
		free_count++;
	others = (uint32_t)(count - free_count);
	return rows->has_stacks && is_small(rows, free_count)
		       ? add_edges(paths, rows, free_count, others)
		       : add_edges_by_slot(paths, rows, free_count, others);
}

static int find_edges(struct paths *paths, struct entries *entries)
{
	struct path_entry *rows = entries->rows;
	size_t end;

	if (entries->count)
		qsort(rows, entries->count, sizeof(*rows), compare_entries);
	for (size_t begin = 0; begin < entries->count; begin = end) {
		for (end = begin; end < entries->count && rows[end].hash == rows[begin].hash &&
				  rows[end].scope == rows[begin].scope &&
				  rows[end].has_stacks == rows[begin].has_stacks;)
			end++;
		if (add_path(paths, rows + begin, end - begin))
			return -ENOMEM;
	}
	return 0;
}

static int compare_edges(const void *left, const void *right)
{
	const struct path_edge *a = left, *b = right;

	if (a->base != b->base)
		return a->base < b->base ? -1 : 1;
	if (a->changed != b->changed)
		return a->changed < b->changed ? -1 : 1;
	if (a->base_share != b->base_share) /* sums must not depend on the order of qsort */
		return a->base_share < b->base_share ? -1 : 1;
	return (a->changed_share > b->changed_share) - (a->changed_share < b->changed_share);
}

static bool is_strong(const struct path_edge *edge)
{
	const double low =
		edge->base_share < edge->changed_share ? edge->base_share : edge->changed_share;
	const double high =
		edge->base_share < edge->changed_share ? edge->changed_share : edge->base_share;

	return (low >= min_share && high >= min_larger_share) ||
	       (low >= min_contained_share && high >= contained_share);
}

/* One edge for two kernels, whose shares are the sums over their common paths. */
static void merge_edges(struct paths *paths)
{
	struct path_edge *edges = paths->edges;
	size_t kept = 0, end;

	if (paths->count)
		qsort(edges, paths->count, sizeof(*edges), compare_edges);
	for (size_t begin = 0; begin < paths->count; begin = end) {
		struct path_edge sum = edges[begin];

		for (end = begin + 1; end < paths->count && edges[end].base == sum.base &&
				      edges[end].changed == sum.changed;
		     end++) {
			sum.base_share += edges[end].base_share;
			sum.changed_share += edges[end].changed_share;
			if (edges[end].others > sum.others)
				sum.others = edges[end].others;
		}
		if (is_strong(&sum))
			edges[kept++] = sum;
	}
	paths->count = kept;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int list_entries(struct paths *paths, struct entries *entries)
{
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < paths->matcher->sides[side].count; i++)
			if (matcher_item(paths->matcher, side, (uint32_t)i)->is_kernel &&
			    add_entries(paths, side, (uint32_t)i, entries))
				return -ENOMEM;
	return 0;
}

static void describe_nodes(struct paths *paths)
{
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < paths->matcher->sides[side].count; i++)
			if (matcher_is_free(paths->matcher, side, i) &&
			    matcher_item(paths->matcher, side, (uint32_t)i)->is_kernel)
				describe_name(
					&paths->nodes[side][i],
					matcher_item(paths->matcher, side, (uint32_t)i)->name);
}

int paths_init(struct paths *paths, struct matcher *matcher)
{
	struct entries entries = {0};
	int error = 0;

	*paths = (struct paths){.matcher = matcher};
	for (int side = 0; side < SIDES && !error; side++) {
		paths->nodes[side] =
			calloc(matcher->sides[side].count + 1, sizeof(*paths->nodes[side]));
		error = paths->nodes[side] ? find_neighbours(paths, side) : -ENOMEM;
	}
	if (!error)
		error = list_entries(paths, &entries);
	if (!error)
		error = find_edges(paths, &entries);
	free(entries.rows);
	if (error)
		return error;
	merge_edges(paths);
	describe_nodes(paths);
	return 0;
}

void paths_fini(struct paths *paths)
{
	free(paths->nodes[SIDE_BASE]);
	free(paths->nodes[SIDE_CHANGED]);
	free(paths->edges);
}

int match_by_paths(struct matcher *matcher)
{
	struct paths paths;
	int error = paths_init(&paths, matcher);

	if (!error)
		error = paths_resolve(&paths);
	paths_fini(&paths);
	return error;
}
