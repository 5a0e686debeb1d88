/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eu_i915.c - EU stall stream of Intel's own i915 for Data Center GPU Max
 * (intel-i915-dkms)
 *
 * Runs in:  the recorder
 * Gets:     a render node
 * Gives:    the sampling that it offers, a stream
 * Owns:     nothing
 * Fails:    with a message that names the remedy
 * Why:      Intel's own i915 has the name and version of the kernel's i915, so only an attempt to
 *           open a stream shows whether the driver knows the flag for EU stalls
 *
 * Not run on a GPU yet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/i915_perf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/intel/eu_driver.h"

enum {
	ROOM_BYTES = 512 << 10,    /* buffer size of each subslice */
	POLL_PERIOD_NS = 10000000, /* interval at which the driver reads the hardware's pointers */
	MAX_ANSWER = 1 << 16,
	PVC_MAJOR = 12,
	PVC_MINOR = 60,
	PROPERTIES = 5 /* number of properties beside the engines */
};

#define WHICH                                                                                \
	"only Intel's own i915 for Data Center GPU Max (intel-i915-dkms) has them, and the " \
	"driver xe for Xe2 and later"

/* Errors: -errno. The caller frees the answer. */
static int ask_engines(const struct gpu_node *node, struct i915_query_engine_info **ret_info,
		       size_t *ret_size)
{
	struct i915_query_item item = {.query_id = I915_QUERY_ENGINE_INFO};
	struct i915_query query = {.num_items = 1, .items_ptr = (uintptr_t)&item};
	auto_free void *answer = NULL;

	if (node->ioctl(node->fd, I915_IOCTL_QUERY, &query))
		return -errno;
	if (item.length < (int)sizeof(**ret_info) || item.length > MAX_ANSWER)
		return item.length < 0 ? item.length : -EPROTO;
	answer = calloc(1, (size_t)item.length);
	if (!answer)
		return -ENOMEM;
	item.data_ptr = (uintptr_t)answer;
	if (node->ioctl(node->fd, I915_IOCTL_QUERY, &query))
		return -errno;
	if (item.length < (int)sizeof(**ret_info))
		return item.length < 0 ? item.length : -EPROTO;
	*ret_size = (size_t)item.length;
	*ret_info = answer;
	answer = NULL;
	return 0;
}

static int ask(const struct gpu_node *node, uint32_t nth, uint64_t wanted_cycles,
	       struct eu_stream_facts *facts)
{
	auto_free struct i915_query_engine_info *info = NULL;
	const uint64_t unit = (wanted_cycles + EU_RATE_CYCLES - 1) / EU_RATE_CYCLES;
	size_t size;
	int error;

	if (nth)
		return error_set(-ENOENT, "EU stalls: i915 has only one stream");
	error = ask_engines(node, &info, &size);
	if (error)
		return error_set(error,
				 "EU stalls: the driver i915 does not report its engines: %s",
				 strerror(-error));
	for (uint32_t i = 0; i < info->num_engines; i++) {
		const struct i915_engine_info *engine = &info->engines[i];

		if (size < sizeof(*info) + (i + 1) * sizeof(*engine))
			break;
		if (engine->engine_class == I915_ENGINE_CLASS_COMPUTE &&
		    facts->engines_count < MAX_EU_ENGINES)
			facts->engines[facts->engines_count++] = engine->engine_instance;
	}
	if (!facts->engines_count)
		return error_set(
			-ENOTSUP,
			"EU stalls: the driver i915 has no engine for them on this GPU: " WHICH);
	facts->late_ns = POLL_PERIOD_NS;
	facts->major = PVC_MAJOR;
	facts->minor = PVC_MINOR;
	facts->layout = eu_stall_layout_find(PVC_MAJOR, PVC_MINOR);
	facts->rate_cycles = EU_RATE_CYCLES * (!unit             ? EU_RATE_USUAL
					       : unit < EU_RATES ? unit
								 : EU_RATES);
	return 0;
}

static int open_stream(const struct gpu_node *node, const struct eu_stream_facts *facts)
{
	uint64_t properties[PROPERTIES + MAX_EU_ENGINES][2] = {
		{PRELIM_EU_STALL_BUF_SZ, ROOM_BYTES},
		{PRELIM_EU_STALL_SAMPLE_RATE, facts->rate_cycles / EU_RATE_CYCLES},
		{PRELIM_EU_STALL_POLL_PERIOD, POLL_PERIOD_NS},
		{PRELIM_EU_STALL_EVENT_REPORT_COUNT, 1},
		{PRELIM_EU_STALL_ENGINE_CLASS, I915_ENGINE_CLASS_COMPUTE},
	};
	struct i915_perf_open_param open = {.flags = I915_PERF_CLOEXEC | I915_PERF_NONBLOCK |
						     I915_PERF_DISABLED | PRELIM_I915_PERF_EU_STALL,
					    .num_properties = PROPERTIES + facts->engines_count,
					    .properties_ptr = (uintptr_t)properties};

	for (uint32_t i = 0; i < facts->engines_count; i++) {
		properties[PROPERTIES + i][0] = PRELIM_EU_STALL_ENGINE_INSTANCE;
		properties[PROPERTIES + i][1] = facts->engines[i];
	}
	return gpu_node_begin(node, node->ioctl(node->fd, I915_IOCTL_PERF_OPEN, &open), false,
			      I915_STREAM_ENABLE);
}

static int refused(int error)
{
	if (error == EINVAL || error == ENODEV || error == EOPNOTSUPP)
		return error_set(-ENOTSUP,
				 "EU stalls: the driver i915 of this kernel has none: " WHICH);
	return gpu_node_refused(&eu_words, "i915", error);
}

/* All rows of a subslice in one read have the flag; that is one loss. */
static uint64_t count_losses(const void *rows, size_t size)
{
	const uint8_t *bytes = rows;
	struct prelim_eu_stall_info before = {0}, info;
	uint64_t count = 0;

	for (size_t at = 0; at + EU_STALL_ROW_BYTES <= size; at += EU_STALL_ROW_BYTES) {
		memcpy(&info, bytes + at + PRELIM_EU_STALL_INFO, sizeof(info));
		if (info.flags & PRELIM_EU_STALL_DROPPED &&
		    !(before.flags & PRELIM_EU_STALL_DROPPED && before.subslice == info.subslice))
			count++;
		before = info;
	}
	return count;
}

const struct eu_driver eu_i915_driver = {
	.ask = ask,
	.open = open_stream,
	.refused = refused,
	.count_losses = count_losses,
};
