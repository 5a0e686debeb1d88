/* SPDX-License-Identifier: MIT
 *
 * collect/recording.c - ids, strings and identities of one recording
 *
 * Runs in:  the recorder
 * Gets:     descriptions of entities
 * Gives:    ids that are unique in the trace
 * Owns:     the table of identities
 * Fails:    with the writer's errors; without memory, an identity is not stored and may get a
 *           second id
 * Why:      A program may build the same source or create the same kernel in every iteration. They
 *           are one code object in the trace, and memory does not grow with iterations.
 */
#include "collect/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/host_clocks.h"
#include "collect/proc.h"
#include "collect/processes.h"

#define FUNCTION_NAME(number, text) [number] = (text),
static const char *const function_names[RECORDING_FUNCTIONS] = {
#include "abi/function_names.h"

#define GUEST_SECTION(number, name, text) [number] = (text),
#include "event/guest_sections.h"
};

const char *guest_function_name(uint32_t function)
{
	return array_text(function_names, RECORDING_FUNCTIONS, function, "");
}

void identities_init(struct identities *identities)
{
	string_table_init(&identities->keys);
	hash_map_init(&identities->ids);
}

void identities_fini(struct identities *identities)
{
	if (!identities)
		return;
	string_table_fini(&identities->keys);
	hash_map_fini(&identities->ids);
}

uint32_t identities_find(const struct identities *identities, const char *key)
{
	uint32_t id = string_table_find(&identities->keys, key, strlen(key));

	return id ? (uint32_t)hash_map_get(&identities->ids, id, 0) : 0;
}

void identities_remember(struct identities *identities, const char *key, uint32_t id)
{
	uint32_t key_id = string_table_add(&identities->keys, key, strlen(key));

	if (key_id)
		hash_map_put(&identities->ids, key_id, id);
}

int recording_init(struct recording *recording, struct trace_writer *writer)
{
	*recording = (struct recording){.writer = writer, .tsc = host_clocks_have_tsc()};
	recording->guest_clock = recording->tsc ? HOST_CLOCK_TSC : HOST_CLOCK_MONOTONIC;
	recording->last_clock = HOST_CLOCK_COUNT;
	recording->host = 1;
	recording->lookups = RECORDING_LOOKUPS;
	recording->processes = calloc(1, sizeof(*recording->processes));
	recording->others = calloc(1, sizeof(*recording->others));
	if (!recording->processes || !recording->others) {
		free(recording->processes);
		free(recording->others);
		*recording = (struct recording){.writer = NULL};
		return error_set(-ENOMEM, "recording: out of memory");
	}
	processes_init(recording->processes, recording);
	processes_init(recording->others, recording);
	identities_init(&recording->device_table.known);
	identities_init(&recording->file_notes.gone);
	return host_clocks_describe(writer, recording->tsc);
}

void recording_fini(struct recording *recording)
{
	if (!recording)
		return;
	processes_fini(recording->processes);
	free(recording->processes);
	processes_fini(recording->others);
	free(recording->others);
	identities_fini(&recording->device_table.known);
	hash_map_fini(&recording->device_table.sketches);
	hash_map_fini(&recording->device_table.users);
	hash_map_fini(&recording->device_table.parents);
	identities_fini(&recording->file_notes.gone);
	hash_map_fini(&recording->file_notes.pythons);
	submissions_fini(&recording->submissions);
	driver_calls_fini(&recording->driver_calls);
	retained_files_finish(&recording->kept, NULL);
}

uint32_t recording_string(struct recording *recording, const char *text)
{
	size_t length = strlen(text);
	uint32_t id = trace_writer_string(recording->writer, text, length);

	/* Ids count up, so a larger one is a new string. */
	if (id > recording->last_string) {
		recording->last_string = id;
		recording->kept_bytes += length + TEXT_BYTES;
	}
	return id;
}

uint32_t recording_frame(struct recording *recording, const struct event_frame *row)
{
	uint32_t id = trace_writer_frame(recording->writer, row);

	if (id > recording->last_frame) {
		recording->last_frame = id;
		recording->kept_bytes += FRAME_BYTES;
	}
	return id;
}

uint32_t recording_stack(struct recording *recording, uint32_t caller, uint32_t frame)
{
	uint32_t id = trace_writer_stack(recording->writer, caller, frame);

	if (id > recording->last_stack) {
		recording->last_stack = id;
		recording->kept_bytes += NODE_BYTES;
	}
	return id;
}

static uint32_t file_line(struct recording *recording, const char *path, const char *label)
{
	auto_free char *text = NULL;
	char *line;

	if (read_file(path, 1 << 20, &text, NULL) < 0)
		return 0;
	line = label ? strstr(text, label) : text;
	if (!line)
		return 0;
	line += label ? strcspn(line, ":") + 2 : 0;
	return trace_writer_string(recording->writer, line, strcspn(line, "\n"));
}

