/* SPDX-License-Identifier: MIT
 *
 * page/view/head.c - the head of a view: the data that the page needs to draw anything
 *
 * Runs in:  our own process
 * Gets:     tracks whose chunks have a place in the file
 * Gives:    a JSON document
 * Owns:     nothing
 * Fails:    -ENOMEM, errors of the report
 * Why the tree of tracks is built in this file: tracks are created on demand, so the threads and
 *           processes that have a track are known only when the head is written, at the end.
 */
#include "page/view/head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "analyze/sample/stalls.h"
#include "analyze/text/incomplete.h"
#include "analyze/text/short_names.h"
#include "base/json.h"
#include "base/string.h"
#include "page/causes.h"
#include "page/view/code.h"
#include "page/view/sections.h"
#include "page/view/tracks.h"
#include "page/view/view.h"

/* A process with more threads than these has a group for those without calls. */
#define MAX_THREADS ((size_t)50)
/* The queues of a device with more than these are in a group: threads stay in sight. */
#define MAX_QUEUES  ((size_t)16)

struct writer {
	const struct view_head *head;
	struct view_tracks *tracks;
	struct json_writer json;
	struct view_track_writer track;
	struct view_head_counters counters;
};

/* ---- processes ---- */

/* Writes a track that has no keys of its own. */
static void write_plain(struct writer *writer, const char *kind, size_t parent, const char *name,
			const struct view_track *track)
{
	if (!track)
		return;
	view_track_begin(&writer->track, kind, parent, name);
	view_track_end(&writer->track, track);
}

/* Writes a value track with its unit and maximum. */
static void write_metric(struct writer *writer, size_t parent, const char *name, const char *unit,
			 uint64_t most, const struct view_track *track)
{
	if (!track)
		return;
	view_track_begin(&writer->track, "metric", parent, name);
	json_pair_text(&writer->json, "unit", unit);
	if (most)
		json_pair_u64(&writer->json, "max", most);
	view_track_end(&writer->track, track);
}

static void write_samples(struct writer *writer, size_t parent, size_t thread)
{
	const struct view_tracks *tracks = writer->tracks;

	for (size_t i = 0; i < tracks->count; i++) {
		const struct view_track *track = tracks->all[i];
		const char *source;

		if (track->kind != VIEW_SAMPLES || track->entity != thread)
			continue;
		source = model_text(tracks->model, track->source, "samples");
		view_track_begin(&writer->track, "samples", parent, source);
		json_pair_text(&writer->json, "unit", analysis_source_unit(source));
		view_track_end(&writer->track, track);
	}
}

static bool has_track(const struct view_tracks *tracks, size_t thread)
{
	return tracks->calls[thread] || tracks->off[thread] || tracks->ranges[thread] ||
	       tracks->has_samples[thread];
}

static void write_thread(struct writer *writer, size_t parent, size_t thread)
{
	const struct view_tracks *tracks = writer->tracks;
	const struct event_thread *row = entity_index_row(&tracks->threads, thread);
	size_t self = writer->track.written;
	char made[32] = "[unknown thread]";

	if (row)
		snprintf(made, sizeof(made), "thread %u", row->tid);
	view_track_begin(&writer->track, "thread", parent,
			 row ? model_text(tracks->model, row->name_string, made) : made);
	json_pair_u64(&writer->json, "number", thread);
	if (row)
		json_pair_u64(&writer->json, "tid", row->tid);
	view_track_end(&writer->track, NULL);
	write_plain(writer, "ranges", self, "ranges", tracks->ranges[thread]);
	write_plain(writer, "calls", self, "calls", tracks->calls[thread]);
	if (tracks->has_samples[thread])
		write_samples(writer, self, thread);
	write_plain(writer, "off", self, "off CPU", tracks->off[thread]);
}

static size_t count_threads(const struct view_tracks *tracks, size_t process)
{
	size_t count = 0;

	for (size_t i = 0; i <= tracks->threads.count; i++)
		count += tracks->process_of[i] == process && has_track(tracks, i);
	return count;
}

