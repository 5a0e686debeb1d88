/* SPDX-License-Identifier: MIT
 *
 * sim/nvidia/sim.h - shared by the simulated NVIDIA libraries, and the connection between them
 *
 *	options.c       SIM_NVIDIA                                in all three libraries
 *	clock.c         host time, and the simulated GPU clock    in all three
 *	shared.c        other common code                         in all three
 *	driver.c … graph.c           libcuda.so.1 (driver.h)
 *	cupti.c … host_metrics.c     libcupti.so.13 (cupti.h)
 *	nvml.c … nvml_load.c         libnvidia-ml.so.1 (nvml.h)
 *
 * Runs in a program that uses CUDA, found through LD_LIBRARY_PATH. The driver has no reference to
 * CUPTI until CUPTI finds it (RTLD_NOLOAD) and passes it a table of hooks, as the real libraries do
 * through private tables.
 *
 * SIM_NVIDIA is a list of NAME=VALUE with commas between:
 *
 *	devices=1          GPUs
 *	driver=13000       result of cuDriverGetVersion
 *	version=130001     result of cuptiGetVersion, which determines the length of records
 *	kernel_us=20       duration of a kernel
 *	us_NAME=N          … and of the kernel NAME
 *	copy_gbps=20       GB/s of copies and sets; each takes 1 us more
 *	latency_us=3       between a call and the earliest start of its work
 *	queue_us=0         how far a stream may be ahead of its program, whose calls block then;
 *	                   0: no limit
 *	drift_ppm=30       how much faster than CLOCK_MONOTONIC the GPU's clock is
 *	context_reuse=0    1: a new context gets the address of a destroyed one
 *	sms=132 sm_mhz=1980    multiprocessors and their clock
 *	chip=GH100         result of cuptiDeviceGetChipName
 *	log=FILE           log of the correct times: for each piece of work a line of kind,
 *	                   correlation id, stream id and CLOCK_MONOTONIC ns of start and end
 *	correlation=1      the id of the first call; they have 32 bits and wrap
 *	fail_FUNCTION=N    the function does nothing and returns N, whichever library it is of
 *	subscriber=1       0: another tool has subscribed to callbacks
 *	privileges=1       0: this user may not read counters: 35
 *	busy=0             1: another tool uses PM and PC sampling: 26
 *	no_kind=0          this kind of activity is refused: 21
 *	drop_every=0       each Nth record finds no host buffer
 *	untimed_every=0    each Nth kernel record has start and end 0
 *	stream_step=1      difference of the ids of two streams that are created one after the other
 *	silent_sets=0      1: sets give no record, and are not counted as dropped
 *	range_first=0 range_last=0  kernels of these numbers, in the order of their records, give
 *	                            none, as in the range mode of CUPTI's profiling interface
 *	null_crash=0       1: aborts when the program gives no buffer, as CUPTI before 12.9
 *	bad_after=0        records of graph nodes after the Nth have impossible times
 *	calls=FILE         calls of CUPTI that enable or disable something: a line of name and
 *	                   CLOCK_MONOTONIC ns. At the end of cuptiActivityFlushAll: "flushed", ns,
 *	                   start ns, and the number of the worker's checks since the previous flush,
 *	                   10 ms apart
 *	gate=FILE          cuptiPCSamplingDisable does not return while this file exists
 *	finalize_crash=0   1: cuptiFinalize aborts while an executable graph exists, as before 12.6
 *	flush_hang=0       1: cuptiActivityFlushAll never returns
 *	stray_buffer=0     1: each buffer is followed by one that the program never provided
 *	pc_buffer=1000000  samples that the hardware buffer of PC sampling holds
 *	pc_lag_us=0        time from a kernel's end until cuptiPCSamplingGetData returns its samples
 *	pc_late=0          1: … at the end of a range too: samples that are late come after it
 *	pc_slow_ms=0       duration of the first cuptiPCSamplingGetData that returns a sample of a
 *	                   second context
 *	pc_chips=0         1: every second GPU numbers stall reasons differently
 *	pc_keep=0          1: samples in the configuration's buffer are not returned, and the next
 *	                   range overwrites them
 *	pc_plan=FILE       samples per run of a kernel, instead of a share of the time: lines of
 *	                   kernel, instruction number, reason, and number of samples
 *	pc_fixed=0         1: refuses a sampling period, which stays 2^12 cycles
 *	pc_forget=0        1: loaded code is not reported, as if the tool had come too late
 *	pm_buffer=4096     samples that the hardware buffer of PM sampling holds
 *	pm_load=-1         the share of the time in which PM sampling sees a kernel, 0 to 1; -1:
 *	                   by the kernels of this process
 *	pm_full_ms=0       time after the first start of sampling when the buffer is full, once;
 *	                   0: never
 *	pm_clock=0         1: samples have times of CLOCK_REALTIME, whatever the timestamp callback
 *	                   returns; 2: times of an unknown clock
 *	pm_hang_ms=0       duration of the last device's cuptiPmSamplingEnable
 *	pm_nan_every=0     each Nth sample has NaN for values
 *	pm_other_every=0   each Nth decoding stops for another reason
 *	nvml_unsupported=0 1: NVML returns NOT_SUPPORTED for everything that a GPU may lack
 *	nvml_load=TEXT     the load that NVML reports, instead of the kernels' and a wave: 0.25, or
 *	                   repeating steps: 0.25/0.75
 *	nvml_step_ms=1000  length of a step, counted from nvmlInit
 *	nvml_pid=0         the process that NVML reports on each GPU; 0: the process that has loaded
 *	                   it, if that uses CUDA
 *	nvml_reasons=-1    reasons for reduced clocks, a bit set; -1: from the load
 *	nvml_lost_ms=0     time after nvmlInit when the GPUs are lost; 0: never
 *	nvml_no_fields=0   1: no field values; some do not exist before R550
 *	mig=0              MIG instances of each GPU
 *	gpm=1              0: no GPM, as before Hopper
 *	gpm_least_ms=0     samples closer together than this are refused
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_abi.h"
#include "cupti_abi.h"

#define SIM_EXPORT __attribute__((visibility("default")))

#define SIM_MEMORY_BYTES (UINT64_C(150754820096))

enum { MAX_SIM_DEVICES = 16, MAX_SIM_INSTANCES = 7, SIM_NAME_BYTES = 96 };

/* ---- options --------------------------------------------------------------------------------- */

