/* SPDX-License-Identifier: MIT
 *
 * tests/unit/bpf/test_submit_ends.c - what ends, is forgotten or was missed: in calls of the driver
 * xe that nobody made
 *
 *	test_bpf_submit_ends xe.bpf.o
 */
#include "xe_calls.h"

#include <time.h>

enum { BINDS = 1024, OBJECTS = 8300, OPENS = 4, TOO_MANY = 20 };

static void call_seen(uint64_t file, uint32_t what, const void *arguments, uint32_t seen,
		      int32_t result)
{
	run((struct submit_request){.file = file,
				    .call = what,
				    .data = (uintptr_t)arguments,
				    .seen = seen,
				    .result = result});
}

/* A buffer of some batches, mapped as an object; each names the kernel 0x40 times its place from 1
 * on. */
static char *make_batches(uint32_t handle, uint32_t pages)
{
	char *bytes = make_buffer((size_t)pages * PAGE);

	for (uint32_t i = 0; i < pages; i++)
		put_batch(bytes + (size_t)i * PAGE, 0x40 * (i + 1));
	map_buffer(FILE_A, handle, bytes);
	return bytes;
}

static void unbind_all_of(uint32_t handle)
{
	const struct xe_vm_bind_op operation = {.op = XE_BIND_UNMAP_ALL, .obj = handle};

	bind_one(FILE_A, 1, &operation);
}

static bool has_unbound(uint64_t begin, uint64_t end)
{
	for (size_t i = 0; i < unbound_count; i++)
		if (unbounds[i].begin == begin && unbounds[i].end == end)
			return true;
	return false;
}

static uint64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- open batches ---------------------------------------------------------------------------- */

static uint64_t submit_open(uint32_t page)
{
	const struct submit_record *record = submit(FILE_A, 1, AREA + (uint64_t)page * PAGE);

	while (record && record < &records[records_count - 1])
		record++; /* the first ones are of those that were open */
	return record && (record->head.flags & SUBMIT_IS_OPEN) &&
			       record->head.kind == SUBMIT_RECORD_BATCH
		       ? record->number
		       : 0;
}

TEST(open_batches_are_kept_apart)
{
	char *pages = make_buffer(2 * PAGE);
	uint64_t numbers[2];
	uint32_t found = 0;

	begin();
	map_buffer(FILE_A, 1, pages);
	bind(FILE_A, 1, 1, 0, AREA, 2 * PAGE);
	numbers[0] = submit_open(0);
	numbers[1] = submit_open(1);
	CHECK(numbers[0] && numbers[1] && numbers[0] != numbers[1]);
	put_batch(pages, 0x40);
	put_batch(pages + PAGE, 0x80);
	look_again();
	CHECK_EQUAL(records_count, 2);
	for (size_t i = 0; i < records_count; i++) {
		CHECK_EQUAL(records[i].head.kind, SUBMIT_RECORD_MORE);
		found += records[i].number == numbers[0] && kernel_of(&records[i]) == 0x40;
		found += records[i].number == numbers[1] && kernel_of(&records[i]) == 0x80;
	}
	CHECK_EQUAL(found, 2);
	CHECK_EQUAL(dropped_count, 0);
	munmap(pages, 2 * PAGE);
	end();
}

static const struct submit_record *submit_last(uint64_t address)
{
	const struct submit_record *record = submit(FILE_A, 1, address);

	return record ? &records[records_count - 1] : NULL;
}

/* A is read when it has been written, behind B: what B has set holds. What nobody has set since is
 * A's. */
TEST(bases_are_those_of_the_later_batch)
{
	char *pages = make_buffer(3 * PAGE);
	uint32_t *first = (uint32_t *)pages;

	for (int sets = 0; sets < 3; sets++) {
		const bool has_later = sets < 2;

		memset(pages, 0, 3 * PAGE);
		begin();
		map_buffer(FILE_A, 1, pages);
		bind(FILE_A, 1, 1, 0, AREA, 3 * PAGE);
		CHECK(submit_open(0) != 0);
		*put_walker((uint32_t *)(pages + 2 * PAGE), 0x80) = 0x05000000;
		if (has_later)
			put_batch(pages + PAGE, 0x40);
		else
			*put_walker((uint32_t *)(pages + PAGE), 0x40) = 0x05000000;
		CHECK_EQUAL(kernel_of(submit_last(AREA + PAGE)), has_later ? 0x40 : 0);
		if (sets) {
			*put_walker(put_base(first), 0xc0) = 0x05000000;
			first[10] += 0x10000000;
		} else {
			*put_walker(first, 0xc0) = 0x05000000;
		}
		CHECK(look_again() != NULL);
		CHECK_EQUAL(kernel_of(submit_last(AREA + 2 * PAGE)), has_later ? 0x80 : 0x10000080);
		end();
	}
	munmap(pages, 3 * PAGE);
}

