/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/dependency.c - a kernel waits for an event that another thread sets
 */
#include "device_opencl.h"

#include <pthread.h>
#include <semaphore.h>

static void start_upload(void);
static void run_when_uploaded(uint64_t ns);

PLANT(.name = "dependency", .kinds = "dependency", .words = "depend upload_rows event",
      .start = start_upload, .act = run_when_uploaded);

static sem_t wanted;
static cl_event uploaded;
static uint64_t upload_ns;

NOINLINE static void upload_rows(void)
{
	/* the main thread goes on, and makes the next event, as soon as this one is set */
	const cl_event event = uploaded;

	GUILTY_BEGIN();
	sleep_ns(upload_ns);
	clSetUserEventStatus(event, CL_COMPLETE);
	clReleaseEvent(event);
	GUILTY_END();
}

static void *upload(void *unused)
{
	for (;;) {
		sem_wait(&wanted);
		upload_rows();
	}
	return unused;
}

/* PoCL compiles a kernel for each size of its work-groups, when it is first run. */
static void compile_small(void)
{
	size_t size = 256;

	device_check(clEnqueueNDRangeKernel(device.queue, device.backward, 1, NULL, &size, NULL, 0,
					    NULL, NULL),
		     "launch");
	clFinish(device.queue);
}

static void start_upload(void)
{
	pthread_t thread;

	compile_small();
	check(pthread_create(&thread, NULL, upload, NULL) == 0, "pthread_create");
	pthread_setname_np(thread, "upload");
}

NOINLINE static void run_when_uploaded(uint64_t ns)
{
	size_t size = 256;
	cl_event event = clCreateUserEvent(device.context, NULL);

	upload_ns = ns;
	uploaded = event;
	clRetainEvent(event); /* for the other thread */
	WAIT_BEGIN();
	device_check(clEnqueueNDRangeKernel(device.queue, device.backward, 1, NULL, &size, NULL, 1,
					    &event, NULL),
		     "launch");
	sem_post(&wanted);
	clFinish(device.queue);
	WAIT_END();
	clReleaseEvent(event);
}
