/* SPDX-License-Identifier: MIT
 *
 * tests/unit/sim/test_sim_kfd.c - parts of the simulated AMD GPU that a program of HSA meets by
 * chance only
 *
 * Two threads that wait for one event; doorbells in greater number than are remembered; addresses
 * at the edges of memory; devices of libdrm that outlive the file they were opened with.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "harness.h"
#include "libdrm.h"
#include "sim.h"

/* ---- events ---------------------------------------------------------------------------------- */

static uint32_t make_event(bool resets_itself)
{
	struct kfd_ioctl_create_event_args given = {.auto_reset = resets_itself};

	CHECK_EQUAL(sim_event_create(&given), 0);
	return given.event_id;
}

static int set_event(uint32_t id)
{
	return sim_event_set(&(struct kfd_ioctl_set_event_args){.event_id = id});
}

static void destroy_event(uint32_t id)
{
	CHECK_EQUAL(sim_event_destroy(&(struct kfd_ioctl_destroy_event_args){.event_id = id}), 0);
}

/* What the wait came to, or -errno. */
static int wait_for(uint32_t first, uint32_t second, bool all, uint32_t timeout_ms)
{
	struct kfd_event_data asked[2] = {{.event_id = first}, {.event_id = second}};
	struct kfd_ioctl_wait_events_args given = {.events_ptr = (uintptr_t)asked,
						   .num_events = second ? 2 : 1,
						   .wait_for_all = all,
						   .timeout = timeout_ms};
	int error = sim_event_wait(&given);

	return error ? error : (int)given.wait_result;
}

static void *wait_forever(void *id)
{
	return (void *)(intptr_t)wait_for(*(uint32_t *)id, 0, true, UINT32_MAX);
}

static void start_waiting(pthread_t *threads, int count, uint32_t *id)
{
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, wait_forever, id);
	while (sim_event_waiting(*id) < (unsigned)count)
		sched_yield();
}

/* False: a thread still waits after a time in which it would have ended. */
static bool all_end(const pthread_t *threads, int count)
{
	struct timespec end;
	bool ended = true;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 20;
	for (int i = 0; i < count; i++) {
		void *result = NULL;

		if (pthread_timedjoin_np(threads[i], &result, &end) != 0)
			ended = false;
		else
			CHECK_EQUAL((intptr_t)result, KFD_IOC_WAIT_RESULT_COMPLETE);
	}
	return ended;
}

TEST(wakes_all_that_wait)
{
	uint32_t id = make_event(true);
	pthread_t threads[3];

	start_waiting(threads, 3, &id);
	CHECK_EQUAL(set_event(id), 0);
	/* the threads have had it, also where they did not run yet */
	CHECK_EQUAL(wait_for(id, 0, true, 0), KFD_IOC_WAIT_RESULT_TIMEOUT);
	REQUIRE(all_end(threads, 3));
	CHECK_EQUAL(sim_event_waiting(id), 0);
	destroy_event(id);
}

TEST(keeps_what_nobody_waits_for)
{
	uint32_t once = make_event(true), manual = make_event(false);

	set_event(once);
	set_event(manual);
	CHECK_EQUAL(wait_for(once, manual, true, 0), KFD_IOC_WAIT_RESULT_COMPLETE);
	CHECK_EQUAL(wait_for(once, 0, true, 1), KFD_IOC_WAIT_RESULT_TIMEOUT);
	CHECK_EQUAL(wait_for(once, manual, false, 1), KFD_IOC_WAIT_RESULT_COMPLETE);
	CHECK_EQUAL(wait_for(once, manual, true, 1), KFD_IOC_WAIT_RESULT_TIMEOUT);
	sim_event_reset(&(struct kfd_ioctl_reset_event_args){.event_id = manual});
	CHECK_EQUAL(wait_for(manual, 0, true, 1), KFD_IOC_WAIT_RESULT_TIMEOUT);
	destroy_event(once);
	destroy_event(manual);
}

TEST(ends_waits_for_destroyed_events)
{
	uint32_t id = make_event(true);
	pthread_t thread;

	start_waiting(&thread, 1, &id);
	destroy_event(id);
	REQUIRE(all_end(&thread, 1));
	CHECK_EQUAL(set_event(id), -EINVAL);
	CHECK_EQUAL(wait_for(id, 0, true, 0), -EINVAL);
}

TEST(has_so_many_and_no_more)
{
	struct kfd_ioctl_create_event_args given = {.auto_reset = 1};
	uint32_t count = 0;

	while (sim_event_create(&given) == 0)
		count++;
	CHECK_EQUAL(count, KFD_SIGNAL_EVENT_LIMIT - 1);
	CHECK_EQUAL(sim_event_create(&given), -ENOSPC);
	for (uint32_t id = 1; id < KFD_SIGNAL_EVENT_LIMIT; id++)
		destroy_event(id);
}

/* ---- arrivals -------------------------------------------------------------------------------- */

TEST(tells_when_work_came)
{
	struct sim_arrivals arrivals = {.count = 0};

	sim_arrivals_add(&arrivals, 3, 100);
	sim_arrivals_add(&arrivals, 4, 200);
	sim_arrivals_add(&arrivals, 9, 300);
	CHECK_EQUAL(sim_arrivals_get(&arrivals, 0), 100);
	CHECK_EQUAL(sim_arrivals_get(&arrivals, 2), 100);
	CHECK_EQUAL(sim_arrivals_get(&arrivals, 3), 200);
	CHECK_EQUAL(sim_arrivals_get(&arrivals, 4), 300);
	CHECK_EQUAL(sim_arrivals_get(&arrivals, 8), 300);
}

