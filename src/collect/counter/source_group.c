/* SPDX-License-Identifier: MIT
 *
 * collect/counter/source_group.c - the sources of one sampler
 *
 * Runs in:  the main thread opens and closes; the sampler's thread ticks
 * Gets:     the table of sources
 * Owns:     the state of each source
 * Fails:    a source whose files are missing is left out
 * Why:      The ring from the sampler to the writer has room for the rows of 10 s, because a disk
 *           that hangs for 5 s must cost no row
 */
#include "collect/counter/source_group.h"

#include <errno.h>
#include <stdlib.h>

enum {
	TEXT_BYTES = 256 << 10,
	ROOM_SECONDS = 10,
	ROWS_A_TICK = 512, /* a machine with some disks and 32 processors, or 60 processes */
	MIN_ROWS = 1 << 14,
	MAX_ROWS = 1 << 20,
	SLOTS = 1 << 14,
	SLOW_HZ = 1
};

/* Rate of a group for a wanted rate of hz. */
static uint32_t group_hz(enum group_id id, uint32_t hz)
{
	return id == GROUP_SLOW ? SLOW_HZ : hz;
}

uint32_t group_source_hz(const struct source *source, uint32_t max_hz)
{
	uint32_t hz = group_hz(source->group, max_hz);

	if (source->own_hz)
		return source->own_hz;
	return source->max_hz && source->max_hz < hz ? source->max_hz : hz;
}

static size_t rows_of(uint32_t hz)
{
	size_t rows = (size_t)hz * ROOM_SECONDS * ROWS_A_TICK;

	if (rows < MIN_ROWS)
		return MIN_ROWS;
	return rows < MAX_ROWS ? rows : MAX_ROWS;
}

static bool is_wanted(const struct group *group, const struct source *source)
{
	const struct counter_choice *choice = &group->options.choice;

	return (source->group == group->options.id || source->group == GROUP_COUNT) &&
	       !source->own_hz && counter_choice_hz(choice, source, 1) &&
	       (!source->by_request || group->options.smaps ||
		counter_choice_names(choice, source));
}

/* The rate of the fastest source. Without a choice of metrics it is the collector's. */
static uint32_t choose_hz(const struct group *group)
{
	const struct group_options *options = &group->options;
	uint32_t highest = 0;

	for (size_t i = 0; i < options->sources->count; i++) {
		const struct source *source = options->sources->all[i];
		const uint32_t hz =
			source->group == options->id && is_wanted(group, source)
				? counter_choice_hz(&options->choice, source, options->hz)
				: 0;

		highest = hz > highest ? hz : highest;
	}
	return group_hz(options->id, highest && !name_patterns_is_empty(&options->choice.metrics)
					     ? highest
					     : options->hz);
}

static uint64_t divisor_of(const struct group *group, const struct source *source)
{
	const uint32_t hz = counter_choice_hz(&group->options.choice, source, group->options.hz);

	return hz && group->hz > hz ? (group->hz + hz - 1) / hz : 1;
}

/* On failure the caller closes the half-opened source. */
static int open_source(struct group *group, const struct source *source)
{
	struct source_state *state = &group->states[group->count];

	*state = (struct source_state){.source = source,
				       .own = calloc(1, source->own_bytes + 1),
				       .divisor = divisor_of(group, source)};
	state->instances = (struct metric_instances){
		.metrics = source->metrics,
		.metrics_count = source->metrics_count,
		.left_out = counter_choice_left_out(&group->options.choice, source),
		.file = source->file,
		.series = &group->series,
		.interval_ns = group->interval_ns * state->divisor};
	if (!state->own || metric_instances_open(&state->instances, source->max_instances)) {
		free(state->own);
		return -ENOMEM;
	}
	if (source->open(state, &group->tick)) {
		group->count++;
	} else {
		metric_instances_close(&state->instances);
		free(state->own);
	}
	if (state->why && group->options.on_absent)
		group->options.on_absent(group->options.context, source, state->why);
	return 0;
}

int group_open(struct group *group, const struct group_options *options)
{
	int error;

	*group = (struct group){.options = *options};
	group->hz = choose_hz(group);
	group->interval_ns = 1000000000 / group->hz;
	error = series_open(&group->series, SLOTS, rows_of(group->hz));
	group->states = calloc(options->sources->count, sizeof(*group->states));
	group->tick = (struct tick){.root = options->root,
				    .tracked = options->tracked,
				    .pids = options->pids,
				    .pids_count = options->pids_count,
				    .series = &group->series,
				    .context = options->sources_context,
				    .choice = &group->options.choice,
				    .text = malloc(TEXT_BYTES),
				    .text_bytes = TEXT_BYTES,
				    .sampler = &group->sampler};
	if (!group->states || !group->tick.text)
		error = -ENOMEM;
	for (size_t i = 0; i < options->sources->count && !error; i++)
		if (is_wanted(group, options->sources->all[i]))
			error = open_source(group, options->sources->all[i]);
	if (error)
		group_close(group);
	return error;
}

void group_tick(void *argument)
{
	struct group *group = argument;

	for (size_t i = 0; i < group->count; i++) {
		struct source_state *state = &group->states[i];

		/* An extra tick is the last one, so it reads all sources. */
		if (state->ticks++ % state->divisor == 0 || state->source->is_paced ||
		    group->sampler.is_extra)
			state->source->read(state, &group->tick);
	}
}

int group_start(struct group *group)
{
	const struct sampler_options options = {.name = group->options.name,
						.interval_ns = group->interval_ns,
						.tick = group_tick,
						.context = group,
						.rights = group->options.sources->rights};

	return sampler_start(&group->sampler, &options);
}

void group_close(struct group *group)
{
	if (!group)
		return;
	for (size_t i = 0; i < group->count; i++) {
		struct source_state *state = &group->states[i];

		if (state->source->close)
			state->source->close(state);
		metric_instances_close(&state->instances);
		free(state->own);
	}
	free(group->states);
	free(group->tick.text);
	series_close(&group->series);
	*group = (struct group){0};
}
