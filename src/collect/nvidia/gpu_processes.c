/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/gpu_processes.c - memory of GPUs and time on them, of each recorded process
 *
 * Runs in:  the sampler of processes
 * Gets:     NVML's lists of processes and of their samples   Gives: bytes; shares of the time
 * Owns:     the shares
 * Fails:    a process that is not on a GPU any more ends there; without numbers that are ours (another pid namespace than
 *           the driver's) it is not opened
 * Why periods: NVML tells of those processes alone that did something in the driver's last period, a second at most. Where
 *           what it says stood for all of the time since it said something before, a process that came back after
 *           10 s of rest would have been busy for all of them.
 */
#include <string.h>

#include "base/array.h"
#include "collect/host_clocks.h"
#include "collect/nvidia/nvidia.h"
#include "collect/tracked.h"

enum { MEMORY, KERNEL, BUSY, ENCODER, DECODER, SHARES_END, TIME = SHARES_END, SHARES = 4 };
enum { PROCESSES_MOST = 4096, THINGS_MOST = 1024 };
enum {
	PERIOD_NS = 1000000000, /* of the driver's, at most */
	REST_NS = 2000000000    /* nothing was told for so long: there is nothing to tell */
};

#define MEMORY_FILE "nvmlDeviceGetComputeRunningProcesses_v3"
#define SHARE_FILE  "nvmlDeviceGetProcessUtilization"
#define SHARE(name, help)                                                    \
	{                                                                    \
		name, "ns", help, SHARE_FILE, METRIC_PART, TIME, LIMIT_WHOLE \
	}
static const struct metric metrics[] = {
	[MEMORY] = {"process.gpu.memory.used", "bytes", "device memory that the process has",
		    MEMORY_FILE},
	[KERNEL] = SHARE("process.gpu.kernel.present",
			 "share of the time in which a kernel of the process was there"),
	[BUSY] = SHARE("process.gpu.memory.busy",
		       "share of the time in which it read or wrote device memory"),
	[ENCODER] =
		SHARE("process.gpu.encoder.busy", "share of the time in which it encoded video"),
	[DECODER] =
		SHARE("process.gpu.decoder.busy", "share of the time in which it decoded video"),
	[TIME] = {NULL},
};

struct on_gpu {
	struct share shares[SHARES];
	uint64_t round; /* in which its memory was read last */
};

struct own {
	struct tracked_view view;
	uint64_t last_us[NVIDIA_DEVICES_MOST]; /* of the driver's samples */
	bool has_shares[NVIDIA_DEVICES_MOST];
	uint64_t wall_ns, before_ns;    /* now by the driver's clock; the tick before by ours */
	struct on_gpu all[THINGS_MOST]; /* by the thing's place */
	struct nvml_process_v2 processes[PROCESSES_MOST];
	struct nvml_process_utilization samples[PROCESSES_MOST];
};

/* NULL: it is not recorded. */
static const struct tracked_place *find_recorded(const struct own *own, uint32_t pid)
{
	for (size_t i = 0; i < own->view.count; i++)
		if (own->view.places[i].pid == pid && pid)
			return &own->view.places[i];
	return NULL;
}

static struct thing *thing_of(struct source_state *state, const struct tick *tick, size_t device,
			      uint32_t pid, struct on_gpu **ret_on_gpu)
{
	static const uint64_t nothing[METRICS_MOST];
	struct own *own = state->own;
	const struct nvidia *nvidia = tick->context;
	const struct tracked_place *who = find_recorded(own, pid);
	struct thing *thing = NULL;
	bool is_new;

	if (who)
		thing = things_numbered(&state->things,
					(uint64_t)who->generation * NVIDIA_DEVICES_MOST + device,
					&is_new);
	if (!thing)
		return NULL;
	*ret_on_gpu = &own->all[thing - state->things.all];
	if (is_new) {
		**ret_on_gpu = (struct on_gpu){.round = 0};
		thing_begin(&state->things, thing, own->before_ns, nothing, UINT64_MAX);
	}
	thing->of.device = nvidia->ids[device];
	thing->of.process = who->process;
	return thing;
}

static void put(const struct source_state *state, struct thing *thing, const struct on_gpu *on_gpu,
		uint64_t time_ns, const uint64_t *memory_bytes)
{
	uint64_t values[METRICS_MOST] = {[TIME] = on_gpu->shares[0].of_ns}, valid = 1u << TIME;

	for (size_t i = 0; i < SHARES; i++) {
		values[KERNEL + i] = on_gpu->shares[i].part_ns;
		valid |= 1u << (KERNEL + i);
	}
	if (memory_bytes) {
		values[MEMORY] = *memory_bytes;
		valid |= 1u << MEMORY;
	}
	thing_sample(&state->things, thing, time_ns, values, valid);
}

/* ---- memory ------------------------------------------------------------------------------------ */

static void note_too_many(const struct tick *tick, nvmlReturn_t result)
{
	if (result == NVML_ERROR_INSUFFICIENT_SIZE)
		series_note(tick->series,
			    "more than 4096 processes use a GPU: what each of them does there is "
			    "absent",
			    0);
}

static unsigned list(const struct tick *tick, struct own *own, size_t device, bool graphics)
{
	const struct nvidia *nvidia = tick->context;
	const struct nvml *nvml = &nvidia->nvml;
	nvmlDevice_t handle = nvidia->devices[device].handle;
	unsigned count = PROCESSES_MOST;
	nvmlReturn_t result;

	if (graphics)
		result = NVML_CALL(nvml, nvmlDeviceGetGraphicsRunningProcesses_v3, handle, &count,
				   own->processes);
	else
		result = NVML_CALL(nvml, nvmlDeviceGetComputeRunningProcesses_v3, handle, &count,
				   own->processes);
	if (result == NVML_ERROR_FUNCTION_NOT_FOUND && !graphics) {
		count = PROCESSES_MOST;
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
	for (unsigned i = 0; i < count && i < PROCESSES_MOST; i++) {
		uint64_t bytes = own->processes[i].used_bytes;
		struct on_gpu *on_gpu;
		struct thing *thing = thing_of(state, tick, device, own->processes[i].pid, &on_gpu);

		/* One that computes and draws is in both lists, with the same memory. */
		if (!thing || on_gpu->round == state->things.round)
			continue;
		on_gpu->round = state->things.round;
		for (size_t share = 0; share < SHARES && own->has_shares[device]; share++)
			share_add(&on_gpu->shares[share], own->wall_ns - REST_NS, 0);
		put(state, thing, on_gpu, tick->time_ns,
		    bytes == (uint64_t)NVML_VALUE_NOT_AVAILABLE ? NULL : &bytes);
	}
}

/* ---- shares ------------------------------------------------------------------------------------ */

static void take_sample(struct source_state *state, const struct tick *tick, size_t device,
			uint64_t after_us, const struct nvml_process_utilization *sample)
{
	const uint32_t percents[SHARES] = {sample->sm_percent, sample->memory_percent,
					   sample->encoder_percent, sample->decoder_percent};
	uint64_t until_ns = sample->timestamp_us * 1000, begin_ns = after_us * 1000;
	struct own *own = state->own;
	struct on_gpu *on_gpu;
	struct thing *thing = thing_of(state, tick, device, sample->pid, &on_gpu);

	if (until_ns - begin_ns > PERIOD_NS)
		begin_ns = until_ns - PERIOD_NS;
	for (size_t i = 0; i < SHARES && thing; i++)
		share_add_period(&on_gpu->shares[i], begin_ns, until_ns, percents[i]);
	if (sample->timestamp_us > own->last_us[device])
		own->last_us[device] = sample->timestamp_us;
}

/* Before the lists, with which they are written. */
static void read_shares(struct source_state *state, struct tick *tick, size_t device)
{
	struct own *own = state->own;
	struct nvidia *nvidia = tick->context;
	uint64_t after_us = own->last_us[device];
	unsigned count = PROCESSES_MOST;
	nvmlReturn_t result =
		NVML_CALL(&nvidia->nvml, nvmlDeviceGetProcessUtilization,
			  nvidia->devices[device].handle, own->samples, &count, after_us);

	own->has_shares[device] =
		nvidia_has_answered(nvidia, tick, device, result) || result == NVML_ERROR_NOT_FOUND;
	note_too_many(tick, result);
	for (unsigned i = 0; !result && i < count && i < PROCESSES_MOST; i++)
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
	things_begin_round(&state->things);
	own->wall_ns = nvidia_wall_ns();
	for (size_t i = 0; i < nvidia->count; i++) {
		if (nvidia->is_lost[i] || nvidia->devices[i].has_instances)
			continue;
		read_shares(state, tick, i);
		read_memory(state, tick, i, false);
		read_memory(state, tick, i, true);
	}
	tick->time_ns = own->before_ns = host_clocks_now_ns();
	things_end_round(&state->things, tick->time_ns);
}

static bool open_processes(struct source_state *state, const struct tick *tick)
{
	const struct nvidia *nvidia = tick->context;
	struct own *own = state->own;

	own->before_ns = host_clocks_now_ns();
	for (size_t i = 0; i < NVIDIA_DEVICES_MOST; i++)
		own->last_us[i] = nvidia_wall_ns() / 1000;
	if (!nvidia->has_pids)
		state->why =
			"what each process does on the GPUs is absent: NVML counts processes as "
			"the "
			"machine does, and this is another pid namespace; record outside of the "
			"container, or start it with the machine's (--pid=host)";
	return nvidia->has_pids && tick->tracked && nvidia->count;
}

extern const struct source nvidia_process_source;
const struct source nvidia_process_source = {
	.name = "process",
	.file = MEMORY_FILE,
	SOURCE_METRICS(metrics),
	.group = GROUP_PROCESSES,
	.most_hz = 10,
	.things_most = THINGS_MOST,
	.own_bytes = sizeof(struct own),
	.open = open_processes,
	.read = read_all,
};
