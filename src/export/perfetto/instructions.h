/* SPDX-License-Identifier: MIT
 *
 * export/perfetto/instructions.h - write samples of device instructions as samples with stacks
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct code_sites;
struct device_code;
struct event_instruction_sample;
struct model;
struct packets;
struct samples;

struct instructions {
	const struct model *model; /* borrowed, like packets and samples */
	struct packets *packets;
	struct samples *samples; /* source of the frames of host stacks */
	struct device_code *code;
	struct code_sites *sites;
	uint64_t divisor; /* samples of the trace that one of the file stands for */
	bool is_begun;
	struct string_table functions, paths, stacks, frames;
	uint64_t *sums; /* by number of the stack - 1: samples so far, modulo divisor */
	size_t sums_capacity;
	uint64_t *numbers; /* frames of the current stack */
	size_t numbers_count, numbers_capacity;
	uint64_t count;            /* samples of the trace so far */
	struct hash_map processes; /* devices with a described process */
};

/* total: instruction samples of the trace. Nothing is allocated for 0. Errors: -ENOMEM. */
int instructions_init(struct instructions *instructions, const struct model *model,
		      struct packets *packets, struct samples *samples, uint64_t total);
void instructions_fini(struct instructions *instructions); /* NULL-safe, half-built-safe */

/* To be called in the order of time. Errors: -ENOMEM, errors of writing. */
int instructions_write(struct instructions *instructions,
		       const struct event_instruction_sample *row);
