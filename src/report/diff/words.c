/* SPDX-License-Identifier: MIT
 *
 * report/diff/words.c - a comparison in sentences
 *
 * Runs in:  our own process
 * Gets:     a comparison
 * Gives:    the verdict, its reasons, and the remark of a row
 * Owns:     nothing
 * Fails:    never; a long sentence is cut
 * Why "unproved" stands in the sentence itself: a reader who copies the first line copies the doubt
 */
#include "report/diff/diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "report/verdict/sentence.h"

struct number diff_signed_duration(int64_t ns)
{
	const uint64_t magnitude = ns < 0 ? (uint64_t)0 - (uint64_t)ns : (uint64_t)ns;
	struct number number;

	snprintf(number.text, sizeof(number.text), "%s%.28s",
		 ns < 0 ? "-"
		 : ns   ? "+"
			: "",
		 format_duration(magnitude).text);
	return number;
}

/* A number of a hostile recording may be larger than an integer. */
static int64_t clamp(double ns)
{
	return ns >= 0x1p62 ? INT64_C(1) << 62 : ns <= -0x1p62 ? -(INT64_C(1) << 62) : (int64_t)ns;
}

struct number diff_signed_percent(double change, double base)
{
	struct number number;
	const double percent = base > 0 ? change / base * 100 : 0;

	if (base > 0)
		snprintf(number.text, sizeof(number.text), "%+.*f %%",
			 fabs(percent) < 9.95    ? 2
			 : fabs(percent) < 99.95 ? 1
						 : 0,
			 percent);
	else
		snprintf(number.text, sizeof(number.text), "-");
	return number;
}

