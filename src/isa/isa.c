/* SPDX-License-Identifier: MIT
 *
 * isa/isa.c - disassemble machine code
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     bytes from a trace, untrusted
 * Gives:    one line of text
 * Owns:     an LLVM disassembler, for AMDGPU a process to run it in; for Xe Intel's disassembler;
 *           for SASS the output of NVIDIA's
 * Fails:    -ENOMEM, -EINVAL; without LLVM hexadecimal numbers, and the reason in isa_why
 * Why LLVM: it has the tables that the compilers of these kernels used. Capstone 4.0.2 (of Debian
 *           12) fails on 22 % of the instructions with AVX-512 in kernels of PoCL.
 */
#include "isa/isa.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "isa/decoders.h"

enum { BYTES_MAX = APART_BYTES_MAX, X86_LENGTH_MAX = 15, LOCK = 0xf0 };

/* LLVM's X86 decodes all instructions in 64-bit mode without any feature. */
static const struct llvm_features no_features[] = {{0, ""}};

/* "+all", as objdump uses; older releases lack it, and there the architecture's versions enable
 * most. */
static const struct llvm_features arm64_features[] = {
	{15, "+all"},
	{14, "+v9.3a,+v8.8a,+fullfp16,+fp16fml,+crypto,+sha3,+sm4,+sve2,+sve2-aes,+sve2-bitperm,+"
	     "sve2-sha3,"
	     "+sve2-sm4,+sme,+sme-f64,+sme-i64,+bf16,+i8mm,+f32mm,+f64mm,+mte,+tme,+rand,+ls64,+"
	     "brbe,+ete,+trbe,"
	     "+spe,+spe-eef,+perfmon,+pauth,+mops,+hbc,+rme"},
	{13, "+v8.7a,+fullfp16,+fp16fml,+crypto,+sha3,+sm4,+sve2,+sve2-aes,+sve2-bitperm,+sve2-"
	     "sha3,+sve2-sm4,"
	     "+sme,+sme-f64,+sme-i64,+bf16,+i8mm,+f32mm,+f64mm,+mte,+tme,+rand,+ls64,+brbe,+ete,+"
	     "trbe,+spe,"
	     "+spe-eef,+perfmon,+pauth,+rme"},
	{11, "+v8.6a,+fullfp16,+fp16fml,+crypto,+sha3,+sm4,+sve2,+sve2-aes,+sve2-bitperm,+sve2-"
	     "sha3,+sve2-sm4,"
	     "+bf16,+i8mm,+f32mm,+f64mm,+mte,+tme,+rand"},
	{0, ""},
};

struct kind {
	struct llvm_target target; /* name NULL: none */
	const char *comment;
	bool has_processor; /* without its name nothing is decoded */
	bool is_apart;
	bool is_xe;       /* not a target of LLVM */
	bool is_sass;     /* not a target of LLVM */
	size_t word_size; /* bytes */
	const char *word_directive;
};

static const struct kind kinds[] = {
	[ISA_UNKNOWN] = {.word_size = 1},
	[ISA_X86_64] = {.target = {"X86", "x86_64-unknown-linux-gnu", no_features},
			.comment = "#",
			.word_size = 1},
	[ISA_ARM64] = {.target = {"AArch64", "aarch64-unknown-linux-gnu", arm64_features},
		       .comment = "//",
		       .word_size = 4,
		       .word_directive = ".inst"},
	[ISA_AMDGPU] = {.target = {"AMDGPU", "amdgcn-amd-amdhsa", no_features},
			.comment = ";",
			.has_processor = true,
			.is_apart = true,
			.word_size = 4,
			.word_directive = ".long"},
	[ISA_XE] = {.is_xe = true, .word_size = 4, .word_directive = ".long"},
	[ISA_SASS] = {.is_sass = true, .word_size = 4, .word_directive = ".long"},
};

