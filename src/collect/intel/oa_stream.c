/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa_stream.c - the reports of a GPU's OA unit: asked for, read as they come, and opened again
 *
 * Runs in:  the recorder; a stream in the thread of its sampler
 * Gets:     a render node of the driver xe, Linux 6.11 and later   Gives: what came from report to report, and when
 * Owns:     the stream's descriptor and room for what is read at a time
 * Fails:    to open: with what mends it. Later lost reports are counted, and a stream that ended is opened anew
 * Why the metric set goes at once: the stream keeps what it was opened with, so that nothing of ours is left in the driver's
 *           list, however the recorder ends
 * Why times are those of the quickest reading: a report is read later than it was written, never earlier. Of all
 *           differences between both clocks the least is next to the truth; it may grow by SLACK_PPM, as clocks drift.
 */
#include "collect/intel/oa_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/host_clocks.h"
#include "event/xe_abi.h"

enum {
	BUFFER_BYTES = 1 << 20,
	READS_MOST = 64, /* in a tick: what comes faster is lost, and counted */
	REOPEN_NS = 20000000,
	UNKNOWN_NS = 2000000000, /* 32 bits of cycles are full again after that, at 2 GHz */
	SLACK_PPM = 100,
	TRIES = 3,
	UNIT_CLOCK_MOST = 1 << 30
};

struct oa_stream {
	const struct gpu_node *node; /* borrowed */
	struct oa_facts facts;
	int fd; /* owned; -1: it ended */
	uint64_t ended_ns;
	uint8_t *buffer; /* owned */
	/* of the stream at hand */
	bool has_before, has_newest, has_offset, is_after_loss;
	struct oa_report before;           /* the last that was told */
	struct oa_report newest;           /* the last that was read */
	uint64_t before_time, newest_time; /* of the unit's clock since the first report */
	uint64_t offset_ns, offset_at_ns;  /* to CLOCK_MONOTONIC, found when */
	uint64_t told_ns;
	struct oa_counts counts;
};

/* ---- what the driver says ---------------------------------------------------------------------- */

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

/* Of the unit's GT; where the driver does not tell which that is, of the one in its order. */
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
				 "OA: the driver xe of this kernel has no OA (%s): it has since "
				 "Linux 6.11",
				 strerror(-error));
	for (uint32_t i = 0; size >= at && i < units->num_oa_units; i++) {
		unit = next_unit(units, size, &at);
		if (!unit)
			break;
		if (unit->oa_unit_type != XE_OA_UNIT_OAG || left--)
			continue;
		if (!unit->oa_timestamp_freq || unit->oa_timestamp_freq > UNIT_CLOCK_MOST)
			return error_set(-EPROTO,
					 "OA: the driver xe says %llu time stamps a second",
					 unit->oa_timestamp_freq);
		facts->unit = unit->oa_unit_id;
		facts->clock_hz = unit->oa_timestamp_freq;
		return find_gt(node, unit, nth, &facts->gt);
	}
	return error_set(-ENOENT, "OA: the driver xe tells of no unit");
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

/* EUs of a GT; 0: not told. */
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

int oa_stream_ask(const struct gpu_node *node, uint32_t nth, uint32_t hz,
		  struct oa_facts *ret_facts)
{
	struct oa_facts facts = {.unit = 0};
	const int error = find_unit(node, nth, &facts);

	if (error)
		return error;
	facts.layout = oa_layout_find(facts.gt.major, facts.gt.minor);
	if (!facts.layout)
		return error_set(-ENOTSUP, "OA: reports of graphics IP %u.%02u are not known",
				 facts.gt.major, facts.gt.minor);
	facts.eu_count = count_eus(node, facts.gt.id);
	facts.exponent = oa_exponent_find(facts.clock_hz, hz);
	facts.period_ns = oa_period_ns(facts.clock_hz, facts.exponent);
	*ret_facts = facts;
	return 0;
}

/* ---- the metric set ---------------------------------------------------------------------------- */

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

/* One that is there already: another recorder is about to open its own stream. */
static int find_set(const struct gpu_node *node, const struct oa_set *set)
{
	char pattern[200], number[32] = "";
	glob_t found;
	int fd, id = -ENOENT;

	snprintf(pattern, sizeof(pattern),
		 "/sys/class/drm/renderD%d/device/drm/card*/metrics/%s/id", node->minor, set->uuid);
	if (glob(pattern, 0, NULL, &found))
		return -ENOENT;
	fd = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	globfree(&found);
	if (fd < 0)
		return -ENOENT;
	if (read(fd, number, sizeof(number) - 1) > 0)
		id = atoi(number);
	close(fd);
	return id > 0 ? id : -ENOENT;
}

/* ---- the stream -------------------------------------------------------------------------------- */

