/* SPDX-License-Identifier: MIT
 *
 * bench/peer.c - the yardstick: two calls wrapped the way OpenCL tracers on LTTng-UST wrap them
 *
 * Runs in:  the measured program, by LD_PRELOAD
 * Gives:    two tracepoints a call, the arguments at the begin and the result at the end
 * Why:      existing tracers cost 116 to 214 ns a call with LTTng; a ratio needs them on the same
 *           machine in the same minute. No device times are taken here, which favours this side.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "peer_events.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static struct {
	__typeof__(&clGetPlatformIDs) get_platform_ids;
	__typeof__(&clEnqueueReadBuffer) enqueue_read_buffer;
} real;

static void *next(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		abort();
	return function;
}

EXPORT cl_int clGetPlatformIDs(cl_uint entries, cl_platform_id *platforms, cl_uint *count)
{
	cl_int result;

	if (!real.get_platform_ids)
		real.get_platform_ids = (__typeof__(&clGetPlatformIDs))next("clGetPlatformIDs");
	lttng_ust_tracepoint(duet_peer, get_platform_ids_begin, entries, platforms, count);
	result = real.get_platform_ids(entries, platforms, count);
	lttng_ust_tracepoint(duet_peer, get_platform_ids_end, result, count ? *count : 0);
	return result;
}

EXPORT cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
				  size_t offset, size_t size, void *to, cl_uint waits,
				  const cl_event *wait, cl_event *event)
{
	cl_int result;

	if (!real.enqueue_read_buffer)
		real.enqueue_read_buffer =
			(__typeof__(&clEnqueueReadBuffer))next("clEnqueueReadBuffer");
	lttng_ust_tracepoint(duet_peer, enqueue_read_buffer_begin, queue, buffer, blocking, offset,
			     size);
	result = real.enqueue_read_buffer(queue, buffer, blocking, offset, size, to, waits, wait,
					  event);
	lttng_ust_tracepoint(duet_peer, enqueue_read_buffer_end, result, event ? *event : NULL);
	return result;
}
