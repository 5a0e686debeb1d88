/* SPDX-License-Identifier: MIT
 *
 * trace/segment_head.h - the chunk with which a segment begins
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct segment_head {
	uint32_t number, first_segment;
	uint64_t begin_ns;
};

enum { SEGMENT_HEAD_BYTES = 192 }; /* room for a chunk with its length */

/* Reads a message without its length. Errors: -EBADMSG: it is not an intact segment head; -ENOMEM.
 */
int segment_head_read(const uint8_t *message, size_t size, struct segment_head *ret_head);
/* Writes the chunk with its length; ret_bytes has SEGMENT_HEAD_BYTES. Errors: -ENOMEM. */
int segment_head_write(const struct segment_head *head, uint8_t *ret_bytes, size_t *ret_size);
/* Only its payload. Returns its size, at most 64 bytes. */
size_t segment_head_pack(const struct segment_head *head, uint8_t *ret_payload);
