/* SPDX-License-Identifier: MIT
 *
 * tests/unit/sim/test_sim_nvidia.c - the simulated libcuda and the activity side of the simulated libcupti
 *
 *	test_sim_nvidia FOLDER      the folder with the libraries
 *
 * One scenario for each behaviour that reference/nvidia.md tells of, each in a process of its own.
 */
#include <elf.h>
#include <glob.h>
#include <sys/syscall.h>

#include "sim_client.h"
#include "../../../sim/nvidia/sim.h"

/* ---- symbols --------------------------------------------------------------------------------- */

static void run_symbols(void)
{
	CUdriverProcAddressQueryResult status;
	const char *text;
	void *function;
	int version = 0;

	CHECK_EQUAL(client_open_cuda(), 0);
	CHECK_EQUAL(client_open_cupti(), 0);
	CHECK_EQUAL(cu.cuDriverGetVersion(&version), CUDA_SUCCESS);
	CHECK_EQUAL(version, 12080);
	CHECK_EQUAL(cu.cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
	CHECK_EQUAL(cu.cuInit(0), CUDA_SUCCESS);
	CHECK_EQUAL(cu.cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQUAL(cu.cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &status), 0);
	CHECK(function == (void *)cu.cuMemAlloc_v2);
	CHECK_EQUAL(cu.cuGetProcAddress_v2("cuNothing", &function, 12000, 0, &status),
		    CUDA_ERROR_NOT_FOUND);
	CHECK_EQUAL(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	CHECK_EQUAL(cu.cuGetErrorName(CUDA_ERROR_NO_DEVICE, &text), 0);
	CHECK_TEXT(text, "CUDA_ERROR_NO_DEVICE");
	CHECK_EQUAL(cu.cuGetErrorString(CUDA_ERROR_NOT_FOUND, &text), 0);
	CHECK_TEXT(text, "named symbol not found");
}

static void run_device(void)
{
	CUdevice device;
	int count, value;
	size_t bytes;
	CUuuid one, other;
	char text[64];

	REQUIRE(client_init());
	CHECK_EQUAL(cu.cuDeviceGetCount(&count), 0);
	CHECK_EQUAL(count, 2);
	CHECK_EQUAL(cu.cuDeviceGet(&device, 1), 0);
	CHECK_EQUAL(cu.cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
	CHECK_EQUAL(cu.cuDeviceGetName(text, sizeof(text), 1), 0);
	CHECK_TEXT(text, "NVIDIA H200 (simulated)");
	CHECK_EQUAL(cu.cuDeviceGetUuid_v2(&one, 0), 0);
	CHECK_EQUAL(cu.cuDeviceGetUuid_v2(&other, 1), 0);
	CHECK(memcmp(&one, &other, sizeof(one)) != 0);
	CHECK_EQUAL(cu.cuDeviceTotalMem_v2(&bytes, 0), 0);
	CHECK(bytes > (size_t)100 << 30);
	CHECK_EQUAL(cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
		    0);
	CHECK_EQUAL(value, 132);
	CHECK_EQUAL(cu.cuDeviceGetPCIBusId(text, sizeof(text), 1), 0);
	CHECK_TEXT(text, "0000:1C:00.0");
	CHECK_EQUAL(cu.cuDevicePrimaryCtxRetain(&client_context, 1), 0);
	CHECK_EQUAL(cu.cuCtxPushCurrent_v2(client_context), 0);
	CHECK_EQUAL(cu.cuCtxGetDevice(&device), 0);
	CHECK_EQUAL(device, 1);
	CHECK_EQUAL(cu.cuCtxPopCurrent_v2(NULL), 0);
	CHECK_EQUAL(cu.cuDevicePrimaryCtxRelease_v2(1), 0);
	CHECK_EQUAL(cu.cuCtxSetCurrent(client_context), CUDA_ERROR_INVALID_CONTEXT);
}

static void run_no_device(void)
{
	CHECK_EQUAL(client_open_cuda(), 0);
	CHECK_EQUAL(cu.cuInit(0), CUDA_ERROR_NO_DEVICE);
}

static void run_module(void)
{
	char log[100] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)sizeof(log)};
	const char *name;
	CUmodule module;
	CUfunction function;
	int value, grid;

	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(cu.cuModuleLoadDataEx(&module, ".version 8.0\nnonsense", 2, options, values),
		    CUDA_ERROR_INVALID_PTX);
	CHECK(strstr(log, "ptxas fatal") != NULL);
	CHECK_EQUAL(cu.cuModuleLoadData(&module, "\177ELF"), CUDA_ERROR_INVALID_IMAGE);
	CHECK_EQUAL(cu.cuModuleGetFunction(&function, client_module, "none"), CUDA_ERROR_NOT_FOUND);
	CHECK_EQUAL(cu.cuFuncGetName(&name, client_other), 0);
	CHECK_TEXT(name, "_Z5otherPf");
	CHECK_EQUAL(cu.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, client_spin),
		    0);
	CHECK_EQUAL(value, 90);
	CHECK_EQUAL(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, client_spin, 256, 0), 0);
	CHECK_EQUAL(value, 8);
	CHECK_EQUAL(cu.cuOccupancyMaxPotentialBlockSize(&grid, &value, client_spin, NULL, 0, 0), 0);
	CHECK_EQUAL(grid, 264);
	CHECK_EQUAL(cu.cuLaunchKernel(client_spin, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL),
		    CUDA_ERROR_INVALID_VALUE);
	CHECK_EQUAL(cu.cuModuleUnload(client_module), 0);
}

