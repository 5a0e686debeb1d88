/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/comparable.c - whether two groups of recordings can be compared, and what differs
 * beside the program
 *
 * Runs in:  our own process
 * Gets:     the facts of all runs, the devices and the matched rows
 * Gives:    notes: refusals, warnings, information
 * Owns:     the texts of the notes
 * Fails:    -ENOMEM
 * Why before any number: a driver that was updated or a GPU that was throttled explains a change
 *           better than any kernel does
 */
#include "analyze/compare/comparison.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/format.h"
#include "base/string.h"

enum {
	NEAR_PERCENT = 3,    /* readings closer than this are equal */
	LONGER = 2,          /* times: such a run did other work, or more of it */
	COMMON_PERCENT = 5,  /* rows with a partner must have this part of the busy time */
	MATCHED_PERCENT = 95 /* must be matched, as in the ledger */
};

int comparison_add_note(struct comparison *comparison, enum comparison_weight weight,
			const char *format, ...)
{
	struct comparison_note note = {.weight = weight};
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&note.text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return -ENOMEM;
	if (array_append(comparison->notes, comparison->notes_capacity, comparison->notes_count,
			 note)) {
		free(note.text);
		return -ENOMEM;
	}
	comparison->is_refused |= weight == NOTE_REFUSAL;
	return 0;
}

/* ---- refusals -------------------------------------------------------------------------------- */

static bool is_incomplete(const struct compare_side *side)
{
	return !side->facts.is_complete;
}

static bool is_damaged(const struct compare_side *side)
{
	return side->facts.is_complete && side->facts.is_damaged;
}

static bool has_no_device(const struct compare_side *side)
{
	return side->facts.is_complete && !side->devices_count;
}

/* Appends "a.duet" or "a.duet and 3 more". *ret_first NULL: no run has the fault. */
static int name_runs(const struct comparison_sides *sides,
		     bool (*has_fault)(const struct compare_side *side),
		     struct string_builder *names, const struct compare_side **ret_first)
{
	size_t count = 0;

	*ret_first = NULL;
	for (size_t i = 0; i < sides->count; i++)
		if (has_fault(sides->runs[i]) && !count++)
			*ret_first = sides->runs[i];
	if (!count)
		return 0;
	string_builder_append(names, (*ret_first)->path);
	if (count > 1)
		string_builder_appendf(names, " and %zu more", count - 1);
	return names->error;
}

static int note_incomplete(struct comparison *comparison, const struct compare_side *first,
			   const char *names)
{
	const struct side_facts *facts = &first->facts;

	return comparison_add_note(
		comparison, NOTE_REFUSAL,
		"incomplete: %s; %s of the launches are matched%s. Record again, or compare with "
		"--force",
		names, format_percent(facts->matched, facts->expected).text,
		facts->contradictions ? ", and samples contradict the account" : "");
}

static int note_damaged(struct comparison *comparison, const struct compare_side *first,
			const char *names)
{
	return comparison_add_note(comparison, NOTE_WARNING, "damaged, cut off, or rows lost: %s",
				   names);
}

static int note_no_device(struct comparison *comparison, const struct compare_side *first,
			  const char *names)
{
	return comparison_add_note(comparison, NOTE_REFUSAL, "no device ran a command: %s", names);
}

/* One note for all runs of a side with the same fault. */
static int check_runs(struct comparison *comparison, const struct comparison_sides *sides)
{
	static const struct {
		bool (*has)(const struct compare_side *side);
		int (*note)(struct comparison *comparison, const struct compare_side *first,
			    const char *names);
	} faults[] = {{is_incomplete, note_incomplete},
		      {is_damaged, note_damaged},
		      {has_no_device, note_no_device}};
	int error = 0;

	for (size_t i = 0; i < ARRAY_COUNT(faults) && !error; i++) {
		struct string_builder names = {0};
		const struct compare_side *first;

		error = name_runs(sides, faults[i].has, &names, &first);
		if (!error && first)
			error = faults[i].note(comparison, first, string_builder_text(&names));
		string_builder_fini(&names);
	}
	return error;
}

static int check_devices_of(struct comparison *comparison, const struct comparison_sides *sides)
{
	const struct compare_side *first = comparison->base.runs[0];

	for (size_t i = 0; i < sides->count; i++) {
		const struct compare_side *side = sides->runs[i];

		if (side->devices_count != first->devices_count)
			return comparison_add_note(
				comparison, NOTE_REFUSAL,
				"%s used %zu %s and %s %zu: compare runs on equally many devices",
				first->path, first->devices_count,
				format_noun(first->devices_count, "device", "devices"), side->path,
				side->devices_count);
	}
	return 0;
}

