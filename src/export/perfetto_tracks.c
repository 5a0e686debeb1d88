/* SPDX-License-Identifier: MIT
 *
 * export/perfetto_tracks.c - the rows of the timeline: who has one, and which slice goes where
 *
 * Runs in:  our own process
 * Gets:     things of a model, and the spans of calls and commands in the order of their begin
 * Gives:    TrackDescriptor packets, and the track of each span
 * Owns:     the lists of tracks and, of each lane, the spans that are still open
 * Fails:    -ENOMEM, errors of writing
 * Why lanes of our own: a viewer that is given two slices that overlap on one track closes the wrong
 *           one first, and both lengths are wrong. An out-of-order queue with k commands in
 *           execution gets k lanes; a lane costs one descriptor of 40 bytes.
 */
#include "export/perfetto_tracks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model.h"
#include "base/array.h"
#include "base/string.h"
#include "export/perfetto_packets.h"
#include "export/perfetto_schema.h"

/* Order of tracks below a device: counters, then queues. */
enum { RANK_BUSY = 0, RANK_RATE = 1, RANK_QUEUE = 100 };

/* Of calls of one thread that overlap without one being inside the other: that is damage, no program, and each lane
 * that is tried costs time. What goes into none of these lanes overlaps in the last one. */
enum { CALL_LANES_MOST = 64 };

/* ---- descriptors ---- */

/* A descriptor's packet: fields of the track go between this and end_descriptor. parent 0: none. */
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

static int describe_plain(struct tracks *tracks, uint64_t parent, const char *name,
			  uint64_t *ret_uuid)
{
	size_t mark;

	*ret_uuid = begin_descriptor(tracks, parent, name, &mark);
	return end_descriptor(tracks, mark);
}

static bool is_wanted(const struct tracks *tracks, uint32_t process)
{
	const struct event_process *row = model_thing(tracks->model, EVENT_PROCESS, process);

	return !tracks->pid || (row && row->pid == tracks->pid);
}

static void put_host_label(struct tracks *tracks, uint32_t id)
{
	const struct event_host *host = model_thing(tracks->model, EVENT_HOST, id);
	const void *hosts = NULL;
	const char *name = host ? model_text(tracks->model, host->name_string, "") : "";

	if (*name && model_things(tracks->model, EVENT_HOST, &hosts) > 1)
		protobuf_text(&tracks->packets->packet, PF_PROCESS_DESCRIPTOR_PROCESS_LABELS, name);
}

