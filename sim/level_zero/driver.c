/* SPDX-License-Identifier: MIT
 *
 * sim/level_zero/driver.c - entry points for the loader: tables of functions, the driver and its
 * devices
 *
 * Runs in:  the test program, loaded by libze_loader if ZE_ENABLE_ALT_DRIVERS names this library
 * Gets:     requests for tables
 * Gives:    the functions that are simulated; the loader answers for the others
 * Owns:     the driver and its devices
 * Fails:    zeInit fails if SIM_LEVEL_ZERO is invalid
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

#define EXPORTED __attribute__((visibility("default")))

struct _ze_driver_handle_t sim_driver = {.object = {SIM_DRIVER, SIM_DRIVER}};
struct sim_counts sim_level_zero_counts;
struct _ze_device_handle_t sim_devices[MAX_SIM_DEVICES];

void *sim_new(enum sim_kind kind, size_t size)
{
	struct sim_object *object = calloc(1, size);

	if (!object)
		abort();
	object->kind = kind;
	return object;
}

static const char *name_of(enum sim_kind kind)
{
	static const char *const names[] = {"driver", "device", "context", "queue",  "list",
					    "pool",   "event",  "fence",   "module", "kernel"};

	return names[kind - SIM_DRIVER];
}

/* A line is one write, as in the log. */
static void tell_gone(const struct sim_object *object)
{
	char line[64];
	int length = snprintf(line, sizeof(line), "%d %s\n", (int)getpid(), name_of(object->was));
	int file = open(sim_options.gone, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	if (file < 0 || write(file, line, (size_t)length) != length)
		fprintf(stderr, "sim-level_zero: %s cannot be written\n", sim_options.gone);
	if (file >= 0)
		close(file);
}

bool sim_is(const void *handle, enum sim_kind kind)
{
	const struct sim_object *object = handle;

	if (object && object->kind == SIM_GONE && sim_options.gone[0])
		tell_gone(object);
	return object && object->kind == kind;
}

void sim_free(void *freed)
{
	struct sim_object *object = freed;

	object->was = object->kind;
	object->kind = SIM_GONE;
	if (!sim_options.gone[0])
		free(object);
}

/* ---- beginning ------------------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_ready;

static void make_condition(void)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&sim_changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void before_fork(void)
{
	pthread_mutex_lock(&sim_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&sim_lock);
}

/* The parent's queues have no thread here; new ones do. */
static void in_child(void)
{
	pthread_mutex_unlock(&sim_lock);
	make_condition();
}

static void start(void)
{
	is_ready = sim_options_read();
	make_condition();
	pthread_atfork(before_fork, after_fork, in_child);
	for (uint32_t i = 0; i < MAX_SIM_DEVICES; i++)
		sim_devices[i] = (struct _ze_device_handle_t){{SIM_DEVICE, SIM_DEVICE}, i, NULL};
	is_ready = is_ready && sim_nodes_open();
}

static ze_result_t init(ze_init_flags_t flags)
{
	pthread_once(&once, start);
	return is_ready ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNINITIALIZED;
}

/* ---- the driver ------------------------------------------------------------------------------ */

static ze_result_t get_drivers(uint32_t *count, ze_driver_handle_t *drivers)
{
	if (!count)
		return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
	if (*count && drivers)
		drivers[0] = &sim_driver;
	*count = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_api_version(ze_driver_handle_t of, ze_api_version_t *ret_version)
{
	*ret_version = ZE_API_VERSION_1_3;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_driver_properties(ze_driver_handle_t of, ze_driver_properties_t *properties)
{
	memset(&properties->uuid, 0x51, sizeof(properties->uuid));
	properties->driverVersion = 1u << 24 | 3u << 16 | 1234;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_extensions(ze_driver_handle_t of, uint32_t *count,
				  ze_driver_extension_properties_t *properties)
{
	*count = 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_extension_function(ze_driver_handle_t of, const char *name,
					  void **ret_function)
{
	if (!sim_is(of, SIM_DRIVER) || !name || !ret_function)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (sim_options.no_base_address || strcmp(name, "zexKernelGetBaseAddress") != 0)
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	*ret_function = (void *)sim_kernel_address;
	return ZE_RESULT_SUCCESS;
}

/* ---- devices --------------------------------------------------------------------------------- */

static ze_result_t get_devices(ze_driver_handle_t of, uint32_t *count, ze_device_handle_t *devices)
{
	uint32_t most = (uint32_t)sim_options.devices;

	if (!sim_is(of, SIM_DRIVER) || !count)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	for (uint32_t i = 0; devices && i < *count && i < most; i++)
		devices[i] = &sim_devices[i];
	if (!*count || *count > most)
		*count = most;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_sub_devices(ze_device_handle_t device, uint32_t *count,
				   ze_device_handle_t *devices)
{
	*count = 0;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_properties(ze_device_handle_t device, ze_device_properties_t *properties)
{
	const ze_structure_type_t type = properties->stype;

	if (!sim_is(device, SIM_DEVICE))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	properties->type = ZE_DEVICE_TYPE_GPU;
	properties->vendorId = 0x8086;
	properties->deviceId = 0xe20b;
	properties->flags = 0;
	properties->coreClockRate = 2850;
	properties->maxMemAllocSize = UINT64_C(1) << 32;
	properties->numThreadsPerEU = 8;
	properties->physicalEUSimdWidth = 16;
	properties->numEUsPerSubslice = 8;
	properties->numSubslicesPerSlice = 4;
	properties->numSlices = 5;
	properties->timerResolution = (uint64_t)sim_options.hz;
	if (type != ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2)
		properties->timerResolution = 1000000000 / (uint64_t)sim_options.hz;
	properties->timestampValidBits = (uint32_t)sim_options.clock_bits;
	properties->kernelTimestampValidBits = (uint32_t)sim_options.stamp_bits;
	memset(&properties->uuid, 0x20 + (int)device->index, sizeof(properties->uuid));
	snprintf(properties->name, sizeof(properties->name), "Simulated Xe %u", device->index);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_compute_properties(ze_device_handle_t device,
					  ze_device_compute_properties_t *properties)
{
	properties->maxTotalGroupSize = 1024;
	properties->maxGroupSizeX = properties->maxGroupSizeY = properties->maxGroupSizeZ = 1024;
	properties->maxGroupCountX = properties->maxGroupCountY = properties->maxGroupCountZ =
		UINT32_MAX;
	properties->maxSharedLocalMemory = 65536;
	properties->numSubGroupSizes = 2;
	properties->subGroupSizes[0] = 16;
	properties->subGroupSizes[1] = 32;
	return ZE_RESULT_SUCCESS;
}

/* Four engines that compute and copy, and two that only copy. */
static const struct {
	uint32_t flags, engines;
} groups[] = {
	{ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY,
	 4},
	{ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY, 2},
};
enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

bool sim_engine(uint32_t ordinal, uint32_t index, uint32_t *ret_engine)
{
	if (ordinal >= GROUPS || index >= groups[ordinal].engines)
		return false;
	*ret_engine = index;
	for (uint32_t i = 0; i < ordinal; i++)
		*ret_engine += groups[i].engines;
	return true;
}

static ze_result_t get_queue_groups(ze_device_handle_t device, uint32_t *count,
				    ze_command_queue_group_properties_t *properties)
{
	if (!sim_is(device, SIM_DEVICE) || !count)
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	if (!*count || *count > GROUPS)
		*count = GROUPS;
	for (uint32_t i = 0; properties && i < *count; i++) {
		properties[i].flags = groups[i].flags;
		properties[i].maxMemoryFillPatternSize = SIM_PATTERN_BYTES;
		properties[i].numQueues = groups[i].engines;
	}
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_memory(ze_device_handle_t device, uint32_t *count,
			      ze_device_memory_properties_t *properties)
{
	if (*count && properties)
		properties[0].totalSize = UINT64_C(12) << 30;
	*count = 1;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_timestamps(ze_device_handle_t device, uint64_t *ret_host,
				  uint64_t *ret_device)
{
	uint64_t now = sim_now_ns();

	if (!sim_is(device, SIM_DEVICE))
		return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
	*ret_host = now;
	*ret_device = sim_ticks(now) & sim_mask(sim_options.clock_bits);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t get_pci(ze_device_handle_t device, ze_pci_ext_properties_t *properties)
{
	properties->address = device->node ? sim_node_pci(device->node)
					   : (ze_pci_address_ext_t){0, 3 + device->index, 0, 0};
	return ZE_RESULT_SUCCESS;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void fill_global(ze_global_dditable_t *table)
{
	table->pfnInit = init;
}

static void fill_driver(ze_driver_dditable_t *table)
{
	table->pfnGet = get_drivers;
	table->pfnGetApiVersion = get_api_version;
	table->pfnGetProperties = get_driver_properties;
	table->pfnGetExtensionProperties = get_extensions;
	table->pfnGetExtensionFunctionAddress = get_extension_function;
}

static void fill_device(ze_device_dditable_t *table)
{
	table->pfnGet = get_devices;
	table->pfnGetSubDevices = get_sub_devices;
	table->pfnGetProperties = get_properties;
	table->pfnGetComputeProperties = get_compute_properties;
	table->pfnGetCommandQueueGroupProperties = get_queue_groups;
	table->pfnGetMemoryProperties = get_memory;
	table->pfnGetGlobalTimestamps = get_timestamps;
	table->pfnPciGetPropertiesExt = get_pci;
}

/* The table of a newer loader is longer than the headers' one. newer.c fills the rest, or it stays
 * empty. */
#define GIVES(name, type, fill)                                                      \
	EXPORTED ze_result_t ZE_APICALL name(ze_api_version_t version, type *table); \
	EXPORTED ze_result_t ZE_APICALL name(ze_api_version_t version, type *table)  \
	{                                                                            \
		if (!table)                                                          \
			return ZE_RESULT_ERROR_INVALID_NULL_POINTER;                 \
		fill(table);                                                         \
		return ZE_RESULT_SUCCESS;                                            \
	}
#define GIVES_NEWER(name, type, fill, fill_newer)                                    \
	EXPORTED ze_result_t ZE_APICALL name(ze_api_version_t version, type *table); \
	EXPORTED ze_result_t ZE_APICALL name(ze_api_version_t version, type *table)  \
	{                                                                            \
		if (!table)                                                          \
			return ZE_RESULT_ERROR_INVALID_NULL_POINTER;                 \
		fill(table);                                                         \
		fill_newer(version, (void **)table);                                 \
		return ZE_RESULT_SUCCESS;                                            \
	}
GIVES(zeGetGlobalProcAddrTable, ze_global_dditable_t, fill_global)
GIVES_NEWER(zeGetDriverProcAddrTable, ze_driver_dditable_t, fill_driver, sim_fill_newer_drivers)
GIVES(zeGetDeviceProcAddrTable, ze_device_dditable_t, fill_device)
GIVES(zeGetContextProcAddrTable, ze_context_dditable_t, sim_fill_contexts)
GIVES(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t, sim_fill_queues)
GIVES_NEWER(zeGetCommandListProcAddrTable, ze_command_list_dditable_t, sim_fill_lists,
	    sim_fill_newer_lists)
GIVES(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t, sim_fill_pools)
GIVES(zeGetEventProcAddrTable, ze_event_dditable_t, sim_fill_events)
GIVES(zeGetFenceProcAddrTable, ze_fence_dditable_t, sim_fill_fences)
GIVES(zeGetModuleProcAddrTable, ze_module_dditable_t, sim_fill_modules)
GIVES(zeGetKernelProcAddrTable, ze_kernel_dditable_t, sim_fill_kernels)
GIVES(zeGetMemProcAddrTable, ze_mem_dditable_t, sim_fill_memory)
