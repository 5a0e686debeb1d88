/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/resolve.c - decide which kernels of common call paths belong together
 *
 * Runs in:  our own process, in duet diff
 * Gets:     edges between kernels of both profiles
 * Gives:    rows: renamed, split, fused, regrouped
 * Owns:     nothing
 * Fails:    -ENOMEM
 * Why nothing is forced: a wrong match hides a new kernel behind an old one. Candidates that are
 *           nearly equal stay "new" and "gone", which the reader can correct with --map.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/match/paths.h"
#include "base/array.h"

/* docs/design/compare-matching.md lists these values and their reasons. */
static const double min_score = 0.55;     /* for a match 1:1 */
static const double min_margin = 0.06;    /* to the second best */
static const double min_confidence = 0.3; /* for split, fused and regrouped */
static const double min_count_likeness = 0.67;
static const double min_time_likeness = 0.1;
static const double min_name_likeness = 0.7;     /* for a name that is evidence by itself */
static const double min_crowded_likeness = 0.75; /* names and neighbours, for a crowded path */
static const double min_total_time = 0.3, max_total_time = 3;
static const double without_stacks = 0.6; /* factor of confidence */

enum { MAX_PARTS = 8, MAX_REGROUPED = 4, MAX_OTHERS = 2 };

/* ---- scores ---------------------------------------------------------------------------------- */

static double smaller(double left, double right)
{
	return left < right ? left : right;
}

static unsigned int count_bits(const uint64_t *bits)
{
	unsigned int count = 0;

	for (size_t i = 0; i < 4; i++)
		count += (unsigned int)__builtin_popcountll(bits[i]);
	return count;
}

/* Dice's coefficient of the pairs of letters; at least 0.8 for one loose family. */
static double name_likeness(const struct path_node *left, const struct path_node *right)
{
	const unsigned int total = count_bits(left->name_bits) + count_bits(right->name_bits);
	uint64_t both[4];
	double likeness;

	for (size_t i = 0; i < 4; i++)
		both[i] = left->name_bits[i] & right->name_bits[i];
	likeness = total ? 2.0 * count_bits(both) / total : 0;
	return left->family && left->family == right->family && likeness < 0.8 ? 0.8 : likeness;
}

static double place_likeness(const struct path_node *left, const struct path_node *right)
{
	return (left->previous && left->previous == right->previous ? 0.5 : 0) +
	       (left->next && left->next == right->next ? 0.5 : 0);
}

/* Whether names and neighbours allow a match 1:1. A path from which many kernels run proves little,
 * and so do counts of kernels whose times differ by more than ten times. */
static bool is_plausible(const struct path_edge *edge, double names, double places, double times)
{
	if (times < min_time_likeness && names < min_name_likeness)
		return false;
	return edge->others <= MAX_OTHERS || names + places >= min_crowded_likeness;
}

static double score_edge(const struct paths *paths, const struct path_edge *edge)
{
	const struct match_item *base = matcher_item(paths->matcher, SIDE_BASE, edge->base);
	const struct match_item *changed =
		matcher_item(paths->matcher, SIDE_CHANGED, edge->changed);
	const struct path_node *left = &paths->nodes[SIDE_BASE][edge->base];
	const struct path_node *right = &paths->nodes[SIDE_CHANGED][edge->changed];
	const double ratio = matcher_ratio(paths->matcher, base->scope);
	const double counts = matcher_likeness((double)base->count, (double)changed->count, ratio);
	const double times =
		matcher_likeness((double)base->time_ns, (double)changed->time_ns, ratio);
	const double overlap = smaller(edge->base_share, edge->changed_share);
	const double names = name_likeness(left, right), places = place_likeness(left, right);

	if (counts < (edge->has_stacks ? min_count_likeness : 0.95) || overlap < 0.5 ||
	    !is_plausible(edge, names, places, times))
		return 0;
	return 0.35 * overlap + 0.2 * counts + 0.1 * times + 0.25 * names + 0.1 * places;
}

static bool is_edge_free(const struct paths *paths, const struct path_edge *edge)
{
	return matcher_is_free(paths->matcher, SIDE_BASE, edge->base) &&
	       matcher_is_free(paths->matcher, SIDE_CHANGED, edge->changed);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int add_row(struct paths *paths, const struct path_edge *edges, size_t count,
		   enum match_reason reason, double confidence)
{
	const struct match_draft draft = {reason, confidence, NULL};
	uint32_t row;

	if (matcher_add(paths->matcher, &draft, &row))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		matcher_assign(paths->matcher, SIDE_BASE, edges[i].base, row);
		matcher_assign(paths->matcher, SIDE_CHANGED, edges[i].changed, row);
	}
	return 0;
}

