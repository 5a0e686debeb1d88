/* SPDX-License-Identifier: MIT
 *
 * collect/intel/stalls.c - rows of EU-stall sampling, added up by instruction
 *
 * Runs in:  the thread that reads a stream
 * Gets:     rows, up to millions a second   Gives: counts of each instruction and reason, when it is asked
 * Owns:     a table of instructions
 * Fails:    what has no room is counted
 * Why:      what an instruction belongs to is asked once per instruction, when it is told, and not once per row. So a
 *           row costs a look at one line of the cache, which is fetched while the rows before it are counted; and code
 *           that becomes known late loses nothing.
 */
#include "collect/intel/stalls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LEAST_BITS = 16, MOST_BITS = 20, AHEAD = 32, HUGE_BYTES = 1 << 21 };

/* A line of the cache. */
struct instruction {
	uint64_t key; /* ip, and 1; 0: nobody is here */
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
	uint32_t round;  /* 1 … */
	uint32_t *fresh; /* owned; places, in the order of their first row of the round */
	size_t fresh_count;
	uint64_t lost;
	struct stalls_budget *budget; /* borrowed; NULL: none */
};

static size_t most_of(uint32_t bits)
{
	return (size_t)1 << (bits - 1);
}

static int64_t bytes_of(uint32_t bits)
{
	return (int64_t)((sizeof(struct instruction) << bits) + most_of(bits) * sizeof(uint32_t));
}

void stalls_budget_set(struct stalls_budget *budget, int64_t bytes)
{
	const int64_t all = atomic_load(&budget->bytes) + atomic_load(&budget->taken);

	atomic_fetch_add(&budget->bytes, bytes - all);
}

/* For a moment, while it is tidied up, a table may be there twice. */
static int take_bytes(struct stalls *stalls, uint32_t bits)
{
	struct stalls_budget *budget = stalls->budget;

	if (!budget)
		return 0;
	if (atomic_fetch_sub(&budget->bytes, bytes_of(bits)) >= bytes_of(bits) ||
	    bits == LEAST_BITS || bits <= stalls->bits) {
		atomic_fetch_add(&budget->taken, bytes_of(bits));
		return 0;
	}
	atomic_fetch_add(&budget->bytes, bytes_of(bits));
	return -1;
}

static void give_bytes(struct stalls *stalls, uint32_t bits)
{
	if (!stalls->budget || !bits)
		return;
	atomic_fetch_sub(&stalls->budget->taken, bytes_of(bits));
	atomic_fetch_add(&stalls->budget->bytes, bytes_of(bits));
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
		/* without, each look waits for the page's translation, too */
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

struct stalls *stalls_new(const struct eu_stall_layout *layout, struct stalls_budget *budget)
{
	struct stalls *stalls = calloc(1, sizeof(*stalls));

	if (!stalls)
		return NULL;
	stalls->layout = layout;
	stalls->budget = budget;
	stalls->ip_mask = ((uint64_t)1 << layout->ip_bits) - 1;
	stalls->round = 1;
	if (make_room(stalls, LEAST_BITS)) {
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

/* ---- the table --------------------------------------------------------------------------------- */

static inline size_t place_of(const struct stalls *stalls, uint64_t key)
{
	return key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - stalls->bits);
}

static struct instruction *put(struct stalls *stalls, uint64_t key)
{
	const size_t mask = ((size_t)1 << stalls->bits) - 1;
	size_t place = place_of(stalls, key);

	while (stalls->instructions[place].key)
		place = (place + 1) & mask;
	stalls->instructions[place].key = key;
	stalls->count++;
	return &stalls->instructions[place];
}

/* Moves what is counted in this round, or all, to a table of so many. */
static int move(struct stalls *stalls, uint32_t bits, int only_fresh)
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
		struct instruction *to = put(stalls, from->key);

		*to = *from;
		stalls->fresh[i] = (uint32_t)(to - stalls->instructions);
	}
	for (size_t i = 0; i < old_places && !only_fresh; i++)
		if (old[i].key && old[i].round != stalls->round)
			*put(stalls, old[i].key) = old[i];
	free(old);
	free(fresh);
	give_bytes(stalls, old_bits);
	return 0;
}

/* Who has counted nothing in this round makes room where there is no more. */
static int grow(struct stalls *stalls)
{
	const size_t most = most_of(stalls->bits);

	if (stalls->bits < MOST_BITS && move(stalls, stalls->bits + 1, 0) == 0)
		return 0;
	return stalls->fresh_count >= most - most / 8 ? -1 : move(stalls, stalls->bits, 1);
}

/* NULL: there is no room. */
static struct instruction *find(struct stalls *stalls, uint64_t key)
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
		return put(stalls, key);
	}
	stalls->instructions[place].key = key;
	stalls->count++;
	return &stalls->instructions[place];
}

/* ---- counting ---------------------------------------------------------------------------------- */

static inline uint64_t key_at(const struct stalls *stalls, const uint8_t *row)
{
	uint64_t low;

	memcpy(&low, row, sizeof(low));
	return (low & stalls->ip_mask) + 1;
}

static void begin(struct stalls *stalls, struct instruction *instruction)
{
	instruction->round = stalls->round;
	memset(instruction->counts, 0, sizeof(instruction->counts));
	stalls->fresh[stalls->fresh_count++] = (uint32_t)(instruction - stalls->instructions);
}

/* The counters of a row, moved to a byte's border. */
static inline void count(const struct stalls *stalls, struct instruction *instruction,
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
	struct instruction *instruction = find(stalls, key_at(stalls, row));

	if (!instruction) {
		stalls->lost++;
		return;
	}
	if (instruction->round != stalls->round)
		begin(stalls, instruction);
	count(stalls, instruction, row);
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

/* ---- telling ----------------------------------------------------------------------------------- */

size_t stalls_waiting(const struct stalls *stalls)
{
	return stalls->fresh_count;
}

void stalls_tell(struct stalls *stalls, stalls_on_counts on_counts, void *context)
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
	/* others need the memory more: who is not known in the small table comes again */
	if (stalls->budget && atomic_load(&stalls->budget->bytes) < 0 && stalls->bits > LEAST_BITS)
		move(stalls, LEAST_BITS, 1);
}

uint64_t stalls_lost(const struct stalls *stalls)
{
	return stalls->lost;
}
