/* SPDX-License-Identifier: MIT
 *
 * tests/unit/bpf/test_submit.c - calls of the driver xe that nobody made, as the programs inside
 * the kernel see them
 *
 *	test_bpf_submit xe.bpf.o
 *
 * Buffers are files in memory that this process has mapped; what a call would have written is
 * given. So binds, buffers and batches are looked at in the kernel, in real memory, where there is
 * no driver and no GPU.
 */
#include "xe_calls.h"

enum {
	RANDOM_STEPS = 3000,
	LOOKS = 4,
	COST_RUNS = 2000,
};

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(a_batch_and_its_kernels)
{
	uint32_t *page = make_buffer(PAGE), *at;
	const struct submit_record *record;

	begin();
	at = put_walker(put_walker(put_walker(put_base(page), 0x40), 0x80), 0x40);
	*at = 0x05000000;
	map_buffer(FILE_A, 7, page);
	bind(FILE_A, 1, 7, 0, AREA, PAGE);
	record = submit(FILE_A, 1, AREA);
	REQUIRE(record != NULL);
	CHECK_EQUAL(record->head.kind, SUBMIT_RECORD_BATCH);
	CHECK_EQUAL(record->head.flags, 0);
	CHECK_EQUAL(record->head.tid, gettid());
	CHECK_EQUAL(record->head.tgid, getpid());
	CHECK(record->enter_ns && record->enter_ns <= record->head.time_ns);
	CHECK_EQUAL(record->status, BATCH_DONE);
	CHECK_EQUAL(record->queue, 1);
	CHECK_EQUAL(record->batches, 1);
	CHECK_EQUAL(record->found_count, 2);
	CHECK_EQUAL(record->found[0].address, BASE + 0x40);
	CHECK_EQUAL(record->found[0].count, 2);
	CHECK_EQUAL(record->found[1].address, BASE + 0x80);
	CHECK_EQUAL(record->found[1].kind, BATCH_COMPUTE);
	CHECK(record->frames_count > 0);
	CHECK(record->user_stack != 0);
	munmap(page, PAGE);
	end();
}

/* What a context has set stays, for its queue and no other. */
TEST(bases_are_a_queues)
{
	uint32_t *page = make_buffer(2 * PAGE), *at = page + PAGE / 4;
	const struct submit_record *record;

	begin();
	make_queue(FILE_A, 1, 2);
	put_batch(page, 0x40);
	*put_walker(at, 0x80) = 0x05000000;
	map_buffer(FILE_A, 7, page);
	bind(FILE_A, 1, 7, 0, AREA, 2 * PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA + PAGE)), 0x80);
	record = submit(FILE_A, 2, AREA + PAGE);
	REQUIRE(record != NULL);
	CHECK_EQUAL(record->found[0].flags, BATCH_IS_RELATIVE);
	make_queue(FILE_A, 1, 1); /* another one of the same number */
	record = submit(FILE_A, 1, AREA + PAGE);
	REQUIRE(record != NULL);
	CHECK_EQUAL(record->found[0].flags, BATCH_IS_RELATIVE);
	munmap(page, 2 * PAGE);
	end();
}

TEST(what_is_bound_over_is_not_there)
{
	char *first = make_buffer(4 * PAGE), *second = make_buffer(PAGE);

	begin();
	for (uint32_t i = 0; i < 4; i++)
		put_batch(first + i * PAGE, 0x40 * (i + 1));
	put_batch(second, 0x1000);
	map_buffer(FILE_A, 1, first);
	map_buffer(FILE_A, 2, second);
	bind(FILE_A, 1, 1, 0, AREA, 4 * PAGE);
	bind(FILE_A, 1, 2, 0, AREA + PAGE, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA + PAGE)), 0x1000);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA + 2 * PAGE)), 0xc0);
	unbound_count = 0;
	bind(FILE_A, 1, 0, 0, AREA + 2 * PAGE, PAGE);
	take_records();
	REQUIRE(unbound_count == 1);
	CHECK_EQUAL(unbounds[0].begin, AREA + 2 * PAGE);
	CHECK_EQUAL(unbounds[0].end, AREA + 3 * PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA + 2 * PAGE)), 0);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA + 3 * PAGE)), 0x100);
	munmap(first, 4 * PAGE);
	munmap(second, PAGE);
	end();
}

