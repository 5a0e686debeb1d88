/* SPDX-License-Identifier: MIT
 *
 * isa/decoders.h - the decoders behind isa.h, and their texts
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct apart;
struct iga;
struct llvm;
struct nvdisasm;
struct sass;
struct xe;

enum { WHY_BYTES = 512, RAW_BYTES = 512 }; /* room for a reason, and for an instruction */

/* ---- processors.c: AMDGPU processors, and the LLVM releases that support them ---- */

struct processor {
	const char *name;
	unsigned int elf_number; /* in the flags of a code object */
	int first_major,
		last_major; /* LLVM versions that support it; last_major 0: never removed */
};

/* By a target id, "gfx90a" or "gfx90a:sramecc+:xnack-". NULL: unknown. */
const struct processor *processor_find(const char *target_id);

/* ---- llvm.c: load a disassembler of LLVM, from any installed version ---- */

#define LLVM_OLDEST 11 /* major versions that are tried; the features of arm64 start here */
#define LLVM_NEWEST 30 /* 22 is the newest that was tested; a missing name costs 10 us */

/* Names by the first major version that has all of them, newest first. LLVM prints unknown names on
 * stderr, so none is tried. */
struct llvm_features {
	int first_major;
	const char *names;
};

struct llvm_target {
	const char *name; /* as in LLVMInitialize<name>Disassembler */
	const char *triple;
	const struct llvm_features *features; /* the last has first_major 0 */
};

/* processor: NULL for the target's generic one. -ENOENT: no library supports it, and ret_why, of
 * WHY_BYTES bytes, is the reason; -ENOMEM. */
int llvm_open(const struct llvm_target *target, const struct processor *processor,
	      struct llvm **ret_llvm, char *ret_why);
void llvm_close(struct llvm *llvm); /* NULL-safe */

const char *llvm_name(const struct llvm *llvm);

/* Length in bytes; 0 if they are not an instruction. The text is LLVM's own, with tabs and
 * comments. */
size_t llvm_decode(struct llvm *llvm, const uint8_t *bytes, size_t size, uint64_t address,
		   char *text, size_t text_size);

/* ---- apart.c: decode instructions in a child process, because the decoder may crash ---- */

#define APART_BYTES_MAX  64
#define APART_DEATHS_MAX 64 /* then decoding stops; a hang counts 16 */

/* The caller keeps the disassembler, which must outlive this object. Errors: -ENOMEM. */
int apart_new(struct llvm *llvm, struct apart **ret_apart);
void apart_free(struct apart *apart); /* NULL-safe; ends the process */

/* As llvm_decode; also 0 if the process died, hung for two seconds, or cannot be started. Reads at
 * most APART_BYTES_MAX, and text has RAW_BYTES bytes. */
size_t apart_decode(struct apart *apart, const uint8_t *bytes, size_t size, uint64_t address,
		    char *text);

/* Whether the child has died too often; then nothing is decoded any more. */
bool apart_is_over(const struct apart *apart);

/* ---- iga.c: load Intel's disassembler for its GPUs, from any installed version ---- */

#define IGA_OLDEST            1  /* libiga64.so.1; versions that are tried */
#define IGA_NEWEST            9  /* 2 is the newest that was tested */
#define IGA_INSTRUCTION_BYTES 16 /* bytes read of each */

/* platform: an iga_gen_t; name: for messages. -ENOENT: no library supports it, and ret_why, of
 * WHY_BYTES bytes, is the reason; -ENOMEM. */
int iga_open(uint32_t platform, const char *name, struct iga **ret_iga, char *ret_why);
void iga_close(struct iga *iga); /* NULL-safe */

const char *iga_name(const struct iga *iga);

/* The instruction at bytes[0], of which IGA_INSTRUCTION_BYTES are read. The text is IGA's own, in
 * columns and with comments, and valid until the next call; NULL: not an instruction. */
