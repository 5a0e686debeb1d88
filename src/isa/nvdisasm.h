/* SPDX-License-Identifier: MIT
 *
 * isa/nvdisasm.h - run NVIDIA's disassembler, if it is installed
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

/* Looks for the program in DUET_NVDISASM, PATH, CUDA_HOME/bin, /usr/local/cuda/bin. name: "sm_90".
 * -ENOENT: not found, and ret_why, of NVDISASM_WHY_MAX bytes, has the remedy; -ENOMEM. */
int nvdisasm_new(const char *name, struct nvdisasm **ret_nvdisasm, char *ret_why);
void nvdisasm_free(struct nvdisasm *nvdisasm); /* NULL-safe */

/* "nvdisasm (/usr/local/cuda/bin/nvdisasm)" */
const char *nvdisasm_name(const struct nvdisasm *nvdisasm);

/* The reason why the program is not run any more; NULL: it is in use. */
const char *nvdisasm_why(const struct nvdisasm *nvdisasm);

/* The instruction of 16 bytes at bytes[0]; the following ones are decoded together with it. False:
 * not an instruction, or the program failed. text has NVDISASM_TEXT_SIZE bytes. */
bool nvdisasm_decode(struct nvdisasm *nvdisasm, const uint8_t *bytes, size_t size, uint64_t address,
		     char *text);

#endif
