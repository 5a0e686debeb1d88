/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/by_map.c - the step that obeys the user's map
 *
 * Runs in:  our own process, in duet diff
 * Gets:     the lines of --map
 * Gives:    rows of the items that a line names on both sides, or names and forbids to match
 * Owns:     lists of items, while a line is matched
 * Fails:    -ENOMEM
 * Why equal stars pair first: "triton_*_0 => triton_*" names many kernels at once. Those whose
 * stars cover the same text belong together; only what is left shares a row.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/match/map.h"
#include "analyze/compare/match/matcher.h"
#include "analyze/compare/match/names.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/string.h"

struct map_step {
	struct matcher *matcher;
	struct keyed_item *items;
	size_t count;
	struct string_table stars;
	char plain[KERNEL_KEY_BYTES];
};

/* The text that a pattern's only star covers, between the pattern's two ends. */
static bool find_star(const struct map_name *name, const char *text, const char **ret_star,
		      size_t *ret_size)
{
	const char *star = strchr(name->text, '*');

	*ret_star = "";
	*ret_size = 0;
	if (name->is_quoted || !star)
		return strcmp(name->text, text) == 0;
	if (!text_matches(name->text, text, strlen(text)))
		return false;
	if (!strchr(star + 1, '*')) {
		*ret_star = text + (star - name->text);
		*ret_size = strlen(text) + 1 - strlen(name->text);
	}
	return true;
}

/* A name without "<" and "(" stands for all instances of a template. */
static bool is_named(struct map_step *step, const struct map_name *name,
		     const struct match_item *item, const char **ret_star, size_t *ret_size)
{
	if (find_star(name, item->name, ret_star, ret_size))
		return true;
	return item->is_kernel && !strpbrk(name->text, "<(") && strpbrk(item->name, "<(") &&
	       kernel_plain_name(item->name, PLAIN_FUNCTION, step->plain, sizeof(step->plain)) &&
	       find_star(name, step->plain, ret_star, ret_size);
}

static int add_if_named(struct map_step *step, const struct map_line *line, enum match_side side,
			uint32_t index)
{
	const struct match_item *item = matcher_item(step->matcher, side, index);

	for (size_t i = 0; i < line->counts[side]; i++) {
		const char *star;
		size_t size;
		uint32_t id;

		if (!is_named(step, &line->names[side][i], item, &star, &size))
			continue;
		id = line->counts[side] == 1 ? string_table_add(&step->stars, star, size) : 0;
		if (!id && line->counts[side] == 1 && size)
			return -ENOMEM;
		step->items[step->count++] =
			(struct keyed_item){item->scope, id, side, index, item, "map"};
		return 0;
	}
	return 0;
}

static int list_named(struct map_step *step, const struct map_line *line)
{
	step->count = 0;
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < step->matcher->sides[side].count; i++)
			if (matcher_is_free(step->matcher, side, i) &&
			    add_if_named(step, line, side, (uint32_t)i))
				return -ENOMEM;
	return 0;
}

/* Drops the items that got a row. */
static void keep_free(struct map_step *step)
{
	size_t kept = 0;

	for (size_t i = 0; i < step->count; i++)
		if (matcher_is_free(step->matcher, step->items[i].side, step->items[i].index)) {
			step->items[kept] = step->items[i];
			step->items[kept++].key = 0;
		}
	step->count = kept;
}

/* A line with "-": the items of its other side get no partner. */
static int forbid_matches(struct map_step *step, const struct map_line *line)
{
	const struct match_draft draft = {line->counts[SIDE_BASE] ? MATCH_GONE : MATCH_NEW, 0,
					  "map"};

	for (size_t i = 0; i < step->count; i++) {
		uint32_t row;

		if (matcher_add(step->matcher, &draft, &row))
			return -ENOMEM;
		matcher_assign(step->matcher, step->items[i].side, step->items[i].index, row);
	}
	return 0;
}

static int match_line(struct map_step *step, const struct map_line *line)
{
	static const struct group_rule rule = {MATCH_MAP, 1, .is_joined = true};

	if (list_named(step, line))
		return -ENOMEM;
	if (!line->counts[SIDE_BASE] || !line->counts[SIDE_CHANGED])
		return forbid_matches(step, line);
	if (matcher_group(step->matcher, step->items, step->count, &rule))
		return -ENOMEM;
	keep_free(step);
	return matcher_group(step->matcher, step->items, step->count, &rule);
}

int match_by_map(struct matcher *matcher, const struct match_map *map)
{
	const size_t most = matcher->sides[SIDE_BASE].count + matcher->sides[SIDE_CHANGED].count;
	struct map_step step = {.matcher = matcher, .items = calloc(most + 1, sizeof(*step.items))};
	const struct map_line *lines;
	const size_t count = match_map_lines(map, &lines);
	int error = step.items ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !error; i++)
		error = match_line(&step, &lines[i]);
	string_table_fini(&step.stars);
	free(step.items);
	return error;
}
