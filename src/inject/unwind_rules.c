/* SPDX-License-Identifier: MIT
 *
 * inject/unwind_rules.c - learn from unwind tables where frames begin
 *
 * Runs in:  the profiled process, once for each call site
 * Gets:     addresses   Gives: rules
 * Owns:     the table of rules
 * Fails:    with RULE_UNKNOWN, for code without tables and for rows of a shape that compilers do not write
 * Why:      libgcc finds the table row of an address and runs it anew for each frame of each stack, a
 *           microsecond a frame. A row says only where the frame begins and where rbp was saved: read once,
 *           it is 16 bytes. Finding rows is left to libgcc (_Unwind_Find_FDE), of which a hidden copy is linked
 *           in: a library that exports _Unwind_* takes over the program's exceptions.
 */
#include "inject/unwind_rules.h"

#if defined(__x86_64__)

#include <string.h>

#include "inject/libraries.h"
#include "inject/unwind.h"

struct unwind_slot *_Atomic unwind_tables[UNWIND_TABLES];

static struct {
	_Atomic uint32_t used[UNWIND_TABLES];
	_Atomic uint64_t unloads; /* of libraries, when the rules were last known to be right */
	_Atomic uint64_t learned, flushed;
} rules;

static struct unwind_slot *slots_of(uint32_t table)
{
	struct unwind_slot *slots = atomic_load(&unwind_tables[table]), *none = NULL;

	if (slots)
		return slots;
	slots = guest_memory(sizeof(*slots) << unwind_table_bits(table));
	if (!slots)
		return NULL;
	/* Another thread's may have come first; ours is then left unused, 64 KiB that were never touched. */
	return atomic_compare_exchange_strong(&unwind_tables[table], &none, slots) ? slots : none;
}

static void keep_rule(uint64_t pc, union unwind_rule rule)
{
	rule.tag = unwind_tag(pc);
	for (uint32_t table = 0; table < UNWIND_TABLES; table++) {
		uint32_t mask = (1u << unwind_table_bits(table)) - 1;
		struct unwind_slot *slots = slots_of(table);

		if (!slots)
			return;
		if (atomic_load(&rules.used[table]) > mask / 4 * 3)
			continue;
		for (uint32_t i = unwind_hash(pc);; i++) {
			struct unwind_slot *slot = &slots[i & mask];
			uint64_t none = 0;

			if (atomic_load(&slot->pc) != pc &&
			    !atomic_compare_exchange_strong(&slot->pc, &none, pc) && none != pc)
				continue;
			if (!none)
				atomic_fetch_add(&rules.used[table], 1);
			atomic_store_explicit(&slot->rule, rule.word, memory_order_release);
			return;
		}
	}
}

uint64_t unwind_forget_unloaded(uint64_t *ret_loads)
{
	uint64_t seen = atomic_load_explicit(&rules.unloads, memory_order_acquire);
	struct libraries_counts counts = {0};

	/* While a thread forks nobody may ask; what was so a moment ago has to do. */
	if (GUEST_UNLIKELY(!libraries_count(&counts)))
		return seen;
	*ret_loads = counts.loads;
	if (GUEST_LIKELY(counts.unloads == seen))
		return seen;
	for (uint32_t table = 0; table < UNWIND_TABLES; table++) {
		struct unwind_slot *slots = atomic_load(&unwind_tables[table]);

		if (!slots)
			continue;
		for (size_t i = 0; i < (size_t)1 << unwind_table_bits(table); i++) {
			if (!atomic_load_explicit(&slots[i].pc, memory_order_relaxed))
				continue;
			atomic_store(&slots[i].rule, 0);
			atomic_store(&slots[i].pc, 0);
		}
		atomic_store(&rules.used[table], 0);
	}
	atomic_store_explicit(&rules.unloads, counts.unloads, memory_order_release);
	atomic_fetch_add(&rules.flushed, 1);
	return counts.unloads;
}
/* ---- the table row of an address ----------------------------------------------------------------- */

/* libgcc's, in unwind-dw2-fde.h */
struct dwarf_eh_bases {
	void *text, *data, *function;
};
const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

enum { REGISTER_BP = 6, REGISTER_SP = 7, REGISTER_RETURN = 16 };

/* How one of the things we follow is found, as DWARF says it. */
struct location {
	enum {
		AT_SAME,       /* not saved */
		AT_UNDEFINED,  /* there is none */
		AT_CFA,        /* at the frame's begin + offset */
		AT_EXPRESSION, /* see bytes */
		AT_OTHER       /* of no use to us */
	} type;
	int64_t offset;
	const uint8_t *bytes;
	uint64_t length;
};

