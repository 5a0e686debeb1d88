/* SPDX-License-Identifier: MIT
 *
 * collect/intel/stalls.c - sums rows of EU stall sampling by instruction
 *
 * Runs in:  the thread that reads a stream
 * Gets:     rows, up to millions a second
 * Gives:    counts by instruction and reason, on request
 * Owns:     a table of instructions
 * Fails:    rows without room are counted
 * Why:      the owner of an instruction is looked up once per instruction, when its counts are
 *           delivered, and not once per row. A row then costs one access to a cache line, which is
 *           prefetched while earlier rows are counted. So rows of code that becomes known only
 *           later are not lost.
 */
#include "collect/intel/stalls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MIN_BITS = 16, MAX_BITS = 20, AHEAD = 32, HUGE_BYTES = 1 << 21 };

/* ---- layouts --------------------------------------------------------------------------------- */

enum { PVC = 1260, XE2 = 2000, XE3P = 3500 };

static const struct eu_stall_layout pvc = {"PVC",
					   29,
					   9,
					   {"active", "other", "control", "pipestall", "send",
					    "dist_acc", "sbid", "sync", "inst_fetch"}};
static const struct eu_stall_layout xe2 = {"Xe2",
					   29,
					   10,
					   {"tdr", "other", "control", "pipestall", "send",
					    "dist_acc", "sbid", "sync", "inst_fetch", "active"}};
static const struct eu_stall_layout xe3p = {"Xe3p",
					    61,
					    10,
					    {"tdr", "other", "control", "pipestall", "send",
					     "dist_acc", "sbid", "sync", "inst_fetch", "active"}};

const struct eu_stall_layout *eu_stall_layout_find(uint32_t major, uint32_t minor)
{
	const uint32_t version = major * 100 + minor;

	if (version >= XE3P)
		return &xe3p;
	if (version >= XE2)
		return &xe2;
	return version == PVC ? &pvc : NULL;
}

/* ---- its types ------------------------------------------------------------------------------- */

/* One cache line. */
struct instruction {
	uint64_t key; /* ip + 1; 0: free */
	uint32_t round;
	uint32_t note;
	uint32_t counts[EU_STALL_REASONS];
	uint64_t reserved;
};
_Static_assert(sizeof(struct instruction) == 64, "one line of the cache");

struct stalls {
	const struct eu_stall_layout *layout;
	uint64_t ip_mask;
	struct instruction *instructions; /* owned; 1 << bits */
	uint32_t bits, count;
	uint32_t round; /* counts from 1 */
	/* Owned; indices of the entries that were counted in this round, in the order of their
	 * first row. */
	uint32_t *fresh;
	size_t fresh_count;
	uint64_t lost;
	struct quota *budget; /* borrowed; NULL: no limit */
};

static size_t most_of(uint32_t bits)
{
	return (size_t)1 << (bits - 1);
}

static uint64_t bytes_of(uint32_t bits)
{
	return (sizeof(struct instruction) << bits) + most_of(bits) * sizeof(uint32_t);
}

/* For a moment, while it is rebuilt, a table may exist twice. */
static int take_bytes(struct stalls *stalls, uint32_t bits)
{
	if (quota_take(stalls->budget, bytes_of(bits)))
		return 0;
	if (bits != MIN_BITS && bits > stalls->bits)
		return -1;
	quota_charge(stalls->budget, bytes_of(bits));
	return 0;
}

static void give_bytes(struct stalls *stalls, uint32_t bits)
{
	if (bits)
		quota_give_back(stalls->budget, bytes_of(bits));
}

static int make_room(struct stalls *stalls, uint32_t bits)
{
	struct instruction *instructions = NULL;
	uint32_t *fresh;

	if (take_bytes(stalls, bits))
		return -1;
	fresh = malloc(most_of(bits) * sizeof(*fresh));
	if (fresh && posix_memalign((void **)&instructions, HUGE_BYTES,
				    sizeof(*instructions) << bits) == 0) {
		/* with small pages, each access also waits for the page's translation */
		madvise(instructions, sizeof(*instructions) << bits, MADV_HUGEPAGE);
		memset(instructions, 0, sizeof(*instructions) << bits);
		stalls->instructions = instructions;
		stalls->fresh = fresh;
		stalls->bits = bits;
		return 0;
	}
	free(fresh);
	give_bytes(stalls, bits);
	return -1;
}

struct stalls *stalls_new(const struct eu_stall_layout *layout, struct quota *budget)
{
	struct stalls *stalls = calloc(1, sizeof(*stalls));

	if (!stalls)
		return NULL;
	stalls->layout = layout;
	stalls->budget = budget;
	stalls->ip_mask = ((uint64_t)1 << layout->ip_bits) - 1;
	stalls->round = 1;
	if (make_room(stalls, MIN_BITS)) {
		free(stalls);
		return NULL;
	}
	return stalls;
}

void stalls_free(struct stalls *stalls)
{
	if (!stalls)
		return;
	give_bytes(stalls, stalls->bits);
	free(stalls->instructions);
	free(stalls->fresh);
	free(stalls);
}

/* ---- the table ------------------------------------------------------------------------------- */

static inline size_t place_of(const struct stalls *stalls, uint64_t key)
{
	return key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - stalls->bits);
}

static struct instruction *put_instruction(struct stalls *stalls, uint64_t key)
{
	const size_t mask = ((size_t)1 << stalls->bits) - 1;
	size_t place = place_of(stalls, key);

