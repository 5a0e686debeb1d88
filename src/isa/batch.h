/* SPDX-License-Identifier: MIT
 *
 * isa/batch.h - find the kernels in batch buffers of Intel GPUs
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/batch.h"

/* A part of an address space of the GPU; bytes are the caller's. */
struct batch_memory {
	uint64_t vm, address;
	const void *bytes;
	size_t size;
};

struct batch_source {
	const struct batch_memory *memory;
	size_t memory_count;
	/* Called for each command except MI_NOOP, in the order of execution; row: for
	 * batch_command_name. May be NULL. */
	void (*on_command)(void *context, uint64_t address, uint32_t row, uint32_t header,
			   uint32_t dwords);
	void *context;
};

/* Parses the batch at an address, from the caller's *state (event/batch.h), until state->status is
 * not BATCH_GOING. */
void batch_parse(struct batch_state *state, const struct batch_source *source, uint64_t address);

/* Continues after BATCH_INCOMPLETE, with more memory. */
void batch_continue(struct batch_state *state, const struct batch_source *source);

/* "MI_BATCH_BUFFER_START"; NULL: an unknown command. */
const char *batch_command_name(uint32_t row);

/* "compute", "[system routine]"; "?" for an unknown kind. */
const char *batch_kind_name(uint32_t kind);

/* By batch_generation_name, or by a device of a generation: "xe2", "bmg". Errors: -EINVAL, with the
 * names in the error chain. */
int batch_find_generation(const char *name, enum batch_generation *ret_generation);

/* "xe-hpg"; "?" for an unknown generation. */
const char *batch_generation_name(uint32_t generation);

/* "xe2: Lunar Lake (lnl), Battlemage (bmg)", a line for each; for help and errors. */
const char *batch_generation_devices(uint32_t generation);

/* Guesses the generation that a batch was written for: the first one that decodes the largest part.
 * False: another generation, with different forms of these commands, decodes as much.
 * *ret_generation is set in either case. */
bool batch_guess_generation(const struct batch_source *source, uint64_t vm, uint64_t address,
			    uint32_t max_steps, enum batch_generation *ret_generation);
