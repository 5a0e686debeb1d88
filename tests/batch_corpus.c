/* SPDX-License-Identifier: MIT
 *
 * tests/batch_corpus.c - batch buffers made by hand, each with what is to be found in it
 *
 * Numbers of commands and places of fields are written out here, from the same sources as those of
 * shared/batch_commands.h and apart from them: a wrong row there is not wrong here too.
 */
#include "batch_corpus.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* ---- scenes ---------------------------------------------------------------------------------- */

void scene_init(struct scene *scene)
{
	*scene = (struct scene){.max_steps = 20000};
}

void scene_fini(struct scene *scene)
{
	for (size_t i = 0; i < scene->count; i++)
		free(scene->buffers[i].dwords);
}

void scene_begin(struct scene *scene, uint64_t vm, uint64_t address)
{
	if (scene->count == MAX_SCENE_BUFFERS)
		abort();
	if (!scene->start && vm == SCENE_VM)
		scene->start = address;
	scene->buffers[scene->count++] = (struct scene_buffer){.vm = vm, .address = address};
}

void scene_put(struct scene *scene, uint32_t dword)
{
	struct scene_buffer *buffer = &scene->buffers[scene->count - 1];

	if (array_grow(buffer->dwords, buffer->capacity, buffer->count + 1))
		abort();
	buffer->dwords[buffer->count++] = dword;
}

void scene_command(struct scene *scene, uint32_t header, uint32_t dwords)
{
	scene->last = scene->buffers[scene->count - 1].count;
	scene_put(scene, header | (dwords > 1 ? dwords - 2 : 0));
	for (uint32_t i = 1; i < dwords; i++)
		scene_put(scene, 0);
}

void scene_set(struct scene *scene, size_t dword, uint32_t value)
{
	scene->buffers[scene->count - 1].dwords[scene->last + dword] = value;
}

struct batch_source scene_source(const struct scene *scene, struct batch_memory *memory)
{
	for (size_t i = 0; i < scene->count; i++)
		memory[i] = (struct batch_memory){.vm = scene->buffers[i].vm,
						  .address = scene->buffers[i].address,
						  .bytes = scene->buffers[i].dwords,
						  .size = scene->buffers[i].count * 4};
	return (struct batch_source){.memory = memory, .memory_count = scene->count};
}

void scene_prepare(const struct scene *scene, enum batch_generation generation,
		   struct batch_state *state)
{
	memset(state, 0, sizeof(*state));
	state->vm = SCENE_VM;
	state->generation = generation;
	state->max_steps = scene->max_steps;
	state->bases = scene->bases;
}

struct text {
	char *at, *end;
};

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(text->at, (size_t)(text->end - text->at), format, arguments);
	va_end(arguments);
	text->at += length < text->end - text->at ? length : text->end - text->at - 1;
}

static void append_count(struct text *text, const char *name, uint32_t count)
{
	if (count)
		append(text, "; %s %u", name, count);
}

void scene_describe(const struct batch_state *state, char *to)
{
	static const char *const statuses[BATCH_STATUSES] = {"going", "done",  "incomplete",
							     "loop",  "limit", "garbage"};
	struct text text = {to, to + SCENE_TEXT_SIZE};

	append(&text, "%s", statuses[state->status]);
	if (state->status == BATCH_INCOMPLETE && state->missing)
		append(&text, " without 0x%llx", (unsigned long long)state->missing);
	if (state->status == BATCH_INCOMPLETE && !state->missing)
		append(&text, " at 0x%llx", (unsigned long long)state->address);
	append(&text, " %u+%u", state->counts.commands, state->counts.noops);
	for (uint32_t i = 0; i < state->found_count; i++) {
		const struct batch_found *found = &state->found[i];

		append(&text, "; %s %s0x%llx", batch_kind_name(found->kind),
		       found->flags & BATCH_IS_RELATIVE ? "base+" : "",
		       (unsigned long long)found->address);
		if (found->count != 1)
			append(&text, " x%u", found->count);
	}
	append_count(&text, "chains", state->counts.chains);
	append_count(&text, "calls", state->counts.calls);
	append_count(&text, "too deep", state->counts.too_deep);
	append_count(&text, "predicated", state->counts.predicated);
	append_count(&text, "loops", state->counts.loops);
	append_count(&text, "unknown", state->counts.unknown);
	append_count(&text, "mismatched", state->counts.mismatched);
	append_count(&text, "unresolved", state->counts.unresolved);
	append_count(&text, "left out", state->counts.left_out);
}

/* ---- commands -------------------------------------------------------------------------------- */

enum {
	FIRST = 0x100000,  /* address of a scene's first buffer */
	SECOND = 0x200000, /* … of others */
	THIRD = 0x300000,
	FOURTH = 0x400000,
	FIFTH = 0x500000,
	PREDICATED = 1 << 15,
	NESTED = 1 << 22, /* "second level" */
};
#define HEAP 0x700000000ULL /* a base of kernels */

static void first(struct scene *scene)
{
	scene_begin(scene, SCENE_VM, FIRST);
}

static void end(struct scene *scene)
{
	scene_put(scene, 0x05000000);
}

static void noops(struct scene *scene, size_t count)
{
	while (count--)
		scene_put(scene, 0);
}

/* To another buffer: a chain, or a call with NESTED. */
static void start(struct scene *scene, uint64_t target, uint32_t flags)
{
	scene_command(scene, 0x18800100 | flags, 3);
	scene_set(scene, 1, (uint32_t)target);
	scene_set(scene, 2, (uint32_t)(target >> 32));
}

