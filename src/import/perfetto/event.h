/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/event.h - an event of a track: slice, instant or counter, with its arguments
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "import/perfetto/sequences.h"
#include "import/perfetto/wire.h"

/* Categories whose events have a meaning for duet: those of duet and of rocprofv3. */
enum perfetto_category {
	PERFETTO_API = 1 << 0,    /* duet's and rocprofv3's: hip_api, hsa_api, … */
	PERFETTO_LAUNCH = 1 << 1, /* this and those to PERFETTO_META are duet's */
	PERFETTO_WAIT = 1 << 2,
	PERFETTO_OFF_CPU = 1 << 3,
	PERFETTO_REJECTED = 1 << 4,
	PERFETTO_LOSS = 1 << 5,
	PERFETTO_META = 1 << 6,
	PERFETTO_RANGE = 1 << 7,  /* duet's range and rocprofv3's marker_api */
	PERFETTO_KERNEL = 1 << 8, /* a command: this and the following ones */
	PERFETTO_COPY = 1 << 9,
	PERFETTO_OTHER = 1 << 10,
	PERFETTO_ROCPROF = 1 << 11, /* the category is one of rocprofv3 */
};
#define PERFETTO_COMMAND (PERFETTO_KERNEL | PERFETTO_COPY | PERFETTO_OTHER | PERFETTO_REJECTED)

enum perfetto_argument {
	ARGUMENT_NONE,
	ARGUMENT_CORRELATION,
	ARGUMENT_AGENT,
	ARGUMENT_AGENT_TYPE,
	ARGUMENT_SOURCE,
	ARGUMENT_DESTINATION,
	ARGUMENT_QUEUE,
	ARGUMENT_STREAM,
	ARGUMENT_GRID,
	ARGUMENT_GROUP,
	ARGUMENT_GLOBAL,
	ARGUMENT_LOCAL,
	ARGUMENT_BYTES,
	ARGUMENT_RESULT,
	ARGUMENT_ARGUMENT,
	ARGUMENT_STATUS,
	ARGUMENT_COMMAND,
	ARGUMENT_DOMAIN,
	ARGUMENT_NO_LAUNCH,
	ARGUMENT_NO_EXECUTION,
	ARGUMENT_QUEUED_TO_SUBMITTED,
	ARGUMENT_SUBMITTED_TO_STARTED,
	ARGUMENT_OPEN,
	ARGUMENT_UNBEGUN,
	ARGUMENT_FURTHER,
	ARGUMENT_COUNT
};

struct perfetto_value {
	bool is_known;
	uint32_t text; /* 0: a number */
	int64_t number;
};

struct perfetto_event {
	uint64_t track, time_ns;
	uint64_t type;       /* PF_TYPE_… */
	int64_t duration_ns; /* a legacy event's whole slice; -1: none */
	uint32_t name;       /* text */
	uint32_t categories; /* enum perfetto_category */
	uint64_t flow;       /* 0: none */
	bool has_value;      /* a counter */
	double value;
	int64_t whole_value; /* used instead if is_whole */
	bool is_whole;
	struct perfetto_value arguments[ARGUMENT_COUNT];
};

/* The meaning of keys and categories, by text. */
struct perfetto_roles {
	uint16_t *categories, *arguments; /* 0: not asked yet; otherwise the meaning plus 1 */
	size_t categories_capacity, arguments_capacity;
};

void perfetto_roles_fini(struct perfetto_roles *roles);

/* Reads a TrackEvent; time and track are set by the caller before, from the packet and the
 * defaults. Errors: -ENOMEM, -EFBIG with a text. */
int perfetto_event_read(struct perfetto_event *event, struct perfetto_roles *roles,
			struct perfetto_sequences *sequences,
			const struct perfetto_sequence *sequence, struct wire message);