struct sim_options {
	int64_t devices, driver, version, sms, sm_mhz;
	int64_t subscriber, privileges, busy, no_kind, correlation;
	int64_t drop_every, untimed_every, null_crash, bad_after, flush_hang, stray_buffer;
	int64_t stream_step, silent_sets, range_first, range_last;
	int64_t finalize_crash;
	int64_t pc_buffer, pc_lag_us, pc_late, pc_slow_ms, pc_chips, pc_keep, pc_fixed, pc_forget;
	int64_t context_reuse, pm_buffer, pm_nan_every, pm_other_every;
	int64_t pm_full_ms, pm_hang_ms, pm_clock;
	int64_t nvml_unsupported, nvml_step_ms, nvml_pid, nvml_reasons, nvml_lost_ms,
		nvml_no_fields;
	int64_t mig, gpm, gpm_least_ms;
	double pm_load, kernel_us, copy_gbps, latency_us, queue_us, drift_ppm;
	char chip[32], log[256], calls[256], gate[256], pc_plan[256], nvml_load[256];
};

/* Read once, at the first call. Aborts where SIM_NVIDIA makes no sense: no test may pass then. */
const struct sim_options *sim_options(void);
/* Result of fail_FUNCTION; 0: none. */
int sim_failure(const char *function);
/* Duration of a kernel in ns: from us_NAME, or kernel_us. */
uint64_t sim_kernel_ns(const char *name);

/* ---- clock ----------------------------------------------------------------------------------- */

uint64_t sim_now(void); /* CLOCK_MONOTONIC */
uint64_t sim_realtime(void);
void sim_sleep_until(uint64_t host_ns);
/* Value of the GPU's timer at a time of CLOCK_MONOTONIC. */
uint64_t sim_gpu_clock(uint64_t host_ns);

/* ---- between the driver and CUPTI ------------------------------------------------------------ */

/* One call of the driver's interface, on the caller's stack from ENTER to EXIT. */
struct sim_call {
	uint32_t cbid;
	const char *name;
	const void *parameters;
	const char *symbol; /* launches: the kernel's name */
	CUresult result;
	CUcontext context;
	uint32_t context_id;
	const struct sim_hooks *hooks; /* those that saw ENTER */
	/* CUPTI's: */
	cupti_domain domain;
	uint32_t correlation_id;
	uint64_t correlation_data;
	uint64_t start_ns;
};

enum sim_work_kind { SIM_KERNEL, SIM_COPY, SIM_PEER_COPY, SIM_SET, SIM_GRAPH };

/* Properties of a kernel; exist as long as its module. */
struct sim_kernel {
	const char *name;
	uint32_t registers, static_shared_bytes, local_bytes, text_bytes, index;
	uint64_t cubin_crc;
};

