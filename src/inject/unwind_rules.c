/* SPDX-License-Identifier: MIT
 *
 * inject/unwind_rules.c - learn frame sizes from unwind tables
 *
 * Runs in:  the profiled process, once for each call site
 * Gets:     addresses
 * Gives:    rules
 * Owns:     the table of rules
 * Fails:    with RULE_UNKNOWN, for code without tables and for forms of rows that compilers do not
 *           write
 * Why:      libgcc searches the table row of an address and executes it anew for each frame of each
 *           stack, a microsecond a frame. A row contains only the start of the frame and the
 *           position of rbp, so it is read once and kept as a rule of 16 bytes. libgcc still
 *           searches the row of a new address (_Unwind_Find_FDE). A hidden copy of libgcc is linked
 *           in, because a library that exports _Unwind_* takes over the program's exceptions.
 */
#include "inject/unwind_rules.h"

#if defined(__x86_64__)

#include "inject/libraries.h"
#include "inject/unwind.h"
#include "shared/cfi.h"

struct unwind_slot *_Atomic unwind_tables[UNWIND_TABLES];

static struct {
	_Atomic uint32_t used[UNWIND_TABLES];
	/* number of unloaded libraries when the rules were last known to be right */
	_Atomic uint64_t unloads;
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
	/* Another thread may have been first; our table is then left unused, 64 KiB that were never
	 * touched. */
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

	/* While a thread forks the counts cannot be read: use the last known ones. */
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
/* ---- the table row of an address ------------------------------------------------------------- */

/* libgcc's, in unwind-dw2-fde.h */
struct dwarf_eh_bases {
	void *text, *data, *function;
};
const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

/* The entry's own length is trusted: libgcc has found it in a table of loaded code. */
static struct cfi_bytes entry_bytes(const uint8_t *entry)
{
	return cfi_entry((struct cfi_bytes){entry, entry + UINT32_MAX});
}

/* pc: an address in the calling instruction, one before the return address. */
static union unwind_rule read_rule(uint64_t pc)
{
	struct dwarf_eh_bases bases = {0};
	const uint8_t *entry = _Unwind_Find_FDE((void *)pc, &bases);
	struct cfi_common common = {0};
	struct cfi_bytes from;
	const uint8_t *back;
	int32_t distance;

	if (!entry)
		return (union unwind_rule){.type = RULE_UNKNOWN};
	from = entry_bytes(entry);
	back = from.at;
	distance = (int32_t)cfi_take_number(&from, 4);
	if (!cfi_read_common(entry_bytes(back - distance), &common))
		return (union unwind_rule){.type = RULE_UNKNOWN};
	cfi_take_number(&from,
			/* the function's begin is in `bases` */
			cfi_pointer_bytes(common.encoding));
	cfi_take_number(&from, cfi_pointer_bytes(common.encoding)); /* length */
	if (common.has_sizes)
		cfi_take_bytes(&from, cfi_take_unsigned(&from));
	return cfi_find_rule(&common, from, (uint64_t)bases.function, pc);
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
