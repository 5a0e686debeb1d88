/* SPDX-License-Identifier: MIT
 *
 * event/record_parts.h - writes and reads the optional parts of an execution's record
 *
 * Runs in:  guests and the recorder; freestanding
 * Use:      a guest fills a struct record_parts, reserves record_parts_bytes() more for its record,
 *           adds record_parts_detail() to detail, and calls record_parts_write(). A part whose
 *           members are all 0 is not written.
 * Why:      A kernel outside of graphs, without clusters and local memory, has no parts. Its
 * hardware queue has room in detail. So its record stays one cache line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "event/record.h"

/* A member that is 0 is not known. */
struct record_parts {
	struct record_transfer transfer;
	struct record_shape shape;
	uint64_t graph;
};

/* The bits of detail for the number of a hardware queue. A number above 65534 is left out. */
static inline uint32_t record_hardware_queue(uint32_t number)
{
	const uint32_t next = number < UINT16_MAX ? number + 1 : 0;

	return (next & 0xff) << 8 | (next & 0xff00) << 16;
}

/* The number plus 1, as in struct event_execution; 0: not known. */
static inline uint32_t record_get_hardware_queue(uint32_t detail)
{
	return (detail >> 8 & 0xff) | (detail >> 16 & 0xff00);
}

/* The bits of detail for the parts that have a value. */
static inline uint32_t record_parts_detail(const struct record_parts *parts)
{
	const struct record_transfer *transfer = &parts->transfer;
	const struct record_shape *shape = &parts->shape;
	uint32_t detail = 0;

	if (transfer->source_device | transfer->destination_device | transfer->source_memory |
	    transfer->destination_memory | transfer->migration)
		detail |= RECORD_PART_TRANSFER;
	if (shape->cluster[0] | shape->cluster[1] | shape->cluster[2] | shape->local_bytes)
		detail |= RECORD_PART_SHAPE;
	if (parts->graph)
		detail |= RECORD_PART_GRAPH;
	return detail;
}

/* Size of the parts that detail names. */
static inline uint32_t record_parts_bytes(uint32_t detail)
{
	return (detail & RECORD_PART_TRANSFER ? (uint32_t)sizeof(struct record_transfer) : 0) +
	       (detail & RECORD_PART_SHAPE ? (uint32_t)sizeof(struct record_shape) : 0) +
	       (detail & RECORD_PART_GRAPH ? (uint32_t)sizeof(uint64_t) : 0);
}

/* Calls move(part, bytes) for each part that detail names, in the record's order. */
#define RECORD_PARTS_EACH(parts, detail, move)                               \
	do {                                                                 \
		if ((detail)&RECORD_PART_TRANSFER)                           \
			move(&(parts)->transfer, sizeof((parts)->transfer)); \
		if ((detail)&RECORD_PART_SHAPE)                              \
			move(&(parts)->shape, sizeof((parts)->shape));       \
		if ((detail)&RECORD_PART_GRAPH)                              \
			move(&(parts)->graph, sizeof((parts)->graph));       \
	} while (0)

/* at: the end of the record's other members; it has room for record_parts_bytes(detail). */
static inline void record_parts_write(void *at, uint32_t detail, const struct record_parts *parts)
{
	uint8_t *to = at;

#define MOVE(part, bytes) (memcpy(to, (part), (bytes)), to += (bytes))
	RECORD_PARTS_EACH(parts, detail, MOVE);
#undef MOVE
}

/* False: the record ends before its parts. bytes: size of the record's members before them. */
static inline bool record_parts_read(const struct record *head, size_t bytes,
				     struct record_parts *ret_parts)
{
	const uint8_t *from = (const uint8_t *)head + bytes;

	if (head->size < bytes + record_parts_bytes(head->detail))
		return false;
	*ret_parts = (struct record_parts){0};
#define MOVE(part, bytes) (memcpy((part), from, (bytes)), from += (bytes))
	RECORD_PARTS_EACH(ret_parts, head->detail, MOVE);
#undef MOVE
	return true;
}
