/* SPDX-License-Identifier: MIT
 *
 * shared/cfi.h - from the row of an unwind table (.eh_frame, .debug_frame) to a rule
 *
 * Runs in:  guests, on tables that libgcc finds, and the recorder, on copies of files; freestanding
 * Manners:  reads nothing outside the bytes it is given, allocates nothing, takes at most one step
 *           per byte
 * Why not libdw: a guest has only libc, and in a recorder 8 bytes of a hostile table (a register of
 *                number 2^26, kept five times) make libdw 0.188 fill 3 GiB
 *
 * Included by unwind_rules.c and unwind_table.c only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/unwind_rule.h"

enum { CFI_REGISTER_BP = 6, CFI_REGISTER_SP = 7, CFI_REGISTER_RETURN = 16 };

/* A position in a table; end: first byte that may not be read. */
struct cfi_bytes {
	const uint8_t *at, *end;
};

static inline uint64_t cfi_left(const struct cfi_bytes *from)
{
	return (uint64_t)(from->end - from->at);
}

/* Reads zeros beyond the end. */
static inline uint64_t cfi_take_number(struct cfi_bytes *from, size_t size)
{
	uint64_t value = 0;

	if (cfi_left(from) < size) {
		from->at = from->end;
		return 0;
	}
	__builtin_memcpy(&value, from->at, size);
	from->at += size;
	return value;
}

static inline struct cfi_bytes cfi_take_bytes(struct cfi_bytes *from, uint64_t size)
{
	struct cfi_bytes taken = {from->at, from->end};

	if (size < cfi_left(from))
		taken.end = from->at + size;
	from->at = taken.end;
	return taken;
}

static inline uint64_t cfi_take_leb(struct cfi_bytes *from, bool is_signed)
{
	uint64_t value = 0;
	uint32_t shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)cfi_take_number(from, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
	} while (byte & 0x80);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= ~UINT64_C(0) << shift;
	return value;
}

static inline uint64_t cfi_take_unsigned(struct cfi_bytes *from)
{
	return cfi_take_leb(from, false);
}

static inline int64_t cfi_take_signed(struct cfi_bytes *from)
{
	return (int64_t)cfi_take_leb(from, true);
}

/* Returns the bytes of a pointer with this encoding (DW_EH_PE_*); 0: unsupported. */
static inline size_t cfi_pointer_bytes(uint8_t encoding)
{
	switch (encoding & 0x07) {
	case 0x00: /* absptr, or signed */
	case 0x04: /* udata8, sdata8 */
		return 8;
	case 0x02:
		return 2;
	case 0x03:
		return 4;
	default:
		return 0;
	}
}

/* Returns the bytes of an entry behind its length, limited to the readable ones. */
static inline struct cfi_bytes cfi_entry(struct cfi_bytes from)
{
	uint64_t length = cfi_take_number(&from, 4);

	if (length == 0xffffffff)
		length = cfi_take_number(&from, 8);
	return cfi_take_bytes(&from, length);
}

/* Properties that the functions of a table share (CIE). */
struct cfi_common {
	uint64_t code_unit;
	int64_t data_unit;
	uint8_t encoding; /* of pointers, DW_EH_PE_* */
	bool has_sizes, is_signal;
	struct cfi_bytes program;
};

/* letters: the augmentation behind its 'z'. */
static inline void cfi_read_letters(const char *letters, struct cfi_bytes sizes,
				    struct cfi_common *common)
{
	for (; *letters; letters++) {
		if (*letters == 'S')
			common->is_signal = true;
		else if (*letters == 'R')
			common->encoding = (uint8_t)cfi_take_number(&sizes, 1);
		else if (*letters == 'L')
			cfi_take_number(&sizes, 1);
		else if (*letters == 'P')
			cfi_take_number(&sizes,
					cfi_pointer_bytes((uint8_t)cfi_take_number(&sizes, 1)));
	}
}

