/* SPDX-License-Identifier: MIT
 *
 * live/trigger/trigger.c - look for the moments at which triggers fire, in the newest rows of a
 * recording
 *
 * Runs in:  the watcher of `duet record --trigger`
 * Gets:     models of the newest segments, again and again
 * Gives:    firings
 * Owns:     bounded state for each kind of expression, about 20 MB if all are used
 * Fails:    -ENOMEM and errors of the reader; damaged chunks are skipped
 * Why chunk by chunk: the models overlap, and a row that was written late has an old time. A chunk
 * is written once, so each row is evaluated once, and the other chunks are not decoded
 */
#include "live/trigger/private.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/clocks.h"
#include "analyze/model.h"
#include "trace/reader.h"

enum { MAX_SEEN = 65536 };
#define HOLD_NS UINT64_C(8000000000)

int trigger_set_new(const struct trigger_expr *exprs, size_t count,
		    const struct trigger_set_options *options, struct trigger_set **ret_set)
{
	struct trigger_set *set = calloc(1, sizeof(*set));

	if (!set)
		return -ENOMEM;
	set->exprs = exprs;
	set->count = (uint32_t)(count < MAX_TRIGGERS ? count : MAX_TRIGGERS);
	for (uint32_t i = 0; i < set->count; i++)
		set->uses[exprs[i].subject] = true;
	set->commands.hold_ns = options->hold_ns ? options->hold_ns : HOLD_NS;
	set->firings.max_age_ns = options->max_age_ns;
	set->seen.hashes = calloc(MAX_SEEN, sizeof(*set->seen.hashes));
	if (!set->seen.hashes) {
		trigger_set_free(set);
		return -ENOMEM;
	}
	*ret_set = set;
	return 0;
}

void trigger_set_free(struct trigger_set *set)
{
	if (!set)
		return;
	loops_fini(&set->loops);
	commands_fini(&set->commands);
	readings_fini(&set->readings);
	baselines_fini(&set->baselines);
	hash_map_fini(&set->seen.present);
	free(set->seen.hashes);
	free(set);
}

bool trigger_needs_rows(const struct trigger_expr *exprs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (exprs[i].subject != TRIGGER_EXIT_STATUS && exprs[i].subject != TRIGGER_SIGNAL)
			return true;
	return false;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t number)
{
	hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* The place in the file is not the same in two models, but no two chunks have the same rows. */
static uint64_t chunk_hash(const struct trace_chunk *chunk)
{
	uint64_t hash = mix(chunk->kind, chunk->source);

	hash = mix(hash, (uint64_t)chunk->clock << 32 | chunk->seen_clock);
	hash = mix(hash, (uint64_t)chunk->rows << 1 | chunk->by_seen);
	return mix(mix(hash, chunk->first), chunk->last);
}

static bool is_wanted(const struct trigger_set *set, enum event_kind kind)
{
	bool has_commands = set->uses[TRIGGER_KERNEL] || set->uses[TRIGGER_IDLE];

	switch (kind) {
	case EVENT_LAUNCH:
		return set->uses[TRIGGER_ITERATION] || has_commands;
	case EVENT_EXECUTION:
		return has_commands;
	case EVENT_RANGE:
		return set->uses[TRIGGER_ITERATION] || set->uses[TRIGGER_RANGE];
	case EVENT_COUNTER:
		return set->uses[TRIGGER_METRIC] || set->uses[TRIGGER_THROTTLED];
	default:
		return false;
	}
}

/* Marks a chunk as seen. Returns 1 if it is new, 0 if not, or -ENOMEM. */
static int see_chunk(struct seen_chunks *seen, const struct trace_chunk *chunk)
{
	uint64_t hash = chunk_hash(chunk), *place = &seen->hashes[seen->next];

	if (hash_map_find(&seen->present, hash))
		return 0;
	if (*place)
		hash_map_remove(&seen->present, *place, NULL);
	*place = 0;
	if (hash_map_put(&seen->present, hash, 1))
		return -ENOMEM;
	*place = hash;
	seen->next = (seen->next + 1) % MAX_SEEN;
	return 1;
}

/* The clocks of a chunk. */
struct chunk_clock {
	const struct clocks_domain *domain;
	bool is_placed;
};

/* Ranges whose begin or end is not in the recording have no duration. */
static void add_range(struct trigger_set *set, const struct model *model,
		      const struct event_range *row, const struct trigger_interval *times)
{
	if (row->flags || row->type == RANGE_MARK || times->end_ns <= times->begin_ns)
		return;
	ranges_add(set, model, row, times->begin_ns, times->end_ns);
	if (set->uses[TRIGGER_ITERATION])
		loops_add_range(set, model, row, times->begin_ns, times->end_ns);
}

static int add_row(struct trigger_set *set, const struct model *model, enum event_kind kind,
		   const struct chunk_clock *clock, const void *row)
{
	const struct event_execution *execution = row;
	const uint64_t *times = kind == EVENT_EXECUTION ? NULL : row;
	struct trigger_interval interval;
	int error = 0;

	interval.begin_ns =
		clocks_domain_to_host(clock->domain, times ? times[0] : execution->started);
	interval.end_ns = clocks_domain_to_host(clock->domain, times ? times[1] : execution->ended);
	if (kind == EVENT_EXECUTION)
		return commands_add_execution(set, model, row, &interval, clock->is_placed);
	if (kind == EVENT_RANGE)
		add_range(set, model, row, &interval);
	else if (kind == EVENT_COUNTER)
		return readings_add(set, model, row, interval.begin_ns, interval.end_ns);
	if (kind != EVENT_LAUNCH)
		return 0;
	if (set->uses[TRIGGER_ITERATION])
		error = loops_add(&set->loops, model, row, interval.begin_ns, interval.end_ns);
	if (!error && (set->uses[TRIGGER_KERNEL] || set->uses[TRIGGER_IDLE]))
		error = commands_add_launch(set, model, row, interval.begin_ns);
	return error;
}

static int add_chunk(struct trigger_set *set, const struct model *model, size_t index)
{
	const struct trace_chunk *chunk = trace_reader_chunk(model->reader, index);
	const struct chunk_clock clock = {clocks_find(model->clocks, chunk->clock),
					  clocks_is_placed(model->clocks, chunk->clock)};
	const size_t size = trace_reader_row_size(chunk->kind);
	void *rows = NULL;
	size_t count = 0;
	int error = trace_reader_rows(model->reader, index, &rows, &count);

	for (size_t i = 0; !error && i < count; i++)
		error = add_row(set, model, chunk->kind, &clock, (const char *)rows + i * size);
	free(rows);
	return error == -EBADMSG ? 0 : error;
}

/* is_execution: launches must be known before their executions. */
static int add_chunks(struct trigger_set *set, const struct model *model, bool is_execution)
{
	size_t count = trace_reader_chunk_count(model->reader);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		const struct trace_chunk *chunk = trace_reader_chunk(model->reader, i);
		int is_new;

		if ((chunk->kind == EVENT_EXECUTION) != is_execution ||
		    !is_wanted(set, chunk->kind))
			continue;
		is_new = see_chunk(&set->seen, chunk);
		error = is_new > 0 ? add_chunk(set, model, i) : is_new;
	}
	return error;
}

