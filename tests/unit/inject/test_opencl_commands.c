/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_opencl_commands.c - which events the runtime is asked about when a program
 * sees one complete
 *
 * Why:      a program may ask for the same event in a loop; each question of duet's own is then
 * paid for each time
 */
#include <stdlib.h>

#include "harness.h"

#include "inject/opencl/handles.h"
#include "inject/opencl/opencl.h"

enum { RING_BYTES = 1 << 20, EVENTS = 100 };

/* ---- the rest of the guest ------------------------------------------------------------------- */

struct guest_page guest_page;
_Thread_local struct guest_thread *guest_self __attribute__((tls_model("initial-exec")));
_Atomic bool guest_exit_begun;
struct handle_tables handle_tables;

static struct guest_thread thread = {.mode = GUEST_RECORDING, .clock = RING_CLOCK_MONOTONIC};
static uint32_t sections;

struct guest_thread *guest_enter_slow(void)
{
	return NULL;
}

bool guest_still_recording(void)
{
	return true;
}

void guest_trouble(uint32_t trouble)
{
	(void)trouble;
}

void guest_section_end(struct guest_thread *of, enum guest_section section, uint64_t begin)
{
	(void)of;
	(void)begin;
	sections += section == GUEST_SECTION_HARVEST;
}

void guest_watch_end(struct guest_thread *of, enum guest_section section, uint64_t begin)
{
	(void)of;
	(void)section;
	(void)begin;
}

void guest_timing_count(struct guest_thread *of, const struct guest_timing *timing, uint64_t enter,
			uint64_t exit)
{
	(void)of;
	(void)timing;
	(void)enter;
	(void)exit;
}

uint32_t guest_take_stack(struct guest_thread *of)
{
	(void)of;
	return 0;
}

uint32_t guest_sample_stack(struct guest_thread *of, uint64_t site)
{
	return guest_take_stack(of);
}

void *guest_memory(size_t bytes)
{
	return calloc(1, bytes);
}

bool guest_lock(struct guest_lock *lock)
{
	return !atomic_exchange(&lock->taken, 1);
}

/* The test's handles of queues are the guest's own structures. */
struct opencl_queue *opencl_meet_queue(struct guest_thread *of, cl_command_queue handle)
{
	(void)of;
	return (struct opencl_queue *)(void *)handle;
}

uint32_t opencl_kernel(struct guest_thread *of, cl_kernel handle, const struct opencl_queue *queue)
{
	(void)of;
	(void)handle;
	(void)queue;
	return 0;
}

void opencl_read_device_timer(struct guest_thread *of, const struct opencl_queue *queue,
			      uint64_t now)
{
	(void)of;
	(void)queue;
	(void)now;
}

/* ---- a runtime ------------------------------------------------------------------------------- */

static struct event {
	bool is_over;
	uint32_t asked, references;
} events[EVENTS];
static uint32_t asked, used;
static struct opencl_queue queue;

static struct event *event_of(cl_event handle)
{
	struct event *event = (struct event *)(void *)handle;

	CHECK(event >= events && event < events + EVENTS);
	return event;
}

static cl_int get_event_info(cl_event handle, cl_uint what, size_t size, void *value,
			     size_t *ret_size)
{
	struct event *event = event_of(handle);

	(void)size;
	(void)ret_size;
	asked++;
	event->asked++;
	if (what == CL_EVENT_COMMAND_EXECUTION_STATUS)
		*(cl_int *)value = event->is_over ? CL_COMPLETE : CL_COMPLETE + 1;
	else
		*(cl_command_queue *)value = (cl_command_queue)(void *)&queue;
	return CL_SUCCESS;
}

static cl_int get_profiling_info(cl_event handle, cl_uint what, size_t size, void *value,
				 size_t *ret_size)
{
	struct event *event = event_of(handle);

	(void)what;
	(void)size;
	(void)ret_size;
	asked++;
	event->asked++;
	if (!event->is_over)
		return CL_SUCCESS - 7;
	*(cl_ulong *)value = 1000;
	return CL_SUCCESS;
}

static cl_int retain_event(cl_event handle)
{
	event_of(handle)->references++;
	return CL_SUCCESS;
}

static cl_int release_event(cl_event handle)
{
	CHECK_EQUAL(event_of(handle)->references--, 1);
	return CL_SUCCESS;
}

/* ---- a program ------------------------------------------------------------------------------- */

static cl_event handle_of(struct event *event)
{
	return (cl_event)(void *)event;
}

