/* SPDX-License-Identifier: MIT
 *
 * tests/programs/hsa_tool.c - another profiler for HSA, which times each dispatch as
 * rocm-trace-lite does
 *
 * Named in HSA_TOOLS_LIB before or behind duet's guest. It keeps a copy of the tables that it
 * finds, makes intercept queues in the place of hsa_queue_create, puts a signal of its own into
 * each dispatch, reads its times in a thread and completes the program's signal then. A line a
 * dispatch (start end) goes into the file that HSA_TOOL_OUT names. HSA_TOOL_PLAIN=1: it only counts
 * queues, and makes plain ones. HSA_TOOL_LITE=1: dispatches that have a signal are left alone.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/hsa.h"

#define EXPORTED __attribute__((visibility("default")))

enum { MAX_DISPATCHES = 1 << 16, TIMEOUT_NS = 10000000 };

struct dispatch {
	hsa_agent agent;
	hsa_signal own, original;
};

static struct {
	hsa_queue_create_function *queue_create, *intercept_create;
	hsa_intercept_register_function *intercept_register;
	__typeof__(((struct hsa_functions *)0)->set_profiler) set_profiler;
	__typeof__(((struct hsa_functions *)0)->dispatch_time) dispatch_time;
	__typeof__(((struct hsa_functions *)0)->signal_create) signal_create;
	__typeof__(((struct hsa_functions *)0)->subtract) subtract;
	hsa_signal_wait_function *wait;
} next;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t worker;
	struct dispatch dispatches[MAX_DISPATCHES];
	uint32_t written, read, queues;
	bool is_ending, is_plain, is_lite;
	FILE *out;
} tool = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void copy_function(const uint8_t *table, uint32_t offset, void *ret_function)
{
	memcpy(ret_function, table + offset, sizeof(void *));
}

/* Behind AMD_ASYNC_COPY_ON_ENGINE two entries came in between. */
static uint32_t late(const uint8_t *amd, uint32_t offset)
{
	uint32_t bytes;

	memcpy(&bytes, amd + 4, sizeof(bytes));
	return bytes >= AMD_INSERTED_FROM ? offset + AMD_INSERTED_BYTES : offset;
}

static void finish(const struct dispatch *dispatch)
{
	struct hsa_times times = {0, 0};

	while (next.wait(dispatch->own, HSA_CONDITION_LT, 1, TIMEOUT_NS, 0) >= 1)
		;
	next.dispatch_time(dispatch->agent, dispatch->own, &times);
	fprintf(tool.out, "%llu %llu\n", (unsigned long long)times.start,
		(unsigned long long)times.end);
	if (dispatch->original.handle)
		next.subtract(dispatch->original, 1);
}

static void *work(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&tool.lock);
	while (!tool.is_ending || tool.read < tool.written) {
		struct dispatch dispatch;

		if (tool.read == tool.written) {
			pthread_cond_wait(&tool.wake, &tool.lock);
			continue;
		}
		dispatch = tool.dispatches[tool.read++];
		pthread_mutex_unlock(&tool.lock);
		finish(&dispatch);
		pthread_mutex_lock(&tool.lock);
	}
	pthread_mutex_unlock(&tool.lock);
	return NULL;
}

static void on_packets(const void *packets, uint64_t count, uint64_t index, void *data,
		       hsa_packet_writer *writer)
{
	struct hsa_dispatch_packet packet;
	struct dispatch dispatch = {.agent = {(uintptr_t)data}};

	(void)index;
	memcpy(&packet, packets, sizeof(packet));
	dispatch.original = packet.completion;
	/* Batches are left alone. */
	if (count != 1 || (packet.header & 0xff) != HSA_PACKET_DISPATCH ||
	    (tool.is_lite && dispatch.original.handle) || tool.written == MAX_DISPATCHES ||
	    next.signal_create(1, 0, NULL, &dispatch.own) != HSA_SUCCESS) {
		writer(packets, count);
		return;
	}
	packet.completion = dispatch.own;
	writer(&packet, 1);
	pthread_mutex_lock(&tool.lock);
	tool.dispatches[tool.written++] = dispatch;
	pthread_cond_signal(&tool.wake);
	pthread_mutex_unlock(&tool.lock);
}

static hsa_status own_create(hsa_agent agent, uint32_t size, uint32_t type, hsa_queue_error *error,
			     void *data, uint32_t private_bytes, uint32_t group_bytes,
			     struct hsa_queue **queue)
{
	hsa_status status;

	tool.queues++;
	if (tool.is_plain)
		return next.queue_create(agent, size, type, error, data, private_bytes, group_bytes,
					 queue);
	status = next.intercept_create(agent, size, type, error, data,
				       private_bytes == UINT32_MAX ? 0 : private_bytes,
				       group_bytes == UINT32_MAX ? 0 : group_bytes, queue);
	if (status == HSA_SUCCESS) {
		next.set_profiler(*queue, 1);
		next.intercept_register(*queue, on_packets, (void *)(uintptr_t)agent.handle);
	}
	return status;
}

/* At exit, or where the runtime ends before. */
static void stop(void)
{
	static bool has_stopped;

	if (has_stopped)
		return;
	has_stopped = true;
	pthread_mutex_lock(&tool.lock);
	tool.is_ending = true;
	pthread_cond_signal(&tool.wake);
	pthread_mutex_unlock(&tool.lock);
	pthread_join(tool.worker, NULL);
	fprintf(tool.out, "queues %u\n", tool.queues);
	fclose(tool.out);
}

EXPORTED bool OnLoad(struct hsa_tables *tables, uint64_t version, uint64_t failed_count,
		     const char *const *failed_names);
bool OnLoad(struct hsa_tables *tables, uint64_t version, uint64_t failed_count,
	    const char *const *failed_names)
{
	hsa_queue_create_function *own = own_create;
	const char *out = getenv("HSA_TOOL_OUT");

	(void)version;
	(void)failed_count;
	(void)failed_names;
	tool.out = out ? fopen(out, "w") : NULL;
	if (!tool.out)
		return false;
	tool.is_plain = getenv("HSA_TOOL_PLAIN") != NULL;
	tool.is_lite = getenv("HSA_TOOL_LITE") != NULL;
	copy_function(tables->core, CORE_QUEUE_CREATE, &next.queue_create);
	copy_function(tables->core, CORE_SIGNAL_CREATE, &next.signal_create);
	copy_function(tables->core, CORE_SIGNAL_SUBTRACT_SCRELEASE, &next.subtract);
	copy_function(tables->core, CORE_SIGNAL_WAIT_SCACQUIRE, &next.wait);
	copy_function(tables->amd, AMD_SET_PROFILER, &next.set_profiler);
	copy_function(tables->amd, AMD_DISPATCH_TIME, &next.dispatch_time);
	copy_function(tables->amd, late(tables->amd, AMD_INTERCEPT_CREATE), &next.intercept_create);
	copy_function(tables->amd, late(tables->amd, AMD_INTERCEPT_REGISTER),
		      &next.intercept_register);
	memcpy(tables->core + CORE_QUEUE_CREATE, &own, sizeof(own));
	if (pthread_create(&tool.worker, NULL, work, NULL) != 0)
		return false;
	atexit(stop);
	return true;
}

EXPORTED void OnUnload(void);
void OnUnload(void)
{
	stop();
}
