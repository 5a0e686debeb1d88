/* SPDX-License-Identifier: MIT
 *
 * shared/batch_parser.h - find the kernels that a batch buffer of an Intel GPU runs
 *
 * Runs in:  BPF programs, over the memory of the submitting process, and our own process, over
 *           files; freestanding
 * Gets:     a GPU address, and a function that reads at GPU addresses
 * Gives:    addresses of kernels, and counts of commands that were not understood
 * Manners:  one step is one command. It allocates nothing, does not recurse, and trusts no length
 *           and no address. The verifier accepts it from Linux 6.1 on: every index is masked, every
 *           loop has a constant limit
 * Fails:    never: if memory is not readable yet, a later call continues from the same state
 * Why:      lengths come from the commands, not from a table, because a driver may use a command
 *           that no table has. After one wrong length, the rest of the buffer would be misread.
 *           Memory is read in windows that end at a multiple of their size. None crosses a page, so
 *           a page that is not present does not prevent reading the page before it.
 *
 * Include with these macros defined:
 *
 *	BATCH_FUNCTION
 *		storage class and inlining of functions that are called
 *	BATCH_READ(context, vm, address, bytes, target)
 *		copies from a GPU address in an address space. Returns the number of bytes; 0 or
 *		less: nothing is mapped there. It may be smaller than requested only at the end of
 *		the mapped memory
 *	BATCH_SEE(context, address, number, header, dwords)
 *		runs for each command except MI_NOOP; may be empty. number: its row, enum
 *		batch_row_number
 */
#pragma once

#include "event/batch.h"

/* The kernel allows eight frames, those of the calling program and its loop included. */
#define BATCH_INLINE static inline __attribute__((always_inline))

#define BATCH_MI(opcode)      (opcode)
#define BATCH_EXEC(opcode)    (0x40 | (opcode))
#define BATCH_BLT(opcode)     (0x80 | (opcode))
#define BATCH_GFX(upper_half) (0x2000 | ((upper_half)&0x1fff))
#define BATCH_KEYS            0x4000

#define BATCH_ALWAYS          0
#define BATCH_NONZERO         0xffff
#define BATCH_BIT(dword, bit) ((dword) << 8 | (bit))

/* ---- the table ------------------------------------------------------------------------------- */

struct batch_row {
	__u8 length_bits, first, last, effect, kind;
	__u16 enable;
	__u8 lengths[BATCH_LAYOUTS];
	__u8 places[BATCH_LAYOUTS][3];
};

#define BATCH_COMMAND(name, ...) BATCH_ROW_##name,
#define BATCH_SPECIAL(name, ...) BATCH_ROW_##name,
#define BATCH_KERNEL(name, ...)  BATCH_ROW_##name,
enum batch_row_number {
	BATCH_ROW_UNKNOWN,
#include "shared/batch_commands.h"
	BATCH_ROWS
};
#undef BATCH_COMMAND
#undef BATCH_SPECIAL
#undef BATCH_KERNEL

_Static_assert(BATCH_ROWS <= 256, "a row's number is one byte");

#define BATCH_COMMAND(name, key, ...) [key] = BATCH_ROW_##name,
#define BATCH_SPECIAL(name, key, ...) [key] = BATCH_ROW_##name,
#define BATCH_KERNEL(name, key, ...)  [key] = BATCH_ROW_##name,
static const __u8 batch_row_of[BATCH_KEYS] = {
#include "shared/batch_commands.h"
};
#undef BATCH_COMMAND
#undef BATCH_SPECIAL
#undef BATCH_KERNEL

#define BATCH_UNWRAP(...) __VA_ARGS__
#define BATCH_PLACES(gen9, xe_hp, xe2, xe3p)                                   \
	{                                                                      \
		{BATCH_UNWRAP gen9}, {BATCH_UNWRAP xe_hp}, {BATCH_UNWRAP xe2}, \
		{                                                              \
			BATCH_UNWRAP xe3p                                      \
		}                                                              \
	}
#define BATCH_HEAD(length, from, to) \
	.length_bits = BATCH_LENGTH_##length, .first = BATCH_##from, .last = BATCH_##to
