/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_batch.c - a libFuzzer target: any bytes as batch buffers of an Intel GPU
 *
 * Input: a generation, how many buffers, of each its dwords (two bytes) and where it lies, then
 * their contents. They are looked through as they are, with only the first of them there and then
 * gone on, and with each cut into two mappings side by side, which must make no difference.
 *
 * Why a mutator of its own: what matters are whole dwords, some thirty of four billion.
 *
 *	fuzz_batch --seed FOLDER
 *	fuzz_batch -runs=10000000 -max_len=1024 FOLDER
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "batch_corpus.h"
#include "isa/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max_size);

enum { MAX_BUFFERS = 6, STEPS_FEW = 300, STEPS_MANY = 6000, OTHER_VM = 0x80 };

/* Where a buffer may lie; those of the corpus first. */
static const uint64_t places[] = {
	0x100000, 0x200000,    0x300000,    0x400000,       0x500000,
	0x600000, 0x100000ffc, 0x700000000, 0x800000200000, 0xfffffffffffffffcULL,
	0,        0x1003fc,    0x101000,    0xdead000,
};

static struct batch_memory memory[2 * MAX_BUFFERS];

/* ---- looking --------------------------------------------------------------------------------- */

static void require(bool is_so)
{
	if (!is_so)
		abort();
}

static void check_found(const struct batch_state *state)
{
	require(state->found_count <= MAX_BATCH_FOUND);
	for (uint32_t i = 0; i < state->found_count; i++) {
		const struct batch_found *found = &state->found[i];

		require(found->count && found->kind < BATCH_KINDS &&
			found->flags <= BATCH_IS_RELATIVE && found->row &&
			found->address >> 57 == 0);
	}
}

static void check(const struct batch_state *state)
{
	const struct batch_counts *counts = &state->counts;

	require(state->status != BATCH_GOING && state->status < BATCH_STATUSES);
	require(state->steps <= state->max_steps && state->level < BATCH_LEVELS);
	require(counts->commands + counts->noops <= state->steps);
	require(counts->unknown + counts->mismatched <= counts->commands);
	require(counts->chains + counts->calls + counts->too_deep <= counts->commands);
	check_found(state);
}

/* Most inputs need few steps to show something; beyond MAX_BATCH_NOOPS some must come too. */
static struct batch_state begin(uint8_t choice)
{
	return (struct batch_state){.vm = 1,
				    .generation = choice % BATCH_GENERATIONS,
				    .max_steps = choice >> 3 == 31 ? STEPS_MANY : STEPS_FEW};
}

static void check_same(const struct batch_state *a, struct batch_state *b)
{
	b->counts.windows = a->counts.windows;
	require(a->status == b->status && a->address == b->address && a->level == b->level &&
		a->steps == b->steps && a->missing == b->missing &&
		a->found_count == b->found_count);
	require(memcmp(&a->counts, &b->counts, sizeof(a->counts)) == 0);
	require(memcmp(&a->bases, &b->bases, sizeof(a->bases)) == 0);
	require(memcmp(a->found, b->found, a->found_count * sizeof(a->found[0])) == 0);
}

/* Each of the buffers, and behind them what was cut off of them. */
static void cut(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const size_t half = memory[i].size / 8 * 4;

		memory[count + i] = (struct batch_memory){
			.vm = memory[i].vm,
			.address = memory[i].address + half,
			.bytes = (const char *)memory[i].bytes + half,
			.size = memory[i].size - half,
		};
		memory[i].size = half;
	}
}

/* Buffers may lie over each other, or over the end of the address space: there it matters which is
 * asked first. */
static bool is_apart(size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			if (memory[i].size > UINT64_MAX - memory[i].address ||
			    (i != j && memory[i].vm == memory[j].vm &&
			     memory[j].address - memory[i].address < memory[i].size))
				return false;
	return true;
}

