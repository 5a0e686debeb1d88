/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/account.c - the change of each row, so that the rows add up to the change of wall
 * time
 *
 * Runs in:  our own process
 * Gets:     the sides
 * Gives:    devices, and rows with their changes
 * Owns:     the rows
 * Fails:    -ENOMEM
 * Why sums are rounded and not rows: the mean of 3 runs is a third of a nanosecond off. Each row is
 *           the difference of two rounded running sums, so the rounding errors of all rows cancel.
 */
#include "analyze/compare/comparison.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/devices.h"
#include "analyze/compare/gather.h"
#include "analyze/compare/proof.h"
#include "base/array.h"
#include "base/string.h"

enum { MEMBERS_SHOWN = 4 };

/* Sums of the rows of a device so far, and the rounded change of these sums. */
struct running {
	unsigned __int128 base, changed;
	int64_t rounded;
};

struct account_maker {
	struct comparison *comparison;
	struct device_map map;
	struct running *running; /* by device */
};

static __int128 floor_division(__int128 number, __int128 divisor)
{
	const __int128 quotient = number / divisor;

	return quotient - (number % divisor < 0);
}

/* Sums of a hostile recording may exceed an integer; the check of the sums then fails. */
static int64_t clamp(__int128 value)
{
	return value > INT64_MAX / 4    ? INT64_MAX / 4
	       : value < -INT64_MAX / 4 ? -INT64_MAX / 4
					: (int64_t)value;
}

/* changed / units of changed - base / units of base, rounded down. */
static int64_t mean_change(const struct comparison *comparison, unsigned __int128 base,
			   unsigned __int128 changed)
{
	const __int128 n = (__int128)comparison->base.units;
	const __int128 m = (__int128)comparison->changed.units;

	return clamp(floor_division((__int128)changed * n - (__int128)base * m, n * m));
}

/* (nB - nA) * meanA, rounded towards 0; inexact if a hostile recording has more than 2^63 of all.
 */
static int64_t more_often(const struct comparison *comparison, const struct comparison_row *row)
{
	const __int128 n = (__int128)comparison->base.units;
	const __int128 m = (__int128)comparison->changed.units;
	const __int128 more = (__int128)row->changed.count * n - (__int128)row->base.count * m;
	const __int128 divisor = n * m * (__int128)row->base.count;
	__int128 product;

	if (!row->base.count || !row->changed.count)
		return row->change.value;
	if (__builtin_mul_overflow(more, (__int128)row->base.value, &product))
		return 0;
	return clamp(product / divisor);
}

/* ---- a row ----------------------------------------------------------------------------------- */

struct row_text {
	const char *name, *label;
};

static const char *text_of(const struct gathered_row *row, bool is_label)
{
	return is_label ? row->first->label : row->first->name;
}

/* "a + b + 3 more" */
static const char *join_texts(struct comparison *comparison, const struct gathered *gathered,
			      const uint32_t *members, size_t count, bool is_label)
{
	struct string_builder text = {0};
	const char *joined;

	if (count == 1)
		return text_of(&gathered->rows[members[0]], is_label);
	for (size_t i = 0; i < count && i < MEMBERS_SHOWN; i++)
		string_builder_appendf(&text, "%s%s", i ? " + " : "",
				       text_of(&gathered->rows[members[i]], is_label));
	if (count > MEMBERS_SHOWN)
		string_builder_appendf(&text, " + %zu more", count - MEMBERS_SHOWN);
	joined = text.error
			 ? NULL
			 : arena_copy(&comparison->arena, string_builder_text(&text), text.length);
	string_builder_fini(&text);
	return joined;
}

static int name_members(struct comparison *comparison, const struct gathered *gathered,
			const uint32_t *members, size_t count, struct row_text *ret_text)
{
	*ret_text = (struct row_text){0};
	if (!count)
		return 0;
	ret_text->name = join_texts(comparison, gathered, members, count, false);
	ret_text->label = join_texts(comparison, gathered, members, count, true);
	return ret_text->name && ret_text->label ? 0 : -ENOMEM;
}

