/* SPDX-License-Identifier: MIT
 *
 * inject/describe.h - records of variable length: texts behind a fixed part, and contents in pieces
 */
#pragma once

#include "inject/guest.h"

#pragma GCC visibility push(hidden)

/* Texts of a record and the bytes after them, padded to a multiple of 8. */
struct guest_tail {
	const char *const *texts;
	uint32_t text_count;
	uint32_t last_bytes;
	const void *last;
};

/* Writes a record: its fixed part, then its tail; false: it was lost. */
bool guest_put_with_texts(struct guest_thread *thread, struct record *head, uint32_t fixed_bytes,
			  const struct guest_tail *tail);

/* The content of a code object that the same thread has just described. */
void guest_put_content(struct guest_thread *thread, uint32_t code, const uint8_t *bytes,
		       size_t size);

/* Counts a code object that was not described completely. */
void guest_count_lost_code(struct guest_thread *thread);

#pragma GCC visibility pop