static void base_address(struct scene *scene, uint64_t instruction, uint32_t dwords)
{
	scene_command(scene, 0x61010000, dwords);
	scene_set(scene, 10, (uint32_t)instruction | 1);
	scene_set(scene, 11, (uint32_t)(instruction >> 32));
}

static void dynamic_base(struct scene *scene, uint64_t base)
{
	scene_set(scene, 6, (uint32_t)base | 1);
	scene_set(scene, 7, (uint32_t)(base >> 32));
}

static void bases(struct scene *scene)
{
	base_address(scene, HEAP, 22);
}

static void walker_39(struct scene *scene, uint32_t kernel)
{
	scene_command(scene, 0x72080000, 39);
	scene_set(scene, 18, kernel);
}

static void walker_40(struct scene *scene, uint32_t kernel)
{
	scene_command(scene, 0x72080000, 40);
	scene_set(scene, 19, kernel);
}

/* Two descriptors at SECOND, whose kernels are 0x1040 and 0x12_0000_2080, and what makes them
 * known. */
static void descriptors(struct scene *scene)
{
	base_address(scene, HEAP, 22);
	dynamic_base(scene, SECOND - 0x1000);
	scene_command(scene, 0x70020000, 4);
	scene_set(scene, 2, 64);
	scene_set(scene, 3, 0x1000);
}

static void put_descriptors(struct scene *scene)
{
	scene_begin(scene, SCENE_VM, SECOND);
	scene_put(scene, 0x1040);
	scene_put(scene, 0);
	noops(scene, 6);
	scene_put(scene, 0x2080 | 0x3f); /* its lower bits are reserved */
	scene_put(scene, 0xabcd0012);    /* and so are its upper ones */
	noops(scene, 6);
}

/* One that uses descriptor `number`. */
static void use_descriptor(struct scene *scene, uint32_t header, uint32_t dwords, uint32_t number)
{
	scene_command(scene, header, dwords);
	scene_set(scene, 1, number);
}

static void stage(struct scene *scene, uint32_t header, uint32_t dwords, size_t place,
		  uint32_t kernel)
{
	scene_command(scene, header, dwords);
	scene_set(scene, place, kernel);
}

static void pixel(struct scene *scene, uint32_t widths)
{
	scene_command(scene, 0x78200000, 12);
	scene_set(scene, 1, 0x1000);
	scene_set(scene, 6, 0x00800000 | widths);
	scene_set(scene, 8, 0x2000);
	scene_set(scene, 10, 0x3000);
}

/* ---- compute --------------------------------------------------------------------------------- */

static void build_walker_xe_hp(struct scene *scene)
{
	first(scene);
	bases(scene);
	walker_39(scene, 0x1040);
	end(scene);
}

static void build_walker_xe2(struct scene *scene)
{
	first(scene);
	bases(scene);
	walker_40(scene, 0x1040);
	end(scene);
}

/* Its upper dword is reserved, the lower bits too. */
static void build_walker_flags(struct scene *scene)
{
	first(scene);
	bases(scene);
	walker_40(scene, 0x107f);
	scene_set(scene, 20, 0xffffffff);
	end(scene);
}

static void build_walker_2(struct scene *scene)
{
	first(scene);
	bases(scene);
	scene_command(scene, 0x72200000, 64);
	scene_set(scene, 18, 0x80001040);
	scene_set(scene, 19, 0x7);
	end(scene);
}

static void build_walker_relative(struct scene *scene)
{
	first(scene);
	walker_40(scene, 0x1040);
	end(scene);
}

/* Of a batch before in the same context. */
static void build_walker_kept_base(struct scene *scene)
{
	scene->bases = (struct batch_bases){.instruction = HEAP, .known = BATCH_KNOWS_INSTRUCTION};
	build_walker_relative(scene);
}

static void build_walkers(struct scene *scene)
{
	first(scene);
	bases(scene);
	for (uint32_t i = 0; i < 10; i++)
		walker_40(scene, i % 3 * 0x40);
	end(scene);
}

static void build_indirect_xe_hp(struct scene *scene)
{
	first(scene);
	bases(scene);
	stage(scene, 0x7c010000, 44, 23, 0x1040);
	end(scene);
}

static void build_indirect_xe2(struct scene *scene)
{
	first(scene);
	bases(scene);
	stage(scene, 0x7c010000, 45, 24, 0x1040);
	end(scene);
}

static void build_gpgpu(struct scene *scene)
{
	first(scene);
	descriptors(scene);
	use_descriptor(scene, 0x71050000, 15, 0);
	use_descriptor(scene, 0x71050500, 15, 1); /* predicated, and with parameters from memory */
	scene_command(scene, 0x70040000, 2);
	end(scene);
	put_descriptors(scene);
}

/* Gen9's form of STATE_BASE_ADDRESS, with the flags of MOCS in it. */
static void build_gpgpu_gen9(struct scene *scene)
{
	first(scene);
	base_address(scene, 0, 19);
	scene_set(scene, 10, 0x21);
	dynamic_base(scene, SECOND);
	scene_command(scene, 0x70020000, 4);
	scene_set(scene, 2, 32);
	use_descriptor(scene, 0x71050000, 15, 0);
	end(scene);
	put_descriptors(scene);
}

static void build_media(struct scene *scene)
{
	first(scene);
	descriptors(scene);
	use_descriptor(scene, 0x71000000, 6, 0);
	use_descriptor(scene, 0x71000000, 300, 1); /* with inline data */
	use_descriptor(scene, 0x71020000, 16, 0);
	use_descriptor(scene, 0x71030000, 17, 1);
	use_descriptor(scene, 0x71060000, 7, 0);
	end(scene);
	put_descriptors(scene);
}

