/* SPDX-License-Identifier: MIT
 *
 * export/perfetto_packets.c - packets of Perfetto's trace format, one after the other into a file
 *
 * Runs in:  our own process
 * Gets:     events and their arguments   Gives: packets in a file
 * Owns:     the packet that is being built and the texts that have a number
 * Fails:    -ENOMEM, -errno of the file
 * Why numbers for texts: a trace of 10^6 events has some 100 different names. With each name in each
 *           event a slice takes 160 bytes, with numbers 60. Names of arguments and categories are
 *           few and known, so they have fixed numbers and are all in the first packet.
 */
#include "export/perfetto_packets.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "export/exporter.h"
#include "export/perfetto_schema.h"

#define FLUSH_PACKETS 4096

static const char *const categories[] = {
	[CATEGORY_API] = "api",           [CATEGORY_LAUNCH] = "launch", [CATEGORY_WAIT] = "wait",
	[CATEGORY_KERNEL] = "kernel",     [CATEGORY_COPY] = "copy",     [CATEGORY_OTHER] = "other",
	[CATEGORY_REJECTED] = "rejected", [CATEGORY_LOSS] = "loss",     [CATEGORY_META] = "duet",
};

static const char *const keys[] = {
	[KEY_CORRELATION] = "correlation",
	[KEY_COMMAND] = "command",
	[KEY_RESULT] = "result",
	[KEY_ARGUMENT] = "argument",
	[KEY_BYTES] = "bytes",
	[KEY_GLOBAL] = "global_size",
	[KEY_LOCAL] = "local_size",
	[KEY_NO_EXECUTION] = "no_execution",
	[KEY_NO_LAUNCH] = "no_launch",
	[KEY_ENTER_TO_STARTED] = "enter_to_started_ns",
	[KEY_QUEUED_TO_SUBMITTED] = "queued_to_submitted_ns",
	[KEY_SUBMITTED_TO_STARTED] = "submitted_to_started_ns",
	[KEY_STATUS] = "status",
	[KEY_IMPOSSIBLE] = "impossible",
	[KEY_ESTIMATED] = "estimated",
	[KEY_COUNT_LOST] = "count",
	[KEY_REASON] = "reason",
	[KEY_DURATION] = "duration_ns",
	[KEY_PID] = "pid",
	[KEY_METHOD] = "method",
	[KEY_IS] = "is",
	[KEY_OFFSET] = "offset_ns",
	[KEY_DRIFT] = "drift_ppb",
	[KEY_ERROR] = "error_ns",
	[KEY_BOUNDS] = "bounds",
	[KEY_VIOLATIONS] = "violations",
	[KEY_STATE] = "state",
	[KEY_HOST] = "host",
	[KEY_KERNEL_RELEASE] = "kernel_release",
	[KEY_CPU] = "cpu",
	[KEY_BOOT_ID] = "boot_id",
	[KEY_RECORDED] = "recorded_ns",
	[KEY_COMPLETE] = "complete",
	[KEY_LEDGER] = "ledger",
	[KEY_LAUNCHED] = "launched",
	[KEY_EXECUTED] = "executed",
	[KEY_MATCHED] = "matched",
	[KEY_DROPPED] = "dropped",
	[KEY_REJECTED] = "rejected",
	[KEY_IN_FLIGHT] = "in_flight_at_exit",
	[KEY_UNTIMED] = "untimed",
	[KEY_UNPLACED] = "unplaced",
	[KEY_ORPHANED] = "orphaned",
	[KEY_TRUNCATED] = "truncated",
	[KEY_DAMAGED_CHUNKS] = "damaged_chunks",
	[KEY_LEFT_OUT] = "left_out_ns",
};

void packets_init(struct packets *packets, FILE *file)
{
	*packets = (struct packets){.file = file};
	protobuf_init(&packets->packet);
	protobuf_init(&packets->texts);
	string_table_init(&packets->names);
	string_table_init(&packets->values);
}

void packets_fini(struct packets *packets)
{
	if (!packets)
		return;
	protobuf_fini(&packets->packet);
	protobuf_fini(&packets->texts);
	string_table_fini(&packets->names);
	string_table_fini(&packets->values);
}

static void put_text(struct packets *packets, unsigned int list, uint64_t number, const char *text)
{
	size_t entry = protobuf_begin(&packets->texts, list);

	protobuf_u64(&packets->texts, PF_EVENT_NAME_IID, number);
	protobuf_text(&packets->texts, PF_EVENT_NAME_NAME, text);
	protobuf_end(&packets->texts, entry);
}

