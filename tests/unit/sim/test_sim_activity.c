/* SPDX-License-Identifier: MIT
 *
 * tests/unit/sim/test_sim_activity.c - activity records of the simulated libcupti
 *
 *	test_sim_activity FOLDER      the folder with the libraries
 *
 * One scenario for each behaviour that reference/nvidia.md tells of, each in a process of its own.
 */
#include <glob.h>

#include "sim_client.h"

/* ---- time ------------------------------------------------------------------------------------ */

static int host_calls;

static void host_function(void *user)
{
	__atomic_add_fetch((int *)user, 1, __ATOMIC_SEQ_CST);
}

static void check_order(uint32_t stream_id)
{
	uint64_t ended_ns = 0, count = 0;

	for (size_t i = 0; i < client.count; i++) {
		if (client.records[i].kernel.stream_id != stream_id)
			continue;
		CHECK(client.records[i].kernel.start_ns >= ended_ns);
		ended_ns = client.records[i].kernel.end_ns;
		count++;
	}
	CHECK(count >= 2);
}

/* What is so until a time, on a machine that may stop us for longer than that: checked only if it
 * is not over. */
#define CHECK_UNTIL(until_ns, condition)               \
	do {                                           \
		bool is_so_ = (condition);             \
                                                       \
		if (client_now() < (until_ns))         \
			CHECK(is_so_ &&#condition[0]); \
	} while (0)

/* Kernels of 50 ms. */
static void run_streams(void)
{
	CUevent first, last;
	CUstream one, other;
	uint64_t begin_ns = client_now();
	float ms = 0;

	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	CHECK_EQUAL(cu.cuStreamCreate(&one, CU_STREAM_NON_BLOCKING), 0);
	CHECK_EQUAL(cu.cuStreamCreate(&other, 0), 0);
	CHECK_EQUAL(cu.cuEventCreate(&first, 0), 0);
	CHECK_EQUAL(cu.cuEventCreate(&last, 0), 0);
	begin_ns = client_now();
	CHECK_EQUAL(cu.cuEventRecord(first, one), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(client_launch(client_spin, one), 0);
	CHECK_EQUAL(cu.cuEventRecord(last, one), 0);
	CHECK_EQUAL(client_launch(client_other, other), 0);
	CHECK_EQUAL(cu.cuStreamWaitEvent(other, last, 0), 0);
	CHECK_EQUAL(client_launch(client_other, other), 0);
	CHECK_EQUAL(client_launch(client_spin, NULL), 0); /* waits for other, which blocks */
	CHECK_EQUAL(cu.cuLaunchHostFunc(one, host_function, &host_calls), 0);
	CHECK_UNTIL(begin_ns + 500000000, client_now() - begin_ns < 250000000);
	CHECK_UNTIL(begin_ns + 150000000, cu.cuStreamQuery(one) == CUDA_ERROR_NOT_READY);
	CHECK_UNTIL(begin_ns + 150000000, cu.cuEventQuery(last) == CUDA_ERROR_NOT_READY);
	CHECK_UNTIL(begin_ns + 50000000, !cupti.cuptiActivityFlushAll(0) && !client.count);
	CHECK_EQUAL(cu.cuStreamSynchronize(one), 0);
	CHECK(client_now() - begin_ns >= 150000000);
	CHECK_EQUAL(__atomic_load_n(&host_calls, __ATOMIC_SEQ_CST), 1);
	CHECK_EQUAL(cu.cuEventElapsedTime(&ms, first, last), 0);
	CHECK(ms >= 150 && ms < 2000);
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
	CHECK(client_now() - begin_ns >= 250000000);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	CHECK_EQUAL(client.count, 6);
	check_order(13);
	check_order(14);
	cu.cuEventDestroy_v2(first);
	cu.cuEventDestroy_v2(last);
	cu.cuStreamDestroy_v2(one);
	cu.cuStreamDestroy_v2(other);
}

/* A kernel of 2 s is not over, and its record has no times. */
static void run_forced(void)
{
	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	CHECK_EQUAL(client_launch(client_spin, NULL), 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	CHECK_EQUAL(client.count, 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), 0);
	REQUIRE(client.count == 1);
	CHECK_EQUAL(client.records[0].kernel.start_ns, 0);
	CHECK_EQUAL(client.records[0].kernel.end_ns, 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	CHECK_EQUAL(client.count, 1);
}

#define FAR_NS UINT64_C(1000000000000000)

static uint64_t far_clock(void)
{
	return client_now() + FAR_NS;
}

/* Each record's start against the log of truth, whose clock is CLOCK_MONOTONIC. */
static void check_truth(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned correlation_id, stream_id;
	unsigned long long start_ns, end_ns;
	long long worst_ns = 0, off_ns;
	size_t lines = 0;
	char kind[16];

	REQUIRE(file);
	while (fscanf(file, "%15s %u %u %llu %llu", kind, &correlation_id, &stream_id, &start_ns,
		      &end_ns) == 5) {
		const union client_record *record = client_find(10, lines++);

		if (!record)
			break;
		CHECK_EQUAL(record->kernel.correlation_id, correlation_id);
		off_ns = llabs((long long)(record->kernel.start_ns - FAR_NS) - (long long)start_ns);
		worst_ns = off_ns > worst_ns ? off_ns : worst_ns;
		off_ns = llabs((long long)(record->kernel.end_ns - record->kernel.start_ns) -
			       (long long)(end_ns - start_ns));
		CHECK(off_ns < 2000);
	}
	fclose(file);
	unlink(path);
	CHECK_EQUAL(lines, client.count);
	printf("#   %zu kernels, the worst start is %lld ns off\n", lines, worst_ns);
	CHECK(worst_ns < 50000);
}

/* The GPU's clock is 200 ppm fast. */
static void run_clock(void)
{
	uint64_t enter_ns = 0, exit_ns = 0;
	const union client_record *record;

	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(cupti.cuptiActivityRegisterTimestampCallback(far_clock), 0);
	CHECK_EQUAL(cupti.cuptiActivityEnableLatencyTimestamps(1), 0);
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	for (int i = 0; i < 40; i++) {
		cupti.cuptiGetTimestamp(&enter_ns);
		CHECK_EQUAL(client_launch(client_spin, NULL), 0);
		CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
		cupti.cuptiGetTimestamp(&exit_ns);
		usleep(10000);
	}
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	record = client_find(10, 39);
	REQUIRE(record);
	CHECK(record->kernel.start_ns + 50000 > enter_ns);
	CHECK(record->kernel.end_ns < exit_ns + 50000);
	CHECK(record->kernel.queued_ns && record->kernel.queued_ns <= record->kernel.submitted_ns);
	CHECK(record->kernel.submitted_ns <= record->kernel.start_ns);
	check_truth("sim_truth.log");
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static CUgraph capture_two(CUstream one, CUstream other)
{
	CUstreamCaptureStatus status;
	CUgraph graph = NULL;
	CUevent event;

	CHECK_EQUAL(cu.cuEventCreate(&event, 0), 0);
	CHECK_EQUAL(cu.cuStreamBeginCapture_v2(one, CU_STREAM_CAPTURE_MODE_GLOBAL), 0);
	CHECK_EQUAL(client_launch(client_spin, one), 0);
	CHECK_EQUAL(cu.cuEventRecord(event, one), 0);
	CHECK_EQUAL(cu.cuStreamWaitEvent(other, event, 0), 0);
	CHECK_EQUAL(client_launch(client_other, other), 0);
	CHECK_EQUAL(cu.cuStreamIsCapturing(other, &status), 0);
	CHECK_EQUAL(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	CHECK_EQUAL(cu.cuStreamSynchronize(one), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_EQUAL(cu.cuStreamEndCapture(one, &graph), 0);
	CHECK_EQUAL(cu.cuStreamIsCapturing(other, &status), 0);
	CHECK_EQUAL(status, CU_STREAM_CAPTURE_STATUS_NONE);
	CHECK_EQUAL(cu.cuEventDestroy_v2(event), 0);
	return graph;
}

static void run_graphs(void)
{
	const union client_record *record;
	CUgraphExec graph_exec;
	CUstream one, other;
	uint32_t exec_id;
	CUgraph graph;

	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	CHECK_EQUAL(cu.cuStreamCreate(&one, 0), 0);
	CHECK_EQUAL(cu.cuStreamCreate(&other, 0), 0);
	graph = capture_two(one, other);
	REQUIRE(graph);
	CHECK_EQUAL(cu.cuGraphInstantiateWithFlags(&graph_exec, graph, 0), 0);
	CHECK_EQUAL(cupti.cuptiGetGraphExecId(graph_exec, &exec_id), 0);
	CHECK_EQUAL(cu.cuGraphLaunch(graph_exec, one), 0);
	CHECK_EQUAL(cu.cuStreamSynchronize(one), 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	CHECK_EQUAL(client.count, 2);
	record = client_find(10, 1);
	REQUIRE(record);
	CHECK_TEXT(record->kernel.name, "_Z5otherPf");
	CHECK_EQUAL(record->kernel.graph_id, exec_id);
	CHECK(record->kernel.graph_node_id != client_find(10, 0)->kernel.graph_node_id);
	CHECK_EQUAL(record->kernel.correlation_id, client_find(10, 0)->kernel.correlation_id);
	CHECK_EQUAL(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 0);
	CHECK_EQUAL(cu.cuGraphLaunch(graph_exec, one), 0);
	CHECK_EQUAL(cu.cuStreamSynchronize(one), 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	CHECK_EQUAL(client.count, 3);
	record = client_find(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0);
	REQUIRE(record);
	CHECK_EQUAL(record->graph.graph_id, exec_id);
	CHECK(record->graph.end_ns - record->graph.start_ns >= 39000);
	CHECK_EQUAL(cu.cuGraphExecDestroy(graph_exec), 0);
	CHECK_EQUAL(cu.cuGraphDestroy(graph), 0);
}

/* ---- the other kinds ------------------------------------------------------------------------- */

static void check_waits(void)
{
	const union client_record *record = client_find(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 0);

	REQUIRE(record && client_count(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) == 4);
	for (size_t i = 0; i < 4; i++)
		CHECK_EQUAL(client_find(38, i)->synchronization.type, 4 - i);
	record = client_find(38, 0);
	CHECK(record->synchronization.end_ns - record->synchronization.start_ns > 1000000);
}

static void check_objects(void)
{
	const union client_record *record = client_find(CUPTI_ACTIVITY_KIND_DEVICE, 0);

	REQUIRE(record);
	CHECK_TEXT(record->device.name, "NVIDIA H200 (simulated)");
	CHECK_EQUAL(record->device.capability_major, 9);
	record = client_find(CUPTI_ACTIVITY_KIND_CONTEXT, 0);
	REQUIRE(record);
	CHECK_EQUAL(record->context.context_id, 1);
	CHECK_EQUAL(record->context.null_stream_id, 7);
	record = client_find(CUPTI_ACTIVITY_KIND_STREAM, 1);
	REQUIRE(record);
	CHECK_EQUAL(record->stream.stream_id, 13);
	CHECK_EQUAL(record->stream.flag, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING);
}

static void run_kinds(void)
{
	uint8_t byte = 1;
	size_t size = sizeof(byte), value = 0;
	uint32_t id = 0;
	CUstream stream;
	CUevent event;

	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), 0);
	CHECK_EQUAL(cu.cuEventCreate(&event, 0), 0);
	CHECK_EQUAL(cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
						    &size, &byte),
		    0);
	size = sizeof(value);
	CHECK_EQUAL(cupti.cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size,
						    &value),
		    0);
	CHECK_EQUAL(value, 3200000);
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_PC_SAMPLING), CUPTI_ERROR_INVALID_KIND);
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_DEVICE), 0);
	CHECK_EQUAL(cupti.cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_CONTEXT), 0);
	CHECK_EQUAL(cupti.cuptiActivityEnableAndDump(CUPTI_ACTIVITY_KIND_STREAM), 0);
	CHECK_EQUAL(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), 0);
	CHECK_EQUAL(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD), 0);
	CHECK_EQUAL(cupti.cuptiActivityEnableDriverApi(307, 1), 0);
	CHECK_EQUAL(client_launch(client_spin, stream), 0);
	CHECK_EQUAL(cu.cuEventRecord(event, stream), 0);
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
	CHECK_EQUAL(cu.cuStreamSynchronize(stream), 0);
	CHECK_EQUAL(cu.cuStreamWaitEvent(stream, event, 0), 0);
	CHECK_EQUAL(cu.cuEventSynchronize(event), 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	check_waits();
	check_objects();
	CHECK_EQUAL(client_count(CUPTI_ACTIVITY_KIND_DRIVER), 1);
	CHECK(client_count(CUPTI_ACTIVITY_KIND_OVERHEAD) >= 1);
	CHECK_EQUAL(client_find(CUPTI_ACTIVITY_KIND_OVERHEAD, 0)->overhead.overhead_kind,
		    CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING);
	CHECK_EQUAL(cu.cuEventDestroy_v2(event), 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushPeriod(10), 0);
	CHECK_EQUAL(cupti.cuptiGetStreamIdEx(client_context, stream, 0, &id), 0);
	CHECK_EQUAL(id, 13);
	CHECK_EQUAL(cupti.cuptiGetContextId(client_context, &id), 0);
	CHECK_EQUAL(id, 1);
}

