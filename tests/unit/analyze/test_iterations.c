/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_iterations.c - iterations of generated programs, whose loop is known
 *
 * A generated program has a warm-up, a main loop and a cool-down. The body of the loop repeats
 * kernels, has inner loops of constant or varying length, a validation pass at the end of each k-th
 * iteration and a pass after each epoch; other launches come between its own. The program works on
 * the host at the head of the loop. An iteration is found if its first launch is found.
 *
 * With two arguments it measures other programs: test_analyze_iterations FIRST_SEED COUNT.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/iterations/iterations.h"
#include "harness.h"

enum { MAX_LAUNCHES = 400000, MAX_BODY = 60 };

struct step {
	uint32_t key;
	uint32_t inner; /* the next `inner` steps, this one included, are the body of an inner loop
			 */
	uint32_t min, max; /* its repetitions */
};

/* The seeds of the generated programs. */
static uint64_t first_seed = 1, seeds = 200;

struct program {
	uint64_t random;
	struct iterations_launch *launches;
	size_t count;
	size_t *heads;
	size_t heads_count;
	struct step body[MAX_BODY];
	uint32_t steps, keys;
	uint64_t now, small_ns, head_ns;
	unsigned int noise_per_mille, os_per_mille;
};

static uint64_t next_random(struct program *program)
{
	uint64_t z = program->random += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* low … high */
static uint32_t between(struct program *program, uint32_t low, uint32_t high)
{
	return low + (uint32_t)(next_random(program) % (high - low + 1));
}

static bool chance(struct program *program, uint32_t percent)
{
	return next_random(program) % 100 < percent;
}

static void launch(struct program *program, uint32_t key, uint64_t gap_ns)
{
	if (program->count == MAX_LAUNCHES)
		return;
	gap_ns = gap_ns / 2 + next_random(program) % (gap_ns + 1);
	if (next_random(program) % 1000 < program->os_per_mille)
		gap_ns += next_random(program) % 10000000;
	program->now += gap_ns;
	program->launches[program->count] = (struct iterations_launch){
		.enter = program->now, .exit = program->now + 4000, .thread = 7, .key = key};
	program->now += 4000;
	program->count++;
}

/* A launch of the body, and sometimes one that does not belong to it. */
static void launch_step(struct program *program, uint32_t key, uint64_t gap_ns)
{
	launch(program, key, gap_ns);
	if (next_random(program) % 1000 < program->noise_per_mille)
		launch(program, between(program, 0, program->keys + 2), program->small_ns);
}

static void run_steps(struct program *program, uint32_t from, uint32_t to, uint64_t gap_ns)
{
	for (uint32_t i = from; i < to;) {
		const struct step *step = &program->body[i];
		uint32_t size = step->inner ? step->inner : 1;
		uint32_t times = step->inner ? between(program, step->min, step->max) : 1;

		for (uint32_t k = 0; k < times; k++)
			for (uint32_t j = i; j < i + size; j++) {
				launch_step(program, program->body[j].key, gap_ns);
				gap_ns = program->small_ns;
			}
		i += size;
	}
}

/* Launches outside of the loop: of the loop's kernels and of others. A launch of the only kernel of
 * a loop is an iteration to any observer, so loops of one or two kernels have only others around
 * them, and in their validation. */
static void run_other(struct program *program, uint32_t count)
{
	uint32_t own_percent = program->keys > 2 ? 40 : 0;

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t gap_ns = chance(program, 10) ? program->head_ns : program->small_ns;
		const uint32_t key = chance(program, own_percent)
					     ? between(program, 0, program->keys - 1)
					     : 1000 + between(program, 0, 20);

		launch(program, key, gap_ns);
	}
}

static void make_body(struct program *program)
{
	uint32_t loops = between(program, 0, 2), place = 0;

	program->steps =
		chance(program, 10) ? between(program, 1, 3) : between(program, 2, MAX_BODY);
	program->keys = chance(program, 60) ? program->steps : between(program, 1, program->steps);
	for (uint32_t i = 0; i < program->steps; i++)
		program->body[i] =
			(struct step){.key = program->keys == program->steps
						     ? i
						     : between(program, 0, program->keys - 1)};
	for (uint32_t i = 0; i < loops && place + 3 < program->steps; i++) {
		uint32_t first = between(program, place + 1, program->steps - 2);
		uint32_t size = between(program, 1, program->steps - 1 - first);

		size = size > 6 ? 6 : size;
		program->body[first].inner = size;
		program->body[first].min = chance(program, 50) ? between(program, 2, 12) : 1;
		program->body[first].max = program->body[first].min > 1 ? program->body[first].min
									: between(program, 2, 12);
		place = first + size;
	}
}

