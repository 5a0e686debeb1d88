/* SPDX-License-Identifier: MIT
 *
 * tests/unit/flame/test_diff.c - two recordings in one graph, compared with sums over all stacks
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "flame/colour.h"
#include "flame/diff/change.h"
#include "flame/diff/diff.h"
#include "flame/flame.h"
#include "flame/layout.h"
#include "flame/tree.h"
#include "harness.h"

#define STACKS_MAX 64
#define PATH_BYTES 64

/* A stack as "a;b;+c", where + marks an instruction, with its value in NEW and in BASE. */
struct pair {
	char path[PATH_BYTES];
	uint64_t now, base;
};

struct pairs {
	struct pair items[STACKS_MAX * 8];
	size_t count;
};

static struct pair *pair_of(struct pairs *pairs, const char *path, size_t length)
{
	for (size_t i = 0; i < pairs->count; i++)
		if (strlen(pairs->items[i].path) == length &&
		    strncmp(pairs->items[i].path, path, length) == 0)
			return &pairs->items[i];
	snprintf(pairs->items[pairs->count].path, PATH_BYTES, "%.*s", (int)length, path);
	return &pairs->items[pairs->count++];
}

static void add_to(struct pairs *pairs, const char *path, size_t length, const struct pair *pair)
{
	struct pair *sum = pair_of(pairs, path, length);

	sum->now += pair->now;
	sum->base += pair->base;
}

static int add(struct flame *flame, const char *path, uint64_t value)
{
	uint32_t frames[32];
	size_t count = 0;
	char copy[PATH_BYTES], *rest = copy;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *name = strsep(&rest, ";"); name; name = strsep(&rest, ";"))
		frames[count++] =
			flame_frame(flame, name, *name == '+' ? FLAME_INSTRUCTION : FLAME_HOST);
	return flame_add(flame, frames, count, value);
}

/* A xorshift generator: tests repeat. */
static uint32_t next_number(uint64_t *state, uint32_t limit)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state % limit);
}

static void make_pairs(uint64_t *state, struct pairs *pairs)
{
	const size_t count = 1 + next_number(state, STACKS_MAX - 1);

	memset(pairs, 0, sizeof(*pairs));
	for (size_t i = 0; i < count; i++) {
		const uint32_t depth = 1 + next_number(state, 6);
		const uint32_t host = next_number(state, 3) ? depth : next_number(state, depth + 1);
		struct pair pair = {.now = next_number(state, 3) ? next_number(state, 30) : 0,
				    .base = next_number(state, 3) ? next_number(state, 30) : 0};
		size_t length = 0;

		for (uint32_t j = 0; j < depth; j++)
			length += (size_t)snprintf(pair.path + length, PATH_BYTES - length,
						   "%s%s%c", j ? ";" : "", j < host ? "" : "+",
						   'a' + (int)next_number(state, 3));
		add_to(pairs, pair.path, length, &pair);
	}
}

struct both {
	struct flame *now, *base;
	struct flame_diff diff;
};

static void both_init(struct both *both, const struct pairs *pairs, bool is_reversed)
{
	both->now = flame_new();
	both->base = flame_new();
	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->items[is_reversed ? pairs->count - 1 - i : i];

		REQUIRE(add(both->now, pair->path, pair->now) == 0);
		REQUIRE(add(both->base, pair->path, pair->base) == 0);
	}
	REQUIRE(flame_diff_init(&both->diff, both->now) == 0);
	REQUIRE(flame_diff_add(&both->diff, both->base, NULL) == 0);
}

static void both_fini(struct both *both)
{
	flame_diff_fini(&both->diff);
	flame_free(both->now);
	flame_free(both->base);
}

static char *folded(const struct flame_diff *diff)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int error = flame_diff_write_folded(diff, file);

	fclose(file);
	CHECK_EQUAL(error, 0);
	return text;
}