int recording_describe_host(struct recording *recording, uint64_t begin_ns, uint64_t end_ns)
{
	struct event_host host = {
		.id = recording->host,
		.boot_id_string = file_line(recording, "/proc/sys/kernel/random/boot_id", NULL),
		.cpu_string = file_line(recording, "/proc/cpuinfo", "model name"),
		.cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.begin_ns = begin_ns,
		.end_ns = end_ns,
	};
	char command[PROC_COMMAND_BYTES];
	struct utsname name;
	struct sysinfo memory;
	struct event_host before;

	/* The agent has numbered the file meanwhile. */
	if (trace_writer_find_entity(recording->writer, EVENT_HOST, host.id, &before))
		host.segment = before.segment;
	if (recording->command) {
		proc_quote(recording->command, command, sizeof(command));
		host.command_string = recording_string(recording, command);
	}
	if (uname(&name) == 0) {
		host.name_string = recording_string(recording, name.nodename);
		host.kernel_string = recording_string(recording, name.release);
	}
	if (sysinfo(&memory) == 0)
		host.memory_bytes = (uint64_t)memory.totalram * memory.mem_unit;
	return trace_writer_entity(recording->writer, EVENT_HOST, &host);
}

/* The clock's rate comes from two readings. The second one is due after a second, and a time far
 * behind it would be converted badly or not at all. One more reading takes 16 tries, so it is made
 * only for times that can have occurred, which lie before it afterwards. */
static void read_again(struct recording *recording, uint64_t time)
{
	const struct event_clock_pair *first = &recording->first_tsc, *last = &recording->last_tsc;

	if (recording->tsc && time > last->time && time - last->time >= last->time - first->time &&
	    time <= host_clocks_now_tsc())
		recording->last_tsc = host_clocks_read_tsc();
}

uint64_t recording_now(const struct recording *recording)
{
	return recording->tsc ? host_clocks_now_tsc() : host_clocks_now_ns();
}

uint64_t recording_host_ns(struct recording *recording, uint64_t time, uint64_t *ret_error_ns)
{
	const struct event_clock_pair *first = &recording->first_tsc, *last = &recording->last_tsc;
	uint64_t ticks, ns;
	__int128 distance;

	read_again(recording, time);
	ticks = last->time - first->time;
	ns = last->host_lower_ns - first->host_lower_ns;

	*ret_error_ns = 0;
	if (!recording->tsc)
		return time;
	if (!ticks) {
		*ret_error_ns = UINT64_MAX / 4;
		return last->host_lower_ns;
	}
	distance = (__int128)(int64_t)(time - last->time) * ns / ticks;
	/* The rate's error is the window of a pair (100 ns) divided by the time between the two
	 * readings. */
	*ret_error_ns =
		100 + (uint64_t)((distance < 0 ? -distance : distance) * 100 / (ns ? ns : 1));
	return last->host_lower_ns + (uint64_t)distance;
}

uint64_t recording_ticks_ns(struct recording *recording, uint64_t ticks)
{
	const struct event_clock_pair *first = &recording->first_tsc, *last = &recording->last_tsc;
	uint64_t known;

	if (!recording->tsc || !ticks)
		return ticks;
	if (last->time == first->time) /* the second reading has not been taken yet */
		recording->last_tsc = host_clocks_read_tsc();
	known = last->time - first->time;
	return known ? (uint64_t)((unsigned __int128)ticks *
				  (last->host_lower_ns - first->host_lower_ns) / known)
		     : 0;
}

void recording_begin_second(struct recording *recording)
{
	recording->lookups = RECORDING_LOOKUPS;
}

uint32_t recording_note(struct recording *recording, const char *collector, uint32_t state,
			uint32_t process, const char *reason)
{
	struct event_collector row = {
		.id = ++recording->last_collector,
		.name_string = recording_string(recording, collector),
		.state = state,
		.reason_string = recording_string(recording, reason),
		.process = process,
		.begin_ns = host_clocks_now_ns(),
		.unverified = recording->is_unverified && recording->is_unverified(collector),
	};

	trace_writer_entity(recording->writer, EVENT_COLLECTOR, &row);
	return row.id;
}

void recording_lose(struct recording *recording, uint32_t kind, uint32_t reason, uint64_t begin_ns,
		    uint64_t end_ns, uint64_t count)
{
	const struct trace_source source = {.clock = CLOCK_ID_MONOTONIC};
	const struct event_loss row = {
		.begin = begin_ns, .end = end_ns, .kind = kind, .reason = reason, .count = count};

	trace_writer_row(recording->writer, EVENT_LOSS, &source, &row);
}

void recording_lose_more(struct recording *recording, uint32_t kind, uint32_t reason,
			 uint64_t begin_ns, uint64_t end_ns, uint64_t count,
			 uint64_t *inout_written)
{
	if (count > *inout_written)
		recording_lose(recording, kind, reason, begin_ns, end_ns, count - *inout_written);
	*inout_written = count;
}

void recording_warn(const struct recording *recording, const char *text)
{
	if (recording->on_warning)
		recording->on_warning(recording->warning_context, text);
}

void recording_hint(const struct recording *recording, const char *text)
{
	if (recording->on_hint)
		recording->on_hint(recording->warning_context, text);
}
