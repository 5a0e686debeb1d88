/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/tracks.c - the rows of a Perfetto timeline, and the entities of the trace that
 * they stand for
 *
 * Runs in:  our own process
 * Gets:     TrackDescriptor, ProcessTree
 * Gives:    ids of processes and threads
 * Owns:     the tracks
 * Fails:    -ENOMEM; -EFBIG above 131072 tracks
 * Why all are read before the first event: a descriptor may follow the events of its track
 */
#include "import/perfetto/tracks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "import/perfetto/sequences.h"
#include "import/target.h"
#include "perfetto_trace.numbers.h"

enum { MAX_TRACKS = 131072, MAX_PARENTS = 64, MAX_MEMBERS = 1 << 18 };

/* Tracks without a thread get ids from here on; no thread of Linux has such an id. */
#define TRACK_TID 0x80000000u

void perfetto_tracks_init(struct perfetto_tracks *tracks, struct perfetto_sequences *sequences,
			  struct import_target *target)
{
	*tracks = (struct perfetto_tracks){.sequences = sequences, .target = target};
}

void perfetto_tracks_fini(struct perfetto_tracks *tracks)
{
	free(tracks->rows);
	hash_map_fini(&tracks->by_uuid);
	hash_map_fini(&tracks->processes);
	hash_map_fini(&tracks->members);
}

static const char *text_of(const struct perfetto_tracks *tracks, uint32_t text)
{
	return string_table_text(&tracks->sequences->texts, text, NULL);
}

struct perfetto_track *perfetto_tracks_find(struct perfetto_tracks *tracks, uint64_t uuid)
{
	uint64_t index = hash_map_get(&tracks->by_uuid, uuid, 0);

	if (index)
		return &tracks->rows[index - 1];
	if (tracks->count == MAX_TRACKS) {
		error_set(-EFBIG, "the file has more than %d tracks", MAX_TRACKS);
		return NULL;
	}
	if (array_grow(tracks->rows, tracks->capacity, tracks->count + 1) ||
	    hash_map_put(&tracks->by_uuid, uuid, tracks->count + 1))
		return NULL;
	tracks->rows[tracks->count] = (struct perfetto_track){.uuid = uuid, .multiplier = 1};
	return &tracks->rows[tracks->count++];
}

const char *perfetto_tracks_name(const struct perfetto_tracks *tracks,
				 const struct perfetto_track *track)
{
	return text_of(tracks, track->name);
}

/* ---- descriptors ---- */

static int read_process(struct perfetto_tracks *tracks, struct perfetto_track *track,
			struct wire message)
{
	struct wire_field field;
	uint32_t text;
	int error = 0;

	track->type = TRACK_PROCESS;
	while (!error && wire_next(&message, &field)) {
		if (field.number == PF_PROCESS_DESCRIPTOR_PID)
			track->pid = (uint32_t)field.value;
		if (field.number != PF_PROCESS_DESCRIPTOR_PROCESS_NAME &&
		    (field.number != PF_PROCESS_DESCRIPTOR_CMDLINE || track->name))
			continue;
		error = perfetto_sequences_text(tracks->sequences, &field, &text);
		track->name = !error && text ? text : track->name;
	}
	return error;
}

static int read_thread(struct perfetto_tracks *tracks, struct perfetto_track *track,
		       struct wire message)
{
	struct wire_field field;
	int error = 0;

	track->type = TRACK_THREAD;
	while (!error && wire_next(&message, &field)) {
		if (field.number == PF_THREAD_DESCRIPTOR_PID)
			track->pid = (uint32_t)field.value;
		else if (field.number == PF_THREAD_DESCRIPTOR_TID)
			track->tid = (uint32_t)field.value;
		else if (field.number == PF_THREAD_DESCRIPTOR_THREAD_NAME)
			error = perfetto_sequences_text(tracks->sequences, &field, &track->name);
	}
	return error;
}

static int read_counter(struct perfetto_tracks *tracks, struct perfetto_track *track,
			struct wire message)
{
	struct wire_field field;
	int error = 0;

	track->type = TRACK_COUNTER;
	while (!error && wire_next(&message, &field)) {
		if (field.number == PF_COUNTER_DESCRIPTOR_UNIT)
			track->unit = (uint32_t)field.value;
		else if (field.number == PF_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER && field.value)
			track->multiplier = (int64_t)field.value;
		else if (field.number == PF_COUNTER_DESCRIPTOR_IS_INCREMENTAL)
			track->is_incremental = field.value;
		else if (field.number == PF_COUNTER_DESCRIPTOR_UNIT_NAME)
			error = perfetto_sequences_text(tracks->sequences, &field,
							&track->unit_name);
	}
	return error;
}