static int name_row(struct comparison *comparison, const struct proof_rows *rows,
		    struct comparison_row *row)
{
	struct row_text base, changed;
	int error = name_members(comparison, rows->base, rows->match->base, rows->match->base_count,
				 &base);

	if (!error)
		error = name_members(comparison, rows->changed, rows->match->changed,
				     rows->match->changed_count, &changed);
	if (error)
		return error;
	row->name = changed.name ? changed.name : base.name;
	row->label = changed.label ? changed.label : base.label;
	if (base.name && strcmp(base.name, row->name) != 0)
		row->base_name = base.name;
	if (base.label && strcmp(base.label, row->label) != 0)
		row->base_label = base.label;
	return 0;
}

static void add_amount(const struct gathered *gathered, const uint32_t *members, size_t count,
		       struct comparison_amount *amount)
{
	for (size_t run = 0; run < gathered->runs; run++) {
		bool is_there = false;

		for (size_t i = 0; i < count; i++) {
			const struct side_row *cell = gathered_cell(gathered, members[i], run);

			if (!cell)
				continue;
			amount->count += cell->count;
			amount->value += cell->value;
			is_there = true;
		}
		amount->runs += is_there;
	}
}

static void describe_row(const struct proof_rows *rows, struct comparison_row *row)
{
	const struct gathered_row *first = rows->match->changed_count
						   ? &rows->changed->rows[rows->match->changed[0]]
						   : &rows->base->rows[rows->match->base[0]];

	row->reason = rows->match->reason;
	row->confidence = rows->match->confidence;
	row->pattern = rows->match->pattern;
	row->group = first->first->group;
	row->device = first->device;
	row->scope = first->first->scope;
	row->is_kernel = first->first->is_kernel;
}

/* Rows of the account change by the running sums of their device. */
static void set_change(struct account_maker *maker, enum compare_table table,
		       struct comparison_row *row)
{
	const struct comparison *comparison = maker->comparison;

	if (table == COMPARE_BUSY || table == COMPARE_IDLE) {
		struct running *running = &maker->running[row->device];
		const int64_t before = running->rounded;

		running->base += row->base.value;
		running->changed += row->changed.value;
		running->rounded = mean_change(comparison, running->base, running->changed);
		row->change.value = clamp((__int128)running->rounded - before);
	} else {
		row->change.value = mean_change(comparison, row->base.value, row->changed.value);
	}
	row->change.more_often =
		table == COMPARE_IDLE || table == COMPARE_METRIC ? 0 : more_often(comparison, row);
	row->change.each_slower = row->change.value - row->change.more_often;
}

static int make_row(struct account_maker *maker, enum compare_table table,
		    const struct proof_rows *rows, struct comparison_row *row)
{
	int error = name_row(maker->comparison, rows, row);

	if (error)
		return error;
	describe_row(rows, row);
	add_amount(rows->base, rows->match->base, rows->match->base_count, &row->base);
	add_amount(rows->changed, rows->match->changed, rows->match->changed_count, &row->changed);
	set_change(maker, table, row);
	return proof_measure_row(maker->comparison, table, rows, row);
}

/* ---- a table --------------------------------------------------------------------------------- */

static uint64_t magnitude(int64_t value)
{
	return value < 0 ? (uint64_t)0 - (uint64_t)value : (uint64_t)value;
}

static int compare_rows(const void *left, const void *right)
{
	const struct comparison_row *a = left, *b = right;
	const uint64_t first = magnitude(a->change.value), second = magnitude(b->change.value);

	if (first != second)
		return first < second ? 1 : -1;
	return strcmp(a->label, b->label);
}

/* Kernels of one device and class match; places of idle time within their cause. */
static uint32_t scope_of(const struct gathered_row *row)
{
	return (row->device << 8) ^ (row->first->scope & 0xff);
}

static struct match_item *make_items(const struct gathered *gathered)
{
	struct match_item *items = calloc(gathered->count + 1, sizeof(*items));

	for (size_t i = 0; items && i < gathered->count; i++)
		items[i] = side_row_item(gathered->rows[i].first, scope_of(&gathered->rows[i]));
	return items;
}

