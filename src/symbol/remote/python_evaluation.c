/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/python_evaluation.c - find an interpreter's evaluation function
 *
 * Runs in:  the recorder
 * Gets:     the address of its hot part, the interpreter's file
 * Gives:    the address range of its cold part
 * Owns:     nothing
 * Fails:    by finding none (x86-64 only)
 * Why:      the compiler splits the evaluation function into a hot and a cold part, and
 *           distributions strip the symbol of the cold part. In Debian's Python 3.11 the cold part
 *           is a fifth of the function. As in the guest, it is found as the common target of
 *           conditional jumps out of the hot part. Bytes that only look like a jump rarely have a
 *           common target, and even more rarely one at the start of a frame.
 */
#include "symbol/remote/python_evaluation.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbol/elf/names.h"
#include "symbol/elf/unwind_table.h"

enum { MAX_HOT = 4 << 20, MIN_COLD_JUMPS = 3, JUMP_BYTES = 6 };

/* Target of a possible conditional jump at the address; 0: not a jump. */
static uint64_t jump_target(const uint8_t *bytes, uint64_t address)
{
	int32_t distance;

	if (bytes[0] != 0x0f || (bytes[1] & 0xf0) != 0x80)
		return 0;
	memcpy(&distance, bytes + 2, sizeof(distance));
	return address + JUMP_BYTES + (uint64_t)(int64_t)distance;
}

/* begin, size: the hot part, in the file's addresses; false: too few jumps agree on one target. */
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
		} else if (jumps < MIN_COLD_JUMPS && unwind_table_find_part(table, target, &part) &&
			   part.is_cold) {
			best = part;
			jumps = 1;
		}
	}
	*ret_part = best;
	return jumps >= MIN_COLD_JUMPS;
}

void python_evaluation_find_cold(struct python_evaluation *evaluation, int fd,
				 uint64_t load_address)
{
	const uint64_t size = evaluation->hot_end - evaluation->hot_begin;
	auto_free uint8_t *bytes = size <= MAX_HOT ? malloc(size + 1) : NULL;
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
