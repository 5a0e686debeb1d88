/* SPDX-License-Identifier: MIT
 *
 * isa/sass.c - instructions of NVIDIA's GPUs, from Volta to Blackwell
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     bytes
 * Gives:    the text of nvdisasm if that is installed, otherwise the instruction's name with its
 *           guard
 * Owns:     the disassembler
 * Fails:    returns 0 if the bytes are not an instruction; -ENOENT for a GPU before Volta, which
 *           has another encoding
 * Why names of our own: NVIDIA has no library for this, and only the toolkit contains nvdisasm. An
 *           instruction is 16 bytes since Volta. Its lowest 9 bits are the opcode, the 3 above them
 *           the kind of operands (registers, constants, the word itself), so that one row covers
 *           all forms. The next 4 are the guard: a predicate's number and whether it is negated; 7
 *           is always true. The numbers are taken from public assemblers and tables for sm_70 to
 *           sm_121.
 */
#include "isa/decoders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/string.h"

enum {
	NAME_MASK = 0x1ff,
	GUARD_SHIFT = 12,
	GUARD_NUMBER = 7,
	GUARD_NOT = 8,
	UNIFORM_FIRST = 0x080, /* instructions of the uniform datapath have their own predicates */
	UNIFORM_LAST = 0x0bf
};

enum generation {
	VOLTA = 1,
	TURING = 2,
	AMPERE = 4, /* Ampere and Ada */
	HOPPER = 8,
	BLACKWELL = 16,
	SINCE_HOPPER = HOPPER | BLACKWELL,
	SINCE_AMPERE = AMPERE | SINCE_HOPPER,
	SINCE_TURING = TURING | SINCE_AMPERE,
	ALL = VOLTA | SINCE_TURING
};

static const struct {
	unsigned int first, last; /* sm_NN */
	enum generation generation;
} generations[] = {
	{70, 72, VOLTA},  {75, 75, TURING},      {80, 89, AMPERE},
	{90, 90, HOPPER}, {100, 129, BLACKWELL},
};