static int refused(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return error_set(-EACCES,
				 "OA: the driver xe gives its reports to root and cap_perfmon "
				 "alone; for everybody: "
				 "'sudo sysctl dev.xe.observation_paranoid=0'");
	case EBUSY:
		return error_set(-EBUSY,
				 "OA: another program reads this GPU's OA unit already: one can at "
				 "a time");
	case ENODEV:
		return error_set(-ENODEV,
				 "OA: the driver xe has none on this GPU, as on a part of one that "
				 "a virtual machine "
				 "was given, or where its firmware GuC is off");
	default:
		return error_set(-error, "OA: the driver xe refuses a stream of reports: %s",
				 strerror(error));
	}
}

/* A descriptor; -errno. */
static int open_with(const struct gpu_node *node, const struct oa_facts *facts, int set)
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
	int fd, error;

	for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
		properties[i].property = (uint32_t)values[i][0];
		properties[i].value = values[i][1];
		properties[i].next_extension =
			i + 1 < ARRAY_COUNT(values) ? (uintptr_t)&properties[i + 1] : 0;
	}
	fd = node->ioctl(node->fd, XE_IOCTL_OBSERVATION, &open);
	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0 &&
	    node->ioctl(fd, XE_STREAM_ENABLE, NULL) == 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

/* A descriptor; -errno. A set that another recorder has added may go between being found and being used. */
static int open_fd(const struct gpu_node *node, const struct oa_facts *facts)
{
	int fd = -EAGAIN;

	for (int i = 0; i < TRIES; i++) {
		const int added = add_set(node, facts->layout->set);
		const int set = added == -EADDRINUSE ? find_set(node, facts->layout->set) : added;

		if (set == -ENOENT)
			continue;
		if (set < 0)
			return set;
		fd = open_with(node, facts, set);
		if (added > 0)
			remove_set(node, added);
		if (added > 0 || fd != -EINVAL)
			break;
	}
	return fd;
}

static void begin_anew(struct oa_stream *stream)
{
	stream->has_before = stream->has_newest = stream->has_offset = false;
	stream->newest_time = stream->before_time = 0;
	stream->is_after_loss = false;
}

static void end(struct oa_stream *stream)
{
	close(stream->fd);
	stream->fd = -1;
	stream->ended_ns = host_clocks_now_ns();
	stream->counts.resets++;
}

static bool is_open(struct oa_stream *stream)
{
	if (stream->fd >= 0)
		return true;
	if (host_clocks_now_ns() - stream->ended_ns < REOPEN_NS)
		return false;
	stream->fd = open_fd(stream->node, &stream->facts);
	if (stream->fd < 0)
		stream->ended_ns = host_clocks_now_ns();
	begin_anew(stream);
	return stream->fd >= 0;
}

int oa_stream_open(const struct gpu_node *node, const struct oa_facts *facts,
		   struct oa_stream **ret_stream)
{
	struct oa_stream *stream = calloc(1, sizeof(*stream));
	int error;

	if (!stream)
		return error_set(-ENOMEM, "OA: out of memory");
	stream->node = node;
	stream->facts = *facts;
	stream->buffer = malloc(BUFFER_BYTES);
	stream->fd = stream->buffer ? open_fd(node, facts) : -ENOMEM;
	if (stream->fd >= 0) {
		*ret_stream = stream;
		return 0;
	}
	error = refused(-stream->fd);
	free(stream->buffer);
	free(stream);
	return error;
}

void oa_stream_close(struct oa_stream *stream)
{
	if (!stream)
		return;
	if (stream->fd >= 0)
		close(stream->fd);
	free(stream->buffer);
	free(stream);
}

struct oa_counts oa_stream_counted(const struct oa_stream *stream)
{
	return stream->counts;
}

/* ---- time -------------------------------------------------------------------------------------- */

static uint64_t host_ns(const struct oa_stream *stream, uint64_t time)
{
	return stream->offset_ns + oa_time_ns(stream->facts.clock_hz, time);
}

/* The newest report was written before now. */
static void compare_clocks(struct oa_stream *stream, uint64_t now_ns)
{
	const uint64_t found_ns = now_ns - oa_time_ns(stream->facts.clock_hz, stream->newest_time);
	const uint64_t slack_ns =
		stream->has_offset ? (now_ns - stream->offset_at_ns) / 1000000 * SLACK_PPM : 0;

	if (!stream->has_offset || found_ns < stream->offset_ns + slack_ns)
		stream->offset_ns = found_ns;
	else
		stream->offset_ns += slack_ns;
	stream->offset_at_ns = now_ns;
	stream->has_offset = true;
}

/* ---- reports ----------------------------------------------------------------------------------- */

static uint64_t share(uint64_t took_ns, uint64_t part, uint64_t whole)
{
	if (!whole)
		return 0;
	return part < whole ? (uint64_t)((unsigned __int128)took_ns * part / whole) : took_ns;
}

