/* SPDX-License-Identifier: MIT */
#include "isa/batch.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "batch_corpus.h"
#include "harness.h"

static struct scene scene;
static struct batch_memory memory[MAX_SCENE_BUFFERS];
static struct batch_state state;
static char text[SCENE_TEXT_SIZE];

static void parse(enum batch_generation generation)
{
	const struct batch_source source = scene_source(&scene, memory);

	scene_prepare(&scene, generation, &state);
	batch_parse(&state, &source, scene.start);
	scene_describe(&state, text);
}

static const struct corpus_case *find_case(const char *name)
{
	for (size_t i = 0; i < corpus_count; i++)
		if (strcmp(corpus[i].name, name) == 0)
			return &corpus[i];
	printf("# there is no case '%s'\n", name);
	abort();
}

static void build(const char *name)
{
	scene_init(&scene);
	find_case(name)->build(&scene);
}

static const struct corpus_case *at;

TEST(corpus_case)
{
	scene_init(&scene);
	at->build(&scene);
	parse(at->generation);
	CHECK(state.status != BATCH_GOING);
	CHECK(state.found_count <= MAX_BATCH_FOUND && state.level < BATCH_LEVELS);
	if (at->expected)
		CHECK_TEXT(text, at->expected);
	scene_fini(&scene);
}

/* 130 kernels are named: the first 128 are kept, in their order, and the rest counted. */
TEST(room_for_kernels)
{
	build("more kernels than there is room for");
	parse(BATCH_XE2);
	CHECK_EQUAL(state.status, BATCH_DONE);
	REQUIRE(state.found_count == 128);
	for (uint32_t i = 0; i < 128; i++)
		CHECK(state.found[i].address == i * 0x40 && state.found[i].count == 1);
	CHECK_EQUAL(state.counts.left_out, 2);
	CHECK_EQUAL(state.counts.commands, 131);
	scene_fini(&scene);
}

/* What was found says where. */
TEST(where_it_stands)
{
	build("a second level");
	parse(BATCH_XE2);
	REQUIRE(state.found_count == 2);
	CHECK_EQUAL(state.found[0].command, 0x200000);
	CHECK_EQUAL(state.found[0].pointer, 0x1040);
	CHECK_EQUAL(state.found[1].command, 0x100000 + 4 * (22 + 3));
	CHECK_TEXT(batch_command_name(state.found[1].row), "COMPUTE_WALKER");
	CHECK_EQUAL(state.address, 0x100000 + 4 * (22 + 3 + 40));
	scene_fini(&scene);
}

/* A ring that is written while it is read: padding that is not there yet, then a command cut in
 * two, then the rest. */
TEST(incomplete_goes_on)
{
	struct batch_source source;

	build("cut in a pointer");
	source = scene_source(&scene, memory);
	parse(BATCH_XE2);
	CHECK_TEXT(text, "incomplete without 0x1000a8 1+0");
	batch_continue(&state, &source);
	scene_describe(&state, text);
	CHECK_TEXT(text, "incomplete without 0x1000a8 1+0");

	for (int i = 0; i < 20 + 50; i++)
		scene_put(&scene, 0);
	source = scene_source(&scene, memory);
	batch_continue(&state, &source);
	scene_describe(&state, text);
	CHECK_TEXT(text, "incomplete without 0x1001c0 2+0; compute 0x700001040");
	CHECK_EQUAL(state.address,
		    0x1000f8); /* the first MI_NOOP of those that may be written yet */

	scene.last = 22 + 40;
	scene_set(&scene, 0, 0x02800000); /* MI_ARB_CHECK */
	scene_set(&scene, 1, 0x05000000);
	batch_continue(&state, &source);
	scene_describe(&state, text);
	CHECK_TEXT(text, "done 4+0; compute 0x700001040");
	batch_continue(&state, &source);
	CHECK_EQUAL(state.status, BATCH_DONE);
	scene_fini(&scene);
}

/* … in the second level, whose caller is not forgotten. */
TEST(incomplete_goes_on_within)
{
	struct batch_source source;

	build("a call of what is not mapped");
	parse(BATCH_XE2);
	CHECK_TEXT(text, "incomplete without 0x200000 1+0; calls 1");
	scene_begin(&scene, SCENE_VM, 0x200000);
	scene_command(&scene, 0x72080000, 40);
	scene_put(&scene, 0x05000000);
	source = scene_source(&scene, memory);
	batch_continue(&state, &source);
	scene_describe(&state, text);
	CHECK_TEXT(text, "done 4+0; compute base+0x0; calls 1");
	scene_fini(&scene);
}