static void enqueue(struct event *event, uint32_t flags, const cl_event *waited_for)
{
	struct opencl_launch launch;
	cl_event handle = NULL;

	opencl_launch_init(&launch, 1, COMMAND_KERNEL);
	launch.flags = flags;
	launch.queue = (cl_command_queue)(void *)&queue;
	launch.wait_list = waited_for;
	launch.wait_count = waited_for != NULL;
	*opencl_launch_begin(&thread, &launch, &handle) = handle_of(event);
	launch.exit = guest_now(&thread);
	opencl_launch_end(&thread, &launch, CL_SUCCESS);
}

static struct event *launch(void)
{
	struct event *event = &events[used++];

	enqueue(event, 0, NULL);
	CHECK_EQUAL(event->references, 1);
	return event;
}

static void see_end(struct event *event)
{
	asked = sections = 0;
	opencl_event_is_over(&thread, handle_of(event));
}

static void begin(uint32_t flags)
{
	static struct ring_region *region;

	if (!region) {
		region = aligned_alloc(RING_PAGE, ring_region_bytes(1, RING_BYTES));
		REQUIRE(region);
		memset(region, 0, ring_region_bytes(1, RING_BYTES));
		REQUIRE(ring_claim(region, 1, RING_BYTES, 1, &thread.writer));
	}
	atomic_store(&guest_page.mode, thread.mode);
	next.clGetEventInfo = get_event_info;
	next.clGetEventProfilingInfo = get_profiling_info;
	next.clRetainEvent = retain_event;
	next.clReleaseEvent = release_event;
	opencl_commands_forked();
	queue = (struct opencl_queue){
		.id = 1, .flags = flags | QUEUE_TIMED, .first = NO_COMMAND, .last = NO_COMMAND};
	memset(events, 0, sizeof(events));
	used = 0;
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(event_that_is_over_is_asked_about_once)
{
	struct event *event;

	begin(QUEUE_OUT_OF_ORDER);
	launch();
	event = launch();
	launch();
	event->is_over = true;
	see_end(event);
	CHECK(event->asked >= 1);
	CHECK_EQUAL(event->references, 0);
	CHECK_EQUAL(sections, 1);
	see_end(event);
	CHECK_EQUAL(asked, 0);
	CHECK_EQUAL(sections, 0);
}

TEST(event_of_the_program_is_not_asked_about)
{
	struct event *foreign, *transfer;
	cl_event handle;

	begin(QUEUE_OUT_OF_ORDER);
	launch();
	foreign = &events[used++];
	foreign->is_over = true;
	see_end(foreign);
	CHECK_EQUAL(asked, 0);
	transfer = &events[used++];
	transfer->is_over = true;
	handle = handle_of(foreign);
	enqueue(transfer, LAUNCH_BLOCKING, &handle);
	CHECK_EQUAL(foreign->asked, 0);
}

TEST(commands_of_the_wait_list_are_finished)
{
	struct event *before, *transfer;
	cl_event handle;

	begin(QUEUE_OUT_OF_ORDER);
	before = launch();
	before->is_over = true;
	transfer = &events[used++];
	transfer->is_over = true;
	handle = handle_of(before);
	sections = 0;
	enqueue(transfer, LAUNCH_BLOCKING, &handle);
	CHECK_EQUAL(before->references, 0);
	CHECK_EQUAL(queue.first, NO_COMMAND);
	CHECK_EQUAL(sections, 0);
}

/* A status that comes before the time stamps. */
TEST(command_keeps_its_place_in_order)
{
	struct event *last;

	begin(0);
	for (uint32_t i = 0; i < 50; i++)
		launch();
	for (uint32_t i = 0; i < 45; i++)
		events[i].is_over = true;
	last = &events[used - 1];
	see_end(last);
	for (uint32_t i = 0; i < 45; i++)
		CHECK_EQUAL(events[i].references, 0);
	CHECK_EQUAL(last->references, 1);
	for (uint32_t i = 45; i < 50; i++)
		events[i].is_over = true;
	opencl_harvest(&thread, &queue);
	CHECK_EQUAL(last->references, 0);
	CHECK_EQUAL(queue.first, NO_COMMAND);
}

int main(void)
{
	RUN(event_that_is_over_is_asked_about_once);
	RUN(event_of_the_program_is_not_asked_about);
	RUN(commands_of_the_wait_list_are_finished);
	RUN(command_keeps_its_place_in_order);
	return harness_end();
}