const char *iga_decode(struct iga *iga, const uint8_t *bytes, uint64_t address);

/* ---- xe.c: instructions of Intel's GPUs, from Gen9 to Xe3 ---- */

/* generation: "xe2". ret_why, of WHY_BYTES bytes: the reason for missing operands, or, with
 * -ENOENT, for missing instructions; "": complete. Errors: -ENOENT, -ENOMEM. */
int xe_new(const char *generation, struct xe **ret_xe, char *ret_why);
void xe_free(struct xe *xe); /* NULL-safe */

/* NULL: none; texts are then only names. */
const char *xe_library(const struct xe *xe);

/* Length of the instruction: 8 if it is compacted, otherwise 16; 0 if it is truncated. */
size_t xe_length(const uint8_t *bytes, size_t size);

/* xe_length; also 0 if it is not an instruction. text has RAW_BYTES bytes. */
size_t xe_decode(struct xe *xe, const uint8_t *bytes, size_t size, uint64_t address, char *text);

/* ---- nvdisasm.c: run NVIDIA's disassembler, if it is installed ---- */

/* Looks for the program in DUET_NVDISASM, PATH, CUDA_HOME/bin, /usr/local/cuda/bin. name: "sm_90".
 * -ENOENT: not found, and ret_why, of WHY_BYTES bytes, has the remedy; -ENOMEM. */
int nvdisasm_new(const char *name, struct nvdisasm **ret_nvdisasm, char *ret_why);
void nvdisasm_free(struct nvdisasm *nvdisasm); /* NULL-safe */

/* "nvdisasm (/usr/local/cuda/bin/nvdisasm)" */
const char *nvdisasm_name(const struct nvdisasm *nvdisasm);

/* The reason why the program is not run any more; NULL: it is in use. */
const char *nvdisasm_why(const struct nvdisasm *nvdisasm);

/* The instruction of 16 bytes at bytes[0]; the following ones are decoded together with it. False:
 * not an instruction, or the program failed. text has RAW_BYTES bytes. */
bool nvdisasm_decode(struct nvdisasm *nvdisasm, const uint8_t *bytes, size_t size, uint64_t address,
		     char *text);

/* ---- sass.c: instructions of NVIDIA's GPUs, from Volta to Blackwell ---- */

enum { SASS_INSTRUCTION_BYTES = 16 };

/* name: "sm_90". ret_why, of WHY_BYTES bytes: the reason for missing operands, or, with -ENOENT,
 * for missing instructions; "": complete. Errors: -ENOENT, -ENOMEM. */
int sass_new(const char *name, struct sass **ret_sass, char *ret_why);
void sass_free(struct sass *sass); /* NULL-safe */

/* NULL: none; texts are then only names. */
const char *sass_library(const struct sass *sass);

/* The reason why texts are only names since a failure; NULL: no failure. */
const char *sass_why(const struct sass *sass);

/* SASS_INSTRUCTION_BYTES, or 0 if it is not an instruction. Following bytes, if any, may be decoded
 * with it. text has RAW_BYTES bytes. */
size_t sass_decode(struct sass *sass, const uint8_t *bytes, size_t size, uint64_t address,
		   char *text);

/* ---- text.c: texts of instructions and of refusals ---- */

/* Writes the reason why a library is not used, unless `why` has one: the first one, from the newest
 * library, counts. Returns false. */
__attribute__((format(printf, 2, 3))) bool text_refuse(char *why, const char *format, ...);

/* In place: one line of printable ASCII, words one blank apart, up to a `comment` sign ("#", "//")
 * after a blank. Returns the comment's text, "" without one; it is stored after the text's NUL. */
const char *text_tidy(char *text, const char *comment);

/* Replaces the last operand by a number: "adrp x0, 16" becomes "adrp x0, 0x411000". A text without
 * operands stays. */
void text_set_last_operand(char *text, size_t text_size, uint64_t value);