static char *drawn(const struct flame_diff *diff, uint32_t width_px)
{
	struct flame_options options = {.unit = "ns", .width_px = width_px, .diff = diff};
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int error = flame_write_svg(diff->flame, &options, file);

	fclose(file);
	CHECK_EQUAL(error, 0);
	return text;
}

/* ---- against sums over all stacks ------------------------------------------------------------ */

static void check_folded(struct pairs *pairs, const struct flame_diff *diff)
{
	auto_free char *text = folded(diff);
	char *rest = text, last[PATH_BYTES * 2] = "";
	size_t lines = 0, wanted = 0;

	for (char *line = strsep(&rest, "\n"); line && *line; line = strsep(&rest, "\n")) {
		char path[PATH_BYTES * 2], plain[PATH_BYTES * 2];
		unsigned long long base, now;
		size_t length = 0;

		REQUIRE(sscanf(line, "%127s %llu %llu", path, &base, &now) == 3);
		CHECK(strcmp(last, path) < 0);
		snprintf(last, sizeof(last), "%s", path);
		for (const char *c = path; *c; c++) {
			c += strncmp(c, "_[g]", 4) == 0 ? 4 : 0;
			if (!*c)
				break;
			plain[length++] = *c;
		}
		CHECK_EQUAL(pair_of(pairs, plain, length)->now, now);
		CHECK_EQUAL(pair_of(pairs, plain, length)->base, base);
		lines++;
	}
	for (size_t i = 0; i < pairs->count; i++)
		wanted += pairs->items[i].now || pairs->items[i].base;
	CHECK_EQUAL(lines, wanted);
}

/* Sums of all prefixes of the stacks. */
static void sum_prefixes(const struct pairs *pairs, struct pairs *ret_sums)
{
	memset(ret_sums, 0, sizeof(*ret_sums));
	for (size_t i = 0; i < pairs->count; i++) {
		const char *path = pairs->items[i].path;

		for (size_t length = 1; length <= strlen(path); length++)
			if (path[length] == ';' || !path[length])
				add_to(ret_sums, path, length, &pairs->items[i]);
	}
}

static void box_path(const struct flame *flame, const struct flame_layout *layout, uint32_t box,
		     char *ret_path)
{
	const struct flame_box *row = &layout->boxes[box];

	*ret_path = '\0';
	if (!box)
		return;
	box_path(flame, layout, row->parent, ret_path);
	snprintf(ret_path + strlen(ret_path), PATH_BYTES - strlen(ret_path), "%s%s",
		 row->parent ? ";" : "", flame_frame_name(flame, row->frame).bytes);
}

/* A box has both sums, and a colour by the sign of their difference. */
static void check_boxes(struct pairs *sums, const struct flame_diff *diff)
{
	struct flame_layout layout;

	REQUIRE(flame_layout_init(&layout, diff->flame, diff->others, 1000, 0.001) == 0);
	for (uint32_t i = 1; i < layout.boxes_count; i++) {
		const struct flame_values values =
			flame_diff_values(diff, layout.boxes[i].value, layout.others[i]);
		char path[PATH_BYTES];
		int level = flame_values_level(&values);

		box_path(diff->flame, &layout, i, path);
		CHECK_EQUAL(values.now, pair_of(sums, path, strlen(path))->now);
		CHECK_EQUAL(values.base, pair_of(sums, path, strlen(path))->base);
		CHECK(level <= 0 || values.now > values.base);
		CHECK(level >= 0 || values.now < values.base);
		CHECK(abs(level) <= FLAME_LEVELS);
	}
	flame_layout_fini(&layout);
}

static size_t parent_length(const char *path)
{
	const char *end = strrchr(path, ';');

	return end ? (size_t)(end - path) : 0;
}

/* The part of a path before its first instruction, but at least one frame. */
static size_t holder_length(const char *path)
{
	const char *instruction = strstr(path, ";+");
	const char *first = *path == '+' ? strchr(path, ';') : instruction;

	return first ? (size_t)(first - path) : strlen(path);
}