static uint32_t seen[16][3];
static size_t seen_count;

static void see(void *context, uint64_t address, uint32_t row, uint32_t header, uint32_t dwords)
{
	if (seen_count < ARRAY_COUNT(seen)) {
		seen[seen_count][0] = (uint32_t)address;
		seen[seen_count][1] = row;
		seen[seen_count][2] = dwords;
	}
	seen_count++;
}

TEST(commands_are_told)
{
	struct batch_source source;

	build("padding");
	source = scene_source(&scene, memory);
	source.on_command = see;
	scene_prepare(&scene, BATCH_XE2, &state);
	batch_parse(&state, &source, scene.start);
	REQUIRE(seen_count == 3);
	CHECK_EQUAL(seen[0][0], 0x100000 + 4 * 7);
	CHECK_EQUAL(seen[0][2], 22);
	CHECK_TEXT(batch_command_name(seen[0][1]), "STATE_BASE_ADDRESS");
	CHECK_TEXT(batch_command_name(seen[1][1]), "COMPUTE_WALKER");
	CHECK_EQUAL(seen[1][2], 40);
	CHECK_TEXT(batch_command_name(seen[2][1]), "MI_BATCH_BUFFER_END");
	scene_fini(&scene);
}

TEST(names)
{
	enum batch_generation generation = BATCH_GEN9;

	CHECK_EQUAL(batch_find_generation("xe2", &generation), 0);
	CHECK_EQUAL(generation, BATCH_XE2);
	CHECK_EQUAL(batch_find_generation("pvc", &generation), 0);
	CHECK_EQUAL(generation, BATCH_XE_HPC);
	CHECK_EQUAL(batch_find_generation("tgllp", &generation), 0);
	CHECK_EQUAL(generation, BATCH_GEN12);
	CHECK_EQUAL(batch_find_generation("adl", &generation), 0);
	for (uint32_t i = 0; i < BATCH_GENERATIONS; i++) {
		CHECK_EQUAL(batch_find_generation(batch_generation_name(i), &generation), 0);
		CHECK_EQUAL(generation, i);
	}
	CHECK(batch_find_generation("", &generation) < 0);
	CHECK(batch_find_generation(" ", &generation) < 0);
	CHECK(batch_find_generation("lnl bmg", &generation) < 0);
	CHECK(batch_find_generation("gen8", &generation) < 0);
	CHECK(strstr(error_text(), "xe-hpg (DG2"));
	error_clear();
	CHECK_TEXT(batch_command_name(0), "unknown");
	CHECK_TEXT(batch_command_name(100000), "unknown");
	CHECK_TEXT(batch_kind_name(BATCH_SYSTEM_ROUTINE), "[system routine]");
	CHECK_TEXT(batch_kind_name(BATCH_KINDS), "?");
	CHECK_TEXT(batch_generation_name(BATCH_GENERATIONS), "?");
}

static bool guess(const char *name, enum batch_generation *ret_generation)
{
	struct batch_source source;
	bool is_told;

	build(name);
	source = scene_source(&scene, memory);
	is_told = batch_guess_generation(&source, SCENE_VM, scene.start, scene.max_steps,
					 ret_generation);
	scene_fini(&scene);
	return is_told;
}

TEST(generations_are_told_apart)
{
	enum batch_generation generation;

	CHECK(guess("COMPUTE_WALKER, Xe-HPG", &generation));
	CHECK_EQUAL(generation, BATCH_XE_HPG);
	CHECK(guess("COMPUTE_WALKER, Xe2", &generation));
	CHECK_EQUAL(generation, BATCH_XE2);
	CHECK(guess("COMPUTE_WALKER_2, Xe3p", &generation));
	CHECK_EQUAL(generation, BATCH_XE3P);
	CHECK(guess("GPGPU_WALKER, Gen12", &generation));
	CHECK_EQUAL(generation, BATCH_GEN12);
	CHECK(guess("3DSTATE_HS, Xe2", &generation));
	CHECK_EQUAL(generation, BATCH_XE2);
	CHECK(!guess("3DSTATE_VS, Gen9", &generation));
	CHECK(!guess("STATE_SIP", &generation) || generation == BATCH_XE2);
}

int main(void)
{
	for (size_t i = 0; i < corpus_count; i++) {
		at = &corpus[i];
		harness_run(at->name, test_corpus_case);
	}
	RUN(room_for_kernels);
	RUN(where_it_stands);
	RUN(incomplete_goes_on);
	RUN(incomplete_goes_on_within);
	RUN(commands_are_told);
	RUN(names);
	RUN(generations_are_told_apart);
	return harness_end();
}
