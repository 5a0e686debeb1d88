/* SPDX-License-Identifier: MIT
 *
 * collect/intel/oa_source.c - counters of Intel GPUs from their OA units, as a source of a sampler
 *
 * Runs in:  open and close in the main thread, read in a sampler's thread
 * Gets:     reports of streams
 * Gives:    rows with the times at which the GPU wrote them
 * Owns:     render nodes and streams
 * Fails:    a GPU without OA is noted; lost reports are written as losses
 * Why:      The source is read 20 times a second, because the GPU writes a report each period into
 *           a buffer of the driver that holds more than 10 s
 */
#include "collect/intel/oa_source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "collect/devices.h"
#include "collect/host_clocks.h"

/* ---- the source ------------------------------------------------------------------------------ */

enum { BUSY, CLOCK, EU_ACTIVE, EU_STALLED, COUNTER, TIME };

static const struct metric metrics[] = {
	[BUSY] = {"gpu.busy", "ns",
		  "share of the time in which the GPU was busy, counted by its OA unit in GPU "
		  "cycles",
		  NULL, METRIC_PART, TIME, LIMIT_WHOLE},
	[CLOCK] = {"gpu.clock", "Hz", "mean clock frequency of the GPU since the last reading",
		   NULL, METRIC_LEVEL},
	[EU_ACTIVE] =
		{"gpu.eu.active", "ns",
		 "share of the time in which an EU (execution unit) executed; mean of all EUs",
		 NULL, METRIC_PART, TIME, LIMIT_WHOLE},
	[EU_STALLED] =
		{"gpu.eu.stalled", "ns",
		 "share of the time in which an EU had threads and executed none; mean of all EUs",
		 NULL, METRIC_PART, TIME, LIMIT_WHOLE},
	[COUNTER] =
		{"gpu.oa.counter", "events",
		 "one counter of a metric set (intel:oa-set=NAME); the set defines what it counts",
		 NULL, METRIC_TOTAL},
	[TIME] = {NULL},
};

static bool open_source(struct source_state *state, const struct tick *tick)
{
	const struct oa_units *units = tick->context;

	/* the period of the GPU's reports, not of our reads */
	for (size_t i = 0; i < units->count; i++)
		state->instances.interval_ns = units->all[i].facts.period_ns;
	return units->count != 0;
}

struct telling {
	struct source_state *state;
	struct oa_unit *unit;
	struct metric_instance *instance;
	size_t index;
	struct metric_instance *counters[MAX_OA_RAW]; /* NULL: no room for the counter */
	uint32_t count;
};

/* Formats "gt0 GpuBusy" with the set's name of the counter, otherwise "gt0 A7". */
static void name_counter(const struct oa_unit *unit, uint32_t nth, char *ret_name, size_t size)
{
	const struct oa_place place = oa_raw_place(unit->facts.layout, nth);
	const char *name =
		unit->igdmd ? igdmd_counter(unit->igdmd, unit->facts.igdmd_set, &place) : NULL;
	char position[OA_RAW_NAME_BYTES];

	oa_raw_name(unit->facts.layout, nth, position);
	snprintf(ret_name, size, "gt%u %s", unit->facts.gt.id, name ? name : position);
}

/* Each counter is an entity of its own, which exists with or without values. */
static void find_counters(struct telling *telling)
{
	const struct oa_unit *unit = telling->unit;
	bool is_new;

	telling->count = *unit->facts.set ? oa_raw_count(unit->facts.layout) : 0;
	for (uint32_t i = 0; i < telling->count; i++) {
		struct metric_instance *instance = metric_instances_numbered(
			&telling->state->instances, MAX_OA_UNITS + telling->index * MAX_OA_RAW + i,
			&is_new);

		telling->counters[i] = instance;
		if (!instance || !is_new)
			continue;
		instance->of.device = unit->device;
		name_counter(unit, i, instance->of.instance, sizeof(instance->of.instance));
	}
}

/* After a restart, the first report only sets the base. */
static void tell_counters(const struct telling *telling, const struct oa_step *step)
{
	struct oa_unit *unit = telling->unit;
	uint64_t values[MAX_METRICS] = {0};

	for (uint32_t i = 0; i < telling->count; i++) {
		struct metric_instance *instance = telling->counters[i];

		if (!instance)
			continue;
		if (!step->took_ns)
			metric_instance_sample(&telling->state->instances, instance, step->end_ns,
					       values, 0);
		else if (i < step->raw_count)
			unit->raw[i] += step->raw[i];
		values[COUNTER] = unit->raw[i];
		metric_instance_sample(&telling->state->instances, instance, step->end_ns, values,
				       1u << COUNTER);
	}
}

