/* SPDX-License-Identifier: MIT
 *
 * collect/nvidia/fields.c - NVML's field values: current power, memory temperature, bytes on PCIe
 * and NVLink
 *
 * Runs in:  a sampler's thread
 * Gets:     nvmlDeviceGetFieldValues
 * Gives:    levels, and bytes as increments
 * Owns:     nothing
 * Fails:    a field that a driver or GPU lacks is absent; a counter that decreases starts anew
 * Why:      One call reads all fields. The GPU's byte counters miss nothing, whereas
 *           nvmlDeviceGetPcieThroughput (pcie.c) blocks for the 20 ms that it measures.
 */
#include "collect/nvidia/nvidia.h"

enum { POWER, TEMPERATURE, PCIE_SENT, PCIE_RECEIVED, NVLINK_SENT, NVLINK_RECEIVED, FIELDS };

#define FILE "nvmlDeviceGetFieldValues"
static const struct metric metrics[FIELDS] = {
	[POWER] = {"gpu.power", "mW", "power of the GPU and its memory when it was read",
		   FILE " 186"},
	[TEMPERATURE] = {"gpu.temperature.memory", "mC", "temperature of the GPU's device memory",
			 FILE " 82"},
	[PCIE_SENT] = {"gpu.pcie.sent", "bytes", "bytes that the GPU sent over PCIe", FILE " 197",
		       METRIC_TOTAL},
	[PCIE_RECEIVED] = {"gpu.pcie.received", "bytes", "bytes that the GPU received over PCIe",
			   FILE " 198", METRIC_TOTAL},
	[NVLINK_SENT] = {"gpu.nvlink.sent", "bytes",
			 "data bytes that the GPU sent over all its NVLinks", FILE " 138",
			 METRIC_TOTAL},
	[NVLINK_RECEIVED] = {"gpu.nvlink.received", "bytes",
			     "data bytes that the GPU received over all its NVLinks", FILE " 139",
			     METRIC_TOTAL},
};

static const struct {
	uint32_t id, scope;
	uint64_t unit; /* size of one count */
} fields[FIELDS] = {
	[POWER] = {NVML_FI_DEV_POWER_INSTANT, 0, 1},
	[TEMPERATURE] = {NVML_FI_DEV_MEMORY_TEMP, 0, 1000},
	[PCIE_SENT] = {NVML_FI_DEV_PCIE_COUNT_TX_BYTES, 0, 1},
	[PCIE_RECEIVED] = {NVML_FI_DEV_PCIE_COUNT_RX_BYTES, 0, 1},
	[NVLINK_SENT] = {NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, UINT32_MAX, 1024},
	[NVLINK_RECEIVED] = {NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, UINT32_MAX, 1024},
};

/* False for a negative value and for a type that is not an integer. */
static bool whole_number(const struct nvml_field_value *field, uint64_t *ret_value)
{
	switch (field->value_type) {
	case NVML_VALUE_TYPE_UNSIGNED_INT:
		*ret_value = field->value.unsigned_int;
		return true;
	case NVML_VALUE_TYPE_UNSIGNED_LONG:
		*ret_value = field->value.unsigned_long;
		return true;
	case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
		*ret_value = field->value.unsigned_long_long;
		return true;
	case NVML_VALUE_TYPE_SIGNED_LONG_LONG:
		*ret_value = (uint64_t)field->value.signed_long_long;
		return field->value.signed_long_long >= 0;
	case NVML_VALUE_TYPE_SIGNED_INT:
		*ret_value = (uint64_t)field->value.signed_int;
		return field->value.signed_int >= 0;
	default:
		return false;
	}
}

static uint64_t read_fields(struct source_state *state, struct tick *tick, size_t index,
			    uint64_t *values)
{
	struct nvml_field_value asked[FIELDS] = {0};
	struct nvidia *nvidia = tick->context;
	uint64_t valid = 0, value;

	for (size_t i = 0; i < FIELDS; i++) {
		asked[i].field_id = fields[i].id;
		asked[i].scope_id = fields[i].scope;
	}
	if (!NVIDIA_ASK(nvidia, tick, index, nvmlDeviceGetFieldValues, FIELDS, asked))
		return 0;
	for (size_t i = 0; i < FIELDS; i++)
		if (nvidia_has_answered(nvidia, tick, index, asked[i].result) &&
		    whole_number(&asked[i], &value) &&
		    !__builtin_mul_overflow(value, fields[i].unit, &values[i]))
			valid |= 1u << i;
	return valid;
}

const struct source nvidia_fields_source = {
	.name = "fields",
	.file = FILE,
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.max_hz = 50,
	.max_instances = MAX_NVIDIA_DEVICES,
	.open = nvidia_open_any,
	.read = nvidia_read_each,
	.read_one = read_fields,
};