static int read_member(struct perfetto_tracks *tracks, struct perfetto_track *track,
		       const struct wire_field *field)
{
	switch (field->number) {
	case PF_TRACK_DESCRIPTOR_PARENT_UUID:
		track->parent = field->value;
		return 0;
	case PF_TRACK_DESCRIPTOR_SIBLING_ORDER_RANK:
		track->rank = (int64_t)field->value;
		return 0;
	case PF_TRACK_DESCRIPTOR_NAME:
		return perfetto_sequences_text(tracks->sequences, field, &track->name);
	case PF_TRACK_DESCRIPTOR_DESCRIPTION:
		return perfetto_sequences_text(tracks->sequences, field, &track->description);
	case PF_TRACK_DESCRIPTOR_PROCESS:
		return read_process(tracks, track, wire_inside(field));
	case PF_TRACK_DESCRIPTOR_THREAD:
		return read_thread(tracks, track, wire_inside(field));
	case PF_TRACK_DESCRIPTOR_COUNTER:
		return read_counter(tracks, track, wire_inside(field));
	default:
		return 0;
	}
}

/* A thread belongs to the process with its pid that was described last. */
static int link_process(struct perfetto_tracks *tracks, struct perfetto_track *track)
{
	if (track->type == TRACK_THREAD)
		track->process = (uint32_t)hash_map_get(&tracks->processes, track->pid, 0);
	if (track->type != TRACK_PROCESS)
		return 0;
	return hash_map_put(&tracks->processes, track->pid, (uint64_t)(track - tracks->rows) + 1);
}

int perfetto_tracks_describe(struct perfetto_tracks *tracks, struct wire descriptor)
{
	uint64_t uuid = wire_number(descriptor, PF_TRACK_DESCRIPTOR_UUID, 0);
	struct perfetto_track *track = perfetto_tracks_find(tracks, uuid);
	bool is_first = tracks->count == 1;
	struct wire_field field;
	int error = track ? 0 : *error_text() ? -EFBIG : -ENOMEM;

	while (!error && wire_next(&descriptor, &field))
		error = read_member(tracks, track, &field);
	if (error)
		return error;
	if (is_first && uuid == 1 && strcmp(perfetto_tracks_name(tracks, track), "duet") == 0)
		tracks->is_own = true;
	return link_process(tracks, track);
}

static int add_member(struct perfetto_tracks *tracks, struct wire message)
{
	uint64_t tid = wire_number(message, PF_THREAD_TID, 0);
	uint64_t pid = wire_number(message, PF_THREAD_TGID, 0) & UINT32_MAX;
	struct wire_field field;
	uint32_t name = 0;
	int error = 0;

	while (!error && wire_next(&message, &field))
		if (field.number == PF_THREAD_NAME)
			error = perfetto_sequences_text(tracks->sequences, &field, &name);
	if (error || tracks->members.count >= MAX_MEMBERS)
		return error;
	return hash_map_put(&tracks->members, tid & UINT32_MAX, pid | (uint64_t)name << 32);
}

int perfetto_tracks_add_members(struct perfetto_tracks *tracks, struct wire tree)
{
	struct wire_field field, inner;
	int error = 0;

	while (!error && wire_next(&tree, &field)) {
		struct wire message = wire_inside(&field);
		uint64_t pid = 0;
		uint32_t name = 0;

		if (field.type != WIRE_BYTES)
			continue;
		if (field.number == PF_PROCESS_TREE_THREADS)
			error = add_member(tracks, message);
		if (field.number != PF_PROCESS_TREE_PROCESSES)
			continue;
		pid = wire_number(message, PF_PROCESS_PID, 0) & UINT32_MAX;
		while (!error && !name && wire_next(&message, &inner))
			if (inner.number == PF_PROCESS_CMDLINE)
				error = perfetto_sequences_text(tracks->sequences, &inner, &name);
		if (!error && tracks->members.count < MAX_MEMBERS)
			error = hash_map_put(&tracks->members, pid, pid | (uint64_t)name << 32);
	}
	return error;
}

/* ---- entities ---- */

struct perfetto_track *perfetto_tracks_parent(struct perfetto_tracks *tracks,
					      const struct perfetto_track *track)
{
	uint64_t index = track->parent ? hash_map_get(&tracks->by_uuid, track->parent, 0) : 0;

	return index ? &tracks->rows[index - 1] : NULL;
}

struct perfetto_track *perfetto_tracks_root(struct perfetto_tracks *tracks,
					    struct perfetto_track *track)
{
	struct perfetto_track *above = perfetto_tracks_parent(tracks, track);

	for (int i = 0; i < MAX_PARENTS && above; i++) {
		track = above;
		above = perfetto_tracks_parent(tracks, track);
	}
	return track;
}

const struct perfetto_track *perfetto_tracks_queue(struct perfetto_tracks *tracks,
						   struct perfetto_track *track)
{
	const uint64_t root = perfetto_tracks_root(tracks, track)->uuid;

	struct perfetto_track *above = perfetto_tracks_parent(tracks, track);

