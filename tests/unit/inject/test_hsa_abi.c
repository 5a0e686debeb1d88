/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_hsa_abi.c - our declarations of the HSA runtime against the real headers
 */
#include "harness.h"

#include "abi/hsa.h"

#ifdef HAVE_HSA_HEADERS
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>

static const struct {
	const char *name;
	uint64_t ours, real;
} values[] = {
#define SAME(our, their)                                 \
	{                                                \
#our, (uint64_t)(our), (uint64_t)(their) \
	}
	SAME(HSA_SUCCESS, HSA_STATUS_SUCCESS),
	SAME(HSA_ERROR, HSA_STATUS_ERROR),
	SAME(HSA_ERROR_INVALID_SIGNAL, HSA_STATUS_ERROR_INVALID_SIGNAL),
	SAME(HSA_ERROR_INVALID_QUEUE, HSA_STATUS_ERROR_INVALID_QUEUE),
	SAME(HSA_SIGNAL_KIND_INVALID, AMD_SIGNAL_KIND_INVALID),
	SAME(HSA_SYSTEM_VERSION_MAJOR, HSA_SYSTEM_INFO_VERSION_MAJOR),
	SAME(HSA_SYSTEM_VERSION_MINOR, HSA_SYSTEM_INFO_VERSION_MINOR),
	SAME(HSA_SYSTEM_TIMESTAMP, HSA_SYSTEM_INFO_TIMESTAMP),
	SAME(HSA_AGENT_NAME, HSA_AGENT_INFO_NAME),
	SAME(HSA_AGENT_VENDOR_NAME, HSA_AGENT_INFO_VENDOR_NAME),
	SAME(HSA_AGENT_WAVEFRONT_SIZE, HSA_AGENT_INFO_WAVEFRONT_SIZE),
	SAME(MAX_HSA_AGENT_WORKGROUP, HSA_AGENT_INFO_WORKGROUP_MAX_SIZE),
	SAME(HSA_AGENT_DEVICE, HSA_AGENT_INFO_DEVICE),
	SAME(HSA_AGENT_COMPUTE_UNITS, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT),
	SAME(HSA_AGENT_BDFID, HSA_AMD_AGENT_INFO_BDFID),
	SAME(HSA_AGENT_PRODUCT_NAME, HSA_AMD_AGENT_INFO_PRODUCT_NAME),
	SAME(HSA_AGENT_DOMAIN, HSA_AMD_AGENT_INFO_DOMAIN),
	SAME(HSA_AGENT_UUID, HSA_AMD_AGENT_INFO_UUID),
	SAME(HSA_DEVICE_CPU, HSA_DEVICE_TYPE_CPU),
	SAME(HSA_DEVICE_GPU, HSA_DEVICE_TYPE_GPU),
	SAME(HSA_QUEUE_COOPERATIVE, HSA_QUEUE_TYPE_COOPERATIVE),
	SAME(HSA_POOL_SEGMENT, HSA_AMD_MEMORY_POOL_INFO_SEGMENT),
	SAME(HSA_POOL_SIZE, HSA_AMD_MEMORY_POOL_INFO_SIZE),
	SAME(HSA_SEGMENT_GLOBAL, HSA_AMD_SEGMENT_GLOBAL),
	SAME(HSA_SEGMENT_GROUP, HSA_AMD_SEGMENT_GROUP),
	SAME(HSA_CONDITION_LT, HSA_SIGNAL_CONDITION_LT),
	SAME(HSA_SIGNAL_GPU_ONLY, HSA_AMD_SIGNAL_AMD_GPU_ONLY),
	SAME(HSA_SYMBOL_TYPE, HSA_EXECUTABLE_SYMBOL_INFO_TYPE),
	SAME(HSA_SYMBOL_NAME_LENGTH, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH),
	SAME(HSA_SYMBOL_NAME, HSA_EXECUTABLE_SYMBOL_INFO_NAME),
	SAME(HSA_SYMBOL_GROUP_BYTES, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE),
	SAME(HSA_SYMBOL_PRIVATE_BYTES, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE),
	SAME(HSA_SYMBOL_AGENT, HSA_EXECUTABLE_SYMBOL_INFO_AGENT),
	SAME(HSA_SYMBOL_KERNEL_OBJECT, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT),
	SAME(HSA_SYMBOL_IS_KERNEL, HSA_SYMBOL_KIND_KERNEL),
	SAME(HSA_EXTENSION_LOADER, HSA_EXTENSION_AMD_LOADER),
	SAME(HSA_LOADED_STORAGE_TYPE,
	     HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE),
	SAME(HSA_LOADED_MEMORY_BASE,
	     HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE),
	SAME(HSA_LOADED_MEMORY_SIZE,
	     HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE),
	SAME(HSA_LOADED_FILE, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_FILE),
	SAME(HSA_LOADED_DELTA, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA),
	SAME(HSA_LOADED_BASE, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE),
	SAME(HSA_LOADED_SIZE, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE),
	SAME(HSA_STORAGE_FILE, HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_FILE),
	SAME(HSA_STORAGE_MEMORY, HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY),
	SAME(HSA_PACKET_DISPATCH, HSA_PACKET_TYPE_KERNEL_DISPATCH),
	SAME(HSA_PACKET_BARRIER_AND, HSA_PACKET_TYPE_BARRIER_AND),
	SAME(HSA_PACKET_BARRIER_OR, HSA_PACKET_TYPE_BARRIER_OR),
	SAME(HSA_PACKET_VENDOR, HSA_PACKET_TYPE_VENDOR_SPECIFIC),
	SAME(HSA_PACKET_FORMAT_BARRIER_VALUE, HSA_AMD_PACKET_TYPE_BARRIER_VALUE),
	SAME(HSA_POINTER_UNKNOWN, HSA_EXT_POINTER_TYPE_UNKNOWN),
	SAME(HSA_POINTER_HSA, HSA_EXT_POINTER_TYPE_HSA),
	SAME(HSA_POINTER_LOCKED, HSA_EXT_POINTER_TYPE_LOCKED),
	SAME(HSA_POINTER_IPC, HSA_EXT_POINTER_TYPE_IPC),
	SAME(HSA_COPY_HOST_TO_DEVICE, hsaHostToDevice),
	SAME(HSA_COPY_DEVICE_TO_HOST, hsaDeviceToHost),
	SAME(HSA_COPY_DEVICE_TO_DEVICE, hsaDeviceToDevice),
	SAME(HSA_SIGNAL_KIND_USER, AMD_SIGNAL_KIND_USER),
	SAME(HSA_PRIORITY_NORMAL, HSA_AMD_QUEUE_PRIORITY_NORMAL),
#define PLACE(our, member, their, their_member)                                               \
	{                                                                                     \
#our "." #member, offsetof(struct our, member), offsetof(their, their_member) \
	}
	PLACE(hsa_pointer_info, type, hsa_amd_pointer_info_t, type),
	PLACE(hsa_pointer_info, owner, hsa_amd_pointer_info_t, agentOwner),
	PLACE(hsa_queue, base_address, hsa_queue_t, base_address),
	PLACE(hsa_queue, doorbell, hsa_queue_t, doorbell_signal),
	PLACE(hsa_queue, size, hsa_queue_t, size),
	PLACE(hsa_queue, id, hsa_queue_t, id),
	PLACE(hsa_dispatch_packet, dimensions, hsa_kernel_dispatch_packet_t, setup),
	PLACE(hsa_dispatch_packet, workgroup, hsa_kernel_dispatch_packet_t, workgroup_size_x),
	PLACE(hsa_dispatch_packet, grid, hsa_kernel_dispatch_packet_t, grid_size_x),
	PLACE(hsa_dispatch_packet, kernel_object, hsa_kernel_dispatch_packet_t, kernel_object),
	PLACE(hsa_dispatch_packet, completion, hsa_kernel_dispatch_packet_t, completion_signal),
	PLACE(hsa_dispatch_packet, completion, hsa_barrier_and_packet_t, completion_signal),
	PLACE(hsa_signal_memory, value, amd_signal_t, value),
	PLACE(hsa_signal_memory, start_ticks, amd_signal_t, start_ts),
	PLACE(hsa_signal_memory, end_ticks, amd_signal_t, end_ts),
	PLACE(hsa_times, end, hsa_amd_profiling_dispatch_time_t, end),
	PLACE(hsa_loader_functions, get_info, hsa_ven_amd_loader_1_01_pfn_t,
	      hsa_ven_amd_loader_loaded_code_object_get_info),
};