/* ---- losses ---------------------------------------------------------------------------------- */

static void launch_and_flush(int count)
{
	for (int i = 0; i < count; i++)
		CHECK_EQUAL(client_launch(client_spin, NULL), 0);
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
}

static void run_no_buffer(void)
{
	size_t dropped = 99;

	REQUIRE(client_init() && client_make_context());
	client.gives_none = true;
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	launch_and_flush(10);
	CHECK_EQUAL(cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), 0);
	CHECK_EQUAL(dropped, 10);
	client.gives_none = false;
	launch_and_flush(10);
	CHECK_EQUAL(client.count, 10);
	CHECK_EQUAL(cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), 0);
	CHECK_EQUAL(dropped, 0);
}

static void run_drops(void)
{
	size_t dropped = 99, untimed = 0;

	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	launch_and_flush(70);
	CHECK_EQUAL(client.count, 60);
	CHECK_EQUAL(cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped), 0);
	CHECK_EQUAL(dropped, 10);
	for (size_t i = 0; i < client.count; i++)
		untimed += client.records[i].kernel.end_ns == 0;
	CHECK(untimed >= 12 && untimed <= 14);
}

/* A full buffer comes without a flush. */
static void run_full(void)
{
	size_t count = 0;

	client.buffer_bytes = 2000;
	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	for (int i = 0; i < 100; i++)
		CHECK_EQUAL(client_launch(client_spin, NULL), 0);
	for (int i = 0; i < 500 && !count; i++) {
		usleep(10000);
		pthread_mutex_lock(&client.lock);
		count = client.count;
		pthread_mutex_unlock(&client.lock);
	}
	CHECK(count > 0);
	CHECK_EQUAL(count % (2000 / 216), 0);
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	CHECK_EQUAL(client.count, 100);
}