/* ---- injection ------------------------------------------------------------------------------- */

static void *init_thread(void *none)
{
	return (void *)(uintptr_t)cu.cuInit(0);
}

static void run_injection(void)
{
	char path[4096];
	pthread_t threads[4];
	int *count, *result;
	void *library;

	snprintf(path, sizeof(path), "%s", getenv("SIM_INJECTED"));
	setenv("CUDA_INJECTION64_PATH", path, 1);
	REQUIRE(!client_open_cuda());
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, init_thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	REQUIRE(library);
	count = dlsym(library, "injected_count");
	result = dlsym(library, "injected_result");
	CHECK_EQUAL(*count, 1);
	CHECK_EQUAL(*result, 0);
}

static void ignore(void *user, cupti_domain domain, uint32_t cbid, const void *data)
{
}

static void run_no_driver(void)
{
	struct cupti_activity_kernel record = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
	struct cupti_pm_sampling_enable_params params = {
		.struct_bytes = CUpti_PmSampling_Enable_Params_STRUCT_SIZE};
	struct cupti_activity *next = NULL;
	cupti_subscriber subscriber;
	struct timespec time;
	uint32_t version = 0;
	uint64_t now_ns = 0;

	REQUIRE(!client_open_cupti());
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(cupti.cuptiSubscribe(&subscriber, ignore, NULL), CUPTI_ERROR_UNKNOWN);
		CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_UNKNOWN);
		CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), CUPTI_ERROR_UNKNOWN);
		CHECK_EQUAL(cupti.cuptiSetThreadIdType(1), CUPTI_ERROR_UNKNOWN);
		CHECK_EQUAL(cupti.cuptiPmSamplingEnable(&params), CUPTI_ERROR_INVALID_PARAMETER);
		if (i == 0)
			REQUIRE(!client_open_cuda()); /* but no cuInit */
	}
	CHECK_EQUAL(cupti.cuptiGetVersion(&version), 0);
	CHECK_EQUAL(version, 130001);
	CHECK_EQUAL(cupti.cuptiGetTimestamp(&now_ns), 0);
	clock_gettime(CLOCK_REALTIME, &time);
	CHECK(llabs((long long)now_ns - time.tv_sec * 1000000000LL - time.tv_nsec) < 1000000000);
	CHECK_EQUAL(cupti.cuptiActivityGetNextRecord((uint8_t *)&record, sizeof(record), &next), 0);
	CHECK(next == (void *)&record);
	CHECK_EQUAL(cupti.cuptiActivityGetNextRecord((uint8_t *)&record, sizeof(record), &next),
		    CUPTI_ERROR_MAX_LIMIT_REACHED);
	CHECK_EQUAL(cu.cuInit(0), 0);
	CHECK_EQUAL(cupti.cuptiSubscribe(&subscriber, ignore, NULL), CUPTI_SUCCESS);
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static struct {
	uint32_t domain, cbid, site, correlation_id, result;
	uint64_t given;
	char symbol[64];
} calls[64];
static size_t call_count;
static bool does_nest;

