/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/gpu_processes.c - memory and time of each recorded process on GPUs
 *
 * Runs in:  the sampler of processes
 * Gets:     NVML's lists of processes, and of their samples
 * Gives:    bytes; shares of the time
 * Owns:     the shares
 * Fails:    the series of a process that has left the GPU ends. If the recorder's pid namespace is
 *           not the driver's, pids do not match and the source is not opened.
 * Why:      Values are for the driver's last period of at most a second, because NVML reports only
 *           processes that were active in that period. If a value covered the whole time since the
 *           previous value, a process that resumes after 10 s of rest would appear busy for all 10
 *           s.
 */
#include <string.h>

#include "collect/counter/sampled_processes.h"
#include "collect/host_clocks.h"
#include "collect/nvidia/nvidia.h"

enum { MEMORY, KERNEL, BUSY, ENCODER, DECODER, SHARES_END, TIME = SHARES_END, SHARES = 4 };
enum { MAX_PROCESSES = 4096, MAX_ENTITIES = 1024 };
enum {
	PERIOD_NS = 1000000000, /* max period of the driver */
	REST_NS = 2000000000    /* without a report for this long, the process is idle */
};

#define MEMORY_FILE "nvmlDeviceGetComputeRunningProcesses_v3"
#define SHARE_FILE  "nvmlDeviceGetProcessUtilization"
#define SHARE(name, help)                                                    \
	{                                                                    \
		name, "ns", help, SHARE_FILE, METRIC_PART, TIME, LIMIT_WHOLE \
	}
static const struct metric metrics[] = {
	[MEMORY] = {"process.gpu.memory.used", "bytes",
		    "device memory that the process uses on one GPU", MEMORY_FILE},
	[KERNEL] =
		SHARE("process.gpu.kernel.present",
		      "share of the time in which a kernel of the process was running on the GPU"),
	[BUSY] = SHARE(
		"process.gpu.memory.busy",
		"share of the time in which the process read or wrote device memory, at any rate"),
	[ENCODER] = SHARE("process.gpu.encoder.busy",
			  "share of the time in which the GPU encoded video for the process"),
	[DECODER] = SHARE("process.gpu.decoder.busy",
			  "share of the time in which the GPU decoded video for the process"),
	[TIME] = {NULL},
};

struct on_gpu {
	struct share shares[SHARES];
	uint64_t round; /* round of the last reading of its memory */
};

struct own {
	struct tracked_view view;
	uint64_t last_us[MAX_NVIDIA_DEVICES]; /* time of the last sample, in the driver's clock */
	bool has_shares[MAX_NVIDIA_DEVICES];
	uint64_t wall_ns, before_ns;     /* now, in the driver's clock; last tick, in ours */
	struct on_gpu all[MAX_ENTITIES]; /* indexed by the entity's place */
	struct nvml_process_v2 processes[MAX_PROCESSES];
	struct nvml_process_utilization samples[MAX_PROCESSES];
};

/* NULL: the process is not recorded. */
static const struct tracked_place *find_recorded(const struct own *own, uint32_t pid)
{
	for (size_t i = 0; i < own->view.count; i++)
		if (own->view.places[i].pid == pid && pid)
			return &own->view.places[i];
	return NULL;
}

static struct metric_instance *entity_of(struct source_state *state, const struct tick *tick,
					 size_t device, uint32_t pid, struct on_gpu **ret_on_gpu)
{
	static const uint64_t nothing[MAX_METRICS];
	struct own *own = state->own;
	const struct nvidia *nvidia = tick->context;
	const struct tracked_place *who = find_recorded(own, pid);
	struct metric_instance *instance = NULL;
	bool is_new;

	if (who)
		instance = metric_instances_numbered(
			&state->instances, (uint64_t)who->generation * MAX_NVIDIA_DEVICES + device,
			&is_new);
	if (!instance)
		return NULL;
	*ret_on_gpu = &own->all[instance - state->instances.all];
	if (is_new) {
		**ret_on_gpu = (struct on_gpu){.round = 0};
		metric_instance_begin(&state->instances, instance, own->before_ns, nothing,
				      UINT64_MAX);
	}
	instance->of.device = nvidia->ids[device];
	instance->of.process = who->process;
	return instance;
}

