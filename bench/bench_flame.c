/* SPDX-License-Identifier: MIT
 *
 * bench/bench_flame.c - how long a large flame graph takes
 *
 *	bench_flame FOLDED SVG [STACKS [DEPTH [SEED]]]
 *
 * Runs in:  a process of its own, started by bench/flame.py
 * Gets:     numbers of stacks (1000000) and frames in each (24)
 * Gives: both files, and one line of
 *           JSON with seconds and bytes
 * Owns:     the flame
 * Fails:    status 1 with the reason on stderr
 * Why stacks are made between the measured parts: a caller has them in its trace; the time of
 *           making them up is nobody's. A stack takes its turns near the root as programs do, few
 *           and unequal, and its last three frames from its number, which makes all of them
 *           distinct.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/error.h"
#include "flame/flame.h"

#define NAMES   20000u
#define BATCH   4096u
#define DEEPEST 512u

static double now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* 49 bytes on average with the ';' behind it, as templates and namespaces make them. */
static uint32_t make_frame(struct flame *flame, uint32_t number)
{
	static const char *const words[] = {"tensor", "kernel",    "dispatch", "autograd", "queue",
					    "stream", "allocator", "module",   "forward",  "copy"};
	uint64_t hash = mix(number);
	char name[128];

	snprintf(name, sizeof(name), "%s::%s::%s_%s_%05u(%s*, int)", words[hash % 10],
		 words[hash / 10 % 10], words[hash / 100 % 10], words[hash / 1000 % 10], number,
		 hash & 1u << 20 ? "void" : "at::Tensor const");
	return flame_frame(flame, name,
			   (enum flame_class)(number % 8 == 7 ? FLAME_KERNEL : FLAME_HOST));
}

/* Three ways on from each frame, of 4/7, 2/7 and 1/7, then the number's digits to base 128. */
static void make_stack(uint64_t number, uint64_t seed, const uint32_t *frames, size_t depth,
		       uint32_t *ret_stack)
{
	uint64_t path = seed, turns = mix(seed ^ mix(number));

	for (size_t i = 0; i + 3 < depth; i++) {
		uint64_t turn = turns % 7;

		turns = i % 16 == 15 ? mix(turns ^ number) : turns / 7;
		path = mix(path * 3 + (turn >= 4) + (turn == 6));
		ret_stack[i] = frames[path % NAMES];
	}
	for (size_t i = 0; i < 3; i++)
		ret_stack[depth - 3 + i] =
			frames[mix(i * 128 + (number >> (14 - 7 * i) & 127)) % NAMES];
}

static double add_all(struct flame *flame, uint64_t count, size_t depth, uint64_t seed)
{
	static uint32_t frames[NAMES], stacks[BATCH][DEEPEST];
	double spent = 0;

	for (uint32_t i = 0; i < NAMES; i++)
		frames[i] = make_frame(flame, i);
	for (uint64_t first = 0; first < count; first += BATCH) {
		uint64_t some = count - first < BATCH ? count - first : BATCH;
		double begin;

		for (uint64_t i = 0; i < some; i++)
			make_stack(first + i, seed, frames, depth, stacks[i]);
		begin = now_s();
		for (uint64_t i = 0; i < some; i++) {
			if (flame_add(flame, stacks[i], depth, 1 + mix(first + i) % 100))
				return -1;
		}
		spent += now_s() - begin;
	}
	return spent;
}

static double write_one(const struct flame *flame, const char *path, bool is_svg, int *ret_error)
{
	struct flame_options options = {.title = "bench", .unit = "samples"};
	double begin = now_s();
	FILE *file = fopen(path, "w");

	*ret_error = -1;
	if (file) {
		*ret_error = is_svg ? flame_write_svg(flame, &options, file)
				    : flame_write_folded(flame, file);
		fclose(file);
	}
	return now_s() - begin;
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000000;
	size_t depth = argc > 4 ? strtoull(argv[4], NULL, 10) : 24;
	uint64_t seed = argc > 5 ? strtoull(argv[5], NULL, 10) : 1;
	struct flame *flame = flame_new();
	struct rusage usage;
	double add_s, folded_s, svg_s;
	int folded_error, svg_error;

	if (argc < 3 || depth < 4 || depth > DEEPEST || count > 1u << 21) {
		fprintf(stderr, "bench_flame FOLDED SVG [STACKS [DEPTH [SEED]]]\n");
		return 2;
	}
	add_s = flame ? add_all(flame, count, depth, seed) : -1;
	if (add_s < 0)
		return 1;
	svg_s = write_one(flame, argv[2], true, &svg_error);
	folded_s = write_one(flame, argv[1], false, &folded_error);
	getrusage(RUSAGE_SELF, &usage);
	printf("{\"add_s\": %.3f, \"folded_s\": %.3f, \"svg_s\": %.3f, \"tree_bytes\": %zu, "
	       "\"peak_bytes\": %ld, \"total\": %" PRIu64 "}\n",
	       add_s, folded_s, svg_s, flame_memory_bytes(flame), usage.ru_maxrss * 1024,
	       flame_total(flame));
	if (svg_error || folded_error)
		fprintf(stderr, "bench_flame: %s\n", error_text());
	flame_free(flame);
	return svg_error || folded_error;
}