/* from: an entry, behind its length. False: unsupported. */
static inline bool cfi_read_common(struct cfi_bytes from, struct cfi_common *common)
{
	const char *letters;
	uint8_t version;

	cfi_take_number(&from, 4);
	version = (uint8_t)cfi_take_number(&from, 1);
	letters = (const char *)from.at;
	while (cfi_take_number(&from, 1))
		;
	if (from.at == from.end) /* the table is truncated, perhaps inside the letters */
		return false;
	if (letters[0] && letters[0] != 'z')
		return false; /* gcc 2, other systems */
	if (version >= 4)     /* DWARF 4: bytes of an address and of a segment selector */
		cfi_take_number(&from, 2);
	common->code_unit = cfi_take_unsigned(&from);
	common->data_unit = cfi_take_signed(&from);
	if ((version == 1 ? cfi_take_number(&from, 1) : cfi_take_unsigned(&from)) !=
	    CFI_REGISTER_RETURN)
		return false;
	common->has_sizes = letters[0] == 'z';
	if (common->has_sizes) {
		uint64_t length = cfi_take_unsigned(&from);

		cfi_read_letters(letters + 1, cfi_take_bytes(&from, length), common);
	}
	common->program = from;
	return true;
}

/* ---- the program that makes rows ------------------------------------------------------------- */

/* Rule for one of the registers that we need, in the terms of DWARF. */
struct cfi_location {
	enum {
		CFI_SAME,       /* not saved */
		CFI_UNDEFINED,  /* undefined */
		CFI_AT_CFA,     /* at the frame's begin + offset */
		CFI_EXPRESSION, /* see bytes */
		CFI_OTHER       /* not needed */
	} type;
	int64_t offset;
	struct cfi_bytes bytes;
};

struct cfi_row {
	uint64_t cfa_register; /* with cfa.type CFI_AT_CFA: register + offset */
	struct cfi_location cfa, bp, ret;
};

/* State while the program runs. */
struct cfi_machine {
	const struct cfi_common *common;
	struct cfi_row row, first; /* first: the row after the common program */
	struct cfi_row kept[8];
	uint32_t kept_count;
	uint64_t location, wanted; /* addresses */
	bool failed;
};

static inline void cfi_set(struct cfi_machine *machine, uint64_t number,
			   struct cfi_location location)
{
	if (number == CFI_REGISTER_BP)
		machine->row.bp = location;
	else if (number == CFI_REGISTER_RETURN)
		machine->row.ret = location;
}

/* Multiplies by the table's unit. An overflow in a damaged table is as wrong as the rest of the
 * table. */
static inline int64_t cfi_scale(const struct cfi_machine *machine, uint64_t units)
{
	return (int64_t)(units * (uint64_t)machine->common->data_unit);
}

static inline void cfi_set_offset(struct cfi_machine *machine, uint64_t number, uint64_t units)
{
	cfi_set(machine, number,
		(struct cfi_location){.type = CFI_AT_CFA, .offset = cfi_scale(machine, units)});
}

static inline void cfi_restore(struct cfi_machine *machine, uint64_t number)
{
	cfi_set(machine, number,
		number == CFI_REGISTER_BP ? machine->first.bp : machine->first.ret);
}

static inline struct cfi_location cfi_take_expression(struct cfi_bytes *from)
{
	uint64_t length = cfi_take_unsigned(from);

	return (struct cfi_location){.type = CFI_EXPRESSION, .bytes = cfi_take_bytes(from, length)};
}

static inline void cfi_set_cfa(struct cfi_machine *machine, uint64_t number, int64_t offset)
{
	machine->row.cfa_register = number;
	machine->row.cfa = (struct cfi_location){.type = CFI_AT_CFA, .offset = offset};
}

static inline void cfi_keep_row(struct cfi_machine *machine)
{
	if (machine->kept_count < sizeof(machine->kept) / sizeof(machine->kept[0]))
		machine->kept[machine->kept_count++] = machine->row;
	else
		machine->failed = true;
}

static inline void cfi_take_row_back(struct cfi_machine *machine)
{
	if (machine->kept_count)
		machine->row = machine->kept[--machine->kept_count];
	else
		machine->failed = true;
}

/* DW_CFA_*: instructions whose first two bits are 0. */
static inline void cfi_run_extended(struct cfi_machine *machine, uint8_t code,
				    struct cfi_bytes *from)
{
	const struct cfi_location same = {.type = CFI_SAME}, other = {.type = CFI_OTHER},
				  undefined = {.type = CFI_UNDEFINED};
	uint64_t number;

