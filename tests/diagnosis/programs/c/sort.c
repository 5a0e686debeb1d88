/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/sort.c - the launching thread sorts with libc's qsort, which calls
 * back
 */
#include "diagnosis.h"

static void sort_particles(uint64_t ns);

PLANT(.name = "sort", .kinds = "computing", .words = "sort_particles compare_particles",
      .act = sort_particles);

struct particle {
	float x, y;
	uint32_t cell;
};

static struct particle particles[2000];
enum { COMPARISON = __LINE__ }; /* is as right a place as the sort */

static int compare_particles(const void *a, const void *b)
{
	const struct particle *one = (const struct particle *)a,
			      *other = (const struct particle *)b;

	return (one->cell > other->cell) - (one->cell < other->cell);
}

NOINLINE static void sort_particles(uint64_t ns)
{
	PLANT_BEGIN();
	plant.guilty.function = "sort_particles compare_particles";
	plant.guilty.first = COMPARISON;
	for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;) {
		for (uint32_t i = 0; i < 2000; i++)
			particles[i].cell = (i * 2654435761u) >> 12;
		qsort(particles, 2000, sizeof(particles[0]), compare_particles);
	}
	PLANT_END();
}
