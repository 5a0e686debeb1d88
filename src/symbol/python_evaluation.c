/* SPDX-License-Identifier: MIT
 *
 * symbol/python_evaluation.c - where an interpreter's evaluation function lies
 *
 * Runs in:  the recorder
 * Gets:     its hot part, its file   Gives: its cold part
 * Owns:     nothing
 * Fails:    by finding none (x86-64 only)
 * Why:      the cold part's symbol stands only in a table that distributions strip, and in Debian's 3.11 it is a fifth of
 *           the function. As the guest does: conditional jumps that leave the function go there. Bytes that look like a
 *           jump and are none rarely agree on one place, and more rarely on one that begins inside a frame.
 */
#include "symbol/python_evaluation.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbol/elf_names.h"
#include "symbol/unwind_table.h"

enum { HOT_MOST = 4 << 20, COLD_JUMPS_LEAST = 3, JUMP_BYTES = 6 };

/* Where a conditional jump leads that can be at the address; 0: none is there. */
static uint64_t jump_target(const uint8_t *bytes, uint64_t address)
{
	int32_t distance;

	if (bytes[0] != 0x0f || (bytes[1] & 0xf0) != 0x80)
		return 0;
	memcpy(&distance, bytes + 2, sizeof(distance));
	return address + JUMP_BYTES + (uint64_t)(int64_t)distance;
}

/* begin, size: the hot part, as the file counts; false: too few jumps agree on one. */
static bool find_part(const struct unwind_table *table, const uint8_t *bytes, uint64_t begin,
		      uint64_t size, struct unwind_part *ret_part)
{
	struct unwind_part best = {0}, part;
	uint32_t jumps = 0;

	for (uint64_t at = 0; at + JUMP_BYTES <= size; at++) {
		uint64_t target = jump_target(bytes + at, begin + at);

		if (!target || target - begin < size)
			continue;
		if (jumps && target >= best.begin && target < best.end) {
			jumps++;
		} else if (jumps < COLD_JUMPS_LEAST &&
			   unwind_table_find_part(table, target, &part) && part.is_cold) {
			best = part;
			jumps = 1;
		}
	}
	*ret_part = best;
	return jumps >= COLD_JUMPS_LEAST;
}

void python_evaluation_find_cold(struct python_evaluation *evaluation, int fd,
				 uint64_t load_address)
{
	const uint64_t size = evaluation->hot_end - evaluation->hot_begin;
	auto_free uint8_t *bytes = size <= HOT_MOST ? malloc(size + 1) : NULL;
	struct unwind_table *table;
	struct unwind_part part;

	if (!bytes || !elf_names_read(fd, evaluation->hot_begin - load_address, bytes, size) ||
	    unwind_table_open(fd, &table))
		return;
	if (find_part(table, bytes, evaluation->hot_begin - load_address, size, &part)) {
		evaluation->cold_begin = part.begin + load_address;
		evaluation->cold_end = part.end + load_address;
	}
	unwind_table_close(table);
}
