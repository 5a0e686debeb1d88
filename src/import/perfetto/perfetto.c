/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/perfetto.c - import Perfetto's native trace format: files of rocprofv3, of duet,
 * and track events of other programs
 *
 * Runs in:  our own process
 * Gets:     TracePackets (proto/perfetto_trace.proto)
 * Gives:    calls, launches, executions, ranges, counters, samples, switches
 * Owns:     tracks, numbers of texts, calls that launch commands
 * Fails:    -EBADMSG with the byte of the file; bad packets are left out and reported
 * Why three passes: descriptors of tracks may follow their events, and calls may precede all
 *           commands (import.h)
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/absent_call.h"
#include "import/formats.h"
#include "import/perfetto/import.h"
#include "import/common/probe.h"
#include "import/source.h"
#include "import/target.h"
#include "perfetto_trace.numbers.h"

/* A packet's parts, before they are used. */
struct packet {
	uint64_t time, sequence, flags;
	uint32_t clock;
	bool has_clock, has_time;
	struct wire event, sample, descriptor, snapshot, interned, defaults, tree, ftrace;
	struct wire compressed; /* further packets */
	bool is_other;
};

/* Configuration, statistics, events and identity of the recording itself. */
static bool is_about_file(uint64_t number)
{
	static const uint16_t numbers[] = {33, 35, 36, 45, 46, 69, 89};

	for (size_t i = 0; i < ARRAY_COUNT(numbers); i++)
		if (numbers[i] == number)
			return true;
	return false;
}

static void take_part(struct packet *packet, const struct wire_field *field)
{
	struct {
		uint64_t number;
		struct wire *part;
	} parts[] = {{PF_TRACE_PACKET_TRACK_EVENT, &packet->event},
		     {PF_TRACE_PACKET_PERF_SAMPLE, &packet->sample},
		     {PF_TRACE_PACKET_TRACK_DESCRIPTOR, &packet->descriptor},
		     {PF_TRACE_PACKET_CLOCK_SNAPSHOT, &packet->snapshot},
		     {PF_TRACE_PACKET_INTERNED_DATA, &packet->interned},
		     {PF_TRACE_PACKET_TRACE_PACKET_DEFAULTS, &packet->defaults},
		     {PF_TRACE_PACKET_PROCESS_TREE, &packet->tree},
		     {PF_TRACE_PACKET_FTRACE_EVENTS, &packet->ftrace},
		     {PF_TRACE_PACKET_COMPRESSED_PACKETS, &packet->compressed}};

	for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
		if (parts[i].number == field->number) {
			*parts[i].part = wire_inside(field);
			return;
		}
	}
	packet->is_other |= !is_about_file(field->number);
}

/* Returns false for a packet that is cut off or no message. */
static bool read_packet(struct wire message, struct packet *packet)
{
	struct wire_field field;

	*packet = (struct packet){0};
	while (wire_next(&message, &field)) {
		if (field.type == WIRE_BYTES) {
			take_part(packet, &field);
		} else if (field.number == PF_TRACE_PACKET_TIMESTAMP) {
			packet->time = field.value;
			packet->has_time = true;
		} else if (field.number == PF_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID) {
			packet->sequence = field.value;
		} else if (field.number == PF_TRACE_PACKET_SEQUENCE_FLAGS) {
			packet->flags = field.value;
		} else if (field.number == PF_TRACE_PACKET_TIMESTAMP_CLOCK_ID) {
			packet->clock = (uint32_t)field.value;
			packet->has_clock = true;
		}
	}
	return !message.is_bad;
}

/* ---- parts ---- */

/* Remembers the key of a command, so that its call is kept. */
static int add_key(struct perfetto_import *import, const struct perfetto_event *event)
{
	struct perfetto_key key;
	uint32_t categories = perfetto_import_categories(import, event);

	if (!(categories & PERFETTO_COMMAND) || event->type == PF_TYPE_SLICE_END)
		return 0;
	key = perfetto_import_key(import, event);
	if (!key.is_known)
		return 0;
	if (pair_map_find(&import->keys, key.first, key.second) != PAIR_MAP_NONE)
		return 0;
	if (import->calls_count == PAIR_MAP_NONE)
		return -ENOMEM;
	return pair_map_put(&import->keys, key.first, key.second, import->calls_count++);
}

static int take_event(struct perfetto_import *import, const struct packet *packet,
		      struct perfetto_sequence *sequence)
{
	struct perfetto_event event = {.track = sequence->track, .time_ns = packet->time};
	int error = perfetto_event_read(&event, &import->roles, &import->sequences, sequence,
					packet->event);

	if (error)
		return error;
	if (packet->time > import->last_ns)
		import->last_ns = packet->time;
	if (import->pass == PASS_TRACKS)
		return add_key(import, &event);
	return event.type == PF_TYPE_COUNTER ? perfetto_counters_take(import, &event, sequence)
					     : perfetto_slices_take(import, &event);
}

/* Takes a part that has a time. */
static int take_timed(struct perfetto_import *import, struct packet *packet,
		      struct perfetto_sequence *sequence)
{
	uint32_t clock = packet->has_clock ? packet->clock : sequence->clock;
	bool is_known =
		perfetto_clocks_convert(&import->clocks, sequence->clocks, clock, &packet->time);

