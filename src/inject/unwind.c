/* SPDX-License-Identifier: MIT
 *
 * inject/unwind.c - walk the stack by rules, learn each rule once from the unwind tables
 *
 * Runs in:  the profiled process, at launches
 * Gets:     the registers of the caller   Gives: return addresses
 * Owns:     a table of rules, one a call site
 * Fails:    with a stack that ends early and says why
 * Why:      programs are built without frame pointers, and libgcc's unwinder takes 1 µs a frame to find and
 *           run the same table row again and again. A row says only where the frame begins and where rbp was
 *           saved: kept in 16 bytes a call site, the walk takes 5 ns a frame. libgcc still finds the rows
 *           (_Unwind_Find_FDE); a copy of it is linked in and hidden, because a library that exports
 *           _Unwind_* takes over the program's exceptions.
 */
#include "inject/unwind.h"

#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unwind.h>

#include "inject/guest.h"

#if defined(__x86_64__)

/* ---- rules ------------------------------------------------------------------------------------- */

enum rule_type {
	RULE_NONE,       /* not learned yet */
	RULE_SP,         /* the frame begins at rsp + cfa */
	RULE_BP,         /* … at rbp + cfa */
	RULE_BP_POINTER, /* … where the word at rbp + cfa points: stacks aligned by hand */
	RULE_SIGNAL,     /* the kernel put the registers at rsp */
	RULE_OUTERMOST,  /* nothing called it */
	RULE_UNKNOWN     /* no table, or a row of a shape that compilers do not write */
};

enum saved_bp {
	BP_SAME,   /* not touched yet */
	BP_AT_CFA, /* saved at the frame's begin + bp */
	BP_AT_BP   /* saved where rbp + bp points */
};

/* One word, so that it is read and written whole. tag: of the address, because a slot may be cleared and
 * taken again between the reading of its two words. */
union rule {
	uint64_t word;
	struct {
		uint64_t type : 3;
		uint64_t saved : 2;
		int64_t cfa : 24; /* bytes */
		int64_t bp : 16;  /* bytes */
		uint64_t tag : 19;
	};
};

struct slot {
	_Atomic uint64_t pc;
	_Atomic uint64_t rule;
};

enum { TABLES = 2, FIRST_BITS = 12, BITS_MORE = 5 };

static struct {
	struct slot *_Atomic tables[TABLES];
	_Atomic uint32_t used[TABLES];
	_Atomic uint64_t unloads; /* of libraries, when the rules were last known to be right */
	_Atomic uint64_t learned, flushed;
} rules;

/* Each step of a walk waits for the one before it, and a multiplication is three cycles of that wait. */
static inline uint32_t hash_of(uint64_t pc)
{
	return (uint32_t)(pc ^ pc >> 13);
}

static inline uint64_t tag_of(uint64_t pc)
{
	return (pc * UINT64_C(0x9e3779b97f4a7c15)) >> 45;
}

static uint32_t table_bits(uint32_t table)
{
	return FIRST_BITS + BITS_MORE * table;
}

static union rule find_rule(uint64_t pc)
{
	for (uint32_t table = 0; table < TABLES; table++) {
		struct slot *slots =
			atomic_load_explicit(&rules.tables[table], memory_order_acquire);
		uint32_t mask = (1u << table_bits(table)) - 1;

		if (!slots)
			break;
		for (uint32_t i = hash_of(pc);; i++) {
			struct slot *slot = &slots[i & mask];
			uint64_t found = atomic_load_explicit(&slot->pc, memory_order_acquire);

			if (GUEST_LIKELY(found == pc)) {
				union rule rule = {.word = atomic_load_explicit(
							   &slot->rule, memory_order_acquire)};

				if (GUEST_LIKELY(rule.tag == tag_of(pc)))
					return rule;
				return (union rule){0};
			}
			if (!found)
				break;
		}
	}
	return (union rule){0};
}

static struct slot *slots_of(uint32_t table)
{
	struct slot *slots = atomic_load(&rules.tables[table]), *none = NULL;

	if (slots)
		return slots;
	slots = guest_memory(sizeof(*slots) << table_bits(table));
	if (!slots)
		return NULL;
	/* Another thread's may have come first; ours is then left unused, 64 KiB that were never touched. */
	return atomic_compare_exchange_strong(&rules.tables[table], &none, slots) ? slots : none;
}

