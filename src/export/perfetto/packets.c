/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/packets.c - write packets of Perfetto's trace format into a file
 *
 * Runs in:  our own process
 * Gets:     events and their arguments
 * Gives:    packets in a file
 * Owns:     unwritten packets (at most 64 KiB and one more), the texts that have numbers
 * Fails:    -ENOMEM, -errno of the file
 * Why numbers for texts: a trace of 10^6 events has some 100 different names. A slice takes 160
 *           bytes with its names as texts, and 60 with numbers. Argument and category names are few
 *           and known, so they have fixed numbers and are all in the first packet.
 */
#include "export/perfetto/packets.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/file/stream.h"
#include "export/exporter.h"
#include "perfetto_trace.numbers.h"

#define FLUSH_BYTES ((size_t)64 << 10)

static const char *const categories[] = {
	[CATEGORY_API] = "api",         [CATEGORY_LAUNCH] = "launch",
	[CATEGORY_WAIT] = "wait",       [CATEGORY_KERNEL] = "kernel",
	[CATEGORY_COPY] = "copy",       [CATEGORY_OTHER] = "other",
	[CATEGORY_OFF_CPU] = "off-cpu", [CATEGORY_REJECTED] = "rejected",
	[CATEGORY_LOSS] = "loss",       [CATEGORY_META] = "duet",
	[CATEGORY_RANGE] = "range",
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
	[KEY_NOT_EXECUTED] = "not_executed",
	[KEY_CONTRADICTIONS] = "contradictions",
	[KEY_IN_FLIGHT] = "in_flight_at_exit",
	[KEY_UNTIMED] = "untimed",
	[KEY_UNPLACED] = "unplaced",
	[KEY_ORPHANED] = "orphaned",
	[KEY_TRUNCATED] = "truncated",
	[KEY_DAMAGED_CHUNKS] = "damaged_chunks",
	[KEY_LEFT_OUT] = "left_out_ns",
	[KEY_FUNCTION] = "function",
	[KEY_HOLDER] = "holder",
	[KEY_DOMAIN] = "domain",
	[KEY_OPEN] = "open",
	[KEY_UNBEGUN] = "unbegun",
	[KEY_FURTHER] = "further",
};

void packets_init(struct packets *packets, FILE *file)
{
	*packets = (struct packets){.file = file};
	protobuf_init(&packets->packet);
	protobuf_init(&packets->texts);
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

uint64_t packets_intern(struct packets *packets, struct string_table *table, unsigned int list,
			const char *text)
{
	uint32_t before = table->count, number = string_table_add(table, text, strlen(text));

	if (!number && *text)
		packets->error = -ENOMEM;
	else if (number > before)
		put_text(packets, list, number, text);
	return number;
}

static uint64_t intern_known(struct packets *packets, struct string_table *table, unsigned int list,
			     const char *text)
{
	struct packets_known *known =
		&packets->known[((uintptr_t)text >> 3 ^ (uintptr_t)text >> 11) % PACKETS_KNOWN];

	if (known->text != text || known->table != table)
		*known = (struct packets_known){text, table,
						packets_intern(packets, table, list, text)};
	return known->number;
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
	protobuf_clear(&packets->texts);
	packets->begin = protobuf_begin(&packets->packet, PF_TRACE_PACKET);
}

int packets_flush(struct packets *packets)
{
	fwrite_unlocked(packets->packet.bytes, 1, packets->packet.size, packets->file);
	protobuf_clear(&packets->packet);
	return stream_flush(packets->file);
}

int packets_end_of(struct packets *packets, uint64_t sequence, bool is_first)
{
	struct protobuf *packet = &packets->packet, *texts = &packets->texts;

	if (texts->size)
		protobuf_bytes(packet, PF_TRACE_PACKET_INTERNED_DATA, texts->bytes, texts->size);
	protobuf_u64(packet, PF_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, sequence);
	protobuf_u64(packet, PF_TRACE_PACKET_SEQUENCE_FLAGS,
		     is_first ? PF_SEQ_INCREMENTAL_STATE_CLEARED : PF_SEQ_NEEDS_INCREMENTAL_STATE);
	if (!packets->error)
		packets->error = packet->error ? packet->error : texts->error;
	if (packets->error)
		return packets->error;
	protobuf_end(packet, packets->begin);
	packets->count++;
	return packet->size < FLUSH_BYTES ? 0 : packets_flush(packets);
}

int packets_end(struct packets *packets)
{
	return packets_end_of(packets, 1, packets->count == 0);
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

void packets_name(struct packets *packets, const char *name)
{
	if (!*name)
		return;
	protobuf_u64(&packets->packet, PF_TRACK_EVENT_NAME_IID,
		     packets_intern(packets, &packets->names, PF_INTERNED_DATA_EVENT_NAMES, name));
}

void packets_known_name(struct packets *packets, const char *name)
{
	if (*name)
		protobuf_u64(
			&packets->packet, PF_TRACK_EVENT_NAME_IID,
			intern_known(packets, &packets->names, PF_INTERNED_DATA_EVENT_NAMES, name));
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

static void put_constant(struct packets *packets, enum packets_key key, uint64_t number)
{
	size_t begin = begin_argument(packets, key);

	protobuf_u64(&packets->packet, PF_DEBUG_ANNOTATION_STRING_VALUE_IID, number);
	protobuf_end(&packets->packet, begin);
}

void packets_constant(struct packets *packets, enum packets_key key, const char *text)
{
	put_constant(packets, key,
		     packets_intern(packets, &packets->values,
				    PF_INTERNED_DATA_DEBUG_ANNOTATION_STRING_VALUES, text));
}

void packets_known(struct packets *packets, enum packets_key key, const char *text)
{
	put_constant(packets, key,
		     intern_known(packets, &packets->values,
				  PF_INTERNED_DATA_DEBUG_ANNOTATION_STRING_VALUES, text));
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
