/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/compute.c - the launching thread computes between launches
 */
#include "diagnosis.h"

static void checksum_samples(uint64_t ns);

PLANT(.name = "compute", .kinds = "computing", .words = "checksum_samples",
      .act = checksum_samples);

static uint32_t samples[4096];
static volatile uint32_t checksum;

NOINLINE static void checksum_samples(uint64_t ns)
{
	PLANT_BEGIN();
	for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;) {
		uint32_t sum = checksum;

		for (int i = 0; i < 4096; i++)
			sum = sum * 31 + samples[i];
		checksum = sum;
	}
	PLANT_END();
}