static void on_call(void *user, cupti_domain domain, uint32_t cbid, const void *bytes)
{
	const struct cupti_callback_data *data = bytes;

	if (call_count == 64)
		return;
	calls[call_count].domain = domain;
	calls[call_count].cbid = cbid;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
		calls[call_count].site = data->site;
		calls[call_count].correlation_id = data->correlation_id;
		calls[call_count].given = *data->correlation_data;
		if (data->site == CUPTI_API_ENTER)
			*data->correlation_data = 0x1000 + data->correlation_id;
		else
			calls[call_count].result = *(uint32_t *)data->function_return_value;
		snprintf(calls[call_count].symbol, sizeof(calls[0].symbol), "%s",
			 data->symbol_name ? data->symbol_name : "");
	}
	call_count++;
	if (does_nest)
		cu.cuCtxSynchronize();
}

static void check_launch_calls(void)
{
	const union client_record *record;

	CHECK_EQUAL(call_count, 4);
	for (int i = 0; i < 4; i++) {
		CHECK_EQUAL(calls[i].cbid, 307);
		CHECK_EQUAL(calls[i].site, i % 2);
	}
	CHECK_EQUAL(calls[0].correlation_id, calls[1].correlation_id);
	CHECK_EQUAL(calls[1].given, 0x1000 + calls[0].correlation_id);
	CHECK_EQUAL(calls[0].given, 0);
	CHECK_EQUAL(calls[1].result, 0);
	CHECK_TEXT(calls[0].symbol, "spin");
	CHECK(calls[2].correlation_id != calls[0].correlation_id);
	CHECK_EQUAL(calls[3].result, CUDA_ERROR_INVALID_VALUE);
	record = client_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
	REQUIRE(record);
	CHECK_EQUAL(record->kernel.correlation_id, calls[0].correlation_id);
	CHECK_TEXT(record->kernel.name, "spin");
	CHECK_EQUAL(record->kernel.grid_x, 4);
	CHECK_EQUAL(record->kernel.block_x, 128);
	CHECK_EQUAL(record->kernel.dynamic_shared_bytes, 16);
	CHECK_EQUAL(record->kernel.stream_id, 7);
	CHECK_EQUAL(record->kernel.context_id, 1);
	CHECK_EQUAL(client_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1);
}