/* Kind 3 and not 10: no two kernels at once. */
static void run_serial(void)
{
	uint64_t ended_ns = 0;
	CUstream stream;

	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_KERNEL), 0);
	CHECK_EQUAL(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), 0);
	for (int i = 0; i < 10; i++)
		CHECK_EQUAL(client_launch(client_spin, i % 2 ? stream : NULL), 0);
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	CHECK_EQUAL(client_count(CUPTI_ACTIVITY_KIND_KERNEL), 10);
	for (size_t i = 0; i < client.count; i++) {
		CHECK(client.records[i].kernel.start_ns + 500 >= ended_ns);
		ended_ns = client.records[i].kernel.end_ns;
	}
}

/* A program is held back when it is 50 ms ahead. */
static void run_held_back(void)
{
	uint64_t begin_ns;
	size_t held = 0;

	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_OVERHEAD), 0);
	begin_ns = client_now();
	for (int i = 0; i < 10; i++)
		CHECK_EQUAL(client_launch(client_spin, NULL), 0);
	CHECK(client_now() - begin_ns >= 50000000);
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	for (size_t i = 0; i < client.count; i++)
		held += client.records[i].overhead.overhead_kind ==
			CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL;
	CHECK(held >= 1);
}

/* The records of graph nodes are good only so far. */
static void run_bad_graphs(void)
{
	CUgraphExec graph_exec;
	CUstream one, other;
	size_t bad = 0;
	CUgraph graph;

	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	CHECK_EQUAL(cu.cuStreamCreate(&one, 0), 0);
	CHECK_EQUAL(cu.cuStreamCreate(&other, 0), 0);
	graph = capture_two(one, other);
	CHECK_EQUAL(cu.cuGraphInstantiateWithFlags(&graph_exec, graph, 0), 0);
	for (int i = 0; i < 10; i++)
		CHECK_EQUAL(cu.cuGraphLaunch(graph_exec, one), 0);
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	CHECK_EQUAL(client.count, 20);
	for (size_t i = 0; i < client.count; i++)
		bad += client.records[i].kernel.end_ns < client.records[i].kernel.start_ns;
	CHECK_EQUAL(bad, 5);
	CHECK_EQUAL(cu.cuGraphExecDestroy(graph_exec), 0);
	CHECK_EQUAL(cu.cuGraphDestroy(graph), 0);
}