static void build_no_descriptors(struct scene *scene)
{
	first(scene);
	use_descriptor(scene, 0x71050000, 15, 0);
	end(scene);
}

static void build_descriptor_outside(struct scene *scene)
{
	first(scene);
	descriptors(scene);
	use_descriptor(scene, 0x71050000, 15, 2);
	use_descriptor(scene, 0x71050000, 15, 63);
	end(scene);
	put_descriptors(scene);
}

static void build_descriptor_unmapped(struct scene *scene)
{
	first(scene);
	descriptors(scene);
	use_descriptor(scene, 0x71050000, 15, 0);
	end(scene);
}

/* A batch of a video engine has other commands of the same numbers. */
static void build_video(struct scene *scene)
{
	first(scene);
	scene_command(scene, 0x70000000, 5);
	scene_command(scene, 0x70020000, 65);
	scene_command(scene, 0x71050000, 98);
	scene_command(scene, 0x77020000, 831);
	scene_command(scene, 0x68000000, 1);
	end(scene);
}

/* ---- graphics -------------------------------------------------------------------------------- */

static void build_vertex(struct scene *scene)
{
	first(scene);
	bases(scene);
	stage(scene, 0x78100000, 9, 1, 0x1000);
	scene_set(scene, 7, 0x405);
	end(scene);
}

static void build_stages_off(struct scene *scene)
{
	first(scene);
	bases(scene);
	stage(scene, 0x78100000, 9, 1, 0x1000);
	stage(scene, 0x78110000, 10, 1, 0x1000);
	stage(scene, 0x781b0000, 9, 3, 0x1000);
	stage(scene, 0x781d0000, 11, 1, 0x1000);
	pixel(scene, 0);
	end(scene);
}

static void build_geometry(struct scene *scene)
{
	first(scene);
	bases(scene);
	stage(scene, 0x78110000, 10, 1, 0x1000);
	scene_set(scene, 7, 1);
	end(scene);
}

/* Dword 2 has the enable, and is no part of the pointer. */
static void build_hull(struct scene *scene, uint32_t dwords)
{
	first(scene);
	bases(scene);
	stage(scene, 0x781b0000, dwords, 3, 0x1000);
	scene_set(scene, 2, 0x80000000);
	end(scene);
}

static void build_hull_9(struct scene *scene)
{
	build_hull(scene, 9);
}

static void build_hull_8(struct scene *scene)
{
	build_hull(scene, 8);
}

static void build_domain(struct scene *scene)
{
	first(scene);
	bases(scene);
	stage(scene, 0x781d0000, 11, 1, 0x1000);
	scene_set(scene, 7, 1);
	stage(scene, 0x781d0000, 11, 1, 0x1000);
	scene_set(scene, 7, 1);
	scene_set(scene, 9, 0x2000); /* two patches at a time */
	end(scene);
}

static void build_pixel(struct scene *scene, uint32_t widths)
{
	first(scene);
	bases(scene);
	pixel(scene, widths);
	end(scene);
}

#define BUILD_PIXEL(widths)                                          \
	static void build_pixel_##widths(struct scene *scene)        \
	{                                                            \
		build_pixel(scene, widths); /* 1: 8, 2: 16, 4: 32 */ \
	}
BUILD_PIXEL(1)
BUILD_PIXEL(2)
BUILD_PIXEL(3)
BUILD_PIXEL(4)
BUILD_PIXEL(5)
BUILD_PIXEL(6)
BUILD_PIXEL(7)

/* Since Xe2 there are two, and what was dword 6 enables nothing. */
static void build_pixel_xe2(struct scene *scene)
{
	first(scene);
	bases(scene);
	pixel(scene, 7);
	scene_set(scene, 1, 0x1001);
	scene_set(scene, 8, 0x2003);
	pixel(scene, 7);
	scene_set(scene, 1, 0x1001);
	pixel(scene, 7);
	end(scene);
}

static void build_mesh(struct scene *scene)
{
	first(scene);
	bases(scene);
	stage(scene, 0x787d0000, 7, 1, 0x1000);
	stage(scene, 0x787a0000, 8, 1, 0x2000);
	scene_command(scene, 0x7b020000, 4);
	stage(scene, 0x787d0000, 7, 1, 0);
	stage(scene, 0x787a0000, 8, 1, 0);
	end(scene);
}

/* A draw with all stages, as a driver of graphics writes it. */
static void build_draw(struct scene *scene)
{
	first(scene);
	scene_command(scene, 0x69040000, 1);
	bases(scene);
	scene_command(scene, 0x7a000000, 6);
	scene_command(scene, 0x78080000, 9);
	scene_command(scene, 0x78090000, 5);
	stage(scene, 0x78100000, 9, 1, 0x1000);
	scene_set(scene, 7, 1);
	stage(scene, 0x781b0000, 9, 3, 0x2000);
	scene_set(scene, 2, 0x80000000);
	scene_command(scene, 0x781c0000, 4);
	stage(scene, 0x781d0000, 11, 1, 0x3000);
	scene_set(scene, 7, 1);
	stage(scene, 0x78110000, 10, 1, 0x4000);
	scene_set(scene, 7, 1);
	pixel(scene, 2);
	scene_command(scene, 0x7b000000, 7);
	end(scene);
}