struct expected {
	uint64_t sizes[STACKS_MAX * 8];
	size_t count;
	uint64_t sum;
};

static void expect_change(struct expected *lists, enum flame_change_kind kind, uint64_t size)
{
	lists[kind].sizes[lists[kind].count++] = size;
	lists[kind].sum += size;
}

static void expect_lists(struct pairs *sums, const struct pairs *pairs, struct expected *lists)
{
	static struct pairs owns;

	memset(&owns, 0, sizeof(owns));
	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->items[i];

		add_to(&owns, pair->path, holder_length(pair->path), pair);
	}
	for (size_t i = 0; i < sums->count; i++) {
		const struct pair sum = sums->items[i];
		const size_t parent = parent_length(sum.path);
		const struct pair *below = parent ? pair_of(sums, sum.path, parent) : NULL;
		const struct pair *own = pair_of(&owns, sum.path, strlen(sum.path));

		if (holder_length(sum.path) != strlen(sum.path))
			continue;
		if (sum.now && sum.base && own->now > own->base)
			expect_change(lists, FLAME_GREW, own->now - own->base);
		else if (sum.now && sum.base && own->now < own->base)
			expect_change(lists, FLAME_SHRANK, own->base - own->now);
		else if (!sum.now != !sum.base && (!below || (below->now && below->base)))
			expect_change(lists, sum.now ? FLAME_ADDED : FLAME_GONE,
				      sum.now + sum.base);
	}
}

static int compare_sizes(const void *first, const void *second)
{
	const uint64_t a = *(const uint64_t *)first, b = *(const uint64_t *)second;

	return (a < b) - (a > b);
}

static void check_lists(struct pairs *sums, const struct pairs *pairs,
			const struct flame_diff *diff)
{
	static struct expected expected[FLAME_CHANGE_KINDS];
	struct flame_change_list lists[FLAME_CHANGE_KINDS];
	int64_t sum = 0;

	memset(expected, 0, sizeof(expected));
	expect_lists(sums, pairs, expected);
	REQUIRE(flame_diff_list(diff, lists) == 0);
	for (int kind = 0; kind < FLAME_CHANGE_KINDS; kind++) {
		const bool is_more = kind == FLAME_GREW || kind == FLAME_ADDED;

		CHECK_EQUAL(lists[kind].count, expected[kind].count);
		CHECK_EQUAL(lists[kind].sum, expected[kind].sum);
		sum += is_more ? (int64_t)lists[kind].sum : -(int64_t)lists[kind].sum;
		qsort(expected[kind].sizes, expected[kind].count, sizeof(uint64_t), compare_sizes);
		CHECK(lists[kind].listed == lists[kind].count ||
		      lists[kind].listed == FLAME_CHANGES_LISTED);
		for (uint32_t i = 0; i < lists[kind].listed; i++) {
			const struct flame_change *change = &lists[kind].changes[i];

			CHECK_EQUAL(is_more ? change->now - change->base
					    : change->base - change->now,
				    expected[kind].sizes[i]);
		}
	}
	CHECK(sum == (diff->is_of_base ? (int64_t)(diff->other_total - diff->flame->total)
				       : (int64_t)(diff->flame->total - diff->other_total)));
}

TEST(values_are_sums_over_all_stacks)
{
	static struct pairs pairs, sums;
	uint64_t state = 88172645463325252u;

	for (int round = 0; round < 200; round++) {
		struct both both;

		make_pairs(&state, &pairs);
		both_init(&both, &pairs, false);
		sum_prefixes(&pairs, &sums);
		check_folded(&pairs, &both.diff);
		check_boxes(&sums, &both.diff);
		check_lists(&sums, &pairs, &both.diff);
		flame_diff_swap(&both.diff);
		check_boxes(&sums, &both.diff);
		check_lists(&sums, &pairs, &both.diff);
		both_fini(&both);
	}
}

