/* SPDX-License-Identifier: MIT
 *
 * tests/unit/bpf/test_batch.c - batch buffers in the memory of this process, looked through inside
 * the kernel
 *
 *	test_bpf_batch batch.bpf.o
 *
 * Each buffer lies at the end of pages of its own with a page behind it that nobody may read. What
 * src/bpf/batch.bpf.c finds must be, field for field, what src/isa/batch.c finds in a copy.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "batch_corpus.h"
#include "harness.h"
#include "isa/batch.h"

enum { RANDOM_SCENES = 2000, TIMED_RUNS = 200 };

static struct bpf_object *object;
static int program, mappings, states;

/* ---- a scene in memory ----------------------------------------------------------------------- */

/* Pages for a buffer, shared with a file so that they may be there without being mapped yet. */
struct place {
	char *pages, *bytes;
	size_t pages_size, size;
	int file;
};

static struct place places[MAX_SCENE_BUFFERS];

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static bool place_bytes(struct place *place, const void *bytes, size_t size)
{
	const size_t page = page_bytes(), rounded = (size + page - 1) / page * page;

	place->size = size;
	place->pages_size = rounded + page;
	place->file = memfd_create("batch", 0);
	if (place->file < 0 || ftruncate(place->file, (off_t)place->pages_size) ||
	    pwrite(place->file, bytes, size, (off_t)(rounded - size)) != (ssize_t)size)
		return false;
	place->pages = mmap(NULL, place->pages_size, PROT_READ, MAP_SHARED, place->file, 0);
	if (place->pages == MAP_FAILED)
		return false;
	place->bytes = place->pages + (rounded - size);
	return mprotect(place->pages + rounded, page, PROT_NONE) == 0;
}

static void touch(const struct place *place)
{
	for (size_t i = 0; i < place->size; i += 4)
		(void)*(volatile char *)(place->bytes + i);
}

static void remove_place(struct place *place)
{
	munmap(place->pages, place->pages_size);
	close(place->file);
}

/* Into the kernel's map too; false: this machine has no memory for it. */
static bool place_scene(const struct scene *scene)
{
	for (size_t i = 0; i < scene->count; i++) {
		const struct scene_buffer *buffer = &scene->buffers[i];
		struct batch_mapping mapping = {
			.vm = buffer->vm, .gpu = buffer->address, .bytes = buffer->count * 4};
		const uint32_t key = (uint32_t)i;

		if (!place_bytes(&places[i], buffer->dwords, mapping.bytes))
			return false;
		mapping.cpu = (uint64_t)(uintptr_t)places[i].bytes;
		if (bpf_map_update_elem(mappings, &key, &mapping, BPF_ANY))
			return false;
	}
	return true;
}

static void touch_all(const struct scene *scene)
{
	for (size_t i = 0; i < scene->count; i++)
		touch(&places[i]);
}

static void remove_all(const struct scene *scene)
{
	for (size_t i = 0; i < scene->count; i++)
		remove_place(&places[i]);
}

/* ---- the kernel's parser --------------------------------------------------------------------- */

static struct batch_request ask(const struct scene *scene, enum batch_generation generation)
{
	return (struct batch_request){
		.vm = SCENE_VM,
		.address = scene->start,
		.bases = scene->bases,
		.generation = generation,
		.max_steps = scene->max_steps,
		.mappings_count = (uint32_t)scene->count,
	};
}

/* What the program returned, or -errno where it could not be run. */
static int run(const struct batch_request *request, struct batch_state *ret_state)
{
	const uint32_t first = 0;
	struct batch_request context = *request;
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &context, .ctx_size_in = sizeof(context));

	if (bpf_prog_test_run_opts(program, &options) ||
	    bpf_map_lookup_elem(states, &first, ret_state))
		return -errno;
	return (int)options.retval;
}

static struct batch_state here, there;

static void check_same(void)
{
	char text[SCENE_TEXT_SIZE], other[SCENE_TEXT_SIZE];

	scene_describe(&here, text);
	scene_describe(&there, other);
	CHECK_TEXT(other, text);
	CHECK_EQUAL(there.address, here.address);
	CHECK_EQUAL(there.missing, here.missing);
	CHECK_EQUAL(there.level, here.level);
	CHECK_EQUAL(there.steps, here.steps);
	CHECK_EQUAL(there.noops_in_row, here.noops_in_row);
	CHECK(memcmp(&there.bases, &here.bases, sizeof(here.bases)) == 0);
	CHECK(memcmp(&there.counts, &here.counts, sizeof(here.counts)) == 0);
	CHECK(memcmp(there.levels, here.levels, sizeof(here.levels)) == 0);
	CHECK(memcmp(there.slots, here.slots, sizeof(here.slots)) == 0);
	CHECK(memcmp(there.found, here.found, here.found_count * sizeof(here.found[0])) == 0);
}