/* Pointers of these are 58 bits, unlike those of a walker. */
static void build_far_stage(struct scene *scene)
{
	first(scene);
	base_address(scene, 0, 22);
	stage(scene, 0x78100000, 9, 1, 0x1000);
	scene_set(scene, 2, 0x7);
	scene_set(scene, 7, 1);
	end(scene);
}

/* ---- bases, the system routine and the debug area -------------------------------------------- */

static void build_system(struct scene *scene)
{
	first(scene);
	bases(scene);
	stage(scene, 0x61020000, 3, 1, 0x2010);
	walker_40(scene, 0x1040);
	end(scene);
}

static void build_system_first(struct scene *scene)
{
	first(scene);
	stage(scene, 0x61020000, 3, 1, 0x2010);
	bases(scene);
	end(scene);
}

static void build_system_xe3p(struct scene *scene)
{
	first(scene);
	bases(scene);
	stage(scene, 0x61020000, 3, 1, 0x2010);
	scene_set(scene, 2, 0x8);
	stage(scene, 0x61020000, 3, 1, 0x2010);
	end(scene);
}

static void build_debug_area(struct scene *scene)
{
	first(scene);
	bases(scene);
	walker_40(scene, 0x1040);
	end(scene);
	scene_begin(scene, SCENE_VM, HEAP);
	scene_put(scene, 0x61676264); /* "dbga" */
	scene_put(scene, 0x00616572); /* "rea" */
	noops(scene, 6);
}

static void build_bases_change(struct scene *scene)
{
	first(scene);
	bases(scene);
	walker_40(scene, 0x1040);
	base_address(scene, HEAP + 0x100000000, 22);
	walker_40(scene, 0x1040);
	base_address(scene, 0, 22);
	scene_set(scene, 10, 0x5000); /* not to be changed */
	walker_40(scene, 0x1040);
	end(scene);
}

static void build_bases_short(struct scene *scene)
{
	first(scene);
	scene_command(scene, 0x61010000, 10);
	end(scene);
}

/* ---- from one buffer to the next ------------------------------------------------------------- */

static void build_chain(struct scene *scene)
{
	first(scene);
	bases(scene);
	start(scene, SECOND, 0);
	walker_40(scene, 0x9000); /* never comes to it */
	scene_begin(scene, SCENE_VM, SECOND);
	walker_40(scene, 0x1040);
	end(scene);
}

static void build_call(struct scene *scene)
{
	first(scene);
	bases(scene);
	start(scene, SECOND, NESTED);
	walker_40(scene, 0x2080);
	end(scene);
	scene_begin(scene, SCENE_VM, SECOND);
	walker_40(scene, 0x1040);
	end(scene);
}

/* A list of commands that is submitted twice at once. */
static void build_call_twice(struct scene *scene)
{
	first(scene);
	bases(scene);
	start(scene, SECOND, NESTED);
	start(scene, SECOND, NESTED);
	end(scene);
	scene_begin(scene, SCENE_VM, SECOND);
	walker_40(scene, 0x1040);
	end(scene);
}

/* Each of `count` buffers calls the next, runs a kernel, and ends. */
static void build_nested(struct scene *scene, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		scene_begin(scene, SCENE_VM, FIRST + i * 0x100000);
		if (!i)
			bases(scene);
		if (i + 1 < count)
			start(scene, FIRST + (i + 1) * 0x100000, NESTED);
		walker_40(scene, 0x1000 * (i + 1));
		end(scene);
	}
}

static void build_nested_4(struct scene *scene)
{
	build_nested(scene, 4);
}

static void build_nested_6(struct scene *scene)
{
	build_nested(scene, 6);
}

static void build_call_chain(struct scene *scene)
{
	first(scene);
	bases(scene);
	start(scene, SECOND, NESTED);
	walker_40(scene, 0x3000);
	end(scene);
	scene_begin(scene, SCENE_VM, SECOND);
	walker_40(scene, 0x1000);
	start(scene, THIRD, 0);
	scene_begin(scene, SCENE_VM, THIRD);
	walker_40(scene, 0x2000);
	end(scene);
}

static void build_loop_self(struct scene *scene)
{
	first(scene);
	bases(scene);
	walker_40(scene, 0x1040);
	start(scene, FIRST, 0);
}

/* Into a loop of three, from outside: five jumps until a mark lies in it. */
static void build_loop_three(struct scene *scene)
{
	static const uint64_t next[] = {SECOND, THIRD, FOURTH, SECOND};

	for (uint32_t i = 0; i < 4; i++) {
		scene_begin(scene, SCENE_VM, FIRST + i * 0x100000);
		start(scene, next[i], 0);
	}
}

static void build_loop_in_call(struct scene *scene)
{
	first(scene);
	start(scene, SECOND, NESTED);
	end(scene);
	scene_begin(scene, SCENE_VM, SECOND);
	start(scene, SECOND, 0);
}

/* It calls itself. */
static void build_recursion(struct scene *scene)
{
	first(scene);
	bases(scene);
	walker_40(scene, 0x1040);
	start(scene, FIRST, NESTED);
	end(scene);
}

/* A loop that the GPU leaves: what comes behind is found too. */
static void build_loop_predicated(struct scene *scene)
{
	first(scene);
	bases(scene);
	walker_40(scene, 0x1040);
	start(scene, FIRST, PREDICATED);
	walker_40(scene, 0x2080);
	end(scene);
}

static void build_conditional_end(struct scene *scene)
{
	first(scene);
	bases(scene);
	scene_command(scene, 0x1b000000, 4);
	walker_40(scene, 0x1040);
	end(scene);
}