/* Writes a group, which has no items. */
static size_t write_group(struct writer *writer, size_t parent, const char *name)
{
	size_t self = writer->track.written;

	view_track_begin(&writer->track, "group", parent, name);
	view_track_end(&writer->track, NULL);
	return self;
}

/* Writes the threads of one process, in the order of the trace's list. If there are many, those
 * without calls are in a group. */
static void write_threads(struct writer *writer, size_t parent, size_t process)
{
	const struct view_tracks *tracks = writer->tracks;
	size_t count = count_threads(tracks, process), left = MAX_THREADS, group;
	const bool has_group = count > MAX_THREADS;
	char name[64];

	for (size_t i = 0; i <= tracks->threads.count; i++) {
		if (tracks->process_of[i] != process || !has_track(tracks, i))
			continue;
		if (has_group && (!tracks->calls[i] || !left))
			continue;
		write_thread(writer, parent, i);
		left -= has_group;
		count--;
	}
	if (!has_group || !count)
		return;
	snprintf(name, sizeof(name), "%zu %sthreads", count, left == MAX_THREADS ? "" : "other ");
	group = write_group(writer, parent, name);
	left = MAX_THREADS;
	for (size_t i = 0; i <= tracks->threads.count; i++) {
		if (tracks->process_of[i] != process || !has_track(tracks, i))
			continue;
		if (tracks->calls[i] && left)
			left--;
		else
			write_thread(writer, group, i);
	}
}

static void write_process(struct writer *writer, size_t process)
{
	const struct view_tracks *tracks = writer->tracks;
	const struct event_process *row = entity_index_row(&tracks->processes, process);
	const struct analysis *analysis = tracks->analysis;
	size_t self = writer->track.written;
	char rank[64];

	view_track_begin(&writer->track, "process", VIEW_TRACK_NONE,
			 analysis->processes[process].name);
	if (row) {
		json_pair_text(&writer->json, "rank", analysis_rank_text(row, rank, sizeof(rank)));
		json_pair_text(&writer->json, "detail",
			       model_text(tracks->model, row->command_string, ""));
		json_pair_u64(&writer->json, "pid", row->pid);
	}
	view_track_end(&writer->track, NULL);
	write_metric(writer, self, "processors in use", "processors",
		     analysis->host ? analysis->host->cpu_count : 0, tracks->used[process]);
	if (tracks->iterations && tracks->process_of[tracks->iterations->entity] == process)
		write_plain(writer, "iterations", self, "iterations", tracks->iterations);
	write_threads(writer, self, process);
	if (row)
		view_head_counters_write(&writer->counters, &writer->track, self, row->id, 0);
}

/* Whether the process called a runtime of devices. */
static bool has_calls(const struct view_tracks *tracks, size_t process)
{
	for (size_t i = 0; i <= tracks->threads.count; i++) {
		if (tracks->process_of[i] == process && tracks->calls[i])
			return true;
	}
	return false;
}

static void write_processes(struct writer *writer, bool with_calls)
{
	const struct view_tracks *tracks = writer->tracks;

	for (size_t i = 0; i <= tracks->processes_count; i++) {
		if (tracks->has_threads[i] && has_calls(tracks, i) == with_calls)
			write_process(writer, i);
	}
}

/* ---- devices ---- */

static bool is_queue_shown(const struct view_tracks *tracks, size_t queue)
{
	return tracks->queues[queue] || tracks->transfers[queue] || tracks->rejected[queue];
}

/* kind is the track's name as well. */
static void write_of_queue(struct writer *writer, const char *kind, size_t parent, size_t device,
			   const struct view_track *track)
{
	if (!track)
		return;
	view_track_begin(&writer->track, kind, parent, kind);
	json_pair_u64(&writer->json, "device", device);
	view_track_end(&writer->track, track);
}