static void parse_here(const struct scene *scene, enum batch_generation generation)
{
	struct batch_memory memory[MAX_SCENE_BUFFERS];
	const struct batch_source source = scene_source(scene, memory);

	scene_prepare(scene, generation, &here);
	batch_parse(&here, &source, scene->start);
}

static void compare(const struct scene *scene, enum batch_generation generation)
{
	struct batch_request request = ask(scene, generation);

	parse_here(scene, generation);
	REQUIRE(place_scene(scene));
	touch_all(scene);
	for (request.may_sleep = 0; request.may_sleep < 2; request.may_sleep++) {
		CHECK_EQUAL(run(&request, &there), here.status);
		check_same();
	}
	remove_all(scene);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const struct corpus_case *at;

TEST(corpus_case)
{
	char text[SCENE_TEXT_SIZE];
	struct scene scene;

	scene_init(&scene);
	at->build(&scene);
	compare(&scene, at->generation);
	scene_describe(&there, text);
	if (at->expected)
		CHECK_TEXT(text, at->expected);
	scene_fini(&scene);
}

static uint64_t random_number(void)
{
	static uint64_t value = 88172645463325252;

	value ^= value << 13;
	value ^= value >> 7;
	value ^= value << 17;
	return value;
}

/* Headers of the kinds that matter, numbers between them. */
static uint32_t random_dword(void)
{
	static const uint32_t likely[] = {
		0,          0,          0x05000000, 0x18800101, 0x18c00101, 0x18808101, 0x61010014,
		0x61020001, 0x72080026, 0x72080025, 0x70020002, 0x7105000d, 0x7820000a, 0x78100007,
		0x781b0006, 0x7220003e, 0x100000,   0x200000,   0x100040,   0x1001,     7};

	if (random_number() % 4)
		return likely[random_number() % (sizeof(likely) / sizeof(likely[0]))];
	return (uint32_t)random_number();
}

static void build_random(struct scene *scene)
{
	const size_t count = 1 + random_number() % 3;

	scene->max_steps = 500;
	for (size_t i = 0; i < count; i++) {
		size_t dwords = 1 + random_number() % 600;

		scene_begin(scene, SCENE_VM, 0x100000 * (i + 1));
		while (dwords--)
			scene_put(scene, random_dword());
	}
}

TEST(random_scenes)
{
	for (int i = 0; i < RANDOM_SCENES && !harness_failed; i++) {
		struct scene scene;

		scene_init(&scene);
		build_random(&scene);
		compare(&scene, (enum batch_generation)(random_number() % BATCH_GENERATIONS));
		scene_fini(&scene);
	}
}

static struct scene build_two(void)
{
	struct scene scene;

	scene_init(&scene);
	scene_begin(&scene, SCENE_VM, 0x100000);
	scene_command(&scene, 0x72080000, 40);
	scene_set(&scene, 19, 0x1040);
	scene_command(&scene, 0x18800100, 3);
	scene_set(&scene, 1, 0x200000);
	scene_begin(&scene, SCENE_VM, 0x200000);
	scene_command(&scene, 0x72080000, 40);
	scene_set(&scene, 19, 0x2080);
	scene_put(&scene, 0x05000000);
	return scene;
}

/* A page that no access has brought in yet: incomplete, until it is there, or until the program may
 * wait for it. */
TEST(pages_that_are_not_there)
{
	struct scene scene = build_two();
	struct batch_request request = ask(&scene, BATCH_XE2);

	REQUIRE(place_scene(&scene));
	touch(&places[0]);
	CHECK_EQUAL(run(&request, &there), BATCH_INCOMPLETE);
	CHECK_EQUAL(there.missing, 0x200000);
	CHECK_EQUAL(there.found_count, 1);
	request.goes_on = 1;
	CHECK_EQUAL(run(&request, &there), BATCH_INCOMPLETE);
	CHECK_EQUAL(there.found_count, 1);
	touch(&places[1]);
	CHECK_EQUAL(run(&request, &there), BATCH_DONE);
	CHECK_EQUAL(there.found_count, 2);
	CHECK_EQUAL(there.counts.commands, 4);
	CHECK_EQUAL(there.found[1].address, 0x2080);
	remove_all(&scene);

	REQUIRE(place_scene(&scene));
	request.goes_on = 0;
	request.may_sleep = 1;
	CHECK_EQUAL(run(&request, &there), BATCH_DONE);
	CHECK_EQUAL(there.found_count, 2);
	remove_all(&scene);
	scene_fini(&scene);
}

/* No more than this many steps in the kernel, whatever a process writes into its buffers. */
TEST(steps_are_bounded)
{
	struct scene scene;
	struct batch_request request;

	scene_init(&scene);
	scene_begin(&scene, SCENE_VM, 0x100000);
	for (int i = 0; i < 4000; i++)
		scene_put(&scene, 0x02800000);
	request = ask(&scene, BATCH_XE2);
	request.max_steps = 1000;
	REQUIRE(place_scene(&scene));
	touch_all(&scene);
	run(&request, &there);
	CHECK_EQUAL(there.steps, 1000);
	CHECK_EQUAL(there.counts.commands, 1000);
	remove_all(&scene);
	scene_fini(&scene);
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The least that a call took, with its two system calls. */
static uint64_t time_ns(const struct scene *scene)
{
	const struct batch_request request = ask(scene, BATCH_XE2);
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < TIMED_RUNS; i++) {
		const uint64_t began = now_ns();
		uint64_t took;

		run(&request, &there);
		took = now_ns() - began;
		best = took < best ? took : best;
	}
	return best;
}

/* Of a scene in memory. */
static uint64_t time_scene_ns(struct scene *scene)
{
	uint64_t best = 0;

	scene_put(scene, 0x05000000);
	if (place_scene(scene)) {
		touch_all(scene);
		best = time_ns(scene);
		remove_all(scene);
	}
	scene_fini(scene);
	return best;
}

/* Says what a batch as runtimes for compute write them costs; asserts nothing of it, for the
 * machine may be busy. */
TEST(cost)
{
	struct scene scene;
	uint64_t all_ns, empty_ns;

	scene_init(&scene);
	scene_begin(&scene, SCENE_VM, 0x100000);
	empty_ns = time_scene_ns(&scene);
	scene_init(&scene);
	scene_begin(&scene, SCENE_VM, 0x100000);
	scene_command(&scene, 0x61010000, 22);
	for (uint32_t i = 0; i < 16; i++) {
		scene_command(&scene, 0x7a000000, 6);
		scene_command(&scene, 0x11000000, 3);
		scene_command(&scene, 0x72080000, 40);
		scene_set(&scene, 19, 0x40 * i);
	}
	all_ns = time_scene_ns(&scene);
	CHECK_EQUAL(there.found_count, 16);
	CHECK_EQUAL(there.counts.commands, 50);
	printf("# 50 commands, 16 kernels: %lld ns, least of %d (that, and %lld ns for calls)\n",
	       (long long)(all_ns - empty_ns), TIMED_RUNS, (long long)empty_ns);
}

/* ---- loading --------------------------------------------------------------------------------- */

enum { LOG_BYTES = 1 << 26, TAIL_BYTES = 4000 };

static char *verifier_log;

static int keep_silent(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return 0;
}

/* Its end, which says why. */
static void print_log(void)
{
	const size_t length = strlen(verifier_log);
	char *line = verifier_log + (length > TAIL_BYTES ? length - TAIL_BYTES : 0);

	for (line = strtok(line, "\n"); line; line = strtok(NULL, "\n"))
		printf("# %s\n", line);
}

/* 0, or -errno. */
static int load(const char *path)
{
	struct bpf_program *found;
	int error;

	verifier_log = calloc(1, LOG_BYTES);
	if (!verifier_log)
		return -ENOMEM;
	LIBBPF_OPTS(bpf_object_open_opts, options, .kernel_log_buf = verifier_log,
		    .kernel_log_size = LOG_BYTES, .kernel_log_level = 1);
	libbpf_set_print(keep_silent);
	object = bpf_object__open_file(path, &options);
	if (!object)
		return -errno;
	error = bpf_object__load(object);
	found = bpf_object__find_program_by_name(object, "parse_batch");
	if (error || !found)
		return error ? error : -ENOENT;
	program = bpf_program__fd(found);
	mappings = bpf_object__find_map_fd_by_name(object, "mappings");
	states = bpf_object__find_map_fd_by_name(object, "states");
	return 0;
}

static int error;

TEST(kernel_takes_the_program)
{
	CHECK_EQUAL(error, 0);
	if (error)
		print_log();
}

int main(int argc, char **argv)
{
	/* A program that is refused is an error; who may not even make a map has no rights. */
	const int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, 4, 4, 1, NULL);

	if (map < 0) {
		printf("1..0 # SKIP nothing may be loaded into this kernel: %s\n", strerror(-map));
		return 0;
	}
	close(map);
	error = load(argc > 1 ? argv[1] : "");
	RUN(kernel_takes_the_program);
	if (error)
		return harness_end();
	for (size_t i = 0; i < corpus_count; i++) {
		at = &corpus[i];
		harness_run(at->name, test_corpus_case);
	}
	RUN(random_scenes);
	RUN(pages_that_are_not_there);
	RUN(steps_are_bounded);
	RUN(cost);
	bpf_object__close(object);
	return harness_end();
}
