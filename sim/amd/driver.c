/* SPDX-License-Identifier: MIT
 *
 * sim/amd/driver.c - /dev/kfd: the table of ioctls, and the small ones
 *
 * Runs in:  a program that uses ROCr, on the thread that calls ioctl
 * Gets:     the arguments as <linux/kfd_ioctl.h> has them
 * Gives:    0 or -errno
 * Fails:    EINVAL for calls that are not simulated: IPC, shared virtual memory, debugging, wave
 *           state
 */
#include <errno.h>

#include "sim.h"

#define LDS_BASE     UINT64_C(0x1000000000000)
#define SCRATCH_BASE UINT64_C(0x2000000000000)
#define VM_BASE      UINT64_C(0x1000000)
#define VM_LIMIT     ((UINT64_C(1) << 47) - 1)

int sim_gpu_index(uint32_t gpu_id)
{
	return gpu_id >= SIM_GPU_ID && gpu_id < SIM_GPU_ID + sim_options()->gpus
		       ? (int)(gpu_id - SIM_GPU_ID)
		       : -1;
}

static int get_version(void *arguments)
{
	struct kfd_ioctl_get_version_args *given = arguments;

	given->major_version = KFD_IOCTL_MAJOR_VERSION;
	given->minor_version = KFD_IOCTL_MINOR_VERSION;
	return 0;
}

/* With room for no entries it only returns the number of entries. */
static int get_apertures(void *arguments)
{
	struct kfd_ioctl_get_process_apertures_new_args *given = arguments;
	struct kfd_process_device_apertures *apertures =
		(void *)(uintptr_t)given->kfd_process_device_apertures_ptr;
	uint32_t gpus = (uint32_t)sim_options()->gpus;

	for (uint32_t i = 0; i < gpus && i < given->num_of_nodes; i++)
		apertures[i] = (struct kfd_process_device_apertures){
			.gpu_id = SIM_GPU_ID + i,
			.lds_base = LDS_BASE,
			.lds_limit = LDS_BASE + UINT32_MAX,
			.scratch_base = SCRATCH_BASE,
			.scratch_limit = SCRATCH_BASE + UINT32_MAX,
			.gpuvm_base = VM_BASE,
			.gpuvm_limit = VM_LIMIT};
	given->num_of_nodes = gpus;
	return 0;
}

static int get_clocks(void *arguments)
{
	struct kfd_ioctl_get_clock_counters_args *given = arguments;
	struct timespec raw;
	uint64_t now_ns;

	clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
	now_ns = sim_now();
	given->gpu_clock_counter = sim_gpu_index(given->gpu_id) < 0 ? 0 : sim_ticks(now_ns);
	given->cpu_clock_counter = (uint64_t)raw.tv_sec * 1000000000 + (uint64_t)raw.tv_nsec;
	given->system_clock_counter = sim_system_ns(now_ns);
	given->system_clock_freq = 1000000000;
	return 0;
}

static int get_available_memory(void *arguments)
{
	struct kfd_ioctl_get_available_memory_args *given = arguments;

	given->available = SIM_VRAM_BYTES;
	return 0;
}

static int get_tiles(void *arguments)
{
	struct kfd_ioctl_get_tile_config_args *given = arguments;

	given->num_tile_configs = given->num_macro_tile_configs = 0;
	return 0;
}

static int set_xnack(void *arguments)
{
	((struct kfd_ioctl_set_xnack_mode_args *)arguments)->xnack_enabled = 0;
	return 0;
}

static int alloc_gws(void *arguments)
{
	((struct kfd_ioctl_alloc_queue_gws_args *)arguments)->first_gws = 0;
	return 0;
}

static int do_nothing(void *arguments)
{
	return 0;
}

#define ROW(name, handler) [_IOC_NR(AMDKFD_IOC_##name)] = {#name, handler}

static const struct {
	const char *name;
	int (*handle)(void *arguments);
} rows[AMDKFD_COMMAND_END] = {
	ROW(GET_VERSION, get_version),
	ROW(GET_PROCESS_APERTURES_NEW, get_apertures),
	ROW(GET_CLOCK_COUNTERS, get_clocks),
	ROW(AVAILABLE_MEMORY, get_available_memory),
	ROW(GET_TILE_CONFIG, get_tiles),
	ROW(SET_XNACK_MODE, set_xnack),
	ROW(ACQUIRE_VM, do_nothing),
	ROW(SET_MEMORY_POLICY, do_nothing),
	ROW(SET_TRAP_HANDLER, do_nothing),
	ROW(SET_SCRATCH_BACKING_VA, do_nothing),
	ROW(SET_CU_MASK, do_nothing),
	ROW(ALLOC_MEMORY_OF_GPU, sim_memory_alloc),
	ROW(FREE_MEMORY_OF_GPU, sim_memory_free),
	ROW(MAP_MEMORY_TO_GPU, sim_memory_map),
	ROW(UNMAP_MEMORY_FROM_GPU, sim_memory_unmap),
	ROW(CREATE_EVENT, sim_event_create),
	ROW(DESTROY_EVENT, sim_event_destroy),
	ROW(SET_EVENT, sim_event_set),
	ROW(RESET_EVENT, sim_event_reset),
	ROW(WAIT_EVENTS, sim_event_wait),
	ROW(CREATE_QUEUE, sim_queue_create),
	ROW(DESTROY_QUEUE, sim_queue_destroy),
	ROW(UPDATE_QUEUE, sim_queue_update),
	ROW(ALLOC_QUEUE_GWS, alloc_gws),
};

int sim_ioctl(unsigned long request, void *arguments)
{
	unsigned number = _IOC_NR(request);
	int result = -EINVAL;

	if (_IOC_TYPE(request) == AMDKFD_IOCTL_BASE && number < AMDKFD_COMMAND_END &&
	    rows[number].handle)
		result = rows[number].handle(arguments);
	sim_trace(1, "ioctl %#x %s: %d", number,
		  number < AMDKFD_COMMAND_END && rows[number].name ? rows[number].name
								   : "not simulated",
		  result);
	return result;
}
