/* SPDX-License-Identifier: MIT
 *
 * isa/batch.c - find the kernels in batch buffers of Intel GPUs
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     copies of memory as the GPU sees it, untrusted
 * Gives:    the results declared in event/batch.h
 * Owns:     nothing
 * Fails:    never; commands that were not understood are counted
 * Why:      the same parser runs as a BPF program inside the kernel. This file compiles the parser
 *           for our own process, so a buffer that the BPF program misread can be examined
 */
#include "isa/batch.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"

#define BATCH_FUNCTION static inline
#define BATCH_READ     read_memory
#define BATCH_SEE      report_command

static long read_memory(void *context, uint64_t vm, uint64_t address, uint32_t bytes, void *target)
{
	const struct batch_source *source = context;

	for (size_t i = 0; i < source->memory_count; i++) {
		const struct batch_memory *memory = &source->memory[i];
		const uint64_t offset = address - memory->address;
		size_t left;

		if (memory->vm != vm || offset >= memory->size)
			continue;
		left = memory->size - offset;
		if (left > bytes)
			left = bytes;
		memcpy(target, (const char *)memory->bytes + offset, left);
		return (long)left;
	}
	return -1;
}

static void report_command(void *context, uint64_t address, uint32_t row, uint32_t header,
			   uint32_t dwords)
{
	const struct batch_source *source = context;

	if (source->on_command)
		source->on_command(source->context, address, row, header, dwords);
}

#include "shared/batch_parser.h"

static void run_parser(struct batch_state *state, const struct batch_source *source)
{
	while (!batch_step(state, (void *)source))
		;
}

void batch_parse(struct batch_state *state, const struct batch_source *source, uint64_t address)
{
	batch_begin(state, address);
	run_parser(state, source);
}

void batch_continue(struct batch_state *state, const struct batch_source *source)
{
	batch_resume(state);
	if (state->status == BATCH_GOING)
		run_parser(state, source);
}

/* ---- names ----------------------------------------------------------------------------------- */

#define BATCH_COMMAND(name, ...) [BATCH_ROW_##name] = #name,
#define BATCH_SPECIAL            BATCH_COMMAND
#define BATCH_KERNEL             BATCH_COMMAND
static const char *const command_names[BATCH_ROWS] = {
#include "shared/batch_commands.h"
};
#undef BATCH_COMMAND
#undef BATCH_SPECIAL
#undef BATCH_KERNEL

static const char *const kind_names[BATCH_KINDS] = {
	[BATCH_COMPUTE] = "compute",
	[BATCH_VERTEX] = "vertex",
	[BATCH_HULL] = "hull",
	[BATCH_DOMAIN] = "domain",
	[BATCH_GEOMETRY] = "geometry",
	[BATCH_PIXEL] = "pixel",
	[BATCH_TASK] = "task",
	[BATCH_MESH] = "mesh",
	[BATCH_SYSTEM_ROUTINE] = "[system routine]",
	[BATCH_DEBUG_AREA] = "[debug area]",
};

const char *batch_command_name(uint32_t row)
{
	return array_text(command_names, BATCH_ROWS, row, "unknown");
}

const char *batch_kind_name(uint32_t kind)
{
	return array_text(kind_names, BATCH_KINDS, kind, "?");
}

/* ---- generations ----------------------------------------------------------------------------- */

/* aliases: short names of devices in Mesa and the Compute Runtime, with a blank on each side. */
static const struct {
	const char *name, *devices, *aliases;
} generations[BATCH_GENERATIONS] = {
	[BATCH_GEN9] = {"gen9", "Skylake to Comet Lake", " skl kbl cfl cml bxt apl glk whl "},
	[BATCH_GEN11] = {"gen11", "Ice Lake, Elkhart Lake", " icl ehl jsl "},
	[BATCH_GEN12] = {"gen12", "Tiger Lake to Raptor Lake, DG1",
			 " xe-lp tgl tgllp rkl adl adl-s adl-p adl-n rpl dg1 "},
	[BATCH_XE_HPG] = {"xe-hpg", "DG2 (Arc A), Meteor Lake, Arrow Lake",
			  " xe-lpg xe-lpgplus dg2 acm mtl arl "},
	[BATCH_XE_HPC] = {"xe-hpc", "Ponte Vecchio (Max)", " pvc "},
	[BATCH_XE2] = {"xe2", "Lunar Lake, Battlemage (Arc B)", " xe2-hpg xe2-lpg lnl bmg "},
	[BATCH_XE3] = {"xe3", "Panther Lake", " xe3-lpg ptl wcl "},
	[BATCH_XE3P] = {"xe3p", "Nova Lake, Crescent Island", " nvl nvls cri "},
};

const char *batch_generation_name(uint32_t generation)
{
	return generation < BATCH_GENERATIONS ? generations[generation].name : "?";
}

const char *batch_generation_devices(uint32_t generation)
{
	return generation < BATCH_GENERATIONS ? generations[generation].devices : "?";
}

static bool is_alias(const char *aliases, const char *name)
{
	const size_t length = strlen(name);

	if (!length || strchr(name, ' '))
		return false;
	for (const char *at = aliases; (at = strstr(at, name)); at++)
		if (at[-1] == ' ' && at[length] == ' ')
			return true;
	return false;
}

static int refuse_name(const char *name)
{
	struct string_builder text = {0};
	int error;

	for (size_t i = 0; i < BATCH_GENERATIONS; i++)
		string_builder_appendf(&text, "%s%s (%s)", i ? "; " : "", generations[i].name,
				       generations[i].devices);
	error = error_set(-EINVAL, "unknown generation '%s'; generations are %s", name,
			  string_builder_text(&text));
	string_builder_fini(&text);
	return error;
}

int batch_find_generation(const char *name, enum batch_generation *ret_generation)
{
	for (size_t i = 0; i < BATCH_GENERATIONS; i++) {
		if (strcmp(name, generations[i].name) != 0 &&
		    !is_alias(generations[i].aliases, name))
			continue;
		*ret_generation = (enum batch_generation)i;
		return 0;
	}
	return refuse_name(name);
}

/* Number of commands that a generation does not have, or has in another form. */
static uint32_t count_strange(const struct batch_source *source, uint64_t vm, uint64_t address,
			      uint32_t max_steps, enum batch_generation generation)
{
	const struct batch_source silent = {.memory = source->memory,
					    .memory_count = source->memory_count};
	struct batch_state state = {.vm = vm, .generation = generation, .max_steps = max_steps};

	batch_parse(&state, &silent, address);
	return state.counts.unknown + state.counts.mismatched;
}

bool batch_guess_generation(const struct batch_source *source, uint64_t vm, uint64_t address,
			    uint32_t max_steps, enum batch_generation *ret_generation)
{
	/* On a tie the most common generation comes first. */
	static const enum batch_generation order[] = {BATCH_XE2,    BATCH_XE3,   BATCH_XE_HPG,
						      BATCH_XE_HPC, BATCH_GEN12, BATCH_GEN11,
						      BATCH_GEN9,   BATCH_XE3P};
	enum batch_generation best = order[0];
	uint32_t fewest = UINT32_MAX;
	bool is_told = false;

	for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
		const uint32_t strange = count_strange(source, vm, address, max_steps, order[i]);

		if (strange < fewest) {
			best = order[i];
			fewest = strange;
			is_told = true;
		} else if (strange == fewest && batch_layout(order[i]) != batch_layout(best)) {
			is_told = false;
		}
	}
	*ret_generation = best;
	return is_told;
}
