/* SPDX-License-Identifier: MIT
 *
 * sim/opencl/platform.c - the platform and its devices
 *
 * Runs in:  the test program
 * Owns:     the devices, until the process ends
 * Why:      all devices have the same name, like the GPUs of one machine. The UUID or the PCI
 *           address distinguishes them; each can be switched off. `first` reverses their order, as
 *           the vendors' own variables for choosing devices do.
 */
#include <stdio.h>
#include <string.h>

#include "sim.h"

struct _cl_platform_id sim_platform = {{&sim_dispatch, SIM_PLATFORM, 1}};

#define DEVICE(n)                                                    \
	{                                                            \
		.object = {&sim_dispatch, SIM_DEVICE, 1}, .index = n \
	}
struct _cl_device_id sim_devices[MAX_SIM_DEVICES] = {
	DEVICE(0),  DEVICE(1),  DEVICE(2),  DEVICE(3),  DEVICE(4),  DEVICE(5),
	DEVICE(6),  DEVICE(7),  DEVICE(8),  DEVICE(9),  DEVICE(10), DEVICE(11),
	DEVICE(12), DEVICE(13), DEVICE(14), DEVICE(15),
};

static const char platform_extensions[] =
	"cl_khr_icd cl_khr_device_uuid cl_khr_pci_bus_info cl_khr_command_buffer cl_khr_semaphore "
	"cl_intel_unified_shared_memory";

cl_int sim_answer(const void *value, size_t value_size, size_t size, void *ret_value,
		  size_t *ret_size)
{
	if (ret_value && size < value_size)
		return CL_INVALID_VALUE;
	if (ret_value && value_size)
		memcpy(ret_value, value, value_size);
	if (ret_size)
		*ret_size = value_size;
	return CL_SUCCESS;
}

cl_int sim_answer_text(const char *text, size_t size, void *ret_value, size_t *ret_size)
{
	return sim_answer(text, strlen(text) + 1, size, ret_value, ret_size);
}

