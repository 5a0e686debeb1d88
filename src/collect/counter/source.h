/* SPDX-License-Identifier: MIT
 *
 * collect/counter/source.h - a source of counters: a file of the kernel that is read repeatedly
 *
 * A source is one file, and one row in its collector's table. It opens everything before the first
 * tick; a tick allocates nothing. Parsers are pure functions of a text and its length.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "collect/counter/counter_choice.h"
#include "collect/counter/metric_instances.h"
#include "collect/start/rights.h"

struct sampler;
struct tracked;

/* Each group has a thread of its own, so that a slow one delays no other. */
enum group_id {
	GROUP_MACHINE,   /* files of the whole machine that are produced from memory */
	GROUP_PROCESSES, /* files of each recorded process */
	/* Files that may wait for firmware, other processors, or another process's lock. */
	GROUP_SLOW,
	GROUP_COUNT
};

/* Context of a read. */
struct tick {
	const char *root; /* prefix of /proc and /sys; "": the real ones */
	struct tracked *tracked;
	const pid_t *pids; /* running processes that the user gave */
	size_t pids_count; /* 0: none */
	struct series *series;
	char *text; /* buffer of tick_read */
	size_t text_bytes;
	size_t length;                       /* bytes of the text that was read last */
	uint64_t time_ns;                    /* time at which the kernel produced the last text */
	const struct sampler *sampler;       /* the sampler of this tick */
	void *context;                       /* context of all sources of a collector */
	const struct counter_choice *choice; /* instances that the user chose */
};

/* State of an open source. */
struct source_state {
	const struct source *source;
	struct metric_instances instances;
	void *own;
	uint64_t divisor,
		ticks;   /* the source reads at every divisor-th tick of its group; ticks so far */
	const char *why; /* why existing files could not be read; NULL: no reason */
};

struct source {
	const char *name; /* name of the group of metrics: "cpu", "disk" */
	const char *file; /* file name as a user would look for it */
	const struct metric *metrics;
	size_t metrics_count;
	enum group_id group;
	uint32_t max_hz; /* reading it faster gives no more data; 0: no limit */
	/* Limit of the rate if the user gives the metric none of its own; 0: max_hz. */
	uint32_t usual_max_hz;
	/* Max rate of a source that another thread than a sampler's reads; 0: not such a source. */
	uint32_t own_hz;
	/* `read` is called at each tick and decides itself which instance is due, counted from its
	 * start. */
	bool is_paced;
	size_t max_instances;
	size_t own_bytes; /* size of own, which is zeroed */
	bool by_request;  /* read only with --collect system:NAME */
	/* False: nothing to read; the source is left out. */
	bool (*open)(struct source_state *state, const struct tick *tick);
	void (*read)(struct source_state *state, struct tick *tick);
	/* For a `read` that reads each instance alike: sets the values of one, and returns as bits
	 * which were found. index: the place of a process, or a device. If only the text matters,
	 * parse does it instead. */
	uint64_t (*read_one)(struct source_state *state, struct tick *tick, size_t index,
			     uint64_t *values);
	uint64_t (*parse)(const char *text, size_t length, uint64_t *values);
	const char *refused; /* note for a process whose file may not be read; NULL: no note */
	void (*close)(
		struct source_state *state); /* frees what open allocated; NULL: nothing to free */
};

/* A collector's sources, in the order of reading. */
struct source_list {
	const struct source *const *all;
	size_t count;
	/* Rights of the samplers' threads; a vendor's driver may need more than /proc does. */
	enum rights_kept rights;
};

/* The cost of duet itself: a member of every list (self_metrics.c). */
extern const struct source own_source;

/* Opens a file below the root; -1: missing or not readable (errno). */
int tick_open(const struct tick *tick, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Reads a whole file from its start into tick->text and sets tick->time_ns. Returns its length; -1
 * with errno. */
long tick_read(struct tick *tick, int fd);

/* Whether a name of `length` bytes matches one of the patterns; tick->choice has them. */
bool tick_wants(const struct name_patterns *patterns, const char *name, size_t length);

/* The state of a source that is one file with one reading. */
struct one_file {
	int fd;
};
bool one_file_open(struct source_state *state, const struct tick *tick);
void one_file_close(struct source_state *state);
/* Reads a source with a single instance. */
void one_file_read(struct source_state *state, struct tick *tick);
#define ONE_FILE_SOURCE(parser)                                                          \
	.max_instances = 1, .own_bytes = sizeof(struct one_file), .open = one_file_open, \
	.read = one_file_read, .parse = (parser), .close = one_file_close

/* The values of one instance, by the source's parse or read_one. */
static inline uint64_t source_values(struct source_state *state, struct tick *tick, size_t index,
				     uint64_t *values)
{
	const struct source *source = state->source;

	return source->parse ? source->parse(tick->text, tick->length, values)
			     : source->read_one(state, tick, index, values);
}

#define SOURCE_METRICS(table) .metrics = (table), .metrics_count = ARRAY_COUNT(table)