struct row {
	uint32_t cfa_register; /* with cfa.type AT_CFA: register + offset */
	struct location cfa, bp, ret;
};

/* A place in a table; end: behind what may be read. */
struct bytes {
	const uint8_t *at, *end;
};

static uint64_t take_number(struct bytes *from, size_t size)
{
	uint64_t value = 0;

	if ((size_t)(from->end - from->at) < size) {
		from->at = from->end;
		return 0;
	}
	memcpy(&value, from->at, size);
	from->at += size;
	return value;
}

static uint64_t take_leb(struct bytes *from, bool is_signed)
{
	uint64_t value = 0;
	uint32_t shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)take_number(from, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= ~UINT64_C(0) << shift;
	return value;
}

static uint64_t take_unsigned(struct bytes *from)
{
	return take_leb(from, false);
}

static int64_t take_signed(struct bytes *from)
{
	return (int64_t)take_leb(from, true);
}

/* Bytes of a pointer of some encoding (DW_EH_PE_*); 0: none that we know. */
static size_t pointer_bytes(uint8_t encoding)
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

/* What the functions of a table share. */
struct common {
	uint64_t code_unit;
	int64_t data_unit;
	uint8_t encoding; /* of pointers */
	bool has_sizes, is_signal;
	struct bytes program;
};

/* The bytes of an entry behind its length. */
static struct bytes entry_bytes(const uint8_t *entry)
{
	struct bytes bytes = {entry, entry + 4};
	uint64_t length = take_number(&bytes, 4);

	if (length == 0xffffffff) {
		bytes.end += 8;
		length = take_number(&bytes, 8);
	}
	bytes.end = bytes.at + length;
	return bytes;
}

static bool read_common(const uint8_t *entry, struct common *common)
{
	struct bytes from = entry_bytes(entry);
	const char *letters;
	uint8_t version;

	take_number(&from, 4);
	version = (uint8_t)take_number(&from, 1);
	letters = (const char *)from.at;
	while (take_number(&from, 1))
		;
	if (strncmp(letters, "eh", 2) == 0)
		return false; /* gcc 2 */
	common->code_unit = take_unsigned(&from);
	common->data_unit = take_signed(&from);
	if ((version == 1 ? take_number(&from, 1) : take_unsigned(&from)) != REGISTER_RETURN)
		return false;
	common->has_sizes = letters[0] == 'z';
	if (common->has_sizes) {
		uint64_t length = take_unsigned(&from);
		struct bytes sizes = {from.at, from.at + length};

		for (const char *letter = letters + 1; *letter; letter++) {
			if (*letter == 'S')
				common->is_signal = true;
			else if (*letter == 'R')
				common->encoding = (uint8_t)take_number(&sizes, 1);
			else if (*letter == 'L')
				take_number(&sizes, 1);
			else if (*letter == 'P')
				take_number(&sizes, pointer_bytes((uint8_t)take_number(&sizes, 1)));
		}
		from.at += length;
	} else if (letters[0]) {
		return false;
	}
	common->program = from;
	return true;
}

/* The program that makes rows, while it runs. */
struct machine {
	const struct common *common;
	struct row row, first;   /* first: after the common program */
	struct location ignored; /* of registers that are not followed */
	struct row kept[8];
	uint32_t kept_count;
	uint64_t location, wanted; /* addresses */
	bool failed;
};

static struct location *followed(struct machine *machine, uint64_t number)
{
	return number == REGISTER_BP       ? &machine->row.bp
	       : number == REGISTER_RETURN ? &machine->row.ret
					   : &machine->ignored;
}

static void set_location(struct machine *machine, uint64_t number, struct location location)
{
	*followed(machine, number) = location;
}

static void set_offset(struct machine *machine, uint64_t number, int64_t units)
{
	set_location(
		machine, number,
		(struct location){.type = AT_CFA, .offset = units * machine->common->data_unit});
}

static void restore(struct machine *machine, uint64_t number)
{
	set_location(machine, number,
		     number == REGISTER_BP ? machine->first.bp : machine->first.ret);
}

static struct location take_expression(struct bytes *from)
{
	struct location location = {.type = AT_EXPRESSION, .length = take_unsigned(from)};

	location.bytes = from->at;
	if (location.length > (uint64_t)(from->end - from->at))
		location.length = (uint64_t)(from->end - from->at);
	from->at += location.length;
	return location;
}

