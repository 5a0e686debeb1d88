/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/driver.c - cuInit and the injection, versions, errors, function lookup, connection to
 * CUPTI
 *
 * Runs in:  a program that uses CUDA, in place of libcuda.so.1
 * Gets:     CUDA_INJECTION64_PATH
 * Gives:    one call of InitializeInjection, in the first cuInit
 * Owns:     whether the driver is initialized
 * Fails:    silently if the library to inject cannot be loaded, like the real driver
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool is_started; /* the injected library may call us */
static _Thread_local bool is_injecting;

const struct sim_driver sim_driver_table = {
	.is_ready = sim_is_ready,
	.attach = sim_attach,
	.context_ids = sim_context_ids,
	.is_context = sim_is_context,
	.stream_id = sim_stream_id,
	.node_id = sim_node_id,
	.graph_id = sim_graph_id,
	.graph_exec_id = sim_graph_exec_id,
	.graph_exec_count = sim_graph_exec_count,
	.replay = sim_replay,
	.runtime_enter = sim_runtime_enter,
	.runtime_exit = sim_runtime_exit,
	.busy_ns = sim_busy_ns,
};

const struct sim_driver *sim_nvidia_driver(void)
{
	return &sim_driver_table;
}

bool sim_is_ready(void)
{
	return atomic_load(&is_started);
}

static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	int (*initialize)(void);
	void *library;

	if (!path || !*path)
		return;
	library = dlopen(path, RTLD_NOW);
	if (!library)
		return;
	initialize = (int (*)(void))dlsym(library, "InitializeInjection");
	is_injecting = true;
	if (initialize)
		initialize();
	is_injecting = false;
}

CUresult cuInit(unsigned flags)
{
	SIM_CALL(cuInit, &flags);

	if (is_injecting)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&init_lock);
	if (!atomic_load(&is_started) && !flags && !sim_failure("cuInit") && sim_visible_count()) {
		atomic_store(&is_started, true);
		inject();
		sim_resource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, NULL, NULL, NULL);
	}
	pthread_mutex_unlock(&init_lock);
	sim_call_begin(&call);
	if (!sim_visible_count())
		call.result = CUDA_ERROR_NO_DEVICE;
	else if (flags)
		call.result = CUDA_ERROR_INVALID_VALUE;
	return sim_call_end(&call);
}

CUresult cuDriverGetVersion(int *ret_version)
{
	SIM_CALL(cuDriverGetVersion, &ret_version);

	if (!sim_call_begin(&call) && call.result == CUDA_ERROR_NOT_INITIALIZED)
		call.result = CUDA_SUCCESS; /* works before cuInit */
	if (!call.result && !ret_version)
		call.result = CUDA_ERROR_INVALID_VALUE;
	if (!call.result)
		*ret_version = (int)sim_options()->driver;
	return sim_call_end(&call);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const struct error {
	CUresult number;
	const char *name, *text;
} errors[] = {
	{CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
	{CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
	{CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
	{CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE",
	 "CUDA-capable device(s) is/are busy or unavailable"},
	{CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
	{CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
	 "no kernel image is available for execution on the device"},
	{CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
	{CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
	{CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
	 "an illegal memory access was encountered"},
	{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
	 "too many resources requested for launch"},
	{CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
	{CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
	{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
	 "operation not permitted when stream is capturing"},
	{CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
	 "capture was not initiated in this stream"},
	{CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static const struct error *find_error(CUresult number)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].number == number)
			return &errors[i];
	return NULL;
}

CUresult cuGetErrorName(CUresult error, const char **ret_text)
{
	const struct error *found = find_error(error);

	if (ret_text)
		*ret_text = found ? found->name : NULL;
	return found && ret_text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **ret_text)
{
	const struct error *found = find_error(error);

	if (ret_text)
		*ret_text = found ? found->text : NULL;
	return found && ret_text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- finding functions ----------------------------------------------------------------------- */

static const struct {
	const char *name;
	void *function;
} functions[] = {
#define X(name, parameters) {#name, (void *)name},
	CUDA_ALL_FUNCTIONS(X)
#undef X
};

/* A request for cuMemAlloc means cuMemAlloc_v2. */
static bool is_named(const char *symbol, const char *asked)
{
	size_t length = strlen(asked);

	return strncmp(symbol, asked, length) == 0 &&
	       (!symbol[length] || (strncmp(symbol + length, "_v", 2) == 0));
}

CUresult cuGetProcAddress_v2(const char *symbol, void **ret_function, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *ret_status)
{
	const int injected = sim_failure("cuGetProcAddress_v2");

	if (injected)
		return (CUresult)injected;
	if (!symbol || !ret_function)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_function = NULL;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]) && !*ret_function; i++)
		if (is_named(functions[i].name, symbol))
			*ret_function = functions[i].function;
	if (ret_status)
		*ret_status = *ret_function ? CU_GET_PROC_ADDRESS_SUCCESS
					    : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return *ret_function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
