/* SPDX-License-Identifier: MIT
 *
 * tests/programs/own_polls.c - a program that sees the end of its commands by itself, and ends at
 * once
 *
 *	own_polls events     asks a kernel's event until it is complete
 *	own_polls blocking   reads what a kernel has made, in a queue out of order
 */
#include "opencl_work.h"

#include <string.h>
#include <unistd.h>

static cl_event launch(struct work *work)
{
	size_t size = 256;
	cl_event event;

	work_check(clEnqueueNDRangeKernel(work->queue, work->kernel, 1, NULL, &size, NULL, 0, NULL,
					  &event),
		   "clEnqueueNDRangeKernel");
	return event;
}

static void poll_event(cl_event event)
{
	cl_int status = CL_QUEUED;

	while (status != CL_COMPLETE)
		work_check(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
					  &status, NULL),
			   "clGetEventInfo");
}

static void read_behind(struct work *work, cl_event event)
{
	work_check(clEnqueueReadBuffer(work->queue, work->buffer, CL_TRUE, 0, sizeof work->host,
				       work->host, 1, &event, NULL),
		   "clEnqueueReadBuffer");
}

int main(int argc, char **argv)
{
	struct work work;
	cl_int status;

	if (argc != 2)
		return 2;
	work_open(&work);
	if (strcmp(argv[1], "events") == 0) {
		poll_event(launch(&work));
	} else {
		clReleaseCommandQueue(work.queue);
		work.queue = clCreateCommandQueue(work.context, work.device,
						  CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
		work_check(status, "clCreateCommandQueue");
		read_behind(&work, launch(&work));
	}
	_exit(0);
}