static int describe_process(struct tracks *tracks, const struct event_process *row)
{
	struct protobuf *packet = &tracks->packets->packet;
	const char *command = model_text(tracks->model, row->command_string, "");
	size_t mark, inner;

	begin_descriptor(tracks, 0, "", &mark);
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

/* A thread whose process is not described cannot have a ThreadDescriptor, which wants a pid. */
static int describe_thread(struct tracks *tracks, const struct event_thread *row,
			   uint64_t *ret_uuid)
{
	const struct event_process *process =
		model_thing(tracks->model, EVENT_PROCESS, row->process);
	struct protobuf *packet = &tracks->packets->packet;
	const char *name = model_text(tracks->model, row->name_string, "");
	char text[32];
	size_t mark, inner;

	snprintf(text, sizeof(text), "thread %" PRIu32, row->tid);
	if (!process)
		return describe_plain(tracks, 0, text, ret_uuid);
	*ret_uuid = begin_descriptor(tracks, 0, "", &mark);
	inner = protobuf_begin(packet, PF_TRACK_DESCRIPTOR_THREAD);
	protobuf_u64(packet, PF_THREAD_DESCRIPTOR_PID, process->pid & INT32_MAX);
	protobuf_u64(packet, PF_THREAD_DESCRIPTOR_TID, row->tid);
	if (*name)
		protobuf_text(packet, PF_THREAD_DESCRIPTOR_THREAD_NAME, name);
	protobuf_end(packet, inner);
	return end_descriptor(tracks, mark);
}

static const char *type_name(uint32_t type)
{
	static const char *const names[] = {[DEVICE_OTHER] = "device",
					    [DEVICE_CPU] = "CPU device",
					    [DEVICE_GPU] = "GPU",
					    [DEVICE_ACCELERATOR] = "accelerator"};

	return names[type < ARRAY_COUNT(names) ? type : DEVICE_OTHER];
}

static void put_device_description(struct tracks *tracks, const struct event_device *row)
{
	struct string_builder text;

	string_builder_init(&text);
	string_builder_appendf(&text, "%s, vendor %s, driver %s, platform %s",
			       model_text(tracks->model, row->key_string, "no key"),
			       model_text(tracks->model, row->vendor_string, "unknown"),
			       model_text(tracks->model, row->driver_string, "unknown"),
			       model_text(tracks->model, row->platform_string, "unknown"));
	protobuf_text(&tracks->packets->packet, PF_TRACK_DESCRIPTOR_DESCRIPTION,
		      string_builder_text(&text));
	string_builder_fini(&text);
}

/* Two devices of one name are told apart by the viewer too: their tracks are not merged. */
static int describe_device(struct tracks *tracks, const struct event_device *row,
			   uint64_t *ret_uuid)
{
	struct protobuf *packet = &tracks->packets->packet;
	struct string_builder name;
	size_t mark;

	string_builder_init(&name);
	if (row)
		string_builder_appendf(&name, "%s %s", type_name(row->type),
				       model_text(tracks->model, row->name_string, "[unnamed]"));
	else
		string_builder_append(&name, "[unknown device]");
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
	struct string_builder text;

	string_builder_init(&text);
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
	const struct event_device *row =
		queue ? model_thing(tracks->model, EVENT_DEVICE, queue->device) : NULL;
	const void *rows = NULL;

	model_things(tracks->model, EVENT_DEVICE, &rows);
	return row ? (size_t)(row - (const struct event_device *)rows) : tracks->devices_count;
}

/* The device's track, which is described first where the trace did not. */
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
	const struct event_process *process =
		row ? model_thing(tracks->model, EVENT_PROCESS, row->process) : NULL;
	struct tracks_device *device;
	char name[96] = "[unknown queue]";
	size_t mark;
	int error = find_device(tracks, row, &device);

	if (error)
		return error;
	if (row && process)
		snprintf(name, sizeof(name), "queue %" PRIu32 " of process %" PRIu32, row->id,
			 process->pid);
	else if (row)
		snprintf(name, sizeof(name), "queue %" PRIu32, row->id);
	*ret_uuid = begin_descriptor(tracks, device->uuid, name, &mark);
	put_rank(tracks, RANK_QUEUE + (row ? (uint64_t)row->id : 0));
	if (row)
		put_queue_description(tracks, row);
	return end_descriptor(tracks, mark);
}

/* unit NULL: a number of things. */
static int describe_counter(struct tracks *tracks, uint64_t parent, const char *name,
			    const char *unit, uint64_t rank, uint32_t *counter)
{
	struct protobuf *packet = &tracks->packets->packet;
	size_t mark, inner;

	if (array_grow(tracks->counters, tracks->counters_capacity, tracks->counters_count + 1))
		return -ENOMEM;
	*counter = (uint32_t)tracks->counters_count++;
	tracks->counters[*counter].uuid = begin_descriptor(tracks, parent, name, &mark);
	put_rank(tracks, rank);
	inner = protobuf_begin(packet, PF_TRACK_DESCRIPTOR_COUNTER);
	if (unit)
		protobuf_text(packet, PF_COUNTER_DESCRIPTOR_UNIT_NAME, unit);
	else
		protobuf_u64(packet, PF_COUNTER_DESCRIPTOR_UNIT, PF_UNIT_COUNT);
	protobuf_end(packet, inner);
	return end_descriptor(tracks, mark);
}

/* ---- what the trace describes ---- */