static void run_null_crash(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		client.gives_none = true;
		if (client_init() && client_make_context()) {
			client_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
			launch_and_flush(1);
		}
		_exit(0);
	}
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

/* ---- many ------------------------------------------------------------------------------------ */

enum { THREADS = 8, STREAMS = 4, LAUNCHES = 2500, LAUNCHED = THREADS * LAUNCHES };

static _Atomic uint8_t seen[4 * LAUNCHED];
static _Atomic size_t expected_count;

static void on_launch(void *user, cupti_domain domain, uint32_t cbid, const void *bytes)
{
	const struct cupti_callback_data *data = bytes;

	if (data->site == CUPTI_API_EXIT && data->correlation_id < 4 * LAUNCHED) {
		seen[data->correlation_id]++;
		expected_count++;
	}
}

static void *launch_many(void *none)
{
	CUstream streams[STREAMS];

	cu.cuCtxSetCurrent(client_context);
	for (int i = 0; i < STREAMS; i++)
		cu.cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < LAUNCHES; i++)
		if (client_launch(i % 3 ? client_spin : client_other, streams[i % STREAMS]))
			abort();
	for (int i = 0; i < STREAMS; i++) {
		cu.cuStreamSynchronize(streams[i]);
		cu.cuStreamDestroy_v2(streams[i]);
	}
	return NULL;
}

