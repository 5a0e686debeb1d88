/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa.c - decodes reports of Intel's OA unit (observation architecture)
 *
 * Runs in:  the recorder
 * Gets:     a GPU's graphics IP, reports
 * Gives:    times, cycles, counters
 * Owns:     nothing
 * Fails:    A counter that is unknown on a GPU is absent; a report that the GPU has not written is
 *           flagged
 * Why:      duet has metric sets of its own, because the driver opens no stream without one and
 *           lists only sets that programs have added. Up to MTL (Meteor Lake) the counters that
 *           duet uses are hard-wired, so a set that writes one unused register suffices; since Xe2
 *           a selector chooses each counter.
 */
#include "collect/intel/oa.h"

#include <stdio.h>
#include <string.h>

#include "abi/i915_perf.h"
#include "abi/xe.h"
#include "base/array.h"

enum { XE_HP = 1255, PVC = 1260, XE2 = 2000, XE3P = 3500, SECOND_NS = 1000000000 };
enum {
	REASON_SHIFT = 19,
	REASON_MASK = 0x7f,
	HAS_CONTEXT = 1 << 16,
	SHORT_TIME_BITS = 32,
	LONG_TIME_BITS = 56,
	MAX_EXPONENT = 30
};

#define FORMAT(type, select, size) ((type) | (select) << 8 | (size) << 16)

/* ---- layouts --------------------------------------------------------------------------------- */

/* The register selects the events of a flexible EU counter, which is not read. */
static const struct oa_register wired_registers[] = {{0xe458, 0}};
static const struct oa_set wired = {"8f3a1c52-6f0e-4d47-9e0b-3a5f0d1c7b21", wired_registers,
				    ARRAY_COUNT(wired_registers)};

/* The selector of counter N has four levels of 64 bits each, at 0x13000 + level * 0x200 + N * 8.
 * The first level selects EU events, the other three select events of the whole GPU. */
enum { PEC_EU_STALLED = 20, PEC_EU_ACTIVE = 24, PEC_BUSY = 32 };
#define SELECT(counter, level, value)                    \
	{0x13000 + (level)*0x200 + (counter)*8, value},  \
	{                                                \
		0x13004 + (level)*0x200 + (counter)*8, 0 \
	}
static const struct oa_register selected_registers[] = {
	SELECT(PEC_EU_STALLED, 0, 0x606), SELECT(PEC_EU_ACTIVE, 0, 0x605),
	SELECT(PEC_BUSY, 1, 0x5a00),      SELECT(PEC_BUSY, 2, 0x5a00),
	SELECT(PEC_BUSY, 3, 0x5a00),
};
static const struct oa_set selected = {"c1d7a9e4-52b8-4e63-8a1f-96b0e4f2d835", selected_registers,
				       ARRAY_COUNT(selected_registers)};

#define A40(n)                                 \
	{                                      \
		OA_40, 16 + 4 * (n), 160 + (n) \
	}
#define A32(n)                         \
	{                              \
		OA_32, 16 + 4 * (n), 0 \
	}
#define PEC(n)                         \
	{                              \
		OA_64, 32 + 8 * (n), 0 \
	}

const struct oa_layout oa_gen12_layout = {
	"A32u40_A4u32_B8_C8",
	FORMAT(XE_OA_FORMAT_OAG, 5, 0),
	I915_OA_A32U40_A4U32_B8_C8,
	256,
	false,
	OA_POSITIONS_GEN12,
	true,
	{[OA_BUSY] = A40(0), [OA_EU_ACTIVE] = A40(7), [OA_EU_STALLED] = A40(8)},
	&wired};
const struct oa_layout oa_xe_hpg_layout = {
	"A24u40_A14u32_B8_C8",
	FORMAT(XE_OA_FORMAT_OAG, 5, 0),
	I915_OA_A24U40_A14U32_B8_C8,
	256,
	false,
	OA_POSITIONS_XE_HPG,
	true,
	{[OA_BUSY] = A32(0), [OA_EU_ACTIVE] = A40(7), [OA_EU_STALLED] = A40(8)},
	&wired};
