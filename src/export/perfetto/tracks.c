/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/tracks.c - create the tracks of the timeline, and place slices on them
 *
 * Runs in:  our own process
 * Gets:     entities of a model; the spans of calls and commands, ordered by start
 * Gives:    TrackDescriptor packets, and the track of each span
 * Owns:     the lists of tracks and their lanes
 * Fails:    -ENOMEM, errors of writing
 * Why the number of lanes is not limited: a lane (a further track for slices that overlap) costs
 *           one descriptor of 40 bytes
 */
#include "export/perfetto/tracks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/model.h"
#include "analyze/text/row_names.h"
#include "base/array.h"
#include "base/string.h"
#include "export/perfetto/packets.h"
#include "perfetto_trace.numbers.h"

/* Order of tracks below a device: counters, then queues. */
enum { RANK_BUSY = 0, RANK_RATE = 1, RANK_RECORDED = 50, RANK_QUEUE = 100 };

/* ---- descriptors ---- */

/* Starts the packet of a track descriptor; the track's fields follow up to end_descriptor. parent
 * 0: none. */
static uint64_t begin_descriptor(struct tracks *tracks, uint64_t parent, const char *name,
				 size_t *ret_mark)
{
	struct protobuf *packet = &tracks->packets->packet;
	uint64_t uuid = ++tracks->uuids;

	packets_begin(tracks->packets);
	*ret_mark = protobuf_begin(packet, PF_TRACE_PACKET_TRACK_DESCRIPTOR);
	protobuf_u64(packet, PF_TRACK_DESCRIPTOR_UUID, uuid);
	if (parent)
		protobuf_u64(packet, PF_TRACK_DESCRIPTOR_PARENT_UUID, parent);
	if (*name)
		protobuf_text(packet, PF_TRACK_DESCRIPTOR_NAME, name);
	return uuid;
}

static int end_descriptor(struct tracks *tracks, size_t mark)
{
	protobuf_end(&tracks->packets->packet, mark);
	return packets_end(tracks->packets);
}

static void put_rank(struct tracks *tracks, uint64_t rank)
{
	protobuf_u64(&tracks->packets->packet, PF_TRACK_DESCRIPTOR_SIBLING_ORDER_RANK,
		     rank < INT32_MAX ? rank : INT32_MAX);
}

int tracks_describe(struct tracks *tracks, uint64_t parent, const char *name, uint64_t *ret_uuid)
{
	size_t mark;

	*ret_uuid = begin_descriptor(tracks, parent, name, &mark);
	return end_descriptor(tracks, mark);
}

static bool is_wanted(const struct tracks *tracks, uint32_t process)
{
	return !tracks->pid || model_pid(tracks->model, process) == tracks->pid;
}

static void put_host_label(struct tracks *tracks, uint32_t id)
{
	const struct event_host *host = model_entity(tracks->model, EVENT_HOST, id);
	const void *hosts = NULL;
	const char *name = host ? model_text(tracks->model, host->name_string, "") : "";

	if (*name && model_entities(tracks->model, EVENT_HOST, &hosts) > 1)
		protobuf_text(&tracks->packets->packet, PF_PROCESS_DESCRIPTOR_PROCESS_LABELS, name);
}

static int describe_process(struct tracks *tracks, const struct event_process *row,
			    uint64_t *ret_uuid)
{
	struct protobuf *packet = &tracks->packets->packet;
	const char *command = model_text(tracks->model, row->command_string, "");
	size_t mark, inner;

	*ret_uuid = begin_descriptor(tracks, 0, "", &mark);
	inner = protobuf_begin(packet, PF_TRACK_DESCRIPTOR_PROCESS);
	protobuf_u64(packet, PF_PROCESS_DESCRIPTOR_PID, row->pid & INT32_MAX);
	if (*command)
		protobuf_text(packet, PF_PROCESS_DESCRIPTOR_CMDLINE, command);
	protobuf_text(packet, PF_PROCESS_DESCRIPTOR_PROCESS_NAME,
		      model_text(tracks->model, row->name_string, "[unknown process]"));
	put_host_label(tracks, row->host);
	protobuf_end(packet, inner);
	return end_descriptor(tracks, mark);
}

/* A ThreadDescriptor requires a pid, so a thread whose process is not described gets a plain
 * track. */
