// SPDX-License-Identifier: MIT
/* Prints what a conversion, a bound and a solution cost; no test, as the machine decides. */
#include "clock/clock.h"

#include "synthetic.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define COUNT  4000000u
#define SECOND 1000000000ull

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void measure_conversion(const struct clock_map *map, const char *name, uint64_t step)
{
	uint64_t sum = 0, time = 1000;
	double begin = now();

	for (uint32_t i = 0; i < COUNT; i++, time += step)
		sum += clock_map_to_host(map, time);
	printf("to_host, %-22s %6.2f ns (%llu)\n", name, (now() - begin) / COUNT,
	       (unsigned long long)(sum & 1));
	begin = now();
	for (uint32_t i = 0; i < COUNT; i++, time -= step)
		sum += clock_map_from_host(map, time);
	printf("from_host, %-20s %6.2f ns (%llu)\n", name, (now() - begin) / COUNT,
	       (unsigned long long)(sum & 1));
}

static void measure_pairs(void)
{
	struct synthetic tsc = {1000, SECOND, 2596000000, 4000};
	struct clock_certificate certificate;
	struct clock_domain *domain;
	struct clock_map *map;

	if (clock_domain_new(2596000000, &domain))
		return;
	for (uint64_t i = 0; i < 4000; i++)
		clock_domain_pair(domain, synthetic_show(&tsc, (1 + i) * SECOND),
				  (1 + i) * SECOND - 20, (1 + i) * SECOND + 20);
	if (!clock_domain_solve(domain, &certificate, &map)) {
		measure_conversion(map, "4000 pieces, sorted", 2596000);
		clock_map_free(map);
	}
	clock_domain_free(domain);
}

static void measure_bounds(unsigned candidates, uint64_t disorder)
{
	uint64_t *times = malloc(COUNT * sizeof(*times)), *jitter = malloc(COUNT * sizeof(*jitter));
	struct clock_map *identity, *map;
	struct clock_certificate certificate;
	struct clock_domain *domain;
	size_t before;
	double begin;

	if (!times || !jitter || clock_map_identity(&identity))
		exit(1);
	before = mallinfo2().uordblks;
	if (clock_domain_new(SECOND, &domain))
		exit(1);
	for (unsigned i = 0; i < candidates; i++)
		clock_domain_candidate(domain, identity, SECOND * SECOND);
	for (uint32_t i = 0; i < COUNT; i++) {
		times[i] = SECOND + i * 1000 + random_below(disorder);
		jitter[i] = random_below(5000);
	}
	begin = now();
	for (uint32_t i = 0; i < COUNT; i += 2) {
		clock_domain_after(domain, times[i], times[i] + 777000 - jitter[i]);
		clock_domain_before(domain, times[i + 1], times[i + 1] + 777000 + jitter[i + 1]);
	}
	printf("bound, %u candidates, disorder %-9llu %6.2f ns, %zu bytes\n", candidates,
	       (unsigned long long)disorder, (now() - begin) / COUNT,
	       mallinfo2().uordblks - before);
	begin = now();
	if (!clock_domain_solve(domain, &certificate, &map)) {
		printf("solve %.1f us, error %llu ns\n", (now() - begin) / 1e3,
		       (unsigned long long)certificate.error_ns);
		measure_conversion(map, "one line", 1000);
		clock_map_free(map);
	}
	clock_domain_free(domain);
	clock_map_free(identity);
	free(times);
	free(jitter);
}

int main(void)
{
	measure_pairs();
	measure_bounds(0, 1);
	measure_bounds(4, 1);
	measure_bounds(0, 50000);
	measure_bounds(0, 100000000);
	return 0;
}