static int check_devices(struct comparison *comparison)
{
	int error = check_devices_of(comparison, &comparison->base);

	return error ? error : check_devices_of(comparison, &comparison->changed);
}

/* Busy time of rows with a partner, of that of all rows; both sides. */
static int check_work(struct comparison *comparison)
{
	const struct comparison_table *busy = &comparison->tables[COMPARE_BUSY];
	double common = 0, all = 0;

	for (size_t i = 0; i < busy->count; i++) {
		const double value =
			(double)busy->rows[i].base.value + (double)busy->rows[i].changed.value;

		all += value;
		if (busy->rows[i].reason != MATCH_NEW && busy->rows[i].reason != MATCH_GONE)
			common += value;
	}
	if (all > 0 && common * 100 < all * COMMON_PERCENT)
		return comparison_add_note(
			comparison, NOTE_REFUSAL,
			"the recordings have no work in common: kernels and copies with a partner "
			"are %.1f %% of the busy time. --map FILE names partners",
			common / all * 100);
	return 0;
}

/* ---- differences ----------------------------------------------------------------------------- */

static const char *find_fact(const struct side_facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->texts_count; i++)
		if (strcmp(facts->texts[i].name, name) == 0)
			return facts->texts[i].value;
	return NULL;
}

static const char *or_none(const char *value)
{
	return value && *value ? value : "not known";
}

static int compare_fact(struct comparison *comparison, const char *name, const char *base,
			const char *changed)
{
	if (base && changed && strcmp(base, changed) == 0)
		return 0;
	return comparison_add_note(comparison, NOTE_WARNING, "%s: %s -> %s", name, or_none(base),
				   or_none(changed));
}

/* Facts of both sides' first runs, also those that only one side has. */
static int compare_facts(struct comparison *comparison)
{
	const struct side_facts *base = &comparison->base.runs[0]->facts;
	const struct side_facts *changed = &comparison->changed.runs[0]->facts;
	int error = 0;

	for (size_t i = 0; i < base->texts_count && !error; i++)
		error = compare_fact(comparison, base->texts[i].name, base->texts[i].value,
				     find_fact(changed, base->texts[i].name));
	for (size_t i = 0; i < changed->texts_count && !error; i++)
		if (!find_fact(base, changed->texts[i].name))
			error = compare_fact(comparison, changed->texts[i].name, NULL,
					     changed->texts[i].value);
	return error;
}

static bool has_other_value(const struct compare_side *side, const struct side_fact *fact)
{
	const char *value = find_fact(&side->facts, fact->name);

	return !value || strcmp(value, fact->value) != 0;
}

/* One note for all runs of a side that differ from the first one in a fact. */
static int check_fact(struct comparison *comparison, const struct comparison_sides *sides,
		      const struct side_fact *fact)
{
	const struct compare_side *first = NULL;
	size_t count = 0;

	for (size_t run = 1; run < sides->count; run++)
		if (has_other_value(sides->runs[run], fact) && !count++)
			first = sides->runs[run];
	if (!count)
		return 0;
	return comparison_add_note(comparison, NOTE_WARNING, "%s: %s in %s, %s in %s%s", fact->name,
				   or_none(fact->value), sides->runs[0]->path,
				   or_none(find_fact(&first->facts, fact->name)), first->path,
				   count > 1 ? " and others" : "");
}

/* Runs of one side should differ in nothing. */
static int check_side(struct comparison *comparison, const struct comparison_sides *sides)
{
	const struct side_facts *first = &sides->runs[0]->facts;
	int error = 0;

	for (size_t i = 0; i < first->texts_count && !error; i++)
		error = check_fact(comparison, sides, &first->texts[i]);
	return error;
}

/* The mean of a reading over the runs that have it; NAN: none has. */
static double mean_reading(const struct comparison_sides *sides, const char *name)
{
	double sum = 0;
	size_t count = 0;

	for (size_t run = 0; run < sides->count; run++)
		for (size_t i = 0; i < sides->runs[run]->facts.readings_count; i++)
			if (strcmp(sides->runs[run]->facts.readings[i].name, name) == 0) {
				sum += sides->runs[run]->facts.readings[i].mean;
				count++;
			}
	return count ? sum / (double)count : NAN;
}

