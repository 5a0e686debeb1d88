/* SPDX-License-Identifier: MIT
 *
 * inject/describe.c - records of variable length: texts behind a fixed part, and contents in pieces
 *
 * Runs in:  the profiled process, at the first use of an object; never on a launch path
 * Gets:     texts and bytes
 * Gives:    records in the calling thread's ring
 * Owns:     nothing
 * Fails:    by leaving a record out; lost contents are counted
 * Why:      a content is split because a record is at most half a ring. If the content exceeds the
 *           free room in the ring, the thread sleeps while the recorder empties the ring, but at
 *           most 50 ms in total: the program would notice a longer wait.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inject/describe.h"

bool guest_put_with_texts(struct guest_thread *thread, struct record *head, uint32_t fixed_bytes,
			  const struct guest_tail *tail)
{
	uint32_t lengths[8], total = fixed_bytes;
	uint8_t *record;

	for (uint32_t i = 0; i < tail->text_count; i++) {
		lengths[i] = (uint32_t)strnlen(tail->texts[i], RECORD_TEXT_BYTES - 1);
		total += lengths[i] + 1;
	}
	total = (total + 7) & ~7u;
	record = guest_reserve(thread, head->kind, total + tail->last_bytes, head->detail);
	if (!record)
		return false;
	memcpy(record + sizeof(*head), (uint8_t *)head + sizeof(*head),
	       fixed_bytes - sizeof(*head));
	memset(record + fixed_bytes, 0, total - fixed_bytes);
	for (uint32_t i = 0, at = fixed_bytes; i < tail->text_count; at += lengths[i] + 1, i++)
		memcpy(record + at, tail->texts[i], lengths[i]);
	if (tail->last_bytes)
		memcpy(record + total, tail->last, tail->last_bytes);
	ring_commit(&thread->writer);
	return true;
}

void guest_count_lost_code(struct guest_thread *thread)
{
	if (guest_is_current(thread))
		ring_count_lost(&thread->writer, EVENT_CODE, 1);
}

enum { NAP_NS = 1000000, NAPS_MAX = 50 };

/* Number of sleeps of the whole process since the last one that gained room. A recorder without CPU
 * time costs the program 50 ms in total, not for each content. */
static _Atomic uint32_t vain_naps;

/* False: the content has waited long enough, or waiting is useless. */
static bool await_room(const struct guest_thread *thread, uint32_t *naps)
{
	static const struct timespec nap = {0, NAP_NS};
	const int saved = errno;

	/* `writing`: this is a signal handler, and the interrupted record waits for it. */
	if (!guest_is_current(thread) || thread->writer.writing || ++*naps > NAPS_MAX ||
	    atomic_fetch_add_explicit(&vain_naps, 1, memory_order_relaxed) >= NAPS_MAX)
		return false;
	/* A raw system call: a thread may be cancelled in the library's function. */
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
	errno = saved;
	return true;
}

static struct record_bytes *reserve_piece(struct guest_thread *thread, uint32_t length,
					  uint32_t *naps)
{
	const uint32_t size = (uint32_t)((sizeof(struct record_bytes) + length + 7) & ~7u);
	struct record_bytes *record;

	do
		record = guest_reserve(thread, RECORD_BYTES, size, length);
	while (!record && await_room(thread, naps));
	if (record && *naps)
		atomic_store_explicit(&vain_naps, 0, memory_order_relaxed);
	return record;
}

void guest_put_content(struct guest_thread *thread, uint32_t code, const uint8_t *bytes,
		       size_t size)
{
	uint32_t naps = 0;

	for (size_t offset = 0; offset < size; offset += RECORD_PIECE_BYTES) {
		uint32_t length =
			(uint32_t)(size - offset < RECORD_PIECE_BYTES ? size - offset
								      : RECORD_PIECE_BYTES);
		struct record_bytes *record = reserve_piece(thread, length, &naps);

		if (!record) {
			/* An incomplete content is discarded: the recorder detects the gap. */
			guest_count_lost_code(thread);
			return;
		}
		record->offset = offset;
		record->code = code;
		record->reserved = 0;
		memcpy(record->bytes, bytes + offset, length);
		ring_commit(&thread->writer);
	}
}