static int match_sides(const struct comparison *comparison, const struct gathered *base,
		       const struct gathered *changed, struct match **ret_match)
{
	struct match_item *base_items = make_items(base), *changed_items = make_items(changed);
	int error = -ENOMEM;

	if (base_items && changed_items)
		error = match_make(base_items, base->count, changed_items, changed->count,
				   comparison->options.map, ret_match);
	free(base_items);
	free(changed_items);
	return error;
}

static int make_rows(struct account_maker *maker, enum compare_table table,
		     const struct gathered *base, const struct gathered *changed,
		     const struct match *match)
{
	struct comparison_table *rows = &maker->comparison->tables[table];
	const struct match_row *matched;
	const size_t count = match_rows(match, &matched);
	int error = 0;

	rows->rows = calloc(count + 1, sizeof(*rows->rows));
	if (!rows->rows)
		return -ENOMEM;
	for (size_t i = 0; i < count && !error; i++) {
		error = make_row(maker, table, &(struct proof_rows){base, changed, &matched[i]},
				 &rows->rows[i]);
		rows->count += !error;
	}
	qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_rows);
	return error;
}

static int make_table(struct account_maker *maker, enum compare_table table)
{
	const struct comparison *comparison = maker->comparison;
	struct gathered base = {0}, changed = {0};
	struct match *match = NULL;
	int error = gathered_init(&base, &comparison->base, maker->map.of_run, table);

	if (!error)
		error = gathered_init(&changed, &comparison->changed,
				      maker->map.of_run + comparison->base.count, table);
	if (!error)
		error = match_sides(comparison, &base, &changed, &match);
	if (!error)
		error = make_rows(maker, table, &base, &changed, match);
	match_free(match);
	gathered_fini(&base);
	gathered_fini(&changed);
	return error;
}

/* ---- all tables ------------------------------------------------------------------------------ */

static void close_devices(struct account_maker *maker)
{
	struct comparison *comparison = maker->comparison;

	for (size_t i = 0; i < comparison->devices_count; i++) {
		struct comparison_device *device = &comparison->devices[i];

		device->wall_change_ns =
			mean_change(comparison, device->base_wall_ns, device->changed_wall_ns);
		device->busy_change_ns =
			mean_change(comparison, device->base_busy_ns, device->changed_busy_ns);
		device->idle_change_ns = device->wall_change_ns - device->busy_change_ns;
		comparison->change_ns =
			clamp((__int128)comparison->change_ns + device->wall_change_ns);
	}
}

/* Both sums and changes of the rows are those of the devices. */
static void check_sums(struct account_maker *maker)
{
	struct comparison *comparison = maker->comparison;
	__int128 change_ns = 0;

	comparison->is_exact = true;
	for (size_t i = 0; i < comparison->devices_count; i++)
		if (maker->running[i].base != comparison->devices[i].base_wall_ns ||
		    maker->running[i].changed != comparison->devices[i].changed_wall_ns)
			comparison->is_exact = false;
	for (unsigned int table = COMPARE_BUSY; table <= COMPARE_IDLE; table++)
		for (size_t i = 0; i < comparison->tables[table].count; i++)
			change_ns += comparison->tables[table].rows[i].change.value;
	if (change_ns != comparison->change_ns)
		comparison->is_exact = false;
}

int comparison_make_tables(struct comparison *comparison)
{
	struct account_maker maker = {.comparison = comparison};
	const uint32_t tables =
		comparison->options.tables | 1u << COMPARE_BUSY | 1u << COMPARE_IDLE;
	int error = device_map_make(comparison, &maker.map);

	if (error)
		return error;
	maker.running = calloc(comparison->devices_count + 1, sizeof(*maker.running));
	if (!maker.running)
		error = -ENOMEM;
	for (unsigned int i = 0; i < COMPARE_TABLES && !error; i++)
		if (tables & 1u << i)
			error = make_table(&maker, (enum compare_table)i);
	if (!error) {
		close_devices(&maker);
		check_sums(&maker);
	}
	free(maker.running);
	device_map_fini(&maker.map);
	return error;
}
