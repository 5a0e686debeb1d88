/* SPDX-License-Identifier: MIT
 *
 * symbol/device/zebin.h - code objects of Intel's GPUs: kernels, sizes, target, and an image with
 * addresses
 *
 * A zebin is a relocatable ELF file with a section ".text.NAME" for each kernel. Its section
 * ".ze_info" (YAML) describes the kernels, and its notes name the GPU. docs/design/isa.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct zebin;

struct zebin_kernel {
	const char *name;    /* "Intel_Symbol_Table_Void_Program": functions that kernels call */
	uint64_t offset;     /* in the file, bytes */
	uint64_t size_bytes; /* including padding at the end */
	uint64_t code_bytes; /* without padding; equals size_bytes if no symbol gives the size */
	/* GPU address, which is set in the copy that a runtime makes for debuggers; 0: none. */
	uint64_t address;
	/* From .ze_info; 0: not there. */
	uint32_t simd_size;   /* work items per hardware thread */
	uint32_t grf_count;   /* registers per hardware thread */
	uint32_t eu_threads;  /* hardware threads per execution unit */
	uint32_t local_bytes; /* local memory per work-group */
	uint32_t spill_bytes; /* per hardware thread */
};

/* The GPU that the code is compiled for; 0: not in the file. */
struct zebin_target {
	/* As the kernel driver counts it: architecture << 22 | release << 14 | revision, 20.1.0 is
	 * 0x05004000. */
	uint32_t ip_version;
	uint32_t core_family; /* the graphics core's number in Intel's headers: 12 Gen9, 0xc08 Xe
				 HPC */
};

/* Whether the ELF header is that of a zebin. */
bool zebin_is(const void *bytes, size_t size);

/* The bytes are borrowed and must outlive the zebin. Invalid parts of .ze_info are skipped. Errors,
 * with the error chain: -ENOEXEC: not a zebin, or truncated; -ENOMEM. */
int zebin_open(const void *bytes, size_t size, struct zebin **ret_zebin);
void zebin_close(struct zebin *zebin); /* NULL-safe */

/* Kernels in the order of the file; returns their number. Kernels and names live as long as the
 * zebin. */
size_t zebin_kernels(const struct zebin *zebin, const struct zebin_kernel **ret_kernels);
struct zebin_target zebin_target(const struct zebin *zebin);

/* A linked copy, freed by the caller. The address of each byte is its file offset, and symbols and
 * debug information use these addresses. Code stays at its offset. Errors: -ENOMEM. */
int zebin_link(const struct zebin *zebin, void **ret_image, size_t *ret_size);
