/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/throttled.c - a control group's CPU quota is used up
 */
#include "diagnosis.h"

static void tokenize(uint64_t ns);

PLANT(.name = "throttled", .kinds = "throttled", .words = "throttled quota cgroup",
      .measure = MEASURE_AWAY, .act = tokenize);

static volatile uint32_t tokens;

NOINLINE static void tokenize(uint64_t ns)
{
	PLANT_BEGIN();
	for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;)
		for (int i = 0; i < 4096; i++)
			tokens = tokens * 33 + (uint32_t)i;
	PLANT_END();
}
