/* SPDX-License-Identifier: MIT
 *
 * collect/kernel_frames.h - the operating system's kernel in stacks: its frames, and their names at the end
 */
#ifndef COLLECT_KERNEL_FRAMES_H
#define COLLECT_KERNEL_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/kernel_modules.h"

struct kernel_namer;
struct recording;

/* An address inside the kernel. */
struct kernel_frame {
	uint64_t address;
	uint32_t id; /* the trace's */
};

struct kernel_frames {
	struct recording *recording; /* borrowed */
	struct kernel_frame *all;    /* owned; each address once */
	size_t count, capacity;
	struct kernel_namer *namer; /* owned; NULL: not loaded */
	struct kernel_modules modules;
	size_t modules_for; /* count, when they were looked at last */
};

void kernel_frames_init(struct kernel_frames *frames, struct recording *recording);
void kernel_frames_fini(struct kernel_frames *frames); /* NULL-safe */

/* The trace's frame of an address that is executed. 0: no memory. */
uint32_t kernel_frames_at(struct kernel_frames *frames, uint64_t address);

/* A stack below frames of the kernel, innermost first; all but the innermost are where calls return to. */
uint32_t kernel_frames_put(struct kernel_frames *frames, const uint64_t *addresses, size_t count,
			   uint32_t stack);

/* Which modules the kernel has, where new addresses in it were met: one may go before the end. */
void kernel_frames_look(struct kernel_frames *frames);

/* What names functions, loaded before the calling thread gives up the rights for it (1 ms). It may be missing. */
void kernel_frames_load_namer(struct kernel_frames *frames);

/* Names for the kernel's functions, once, at the end. Errors: see kallsyms_name; with the error chain. */
int kernel_frames_name(struct kernel_frames *frames);

#endif