	switch (code) {
	case 0x00: /* nop */
		return;
	case 0x01: /* set_loc: only linkers of other systems write it */
		machine->failed = true;
		return;
	case 0x02: /* advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		machine->location +=
			cfi_take_number(from, (size_t)1 << (code - 2)) * machine->common->code_unit;
		return;
	case 0x05: /* offset_extended */
		number = cfi_take_unsigned(from);
		cfi_set_offset(machine, number, cfi_take_unsigned(from));
		return;
	case 0x06: /* restore_extended */
		cfi_restore(machine, cfi_take_unsigned(from));
		return;
	case 0x07: /* undefined */
		cfi_set(machine, cfi_take_unsigned(from), undefined);
		return;
	case 0x08: /* same_value */
		cfi_set(machine, cfi_take_unsigned(from), same);
		return;
	case 0x09: /* register */
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf */
		number = cfi_take_unsigned(from);
		cfi_take_unsigned(from);
		cfi_set(machine, number, other);
		return;
	case 0x0a: /* remember_state */
		cfi_keep_row(machine);
		return;
	case 0x0b: /* restore_state */
		cfi_take_row_back(machine);
		return;
	case 0x0c: /* def_cfa */
		number = cfi_take_unsigned(from);
		cfi_set_cfa(machine, number, (int64_t)cfi_take_unsigned(from));
		return;
	case 0x0d: /* def_cfa_register */
		machine->row.cfa_register = cfi_take_unsigned(from);
		return;
	case 0x0e: /* def_cfa_offset */
		machine->row.cfa.offset = (int64_t)cfi_take_unsigned(from);
		return;
	case 0x0f: /* def_cfa_expression */
		machine->row.cfa = cfi_take_expression(from);
		return;
	case 0x10: /* expression */
		number = cfi_take_unsigned(from);
		cfi_set(machine, number, cfi_take_expression(from));
		return;
	case 0x11: /* offset_extended_sf */
		number = cfi_take_unsigned(from);
		cfi_set_offset(machine, number, (uint64_t)cfi_take_signed(from));
		return;
	case 0x12: /* def_cfa_sf */
		number = cfi_take_unsigned(from);
		cfi_set_cfa(machine, number, cfi_scale(machine, (uint64_t)cfi_take_signed(from)));
		return;
	case 0x13: /* def_cfa_offset_sf */
		machine->row.cfa.offset = cfi_scale(machine, (uint64_t)cfi_take_signed(from));
		return;
	case 0x16: /* val_expression */
		number = cfi_take_unsigned(from);
		cfi_take_expression(from);
		cfi_set(machine, number, other);
		return;
	case 0x2e: /* GNU_args_size */
		cfi_take_unsigned(from);
		return;
	case 0x2f: /* GNU_negative_offset_extended */
		number = cfi_take_unsigned(from);
		cfi_set_offset(machine, number, 0 - cfi_take_unsigned(from));
		return;
	default:
		machine->failed = true;
	}
}

static inline void cfi_run(struct cfi_machine *machine, struct cfi_bytes program)
{
	while (program.at < program.end && !machine->failed &&
	       machine->location <= machine->wanted) {
		uint8_t code = (uint8_t)cfi_take_number(&program, 1), low = code & 0x3f;

		if (code >> 6 == 1) /* advance_loc */
			machine->location += low * machine->common->code_unit;
		else if (code >> 6 == 2) /* offset */
			cfi_set_offset(machine, low, cfi_take_unsigned(&program));
		else if (code >> 6 == 3) /* restore */
			cfi_restore(machine, low);
		else
			cfi_run_extended(machine, code, &program);
	}
}

/* ---- a rule from a row ----------------------------------------------------------------------- */

/* DW_OP_breg6 N, optionally DW_OP_deref: the form that compilers write for manually aligned
 * stacks. */