TEST(one_too_many_is_told)
{
	uint64_t first;

	begin();
	first = submit_open(0);
	for (uint32_t i = 1; i < OPENS; i++)
		CHECK(submit_open(i) != 0);
	CHECK_EQUAL(dropped_count, 0);
	CHECK(submit_open(OPENS) != 0);
	CHECK_EQUAL(dropped_count, 1);
	CHECK_EQUAL(last_dropped, first);
	end();
}

TEST(a_process_that_ends)
{
	const uint32_t nothing = 0;

	begin();
	CHECK(submit_open(0) && submit_open(1));
	take_records();
	call_of(FILE_A, SUBMIT_EXIT, &nothing);
	call_of(FILE_A, SUBMIT_EXIT, &nothing);
	ring_buffer__consume(ring);
	CHECK_EQUAL(dropped_count, 2);
	CHECK_EQUAL(exit_count, 1);
	CHECK_EQUAL(last_exit.head.tgid, getpid());
	CHECK(last_exit.start_ns != 0);
	CHECK(look_again() == NULL);
	end();
}

/* Where the program had their addresses is something else by then. */
TEST(further_batches_are_those_of_the_call)
{
	char *pages = make_buffer(3 * PAGE);
	uint64_t addresses[] = {AREA, AREA + PAGE};
	const struct xe_exec arguments = {
		.exec_queue_id = 1, .address = (uintptr_t)addresses, .num_batch_buffer = 2};

	begin();
	put_batch(pages + PAGE, 0x80);
	put_batch(pages + 2 * PAGE, 0xc0);
	map_buffer(FILE_A, 1, pages);
	bind(FILE_A, 1, 1, 0, AREA, 3 * PAGE);
	call_of(FILE_A, SUBMIT_EXEC, &arguments);
	take_records();
	CHECK(records_count == 1 && records[0].head.flags == SUBMIT_IS_OPEN);
	put_batch(pages, 0x40);
	addresses[1] = AREA + 2 * PAGE;
	look_again();
	REQUIRE(records_count == 1);
	CHECK_EQUAL(records[0].status, BATCH_DONE);
	REQUIRE(records[0].found_count == 2);
	CHECK_EQUAL(records[0].found[0].address, BASE + 0x40);
	CHECK_EQUAL(records[0].found[1].address, BASE + 0x80);
	munmap(pages, 3 * PAGE);
	end();
}

TEST(more_batches_than_are_kept)
{
	char *pages = make_batches(1, TOO_MANY);
	uint64_t addresses[TOO_MANY];
	const struct xe_exec arguments = {
		.exec_queue_id = 1, .address = (uintptr_t)addresses, .num_batch_buffer = TOO_MANY};

	begin();
	map_buffer(FILE_A, 1, pages);
	bind(FILE_A, 1, 1, 0, AREA, TOO_MANY * PAGE);
	for (uint32_t i = 0; i < TOO_MANY; i++)
		addresses[i] = AREA + (uint64_t)i * PAGE;
	call_of(FILE_A, SUBMIT_EXEC, &arguments);
	take_records();
	REQUIRE(records_count == 1);
	CHECK_EQUAL(records[0].head.flags, SUBMIT_HAS_MORE);
	CHECK_EQUAL(records[0].batches, TOO_MANY);
	CHECK_EQUAL(records[0].found_count, MAX_SUBMIT_BATCHES + 1);
	munmap(pages, TOO_MANY * PAGE);
	end();
}

/* ---- what was missed ------------------------------------------------------------------------- */

