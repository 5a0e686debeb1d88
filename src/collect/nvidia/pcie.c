/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pcie.c - PCIe throughput of GPUs that do not count bytes (fields.c)
 *
 * Runs in:  the sampler that reads once a second
 * Gets:     nvmlDeviceGetPcieThroughput
 * Gives:    bytes per second in the last 20 ms
 * Owns:     nothing
 * Fails:    values that a GPU lacks are absent
 * Why once a second: a call measures for 20 ms, and there are two calls per GPU. Traffic between
 *           two measurements is missing, so the value is a rate, not an amount that could be summed
 */
#include "base/array.h"
#include "collect/nvidia/nvidia.h"

enum { SENT, RECEIVED };

static const struct metric metrics[] = {
	[SENT] = {"gpu.pcie.sent.rate", "bytes/s",
		  "rate at which the GPU sends over PCIe; the driver measures it for 20 ms of each "
		  "second"},
	[RECEIVED] = {"gpu.pcie.received.rate", "bytes/s",
		      "rate at which the GPU receives over PCIe; the driver measures it for 20 ms "
		      "of each second"},
};

struct own {
	bool is_counted[MAX_NVIDIA_DEVICES];
};

static uint64_t read_throughput(struct source_state *state, struct tick *tick, size_t index,
				uint64_t *values)
{
	static const nvmlPcieUtilCounter_t counters[] = {NVML_PCIE_UTIL_TX_BYTES,
							 NVML_PCIE_UTIL_RX_BYTES};
	const struct own *own = state->own;
	struct nvidia *nvidia = tick->context;
	uint64_t valid = 0;
	unsigned kb_s = 0;

	for (size_t i = 0; i < ARRAY_COUNT(counters) && !own->is_counted[index]; i++) {
		if (!NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetPcieThroughput, counters[i],
				&kb_s))
			continue;
		values[i] = (uint64_t)kb_s * 1024;
		valid |= 1u << i;
	}
	return valid;
}

/* MIG instances have no bus of their own. */
static bool open_throughput(struct source_state *state, const struct tick *tick)
{
	struct nvidia *nvidia = tick->context;
	struct own *own = state->own;
	size_t left = 0;

	for (size_t i = 0; i < nvidia->count; i++) {
		struct nvml_field_value field = {.field_id = NVML_FI_DEV_PCIE_COUNT_TX_BYTES};

		own->is_counted[i] =
			nvidia->devices[i].whole ||
			(NVIDIA_ASK(nvidia, tick, i, nvmlDeviceGetFieldValues, 1, &field) &&
			 !field.result);
		left += !own->is_counted[i];
	}
	return left != 0;
}

const struct source nvidia_pcie_source = {
	.name = "pcie",
	.file = "nvmlDeviceGetPcieThroughput",
	SOURCE_METRICS(metrics),
	.group = GROUP_SLOW,
	.max_instances = MAX_NVIDIA_DEVICES,
	.own_bytes = sizeof(struct own),
	.open = open_throughput,
	.read = nvidia_read_each,
	.read_one = read_throughput,
};
