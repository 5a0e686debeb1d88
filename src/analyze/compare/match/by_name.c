/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/match/by_name.c - the steps that match items by their names
 *
 * Runs in:  our own process, in duet diff
 * Gets:     items that have no row yet
 * Gives:    rows of equal names, templates and variants
 * Owns:     keys, while a step runs
 * Fails:    -ENOMEM
 * Why types before no types: "f<float>" and "f<double>" of one profile must find their counterparts
 *           of the same type first. Only what is left may match across types.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/match/matcher.h"
#include "analyze/compare/match/names.h"
#include "base/array.h"
#include "base/hash.h"

struct key_bytes {
	char text[KERNEL_KEY_BYTES];
	const char *pattern;
};

/* Writes the key of an item; false: the item has none. */
typedef bool make_key(const struct match_item *item, struct key_bytes *ret_key);

struct name_step {
	make_key *make;
	struct group_rule rule;
};

static bool make_typed(const struct match_item *item, struct key_bytes *key)
{
	return item->is_kernel &&
	       kernel_plain_name(item->name, PLAIN_TYPES, key->text, sizeof(key->text));
}

static bool make_function(const struct match_item *item, struct key_bytes *key)
{
	return item->is_kernel &&
	       kernel_plain_name(item->name, PLAIN_FUNCTION, key->text, sizeof(key->text));
}

static bool make_family(const struct match_item *item, struct key_bytes *key)
{
	return item->is_kernel &&
	       kernel_family(item->name, key->text, sizeof(key->text), &key->pattern);
}

static bool make_loose(const struct match_item *item, struct key_bytes *key)
{
	return item->is_kernel &&
	       kernel_family_loose(item->name, key->text, sizeof(key->text), &key->pattern);
}

static bool is_word(char byte)
{
	return isalnum((unsigned char)byte) != 0;
}

/* "step 12" is "step #". Numbers in words stay: "2D" and "3D" differ. */
static bool make_numbers(const struct match_item *item, struct key_bytes *key)
{
	const char *name = item->name;
	size_t size = 0, numbers = 0, letters = 0;

	if (item->is_kernel || strlen(name) >= sizeof(key->text))
		return false;
	for (size_t i = 0, length; name[i]; i += length) {
		length = strspn(name + i, "0123456789");
		if (length && (!i || !is_word(name[i - 1])) && !is_word(name[i + length])) {
			key->text[size++] = '#';
			numbers++;
			continue;
		}
		length = length ? length : 1;
		letters += isalpha((unsigned char)name[i]) != 0;
		memcpy(key->text + size, name + i, length);
		size += length;
	}
	key->text[size] = '\0';
	key->pattern = "numbers";
	return numbers && letters;
}

/* The part of a name behind a prefix that a capital letter follows; the name itself without one. */
static const char *without_prefix(const char *name)
{
	static const char *const prefixes[] = {"cuda", "hip", "cu"};

	for (size_t i = 0; i < ARRAY_COUNT(prefixes); i++) {
		const size_t length = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], length) == 0 && isupper((unsigned char)name[length]))
			return name + length;
	}
	return name;
}

/* "cudaLaunchKernelExC called from f" and "hipExtModuleLaunchKernel called from f" are
 * "LaunchKernel called from f": HIP has the functions of CUDA by other names. */
static bool make_runtime(const struct match_item *item, struct key_bytes *key)
{
	static const char *const additions[] = {"Ext", "Module"};
	static const char *const ends[] = {"ExC", "Ex", "_v2", "WithFlags"};
	const char *name = without_prefix(item->name);
	size_t length;

	if (item->is_kernel || name == item->name || strlen(name) >= sizeof(key->text))
		return false;
	for (size_t i = 0; i < ARRAY_COUNT(additions); i++)
		if (strncmp(name, additions[i], strlen(additions[i])) == 0)
			name += strlen(additions[i]);
	length = strcspn(name, " ");
	for (size_t i = 0; i < ARRAY_COUNT(ends); i++) {
		const size_t size = strlen(ends[i]);

		if (length > size && strncmp(name + length - size, ends[i], size) == 0) {
			length -= size;
			break;
		}
	}
	memcpy(key->text, name, length);
	strcpy(key->text + length, name + strcspn(name, " "));
	key->pattern = "runtime";
	return length > 0;
}

/* ---- one step -------------------------------------------------------------------------------- */

static int add_keyed(struct matcher *matcher, enum match_side side, make_key *make,
		     struct string_table *keys, struct keyed_item *items, size_t *count)
{
	struct key_bytes key;

	for (size_t i = 0; i < matcher->sides[side].count; i++) {
		const struct match_item *item = matcher_item(matcher, side, (uint32_t)i);
		uint32_t id;

		key.pattern = NULL;
		if (!matcher_is_free(matcher, side, i) || !*item->name || !make(item, &key))
			continue;
		id = string_table_add(keys, key.text, strlen(key.text));
		if (!id)
			return -ENOMEM;
		items[(*count)++] =
			(struct keyed_item){item->scope, id, side, (uint32_t)i, item, key.pattern};
	}
	return 0;
}

/* The confidence depends on the pattern. A number at the end of any name is weak evidence, so it
 * needs equal counts as well. */
