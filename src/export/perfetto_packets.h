/* SPDX-License-Identifier: MIT
 *
 * export/perfetto_packets.h - packets of Perfetto's trace format, one after the other into a file
 *
 * All packets belong to one sequence; texts that repeat are written once and named by number. An
 * event is built piece by piece between packets_event_begin and packets_event_end. Errors are
 * remembered and returned where a packet ends.
 */
#ifndef EXPORT_PERFETTO_PACKETS_H
#define EXPORT_PERFETTO_PACKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/hash.h"
#include "export/protobuf.h"

enum packets_category {
	CATEGORY_API = 1,
	CATEGORY_LAUNCH,
	CATEGORY_WAIT,
	CATEGORY_KERNEL,
	CATEGORY_COPY,
	CATEGORY_OTHER,
	CATEGORY_REJECTED,
	CATEGORY_LOSS,
	CATEGORY_META,
	CATEGORY_COUNT
};

/* Names of arguments. */
enum packets_key {
	KEY_CORRELATION = 1,
	KEY_COMMAND,
	KEY_RESULT,
	KEY_ARGUMENT,
	KEY_BYTES,
	KEY_GLOBAL,
	KEY_LOCAL,
	KEY_NO_EXECUTION,
	KEY_NO_LAUNCH,
	KEY_ENTER_TO_STARTED,
	KEY_QUEUED_TO_SUBMITTED,
	KEY_SUBMITTED_TO_STARTED,
	KEY_STATUS,
	KEY_IMPOSSIBLE,
	KEY_ESTIMATED,
	KEY_COUNT_LOST,
	KEY_REASON,
	KEY_DURATION,
	KEY_PID,
	KEY_METHOD,
	KEY_IS,
	KEY_OFFSET,
	KEY_DRIFT,
	KEY_ERROR,
	KEY_BOUNDS,
	KEY_VIOLATIONS,
	KEY_STATE,
	KEY_HOST,
	KEY_KERNEL_RELEASE,
	KEY_CPU,
	KEY_BOOT_ID,
	KEY_RECORDED,
	KEY_COMPLETE,
	KEY_LEDGER,
	KEY_LAUNCHED,
	KEY_EXECUTED,
	KEY_MATCHED,
	KEY_DROPPED,
	KEY_REJECTED,
	KEY_IN_FLIGHT,
	KEY_UNTIMED,
	KEY_UNPLACED,
	KEY_ORPHANED,
	KEY_TRUNCATED,
	KEY_DAMAGED_CHUNKS,
	KEY_LEFT_OUT,
	KEY_COUNT
};

struct packets {
	FILE *file;
	struct protobuf packet, texts; /* texts: InternedData of the packet that is being built */
	struct string_table names, values;
	size_t event, nested; /* where they begin in the packet; nested 0: none */
	uint64_t count;
	int error;
};

/* file is borrowed. The packet that every sequence begins with is written by packets_start. */
void packets_init(struct packets *packets, FILE *file);
void packets_fini(struct packets *packets); /* NULL-safe */
int packets_start(struct packets *packets);

/* Any packet: fields go into packets->packet. */
void packets_begin(struct packets *packets);
int packets_end(struct packets *packets);

/* type: PF_TYPE_…; name "": none. */
void packets_event_begin(struct packets *packets, uint64_t time_ns, unsigned int type,
			 uint64_t track);
void packets_name(struct packets *packets, const char *name);
void packets_category(struct packets *packets, enum packets_category category);
int packets_event_end(struct packets *packets);

/* Arguments of the event. A constant text is one of few and is written once. */
void packets_u64(struct packets *packets, enum packets_key key, uint64_t value);
void packets_i64(struct packets *packets, enum packets_key key, int64_t value);
void packets_bool(struct packets *packets, enum packets_key key, bool value);
void packets_text(struct packets *packets, enum packets_key key, const char *text);
void packets_constant(struct packets *packets, enum packets_key key, const char *text);

/* Arguments up to packets_group_end are inside this one; groups do not nest. */
void packets_group_begin(struct packets *packets, enum packets_key key);
void packets_group_end(struct packets *packets);

#endif
