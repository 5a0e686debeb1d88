/* SPDX-License-Identifier: MIT
 *
 * isa/batch.h - batch buffers of Intel GPUs: which kernels are in them
 */
#ifndef ISA_BATCH_H
#define ISA_BATCH_H

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
	/* Told of each command that is not MI_NOOP, in the order of execution; row: for batch_command_name. May be NULL. */
	void (*on_command)(void *context, uint64_t address, uint32_t row, uint32_t header,
			   uint32_t dwords);
	void *context;
};

/* Looks through the batch at an address, with what the caller set in *state (event/batch.h), until state->status is none
 * of BATCH_GOING. */
void batch_look(struct batch_state *state, const struct batch_source *source, uint64_t address);

/* Goes on where BATCH_INCOMPLETE was met, with memory that has more in it now. */
void batch_look_on(struct batch_state *state, const struct batch_source *source);

/* "MI_BATCH_BUFFER_START"; NULL: of an unknown command. */
const char *batch_command_name(uint32_t row);

/* "compute", "[system routine]"; "?" where there is no such kind. */
const char *batch_kind_name(uint32_t kind);

/* One of batch_generation_name, or of the devices of a generation: "xe2", "bmg". Errors: -EINVAL, with the names in the
 * error chain. */
int batch_find_generation(const char *name, enum batch_generation *ret_generation);

/* "xe-hpg"; "?" where there is no such generation. */
const char *batch_generation_name(uint32_t generation);

/* "xe2: Lunar Lake (lnl), Battlemage (bmg)", a line for each; for help and errors. */
const char *batch_generation_devices(uint32_t generation);

/* Which generation a batch was written for: the first of those that understand most of it. False: others with another
 * form of these commands understand as much. *ret_generation is set in either case. */
bool batch_guess_generation(const struct batch_source *source, uint64_t vm, uint64_t address,
			    uint32_t steps_most, enum batch_generation *ret_generation);

#endif