static void build_start_short(struct scene *scene)
{
	first(scene);
	scene_put(scene, 0x18800100);
	scene_put(scene, 0x02800000); /* MI_ARB_CHECK, at its second dword */
	end(scene);
}

/* Addresses with their sign in the upper bits, and flags in the lower ones. */
static void build_canonical(struct scene *scene)
{
	first(scene);
	base_address(scene, 0xffff800000000000ULL, 22);
	start(scene, 0xffff800000200000ULL | 3, 0);
	scene_begin(scene, SCENE_VM, 0x800000200000ULL);
	walker_40(scene, 0x1040);
	end(scene);
}

/* ---- what is not there ----------------------------------------------------------------------- */

static void build_empty(struct scene *scene)
{
	scene->start = FIRST;
}

static void build_truncated(struct scene *scene)
{
	first(scene);
	bases(scene);
	walker_40(scene, 0x1040);
}

/* In the middle of the pointer. */
static void build_truncated_walker(struct scene *scene)
{
	first(scene);
	bases(scene);
	scene_put(scene, 0x72080026);
	noops(scene, 18);
	scene_put(scene, 0x1040);
}

static void build_truncated_start(struct scene *scene)
{
	first(scene);
	scene_put(scene, 0x18800101);
	scene_put(scene, SECOND);
}

/* Nothing of use is missing of this command, but the next one is. */
static void build_truncated_tail(struct scene *scene)
{
	first(scene);
	bases(scene);
	scene_put(scene, 0x72080026);
	noops(scene, 18);
	scene_put(scene, 0x1040);
	noops(scene, 2);
}

static void build_unmapped_target(struct scene *scene)
{
	first(scene);
	bases(scene);
	walker_40(scene, 0x1040);
	start(scene, 0xdead000, 0);
}

static void build_unmapped_call(struct scene *scene)
{
	first(scene);
	start(scene, SECOND, NESTED);
	end(scene);
}

/* The same address in two address spaces: the first is another process's. */
static void build_other_space(struct scene *scene)
{
	scene_begin(scene, SCENE_VM + 1, FIRST);
	bases(scene);
	walker_40(scene, 0x9000);
	end(scene);
	first(scene);
	bases(scene);
	walker_40(scene, 0x1040);
	end(scene);
}

static void build_only_elsewhere(struct scene *scene)
{
	first(scene);
	start(scene, SECOND, 0);
	scene_begin(scene, SCENE_VM + 1, SECOND);
	walker_40(scene, 0x9000);
	end(scene);
}

/* ---- padding --------------------------------------------------------------------------------- */

static void build_padding(struct scene *scene)
{
	first(scene);
	noops(scene, 7);
	bases(scene);
	noops(scene, 1);
	walker_40(scene, 0x1040);
	noops(scene, 500);
	end(scene);
}

/* With an identification number, which it may have. */
static void build_padding_numbered(struct scene *scene)
{
	first(scene);
	bases(scene);
	scene_put(scene, 0x00400123);
	walker_40(scene, 0x1040);
	end(scene);
}

static void max_build_padding(struct scene *scene)
{
	first(scene);
	noops(scene, 4096);
	end(scene);
}

/* More than that is memory that nobody has written yet. */
static void build_not_written(struct scene *scene)
{
	first(scene);
	bases(scene);
	walker_40(scene, 0x1040);
	noops(scene, 5000);
}

static void build_not_written_to_the_end(struct scene *scene)
{
	first(scene);
	bases(scene);
	noops(scene, 100);
}

/* ---- unknown commands and garbage ------------------------------------------------------------ */

static void build_unknown(struct scene *scene)
{
	first(scene);
	bases(scene);
	scene_command(scene, 0x07800000 | 0x12, 1); /* known: MI_RS_CONTEXT */
	scene_command(scene, 0x08000000, 2);        /* MI 0x10 */
	scene_command(scene, 0x1f800000, 5);        /* MI 0x3f */
	scene_command(scene, 0x5f800000, 6);        /* 2D 0x7e */
	scene_command(scene, 0x60ff0000, 3);        /* shared */
	scene_command(scene, 0x69ff0000, 1);        /* one dword each */
	scene_command(scene, 0x70ff0000, 300);      /* media */
	scene_command(scene, 0x74800000, 600);      /* video */
	scene_command(scene, 0x78fe0000, 17);       /* 3D */
	scene_command(scene, 0xbc000000, 4);        /* execution */
	walker_40(scene, 0x1040);
	end(scene);
}

/* Known, of another generation. */
static void build_other_generation(struct scene *scene)
{
	first(scene);
	bases(scene);
	use_descriptor(scene, 0x71050000, 15, 0);
	scene_command(scene, 0x70020000, 4);
	walker_40(scene, 0x1040);
	end(scene);
}

static void build_other_length(struct scene *scene)
{
	first(scene);
	bases(scene);
	walker_39(scene, 0x1040);
	stage(scene, 0x781b0000, 9, 3, 0x1000);
	scene_set(scene, 2, 0x80000000);
	end(scene);
}