static void run_many(void)
{
	cupti_subscriber subscriber;
	pthread_t threads[THREADS];
	size_t wrong = 0;

	client.buffer_bytes = 10000; /* not a multiple of a record */
	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(cupti.cuptiSubscribe(&subscriber, on_launch, NULL), 0);
	CHECK_EQUAL(cupti.cuptiEnableCallback(1, subscriber, 1, 307), 0);
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, launch_many, NULL);
	for (int i = 0; i < 20; i++) {
		CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
		usleep(2000);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	CHECK_EQUAL(expected_count, LAUNCHED);
	CHECK_EQUAL(client.count, LAUNCHED);
	for (size_t i = 0; i < client.count; i++)
		wrong += seen[client.records[i].kernel.correlation_id]-- != 1 ||
			 client.records[i].kernel.end_ns <= client.records[i].kernel.start_ns;
	CHECK_EQUAL(wrong, 0);
}

/* ---- strides --------------------------------------------------------------------------------- */

static void check_walk(const struct cupti_all_functions *functions, uint32_t kind, size_t bytes)
{
	uint64_t buffer[3 * 32] = {0};
	struct cupti_activity *record = NULL;
	size_t count = 0;

	for (size_t i = 0; i < 3; i++)
		*(uint32_t *)((char *)buffer + i * bytes) = kind;
	while (functions->cuptiActivityGetNextRecord((uint8_t *)buffer, 3 * bytes, &record) == 0) {
		CHECK_EQUAL((char *)record - (char *)buffer, count * bytes);
		count++;
	}
	CHECK_EQUAL(count, 3);
}