cl_int sim_clGetPlatformInfo(cl_platform_id platform, cl_platform_info param_name,
			     size_t param_value_size, void *param_value,
			     size_t *param_value_size_ret)
{
	if (platform && platform != &sim_platform)
		return CL_INVALID_PLATFORM;
	switch (param_name) {
	case CL_PLATFORM_PROFILE:
		return SIM_ANSWER_TEXT("FULL_PROFILE");
	case CL_PLATFORM_VERSION:
		return SIM_ANSWER_TEXT("OpenCL 3.0 simulated");
	case CL_PLATFORM_NAME:
		return SIM_ANSWER_TEXT("Simulated OpenCL");
	case CL_PLATFORM_VENDOR:
		return SIM_ANSWER_TEXT("duet");
	case CL_PLATFORM_EXTENSIONS:
		return SIM_ANSWER_TEXT(platform_extensions);
	case CL_PLATFORM_ICD_SUFFIX_KHR:
		return SIM_ANSWER_TEXT("SIM");
	case CL_PLATFORM_NUMERIC_VERSION:
		return SIM_ANSWER(cl_version, CL_MAKE_VERSION(3, 0, 0));
	case CL_PLATFORM_HOST_TIMER_RESOLUTION:
		return SIM_ANSWER(cl_ulong, sim_options.timer ? 1 : 0);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_device_id device_at(cl_uint place)
{
	return &sim_devices[(place + (cl_uint)sim_options.first) % (cl_uint)sim_options.devices];
}

static cl_device_type type_of_devices(void)
{
	return sim_options.cpu ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU;
}

cl_int sim_clGetDeviceIDs(cl_platform_id platform, cl_device_type device_type, cl_uint num_entries,
			  cl_device_id *devices, cl_uint *num_devices)
{
	cl_uint count = (cl_uint)sim_options.devices;

	if (platform && platform != &sim_platform)
		return CL_INVALID_PLATFORM;
	if ((!devices && !num_devices) || (devices && !num_entries))
		return CL_INVALID_VALUE;
	if (!(device_type & (type_of_devices() | CL_DEVICE_TYPE_DEFAULT)))
		return CL_DEVICE_NOT_FOUND;
	for (cl_uint i = 0; devices && i < count && i < num_entries; i++)
		devices[i] = device_at(i);
	if (num_devices)
		*num_devices = count;
	return CL_SUCCESS;
}

cl_int sim_clRetainDevice(cl_device_id device)
{
	return sim_is(device, SIM_DEVICE) ? CL_SUCCESS : CL_INVALID_DEVICE;
}

cl_int sim_clReleaseDevice(cl_device_id device)
{
	return sim_clRetainDevice(device);
}

cl_int sim_clGetDeviceAndHostTimer(cl_device_id device, cl_ulong *device_timestamp,
				   cl_ulong *host_timestamp)
{
	uint64_t now = sim_now();

	if (!sim_is(device, SIM_DEVICE))
		return CL_INVALID_DEVICE;
	if (!sim_options.timer)
		return CL_INVALID_OPERATION;
	if (!device_timestamp || !host_timestamp)
		return CL_INVALID_VALUE;
	pthread_mutex_lock(&sim_lock);
	*device_timestamp = sim_stamp(now);
	pthread_mutex_unlock(&sim_lock);
	*host_timestamp = now;
	return CL_SUCCESS;
}

cl_int sim_clGetHostTimer(cl_device_id device, cl_ulong *host_timestamp)
{
	if (!sim_is(device, SIM_DEVICE))
		return CL_INVALID_DEVICE;
	if (!sim_options.timer)
		return CL_INVALID_OPERATION;
	if (!host_timestamp)
		return CL_INVALID_VALUE;
	*host_timestamp = sim_now();
	return CL_SUCCESS;
}

/* ---- what a device says of itself ------------------------------------------------------------ */

/* Vendor queries for the PCI address from before the standard one. The numbers are those of
 * cl_nv_device_attribute_query, which some headers lack. */
enum { PCI_NONE, PCI_STANDARD, PCI_NVIDIA, PCI_AMD };
enum { PCI_BUS_ID_NV = 0x4008, PCI_SLOT_ID_NV = 0x4009 };

static cl_int device_identity(cl_device_id device, cl_device_info param_name,
			      size_t param_value_size, void *param_value,
			      size_t *param_value_size_ret)
{
	unsigned char uuid[CL_UUID_SIZE_KHR] = "simulated-gpu";
	const cl_device_pci_bus_info_khr pci = {.pci_bus = 0x10 + device->index};
	cl_device_topology_amd topology = {.pcie = {.type = CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD}};

	topology.pcie.bus = (cl_char)(0x10 + device->index);
	uuid[CL_UUID_SIZE_KHR - 1] = (unsigned char)device->index;
	if (param_name == CL_DEVICE_UUID_KHR && sim_options.uuid)
		return sim_answer(uuid, sizeof(uuid), param_value_size, param_value,
				  param_value_size_ret);
	if (param_name == CL_DEVICE_PCI_BUS_INFO_KHR && sim_options.pci == PCI_STANDARD)
		return sim_answer(&pci, sizeof(pci), param_value_size, param_value,
				  param_value_size_ret);
	if (param_name == PCI_BUS_ID_NV && sim_options.pci == PCI_NVIDIA)
		return sim_answer(&pci.pci_bus, sizeof(pci.pci_bus), param_value_size, param_value,
				  param_value_size_ret);
	if (param_name == PCI_SLOT_ID_NV && sim_options.pci == PCI_NVIDIA)
		return sim_answer(&pci.pci_device, sizeof(pci.pci_device), param_value_size,
				  param_value, param_value_size_ret);
	if (param_name == CL_DEVICE_TOPOLOGY_AMD && sim_options.pci == PCI_AMD)
		return sim_answer(&topology, sizeof(topology), param_value_size, param_value,
				  param_value_size_ret);
	return CL_INVALID_VALUE;
}

static cl_int device_text(cl_device_info param_name, size_t param_value_size, void *param_value,
			  size_t *param_value_size_ret)
{
	switch (param_name) {
	case CL_DEVICE_NAME:
		return SIM_ANSWER_TEXT("Simulated GPU");
	case CL_DEVICE_VENDOR:
		return SIM_ANSWER_TEXT("duet");
	case CL_DRIVER_VERSION:
		return SIM_ANSWER_TEXT("1.0");
	case CL_DEVICE_PROFILE:
		return SIM_ANSWER_TEXT("FULL_PROFILE");
	case CL_DEVICE_VERSION:
		return SIM_ANSWER_TEXT("OpenCL 3.0 simulated");
	case CL_DEVICE_OPENCL_C_VERSION:
		return SIM_ANSWER_TEXT("OpenCL C 3.0 simulated");
	case CL_DEVICE_EXTENSIONS:
		return SIM_ANSWER_TEXT(platform_extensions);
	case CL_DEVICE_BUILT_IN_KERNELS:
		return SIM_ANSWER_TEXT("");
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int device_list(cl_device_info param_name, size_t param_value_size, void *param_value,
			  size_t *param_value_size_ret)
{
	static const size_t sizes[3] = {1024, 1024, 1024};

	switch (param_name) {
	case CL_DEVICE_MAX_WORK_ITEM_SIZES:
		return sim_answer(sizes, sizeof(sizes), param_value_size, param_value,
				  param_value_size_ret);
	case CL_DEVICE_PARTITION_PROPERTIES:
		return SIM_ANSWER(cl_device_partition_property, 0);
	case CL_DEVICE_PLATFORM:
		return SIM_ANSWER(cl_platform_id, &sim_platform);
	case CL_DEVICE_PARENT_DEVICE:
		return SIM_ANSWER(cl_device_id, NULL);
	default:
		return CL_INVALID_VALUE;
	}
}

enum width { UINT, ULONG, SIZE, BOOL };

static const struct {
	cl_device_info name;
	enum width width;
	cl_ulong value;
} device_numbers[] = {
	{CL_DEVICE_VENDOR_ID, UINT, 0x51a0},
	{CL_DEVICE_MAX_COMPUTE_UNITS, UINT, 32},
	{CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, UINT, 3},
	{CL_DEVICE_MAX_WORK_GROUP_SIZE, SIZE, 1024},
	{CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR, UINT, 1},
	{CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, UINT, 1},
	{CL_DEVICE_MAX_CLOCK_FREQUENCY, UINT, 1500},
	{CL_DEVICE_ADDRESS_BITS, UINT, 64},
	{CL_DEVICE_MAX_MEM_ALLOC_SIZE, ULONG, 1ull << 30},
	{CL_DEVICE_GLOBAL_MEM_SIZE, ULONG, 8ull << 30},
	{CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, ULONG, 4 << 20},
	{CL_DEVICE_GLOBAL_MEM_CACHE_TYPE, UINT, CL_READ_WRITE_CACHE},
	{CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, UINT, 64},
	{CL_DEVICE_LOCAL_MEM_SIZE, ULONG, 64 << 10},
	{CL_DEVICE_LOCAL_MEM_TYPE, UINT, CL_LOCAL},
	{CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, ULONG, 64 << 10},
	{CL_DEVICE_MAX_CONSTANT_ARGS, UINT, 8},
	{CL_DEVICE_MAX_PARAMETER_SIZE, SIZE, 1024},
	{CL_DEVICE_MEM_BASE_ADDR_ALIGN, UINT, 1024},
	{CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, UINT, 128},
	{CL_DEVICE_IMAGE_SUPPORT, BOOL, CL_TRUE},
	{CL_DEVICE_IMAGE2D_MAX_WIDTH, SIZE, 16384},
	{CL_DEVICE_IMAGE2D_MAX_HEIGHT, SIZE, 16384},
	{CL_DEVICE_IMAGE3D_MAX_WIDTH, SIZE, 2048},
	{CL_DEVICE_IMAGE3D_MAX_HEIGHT, SIZE, 2048},
	{CL_DEVICE_IMAGE3D_MAX_DEPTH, SIZE, 2048},
	{CL_DEVICE_MAX_READ_IMAGE_ARGS, UINT, 128},
	{CL_DEVICE_MAX_WRITE_IMAGE_ARGS, UINT, 64},
	{CL_DEVICE_MAX_SAMPLERS, UINT, 16},
	{CL_DEVICE_SINGLE_FP_CONFIG, ULONG, CL_FP_ROUND_TO_NEAREST | CL_FP_INF_NAN},
	{CL_DEVICE_DOUBLE_FP_CONFIG, ULONG, 0},
	{CL_DEVICE_ERROR_CORRECTION_SUPPORT, BOOL, CL_FALSE},
	{CL_DEVICE_HOST_UNIFIED_MEMORY, BOOL, CL_FALSE},
	{CL_DEVICE_PROFILING_TIMER_RESOLUTION, SIZE, 1},
	{CL_DEVICE_ENDIAN_LITTLE, BOOL, CL_TRUE},
	{CL_DEVICE_AVAILABLE, BOOL, CL_TRUE},
	{CL_DEVICE_COMPILER_AVAILABLE, BOOL, CL_TRUE},
	{CL_DEVICE_LINKER_AVAILABLE, BOOL, CL_FALSE},
	{CL_DEVICE_EXECUTION_CAPABILITIES, ULONG, CL_EXEC_KERNEL | CL_EXEC_NATIVE_KERNEL},
	{CL_DEVICE_REFERENCE_COUNT, UINT, 1},
	{CL_DEVICE_PARTITION_MAX_SUB_DEVICES, UINT, 0},
	{CL_DEVICE_PREFERRED_INTEROP_USER_SYNC, BOOL, CL_TRUE},
	{CL_DEVICE_PRINTF_BUFFER_SIZE, SIZE, 1 << 20},
	{CL_DEVICE_SVM_CAPABILITIES, ULONG, CL_DEVICE_SVM_COARSE_GRAIN_BUFFER},
	{CL_DEVICE_NUMERIC_VERSION, UINT, CL_MAKE_VERSION(3, 0, 0)},
	{CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL, ULONG, CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL},
	{CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL, ULONG, CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL},
	{CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL, ULONG,
	 CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL},
};

/* The properties a queue may have, under the names of each version of the standard. */
static bool is_queue_properties(cl_device_info param_name)
{
	return param_name == CL_DEVICE_QUEUE_ON_HOST_PROPERTIES;
}

static cl_int device_number(cl_device_info param_name, size_t param_value_size, void *param_value,
			    size_t *param_value_size_ret)
{
	if (param_name == CL_DEVICE_TYPE)
		return SIM_ANSWER(cl_device_type, type_of_devices());
	if (is_queue_properties(param_name))
		return SIM_ANSWER(
			cl_command_queue_properties,
			CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE |
				(sim_options.no_profiling ? 0 : CL_QUEUE_PROFILING_ENABLE));
	for (size_t i = 0; i < sizeof(device_numbers) / sizeof(device_numbers[0]); i++) {
		if (device_numbers[i].name != param_name)
			continue;
		if (device_numbers[i].width == ULONG)
			return SIM_ANSWER(cl_ulong, device_numbers[i].value);
		if (device_numbers[i].width == SIZE)
			return SIM_ANSWER(size_t, (size_t)device_numbers[i].value);
		return SIM_ANSWER(cl_uint, (cl_uint)device_numbers[i].value);
	}
	return CL_INVALID_VALUE;
}

cl_int sim_clGetDeviceInfo(cl_device_id device, cl_device_info param_name, size_t param_value_size,
			   void *param_value, size_t *param_value_size_ret)
{
	cl_int (*const parts[])(cl_device_info, size_t, void *,
				size_t *) = {device_text, device_list, device_number};
	cl_int result;

	if (!sim_is(device, SIM_DEVICE))
		return CL_INVALID_DEVICE;
	result = device_identity(device, param_name, param_value_size, param_value,
				 param_value_size_ret);
	for (size_t i = 0; result != CL_SUCCESS && i < sizeof(parts) / sizeof(parts[0]); i++)
		result = parts[i](param_name, param_value_size, param_value, param_value_size_ret);
	return result;
}
