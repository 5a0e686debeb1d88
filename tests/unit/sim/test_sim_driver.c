/* SPDX-License-Identifier: MIT
 *
 * tests/unit/sim/test_sim_driver.c - the simulated libcuda, and callbacks of the simulated libcupti
 *
 *	test_sim_driver FOLDER      the folder with the libraries
 *
 * One scenario for each behaviour that reference/nvidia.md tells of, each in a process of its own.
 */
#include <elf.h>
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
	/* A buffer that CUPTI holds at its end is lost, and a leak. The launch may be in one by
	 * then. */
	usleep(20000);
	CHECK_EQUAL(cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), 0);
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

static void on_wait(void *user, cupti_domain domain, uint32_t cbid, const void *bytes)
{
	const struct cupti_synchronize_data *data = bytes;

	if (domain == CUPTI_CB_DOMAIN_SYNCHRONIZE && data->context == client_context)
		call_count += cbid;
}

static void run_synchronize(void)
{
	cupti_subscriber subscriber;

	REQUIRE(client_init() && client_make_context());
	CHECK_EQUAL(cupti.cuptiSubscribe(&subscriber, on_wait, NULL), 0);
	CHECK_EQUAL(cupti.cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_SYNCHRONIZE), 0);
	CHECK_EQUAL(cu.cuCtxSynchronize(), 0);
	CHECK_EQUAL(call_count, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED);
	CHECK_EQUAL(cu.cuStreamSynchronize(NULL), 0);
	CHECK_EQUAL(call_count, 3);
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
	CHECK_EQUAL(cu.cuMemcpyHtoD_v2(one, words, sizeof(words) + 4), CUDA_ERROR_INVALID_VALUE);
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
	{"synchronize", "", run_synchronize},
};

int main(int argc, char **argv)
{
	return scenario_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(scenarios[0]));
}