static void on_step(void *context, const struct oa_step *step)
{
	const struct telling *telling = context;
	struct oa_unit *unit = telling->unit;
	uint64_t valid = 1u << TIME | (step->has_busy ? 1u << BUSY : 0) |
			 (step->has_eu ? 1u << EU_ACTIVE | 1u << EU_STALLED : 0);
	uint64_t values[MAX_METRICS] = {0};

	if (!step->took_ns) {
		/* the base is unknown: no difference yet */
		metric_instance_sample(&telling->state->instances, telling->instance, step->end_ns,
				       values, 0);
		valid = 1u << TIME | 1u << BUSY | 1u << EU_ACTIVE | 1u << EU_STALLED;
	} else {
		valid |= 1u << CLOCK;
	}
	unit->emitted_ns += step->took_ns;
	unit->busy_ns += step->busy_ns;
	unit->eu_active_ns += step->eu_active_ns;
	unit->eu_stalled_ns += step->eu_stalled_ns;
	values[TIME] = unit->emitted_ns;
	values[BUSY] = unit->busy_ns;
	values[EU_ACTIVE] = unit->eu_active_ns;
	values[EU_STALLED] = unit->eu_stalled_ns;
	values[CLOCK] = step->clock_hz;
	metric_instance_sample(&telling->state->instances, telling->instance, step->end_ns, values,
			       valid);
	tell_counters(telling, step);
}

/* Writes one loss row per end of a stream: from the last row before it until the stream is open
 * again. The amount lost is unknown. */
static void tell_ends(struct tick *tick, struct oa_unit *unit, const struct oa_counts *counts)
{
	if (unit->ends == counts->resets)
		return;
	if (!unit->since_ns)
		unit->since_ns = counts->ended_ns;
	if (counts->ended_ns)
		return;
	while (unit->ends < counts->resets &&
	       series_put_loss(tick->series, unit->since_ns, counts->opened_ns, LOSS_GAP,
			       LOSS_COUNT_UNKNOWN))
		unit->ends++;
	if (unit->ends == counts->resets)
		unit->since_ns = 0;
}

static void read_unit(struct source_state *state, struct tick *tick, struct oa_unit *unit,
		      size_t index)
{
	bool is_new;
	struct metric_instance *instance =
		metric_instances_numbered(&state->instances, index, &is_new);
	struct telling telling = {
		.state = state, .unit = unit, .instance = instance, .index = index};
	struct oa_counts counts;

	if (!instance)
		return;
	if (is_new) {
		instance->of.device = unit->device;
		snprintf(instance->of.instance, sizeof(instance->of.instance), "gt%u",
			 unit->facts.gt.id);
	}
	find_counters(&telling);
	oa_stream_read(unit->stream, on_step, &telling);
	counts = oa_stream_counted(unit->stream);
	series_count_lost(tick->series, counts.lost - unit->counted.lost, host_clocks_now_ns());
	tell_ends(tick, unit, &counts);
	unit->counted = counts;
}

static void read_all(struct source_state *state, struct tick *tick)
{
	struct oa_units *units = tick->context;

	metric_instances_begin_round(&state->instances);
	for (size_t i = 0; i < units->count; i++)
		read_unit(state, tick, &units->all[i], i);
	tick->time_ns = host_clocks_now_ns();
	metric_instances_end_round(&state->instances, tick->time_ns);
}

const struct source oa_source = {
	.name = "oa",
	.file = "OA unit",
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.max_hz = OA_MAX_HZ,
	.max_instances = MAX_OA_UNITS * (1 + MAX_OA_RAW),
	.open = open_source,
	.read = read_all,
};

static const struct source *const all[] = {&oa_source, &own_source};
/* Reopening a stream that ended needs cap_perfmon. */
const struct source_list oa_sources = {all, ARRAY_COUNT(all), .rights = RIGHTS_OBSERVING};

/* ---- units ----------------------------------------------------------------------------------- */

static void put_note(struct recording *recording, const char *text)
{
	recording_note(recording, "intel", COLLECTOR_PARTIAL, 0, text);
	recording_warn(recording, text);
}

static void note_failed(struct recording *recording, const struct gpu_node *node)
{
	char text[700];

	snprintf(text, sizeof(text), "GPU %s: %s", node->address, error_text());
	put_note(recording, text);
	error_clear();
}