static void run_strides(void)
{
	static const struct {
		uint32_t kind, version, bytes;
	} rows[] = {
#define X(kind, version, bytes) {CUPTI_ACTIVITY_KIND_##kind, version, bytes},
		CUPTI_RECORD_SIZES(X)
#undef X
	};
	size_t walked = 0;
	uint32_t version;

	REQUIRE(!client_open_cupti());
	CHECK_EQUAL(cupti.cuptiGetVersion(&version), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool is_last = i + 1 == sizeof(rows) / sizeof(rows[0]) ||
			       rows[i + 1].kind != rows[i].kind || rows[i + 1].version > version;

		if (rows[i].version > version || !is_last)
			continue;
		check_walk(&cupti, rows[i].kind, rows[i].bytes);
		walked++;
	}
	CHECK(walked >= 6);
}

/* Records of this version arrive whole: each is as long as the table says. */
static void run_old_records(void)
{
	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	launch_and_flush(300);
	CHECK_EQUAL(client.count, 300);
	for (size_t i = 0; i < client.count; i++) {
		CHECK_TEXT(client.records[i].kernel.name, "spin");
		CHECK_EQUAL(client.records[i].kernel.cluster_x, 0);
	}
	CHECK(client.buffer_count >= 1);
}

/* ---- the real library ------------------------------------------------------------------------ */

static bool find_real(struct cupti_all_functions *ret_functions)
{
	glob_t found;
	void *library = NULL;

	memset(ret_functions, 0, sizeof(*ret_functions));
	if (glob("/usr/local/cuda*/lib64/libcupti.so.13", 0, NULL, &found) == 0)
		library = dlopen(found.gl_pathv[0], RTLD_NOW);
	if (!library)
		return false;
	ret_functions->cuptiActivityGetNextRecord =
		(__typeof__(ret_functions->cuptiActivityGetNextRecord))dlsym(
			library, "cuptiActivityGetNextRecord");
	ret_functions->cuptiGetCallbackName =
		(__typeof__(ret_functions->cuptiGetCallbackName))dlsym(library,
								       "cuptiGetCallbackName");
	ret_functions->cuptiGetVersion =
		(__typeof__(ret_functions->cuptiGetVersion))dlsym(library, "cuptiGetVersion");
	globfree(&found);
	return true;
}

/* Buffers with all kinds of records, and where the simulated library says that records start. */
static void run_dump(void)
{
	CUdeviceptr memory;
	size_t count;

	REQUIRE(client_init());
	client.dump = fopen("sim_buffers.bin", "wb");
	REQUIRE(client.dump);
	for (cupti_kind i = 1; i < 60; i++)
		if (i != CUPTI_ACTIVITY_KIND_KERNEL && i != CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
			client_enable(i);
	REQUIRE(client_make_context());
	CHECK_EQUAL(cu.cuMemAlloc_v2(&memory, 4096), 0);
	for (int i = 0; i < 300; i++) {
		CHECK_EQUAL(client_launch(client_spin, NULL), 0);
		CHECK_EQUAL(cu.cuMemsetD8Async(memory, 1, 4096, NULL), 0);
		CHECK_EQUAL(cu.cuMemcpyDtoD_v2(memory, memory + 2048, 1024), 0);
		CHECK_EQUAL(cu.cuMemcpyPeerAsync(memory, client_context, memory + 2048,
						 client_context, 1024, NULL),
			    0);
	}
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(1), 0);
	pthread_mutex_lock(&client.lock);
	count = 0;
	CHECK_EQUAL(fwrite(&count, sizeof(count), 1, client.dump), 1);
	count = client.count;
	CHECK_EQUAL(fwrite(&count, sizeof(count), 1, client.dump), 1);
	for (size_t i = 0; i < client.count; i++)
		CHECK_EQUAL(fwrite(&client.records[i].kind, 4, 1, client.dump), 1);
	fclose(client.dump);
	client.dump = NULL;
	pthread_mutex_unlock(&client.lock);
	printf("#   %zu records in %zu buffers\n", count, client.buffer_count);
}

