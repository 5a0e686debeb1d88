/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_addresses.c - samples of addresses where processes, code and rows are
 * many, or come and go
 *
 * What a person can check by hand is in tests/golden/account/addresses.txt, and random traces are
 * recomputed by tests/checker.
 */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "../../checker/description.h"
#include "analyze/sample/code_index.h"
#include "analyze/model.h"
#include "harness.h"

#define SECOND UINT64_C(1000000000)

/* A trace that is described line by line. */
struct scene {
	FILE *file;
	char *text;
	size_t size;
	char path[32];
	struct model *model;
	struct analysis *analysis;
};

static void begin(struct scene *scene)
{
	*scene = (struct scene){.path = "/tmp/duet-addresses-XXXXXX"};
	scene->file = open_memstream(&scene->text, &scene->size);
	REQUIRE(scene->file);
	fputs("device 1 gpu\nthread 1 1\nqueue 1 1\nframe 1 jit one\nstack 1 1\n"
	      "frame 2 jit two\nstack 2 2\n",
	      scene->file);
}

static void analyze(struct scene *scene, const struct analysis_options *options)
{
	FILE *file;

	fclose(scene->file);
	file = fmemopen(scene->text, scene->size, "r");
	REQUIRE(file);
	close(mkstemp(scene->path));
	CHECK_EQUAL(description_write(file, scene->path), 0);
	fclose(file);
	CHECK_EQUAL(model_open(scene->path, &scene->model), 0);
	REQUIRE(scene->model);
	CHECK_EQUAL(analysis_new(scene->model, options, &scene->analysis), 0);
	REQUIRE(scene->analysis);
}

static void end(struct scene *scene)
{
	analysis_free(scene->analysis);
	model_close(scene->model);
	unlink(scene->path);
	free(scene->text);
}

/* Of a kernel, and of one stack unless that is 0; those of no launch have the stack 0. */
static uint64_t samples_of(const struct scene *scene, const char *kernel, uint32_t stack)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < scene->analysis->instructions_count; i++) {
		const struct analysis_instruction *row = &scene->analysis->instructions[i];

		if (strcmp(row->kernel, kernel) == 0 && (!stack || row->stack == stack))
			sum += row->samples;
	}
	return sum;
}

/* ---- whose ----------------------------------------------------------------------------------- */

/* Of two processes at one address one tells times, the other is seen by the driver alone: it
 * launched three times as often. */
TEST(launches_without_times_count_beside_times)
{
	struct scene scene;

	begin(&scene);
	fputs("thread 2 2\nqueue 2 1 process=2\n"
	      "code 201 1 1 0x100500000 0x100 1000000000 0 name=timed\n"
	      "code 202 2 1 0x200500000 0 1000000000 0\n"
	      "launch 1 1 1 2000000000 2000000100 kernel code=201 stack=1\n"
	      "execution 1 1 1 2000000100 2000000200 2000000300 2100000300\n",
	      scene.file);
	for (int i = 0; i < 3; i++)
		fprintf(scene.file,
			"launch %d 2 2 2000000%d00 2000000%d50 batch function=xe_exec_ioctl "
			"stack=2 untimed=1\n"
			"launch %d 2 2 2000000%d00 2000000%d50 kernel part=1 code=202 "
			"function=xe_exec_ioctl stack=2\n",
			10 + i, 1 + i, 1 + i, 20 + i, 1 + i, 1 + i);
	fputs("address 1 2000000000 2100000000 0x500010 count=400 stall=sbid\n", scene.file);
	analyze(&scene, NULL);
	CHECK_EQUAL(samples_of(&scene, "timed", 1), 100);
	CHECK_EQUAL(samples_of(&scene, "[kernel 0x200500000]", 2), 300);
	CHECK_EQUAL(scene.analysis->ledger.instructions_estimated, 400);
	CHECK_EQUAL(scene.analysis->ledger.instructions_divided, 400);
	end(&scene);
}

/* What another process of the kind tells with times says when its commands ran, and those that are
 * waiting did not. */
