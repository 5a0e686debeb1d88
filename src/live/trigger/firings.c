/* SPDX-License-Identifier: MIT
 *
 * live/trigger/firings.c - findings that fire, and problems of expressions
 *
 * Runs in:  the watcher of `duet record --trigger`
 * Gets:     durations and readings from the other files of a trigger set
 * Gives:    firings with a reason in words
 * Owns:     nothing that must be freed
 * Fails:    never; firings beyond MAX_FIRINGS are counted only
 * Why a finding can be too old: the search for a loop reads launches that are minutes old, and the
 *           recording no longer contains them
 */
#include "live/trigger/private.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/format.h"

void name_without_numbers(const char *name, char *ret_name, size_t size)
{
	size_t length = 0;

	for (; *name && length + 1 < size; name++) {
		bool is_digit = isdigit((unsigned char)*name);

		if (!is_digit || !length || ret_name[length - 1] != '#')
			ret_name[length++] = is_digit ? '#' : *name;
	}
	ret_name[length] = '\0';
}

/* FNV-1a */
uint64_t text_hash(const char *text)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return hash;
}

void firings_add(struct firings *firings, uint32_t expr, const struct trigger_finding *finding,
		 const char *format, ...)
{
	struct trigger_firing *firing;
	va_list arguments;

	if (firings->max_age_ns && firings->newest_ns != UINT64_MAX &&
	    finding->end_ns + firings->max_age_ns < firings->newest_ns)
		return;
	if (firings->count == MAX_FIRINGS) {
		firings->dropped++;
		return;
	}
	firing = &firings->all[(firings->first + firings->count++) % MAX_FIRINGS];
	*firing = (struct trigger_firing){.expr = expr,
					  .process = finding->process,
					  .begin_ns = finding->begin_ns,
					  .end_ns = finding->end_ns};
	va_start(arguments, format);
	vsnprintf(firing->reason, sizeof(firing->reason), format, arguments);
	va_end(arguments);
}

/* Whether the problem is new. */
static bool note_problem(struct firings *firings, const char *text)
{
	uint64_t hash = text_hash(text);

	for (size_t i = 0; i < firings->problems_count; i++)
		if (firings->problems[i] == hash)
			return false;
	if (firings->problems_count == MAX_PROBLEMS)
		return false;
	firings->problems[firings->problems_count++] = hash;
	return true;
}

void firings_add_problem(struct firings *firings, const char *format, ...)
{
	char text[sizeof(firings->problem)];
	va_list arguments;

	if (firings->problem[0])
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (note_problem(firings, text))
		memcpy(firings->problem, text, sizeof(text));
}

static bool find_statistic(struct trigger_baseline *baseline, const struct trigger_expr *expr,
			   bool is_exact, double *ret_ns)
{
	if (!baseline)
		return false;
	if (expr->is_mean)
		return baseline_mean(baseline, ret_ns);
	return baseline_quantile(baseline, expr->quantile, is_exact, ret_ns);
}

void firings_judge(struct firings *firings, const struct trigger_expr *exprs, uint32_t index,
		   struct trigger_baseline *baseline, const struct trigger_finding *finding)
{
	const struct trigger_expr *expr = &exprs[index];
	uint64_t duration_ns = finding->end_ns - finding->begin_ns;
	const double duration = (double)duration_ns, margin = 0.9;
	double statistic;

	if (expr->limit == TRIGGER_LIMIT_TIME) {
		if (trigger_compares(expr->comparison, duration, expr->number))
			firings_add(firings, index, finding, "%.160s took %s", finding->what,
				    format_duration(duration_ns).text);
		return;
	}
	/* The statistic may be a little old. It is computed anew only for durations near the
	 * limit. */
	if (!find_statistic(baseline, expr, false, &statistic))
		return;
	firings->statistics |= UINT64_C(1) << index;
	if (duration < margin * expr->number * statistic ||
	    !find_statistic(baseline, expr, true, &statistic) ||
	    !trigger_compares(expr->comparison, duration, expr->number * statistic))
		return;
	firings_add(firings, index, finding, "%.160s took %s (%s %s)", finding->what,
		    format_duration(duration_ns).text, expr->statistic,
		    format_duration((uint64_t)statistic).text);
}