struct isa {
	const struct kind *kind;
	struct llvm *llvm;   /* NULL: hexadecimal */
	struct apart *apart; /* NULL: in this process */
	struct xe *xe;       /* NULL: another set, or an unknown generation */
	struct sass *sass;   /* NULL: as xe */
	char why[WHY_BYTES];
};

static int find_processor(struct isa *isa, const char *name, const struct processor **ret_processor)
{
	char printable[64];

	if (!isa->kind->has_processor)
		return 0;
	if (!name || !*name) {
		snprintf(isa->why, sizeof(isa->why),
			 "%s code cannot be decoded because the name of its processor is unknown",
			 isa->kind->target.name);
		return -ENOENT;
	}
	*ret_processor = processor_find(name);
	if (*ret_processor)
		return 0;
	snprintf(isa->why, sizeof(isa->why),
		 "%s: unknown processor '%s'; a newer duet may support it", isa->kind->target.name,
		 string_make_printable(name, printable, sizeof(printable)));
	return -ENOENT;
}

static int open_llvm(struct isa *isa, const char *processor_name)
{
	const struct processor *processor = NULL;
	int r;

	if (isa->kind->is_xe) {
		r = xe_new(processor_name, &isa->xe, isa->why);
		return r == -ENOENT ? 0 : r;
	}
	if (isa->kind->is_sass) {
		r = sass_new(processor_name, &isa->sass, isa->why);
		return r == -ENOENT ? 0 : r;
	}
	if (!isa->kind->target.name) {
		snprintf(isa->why, sizeof(isa->why), "no disassembler for this instruction set");
		return 0;
	}
	if (find_processor(isa, processor_name, &processor))
		return 0;
	r = llvm_open(&isa->kind->target, processor, &isa->llvm, isa->why);
	if (r == -ENOENT)
		return 0;
	if (r == 0 && isa->kind->is_apart)
		r = apart_new(isa->llvm, &isa->apart);
	return r;
}

int isa_new(enum isa_type type, const char *processor, struct isa **ret_isa)
{
	struct isa *isa = calloc(1, sizeof(*isa));
	size_t index = (size_t)type < ARRAY_COUNT(kinds) ? (size_t)type : ISA_UNKNOWN;

	if (!isa)
		return error_set(-ENOMEM, "disassembler: out of memory");
	isa->kind = &kinds[index];
	if (open_llvm(isa, processor)) {
		isa_free(isa);
		return error_set(-ENOMEM, "disassembler: out of memory");
	}
	*ret_isa = isa;
	return 0;
}

void isa_free(struct isa *isa)
{
	if (!isa)
		return;
	xe_free(isa->xe);
	sass_free(isa->sass);
	apart_free(isa->apart);
	llvm_close(isa->llvm);
	free(isa);
}

const char *isa_why(const struct isa *isa)
{
	if (isa->apart && apart_is_over(isa->apart))
		return "LLVM crashed too often on this code, which may be damaged";
	if (isa->sass && sass_why(isa->sass))
		return sass_why(isa->sass);
	return isa_library(isa) ? NULL : isa->why;
}

const char *isa_library(const struct isa *isa)
{
	if (isa->xe)
		return xe_library(isa->xe);
	if (isa->sass)
		return sass_library(isa->sass);
	return isa->llvm ? llvm_name(isa->llvm) : NULL;
}

static size_t decode_raw(struct isa *isa, const uint8_t *bytes, size_t size, uint64_t address,
			 char *raw)
{
	if (isa->apart)
		return apart_decode(isa->apart, bytes, size, address, raw);
	return llvm_decode(isa->llvm, bytes, size, address, raw, RAW_BYTES);
}

/* LLVM decodes a leading prefix 0xf0 as a separate instruction; this joins it with the next one. */
static size_t join_lock(struct isa *isa, const uint8_t *bytes, size_t size, uint64_t address,
			char *raw)
{
	char rest[RAW_BYTES - 8];
	size_t length;

	if (size < 2 || bytes[1] == LOCK)
		return 1;
	length = llvm_decode(isa->llvm, bytes + 1, size - 1, address + 1, rest, sizeof(rest));
	if (!length || length + 1 > X86_LENGTH_MAX)
		return 1;
	snprintf(raw, RAW_BYTES, "lock %s", rest);
	return length + 1;
}