static void run_loop(struct program *program)
{
	uint32_t iterations = between(program, 5, 250);
	uint32_t epochs = chance(program, 25) ? between(program, 2, 5) : 1;
	uint32_t every = chance(program, 30) ? between(program, 5, 25) : 0;
	uint32_t validation = between(program, 1, 10), steps = between(program, 1, 5);
	bool loads = chance(program, 50); /* the validation works on the host, too */

	for (uint32_t epoch = 0; epoch < epochs; epoch++) {
		for (uint32_t i = 0; i < iterations; i++) {
			program->heads[program->heads_count++] = program->count;
			run_steps(program, 0, program->steps, program->head_ns);
			for (uint32_t k = 0; every && i % every == every - 1 && k < steps; k++)
				for (uint32_t j = 0; j < validation; j++)
					launch_step(program,
						    j % 2 || program->keys < 3
							    ? 500 + j
							    : program->body[j % program->steps].key,
						    j || !loads ? program->small_ns
								: program->head_ns);
		}
		if (epochs > 1)
			for (uint32_t j = 0; j < validation; j++)
				launch_step(program, 600 + j, program->small_ns);
	}
}

static void make_program(struct program *program, uint64_t seed)
{
	program->random = seed * 7919;
	program->count = program->heads_count = 0;
	program->now = 1000000;
	program->small_ns = between(program, 2000, 8000);
	program->head_ns = program->small_ns * between(program, 12, 500);
	program->noise_per_mille = chance(program, 50) ? 0 : between(program, 1, 20);
	program->os_per_mille = chance(program, 50) ? 0 : between(program, 1, 10);
	make_body(program);
	if (chance(program, 70))
		run_other(program, between(program, 1, 60));
	run_loop(program);
	if (chance(program, 70))
		run_other(program, between(program, 1, 30));
}

static void print_difference(const struct program *program, const struct iterations *found,
			     uint64_t seed)
{
	size_t i = 0;

	while (i < program->heads_count && i < found->count &&
	       program->heads[i] == found->list[i].first)
		i++;
	printf("# program %d: %zu launches, body %u of %u keys, noise %u, %zu iterations, found "
	       "%zu, period %d; the %zu-th: %zu, found %zd\n",
	       (int)seed, program->count, program->steps, program->keys, program->noise_per_mille,
	       program->heads_count, found->count, (int)found->period, i,
	       i < program->heads_count ? program->heads[i] : 0,
	       i < found->count ? (ssize_t)found->list[i].first : -1);
}

static bool is_exact(const struct program *program, const struct iterations *found)
{
	bool is_equal = found->count == program->heads_count;

	for (size_t i = 0; is_equal && i < found->count; i++)
		is_equal = found->list[i].first == program->heads[i];
	return is_equal;
}

TEST(generated)
{
	static struct program program;
	uint64_t exact = 0;

	program.launches = calloc(MAX_LAUNCHES, sizeof(*program.launches));
	program.heads = calloc(MAX_LAUNCHES, sizeof(*program.heads));
	for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
		struct iterations found;
		struct iterations_input input = {.launches = program.launches};

		make_program(&program, seed);
		input.count = program.count;
		CHECK_EQUAL(iterations_find_sequence(&input, &found), 0);
		if (is_exact(&program, &found))
			exact++;
		else
			print_difference(&program, &found, seed);
		iterations_fini(&found);
	}
	printf("# %" PRIu64 " of %" PRIu64 " programs exact\n", exact, seeds);
	CHECK(exact * 100 >= seeds * 98);
	free(program.launches);
	free(program.heads);
}

/* Launches of two kernels, the second three times, and no other host work. */
TEST(without_gaps)
{
	struct iterations_launch launches[41] = {0};
	struct iterations_input input = {.launches = launches, .count = 41};
	struct iterations found;

	for (uint32_t i = 0; i < 41; i++)
		launches[i] = (struct iterations_launch){.enter = i * 1000u,
							 .exit = i * 1000u + 500,
							 .thread = 7,
							 .key = !i           ? 9
								: i % 4 == 1 ? 1
									     : 2};
	CHECK_EQUAL(iterations_find_sequence(&input, &found), 0);
	CHECK_EQUAL(found.method, ITERATIONS_SEQUENCE);
	CHECK_EQUAL(found.period, 4);
	CHECK_EQUAL(found.count, 10);
	CHECK_EQUAL(found.list ? found.list[0].first : 0, 1);
	iterations_fini(&found);
}