static const struct {
	uint16_t number;
	const char *name;
	unsigned int generations;
} names[] = {
	{0x002, "MOV", ALL},
	{0x003, "P2R", ALL},
	{0x004, "R2P", ALL},
	{0x005, "CS2R", ALL},
	{0x006, "VOTE", ALL},
	{0x007, "SEL", ALL},
	{0x008, "FSEL", ALL},
	{0x009, "FMNMX", ALL},
	{0x00a, "FSET", ALL},
	{0x00b, "FSETP", ALL},
	{0x00c, "ISETP", ALL},
	{0x010, "IADD3", ALL},
	{0x011, "LEA", ALL},
	{0x012, "LOP3", ALL},
	{0x013, "IABS", ALL},
	{0x014, "VABSDIFF", ALL},
	{0x015, "VABSDIFF4", ALL},
	{0x016, "PRMT", ALL},
	{0x017, "IMNMX", ALL},
	{0x018, "SCATTER", SINCE_AMPERE},
	{0x019, "SHF", ALL},
	{0x01a, "SGXT", ALL},
	{0x01b, "BMSK", ALL},
	{0x01c, "PLOP3", ALL},
	{0x020, "FMUL", ALL},
	{0x021, "FADD", ALL},
	{0x022, "FSWZADD", ALL},
	{0x023, "FFMA", ALL},
	{0x024, "IMAD", ALL},
	{0x025, "IMAD.WIDE", ALL},
	{0x026, "IDP", ALL},
	{0x027, "IMAD.HI", ALL},
	{0x028, "DMUL", ALL},
	{0x029, "DADD", ALL},
	{0x02a, "DSETP", ALL},
	{0x02b, "DFMA", ALL},
	{0x02c, "CLMAD", SINCE_HOPPER},
	{0x02d, "PREEXIT", SINCE_HOPPER},
	{0x02e, "ACQBULK", SINCE_HOPPER},
	{0x02f, "ELECT", SINCE_HOPPER},
	{0x030, "HADD2", ALL},
	{0x031, "HFMA2", ALL},
	{0x032, "HMUL2", ALL},
	{0x033, "HSET2", ALL},
	{0x034, "HSETP2", ALL},
	{0x035, "HFMA2", AMPERE | HOPPER},
	{0x035, "IADD", BLACKWELL},
	{0x036, "HMMA", VOLTA | TURING},
	{0x036, "VIADD", SINCE_HOPPER},
	{0x037, "IMMA", SINCE_TURING},
	{0x038, "I2I", ALL},
	{0x039, "I2IP", ALL},
	{0x03a, "MOVM", SINCE_TURING},
	{0x03b, "LDSM", SINCE_TURING},
	{0x03c, "HMMA", SINCE_TURING},
	{0x03d, "BMMA", SINCE_TURING},
	{0x03e, "F2FP", SINCE_AMPERE},
	{0x03f, "DMMA", SINCE_AMPERE},
	{0x040, "HMNMX2", SINCE_AMPERE},
	{0x041, "GATHER", SINCE_AMPERE},
	{0x043, "F2IP", SINCE_AMPERE},
	{0x044, "STSM", SINCE_HOPPER},
	{0x045, "I2FP", SINCE_AMPERE},
	{0x046, "VIADDMNMX", SINCE_HOPPER},
	{0x047, "VHMNMX", SINCE_HOPPER},
	{0x048, "VIMNMX", SINCE_HOPPER},
	{0x049, "FFMA2", BLACKWELL},
	{0x04a, "FMUL2", BLACKWELL},
	{0x04b, "FADD2", BLACKWELL},
	{0x082, "UMOV", SINCE_TURING},
	{0x083, "UP2UR", SINCE_TURING},
	{0x086, "VOTEU", SINCE_TURING},
	{0x087, "USEL", SINCE_TURING},
	{0x08c, "UISETP", SINCE_TURING},
	{0x090, "UIADD3", SINCE_TURING},
	{0x091, "ULEA", SINCE_TURING},
	{0x092, "ULOP3", SINCE_TURING},
	{0x096, "UPRMT", SINCE_TURING},
	{0x097, "UIADD3.64", SINCE_TURING},
	{0x099, "USHF", SINCE_TURING},
	{0x09a, "USGXT", SINCE_TURING},
	{0x09b, "UBMSK", SINCE_TURING},
	{0x09c, "UPLOP3", SINCE_TURING},
	{0x0a4, "UIMAD", SINCE_TURING},
	{0x0a5, "UIMAD.WIDE", SINCE_TURING},
	{0x0b8, "ULDC", TURING | AMPERE | HOPPER},
	{0x0b9, "ULDC", TURING | AMPERE | HOPPER},
	{0x0ba, "UF2FP", SINCE_HOPPER},
	{0x0bb, "ULDC", TURING | AMPERE | HOPPER},
	{0x0bc, "UCLEA", SINCE_HOPPER},
	{0x0bd, "UFLO", SINCE_TURING},
	{0x0be, "UBREV", SINCE_TURING},
	{0x0bf, "UPOPC", SINCE_TURING},
	{0x0ca, "R2UR", SINCE_HOPPER},
	{0x0cb, "CS2UR", BLACKWELL},
	{0x0cc, "CREDUX", BLACKWELL},
	{0x100, "FLO", ALL},
	{0x101, "BREV", ALL},
	{0x102, "FCHK", ALL},
	{0x104, "F2F", ALL},
	{0x105, "F2I", ALL},
	{0x106, "I2F", ALL},
	{0x107, "FRND", ALL},
	{0x108, "MUFU", ALL},
	{0x109, "POPC", ALL},
	{0x110, "F2F", ALL},
	{0x111, "F2I", ALL},
	{0x112, "I2F", ALL},
	{0x113, "FRND", ALL},
	{0x118, "NOP", ALL},
	{0x119, "S2R", ALL},
	{0x11a, "DEPBAR", ALL},
	{0x11b, "ENDCOLLECTIVE", SINCE_HOPPER},
	{0x11c, "B2R", ALL},
	{0x11d, "BAR", ALL},
	{0x11e, "R2B", ALL},
	{0x11f, "SETCTAID", ALL},
	{0x141, "BSYNC", ALL},
	{0x142, "BREAK", ALL},
	{0x143, "CALL", ALL},
	{0x144, "CALL", ALL},
	{0x145, "BSSY", ALL},
	{0x146, "YIELD", ALL},
	{0x147, "BRA", ALL},
	{0x148, "WARPSYNC", ALL},
	{0x149, "BRX", ALL},
	{0x14a, "JMP", ALL},
	{0x14c, "JMX", ALL},
	{0x14d, "EXIT", ALL},
	{0x14e, "LEPC", ALL},
	{0x150, "RET", ALL},
	{0x155, "BMOV", ALL},
	{0x156, "BMOV", ALL},
	{0x157, "BMOV", ALL},
	{0x158, "BRXU", SINCE_TURING},
	{0x159, "JMXU", SINCE_TURING},
	{0x15b, "KILL", ALL},
	{0x15c, "BPT", ALL},
	{0x15d, "NANOSLEEP", ALL},
	{0x160, "TEX", ALL},
	{0x161, "TEX", ALL},
	{0x163, "TLD4", ALL},
	{0x164, "TLD4", ALL},
	{0x166, "TLD", ALL},
	{0x167, "TLD", ALL},
	{0x16c, "TXD", ALL},
	{0x16d, "TXD", ALL},
	{0x16f, "TXQ", ALL},
	{0x170, "TXQ", ALL},
	{0x180, "LD", ALL},
	{0x181, "LDG", ALL},
	{0x182, "LDC", ALL},
	{0x183, "LDL", ALL},
	{0x184, "LDS", ALL},
	{0x185, "ST", ALL},
	{0x186, "STG", ALL},
	{0x187, "STL", ALL},
	{0x188, "STS", ALL},
	{0x189, "SHFL", ALL},
	{0x18a, "ATOM", ALL},
	{0x18b, "ATOM", ALL},
	{0x18c, "ATOMS", ALL},
	{0x18d, "ATOMS", ALL},
	{0x18e, "RED", VOLTA | TURING | AMPERE},
	{0x18e, "REDG", SINCE_HOPPER},
	{0x18f, "CCTL", ALL},
	{0x190, "CCTLL", ALL},
	{0x192, "MEMBAR", ALL},
	{0x199, "SULD", ALL},
	{0x19a, "SULD", ALL},
	{0x19b, "SUST", ALL},
	{0x19c, "SUST", ALL},
	{0x19d, "SUST", ALL},
	{0x19e, "SUST", ALL},
	{0x1a1, "MATCH", ALL},
	{0x1a2, "ATOM", SINCE_HOPPER},
	{0x1a3, "ATOMG", SINCE_HOPPER},
	{0x1a6, "REDG", SINCE_HOPPER},
	{0x1a7, "SYNCS", SINCE_HOPPER},
	{0x1a8, "ATOMG", ALL},
	{0x1a9, "ATOMG", ALL},
	{0x1aa, "QSPC", ALL},
	{0x1ab, "ERRBAR", ALL},
	{0x1ac, "LDCU", BLACKWELL},
	{0x1ae, "LDGSTS", SINCE_AMPERE},
	{0x1af, "LDGDEPBAR", SINCE_AMPERE},
	{0x1b0, "ARRIVES", SINCE_AMPERE},
	{0x1b1, "SYNCS", SINCE_HOPPER},
	{0x1b2, "SYNCS", SINCE_HOPPER},
	{0x1b4, "UTMALDG", SINCE_HOPPER},
	{0x1b5, "UTMASTG", SINCE_HOPPER},
	{0x1b6, "UTMAREDG", SINCE_HOPPER},
	{0x1b7, "UTMACMDFLUSH", SINCE_HOPPER},
	{0x1b8, "UTMAPF", SINCE_HOPPER},
	{0x1b9, "UTMACCTL", SINCE_HOPPER},
	{0x1ba, "UBLKCP", SINCE_HOPPER},
	{0x1bb, "UBLKRED", SINCE_HOPPER},
	{0x1bc, "UBLKPF", SINCE_HOPPER},
	{0x1bd, "STAS", SINCE_HOPPER},
	{0x1be, "REDAS", SINCE_HOPPER},
	{0x1c0, "GETLMEMBASE", ALL},
	{0x1c1, "SETLMEMBASE", ALL},
	{0x1c2, "R2UR", TURING | AMPERE},
	{0x1c3, "S2UR", SINCE_TURING},
	{0x1c4, "REDUX", SINCE_AMPERE},
	{0x1c5, "WARPGROUP", SINCE_HOPPER},
	{0x1c6, "FENCE", SINCE_HOPPER},
	{0x1c7, "UCGABAR", SINCE_HOPPER},
	{0x1c8, "USETMAXREG", SINCE_HOPPER},
	{0x1c9, "USETSHMSZ", SINCE_HOPPER},
	{0x1ca, "UGETNEXTWORKID", BLACKWELL},
	{0x1cb, "UMEMSETS", BLACKWELL},
	{0x1ce, "ULEPC", SINCE_HOPPER},
	{0x1e3, "UTCATOMSWS", BLACKWELL},
	{0x1e6, "UTCSHIFT", BLACKWELL},
	{0x1e7, "UTCCP", BLACKWELL},
	{0x1e9, "UTCBAR", BLACKWELL},
	{0x1ea, "UTCMMA", BLACKWELL},
	{0x1ed, "STTM", BLACKWELL},
	{0x1ee, "LDTM", BLACKWELL},
	{0x1f0, "HGMMA", HOPPER},
	{0x1f1, "IGMMA", HOPPER},
	{0x1f2, "BGMMA", HOPPER},
	{0x1f3, "QGMMA", HOPPER},
};