static void check_buffers(const struct cupti_all_functions *real, FILE *file)
{
	static uint32_t kinds[100000];
	size_t valid, count = 0, expected = 0, wrong = 0;
	struct cupti_activity *record;
	static uint64_t buffer[8192];
	cupti_result result;
	uint32_t kind;

	while (fread(&valid, sizeof(valid), 1, file) == 1 && valid) {
		REQUIRE(valid <= sizeof(buffer) && fread(buffer, 1, valid, file) == valid);
		record = NULL;
		while ((result = real->cuptiActivityGetNextRecord((uint8_t *)buffer, valid,
								  &record)) == CUPTI_SUCCESS &&
		       count < 100000)
			kinds[count++] = record->kind;
		CHECK_EQUAL(result, CUPTI_ERROR_MAX_LIMIT_REACHED);
	}
	CHECK_EQUAL(fread(&expected, sizeof(expected), 1, file), 1);
	CHECK_EQUAL(count, expected);
	for (size_t i = 0; i < count; i++)
		wrong += fread(&kind, 4, 1, file) != 1 || kind != kinds[i];
	CHECK_EQUAL(wrong, 0);
}

/* Where the second record is in a buffer full of this kind; 0: no such kind. */
static size_t second_at(const struct cupti_all_functions *functions, uint32_t kind)
{
	struct cupti_activity *record = NULL;
	uint64_t buffer[128];

	for (size_t i = 0; i < 128; i++)
		buffer[i] = kind;
	for (int i = 0; i < 2; i++)
		if (functions->cuptiActivityGetNextRecord((uint8_t *)buffer, sizeof(buffer),
							  &record) != CUPTI_SUCCESS)
			return 0;
	return (size_t)((uint8_t *)record - (uint8_t *)buffer);
}

static void check_kinds(const struct cupti_all_functions *real)
{
	int known = 0;

	for (uint32_t kind = 1; kind < 60; kind++) {
		if (!second_at(&cupti, kind))
			continue;
		CHECK_EQUAL(second_at(&cupti, kind), second_at(real, kind));
		known++;
	}
	printf("#   %d kinds are as long as the real ones\n", known);
	CHECK(known >= 30);
}

static void run_real(void)
{
	struct cupti_all_functions real;
	uint32_t version;
	int named = 0;
	FILE *file;

	if (!find_real(&real))
		exit(SCENARIO_SKIPPED);
	file = fopen("sim_buffers.bin", "rb");
	REQUIRE(file);
	CHECK_EQUAL(real.cuptiGetVersion(&version), 0);
	printf("#   against the real CUPTI %u\n", version);
	check_buffers(&real, file);
	fclose(file);
	unlink("sim_buffers.bin");
	REQUIRE(!client_open_cupti());
	check_kinds(&real);
	for (cupti_domain domain = 1; domain <= 2; domain++) {
		for (uint32_t cbid = 1; cbid < 1000; cbid++) {
			const char *ours, *theirs = NULL;

			if (cupti.cuptiGetCallbackName(domain, cbid, &ours) != CUPTI_SUCCESS)
				continue;
			CHECK_EQUAL(real.cuptiGetCallbackName(domain, cbid, &theirs), 0);
			CHECK_TEXT(ours, theirs);
			named++;
		}
	}
	CHECK(named > 200);
}

static const struct scenario scenarios[] = {
	{"streams", "kernel_us=50000", run_streams},
	{"forced", "us_spin=2000000", run_forced},
	{"clock", "drift_ppm=200,log=sim_truth.log", run_clock},
	{"graphs", "", run_graphs},
	{"kinds", "kernel_us=200000", run_kinds},
	{"no_buffer", "", run_no_buffer},
	{"drops", "drop_every=7,untimed_every=5", run_drops},
	{"full", "", run_full},
	{"serial", "", run_serial},
	{"held_back", "kernel_us=10000,queue_us=50000", run_held_back},
	{"bad_graphs", "bad_after=15", run_bad_graphs},
	{"null_crash", "null_crash=1", run_null_crash},
	{"many", "kernel_us=2", run_many},
	{"strides_11_0", "version=13", run_strides},
	{"strides_11_1", "version=14", run_strides},
	{"strides_11_8", "version=18", run_strides},
	{"strides_12_8", "version=26", run_strides},
	{"strides_13_0", "version=130001", run_strides},
	{"old_records", "version=13", run_old_records},
	{"dump", "kernel_us=1", run_dump},
	{"real", "", run_real},
};

int main(int argc, char **argv)
{
	return scenario_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(scenarios[0]));
}