static void put_sample(const struct source_state *state, struct metric_instance *instance,
		       const struct on_gpu *on_gpu, uint64_t time_ns, const uint64_t *memory_bytes)
{
	uint64_t values[MAX_METRICS] = {[TIME] = on_gpu->shares[0].of_ns}, valid = 1u << TIME;

	for (size_t i = 0; i < SHARES; i++) {
		values[KERNEL + i] = on_gpu->shares[i].part_ns;
		valid |= 1u << (KERNEL + i);
	}
	if (memory_bytes) {
		values[MEMORY] = *memory_bytes;
		valid |= 1u << MEMORY;
	}
	metric_instance_sample(&state->instances, instance, time_ns, values, valid);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void note_too_many(const struct tick *tick, nvmlReturn_t result)
{
	if (result == NVML_ERROR_INSUFFICIENT_SIZE)
		series_note(tick->series,
			    "more than 4096 processes use a GPU; values of each process are absent",
			    0);
}

static unsigned list(const struct tick *tick, struct own *own, size_t device, bool graphics)
{
	const struct nvidia *nvidia = tick->context;
	const struct nvml *nvml = &nvidia->nvml;
	nvmlDevice_t handle = nvidia->devices[device].handle;
	unsigned count = MAX_PROCESSES;
	nvmlReturn_t result;

	if (graphics)
		result = NVML_CALL(nvml, nvmlDeviceGetGraphicsRunningProcesses_v3, handle, &count,
				   own->processes);
	else
		result = NVML_CALL(nvml, nvmlDeviceGetComputeRunningProcesses_v3, handle, &count,
				   own->processes);
	if (result == NVML_ERROR_FUNCTION_NOT_FOUND && !graphics) {
		count = MAX_PROCESSES;
		result = NVML_CALL(nvml, nvmlDeviceGetComputeRunningProcesses_v2, handle, &count,
				   own->processes);
	}
	note_too_many(tick, result);
	return result ? 0 : count;
}

static void read_memory(struct source_state *state, struct tick *tick, size_t device, bool graphics)
{
	struct own *own = state->own;
	unsigned count = list(tick, own, device, graphics);

	tick->time_ns = host_clocks_now_ns();
	for (unsigned i = 0; i < count && i < MAX_PROCESSES; i++) {
		uint64_t bytes = own->processes[i].used_bytes;
		struct on_gpu *on_gpu;
		struct metric_instance *instance =
			entity_of(state, tick, device, own->processes[i].pid, &on_gpu);

		/* A process that computes and draws is in both lists, with the same memory. */
		if (!instance || on_gpu->round == state->instances.round)
			continue;
		on_gpu->round = state->instances.round;
		for (size_t share = 0; share < SHARES && own->has_shares[device]; share++)
			share_add(&on_gpu->shares[share], own->wall_ns - REST_NS, 0);
		put_sample(state, instance, on_gpu, tick->time_ns,
			   bytes == (uint64_t)NVML_VALUE_NOT_AVAILABLE ? NULL : &bytes);
	}
}

/* ---- shares ---------------------------------------------------------------------------------- */

static void take_sample(struct source_state *state, const struct tick *tick, size_t device,
			uint64_t after_us, const struct nvml_process_utilization *sample)
{
	const uint32_t percents[SHARES] = {sample->sm_percent, sample->memory_percent,
					   sample->encoder_percent, sample->decoder_percent};
	uint64_t until_ns = sample->timestamp_us * 1000, begin_ns = after_us * 1000;
	struct own *own = state->own;
	struct on_gpu *on_gpu;
	struct metric_instance *instance = entity_of(state, tick, device, sample->pid, &on_gpu);

	if (until_ns - begin_ns > PERIOD_NS)
		begin_ns = until_ns - PERIOD_NS;
	for (size_t i = 0; i < SHARES && instance; i++)
		share_add_period(&on_gpu->shares[i], begin_ns, until_ns, percents[i]);
	if (sample->timestamp_us > own->last_us[device])
		own->last_us[device] = sample->timestamp_us;
}

/* Reads the shares first, because they are written together with the lists. */
static void read_shares(struct source_state *state, struct tick *tick, size_t device)
{
	struct own *own = state->own;
	struct nvidia *nvidia = tick->context;
	uint64_t after_us = own->last_us[device];
	unsigned count = MAX_PROCESSES;
	nvmlReturn_t result =
		NVML_CALL(&nvidia->nvml, nvmlDeviceGetProcessUtilization,
			  nvidia->devices[device].handle, own->samples, &count, after_us);

	own->has_shares[device] =
		nvidia_has_answered(nvidia, tick, device, result) || result == NVML_ERROR_NOT_FOUND;
	note_too_many(tick, result);
	for (unsigned i = 0; !result && i < count && i < MAX_PROCESSES; i++)
		if (own->samples[i].timestamp_us > after_us)
			take_sample(state, tick, device, after_us, &own->samples[i]);
}

static void changed(void *context, size_t place)
{
}

static void read_all(struct source_state *state, struct tick *tick)
{
	struct own *own = state->own;
	const struct nvidia *nvidia = tick->context;

	tracked_look(tick->tracked, &own->view, changed, own);
	metric_instances_begin_round(&state->instances);
	own->wall_ns = nvidia_wall_ns();
	for (size_t i = 0; i < nvidia->count; i++) {
		if (nvidia->is_lost[i] || nvidia->devices[i].has_instances)
			continue;
		read_shares(state, tick, i);
		read_memory(state, tick, i, false);
		read_memory(state, tick, i, true);
	}
	tick->time_ns = own->before_ns = host_clocks_now_ns();
	metric_instances_end_round(&state->instances, tick->time_ns);
}

static bool open_processes(struct source_state *state, const struct tick *tick)
{
	const struct nvidia *nvidia = tick->context;
	struct own *own = state->own;

	own->before_ns = host_clocks_now_ns();
	for (size_t i = 0; i < MAX_NVIDIA_DEVICES; i++)
		own->last_us[i] = nvidia_wall_ns() / 1000;
	if (!nvidia->has_pids)
		state->why = "values of each process on the GPUs are absent: NVML uses the pids of "
			     "the host, which differ in this pid namespace; record from the host, "
			     "or start the container with the host's pids (--pid=host)";
	return nvidia->has_pids && tick->tracked && nvidia->count;
}

const struct source nvidia_process_source = {
	.name = "process",
	.file = MEMORY_FILE,
	SOURCE_METRICS(metrics),
	.group = GROUP_PROCESSES,
	.max_hz = 2, /* a reading took 2.6 ms of processor time on an H200 */
	.max_instances = MAX_ENTITIES,
	.own_bytes = sizeof(struct own),
	.open = open_processes,
	.read = read_all,
};