static void keep_rule(uint64_t pc, union rule rule)
{
	rule.tag = tag_of(pc);
	for (uint32_t table = 0; table < TABLES; table++) {
		uint32_t mask = (1u << table_bits(table)) - 1;
		struct slot *slots = slots_of(table);

		if (!slots)
			return;
		if (atomic_load(&rules.used[table]) > mask / 4 * 3)
			continue;
		for (uint32_t i = hash_of(pc);; i++) {
			struct slot *slot = &slots[i & mask];
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

static int take_unloads(struct dl_phdr_info *info, size_t size, void *ret_unloads)
{
	(void)size;
	*(uint64_t *)ret_unloads = info->dlpi_subs;
	return 1;
}

/* Where code was unloaded, other code may be loaded: what is known of its addresses is void. 19 ns. */
static uint64_t forget_unloaded(void)
{
	uint64_t unloads = 0, seen = atomic_load_explicit(&rules.unloads, memory_order_acquire);

	dl_iterate_phdr(take_unloads, &unloads);
	if (GUEST_LIKELY(unloads == seen))
		return unloads;
	for (uint32_t table = 0; table < TABLES; table++) {
		struct slot *slots = atomic_load(&rules.tables[table]);

		if (!slots)
			continue;
		for (size_t i = 0; i < (size_t)1 << table_bits(table); i++) {
			if (!atomic_load_explicit(&slots[i].pc, memory_order_relaxed))
				continue;
			atomic_store(&slots[i].rule, 0);
			atomic_store(&slots[i].pc, 0);
		}
		atomic_store(&rules.used[table], 0);
	}
	atomic_store_explicit(&rules.unloads, unloads, memory_order_release);
	atomic_fetch_add(&rules.flushed, 1);
	return unloads;
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

static const union rule unknown = {.type = RULE_UNKNOWN};

static bool fits(int64_t value, int bits)
{
	return value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1);
}

static union rule rule_of(const struct row *row, uint64_t pc)
{
	union rule rule = {0};
	int64_t cfa = row->cfa.offset, bp = row->bp.offset;

	if (row->ret.type == AT_UNDEFINED)
		return (union rule){.type = RULE_OUTERMOST};
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
static union rule read_rule(uint64_t pc)
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
		return (union rule){.type = RULE_SIGNAL};
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

/* Once a call site: a microsecond or two. */
static __attribute__((noinline, cold)) union rule learn_rule(uint64_t frame)
{
	uint64_t pc = frame & ~UNWIND_EXACT;
	union rule rule = read_rule(frame & UNWIND_EXACT ? pc : pc - 1);

	keep_rule(frame, rule);
	atomic_fetch_add_explicit(&rules.learned, 1, memory_order_relaxed);
	return rule;
}

/* ---- the walk ---------------------------------------------------------------------------------- */

enum { STACK_PAGE = 4096, STACK_JUMP_MOST = 1 << 20 };

/* The kernel reads the signal set before it looks at what is to be done with it. 70 ns, and no memory that is
 * not there is touched: tables may be wrong, and a profiler must not die of it. */
static bool is_readable(uint64_t address)
{
	const long what = -1;
	long result;

	register uint64_t size __asm__("r10") = 8;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_rt_sigprocmask), "D"(what), "S"(address), "d"(0), "r"(size)
			 : "rcx", "r11", "memory");
	return result != -14 /* EFAULT */;
}

/* The stack at sp: what is known of the pages there, nothing where it is another one. */
static bool enter_stack(struct unwind_thread *thread, uint64_t sp)
{
	uint64_t page = sp & ~(uint64_t)(STACK_PAGE - 1);

	if (GUEST_LIKELY(sp >= thread->low && sp < thread->high))
		return true;
	if (page >= thread->high || thread->low - page > STACK_JUMP_MOST) {
		if (!is_readable(page))
			return false;
		thread->low = page;
		thread->high = page + STACK_PAGE;
		return true;
	}
	while (thread->low > page) {
		if (!is_readable(thread->low - STACK_PAGE))
			return false;
		thread->low -= STACK_PAGE;
	}
	return true;
}

static __attribute__((noinline, cold)) bool extend_stack(struct unwind_thread *thread,
							 uint64_t address)
{
	if (address < thread->low || address % 8)
		return false;
	while (address + 8 > thread->high) {
		if (!is_readable(thread->high))
			return false;
		thread->high += STACK_PAGE;
	}
	return true;
}

static inline bool read_stack(struct unwind_thread *thread, uint64_t address, uint64_t *ret_value)
{
	if (GUEST_UNLIKELY(address < thread->low || address + 8 > thread->high || address % 8) &&
	    !extend_stack(thread, address))
		return false;
	*ret_value = *(const uint64_t *)address;
	return true;
}

/* struct ucontext of the kernel lies at sp. */
static bool leave_signal(struct unwind_thread *thread, struct unwind_step *step)
{
	enum { UC_RBP = 120, UC_RSP = 160, UC_RIP = 168 };
	uint64_t at = step->sp, pc;

	if (!read_stack(thread, at + UC_RIP, &pc) || !read_stack(thread, at + UC_RBP, &step->bp) ||
	    !read_stack(thread, at + UC_RSP, &step->sp))
		return false;
	step->frame = pc | UNWIND_EXACT;
	step->bp_at = 0;
	return enter_stack(thread, step->sp);
}

static inline bool leave_frame(struct unwind_thread *thread, struct unwind_step *step,
			       union rule rule)
{
	uint64_t cfa, bp = step->bp;

	if (GUEST_LIKELY(rule.type == RULE_SP))
		cfa = step->sp + (uint64_t)rule.cfa;
	else if (rule.type == RULE_BP)
		cfa = bp + (uint64_t)rule.cfa;
	else if (!read_stack(thread, bp + (uint64_t)rule.cfa, &cfa))
		return false;
	/* A frame that does not lie above its callee is none; then no loop has an end. */
	if (cfa <= step->sp || !read_stack(thread, cfa - 8, &step->frame))
		return false;
	step->bp_at = 0;
	if (rule.saved != BP_SAME) {
		step->bp_at = (rule.saved == BP_AT_CFA ? cfa : bp) + (uint64_t)rule.bp;
		if (!read_stack(thread, step->bp_at, &step->bp))
			return false;
	}
	step->sp = cfa;
	return true;
}

/* To the frame that called. False at the end. ret_plain: what is_unchanged looks at tells it all. */
static inline bool leave(struct unwind_thread *thread, struct unwind_step *step,
			 enum unwind_end *ret_end, bool *ret_plain)
{
	union rule rule = find_rule(step->frame);
	bool moved;

	if (GUEST_UNLIKELY(rule.type == RULE_NONE))
		rule = learn_rule(step->frame);
	*ret_plain = rule.type == RULE_SP || rule.type == RULE_BP;
	*ret_end = UNWIND_COMPLETE;
	if (GUEST_UNLIKELY(rule.type == RULE_OUTERMOST))
		return false;
	*ret_end = UNWIND_NO_RULE;
	if (GUEST_UNLIKELY(rule.type == RULE_UNKNOWN))
		return false;
	moved = GUEST_UNLIKELY(rule.type == RULE_SIGNAL) ? leave_signal(thread, step)
							 : leave_frame(thread, step, rule);
	*ret_end = moved ? UNWIND_COMPLETE : UNWIND_BROKEN;
	return moved && step->frame;
}

/* Of this library, as the linker lays it out. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static inline bool is_own(uint64_t frame)
{
	return (frame & ~UNWIND_EXACT) - (uint64_t)__ehdr_start < (uint64_t)(etext - __ehdr_start);
}

static inline uint64_t add_to_hash(uint64_t hash, uint64_t frame)
{
	hash = (hash ^ frame) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/* ---- stacks of many frames --------------------------------------------------------------------- */

static void reverse(uint64_t *frames, uint32_t count)
{
	for (uint32_t i = 0; i < count / 2; i++) {
		uint64_t other = frames[i];

		frames[i] = frames[count - 1 - i];
		frames[count - 1 - i] = other;
	}
}

/* The outermost frames were written round and round: the oldest of them goes to the front. */
static void close_stack(struct unwind *stack, uint32_t depth)
{
	uint64_t *outer = stack->frames + UNWIND_END_FRAMES;
	uint32_t shift;

	stack->count = depth < UNWIND_FRAMES_MOST ? depth : UNWIND_FRAMES_MOST;
	stack->truncated = depth - stack->count;
	if (!stack->truncated)
		return;
	shift = (depth - UNWIND_END_FRAMES) % UNWIND_END_FRAMES;
	reverse(outer, shift);
	reverse(outer + shift, UNWIND_END_FRAMES - shift);
	reverse(outer, UNWIND_END_FRAMES);
}

/* All of it, step by step, nothing kept for the next time. */
static void walk_deep(struct unwind_thread *thread, struct unwind_step step)
{
	struct unwind *stack = &thread->deep;
	uint32_t depth = 0;
	bool plain;

	thread->count = 0;
	stack->hash = 0;
	for (uint32_t i = 0; i < UNWIND_DEPTH_MOST && leave(thread, &step, &stack->end, &plain);
	     i++) {
		uint32_t index = depth;

		if (!depth && is_own(step.frame))
			continue;
		if (index >= UNWIND_FRAMES_MOST)
			index = UNWIND_END_FRAMES + (index - UNWIND_END_FRAMES) % UNWIND_END_FRAMES;
		stack->frames[index] = step.frame;
		stack->hash = add_to_hash(stack->hash, step.frame);
		depth++;
	}
	close_stack(stack, depth);
	stack->hash = add_to_hash(stack->hash, stack->end);
}

/* ---- stacks like the last one ------------------------------------------------------------------ */

/* Whether the frames from a step of the last walk on are still there. A walk is a chain of loads, each
 * waiting for the one before; to look whether the words are what they were needs no chain. Inner frames
 * first: where they are as they were, the words of the next exist. */
static bool is_unchanged(const struct unwind_thread *thread, uint32_t from)
{
	const struct unwind_step *step = thread->steps + from + 1;
	const struct unwind_step *end = thread->steps + thread->count;

	for (; step < end; step++)
		if (*(const uint64_t *)(step->sp - 8) != step->frame ||
		    (step->bp_at && *(const uint64_t *)step->bp_at != step->bp))
			return false;
	return true;
}

/* The steps of this walk, in front of those of the last one from `old` on. False: too many. */
static bool join(struct unwind_thread *thread, uint32_t fresh, uint32_t old)
{
	uint32_t tail = thread->count - old;

	if (fresh + tail > UNWIND_STEPS_MOST)
		return false;
	if (fresh != old)
		memmove(thread->steps + fresh, thread->steps + old,
			tail * sizeof(thread->steps[0]));
	memcpy(thread->steps, thread->fresh, fresh * sizeof(thread->steps[0]));
	thread->count = fresh + tail;
	return true;
}

static uint64_t hash_steps(struct unwind_thread *thread, uint32_t fresh)
{
	struct unwind_step *steps = thread->steps;
	uint64_t hash = fresh < thread->count ? steps[fresh].hash : thread->end;
	uint32_t own = 0;

	while (fresh-- > 0)
		hash = steps[fresh].hash = add_to_hash(hash, steps[fresh].frame);
	while (own < thread->count && is_own(steps[own].frame))
		own++;
	thread->own = own;
	return own < thread->count ? steps[own].hash : thread->end;
}

/* Walks until the outermost frame, or until a frame of the last walk from where on nothing has changed:
 * most stacks differ from the one before in their innermost frames alone. False: too many frames. */
static bool walk(struct unwind_thread *thread, struct unwind_step step, uint64_t *ret_hash)
{
	const struct unwind_step *last = thread->steps;
	uint32_t count = 0, old = thread->plain, plain_from = 0;
	bool plain, same, moved;
	enum unwind_end end;

	do {
		thread->fresh[count++] = step;
		while (old < thread->count && last[old].sp < step.sp)
			old++;
		same = old < thread->count && last[old].sp == step.sp &&
		       last[old].frame == step.frame && last[old].bp == step.bp;
		if (same && is_unchanged(thread, old))
			break;
		if (same) /* further out it will not be the same either */
			old = thread->count;
		same = false;
		moved = leave(thread, &step, &end, &plain);
		if (moved && !plain)
			plain_from = count;
	} while (moved && count < UNWIND_STEPS_MOST);
	if (!same) {
		thread->end = end;
		thread->count = 0;
	}
	if ((!same && moved) || !join(thread, count, same ? old + 1 : 0))
		return false;
	thread->plain = plain_from;
	*ret_hash = hash_steps(thread, count);
	return true;
}

__attribute__((noinline)) bool unwind_take(struct unwind_thread *thread, uint64_t *ret_hash)
{
	struct unwind_step step = {0};
	uint64_t unloads;

	if (GUEST_UNLIKELY(thread->busy))
		return false;
	thread->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	unloads = forget_unloaded();
	__asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
			 : "=r"(step.frame), "=r"(step.sp), "=r"(step.bp));
	step.frame |= UNWIND_EXACT;
	if (GUEST_UNLIKELY(unloads != thread->unloads))
		thread->count = 0;
	thread->unloads = unloads;
	if (GUEST_UNLIKELY(!enter_stack(thread, step.sp))) {
		thread->busy = false;
		return false;
	}
	if (GUEST_UNLIKELY(!walk(thread, step, ret_hash))) {
		walk_deep(thread, step);
		*ret_hash = thread->deep.hash;
	}
	return true;
}

void unwind_done(struct unwind_thread *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->busy = false;
}

bool unwind_has(const struct unwind_thread *thread, bool (*is)(uint64_t frame))
{
	for (uint32_t i = thread->own; i < thread->count; i++)
		if (is(thread->steps[i].frame))
			return true;
	for (uint32_t i = 0; !thread->count && i < thread->deep.count; i++)
		if (is(thread->deep.frames[i]))
			return true;
	return false;
}

void unwind_stack(const struct unwind_thread *thread, struct unwind *ret_stack)
{
	if (!thread->count) {
		*ret_stack = thread->deep;
		return;
	}
	ret_stack->count = thread->count - thread->own;
	ret_stack->truncated = 0;
	ret_stack->end = thread->end;
	for (uint32_t i = 0; i < ret_stack->count; i++)
		ret_stack->frames[i] = thread->steps[thread->own + i].frame;
	ret_stack->hash = ret_stack->count ? thread->steps[thread->own].hash : thread->end;
}

/* ---- the second opinion ------------------------------------------------------------------------ */

struct check {
	const struct unwind *stack;
	uint32_t depth;
	bool differs;
};

static _Unwind_Reason_Code check_frame(struct _Unwind_Context *context, void *data)
{
	struct check *check = data;
	const struct unwind *stack = check->stack;
	int is_exact = 0;
	uint64_t frame = _Unwind_GetIPInfo(context, &is_exact);
	uint32_t index;

	if (is_exact)
		frame |= UNWIND_EXACT;
	if (!frame || (!check->depth && is_own(frame)))
		return _URC_NO_REASON;
	index = check->depth++;
	if (stack->truncated && index >= UNWIND_END_FRAMES) {
		if (index < UNWIND_END_FRAMES + stack->truncated)
			return _URC_NO_REASON;
		index -= stack->truncated;
	}
	check->differs |= index < stack->count && stack->frames[index] != frame;
	return _URC_NO_REASON;
}

__attribute__((noinline)) bool unwind_check(const struct unwind *stack)
{
	struct check check = {.stack = stack};

	_Unwind_Backtrace(check_frame, &check);
	return !check.differs && (check.depth == stack->count + stack->truncated ||
				  (stack->end == UNWIND_NO_RULE && check.depth > stack->count));
}

struct unwind_counts unwind_counts(void)
{
	return (struct unwind_counts){atomic_load(&rules.learned), atomic_load(&rules.flushed)};
}

#else

bool unwind_take(struct unwind_thread *thread, uint64_t *ret_hash)
{
	(void)thread;
	(void)ret_hash;
	return false;
}

void unwind_done(struct unwind_thread *thread)
{
	(void)thread;
}

bool unwind_has(const struct unwind_thread *thread, bool (*is)(uint64_t frame))
{
	(void)thread;
	(void)is;
	return false;
}

void unwind_stack(const struct unwind_thread *thread, struct unwind *ret_stack)
{
	*ret_stack = thread->deep;
}

bool unwind_check(const struct unwind *stack)
{
	(void)stack;
	return true;
}

struct unwind_counts unwind_counts(void)
{
	return (struct unwind_counts){0};
}

#endif
