/* SPDX-License-Identifier: MIT
 *
 * analyze/things.h - the things of one kind by their place in the reader's list
 *
 * Analysis keeps its own array beside each list of things, one item longer: the last item stands
 * for what a row names and the file does not describe.
 */
#ifndef ANALYZE_THINGS_H
#define ANALYZE_THINGS_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct trace_reader;

struct things {
	const char *rows; /* the reader's, sorted by id, which is each row's first field */
	size_t count, size;
};

void things_init(struct things *things, const struct trace_reader *reader, enum event_kind kind);

/* Where `id` is; things->count where it is not. O(1) for ids without holes, else O(log n). */
size_t things_index(const struct things *things, uint32_t id);

/* The row at an index; NULL for things->count. */
const void *things_row(const struct things *things, size_t index);

#endif
