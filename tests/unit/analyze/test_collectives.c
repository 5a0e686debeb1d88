/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_collectives.c - operations of ranks: places are used again, and
 * operations beyond the limit count once
 */
#include <stdlib.h>
#include <unistd.h>

#include "analyze/collectives/collectives.h"
#include "analyze/model.h"
#include "event/event.h"
#include "harness.h"
#include "import/target.h"

enum { OPEN_MAX = 1 << 20, MORE = 1000 };

struct scene {
	struct import_target *target;
	struct model *model;
	struct event_collective row;
	uint32_t processes[2];
};

static void scene_add(struct scene *scene, size_t rank, uint64_t sequence)
{
	scene->row.process = scene->processes[rank];
	scene->row.sequence = sequence;
	scene->row.begin++;
	scene->row.end = scene->row.begin + 5;
	CHECK_EQUAL(import_target_collective(scene->target, &scene->row), 0);
}

static void scene_begin(struct scene *scene, const char *path)
{
	*scene = (struct scene){0};
	CHECK_EQUAL(import_target_open(path, &scene->target), 0);
	CHECK_EQUAL(import_target_begin_file(scene->target, "made up", "x", 1), 0);
	for (uint32_t i = 0; i < 2; i++)
		CHECK_EQUAL(import_target_process(scene->target, i ? "b" : "a", i + 1, "rank",
						  &scene->processes[i]),
			    0);
	CHECK_EQUAL(import_target_text(scene->target, "world", &scene->row.communicator_string), 0);
}

static struct collectives scene_end(struct scene *scene, const char *path)
{
	struct collectives result = {0};

	CHECK_EQUAL(import_target_finish(scene->target, NULL), 0);
	CHECK_EQUAL(model_open(path, &scene->model), 0);
	CHECK_EQUAL(collectives_read(scene->model, 0, UINT64_MAX, &result), 0);
	model_close(scene->model);
	unlink(path);
	return result;
}

/* One operation stays open; the others come and go beside it. */
TEST(places_are_used_again)
{
	char path[] = "/tmp/duet-collectives-XXXXXX";
	struct scene scene;
	struct collectives result;

	close(mkstemp(path));
	scene_begin(&scene, path);
	for (uint64_t i = 1; i <= OPEN_MAX / 2 + MORE; i++) {
		scene_add(&scene, 0, i);
		if (i > 1)
			scene_add(&scene, 1, i);
	}
	scene_add(&scene, 1, 1);
	result = scene_end(&scene, path);
	CHECK_EQUAL(result.operations, OPEN_MAX / 2 + MORE);
	CHECK_EQUAL(result.incomplete, 0);
	collectives_fini(&result);
}

/* One rank is more than OPEN_MAX operations ahead. */
TEST(operations_beyond_the_limit_count_once)
{
	char path[] = "/tmp/duet-collectives-XXXXXX";
	struct scene scene;
	struct collectives result;

	close(mkstemp(path));
	scene_begin(&scene, path);
	for (uint64_t i = 1; i <= OPEN_MAX + MORE; i++)
		scene_add(&scene, 0, i);
	for (uint64_t i = 1; i <= OPEN_MAX + MORE; i++)
		scene_add(&scene, 1, i);
	result = scene_end(&scene, path);
	CHECK_EQUAL(result.operations, MORE);
	CHECK_EQUAL(result.incomplete, OPEN_MAX);
	collectives_fini(&result);
}

int main(void)
{
	RUN(places_are_used_again);
	RUN(operations_beyond_the_limit_count_once);
	return harness_end();
}