TEST(launches_that_tell_times_have_none_then)
{
	struct scene scene;

	begin(&scene);
	fputs("thread 2 2\nqueue 2 1 process=2\n"
	      "code 201 1 1 0x100500000 0x100 1000000000 0 name=one\n"
	      "code 202 2 1 0x200500000 0x100 1000000000 0 name=two\n"
	      "launch 1 1 1 2000000000 2000000100 kernel code=201 stack=1\n"
	      "execution 1 1 1 2000000100 2000000200 2000000300 2100000300\n"
	      "launch 1 2 2 2000000100 2000000150 kernel code=202 stack=2\n"
	      "execution 2 1 2 2000000200 2000000300 2200000000 2300000000\n"
	      "address 1 2000000000 2100000000 0x500010 count=400 stall=sbid\n",
	      scene.file);
	analyze(&scene, NULL);
	CHECK_EQUAL(samples_of(&scene, "one", 1), 400);
	CHECK_EQUAL(scene.analysis->ledger.instructions_estimated, 0);
	end(&scene);
}

/* One process: `first` has nine launches, `second` one, which came later. */
static void describe_spaces(struct scene *scene, uint64_t first, uint64_t second, uint64_t enter)
{
	begin(scene);
	fprintf(scene->file,
		"code 101 1 1 0x%" PRIx64 " 0x100 1000000000 0 name=first\n"
		"code 102 1 1 0x%" PRIx64 " 0x100 1500000000 0 name=second\n"
		"launch 10 1 1 2000000100 2000000150 kernel code=102 stack=2 untimed=1\n"
		"address 1 2000000000 2100000000 0x500010 count=400 stall=sbid\n",
		first, second);
	for (uint64_t i = 0; i < 9; i++)
		fprintf(scene->file,
			"launch %d 1 1 %" PRIu64 " %" PRIu64 " kernel code=101 stack=1 untimed=1\n",
			(int)i + 1, enter + i * 10, enter + i * 10 + 5);
	analyze(scene, NULL);
}

/* Two address spaces have code at addresses with the same lower bits, or at the same ones: neither
 * has replaced the other. */
TEST(address_spaces_of_one_process_share_samples)
{
	static const uint64_t addresses[] = {0x100500000, 0x200500000};
	struct scene scene;

	for (int i = 0; i < 2; i++) {
		describe_spaces(&scene, addresses[0], addresses[i], 2000000000);
		CHECK_EQUAL(samples_of(&scene, "first", 1), 360);
		CHECK_EQUAL(samples_of(&scene, "second", 2), 40);
		CHECK_EQUAL(scene.analysis->ledger.instructions_divided, 400);
		end(&scene);
	}
}

/* It was launched before the other one came, and not since. */
TEST(what_is_replaced_has_no_samples)
{
	struct scene scene;

	describe_spaces(&scene, 0x100500000, 0x100500000, 1200000000);
	CHECK_EQUAL(samples_of(&scene, "second", 2), 400);
	CHECK_EQUAL(scene.analysis->ledger.instructions_estimated, 0);
	end(&scene);
	/* nobody says that it is not there any more */
	describe_spaces(&scene, 0x100500000, 0x200500000, 1200000000);
	CHECK_EQUAL(samples_of(&scene, "first", 1), 360);
	end(&scene);
}

static void describe_late(struct scene *scene, unsigned int ticks)
{
	begin(scene);
	fprintf(scene->file,
		"clock 5 1000000000 type=boottime\nprocess 2 1002 second start_ticks=%u\n"
		"thread 2 2\nqueue 2 1 process=2\n"
		"code 202 2 1 0x200500000 0x100 20000000000 0 name=second\n"
		"launch 1 2 2 20000000000 20000000100 kernel code=202 stack=2 untimed=1\n"
		"address 1 3000000000 3100000000 0x500010 count=7\n",
		ticks);
	analyze(scene, NULL);
}

/* A process that began 19.5 s after boot, which is 20.5 s of the host's time. */
TEST(late_code_of_a_process_that_was_not_there_is_not_it)
{
	struct scene scene;

	describe_late(&scene, 1950);
	CHECK_EQUAL(samples_of(&scene, "second", 0), 0);
	CHECK_EQUAL(scene.analysis->ledger.instructions_unknown_code, 7);
	CHECK_EQUAL(scene.analysis->ledger.instructions_late, 0);
	end(&scene);
	/* 2.05 s after boot is 3.05 s: within the window */
	describe_late(&scene, 205);
	CHECK_EQUAL(samples_of(&scene, "second", 2), 7);
	CHECK_EQUAL(scene.analysis->ledger.instructions_late, 7);
	end(&scene);
	/* nobody knows when it began */
	describe_late(&scene, 0);
	CHECK_EQUAL(samples_of(&scene, "second", 2), 7);
	end(&scene);
}