/* Each fourth pass launches a second kernel, so four passes are one iteration. Passes before the
 * first and after the last one are steady. The setup is not, nor is a pass with a slow first call.
 */
TEST(steady_part_of_a_loop_with_two_kinds_of_passes)
{
	enum { PASSES = 42, MAX = 2 * PASSES + 2 };
	struct iterations_launch launches[MAX] = {0};
	struct iterations found;
	uint64_t begin = 0, end = 0, now = 0, first = 0, last = 0;
	size_t count = 0;

	launches[count++] = (struct iterations_launch){.exit = 500, .key = 9};
	launches[count++] = (struct iterations_launch){.enter = 600, .exit = 90600, .key = 1};
	now = 91000;
	for (uint32_t pass = 0; pass < PASSES; pass++) {
		first = pass ? first : now;
		for (uint32_t i = 0; i < (pass % 4 == 1 ? 2u : 1u); i++, now += 1000)
			launches[count++] = (struct iterations_launch){
				.enter = now, .exit = now + 500, .key = 1 + i};
		last = launches[count - 1].exit;
		now += 5000;
	}
	launches[count++] = (struct iterations_launch){.enter = now, .exit = now + 500, .key = 8};
	CHECK_EQUAL(iterations_find_sequence(&(struct iterations_input){launches, count}, &found),
		    0);
	found.launches = count;
	CHECK(found.count > 0 && found.list[0].begin > first);
	CHECK(iterations_steady(&found, &begin, &end));
	CHECK_EQUAL(begin, first);
	CHECK_EQUAL(end, last);
	iterations_fini(&found);
}

/* No launch repeats. */
TEST(no_loop)
{
	struct iterations_launch launches[50] = {0};
	struct iterations_input input = {.launches = launches, .count = 50};
	struct iterations found;
	uint64_t begin, end;

	for (uint32_t i = 0; i < 50; i++)
		launches[i] = (struct iterations_launch){
			.enter = i * 1000u, .exit = i * 1000u + 500, .key = i};
	CHECK_EQUAL(iterations_find_sequence(&input, &found), 0);
	CHECK_EQUAL(found.method, ITERATIONS_NONE);
	CHECK(!iterations_steady(&found, &begin, &end));
	iterations_fini(&found);
}

/* ---- one rule each --------------------------------------------------------------------------- */

enum { SHORT_NS = 2000, LONG_NS = 1000000, MAX_MADE = 8192 };

static struct iterations_launch made[MAX_MADE];
static size_t made_count;

static void make_launch(uint32_t key, uint64_t gap_ns)
{
	uint64_t before = made_count ? made[made_count - 1].exit : 0;

	made[made_count++] = (struct iterations_launch){
		.enter = before + gap_ns, .exit = before + gap_ns + 1000, .thread = 7, .key = key};
}

/* Launches of the keys `from` to `to`, the first one after a gap. */
static void make_keys(uint32_t from, uint32_t to, uint64_t gap_ns)
{
	for (uint32_t key = from; key <= to; key++)
		make_launch(key, key == from ? gap_ns : SHORT_NS);
}

/* Checks that the iterations begin at `first` and have `period` launches each. */
static void check_made(size_t count, size_t first, size_t period)
{
	struct iterations_input input = {.launches = made, .count = made_count};
	struct iterations found;
	size_t exact = 0;

	CHECK_EQUAL(iterations_find_sequence(&input, &found), 0);
	CHECK_EQUAL(found.count, count);
	for (size_t i = 0; i < found.count; i++)
		exact += found.list[i].first == first + i * period;
	CHECK_EQUAL(exact, count);
	iterations_fini(&found);
	made_count = 0;
}

static void check_count(size_t count)
{
	struct iterations_input input = {.launches = made, .count = made_count};
	struct iterations found;

	CHECK_EQUAL(iterations_find_sequence(&input, &found), 0);
	CHECK_EQUAL(found.count, count);
	iterations_fini(&found);
	made_count = 0;
}