	while (stalls->instructions[place].key)
		place = (place + 1) & mask;
	stalls->instructions[place].key = key;
	stalls->count++;
	return &stalls->instructions[place];
}

/* Moves the entries counted in this round, or all, to a table of the given size. */
static int move_instructions(struct stalls *stalls, uint32_t bits, int only_fresh)
{
	struct instruction *old = stalls->instructions;
	const uint32_t old_bits = stalls->bits;
	const size_t old_places = (size_t)1 << old_bits;
	const size_t fresh_count = stalls->fresh_count;
	uint32_t *fresh = stalls->fresh;

	if (make_room(stalls, bits))
		return -1;
	stalls->count = 0;
	for (size_t i = 0; i < fresh_count; i++) {
		const struct instruction *from = &old[fresh[i]];
		struct instruction *to = put_instruction(stalls, from->key);

		*to = *from;
		stalls->fresh[i] = (uint32_t)(to - stalls->instructions);
	}
	for (size_t i = 0; i < old_places && !only_fresh; i++)
		if (old[i].key && old[i].round != stalls->round)
			*put_instruction(stalls, old[i].key) = old[i];
	free(old);
	free(fresh);
	give_bytes(stalls, old_bits);
	return 0;
}

/* If the table is full, entries without counts in this round are removed. */
static int grow(struct stalls *stalls)
{
	const size_t most = most_of(stalls->bits);

	if (stalls->bits < MAX_BITS && move_instructions(stalls, stalls->bits + 1, 0) == 0)
		return 0;
	return stalls->fresh_count >= most - most / 8 ? -1
						      : move_instructions(stalls, stalls->bits, 1);
}

/* NULL: there is no room. */
static struct instruction *find_instruction(struct stalls *stalls, uint64_t key)
{
	const size_t mask = ((size_t)1 << stalls->bits) - 1;
	size_t place = place_of(stalls, key);

	while (stalls->instructions[place].key) {
		if (stalls->instructions[place].key == key)
			return &stalls->instructions[place];
		place = (place + 1) & mask;
	}
	if (stalls->count >= most_of(stalls->bits)) {
		if (grow(stalls))
			return NULL;
		return put_instruction(stalls, key);
	}
	stalls->instructions[place].key = key;
	stalls->count++;
	return &stalls->instructions[place];
}

/* ---- counting -------------------------------------------------------------------------------- */

static inline uint64_t key_at(const struct stalls *stalls, const uint8_t *row)
{
	uint64_t low;

	memcpy(&low, row, sizeof(low));
	return (low & stalls->ip_mask) + 1;
}

static void begin_instruction(struct stalls *stalls, struct instruction *instruction)
{
	instruction->round = stalls->round;
	memset(instruction->counts, 0, sizeof(instruction->counts));
	stalls->fresh[stalls->fresh_count++] = (uint32_t)(instruction - stalls->instructions);
}

/* Counts a row; the counters are moved to a byte boundary first. */
static inline void count_row(const struct stalls *stalls, struct instruction *instruction,
			     const uint8_t *row)
{
	const uint32_t shift = stalls->layout->ip_bits;
	uint64_t words[3], low, high;

	memcpy(words, row, sizeof(words));
	low = words[0] >> shift | words[1] << (64 - shift);
	high = words[1] >> shift | words[2] << (64 - shift);
	for (uint32_t i = 0; i < 8; i++)
		instruction->counts[i] += (uint8_t)(low >> 8 * i);
	instruction->counts[8] += (uint8_t)high;
	instruction->counts[9] += stalls->layout->reasons > 9 ? (uint8_t)(high >> 8) : 0;
}

static void take_one(struct stalls *stalls, const uint8_t *row)
{
	struct instruction *instruction = find_instruction(stalls, key_at(stalls, row));

	if (!instruction) {
		stalls->lost++;
		return;
	}
	if (instruction->round != stalls->round)
		begin_instruction(stalls, instruction);
	count_row(stalls, instruction, row);
}

void stalls_take(struct stalls *stalls, const void *rows, size_t size)
{
	const uint8_t *row = rows;
	const size_t all = size / EU_STALL_ROW_BYTES;

	for (size_t i = 0; i < all; i++, row += EU_STALL_ROW_BYTES) {
		__builtin_prefetch(row + 2 * AHEAD * EU_STALL_ROW_BYTES);
		if (i + AHEAD < all) {
			const uint64_t key = key_at(stalls, row + AHEAD * EU_STALL_ROW_BYTES);

			__builtin_prefetch(&stalls->instructions[place_of(stalls, key)], 1);
		}
		take_one(stalls, row);
	}
}

/* ---- delivery -------------------------------------------------------------------------------- */

void stalls_emit(struct stalls *stalls, stalls_on_counts on_counts, void *context)
{
	for (size_t i = 0; i < stalls->fresh_count; i++) {
		struct instruction *instruction = &stalls->instructions[stalls->fresh[i]];

		if (i + AHEAD < stalls->fresh_count)
			__builtin_prefetch(&stalls->instructions[stalls->fresh[i + AHEAD]], 1);
		on_counts(context, (instruction->key - 1) << EU_STALL_IP_SHIFT, instruction->counts,
			  &instruction->note);
	}
	stalls->fresh_count = 0;
	stalls->round++;
	/* The memory is needed elsewhere: entries that are missing in the small table are added
	 * again later. */
	if (quota_is_exceeded(stalls->budget) && stalls->bits > MIN_BITS)
		move_instructions(stalls, MIN_BITS, 1);
}

uint64_t stalls_lost(const struct stalls *stalls)
{
	return stalls->lost;
}
