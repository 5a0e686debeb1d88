/* SPDX-License-Identifier: MIT
 *
 * tests/unit/bpf/made_up_calls.h - a program of ours inside the kernel is told of calls of a driver
 * that nobody made
 *
 * For one test each. Buffers are files in memory that this process has mapped; what a call would
 * have written is given. So binds, buffers and batches are looked at in the kernel, in real memory,
 * where there is no driver and no GPU.
 */
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "event/submit_record.h"
#include "harness.h"

enum {
	PAGE = 4096,
	BASE = 0x40000000, /* of instructions */
	MAX_RECORDS = 4096,
};
#define FILE_A UINT64_C(0x1000)
#define FILE_B UINT64_C(0x2000)
#define AREA   UINT64_C(0x100000000)

static struct bpf_object *object;
static int program, error;
static struct ring_buffer *ring;
static struct submit_record records[MAX_RECORDS];
static struct submit_unbound unbounds[MAX_RECORDS];
static struct submit_process last_exit;
static uint64_t last_dropped;
static size_t records_count, stacks_count, unbound_count, met_count, exit_count, dropped_count;

static inline void on_process(const struct submit_process *process)
{
	met_count += process->head.kind == SUBMIT_RECORD_MET;
	if (process->head.kind != SUBMIT_RECORD_EXIT)
		return;
	exit_count++;
	last_exit = *process;
}

static inline int on_record(void *context, void *data, size_t size)
{
	switch (((struct kernel_head *)data)->kind) {
	case SUBMIT_RECORD_MET:
	case SUBMIT_RECORD_EXIT:
		if (size == sizeof(struct submit_process))
			on_process(data);
		return 0;
	case SUBMIT_RECORD_UNBOUND:
		if (unbound_count < MAX_RECORDS)
			unbounds[unbound_count] = *(struct submit_unbound *)data;
		unbound_count++;
		return 0;
	case SUBMIT_RECORD_DROPPED:
		last_dropped = ((struct submit_dropped *)data)->number;
		dropped_count++;
		return 0;
	default:
		if (size == sizeof(struct kernel_stack))
			stacks_count++;
		else if (records_count < MAX_RECORDS)
			memcpy(&records[records_count++], data, size);
		return 0;
	}
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* What the program answers. */
static inline uint32_t run(struct submit_request request)
{
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &request, .ctx_size_in = sizeof(request));

	CHECK_EQUAL(bpf_prog_test_run_opts(program, &options), 0);
	return options.retval;
}

static inline uint32_t is_name_of(uint32_t what, const char *name)
{
	return run((struct submit_request){.call = what, .data = (uintptr_t)name});
}

static inline void call_of(uint64_t file, uint32_t what, const void *arguments)
{
	run((struct submit_request){.file = file, .call = what, .data = (uintptr_t)arguments});
}

static inline void take_records(void)
{
	records_count = unbound_count = dropped_count = exit_count = 0;
	ring_buffer__consume(ring);
}

static inline uint64_t counted(uint32_t key)
{
	const int map = bpf_object__find_map_fd_by_name(object, "counts");
	const int processors = libbpf_num_possible_cpus();
	uint64_t values[1024] = {0}, sum = 0;

	if (processors > 1024 || bpf_map_lookup_elem(map, &key, values))
		return 0;
	for (int i = 0; i < processors; i++)
		sum += values[i];
	return sum;
}

/* ---- buffers --------------------------------------------------------------------------------- */

static inline void *make_buffer(size_t bytes)
{
	const int file = memfd_create("buffer", 0);
	void *at = MAP_FAILED;

	if (file >= 0 && !ftruncate(file, (off_t)bytes))
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (at == MAP_FAILED)
		abort();
	close(file);
	return at;
}

static inline uint32_t *put_base(uint32_t *at)
{
	memset(at, 0, 22 * sizeof(*at));
	at[0] = 0x61010014;
	at[10] = BASE | 1;
	return at + 22;
}

static inline uint32_t *put_walker(uint32_t *at, uint32_t kernel)
{
	memset(at, 0, 40 * sizeof(*at));
	at[0] = 0x72080026;
	at[19] = kernel;
	return at + 40;
}

/* A batch that runs one kernel. */
static inline void put_batch(void *page, uint32_t kernel)
{
	uint32_t *at = put_walker(put_base(page), kernel);

	*at = 0x05000000;
}

/* One kernel of a record that is done; 0: it is not so. */
static inline uint64_t kernel_of(const struct submit_record *record)
{
	if (!record || record->status != BATCH_DONE || record->found_count != 1 ||
	    record->found[0].flags)
		return 0;
	return record->found[0].address - BASE;
}

/* ---- loading --------------------------------------------------------------------------------- */

static char reason[4096];

static inline int keep_reason(enum libbpf_print_level level, const char *format, va_list arguments)
{
	if (level == LIBBPF_WARN && !reason[0])
		vsnprintf(reason, sizeof(reason), format, arguments);
	return 0;
}

static inline void allow_stacks(void)
{
	const int map = bpf_object__find_map_fd_by_name(object, "allowance");
	const uint32_t first = 0;
	const int64_t many = INT64_MAX;

	bpf_map_update_elem(map, &first, &many, BPF_ANY);
}

/* Those that are wanted; the first one is *ret_first. */
static inline void choose(const char *const *names, struct bpf_program **ret_first)
{
	struct bpf_program *each;

	*ret_first = bpf_object__find_program_by_name(object, names[0]);
	bpf_object__for_each_program(each, object) bpf_program__set_autoload(each, false);
	for (size_t i = 0; names[i]; i++) {
		each = bpf_object__find_program_by_name(object, names[i]);
		if (each)
			bpf_program__set_autoload(each, true);
	}
}

/* 0, or -errno. */
static inline int load(const char *path, const char *const *names)
{
	struct bpf_program *found;
	const uint32_t minor = 0, generation = BATCH_XE2 + 1;

	libbpf_set_print(keep_reason);
	object = bpf_object__open_file(path, NULL);
	if (!object)
		return -errno;
	choose(names, &found);
	error = bpf_object__load(object);
	if (error || !found)
		return error ? error : -ENOENT;
	program = bpf_program__fd(found);
	bpf_map_update_elem(bpf_object__find_map_fd_by_name(object, "generations"), &minor,
			    &generation, BPF_ANY);
	allow_stacks();
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "records"), on_record, NULL,
				NULL);
	return ring ? 0 : -errno;
}

TEST(kernel_takes_the_program)
{
	CHECK_EQUAL(error, 0);
	if (error)
		printf("# %s\n", reason);
}

/* False: there is nothing more to be done; the first line of the test is written. */
static inline bool begin_tests_of(const char *path, const char *const *names)
{
	const int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, 4, 4, 1, NULL);

	if (map < 0) {
		printf("1..0 # SKIP nothing may be loaded into this kernel: %s\n", strerror(-map));
		return false;
	}
	close(map);
	error = load(path, names);
	RUN(kernel_takes_the_program);
	if (error)
		harness_end();
	return !error;
}

static inline bool begin_tests(const char *path)
{
	static const char *const names[] = {"run_call", NULL};

	return begin_tests_of(path, names);
}

static inline int end_tests(void)
{
	ring_buffer__free(ring);
	bpf_object__close(object);
	return harness_end();
}
