/* SPDX-License-Identifier: MIT
 *
 * isa/nvdisasm.h - NVIDIA's disassembler, where it is installed
 *
 * Only isa/ includes this.
 */
#ifndef ISA_NVDISASM_H
#define ISA_NVDISASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NVDISASM_WHY_MAX = 512, NVDISASM_TEXT_SIZE = 512 };

struct nvdisasm;

/* Looks for the program: in DUET_NVDISASM, PATH, CUDA_HOME/bin, /usr/local/cuda/bin. name: "sm_90". -ENOENT: there is none, and
 * ret_why, of NVDISASM_WHY_MAX bytes, says what to do; -ENOMEM. */
int nvdisasm_new(const char *name, struct nvdisasm **ret_nvdisasm, char *ret_why);
void nvdisasm_free(struct nvdisasm *nvdisasm); /* NULL-safe */

/* "nvdisasm (/usr/local/cuda/bin/nvdisasm)" */
const char *nvdisasm_name(const struct nvdisasm *nvdisasm);

/* NULL: it is asked. Otherwise a sentence that says why it is not any more. */
const char *nvdisasm_why(const struct nvdisasm *nvdisasm);

/* The instruction of 16 bytes at bytes[0]; as many behind it as are asked about at a time are asked about with it. False: it
 * is none, or the program failed. text has NVDISASM_TEXT_SIZE bytes. */
bool nvdisasm_decode(struct nvdisasm *nvdisasm, const uint8_t *bytes, size_t size, uint64_t address,
		     char *text);

#endif