static void write_queue(struct writer *writer, size_t parent, size_t queue)
{
	const struct view_tracks *tracks = writer->tracks;
	const struct analysis_queue *row = &tracks->analysis->queues[queue];
	char name[96] = "[unknown queue]", detail[96] = "", process[32] = "";
	size_t self = writer->track.written;

	if (!is_queue_shown(tracks, queue))
		return;
	if (row->queue) {
		if (tracks->processes_count > 1)
			snprintf(process, sizeof(process), ", process %u",
				 model_pid(tracks->model, row->queue->process));
		if (row->queue->name_string)
			snprintf(name, sizeof(name), "%.40s%s",
				 model_text(tracks->model, row->queue->name_string, ""), process);
		else
			snprintf(name, sizeof(name), "queue %u%s", row->queue->id, process);
		snprintf(detail, sizeof(detail), "%s order",
			 row->queue->flags & QUEUE_OUT_OF_ORDER ? "out of" : "in");
	}
	view_track_begin(&writer->track, "queue", parent, name);
	json_pair_text(&writer->json, "detail", detail);
	json_pair_u64(&writer->json, "device", row->device);
	view_track_end(&writer->track, tracks->queues[queue]);
	write_of_queue(writer, "transfers", self, row->device, tracks->transfers[queue]);
	write_of_queue(writer, "waiting", self, row->device, tracks->waiting[queue]);
	write_of_queue(writer, "rejected", self, row->device, tracks->rejected[queue]);
}

static bool has_queue(const struct view_tracks *tracks, size_t device, size_t context)
{
	for (size_t i = 0; i <= tracks->event_queues.count; i++) {
		const struct analysis_queue *queue = &tracks->analysis->queues[i];

		if (queue->device == device && queue->context == context &&
		    is_queue_shown(tracks, i))
			return true;
	}
	return false;
}

static void write_context(struct writer *writer, size_t parent, size_t device, size_t context)
{
	const struct view_tracks *tracks = writer->tracks;
	const struct event_context *row = tracks->analysis->contexts[context].context;
	char name[96];
	size_t self = parent;

	if (!has_queue(tracks, device, context))
		return;
	if (row) {
		self = writer->track.written;
		snprintf(name, sizeof(name), "context %u of process %u", row->id,
			 model_pid(tracks->model, row->process));
		view_track_begin(&writer->track, "context", parent, name);
		json_pair_u64(&writer->json, "device", device);
		view_track_end(&writer->track, view_tracks_context(tracks, device, context));
	}
	for (size_t i = 0; i <= tracks->event_queues.count; i++) {
		if (tracks->analysis->queues[i].device == device &&
		    tracks->analysis->queues[i].context == context)
			write_queue(writer, self, i);
	}
}

static size_t count_queues(const struct view_tracks *tracks, size_t device)
{
	size_t count = 0;

	for (size_t i = 0; i <= tracks->event_queues.count; i++)
		count += tracks->analysis->queues[i].device == device && is_queue_shown(tracks, i);
	return count;
}

static void write_contexts(struct writer *writer, size_t parent, size_t device)
{
	const size_t queues = count_queues(writer->tracks, device);
	char name[64];

	snprintf(name, sizeof(name), "%zu queues", queues);
	if (queues > MAX_QUEUES)
		parent = write_group(writer, parent, name);
	for (size_t i = 0; i <= writer->tracks->contexts_count; i++)
		write_context(writer, parent, device, i);
}

static void write_clocks(struct writer *writer, size_t parent, size_t device)
{
	const struct view_tracks *tracks = writer->tracks;
	const struct clocks *clocks = tracks->model->clocks;

	for (size_t i = 0; i < tracks->count; i++) {
		const struct view_track *track = tracks->all[i];

		if (track->kind != VIEW_CLOCK || track->entity != device)
			continue;
		view_track_begin(&writer->track, "clock", parent,
				 clocks_name(clocks, tracks->model->reader, track->clock));
		json_pair_text(&writer->json, "detail",
			       clocks_method_name(track->clock->certificate.method));
		json_pair_text(&writer->json, "unit", "ns");
		view_track_end(&writer->track, track);
	}
}