static int add_pair(struct paths *paths, const struct path_edge *edge, double factor)
{
	const double crowd = edge->others > MAX_OTHERS ? 0.9 : 1;

	return add_row(paths, edge, 1, MATCH_RENAMED,
		       edge->score * factor * crowd * (edge->has_stacks ? 1 : without_stacks));
}

/* ---- split and fused ------------------------------------------------------------------------- */

/* A group of edges: one kernel of a side with some of the other, or several of both. */
struct edge_group {
	const struct path_edge *edges;
	size_t count;
	size_t sides[SIDES]; /* kernels */
	double counts[SIDES], times[SIDES];
	double ratio;
	uint32_t others;
	bool has_stacks, is_one_place;
	double min_overlap;
};

/* A number of executions that is k times another one, k from 1 on. */
static bool is_multiple(double part, double whole)
{
	const double times = whole > 0 ? part / whole : 0;
	const double nearest = (double)(uint64_t)(times + 0.5);

	return nearest >= 1 && nearest <= 64 && times > nearest * 0.95 && times < nearest * 1.05;
}

static double count_of(const struct paths *paths, const struct edge_group *group,
		       enum match_side side, const struct path_edge *edge)
{
	const uint32_t index = side == SIDE_BASE ? edge->base : edge->changed;
	const double count = (double)matcher_item(paths->matcher, side, index)->count;

	return side == SIDE_BASE ? count * group->ratio : count;
}

/* The factor of confidence for the counts of a star; 0: they do not fit. hub: the side of the one
 * kernel. */
static double fit_counts(const struct paths *paths, const struct edge_group *group,
			 enum match_side hub)
{
	const enum match_side rim = hub == SIDE_BASE ? SIDE_CHANGED : SIDE_BASE;
	const double whole = count_of(paths, group, hub, group->edges);
	double sum = 0, worst = 1;

	for (size_t i = 0; i < group->count; i++) {
		const double part = count_of(paths, group, rim, &group->edges[i]);

		sum += part;
		if (!is_multiple(part, whole))
			worst = 0;
		else if (part > whole * 1.5)
			worst = smaller(worst, 0.85);
	}
	if (worst > 0 && group->min_overlap >= 0.5)
		return worst;
	return sum > whole * 0.95 && sum < whole * 1.05 ? 0.8 : 0; /* each path got its own */
}

static double fit_times(const struct edge_group *group)
{
	const double wanted = group->times[SIDE_BASE] * group->ratio;
	const double times = wanted > 0 ? group->times[SIDE_CHANGED] / wanted : 0;
	const bool is_near = times >= 0.5 && times <= 2;

	if (times < min_total_time || times > max_total_time || (!group->has_stacks && !is_near))
		return 0;
	return is_near ? 1 : 0.8;
}

/* The edge of a star that is a rename by itself: its name is like the other and nothing else is as
 * good. NULL: there is none. */
static const struct path_edge *find_rename(const struct paths *paths,
					   const struct edge_group *group)
{
	const struct path_edge *best = NULL;
	double second = 0;

	for (size_t i = 0; i < group->count; i++) {
		const double likeness =
			name_likeness(&paths->nodes[SIDE_BASE][group->edges[i].base],
				      &paths->nodes[SIDE_CHANGED][group->edges[i].changed]);

		if (likeness >= min_name_likeness && group->edges[i].score >= min_score && !best)
			best = &group->edges[i];
		else
			second = likeness > second ? likeness : second;
	}
	return second < 0.5 ? best : NULL;
}

/* 0.6 if one part alone has the time of the whole, and more exactly than all parts together: it may
 * be a rename, and the other parts new. */
static double fit_single_part(const struct paths *paths, const struct edge_group *group,
			      enum match_side hub)
{
	const enum match_side rim = hub == SIDE_BASE ? SIDE_CHANGED : SIDE_BASE;
	const double base_factor = hub == SIDE_BASE ? group->ratio : 1 / group->ratio;
	const double whole = group->times[hub] * base_factor;
	const double together = matcher_likeness(whole, group->times[rim], 1);

	for (size_t i = 0; i < group->count; i++) {
		const uint32_t index =
			rim == SIDE_BASE ? group->edges[i].base : group->edges[i].changed;
		const struct match_item *part = matcher_item(paths->matcher, rim, index);

		if (matcher_likeness(whole, (double)part->time_ns, 1) > together)
			return 0.6;
	}
	return 1;
}

