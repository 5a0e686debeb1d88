/* SPDX-License-Identifier: MIT
 *
 * symbol/zebin.h - code objects of Intel's GPUs: kernels, sizes, target, and an image with addresses
 *
 * A zebin is a relocatable ELF file with a section ".text.NAME" for each kernel, ".ze_info" (YAML) that describes
 * them, and notes that say for which GPU it is. docs/design/isa.md
 */
#ifndef SYMBOL_ZEBIN_H
#define SYMBOL_ZEBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zebin;

struct zebin_kernel {
	const char *name;    /* "Intel_Symbol_Table_Void_Program": functions that kernels call */
	uint64_t offset;     /* in the file, bytes */
	uint64_t size_bytes; /* with what fills it up to its end */
	uint64_t code_bytes; /* without; as large as size_bytes where no symbol says it */
	/* On the GPU, in a copy that a runtime makes for debuggers; 0: nobody has placed it. */
	uint64_t address;
	/* What .ze_info says; 0: it does not. */
	uint32_t simd_size;   /* work items of a hardware thread */
	uint32_t grf_count;   /* registers of one */
	uint32_t eu_threads;  /* of them, on an execution unit at once */
	uint32_t local_bytes; /* of a work-group */
	uint32_t spill_bytes; /* of a hardware thread */
};

/* For which GPU it was made; 0: not said. */
struct zebin_target {
	/* As the kernel driver counts it: architecture << 22 | release << 14 | revision, 20.1.0 is 0x05004000. */
	uint32_t ip_version;
	uint32_t
		core_family; /* the graphics core's number in Intel's headers: 12 Gen9, 0xc08 Xe HPC */
};

/* Whether the bytes begin as one does. */
bool zebin_is(const void *bytes, size_t size);

/* The bytes are borrowed. What .ze_info says wrongly is left out. Errors, with a text: -ENOEXEC for what is none or is cut off,
 * -ENOMEM. */
int zebin_open(const void *bytes, size_t size, struct zebin **ret_zebin);
void zebin_close(struct zebin *zebin); /* NULL-safe */

/* In the order of the file. They and their names live as long as the zebin. */
size_t zebin_kernels(const struct zebin *zebin, const struct zebin_kernel **ret_kernels);
struct zebin_target zebin_target(const struct zebin *zebin);

/* A copy of it, to be freed by the caller, as if it had been linked: each byte's address is its offset in the file, and
 * symbols and debug information say so. Offsets of code are those of the original. Errors: -ENOMEM. */
int zebin_link(const struct zebin *zebin, void **ret_image, size_t *ret_size);

#endif