static void write_graph_ids(struct json_writer *json, size_t device)
{
	char text[32];

	json_pair_array(json, "graph");
	snprintf(text, sizeof(text), VIEW_GRAPH_ID, device);
	json_string(json, text);
	snprintf(text, sizeof(text), VIEW_CELLS_ID, device);
	json_string(json, text);
	json_array_end(json);
}

static const char *device_name(const struct analysis *analysis, size_t device, char *ret_name,
			       size_t size)
{
	return analysis_devices_shown(analysis) > 1
		       ? analysis_device_numbered(analysis, device, ret_name, size)
		       : analysis_device_label(analysis, device, ret_name, size);
}

static void write_device(struct writer *writer, size_t device)
{
	const struct view_tracks *tracks = writer->tracks;
	const struct analysis_device *row = &tracks->analysis->devices[device];
	size_t self = writer->track.written;
	char label[256];

	view_track_begin(&writer->track, "device", VIEW_TRACK_NONE,
			 device_name(tracks->analysis, device, label, sizeof(label)));
	json_pair_text(&writer->json, "detail", row->key);
	json_pair_u64(&writer->json, "device", device);
	if (row->is_measured)
		write_graph_ids(&writer->json, device);
	else
		json_pair_text(&writer->json, "unmeasured",
			       incomplete_unmeasured(tracks->analysis, device));
	view_track_end(&writer->track, tracks->devices[device]);
	write_metric(writer, self, "commands in flight", "commands", 0, tracks->flights[device]);
	if (row->device)
		view_head_counters_write(&writer->counters, &writer->track, self, 0,
					 row->device->id);
	write_contexts(writer, self, device);
	write_clocks(writer, self, device);
}

static void write_processors(struct writer *writer)
{
	const struct view_processors *processors = &writer->tracks->processors;
	size_t group = VIEW_TRACK_NONE;
	char name[32];

	if (!writer->tracks->analysis->cpu.knows_switches ||
	    writer->tracks->analysis->cpu.has_switch_losses)
		return;
	for (size_t i = 0; i < processors->count; i++) {
		if (!processors->list[i].track)
			continue;
		if (group == VIEW_TRACK_NONE)
			group = write_group(writer, VIEW_TRACK_NONE, "processors");
		snprintf(name, sizeof(name), "processor %zu", i);
		write_plain(writer, "processor", group, name, processors->list[i].track);
	}
}

/* Order: the devices, the processes that use them, the processors, the machine, then other
 * processes (compilers and shells that were started). Without a process that uses devices, the
 * machine is last. */
static void write_tracks(struct writer *writer)
{
	size_t devices = analysis_devices_shown(writer->tracks->analysis), written;
	bool has_called;

	json_line_array(&writer->json, "tracks");
	for (size_t i = 0; i < devices; i++)
		write_device(writer, i);
	written = writer->track.written;
	write_processes(writer, true);
	has_called = writer->track.written != written;
	write_processors(writer);
	if (has_called)
		view_head_counters_write(&writer->counters, &writer->track, VIEW_TRACK_NONE, 0, 0);
	write_processes(writer, false);
	if (!has_called)
		view_head_counters_write(&writer->counters, &writer->track, VIEW_TRACK_NONE, 0, 0);
	json_array_end(&writer->json);
}

/* ---- the document ---- */

static int write_paths(struct writer *writer)
{
	const struct analysis *analysis = writer->tracks->analysis;
	struct view_code *code = writer->tracks->code;
	struct json_writer *json = &writer->json;
	uint32_t name, function, stack;
	int error = 0;

	json_line_array(json, "paths");
	/* paths without a name follow: the time of a device that no command has */
	for (size_t i = 0; i < analysis->paths_count && analysis->paths[i].name && !error; i++) {
		const struct analysis_path *path = &analysis->paths[i];

		error = view_code_name(code, path->name, &name);
		if (!error)
			error = view_code_call(code, path->stack, path->function, &function,
					       &stack);
		json_u64(json, path->device);
		json_u64(json, path->class);
		json_u64(json, name);
		json_u64(json, function);
		json_u64(json, stack);
	}
	json_array_end(json);
	return error;
}