struct sim_shape {
	uint32_t grid[3], block[3], cluster[3], dynamic_shared_bytes, launch_type;
};

/* A piece of work with a place on the timeline. */
struct sim_work {
	enum sim_work_kind kind;
	uint32_t device_id, context_id, stream_id, correlation_id;
	uint64_t queued_ns, submitted_ns, start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t graph_node_id;
	uint32_t graph_id;
	bool is_async;
	uint8_t copy_kind, source_kind, destination_kind;
	uint32_t source_device_id, source_context_id, destination_device_id, destination_context_id;
	uint64_t size_bytes;
	uint32_t value;
	const struct sim_kernel *kernel;
	struct sim_shape shape;
};

/* A wait of the host, or of a stream. */
struct sim_wait {
	uint32_t type, correlation_id, context_id, stream_id, event_id;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	CUresult result;
	CUcontext context;
	CUstream stream;
};

/* An allocation or a release. */
struct sim_memory {
	uint32_t operation, memory_kind, correlation_id, device_id, context_id;
	uint64_t address, size_bytes, at_ns; /* CLOCK_MONOTONIC */
};

struct sim_overhead {
	uint32_t kind, correlation_id;
	uint64_t start_ns, end_ns;
};

struct sim_stream_facts {
	uint32_t context_id, stream_id, priority, flag, correlation_id;
};

/* CUPTI's; called on the program's threads with no lock held. */
struct sim_hooks {
	void (*enter)(struct sim_call *call);
	void (*exit)(struct sim_call *call);
	void (*resource)(uint32_t cbid, CUcontext context, CUstream stream, void *descriptor);
	void (*work)(const struct sim_work *work);
	void (*waited)(const struct sim_wait *wait);
	void (*overhead)(const struct sim_overhead *overhead);
	void (*memory)(const struct sim_memory *memory);
	void (*context)(uint32_t context_id, uint32_t device_id);
	void (*stream)(const struct sim_stream_facts *facts);
	bool (*is_serialized)(uint32_t context_id);
};

struct sim_driver {
	bool (*is_ready)(void);                        /* cuInit was called */
	void (*attach)(const struct sim_hooks *hooks); /* NULL: no more */
	bool (*context_ids)(CUcontext context, uint32_t *ret_id, uint32_t *ret_device_id);
	bool (*is_context)(CUcontext context); /* False: it was destroyed, or is none */
	bool (*stream_id)(CUcontext context, CUstream stream, uint32_t *ret_id);
	uint64_t (*node_id)(CUgraphNode node);
	uint32_t (*graph_id)(CUgraph graph);
	uint32_t (*graph_exec_id)(CUgraphExec graph_exec);
	uint32_t (*graph_exec_count)(void); /* that were made and not destroyed */
	/* Calls the hooks context and stream for all that there are. */
	void (*replay)(void);
	/* A call of the runtime around calls of the driver, which take its correlation id. */
	void (*runtime_enter)(struct sim_call *call, uint32_t cbid, const char *name,
			      const void *parameters);
	void (*runtime_exit)(struct sim_call *call);
	/* Nanoseconds of [from, to) in which a kernel ran on the device, at most a second back. */
	uint64_t (*busy_ns)(uint32_t device_id, uint64_t from_ns, uint64_t to_ns);
};

/* Exported by the simulated libcuda under this name. */
SIM_EXPORT const struct sim_driver *sim_nvidia_driver(void);

/* How many GPUs CUDA shows, as CUDA_VISIBLE_DEVICES has it (numbers, UUIDs), and which one its nth
 * is. Of GPUs that MIG divides it shows one instance, the first, or the one that the variable
 * names; its number, 0: none. */
uint32_t sim_visible_count(void);
uint32_t sim_visible_device(uint32_t ordinal);
uint32_t sim_visible_instance(void);
/* The compute capability of the chip: 90 of 9.0. */
uint32_t sim_capability(void);

/* UUID, name and PCI bus of a device, the same in all three libraries. */
void sim_device_uuid(uint32_t device_id, uint8_t ret_uuid[16]);
void sim_instance_uuid(uint32_t device_id, uint32_t instance, uint8_t ret_uuid[16]);
/* … of the ordinal that CUDA gives it, which may be an instance's. */
void sim_visible_uuid(uint32_t ordinal, uint8_t ret_uuid[16]);
const char *sim_device_name(void);

uint64_t sim_cubin_crc(const void *bytes, size_t size);

/* The simulated driver if it is loaded and initialized, otherwise NULL. */
const struct sim_driver *sim_find_driver(void);