/* A thread by its process, for sorting. */
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
	struct member *members = calloc(tracks->threads_count + 1, sizeof(*members));
	const struct event_thread *rows;
	const void *things = NULL;

	if (!members)
		return -ENOMEM;
	model_things(tracks->model, EVENT_THREAD, &things);
	rows = things;
	for (size_t i = 0; i < tracks->threads_count; i++)
		members[i] = (struct member){rows[i].process, (uint32_t)i};
	qsort(members, tracks->threads_count, sizeof(*members), compare_members);
	*ret_members = members;
	return 0;
}

/* The threads of processes up to this one. */
static int describe_members(struct tracks *tracks, const struct member *members, uint32_t process,
			    size_t *at)
{
	const struct event_thread *rows;
	const void *things = NULL;
	int error = 0;

	model_things(tracks->model, EVENT_THREAD, &things);
	rows = things;
	for (; *at < tracks->threads_count && members[*at].process <= process && !error; ++*at) {
		uint32_t index = members[*at].index;

		if (is_wanted(tracks, members[*at].process))
			error = describe_thread(tracks, &rows[index], &tracks->threads[index].uuid);
	}
	return error;
}

/* Each process is followed by its threads: where a pid is used twice the viewer takes a thread for
 * one of the process that was described last. Processes are sorted by id. */
static int describe_processes(struct tracks *tracks)
{
	const struct event_process *rows;
	const void *things = NULL;
	struct member *members;
	size_t at = 0;
	int error = list_members(tracks, &members);

	if (error)
		return error;
	model_things(tracks->model, EVENT_PROCESS, &things);
	rows = things;
	for (size_t i = 0; i < tracks->processes_count && !error; i++) {
		if (is_wanted(tracks, rows[i].id))
			error = describe_process(tracks, &rows[i]);
		if (!error)
			error = describe_members(tracks, members, rows[i].id, &at);
	}
	if (!error)
		error = describe_members(tracks, members, UINT32_MAX, &at);
	free(members);
	return error;
}

static int describe_devices(struct tracks *tracks)
{
	const struct event_device *rows;
	const void *things = NULL;
	int error = 0;

	model_things(tracks->model, EVENT_DEVICE, &things);
	rows = things;
	for (size_t i = 0; i < tracks->devices_count && !error; i++)
		error = describe_device(tracks, &rows[i], &tracks->devices[i].uuid);
	return error;
}

static int describe_queues(struct tracks *tracks)
{
	const struct event_queue *rows;
	const void *things = NULL;
	int error = 0;

	model_things(tracks->model, EVENT_QUEUE, &things);
	rows = things;
	for (size_t i = 0; i < tracks->queues_count && !error; i++) {
		if (is_wanted(tracks, rows[i].process))
			error = describe_queue(tracks, &rows[i], &tracks->queues[i].uuid);
	}
	return error;
}