static void look(uint8_t choice, size_t count)
{
	struct batch_source source = {.memory = memory, .memory_count = 1};
	struct batch_state state = begin(choice), other;

	batch_parse(&state, &source, memory[0].address);
	check(&state);
	source.memory_count = count;
	state.max_steps *= 2;
	batch_continue(&state, &source);
	check(&state);

	state = begin(choice);
	batch_parse(&state, &source, memory[0].address);
	check(&state);
	if (!is_apart(count))
		return;
	cut(count);
	source.memory_count = 2 * count;
	other = begin(choice);
	batch_parse(&other, &source, memory[0].address);
	check_same(&state, &other);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const uint8_t *head = bytes + 2, *contents;
	size_t count;

	if (size < 2)
		return 0;
	count = 1 + bytes[1] % MAX_BUFFERS;
	if (size < 2 + 3 * count)
		return 0;
	contents = head + 3 * count;
	for (size_t i = 0; i < count; i++, head += 3) {
		size_t length = 4 * (size_t)(head[0] | head[1] << 8);

		if (length > (size_t)(bytes + size - contents))
			length = (size_t)(bytes + size - contents) / 4 * 4;
		memory[i] = (struct batch_memory){
			.vm = i && head[2] & OTHER_VM ? 2 : 1,
			.address = places[(head[2] & ~OTHER_VM) % ARRAY_COUNT(places)],
			.bytes = contents,
			.size = length,
		};
		contents += length;
	}
	look(bytes[0], count);
	return 0;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static const uint32_t likely[] = {
	0x00000000, 0x05000000, 0x18800101, 0x18c00101, 0x18808101, 0x61010014, 0x61010011,
	0x61020001, 0x72080026, 0x72080025, 0x7220003e, 0x7c01002a, 0x7c01002b, 0x70020002,
	0x7105000d, 0x71000004, 0x78100007, 0x78110008, 0x781b0007, 0x781b0006, 0x781d0009,
	0x7820000a, 0x787a0006, 0x787d0005, 0x11000001, 0x0d000000, 0x10000002, 0x7a000004,
	0x00100000, 0x00200000, 0x00300000, 0x00100001, 0x00000007, 0x80000000, 0xffff8000,
};

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned int seed)
{
	const size_t head = size >= 2 ? 2 + 3 * (1 + bytes[1] % MAX_BUFFERS) : 0;
	size_t at;

	srand(seed);
	if (!head || size < head + 4 || rand() % 3 == 0)
		return LLVMFuzzerMutate(bytes, size, max_size);
	at = head + (size_t)rand() % ((size - head) / 4) * 4;
	memcpy(bytes + at, &likely[(size_t)rand() % ARRAY_COUNT(likely)], 4);
	return size;
}

static uint8_t place_of(const struct scene_buffer *buffer)
{
	uint8_t place = 0;

	while (place + 1 < (int)ARRAY_COUNT(places) && places[place] != buffer->address)
		place++;
	return place | (buffer->vm == SCENE_VM ? 0 : OTHER_VM);
}

static void write_scene(const char *folder, size_t number, const struct scene *scene,
			enum batch_generation generation)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/corpus-%zu", folder, number);
	file = fopen(path, "wb");
	if (!file)
		return;
	fputc(31 << 3 | (int)generation, file);
	fputc((int)scene->count - 1, file);
	for (size_t i = 0; i < scene->count; i++) {
		fputc(scene->buffers[i].count & 0xff, file);
		fputc((int)(scene->buffers[i].count >> 8), file);
		fputc(place_of(&scene->buffers[i]), file);
	}
	for (size_t i = 0; i < scene->count; i++)
		fwrite(scene->buffers[i].dwords, 4, scene->buffers[i].count, file);
	fclose(file);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (*argc < 3 || strcmp((*argv)[1], "--seed") != 0)
		return 0;
	for (size_t i = 0; i < corpus_count; i++) {
		struct scene scene;

		scene_init(&scene);
		corpus[i].build(&scene);
		if (scene.count)
			write_scene((*argv)[2], i, &scene, corpus[i].generation);
		scene_fini(&scene);
	}
	exit(0);
}