static int describe_thread(struct tracks *tracks, const struct event_thread *row,
			   uint64_t *ret_uuid)
{
	const struct event_process *process =
		model_entity(tracks->model, EVENT_PROCESS, row->process);
	struct protobuf *packet = &tracks->packets->packet;
	const char *name = model_text(tracks->model, row->name_string, "");
	char text[32];
	size_t mark, inner;

	snprintf(text, sizeof(text), "thread %" PRIu32, row->tid);
	if (!process)
		return tracks_describe(tracks, 0, text, ret_uuid);
	*ret_uuid = begin_descriptor(tracks, 0, "", &mark);
	inner = protobuf_begin(packet, PF_TRACK_DESCRIPTOR_THREAD);
	protobuf_u64(packet, PF_THREAD_DESCRIPTOR_PID, process->pid & INT32_MAX);
	protobuf_u64(packet, PF_THREAD_DESCRIPTOR_TID, row->tid);
	if (*name)
		protobuf_text(packet, PF_THREAD_DESCRIPTOR_THREAD_NAME, name);
	protobuf_end(packet, inner);
	return end_descriptor(tracks, mark);
}

static void put_device_description(struct tracks *tracks, const struct event_device *row)
{
	struct string_builder text = {0};

	string_builder_appendf(&text, "%s, vendor %s, driver %s, platform %s",
			       model_text(tracks->model, row->key_string, "no key"),
			       model_text(tracks->model, row->vendor_string, "unknown"),
			       model_text(tracks->model, row->driver_string, "unknown"),
			       model_text(tracks->model, row->platform_string, "unknown"));
	protobuf_text(&tracks->packets->packet, PF_TRACK_DESCRIPTOR_DESCRIPTION,
		      string_builder_text(&text));
	string_builder_fini(&text);
}

/* SIBLING_MERGE_BEHAVIOR_NONE: otherwise the viewer merges two devices with the same name. */
static int describe_device(struct tracks *tracks, const struct event_device *row,
			   uint64_t *ret_uuid)
{
	struct protobuf *packet = &tracks->packets->packet;
	struct string_builder name = {0};
	size_t mark;

	row_name_device(tracks->model, row, &name);
	*ret_uuid = begin_descriptor(tracks, 0, string_builder_text(&name), &mark);
	protobuf_u64(packet, PF_TRACK_DESCRIPTOR_CHILD_ORDERING, PF_EXPLICIT);
	protobuf_u64(packet, PF_TRACK_DESCRIPTOR_SIBLING_MERGE_BEHAVIOR,
		     PF_SIBLING_MERGE_BEHAVIOR_NONE);
	if (row)
		put_device_description(tracks, row);
	string_builder_fini(&name);
	return end_descriptor(tracks, mark);
}

static void append_clock(const struct tracks *tracks, struct string_builder *text, uint32_t id)
{
	const struct clocks_domain *domain = clocks_find(tracks->model->clocks, id);

	if (!domain)
		return;
	string_builder_appendf(text, ", clock: %s", clocks_method_name(domain->certificate.method));
	if (domain->certificate.error_ns != UINT64_MAX)
		string_builder_appendf(text, ", error at most %" PRIu64 " ns",
				       domain->certificate.error_ns);
}

static void put_queue_description(struct tracks *tracks, const struct event_queue *row)
{
	struct string_builder text = {0};

	string_builder_appendf(&text, "context %" PRIu32 ", %s order, %s", row->context,
			       row->flags & QUEUE_OUT_OF_ORDER ? "out of" : "in",
			       !(row->flags & QUEUE_TIMED) ? "no device times"
			       : row->flags & QUEUE_TIMING_FORCED
				       ? "times asked for by duet"
				       : "times asked for by the program");
	append_clock(tracks, &text, row->clock);
	protobuf_text(&tracks->packets->packet, PF_TRACK_DESCRIPTOR_DESCRIPTION,
		      string_builder_text(&text));
	string_builder_fini(&text);
}

static size_t device_index(const struct tracks *tracks, const struct event_queue *queue)
{
	return queue ? entity_index_find(&tracks->all_devices, queue->device)
		     : tracks->all_devices.count;
}

/* Finds the device of a queue; adds a track if the trace does not describe the device. */
static int find_device(struct tracks *tracks, const struct event_queue *queue,
		       struct tracks_device **ret_device)
{
	struct tracks_device *device = &tracks->devices[device_index(tracks, queue)];
	int error = device->uuid ? 0 : describe_device(tracks, NULL, &device->uuid);

	if (!error)
		*ret_device = device;
	return error;
}