/* The full and the short name of each kernel whose names differ. */
static void write_short_names(struct writer *writer)
{
	const struct analysis *analysis = writer->tracks->analysis;
	struct json_writer *json = &writer->json;

	json_line_array(json, "short_names");
	for (size_t i = 0; i < analysis->kernels_count; i++) {
		const char *name = analysis->kernels[i].name;
		const char *shorter = short_names_find(writer->head->about->short_names, name);

		if (strcmp(name, shorter) == 0)
			continue;
		json_string(json, name);
		json_string(json, shorter);
	}
	json_array_end(json);
}

static void write_times(struct writer *writer)
{
	const struct analysis *analysis = writer->tracks->analysis;
	struct json_writer *json = &writer->json;
	uint64_t realtime_ns;
	char text[32];

	json_pair_u64(json, "wall_ns", analysis->end_ns - analysis->begin_ns);
	if (analysis->has_window) {
		json_pair_u64(json, "from_ns", analysis->from_ns - analysis->begin_ns);
		json_pair_u64(json, "to_ns", analysis->to_ns - analysis->begin_ns);
	}
	if (!model_wall_clock(analysis->model, analysis->begin_ns, &realtime_ns))
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)realtime_ns);
	json_pair_text(json, "begin_realtime_ns", text);
}

static void write_cut(struct writer *writer)
{
	size_t cut = writer->head->sections->cut;
	struct json_writer *json = &writer->json;

	if (!cut)
		return;
	json_pair_object(json, "cut");
	json_pair_u64(json, "tracks", cut);
	json_pair_text(json, "reason", "the file would be too large");
	json_object_end(json);
}

static bool is_waited_for(const struct analysis *analysis, const char *name)
{
	for (size_t i = 0; i < analysis->instructions_count; i++)
		if (strcmp(analysis->instructions[i].stall, name) == 0)
			return true;
	return false;
}

/* Writes the explanations of the stall reasons that samples have. */
static void write_stalls(struct json_writer *json, const struct analysis *analysis)
{
	char text[512];

	json_pair_object(json, "stall_texts");
	for (size_t i = 0; i < stall_reasons_count; i++) {
		const struct stall_reason *reason = &stall_reasons[i];

		if (!is_waited_for(analysis, reason->name))
			continue;
		snprintf(text, sizeof(text), "%s. Usual remedy: %s.", reason->meaning,
			 reason->remedy);
		json_pair_text(json, reason->name, text);
	}
	json_object_end(json);
}

static int write_document(struct writer *writer)
{
	const struct view_about *about = writer->head->about;
	struct json_writer *json = &writer->json;
	int error;

	json_object_begin(json);
	json_pair_text(json, "schema", "duet.view/1");
	json_pair_text(json, "duet", about->version);
	json_pair_text(json, "title", about->title);
	if (*about->incomplete)
		json_pair_text(json, "incomplete", about->incomplete);
	write_times(writer);
	json_pair_u64(json, "sections", writer->head->sections->count);
	write_cut(writer);
	page_write_causes(json);
	if (writer->head->has_stalls) {
		write_stalls(json, writer->tracks->analysis);
		json_pair_text(json, "stalls", "stalls");
	}
	error = write_paths(writer);
	write_short_names(writer);
	write_tracks(writer);
	json_newline(json);
	if (writer->head->has_texts) {
		json_pair_text(json, "texts", "texts");
		view_code_write_names(writer->tracks->code, json);
	} else {
		view_code_write(writer->tracks->code, json);
	}
	json_newline(json);
	json_key(json, "report");
	if (!error)
		error = about->write_report(about->context, json);
	json_object_end(json);
	return error ? error : json_error(json);
}

int view_head_write(const struct view_head *head, struct string_builder *text)
{
	struct writer writer = {.head = head, .tracks = head->tracks};
	int error = view_head_counters_init(&writer.counters, head->tracks);

	json_init_text(&writer.json, text);
	writer.track.json = &writer.json;
	if (!error)
		error = write_document(&writer);
	view_head_counters_fini(&writer.counters);
	return error;
}