int packets_start(struct packets *packets)
{
	struct protobuf *packet = &packets->packet;
	size_t defaults;

	packets_begin(packets);
	protobuf_u64(packet, PF_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE, 1);
	defaults = protobuf_begin(packet, PF_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
	protobuf_u64(packet, PF_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID,
		     PF_BUILTIN_CLOCK_MONOTONIC);
	protobuf_end(packet, defaults);
	for (unsigned int i = 1; i < CATEGORY_COUNT; i++)
		put_text(packets, PF_INTERNED_DATA_EVENT_CATEGORIES, i, categories[i]);
	for (unsigned int i = 1; i < KEY_COUNT; i++)
		put_text(packets, PF_INTERNED_DATA_DEBUG_ANNOTATION_NAMES, i, keys[i]);
	return packets_end(packets);
}

void packets_begin(struct packets *packets)
{
	protobuf_clear(&packets->packet);
	protobuf_clear(&packets->texts);
}

/* The length stands before the packet and is known only now. */
static int write_packet(struct packets *packets)
{
	const struct protobuf *packet = &packets->packet;
	uint64_t size = packet->size;

	putc_unlocked(PF_TRACE_PACKET << 3 | 2, packets->file);
	for (; size >= 0x80; size >>= 7)
		putc_unlocked((int)(size & 0x7f) | 0x80, packets->file);
	putc_unlocked((int)size, packets->file);
	fwrite_unlocked(packet->bytes, 1, packet->size, packets->file);
	if (++packets->count % FLUSH_PACKETS == 0 || ferror_unlocked(packets->file))
		return export_flush(packets->file);
	return 0;
}

int packets_end(struct packets *packets)
{
	struct protobuf *packet = &packets->packet, *texts = &packets->texts;
	bool is_first = packets->count == 0;

	if (texts->size)
		protobuf_bytes(packet, PF_TRACE_PACKET_INTERNED_DATA, texts->bytes, texts->size);
	protobuf_u64(packet, PF_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, 1);
	protobuf_u64(packet, PF_TRACE_PACKET_SEQUENCE_FLAGS,
		     is_first ? PF_SEQ_INCREMENTAL_STATE_CLEARED : PF_SEQ_NEEDS_INCREMENTAL_STATE);
	if (!packets->error)
		packets->error = packet->error ? packet->error : texts->error;
	return packets->error ? packets->error : write_packet(packets);
}

void packets_event_begin(struct packets *packets, uint64_t time_ns, unsigned int type,
			 uint64_t track)
{
	struct protobuf *packet = &packets->packet;

	packets_begin(packets);
	protobuf_u64(packet, PF_TRACE_PACKET_TIMESTAMP, time_ns);
	packets->event = protobuf_begin(packet, PF_TRACE_PACKET_TRACK_EVENT);
	protobuf_u64(packet, PF_TRACK_EVENT_TYPE, type);
	protobuf_u64(packet, PF_TRACK_EVENT_TRACK_UUID, track);
}

int packets_event_end(struct packets *packets)
{
	protobuf_end(&packets->packet, packets->event);
	return packets_end(packets);
}

/* The number of a text, which is new to the file where it is the largest so far. */
static uint64_t number_of(struct packets *packets, struct string_table *table, unsigned int list,
			  const char *text)
{
	uint32_t before = table->count, number = string_table_add(table, text, strlen(text));

	if (!number)
		packets->error = -ENOMEM;
	else if (number > before)
		put_text(packets, list, number, text);
	return number;
}

void packets_name(struct packets *packets, const char *name)
{
	if (!*name)
		return;
	protobuf_u64(&packets->packet, PF_TRACK_EVENT_NAME_IID,
		     number_of(packets, &packets->names, PF_INTERNED_DATA_EVENT_NAMES, name));
}

void packets_category(struct packets *packets, enum packets_category category)
{
	protobuf_u64(&packets->packet, PF_TRACK_EVENT_CATEGORY_IIDS, category);
}

/* ---- arguments ---- */

static size_t begin_argument(struct packets *packets, enum packets_key key)
{
	size_t begin = protobuf_begin(&packets->packet, packets->nested
								? PF_DEBUG_ANNOTATION_DICT_ENTRIES
								: PF_TRACK_EVENT_DEBUG_ANNOTATIONS);

	protobuf_u64(&packets->packet, PF_DEBUG_ANNOTATION_NAME_IID, key);
	return begin;
}

void packets_u64(struct packets *packets, enum packets_key key, uint64_t value)
{
	size_t begin = begin_argument(packets, key);

	protobuf_u64(&packets->packet, PF_DEBUG_ANNOTATION_UINT_VALUE, value);
	protobuf_end(&packets->packet, begin);
}

void packets_i64(struct packets *packets, enum packets_key key, int64_t value)
{
	size_t begin = begin_argument(packets, key);

	protobuf_i64(&packets->packet, PF_DEBUG_ANNOTATION_INT_VALUE, value);
	protobuf_end(&packets->packet, begin);
}

void packets_bool(struct packets *packets, enum packets_key key, bool value)
{
	size_t begin = begin_argument(packets, key);

	protobuf_u64(&packets->packet, PF_DEBUG_ANNOTATION_BOOL_VALUE, value);
	protobuf_end(&packets->packet, begin);
}

void packets_text(struct packets *packets, enum packets_key key, const char *text)
{
	size_t begin = begin_argument(packets, key);

	protobuf_text(&packets->packet, PF_DEBUG_ANNOTATION_STRING_VALUE, text);
	protobuf_end(&packets->packet, begin);
}

void packets_constant(struct packets *packets, enum packets_key key, const char *text)
{
	size_t begin = begin_argument(packets, key);
	uint64_t number = number_of(packets, &packets->values,
				    PF_INTERNED_DATA_DEBUG_ANNOTATION_STRING_VALUES, text);

	protobuf_u64(&packets->packet, PF_DEBUG_ANNOTATION_STRING_VALUE_IID, number);
	protobuf_end(&packets->packet, begin);
}

void packets_group_begin(struct packets *packets, enum packets_key key)
{
	packets->nested = begin_argument(packets, key);
}

void packets_group_end(struct packets *packets)
{
	protobuf_end(&packets->packet, packets->nested);
	packets->nested = 0;
}