/* No public source names PVC's EU counters. */
static const struct oa_layout pvc = {"A24u40_A14u32_B8_C8",
				     FORMAT(XE_OA_FORMAT_OAG, 5, 0),
				     0,
				     256,
				     false,
				     OA_POSITIONS_XE_HPG,
				     true,
				     {[OA_BUSY] = A32(0)},
				     &wired};
static const struct oa_layout xe2 = {"PEC64u64",
				     FORMAT(XE_OA_FORMAT_PEC, 1, 1),
				     0,
				     576,
				     true,
				     OA_POSITIONS_PEC,
				     false,
				     {[OA_BUSY] = PEC(PEC_BUSY),
				      [OA_EU_ACTIVE] = PEC(PEC_EU_ACTIVE),
				      [OA_EU_STALLED] = PEC(PEC_EU_STALLED)},
				     &selected};
/* The selectors are not known, so only clock and time are read. */
static const struct oa_layout xe3p = {"PEC64u64", FORMAT(XE_OA_FORMAT_PEC, 1, 1),
				      0,          576,
				      true,       OA_POSITIONS_PEC,
				      false,      {{OA_ABSENT}},
				      &wired};

bool oa_is_own_set(const char *uuid)
{
	return strcmp(uuid, wired.uuid) == 0 || strcmp(uuid, selected.uuid) == 0;
}

const struct oa_layout *oa_layout_find(uint32_t major, uint32_t minor)
{
	const uint32_t version = major * 100 + minor;

	if (major < 12)
		return NULL;
	if (version < XE_HP)
		return &oa_gen12_layout;
	if (version == PVC)
		return &pvc;
	if (version < XE2)
		return &oa_xe_hpg_layout;
	return version < XE3P ? &xe2 : &xe3p;
}

/* ---- positions ------------------------------------------------------------------------------- */

/* For formats with counters A, B and C: the number of each, and the widths of A as in the names of
 * the formats in the header. */
enum { B_COUNT = 8, C_COUNT = 8, A_GEN12 = 36, A_XE_HPG = 38, LATE_A = 32 };
enum { LATE_A_AT = 144, B_AT = 192, C_AT = 224, A36_AT = 160, A37_AT = 184 };

static uint32_t count_a(const struct oa_layout *layout)
{
	return layout->positions == OA_POSITIONS_GEN12 ? A_GEN12 : A_XE_HPG;
}

uint32_t oa_raw_count(const struct oa_layout *layout)
{
	return layout->positions == OA_POSITIONS_PEC ? MAX_OA_RAW
						     : count_a(layout) + B_COUNT + C_COUNT;
}

/* Since DG2, A0 to A3 and A24 to A27 have 32 bits; A36 and A37 use the room of their upper 8
 * bits. */
static struct oa_place place_of_a(const struct oa_layout *layout, uint32_t nth)
{
	const bool is_short =
		layout->positions == OA_POSITIONS_XE_HPG && (nth < 4 || (nth >= 24 && nth < 28));

	if (nth == 36)
		return (struct oa_place){OA_32, A36_AT, 0};
	if (nth == 37)
		return (struct oa_place){OA_32, A37_AT, 0};
	if (nth >= LATE_A)
		return (struct oa_place){OA_32, (uint16_t)(LATE_A_AT + 4 * (nth - LATE_A)), 0};
	return is_short ? (struct oa_place){OA_32, (uint16_t)(16 + 4 * nth), 0}
			: (struct oa_place){OA_40, (uint16_t)(16 + 4 * nth), (uint16_t)(160 + nth)};
}

struct oa_place oa_raw_place(const struct oa_layout *layout, uint32_t nth)
{
	const uint32_t a = count_a(layout);

	if (layout->positions == OA_POSITIONS_PEC)
		return (struct oa_place){OA_64, (uint16_t)(32 + 8 * nth), 0};
	if (nth < a)
		return place_of_a(layout, nth);
	return nth < a + B_COUNT
		       ? (struct oa_place){OA_32, (uint16_t)(B_AT + 4 * (nth - a)), 0}
		       : (struct oa_place){OA_32, (uint16_t)(C_AT + 4 * (nth - a - B_COUNT)), 0};
}

