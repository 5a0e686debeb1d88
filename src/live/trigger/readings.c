/* SPDX-License-Identifier: MIT
 *
 * live/trigger/readings.c - readings of metrics beyond a limit, and GPUs that are throttled
 *
 * Runs in:  the watcher of `duet record --trigger`
 * Gets:     readings of counters
 * Gives:    a finding when a series goes beyond the limit
 * Owns:     the state of each series
 * Fails:    -ENOMEM
 * Why only when the series goes beyond it: memory that is full stays full, and each reading would
 *           fire
 */
#include "live/trigger/private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/model.h"
#include "analyze/text/units.h"
#include "base/array.h"
#include "base/string.h"

enum { STATE_IGNORED = 1, STATE_BELOW, STATE_BEYOND };
enum { MAX_STATES = 65536 };

/* Reasons for low clocks that the user chose, or that an idle GPU has. */
static const char *const harmless[] = {"idle", "application clocks", "sync boost",
				       "display clocks"};

void readings_fini(struct readings *readings)
{
	hash_map_fini(&readings->states);
}

static bool is_harmless(const char *reason)
{
	for (size_t i = 0; i < ARRAY_COUNT(harmless); i++)
		if (strcmp(harmless[i], reason) == 0)
			return true;
	return false;
}

/* Whether an expression is about this series. */
static bool expr_has(const struct trigger_expr *expr, const struct model *model,
		     const struct event_series *series)
{
	const char *metric = model_text(model, series->metric_string, "");

	if (expr->subject == TRIGGER_METRIC)
		return text_matches(expr->name, metric, strlen(metric));
	return expr->subject == TRIGGER_THROTTLED && strcmp(metric, "gpu.throttled") == 0 &&
	       !is_harmless(model_text(model, series->instance_string, ""));
}

/* The reading in the unit of the expression; NAN: the series has no such unit. */
static double convert(const struct trigger_expr *expr, const struct model *model,
		      const struct event_series *series, const struct event_counter *row)
{
	struct unit_shown shown = unit_shown_of(model, series);
	struct trigger_unit unit;
	double per = 1;

	if (!expr->unit[0] || strcmp(expr->unit, shown.text) == 0)
		return unit_value_of(&shown, series->type, row);
	if (strcmp(expr->unit, "%") == 0)
		return series->limit ? 100 * unit_value_of(&shown, series->type, row) /
					       unit_limit(&shown, series->type, series->limit)
				     : NAN;
	if (!trigger_unit_find(expr->unit, &unit) || series->type == SERIES_RATIO ||
	    unit.is_rate != (series->type == SERIES_AMOUNT) ||
	    strcmp(unit.base, model_text(model, series->unit_string, "")) != 0)
		return NAN;
	if (unit.is_rate)
		per = row->end > row->begin ? (double)(row->end - row->begin) / 1e9 : NAN;
	return (double)row->value / per / unit.factor;
}

static bool is_beyond(struct trigger_set *set, const struct trigger_expr *expr,
		      const struct model *model, const struct event_series *series,
		      const struct event_counter *row)
{
	struct unit_shown shown = unit_shown_of(model, series);
	double value = convert(expr, model, series, row);

	if (expr->subject == TRIGGER_THROTTLED)
		return value > 0;
	if (isnan(value) && row->end > row->begin && expr->unit[0])
		firings_add_problem(&set->firings,
				    "'%s': metric %s is in %s%s; write the limit in that unit",
				    expr->text, model_text(model, series->metric_string, "?"),
				    *shown.text ? shown.text : "plain numbers",
				    strcmp(expr->unit, "%") ? "" : " and has no maximum");
	return !isnan(value) && trigger_compares(expr->comparison, value, expr->number);
}

/* "gpu.memory.used vram (NVIDIA H200) was 91.2 %" */
static void fire(struct trigger_set *set, uint32_t index, const struct model *model,
		 const struct event_series *series, const struct event_counter *row,
		 const struct trigger_interval *times)
{
	const struct trigger_expr *expr = &set->exprs[index];
	const struct event_device *device = model_entity(model, EVENT_DEVICE, series->device);
	const struct event_process *process = model_entity(model, EVENT_PROCESS, series->process);
	const char *instance = model_text(model, series->instance_string, "");
	const struct trigger_finding finding = {times->begin_ns, times->end_ns, series->process,
						""};
	struct unit_shown shown = unit_shown_of(model, series);
	char owner[100] = "";

	if (device)
		snprintf(owner, sizeof(owner), " (%.80s)",
			 model_text(model, device->name_string, "a device"));
	else if (process)
		snprintf(owner, sizeof(owner), " (pid %u)", process->pid);
	if (expr->subject == TRIGGER_THROTTLED)
		firings_add(&set->firings, index, &finding, "clocks%s were reduced: %.60s", owner,
			    *instance ? instance : "no reason known");
	else
		firings_add(&set->firings, index, &finding, "%.60s%s%.40s%s was %.4g %s",
			    model_text(model, series->metric_string, "?"), *instance ? " " : "",
			    instance, owner, convert(expr, model, series, row),
			    expr->unit[0] ? expr->unit : shown.text);
}

static int judge_reading(struct trigger_set *set, uint32_t index, const struct model *model,
			 const struct event_series *series, const struct event_counter *row,
			 const struct trigger_interval *times)
{
	const struct trigger_expr *expr = &set->exprs[index];
	const uint64_t place = (uint64_t)index << 32 | series->id;
	uint64_t state = hash_map_get(&set->readings.states, place, 0), now;

	if (!state && set->readings.states.count >= MAX_STATES) {
		firings_add_problem(&set->firings,
				    "limits: more than %d series of metrics; the later ones are "
				    "not checked",
				    MAX_STATES);
		return 0;
	}
	if (!state)
		state = expr_has(expr, model, series) ? STATE_BELOW : STATE_IGNORED;
	now = state;
	if (state != STATE_IGNORED)
		set->matched |= UINT64_C(1) << index;
	if (state != STATE_IGNORED)
		now = is_beyond(set, expr, model, series, row) ? STATE_BEYOND : STATE_BELOW;
	if (now == STATE_BEYOND && state != STATE_BEYOND)
		fire(set, index, model, series, row, times);
	return hash_map_put(&set->readings.states, place, now);
}

int readings_add(struct trigger_set *set, const struct model *model,
		 const struct event_counter *row, uint64_t begin_ns, uint64_t end_ns)
{
	const struct event_series *series = model_entity(model, EVENT_SERIES, row->series);
	const struct trigger_interval times = {begin_ns, end_ns};
	int error = 0;

	for (uint32_t i = 0; series && i < set->count && !error; i++)
		if (set->exprs[i].subject == TRIGGER_METRIC ||
		    set->exprs[i].subject == TRIGGER_THROTTLED)
			error = judge_reading(set, i, model, series, row, &times);
	return error;
}
