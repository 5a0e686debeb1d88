/* SPDX-License-Identifier: MIT
 *
 * collect/stack/kernel_frames.h - kernel frames of stacks, and their names at the end of a
 * recording
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/kernel/modules.h"

struct kernel_namer;
struct recording;

/* A frame inside the kernel. */
struct kernel_frame {
	uint64_t address;
	uint32_t id; /* the trace's frame id */
};

struct kernel_frames {
	struct recording *recording; /* borrowed */
	struct kernel_frame *all;    /* owned; each address once */
	size_t count, capacity;
	size_t named;               /* number of named frames; these are the first ones in `all` */
	struct kernel_namer *namer; /* owned; NULL: not loaded */
	struct kernel_modules modules;
	size_t modules_for; /* value of `count` when `modules` was last read */
};

void kernel_frames_init(struct kernel_frames *frames, struct recording *recording);
void kernel_frames_fini(struct kernel_frames *frames); /* NULL-safe */

/* Finds or creates the trace's frame of an instruction address. 0: out of memory. */
uint32_t kernel_frames_at(struct kernel_frames *frames, uint64_t address);

/* Adds kernel frames on top of a stack and returns the new stack. addresses: innermost first; all
 * but the innermost are return addresses. */
uint32_t kernel_frames_put(struct kernel_frames *frames, const uint64_t *addresses, size_t count,
			   uint32_t stack);

/* Reads the list of kernel modules if new addresses were added: a module may be unloaded before the
 * end of the recording. */
void kernel_frames_look(struct kernel_frames *frames);

/* Loads the BPF program that names addresses (1 ms), before the calling thread drops the rights for
 * that. It is optional. */
void kernel_frames_load_namer(struct kernel_frames *frames);

/* Names the frames that have no name yet, when a collector ends. Errors: as kallsyms_name, with the
 * error chain. */
int kernel_frames_name(struct kernel_frames *frames);