/* Lengths that are in the commands, of which a fixed one would be wrong. */
static void build_lengths(struct scene *scene)
{
	first(scene);
	bases(scene);
	scene_command(scene, 0x11000000, 257);           /* MI_LOAD_REGISTER_IMM, 128 registers */
	scene_command(scene, 0x0d000000, 14);            /* MI_MATH, 13 operations */
	scene_command(scene, 0x10000000, 4);             /* MI_STORE_DATA_IMM of a dword */
	scene_command(scene, 0x10200000, 5);             /* … of two */
	scene_command(scene, 0x10000000, 0x300);         /* … of many */
	scene_command(scene, 0x13000000 | 1 << 14, 5);   /* MI_FLUSH_DW, flags above its length */
	scene_command(scene, 0x17800000 | 0x5c0100, 11); /* MI_ATOMIC with operands inline */
	scene_command(scene, 0x0e000000, 5);             /* MI_SEMAPHORE_WAIT */
	scene_command(scene, 0x79170000, 300);           /* 3DSTATE_SO_DECL_LIST */
	scene_command(scene, 0xac000000, 5);             /* RESOURCE_BARRIER */
	scene_command(scene, 0x50400000, 22);            /* XY_BLOCK_COPY_BLT */
	walker_40(scene, 0x1040);
	end(scene);
}

static void build_reserved(struct scene *scene)
{
	first(scene);
	bases(scene);
	walker_40(scene, 0x1040);
	scene_put(scene, 0xffffffff);
	end(scene);
}

static void build_text(struct scene *scene)
{
	static const char text[] = "A text is no batch buffer, and this is one. ....";

	first(scene);
	for (size_t i = 0; i + 4 <= sizeof(text); i += 4) {
		uint32_t dword;

		memcpy(&dword, text + i, 4);
		scene_put(scene, dword);
	}
}

/* Numbers of a generator: what is found is not said by hand, but that it ends is. */
static void build_random(struct scene *scene)
{
	uint32_t value = 1;

	first(scene);
	for (size_t i = 0; i < 4096; i++) {
		value = value * 1664525 + 1013904223;
		scene_put(scene, value);
	}
}

/* ---- windows and limits ---------------------------------------------------------------------- */

/* A walker whose pointer's dwords are the last of a page and the first of the next. */
static void build_across_pages(struct scene *scene)
{
	first(scene);
	bases(scene);
	noops(scene, 1024 - 22 - 20);
	walker_40(scene, 0x1040);
	end(scene);
}

/* … of two mappings that lie side by side for the GPU only. */
static void build_across_mappings(struct scene *scene)
{
	first(scene);
	bases(scene);
	noops(scene, 1024 - 22 - 20);
	scene_put(scene, 0x72080026);
	noops(scene, 18);
	scene_put(scene, 0x1040);
	scene_begin(scene, SCENE_VM, FIRST + 4096);
	noops(scene, 20);
	end(scene);
}

/* Begins in the middle of a window, and ends in the middle of one. */
static void build_unaligned(struct scene *scene)
{
	scene_begin(scene, SCENE_VM, FIRST + 0x3fc);
	bases(scene);
	walker_40(scene, 0x1040);
	end(scene);
}

static void build_limit(struct scene *scene)
{
	scene->max_steps = 3;
	first(scene);
	bases(scene);
	walker_40(scene, 0x1040);
	walker_40(scene, 0x1040);
	walker_40(scene, 0x2080);
	end(scene);
}

/* 130 kernels; there is room for 128: tests/unit/isa/test_batch.c. */
static void build_many(struct scene *scene)
{
	first(scene);
	for (uint32_t i = 0; i < 130; i++)
		walker_40(scene, i * 0x40);
	end(scene);
}

/* The last command of the address space, which wraps. */
static void build_wrap(struct scene *scene)
{
	scene_begin(scene, SCENE_VM, 0xfffffffffffffffcULL);
	scene_put(scene, 0x02800000);
}

/* ---- the corpus ------------------------------------------------------------------------------ */