void oa_raw_name(const struct oa_layout *layout, uint32_t nth, char ret_name[OA_RAW_NAME_BYTES])
{
	const uint32_t a = count_a(layout);

	if (layout->positions == OA_POSITIONS_PEC)
		snprintf(ret_name, OA_RAW_NAME_BYTES, "PEC%u", nth % MAX_OA_RAW);
	else if (nth < a)
		snprintf(ret_name, OA_RAW_NAME_BYTES, "A%u", nth);
	else if (nth < a + B_COUNT)
		snprintf(ret_name, OA_RAW_NAME_BYTES, "B%u", nth - a);
	else
		snprintf(ret_name, OA_RAW_NAME_BYTES, "C%u", (nth - a - B_COUNT) % C_COUNT);
}

/* ---- reports --------------------------------------------------------------------------------- */

static uint64_t word_at(const uint8_t *bytes, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, bytes, size);
	return word;
}

static uint64_t bits(uint64_t value, uint32_t count)
{
	return count < 64 ? value & (((uint64_t)1 << count) - 1) : value;
}

static uint32_t width_of(const struct oa_place *place)
{
	static const uint32_t widths[] = {
		[OA_ABSENT] = 0, [OA_32] = 32, [OA_40] = 40, [OA_64] = 64};

	return widths[place->width];
}

static uint32_t time_bits(const struct oa_layout *layout)
{
	return layout->has_long_header ? LONG_TIME_BITS : SHORT_TIME_BITS;
}

static uint64_t read_counter(const struct oa_place *place, const uint8_t *bytes)
{
	switch (place->width) {
	case OA_32:
		return word_at(bytes + place->offset, 4);
	case OA_40:
		return word_at(bytes + place->offset, 4) | (uint64_t)bytes[place->high] << 32;
	case OA_64:
		return word_at(bytes + place->offset, 8);
	default:
		return 0;
	}
}

bool oa_report_read(const struct oa_layout *layout, const void *report,
		    struct oa_report *ret_report)
{
	const size_t word = layout->has_long_header ? 8 : 4;
	const uint8_t *bytes = report;
	const uint64_t id = word_at(bytes, word);

	ret_report->time = bits(word_at(bytes + word, word), time_bits(layout));
	if (!id && !ret_report->time)
		return false;
	ret_report->reasons = id >> REASON_SHIFT & REASON_MASK;
	ret_report->context =
		id & HAS_CONTEXT ? (uint32_t)word_at(bytes + 2 * word, 4) : OA_NO_CONTEXT;
	ret_report->ticks = (uint32_t)word_at(bytes + 3 * word, 4);
	for (size_t i = 0; i < OA_COUNTERS; i++)
		ret_report->counters[i] = read_counter(&layout->places[i], bytes);
	for (uint32_t i = 0; i < oa_raw_count(layout); i++) {
		const struct oa_place place = oa_raw_place(layout, i);

		ret_report->raw[i] = read_counter(&place, bytes);
	}
	return true;
}

struct oa_report oa_report_since(const struct oa_layout *layout, const struct oa_report *before,
				 const struct oa_report *now)
{
	struct oa_report since = {.time = bits(now->time - before->time, time_bits(layout)),
				  .ticks = now->ticks - before->ticks,
				  .reasons = now->reasons,
				  .context = now->context};

	for (size_t i = 0; i < OA_COUNTERS; i++)
		since.counters[i] =
			bits(now->counters[i] - before->counters[i], width_of(&layout->places[i]));
	for (uint32_t i = 0; i < oa_raw_count(layout); i++) {
		const struct oa_place place = oa_raw_place(layout, i);

		since.raw[i] = bits(now->raw[i] - before->raw[i], width_of(&place));
	}
	return since;
}

/* ---- time ------------------------------------------------------------------------------------ */

uint64_t oa_time_ns(uint64_t clock_hz, uint64_t time)
{
	return (uint64_t)((unsigned __int128)time * SECOND_NS / clock_hz);
}

uint64_t oa_period_ns(uint64_t clock_hz, uint32_t exponent)
{
	return oa_time_ns(clock_hz, (uint64_t)2 << exponent);
}

uint32_t oa_exponent_find(uint64_t clock_hz, uint32_t hz)
{
	uint32_t exponent = 0;

	while (exponent < MAX_EXPONENT && oa_period_ns(clock_hz, exponent + 1) <= SECOND_NS / hz)
		exponent++;
	return exponent;
}