static void set_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
	machine->row.cfa_register = (uint32_t)number;
	machine->row.cfa = (struct location){.type = AT_CFA, .offset = offset};
}

static void keep_row(struct machine *machine)
{
	if (machine->kept_count < sizeof(machine->kept) / sizeof(machine->kept[0]))
		machine->kept[machine->kept_count++] = machine->row;
	else
		machine->failed = true;
}

static void take_row_back(struct machine *machine)
{
	if (machine->kept_count)
		machine->row = machine->kept[--machine->kept_count];
	else
		machine->failed = true;
}

/* DW_CFA_*: the instructions whose first two bits are 0. */
static void run_extended(struct machine *machine, uint8_t code, struct bytes *from)
{
	const struct common *common = machine->common;
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
		machine->location += take_number(from, (size_t)1 << (code - 2)) * common->code_unit;
		return;
	case 0x05: /* offset_extended */
		number = take_unsigned(from);
		set_offset(machine, number, (int64_t)take_unsigned(from));
		return;
	case 0x06: /* restore_extended */
		restore(machine, take_unsigned(from));
		return;
	case 0x07: /* undefined */
		set_location(machine, take_unsigned(from), (struct location){.type = AT_UNDEFINED});
		return;
	case 0x08: /* same_value */
		set_location(machine, take_unsigned(from), (struct location){.type = AT_SAME});
		return;
	case 0x09: /* register */
		number = take_unsigned(from);
		take_unsigned(from);
		set_location(machine, number, (struct location){.type = AT_OTHER});
		return;
	case 0x0a: /* remember_state */
		keep_row(machine);
		return;
	case 0x0b: /* restore_state */
		take_row_back(machine);
		return;
	case 0x0c: /* def_cfa */
		number = take_unsigned(from);
		set_cfa(machine, number, (int64_t)take_unsigned(from));
		return;
	case 0x0d: /* def_cfa_register */
		machine->row.cfa_register = (uint32_t)take_unsigned(from);
		return;
	case 0x0e: /* def_cfa_offset */
		machine->row.cfa.offset = (int64_t)take_unsigned(from);
		return;
	case 0x0f: /* def_cfa_expression */
		machine->row.cfa = take_expression(from);
		return;
	case 0x10: /* expression */
		number = take_unsigned(from);
		set_location(machine, number, take_expression(from));
		return;
	case 0x11: /* offset_extended_sf */
		number = take_unsigned(from);
		set_offset(machine, number, take_signed(from));
		return;
	case 0x12: /* def_cfa_sf */
		number = take_unsigned(from);
		set_cfa(machine, number, take_signed(from) * common->data_unit);
		return;
	case 0x13: /* def_cfa_offset_sf */
		machine->row.cfa.offset = take_signed(from) * common->data_unit;
		return;
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf */
		number = take_unsigned(from);
		take_unsigned(from);
		set_location(machine, number, (struct location){.type = AT_OTHER});
		return;
	case 0x16: /* val_expression */
		number = take_unsigned(from);
		take_expression(from);
		set_location(machine, number, (struct location){.type = AT_OTHER});
		return;
	case 0x2e: /* GNU_args_size */
		take_unsigned(from);
		return;
	case 0x2f: /* GNU_negative_offset_extended */
		number = take_unsigned(from);
		set_offset(machine, number, -(int64_t)take_unsigned(from));
		return;
	default:
		machine->failed = true;
	}
}

static void run(struct machine *machine, struct bytes program)
{
	while (program.at < program.end && !machine->failed &&
	       machine->location <= machine->wanted) {
		uint8_t code = (uint8_t)take_number(&program, 1), low = code & 0x3f;

		if (code >> 6 == 1) /* advance_loc */
			machine->location += low * machine->common->code_unit;
		else if (code >> 6 == 2) /* offset */
			set_offset(machine, low, (int64_t)take_unsigned(&program));
		else if (code >> 6 == 3) /* restore */
			restore(machine, low);
		else
			run_extended(machine, code, &program);
	}
}
/* ---- a rule from a row ------------------------------------------------------------------------- */

/* DW_OP_breg6 N, DW_OP_deref or nothing: what compilers write for stacks aligned by hand. */
static bool is_bp_expression(const struct location *location, bool pointer, int64_t *ret_offset)
{
	enum { OP_BREG6 = 0x76, OP_DEREF = 0x06 };
	struct bytes from = {location->bytes, location->bytes + location->length};

	if (location->type != AT_EXPRESSION || take_number(&from, 1) != OP_BREG6)
		return false;
	*ret_offset = take_signed(&from);
	if (pointer && take_number(&from, 1) != OP_DEREF)
		return false;
	return from.at == from.end;
}