static int match_star(struct paths *paths, const struct edge_group *group, double factor)
{
	const enum match_side hub = group->sides[SIDE_BASE] == 1 ? SIDE_BASE : SIDE_CHANGED;
	const struct path_edge *rename = find_rename(paths, group);
	double confidence;

	if (group->count == 1)
		return group->edges->score >= min_score ? add_pair(paths, group->edges, factor) : 0;
	if (rename)
		return add_pair(paths, rename, 0.9 * factor);
	if (group->count > MAX_PARTS)
		return 0;
	confidence = 0.75 * factor * fit_counts(paths, group, hub) * fit_times(group) *
		     fit_single_part(paths, group, hub) * (group->others > MAX_OTHERS ? 0.85 : 1) *
		     (group->has_stacks ? 1 : without_stacks);
	return confidence < min_confidence
		       ? 0
		       : add_row(paths, group->edges, group->count,
				 hub == SIDE_BASE ? MATCH_SPLIT : MATCH_FUSED, confidence);
}

/* Several of both: only if few other kernels run from there, or all run in one place between two
 * neighbours, and each runs as often as the others. */
static int match_many(struct paths *paths, const struct edge_group *group, double factor)
{
	const double times = fit_times(group);
	double least = count_of(paths, group, SIDE_BASE, group->edges);

	if (group->sides[SIDE_BASE] > MAX_REGROUPED || group->sides[SIDE_CHANGED] > MAX_REGROUPED ||
	    times < 1 || !group->has_stacks || group->min_overlap < 0.9 ||
	    (group->others > MAX_OTHERS && !group->is_one_place))
		return 0;
	for (size_t i = 0; i < group->count; i++)
		for (int side = 0; side < SIDES; side++)
			least = smaller(least, count_of(paths, group, side, &group->edges[i]));
	for (size_t i = 0; i < group->count; i++)
		for (int side = 0; side < SIDES; side++)
			if (!is_multiple(count_of(paths, group, side, &group->edges[i]), least))
				return 0;
	return add_row(paths, group->edges, group->count, MATCH_REGROUPED, 0.4 * factor);
}

/* ---- groups of edges ------------------------------------------------------------------------- */

struct pass {
	bool is_one_place; /* only edges between kernels with the same neighbours */
	bool is_star;      /* only groups with one kernel on a side */
	double factor;
};

static struct path_node *node_at(const struct paths *paths, size_t number)
{
	const size_t base = paths->matcher->sides[SIDE_BASE].count;

	return number < base ? &paths->nodes[SIDE_BASE][number]
			     : &paths->nodes[SIDE_CHANGED][number - base];
}

static uint32_t find_root(const struct paths *paths, size_t number)
{
	while (node_at(paths, number)->group != number) {
		struct path_node *node = node_at(paths, number);

		node->group = node_at(paths, node->group)->group;
		number = node->group;
	}
	return (uint32_t)number;
}

static bool is_same_place(const struct paths *paths, const struct path_edge *edge)
{
	return place_likeness(&paths->nodes[SIDE_BASE][edge->base],
			      &paths->nodes[SIDE_CHANGED][edge->changed]) >= 1;
}

static bool is_in_pass(const struct paths *paths, const struct path_edge *edge,
		       const struct pass *pass)
{
	return is_edge_free(paths, edge) && (!pass->is_one_place || is_same_place(paths, edge));
}

static void join_nodes(struct paths *paths, const struct pass *pass)
{
	const size_t base = paths->matcher->sides[SIDE_BASE].count;
	const size_t all = base + paths->matcher->sides[SIDE_CHANGED].count;

	for (size_t i = 0; i < all; i++)
		node_at(paths, i)->group = (uint32_t)i;
	for (size_t i = 0; i < paths->count; i++)
		if (is_in_pass(paths, &paths->edges[i], pass))
			node_at(paths, find_root(paths, paths->edges[i].base))->group =
				find_root(paths, base + paths->edges[i].changed);
}

struct rooted_edge {
	uint32_t root;
	struct path_edge edge;
};

static int compare_rooted(const void *left, const void *right)
{
	const struct rooted_edge *a = left, *b = right;

	if (a->root != b->root)
		return a->root < b->root ? -1 : 1;
	if (a->edge.base != b->edge.base)
		return a->edge.base < b->edge.base ? -1 : 1;
	return (a->edge.changed > b->edge.changed) - (a->edge.changed < b->edge.changed);
}