static int describe_queue(struct tracks *tracks, const struct event_queue *row, uint64_t *ret_uuid)
{
	struct tracks_device *device;
	struct string_builder name = {0};
	size_t mark;
	int error = find_device(tracks, row, &device);

	if (error)
		return error;
	row_name_queue(tracks->model, row, &name);
	*ret_uuid = begin_descriptor(tracks, device->uuid, string_builder_text(&name), &mark);
	string_builder_fini(&name);
	put_rank(tracks, RANK_QUEUE + (row ? (uint64_t)row->id : 0));
	if (row)
		put_queue_description(tracks, row);
	return end_descriptor(tracks, mark);
}

static int describe_counter(struct tracks *tracks, uint64_t parent, const char *name, uint64_t rank,
			    const struct tracks_counter_about *about, uint64_t *ret_uuid)
{
	struct protobuf *packet = &tracks->packets->packet;
	size_t mark, inner;

	*ret_uuid = begin_descriptor(tracks, parent, name, &mark);
	put_rank(tracks, rank);
	if (*about->description)
		protobuf_text(packet, PF_TRACK_DESCRIPTOR_DESCRIPTION, about->description);
	inner = protobuf_begin(packet, PF_TRACK_DESCRIPTOR_COUNTER);
	if (about->unit)
		protobuf_u64(packet, PF_COUNTER_DESCRIPTOR_UNIT, about->unit);
	else if (*about->unit_name)
		protobuf_text(packet, PF_COUNTER_DESCRIPTOR_UNIT_NAME, about->unit_name);
	protobuf_end(packet, inner);
	return end_descriptor(tracks, mark);
}

int tracks_describe_counter(struct tracks *tracks, uint64_t parent, const char *name,
			    const struct tracks_counter_about *about, uint64_t *ret_uuid)
{
	return describe_counter(tracks, parent, name, RANK_RECORDED, about, ret_uuid);
}

/* Adds a counter that the export computes. unit "": a plain number. */
static int add_counter(struct tracks *tracks, uint64_t parent, const char *name, const char *unit,
		       uint64_t rank, uint32_t *counter)
{
	const struct tracks_counter_about about = {.unit = *unit ? PF_UNIT_UNSPECIFIED
								 : PF_UNIT_COUNT,
						   .unit_name = unit,
						   .description = ""};

	if (array_grow(tracks->counters, tracks->counters_capacity, tracks->counters_count + 1))
		return -ENOMEM;
	*counter = (uint32_t)tracks->counters_count++;
	return describe_counter(tracks, parent, name, rank, &about,
				&tracks->counters[*counter].uuid);
}

uint64_t tracks_process(const struct tracks *tracks, uint32_t process)
{
	return tracks->processes[entity_index_find(&tracks->all_processes, process)];
}

uint64_t tracks_device(const struct tracks *tracks, uint32_t device)
{
	return tracks->devices[entity_index_find(&tracks->all_devices, device)].uuid;
}

/* ---- entities of the trace ---- */

/* A thread with its process, for sorting. */
struct member {
	uint32_t process, index;
};

static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

static int list_members(const struct tracks *tracks, struct member **ret_members)
{
	size_t count = tracks->all_threads.count;
	struct member *members = calloc(count + 1, sizeof(*members));

	if (!members)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct event_thread *row = entity_index_row(&tracks->all_threads, i);

		members[i] = (struct member){row->process, (uint32_t)i};
	}
	qsort(members, count, sizeof(*members), compare_members);
	*ret_members = members;
	return 0;
}

/* Describes the threads of processes up to this one. */
static int describe_members(struct tracks *tracks, const struct member *members, uint32_t process,
			    size_t *at)
{
	size_t count = tracks->all_threads.count;
	int error = 0;

	for (; *at < count && members[*at].process <= process && !error; ++*at) {
		uint32_t index = members[*at].index;

		if (is_wanted(tracks, members[*at].process))
			error = describe_thread(tracks,
						entity_index_row(&tracks->all_threads, index),
						&tracks->threads[index].uuid);
	}
	return error;
}

/* Describes each process followed by its threads: if two processes have the same pid, the viewer
 * assigns a thread to the one described last. Processes are sorted by id. */
static int describe_processes(struct tracks *tracks)
{
	struct member *members;
	size_t at = 0;
	int error = list_members(tracks, &members);

	if (error)
		return error;
	for (size_t i = 0; i < tracks->all_processes.count && !error; i++) {
		const struct event_process *row = entity_index_row(&tracks->all_processes, i);

		if (is_wanted(tracks, row->id))
			error = describe_process(tracks, row, &tracks->processes[i]);
		if (!error)
			error = describe_members(tracks, members, row->id, &at);
	}
	if (!error)
		error = describe_members(tracks, members, UINT32_MAX, &at);
	free(members);
	return error;
}

