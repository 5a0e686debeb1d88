/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/clocks.h - convert the times of packets to the file's primary clock
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/perfetto/wire.h"

enum { PERFETTO_CLOCKS = 128, PERFETTO_GLOBAL_CLOCKS = 64 };

/* One moment in a clock and in the primary one. */
struct perfetto_moment {
	uint64_t time_ns, primary_ns;
};

/* A clock of the machine, with the moments of all snapshots. */
struct perfetto_clock {
	struct perfetto_moment *moments;
	size_t count, capacity;
};

struct perfetto_clocks {
	uint32_t primary; /* number of a clock */
	struct perfetto_clock clocks[PERFETTO_GLOBAL_CLOCKS];
};

/* A clock of a sequence, 64 to 127. Its times are those of the primary clock, multiplied. */
struct perfetto_own_clock {
	uint64_t multiplier, last; /* ns of a unit; time of the last packet, in units */
	int64_t offset_ns;         /* from ns of the clock to the primary clock */
	bool is_known, is_incremental;
};

void perfetto_clocks_init(struct perfetto_clocks *clocks);
void perfetto_clocks_fini(struct perfetto_clocks *clocks);

/* Takes a ClockSnapshot into the clocks of the machine (is_first_pass) and into those of its
 * sequence, an array of 64. Errors: -ENOMEM. */
int perfetto_clocks_add(struct perfetto_clocks *clocks, struct perfetto_own_clock *own,
			struct wire snapshot, bool is_first_pass);

/* Sets *time_ns to the time in the primary clock. Returns false if it cannot be converted. */
bool perfetto_clocks_convert(const struct perfetto_clocks *clocks, struct perfetto_own_clock *own,
			     uint32_t clock, uint64_t *time_ns);

/* UTC of time 0 of the primary clock. Returns false if it is not known. */
bool perfetto_clocks_utc(const struct perfetto_clocks *clocks, int64_t *ret_zero_ns);
