/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_kernel_object.c - which programs of an object are loaded into this kernel
 *
 * As root, where the kernel lets programs in; skipped with the reason otherwise.
 */
#include "collect/kernel/object.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "bpf/objects.h"
#include "harness.h"

/* Programs for the kernel that this process holds. */
static size_t held_programs(void)
{
	DIR *folder = opendir("/proc/self/fd");
	const struct dirent *entry;
	size_t count = 0;

	while (folder && (entry = readdir(folder))) {
		char path[PATH_MAX], target[PATH_MAX] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		if (readlink(path, target, sizeof(target) - 1) > 0)
			count += strcmp(target, "anon_inode:bpf-prog") == 0;
	}
	if (folder)
		closedir(folder);
	return count;
}

static struct kernel_object *open_drm(const struct kernel_program *programs, size_t count)
{
	const struct kernel_object_options options = {.name = "drm",
						      .elf = bpf_drm,
						      .elf_bytes = bpf_drm_size,
						      .programs = programs,
						      .programs_count = count,
						      .looks_first = true};
	struct kernel_object *object = NULL;

	if (kernel_object_open(&options, &object))
		printf("# %s\n", error_text());
	error_clear();
	return object;
}

/* The object has others, which this kernel may refuse. */
TEST(who_is_not_asked_for_is_not_loaded)
{
	static const struct kernel_program programs[] = {{.name = "on_fence_init"}};
	struct kernel_object *object = open_drm(programs, ARRAY_COUNT(programs));

	REQUIRE(object);
	CHECK_EQUAL(held_programs(), 1);
	CHECK(kernel_object_runs(object, "on_fence_init"));
	kernel_object_close(object);
	CHECK_EQUAL(held_programs(), 0);
}

/* No kernel has both names of the scheduler's events; of the one that it lacks the rest must not
 * suffer. */
TEST(who_has_no_place_is_absent)
{
	static const struct kernel_program programs[] = {
		{.name = "on_job_done"},
		{.name = "on_old_job_done", .instead_of = "on_job_done"},
		{.name = "on_none"},
		{.name = "on_fence_init"},
		{.name = "on_fence_emit"}};
	struct kernel_object *object = open_drm(programs, ARRAY_COUNT(programs));
	const struct kernel_program_report *reports;
	size_t count, running = 0;

	REQUIRE(object);
	reports = kernel_object_reports(object, &count);
	REQUIRE(count == ARRAY_COUNT(programs));
	for (size_t i = 0; i < count; i++)
		running += reports[i].state == KERNEL_PROGRAM_RUNS;
	CHECK_EQUAL(held_programs(), running);
	CHECK(reports[0].state == KERNEL_PROGRAM_ABSENT || reports[1].state != KERNEL_PROGRAM_RUNS);
	CHECK_EQUAL(reports[2].state, KERNEL_PROGRAM_ABSENT);
	CHECK_EQUAL(reports[3].state, KERNEL_PROGRAM_RUNS);
	CHECK_EQUAL(reports[4].state, KERNEL_PROGRAM_RUNS);
	kernel_object_close(object);
}

TEST(where_nothing_has_a_place_that_is_said)
{
	static const struct kernel_program programs[] = {{.name = "on_none"}};

	const struct kernel_object_options options = {.name = "drm",
						      .elf = bpf_drm,
						      .elf_bytes = bpf_drm_size,
						      .programs = programs,
						      .programs_count = ARRAY_COUNT(programs)};
	struct kernel_object *object = NULL;

	CHECK_EQUAL(kernel_object_open(&options, &object), -ENOENT);
	CHECK(strstr(error_text(), "BPF programs 'drm': this kernel has no attach point for them"));
	error_clear();
}

/* The quick way and libbpf's give the same: what runs, what is held, and nothing after the end. */
static size_t open_sched(bool is_of_events, enum kernel_program_state *ret_states)
{
	static const struct kernel_program programs[] = {
		{.name = "on_switch"},
		{.name = "on_waking"},
		{.name = "on_waking_unsure", .instead_of = "on_waking", .weakens = "wakers"},
		{.name = "on_fork"},
		{.name = "on_none"}};
	const struct kernel_object_options options = {.name = "sched",
						      .elf = bpf_sched_unsure,
						      .elf_bytes = bpf_sched_unsure_size,
						      .programs = programs,
						      .programs_count = ARRAY_COUNT(programs),
						      .is_of_events = is_of_events};
	struct kernel_object *object = NULL;
	const struct kernel_program_report *reports;
	size_t count, held;

	CHECK_EQUAL(kernel_object_open(&options, &object), 0);
	if (!object)
		return 0;
	reports = kernel_object_reports(object, &count);
	for (size_t i = 0; i < count; i++)
		ret_states[i] = reports[i].state;
	CHECK(!reports[1].weakens);
	CHECK_TEXT(reports[2].weakens, "wakers");
	CHECK(kernel_object_map(object, "watched") != NULL);
	CHECK_EQUAL(kernel_object_missed(object), 0);
	held = held_programs();
	kernel_object_close(object);
	CHECK_EQUAL(held_programs(), 0);
	return held;
}

TEST(both_ways_of_loading_give_the_same)
{
	enum kernel_program_state quick[5], slow[5];

	CHECK_EQUAL(open_sched(true, quick), 3);
	CHECK_EQUAL(open_sched(false, slow), 3);
	for (size_t i = 0; i < 5; i++)
		CHECK_EQUAL(quick[i], slow[i]);
	CHECK_EQUAL(quick[1], KERNEL_PROGRAM_ABSENT);
	CHECK_EQUAL(quick[2], KERNEL_PROGRAM_RUNS);
}

TEST(one_program_is_tried)
{
	CHECK(kernel_object_loads(bpf_sched_unsure, bpf_sched_unsure_size, "on_fork"));
	CHECK(!(kernel_object_loads(bpf_preempt, bpf_preempt_size, "is_hot") &&
		kernel_object_loads(bpf_preempt, bpf_preempt_size, "is_alone")));
	CHECK_EQUAL(held_programs(), 0);
}

int main(void)
{
	static const struct kernel_program fence[] = {{.name = "on_fence_init"}};
	struct kernel_object *object = open_drm(fence, 1);

	if (!object) {
		printf("1..0 # SKIP no programs inside the kernel: no right to, or no fences\n");
		return 0;
	}
	kernel_object_close(object);
	RUN(who_is_not_asked_for_is_not_loaded);
	RUN(who_has_no_place_is_absent);
	RUN(where_nothing_has_a_place_that_is_said);
	RUN(both_ways_of_loading_give_the_same);
	RUN(one_program_is_tried);
	return harness_end();
}