bool diff_is_idle(const struct diff_report *report, const struct comparison_row *row)
{
	const struct comparison_table *idle = &report->comparison->tables[COMPARE_IDLE];

	return row >= idle->rows && row < idle->rows + idle->count;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

const char *diff_per_unit(const struct comparison *comparison)
{
	if (comparison->options.is_per_iteration)
		return " per iteration";
	return comparison->base.count > 1 || comparison->changed.count > 1 ? " per run" : "";
}

static void say_interval(const struct compare_noise *noise, double confidence,
			 struct sentence *sentence)
{
	say(sentence, "%s to %s with %.4g %% confidence",
	    diff_signed_duration(clamp(noise->low)).text,
	    diff_signed_duration(clamp(noise->high)).text, confidence * 100);
}

static void say_values(const struct compare_noise *noise, struct sentence *sentence)
{
	say(sentence, " (%zu and %zu %s)", noise->base_values, noise->changed_values,
	    noise->source == NOISE_ITERATIONS ? "batches of iterations" : "runs");
}

static void say_needed(const struct comparison *comparison, struct sentence *sentence)
{
	if (comparison->need.runs > comparison->base.count)
		say(sentence, "; record about %zu runs a side", comparison->need.runs);
	else
		say(sentence, "; record more runs a side");
}

static void say_proof(const struct comparison *comparison, const struct compare_noise *noise,
		      struct sentence *sentence)
{
	const double confidence = comparison->options.confidence;

	if (noise->source == NOISE_UNKNOWN) {
		say(sentence,
		    " Unproved: one run a side without iterations does not show the noise");
		say_needed(comparison, sentence);
		say(sentence, ".");
		return;
	}
	switch (noise->proof) {
	case PROOF_PROVED:
		say(sentence, " Proved: ");
		break;
	case PROOF_SMALL:
		say(sentence, " Proved, but small: ");
		break;
	case PROOF_NO_CHANGE:
		say(sentence, " No change: ");
		break;
	case PROOF_WITHIN:
		say(sentence, " More than the noise within these two runs: ");
		break;
	default:
		say(sentence, " Unproved: ");
	}
	if (noise->has_interval)
		say_interval(noise, confidence, sentence);
	else
		say(sentence, "too few values");
	say_values(noise, sentence);
	if (noise->proof == PROOF_WITHIN)
		say(sentence, "; several runs a side prove it");
	if (noise->proof == PROOF_UNPROVED)
		say_needed(comparison, sentence);
	say(sentence, ".");
}

static void say_speed(double base, double changed, struct sentence *sentence)
{
	const double percent = base > 0 ? fabs(changed - base) / base * 100 : 0;

	if (!(base > 0) && changed > 0)
		say(sentence, "BASE takes no time, NEW some");
	else if (percent < 0.005)
		say(sentence, "NEW takes the same time as BASE");
	else
		say(sentence, "NEW takes %.*f %% %s time than BASE", percent < 9.95 ? 2 : 1,
		    percent, changed > base ? "more" : "less");
}

/* With one run a side, iterations are compared if there are any; otherwise the runs. */
static const struct comparison_total *total_of(const struct comparison *comparison)
{
	return comparison->iteration.noise.source == NOISE_ITERATIONS ? &comparison->iteration
								      : &comparison->wall;
}

void diff_say_verdict(const struct diff_report *report, struct sentence *sentence)
{
	const struct comparison *comparison = report->comparison;
	const struct comparison_total *wall = &comparison->wall, *total = total_of(comparison);

	say_speed(wall->base, wall->changed, sentence);
	say(sentence, ": %s -> %s%s (%s).", format_duration(round_saturated(wall->base)).text,
	    format_duration(round_saturated(wall->changed)).text, diff_per_unit(comparison),
	    diff_signed_duration(clamp(wall->changed - wall->base)).text);
	if (comparison->is_same) {
		say(sentence, " Both sides are the same recording.");
		return;
	}
	if (total != wall && !comparison->options.is_per_iteration)
		say(sentence,
		    " Unproved: one run a side does not show the noise of whole runs. Iterations: "
		    "%s -> %s.",
		    format_duration(round_saturated(total->noise.base)).text,
		    format_duration(round_saturated(total->noise.changed)).text);
	say_proof(comparison, &total->noise, sentence);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static double mean_of(const struct comparison_amount *amount)
{
	return amount->count ? (double)amount->value / (double)amount->count : 0;
}

static void say_counts(const struct comparison *comparison, const struct comparison_row *row,
		       struct sentence *sentence)
{
	const double base = (double)row->base.count / (double)comparison->base.units;
	const double changed = (double)row->changed.count / (double)comparison->changed.units;

	if (base != changed)
		say(sentence, "%sran %.4g -> %.4g times%s", sentence->length ? ", " : "", base,
		    changed, row->count_noise.proof == PROOF_PROVED ? " (proved)" : "");
}

static void say_means(const struct comparison_row *row, struct sentence *sentence)
{
	const double base = mean_of(&row->base), changed = mean_of(&row->changed);

	if (base > 0 && fabs(changed - base) >= base / 1000)
		say(sentence, "%seach %s%s", sentence->length ? ", " : "",
		    diff_signed_percent(changed - base, base).text,
		    row->mean_noise.proof == PROOF_PROVED && row->value_noise.proof != PROOF_PROVED
			    ? " (proved)"
			    : "");
}

static const char *match_words(const struct comparison_row *row)
{
	if (row->pattern && strcmp(row->pattern, "numbers") == 0)
		return "same name but for numbers";
	if (row->pattern && strcmp(row->pattern, "runtime") == 0)
		return "the same function of another runtime";
	return match_reason_text(row->reason);
}

static void say_match(const struct comparison_row *row, struct sentence *sentence)
{
	if (row->reason == MATCH_NEW || row->reason == MATCH_GONE) {
		say(sentence, "%s", match_reason_name(row->reason));
		return;
	}
	if (row->reason == MATCH_EXACT)
		return;
	say(sentence, "%s%s", sentence->length ? "; " : "", match_words(row));
	if (row->base_label)
		say(sentence, ", was %.*s%s", SENTENCE_NAME, row->base_label,
		    strlen(row->base_label) > SENTENCE_NAME ? "…" : "");
	say(sentence, " (%.0f %% sure)", row->confidence * 100);
}

void diff_say_how(const struct diff_report *report, const struct comparison_row *row,
		  struct sentence *sentence)
{
	if (row->base.count && row->changed.count) {
		say_means(row, sentence);
		say_counts(report->comparison, row, sentence);
	}
	say_match(row, sentence);
}

/* The interval alone excludes 0; the correction for many tests does not. */
static bool is_clear(const struct compare_noise *noise)
{
	return noise->source == NOISE_RUNS && noise->has_interval &&
	       (noise->low > 0 || noise->high < 0);
}

/* An interval per iteration beside a time per run would mislead. */
static bool shows_interval(const struct diff_report *report, const struct compare_noise *noise)
{
	return noise->has_interval &&
	       (noise->source == NOISE_RUNS || (noise->source == NOISE_ITERATIONS &&
						report->comparison->options.is_per_iteration));
}

static const char *proof_words(const struct comparison_row *row)
{
	switch (row->value_noise.proof) {
	case PROOF_PROVED:
		return "proved";
	case PROOF_SMALL:
		return "proved, but small";
	case PROOF_NO_CHANGE:
		return "no change";
	case PROOF_WITHIN:
		return "more than the noise within these runs";
	default:
		return is_clear(&row->value_noise)
			       ? "unproved (the rows are too many for these runs)"
			       : "unproved";
	}
}

void diff_say_reason(const struct diff_report *report, const struct comparison_row *row,
		     struct sentence *sentence)
{
	struct sentence how = {0};

	say(sentence, "%s, ", diff_signed_duration(row->change.value).text);
	if (diff_is_idle(report, row))
		say(sentence, "device idle: %.*s", 3 * SENTENCE_NAME, row->label);
	else
		say(sentence, "%s %.*s", row->is_kernel ? "kernel" : row->group, SENTENCE_NAME,
		    row->label);
	if (report->comparison->devices_count > 1 && row->device != SIDE_NO_DEVICE)
		say(sentence, " on device %" PRIu32, row->device);
	diff_say_how(report, row, &how);
	if (how.length)
		say(sentence, " (%s)", how.text);
	say(sentence, ", %s", proof_words(row));
	if (shows_interval(report, &row->value_noise)) {
		say(sentence, ": %s to %s", diff_signed_duration(clamp(row->value_noise.low)).text,
		    diff_signed_duration(clamp(row->value_noise.high)).text);
		say(sentence, "%s", diff_per_unit(report->comparison));
	}
	say(sentence, ".");
}