TEST(a_bind_whose_end_was_missed)
{
	char *pages = make_batches(1, 2);
	const struct xe_vm_bind missed = {
		.vm_id = 1, .num_binds = 1, .bind = bind_op(0, 0, AREA, PAGE)};
	const uint64_t before = counted(SUBMIT_COUNT_MISSED);

	begin();
	map_buffer(FILE_A, 1, pages);
	bind(FILE_A, 1, 1, 0, AREA, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	call_seen(FILE_A, SUBMIT_XE_VM_BIND, &missed, SUBMIT_SEEN_BEGIN, 0);
	CHECK_EQUAL(counted(SUBMIT_COUNT_MISSED), before);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0);
	CHECK_EQUAL(counted(SUBMIT_COUNT_MISSED), before + 1);
	CHECK(has_unbound(0, 0));
	bind(FILE_A, 1, 1, 0, AREA, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	munmap(pages, 2 * PAGE);
	end();
}

/* Arguments in the program's memory that are not there yet: a page of it that is protected stands
 * for one. */
TEST(a_bind_that_could_not_be_read)
{
	char *pages = make_batches(1, 2);
	struct xe_vm_bind *later =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	begin();
	map_buffer(FILE_A, 1, pages);
	make_vm(FILE_B, 1);
	make_queue(FILE_B, 1, 1);
	map_buffer(FILE_B, 1, pages);
	bind(FILE_B, 1, 1, 0, AREA, PAGE);
	REQUIRE(later != MAP_FAILED);
	for (int is_there = 1; is_there >= 0; is_there--) {
		bind(FILE_A, 1, 1, 0, AREA, PAGE);
		CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
		*later = (struct xe_vm_bind){
			.vm_id = 1, .num_binds = 1, .bind = bind_op(1, PAGE, AREA, PAGE)};
		CHECK_EQUAL(mprotect(later, PAGE, PROT_NONE), 0);
		call_seen(FILE_A, SUBMIT_XE_VM_BIND, later, SUBMIT_SEEN_BEGIN, 0);
		CHECK_EQUAL(is_there ? mprotect(later, PAGE, PROT_READ | PROT_WRITE) : 0, 0);
		call_seen(FILE_A, SUBMIT_XE_VM_BIND, later, SUBMIT_SEEN_END, 0);
		CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), is_there ? 0x80 : 0);
		CHECK_EQUAL(kernel_of(submit(FILE_B, 1, AREA)), 0x40);
	}
	munmap(later, PAGE);
	munmap(pages, 2 * PAGE);
	end();
}

/* … of which nothing is told, are missing: the driver's answer is not known. */
TEST(submissions_that_were_missed)
{
	const struct xe_exec arguments = {
		.exec_queue_id = 1, .address = AREA, .num_batch_buffer = 1};
	const uint64_t before = counted(SUBMIT_COUNT_CALLS);

	begin();
	call_seen(FILE_A, SUBMIT_EXEC, &arguments, SUBMIT_SEEN_BEGIN, 0);
	CHECK_EQUAL(counted(SUBMIT_COUNT_CALLS), before);
	CHECK(submit(FILE_A, 1, AREA) != NULL);
	CHECK_EQUAL(counted(SUBMIT_COUNT_CALLS), before + 1);
	call_seen(FILE_A, SUBMIT_EXEC, &arguments, SUBMIT_SEEN_END, 0);
	CHECK_EQUAL(counted(SUBMIT_COUNT_CALLS), before + 2);
	CHECK(submit(FILE_A, 1, AREA) != NULL);
	CHECK_EQUAL(counted(SUBMIT_COUNT_CALLS), before + 2);
	end();
}

