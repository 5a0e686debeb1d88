/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/clocks.c - convert the times of packets to the file's primary clock
 *
 * Runs in:  our own process
 * Gets:     snapshots of clocks, times
 * Gives:    times of the primary clock
 * Owns:     at most 4096 moments of each clock
 * Fails:    -ENOMEM; a clock without a snapshot cannot be converted
 * Why the primary clock: times in it need no conversion, so sums stay exact. It is CLOCK_BOOTTIME
 *           unless a snapshot names another.
 */
#include "import/perfetto/clocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "perfetto_trace.numbers.h"

enum { MAX_MOMENTS = 4096 };

struct reading {
	uint32_t clock;
	bool is_incremental;
	uint64_t time, multiplier;
};

void perfetto_clocks_init(struct perfetto_clocks *clocks)
{
	*clocks = (struct perfetto_clocks){.primary = PF_BUILTIN_CLOCK_BOOTTIME};
}

void perfetto_clocks_fini(struct perfetto_clocks *clocks)
{
	for (size_t i = 0; i < PERFETTO_GLOBAL_CLOCKS; i++)
		free(clocks->clocks[i].moments);
}

static struct reading read_reading(struct wire message)
{
	struct reading reading = {.multiplier = 1};
	struct wire_field field;

	while (wire_next(&message, &field)) {
		if (field.number == PF_CLOCK_CLOCK_ID && field.value < PERFETTO_CLOCKS)
			reading.clock = (uint32_t)field.value;
		else if (field.number == PF_CLOCK_TIMESTAMP)
			reading.time = field.value;
		else if (field.number == PF_CLOCK_IS_INCREMENTAL)
			reading.is_incremental = field.value;
		else if (field.number == PF_CLOCK_UNIT_MULTIPLIER_NS && field.value)
			reading.multiplier = field.value;
	}
	return reading;
}

static int add_moment(struct perfetto_clock *clock, uint64_t time_ns, uint64_t primary_ns)
{
	if (clock->count >= MAX_MOMENTS)
		return 0;
	if (array_grow(clock->moments, clock->capacity, clock->count + 1))
		return -ENOMEM;
	clock->moments[clock->count++] = (struct perfetto_moment){time_ns, primary_ns};
	return 0;
}

static int add_reading(struct perfetto_clocks *clocks, struct perfetto_own_clock *own,
		       const struct reading *reading, const uint64_t *primary_ns,
		       bool is_first_pass)
{
	const uint64_t time_ns = reading->time * reading->multiplier;

	if (reading->clock >= PERFETTO_GLOBAL_CLOCKS)
		own[reading->clock - PERFETTO_GLOBAL_CLOCKS] = (struct perfetto_own_clock){
			.multiplier = reading->multiplier,
			.last = reading->time,
			.offset_ns = primary_ns ? (int64_t)(*primary_ns - time_ns) : 0,
			.is_known = primary_ns,
			.is_incremental = reading->is_incremental};
	else if (is_first_pass && primary_ns && reading->clock != clocks->primary)
		return add_moment(&clocks->clocks[reading->clock], time_ns, *primary_ns);
	return 0;
}

int perfetto_clocks_add(struct perfetto_clocks *clocks, struct perfetto_own_clock *own,
			struct wire snapshot, bool is_first_pass)
{
	uint64_t primary = wire_number(snapshot, PF_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK, 0);
	uint64_t primary_ns = 0;
	bool has_primary = false;
	struct wire_field field;
	struct wire rest = snapshot;
	int error = 0;

	if (primary && primary < PERFETTO_GLOBAL_CLOCKS && is_first_pass)
		clocks->primary = (uint32_t)primary;
	while (wire_next(&rest, &field)) {
		struct reading reading = {0};

		if (field.number == PF_CLOCK_SNAPSHOT_CLOCKS && field.type == WIRE_BYTES)
			reading = read_reading(wire_inside(&field));
		if (reading.clock == clocks->primary) {
			primary_ns = reading.time * reading.multiplier;
			has_primary = true;
		}
	}
	while (!error && wire_next(&snapshot, &field)) {
		struct reading reading;

		if (field.number != PF_CLOCK_SNAPSHOT_CLOCKS || field.type != WIRE_BYTES)
			continue;
		reading = read_reading(wire_inside(&field));
		error = add_reading(clocks, own, &reading, has_primary ? &primary_ns : NULL,
				    is_first_pass);
	}
	return error;
}

/* The last moment that is not later, otherwise the first. */
static const struct perfetto_moment *find_moment(const struct perfetto_clock *clock,
						 uint64_t time_ns)
{
	size_t low = 0, high = clock->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (clock->moments[middle].time_ns <= time_ns)
			low = middle;
		else
			high = middle;
	}
	return clock->count ? &clock->moments[low] : NULL;
}

static bool convert_own(struct perfetto_own_clock *clock, uint64_t *time_ns)
{
	if (!clock->is_known)
		return false;
	if (clock->is_incremental) {
		clock->last += *time_ns;
		*time_ns = clock->last;
	}
	*time_ns = *time_ns * clock->multiplier + (uint64_t)clock->offset_ns;
	return true;
}

bool perfetto_clocks_convert(const struct perfetto_clocks *clocks, struct perfetto_own_clock *own,
			     uint32_t clock, uint64_t *time_ns)
{
	const struct perfetto_moment *moment;

	if (clock >= PERFETTO_GLOBAL_CLOCKS)
		return clock < PERFETTO_CLOCKS &&
		       convert_own(&own[clock - PERFETTO_GLOBAL_CLOCKS], time_ns);
	if (!clock || clock == clocks->primary)
		return true;
	moment = find_moment(&clocks->clocks[clock], *time_ns);
	/* without a snapshot, the writer had one clock only */
	if (moment)
		*time_ns += moment->primary_ns - moment->time_ns;
	return true;
}

bool perfetto_clocks_utc(const struct perfetto_clocks *clocks, int64_t *ret_zero_ns)
{
	const struct perfetto_clock *clock = &clocks->clocks[PF_BUILTIN_CLOCK_REALTIME];

	if (!clock->count || clock->moments[0].time_ns < clock->moments[0].primary_ns)
		return false;
	*ret_zero_ns = (int64_t)(clock->moments[0].time_ns - clock->moments[0].primary_ns);
	return true;
}