	if (!packet->event.at && !packet->sample.at)
		return 0;
	if (!is_known || packet->time > PERFETTO_MAX_TIME_NS) {
		import->counts.unplaced += import->pass == PASS_CALLS;
		return 0;
	}
	import->counts.packets++;
	return packet->event.at ? take_event(import, packet, sequence)
				: perfetto_machine_take_sample(import, packet->time, sequence,
							       packet->sample);
}

/* Takes what later packets refer to. */
static int take_state(struct perfetto_import *import, const struct packet *packet,
		      struct perfetto_sequence *sequence)
{
	bool is_first = import->pass == PASS_TRACKS;
	int error = 0;

	if (packet->flags & PF_SEQ_INCREMENTAL_STATE_CLEARED)
		perfetto_sequence_clear(&import->sequences, sequence);
	if (packet->defaults.at)
		error = perfetto_sequence_set_defaults(&import->sequences, sequence,
						       packet->defaults);
	if (!error && packet->snapshot.at)
		error = perfetto_clocks_add(&import->clocks, sequence->clocks, packet->snapshot,
					    is_first);
	if (!error && packet->interned.at)
		error = perfetto_sequence_intern(&import->sequences, sequence, packet->interned);
	if (!error && is_first && packet->descriptor.at)
		error = perfetto_tracks_describe(&import->tracks, packet->descriptor);
	if (!error && is_first && packet->tree.at)
		error = perfetto_tracks_add_members(&import->tracks, packet->tree);
	return error;
}

static int take_packet(struct perfetto_import *import, struct packet *packet)
{
	struct perfetto_sequence *sequence =
		perfetto_sequences_find(&import->sequences, packet->sequence);
	int error;

	if (!sequence)
		return *error_text() ? -EFBIG : -ENOMEM;
	error = take_state(import, packet, sequence);
	if (!error && packet->has_time)
		error = take_timed(import, packet, sequence);
	if (!error && packet->ftrace.at) {
		import->counts.packets++;
		error = perfetto_machine_take_ftrace(import, packet->ftrace);
	}
	return error;
}

/* ---- passes ---- */

static int add_fault(struct perfetto_import *import, uint64_t byte, const char *expected)
{
	if (import->pass != PASS_CALLS)
		return 0;
	return import_faults_add(&import->faults,
				 error_set(-EBADMSG,
					   "byte %" PRIu64 ": expected %s, found other bytes", byte,
					   expected));
}

/* The limit of import/common/stream.c, for a file that is compressed inside. */
static int charge_inflated(struct perfetto_import *import, uint64_t bytes)
{
	import->inflated += bytes;
	if (import->inflated <= UINT64_C(1) << 30 ||
	    import->inflated / 200 <= import_source_offset(import->source))
		return 0;
	return error_set(-EFBIG, "the compressed packets are above 1 GiB and 200 times the size "
				 "of the file");
}

/* Packets inside of a packet have no packets inside of them. */
static int take_compressed(struct perfetto_import *import, struct wire compressed, uint64_t byte)
{
	struct wire inner;
	struct wire_field field;
	uint8_t *bytes = NULL;
	int error = wire_inflate(compressed, &bytes, &inner);

	if (error == -EBADMSG)
		return add_fault(import, byte, "deflated packets of at most 16 MiB");
	if (!error)
		error = charge_inflated(import, (uint64_t)(inner.end - inner.at));
	while (!error && wire_next(&inner, &field)) {
		struct packet packet;

		if (field.number != PF_TRACE_PACKET || field.type != WIRE_BYTES)
			continue;
		if (!read_packet(wire_inside(&field), &packet))
			error = add_fault(import, byte, "packets in a packet");
		else
			error = take_packet(import, &packet);
	}
	free(bytes);
	return error;
}

static int on_packet(struct perfetto_import *import, struct wire message, uint64_t byte)
{
	struct packet packet;

	if (!read_packet(message, &packet))
		return add_fault(import, byte, "a packet");
	import->counts.other_packets += import->pass == PASS_CALLS && packet.is_other;
	if (packet.compressed.at)
		return take_compressed(import, packet.compressed, byte);
	return take_packet(import, &packet);
}

static int end_pass(struct perfetto_import *import)
{
	int error = perfetto_slices_end(import);

	if (!error && import->pass == PASS_CALLS)
		error = perfetto_counters_end(import);
	if (!error && import->pass == PASS_COMMANDS)
		error = perfetto_commands_end(import);
	return error;
}

static void note_file(struct perfetto_import *import, const struct wire_packets *packets)
{
	import_target_note_count(import->target, packets->too_large, "packet", "packets",
				 "above 16 MiB left out");
	if (packets->is_cut)
		import_target_note(import->target, "the file ends inside of a packet: it is cut "
						   "off");
}