TEST(user_pointers_and_all_of_an_object)
{
	char *mine = NULL, *page = make_buffer(PAGE);
	struct xe_vm_bind_op operation = {.op = XE_BIND_MAP_USERPTR, .addr = AREA, .range = PAGE};

	begin();
	REQUIRE(posix_memalign((void **)&mine, PAGE, PAGE) == 0);
	put_batch(mine, 0x40);
	operation.userptr = (uintptr_t)mine;
	bind_one(FILE_A, 1, &operation);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	put_batch(page, 0x80);
	map_buffer(FILE_A, 3, page);
	bind(FILE_A, 1, 3, 0, AREA + PAGE, PAGE);
	bind(FILE_A, 1, 3, 0, AREA + (1 << 30), PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA + (1 << 30))), 0x80);
	operation = (struct xe_vm_bind_op){.op = XE_BIND_UNMAP_ALL, .obj = 3};
	bind_one(FILE_A, 1, &operation);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA + PAGE)), 0);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA + (1 << 30))), 0);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	bind(FILE_A, 1, 3, 0, AREA + PAGE, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA + PAGE)), 0x80);
	free(mine);
	munmap(page, PAGE);
	end();
}

TEST(vectors_of_binds)
{
	char *page = make_buffer(3 * PAGE);
	struct xe_vm_bind_op operations[4];
	const struct xe_vm_bind arguments = {
		.vm_id = 1, .num_binds = 4, .vector_of_binds = (uintptr_t)operations};

	begin();
	for (uint32_t i = 0; i < 3; i++) {
		put_batch(page + i * PAGE, 0x40 * (i + 1));
		operations[i] = bind_op(5, i * PAGE, AREA + 0x10000 * i, PAGE);
	}
	operations[3] = bind_op(0, 0, AREA + 0x10000, PAGE);
	map_buffer(FILE_A, 5, page);
	call_of(FILE_A, SUBMIT_XE_VM_BIND, &arguments);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA + 0x10000)), 0);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA + 0x20000)), 0xc0);
	munmap(page, 3 * PAGE);
	end();
}

/* Numbers that are given anew are never their former owners'. */
TEST(numbers_that_are_used_again)
{
	const struct xe_vm_destroy vm = {.vm_id = 1};
	const uint32_t handle = 7;
	char *page = make_buffer(PAGE);

	begin();
	put_batch(page, 0x40);
	map_buffer(FILE_A, 7, page);
	bind(FILE_A, 1, 7, 0, AREA, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);

	/* the handle: what is bound stays bound, and a new buffer is not mapped anywhere */
	call_of(FILE_A, SUBMIT_GEM_CLOSE, &handle);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	bind(FILE_A, 1, 7, 0, AREA, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0);

	/* the address space */
	map_buffer(FILE_A, 7, page);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	call_of(FILE_A, SUBMIT_XE_VM_DESTROY, &vm);
	make_vm(FILE_A, 1);
	make_queue(FILE_A, 1, 1);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0);

	/* the file */
	bind(FILE_A, 1, 7, 0, AREA, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	end();
	make_vm(FILE_A, 1);
	make_queue(FILE_A, 1, 1);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0);
	bind(FILE_A, 1, 7, 0, AREA, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0);
	munmap(page, PAGE);
	end();
}

TEST(files_have_their_own)
{
	char *first = make_buffer(PAGE), *second = make_buffer(PAGE);

	begin();
	make_vm(FILE_B, 1);
	make_queue(FILE_B, 1, 1);
	put_batch(first, 0x40);
	put_batch(second, 0x80);
	map_buffer(FILE_A, 1, first);
	map_buffer(FILE_B, 1, second);
	bind(FILE_A, 1, 1, 0, AREA, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_B, 1, AREA)), 0);
	bind(FILE_B, 1, 1, 0, AREA, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	CHECK_EQUAL(kernel_of(submit(FILE_B, 1, AREA)), 0x80);
	munmap(first, PAGE);
	munmap(second, PAGE);
	end();
}

