/* SPDX-License-Identifier: MIT
 *
 * isa/isa.h - bytes of machine code to the text of instructions
 */
#ifndef ISA_ISA_H
#define ISA_ISA_H

#include <stddef.h>
#include <stdint.h>

enum isa_type {
	ISA_UNKNOWN,
	ISA_X86_64,
	ISA_ARM64,
	ISA_AMDGPU,
	ISA_XE,   /* Intel's GPUs, from Gen9 on */
	ISA_SASS, /* NVIDIA's GPUs, from Volta on */
};

#define ISA_TEXT_SIZE 256 /* bytes that hold every text there is, with its NUL */

/* "gfx90a" by the e_flags of a code object (EM_AMDGPU); NULL: not known. */
const char *isa_amdgpu_processor(uint32_t elf_flags);

/* "xe2" by what a code object of Intel says of its GPU: the version of its graphics IP as the driver counts it (architecture <<
 * 22 | release << 14 | revision), or where that is 0, its core's number in Intel's headers. NULL: not known. */
const char *isa_xe_generation(uint32_t ip_version, uint32_t core_family);

/* A disassembler for one instruction set. Used by one thread at a time; several threads may make
 * and use their own. */
struct isa;

/* processor: for AMDGPU "gfx90a" or "gfx942:sramecc+:xnack-", for Xe "gen9", "gen11", "xe-lp", "xe-hp", "xe-hpg", "xe-hpc", "xe2" or
 * "xe3", for SASS "sm_90", without which nothing decodes. x86-64 and arm64 decode everything
 * that the library knows, whatever it is; it may be NULL. That nothing decodes is no error: then there are hexadecimal
 * numbers, and isa_why. Errors: -ENOMEM. */
int isa_new(enum isa_type type, const char *processor, struct isa **ret_isa);
void isa_free(struct isa *isa); /* NULL-safe */

/* NULL: instructions are decoded, so far. Otherwise a sentence that says why not, or, of Xe and SASS, why without operands, and what to do
 * about it. */
const char *isa_why(const struct isa *isa);

/* "LLVM 19.1.7 (libLLVM.so.19.1)", "LLVM 14 (libLLVM-14.so.1)", "IGA 1.1.0 (libiga64.so.1)"; NULL where there is none. */
const char *isa_library(const struct isa *isa);

/* The instruction at bytes[0], which lies at `address`. The text is one line of printable ASCII without comments; x86-64 in
 * AT&T syntax, direct branches with their target's address: "jne 0x401020". What is no instruction, or is cut off by
 * the end, is ".byte 0x0f" of length 1, or where instructions are made of words, and a whole one is left, ".inst 0xffffffff" (arm64)
 * or ".long 0xcfffffff" (AMDGPU) of length 4; of Xe that has the length that bit 29 says, 8 or 16; of SASS always 16. Text of Xe is IGA's, with loads and
 * stores as such, or the name of the instruction alone; what a message does, where IGA does not say it by its name, comes behind "//". Always 1 <= *ret_length <= size.
 * A text that does not fit is cut; `text` may be NULL where text_size is 0. Errors: -EINVAL for size 0. */
int isa_decode(struct isa *isa, const uint8_t *bytes, size_t size, uint64_t address, char *text,
	       size_t text_size, size_t *ret_length);

#endif