const struct corpus_case corpus[] = {
	{"COMPUTE_WALKER, Xe-HPG", BATCH_XE_HPG, build_walker_xe_hp,
	 "done 3+0; compute 0x700001040"},
	{"COMPUTE_WALKER, Xe-HPC", BATCH_XE_HPC, build_walker_xe_hp,
	 "done 3+0; compute 0x700001040"},
	{"COMPUTE_WALKER, Xe2", BATCH_XE2, build_walker_xe2, "done 3+0; compute 0x700001040"},
	{"COMPUTE_WALKER, Xe3", BATCH_XE3, build_walker_xe2, "done 3+0; compute 0x700001040"},
	{"COMPUTE_WALKER, reserved bits", BATCH_XE2, build_walker_flags,
	 "done 3+0; compute 0x700001040"},
	{"COMPUTE_WALKER_2, Xe3p", BATCH_XE3P, build_walker_2, "done 3+0; compute 0x780001040"},
	{"COMPUTE_WALKER without a base", BATCH_XE2, build_walker_relative,
	 "done 2+0; compute base+0x1040"},
	{"COMPUTE_WALKER, base of a batch before", BATCH_XE2, build_walker_kept_base,
	 "done 2+0; compute 0x700001040"},
	{"three kernels, ten launches", BATCH_XE2, build_walkers,
	 "done 12+0; compute 0x700000000 x4; compute 0x700000040 x3; compute 0x700000080 x3"},
	{"EXECUTE_INDIRECT_DISPATCH, Xe-HPG", BATCH_XE_HPG, build_indirect_xe_hp,
	 "done 3+0; compute 0x700001040"},
	{"EXECUTE_INDIRECT_DISPATCH, Xe2", BATCH_XE2, build_indirect_xe2,
	 "done 3+0; compute 0x700001040"},
	{"GPGPU_WALKER, Gen9", BATCH_GEN9, build_gpgpu_gen9, "done 4+0; compute 0x1040"},
	{"GPGPU_WALKER, Gen11", BATCH_GEN11, build_gpgpu,
	 "done 6+0; compute 0x700001040; compute 0x1900002080"},
	{"GPGPU_WALKER, Gen12", BATCH_GEN12, build_gpgpu,
	 "done 6+0; compute 0x700001040; compute 0x1900002080"},
	{"MEDIA_OBJECT and its kin", BATCH_GEN9, build_media,
	 "done 8+0; compute 0x700001040 x3; compute 0x1900002080 x2"},
	{"GPGPU_WALKER without descriptors", BATCH_GEN12, build_no_descriptors,
	 "done 2+0; unresolved 1"},
	{"GPGPU_WALKER, descriptors that were not loaded", BATCH_GEN12, build_descriptor_outside,
	 "done 5+0; unresolved 2"},
	{"GPGPU_WALKER, unmapped descriptors", BATCH_GEN12, build_descriptor_unmapped,
	 "done 4+0; unresolved 1"},
	{"a video engine's commands", BATCH_GEN12, build_video,
	 "done 6+0; unknown 2; mismatched 2"},

	{"3DSTATE_VS, Gen9", BATCH_GEN9, build_vertex, "done 3+0; vertex 0x700001000"},
	{"3DSTATE_VS, Xe-HPG", BATCH_XE_HPG, build_vertex, "done 3+0; vertex 0x700001000"},
	{"3DSTATE_VS, Xe2", BATCH_XE2, build_vertex, "done 3+0; vertex 0x700001000"},
	{"3DSTATE_VS, a far kernel", BATCH_XE2, build_far_stage, "done 3+0; vertex 0x700001000"},
	{"stages that are off", BATCH_GEN12, build_stages_off, "done 7+0"},
	{"3DSTATE_GS", BATCH_GEN11, build_geometry, "done 3+0; geometry 0x700001000"},
	{"3DSTATE_HS, Gen9", BATCH_GEN9, build_hull_9, "done 3+0; hull 0x700001000"},
	{"3DSTATE_HS, Xe-HPG", BATCH_XE_HPG, build_hull_9, "done 3+0; hull 0x700001000"},
	{"3DSTATE_HS, Xe2", BATCH_XE2, build_hull_8, "done 3+0; hull 0x700001000"},
	{"3DSTATE_DS, two kernels", BATCH_GEN12, build_domain,
	 "done 4+0; domain 0x700001000 x2; domain 0x700002000"},
	{"3DSTATE_PS, 8 pixels", BATCH_GEN9, build_pixel_1, "done 3+0; pixel 0x700001000"},
	{"3DSTATE_PS, 16", BATCH_GEN9, build_pixel_2, "done 3+0; pixel 0x700001000"},
	{"3DSTATE_PS, 8 and 16", BATCH_GEN11, build_pixel_3,
	 "done 3+0; pixel 0x700001000; pixel 0x700003000"},
	{"3DSTATE_PS, 32", BATCH_GEN12, build_pixel_4, "done 3+0; pixel 0x700001000"},
	{"3DSTATE_PS, 8 and 32", BATCH_GEN12, build_pixel_5,
	 "done 3+0; pixel 0x700001000; pixel 0x700002000"},
	{"3DSTATE_PS, 16 and 32", BATCH_XE_HPG, build_pixel_6,
	 "done 3+0; pixel 0x700002000; pixel 0x700003000"},
	{"3DSTATE_PS, all three", BATCH_GEN12, build_pixel_7,
	 "done 3+0; pixel 0x700001000; pixel 0x700002000; pixel 0x700003000"},
	{"3DSTATE_PS, Xe2", BATCH_XE2, build_pixel_xe2,
	 "done 5+0; pixel 0x700001000 x2; pixel 0x700002000"},
	{"3DSTATE_TASK_SHADER and 3DSTATE_MESH_SHADER, Xe-HPG", BATCH_XE_HPG, build_mesh,
	 "done 7+0; task 0x700001000; mesh 0x700002000"},
	{"3DSTATE_TASK_SHADER and 3DSTATE_MESH_SHADER, Xe3", BATCH_XE3, build_mesh,
	 "done 7+0; task 0x700001000; mesh 0x700002000"},
	{"a draw with all stages", BATCH_GEN12, build_draw,
	 "done 13+0; vertex 0x700001000; hull 0x700002000; domain 0x700003000; geometry "
	 "0x700004000; "
	 "pixel 0x700001000"},

	{"STATE_SIP", BATCH_XE2, build_system,
	 "done 4+0; [system routine] 0x700002010; compute 0x700001040"},
	{"STATE_SIP, Gen9", BATCH_GEN9, build_system_first,
	 "done 3+0; [system routine] base+0x2010"},
	{"STATE_SIP, Xe3p", BATCH_XE3P, build_system_xe3p,
	 "done 4+0; [system routine] 0x800002010; [system routine] 0x700002010"},
	{"a debug area", BATCH_XE2, build_debug_area,
	 "done 3+0; [debug area] 0x700000000; compute 0x700001040"},
	{"STATE_BASE_ADDRESS changes what follows", BATCH_XE2, build_bases_change,
	 "done 7+0; compute 0x700001040; compute 0x800001040 x2"},
	{"STATE_BASE_ADDRESS, too short", BATCH_XE2, build_bases_short, "done 2+0; mismatched 1"},

	{"a chain", BATCH_XE2, build_chain, "done 4+0; compute 0x700001040; chains 1"},
	{"a second level", BATCH_XE2, build_call,
	 "done 6+0; compute 0x700001040; compute 0x700002080; calls 1"},
	{"a second level, twice", BATCH_XE2, build_call_twice,
	 "done 8+0; compute 0x700001040 x2; calls 2"},
	{"four levels", BATCH_XE2, build_nested_4,
	 "done 12+0; compute 0x700004000; compute 0x700003000; compute 0x700002000; "
	 "compute 0x700001000; calls 3"},
	{"six levels", BATCH_XE2, build_nested_6,
	 "done 13+0; compute 0x700004000; compute 0x700003000; compute 0x700002000; "
	 "compute 0x700001000; calls 3; too deep 1"},
	{"a chain in the second level", BATCH_XE2, build_call_chain,
	 "done 8+0; compute 0x700001000; compute 0x700002000; compute 0x700003000; chains 1; calls "
	 "1"},
	{"a loop of one", BATCH_XE2, build_loop_self, "loop 3+0; compute 0x700001040"},
	{"a loop of three", BATCH_XE2, build_loop_three, "loop 6+0; chains 5"},
	{"a loop in the second level", BATCH_XE2, build_loop_in_call, "loop 2+0; calls 1"},
	{"a batch that calls itself", BATCH_XE2, build_recursion,
	 "done 16+0; compute 0x700001040 x4; calls 3; too deep 1"},
	{"a loop that is left", BATCH_XE2, build_loop_predicated,
	 "done 5+0; compute 0x700001040; compute 0x700002080; predicated 1; loops 1"},
	{"a conditional end", BATCH_XE2, build_conditional_end, "done 4+0; compute 0x700001040"},
	{"MI_BATCH_BUFFER_START, too short", BATCH_XE2, build_start_short,
	 "done 2+0; mismatched 1"},
	{"addresses with a sign", BATCH_XE2, build_canonical,
	 "done 4+0; compute 0x800000001040; chains 1"},

	{"nothing is mapped", BATCH_XE2, build_empty, "incomplete without 0x100000 0+0"},
	{"cut behind a command", BATCH_XE2, build_truncated,
	 "incomplete without 0x1000f8 2+0; compute 0x700001040"},
	{"cut in a pointer", BATCH_XE2, build_truncated_walker, "incomplete without 0x1000a8 1+0"},
	{"cut in MI_BATCH_BUFFER_START", BATCH_XE2, build_truncated_start,
	 "incomplete without 0x100008 0+0"},
	{"cut behind the last field of use", BATCH_XE2, build_truncated_tail,
	 "incomplete without 0x1000f8 2+0; compute 0x700001040"},
	{"a chain to what is not mapped", BATCH_XE2, build_unmapped_target,
	 "incomplete without 0xdead000 3+0; compute 0x700001040; chains 1"},
	{"a call of what is not mapped", BATCH_XE2, build_unmapped_call,
	 "incomplete without 0x200000 1+0; calls 1"},
	{"one address in two address spaces", BATCH_XE2, build_other_space,
	 "done 3+0; compute 0x700001040"},
	{"a chain to what another address space has", BATCH_XE2, build_only_elsewhere,
	 "incomplete without 0x200000 1+0; chains 1"},

	{"padding", BATCH_XE2, build_padding, "done 3+508; compute 0x700001040"},
	{"padding with a number", BATCH_XE2, build_padding_numbered,
	 "done 3+1; compute 0x700001040"},
	{"as much padding as there may be", BATCH_XE2, max_build_padding, "done 1+4096"},
	{"not written yet", BATCH_XE2, build_not_written,
	 "incomplete at 0x1000f8 2+0; compute 0x700001040"},
	{"not written to the end of the mapping", BATCH_XE2, build_not_written_to_the_end,
	 "incomplete without 0x1001e8 1+0"},

	{"unknown commands of each kind", BATCH_XE2, build_unknown,
	 "done 13+0; compute 0x700001040; unknown 9"},
	{"commands of another generation", BATCH_XE2, build_other_generation,
	 "done 5+0; compute 0x700001040; unknown 2"},
	{"commands of another generation's length", BATCH_XE2, build_other_length,
	 "done 4+0; mismatched 2"},
	{"lengths of commands", BATCH_XE2, build_lengths, "done 14+0; compute 0x700001040"},
	{"a reserved type", BATCH_XE2, build_reserved, "garbage 2+0; compute 0x700001040"},
	{"a text", BATCH_XE2, build_text, "incomplete without 0x10010c 1+0; unknown 1"},
	{"random numbers, Gen9", BATCH_GEN9, build_random, NULL},
	{"random numbers, Xe-HPG", BATCH_XE_HPG, build_random, NULL},
	{"random numbers, Xe2", BATCH_XE2, build_random, NULL},
	{"random numbers, Xe3p", BATCH_XE3P, build_random, NULL},

	{"a pointer across pages", BATCH_XE2, build_across_pages,
	 "done 3+982; compute 0x700001040"},
	{"a pointer across mappings", BATCH_XE2, build_across_mappings,
	 "done 3+982; compute 0x700001040"},
	{"a batch in the middle of a window", BATCH_XE2, build_unaligned,
	 "done 3+0; compute 0x700001040"},
	{"more commands than are wanted", BATCH_XE2, build_limit,
	 "limit 3+0; compute 0x700001040 x2"},
	{"more kernels than there is room for", BATCH_XE2, build_many, NULL},
	{"the end of the address space", BATCH_XE2, build_wrap, "incomplete at 0x0 1+0"},
};
const size_t corpus_count = ARRAY_COUNT(corpus);
