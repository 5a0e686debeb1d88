/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_history.c - the history of kernels over recordings
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/compare/history/history.h"
#include "analyze/compare/side.h"
#include "base/array.h"
#include "compare_noise.h"
#include "harness.h"

enum { RECORDINGS = 30, MAX_ROWS = 8 };

/* A recording with rows that the test fills. */
struct recording {
	struct compare_side side;
	struct side_device device;
	struct side_row busy[MAX_ROWS], idle[1];
	struct match_stack stacks[MAX_ROWS];
};

static void add_kernel(struct recording *recording, const char *name, uint64_t stack,
		       uint64_t count, double mean_ns)
{
	const size_t index = recording->side.tables[COMPARE_BUSY].count++;
	struct side_row *row = &recording->busy[index];

	recording->stacks[index] =
		(struct match_stack){stack, count, (uint64_t)(mean_ns * (double)count)};
	*row = (struct side_row){.name = name,
				 .label = name,
				 .group = "kernels",
				 .is_kernel = true,
				 .count = count,
				 .value = recording->stacks[index].time_ns,
				 .stacks = &recording->stacks[index],
				 .stacks_count = stack ? 1 : 0,
				 .position = (uint32_t)index + 1};
	recording->device.busy_ns += row->value;
}

static struct history *start_history(void)
{
	const struct history_options options = {.alpha = HISTORY_ALPHA};
	struct history *history = NULL;

	CHECK_EQUAL(history_new(&options, &history), 0);
	return history;
}

static void finish_recording(struct history *history, struct recording *recording)
{
	struct compare_side *side = &recording->side;

	recording->idle[0] = (struct side_row){.name = "sleep",
					       .label = "sleep",
					       .group = "blocked",
					       .scope = CAUSE_BLOCKED,
					       .value = 1000000};
	recording->device.idle_ns = 1000000;
	side->path = "run.duet";
	side->devices = &recording->device;
	side->devices_count = 1;
	side->wall_ns = recording->device.busy_ns + recording->device.idle_ns;
	side->tables[COMPARE_BUSY].rows = recording->busy;
	side->tables[COMPARE_IDLE].rows = recording->idle;
	side->tables[COMPARE_IDLE].count = 1;
	CHECK_EQUAL(history_add(history, side, 1 + history->count), 0);
}

static const struct history_item *find_kernel(const struct history *history, const char *name)
{
	for (size_t i = 0; i < history->kernels_count; i++)
		if (strcmp(history->kernels[i].name, name) == 0)
			return &history->kernels[i];
	return NULL;
}

static void fill_noise(double *values, size_t count, uint64_t seed)
{
	noise_fill(NOISE_NORMAL, &seed, 0, count, values);
}

TEST(planted_step_is_found)
{
	struct history *history = start_history();
	const struct history_item *gemm, *other;
	double noise[2 * RECORDINGS];

	fill_noise(noise, ARRAY_COUNT(noise), 3);
	for (size_t i = 0; i < RECORDINGS; i++) {
		struct recording recording = {0};

		add_kernel(&recording, "gemm", 1, 100,
			   (i < 20 ? 1000000 : 1050000) + 5000 * noise[2 * i]);
		add_kernel(&recording, "softmax", 2, i == 29 ? 11 : 10,
			   200000 + 5000 * noise[2 * i + 1]);
		finish_recording(history, &recording);
	}
	CHECK_EQUAL(history_finish(history), 0);
	gemm = find_kernel(history, "gemm");
	other = find_kernel(history, "softmax");
	REQUIRE(gemm && other);
	CHECK(gemm == &history->kernels[0]);
	REQUIRE(gemm->value.changes_count == 1);
	CHECK_EQUAL(gemm->value.values[gemm->value.changes[0].index].recording, 20);
	CHECK(fabs(gemm->value.changes[0].before - 1000000) < 5000);
	CHECK(fabs(gemm->value.changes[0].after - 1050000) < 5000);
	CHECK(gemm->value.changes[0].p <= history->threshold);
	CHECK(history->threshold <= HISTORY_ALPHA);
	CHECK_EQUAL(history->wall.changes_count, 1);
	CHECK_EQUAL(other->value.changes_count, 0);
	CHECK(!gemm->executions.is_tested); /* always 100 */
	CHECK(other->executions.is_tested);
	CHECK_EQUAL(history->tests, 5); /* wall, busy, two means, executions of softmax */
	history_free(history);
}

TEST(noise_is_no_change)
{
	size_t lines_with_changes = 0;

	for (uint64_t round = 0; round < 10; round++) {
		struct history *history = start_history();
		static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
		double noise[RECORDINGS * 6];

		fill_noise(noise, ARRAY_COUNT(noise), 11 + round);
		for (size_t i = 0; i < RECORDINGS; i++) {
			struct recording recording = {0};

			for (size_t k = 0; k < 6; k++)
				add_kernel(&recording, names[k], k + 1, 10,
					   100000 + 3000 * noise[i * 6 + k]);
			finish_recording(history, &recording);
		}
		CHECK_EQUAL(history_finish(history), 0);
		for (size_t k = 0; k < history->kernels_count; k++)
			lines_with_changes += history->kernels[k].value.changes_count > 0;
		history_free(history);
	}
	printf("# %zu of 60 lines without a change have one\n", lines_with_changes);
	CHECK(lines_with_changes <= 2);
}