TEST(a_bind_whose_begin_was_missed)
{
	char *pages = make_batches(1, 1);
	const struct xe_vm_bind missed = {
		.vm_id = 1, .num_binds = 1, .bind = bind_op(0, 0, AREA, PAGE)};
	const uint64_t before = counted(SUBMIT_COUNT_MISSED);
	uint64_t number;

	begin();
	make_vm(FILE_A, 2);
	make_queue(FILE_A, 2, 2);
	make_vm(FILE_B, 1);
	make_queue(FILE_B, 1, 1);
	map_buffer(FILE_A, 1, pages);
	map_buffer(FILE_B, 1, pages);
	bind(FILE_A, 2, 1, 0, AREA, PAGE);
	bind(FILE_B, 1, 1, 0, AREA, PAGE);
	bind(FILE_A, 1, 1, 0, AREA, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	number = records[0].vm;
	call_seen(FILE_A, SUBMIT_XE_VM_BIND, &missed, SUBMIT_SEEN_END, -EINVAL);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	take_records();
	call_seen(FILE_A, SUBMIT_XE_VM_BIND, &missed, SUBMIT_SEEN_END, 0);
	ring_buffer__consume(ring);
	CHECK(unbound_count == 1 && has_unbound(0, 0) && unbounds[0].vm == number);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0);
	CHECK_EQUAL(counted(SUBMIT_COUNT_MISSED), before + 1);
	CHECK(records_count == 1 && records[0].vm != number);
	/* no other one */
	CHECK_EQUAL(kernel_of(submit(FILE_A, 2, AREA)), 0x40);
	CHECK_EQUAL(kernel_of(submit(FILE_B, 1, AREA)), 0x40);
	bind(FILE_A, 1, 1, 0, AREA, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	/* … but of one whose argument cannot be read: all that are its file's */
	call_seen(FILE_A, SUBMIT_XE_VM_BIND, NULL, SUBMIT_SEEN_END, 0);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 2, AREA)), 0);
	CHECK_EQUAL(kernel_of(submit(FILE_B, 1, AREA)), 0x40);
	munmap(pages, PAGE);
	end();
}

/* The driver keeps a space whose queues run on. */
TEST(a_space_that_is_not_destroyed)
{
	const struct xe_vm_destroy vm = {.vm_id = 1};
	char *pages = make_batches(1, 1);
	uint64_t number;

	begin();
	map_buffer(FILE_A, 1, pages);
	bind(FILE_A, 1, 1, 0, AREA, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	number = records[0].vm;
	take_records();
	call_seen(FILE_A, SUBMIT_XE_VM_DESTROY, &vm, SUBMIT_SEEN, -EBUSY);
	ring_buffer__consume(ring);
	CHECK_EQUAL(unbound_count, 0);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	CHECK_EQUAL(records[0].vm, number);
	call_seen(FILE_A, SUBMIT_XE_VM_DESTROY, &vm, SUBMIT_SEEN, 0);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0);
	REQUIRE(records_count == 1);
	CHECK(records[0].head.flags & SUBMIT_NO_VM);
	munmap(pages, PAGE);
	end();
}

/* ---- what is unbound ------------------------------------------------------------------------- */

TEST(what_ends_is_told)
{
	char *first = make_batches(1, 4), *second = make_batches(2, 1);
	const uint32_t nothing = 0;

	begin();
	map_buffer(FILE_A, 1, first);
	map_buffer(FILE_A, 2, second);
	take_records();
	bind(FILE_A, 1, 1, 0, AREA, 2 * PAGE);
	bind(FILE_A, 1, 1, 2 * PAGE, AREA + (1 << 30), 2 * PAGE);
	ring_buffer__consume(ring);
	CHECK_EQUAL(unbound_count, 0); /* nothing was there */
	bind(FILE_A, 1, 2, 0, AREA + PAGE, PAGE);
	ring_buffer__consume(ring);
	CHECK_EQUAL(unbound_count, 1);
	CHECK(has_unbound(AREA + PAGE, AREA + 2 * PAGE));
	take_records();
	unbind_all_of(1);
	unbind_all_of(77);
	ring_buffer__consume(ring);
	CHECK_EQUAL(unbound_count, 2);
	CHECK(has_unbound(AREA, AREA + PAGE));
	CHECK(has_unbound(AREA + (1 << 30), AREA + (1 << 30) + 2 * PAGE));
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA + PAGE)), 0x40);
	take_records();
	call_of(FILE_A, SUBMIT_FILE_CLOSE, &nothing);
	ring_buffer__consume(ring);
	CHECK_EQUAL(unbound_count, 1);
	CHECK(has_unbound(0, 0));
	munmap(first, 4 * PAGE);
	munmap(second, PAGE);
	end();
}