static int read_pass(struct perfetto_import *import, struct import_source *source)
{
	struct wire_packets packets;
	struct wire message;
	int status, error = 0;

	perfetto_sequences_clear(&import->sequences);
	import->inflated = 0;
	import->sequences.target = import->pass == PASS_CALLS ? import->target : NULL;
	wire_packets_init(&packets, source);
	while (!error && (status = wire_packets_next(&packets, &message)) != 0)
		error = status < 0 ? status : on_packet(import, message, packets.byte);
	if (!error)
		error = end_pass(import);
	if (!error && import->pass == PASS_CALLS)
		note_file(import, &packets);
	wire_packets_fini(&packets);
	return error;
}

/* Times of the first pass are in the primary clock. */
static int set_clock(struct perfetto_import *import)
{
	int64_t zero_ns;

	return perfetto_clocks_utc(&import->clocks, &zero_ns)
		       ? import_target_clock(import->target, IMPORT_CLOCK_UTC, zero_ns)
		       : 0;
}

/* All commands are known, so the memory for their calls is never moved. */
static int begin_calls(struct perfetto_import *import)
{
	import->calls = calloc((size_t)import->calls_count + 1, sizeof(*import->calls));
	return import->calls ? set_clock(import) : -ENOMEM;
}

static int read_passes(struct perfetto_import *import, struct import_source *source)
{
	int error = 0;

	for (; import->pass < PASS_COUNT && !error; import->pass++) {
		if (import->pass != PASS_TRACKS)
			error = import_source_rewind(source);
		if (!error && import->pass == PASS_CALLS)
			error = begin_calls(import);
		if (!error)
			error = read_pass(import, source);
	}
	if (!error && !import->counts.packets && !import->faults.count)
		return error_set(-EBADMSG, "expected packets with track events, samples or "
					   "switches, found none");
	return error ? error : import_faults_end(&import->faults, import->counts.packets, "packet");
}

static void add_notes(struct perfetto_import *import)
{
	const struct perfetto_counts *counts = &import->counts;
	struct import_target *target = import->target;

	import_target_note(target, "times are the file's own; losses of its recording are not "
				   "known");
	import_target_note_count(target, counts->made_up, "command", "commands",
				 "without a call: duet adds a launch of no duration");
	import_target_note_count(target, counts->unbalanced, "slice", "slices",
				 "without begin or end event");
	import_target_note_count(target, counts->too_deep, "slice", "slices",
				 "left out: more than 32768 were open");
	import_target_note_count(target, counts->unplaced, "packet", "packets",
				 "left out: no clock snapshot relates their clock");
	import_target_note_count(target, counts->instants, "instant", "instants", "left out");
	import_target_note_count(target, counts->losses, "loss", "losses",
				 "that the first recording reports left out");
	import_target_note_count(target, counts->rounded, "counter value", "counter values",
				 "rounded to whole numbers");
	import_target_note_count(target, counts->other_packets, "packet", "packets",
				 "with other data left out");
}

static void import_fini(struct perfetto_import *import)
{
	perfetto_sequences_fini(&import->sequences);
	perfetto_clocks_fini(&import->clocks);
	perfetto_tracks_fini(&import->tracks);
	perfetto_roles_fini(&import->roles);
	pair_map_fini(&import->keys);
	free(import->calls);
	open_slices_fini(&import->open);
}

enum { MAX_OPEN = 32768 };

static int read_perfetto(struct import_source *source, struct import_target *target)
{
	struct perfetto_import import = {
		.target = target, .source = source, .faults = {target, "packet", "packets"}};
	int error;

	perfetto_sequences_init(&import.sequences);
	open_slices_init(&import.open, sizeof(struct perfetto_slice), MAX_OPEN);
	perfetto_clocks_init(&import.clocks);
	perfetto_tracks_init(&import.tracks, &import.sequences, target);
	error = import_target_text(target, ABSENT_CALL, &import.absent);
	if (!error)
		error = read_passes(&import, source);
	if (!error)
		add_notes(&import);
	import_fini(&import);
	return error;
}

/* Whether the file begins with a packet that has only fields of packets. */
static bool recognize_perfetto(const struct import_probe *probe)
{
	struct wire file = {.at = (const uint8_t *)probe->bytes,
			    .end = (const uint8_t *)probe->bytes + probe->size};
	struct wire_field packet, field;
	struct wire message;
	size_t fields = 0;

	if (!wire_next(&file, &packet) || packet.number != PF_TRACE_PACKET ||
	    packet.type != WIRE_BYTES)
		return false;
	message = wire_inside(&packet);
	while (wire_next(&message, &field)) {
		bool is_number = field.number == PF_TRACE_PACKET_TIMESTAMP ||
				 field.number == PF_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID;

		if (!field.number || field.number > 3000 ||
		    (is_number && field.type != WIRE_VARINT))
			return false;
		fields += is_number || field.number == PF_TRACE_PACKET_CLOCK_SNAPSHOT ||
			  field.number == PF_TRACE_PACKET_TRACK_DESCRIPTOR;
	}
	return fields && !message.is_bad;
}

const struct importer import_perfetto = {
	.name = "perfetto",
	.help = "Perfetto's native format (.pftrace): rocprofv3, duet, track events of other "
		"programs",
	.read = read_perfetto,
	.recognize = recognize_perfetto,
};