#define BATCH_COMMAND(name, key, length, from, to) {BATCH_HEAD(length, from, to)},
#define BATCH_SPECIAL(name, key, length, from, to, does) \
	{BATCH_HEAD(length, from, to), .effect = BATCH_EFFECT_##does},
#define BATCH_KERNEL(name, key, length, from, to, does, is, enabled, dwords, pointers) \
	{BATCH_HEAD(length, from, to),                                                 \
	 .effect = BATCH_EFFECT_##does,                                                \
	 .kind = BATCH_##is,                                                           \
	 .enable = (enabled),                                                          \
	 .lengths = {BATCH_UNWRAP dwords},                                             \
	 .places = BATCH_PLACES pointers},
static const struct batch_row batch_rows[256] = {
	{.length_bits = BATCH_LENGTH_NONE},
#include "shared/batch_commands.h"
};
#undef BATCH_COMMAND
#undef BATCH_SPECIAL
#undef BATCH_KERNEL

/* Called before the first step. */
BATCH_FUNCTION void batch_begin(struct batch_state *state, __u64 address)
{
	__builtin_memset(state->levels, 0, sizeof(state->levels));
	__builtin_memset(&state->counts, 0, sizeof(state->counts));
	__builtin_memset(state->slots, 0, sizeof(state->slots));
	state->address = address & ~3ULL;
	state->levels[0].mark = state->address;
	state->levels[0].renew_after = 1;
	state->missing = 0;
	state->status = BATCH_GOING;
	state->level = state->steps = state->noops_in_row = 0;
	state->window_bytes = state->found_count = 0;
}

/* Continues after BATCH_INCOMPLETE, for the same address space. Dwords read before are read
 * again. */
BATCH_FUNCTION void batch_resume(struct batch_state *state)
{
	if (state->status == BATCH_INCOMPLETE)
		state->status = BATCH_GOING;
	state->window_bytes = 0;
	state->missing = 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Loads the window that starts at an address. False: nothing is mapped there. */
BATCH_INLINE int batch_load(struct batch_state *state, void *context, __u64 address)
{
	const __u32 most = BATCH_WINDOW_BYTES - (address & (BATCH_WINDOW_BYTES - 1));
	long bytes;

	state->counts.windows++;
	state->window_bytes = 0;
	bytes = BATCH_READ(context, state->vm, address, most, state->window);
	if (bytes < 4 || bytes > BATCH_WINDOW_BYTES) {
		state->missing = address;
		return 0;
	}
	state->window_address = address;
	state->window_bytes = (__u32)bytes & ~3U;
	return 1;
}

/* address: a multiple of 4. False: not readable. */
BATCH_FUNCTION int batch_fetch(struct batch_state *state, void *context, __u64 address,
			       __u32 *ret_dword)
{
	if (address - state->window_address >= state->window_bytes &&
	    !batch_load(state, context, address))
		return 0;
	*ret_dword =
		state->window[(address - state->window_address) / 4 & (BATCH_WINDOW_BYTES / 4 - 1)];
	return 1;
}

BATCH_FUNCTION int batch_fetch_pair(struct batch_state *state, void *context, __u64 address,
				    __u64 *ret_value)
{
	__u32 low = 0, high = 0;

	if (!batch_fetch(state, context, address, &low) ||
	    !batch_fetch(state, context, address + 4, &high))
		return 0;
	*ret_value = low | (__u64)high << 32;
	return 1;
}

/* Reads memory that a command only points to. If it is not readable, the batch still goes on. */
BATCH_INLINE int batch_fetch_elsewhere(struct batch_state *state, void *context, __u64 address,
				       __u64 *ret_value)
{
	if (batch_fetch_pair(state, context, address, ret_value))
		return 1;
	state->missing = 0;
	return 0;
}

/* The upper bits of an address may be a sign extension or zeros. */
BATCH_INLINE __u64 batch_plain_address(const struct batch_state *state, __u64 address)
{
	return address & (state->generation >= BATCH_XE3P ? (1ULL << 57) - 1 : (1ULL << 48) - 1);
}

/* ---- results --------------------------------------------------------------------------------- */

BATCH_INLINE int batch_is_same(const struct batch_found *a, const struct batch_found *b)
{
	return a->address == b->address && a->kind == b->kind && a->flags == b->flags;
}

BATCH_INLINE void batch_append(struct batch_state *state, __u32 slot,
			       const struct batch_found *found)
{
	const __u32 number = state->found_count;

	if (number >= MAX_BATCH_FOUND) {
		state->counts.left_out++;
		return;
	}
	state->found[number & (MAX_BATCH_FOUND - 1)] = *found;
	state->slots[slot & (BATCH_SLOTS - 1)] = (__u8)(number + 1);
	state->found_count = number + 1;
}

BATCH_FUNCTION void batch_put(struct batch_state *state, const struct batch_found *found)
{
	const __u32 first = (__u32)(found->address >> 6 ^ found->address >> 14) + found->kind;

	for (__u32 i = 0; i < BATCH_PROBES; i++) {
		const __u32 number = state->slots[(first + i) & (BATCH_SLOTS - 1)];
		struct batch_found *there;

		if (!number) {
			batch_append(state, first + i, found);
			return;
		}
		there = &state->found[(number - 1) & (MAX_BATCH_FOUND - 1)];
		if (batch_is_same(there, found)) {
			there->count++;
			return;
		}
	}
	state->counts.left_out++;
}

/* Records a pointer to a kernel; is_absolute: no base is added. */
BATCH_INLINE void batch_find(struct batch_state *state, const struct batch_row *row, __u64 pointer,
			     int is_absolute)
{
	const int is_known = is_absolute || (state->bases.known & BATCH_KNOWS_INSTRUCTION);
	const __u64 base = is_absolute || !is_known ? 0 : state->bases.instruction;
	const struct batch_found found = {
		.address = batch_plain_address(state, base + pointer),
		.pointer = pointer,
		.command = state->address,
		.count = 1,
		.kind = row->kind,
		.flags = is_known ? 0 : BATCH_IS_RELATIVE,
		.row = (__u16)state->row,
	};

	batch_put(state, &found);
}

/* ---- effects: return 1 if everything they need was readable; otherwise they change nothing
 * ---- */

/* A Compute Runtime under a debugger places the debug area at the start of the kernel heap; the
 * area starts with its name. */
BATCH_INLINE void batch_look_for_debug_area(struct batch_state *state, void *context)
{
	const __u64 magic = 0x0061657261676264ULL; /* "dbgarea" */
	const struct batch_found found = {
		.address = state->bases.instruction,
		.command = state->address,
		.count = 1,
		.kind = BATCH_DEBUG_AREA,
		.row = BATCH_ROW_STATE_BASE_ADDRESS,
	};
	__u64 begin = 0;

	if (batch_fetch_elsewhere(state, context, state->bases.instruction, &begin) &&
	    begin == magic)
		batch_put(state, &found);
}

/* Reads dwords 6 and 10. Bit 0 of each is set if the base changes. */
BATCH_FUNCTION int batch_set_bases(struct batch_state *state, void *context, __u32 dwords)
{
	__u64 dynamic = 0, instruction = 0;

	if (dwords < 12) {
		state->counts.mismatched++;
		return 1;
	}
	if (!batch_fetch_pair(state, context, state->address + 4 * 6, &dynamic) ||
	    !batch_fetch_pair(state, context, state->address + 4 * 10, &instruction))
		return 0;
	state->bases.known |= BATCH_SETS_BASES;
	if (dynamic & 1) {
		state->bases.dynamic = batch_plain_address(state, dynamic & ~0xfffULL);
		state->bases.known |= BATCH_KNOWS_DYNAMIC;
	}
	if (instruction & 1) {
		state->bases.instruction = batch_plain_address(state, instruction & ~0xfffULL);
		state->bases.known |= BATCH_KNOWS_INSTRUCTION;
		batch_look_for_debug_area(state, context);
	}
	return 1;
}

enum { BATCH_DESCRIPTOR_BYTES = 32 };

BATCH_FUNCTION int batch_set_descriptors(struct batch_state *state, void *context, __u32 dwords)
{
	__u32 bytes = 0, offset = 0;

	if (dwords != 4) {
		state->counts.mismatched++;
		return 1;
	}
	if (!batch_fetch(state, context, state->address + 4 * 2, &bytes) ||
	    !batch_fetch(state, context, state->address + 4 * 3, &offset))
		return 0;
	state->bases.known |= BATCH_SETS_DESCRIPTORS;
	/* Relative to the present base, which may change before the descriptors are used. */
	state->bases.descriptors = batch_plain_address(state, state->bases.dynamic + offset);
	state->bases.descriptors_bytes =
		state->bases.known & BATCH_KNOWS_DYNAMIC ? bytes & 0x1ffff : 0;
	return 1;
}

BATCH_FUNCTION int batch_use_descriptor(struct batch_state *state, void *context,
					const struct batch_row *row)
{
	__u32 number = 0;
	__u64 pointer = 0, address;

	if (!batch_fetch(state, context, state->address + 4, &number))
		return 0;
	number &= 0x3f;
	address = state->bases.descriptors + number * BATCH_DESCRIPTOR_BYTES;
	if ((number + 1) * BATCH_DESCRIPTOR_BYTES > state->bases.descriptors_bytes ||
	    !batch_fetch_elsewhere(state, context, address & ~3ULL, &pointer))
		state->counts.unresolved++;
	else
		batch_find(state, row, pointer & 0xffffffffffc0ULL, 0);
	return 1;
}

/* Reads the pointer that starts in a dword of the command. Its lower bits are flags of other
 * fields. */
BATCH_INLINE int batch_fetch_pointer(struct batch_state *state, void *context, __u32 place,
				     __u64 *ret_pointer)
{
	return batch_fetch_pair(state, context, state->address + 4 * (__u64)place, ret_pointer);
}

BATCH_FUNCTION int batch_use_walker(struct batch_state *state, void *context,
				    const struct batch_row *row, __u32 place)
{
	const int is_absolute = row->effect == BATCH_EFFECT_ABSOLUTE;
	__u64 pointer = 0;

	if (!batch_fetch_pointer(state, context, place, &pointer))
		return 0;
	pointer &= is_absolute ? ~0x3fULL : 0xffffffc0ULL;
	batch_find(state, row, pointer, is_absolute);
	return 1;
}

/* Relative to the instruction base, except if a runtime of Xe3p works without bases. */
BATCH_FUNCTION int batch_use_system(struct batch_state *state, void *context,
				    const struct batch_row *row, __u32 place)
{
	__u64 pointer = 0;

	if (!batch_fetch_pointer(state, context, place, &pointer))
		return 0;
	pointer &= ~0xfULL;
	batch_find(state, row, pointer, state->generation >= BATCH_XE3P && pointer >> 32);
	return 1;
}

/* ret_enabled: the stage is on. */
BATCH_INLINE int batch_fetch_enable(struct batch_state *state, void *context,
				    const struct batch_row *row, __u32 *ret_enabled)
{
	__u32 dword = 0;

	*ret_enabled = 1;
	if (row->enable == BATCH_ALWAYS || row->enable == BATCH_NONZERO)
		return 1;
	if (!batch_fetch(state, context, state->address + 4 * (__u64)(row->enable >> 8), &dword))
		return 0;
	*ret_enabled = dword >> (row->enable & 31) & 1;
	return 1;
}

BATCH_FUNCTION int batch_use_stage(struct batch_state *state, void *context,
				   const struct batch_row *row, const __u8 *places)
{
	__u32 is_enabled = 0;
	__u64 pointer = 0, second = 0;

	if (!batch_fetch_enable(state, context, row, &is_enabled) ||
	    !batch_fetch_pointer(state, context, places[0], &pointer) ||
	    (places[1] && !batch_fetch_pointer(state, context, places[1], &second)))
		return 0;
	pointer &= ~0x3fULL;
	second &= ~0x3fULL;
	if (!is_enabled || (row->enable == BATCH_NONZERO && !pointer))
		return 1;
	batch_find(state, row, pointer, 0);
	if (second)
		batch_find(state, row, second, 0);
	return 1;
}

/* Up to Xe-HPC: returns the pointers in use, from the enabled widths (8, 16, 32 pixels in bits 0,
 * 1, 2). The first pointer is for width 8, or for the only enabled width. Otherwise the second is
 * for width 32 and the third for width 16. */
BATCH_INLINE __u32 batch_pixel_pointers(__u32 widths)
{
	const __u32 on_8 = widths & 1, on_16 = widths >> 1 & 1, on_32 = widths >> 2 & 1;

	return (on_8 | (on_16 ^ on_32)) | (on_32 & (on_8 | on_16)) << 1 |
	       (on_16 & (on_8 | on_32)) << 2;
}

BATCH_FUNCTION int batch_use_pixel(struct batch_state *state, void *context,
				   const struct batch_row *row, const __u8 *places)
{
	__u64 pointers[3] = {0};
	__u32 widths = 0, used;

	if (!batch_fetch(state, context, state->address + 4 * 6, &widths) ||
	    !batch_fetch_pointer(state, context, places[0], &pointers[0]) ||
	    !batch_fetch_pointer(state, context, places[1], &pointers[1]) ||
	    (places[2] && !batch_fetch_pointer(state, context, places[2], &pointers[2])))
		return 0;
	used = places[2] ? batch_pixel_pointers(widths)
			 : (__u32)((pointers[0] & 1) | (pointers[1] & 1) << 1);
	for (__u32 i = 0; i < 3; i++)
		if (used >> i & 1)
			batch_find(state, row, pointers[i] & ~0x3fULL, 0);
	return 1;
}

/* ---- from one buffer to the next ------------------------------------------------------------- */

/* Detects a loop of jumps. The mark is set again after twice as many jumps each time, so that it
 * finally lies inside any loop. */
BATCH_INLINE int batch_leads_back(struct batch_level *level, __u64 target)
{
	if (target == level->mark)
		return 1;
	if (++level->jumps >= level->renew_after) {
		level->mark = target;
		level->renew_after *= 2;
		level->jumps = 0;
	}
	return 0;
}

BATCH_INLINE void batch_chain(struct batch_state *state, __u64 target, __u64 next,
			      __u32 is_predicated)
{
	if (!batch_leads_back(&state->levels[state->level & (BATCH_LEVELS - 1)], target)) {
		state->counts.chains++;
		state->address = target;
	} else if (is_predicated) {
		state->counts.loops++;
		state->address = next;
	} else {
		state->status = BATCH_LOOP;
	}
}

BATCH_INLINE void batch_call(struct batch_state *state, __u64 target, __u64 next)
{
	struct batch_level *level;

	if (state->level + 1 >= BATCH_LEVELS) {
		state->counts.too_deep++;
		state->address = next;
		return;
	}
	state->level++;
	state->counts.calls++;
	level = &state->levels[state->level & (BATCH_LEVELS - 1)];
	level->back = next;
	level->mark = target;
	level->jumps = 0;
	level->renew_after = 1;
	state->address = target;
}

BATCH_FUNCTION int batch_start(struct batch_state *state, void *context, __u32 header, __u64 next)
{
	const __u32 is_predicated = header >> 15 & 1;
	__u64 target = 0;

	if (!batch_fetch_pair(state, context, state->address + 4, &target))
		return 0;
	target = batch_plain_address(state, target & ~3ULL);
	state->counts.predicated += is_predicated;
	if (header >> 22 & 1) /* second level, or nested */
		batch_call(state, target, next);
	else
		batch_chain(state, target, next, is_predicated);
	return 1;
}

BATCH_INLINE void batch_end(struct batch_state *state)
{
	if (!state->level) {
		state->status = BATCH_DONE;
		return;
	}
	state->address = state->levels[state->level & (BATCH_LEVELS - 1)].back;
	state->level--;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Index into the table; headers without a row may have any. */
BATCH_INLINE __u32 batch_key(__u32 header)
{
	switch (header >> 29) {
	case 0:
		return BATCH_MI(header >> 23 & 0x3f);
	case 2:
		return BATCH_BLT(header >> 22 & 0x7f);
	case 3:
		return BATCH_GFX(header >> 16);
	case 5:
		return BATCH_EXEC(header >> 26 & 0x07);
	default:
		return BATCH_KEYS - 1;
	}
}

/* Length of a command without a row, by its kind; enum batch_length. */
BATCH_INLINE __u32 batch_length_of_kind(__u32 header)
{
	const __u32 subtype = header >> 27 & 3, opcode = header >> 24 & 7;

	switch (header >> 29) {
	case 0:
		return header >> 27 & 3 ? BATCH_LENGTH_BITS_8 : BATCH_LENGTH_ONE;
	case 2:
	case 5:
		return BATCH_LENGTH_BITS_8;
	case 3:
		if (subtype == 1)
			return BATCH_LENGTH_ONE;
		if (subtype == 2)
			return opcode < 2 ? BATCH_LENGTH_BITS_16 : BATCH_LENGTH_BITS_12;
		return BATCH_LENGTH_BITS_8;
	default:
		return BATCH_LENGTH_NONE;
	}
}

BATCH_INLINE __u32 batch_layout(__u32 generation)
{
	if (generation >= BATCH_XE3P)
		return BATCH_LAYOUT_XE3P;
	if (generation >= BATCH_XE2)
		return BATCH_LAYOUT_XE2;
	return generation >= BATCH_XE_HPG ? BATCH_LAYOUT_XE_HP : BATCH_LAYOUT_GEN9;
}

/* Returns the row number of a header; BATCH_ROW_UNKNOWN if its generation lacks the command. */
BATCH_INLINE __u32 batch_row_number(__u32 generation, __u32 header)
{
	const __u32 number = batch_row_of[batch_key(header) & (BATCH_KEYS - 1)];
	const struct batch_row *row = &batch_rows[number & 255];

	return generation >= row->first && generation <= row->last ? number : BATCH_ROW_UNKNOWN;
}

/* Returns the dwords of a command; 0: not a valid command. */
BATCH_INLINE __u32 batch_dwords(const struct batch_row *row, __u32 header)
{
	__u32 bits = row->length_bits;

	if (bits == BATCH_LENGTH_NONE)
		bits = batch_length_of_kind(header);
	if (bits == BATCH_LENGTH_NONE)
		return 0;
	return bits ? (header & ((1U << (bits & 31)) - 1)) + 2 : 1;
}

/* Records the kernels of a command; `places` has the pointers of this generation's form of it. */
BATCH_INLINE int batch_use_kernel(struct batch_state *state, void *context,
				  const struct batch_row *row, __u32 dwords)
{
	const __u32 layout = batch_layout(state->generation) & (BATCH_LAYOUTS - 1);
	const __u8 *places = row->places[layout];

	if (!places[0] || (row->lengths[layout] && row->lengths[layout] != dwords)) {
		state->counts.mismatched++;
		return 1;
	}
	switch (row->effect) {
	case BATCH_EFFECT_DESCRIPTOR:
		return batch_use_descriptor(state, context, row);
	case BATCH_EFFECT_WALKER:
	case BATCH_EFFECT_ABSOLUTE:
		return batch_use_walker(state, context, row, places[0]);
	case BATCH_EFFECT_STAGE:
		return batch_use_stage(state, context, row, places);
	case BATCH_EFFECT_PIXEL:
		return batch_use_pixel(state, context, row, places);
	default:
		return batch_use_system(state, context, row, places[0]);
	}
}

/* Applies a command's effect. Jumps themselves set the next address. */
BATCH_INLINE int batch_apply(struct batch_state *state, void *context, const struct batch_row *row,
			     __u32 header, __u32 dwords)
{
	const __u64 next = state->address + 4 * (__u64)dwords;
	int is_applied = 1;

	switch (row->effect) {
	case BATCH_EFFECT_END:
		batch_end(state);
		return 1;
	case BATCH_EFFECT_START:
		if (dwords >= 3)
			return batch_start(state, context, header, next);
		state->counts.mismatched++;
		break;
	case BATCH_EFFECT_NONE:
		break;
	case BATCH_EFFECT_BASES:
		is_applied = batch_set_bases(state, context, dwords);
		break;
	case BATCH_EFFECT_DESCRIPTORS:
		is_applied = batch_set_descriptors(state, context, dwords);
		break;
	default:
		is_applied = batch_use_kernel(state, context, row, dwords);
	}
	if (is_applied)
		state->address = next;
	return is_applied;
}

/* Makes the parse incomplete from the first MI_NOOP before this command on: those may be memory
 * that is not written yet. */
BATCH_INLINE void batch_give_up(struct batch_state *state)
{
	state->address -= 4 * (__u64)state->noops_in_row;
	state->counts.noops -= state->noops_in_row;
	state->noops_in_row = 0;
	state->status = BATCH_INCOMPLETE;
}

BATCH_INLINE void batch_pass_noop(struct batch_state *state)
{
	state->address += 4;
	state->counts.noops++;
	if (++state->noops_in_row > MAX_BATCH_NOOPS)
		batch_give_up(state);
}

BATCH_INLINE void batch_pass_command(struct batch_state *state, void *context, __u32 header)
{
	const __u32 number = batch_row_number(state->generation, header);
	const struct batch_row *row = &batch_rows[number & 255];
	const __u32 dwords = batch_dwords(row, header);
	const __u64 address = state->address;

	if (row->effect == BATCH_EFFECT_NOOP) {
		batch_pass_noop(state);
		return;
	}
	if (!dwords) {
		state->status = BATCH_GARBAGE;
		return;
	}
	state->row = number;
	if (!batch_apply(state, context, row, header, dwords)) {
		batch_give_up(state);
		return;
	}
	BATCH_SEE(context, address, number, header, dwords);
	state->noops_in_row = 0;
	state->counts.commands++;
	state->counts.unknown += number == BATCH_ROW_UNKNOWN;
}

/* Parses one command. 0: call again while state->status is BATCH_GOING. */
BATCH_INLINE int batch_step(struct batch_state *state, void *context)
{
	__u32 header = 0;

	if (state->steps >= state->max_steps) {
		state->status = BATCH_LIMIT;
		return 1;
	}
	state->steps++;
	if (batch_fetch(state, context, state->address, &header))
		batch_pass_command(state, context, header);
	else
		batch_give_up(state);
	return state->status != BATCH_GOING;
}