static uint32_t describe(struct recording *recording, const struct oa_unit *unit)
{
	char name[80];
	const struct device_facts facts = {.address = unit->node.address,
					   .name = name,
					   .vendor = "Intel",
					   .driver = unit->node.driver};

	if (unit->facts.gt.major)
		snprintf(name, sizeof(name), "Intel GPU %u.%02u", unit->facts.gt.major,
			 unit->facts.gt.minor);
	else
		snprintf(name, sizeof(name), "Intel GPU");
	return devices_meet(recording, &facts);
}

static int choose_set(struct oa_unit *unit, const char *set)
{
	const int error = oa_sets_choose(&unit->node, set, &unit->igdmd, &unit->facts.igdmd_set);

	unit->facts.igdmd = unit->igdmd;
	snprintf(unit->facts.set, sizeof(unit->facts.set), "%s", set);
	/* The caller asks for GT after GT; -ENODEV ends that without an error. */
	return error == -ENOENT ? error_set(-ENODEV, "%s", error_text()) : error;
}

/* False: the GPU has fewer, or its node cannot be opened. */
static bool add_unit(struct recording *recording, struct oa_units *units, int minor, uint32_t nth,
		     uint32_t hz, const char *set)
{
	struct oa_unit *unit = &units->all[units->count];
	char text[700];
	int error;

	*unit = (struct oa_unit){.device = 0};
	if (units->count == MAX_OA_UNITS)
		return false;
	if (!gpu_node_open(minor, &unit->node)) {
		if (gpu_node_is_shut("", minor, text, sizeof(text)))
			put_note(recording, text);
		return false;
	}
	error = oa_stream_ask(&unit->node, nth, hz, &unit->facts);
	if (!error && *set)
		error = choose_set(unit, set);
	if (!error)
		error = oa_stream_open(&unit->node, &unit->facts, &unit->stream);
	if (!error) {
		unit->facts = *oa_stream_facts(unit->stream);
		unit->device = describe(recording, unit);
		units->count++;
		return true;
	}
	if (error != -ENOENT || !nth)
		note_failed(recording, &unit->node);
	error_clear();
	igdmd_close(unit->igdmd);
	gpu_node_close(&unit->node);
	return false;
}

int oa_units_open(struct recording *recording, uint32_t hz, const char *set,
		  struct oa_units **ret_units)
{
	struct oa_units *units = calloc(1, sizeof(*units));

	if (!units)
		return error_set(-ENOMEM, "intel: out of memory");
	units->recording = recording;
	for (int minor = GPU_NODE_FIRST; minor <= GPU_NODE_LAST; minor++)
		for (uint32_t nth = 0; add_unit(recording, units, minor, nth, hz, set); nth++)
			;
	if (units->count) {
		*ret_units = units;
		return 0;
	}
	free(units);
	return error_set(-ENODEV, "no GPU whose OA unit can be read by Intel's drivers (duet "
				  "doctor explains what is missing)");
}

static void note_counts(struct recording *recording, const struct oa_unit *unit)
{
	const struct oa_counts *counts = &unit->counted;
	char text[320];

	snprintf(text, sizeof(text),
		 "GPU %s, gt%u: %" PRIu64 " reports of its OA unit (%s%s%s), one each %" PRIu64
		 " us; the hardware lost some %" PRIu64
		 " times; the stream was opened again %" PRIu64 " times",
		 unit->node.address, unit->facts.gt.id, counts->reports, unit->facts.layout->name,
		 *unit->facts.set ? ", metric set " : "", unit->facts.set,
		 unit->facts.period_ns / 1000, counts->losses, counts->resets);
	recording_note(recording, "intel",
		       counts->losses || counts->resets ? COLLECTOR_PARTIAL : COLLECTOR_AVAILABLE,
		       0, text);
}

/* For a stream that was not reopened; its reader has stopped. */
static void put_last_end(struct recording *recording, const struct oa_unit *unit)
{
	for (uint64_t i = unit->ends; i < unit->counted.resets; i++)
		recording_lose(recording, EVENT_COUNTER, LOSS_GAP, unit->since_ns,
			       host_clocks_now_ns(), LOSS_COUNT_UNKNOWN);
}

void oa_units_close(void *context)
{
	struct oa_units *units = context;

	for (size_t i = 0; units && i < units->count; i++) {
		put_last_end(units->recording, &units->all[i]);
		note_counts(units->recording, &units->all[i]);
		oa_stream_close(units->all[i].stream);
		igdmd_close(units->all[i].igdmd);
		gpu_node_close(&units->all[i].node);
	}
	free(units);
}
