/* SPDX-License-Identifier: MIT
 *
 * report/gate/words.c - the result of a gate in sentences
 *
 * Runs in:  our own process
 * Gets:     a gate
 * Gives:    the result, its checks and their reasons
 * Owns:     nothing
 * Fails:    never; a long sentence is cut
 * Why percent for limits in percent: the reader compares the estimate with the limit, so both have
 *           the same unit
 */
#include "report/gate/gate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/string.h"
#include "report/diff/diff.h"

const char *gate_result_word(const struct gate_report *report)
{
	if (report->no_base && report->gate->outcome == GATE_PASS)
		return "accepted";
	return report->gate->is_refused ? "not comparable"
					: gate_outcome_name(report->gate->outcome);
}

char *gate_safe_text(const char *text)
{
	struct string_builder safe = {0};
	char *bytes;

	string_builder_append_utf8(&safe, text);
	bytes = string_builder_take(&safe);
	for (char *at = bytes; at && *at; at++)
		if ((unsigned char)*at < ' ' && *at != '\n' && *at != '\t')
			*at = '?';
	return bytes;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Times of damaged recordings may be of any size. */
static struct number format_signed(double ns)
{
	return diff_signed_duration(ns >= 0x1p63    ? INT64_MAX
				    : ns <= -0x1p63 ? -INT64_MAX
						    : (int64_t)ns);
}

struct number gate_format_change(const struct gate_check *check, double value)
{
	struct number number;

	if (check->limit->part == GATE_COUNT &&
	    (check->limit->unit == GATE_TIMES || !(check->noise.base > 0))) {
		snprintf(number.text, sizeof(number.text), "%+.6g", value);
		return number;
	}
	if (check->limit->unit == GATE_PERCENT && check->noise.base > 0)
		return diff_signed_percent(value, check->noise.base);
	return format_signed(value);
}

struct number gate_format_limit(const struct gate_limit *limit)
{
	struct number number;

	if (limit->unit == GATE_PERCENT)
		snprintf(number.text, sizeof(number.text), "%+.6g %%", limit->amount);
	else if (limit->unit == GATE_TIMES)
		snprintf(number.text, sizeof(number.text), "%+.6g", limit->amount);
	else if (fabs(limit->amount) < 1)
		snprintf(number.text, sizeof(number.text), "+0");
	else
		return format_signed(limit->amount);
	return number;
}

struct number gate_format_amount(const struct gate_check *check, double value)
{
	struct number number;

	if (check->limit->part != GATE_COUNT)
		return format_duration(round_saturated(value));
	snprintf(number.text, sizeof(number.text), "%.6g", value);
	return number;
}

/* ---- a check --------------------------------------------------------------------------------- */

void gate_say_name(const struct gate_report *report, const struct gate_check *check,
		   struct sentence *sentence)
{
	const struct gate_limit *limit = check->limit;

	say(sentence, "%s", gate_quantity_name(limit->quantity));
	if (limit->name)
		say(sentence, " %.*s", SENTENCE_NAME, check->name);
	if (check->row && check->row->device != SIDE_NO_DEVICE &&
	    report->gate->comparison->devices_count > 1)
		say(sentence, " on device %" PRIu32, check->row->device);
	if (limit->part != GATE_TOTAL)
		say(sentence, ", %s", gate_part_name(limit->part));
}

static const char *per_what(const struct gate_check *check)
{
	if (check->limit->part == GATE_MEAN || check->limit->quantity == GATE_ITERATION)
		return "";
	return check->is_iteration ? " per iteration" : " per run";
}

/* How the rows of both sides were found to be the same, unless their names are equal. */
static void say_match(const struct comparison_row *row, struct sentence *sentence)
{
	if (row->reason == MATCH_EXACT)
		return;
	say(sentence, "; %s", match_reason_text(row->reason));
	if (row->base_label)
		say(sentence, ", was %.*s", SENTENCE_NAME, row->base_label);
	say(sentence, " (%.0f %% sure)", row->confidence * 100);
}

void gate_say_change(const struct gate_check *check, struct sentence *sentence)
{
	const struct compare_noise *noise = &check->noise;
	const bool is_measured = noise->source != NOISE_UNKNOWN;
	const double change = is_measured ? noise->estimate : noise->changed - noise->base;

	say(sentence, "%s (%s", gate_format_change(check, change).text,
	    gate_format_amount(check, noise->base).text);
	say(sentence, " -> %s%s)", gate_format_amount(check, noise->changed).text, per_what(check));
	if (is_measured && noise->has_interval) {
		say(sentence, ", %s", gate_format_change(check, noise->low).text);
		say(sentence, " to %s", gate_format_change(check, noise->high).text);
	}
	say(sentence, "; limit %s", gate_format_limit(check->limit).text);
	if (check->row && check->row->reason == MATCH_NEW)
		say(sentence, "; new: BASE lacks it");
	else if (check->row && check->row->reason == MATCH_GONE)
		say(sentence, "; gone: NEW lacks it");
	else if (check->row)
		say_match(check->row, sentence);
}

static const char *no_noise_words(const struct gate_report *report, const struct gate_check *check)
{
	const struct comparison *comparison = report->gate->comparison;

	if (report->gate->is_same)
		return "both sides are the same recordings";
	if (comparison->base.count != 1 || comparison->changed.count != 1)
		return comparison->changed.count == 1 ? "one new run does not show its noise"
		       : comparison->base.count == 1  ? "one run of BASE does not show its noise"
						      : "the recordings lack these values";
	if (check->limit->quantity == GATE_ITERATION)
		return "no iterations were found";
	return "one run does not show it; record several runs";
}

void gate_say_doubt(const struct gate_report *report, const struct gate_check *check,
		    struct sentence *sentence)
{
	switch (check->doubt) {
	case GATE_CERTAIN:
		return;
	case GATE_NO_NOISE:
		say(sentence, "%s", no_noise_words(report, check));
		return;
	case GATE_FEW_VALUES:
		say(sentence, "too few values for this confidence");
		return;
	case GATE_STRADDLES:
		say(sentence, "noise: neither the limit nor a regression is proved");
		return;
	case GATE_MANY_TESTS:
		say(sentence, "not proved, because there are many checks");
		return;
	case GATE_ROW_IS_NEW:
		say(sentence, "it is new, so there is no base to compare with");
		return;
	case GATE_WEAK_MATCH:
		say(sentence, "it is not certain that both sides are the same; --map decides it");
		return;
	case GATE_ROW_IS_GONE:
		say(sentence, "it is gone, so there is nothing to compare");
		return;
	}
}

/* ---- the result ------------------------------------------------------------------------------ */

void gate_say_need(const struct gate_report *report, struct sentence *sentence)
{
	const struct gate *gate = report->gate;
	const size_t base = gate->more_base, changed = gate->more_changed;
	const size_t more = base > changed ? base : changed;

	if (!more)
		return;
	if (gate->comparison->is_paired || base == changed)
		say(sentence, "record about %zu more %s a side", more,
		    format_noun(more, "run", "runs"));
	else if (!base)
		say(sentence, "record about %zu more new %s", changed,
		    format_noun(changed, "run", "runs"));
	else if (!changed)
		say(sentence, "record about %zu more %s of BASE", base,
		    format_noun(base, "run", "runs"));
	else
		say(sentence, "record about %zu more %s of BASE and %zu more new", base,
		    format_noun(base, "run", "runs"), changed);
}

void gate_say_basis(const struct gate_report *report, struct sentence *sentence)
{
	const struct comparison *comparison = report->gate->comparison;
	const size_t base = comparison->base.count, changed = comparison->changed.count;

	if (base == changed)
		say(sentence, "%zu %s a side%s", base, format_noun(base, "run", "runs"),
		    comparison->is_paired ? ", in pairs" : "");
	else
		say(sentence, "%zu %s of BASE and %zu new", base, format_noun(base, "run", "runs"),
		    changed);
	say(sentence, ", %.4g %% confidence", comparison->options.confidence * 100);
}

static size_t count_outcome(const struct gate *gate, enum gate_outcome outcome)
{
	size_t count = 0;

	for (size_t i = 0; i < gate->count; i++)
		count += gate->checks[i].outcome == outcome;
	return count;
}

static void say_regressions(const struct gate_report *report, struct sentence *sentence)
{
	const struct gate *gate = report->gate;
	const size_t count = count_outcome(gate, GATE_REGRESSION);

	for (size_t i = 0; i < gate->count; i++) {
		const struct gate_check *check = &gate->checks[i];

		if (check->outcome != GATE_REGRESSION)
			continue;
		gate_say_name(report, check, sentence);
		say(sentence, " %s", gate_format_change(check, check->noise.estimate).text);
		say(sentence, ", limit %s", gate_format_limit(check->limit).text);
		break;
	}
	if (count > 1)
		say(sentence, ", and %zu more", count - 1);
}

static void say_refusal(const struct comparison *comparison, struct sentence *sentence)
{
	for (size_t i = 0; i < comparison->notes_count; i++)
		if (comparison->notes[i].weight == NOTE_REFUSAL) {
			say(sentence, "%s", comparison->notes[i].text);
			return;
		}
}

void gate_say_result(const struct gate_report *report, struct sentence *sentence)
{
	const struct gate *gate = report->gate;
	const size_t doubts = count_outcome(gate, GATE_INCONCLUSIVE);

	if (report->no_base) {
		say(sentence, "%s: %s", gate->outcome == GATE_PASS ? "ACCEPTED" : "INCONCLUSIVE",
		    report->no_base);
	} else if (gate->is_refused) {
		say(sentence, "NOT COMPARABLE: ");
		say_refusal(gate->comparison, sentence);
	} else if (gate->outcome == GATE_REGRESSION) {
		say(sentence, "REGRESSION: ");
		say_regressions(report, sentence);
	} else if (gate->outcome == GATE_INCONCLUSIVE) {
		if (gate->count == 1)
			say(sentence, "INCONCLUSIVE: the check cannot be decided");
		else
			say(sentence, "INCONCLUSIVE: %zu of %zu checks cannot be decided", doubts,
			    gate->count);
		if (gate->is_same)
			say(sentence, ": both sides are the same recordings");
		else if (gate->more_base || gate->more_changed)
			say(sentence, "; ");
		if (!gate->is_same)
			gate_say_need(report, sentence);
	} else {
		say(sentence, "PASS: %zu %s within the limits", gate->count,
		    format_noun(gate->count, "check is", "checks are"));
	}
}

bool gate_say_reason(const struct gate_report *report, size_t number, struct sentence *sentence)
{
	const struct diff_report diff = {.comparison = report->gate->comparison,
					 .by = COMPARE_TABLES};
	const struct comparison_row *rows[GATE_REASONS];

	if (number >= comparison_reasons(diff.comparison, rows, GATE_REASONS))
		return false;
	diff_say_reason(&diff, rows[number], sentence);
	return true;
}