static int describe_devices(struct tracks *tracks)
{
	int error = 0;

	for (size_t i = 0; i < tracks->all_devices.count && !error; i++)
		error = describe_device(tracks, entity_index_row(&tracks->all_devices, i),
					&tracks->devices[i].uuid);
	return error;
}

static int describe_queues(struct tracks *tracks)
{
	int error = 0;

	for (size_t i = 0; i < tracks->all_queues.count && !error; i++) {
		const struct event_queue *row = entity_index_row(&tracks->all_queues, i);

		if (is_wanted(tracks, row->process))
			error = describe_queue(tracks, row, &tracks->queues[i].uuid);
	}
	return error;
}

static int allocate(struct tracks *tracks)
{
	size_t threads = tracks->all_threads.count + 1, queues = tracks->all_queues.count + 1;
	size_t devices = tracks->all_devices.count + 1;

	tracks->processes = calloc(tracks->all_processes.count + 1, sizeof(*tracks->processes));
	tracks->threads = calloc(threads, sizeof(*tracks->threads));
	tracks->started = calloc(threads, sizeof(*tracks->started));
	tracks->queues = calloc(queues, sizeof(*tracks->queues));
	tracks->devices = calloc(devices, sizeof(*tracks->devices));
	if (!tracks->processes || !tracks->threads || !tracks->started || !tracks->queues ||
	    !tracks->devices)
		return -ENOMEM;
	for (size_t i = 0; i < queues; i++)
		tracks->queues[i].depth = TRACKS_NO_COUNTER;
	for (size_t i = 0; i < devices; i++) {
		tracks->devices[i].busy = TRACKS_NO_COUNTER;
		for (size_t j = 0; j < ANALYSIS_COMMAND_COUNT; j++)
			tracks->devices[i].rates[j] = TRACKS_NO_COUNTER;
	}
	return 0;
}

int tracks_init(struct tracks *tracks, const struct model *model, struct packets *packets,
		uint64_t pid)
{
	int error;

	*tracks = (struct tracks){.model = model, .packets = packets, .pid = pid};
	entity_index_init(&tracks->all_processes, model->reader, EVENT_PROCESS);
	entity_index_init(&tracks->all_threads, model->reader, EVENT_THREAD);
	entity_index_init(&tracks->all_queues, model->reader, EVENT_QUEUE);
	entity_index_init(&tracks->all_devices, model->reader, EVENT_DEVICE);
	error = allocate(tracks);
	if (!error)
		error = tracks_describe(tracks, 0, "duet", &tracks->duet);
	if (!error)
		error = describe_processes(tracks);
	if (!error)
		error = describe_devices(tracks);
	return error ? error : describe_queues(tracks);
}

static void free_rows(struct tracks_row *rows, size_t count)
{
	for (size_t i = 0; rows && i < count; i++) {
		lanes_fini(&rows[i].lanes);
		free(rows[i].uuids);
	}
	free(rows);
}

void tracks_fini(struct tracks *tracks)
{
	if (!tracks)
		return;
	free_rows(tracks->threads, tracks->all_threads.count + 1);
	free_rows(tracks->started, tracks->all_threads.count + 1);
	free_rows(tracks->queues, tracks->all_queues.count + 1);
	free(tracks->processes);
	free(tracks->devices);
	free(tracks->counters);
	*tracks = (struct tracks){0};
}

/* ---- lanes ---- */

/* Finds the track of a lane; describes a new one. */
static int find_lane(struct tracks *tracks, struct tracks_row *row, size_t lane, const char *word,
		     uint64_t *ret_uuid)
{
	char name[64];
	int error = 0;

	if (lane == row->uuids_count) {
		if (array_grow(row->uuids, row->uuids_capacity, lane + 1))
			return -ENOMEM;
		row->uuids_count++;
		row->uuids[lane] = row->uuid;
		snprintf(name, sizeof(name), "%s %zu", word, lane + 1);
		if (lane)
			error = tracks_describe(tracks, row->uuid, name, &row->uuids[lane]);
	}
	if (!error)
		*ret_uuid = row->uuids[lane];
	return error;
}

