/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/samples.h - write CPU samples with their stacks as packets of Perfetto
 *
 * The samples of one event form a packet sequence of their own, after that of the timeline (1). A
 * sequence states the sampled event once, and has its own numbers for texts, frames and stacks.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "export/common/profile.h"

struct event_cpu_sample;
struct output_options;
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

/* Errors: -ENOMEM. */
int samples_init(struct samples *samples, const struct model *model,
		 const struct output_options *options, struct packets *packets);
void samples_fini(struct samples *samples); /* NULL-safe, half-built-safe */

/* Errors: -ENOMEM, errors of writing. */
int samples_write(struct samples *samples, const struct event_cpu_sample *row);

/* The innermost function of a stack that is the program's own, otherwise the innermost of all.
 * *ret_function is NULL if none is known; it is valid until samples_fini. Errors: -ENOMEM. */
int samples_name(struct samples *samples, uint32_t stack, const char **ret_function);
