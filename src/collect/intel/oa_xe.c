/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa_xe.c - OA reports of the driver xe, Linux 6.11 and later
 *
 * Runs in:  the recorder
 * Gets:     a render node
 * Gives:    its units, metric sets, streams
 * Owns:     nothing
 * Fails:    with a message that names the remedy
 */
#include <errno.h>
#include <string.h>

#include "abi/xe.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/intel/oa_driver.h"

/* ---- queries --------------------------------------------------------------------------------- */

static const struct xe_oa_unit *next_unit(const struct xe_query_oa_units *units, uint32_t size,
					  uint32_t *at)
{
	const struct xe_oa_unit *unit = (const void *)((const uint8_t *)units + *at);

	if (size < *at + sizeof(*unit) ||
	    unit->num_engines > (size - *at - sizeof(*unit)) / sizeof(unit->engines[0]))
		return NULL;
	*at += (uint32_t)(sizeof(*unit) + unit->num_engines * sizeof(unit->engines[0]));
	return unit;
}

/* Finds the unit's GT; if the driver does not report it, the GT with the same index. */
static int find_gt(const struct gpu_node *node, const struct xe_oa_unit *unit, uint32_t nth,
		   struct gpu_gt *ret_gt)
{
	const bool has_gt = unit->capabilities & XE_OA_HAS_GT || unit->num_engines;
	const uint32_t id = unit->capabilities & XE_OA_HAS_GT ? unit->gt_id
			    : unit->num_engines               ? unit->engines[0].gt_id
							      : 0;
	struct gpu_gt gt;

	for (uint32_t i = 0; has_gt && gpu_node_find_gt(node, i, &gt) == 0; i++)
		if (gt.id == id) {
			*ret_gt = gt;
			return 0;
		}
	error_clear();
	return gpu_node_find_gt(node, nth, ret_gt);
}

static int find_unit(const struct gpu_node *node, uint32_t nth, struct oa_facts *facts)
{
	auto_free struct xe_query_oa_units *units = NULL;
	uint32_t size, at = sizeof(*units), left = nth;
	const int error = gpu_node_ask(node, XE_QUERY_OA_UNITS, (void **)&units, &size);
	const struct xe_oa_unit *unit;

	if (error)
		return error_set(-ENOTSUP,
				 "OA: the driver xe of this kernel has no OA (%s); it has one "
				 "since Linux 6.11",
				 strerror(-error));
	for (uint32_t i = 0; size >= at && i < units->num_oa_units; i++) {
		unit = next_unit(units, size, &at);
		if (!unit)
			break;
		if (unit->oa_unit_type != XE_OA_UNIT_OAG || left--)
			continue;
		facts->unit = unit->oa_unit_id;
		facts->clock_hz = unit->oa_timestamp_freq;
		return find_gt(node, unit, nth, &facts->gt);
	}
	return error_set(-ENOENT,
			 "OA: the driver xe reports no unit of type OAG, which duet needs");
}

static uint32_t count_bits(const struct xe_topology_mask *mask)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < mask->num_bytes; i++)
		count += (uint32_t)__builtin_popcount(mask->mask[i]);
	return count;
}

static uint32_t largest(uint32_t left, uint32_t right)
{
	return left > right ? left : right;
}

/* Number of EUs of a GT; 0: unknown. */
static uint32_t count_eus(const struct gpu_node *node, uint32_t gt)
{
	auto_free uint8_t *answer = NULL;
	uint32_t size, at = 0, parts = 0, eus = 0;

	if (gpu_node_ask(node, XE_QUERY_GT_TOPOLOGY, (void **)&answer, &size))
		return 0;
	while (at + sizeof(struct xe_topology_mask) <= size) {
		const struct xe_topology_mask *mask = (const void *)(answer + at);

		if (mask->num_bytes > size - at - sizeof(*mask))
			break;
		at += (uint32_t)sizeof(*mask) + mask->num_bytes;
		if (mask->gt_id != gt)
			continue;
		if (mask->type == XE_TOPOLOGY_DSS_GEOMETRY || mask->type == XE_TOPOLOGY_DSS_COMPUTE)
			parts = largest(parts, count_bits(mask));
		else if (mask->type == XE_TOPOLOGY_EU_PER_DSS ||
			 mask->type == XE_TOPOLOGY_SIMD16_EU_PER_DSS)
			eus = largest(eus, count_bits(mask));
	}
	return parts * eus;
}

