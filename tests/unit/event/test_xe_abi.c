/* SPDX-License-Identifier: MIT
 *
 * tests/unit/event/test_xe_abi.c - abi/xe.h against the kernel's own interface of the driver xe
 *
 * The collector and its mock in the kernel share our declarations, so that a wrong number in them
 * would pass every other test. Numbers below are of include/uapi/drm/xe_drm.h and drm.h of Linux
 * 7.3, as a compiler for x86-64 found them there, and not of ours; an interface that programs use
 * does not change any more.
 */
#include "../../../sim/xe_calls.h"

#include <stddef.h>

#include "harness.h"

#ifdef __x86_64__
#define SIZE(type, number)                                   \
	{                                                    \
		"sizeof " #type, sizeof(struct type), number \
	}
#define PLACE(type, member, number)                                      \
	{                                                                \
#type "." #member, offsetof(struct type, member), number \
	}
#define NUMBER(name, number)                         \
	{                                            \
#name, (unsigned long)(name), number \
	}

/* clang-format off */
static const struct {
	const char *name;
	unsigned long ours, kernels;
} facts[] = {
	SIZE(xe_device_query, 40),
	PLACE(xe_device_query, extensions, 0),
	PLACE(xe_device_query, query, 8),
	PLACE(xe_device_query, size, 12),
	PLACE(xe_device_query, data, 16),
	SIZE(xe_gem_create, 56),
	PLACE(xe_gem_create, size, 8),
	PLACE(xe_gem_create, placement, 16),
	PLACE(xe_gem_create, flags, 20),
	PLACE(xe_gem_create, vm_id, 24),
	PLACE(xe_gem_create, handle, 28),
	PLACE(xe_gem_create, cpu_caching, 32),
	SIZE(xe_gem_mmap_offset, 40),
	PLACE(xe_gem_mmap_offset, handle, 8),
	PLACE(xe_gem_mmap_offset, flags, 12),
	PLACE(xe_gem_mmap_offset, offset, 16),
	SIZE(xe_vm_create, 32),
	PLACE(xe_vm_create, flags, 8),
	PLACE(xe_vm_create, vm_id, 12),
	SIZE(xe_vm_destroy, 24),
	PLACE(xe_vm_destroy, vm_id, 0),
	SIZE(xe_vm_bind_op, 80),
	PLACE(xe_vm_bind_op, obj, 8),
	PLACE(xe_vm_bind_op, pat_index, 12),
	PLACE(xe_vm_bind_op, obj_offset, 16),
	PLACE(xe_vm_bind_op, userptr, 16),
	PLACE(xe_vm_bind_op, range, 24),
	PLACE(xe_vm_bind_op, addr, 32),
	PLACE(xe_vm_bind_op, op, 40),
	PLACE(xe_vm_bind_op, flags, 44),
	PLACE(xe_vm_bind_op, prefetch_mem_region_instance, 48),
	SIZE(xe_vm_bind, 136),
	PLACE(xe_vm_bind, vm_id, 8),
	PLACE(xe_vm_bind, exec_queue_id, 12),
	PLACE(xe_vm_bind, num_binds, 20),
	PLACE(xe_vm_bind, bind, 24),
	PLACE(xe_vm_bind, vector_of_binds, 24),
	PLACE(xe_vm_bind, num_syncs, 108),
	PLACE(xe_vm_bind, syncs, 112),
	SIZE(xe_exec_queue_create, 48),
	PLACE(xe_exec_queue_create, width, 8),
	PLACE(xe_exec_queue_create, num_placements, 10),
	PLACE(xe_exec_queue_create, vm_id, 12),
	PLACE(xe_exec_queue_create, flags, 16),
	PLACE(xe_exec_queue_create, exec_queue_id, 20),
	PLACE(xe_exec_queue_create, instances, 24),
	SIZE(xe_exec_queue_destroy, 24),
	PLACE(xe_exec_queue_destroy, exec_queue_id, 0),
	SIZE(xe_sync, 48),
	PLACE(xe_sync, extensions, 0),
	PLACE(xe_sync, type, 8),
	PLACE(xe_sync, flags, 12),
	PLACE(xe_sync, handle, 16),
	PLACE(xe_sync, addr, 16),
	PLACE(xe_sync, timeline_value, 24),
	SIZE(xe_exec, 56),
	PLACE(xe_exec, exec_queue_id, 8),
	PLACE(xe_exec, num_syncs, 12),
	PLACE(xe_exec, syncs, 16),
	PLACE(xe_exec, address, 24),
	PLACE(xe_exec, num_batch_buffer, 32),
	SIZE(xe_gt, 96),
	PLACE(xe_gt, type, 0),
	PLACE(xe_gt, tile_id, 2),
	PLACE(xe_gt, gt_id, 4),
	PLACE(xe_gt, reference_clock, 12),
	PLACE(xe_gt, near_mem_regions, 16),
	PLACE(xe_gt, far_mem_regions, 24),
	PLACE(xe_gt, ip_ver_major, 32),
	PLACE(xe_gt, ip_ver_minor, 34),
	PLACE(xe_gt, ip_ver_rev, 36),
	SIZE(xe_query_gt_list, 8),
	PLACE(xe_query_gt_list, num_gt, 0),
	PLACE(xe_query_gt_list, gt_list, 8),
	SIZE(xe_topology_mask, 8),
	PLACE(xe_topology_mask, gt_id, 0),
	PLACE(xe_topology_mask, type, 2),
	PLACE(xe_topology_mask, num_bytes, 4),
	PLACE(xe_topology_mask, mask, 8),
	SIZE(xe_engine_instance, 8),
	PLACE(xe_engine_instance, engine_class, 0),
	PLACE(xe_engine_instance, engine_instance, 2),
	PLACE(xe_engine_instance, gt_id, 4),
	SIZE(xe_oa_unit, 72),
	PLACE(xe_oa_unit, extensions, 0),
	PLACE(xe_oa_unit, oa_unit_id, 8),
	PLACE(xe_oa_unit, oa_unit_type, 12),
	PLACE(xe_oa_unit, capabilities, 16),
	PLACE(xe_oa_unit, oa_timestamp_freq, 24),
	PLACE(xe_oa_unit, gt_id, 32),
	PLACE(xe_oa_unit, num_engines, 64),
	PLACE(xe_oa_unit, engines, 72),
	SIZE(xe_query_oa_units, 16),
	PLACE(xe_query_oa_units, num_oa_units, 8),
	PLACE(xe_query_oa_units, oa_units, 16),
	SIZE(xe_query_eu_stall, 80),
	PLACE(xe_query_eu_stall, capabilities, 8),
	PLACE(xe_query_eu_stall, record_size, 16),
	PLACE(xe_query_eu_stall, per_xecore_buf_size, 24),
	PLACE(xe_query_eu_stall, num_sampling_rates, 72),
	PLACE(xe_query_eu_stall, sampling_rates, 80),
	SIZE(xe_observation_param, 32),
	PLACE(xe_observation_param, observation_type, 8),
	PLACE(xe_observation_param, observation_op, 16),
	PLACE(xe_observation_param, param, 24),
	SIZE(xe_set_property, 48),
	PLACE(xe_set_property, next_extension, 0),
	PLACE(xe_set_property, name, 8),
	PLACE(xe_set_property, property, 16),
	PLACE(xe_set_property, value, 24),
	SIZE(xe_oa_config, 56),
	PLACE(xe_oa_config, uuid, 8),
	PLACE(xe_oa_config, n_regs, 44),
	PLACE(xe_oa_config, regs_ptr, 48),
	SIZE(xe_oa_stream_status, 40),
	PLACE(xe_oa_stream_status, oa_status, 8),
	SIZE(xe_version, 64),
	PLACE(xe_version, major, 0),
	PLACE(xe_version, name_length, 16),
	PLACE(xe_version, name, 24),
	PLACE(xe_version, text, 56),
	SIZE(xe_gem_close, 8),
	PLACE(xe_gem_close, handle, 0),
	SIZE(xe_sync_object, 8),
	PLACE(xe_sync_object, handle, 0),
	PLACE(xe_sync_object, flags, 4),
	/* before it got a deadline at its end: a longer or shorter one is the same call to DRM */
	SIZE(xe_sync_wait, 32),
	PLACE(xe_sync_wait, handles, 0),
	PLACE(xe_sync_wait, timeout_ns, 8),
	PLACE(xe_sync_wait, count, 16),
	PLACE(xe_sync_wait, flags, 20),
	PLACE(xe_sync_wait, first_signaled, 24),
	NUMBER(XE_IOCTL_VERSION, 0xc0406400),
	NUMBER(XE_IOCTL_DEVICE_QUERY, 0xc0286440),
	NUMBER(XE_IOCTL_GEM_CREATE, 0xc0386441),
	NUMBER(XE_IOCTL_GEM_MMAP_OFFSET, 0xc0286442),
	NUMBER(XE_IOCTL_VM_CREATE, 0xc0206443),
	NUMBER(XE_IOCTL_VM_DESTROY, 0x40186444),
	NUMBER(XE_IOCTL_VM_BIND, 0x40886445),
	NUMBER(XE_IOCTL_EXEC_QUEUE_CREATE, 0xc0306446),
	NUMBER(XE_IOCTL_EXEC_QUEUE_DESTROY, 0x40186447),
	NUMBER(XE_IOCTL_EXEC, 0x40386449),
	NUMBER(XE_IOCTL_OBSERVATION, 0x4020644b),
	NUMBER(XE_IOCTL_GEM_CLOSE, 0x40086409),
	NUMBER(XE_IOCTL_SYNC_CREATE, 0xc00864bf),
	NUMBER(XE_IOCTL_SYNC_DESTROY, 0xc00864c0),
	NUMBER(XE_IOCTL_SYNC_WAIT, 0xc02064c3),
	NUMBER(XE_STREAM_ENABLE, 0x6900),
	NUMBER(XE_STREAM_DISABLE, 0x6901),
	NUMBER(XE_STREAM_STATUS, 0x6903),
	NUMBER(XE_QUERY_CONFIG, 2),
	NUMBER(XE_QUERY_GT_LIST, 3),
	NUMBER(XE_QUERY_GT_TOPOLOGY, 5),
	NUMBER(XE_QUERY_OA_UNITS, 8),
	NUMBER(XE_QUERY_EU_STALL, 10),
	NUMBER(XE_BIND_MAP, 0),
	NUMBER(XE_BIND_UNMAP, 1),
	NUMBER(XE_BIND_MAP_USERPTR, 2),
	NUMBER(XE_BIND_UNMAP_ALL, 3),
	NUMBER(XE_BIND_PREFETCH, 4),
	NUMBER(XE_BIND_NULL, 4),
	NUMBER(XE_BIND_CPU_ADDR_MIRROR, 32),
	NUMBER(XE_SYNC_OBJECT, 0),
	NUMBER(XE_SYNC_SIGNAL, 1),
	NUMBER(XE_TOPOLOGY_DSS_GEOMETRY, 1),
	NUMBER(XE_TOPOLOGY_DSS_COMPUTE, 2),
	NUMBER(XE_TOPOLOGY_EU_PER_DSS, 4),
	NUMBER(XE_TOPOLOGY_SIMD16_EU_PER_DSS, 5),
	NUMBER(XE_OA_UNIT_OAG, 0),
	NUMBER(XE_OA_HAS_GT, 32),
	NUMBER(XE_OBSERVATION_OA, 0),
	NUMBER(XE_OBSERVATION_EU_STALL, 1),
	NUMBER(XE_OBSERVATION_OPEN, 0),
	NUMBER(XE_OBSERVATION_ADD_CONFIG, 1),
	NUMBER(XE_OBSERVATION_REMOVE_CONFIG, 2),
	NUMBER(XE_EU_STALL_GT_ID, 1),
	NUMBER(XE_EU_STALL_SAMPLE_RATE, 2),
	NUMBER(XE_EU_STALL_WAIT_NUM_REPORTS, 3),
	NUMBER(XE_OA_UNIT_ID, 1),
	NUMBER(XE_OA_SAMPLE, 2),
	NUMBER(XE_OA_METRIC_SET, 3),
	NUMBER(XE_OA_FORMAT, 4),
	NUMBER(XE_OA_PERIOD_EXPONENT, 5),
	NUMBER(XE_OA_DISABLED, 6),
	NUMBER(XE_OA_FORMAT_OAG, 0),
	NUMBER(XE_OA_FORMAT_PEC, 5),
	NUMBER(XE_OA_REPORT_LOST, 1),
	NUMBER(XE_OA_BUFFER_OVERFLOW, 2),
	NUMBER(XE_OA_COUNTER_OVERFLOW, 4),
	NUMBER(XE_OA_TRIGGER_QUEUE_FULL, 8),
};
/* clang-format on */

TEST(as_the_kernel_has_it)
{
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (facts[i].ours != facts[i].kernels) {
			printf("# %s is %lu, and %lu in the kernel\n", facts[i].name, facts[i].ours,
			       facts[i].kernels);
			CHECK_EQUAL(facts[i].ours, facts[i].kernels);
		}
}
#endif

int main(void)
{
#ifdef __x86_64__
	RUN(as_the_kernel_has_it);
#endif
	return harness_end();
}