struct sass {
	const char *names[NAME_MASK + 1]; /* by opcode; NULL: not an instruction */
	struct nvdisasm *nvdisasm;        /* NULL: not installed */
};

/* "sm_90", "sm_90a". 0: not such a name. */
static unsigned int generation_of(const char *name)
{
	unsigned int number = 0;
	char end = '\0';

	if (!name || sscanf(name, "sm_%3u%c", &number, &end) < 1 || (end >= '0' && end <= '9'))
		return 0;
	for (size_t i = 0; i < ARRAY_COUNT(generations); i++)
		if (number >= generations[i].first && number <= generations[i].last)
			return generations[i].generation;
	return 0;
}

int sass_new(const char *name, struct sass **ret_sass, char *ret_why)
{
	unsigned int generation = generation_of(name);
	char printable[64];
	struct sass *sass;

	if (!generation) {
		snprintf(ret_why, WHY_BYTES,
			 "duet decodes code of NVIDIA GPUs from sm_70 (Volta) to sm_121 "
			 "(Blackwell); "
			 "this code is for '%s'",
			 name ? string_make_printable(name, printable, sizeof(printable)) : "");
		return -ENOENT;
	}
	sass = calloc(1, sizeof(*sass));
	if (!sass)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (names[i].generations & generation)
			sass->names[names[i].number] = names[i].name;
	if (nvdisasm_new(name, &sass->nvdisasm, ret_why) == -ENOMEM) {
		free(sass);
		return -ENOMEM;
	}
	*ret_sass = sass;
	return 0;
}