static inline bool cfi_is_bp_expression(const struct cfi_location *location, bool pointer,
					int64_t *ret_offset)
{
	enum { OP_BREG6 = 0x76, OP_DEREF = 0x06 };
	struct cfi_bytes from = location->bytes;

	if (location->type != CFI_EXPRESSION || cfi_take_number(&from, 1) != OP_BREG6)
		return false;
	*ret_offset = cfi_take_signed(&from);
	if (pointer && cfi_take_number(&from, 1) != OP_DEREF)
		return false;
	return from.at == from.end;
}

/* rsp + 8, and 8 more behind the push in a linkage stub of 16 bytes. Linkers write no other row
 * with an expression of rip. */
static inline bool cfi_is_stub_expression(const struct cfi_location *location, uint64_t pc,
					  int64_t *ret_offset)
{
	enum { OP_LIT0 = 0x30, BYTES = 11 };
	static const uint8_t row[BYTES] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
	uint8_t bytes[BYTES];

	if (location->type != CFI_EXPRESSION || cfi_left(&location->bytes) != BYTES)
		return false;
	__builtin_memcpy(bytes, location->bytes.at, BYTES);
	bytes[6] = 0;
	if (__builtin_memcmp(bytes, row, BYTES) != 0)
		return false;
	*ret_offset = 8 + ((pc & 15) >= (uint64_t)(location->bytes.at[6] - OP_LIT0) ? 8 : 0);
	return true;
}

static inline bool cfi_fits(int64_t value, int bits)
{
	return value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1);
}

static inline union unwind_rule cfi_rule(const struct cfi_row *row, uint64_t pc)
{
	const union unwind_rule unknown = {.type = RULE_UNKNOWN};
	union unwind_rule rule = {0};
	int64_t cfa = row->cfa.offset, bp = row->bp.offset;

	if (row->ret.type == CFI_UNDEFINED)
		return (union unwind_rule){.type = RULE_OUTERMOST};
	if (row->ret.type != CFI_AT_CFA || row->ret.offset != -8)
		return unknown;
	if (row->cfa.type == CFI_AT_CFA && row->cfa_register == CFI_REGISTER_SP)
		rule.type = RULE_SP;
	else if (row->cfa.type == CFI_AT_CFA && row->cfa_register == CFI_REGISTER_BP)
		rule.type = RULE_BP;
	else if (cfi_is_bp_expression(&row->cfa, true, &cfa))
		rule.type = RULE_BP_POINTER;
	else if (cfi_is_stub_expression(&row->cfa, pc, &cfa))
		rule.type = RULE_SP;
	else
		return unknown;
	if (row->bp.type == CFI_AT_CFA)
		rule.saved = BP_AT_CFA;
	else if (cfi_is_bp_expression(&row->bp, false, &bp))
		rule.saved = BP_AT_BP;
	else if (row->bp.type != CFI_SAME && row->bp.type != CFI_UNDEFINED)
		return unknown;
	if (!cfi_fits(cfa, 24) || !cfi_fits(bp, 16))
		return unknown;
	/* The `ret` of a frame that was aligned through r10. rbp was popped two instructions
	 * before, but gcc's table still has it saved where rbp points, which is any address by
	 * now. */
	if (rule.type == RULE_SP && rule.saved == BP_AT_BP)
		rule.saved = BP_SAME;
	rule.cfa = cfa;
	rule.bp = rule.saved == BP_SAME ? 0 : bp;
	return rule;
}

/* program: instructions of the function that starts at `begin`. pc: the instruction whose row is
 * wanted; for a call, the return address minus one. */
static inline union unwind_rule cfi_find_rule(const struct cfi_common *common,
					      struct cfi_bytes program, uint64_t begin, uint64_t pc)
{
	struct cfi_machine machine = {.common = common, .wanted = UINT64_MAX};

	if (common->is_signal)
		return (union unwind_rule){.type = RULE_SIGNAL};
	machine.row.ret = (struct cfi_location){.type = CFI_AT_CFA, .offset = -8};
	cfi_run(&machine, common->program);
	machine.first = machine.row;
	machine.location = begin;
	machine.wanted = pc;
	cfi_run(&machine, program);
	return machine.failed ? (union unwind_rule){.type = RULE_UNKNOWN}
			      : cfi_rule(&machine.row, pc);
}