/* rsp + 8, and 8 more behind the push in a linkage stub of 16 bytes: the only row with an expression of rip that
 * linkers write. */
static bool is_stub_expression(const struct location *location, uint64_t pc, int64_t *ret_offset)
{
	enum { OP_LIT0 = 0x30, BYTES = 11 };
	static const uint8_t row[BYTES] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
	uint8_t bytes[BYTES];

	if (location->type != AT_EXPRESSION || location->length != BYTES)
		return false;
	memcpy(bytes, location->bytes, BYTES);
	bytes[6] = 0;
	if (memcmp(bytes, row, BYTES) != 0)
		return false;
	*ret_offset = 8 + ((pc & 15) >= (uint64_t)(location->bytes[6] - OP_LIT0) ? 8 : 0);
	return true;
}

static const union unwind_rule unknown = {.type = RULE_UNKNOWN};

static bool fits(int64_t value, int bits)
{
	return value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1);
}

static union unwind_rule rule_of(const struct row *row, uint64_t pc)
{
	union unwind_rule rule = {0};
	int64_t cfa = row->cfa.offset, bp = row->bp.offset;

	if (row->ret.type == AT_UNDEFINED)
		return (union unwind_rule){.type = RULE_OUTERMOST};
	if (row->ret.type != AT_CFA || row->ret.offset != -8)
		return unknown;
	if (row->cfa.type == AT_CFA && row->cfa_register == REGISTER_SP)
		rule.type = RULE_SP;
	else if (row->cfa.type == AT_CFA && row->cfa_register == REGISTER_BP)
		rule.type = RULE_BP;
	else if (is_bp_expression(&row->cfa, true, &cfa))
		rule.type = RULE_BP_POINTER;
	else if (is_stub_expression(&row->cfa, pc, &cfa))
		rule.type = RULE_SP;
	else
		return unknown;
	if (row->bp.type == AT_CFA)
		rule.saved = BP_AT_CFA;
	else if (is_bp_expression(&row->bp, false, &bp))
		rule.saved = BP_AT_BP;
	else if (row->bp.type != AT_SAME && row->bp.type != AT_UNDEFINED)
		return unknown;
	if (!fits(cfa, 24) || !fits(bp, 16))
		return unknown;
	rule.cfa = cfa;
	rule.bp = rule.saved == BP_SAME ? 0 : bp;
	return rule;
}

/* pc: of the calling instruction, one before the return address. */
static union unwind_rule read_rule(uint64_t pc)
{
	struct dwarf_eh_bases bases = {0};
	const uint8_t *entry = _Unwind_Find_FDE((void *)pc, &bases);
	struct common common = {0};
	struct machine machine = {.common = &common, .wanted = UINT64_MAX};
	struct bytes from;
	const uint8_t *back;
	int32_t distance;

	if (!entry)
		return unknown;
	from = entry_bytes(entry);
	back = from.at;
	distance = (int32_t)take_number(&from, 4);
	if (!read_common(back - distance, &common))
		return unknown;
	if (common.is_signal)
		return (union unwind_rule){.type = RULE_SIGNAL};
	take_number(&from, pointer_bytes(common.encoding)); /* begin: in bases, as an address */
	take_number(&from, pointer_bytes(common.encoding)); /* length */
	if (common.has_sizes) {
		uint64_t skipped = take_unsigned(&from);

		from.at += skipped;
	}
	machine.row.ret = (struct location){.type = AT_CFA, .offset = -8};
	run(&machine, common.program);
	machine.first = machine.row;
	machine.location = (uint64_t)bases.function;
	machine.wanted = pc;
	run(&machine, from);
	return machine.failed ? unknown : rule_of(&machine.row, pc);
}

__attribute__((cold)) union unwind_rule unwind_learn_rule(uint64_t frame)
{
	uint64_t pc = frame & ~UNWIND_EXACT;
	union unwind_rule rule = read_rule(frame & UNWIND_EXACT ? pc : pc - 1);

	keep_rule(frame, rule);
	atomic_fetch_add_explicit(&rules.learned, 1, memory_order_relaxed);
	return rule;
}

struct unwind_counts unwind_counts(void)
{
	return (struct unwind_counts){atomic_load(&rules.learned), atomic_load(&rules.flushed)};
}

#endif
