/* SPDX-License-Identifier: MIT
 *
 * isa/xe.c - instructions of Intel's GPUs, from Gen9 to Xe3
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     bytes from a trace, untrusted
 * Gives:    one line of text
 * Owns:     a context of IGA, if it is installed
 * Fails:    -ENOENT for an unknown generation, -ENOMEM; without IGA names have no operands
 * Why names of our own: most samples hit a send, a math or a wait for one of them, and the opcode
 *           alone shows this. The opcode is in the lowest seven bits since Gen4, and bit 29 shows
 *           whether the instruction has 8 bytes or 16. The numbers are those of IGA's own table
 *           (iga_opspec_enumerate), and the tests compare them.
 */
#include "isa/decoders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"
#include "isa/isa.h"

enum { COMPACT_BYTE = 3, COMPACT_BIT = 0x20, OPCODE_MASK = 0x7f, SHORT = 8, LONG = 16 };

/* Bits of struct opcode.generations */
enum {
	GEN9 = 1,
	GEN11 = 2,
	XE = 4, /* Gen12: Tiger Lake, Alder Lake, DG1 */
	XE_HP = 8,
	XE_HPG = 16, /* DG2, Meteor Lake, Arrow Lake */
	XE_HPC = 32, /* Ponte Vecchio */
	XE2 = 64,
	XE3 = 128,
	OLD = GEN9 | GEN11,
	SINCE_HPC = XE_HPC | XE2 | XE3,
	SINCE_HP = XE_HP | XE_HPG | SINCE_HPC,
	SINCE_XE = XE | SINCE_HP,
	ALL = OLD | SINCE_XE,
};

struct generation {
	const char *name; /* as users and isa_new spell it */
	unsigned int bit;
	uint32_t platform;    /* iga_gen_t */
	uint32_t core_family; /* GFXCORE_FAMILY; 0: another row has it */
	/* Versions of the graphics IP: architecture and range of releases, both ends included */
	uint32_t architecture, first_release, last_release;
};

static const struct generation generations[] = {
	{"gen9", GEN9, 0x00090000, 12, 9, 0, 255},
	{"gen11", GEN11, 0x000b0000, 15, 11, 0, 255},
	{"gen11", GEN11, 0x000b0000, 16, 0, 0, 0},
	{"xe-lp", XE, 0x01000000, 18, 12, 0, 49},
	{"xe-lp", XE, 0x01000000, 17, 0, 0, 0},
	{"xe-hp", XE_HP, 0x01000001, 0xc05, 12, 50, 54},
	{"xe-hpg", XE_HPG, 0x01000002, 0xc07, 12, 55, 59},
	{"xe-hpc", XE_HPC, 0x01000004, 0xc08, 12, 60, 69},
	{"xe-hpg", XE_HPG, 0x01000002, 0, 12, 70, 74},
	{"xe2", XE2, 0x02000000, 0xc09, 20, 0, 255},
	{"xe3", XE3, 0x03000000, 0x1e00, 30, 0, 255},
};

static const struct opcode {
	uint8_t number;
	const char *name;
	unsigned int generations;
} opcodes[] = {
	{0x00, "illegal", ALL},
	{0x01, "mov", OLD},
	{0x01, "sync", SINCE_XE},
	{0x02, "sel", OLD},
	{0x03, "movi", OLD},
	{0x04, "not", OLD},
	{0x05, "and", OLD},
	{0x06, "or", OLD},
	{0x07, "xor", OLD},
	{0x08, "shr", OLD},
	{0x09, "shl", OLD},
	{0x0a, "smov", OLD},
	{0x0c, "asr", OLD},
	{0x0e, "ror", GEN11},
	{0x0f, "rol", GEN11},
	{0x10, "cmp", OLD},
	{0x11, "cmpn", OLD},
	{0x12, "csel", OLD},
	{0x17, "bfrev", OLD},
	{0x18, "bfe", OLD},
	{0x19, "bfi1", OLD},
	{0x1a, "bfi2", OLD},
	{0x20, "jmpi", ALL},
	{0x21, "brd", ALL & ~XE3},
	{0x22, "if", ALL},
	{0x23, "brc", ALL & ~XE3},
	{0x24, "else", ALL},
	{0x25, "endif", ALL},
	{0x27, "while", ALL},
	{0x28, "break", ALL},
	{0x29, "cont", ALL},
	{0x2a, "halt", ALL},
	{0x2b, "calla", ALL},
	{0x2c, "call", ALL},
	{0x2d, "ret", ALL},
	{0x2e, "goto", ALL},
	{0x2f, "join", ALL},
	{0x30, "wait", OLD},
	{0x31, "send", ALL},
	{0x32, "sendc", ALL},
	{0x33, "sends", OLD},
	{0x34, "sendsc", OLD},
	{0x38, "math", ALL},
	{0x40, "add", ALL},
	{0x41, "mul", ALL},
	{0x42, "avg", ALL},
	{0x43, "frc", ALL},
	{0x44, "rndu", ALL},
	{0x45, "rndd", ALL},
	{0x46, "rnde", ALL},
	{0x47, "rndz", ALL},
	{0x48, "mac", ALL},
	{0x49, "mach", ALL},
	{0x4a, "lzd", ALL},
	{0x4b, "fbh", ALL},
	{0x4c, "fbl", ALL},
	{0x4d, "cbit", ALL},
	{0x4e, "addc", ALL},
	{0x4f, "subb", ALL},
	{0x50, "sad2", GEN9},
	{0x51, "sada2", GEN9},
	{0x52, "add3", SINCE_HP},
	{0x53, "macl", SINCE_HPC},
	{0x54, "dp4", GEN9},
	{0x54, "srnd", SINCE_HPC},
	{0x55, "dph", GEN9},
	{0x56, "dp3", GEN9},
	{0x57, "dp2", GEN9},
	{0x58, "dp4a", SINCE_XE},
	{0x59, "line", GEN9},
	{0x59, "dpas", SINCE_HP},
	{0x5a, "pln", GEN9},
	{0x5a, "dpasw", XE_HP | XE_HPG},
	{0x5b, "mad", ALL},
	{0x5c, "lrp", GEN9},
	{0x5d, "madm", ALL & ~XE},
	{0x60, "nop", SINCE_XE},
	{0x61, "mov", SINCE_XE},
	{0x62, "sel", SINCE_XE},
	{0x63, "movi", SINCE_XE},
	{0x64, "not", SINCE_XE},
	{0x65, "and", SINCE_XE},
	{0x66, "or", SINCE_XE},
	{0x67, "xor", SINCE_XE},
	{0x68, "shr", SINCE_XE},
	{0x69, "shl", SINCE_XE},
	{0x6b, "bfn", SINCE_HP},
	{0x6c, "asr", SINCE_XE},
	{0x6e, "ror", SINCE_XE},
	{0x6f, "rol", SINCE_XE},
	{0x70, "cmp", SINCE_XE},
	{0x71, "cmpn", SINCE_XE},
	{0x72, "csel", SINCE_XE},
	{0x77, "bfrev", SINCE_XE},
	{0x78, "bfe", SINCE_XE},
	{0x79, "bfi1", SINCE_XE},
	{0x7a, "bfi2", SINCE_XE},
	{0x7e, "nop", OLD},
};

