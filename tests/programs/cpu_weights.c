/* SPDX-License-Identifier: MIT
 *
 * tests/programs/cpu_weights.c - twelve functions of different weights, to compare profilers with
 * each other
 *
 *	cpu_weights MS      MS of processor time in all, in pieces of random length and order
 *
 * Each leaf is called through one or two of three callers, those through main's two rounds. Prints
 * a line for each leaf: its name and the nanoseconds of processor time in it, the call included.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef uint64_t leaf_function(uint64_t loops, uint64_t seed);

static uint64_t mix_bits(uint64_t loops, uint64_t x)
{
	while (loops--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

static uint64_t next_random(uint64_t loops, uint64_t x)
{
	while (loops--)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static uint64_t divide_often(uint64_t loops, uint64_t x)
{
	uint64_t y = x | 1;

	while (loops--)
		y = (x + loops) / (y % 1000 + 3);
	return y;
}

static uint64_t add_fractions(uint64_t loops, uint64_t x)
{
	double sum = 0;

	while (loops--)
		sum += 1.0 / (double)(loops + (x & 7) + 1);
	return (uint64_t)sum;
}

static uint64_t multiply_floats(uint64_t loops, uint64_t x)
{
	float y = (float)(x & 7);

	while (loops--)
		y = y * 0.5f + 1.25f;
	return (uint64_t)y;
}

static uint64_t look_up(uint64_t loops, uint64_t x)
{
	static uint16_t table[4096];

	while (loops--)
		x = x * 5 + table[x & 4095]++;
	return x;
}

static uint64_t count_bits(uint64_t loops, uint64_t x)
{
	uint64_t sum = 0;

	while (loops--)
		for (uint64_t y = x + loops; y; y &= y - 1)
			sum++;
	return sum;
}

static uint64_t hash_bytes(uint64_t loops, uint64_t x)
{
	uint64_t hash = 14695981039346656037u;

	while (loops--)
		hash = (hash ^ ((x >> (loops & 56)) & 255)) * 1099511628211u;
	return hash;
}

static uint64_t check_sum(uint64_t loops, uint64_t x)
{
	uint32_t sum = (uint32_t)x;

	while (loops--)
		sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
	return sum;
}

static uint64_t take_root(uint64_t loops, uint64_t x)
{
	uint64_t root = x | 1;

	while (loops--)
		root = (root + (x | 1) / (root | 1)) / 2;
	return root;
}

static uint64_t move_bytes(uint64_t loops, uint64_t x)
{
	static volatile uint8_t bytes[256];

	while (loops--)
		bytes[loops & 255] = bytes[(x + loops) & 255];
	return bytes[x & 255];
}

static uint64_t walk_collatz(uint64_t loops, uint64_t x)
{
	while (loops--)
		x = x & 1 ? 3 * x + 1 : x >> 1;
	return x;
}

static struct leaf {
	const char *name;
	leaf_function *run; /* by address: no leaf is merged into its callers */
	uint64_t loops;     /* of a piece, on the average */
	uint64_t ns;
} leaves[] = {
	{"mix_bits", mix_bits, 52000, 0},
	{"next_random", next_random, 63000, 0},
	{"divide_often", divide_often, 10000, 0},
	{"add_fractions", add_fractions, 38000, 0},
	{"multiply_floats", multiply_floats, 25000, 0},
	{"look_up", look_up, 20000, 0},
	{"count_bits", count_bits, 4400, 0},
	{"hash_bytes", hash_bytes, 24000, 0},
	{"check_sum", check_sum, 26000, 0},
	{"take_root", take_root, 4600, 0},
	{"move_bytes", move_bytes, 19000, 0},
	{"walk_collatz", walk_collatz, 10000, 0},
};
enum { LEAVES = sizeof(leaves) / sizeof(leaves[0]) };

static volatile uint64_t sink;

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t take_random(void)
{
	static uint64_t state = 88172645463325252u;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

/* 0.5 to 1.5 of the piece: nothing here is in step with a sampler. */
static uint64_t run_leaf(struct leaf *leaf)
{
	uint64_t loops = leaf->loops / 2 + leaf->loops * take_random() / ((uint64_t)1 << 31);
	uint64_t begin = cpu_ns(), took;

	sink += leaf->run(loops, take_random());
	took = cpu_ns() - begin;
	leaf->ns += took;
	return took;
}

static uint64_t transform(unsigned int i)
{
	return run_leaf(&leaves[i]) + (sink == 1);
}

static uint64_t summarise(unsigned int i)
{
	return run_leaf(&leaves[i]) + (sink == 1);
}

static uint64_t prepare(unsigned int i)
{
	return run_leaf(&leaves[i]) + (sink == 1);
}

static uint64_t first_round(void)
{
	unsigned int i = (unsigned int)(take_random() % LEAVES);

	return (i % 2 ? transform(i) : prepare(i)) + (sink == 1);
}

static uint64_t second_round(void)
{
	unsigned int i = (unsigned int)(take_random() % LEAVES);

	return (i % 3 ? summarise(i) : prepare(i)) + (sink == 1);
}

int main(int argc, char **argv)
{
	uint64_t wanted = argc == 2 ? strtoull(argv[1], NULL, 10) * 1000000 : 0, all = 0;

	if (!wanted)
		return 2;
	while (all < wanted)
		all += first_round() + second_round();
	for (int i = 0; i < LEAVES; i++)
		printf("%s %llu\n", leaves[i].name, (unsigned long long)leaves[i].ns);
	return 0;
}
