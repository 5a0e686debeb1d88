/* SPDX-License-Identifier: MIT
 *
 * trace/copy.h - copy rows of one trace into another that is being written
 *
 * Ids of texts, stacks and entities differ between traces. A copy translates them by the field
 * table: each column knows the kind of the rows whose ids it holds. The source may be read in parts
 * (the segments of a file that is still written): ids of entities are the same in all of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

/* The highest bit of a chunk's source: its rows were copied from another trace, or are about rows
 * that were. */
#define TRACE_COPIED_SOURCE (UINT32_C(1) << 31)

struct trace_copy;
struct trace_reader;
struct trace_writer;

struct trace_copy_options {
	/* Whether to copy an entity; entities that a copied row refers to are copied in any case.
	 * The row has the source's ids. NULL: all are. */
	bool (*has_entity)(void *context, enum event_kind kind, const void *row);
	/* Returns the id in the target for an entity that was met for the first time. The row has
	 * the target's ids and texts already, except its own id, and it may be changed. 0: the
	 * entity and its rows are left out. */
	uint32_t (*find_id)(void *context, enum event_kind kind, void *row);
	/* Called before a known or new entity is written again; false: the target's own row stays.
	 * NULL: all are written. */
	bool (*update)(void *context, enum event_kind kind, void *row);
	/* Whether to copy a row, which has the target's ids already, and may be changed. NULL: all
	 * are. */
	bool (*has_row)(void *context, enum event_kind kind, void *row);
	void *context;
	bool only_own;  /* rows that were copied into the source themselves are left out */
	uint32_t kinds; /* bit mask of the kinds of rows to copy: 1 << EVENT_API … */
};

/* Errors: -ENOMEM. */
int trace_copy_new(struct trace_writer *target, const struct trace_copy_options *options,
		   struct trace_copy **ret_copy);
void trace_copy_free(struct trace_copy *copy); /* NULL-safe */

/* Copies a reader's entities and all its rows of the chosen kinds. Rows that refer to an entity
 * which is not in the source are left out; their number is *ret_skipped (may be NULL). Errors:
 * those of the reader and the writer; rows of damaged chunks are skipped and not counted. */
int trace_copy_all(struct trace_copy *copy, struct trace_reader *source, uint64_t *ret_skipped);

/* The id in the target of an entity of the source; 0: it was not copied. */
uint32_t trace_copy_id(const struct trace_copy *copy, enum event_kind kind, uint32_t source_id);
