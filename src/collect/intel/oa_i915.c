/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa_i915.c - OA reports of the driver i915, Gen8 to MTL
 *
 * Runs in:  the recorder
 * Gets:     a render node
 * Gives:    its one unit, metric sets, streams
 * Owns:     nothing
 * Fails:    with a message that names the remedy
 * Why:      Formats are tried, because the driver does not report the GPU's generation. Each GPU
 *           accepts one of two equivalent formats, so trying both needs no table of PCI ids.
 *
 * Not run on a GPU yet.
 */
#include <errno.h>
#include <string.h>

#include "abi/i915_perf.h"
#include "base/array.h"
#include "base/error.h"
#include "collect/intel/oa_driver.h"

/* Returns 0 if the driver does not answer. */
static uint32_t ask_number(const struct gpu_node *node, int32_t param)
{
	int value = 0;
	struct i915_getparam ask = {.param = param, .value = &value};

	return node->ioctl(node->fd, I915_IOCTL_GETPARAM, &ask) || value < 0 ? 0 : (uint32_t)value;
}

static int ask(const struct gpu_node *node, uint32_t nth, struct oa_facts *facts)
{
	if (nth)
		return error_set(-ENOENT, "OA: i915 has only one unit");
	facts->clock_hz = ask_number(node, I915_PARAM_OA_TIMESTAMP_FREQUENCY);
	if (!facts->clock_hz)
		facts->clock_hz = ask_number(node, I915_PARAM_CS_TIMESTAMP_FREQUENCY);
	if (!facts->clock_hz)
		return error_set(-ENOTSUP,
				 "OA: the driver i915 does not report the GPU's clock rate");
	facts->eu_count = ask_number(node, I915_PARAM_EU_TOTAL);
	facts->layout = &oa_xe_hpg_layout;
	return 0;
}

static int add_set(const struct gpu_node *node, const struct oa_set *set)
{
	struct i915_perf_oa_config config = {.n_flex_regs = set->count,
					     .flex_regs_ptr = (uintptr_t)set->registers};
	int id;

	memcpy(config.uuid, set->uuid, sizeof(config.uuid));
	id = node->ioctl(node->fd, I915_IOCTL_PERF_ADD_CONFIG, &config);
	return id < 0 ? -errno : id;
}

static void remove_set(const struct gpu_node *node, int set)
{
	uint64_t number = (uint64_t)set;

	node->ioctl(node->fd, I915_IOCTL_PERF_REMOVE_CONFIG, &number);
}

static int open_as(const struct gpu_node *node, const struct oa_facts *facts,
		   const struct oa_layout *layout, int set)
{
	const uint64_t properties[][2] = {
		{I915_PERF_SAMPLE_OA, 1},
		{I915_PERF_OA_METRICS_SET, (uint64_t)set},
		{I915_PERF_OA_FORMAT, layout->i915_format},
		{I915_PERF_OA_EXPONENT, facts->exponent},
	};
	struct i915_perf_open_param open = {.flags = I915_PERF_CLOEXEC | I915_PERF_NONBLOCK |
						     I915_PERF_DISABLED,
					    .num_properties = ARRAY_COUNT(properties),
					    .properties_ptr = (uintptr_t)properties};

	return gpu_node_begin(node, node->ioctl(node->fd, I915_IOCTL_PERF_OPEN, &open), false,
			      I915_STREAM_ENABLE);
}

/* Tries both layouts and sets the one that the GPU has. */
static int open_stream(const struct gpu_node *node, struct oa_facts *facts, int set)
{
	static const struct oa_layout *const layouts[] = {&oa_xe_hpg_layout, &oa_gen12_layout};
	int fd = -EINVAL;

	for (size_t i = 0; i < ARRAY_COUNT(layouts) && fd == -EINVAL; i++) {
		fd = open_as(node, facts, layouts[i], set);
		if (fd >= 0)
			facts->layout = layouts[i];
	}
	return fd;
}

static int refused(int error)
{
	if (error == EINVAL || error == ENODEV || error == EOPNOTSUPP)
		return error_set(-ENOTSUP, "OA: the driver i915 has no known report format for "
					   "this GPU; it has from Gen8 on");
	return gpu_node_refused(&oa_words, "i915", error);
}

static enum oa_next next(const struct oa_layout *layout, const uint8_t *bytes, size_t size,
			 size_t *at, const uint8_t **ret_report)
{
	struct i915_perf_record_header head;

	while (size - *at >= sizeof(head)) {
		const uint8_t *inside = bytes + *at + sizeof(head);

		memcpy(&head, bytes + *at, sizeof(head));
		if (head.size < sizeof(head) || head.size > size - *at)
			return OA_NEXT_END;
		*at += head.size;
		if (head.type == I915_PERF_RECORD_REPORT_LOST ||
		    head.type == I915_PERF_RECORD_BUFFER_LOST)
			return OA_NEXT_LOSS;
		if (head.type == I915_PERF_RECORD_SAMPLE &&
		    head.size >= sizeof(head) + layout->bytes) {
			*ret_report = inside;
			return OA_NEXT_REPORT;
		}
	}
	return OA_NEXT_END;
}

const struct oa_driver oa_i915_driver = {
	.ask = ask,
	.add_set = add_set,
	.remove_set = remove_set,
	.open = open_stream,
	.refused = refused,
	.next = next,
};