TEST(nothing_came_before_it_was_seen)
{
	struct sim_arrivals arrivals = {.count = 0};

	for (uint64_t i = 0; i < 1000; i++)
		sim_arrivals_add(&arrivals, i + 1, 1000 + i);
	for (uint64_t i = 0; i < 1000; i++)
		CHECK(sim_arrivals_get(&arrivals, i) >= 1000 + i);
	CHECK_EQUAL(sim_arrivals_get(&arrivals, 999), 1999);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t allocate(uint64_t address, uint64_t bytes, uint64_t of_user)
{
	struct kfd_ioctl_alloc_memory_of_gpu_args given = {
		.va_addr = address,
		.size = bytes,
		.mmap_offset = of_user,
		.flags = of_user ? KFD_IOC_ALLOC_MEM_FLAGS_USERPTR : KFD_IOC_ALLOC_MEM_FLAGS_VRAM};

	CHECK_EQUAL(sim_memory_alloc(&given), 0);
	return given.handle;
}

static int free_memory(uint64_t handle)
{
	return sim_memory_free(&(struct kfd_ioctl_free_memory_of_gpu_args){.handle = handle});
}

static uint64_t host(uint64_t address, uint64_t bytes)
{
	return (uintptr_t)sim_host_pointer(address, bytes);
}

TEST(finds_memory_within_its_edges)
{
	uint64_t second = allocate(0x5000, 0x1000, 0), first = allocate(0x1000, 0x1000, 0);
	uint64_t of_user = allocate(0x9000, 0x1000, 0x777000);

	CHECK_EQUAL(host(0x1000, 0x1000), 0x1000);
	CHECK_EQUAL(host(0x1fff, 1), 0x1fff);
	CHECK_EQUAL(host(0x1fff, 2), 0);
	CHECK_EQUAL(host(0x0fff, 1), 0);
	CHECK_EQUAL(host(0x2000, 1), 0);
	CHECK_EQUAL(host(0x9010, 8), 0x777010);
	CHECK_EQUAL(sim_memory_base(0x5123), 0x5000);
	CHECK_EQUAL(sim_memory_base(0x6000), 0);
	CHECK_EQUAL(free_memory(second), 0);
	CHECK_EQUAL(host(0x5000, 1), 0);
	CHECK_EQUAL(free_memory(second), -EINVAL);
	CHECK_EQUAL(free_memory(first), 0);
	CHECK_EQUAL(free_memory(of_user), 0);
}

TEST(holds_many_pieces_of_memory)
{
	enum { PIECES = 1000 };
	uint64_t handles[PIECES];

	for (uint64_t i = 0; i < PIECES;
	     i++) /* in no order: 617 has no factor in common with 1000 */
		handles[i] = allocate((1 + i * 617 % PIECES) << 20, 4096, 0);
	for (uint64_t i = 0; i < PIECES; i++) {
		CHECK_EQUAL(host(((1 + i) << 20) + 4095, 1), ((1 + i) << 20) + 4095);
		CHECK_EQUAL(host(((1 + i) << 20) + 4096, 1), 0);
	}
	for (uint64_t i = 0; i < PIECES; i++)
		CHECK_EQUAL(free_memory(handles[i]), 0);
	CHECK_EQUAL(host(1 << 20, 1), 0);
}

/* ---- libdrm ---------------------------------------------------------------------------------- */

static struct device *open_device(int file)
{
	struct device *device = NULL;
	uint32_t major, minor;

	CHECK_EQUAL(amdgpu_device_initialize(file, &major, &minor, &device), 0);
	return device;
}

/* The thunk of ROCm 6 closes what it has opened, and maps memory by what it is told here. */
TEST(devices_have_files_of_their_own)
{
	int file = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct device *first = open_device(file), *second = open_device(file);
	int of_second = amdgpu_device_get_fd(second);

	close(file);
	CHECK_EQUAL(amdgpu_device_deinitialize(first), 0);
	CHECK_EQUAL(fcntl(of_second, F_GETFD), FD_CLOEXEC);
	CHECK_EQUAL(amdgpu_device_deinitialize(second), 0);
	CHECK_EQUAL(fcntl(of_second, F_GETFD), -1);
	CHECK_EQUAL(amdgpu_device_initialize(of_second, &(uint32_t){0}, &(uint32_t){0}, &first),
		    -EBADF);
}

TEST(counters_count_as_fast_as_the_clock_says)
{
	struct gpu_info info = {.flags = UINT64_MAX};

	CHECK_EQUAL(amdgpu_query_gpu_info(NULL, &info), 0);
	CHECK_EQUAL(info.counter_khz, SIM_COUNTER_KHZ);
	CHECK_EQUAL(info.flags, 0);
}

int main(void)
{
	RUN(wakes_all_that_wait);
	RUN(keeps_what_nobody_waits_for);
	RUN(ends_waits_for_destroyed_events);
	RUN(has_so_many_and_no_more);
	RUN(tells_when_work_came);
	RUN(nothing_came_before_it_was_seen);
	RUN(finds_memory_within_its_edges);
	RUN(holds_many_pieces_of_memory);
	RUN(devices_have_files_of_their_own);
	RUN(counters_count_as_fast_as_the_clock_says);
	return harness_end();
}