/* Whatever one program does, others are seen. */
TEST(nobody_blinds_another)
{
	const uint64_t void_before = counted(SUBMIT_COUNT_VOIDED);
	char *pages = make_batches(1, 1);

	begin();
	make_vm(FILE_B, 1);
	make_queue(FILE_B, 1, 1);
	map_buffer(FILE_B, 1, pages);
	bind(FILE_B, 1, 1, 0, AREA, PAGE);
	map_buffer(FILE_A, 1, pages);
	bind(FILE_A, 1, 1, 0, AREA, PAGE);
	for (uint32_t handle = 2; handle < OBJECTS; handle++)
		unbind_all_of(handle);
	CHECK_EQUAL(kernel_of(submit(FILE_B, 1, AREA)), 0x40);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	CHECK_EQUAL(counted(SUBMIT_COUNT_VOIDED), void_before);
	munmap(pages, PAGE);
	end();
}

/* ---- how much a call may cost ---------------------------------------------------------------- */

static struct xe_vm_bind_op operations[BINDS];

static uint64_t bind_many(uint32_t count)
{
	const struct xe_vm_bind arguments = {
		.vm_id = 1, .num_binds = count, .vector_of_binds = (uintptr_t)operations};
	const uint64_t before = counted(SUBMIT_COUNT_VOIDED);

	call_of(FILE_A, SUBMIT_XE_VM_BIND, &arguments);
	take_records();
	return counted(SUBMIT_COUNT_VOIDED) - before;
}

TEST(many_binds_are_followed)
{
	char *pages = make_batches(1, BINDS);

	begin();
	map_buffer(FILE_A, 1, pages);
	for (uint32_t i = 0; i < BINDS; i++)
		operations[i] = bind_op(1, (uint64_t)i * PAGE, AREA + ((uint64_t)i << 21), PAGE);
	CHECK_EQUAL(bind_many(BINDS), 0);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA + ((uint64_t)(BINDS - 1) << 21))),
		    0x40 * BINDS);
	/* all at once, as far as the address space is large */
	bind(FILE_A, 1, 0, 0, 0, UINT64_C(1) << 47);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0);
	CHECK_EQUAL(counted(SUBMIT_COUNT_BINDINGS), 0);
	munmap(pages, BINDS * PAGE);
	end();
}

/* Without an end of it each look through all that may be there would keep the processor for
 * seconds. */
TEST(a_call_has_an_end)
{
	char *pages = make_batches(1, 2);
	uint64_t began_ms;

	begin();
	map_buffer(FILE_A, 1, pages);
	bind(FILE_A, 1, 1, 0, AREA, PAGE);
	for (uint32_t i = 0; i < BINDS; i++)
		operations[i] = bind_op(0, 0, UINT64_C(1) << 40, UINT64_C(120) << 30);
	began_ms = milliseconds();
	CHECK_EQUAL(bind_many(BINDS), 1);
	printf("# %d unbinds of 120 GiB in a call: %llu ms\n", BINDS,
	       (long long)(milliseconds() - began_ms));
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0);
	bind(FILE_A, 1, 1, PAGE, AREA, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x80);
	munmap(pages, 2 * PAGE);
	end();
}

/* All of their operations are one page of the program's, mapped over and over. */
static struct xe_vm_bind_op *make_operations(size_t count, size_t *ret_bytes)
{
	const size_t bytes = PAGE * sizeof(struct xe_vm_bind_op);
	const int file = memfd_create("operations", 0);
	struct xe_vm_bind_op *all;