void sass_free(struct sass *sass)
{
	if (!sass)
		return;
	nvdisasm_free(sass->nvdisasm);
	free(sass);
}

const char *sass_library(const struct sass *sass)
{
	return sass->nvdisasm ? nvdisasm_name(sass->nvdisasm) : NULL;
}

const char *sass_why(const struct sass *sass)
{
	return sass->nvdisasm ? nvdisasm_why(sass->nvdisasm) : NULL;
}

/* "@!P0 BRA", "@UP1 UMOV", "EXIT". */
static void format_name(const struct sass *sass, uint32_t word, char *text)
{
	uint32_t number = word & NAME_MASK, guard = word >> GUARD_SHIFT;
	const char *uniform = number >= UNIFORM_FIRST && number <= UNIFORM_LAST ? "U" : "";

	if ((guard & (GUARD_NUMBER | GUARD_NOT)) == GUARD_NUMBER)
		snprintf(text, RAW_BYTES, "%s", sass->names[number]);
	else
		snprintf(text, RAW_BYTES, "@%s%sP%s %s", guard & GUARD_NOT ? "!" : "", uniform,
			 (guard & GUARD_NUMBER) == GUARD_NUMBER
				 ? "T"
				 : (const char[]){(char)('0' + (guard & GUARD_NUMBER)), '\0'},
			 sass->names[number]);
}

size_t sass_decode(struct sass *sass, const uint8_t *bytes, size_t size, uint64_t address,
		   char *text)
{
	uint32_t word;

	if (size < SASS_INSTRUCTION_BYTES)
		return 0;
	if (sass->nvdisasm && nvdisasm_decode(sass->nvdisasm, bytes, size, address, text))
		return SASS_INSTRUCTION_BYTES;
	word = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
	if (!sass->names[word & NAME_MASK])
		return 0;
	format_name(sass, word, text);
	return SASS_INSTRUCTION_BYTES;
}
