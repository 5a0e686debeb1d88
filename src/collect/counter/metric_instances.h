/* SPDX-License-Identifier: MIT
 *
 * collect/counter/metric_instances.h - the instances of a source (disks, threads, …) and their last
 * readings
 *
 * A source reads files. This file turns a reading into a level, an increase since the last reading,
 * or a share of such an increase. A value that was not read is absent, and the next value that is
 * read starts a new difference.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/counter/series.h"

struct reading {
	uint64_t value, of;
	uint64_t time_ns; /* 0: no reading yet */
	uint32_t slot;
};

struct metric_instance {
	char name[SERIES_NAME_BYTES]; /* name by which the source finds the instance */
	uint64_t key;
	struct series_of of; /* as shown in reports; the same name unless the source sets another */
	uint64_t round;      /* last round in which it was seen; 0: the slot is free */
	struct reading readings[MAX_METRICS];
};

enum { ENTITIES_NOTE_BYTES = 192 };

struct metric_instances {
	const struct metric *metrics; /* borrowed */
	size_t metrics_count;
	uint64_t left_out; /* bits of metrics that have no series */
	const char *file;
	char too_many[ENTITIES_NOTE_BYTES]; /* note for instances above the limit */
	struct series *series;              /* borrowed */
	struct metric_instance *all;        /* owned */
	size_t count, most;
	size_t next; /* start of the next search */
	uint64_t round, interval_ns;
};

/* Errors: -ENOMEM. */
int metric_instances_open(struct metric_instances *instances, size_t most);
void metric_instances_close(struct metric_instances *instances); /* NULL-safe */

/* Between begin and end, a source reads each instance that exists. The others have ended. */
void metric_instances_begin_round(struct metric_instances *instances);
void metric_instances_end_round(struct metric_instances *instances, uint64_t now_ns);

/* Finds or adds an instance, by a name (cut if too long) or by a number. NULL: too many, which is
 * counted and noted. */
struct metric_instance *metric_instances_named(struct metric_instances *instances, const char *name,
					       size_t length, bool *ret_is_new);
struct metric_instance *metric_instances_numbered(struct metric_instances *instances, uint64_t key,
						  bool *ret_is_new);

/* Sets the totals and parts at since_ns, for values whose bit is in `valid`. The first row then
 * covers the time from since_ns on. */
void metric_instance_begin(const struct metric_instances *instances,
			   struct metric_instance *instance, uint64_t since_ns,
			   const uint64_t *values, uint64_t valid);
/* Sets all totals to 0 at since_ns. */
void metric_instance_was_born(const struct metric_instances *instances,
			      struct metric_instance *instance, uint64_t since_ns);

/* Adds a reading; `valid` has a bit per value that was read. */
void metric_instance_sample(const struct metric_instances *instances,
			    struct metric_instance *instance, uint64_t now_ns,
			    const uint64_t *values, uint64_t valid);