/* Adds up each kernel of a group once; its edges are sorted by base. */
static struct edge_group describe_group(const struct paths *paths, const struct path_edge *edges,
					size_t count)
{
	const struct match_item *first = matcher_item(paths->matcher, SIDE_BASE, edges->base);
	struct edge_group group = {.edges = edges,
				   .count = count,
				   .ratio = matcher_ratio(paths->matcher, first->scope),
				   .has_stacks = true,
				   .is_one_place = true,
				   .min_overlap = 1};

	for (size_t i = 0; i < count; i++) {
		const struct path_edge *edge = &edges[i];
		bool is_known = false;

		group.has_stacks &= edge->has_stacks;
		group.is_one_place &= is_same_place(paths, edge);
		group.others = edge->others > group.others ? edge->others : group.others;
		group.min_overlap =
			smaller(group.min_overlap, smaller(edge->base_share, edge->changed_share));
		if (!i || edges[i - 1].base != edge->base) {
			group.sides[SIDE_BASE]++;
			group.times[SIDE_BASE] +=
				(double)matcher_item(paths->matcher, SIDE_BASE, edge->base)
					->time_ns;
		}
		for (size_t j = 0; j < i && !is_known; j++)
			is_known = edges[j].changed == edge->changed;
		group.sides[SIDE_CHANGED] += !is_known;
		group.times[SIDE_CHANGED] +=
			is_known ? 0
				 : (double)matcher_item(paths->matcher, SIDE_CHANGED, edge->changed)
					   ->time_ns;
	}
	return group;
}

static int match_edge_group(struct paths *paths, const struct path_edge *edges, size_t count,
			    const struct pass *pass)
{
	const bool is_possible = count <= (size_t)MAX_PARTS * MAX_PARTS;
	struct edge_group group;
	bool is_star;

	if (!is_possible)
		return 0;
	group = describe_group(paths, edges, count);
	is_star = group.sides[SIDE_BASE] == 1 || group.sides[SIDE_CHANGED] == 1;
	if (is_star)
		return match_star(paths, &group, pass->factor);
	return pass->is_star ? 0 : match_many(paths, &group, pass->factor);
}

static int run_groups(struct paths *paths, struct rooted_edge *rooted, struct path_edge *edges,
		      const struct pass *pass)
{
	size_t count = 0, end;

	join_nodes(paths, pass);
	for (size_t i = 0; i < paths->count; i++)
		if (is_in_pass(paths, &paths->edges[i], pass))
			rooted[count++] = (struct rooted_edge){
				find_root(paths, paths->edges[i].base), paths->edges[i]};
	if (count)
		qsort(rooted, count, sizeof(*rooted), compare_rooted);
	for (size_t i = 0; i < count; i++)
		edges[i] = rooted[i].edge;
	for (size_t begin = 0; begin < count; begin = end) {
		for (end = begin; end < count && rooted[end].root == rooted[begin].root;)
			end++;
		if (match_edge_group(paths, edges + begin, end - begin, pass))
			return -ENOMEM;
	}
	return 0;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static void note_score(struct path_node *node, double score)
{
	if (score > node->best) {
		node->second = node->best;
		node->best = score;
	} else if (score > node->second) {
		node->second = score;
	}
}

static bool is_clear(const struct path_node *node, double score)
{
	return score >= node->best && score - node->second >= min_margin;
}

/* Pairs that are the best match of both by a margin. */
static int match_clear_pairs(struct paths *paths)
{
	for (size_t i = 0; i < paths->count; i++) {
		struct path_edge *edge = &paths->edges[i];

		if (!is_edge_free(paths, edge))
			continue;
		note_score(&paths->nodes[SIDE_BASE][edge->base], edge->score);
		note_score(&paths->nodes[SIDE_CHANGED][edge->changed], edge->score);
	}
	for (size_t i = 0; i < paths->count; i++) {
		const struct path_edge *edge = &paths->edges[i];

		if (edge->score >= min_score && is_edge_free(paths, edge) &&
		    is_clear(&paths->nodes[SIDE_BASE][edge->base], edge->score) &&
		    is_clear(&paths->nodes[SIDE_CHANGED][edge->changed], edge->score) &&
		    add_pair(paths, edge, 0.9))
			return -ENOMEM;
	}
	return 0;
}

int paths_resolve(struct paths *paths)
{
	static const struct pass passes[] = {
		{false, true, 1}, {true, true, 0.85}, {false, true, 0.85}, {false, false, 1}};
	struct rooted_edge *rooted = calloc(paths->count + 1, sizeof(*rooted));
	struct path_edge *edges = calloc(paths->count + 1, sizeof(*edges));
	int error = rooted && edges ? 0 : -ENOMEM;

	for (size_t i = 0; i < paths->count; i++)
		paths->edges[i].score = score_edge(paths, &paths->edges[i]);
	for (size_t i = 0; i < ARRAY_COUNT(passes) && !error; i++) {
		error = run_groups(paths, rooted, edges, &passes[i]);
		if (!error && !i)
			error = match_clear_pairs(paths);
	}
	free(rooted);
	free(edges);
	return error;
}