TEST(order_of_stacks_does_not_matter)
{
	static struct pairs pairs;
	uint64_t state = 362436069;

	for (int round = 0; round < 20; round++) {
		struct both one, other;
		auto_free char *first = NULL, *second = NULL;

		make_pairs(&state, &pairs);
		both_init(&one, &pairs, false);
		both_init(&other, &pairs, true);
		if (round % 2 && one.diff.flame->total && one.diff.other_total) {
			CHECK_EQUAL(flame_diff_scale(&one.diff), 0);
			CHECK_EQUAL(flame_diff_scale(&other.diff), 0);
		}
		first = drawn(&one.diff, 1200);
		second = drawn(&other.diff, 1200);
		CHECK_TEXT(first, second);
		both_fini(&one);
		both_fini(&other);
	}
}

TEST(scaled_values_add_up_to_the_total_of_new)
{
	static struct pairs pairs;
	uint64_t state = 521288629;

	for (int round = 0; round < 200; round++) {
		struct both both;
		auto_free uint64_t *before = NULL;
		uint64_t sum = 0, from, to;

		make_pairs(&state, &pairs);
		both_init(&both, &pairs, false);
		from = both.diff.other_total;
		to = both.diff.flame->total;
		before = calloc(both.now->nodes_count, sizeof(*before));
		memcpy(before, both.diff.others, both.now->nodes_count * sizeof(*before));
		CHECK_EQUAL(flame_diff_scale(&both.diff), from && to ? 0 : -EINVAL);
		for (uint32_t i = 0; from && to && i < both.now->nodes_count; i++) {
			const double exact = (double)before[i] * (double)to / (double)from;

			sum += both.diff.others[i];
			CHECK(fabs((double)both.diff.others[i] - exact) < 1.000001);
		}
		CHECK_EQUAL(sum, from && to ? to : 0);
		both_fini(&both);
	}
}

/* ---- single cases ---------------------------------------------------------------------------- */

static const struct pairs small = {{{"main;grows", 30, 10},
				    {"main;shrinks", 5, 20},
				    {"main;stays", 7, 7},
				    {"main;old;deep;er;and;leaf", 0, 9},
				    {"main;fresh", 4, 0},
				    {"main;k;+x", 3, 1},
				    {"main;k;+y", 2, 1}},
				   7};

TEST(lists_name_what_is_gone_and_new)
{
	struct both both;
	auto_free char *text = NULL, *lines = NULL;

	both_init(&both, &small, false);
	lines = folded(&both.diff);
	CHECK_TEXT(lines, "main;fresh 0 4\nmain;grows 10 30\nmain;k;+x_[g] 1 3\nmain;k;+y_[g] 1 2\n"
			  "main;old;deep;er;and;leaf 9 0\nmain;shrinks 20 5\nmain;stays 7 7\n");
	text = drawn(&both.diff, 1200);
	CHECK(strstr(text, "Grew, without callees: 2, +23 ns<"));
	CHECK(strstr(text, "Shrank, without callees: 1, \342\210\22215 ns<"));
	CHECK(strstr(text, "Only in NEW, with callees: 1, +4 ns<"));
	CHECK(strstr(text, "Only in BASE, with callees: 1, \342\210\2229 ns<"));
	CHECK(strstr(text, ">leaf \342\200\271 and \342\200\271 er \342\200\271 deep \342\200\271 "
			   "old<"));
	CHECK(strstr(text, ">10 ns \342\206\222 30 ns<"));
	CHECK(strstr(text, "0 ns in NEW, 9 ns in BASE, \342\210\2229 ns, gone\nleaf\nand\n"));
	CHECK(strstr(text, "4 ns in NEW, 0 ns in BASE, +4 ns, new"));
	CHECK(strstr(text, "30 ns in NEW, 10 ns in BASE, +20 ns (+200.00 %)"));
	CHECK(!strstr(text, "<title>old\n"));
	CHECK(strstr(text, "data-v=\"51\" data-o=\"48\""));
	both_fini(&both);
}

