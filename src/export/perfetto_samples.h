/* SPDX-License-Identifier: MIT
 *
 * export/perfetto_samples.h - samples of CPUs with their stacks, as packets of Perfetto
 *
 * Samples of one event are a sequence of packets of their own, behind that of the timeline (1): a sequence says once
 * what was sampled, and numbers its own texts, frames and stacks.
 */
#ifndef EXPORT_PERFETTO_SAMPLES_H
#define EXPORT_PERFETTO_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "export/profile.h"

struct event_cpu_sample;
struct export_options;
struct model;
struct packets;
struct samples_stream;

struct samples {
	const struct model *model; /* borrowed */
	struct packets *packets;   /* borrowed */
	struct profile profile;    /* names, no analysis */
	struct samples_stream *streams;
	size_t streams_count, streams_capacity;
	struct hash_map by_source; /* string id -> index */
};

/* -ENOMEM. */
int samples_init(struct samples *samples, const struct model *model,
		 const struct export_options *options, struct packets *packets);
void samples_fini(struct samples *samples); /* NULL-safe, half-built-safe */

/* -ENOMEM, errors of writing. */
int samples_write(struct samples *samples, const struct event_cpu_sample *row);

/* The innermost function of the program in a stack, else of all; *ret_function is NULL where none is known. It lives as
 * long as the samples. -ENOMEM. */
int samples_name(struct samples *samples, uint32_t stack, const char **ret_function);

#endif