/* A sample of the gaps with a fixed stride would have none of the heads. */
TEST(even_length)
{
	make_keys(100, 100, SHORT_NS);
	for (uint32_t i = 0; i < 160 * 24; i++)
		make_launch(1, i % 24 ? SHORT_NS : LONG_NS);
	check_made(160, 1, 24);
}

TEST(three_iterations)
{
	for (uint32_t i = 0; i < 3; i++) {
		make_keys(1, 40, LONG_NS);
		make_keys(1, 7, SHORT_NS);
	}
	make_keys(100, 103, SHORT_NS);
	check_made(3, 0, 47);
}

/* A thread that waits for another one in the middle of an iteration. */
TEST(only_iterations)
{
	for (uint32_t i = 0; i < 4; i++) {
		make_keys(1, 20, SHORT_NS);
		make_keys(21, 30, LONG_NS);
	}
	check_made(4, 0, 30);
}

/* Layers of a backward pass: with different launches, and work on the host before each. */
TEST(layers)
{
	for (uint32_t i = 0; i < 6; i++) {
		make_launch(50, 100 * LONG_NS);
		for (uint32_t layer = 0; layer < 30; layer++) {
			make_keys(1, 3, 20 * SHORT_NS);
			for (uint32_t k = 0; k < layer % 4; k++)
				make_launch(10 + 4 * layer + k, SHORT_NS);
		}
	}
	check_made(6, 0, made_count / 6);
}

/* The program waits for the device in each iteration, and works longer in each fourth. */
TEST(blocking_copy)
{
	for (uint32_t i = 0; i < 76; i++) {
		make_keys(1, 4, i % 4 ? SHORT_NS : 5 * LONG_NS);
		made[made_count - 1].exit += LONG_NS;
		made[made_count - 1].is_blocking = true;
	}
	check_made(76, 0, 4);
}

/* Three turns of an inner loop that waits for the device. */
TEST(few_turns)
{
	for (uint32_t i = 0; i < 10; i++) {
		make_launch(1, SHORT_NS);
		for (uint32_t turn = 0; turn < 3; turn++) {
			make_keys(2, 3, SHORT_NS);
			made[made_count - 1].exit += LONG_NS;
			made[made_count - 1].is_blocking = true;
		}
	}
	check_made(10, 0, 7);
}

/* Begins with the head's kernel after work on the host, as an iteration does. */
TEST(validation)
{
	for (uint32_t i = 0; i < 100; i++) {
		make_launch(0, LONG_NS);
		for (uint32_t k = 0; k < 8; k++)
			make_launch(1, SHORT_NS);
		make_keys(2, 4, SHORT_NS);
		for (uint32_t k = 0; i % 10 == 9 && k < 2; k++) {
			const uint32_t keys[] = {0, 501, 2, 503, 4, 505, 1, 507};

			for (size_t j = 0; j < 8; j++)
				make_launch(keys[j], j ? SHORT_NS : LONG_NS);
		}
	}
	check_count(100);
}

/* Other launches follow soon after the last iteration. */
TEST(last_iteration)
{
	for (uint32_t i = 0; i < 60; i++) {
		make_keys(0, 1, LONG_NS);
		for (uint32_t k = 0; k < 1 + (i * 7 + 1) % 5; k++)
			make_keys(2, 4, SHORT_NS);
		make_launch(5, SHORT_NS);
	}
	make_keys(0, 5, LONG_NS);
	make_keys(600, 620, SHORT_NS);
	check_count(61);
}

/* The thread is interrupted for as long as it works at the head. */
TEST(interruptions)
{
	make_keys(100, 100, SHORT_NS);
	for (uint32_t i = 0; i < 150 * 20; i++)
		make_launch(1, i % 20 && i % 227 ? SHORT_NS : LONG_NS);
	check_made(150, 1, 20);
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		first_seed = strtoull(argv[1], NULL, 10);
		seeds = strtoull(argv[2], NULL, 10);
	}
	RUN(without_gaps);
	RUN(steady_part_of_a_loop_with_two_kinds_of_passes);
	RUN(no_loop);
	RUN(even_length);
	RUN(three_iterations);
	RUN(only_iterations);
	RUN(layers);
	RUN(blocking_copy);
	RUN(few_turns);
	RUN(validation);
	RUN(last_iteration);
	RUN(interruptions);
	RUN(generated);
	return harness_end();
}