/* "s_cbranch_scc1 4", "s_call_b64 s[0:1], 65532": a signed number of words from the next
 * instruction. */
static void set_words_target(char *raw, uint64_t next)
{
	static const char *const branches[] = {"s_branch ", "s_cbranch_", "s_call_b64 "};
	const char *last = strrchr(raw, ' ');
	unsigned int words;
	char end;

	for (size_t i = 0; i < ARRAY_COUNT(branches); i++)
		if (strncmp(raw, branches[i], strlen(branches[i])) == 0 && last &&
		    sscanf(last + 1, "%u%c", &words, &end) == 1)
			text_set_last_operand(raw, RAW_BYTES,
					      next + (uint64_t)((int64_t)(int16_t)words * 4));
}

static size_t decode_text(struct isa *isa, const uint8_t *bytes, size_t size, uint64_t address,
			  char *raw)
{
	size_t length;
	const char *comment;

	if (isa->xe)
		return xe_decode(isa->xe, bytes, size, address, raw);
	if (isa->sass)
		return sass_decode(isa->sass, bytes, size, address, raw);
	if (!isa->llvm)
		return 0;
	length = decode_raw(isa, bytes, size < BYTES_MAX ? size : BYTES_MAX, address, raw);
	if (!length)
		return 0;
	if (isa->kind == &kinds[ISA_X86_64] && length == 1 && bytes[0] == LOCK)
		length = join_lock(isa, bytes, size < BYTES_MAX ? size : BYTES_MAX, address, raw);
	comment = text_tidy(raw, isa->kind->comment);
	/* only the comment contains its page */
	if (isa->kind == &kinds[ISA_ARM64] && strncmp(raw, "adrp ", 5) == 0 &&
	    strncmp(comment, "0x", 2) == 0)
		text_set_last_operand(raw, RAW_BYTES, strtoull(comment, NULL, 16));
	if (isa->kind == &kinds[ISA_AMDGPU])
		set_words_target(raw, address + length);
	return raw[0] ? length : 0;
}

static size_t format_hex(const struct isa *isa, const uint8_t *bytes, size_t size, char *raw)
{
	uint32_t word;

	if (isa->kind->word_size == 1 || size < sizeof(word)) {
		snprintf(raw, RAW_BYTES, ".byte 0x%02x", bytes[0]);
		return 1;
	}
	memcpy(&word, bytes, sizeof(word));
	snprintf(raw, RAW_BYTES, "%s 0x%08" PRIx32, isa->kind->word_directive, le32toh(word));
	/* its length is known, whatever the opcode */
	if (isa->kind->is_sass && size >= SASS_INSTRUCTION_BYTES)
		return SASS_INSTRUCTION_BYTES;
	return isa->kind->is_xe && xe_length(bytes, size) ? xe_length(bytes, size) : sizeof(word);
}

int isa_decode(struct isa *isa, const uint8_t *bytes, size_t size, uint64_t address, char *text,
	       size_t text_size, size_t *ret_length)
{
	char raw[RAW_BYTES];
	size_t length;

	if (!size)
		return error_set(-EINVAL, "disassembler: no bytes at 0x%" PRIx64, address);
	/* no text is needed if the caller wants only lengths */
	if (isa->kind->is_sass && !text_size && size >= SASS_INSTRUCTION_BYTES) {
		*ret_length = SASS_INSTRUCTION_BYTES;
		return 0;
	}
	if (isa->kind->is_xe && !text_size && xe_length(bytes, size)) {
		*ret_length = xe_length(bytes, size);
		return 0;
	}
	length = decode_text(isa, bytes, size, address, raw);
	if (!length)
		length = format_hex(isa, bytes, size, raw);
	if (text_size)
		snprintf(text, text_size, "%s", raw);
	*ret_length = length;
	return 0;
}