/* What lies at the address where a buffer was mapped is not the buffer. */
TEST(what_was_unmapped_is_not_read)
{
	char *page = make_buffer(PAGE), *other;

	begin();
	put_batch(page, 0x40);
	map_buffer(FILE_A, 1, page);
	bind(FILE_A, 1, 1, 0, AREA, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	other = mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		     -1, 0);
	REQUIRE(other == page);
	put_batch(other, 0x80);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0);
	munmap(page, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0);
	end();
}

TEST(what_is_not_there_yet_is_tried_again)
{
	char *page = make_buffer(PAGE);
	const struct submit_record *record;
	uint64_t number;

	begin();
	map_buffer(FILE_A, 1, page);
	bind(FILE_A, 1, 1, 0, AREA, PAGE);
	record = submit(FILE_A, 1, AREA);
	REQUIRE(record != NULL);
	CHECK_EQUAL(record->head.flags, SUBMIT_IS_OPEN);
	CHECK_EQUAL(record->status, BATCH_INCOMPLETE);
	number = record->number;
	put_batch(page, 0x40);
	record = look_again();
	REQUIRE(record != NULL);
	CHECK_EQUAL(record->head.kind, SUBMIT_RECORD_MORE);
	CHECK_EQUAL(record->number, number);
	CHECK_EQUAL(record->head.flags, 0);
	CHECK_EQUAL(kernel_of(record), 0x40);
	CHECK(look_again() == NULL);
	munmap(page, PAGE);
	end();
}

TEST(what_never_comes_is_given_up)
{
	const struct submit_record *record;
	int tries = 0;

	begin();
	record = submit(FILE_A, 1, AREA);
	while (record && (record->head.flags & SUBMIT_IS_OPEN) && tries < 10) {
		record = look_again();
		tries++;
	}
	REQUIRE(record != NULL);
	CHECK_EQUAL(record->status, BATCH_INCOMPLETE);
	CHECK_EQUAL(tries, 4);
	CHECK(look_again() == NULL);
	end();
}

TEST(several_batches_in_a_call)
{
	char *page = make_buffer(2 * PAGE);
	const uint64_t addresses[] = {AREA, AREA + PAGE};
	const struct xe_exec arguments = {
		.exec_queue_id = 1, .address = (uintptr_t)addresses, .num_batch_buffer = 2};

	begin();
	put_batch(page, 0x40);
	put_batch(page + PAGE, 0x80);
	map_buffer(FILE_A, 1, page);
	bind(FILE_A, 1, 1, 0, AREA, 2 * PAGE);
	call_of(FILE_A, SUBMIT_EXEC, &arguments);
	take_records();
	CHECK_EQUAL(records_count, 1);
	CHECK_EQUAL(records[0].batches, 2);
	CHECK_EQUAL(records[0].found_count, 2);
	CHECK_EQUAL(records[0].found[1].address, BASE + 0x80);
	CHECK_EQUAL(records[0].status, BATCH_DONE);
	munmap(page, 2 * PAGE);
	end();
}

TEST(what_the_driver_refuses_is_none)
{
	const struct xe_exec arguments = {
		.exec_queue_id = 1, .address = AREA, .num_batch_buffer = 1};
	const struct xe_exec waits = {.exec_queue_id = 1};

	begin();
	run((struct submit_request){.file = FILE_A,
				    .call = SUBMIT_EXEC,
				    .data = (uintptr_t)&arguments,
				    .result = -EINVAL});
	call_of(FILE_A, SUBMIT_EXEC, &waits);
	take_records();
	CHECK_EQUAL(records_count, 0);
	end();
}

/* AddressSanitizer puts frames elsewhere with each call, so that pointers to them on the stack are
 * others. */
#ifdef __SANITIZE_ADDRESS__
enum { IS_SAME_STACK = 0 };
#else
enum { IS_SAME_STACK = 1 };
#endif