static void run_callbacks(void)
{
	char holder[64] = "";
	struct cupti_subscriber_params params = {.struct_bytes = CUpti_SubscriberParams_STRUCT_SIZE,
						 .name = "duet",
						 .old_name = holder,
						 .old_name_bytes = sizeof(holder)};
	cupti_subscriber subscriber, second;
	const char *name;
	uint32_t state = 9;

	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(cupti.cuptiSubscribe_v2(&subscriber, on_call, NULL, &params), 0);
	CHECK_EQUAL(cupti.cuptiSubscribe_v2(&second, on_call, NULL, &params),
		    CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	CHECK_TEXT(holder, "duet");
	CHECK_EQUAL(cupti.cuptiSubscribe(&second, on_call, NULL),
		    CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	CHECK_EQUAL(cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 307), 0);
	CHECK_EQUAL(cupti.cuptiGetCallbackState(&state, subscriber, 1, 307), 0);
	CHECK_EQUAL(state, 1);
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	does_nest = true; /* and no callback for what a callback calls */
	CHECK_EQUAL(client_launch(client_spin, NULL), 0);
	CHECK_EQUAL(cu.cuLaunchKernel(client_spin, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
		    CUDA_ERROR_INVALID_VALUE);
	does_nest = false;
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	check_launch_calls();
	CHECK_EQUAL(cupti.cuptiGetCallbackName(1, 442, &name), 0);
	CHECK_TEXT(name, "cuLaunchKernel_ptsz");
	CHECK_EQUAL(cupti.cuptiGetCallbackName(2, 211, &name), 0);
	CHECK_TEXT(name, "cudaLaunchKernel_v7000");
	CHECK_EQUAL(cupti.cuptiGetCallbackName(1, 900, &name), CUPTI_ERROR_INVALID_PARAMETER);
	CHECK_EQUAL(cupti.cuptiUnsubscribe(subscriber), 0);
	CHECK_EQUAL(client_launch(client_spin, NULL), 0);
	CHECK_EQUAL(call_count, 4);
	CHECK_EQUAL(cupti.cuptiSubscribe(&subscriber, on_call, NULL), 0);
	CHECK_EQUAL(cupti.cuptiFinalize(), 0);
	CHECK_EQUAL(client_launch(client_spin, NULL), 0);
}

static void run_taken(void)
{
	char holder[64] = "";
	struct cupti_subscriber_params params = {.struct_bytes = CUpti_SubscriberParams_STRUCT_SIZE,
						 .old_name = holder,
						 .old_name_bytes = sizeof(holder)};
	cupti_subscriber subscriber;

	REQUIRE(client_init());
	CHECK_EQUAL(cupti.cuptiSubscribe_v2(&subscriber, on_call, NULL, &params), 39);
	CHECK_TEXT(holder, "sim-other");
}

static void run_failures(void)
{
	cupti_subscriber subscriber;
	uint32_t version;

	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(cupti.cuptiSubscribe(&subscriber, on_call, NULL), 15);
	CHECK_EQUAL(cupti.cuptiGetVersion(&version), 999);
	CHECK_EQUAL(client_launch(client_spin, NULL), CUDA_ERROR_LAUNCH_FAILED);
}

/* A runtime around the driver: its call's id is that of the driver's calls in it. */
static void run_runtime(void)
{
	const struct sim_driver *(*find)(void);
	const struct sim_driver *driver;
	cupti_subscriber subscriber;
	const union client_record *api;
	struct sim_call call;

	REQUIRE(client_init() && client_make_context());
	find = (const struct sim_driver *(*)(void))dlsym(client_open("libcuda.so.1"),
							 "sim_nvidia_driver");
	driver = find();
	CHECK_EQUAL(cupti.cuptiSubscribe(&subscriber, on_call, NULL), 0);
	CHECK_EQUAL(cupti.cuptiEnableCallback(1, subscriber, 1, 307), 0);
	CHECK_EQUAL(cupti.cuptiEnableCallback(1, subscriber, 2, 505), 0);
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_RUNTIME), 0);
	CHECK_EQUAL(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), 0);
	CHECK_EQUAL(cupti.cuptiActivityPushExternalCorrelationId(3, 77), 0);
	CHECK_EQUAL(cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), 0);
	driver->runtime_enter(&call, 505, "__cudaLaunchKernel_v13000", NULL);
	CHECK_EQUAL(client_launch(client_spin, NULL), 0);
	driver->runtime_exit(&call);
	CHECK_EQUAL(cupti.cuptiActivityPopExternalCorrelationId(3, NULL), 0);
	CHECK_EQUAL(cupti.cuptiActivityPopExternalCorrelationId(3, NULL), CUPTI_ERROR_QUEUE_EMPTY);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	CHECK_EQUAL(call_count, 4);
	CHECK_EQUAL(calls[0].domain, 2);
	CHECK_EQUAL(calls[1].domain, 1);
	CHECK_EQUAL(calls[1].correlation_id, calls[0].correlation_id);
	api = client_find(CUPTI_ACTIVITY_KIND_RUNTIME, 0);
	REQUIRE(api);
	CHECK_EQUAL(api->api.cbid, 505);
	CHECK_EQUAL(api->api.thread_id, syscall(SYS_gettid));
	CHECK_EQUAL(api->api.correlation_id, calls[0].correlation_id);
	CHECK(api->api.end_ns >= api->api.start_ns);
	REQUIRE(client_find(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 0));
	CHECK_EQUAL(client_find(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 0)->external.external_id,
		    77);
}

