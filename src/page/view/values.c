/* SPDX-License-Identifier: MIT
 *
 * page/view/values.c - value tracks: commands in flight, processors in use, error bound of a clock
 *
 * Runs in:  our own process
 * Gets:     launches, executions and samples during the sweep of an analysis
 * Gives:    items of tracks
 * Owns:     nothing; the tracks own all data
 * Fails:    -ENOMEM, errors of the store
 * Why commands in flight are left out if executions were lost: the commands without an execution
 *           would be counted as in flight until the end.
 */
#include <errno.h>
#include <string.h>

#include "analyze/model.h"
#include "page/view/tracks.h"

static bool lost_executions(const struct model *model)
{
	const struct event_loss *losses = NULL;
	size_t count = trace_reader_losses(model->reader, &losses);

	for (size_t i = 0; i < count; i++)
		if (losses[i].kind == EVENT_EXECUTION)
			return true;
	return false;
}

int view_values_init(struct view_tracks *tracks)
{
	size_t devices = tracks->devices_count + 1, processes = tracks->processes_count + 1;

	tracks->has_flights = !lost_executions(tracks->model);
	tracks->flights = view_tracks_list(tracks, devices, sizeof(*tracks->flights));
	tracks->levels = view_tracks_list(tracks, devices, sizeof(*tracks->levels));
	tracks->used = view_tracks_list(tracks, processes, sizeof(*tracks->used));
	tracks->uses = view_tracks_list(tracks, processes, sizeof(*tracks->uses));
	return tracks->flights && tracks->levels && tracks->used && tracks->uses ? 0 : -ENOMEM;
}

void view_values_fini(struct view_tracks *tracks)
{
	for (size_t i = 0; tracks->levels && i <= tracks->devices_count; i++)
		view_level_fini(&tracks->levels[i]);
}

/* Adds a start or end of a command. Executions come up to the clocks' error late, so steps are
 * taken only up to that time before. */
int view_values_flight(void *context, size_t device, uint64_t time_ns, int by)
{
	struct view_tracks *tracks = context;
	uint64_t delay_ns = tracks->analysis->clock_error_ns;
	struct view_track **track = &tracks->flights[device];
	int error;

	if (!tracks->has_flights)
		return 0;
	error = *track ? 0 : view_tracks_new(tracks, VIEW_METRIC, device, track);
	if (!error)
		error = view_level_add(&tracks->levels[device], view_tracks_time(tracks, time_ns),
				       by);
	if (error || by < 0 || time_ns < delay_ns)
		return error;
	return view_level_take(&tracks->levels[device],
			       view_tracks_time(tracks, time_ns - delay_ns), &(*track)->pyramid);
}

int view_values_sampled(struct view_tracks *tracks, size_t thread,
			const struct event_cpu_sample *row)
{
	const struct event_thread *described = entity_index_row(&tracks->threads, thread);
	const char *source = model_text(tracks->model, row->source_string, "");
	struct view_track **track;
	size_t process;
	int error;

	if (!analysis_source_is_time(source) || strcmp(analysis_source_unit(source), "ns") != 0)
		return 0;
	process = entity_index_find(&tracks->processes, described ? described->process : 0);
	track = &tracks->used[process];
	error = *track ? 0 : view_tracks_new(tracks, VIEW_METRIC, process, track);
	if (error)
		return error;
	return view_use_add(&tracks->uses[process], view_tracks_time(tracks, row->time),
			    row->weight, row->source_string, &(*track)->pyramid);
}

static int add_clock(struct view_tracks *tracks, size_t device, const struct clocks_domain *domain)
{
	int64_t value = (int64_t)domain->certificate.error_ns * VIEW_METRIC_ONE;
	const uint64_t column = view_zigzag(value);
	struct view_track *track;
	int error = view_tracks_new(tracks, VIEW_CLOCK, device, &track);

	if (error)
		return error;
	track->clock = domain;
	return pyramid_add(&track->pyramid,
			   &(struct pyramid_item){
				   .begin_ns = view_tracks_time(tracks, tracks->analysis->from_ns),
				   .value = value,
				   .values = &column});
}

/* Adds tracks for device clocks with an error bound; the report contains all certificates. */
static int add_clocks(struct view_tracks *tracks)
{
	const struct clocks *clocks = tracks->model->clocks;
	struct entity_index devices;
	int error = 0;

	entity_index_init(&devices, tracks->model->reader, EVENT_DEVICE);
	for (size_t i = 0; i < clocks_count(clocks) && !error; i++) {
		const struct clocks_domain *domain = clocks_at(clocks, i);
		size_t device = entity_index_find(&devices, domain->clock.device);

		if (domain->clock.type == CLOCK_TYPE_DEVICE && device < devices.count &&
		    domain->certificate.error_ns < INT64_MAX / VIEW_METRIC_ONE)
			error = add_clock(tracks, device, domain);
	}
	return error;
}

/* Removes the tracks of commands in flight if the sweep found lost executions. */
static void drop_flights(struct view_tracks *tracks)
{
	const struct analysis *analysis = tracks->analysis;
	bool has_all = true;

	for (size_t i = 0; i < analysis->losses_count; i++)
		has_all &= analysis->losses[i].kind != EVENT_EXECUTION;
	for (size_t i = 0; i <= tracks->devices_count && !has_all; i++) {
		if (tracks->flights[i])
			pyramid_fini(&tracks->flights[i]->pyramid);
		tracks->flights[i] = NULL;
	}
}

int view_values_finish(struct view_tracks *tracks)
{
	int error = 0;

	drop_flights(tracks);
	for (size_t i = 0; i <= tracks->devices_count && !error; i++) {
		if (tracks->flights[i])
			error = view_level_finish(&tracks->levels[i], &tracks->flights[i]->pyramid);
	}
	for (size_t i = 0; i <= tracks->processes_count && !error; i++) {
		if (tracks->used[i])
			error = view_use_finish(&tracks->uses[i], &tracks->used[i]->pyramid);
	}
	return error ? error : add_clocks(tracks);
}
