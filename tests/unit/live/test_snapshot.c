/* SPDX-License-Identifier: MIT
 *
 * tests/unit/live/test_snapshot.c - a snapshot has the numbers of its analysis
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model.h"
#include "base/json.h"
#include "harness.h"
#include "live/snapshot.h"
#include "live/snapshot_json.h"

static const char *path; /* the trace of tests/golden/export/cpu_gpu.txt */

struct made {
	struct model *model;
	struct analysis *analysis;
	struct live_snapshot *snapshot;
};

static bool make(struct made *made, const struct live_snapshot_options *options)
{
	const struct analysis_options by_thread = {.by_thread = true};

	*made = (struct made){0};
	return !model_open(path, &made->model) &&
	       !analysis_new(made->model, &by_thread, &made->analysis) &&
	       !live_snapshot_new(made->analysis, options, &made->snapshot);
}

static void made_fini(struct made *made)
{
	live_snapshot_free(made->snapshot);
	analysis_free(made->analysis);
	model_close(made->model);
}

TEST(devices_are_those_of_the_account)
{
	struct made made;

	REQUIRE(make(&made, &(struct live_snapshot_options){0}));
	REQUIRE(made.snapshot->devices_count == analysis_devices_shown(made.analysis));
	CHECK(made.snapshot->devices_count > 0);
	for (size_t i = 0; i < made.snapshot->devices_count; i++) {
		const struct live_device *device = &made.snapshot->devices[i];
		const struct account *account = &made.analysis->devices[i].account;
		uint64_t causes = 0;

		CHECK_EQUAL(device->busy_ns, account->busy_ns);
		CHECK_EQUAL(device->idle_ns, account->idle_ns);
		CHECK_EQUAL(device->busy_ns + device->idle_ns,
			    made.snapshot->end_ns - made.snapshot->begin_ns);
		for (unsigned int cause = 0; cause < CAUSE_COUNT; cause++) {
			causes += device->causes[cause];
			CHECK(device->causes[cause] <= device->cause_ns);
		}
		CHECK_EQUAL(causes, device->idle_ns);
	}
	made_fini(&made);
}

static uint64_t sum_counts(const struct live_snapshot *snapshot)
{
	uint64_t count = 0;

	for (size_t i = 0; i < snapshot->kernels_count; i++)
		count += snapshot->kernels[i].count;
	return count;
}

TEST(few_kernels_and_the_others_are_all)
{
	struct made all, few;

	REQUIRE(make(&all, &(struct live_snapshot_options){0}));
	REQUIRE(make(&few, &(struct live_snapshot_options){.max_kernels = 1}));
	CHECK(sum_counts(all.snapshot) > 0);
	CHECK_EQUAL(sum_counts(all.snapshot), sum_counts(few.snapshot));
	CHECK(few.snapshot->kernels_count <= 1 + few.snapshot->devices_count);
	for (size_t i = 1; i < few.snapshot->kernels_count; i++)
		CHECK_TEXT(few.snapshot->kernels[i].name, "other");
	for (size_t i = 1; i < all.snapshot->kernels_count; i++)
		CHECK(all.snapshot->kernels[i - 1].share_ns >= all.snapshot->kernels[i].share_ns);
	made_fini(&all);
	made_fini(&few);
}

TEST(kernels_of_processes_add_up)
{
	struct made all, one;
	uint64_t count = 0;

	REQUIRE(make(&all, &(struct live_snapshot_options){0}));
	for (size_t i = 0; i < all.snapshot->processes_count; i++) {
		REQUIRE(make(&one, &(struct live_snapshot_options){
					   .pid = all.snapshot->processes[i].pid}));
		count += sum_counts(one.snapshot);
		made_fini(&one);
	}
	CHECK_EQUAL(count, sum_counts(all.snapshot));
	REQUIRE(make(&one, &(struct live_snapshot_options){.pid = 1 << 22}));
	CHECK_EQUAL(one.snapshot->kernels_count, 0);
	made_fini(&one);
	made_fini(&all);
}

TEST(stacks_have_the_busy_time)
{
	struct made made;
	uint64_t busy_ns = 0, stacks_ns = 0;

	REQUIRE(make(&made, &(struct live_snapshot_options){.has_stacks = true}));
	for (size_t i = 0; i < made.snapshot->devices_count; i++)
		busy_ns += made.snapshot->devices[i].busy_ns;
	for (size_t i = 0; i < made.snapshot->stacks_count; i++) {
		stacks_ns += made.snapshot->stacks[i].busy_ns;
		CHECK(*made.snapshot->stacks[i].text);
	}
	CHECK_EQUAL(stacks_ns, busy_ns);
	made_fini(&made);
}

/* A snapshot borrows nothing: it is written after the trace was closed. */
TEST(outlives_its_analysis)
{
	struct string_builder text = {0};
	struct live_places *places;
	struct json_writer json;
	struct made made;

	REQUIRE(live_places_new(&places) == 0);
	REQUIRE(make(&made, &(struct live_snapshot_options){.has_stacks = true, .places = places}));
	analysis_free(made.analysis);
	model_close(made.model);
	live_places_free(places);
	json_init_text(&json, &text);
	json_object_begin(&json);
	live_snapshot_write(made.snapshot, &json);
	json_object_end(&json);
	CHECK_EQUAL(json_error(&json), 0);
	CHECK(strstr(string_builder_text(&text), "\"largest_cause\"") != NULL);
	string_builder_fini(&text);
	live_snapshot_free(made.snapshot);
}

int main(int argc, char **argv)
{
	path = argc > 1 ? argv[1] : "";
	RUN(devices_are_those_of_the_account);
	RUN(few_kernels_and_the_others_are_all);
	RUN(kernels_of_processes_add_up);
	RUN(stacks_have_the_busy_time);
	RUN(outlives_its_analysis);
	return harness_end();
}