int trigger_set_feed(struct trigger_set *set, const struct model *model, uint64_t newest_ns)
{
	int error;

	set->firings.newest_ns = newest_ns;
	set->is_last = newest_ns == UINT64_MAX;
	loops_begin(&set->loops);
	error = add_chunks(set, model, false);
	if (!error)
		error = add_chunks(set, model, true);
	if (!error && set->uses[TRIGGER_ITERATION])
		error = loops_evaluate(set, model, newest_ns == UINT64_MAX);
	if (!error)
		error = commands_evaluate(set, model, newest_ns);
	return error;
}

/* ---- results --------------------------------------------------------------------------------- */

bool trigger_set_next(struct trigger_set *set, struct trigger_firing *ret_firing)
{
	struct firings *firings = &set->firings;

	if (!firings->count)
		return false;
	*ret_firing = firings->all[firings->first];
	firings->first = (firings->first + 1) % MAX_FIRINGS;
	firings->count--;
	return true;
}

uint64_t trigger_set_dropped(struct trigger_set *set)
{
	const uint64_t dropped = set->firings.dropped;

	set->firings.dropped = 0;
	return dropped;
}

/* At the end: names that the recording does not have. */
static void find_unmatched(struct trigger_set *set)
{
	static const char *const missing[TRIGGER_SUBJECTS] = {
		[TRIGGER_ITERATION] = "no loop of launches was found; name the iterations by "
				      "ranges, or use a range in the expression",
		[TRIGGER_RANGE] =
			"no range of this name was recorded; duet report --by range lists "
			"all",
		[TRIGGER_IDLE] = "no command was recorded with device times, so idle time is not "
				 "known; see duet report",
		[TRIGGER_KERNEL] = "no kernel of this name was recorded with device times; duet "
				   "report --by kernel lists all",
		[TRIGGER_METRIC] = "no metric of this name was recorded; duet list metrics shows "
				   "the collector that it needs",
		[TRIGGER_THROTTLED] =
			"no readings of gpu.throttled were recorded; --collect nvidia "
			"or drm has them",
	};

	for (uint32_t i = 0; i < set->count && !set->firings.problem[0]; i++) {
		const struct trigger_expr *expr = &set->exprs[i];

		if (missing[expr->subject] && !(set->matched & UINT64_C(1) << i))
			firings_add_problem(&set->firings, "'%.100s': %s", expr->text,
					    missing[expr->subject]);
		else if (expr->limit == TRIGGER_LIMIT_MULTIPLE &&
			 !(set->firings.statistics & UINT64_C(1) << i))
			firings_add_problem(&set->firings,
					    "'%.100s': never compared, because a %s needs %d "
					    "durations before; a time needs none: '> 50 ms'",
					    expr->text, expr->statistic, BASELINE_LEAST);
	}
}

const char *trigger_set_problem(struct trigger_set *set)
{
	struct firings *firings = &set->firings;

	if (!firings->problem[0] && set->is_last)
		find_unmatched(set);
	if (!firings->problem[0])
		return NULL;
	for (size_t i = 0; i < sizeof(firings->problem); i++)
		firings->shown_problem[i] = firings->problem[i];
	firings->problem[0] = '\0';
	return firings->shown_problem;
}
