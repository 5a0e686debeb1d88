/* SPDX-License-Identifier: MIT
 *
 * tests/unit/bpf/test_submit_i915.c - calls of the driver i915 that nobody made, as the programs
 * inside the kernel see them
 *
 *	test_bpf_submit_i915 i915.bpf.o
 */
#include "abi/i915.h"
#include "made_up_calls.h"

enum { COST_RUNS = 2000, LONG_LIST = 300 };
#define BATCH (AREA + (1 << 24))

static void make_context(uint32_t id, const struct i915_context_extension *extension)
{
	const struct i915_context_create arguments = {
		.ctx_id = id,
		.flags = extension ? I915_CONTEXT_HAS_EXTENSIONS : 0,
		.extensions = (uintptr_t)extension};

	call_of(FILE_A, SUBMIT_I915_CONTEXT_CREATE, &arguments);
}

static void end_context(uint32_t id)
{
	const struct i915_context_destroy arguments = {.ctx_id = id};

	call_of(FILE_A, SUBMIT_I915_CONTEXT_DESTROY, &arguments);
}

static void map_buffer(uint32_t handle, void *bytes)
{
	const struct i915_mmap_offset arguments = {.handle = handle,
						   .offset = (uint64_t)handle << 32};

	call_of(FILE_A, SUBMIT_I915_MMAP_OFFSET, &arguments);
	run((struct submit_request){.file = FILE_A,
				    .call = SUBMIT_MMAP,
				    .address = (uintptr_t)bytes,
				    .offset = arguments.offset});
}

/* Of a context: a buffer with a batch in it, and one at the instruction base. NULL: there is no
 * record. */
static const struct submit_record *submit(uint32_t context, uint32_t batch, uint32_t kernels)
{
	const struct i915_exec_object objects[] = {{.handle = kernels, .offset = BASE},
						   {.handle = batch, .offset = BATCH}};
	const struct i915_execbuffer2 arguments = {.buffers_ptr = (uintptr_t)objects,
						   .buffer_count = 2,
						   .batch_len = PAGE,
						   .rsvd1 = context};

	take_records();
	call_of(FILE_A, SUBMIT_EXEC, &arguments);
	ring_buffer__consume(ring);
	return records_count ? &records[0] : NULL;
}

static void set_space(uint32_t context, uint32_t vm)
{
	const struct i915_context_param arguments = {
		.ctx_id = context, .param = I915_CONTEXT_VM, .value = vm};

	call_of(FILE_A, SUBMIT_I915_CONTEXT_SETPARAM, &arguments);
}

static void call_space(uint32_t what, uint32_t vm)
{
	const struct i915_vm arguments = {.vm_id = vm};

	call_of(FILE_A, what, &arguments);
}

static uint64_t space_of(uint32_t context)
{
	const struct submit_record *record = submit(context, 7, 8);

	return record ? record->vm : 0;
}

/* How many times all of a space was told to be at its end. */
static size_t ends_of(uint64_t vm)
{
	size_t count = 0;

	ring_buffer__consume(ring);
	for (size_t i = 0; i < unbound_count; i++)
		count += unbounds[i].vm == vm && !unbounds[i].end;
	return count;
}

static void end(void)
{
	const uint32_t nothing = 0;

	call_of(FILE_A, SUBMIT_FILE_CLOSE, &nothing);
	call_of(FILE_A, SUBMIT_EXIT, &nothing);
	take_records();
}

TEST(a_batch_and_its_kernel)
{
	uint32_t *page = make_buffer(PAGE);
	const struct submit_record *record;

	put_batch(page, 0x40);
	map_buffer(7, page);
	record = submit(0, 7, 8);
	CHECK_EQUAL(kernel_of(record), 0x40);
	REQUIRE(record != NULL);
	CHECK(record->vm && record->user_stack && record->start_ns);
	CHECK_EQUAL(record->head.flags, 0);
	/* not of another handle */
	CHECK_EQUAL(kernel_of(submit(0, 9, 8)), 0);
	munmap(page, PAGE);
	end();
}

/* Of a list that is longer than what is kept the batch is there, wherever it stands, and the rest
 * is counted. */
TEST(long_lists)
{
	static struct i915_exec_object objects[LONG_LIST];
	const struct i915_execbuffer2 arguments = {
		.buffers_ptr = (uintptr_t)objects, .buffer_count = LONG_LIST, .batch_len = PAGE};
	const uint64_t before = counted(SUBMIT_COUNT_BINDINGS);
	uint32_t *page = make_buffer(PAGE);

	for (uint32_t i = 0; i < LONG_LIST; i++)
		objects[i] = (struct i915_exec_object){
			.handle = 100 + i, .offset = (UINT64_C(1) << 36) + i * UINT64_C(0x100000)};
	objects[LONG_LIST - 1] = (struct i915_exec_object){.handle = 7, .offset = BATCH};
	put_batch(page, 0x40);
	map_buffer(7, page);
	take_records();
	call_of(FILE_A, SUBMIT_EXEC, &arguments);
	ring_buffer__consume(ring);
	REQUIRE(records_count == 1);
	CHECK_EQUAL(kernel_of(&records[0]), 0x40);
	CHECK_EQUAL(counted(SUBMIT_COUNT_BINDINGS), before + 1);
	munmap(page, PAGE);
	end();
}