/* Finds the track of a thread; one that the trace does not describe is named "[unknown thread]". */
static int open_thread(struct tracks *tracks, uint32_t id, struct tracks_row **ret_row)
{
	*ret_row = &tracks->threads[entity_index_find(&tracks->all_threads, id)];
	return (*ret_row)->uuid ? 0
				: tracks_describe(tracks, 0, "[unknown thread]", &(*ret_row)->uuid);
}

int tracks_off_cpu(struct tracks *tracks, uint32_t thread, uint64_t *ret_uuid)
{
	struct tracks_row *row;
	int error = open_thread(tracks, thread, &row);

	if (!error && !row->off_cpu)
		error = tracks_describe(tracks, row->uuid, "off-CPU", &row->off_cpu);
	if (!error)
		*ret_uuid = row->off_cpu;
	return error;
}

int tracks_place_call(struct tracks *tracks, uint32_t thread, uint64_t begin, uint64_t end,
		      uint64_t *ret_uuid)
{
	struct tracks_row *row;
	size_t lane = 0;
	int error = open_thread(tracks, thread, &row);

	if (!error)
		error = lanes_place_call(&row->lanes, begin, end, &lane);
	return error ? error : find_lane(tracks, row, lane, "overlapping calls", ret_uuid);
}

int tracks_place_started(struct tracks *tracks, uint32_t thread, uint64_t begin, uint64_t end,
			 uint64_t *ret_uuid)
{
	struct tracks_row *of_thread, *row;
	size_t lane = 0;
	int error = open_thread(tracks, thread, &of_thread);

	if (error)
		return error;
	row = &tracks->started[of_thread - tracks->threads];
	if (!row->uuid)
		error = tracks_describe(tracks, of_thread->uuid, "ranges", &row->uuid);
	if (!error)
		error = lanes_place_command(&row->lanes, begin, end, &lane);
	return error ? error : find_lane(tracks, row, lane, "ranges", ret_uuid);
}

static const struct event_queue *queue_row(const struct tracks *tracks, uint32_t id)
{
	return entity_index_row(&tracks->all_queues, entity_index_find(&tracks->all_queues, id));
}

static int find_queue(struct tracks *tracks, uint32_t id, struct tracks_row **ret_row)
{
	size_t index = entity_index_find(&tracks->all_queues, id);
	struct tracks_row *row = &tracks->queues[index];
	int error = 0;

	if (!row->uuid)
		error = describe_queue(tracks, entity_index_row(&tracks->all_queues, index),
				       &row->uuid);
	if (!error)
		*ret_row = row;
	return error;
}

int tracks_place_command(struct tracks *tracks, uint32_t queue, uint64_t begin, uint64_t end,
			 uint64_t *ret_uuid)
{
	struct tracks_row *row;
	size_t lane = 0;
	int error = find_queue(tracks, queue, &row);

	if (!error)
		error = lanes_place_command(&row->lanes, begin, end, &lane);
	return error ? error : find_lane(tracks, row, lane, "lane", ret_uuid);
}

/* ---- counters ---- */

int tracks_depth(struct tracks *tracks, uint32_t queue, uint32_t *ret_counter)
{
	struct tracks_row *row;
	int error = find_queue(tracks, queue, &row);

	if (!error && row->depth == TRACKS_NO_COUNTER)
		error = add_counter(tracks, row->uuid, "commands in flight", "", 0, &row->depth);
	if (!error)
		*ret_counter = row->depth;
	return error;
}

int tracks_busy(struct tracks *tracks, uint32_t queue, uint32_t *ret_counter)
{
	struct tracks_device *device;
	int error = find_device(tracks, queue_row(tracks, queue), &device);

	if (!error && device->busy == TRACKS_NO_COUNTER)
		error = add_counter(tracks, device->uuid, "busy: commands running", "", RANK_BUSY,
				    &device->busy);
	if (!error)
		*ret_counter = device->busy;
	return error;
}

int tracks_rate(struct tracks *tracks, uint32_t queue, uint32_t command, uint32_t *ret_counter)
{
	struct tracks_device *device;
	char name[64];
	int error = find_device(tracks, queue_row(tracks, queue), &device);

	if (error)
		return error;
	if (command >= ANALYSIS_COMMAND_COUNT)
		command = COMMAND_OTHER;
	if (device->rates[command] == TRACKS_NO_COUNTER) {
		snprintf(name, sizeof(name), "%s bytes/s", analysis_command_name(command));
		error = add_counter(tracks, device->uuid, name, "bytes/s", RANK_RATE + command,
				    &device->rates[command]);
	}
	if (!error)
		*ret_counter = device->rates[command];
	return error;
}
