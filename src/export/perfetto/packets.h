/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/packets.h - write packets of Perfetto's trace format into a file
 *
 * Packets of events belong to one sequence; repeated texts are written once and referred to by
 * number. An event is built piece by piece between packets_event_begin and packets_event_end.
 * Errors are kept and returned at the end of a packet.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/hash.h"
#include "export/common/protobuf.h"

enum packets_category {
	CATEGORY_API = 1,
	CATEGORY_LAUNCH,
	CATEGORY_WAIT,
	CATEGORY_OFF_CPU,
	CATEGORY_KERNEL,
	CATEGORY_COPY,
	CATEGORY_OTHER,
	CATEGORY_REJECTED,
	CATEGORY_LOSS,
	CATEGORY_META,
	CATEGORY_RANGE,
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
	KEY_NOT_EXECUTED,
	KEY_CONTRADICTIONS,
	KEY_IN_FLIGHT,
	KEY_UNTIMED,
	KEY_UNPLACED,
	KEY_ORPHANED,
	KEY_TRUNCATED,
	KEY_DAMAGED_CHUNKS,
	KEY_LEFT_OUT,
	KEY_FUNCTION,
	KEY_HOLDER,
	KEY_DOMAIN,
	KEY_OPEN,
	KEY_UNBEGUN,
	KEY_FURTHER,
	KEY_COUNT
};

/* A cache entry: the number of a text. */
struct packets_known {
	const char *text; /* NULL: none */
	const struct string_table *table;
	uint64_t number;
};
enum { PACKETS_KNOWN = 256 };

struct packets {
	FILE *file;
	struct protobuf packet; /* unwritten complete packets, then the current one */
	struct protobuf texts;  /* InternedData of the packet */
	struct string_table names, values;
	struct packets_known known[PACKETS_KNOWN]; /* cache of recent texts, by address */
	/* offsets of the current packet, its event and the open group; nested 0: none */
	size_t begin, event, nested;
	uint64_t count;
	int error;
};

/* file is borrowed. packets_start writes the first packet of the sequence. */
void packets_init(struct packets *packets, FILE *file);
void packets_fini(struct packets *packets); /* NULL-safe */
int packets_start(struct packets *packets);
/* To be called after the last packet. Errors: those of stream_flush. */
int packets_flush(struct packets *packets);

/* A packet of any type: its fields go into packets->packet, new interned texts into
 * packets->texts. */
void packets_begin(struct packets *packets);
int packets_end(struct packets *packets);
/* Ends a packet of another sequence than that of events (1). */
int packets_end_of(struct packets *packets, uint64_t sequence, bool is_first);

/* The number of a text in a list of InternedData; a new text is written with the packet. 0 for an
 * empty text. */
uint64_t packets_intern(struct packets *packets, struct string_table *table, unsigned int list,
			const char *text);

/* type: PF_TYPE_…; name "": none. */
void packets_event_begin(struct packets *packets, uint64_t time_ns, unsigned int type,
			 uint64_t track);
void packets_name(struct packets *packets, const char *name);
/* The same for a text whose address stays valid until packets_fini: its number is cached by
 * address. */
void packets_known_name(struct packets *packets, const char *name);
void packets_category(struct packets *packets, enum packets_category category);
int packets_event_end(struct packets *packets);

/* Arguments of the event. packets_constant is for texts with few values; each is written once. */
void packets_u64(struct packets *packets, enum packets_key key, uint64_t value);
void packets_i64(struct packets *packets, enum packets_key key, int64_t value);
void packets_bool(struct packets *packets, enum packets_key key, bool value);
void packets_text(struct packets *packets, enum packets_key key, const char *text);
void packets_constant(struct packets *packets, enum packets_key key, const char *text);
/* The same for a text whose address stays valid until packets_fini. */
void packets_known(struct packets *packets, enum packets_key key, const char *text);

/* Arguments up to packets_group_end are inside this one; groups do not nest. */
void packets_group_begin(struct packets *packets, enum packets_key key);
void packets_group_end(struct packets *packets);