/* ---- resources ------------------------------------------------------------------------------- */

static struct {
	uint32_t counts[32];
	char section[64];
	uint32_t flags, osabi;
	CUgraphNode original, clone;
	size_t cubin_bytes;
	uint64_t crc;
} resources;

static void read_cubin(const struct cupti_module_resource *module)
{
	const Elf64_Ehdr *header = (const void *)module->cubin;
	const Elf64_Shdr *sections = (const void *)(module->cubin + header->e_shoff);
	struct cupti_cubin_crc_params params = {.struct_bytes = CUpti_GetCubinCrcParamsSize,
						.cubin = module->cubin,
						.cubin_bytes = module->cubin_bytes};

	resources.flags = header->e_flags;
	resources.osabi = header->e_ident[EI_OSABI];
	snprintf(resources.section, sizeof(resources.section), "%s",
		 module->cubin + sections[header->e_shstrndx].sh_offset + sections[4].sh_name);
	resources.cubin_bytes = module->cubin_bytes;
	if (cupti.cuptiGetCubinCrc(&params) == CUPTI_SUCCESS)
		resources.crc = params.ret_crc;
}

static void on_resource(void *user, cupti_domain domain, uint32_t cbid, const void *bytes)
{
	const struct cupti_resource_data *data = bytes;
	const struct cupti_graph_resource *graph = data->descriptor;

	resources.counts[cbid]++;
	if (cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED)
		read_cubin(data->descriptor);
	if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
		resources.original = graph->original_node;
		resources.clone = graph->node;
	}
}

static void run_resources(void)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params = {
		.grid_x = 1, .grid_y = 1, .grid_z = 1, .block_x = 32, .block_y = 1, .block_z = 1};
	uint64_t original = 0, clone = 0;
	cupti_subscriber subscriber;
	CUgraphExec graph_exec;
	CUgraphNode node;
	CUstream stream;
	CUgraph graph;

	REQUIRE(client_init());
	CHECK_EQUAL(cupti.cuptiSubscribe(&subscriber, on_resource, NULL), 0);
	CHECK_EQUAL(cupti.cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE), 0);
	REQUIRE(client_make_context());
	CHECK_EQUAL(cu.cuStreamCreate(&stream, 0), 0);
	CHECK_EQUAL(cu.cuGraphCreate(&graph, 0), 0);
	params.function = client_spin;
	CHECK_EQUAL(cu.cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params), 0);
	CHECK_EQUAL(cu.cuGraphInstantiateWithFlags(&graph_exec, graph, 0), 0);
	CHECK(resources.original == node);
	CHECK_EQUAL(cupti.cuptiGetGraphNodeId(node, &original), 0);
	CHECK_EQUAL(cupti.cuptiGetGraphNodeId(resources.clone, &clone), 0);
	CHECK(original && clone && original != clone);
	CHECK_EQUAL(cu.cuGraphExecDestroy(graph_exec), 0);
	CHECK_EQUAL(cu.cuGraphDestroy(graph), 0);
	CHECK_EQUAL(cu.cuModuleUnload(client_module), 0);
	CHECK_EQUAL(cu.cuStreamDestroy_v2(stream), 0);
	CHECK_EQUAL(cu.cuDevicePrimaryCtxRelease_v2(0), 0);
	for (uint32_t i = 1; i <= 7; i++)
		CHECK_EQUAL(resources.counts[i], i != CUPTI_CBID_RESOURCE_CU_INIT_FINISHED);
	CHECK_EQUAL(resources.counts[CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED], 1);
	CHECK_EQUAL(resources.counts[CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED], 1);
	CHECK_EQUAL(resources.counts[CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED], 1);
	CHECK_TEXT(resources.section, ".text.spin");
	CHECK_EQUAL(resources.osabi, 0x41);
	CHECK_EQUAL(resources.flags >> 8 & 0xff, 90);
	CHECK(resources.crc != 0);
}