TEST(stacks_are_told_once)
{
	const struct xe_exec arguments = {
		.exec_queue_id = 1, .address = AREA, .num_batch_buffer = 1};

	begin();
	stacks_count = 0;
	for (int i = 0; i < 10; i++)
		call_of(FILE_A, SUBMIT_EXEC, &arguments);
	take_records();
	REQUIRE(records_count == 10);
	CHECK(stacks_count >= 1 && stacks_count <= (IS_SAME_STACK ? 1 : 10));
	for (int i = 0; i < 10; i++)
		CHECK(!IS_SAME_STACK || records[i].user_stack == records[0].user_stack);
	end();
}

/* ---- a model --------------------------------------------------------------------------------- */

enum { SPARSE = 16, OBJECTS = 4, MODEL_PAGES = 3 << 14 };

/* Across borders of buckets of all levels. Pages of what is large are filled sparsely. */
#define MODEL_BEGIN (UINT64_C(0x80000000) - (UINT64_C(1) << 26))

static const uint32_t object_pages[OBJECTS] = {4, 64, 800, 20000};
static char *objects[OBJECTS];
static uint32_t model[MODEL_PAGES]; /* object << 16 | page, and 1 << 31; 0: nothing */

static uint64_t random_number(void)
{
	static uint64_t value = 88172645463325252;

	value ^= value << 13;
	value ^= value >> 7;
	value ^= value << 17;
	return value;
}

static bool is_filled(uint32_t index, uint32_t page)
{
	return object_pages[index] <= 64 || page % SPARSE == 0;
}

static uint32_t kernel_at(uint32_t index, uint32_t page)
{
	return (index << 16 | page) * 0x40 + 0x40;
}

static void change(void)
{
	const uint32_t index = (uint32_t)(random_number() % (OBJECTS + 1));
	const uint32_t most = object_pages[index % OBJECTS];
	const uint32_t first = (uint32_t)(random_number() % most);
	const uint32_t pages = 1 + (uint32_t)(random_number() % (most - first));
	const uint32_t at = (uint32_t)(random_number() % (MODEL_PAGES - pages));

	for (uint32_t i = 0; i < pages; i++)
		model[at + i] = index < OBJECTS ? 1u << 31 | index << 16 | (first + i) : 0;
	bind(FILE_A, 1, index < OBJECTS ? index + 1 : 0, (uint64_t)first * PAGE,
	     MODEL_BEGIN + (uint64_t)at * PAGE, (uint64_t)pages * PAGE);
}

/* How many of some pages are not what they should be; unknown ones may have found no room. */
static uint32_t look(uint32_t *inout_known, uint32_t *inout_unknown)
{
	uint32_t wrong = 0;

	for (int i = 0; i < LOOKS; i++) {
		const uint32_t page = (uint32_t)(random_number() % MODEL_PAGES);
		const uint32_t is = model[page], index = is >> 16 & 0xff;
		uint64_t got;

		if (is && !is_filled(index, is & 0xffff))
			continue;
		got = kernel_of(submit(FILE_A, 1, MODEL_BEGIN + (uint64_t)page * PAGE));
		if (is && got == kernel_at(index, is & 0xffff))
			++*inout_known;
		else if (is && !got)
			++*inout_unknown;
		else if (got)
			wrong++;
	}
	return wrong;
}

TEST(random_binds)
{
	const uint64_t lost = counted(SUBMIT_COUNT_BINDINGS);
	uint32_t wrong = 0, known = 0, unknown = 0;

	begin();
	for (uint32_t i = 0; i < OBJECTS; i++) {
		objects[i] = make_buffer((size_t)object_pages[i] * PAGE);
		REQUIRE(objects[i] != NULL);
		for (uint32_t page = 0; page < object_pages[i]; page++)
			if (is_filled(i, page))
				put_batch(objects[i] + (size_t)page * PAGE, kernel_at(i, page));
		map_buffer(FILE_A, i + 1, objects[i]);
	}
	for (int i = 0; i < RANDOM_STEPS; i++) {
		change();
		wrong += look(&known, &unknown);
	}
	CHECK_EQUAL(wrong, 0);
	CHECK(known > RANDOM_STEPS / 4);
	if (counted(SUBMIT_COUNT_BINDINGS) == lost)
		CHECK_EQUAL(unknown, 0);
	printf("# %d binds: %u pages known, %u not; %llu without room\n", RANDOM_STEPS, known,
	       unknown, (long long)(counted(SUBMIT_COUNT_BINDINGS) - lost));
	for (uint32_t i = 0; i < OBJECTS; i++)
		munmap(objects[i], (size_t)object_pages[i] * PAGE);
	end();
}