TEST(values_are_the_runtimes)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		if (values[i].ours != values[i].real)
			printf("#   %s\n", values[i].name);
		CHECK_EQUAL(values[i].ours, values[i].real);
	}
}
#else
TEST(values_are_the_runtimes)
{
	SKIP("no headers of ROCr (libhsa-runtime-dev)");
}
#endif

/* No header of a release that any distribution has says this. */
TEST(a_request_for_a_queue)
{
	CHECK_EQUAL(offsetof(struct hsa_queue_request, size_bytes), 8);
	CHECK_EQUAL(offsetof(struct hsa_queue_request, callback), 16);
	CHECK_EQUAL(offsetof(struct hsa_queue_request, queue), 32);
	CHECK_EQUAL(offsetof(struct hsa_queue_request, cu_mask), 40);
	CHECK_EQUAL(offsetof(struct hsa_queue_request, type), 48);
	CHECK_EQUAL(offsetof(struct hsa_queue_request, private_bytes), 52);
	CHECK_EQUAL(offsetof(struct hsa_queue_request, cu_mask_bits), 56);
	CHECK_EQUAL(offsetof(struct hsa_queue_request, traffic_class), 72);
	CHECK_EQUAL(sizeof(struct hsa_queue_request), 96);
}

int main(void)
{
	RUN(values_are_the_runtimes);
	RUN(a_request_for_a_queue);
	return harness_end();
}