static int allocate(struct tracks *tracks)
{
	const void *rows = NULL;

	tracks->processes_count = model_things(tracks->model, EVENT_PROCESS, &rows);
	tracks->threads_count = model_things(tracks->model, EVENT_THREAD, &rows);
	tracks->queues_count = model_things(tracks->model, EVENT_QUEUE, &rows);
	tracks->devices_count = model_things(tracks->model, EVENT_DEVICE, &rows);
	tracks->threads = calloc(tracks->threads_count + 1, sizeof(*tracks->threads));
	tracks->queues = calloc(tracks->queues_count + 1, sizeof(*tracks->queues));
	tracks->devices = calloc(tracks->devices_count + 1, sizeof(*tracks->devices));
	if (!tracks->threads || !tracks->queues || !tracks->devices)
		return -ENOMEM;
	for (size_t i = 0; i <= tracks->queues_count; i++)
		tracks->queues[i].depth = TRACKS_NO_COUNTER;
	for (size_t i = 0; i <= tracks->devices_count; i++) {
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
	error = allocate(tracks);
	if (!error)
		error = describe_plain(tracks, 0, "duet", &tracks->duet);
	if (!error)
		error = describe_processes(tracks);
	if (!error)
		error = describe_devices(tracks);
	return error ? error : describe_queues(tracks);
}

static void free_rows(struct tracks_row *rows, size_t count)
{
	for (size_t i = 0; rows && i < count; i++) {
		for (size_t j = 0; j < rows[i].count; j++)
			free(rows[i].lanes[j].open);
		free(rows[i].lanes);
		free(rows[i].ends.ends);
	}
	free(rows);
}

void tracks_fini(struct tracks *tracks)
{
	if (!tracks)
		return;
	free_rows(tracks->threads, tracks->threads_count + 1);
	free_rows(tracks->queues, tracks->queues_count + 1);
	free(tracks->devices);
	free(tracks->counters);
	*tracks = (struct tracks){0};
}

/* ---- lanes ---- */

static int add_lane(struct tracks *tracks, struct tracks_row *row, const char *word)
{
	struct tracks_lane *lane;
	char name[64];

	if (array_grow(row->lanes, row->capacity, row->count + 1))
		return -ENOMEM;
	lane = &row->lanes[row->count++];
	if (row->count == 1) {
		lane->uuid = row->uuid;
		return 0;
	}
	snprintf(name, sizeof(name), "%s %zu", word, row->count);
	return describe_plain(tracks, row->uuid, name, &lane->uuid);
}

/* Whether a call nests with those that are open in the lane; where it would come. Of calls that
 * begin at once the longer one is outside, whichever came first. */
static bool nests(struct tracks_lane *lane, uint64_t begin, uint64_t end, size_t *ret_at)
{
	size_t at;

	while (lane->count && lane->open[lane->count - 1].end <= begin)
		lane->count--;
	at = lane->count;
	while (at && lane->open[at - 1].begin == begin && lane->open[at - 1].end < end)
		at--;
	*ret_at = at;
	return !at || lane->open[at - 1].end >= end;
}

static int insert_span(struct tracks_lane *lane, size_t at, uint64_t begin, uint64_t end)
{
	if (array_grow(lane->open, lane->capacity, lane->count + 1))
		return -ENOMEM;
	memmove(&lane->open[at + 1], &lane->open[at], (lane->count - at) * sizeof(lane->open[0]));
	lane->open[at] = (struct tracks_span){begin, end};
	lane->count++;
	return 0;
}

static struct tracks_row *find_thread(struct tracks *tracks, uint32_t id)
{
	const struct event_thread *row = model_thing(tracks->model, EVENT_THREAD, id);
	const void *rows = NULL;

	model_things(tracks->model, EVENT_THREAD, &rows);
	return &tracks->threads[row ? (size_t)(row - (const struct event_thread *)rows)
				    : tracks->threads_count];
}

int tracks_place_call(struct tracks *tracks, uint32_t thread, uint64_t begin, uint64_t end,
		      uint64_t *ret_uuid)
{
	struct tracks_row *row = find_thread(tracks, thread);
	size_t lane = 0, at = 0;
	int error = 0;

	if (!row->uuid)
		error = describe_plain(tracks, 0, "[unknown thread]", &row->uuid);
	while (!error && lane < row->count && !nests(&row->lanes[lane], begin, end, &at))
		lane++;
	if (!error && lane == CALL_LANES_MOST) {
		lane--; /* with what nests() said of this last one */
	} else if (!error && lane == row->count) {
		at = 0;
		error = add_lane(tracks, row, "overlapping calls");
	}
	if (!error)
		error = insert_span(&row->lanes[lane], at, begin, end);
	if (!error)
		*ret_uuid = row->lanes[lane].uuid;
	return error;
}

static int find_queue(struct tracks *tracks, uint32_t id, struct tracks_row **ret_row)
{
	const struct event_queue *queue = model_thing(tracks->model, EVENT_QUEUE, id);
	struct tracks_row *row;
	const void *rows = NULL;
	int error = 0;

	model_things(tracks->model, EVENT_QUEUE, &rows);
	row = &tracks->queues[queue ? (size_t)(queue - (const struct event_queue *)rows)
				    : tracks->queues_count];
	if (!row->uuid)
		error = describe_queue(tracks, queue, &row->uuid);
	if (!error)
		*ret_row = row;
	return error;
}

static int grow_ends(struct tracks_ends *ends)
{
	size_t leaves = ends->leaves ? 2 * ends->leaves : 8;
	uint64_t *grown = malloc(2 * leaves * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	for (size_t i = 0; i < leaves; i++)
		grown[leaves + i] = i < ends->leaves ? ends->ends[ends->leaves + i] : UINT64_MAX;
	for (size_t i = leaves - 1; i; i--)
		grown[i] = grown[2 * i] < grown[2 * i + 1] ? grown[2 * i] : grown[2 * i + 1];
	free(ends->ends);
	*ends = (struct tracks_ends){grown, leaves};
	return 0;
}

static void set_end(struct tracks_ends *ends, size_t lane, uint64_t end)
{
	size_t i = ends->leaves + lane;

	ends->ends[i] = end;
	while (i /= 2)
		ends->ends[i] = ends->ends[2 * i] < ends->ends[2 * i + 1] ? ends->ends[2 * i]
									  : ends->ends[2 * i + 1];
}

/* The first lane whose last command ended by then; `otherwise` where there is none. */
static size_t find_free(const struct tracks_ends *ends, uint64_t begin, size_t otherwise)
{
	size_t i = 1;

	if (!ends->leaves || ends->ends[1] > begin)
		return otherwise;
	while (i < ends->leaves)
		i = 2 * i + (ends->ends[2 * i] > begin);
	return i - ends->leaves;
}

int tracks_place_command(struct tracks *tracks, uint32_t queue, uint64_t begin, uint64_t end,
			 uint64_t *ret_uuid)
{
	struct tracks_row *row;
	size_t lane;
	int error = find_queue(tracks, queue, &row);

	if (error)
		return error;
	lane = find_free(&row->ends, begin, row->count);
	if (lane == row->count)
		error = add_lane(tracks, row, "lane");
	if (!error && lane == row->ends.leaves)
		error = grow_ends(&row->ends);
	if (error)
		return error;
	set_end(&row->ends, lane, end);
	*ret_uuid = row->lanes[lane].uuid;
	return 0;
}

/* ---- counters ---- */

int tracks_depth(struct tracks *tracks, uint32_t queue, uint32_t *ret_counter)
{
	struct tracks_row *row;
	int error = find_queue(tracks, queue, &row);

	if (!error && row->depth == TRACKS_NO_COUNTER)
		error = describe_counter(tracks, row->uuid, "commands in flight", NULL, 0,
					 &row->depth);
	if (!error)
		*ret_counter = row->depth;
	return error;
}

int tracks_busy(struct tracks *tracks, uint32_t queue, uint32_t *ret_counter)
{
	struct tracks_device *device;
	int error = find_device(tracks, model_thing(tracks->model, EVENT_QUEUE, queue), &device);

	if (!error && device->busy == TRACKS_NO_COUNTER)
		error = describe_counter(tracks, device->uuid, "busy: commands running", NULL,
					 RANK_BUSY, &device->busy);
	if (!error)
		*ret_counter = device->busy;
	return error;
}

int tracks_rate(struct tracks *tracks, uint32_t queue, uint32_t command, uint32_t *ret_counter)
{
	struct tracks_device *device;
	char name[64];
	int error = find_device(tracks, model_thing(tracks->model, EVENT_QUEUE, queue), &device);

	if (error)
		return error;
	if (command >= ANALYSIS_COMMAND_COUNT)
		command = COMMAND_OTHER;
	snprintf(name, sizeof(name), "%s bytes/s", analysis_command_name(command));
	if (device->rates[command] == TRACKS_NO_COUNTER)
		error = describe_counter(tracks, device->uuid, name, "bytes/s", RANK_RATE + command,
					 &device->rates[command]);
	if (!error)
		*ret_counter = device->rates[command];
	return error;
}
