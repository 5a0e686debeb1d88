/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/cupti.c - the simulated CUPTI: connection to the driver, versions, ids, supported
 * features
 *
 * Runs in:  a program that uses CUDA, loaded by a profiler in place of libcupti.so.13
 * Gets:     the simulated driver, if the program has loaded and initialized one
 * Gives:    hooks to the driver
 * Fails:    with 999 if there is no driver, like the real library
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cupti.h"

static const struct sim_hooks hooks = {
	.enter = sim_on_enter,
	.exit = sim_on_exit,
	.resource = sim_on_resource,
	.work = sim_on_work,
	.waited = sim_on_waited,
	.overhead = sim_on_overhead,
	.memory = sim_on_memory,
	.context = sim_on_context,
	.stream = sim_on_stream,
	.is_serialized = sim_is_serialized,
};

static _Atomic(const struct sim_driver *) driver;
static _Atomic uint32_t thread_id_type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;

const struct sim_driver *sim_driver(void)
{
	const struct sim_driver *found = driver;

	if (found)
		return found;
	found = sim_find_driver();
	if (found) {
		found->attach(&hooks);
		driver = found;
	}
	return found;
}

cupti_result cuptiFinalize(void)
{
	const struct sim_driver *found = driver;

	SIM_FAIL_AS_ASKED();
	if (found && found->graph_exec_count() && sim_options()->finalize_crash) {
		fprintf(stderr, "sim-nvidia: cuptiFinalize beside a graph\n");
		abort();
	}
	if (found)
		found->attach(NULL);
	driver = NULL;
	sim_delivery_stop();
	sim_callbacks_reset();
	sim_activity_reset();
	return CUPTI_SUCCESS;
}

cupti_result cuptiGetVersion(uint32_t *ret_version)
{
	SIM_FAIL_AS_ASKED();
	if (!ret_version)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_version = (uint32_t)sim_options()->version;
	return CUPTI_SUCCESS;
}

/* ---- what was called ------------------------------------------------------------------------- */

static const char *const noted[] = {
	"cuptiSubscribe",       "cuptiUnsubscribe",     "cuptiFinalize",
	"cuptiActivityEnable",  "cuptiActivityDisable", "cuptiPCSamplingEnable",
	"cuptiPCSamplingStart", "cuptiPCSamplingStop",  "cuptiPCSamplingDisable",
};

/* In one piece each, also where the program is killed. */
static void note(const char *name, const char *rest)
{
	char line[128];
	int length = snprintf(line, sizeof(line), "%s %llu%s\n", name,
			      (unsigned long long)sim_now(), rest);
	int fd = open(sim_options()->calls, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, line, (size_t)length) != length)
		perror("sim-nvidia: calls");
	if (fd >= 0)
		close(fd);
}

void sim_note_call(const char *function)
{
	const char *gate = sim_options()->gate;

	for (size_t i = 0; sim_options()->calls[0] && i < sizeof(noted) / sizeof(noted[0]); i++)
		if (strcmp(noted[i], function) == 0)
			note(function, "");
	while (gate[0] && strcmp(function, "cuptiPCSamplingDisable") == 0 &&
	       access(gate, F_OK) == 0)
		sim_sleep_until(sim_now() + 1000000);
}

void sim_note_flushed(uint64_t begin_ns, uint64_t passes)
{
	char rest[48];

	snprintf(rest, sizeof(rest), " %llu %llu", (unsigned long long)begin_ns,
		 (unsigned long long)passes);
	if (sim_options()->calls[0])
		note("flushed", rest);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const struct {
	cupti_result result;
	const char *name;
} results[] = {
#define ROW(name)           \
	{                   \
		name, #name \
	}
	ROW(CUPTI_SUCCESS),
	ROW(CUPTI_ERROR_INVALID_PARAMETER),
	ROW(CUPTI_ERROR_INVALID_DEVICE),
	ROW(CUPTI_ERROR_INVALID_CONTEXT),
	ROW(CUPTI_ERROR_INVALID_OPERATION),
	ROW(CUPTI_ERROR_OUT_OF_MEMORY),
	ROW(CUPTI_ERROR_HARDWARE),
	ROW(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT),
	ROW(CUPTI_ERROR_API_NOT_IMPLEMENTED),
	ROW(CUPTI_ERROR_MAX_LIMIT_REACHED),
	ROW(CUPTI_ERROR_NOT_READY),
	ROW(CUPTI_ERROR_NOT_COMPATIBLE),
	ROW(CUPTI_ERROR_NOT_INITIALIZED),
	ROW(CUPTI_ERROR_INVALID_METRIC_NAME),
	ROW(CUPTI_ERROR_QUEUE_EMPTY),
	ROW(CUPTI_ERROR_INVALID_HANDLE),
	ROW(CUPTI_ERROR_INVALID_STREAM),
	ROW(CUPTI_ERROR_INVALID_KIND),
	ROW(CUPTI_ERROR_DISABLED),
	ROW(CUPTI_ERROR_INVALID_MODULE),
	ROW(CUPTI_ERROR_HARDWARE_BUSY),
	ROW(CUPTI_ERROR_NOT_SUPPORTED),
	ROW(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
	ROW(CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED),
	ROW(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
	ROW(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES),
	ROW(CUPTI_ERROR_INVALID_CHIP_NAME),
	ROW(CUPTI_ERROR_UNKNOWN),
#undef ROW
};

cupti_result cuptiGetResultString(cupti_result result, const char **ret_text)
{
	if (!ret_text)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		if (results[i].result != result)
			continue;
		*ret_text = results[i].name;
		return CUPTI_SUCCESS;
	}
	return CUPTI_ERROR_INVALID_PARAMETER;
}

cupti_result cuptiGetErrorMessage(cupti_result result, const char **ret_text)
{
	return cuptiGetResultString(result, ret_text);
}

cupti_result cuptiGetLastError(void)
{
	return CUPTI_SUCCESS;
}

/* ---- ids ------------------------------------------------------------------------------------- */

cupti_result cuptiGetContextId(CUcontext context, uint32_t *ret_id)
{
	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!ret_id)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return sim_driver()->context_ids(context, ret_id, NULL) ? CUPTI_SUCCESS
								: CUPTI_ERROR_INVALID_CONTEXT;
}

cupti_result cuptiGetDeviceId(CUcontext context, uint32_t *ret_id)
{
	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!ret_id)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return sim_driver()->context_ids(context, NULL, ret_id) ? CUPTI_SUCCESS
								: CUPTI_ERROR_INVALID_CONTEXT;
}