TEST(widths_of_base_show_what_is_gone)
{
	struct both both;
	auto_free char *text = NULL;

	both_init(&both, &small, false);
	flame_diff_swap(&both.diff);
	text = drawn(&both.diff, 1200);
	CHECK(strstr(text, "data-diff=\"base\""));
	CHECK(strstr(text, "data-v=\"48\" data-o=\"51\""));
	CHECK(strstr(text, "<title>old\n9 ns, 18.75 % of the total; 0 ns in NEW, 9 ns in BASE, "));
	CHECK(strstr(text, "<g data-v=\"9\" data-o=\"0\"><title>old\n"));
	CHECK(!strstr(text, "<title>fresh\n"));
	both_fini(&both);
}

TEST(a_frame_of_both_with_a_new_value_of_its_own)
{
	static const struct pairs own = {{{"main;f;g", 5, 5}, {"main;f", 4, 0}}, 2};
	struct both both;
	auto_free char *text = NULL;

	both_init(&both, &own, false);
	text = drawn(&both.diff, 1200);
	CHECK(strstr(text, "Grew, without callees: 1, +4 ns<"));
	CHECK(strstr(text,
		     "<title>without callees: 4 ns in NEW, 0 ns in BASE, +4 ns, new\nf\nmain<"));
	CHECK(strstr(text, ">0 ns \342\206\222 4 ns<"));
	CHECK(!strstr(text, "Only in"));
	both_fini(&both);
}

TEST(equal_recordings_have_no_lists)
{
	static const struct pairs equal = {{{"a;b", 3, 3}, {"a;c", 4, 4}}, 2};
	struct string_builder about = {0};
	struct both both;
	auto_free char *text = NULL;

	both_init(&both, &equal, false);
	CHECK(flame_diff_is_equal(&both.diff));
	flame_diff_describe(&both.diff, "n.duet", "b.duet", "ns", &about);
	CHECK_TEXT(string_builder_text(&about),
		   "total: 7 ns in NEW, 7 ns in BASE, unchanged; no stack changed \302\267 NEW is "
		   "n.duet, BASE is b.duet");
	text = drawn(&both.diff, 320);
	CHECK(!strstr(text, "class=\"list\""));
	CHECK(!strstr(text, "<rect class=\"h c9\""));
	string_builder_fini(&about);
	both_fini(&both);
}

/* ---- names, colours, errors ------------------------------------------------------------------ */

static const char *without_version(void *context, const char *name, enum flame_class frame_class)
{
	(void)frame_class;
	return strcmp(name, "k_v1") == 0 ? context : name;
}

TEST(frames_of_base_can_be_renamed)
{
	struct flame_rename rename = {without_version, "k_v2"};
	struct flame *now = flame_new(), *base = flame_new();
	struct flame_diff diff;
	auto_free char *text = NULL;

	add(now, "main;k_v2", 5);
	add(base, "main;k_v1", 3);
	add(base, "main;k_v2", 1);
	flame_note(base, flame_frame(base, "k_v1", FLAME_HOST), "a note");
	CHECK_EQUAL(flame_diff_init(&diff, now), 0);
	CHECK_EQUAL(flame_diff_add(&diff, base, &rename), 0);
	text = folded(&diff);
	CHECK_TEXT(text, "main;k_v2 4 5\n");
	CHECK(flame_find_note(now, flame_frame(now, "k_v2", FLAME_HOST)));
	flame_diff_fini(&diff);
	flame_free(now);
	flame_free(base);
}

TEST(equal_text_is_one_line)
{
	struct flame *now = flame_new(), *base = flame_new();
	uint32_t host = flame_frame(now, "f", FLAME_HOST);
	uint32_t python = flame_frame(base, "f", FLAME_PYTHON);
	struct flame_diff diff;
	auto_free char *text = NULL;

	flame_add(now, &host, 1, 5);
	flame_add(base, &python, 1, 3);
	CHECK_EQUAL(flame_diff_init(&diff, now), 0);
	CHECK_EQUAL(flame_diff_add(&diff, base, NULL), 0);
	text = folded(&diff);
	CHECK_TEXT(text, "f 3 5\n");
	flame_diff_fini(&diff);
	flame_free(now);
	flame_free(base);
}