static int group_by_pattern(struct matcher *matcher, struct keyed_item *items, size_t count,
			    const struct group_rule *rule)
{
	size_t kept, first = 0;

	while (first < count) {
		const char *pattern = items[first].pattern;
		struct group_rule own = *rule;

		kept = first;
		for (size_t i = first; i < count; i++)
			if (items[i].pattern == pattern) {
				const struct keyed_item moved = items[i];

				items[i] = items[kept];
				items[kept++] = moved;
			}
		own.confidence *= pattern ? kernel_family_confidence(pattern) : 1;
		own.needs_counts = pattern && strcmp(pattern, "counter") == 0;
		if (matcher_group(matcher, items + first, kept - first, &own))
			return -ENOMEM;
		first = kept;
	}
	return 0;
}

static int run_step(struct matcher *matcher, const struct name_step *step)
{
	const size_t most = matcher->sides[SIDE_BASE].count + matcher->sides[SIDE_CHANGED].count;
	struct keyed_item *items = calloc(most + 1, sizeof(*items));
	struct string_table keys = {0};
	size_t count = 0;
	int error = items ? 0 : -ENOMEM;

	for (int side = 0; side < SIDES && !error; side++)
		error = add_keyed(matcher, side, step->make, &keys, items, &count);
	if (!error)
		error = group_by_pattern(matcher, items, count, &step->rule);
	string_table_fini(&keys);
	free(items);
	return error;
}

/* ---- equal names ----------------------------------------------------------------------------- */

/* Names of any length, so keys are not copied. */
static int match_equal(struct matcher *matcher)
{
	static const struct group_rule rule = {MATCH_EXACT, 1, .is_joined = true};
	const size_t most = matcher->sides[SIDE_BASE].count + matcher->sides[SIDE_CHANGED].count;
	struct keyed_item *items = calloc(most + 1, sizeof(*items));
	struct string_table keys = {0};
	size_t count = 0;
	int error = items ? 0 : -ENOMEM;

	for (int side = 0; side < SIDES && !error; side++)
		for (size_t i = 0; i < matcher->sides[side].count && !error; i++) {
			const struct match_item *item = matcher_item(matcher, side, (uint32_t)i);
			const uint32_t id = string_table_add(&keys, item->name, strlen(item->name));

			if (!id && *item->name)
				error = -ENOMEM;
			if (id && matcher_is_free(matcher, side, i))
				items[count++] = (struct keyed_item){item->scope, id,   side,
								     (uint32_t)i, item, NULL};
		}
	if (!error)
		error = matcher_group(matcher, items, count, &rule);
	string_table_fini(&keys);
	free(items);
	return error;
}

static int compare_ratios(const void *left, const void *right)
{
	const struct scope_ratio *a = left, *b = right;

	if (a->scope != b->scope)
		return a->scope < b->scope ? -1 : 1;
	return (a->ratio > b->ratio) - (a->ratio < b->ratio);
}

/* One ratio per scope: the median. One profile may be twice as long as the other. */
static void keep_medians(struct matcher *matcher)
{
	struct scope_ratio *ratios = matcher->ratios;
	size_t kept = 0, end;

	if (!matcher->ratios_count)
		return;
	qsort(ratios, matcher->ratios_count, sizeof(*ratios), compare_ratios);
	for (size_t begin = 0; begin < matcher->ratios_count; begin = end) {
		for (end = begin;
		     end < matcher->ratios_count && ratios[end].scope == ratios[begin].scope;)
			end++;
		ratios[kept++] = ratios[begin + (end - begin - 1) / 2];
	}
	matcher->ratios_count = kept;
}

/* Counts of the kernels of equal names, per row. */
static int find_ratios(struct matcher *matcher)
{
	const struct matcher_side *base = &matcher->sides[SIDE_BASE];
	const struct matcher_side *changed = &matcher->sides[SIDE_CHANGED];
	double *counts = calloc(matcher->drafts_count + 1, sizeof(*counts));
	int error = counts ? 0 : -ENOMEM;

	for (size_t i = 0; i < base->count && !error; i++)
		if (base->rows[i] && base->items[i].is_kernel)
			counts[base->rows[i]] += (double)base->items[i].count;
	for (size_t i = 0; i < changed->count && !error; i++) {
		const uint32_t row = changed->rows[i];

		if (row && counts[row] > 0 && changed->items[i].count &&
		    matcher->drafts[row - 1].reason == MATCH_EXACT)
			error = array_append(matcher->ratios, matcher->ratios_capacity,
					     matcher->ratios_count,
					     (struct scope_ratio){changed->items[i].scope,
								  (double)changed->items[i].count /
									  counts[row]});
	}
	free(counts);
	if (!error)
		keep_medians(matcher);
	return error;
}

/* ---- all ------------------------------------------------------------------------------------- */

int match_by_names(struct matcher *matcher)
{
	static const struct name_step steps[] = {
		{make_typed, {MATCH_TEMPLATE, 0.95, false, false}},
		{make_function, {MATCH_TEMPLATE, 0.85, false, false}},
		{make_family, {MATCH_VARIANT, 1, false, false}},
		{make_numbers, {MATCH_VARIANT, 1, false, false}},
		{make_runtime, {MATCH_VARIANT, 1, false, false}},
	};
	int error = match_equal(matcher);

	if (!error)
		error = find_ratios(matcher);
	for (size_t i = 0; i < ARRAY_COUNT(steps) && !error; i++)
		error = run_step(matcher, &steps[i]);
	return error;
}

int match_by_loose_names(struct matcher *matcher)
{
	/* Keys without types are weaker evidence. */
	static const struct name_step step = {make_loose, {MATCH_VARIANT, 0.6, false, false}};

	return run_step(matcher, &step);
}