static int ask(const struct gpu_node *node, uint32_t nth, struct oa_facts *facts)
{
	const int error = find_unit(node, nth, facts);

	if (error)
		return error;
	facts->layout = oa_layout_find(facts->gt.major, facts->gt.minor);
	if (!facts->layout)
		return error_set(-ENOTSUP,
				 "OA: the report format of graphics IP %u.%02u is not known",
				 facts->gt.major, facts->gt.minor);
	facts->eu_count = count_eus(node, facts->gt.id);
	return 0;
}

/* ---- metric sets ----------------------------------------------------------------------------- */

static int add_set(const struct gpu_node *node, const struct oa_set *set)
{
	struct xe_oa_config config = {.n_regs = set->count, .regs_ptr = (uintptr_t)set->registers};
	struct xe_observation_param add = {.observation_type = XE_OBSERVATION_OA,
					   .observation_op = XE_OBSERVATION_ADD_CONFIG,
					   .param = (uintptr_t)&config};
	int id;

	memcpy(config.uuid, set->uuid, sizeof(config.uuid));
	id = node->ioctl(node->fd, XE_IOCTL_OBSERVATION, &add);
	return id < 0 ? -errno : id;
}

static void remove_set(const struct gpu_node *node, int id)
{
	uint64_t number = (uint64_t)id;
	struct xe_observation_param remove = {.observation_type = XE_OBSERVATION_OA,
					      .observation_op = XE_OBSERVATION_REMOVE_CONFIG,
					      .param = (uintptr_t)&number};

	node->ioctl(node->fd, XE_IOCTL_OBSERVATION, &remove);
}

/* ---- the stream ------------------------------------------------------------------------------ */

static int refused(int error)
{
	if (error == ENODEV)
		return error_set(-ENODEV,
				 "OA: the driver xe offers no reports on this GPU; virtual "
				 "functions and GPUs without GuC firmware have none");
	return gpu_node_refused(&oa_words, "xe", error);
}

/* Returns a descriptor; -errno. */
static int open_stream(const struct gpu_node *node, struct oa_facts *facts, int set)
{
	const uint64_t values[][2] = {
		{XE_OA_UNIT_ID, facts->unit},
		{XE_OA_SAMPLE, 1},
		{XE_OA_METRIC_SET, (uint64_t)set},
		{XE_OA_FORMAT, facts->layout->xe_format},
		{XE_OA_PERIOD_EXPONENT, facts->exponent},
		{XE_OA_DISABLED, 1},
	};
	struct xe_set_property properties[ARRAY_COUNT(values)] = {{0}};
	struct xe_observation_param open = {.observation_type = XE_OBSERVATION_OA,
					    .observation_op = XE_OBSERVATION_OPEN,
					    .param = (uintptr_t)properties};

	for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
		properties[i].property = (uint32_t)values[i][0];
		properties[i].value = values[i][1];
		properties[i].next_extension =
			i + 1 < ARRAY_COUNT(values) ? (uintptr_t)&properties[i + 1] : 0;
	}
	return gpu_node_begin(node, node->ioctl(node->fd, XE_IOCTL_OBSERVATION, &open), true,
			      XE_STREAM_ENABLE);
}

static enum oa_next next(const struct oa_layout *layout, const uint8_t *bytes, size_t size,
			 size_t *at, const uint8_t **ret_report)
{
	if (size - *at < layout->bytes)
		return OA_NEXT_END;
	*ret_report = bytes + *at;
	*at += layout->bytes;
	return OA_NEXT_REPORT;
}

static uint64_t read_status(const struct gpu_node *node, int fd)
{
	struct xe_oa_stream_status status = {.oa_status = 0};

	return node->ioctl(fd, XE_STREAM_STATUS, &status) ? (uint64_t)XE_OA_REPORT_LOST
							  : status.oa_status;
}

const struct oa_driver oa_xe_driver = {
	.ask = ask,
	.add_set = add_set,
	.remove_set = remove_set,
	.open = open_stream,
	.refused = refused,
	.next = next,
	.status = read_status,
};