/* ---- cost ------------------------------------------------------------------------------------ */

/* Of the program, by the kernel's own count. */
static uint64_t spent_ns(void)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	return bpf_obj_get_info_by_fd(program, &info, &size) ? 0 : info.run_time_ns;
}

/* The least that one took. */
static uint64_t least_ns(uint64_t address)
{
	const struct xe_exec arguments = {
		.exec_queue_id = 1, .address = address, .num_batch_buffer = 1};
	uint64_t before, took, least = UINT64_MAX;

	for (int i = 0; i < COST_RUNS; i++) {
		before = spent_ns();
		call_of(FILE_A, SUBMIT_EXEC, &arguments);
		took = spent_ns() - before;
		least = took < least ? took : least;
		if (i % 256 == 0)
			take_records();
	}
	submit(FILE_A, 1, address);
	return least;
}

/* Says what a submission costs, with both stacks; asserts nothing of it, for the machine may be
 * busy. */
TEST(cost)
{
	const int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	char *page = make_buffer(2 * PAGE);
	uint32_t *at = (uint32_t *)(page + PAGE);
	uint64_t one_ns, many_ns;

	begin();
	put_batch(page, 0x40);
	at = put_base(at);
	for (uint32_t i = 0; i < 16; i++)
		at = put_walker(at, 0x40 * i);
	*at = 0x05000000;
	map_buffer(FILE_A, 1, page);
	bind(FILE_A, 1, 1, 0, AREA, 2 * PAGE);
	one_ns = least_ns(AREA);
	many_ns = least_ns(AREA + PAGE);
	CHECK_EQUAL(records[records_count - 1].found_count, 16);
	printf("# a submission with both stacks: %llu ns with 1 kernel, %llu ns with 16 (least of "
	       "%d)\n",
	       (long long)one_ns, (long long)many_ns, COST_RUNS);
	munmap(page, 2 * PAGE);
	if (stats >= 0)
		close(stats);
	end();
}

TEST(names_of_drivers)
{
	CHECK_EQUAL(is_name_of(SUBMIT_NAME, "xe"), 1);
	CHECK_EQUAL(is_name_of(SUBMIT_NAME, "xendrm-du"), 0);
	CHECK_EQUAL(is_name_of(SUBMIT_NAME, "xe2"), 0);
	CHECK_EQUAL(is_name_of(SUBMIT_NAME, "x"), 0);
	CHECK_EQUAL(is_name_of(SUBMIT_NAME, ""), 0);
	CHECK_EQUAL(is_name_of(SUBMIT_NAME, "i915"), 0);
}

int main(int argc, char **argv)
{
	if (!begin_tests(argc > 1 ? argv[1] : ""))
		return error != 0;
	RUN(a_batch_and_its_kernels);
	RUN(bases_are_a_queues);
	RUN(what_is_bound_over_is_not_there);
	RUN(user_pointers_and_all_of_an_object);
	RUN(vectors_of_binds);
	RUN(numbers_that_are_used_again);
	RUN(files_have_their_own);
	RUN(what_was_unmapped_is_not_read);
	RUN(what_is_not_there_yet_is_tried_again);
	RUN(what_never_comes_is_given_up);
	RUN(several_batches_in_a_call);
	RUN(what_the_driver_refuses_is_none);
	RUN(stacks_are_told_once);
	RUN(random_binds);
	RUN(cost);
	RUN(names_of_drivers);
	return end_tests();
}
