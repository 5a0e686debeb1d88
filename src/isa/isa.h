/* SPDX-License-Identifier: MIT
 *
 * isa/isa.h - disassemble machine code
 */
#pragma once

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

#define ISA_TEXT_SIZE 256 /* bytes for the longest text, including its NUL */

/* "gfx90a" from the e_flags of a code object (EM_AMDGPU); NULL: unknown. */
const char *isa_amdgpu_processor(uint32_t elf_flags);

/* "xe2" from the GPU recorded in a code object of Intel: the driver's version of its graphics IP
 * (architecture << 22 | release << 14 | revision), or if that is 0, its core's number in Intel's
 * headers. NULL: unknown. */
const char *isa_xe_generation(uint32_t ip_version, uint32_t core_family);

/* A disassembler for one instruction set. Only one thread at a time may use it; each thread may
 * have its own. */
struct isa;

/* processor: for AMDGPU "gfx90a" or "gfx942:sramecc+:xnack-", for Xe "gen9", "gen11", "xe-lp",
 * "xe-hp", "xe-hpg", "xe-hpc", "xe2" or "xe3", for SASS "sm_90"; without it nothing is decoded.
 * x86-64 and arm64 decode everything that the library supports; processor may be NULL. A missing
 * decoder is not an error: texts are then hexadecimal numbers, and isa_why has the reason. Errors:
 * -ENOMEM. */
int isa_new(enum isa_type type, const char *processor, struct isa **ret_isa);
void isa_free(struct isa *isa); /* NULL-safe */

/* The reason why instructions are not decoded, or, for Xe and SASS, why operands are missing, with
 * the remedy. NULL: all were decoded so far. */
const char *isa_why(const struct isa *isa);

/* "LLVM 19.1.7 (libLLVM.so.19.1)", "LLVM 14 (libLLVM-14.so.1)", "IGA 1.1.0 (libiga64.so.1)"; NULL
 * if there is none. */
const char *isa_library(const struct isa *isa);

/* Decodes the instruction at bytes[0], which lies at `address`. The text is one line of printable
 * ASCII without comments; x86-64 in AT&T syntax, direct branches with their target's address: "jne
 * 0x401020". Bytes that are not an instruction, or are cut off by the end, give ".byte 0x0f" of
 * length 1. If instructions are made of words, and a whole word is left, they give ".inst
 * 0xffffffff" (arm64) or ".long 0xcfffffff" (AMDGPU) of length 4. For Xe they have the length given
 * by bit 29, 8 or 16; for SASS always 16. Text of Xe is IGA's, with loads and stores named as such,
 * or only the name of the instruction. A message's function that IGA's name does not show comes
 * after "//". Always 1 <= *ret_length <= size. A text that does not fit is cut; `text` may be NULL
 * if text_size is 0. Errors: -EINVAL for size 0. */
int isa_decode(struct isa *isa, const uint8_t *bytes, size_t size, uint64_t address, char *text,
	       size_t text_size, size_t *ret_length);