static void fill_step(const struct oa_stream *stream, const struct oa_report *since,
		      struct oa_step *step)
{
	const struct oa_facts *facts = &stream->facts;
	const uint64_t eu_ticks = (uint64_t)since->ticks * facts->eu_count;

	step->took_ns = oa_time_ns(facts->clock_hz, since->time);
	step->clock_hz =
		(uint64_t)((unsigned __int128)since->ticks * facts->clock_hz / since->time);
	step->has_busy = facts->layout->places[OA_BUSY].width != OA_ABSENT;
	step->has_eu = facts->eu_count && facts->layout->places[OA_EU_ACTIVE].width != OA_ABSENT;
	step->busy_ns = share(step->took_ns, since->counters[OA_BUSY], since->ticks);
	step->eu_active_ns = share(step->took_ns, since->counters[OA_EU_ACTIVE], eu_ticks);
	step->eu_stalled_ns = share(step->took_ns, since->counters[OA_EU_STALLED], eu_ticks);
}

/* How many are missing between two, by their distance. */
static void count_lost(struct oa_stream *stream, uint64_t took_ns)
{
	const uint64_t periods = (took_ns + stream->facts.period_ns / 2) / stream->facts.period_ns;

	if (stream->is_after_loss)
		stream->counts.lost += periods > 2 ? periods - 1 : 1;
	stream->is_after_loss = false;
}

static void tell(struct oa_stream *stream, const struct oa_report *report, uint64_t time,
		 oa_on_step on_step, void *context)
{
	const struct oa_layout *layout = stream->facts.layout;
	const struct oa_report since = oa_report_since(layout, &stream->before, report);
	const uint64_t took_ns = oa_time_ns(stream->facts.clock_hz, time - stream->before_time);
	struct oa_step step = {.end_ns = host_ns(stream, time)};

	/* those of context switches stand between those of the timer */
	if (stream->has_before && took_ns < stream->facts.period_ns / 4 * 3)
		return;
	count_lost(stream, took_ns);
	if (step.end_ns <= stream->told_ns)
		step.end_ns = stream->told_ns + 1;
	if (stream->has_before && took_ns < UNKNOWN_NS)
		fill_step(stream, &since, &step);
	on_step(context, &step);
	stream->told_ns = step.end_ns;
	stream->before = *report;
	stream->before_time = time;
	stream->has_before = true;
}

/* Follows the unit's clock to the newest of what was read. */
static void follow(struct oa_stream *stream, size_t size)
{
	const struct oa_layout *layout = stream->facts.layout;
	struct oa_report report;

	for (size_t at = 0; at + layout->bytes <= size; at += layout->bytes) {
		if (!oa_report_read(layout, stream->buffer + at, &report))
			continue;
		if (stream->has_newest)
			stream->newest_time +=
				oa_report_since(layout, &stream->newest, &report).time;
		stream->newest = report;
		stream->has_newest = true;
	}
}

static void take(struct oa_stream *stream, size_t size, oa_on_step on_step, void *context)
{
	const struct oa_layout *layout = stream->facts.layout;
	const uint64_t now_ns = host_clocks_now_ns();
	struct oa_report report, last = stream->newest;
	uint64_t time = stream->newest_time;
	bool has_last = stream->has_newest;

	follow(stream, size);
	if (!stream->has_newest)
		return;
	compare_clocks(stream, now_ns);
	for (size_t at = 0; at + layout->bytes <= size; at += layout->bytes) {
		if (!oa_report_read(layout, stream->buffer + at, &report))
			continue;
		time += has_last ? oa_report_since(layout, &last, &report).time : 0;
		last = report;
		has_last = true;
		stream->counts.reports++;
		tell(stream, &report, time, on_step, context);
	}
}

static void lose(struct oa_stream *stream)
{
	struct xe_oa_stream_status status = {.oa_status = 0};

	if (stream->node->ioctl(stream->fd, XE_STREAM_STATUS, &status))
		status.oa_status = XE_OA_REPORT_LOST;
	if (status.oa_status & (XE_OA_REPORT_LOST | XE_OA_BUFFER_OVERFLOW)) {
		stream->counts.losses++;
		stream->is_after_loss = true;
	}
	/* what was counted is no difference any more */
	if (status.oa_status & XE_OA_COUNTER_OVERFLOW)
		stream->has_before = false;
}

void oa_stream_read(struct oa_stream *stream, oa_on_step on_step, void *context)
{
	if (!is_open(stream))
		return;
	for (int i = 0; i < READS_MOST; i++) {
		const ssize_t size = read(stream->fd, stream->buffer, BUFFER_BYTES);

		if (size > 0)
			take(stream, (size_t)size, on_step, context);
		else if (size < 0 && errno == EIO)
			lose(stream);
		else if (size == 0 || errno == EAGAIN)
			return;
		else if (errno != EINTR) {
			end(stream);
			return;
		}
	}
}
