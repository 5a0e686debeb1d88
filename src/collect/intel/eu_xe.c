/* SPDX-License-Identifier: MIT
 *
 * collect/intel/eu_xe.c - EU stall stream of the driver xe, Linux 6.15 and later
 *
 * Runs in:  the recorder
 * Gets:     a render node
 * Gives:    the sampling that it offers, a stream
 * Owns:     nothing
 * Fails:    with a remedy
 */
#include <errno.h>
#include <string.h>

#include "abi/xe.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/intel/eu_driver.h"

/* Interval at which the driver's worker polls the hardware's buffers. */
enum { LOOKS_NS = 5000000 };

/* ---- queries --------------------------------------------------------------------------------- */

static int find_layout(const struct gpu_node *node, uint32_t nth, struct eu_stream_facts *facts)
{
	struct gpu_gt gt;
	const int error = gpu_node_find_gt(node, nth, &gt);

	if (error)
		return error;
	facts->gt = gt.id;
	facts->major = gt.major;
	facts->minor = gt.minor;
	facts->layout = eu_stall_layout_find(gt.major, gt.minor);
	if (facts->layout)
		return 0;
	return error_set(-ENOTSUP,
			 "EU stalls: this GPU (graphics IP %u.%02u) cannot sample them; Data "
			 "Center GPU Max (PVC), Xe2 and later can",
			 gt.major, gt.minor);
}

/* Returns the lowest number of cycles that is not below the wanted one. */
static uint64_t choose_rate(const struct xe_query_eu_stall *answer, uint64_t wanted_cycles)
{
	uint64_t count = answer->num_sampling_rates, rate = answer->sampling_rates[count - 1];

	if (!wanted_cycles)
		return answer->sampling_rates[count / 2];
	while (count-- && answer->sampling_rates[count] >= wanted_cycles)
		rate = answer->sampling_rates[count];
	return rate;
}

static int ask(const struct gpu_node *node, uint32_t nth, uint64_t wanted_cycles,
	       struct eu_stream_facts *ret_facts)
{
	auto_free struct xe_query_eu_stall *answer = NULL;
	uint32_t size;
	int error = find_layout(node, nth, ret_facts);

	if (error)
		return error;
	error = gpu_node_ask(node, XE_QUERY_EU_STALL, (void **)&answer, &size);
	if (error)
		return error_set(-ENOTSUP,
				 "EU stalls: the driver xe of this kernel cannot sample them (%s); "
				 "it can since Linux 6.15",
				 strerror(-error));
	if (size < sizeof(*answer) || !answer->num_sampling_rates ||
	    answer->num_sampling_rates > (size - sizeof(*answer)) / sizeof(uint64_t))
		return error_set(-EPROTO, "EU stalls: the driver xe reports no sampling rate");
	if (answer->record_size != EU_STALL_ROW_BYTES)
		return error_set(-ENOTSUP,
				 "EU stalls: a row has %llu bytes on this GPU instead of %d; a "
				 "newer duet may know the format",
				 answer->record_size, EU_STALL_ROW_BYTES);
	ret_facts->late_ns = LOOKS_NS;
	ret_facts->rate_cycles = choose_rate(answer, wanted_cycles);
	return 0;
}

/* ---- the stream ------------------------------------------------------------------------------ */

static int refused(int error)
{
	return gpu_node_refused(&eu_words, "xe", error);
}

/* Returns a descriptor; -errno. */
static int open_stream(const struct gpu_node *node, const struct eu_stream_facts *facts)
{
	struct xe_set_property reports = {.property = XE_EU_STALL_WAIT_NUM_REPORTS, .value = 1};
	struct xe_set_property rate = {.property = XE_EU_STALL_SAMPLE_RATE,
				       .value = facts->rate_cycles,
				       .next_extension = (uintptr_t)&reports};
	struct xe_set_property gt = {.property = XE_EU_STALL_GT_ID,
				     .value = facts->gt,
				     .next_extension = (uintptr_t)&rate};
	struct xe_observation_param open = {.observation_type = XE_OBSERVATION_EU_STALL,
					    .observation_op = XE_OBSERVATION_OPEN,
					    .param = (uintptr_t)&gt};

	/* The descriptor is inherited by exec, which must not happen: the stream stays enabled
	 * while any process has it. */
	return gpu_node_begin(node, node->ioctl(node->fd, XE_IOCTL_OBSERVATION, &open), true,
			      XE_STREAM_ENABLE);
}

const struct eu_driver eu_xe_driver = {
	.ask = ask,
	.open = open_stream,
	.refused = refused,
};