TEST(renamed_kernel_keeps_its_line)
{
	struct history *history = start_history();
	const struct history_item *item;

	for (size_t i = 0; i < 8; i++) {
		struct recording recording = {0};

		add_kernel(&recording, "gemm", 1, 10, 5000);
		add_kernel(&recording, i < 4 ? "reduce_v1" : "sum_rows", 2, 10, 3000);
		finish_recording(history, &recording);
	}
	CHECK_EQUAL(history_finish(history), 0);
	CHECK_EQUAL(history->kernels_count, 2);
	item = find_kernel(history, "sum_rows");
	REQUIRE(item && item->namings_count == 1);
	CHECK_EQUAL(item->value.count, 8);
	CHECK_EQUAL(item->namings[0].recording, 4);
	CHECK_EQUAL(item->namings[0].reason, MATCH_RENAMED);
	CHECK_TEXT(item->namings[0].was, "reduce_v1");
	CHECK(item->namings[0].confidence > 0 && item->namings[0].confidence < 1);
	history_free(history);
}

TEST(missing_kernel_has_a_gap)
{
	struct history *history = start_history();
	const struct history_item *item;

	for (size_t i = 0; i < 10; i++) {
		struct recording recording = {0};

		add_kernel(&recording, "gemm", 0, 10, 5000);
		if (i < 3 || i > 5)
			add_kernel(&recording, "softmax", 0, 10, 3000);
		finish_recording(history, &recording);
	}
	CHECK_EQUAL(history_finish(history), 0);
	CHECK_EQUAL(history->kernels_count, 2);
	item = find_kernel(history, "softmax");
	REQUIRE(item && item->value.count == 7);
	CHECK_EQUAL(item->value.values[2].recording, 2);
	CHECK_EQUAL(item->value.values[3].recording, 6);
	CHECK_EQUAL(item->namings_count, 0);
	history_free(history);
}

TEST(long_gap_ends_with_the_old_name_only)
{
	struct history *history = start_history();

	for (size_t i = 0; i < HISTORY_MAX_GAP + 4; i++) {
		struct recording recording = {0};
		const bool is_first = i == 0, is_last = i == HISTORY_MAX_GAP + 3;

		add_kernel(&recording, "gemm", 1, 10, 5000);
		if (is_first || is_last)
			add_kernel(&recording, "softmax", 2, 10, 3000);
		if (is_first)
			add_kernel(&recording, "reduce_v1", 3, 10, 3000);
		if (is_last)
			add_kernel(&recording, "sum_rows", 3, 10, 3000);
		finish_recording(history, &recording);
	}
	CHECK_EQUAL(history_finish(history), 0);
	CHECK_EQUAL(history->kernels_count, 4);
	REQUIRE(find_kernel(history, "softmax") && find_kernel(history, "sum_rows"));
	CHECK_EQUAL(find_kernel(history, "softmax")->value.count, 2);
	CHECK_EQUAL(find_kernel(history, "sum_rows")->value.count, 1);
	history_free(history);
}

/* The mean of one kernel would jump although nothing got faster. */
TEST(split_kernel_begins_new_lines)
{
	struct history *history = start_history();
	const struct history_item *half;

	for (size_t i = 0; i < 8; i++) {
		struct recording recording = {0};

		add_kernel(&recording, "gemm", 1, 10, 5000);
		if (i < 4) {
			add_kernel(&recording, "norm_and_scale", 2, 10, 4000);
		} else {
			add_kernel(&recording, "rms_rows", 2, 10, 2100);
			add_kernel(&recording, "multiply", 2, 10, 1900);
		}
		finish_recording(history, &recording);
	}
	CHECK_EQUAL(history_finish(history), 0);
	CHECK_EQUAL(history->kernels_count, 4);
	half = find_kernel(history, "multiply");
	REQUIRE(half && half->namings_count == 1);
	CHECK_EQUAL(half->value.count, 4);
	CHECK_EQUAL(half->namings[0].reason, MATCH_SPLIT);
	CHECK_TEXT(half->namings[0].was, "norm_and_scale");
	CHECK_EQUAL(find_kernel(history, "norm_and_scale")->value.count, 4);
	history_free(history);
}

TEST(devices_are_added_up)
{
	struct history *history = start_history();
	struct recording recording = {0};

	add_kernel(&recording, "gemm", 1, 10, 5000);
	add_kernel(&recording, "gemm", 1, 30, 9000);
	recording.busy[1].device = 1;
	finish_recording(history, &recording);
	CHECK_EQUAL(history_finish(history), 0);
	REQUIRE(history->kernels_count == 1);
	CHECK_EQUAL(history->kernels[0].executions.values[0].value, 40);
	CHECK_EQUAL(history->kernels[0].value.values[0].value, 8000);
	CHECK_EQUAL(history->kernels[0].total_ns, 320000);
	CHECK_EQUAL(history->causes_count, 1);
	CHECK_EQUAL(history->causes[0].scope, CAUSE_BLOCKED);
	history_free(history);
}

int main(void)
{
	RUN(planted_step_is_found);
	RUN(noise_is_no_change);
	RUN(renamed_kernel_keeps_its_line);
	RUN(missing_kernel_has_a_gap);
	RUN(long_gap_ends_with_the_old_name_only);
	RUN(split_kernel_begins_new_lines);
	RUN(devices_are_added_up);
	return harness_end();
}