/* ---- many ------------------------------------------------------------------------------------ */

/* One process after the other has code at the same address, a second each. */
static void describe_in_turn(struct scene *scene, uint32_t count, bool tells_ends)
{
	begin(scene);
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t from = (i + 10) * SECOND, to = from + SECOND;

		fprintf(scene->file, "process %u %u p%u end_ns=%" PRIu64 "\n", 10 + i, 2000 + i, i,
			tells_ends ? 0 : to);
		fprintf(scene->file,
			"code %u %u 1 0x500000 0x100 %" PRIu64 " %" PRIu64 " name=k%u\n", 1000 + i,
			10 + i, from, tells_ends ? to : 0, i);
		fprintf(scene->file, "address 1 %" PRIu64 " %" PRIu64 " 0x500010 count=%u\n",
			from + SECOND / 2, from + SECOND / 2 + 1000, i + 1);
	}
}

TEST(hundreds_of_processes_at_one_address)
{
	struct scene scene;
	char name[16];

	for (int tells_ends = 0; tells_ends < 2; tells_ends++) {
		describe_in_turn(&scene, 400, tells_ends);
		analyze(&scene, NULL);
		for (uint32_t i = 0; i < 400; i++) {
			snprintf(name, sizeof(name), "k%u", i);
			CHECK_EQUAL(samples_of(&scene, name, 0), i + 1);
		}
		CHECK_EQUAL(scene.analysis->ledger.instructions_late, 0);
		end(&scene);
	}
}

/* More processes than a set may have sites: nobody is given what may be any of thousands. */
TEST(thousands_at_once_are_unknown)
{
	struct scene scene;

	begin(&scene);
	for (uint32_t i = 0; i < 5000; i++)
		fprintf(scene.file, "code %u %u 1 0x500000 0x100 1000000000 0 name=k%u\n", 1000 + i,
			10 + i, i);
	fputs("address 1 2000000000 2100000000 0x500010 count=9\n", scene.file);
	analyze(&scene, NULL);
	CHECK_EQUAL(scene.analysis->ledger.instructions, 9);
	CHECK_EQUAL(scene.analysis->ledger.instructions_unknown_code, 9);
	end(&scene);
}

/* 10^6 kernels without a size at two addresses: each is asked where the next one begins. */
TEST(a_million_codes_at_one_address)
{
	const struct trace_writer_options options = {0};
	struct event_code code = {.type = CODE_KERNEL, .process = 1, .device = 1, .begin_ns = 1};
	char path[] = "/tmp/duet-addresses-XXXXXX";
	const struct code_range *range;
	struct code_index *index = NULL;
	struct code_found found = {0};
	struct trace_writer *writer;
	struct model *model = NULL;

	close(mkstemp(path));
	CHECK_EQUAL(trace_writer_open(path, &options, &writer), 0);
	for (uint32_t i = 1; i <= 1000000; i++) {
		code.id = i;
		code.address = i == 1000000 ? 0x500400 : 0x500000;
		trace_writer_entity(writer, EVENT_CODE, &code);
	}
	CHECK_EQUAL(trace_writer_close(writer, 1), 0);
	CHECK_EQUAL(model_open(path, &model), 0);
	REQUIRE(model);
	CHECK_EQUAL(code_index_new(model, &index), 0);
	REQUIRE(index);
	CHECK_EQUAL(code_index_find(index, 1, 0x500010, 1000, &found), -E2BIG);
	CHECK_EQUAL(code_index_find(index, 1, 0x500400, 1000, &found), 0);
	CHECK_EQUAL(found.count, 1);
	range = found.ranges[0];
	CHECK_EQUAL(range->size, 1 << 20);
	CHECK_EQUAL(code_index_find(index, 1, 0x500010, 2000000, &found), 0);
	CHECK_EQUAL(found.count, 999999);
	CHECK_EQUAL(found.ranges[5]->size, 0x400);
	code_found_fini(&found);
	code_index_free(index);
	model_close(model);
	unlink(path);
}

