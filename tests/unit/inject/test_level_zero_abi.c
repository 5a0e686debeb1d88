/* SPDX-License-Identifier: MIT
 *
 * tests/unit/inject/test_level_zero_abi.c - our declarations of Level Zero against the real headers
 */
#include "harness.h"

#include "abi/level_zero.h"

#ifdef HAVE_LEVEL_ZERO_HEADERS
#include <level_zero/loader/ze_loader.h>
#include <level_zero/ze_api.h>

#define SAME(our, their) _Static_assert((uint64_t)(our) == (uint64_t)(their), #our)
SAME(ZE_SUCCESS, ZE_RESULT_SUCCESS);
SAME(ZE_NOT_READY, ZE_RESULT_NOT_READY);
SAME(ZE_ERROR_UNINITIALIZED, ZE_RESULT_ERROR_UNINITIALIZED);
SAME(ZE_ERROR_INVALID_ARGUMENT, ZE_RESULT_ERROR_INVALID_ARGUMENT);
SAME(ZE_ERROR_UNSUPPORTED_FEATURE, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
SAME(ZE_VERSION(3), ZE_API_VERSION_1_3);
SAME(ZE_TYPE_DRIVER_PROPERTIES, ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
SAME(ZE_TYPE_DEVICE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
SAME(ZE_TYPE_DEVICE_COMPUTE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES);
SAME(ZE_TYPE_QUEUE_GROUP_PROPERTIES, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES);
SAME(ZE_TYPE_DEVICE_MEMORY_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
SAME(ZE_TYPE_EVENT_POOL_DESC, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
SAME(ZE_TYPE_EVENT_DESC, ZE_STRUCTURE_TYPE_EVENT_DESC);
SAME(ZE_TYPE_MEMORY_ALLOCATION_PROPERTIES, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
SAME(ZE_TYPE_KERNEL_PROPERTIES, ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES);
SAME(ZE_TYPE_PCI_EXT_PROPERTIES, ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES);
SAME(ZE_TYPE_DEVICE_PROPERTIES_1_2, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
SAME(ZE_DEVICE_GPU, ZE_DEVICE_TYPE_GPU);
SAME(ZE_DEVICE_CPU, ZE_DEVICE_TYPE_CPU);
SAME(ZE_DEVICE_IS_SUBDEVICE, ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE);
SAME(ZE_MEMORY_UNKNOWN, ZE_MEMORY_TYPE_UNKNOWN);
SAME(ZE_MEMORY_HOST, ZE_MEMORY_TYPE_HOST);
SAME(ZE_MEMORY_DEVICE, ZE_MEMORY_TYPE_DEVICE);
SAME(ZE_MEMORY_SHARED, ZE_MEMORY_TYPE_SHARED);
SAME(ZE_QUEUE_GROUP_COMPUTE, ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE);
SAME(ZE_QUEUE_MODE_SYNCHRONOUS, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
SAME(ZE_EVENT_POOL_HOST_VISIBLE, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
SAME(ZE_EVENT_POOL_IPC, ZE_EVENT_POOL_FLAG_IPC);
SAME(ZE_EVENT_POOL_KERNEL_TIMESTAMP, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
SAME(ZEL_KERNEL, ZEL_HANDLE_KERNEL);

#define SIZE(our, their) _Static_assert(sizeof(struct our) == sizeof(their), #our)
#define PLACE(our, member, their, their_member)                                         \
	_Static_assert(offsetof(struct our, member) == offsetof(their, their_member) && \
			       sizeof(((struct our *)0)->member) ==                     \
				       sizeof(((their *)0)->their_member),              \
		       #our "." #member)
SIZE(ze_queue_desc, ze_command_queue_desc_t);
PLACE(ze_queue_desc, ordinal, ze_command_queue_desc_t, ordinal);
PLACE(ze_queue_desc, index, ze_command_queue_desc_t, index);
PLACE(ze_queue_desc, flags, ze_command_queue_desc_t, flags);
PLACE(ze_queue_desc, mode, ze_command_queue_desc_t, mode);
SIZE(ze_queue_group, ze_command_queue_group_properties_t);
PLACE(ze_queue_group, flags, ze_command_queue_group_properties_t, flags);
PLACE(ze_queue_group, engines, ze_command_queue_group_properties_t, numQueues);
SIZE(ze_desc, ze_base_desc_t);
PLACE(ze_desc, next, ze_base_desc_t, pNext);
SIZE(ze_event_pool_desc, ze_event_pool_desc_t);
PLACE(ze_event_pool_desc, flags, ze_event_pool_desc_t, flags);
PLACE(ze_event_pool_desc, count, ze_event_pool_desc_t, count);
SIZE(ze_event_desc, ze_event_desc_t);
PLACE(ze_event_desc, index, ze_event_desc_t, index);
PLACE(ze_event_desc, signal, ze_event_desc_t, signal);
SIZE(ze_size, ze_group_count_t);
PLACE(ze_size, z, ze_group_count_t, groupCountZ);
SIZE(ze_region, ze_copy_region_t);
PLACE(ze_region, width, ze_copy_region_t, width);
PLACE(ze_region, depth, ze_copy_region_t, depth);
SIZE(ze_kernel_stamps, ze_kernel_timestamp_result_t);
PLACE(ze_kernel_stamps, global.start, ze_kernel_timestamp_result_t, global.kernelStart);
PLACE(ze_kernel_stamps, global.end, ze_kernel_timestamp_result_t, global.kernelEnd);
SIZE(ze_driver_properties, ze_driver_properties_t);
PLACE(ze_driver_properties, version, ze_driver_properties_t, driverVersion);
SIZE(ze_device_properties, ze_device_properties_t);
PLACE(ze_device_properties, device_type, ze_device_properties_t, type);
PLACE(ze_device_properties, vendor_id, ze_device_properties_t, vendorId);
PLACE(ze_device_properties, flags, ze_device_properties_t, flags);
PLACE(ze_device_properties, subdevice_id, ze_device_properties_t, subdeviceId);
PLACE(ze_device_properties, eus_per_subslice, ze_device_properties_t, numEUsPerSubslice);
PLACE(ze_device_properties, subslices_per_slice, ze_device_properties_t, numSubslicesPerSlice);
PLACE(ze_device_properties, slices, ze_device_properties_t, numSlices);
PLACE(ze_device_properties, timer_resolution, ze_device_properties_t, timerResolution);
PLACE(ze_device_properties, timestamp_bits, ze_device_properties_t, timestampValidBits);
PLACE(ze_device_properties, kernel_timestamp_bits, ze_device_properties_t,
      kernelTimestampValidBits);
PLACE(ze_device_properties, uuid, ze_device_properties_t, uuid);
PLACE(ze_device_properties, name, ze_device_properties_t, name);
SIZE(ze_compute_properties, ze_device_compute_properties_t);
PLACE(ze_compute_properties, group_most, ze_device_compute_properties_t, maxTotalGroupSize);
PLACE(ze_compute_properties, shared_local_bytes, ze_device_compute_properties_t,
      maxSharedLocalMemory);
SIZE(ze_memory_properties, ze_device_memory_properties_t);
PLACE(ze_memory_properties, total_bytes, ze_device_memory_properties_t, totalSize);
SIZE(ze_pci_properties, ze_pci_ext_properties_t);
PLACE(ze_pci_properties, domain, ze_pci_ext_properties_t, address.domain);
PLACE(ze_pci_properties, function, ze_pci_ext_properties_t, address.function);
SIZE(ze_allocation_properties, ze_memory_allocation_properties_t);
PLACE(ze_allocation_properties, memory_type, ze_memory_allocation_properties_t, type);
SIZE(ze_kernel_properties, ze_kernel_properties_t);
PLACE(ze_kernel_properties, max_subgroup, ze_kernel_properties_t, maxSubgroupSize);
PLACE(ze_kernel_properties, local_bytes, ze_kernel_properties_t, localMemSize);
PLACE(ze_kernel_properties, private_bytes, ze_kernel_properties_t, privateMemSize);

/* What does not hold does not compile. */
TEST(declarations_are_the_headers)
{
	CHECK_EQUAL(sizeof(ze_result), sizeof(ze_result_t));
	CHECK_EQUAL(sizeof(ze_handle), sizeof(ze_kernel_handle_t));
}
#else
TEST(declarations_are_the_headers)
{
	SKIP("no headers of Level Zero (libze-dev)");
}
#endif

int main(void)
{
	RUN(declarations_are_the_headers);
	return harness_end();
}