	*ret_bytes = (count * sizeof(*all) + bytes - 1) / bytes * bytes;
	all = mmap(NULL, *ret_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (file < 0 || ftruncate(file, (off_t)bytes) || all == MAP_FAILED)
		abort();
	for (size_t at = 0; at < *ret_bytes; at += bytes)
		if (mmap((char *)all + at, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED | MAP_POPULATE, file, 0) == MAP_FAILED)
			abort();
	close(file);
	for (int i = 0; i < PAGE; i++)
		all[i] =
			(struct xe_vm_bind_op){.op = 5, .addr = AREA, .range = PAGE}; /* prefetch */
	return all;
}

/* Operations that change nothing take time, too; and so many that the kernel's loop refuses them
 * are not none. */
TEST(what_changes_nothing_is_counted)
{
	static const uint32_t counts[] = {BINDS, 1 << 14, 1 << 20, (1 << 23) + 1};
	char *pages = make_batches(1, 1);
	size_t bytes;
	struct xe_vm_bind_op *all = make_operations(counts[3], &bytes);

	begin();
	map_buffer(FILE_A, 1, pages);
	for (size_t i = 0; i < 4; i++) {
		const struct xe_vm_bind arguments = {
			.vm_id = 1, .num_binds = counts[i], .vector_of_binds = (uintptr_t)all};
		const uint64_t before = counted(SUBMIT_COUNT_VOIDED);
		uint64_t began_ms;

		bind(FILE_A, 1, 1, 0, AREA, PAGE);
		began_ms = milliseconds();
		call_of(FILE_A, SUBMIT_XE_VM_BIND, &arguments);
		printf("# %u prefetches in a call: %llu ms\n", counts[i],
		       (long long)(milliseconds() - began_ms));
		CHECK_EQUAL(counted(SUBMIT_COUNT_VOIDED) - before, i > 1);
		CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), i > 1 ? 0 : 0x40);
	}
	munmap(all, bytes);
	munmap(pages, PAGE);
	end();
}

/* ---- what has no object ---------------------------------------------------------------------- */

static void bind_flags(uint32_t flags, uint64_t address, uint64_t bytes)
{
	const struct xe_vm_bind_op operation = {
		.op = XE_BIND_MAP, .flags = flags, .addr = address, .range = bytes};

	bind_one(FILE_A, 1, &operation);
}

TEST(binds_without_an_object)
{
	char *pages = make_batches(1, 1), *own = NULL;
	const uint64_t lost = counted(SUBMIT_COUNT_BINDINGS), voided = counted(SUBMIT_COUNT_VOIDED);

	begin();
	REQUIRE(posix_memalign((void **)&own, PAGE, 2 * PAGE) == 0);
	put_batch(own, 0x80);
	put_batch(own + PAGE, 0xc0);
	map_buffer(FILE_A, 1, pages);
	bind(FILE_A, 1, 1, 0, AREA, PAGE);
	bind_flags(XE_BIND_NULL, UINT64_C(1) << 41, UINT64_C(300) << 30);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0x40);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, (uintptr_t)own)), 0);
	/* all that the process has, at its own addresses; what is bound then lies within */
	bind_flags(XE_BIND_CPU_ADDR_MIRROR, 0, UINT64_C(1) << 47);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, AREA)), 0);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, (uintptr_t)own)), 0x80);
	bind(FILE_A, 1, 1, 0, (uintptr_t)own, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, (uintptr_t)own)), 0x40);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, (uintptr_t)own + PAGE)), 0xc0);
	/* … and that again, in its place */
	bind_flags(XE_BIND_CPU_ADDR_MIRROR, (uintptr_t)own, PAGE);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, (uintptr_t)own)), 0x80);
	bind(FILE_A, 1, 0, 0, 0, UINT64_C(1) << 47);
	CHECK_EQUAL(kernel_of(submit(FILE_A, 1, (uintptr_t)own + PAGE)), 0);
	CHECK_EQUAL(counted(SUBMIT_COUNT_BINDINGS), lost);
	CHECK_EQUAL(counted(SUBMIT_COUNT_VOIDED), voided);
	free(own);
	munmap(pages, PAGE);
	end();
}

int main(int argc, char **argv)
{
	if (!begin_tests(argc > 1 ? argv[1] : ""))
		return error != 0;
	RUN(open_batches_are_kept_apart);
	RUN(bases_are_those_of_the_later_batch);
	RUN(one_too_many_is_told);
	RUN(a_process_that_ends);
	RUN(further_batches_are_those_of_the_call);
	RUN(more_batches_than_are_kept);
	RUN(a_bind_whose_end_was_missed);
	RUN(a_bind_that_could_not_be_read);
	RUN(submissions_that_were_missed);
	RUN(a_bind_whose_begin_was_missed);
	RUN(a_space_that_is_not_destroyed);
	RUN(what_ends_is_told);
	RUN(nobody_blinds_another);
	RUN(many_binds_are_followed);
	RUN(a_call_has_an_end);
	RUN(what_changes_nothing_is_counted);
	RUN(binds_without_an_object);
	return end_tests();
}