/* 3000 places that launched one kernel equally often, samples one by one: each place has its
 * share. */
TEST(thousands_of_places_have_their_shares)
{
	enum { PLACES = 3000, ROWS = 30000 };
	uint64_t least = UINT64_MAX, most = 0, sum = 0, *counts = calloc(PLACES, sizeof(*counts));
	struct scene scene;

	begin(&scene);
	fputs("code 201 1 1 0x500000 0x10000 1000000000 0 name=one\n", scene.file);
	for (uint32_t i = 0; i < PLACES; i++)
		fprintf(scene.file,
			"launch %u 1 1 %" PRIu64 " %" PRIu64 " kernel code=201 function=f%u "
			"untimed=1\n",
			1 + i, 2 * SECOND + i * 100, 2 * SECOND + i * 100 + 50, i);
	for (uint32_t i = 0; i < ROWS; i++)
		fprintf(scene.file, "address 1 2000000000 2100000000 0x%x count=1\n",
			0x500000 + i % 1000 * 16);
	analyze(&scene, NULL);
	for (size_t i = 0; i < scene.analysis->instructions_count; i++) {
		const struct analysis_instruction *row = &scene.analysis->instructions[i];

		if (row->path < PLACES)
			counts[row->path] += row->samples;
		sum += row->samples;
	}
	for (size_t i = 0; i < PLACES; i++) {
		least = counts[i] < least ? counts[i] : least;
		most = counts[i] > most ? counts[i] : most;
	}
	CHECK_EQUAL(sum, ROWS);
	CHECK(least >= ROWS / PLACES - 3);
	CHECK(most <= ROWS / PLACES + 3);
	end(&scene);
	free(counts);
}

/* ---- what cannot wait ------------------------------------------------------------------------ */

static void describe_waiting(struct scene *scene)
{
	begin(scene);
	fputs("code 201 1 1 0x500000 0x10000 1000000000 0 name=one\n"
	      "launch 1 1 1 1900000000 1900000100 kernel code=201 stack=1 untimed=1\n",
	      scene->file);
	for (uint32_t i = 0; i < 300; i++)
		fprintf(scene->file, "address 1 2000000000 2100000000 0x%x count=2\n",
			0x500000 + i * 16);
	/* in the window, but behind what it is told with */
	fputs("launch 2 1 1 2050000000 2050000100 kernel code=201 stack=2 untimed=1\n",
	      scene->file);
}

TEST(what_could_not_wait_is_marked)
{
	const struct analysis_options few = {.max_waiting = 100};
	struct scene scene;

	describe_waiting(&scene);
	analyze(&scene, NULL);
	CHECK_EQUAL(scene.analysis->ledger.instructions_early, 0);
	CHECK_EQUAL(samples_of(&scene, "one", 1), 300);
	CHECK_EQUAL(samples_of(&scene, "one", 2), 300);
	end(&scene);
	describe_waiting(&scene);
	analyze(&scene, &few);
	CHECK_EQUAL(scene.analysis->ledger.instructions, 600);
	CHECK(scene.analysis->ledger.instructions_early >= 400);
	CHECK(scene.analysis->ledger.instructions_estimated >=
	      scene.analysis->ledger.instructions_early);
	CHECK_EQUAL(samples_of(&scene, "one", 0), 600);
	CHECK(samples_of(&scene, "one", 1) > 300);
	end(&scene);
}

/* Of a kernel without a size what is behind its begin is a guess; of one with a size it is
 * known. */