TEST(contexts_have_their_own_space_or_share_one)
{
	struct i915_context_extension other = {.name = I915_EXTENSION_SETPARAM,
					       .param = {.param = 1, .value = 5}};
	struct i915_context_extension extension = {.next = (uintptr_t)&other,
						   .name = I915_EXTENSION_SETPARAM,
						   .param = {.param = I915_CONTEXT_VM, .value = 3}};
	uint64_t own, shared;

	make_context(1, NULL);
	make_context(2, NULL);
	own = space_of(1);
	CHECK(own && own != space_of(2) && own != space_of(0));
	call_space(SUBMIT_I915_VM_CREATE, 3);
	make_context(4, &extension);
	extension = (struct i915_context_extension){.next = (uintptr_t)&other,
						    .name = I915_EXTENSION_SETPARAM};
	other.param = (struct i915_context_param){.param = I915_CONTEXT_VM, .value = 3};
	make_context(5, &extension);
	set_space(2, 3);
	shared = space_of(4);
	CHECK(shared && shared != own);
	CHECK_EQUAL(space_of(5), shared);
	CHECK_EQUAL(space_of(2), shared);
	CHECK_EQUAL(space_of(1), own);
	end();
}

TEST(a_space_ends_with_the_last_that_has_it)
{
	struct i915_context_param asks = {.ctx_id = 1, .param = I915_CONTEXT_VM, .value = 9};
	uint64_t shared, own;

	call_space(SUBMIT_I915_VM_CREATE, 3);
	make_context(1, NULL);
	make_context(2, NULL);
	own = space_of(2);
	take_records();
	set_space(1, 3);
	set_space(2, 3);
	CHECK_EQUAL(ends_of(own), 1);
	shared = space_of(1);
	CHECK_EQUAL(space_of(2), shared);
	/* the file gets one more number for it */
	call_of(FILE_A, SUBMIT_I915_CONTEXT_GETPARAM, &asks);
	take_records();
	call_space(SUBMIT_I915_VM_DESTROY, 3);
	end_context(1);
	end_context(2);
	end_context(0); /* is refused */
	CHECK_EQUAL(unbound_count, 0);
	call_space(SUBMIT_I915_VM_DESTROY, 9);
	CHECK_EQUAL(ends_of(shared), 1);
	end();
}

TEST(what_ends_with_the_file)
{
	const uint32_t nothing = 0;
	uint64_t spaces[3];

	call_space(SUBMIT_I915_VM_CREATE, 3);
	make_context(1, NULL);
	make_context(2, NULL);
	set_space(2, 3);
	for (uint32_t i = 0; i < 3; i++)
		spaces[i] = space_of(i);
	take_records();
	call_of(FILE_A, SUBMIT_FILE_CLOSE, &nothing);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQUAL(ends_of(spaces[i]), 1);
	CHECK(space_of(1) != spaces[1]);
	end();
}

/* A kernel ends with the object that it lies in: its handle and its place are another's next. */
TEST(kernels_end_with_their_object)
{
	uint32_t *page = make_buffer(PAGE);
	const uint32_t handle = 8;
	uint32_t *at = put_walker(put_walker(put_base(page), 0x1000), 0x40);
	uint64_t vm;

	*at = 0x05000000;
	map_buffer(7, page);
	map_buffer(8, page); /* known as an object */
	CHECK(submit(0, 7, 8) && records[0].found_count == 2);
	vm = records[0].vm;
	for (int i = 0; i < 2; i++) {
		take_records();
		call_of(FILE_A, SUBMIT_GEM_CLOSE, &handle);
		ring_buffer__consume(ring);
		REQUIRE(unbound_count == 1);
		CHECK_EQUAL(unbounds[0].vm, vm);
		CHECK_EQUAL(unbounds[0].begin, BASE + 0x40);
		CHECK_EQUAL(unbounds[0].end, BASE + 0x1000 + 1);
		/* once more, with another object of that handle and in that place */
		map_buffer(8, page);
		CHECK(submit(0, 7, 8) && records[0].found_count == 2);
	}
	munmap(page, PAGE);
	end();
}

static uint64_t spent_ns(void)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(program, &info, &size) ? 0 : info.run_time_ns;
}

/* Says what a submission costs, with both stacks; asserts nothing of it, for the machine may be
 * busy. */
TEST(cost)
{
	const int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	uint32_t *page = make_buffer(PAGE), *at = put_base(page);
	uint64_t before, least = UINT64_MAX;

	for (uint32_t i = 0; i < 16; i++)
		at = put_walker(at, 0x40 * i);
	*at = 0x05000000;
	map_buffer(7, page);
	map_buffer(8, page);
	for (int i = 0; i < COST_RUNS; i++) {
		before = spent_ns();
		submit(0, 7, 8);
		if (spent_ns() - before < least)
			least = spent_ns() - before;
	}
	CHECK(records_count && records[0].found_count == 16);
	printf("# a submission of two objects with both stacks: %llu ns with 16 kernels\n",
	       (long long)least);
	munmap(page, PAGE);
	if (stats >= 0)
		close(stats);
	end();
}

TEST(names_of_drivers)
{
	CHECK_EQUAL(is_name_of(SUBMIT_NAME, "i915"), 1);
	CHECK_EQUAL(is_name_of(SUBMIT_NAME, "i9150"), 0);
	CHECK_EQUAL(is_name_of(SUBMIT_NAME, "i91"), 0);
	CHECK_EQUAL(is_name_of(SUBMIT_NAME, "xe"), 0);
}

int main(int argc, char **argv)
{
	if (!begin_tests(argc > 1 ? argv[1] : ""))
		return error != 0;
	RUN(a_batch_and_its_kernel);
	RUN(long_lists);
	RUN(contexts_have_their_own_space_or_share_one);
	RUN(a_space_ends_with_the_last_that_has_it);
	RUN(what_ends_with_the_file);
	RUN(kernels_end_with_their_object);
	RUN(names_of_drivers);
	RUN(cost);
	return end_tests();
}
