/* SPDX-License-Identifier: MIT
 *
 * collect/source.h - what a source of counters is: a file of the kernel's, read again and again
 *
 * A source is one file and one row in the table of its collector. What it needs is opened before the first tick; a tick allocates
 * nothing. Parsers are functions of a text and its length alone.
 */
#ifndef COLLECT_SOURCE_H
#define COLLECT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/rights.h"
#include "collect/things.h"

struct sampler;
struct tracked;

/* Each has a thread of its own, so that nobody waits for who is slower. */
enum group_id {
	GROUP_MACHINE,   /* files of the whole machine, made of memory */
	GROUP_PROCESSES, /* of each tracked process */
	GROUP_SLOW, /* what may wait for firmware, for other processors, for another process's lock */
	GROUP_COUNT
};

/* What a source may know while it reads. */
struct tick {
	const char *root; /* before /proc and /sys; "": these are the real ones */
	struct tracked *tracked;
	const pid_t *pids; /* running processes that the user named … */
	size_t pids_count; /* … 0: none */
	struct series *series;
	char *text; /* room for a file, tick_read's */
	size_t text_bytes;
	uint64_t time_ns;              /* when the kernel wrote what was read last */
	const struct sampler *sampler; /* whose tick it is */
	void *context;                 /* of all sources of a collector */
};

/* What a source works with. */
struct source_state {
	const struct source *source;
	struct things things;
	void *own;
	uint64_t divisor, ticks; /* it reads with each so-manieth tick of its group; so far */
	const char *why;         /* what it could not read, though it is there; NULL: nothing */
};

struct source {
	const char *name; /* of a group of metrics: "cpu", "disk" */
	const char *file; /* as a person would look for it */
	const struct metric *metrics;
	size_t metrics_count;
	enum group_id group;
	uint32_t most_hz; /* it says no more when it is read more often; 0: it does */
	uint32_t
		own_hz; /* it is read by another thread than a sampler's, so often at most; 0: it is not */
	bool is_paced; /* read is called at each tick, to read each thing that often from when it comes */
	size_t things_most;
	size_t own_bytes; /* of own, zeroed */
	bool by_request;  /* --collect system:NAME alone */
	/* Whether there is something to read: what is not there is no source. */
	bool (*open)(struct source_state *state, const struct tick *tick);
	void (*read)(struct source_state *state, struct tick *tick);
	void (*close)(struct source_state *state); /* of what open opened; NULL: nothing */
};

/* What a collector counts, in the order in which it is read. */
struct source_list {
	const struct source *const *all;
	size_t count;
	enum rights_kept rights; /* a vendor's driver may ask for more than files and /proc do */
};

/* Opens a file below the root; -1: it is not there, or not ours to read (errno). */
int tick_open(const struct tick *tick, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* All of a file from its begin into tick->text, and sets tick->time_ns. Returns its length; -1 with errno. */
long tick_read(struct tick *tick, int fd);

/* Of a source that is one file with one reading: own is its descriptor. */
struct one_file {
	int fd;
};
bool one_file_open(struct source_state *state, const struct tick *tick);
void one_file_close(struct source_state *state);
/* What is read is the only thing there is; parse: values found, as bits. */
void one_file_read(struct source_state *state, struct tick *tick,
		   uint64_t (*parse)(const char *text, size_t length, uint64_t *values));

#define SOURCE_METRICS(table) .metrics = (table), .metrics_count = ARRAY_COUNT(table)

#endif