struct xe {
	const char *names[OPCODE_MASK + 1]; /* by opcode; NULL: not an instruction */
	struct iga *iga;                    /* NULL: not installed */
};

const char *isa_xe_generation(uint32_t ip_version, uint32_t core_family)
{
	uint32_t architecture = ip_version >> 22, release = ip_version >> 14 & 0xff;

	for (size_t i = 0; i < ARRAY_COUNT(generations); i++) {
		const struct generation *row = &generations[i];

		if (ip_version
			    ? row->architecture && row->architecture == architecture &&
				      release >= row->first_release && release <= row->last_release
			    : core_family && row->core_family == core_family)
			return row->name;
	}
	return NULL;
}

static const struct generation *find_generation(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_COUNT(generations); i++)
		if (strcmp(generations[i].name, name) == 0)
			return &generations[i];
	return NULL;
}

static void explain(const char *name, char *ret_why)
{
	char printable[64];

	if (!name || !*name)
		snprintf(ret_why, WHY_BYTES,
			 "the generation of the Intel GPU is unknown to this duet, so its code is "
			 "not "
			 "decoded");
	else
		snprintf(ret_why, WHY_BYTES,
			 "unknown generation '%s' of Intel GPUs; a newer duet may support it",
			 string_make_printable(name, printable, sizeof(printable)));
}

int xe_new(const char *name, struct xe **ret_xe, char *ret_why)
{
	const struct generation *generation = find_generation(name);
	struct xe *xe;

	if (!generation) {
		explain(name, ret_why);
		return -ENOENT;
	}
	xe = calloc(1, sizeof(*xe));
	if (!xe)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_COUNT(opcodes); i++)
		if (opcodes[i].generations & generation->bit)
			xe->names[opcodes[i].number] = opcodes[i].name;
	if (iga_open(generation->platform, generation->name, &xe->iga, ret_why) == -ENOMEM) {
		free(xe);
		return -ENOMEM;
	}
	*ret_xe = xe;
	return 0;
}

void xe_free(struct xe *xe)
{
	if (!xe)
		return;
	iga_close(xe->iga);
	free(xe);
}

const char *xe_library(const struct xe *xe)
{
	return xe->iga ? iga_name(xe->iga) : NULL;
}

size_t xe_length(const uint8_t *bytes, size_t size)
{
	size_t length = size > COMPACT_BYTE && bytes[COMPACT_BYTE] & COMPACT_BIT ? SHORT : LONG;

	return length <= size ? length : 0;
}

/* "wr:2+0, rd:2; untyped surface read with x": only this comment of IGA describes a message that
 * has no specific name. */
static void keep_message(char *text, const char *comment)
{
	const char *message = strncmp(comment, "wr:", 3) == 0 ? strstr(comment, "; ") : NULL;
	char kept[RAW_BYTES];
	size_t length = strlen(text);

	if (!message)
		return;
	snprintf(kept, sizeof(kept), " // %s", message + 2);
	snprintf(text + length, RAW_BYTES - length, "%s", kept);
}

size_t xe_decode(struct xe *xe, const uint8_t *bytes, size_t size, uint64_t address, char *text)
{
	uint8_t whole[IGA_INSTRUCTION_BYTES] = {0};
	size_t length = xe_length(bytes, size);
	const char *name = length ? xe->names[bytes[0] & OPCODE_MASK] : NULL;
	const char *decoded = NULL;

	if (!name)
		return 0;
	memcpy(whole, bytes, length);
	if (xe->iga)
		decoded = iga_decode(xe->iga, whole, address);
	snprintf(text, RAW_BYTES, "%s", decoded ? decoded : name);
	keep_message(text, text_tidy(text, "//"));
	if (!*text)
		snprintf(text, RAW_BYTES, "%s", name);
	return length;
}