	for (int i = 0; i < MAX_PARENTS && above && above->uuid != root; i++) {
		track = above;
		above = perfetto_tracks_parent(tracks, track);
	}
	return track;
}

uint32_t perfetto_tracks_queue_pid(struct perfetto_tracks *tracks, struct perfetto_track *track)
{
	static const char word[] = "process ";
	const char *found = NULL;

	for (const char *at = perfetto_tracks_name(tracks, perfetto_tracks_queue(tracks, track));
	     (at = strstr(at, word)); at++)
		found = at + strlen(word);
	return found ? (uint32_t)strtoul(found, NULL, 10) : 0;
}

/* The nearest track of a type, from the track outwards; NULL if there is none. */
static struct perfetto_track *find_around(struct perfetto_tracks *tracks,
					  struct perfetto_track *track,
					  enum perfetto_track_type type)
{
	for (int i = 0; i < MAX_PARENTS && track; i++) {
		if (track->type == type)
			return track;
		track = perfetto_tracks_parent(tracks, track);
	}
	return NULL;
}

uint32_t perfetto_tracks_pid(struct perfetto_tracks *tracks, struct perfetto_track *track)
{
	const struct perfetto_track *thread = find_around(tracks, track, TRACK_THREAD);

	return thread ? thread->pid : 0;
}

static int add_process(struct perfetto_tracks *tracks, const struct perfetto_track *track,
		       uint32_t pid, uint32_t *ret_process)
{
	uint64_t member = hash_map_get(&tracks->members, pid, 0);
	const char *name = track ? perfetto_tracks_name(tracks, track)
				 : text_of(tracks, (uint32_t)(member >> 32));
	char key[48], made[48];

	snprintf(key, sizeof(key), track ? "track %" PRIu64 : "pid %" PRIu64,
		 track ? track->uuid : (uint64_t)pid);
	snprintf(made, sizeof(made), pid ? "process %" PRIu32 : "[unknown process]", pid);
	return import_target_process(tracks->target, key, pid, *name ? name : made, ret_process);
}

int perfetto_tracks_process(struct perfetto_tracks *tracks, uint32_t pid, uint32_t *ret_process)
{
	uint64_t index = hash_map_get(&tracks->processes, pid, 0);

	return add_process(tracks, index ? &tracks->rows[index - 1] : NULL, pid, ret_process);
}

/* The process of a thread, or of a track in a process. */
static int find_process(struct perfetto_tracks *tracks, struct perfetto_track *track,
			const struct perfetto_track *thread, uint32_t *ret_process)
{
	const struct perfetto_track *process = find_around(tracks, track, TRACK_PROCESS);

	if (thread && thread->process)
		process = &tracks->rows[thread->process - 1];
	return add_process(tracks, process,
			   process  ? process->pid
			   : thread ? thread->pid
				    : 0,
			   ret_process);
}

int perfetto_tracks_owner(struct perfetto_tracks *tracks, struct perfetto_track *track,
			  uint32_t *ret_process)
{
	const struct perfetto_track *thread = find_around(tracks, track, TRACK_THREAD);

	*ret_process = 0;
	return thread || find_around(tracks, track, TRACK_PROCESS)
		       ? find_process(tracks, track, thread, ret_process)
		       : 0;
}

/* rocprofv3 names the tracks of its threads "THREAD 1 (3648740)". */
static uint32_t tid_in_name(const char *name)
{
	unsigned int number, tid;

	return sscanf(name, "THREAD %9u (%9u)", &number, &tid) == 2 ? tid : 0;
}

int perfetto_tracks_thread(struct perfetto_tracks *tracks, struct perfetto_track *track,
			   uint32_t *ret_thread, uint32_t *ret_process)
{
	const struct perfetto_track *thread = find_around(tracks, track, TRACK_THREAD);
	const char *name = perfetto_tracks_name(tracks, thread ? thread : track);
	uint32_t tid = thread ? thread->tid : tid_in_name(name);
	int error = 0;

	if (!track->thread) {
		if (!thread && !tid)
			tid = TRACK_TID + (uint32_t)(track - tracks->rows);
		error = find_process(tracks, track, thread, &track->owner);
		if (!error)
			error = import_target_thread(tracks->target, track->owner, tid, name,
						     &track->thread);
	}
	*ret_thread = track->thread;
	*ret_process = track->owner;
	return error;
}

int perfetto_tracks_member(struct perfetto_tracks *tracks, uint32_t pid, uint32_t tid,
			   const char *name, uint32_t *ret_thread)
{
	uint64_t member = hash_map_get(&tracks->members, tid, 0);
	uint32_t process;
	int error;

	if (!pid)
		pid = (uint32_t)member;
	if (!*name)
		name = text_of(tracks, (uint32_t)(member >> 32));
	error = perfetto_tracks_process(tracks, pid, &process);
	return error ? error : import_target_thread(tracks->target, process, tid, name, ret_thread);
}