TEST(samples_behind_a_kernel_without_a_size_are_an_estimate)
{
	struct scene scene;

	begin(&scene);
	fputs("code 201 1 1 0x500000 0 1000000000 0\n"
	      "code 202 1 1 0x700000 0x100 1000000000 0 name=sized\n"
	      "launch 1 1 1 2000000000 2000000100 kernel code=201 stack=1 untimed=1\n"
	      "launch 2 1 1 2000000000 2000000100 kernel code=202 stack=1 untimed=1\n"
	      "address 1 2000000000 2100000000 0x5fff00 count=5\n"
	      "address 1 2000000000 2100000000 0x700010 count=6\n",
	      scene.file);
	analyze(&scene, NULL);
	CHECK_EQUAL(scene.analysis->ledger.instructions_unsized, 5);
	CHECK_EQUAL(scene.analysis->ledger.instructions_estimated, 5);
	CHECK_EQUAL(scene.analysis->ledger.instructions_divided, 0);
	CHECK_EQUAL(samples_of(&scene, "sized", 1), 6);
	end(&scene);
}

/* ---- the index, beside looking at all of them ------------------------------------------------ */

static uint64_t state = 88172645463325252u;

static uint32_t random_below(uint32_t most)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20) % most;
}

static void check_address(const struct code_index *index, const struct event_code *codes,
			  size_t count, uint64_t address)
{
	struct code_found found = {0};
	struct code_stretch stretch;
	size_t wanted = 0;

	CHECK_EQUAL(code_index_find(index, 1, address, 1000, &found), 0);
	for (size_t i = 0; i < count; i++) {
		const struct event_code *code = &codes[i];
		const uint32_t start = (uint32_t)code->address, low = (uint32_t)address;

		wanted += (!code->device || code->device == 1) && start <= low &&
			  low - start < code->size_bytes;
	}
	CHECK_EQUAL(found.count, wanted);
	for (size_t i = 1; i < found.count; i++)
		CHECK(found.ranges[i - 1]->begin_ns <= found.ranges[i]->begin_ns);
	code_index_stretch(index, address, &stretch);
	CHECK(stretch.first <= address && address < stretch.end);
	for (size_t i = 0; i < count; i++) {
		const uint64_t start = (uint32_t)codes[i].address,
			       behind = start + codes[i].size_bytes;

		CHECK(start <= stretch.first || start >= stretch.end);
		CHECK(behind <= stretch.first || behind >= stretch.end);
	}
	code_found_fini(&found);
}

TEST(any_ranges)
{
	enum { CODES = 60 };
	const struct trace_writer_options options = {0};
	struct event_code codes[CODES];

	for (int round = 0; round < 20; round++) {
		char path[] = "/tmp/duet-addresses-XXXXXX";
		struct code_index *index = NULL;
		struct trace_writer *writer;
		struct model *model = NULL;

		close(mkstemp(path));
		CHECK_EQUAL(trace_writer_open(path, &options, &writer), 0);
		for (uint32_t i = 0; i < CODES; i++) {
			codes[i] = (struct event_code){
				.id = i + 1,
				.type = CODE_KERNEL,
				.process = random_below(3) + 1,
				.device = random_below(3),
				.begin_ns = random_below(100),
				.address = ((uint64_t)random_below(3) << 32) + 1 +
					   random_below(round % 2 ? 64 : 4096),
				.size_bytes = random_below(round % 3 ? 16 : 2000) + 1};
			trace_writer_entity(writer, EVENT_CODE, &codes[i]);
		}
		CHECK_EQUAL(trace_writer_close(writer, 1), 0);
		CHECK_EQUAL(model_open(path, &model), 0);
		REQUIRE(model);
		CHECK_EQUAL(code_index_new(model, &index), 0);
		for (int i = 0; index && i < 200; i++)
			check_address(index, codes, CODES, random_below(round % 2 ? 90 : 6000));
		code_index_free(index);
		model_close(model);
		unlink(path);
	}
}

int main(void)
{
	RUN(launches_without_times_count_beside_times);
	RUN(launches_that_tell_times_have_none_then);
	RUN(address_spaces_of_one_process_share_samples);
	RUN(what_is_replaced_has_no_samples);
	RUN(late_code_of_a_process_that_was_not_there_is_not_it);
	RUN(hundreds_of_processes_at_one_address);
	RUN(thousands_at_once_are_unknown);
	RUN(a_million_codes_at_one_address);
	RUN(thousands_of_places_have_their_shares);
	RUN(what_could_not_wait_is_marked);
	RUN(samples_behind_a_kernel_without_a_size_are_an_estimate);
	RUN(any_ranges);
	return harness_end();
}