/* ---- memory ---------------------------------------------------------------------------------- */

enum { WORDS = 1024 };

static void check_copy_records(void)
{
	const union client_record *record = client_find(CUPTI_ACTIVITY_KIND_MEMCPY, 0);

	REQUIRE(record);
	CHECK_EQUAL(record->copy.copy_kind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
	CHECK_EQUAL(record->copy.size_bytes, WORDS * 4);
	CHECK_EQUAL(record->copy.source_kind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
	CHECK_EQUAL(record->copy.end_ns - record->copy.start_ns > 1100, 1);
	record = client_find(CUPTI_ACTIVITY_KIND_MEMCPY, 2);
	REQUIRE(record);
	CHECK_EQUAL(record->copy.copy_kind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
	CHECK_EQUAL(record->copy.flags, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
	CHECK_EQUAL(record->copy.destination_kind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
	record = client_find(CUPTI_ACTIVITY_KIND_MEMSET, 0);
	REQUIRE(record);
	CHECK_EQUAL(record->set.value, 0x01020304);
	CHECK_EQUAL(record->set.size_bytes, 64);
	record = client_find(CUPTI_ACTIVITY_KIND_MEMCPY2, 0);
	REQUIRE(record);
	CHECK_EQUAL(record->peer.copy_kind, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
	CHECK_EQUAL(record->peer.destination_device_id, 1);
}

static void run_memory(void)
{
	uint32_t words[WORDS], *pinned;
	CUdeviceptr one, other;
	CUcontext second;
	size_t left, all;

	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = i;
	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(client_enable(CUPTI_ACTIVITY_KIND_MEMCPY), 0);
	CHECK_EQUAL(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY2), 0);
	CHECK_EQUAL(cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET), 0);
	CHECK_EQUAL(cu.cuMemAlloc_v2(&one, sizeof(words)), 0);
	CHECK_EQUAL(cu.cuMemAlloc_v2(&other, sizeof(words)), 0);
	CHECK_EQUAL(cu.cuMemAllocHost_v2((void **)&pinned, sizeof(words)), 0);
	CHECK_EQUAL(cu.cuMemGetInfo_v2(&left, &all), 0);
	CHECK_EQUAL(all - left, 3 * sizeof(words));
	CHECK_EQUAL(cu.cuMemcpyHtoD_v2(one, words, sizeof(words)), 0);
	CHECK_EQUAL(cu.cuMemcpyDtoD_v2(other, one, sizeof(words)), 0);
	CHECK_EQUAL(cu.cuMemsetD32_v2(other + 64, 0x01020304, 16), 0);
	CHECK_EQUAL(cu.cuMemcpyDtoHAsync_v2(pinned, other, sizeof(words), NULL), 0);
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
	CHECK_EQUAL(pinned[15], 15);
	CHECK_EQUAL(pinned[16], 0x01020304);
	CHECK_EQUAL(pinned[32], 32);
	CHECK_EQUAL(cu.cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)words, words, 4),
		    CUDA_ERROR_INVALID_VALUE);
	CHECK_EQUAL(cu.cuMemcpyHtoD_v2(one + 4096, words, 4), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQUAL(cu.cuDevicePrimaryCtxRetain(&second, 1), 0);
	CHECK_EQUAL(cu.cuMemcpyPeerAsync(other, second, one, client_context, 256, NULL), 0);
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	check_copy_records();
	CHECK_EQUAL(cu.cuMemFree_v2(one), 0);
	CHECK_EQUAL(cu.cuMemFree_v2(one), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQUAL(cu.cuMemFree_v2(other), 0);
	CHECK_EQUAL(cu.cuMemFreeHost(pinned), 0);
}

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

/* Kernels of 20 ms. */
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
	CHECK(client_now() - begin_ns < 20000000);
	CHECK_EQUAL(cu.cuStreamQuery(one), CUDA_ERROR_NOT_READY);
	CHECK_EQUAL(cu.cuEventQuery(last), CUDA_ERROR_NOT_READY);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	CHECK_EQUAL(client.count, 0);
	CHECK_EQUAL(cu.cuStreamSynchronize(one), 0);
	CHECK(client_now() - begin_ns >= 60000000);
	CHECK_EQUAL(__atomic_load_n(&host_calls, __ATOMIC_SEQ_CST), 1);
	CHECK_EQUAL(cu.cuEventElapsedTime(&ms, first, last), 0);
	CHECK(ms >= 60 && ms < 75);
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
	CHECK(client_now() - begin_ns >= 100000000);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	CHECK_EQUAL(client.count, 6);
	check_order(13);
	check_order(14);
	cu.cuEventDestroy_v2(first);
	cu.cuEventDestroy_v2(last);
	cu.cuStreamDestroy_v2(one);
	cu.cuStreamDestroy_v2(other);
}

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
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(0), 0);
	CHECK_EQUAL(client.count, 1);
}

static uint64_t far_clock(void)
{
	return client_now() + UINT64_C(1000000000000000);
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
		off_ns = llabs((long long)(record->kernel.start_ns - far_clock() + client_now()) -
			       (long long)start_ns);
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
	CHECK(record->synchronization.end_ns - record->synchronization.start_ns > 10000);
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

static void check_walk(const struct cupti_functions *functions, uint32_t kind, size_t bytes)
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

static bool find_real(struct cupti_functions *ret_functions)
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

static void check_buffers(const struct cupti_functions *real, FILE *file)
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

static void run_real(void)
{
	struct cupti_functions real;
	uint32_t version;
	int named = 0;
	FILE *file;

	if (!find_real(&real))
		return;
	file = fopen("sim_buffers.bin", "rb");
	REQUIRE(file);
	CHECK_EQUAL(real.cuptiGetVersion(&version), 0);
	printf("#   against the real CUPTI %u\n", version);
	check_buffers(&real, file);
	fclose(file);
	unlink("sim_buffers.bin");
	REQUIRE(!client_open_cupti());
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
	{"symbols", "driver=12080", run_symbols},
	{"device", "devices=2", run_device},
	{"no_device", "devices=0", run_no_device},
	{"module", "", run_module},
	{"injection", "", run_injection},
	{"no_driver", "", run_no_driver},
	{"callbacks", "", run_callbacks},
	{"taken", "subscriber=0", run_taken},
	{"failures", "fail_cuptiSubscribe=15,fail_cuptiGetVersion=999,fail_cuLaunchKernel=719",
	 run_failures},
	{"runtime", "", run_runtime},
	{"resources", "", run_resources},
	{"memory", "devices=2", run_memory},
	{"streams", "kernel_us=20000", run_streams},
	{"forced", "us_spin=50000", run_forced},
	{"clock", "drift_ppm=200,log=sim_truth.log", run_clock},
	{"graphs", "", run_graphs},
	{"kinds", "", run_kinds},
	{"no_buffer", "", run_no_buffer},
	{"drops", "drop_every=7,untimed_every=5", run_drops},
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