static int compare_readings(struct comparison *comparison)
{
	const struct side_facts *facts = &comparison->base.runs[0]->facts;
	int error = 0;

	for (size_t i = 0; i < facts->readings_count && !error; i++) {
		const struct side_reading *reading = &facts->readings[i];
		const double base = mean_reading(&comparison->base, reading->name);
		const double changed = mean_reading(&comparison->changed, reading->name);

		if (isnan(changed) ||
		    fabs(changed - base) * 100 <= fmax(fabs(base), fabs(changed)) * NEAR_PERCENT)
			continue;
		error = comparison_add_note(comparison, NOTE_WARNING, "%s: %.4g -> %.4g %s (mean)",
					    reading->name, base, changed, reading->unit);
	}
	return error;
}

static uint64_t count_iterations(const struct comparison_sides *sides)
{
	return sides->runs[0]->iterations.count;
}

static int compare_lengths(struct comparison *comparison)
{
	const double base = comparison->wall.base, changed = comparison->wall.changed;
	const uint64_t before = count_iterations(&comparison->base);
	const uint64_t after = count_iterations(&comparison->changed);
	int error = 0;

	if (before && after && before != after)
		error = comparison_add_note(
			comparison, comparison->options.is_per_iteration ? NOTE_INFO : NOTE_WARNING,
			"iterations: %" PRIu64 " -> %" PRIu64 ". %s", before, after,
			comparison->options.is_per_iteration
				? "Times are per iteration"
				: "The sides did not do equally much work; compare times per "
				  "iteration");
	if (!error && base > 0 && changed > 0 &&
	    (base > LONGER * changed || changed > LONGER * base))
		error = comparison_add_note(
			comparison, NOTE_WARNING,
			"one side is %.1f times as long as the other; compare equal parts",
			fmax(base / changed, changed / base));
	return error;
}

static bool is_in(const struct comparison_sides *sides, const char *content)
{
	for (size_t i = 0; i < sides->count; i++)
		if (strcmp(sides->runs[i]->facts.content, content) == 0)
			return true;
	return false;
}

/* A recording that is named twice is one value, not two. */
static int check_repeats(struct comparison *comparison, const struct comparison_sides *sides)
{
	for (size_t i = 0; i < sides->count; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(sides->runs[i]->facts.content, sides->runs[k]->facts.content) ==
			    0)
				return comparison_add_note(
					comparison, NOTE_REFUSAL,
					"%s and %s are the same recording: name each one once",
					sides->runs[k]->path, sides->runs[i]->path);
	return 0;
}

static int find_same(struct comparison *comparison)
{
	size_t same = 0;
	int error = check_repeats(comparison, &comparison->base);

	if (!error)
		error = check_repeats(comparison, &comparison->changed);
	for (size_t i = 0; i < comparison->changed.count; i++)
		same += is_in(&comparison->base, comparison->changed.runs[i]->facts.content);
	if (!same || error)
		return error;
	comparison->is_same = same == comparison->changed.count && same == comparison->base.count;
	if (comparison->is_same)
		return comparison_add_note(comparison, NOTE_WARNING,
					   "both sides are the same recording");
	return comparison_add_note(comparison, NOTE_REFUSAL,
				   "%zu %s on both sides: a recording is either base or new", same,
				   format_noun(same, "recording is", "recordings are"));
}

static int compare_weights(const void *left, const void *right)
{
	const struct comparison_note *a = left, *b = right;

	return (int)b->weight - (int)a->weight;
}

/* Stable: the notes of one weight keep their order, because the number of notes is small. */
static void sort_notes(struct comparison *comparison)
{
	for (size_t i = 1; i < comparison->notes_count; i++)
		for (size_t k = i;
		     k && compare_weights(&comparison->notes[k - 1], &comparison->notes[k]) > 0;
		     k--) {
			const struct comparison_note note = comparison->notes[k];

			comparison->notes[k] = comparison->notes[k - 1];
			comparison->notes[k - 1] = note;
		}
}

int comparison_check(struct comparison *comparison)
{
	int error = find_same(comparison);

	if (!error)
		error = check_runs(comparison, &comparison->base);
	if (!error)
		error = check_runs(comparison, &comparison->changed);
	if (!error)
		error = check_devices(comparison);
	if (!error)
		error = check_work(comparison);
	if (!error)
		error = compare_facts(comparison);
	if (!error)
		error = check_side(comparison, &comparison->base);
	if (!error)
		error = check_side(comparison, &comparison->changed);
	if (!error)
		error = compare_readings(comparison);
	if (!error)
		error = compare_lengths(comparison);
	sort_notes(comparison);
	return error;
}
