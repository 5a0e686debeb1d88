/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/pcie.c - throughput of PCIe where the GPU does not count its bytes (fields.c)
 *
 * Runs in:  the sampler of what is slow
 * Gets:     nvmlDeviceGetPcieThroughput   Gives: bytes in a second, of the 20 ms before
 * Owns:     nothing
 * Fails:    what a GPU does not have is absent
 * Why slow: a call looks for 20 ms and returns then, and there are two for each GPU. What goes over the bus between two
 *           looks is in none: a level, and no amount that could be summed up.
 */
#include "base/array.h"
#include "collect/nvidia/nvidia.h"

enum { SENT, RECEIVED };

static const struct metric metrics[] = {
	[SENT] = {"gpu.pcie.sent.rate", "bytes/s",
		  "that the GPU sent over PCIe in 20 ms once a second"},
	[RECEIVED] = {"gpu.pcie.received.rate", "bytes/s",
		      "that came to the GPU over PCIe in 20 ms once a second"},
};

struct own {
	bool is_counted[NVIDIA_DEVICES_MOST];
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

static void read_all(struct source_state *state, struct tick *tick)
{
	nvidia_read_each(state, tick, read_throughput);
}

/* Instances of MIG have no bus of their own. */
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

extern const struct source nvidia_pcie_source;
const struct source nvidia_pcie_source = {
	.name = "pcie",
	.file = "nvmlDeviceGetPcieThroughput",
	SOURCE_METRICS(metrics),
	.group = GROUP_SLOW,
	.things_most = NVIDIA_DEVICES_MOST,
	.own_bytes = sizeof(struct own),
	.open = open_throughput,
	.read = read_all,
};