TEST(empty_recordings)
{
	static const struct pairs gone = {{{"a;b", 0, 3}}, 1}, none = {.count = 0};
	struct both both;
	auto_free char *text = NULL, *empty = NULL;

	both_init(&both, &gone, false);
	text = drawn(&both.diff, 1200);
	CHECK(strstr(text, "Nothing was recorded."));
	CHECK(strstr(text, "Only in BASE, with callees: 1, \342\210\2223 ns<"));
	CHECK_EQUAL(flame_diff_scale(&both.diff), -EINVAL);
	CHECK(strstr(error_text(), "the total of NEW is 0"));
	both_fini(&both);
	both_init(&both, &none, false);
	empty = folded(&both.diff);
	CHECK_TEXT(empty, "");
	both_fini(&both);
}

TEST(an_overflow_is_an_error)
{
	static const struct pairs half = {{{"a;b", 1, UINT64_MAX - 1}}, 1};
	struct flame *more = flame_new();
	struct both both;

	both_init(&both, &half, false);
	add(more, "a;c", 2);
	CHECK_EQUAL(flame_diff_add(&both.diff, more, NULL), -EOVERFLOW);
	flame_free(more);
	both_fini(&both);
}

static int level_of(uint64_t now, uint64_t base)
{
	return flame_values_level(&(struct flame_values){now, base});
}

TEST(levels_are_relative_to_the_larger_value)
{
	CHECK(level_of(0, 0) == 0);
	CHECK(level_of(100, 100) == 0);
	CHECK(level_of(103, 100) == 0);
	CHECK(level_of(104, 100) == 1);
	CHECK(level_of(100, 104) == -1);
	CHECK(level_of(4, 3) == FLAME_LEVELS / 2);
	CHECK(level_of(3, 4) == -FLAME_LEVELS / 2);
	CHECK(level_of(200, 100) == FLAME_LEVELS);
	CHECK(level_of(1, 0) == FLAME_LEVELS);
	CHECK(level_of(0, UINT64_MAX) == -FLAME_LEVELS);
}

static double luminance(uint32_t colour)
{
	static const double weights[] = {0.2126, 0.7152, 0.0722};
	double sum = 0;

	for (int i = 0; i < 3; i++) {
		double part = (colour >> (16 - 8 * i) & 255) / 255.0;

		sum += weights[i] *
		       (part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4));
	}
	return sum;
}

TEST(text_is_readable_on_every_level)
{
	for (int level = -FLAME_LEVELS; level <= FLAME_LEVELS; level++) {
		double light = luminance(flame_level_colour(level, false));
		double dark = luminance(flame_level_colour(level, true));

		CHECK((light + 0.05) / (luminance(FLAME_INK) + 0.05) >= 5);
		CHECK((luminance(FLAME_INK_ON_DARK) + 0.05) / (dark + 0.05) >= 5);
	}
}

int main(void)
{
	RUN(values_are_sums_over_all_stacks);
	RUN(order_of_stacks_does_not_matter);
	RUN(scaled_values_add_up_to_the_total_of_new);
	RUN(lists_name_what_is_gone_and_new);
	RUN(widths_of_base_show_what_is_gone);
	RUN(a_frame_of_both_with_a_new_value_of_its_own);
	RUN(equal_recordings_have_no_lists);
	RUN(frames_of_base_can_be_renamed);
	RUN(equal_text_is_one_line);
	RUN(empty_recordings);
	RUN(an_overflow_is_an_error);
	RUN(levels_are_relative_to_the_larger_value);
	RUN(text_is_readable_on_every_level);
	return harness_end();
}