cupti_result cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *ret_id)
{
	return cuptiGetStreamIdEx(context, stream, 0, ret_id);
}

cupti_result cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread,
				uint32_t *ret_id)
{
	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!ret_id)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!stream && per_thread)
		stream = CU_STREAM_PER_THREAD;
	return sim_driver()->stream_id(context, stream, ret_id) ? CUPTI_SUCCESS
								: CUPTI_ERROR_INVALID_STREAM;
}

cupti_result cuptiGetGraphNodeId(CUgraphNode node, uint64_t *ret_id)
{
	SIM_FAIL_AS_ASKED();
	if (!sim_driver() || !ret_id || !sim_driver()->node_id(node))
		return sim_driver() ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_ERROR_UNKNOWN;
	*ret_id = sim_driver()->node_id(node);
	return CUPTI_SUCCESS;
}

cupti_result cuptiGetGraphId(CUgraph graph, uint32_t *ret_id)
{
	SIM_FAIL_AS_ASKED();
	if (!sim_driver() || !ret_id || !sim_driver()->graph_id(graph))
		return sim_driver() ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_ERROR_UNKNOWN;
	*ret_id = sim_driver()->graph_id(graph);
	return CUPTI_SUCCESS;
}

cupti_result cuptiGetGraphExecId(CUgraphExec graph_exec, uint32_t *ret_id)
{
	SIM_FAIL_AS_ASKED();
	if (!sim_driver() || !ret_id || !sim_driver()->graph_exec_id(graph_exec))
		return sim_driver() ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_ERROR_UNKNOWN;
	*ret_id = sim_driver()->graph_exec_id(graph_exec);
	return CUPTI_SUCCESS;
}

/* ---- threads --------------------------------------------------------------------------------- */

cupti_result cuptiSetThreadIdType(cupti_thread_id_type type)
{
	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (type > CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
		return CUPTI_ERROR_INVALID_PARAMETER;
	thread_id_type = type;
	return CUPTI_SUCCESS;
}

cupti_result cuptiGetThreadIdType(cupti_thread_id_type *ret_type)
{
	SIM_FAIL_AS_ASKED();
	if (!ret_type)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_type = thread_id_type;
	return CUPTI_SUCCESS;
}

/* DEFAULT is pthread_self, cut. */
uint32_t sim_thread_id(void)
{
	if (thread_id_type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
		return (uint32_t)syscall(SYS_gettid);
	return (uint32_t)(uintptr_t)__builtin_thread_pointer();
}

/* ---- what is supported ----------------------------------------------------------------------- */

cupti_result cuptiComputeCapabilitySupported(int major, int minor, int *ret_support)
{
	SIM_FAIL_AS_ASKED();
	if (!ret_support)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*ret_support = major > 7 || (major == 7 && minor >= 5);
	return CUPTI_SUCCESS;
}

cupti_result cuptiDeviceSupported(CUdevice device, int *ret_support)
{
	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!ret_support || device < 0 || device >= (CUdevice)sim_visible_count())
		return ret_support ? CUPTI_ERROR_INVALID_DEVICE : CUPTI_ERROR_INVALID_PARAMETER;
	*ret_support = 1;
	return CUPTI_SUCCESS;
}

cupti_result cuptiDeviceGetChipName(struct cupti_chip_name_params *params)
{
	SIM_FAIL_AS_ASKED();
	if (!sim_driver())
		return CUPTI_ERROR_UNKNOWN;
	if (!params || params->device_index >= sim_visible_count())
		return CUPTI_ERROR_INVALID_PARAMETER;
	params->ret_name = sim_options()->chip;
	return CUPTI_SUCCESS;
}
