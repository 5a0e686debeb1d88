/* SPDX-License-Identifier: MIT
 *
 * collect/things.h - what a source counts things of, and what it read of each the last time
 *
 * A source knows files; this knows what a reading becomes: a level, what came since the reading before, a part of what
 * came. What was not read is absent, and what comes after that begins anew.
 */
#ifndef COLLECT_THINGS_H
#define COLLECT_THINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/series.h"

struct reading {
	uint64_t value, of;
	uint64_t time_ns; /* 0: there was none */
	uint32_t slot;
};

struct thing {
	char name[SERIES_NAME_BYTES]; /* by which its source finds it again, with … */
	uint64_t key;
	struct series_of of; /* as it is shown: by the same name, if its source knows no better */
	uint64_t round;      /* in which it was seen last; 0: nobody is here */
	struct reading readings[METRICS_MOST];
};

enum { THINGS_NOTE_BYTES = 192 };

struct things {
	const struct metric *metrics; /* borrowed */
	size_t metrics_count;
	const char *file;
	char too_many[THINGS_NOTE_BYTES]; /* what is noted when one more comes */
	struct series *series;            /* borrowed */
	struct thing *all;                /* owned */
	size_t count, most;
	size_t next; /* where the next one is looked for first */
	uint64_t round, interval_ns;
};

/* -ENOMEM. */
int things_open(struct things *things, size_t most);
void things_close(struct things *things); /* NULL-safe */

/* A round sees each thing that is there; who is not seen has ended with it. */
void things_begin_round(struct things *things);
void things_end_round(struct things *things, uint64_t now_ns);

/* By a name, cut where it is too long, or a number; made where it is new. NULL: there are too many, which is counted and
 * noted. */
struct thing *things_named(struct things *things, const char *name, size_t length,
			   bool *ret_is_new);
struct thing *things_numbered(struct things *things, uint64_t key, bool *ret_is_new);

/* What its totals and parts were at since_ns, as far as valid says: what came up to its first reading came from then on. */
void thing_begin(const struct things *things, struct thing *thing, uint64_t since_ns,
		 const uint64_t *values, uint64_t valid);
/* Its totals are known to have been 0 then. */
void thing_was_born(const struct things *things, struct thing *thing, uint64_t since_ns);

/* A reading; valid has a bit for each value that was read. */
void thing_sample(const struct things *things, struct thing *thing, uint64_t now_ns,
		  const uint64_t *values, uint64_t valid);

#endif
