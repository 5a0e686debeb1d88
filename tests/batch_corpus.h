/* SPDX-License-Identifier: MIT
 *
 * tests/batch_corpus.h - batch buffers made by hand, each with what is to be found in it
 *
 * Parsed in our own process by tests/unit/isa/test_batch.c, inside the kernel by
 * tests/unit/bpf/test_batch.c.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "isa/batch.h"

enum { MAX_SCENE_BUFFERS = 16, SCENE_VM = 1, SCENE_TEXT_SIZE = 8192 };

struct scene_buffer {
	uint64_t vm, address;
	uint32_t *dwords;
	size_t count, capacity;
};

/* What the GPU has mapped, and how it is looked through. */
struct scene {
	struct scene_buffer buffers[MAX_SCENE_BUFFERS];
	size_t count;
	size_t last; /* where the last command begins in the last buffer */
	uint64_t start;
	uint32_t max_steps;
	struct batch_bases bases;
};

struct corpus_case {
	const char *name;
	enum batch_generation generation;
	void (*build)(struct scene *scene);
	/* As scene_describe: the status; commands and MI_NOOPs; kernels in the order in which they
	 * are met; what was jumped to, and what was not understood. NULL: too long to be said, or
	 * random; that it ends is all. */
	const char *expected;
};

extern const struct corpus_case corpus[];
extern const size_t corpus_count;

void scene_init(struct scene *scene);
void scene_fini(struct scene *scene);

/* Begins a buffer, into which what follows goes. The first of address space SCENE_VM is where it
 * starts. */
void scene_begin(struct scene *scene, uint64_t vm, uint64_t address);
void scene_put(struct scene *scene, uint32_t dword);

/* A command of so many dwords, zeros behind its header, whose length field is filled in; then
 * dwords of it, counted from its header. */
void scene_command(struct scene *scene, uint32_t header, uint32_t dwords);
void scene_set(struct scene *scene, size_t dword, uint32_t value);

/* memory: room for MAX_SCENE_BUFFERS. */
struct batch_source scene_source(const struct scene *scene, struct batch_memory *memory);

/* What the caller of batch_begin sets. */
void scene_prepare(const struct scene *scene, enum batch_generation generation,
		   struct batch_state *state);

/* text: SCENE_TEXT_SIZE bytes. */
void scene_describe(const struct batch_state *state, char *text);
