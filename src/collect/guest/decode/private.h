/* SPDX-License-Identifier: MIT
 *
 * collect/guest/decode/private.h - declarations for the files that decode records
 *
 * Each file calls only files above it in this list: entities.c, code.c, launches.c, ../decode.c.
 */
#pragma once

#include "collect/guest/decode.h"

static inline void decode_broken(struct injected *injected)
{
	injected->losses.broken_times++;
}

static inline void decode_undescribed(struct injected *injected)
{
	injected->losses.undescribed++;
}

static inline struct trace_source decode_source(const struct injected *injected, uint32_t source)
{
	return (struct trace_source){
		.source = source,
		.clock = injected->recording->guest_clock,
		.seen_clock = injected->recording->guest_clock,
	};
}

static inline void decode_put_row(struct injected *injected, enum event_kind kind, uint32_t source,
				  const void *row)
{
	struct trace_source from = decode_source(injected, source);

	trace_writer_row(injected->recording->writer, kind, &from, row);
}

/* ---- entities.c ------------------------------------------------------------------------------ */

/* array_grow, charged to the guest's budget. */
bool decode_grow_items(struct injected *injected, void **items, size_t *capacity, size_t count,
		       size_t size);
#define decode_grow(injected, items, capacity, count) \
	decode_grow_items(injected, (void **)&(items), &(capacity), (count), sizeof(*(items)))
/* The trace's id of a guest's id; 0: none yet. */
uint32_t decode_get_id(const struct id_map *map, uint32_t guest_id);
/* False: the id is above the limit and was counted as broken. No working guest has such an id. */
bool decode_is_possible(struct injected *injected, const struct id_map *map, uint32_t guest_id);
/* Returns the trace's id for a guest's id and assigns one, ++*last, at the first use. Returns 0 for
 * id 0, for an impossible id, and if there is no room. */
uint32_t decode_map_id(struct injected *injected, struct id_map *map, uint32_t guest_id,
		       uint32_t *last);
/* guest_id must be possible. False: no room. */
bool decode_set_id(struct injected *injected, struct id_map *map, uint32_t guest_id, uint32_t id);
/* Returns the queue for a guest's id and assigns a trace id at the first use. NULL for id 0, for an
 * impossible id, and if there is no room. */
struct injected_queue *decode_find_queue(struct injected *injected, uint32_t guest_id);
/* Writes the queues that wait for guest_device; 0: all of them, even if their device was never
 * described. */
void decode_put_waiting_queues(struct injected *injected, uint32_t guest_device);
void decode_device(struct injected *injected, struct injected_ring *ring,
		   const struct record *head);
void decode_context(struct injected *injected, struct injected_ring *ring,
		    const struct record *head);
void decode_queue(struct injected *injected, struct injected_ring *ring, const struct record *head);

/* ---- code.c ---------------------------------------------------------------------------------- */

void decode_code(struct injected *injected, struct injected_ring *ring, const struct record *head);
void decode_kernel_needs(struct injected *injected, struct injected_ring *ring,
			 const struct record *head);
void decode_bytes(struct injected *injected, struct injected_ring *ring, const struct record *head);

/* ---- launches.c ------------------------------------------------------------------------------ */

/* Returns the string of a function that the guest named with RECORD_FUNCTION; 0: no such name,
 * which is counted as broken. */
uint32_t decode_named_function(struct injected *injected, const struct injected_ring *ring,
			       uint32_t function);
/* A guest counts its commands from 1 after each attachment. The result is unique in the process
 * (collect/correlation.h). 0: the call failed. */
uint64_t decode_correlation(const struct injected *injected, uint64_t correlation);
void decode_function(struct injected *injected, struct injected_ring *ring,
		     const struct record *head);
void decode_api(struct injected *injected, struct injected_ring *ring, const struct record *head);
void decode_launch(struct injected *injected, struct injected_ring *ring,
		   const struct record *head);
void decode_execution(struct injected *injected, struct injected_ring *ring,
		      const struct record *head);
void decode_node(struct injected *injected, struct injected_ring *ring, const struct record *head);
void decode_captured(struct injected *injected, struct injected_ring *ring,
		     const struct record *head);
