/* SPDX-License-Identifier: MIT
 *
 * analyze/compare/facts.c - collects the conditions under which a recording was made
 *
 * Runs in:  our own process
 * Gets:     an analysis
 * Gives:    texts and readings that a comparison of two recordings checks
 * Owns:     nothing: texts and lists live in the caller's arena
 * Fails:    -ENOMEM and errors of the reader
 * Why names of readings, not all readings: a recording may have a thousand series, of which clocks,
 *           throttling, temperature and load change the speed of an unchanged program
 */
#include "analyze/compare/facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/collectors.h"
#include "analyze/model.h"
#include "analyze/text/metrics.h"
#include "analyze/text/units.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"

enum { MAX_TEXTS = 256, MAX_READINGS = 64 };

struct collection {
	const struct analysis *analysis;
	struct arena *arena;
	struct side_facts *facts;
	int error;
};

/* Series whose level changes the speed of the program. A prefix of the metric's name. */
static const char *const condition_metrics[] = {
	"gpu.clock",     "gpu.throttled",        "gpu.temperature",  "cpu.frequency",
	"cpu.throttled", "cgroup.cpu.throttled", "cgroup.throttled", "load.1m",
};

static const char *copy_text(struct collection *collection, const char *text)
{
	const char *copy = arena_copy(collection->arena, text, strlen(text));

	if (!copy)
		collection->error = -ENOMEM;
	return copy;
}

static void add_text(struct collection *collection, const char *name, const char *value)
{
	struct side_facts *facts = collection->facts;

	if (facts->texts_count < MAX_TEXTS && value)
		facts->texts[facts->texts_count++] = (struct side_fact){
			copy_text(collection, name), copy_text(collection, value)};
}

static void add_number(struct collection *collection, const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	add_text(collection, name, value ? text : "");
}

static void add_host(struct collection *collection)
{
	const struct model *model = collection->analysis->model;
	const struct event_host *host = collection->analysis->host;
	struct side_facts *facts = collection->facts;

	facts->command = copy_text(collection, model_command(model));
	facts->host = copy_text(collection, host ? model_text(model, host->name_string, "") : "");
	facts->boot_id =
		copy_text(collection, host ? model_text(model, host->boot_id_string, "") : "");
	add_text(collection, "command", facts->command);
	add_text(collection, "host", facts->host);
	if (!host)
		return;
	add_text(collection, "OS kernel", model_text(model, host->kernel_string, ""));
	add_text(collection, "processor", model_text(model, host->cpu_string, ""));
	add_number(collection, "number of processors", host->cpu_count);
}

static void add_device(struct collection *collection, size_t index)
{
	const struct analysis_device *device = &collection->analysis->devices[index];
	const struct model *model = collection->analysis->model;
	char name[64];

	if (!device->is_measured || !device->device)
		return;
	snprintf(name, sizeof(name), "device %zu", index);
	add_text(collection, name, device->name);
	snprintf(name, sizeof(name), "driver of device %zu", index);
	add_text(collection, name, model_text(model, device->device->driver_string, ""));
	snprintf(name, sizeof(name), "platform of device %zu", index);
	add_text(collection, name, model_text(model, device->device->platform_string, ""));
	snprintf(name, sizeof(name), "compute units of device %zu", index);
	add_number(collection, name, device->device->compute_units);
}

static void add_collectors(struct collection *collection)
{
	const struct model *model = collection->analysis->model;
	const struct event_collector *rows;
	const size_t count = model_entities(model, EVENT_COLLECTOR, &rows);
	const char *origin = model_imported_from(model);

	char format[64] = "duet";

	if (origin) /* "from chrome '/path': …" */
		snprintf(format, sizeof(format), "%.*s", (int)strcspn(origin, "'"), origin);
	add_text(collection, "recorded by", format);
	for (size_t i = 0; i < count; i++) {
		char name[128];

		if (!collectors_is_first(rows, i))
			continue;
		snprintf(name, sizeof(name), "collector %.80s",
			 model_text(model, rows[i].name_string, "?"));
		add_text(collection, name, collectors_state_name(collectors_state(rows, count, i)));
	}
}

/* The interval of the samples that measure time, rounded: schedulers make it vary. */
static void add_sampling(struct collection *collection)
{
	const struct analysis *analysis = collection->analysis;
	uint64_t count = 0, weight = 0;

	for (size_t i = 0; i < analysis->samples_count; i++) {
		const struct analysis_sample *sample = &analysis->samples[i];

		if (!sample->is_time || strcmp(analysis_source_unit(sample->source), "ns") != 0)
			continue;
		count += sample->count;
		weight += sample->weight;
	}
	if (collection->facts->readings_count < MAX_READINGS && count)
		collection->facts->readings[collection->facts->readings_count++] =
			(struct side_reading){"interval of CPU samples", "us",
					      (double)weight / (double)count / 1000};
}

static bool is_condition(const char *metric)
{
	for (size_t i = 0; i < ARRAY_COUNT(condition_metrics); i++)
		if (strncmp(metric, condition_metrics[i], strlen(condition_metrics[i])) == 0)
			return true;
	return false;
}

static void add_reading(struct collection *collection, const struct metric_summary *summary)
{
	const struct model *model = collection->analysis->model;
	const char *metric = model_text(model, summary->series->metric_string, "");
	const char *instance = model_text(model, summary->series->instance_string, "");
	struct side_facts *facts = collection->facts;
	struct unit_shown unit;
	char name[192];

	if (!is_condition(metric) || summary->series->process ||
	    facts->readings_count == MAX_READINGS)
		return;
	unit = unit_shown_of(model, summary->series);
	snprintf(name, sizeof(name), "%.80s%s%.80s", metric, *instance ? " " : "", instance);
	facts->readings[facts->readings_count++] =
		(struct side_reading){copy_text(collection, name), copy_text(collection, unit.text),
				      summary->mean * unit.factor};
}

static int add_readings(struct collection *collection)
{
	const struct analysis *analysis = collection->analysis;
	struct metrics metrics = {0};
	int error = 0;

	if (model_has(analysis->model, EVENT_COUNTER))
		error = metrics_new(analysis->model, analysis->from_ns, analysis->to_ns, &metrics);
	for (size_t i = 0; i < metrics.count && !error; i++)
		add_reading(collection, &metrics.all[i]);
	metrics_fini(&metrics);
	return error;
}

/* The times of a recording differ from those of every other one. */
static void add_content(struct collection *collection)
{
	const struct analysis *analysis = collection->analysis;
	const struct event_process *process = model_main_process(analysis->model);
	char text[256];

	snprintf(text, sizeof(text),
		 "%.64s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu64,
		 collection->facts->boot_id, analysis->begin_ns, analysis->end_ns,
		 analysis->checks.rows, analysis->ledger.launched, process ? process->pid : 0,
		 analysis->devices_count ? analysis->devices[0].account.busy_ns : 0);
	collection->facts->content = copy_text(collection, text);
}

static void add_ledger(struct collection *collection)
{
	const struct analysis *analysis = collection->analysis;
	struct side_facts *facts = collection->facts;

	facts->expected = ledger_expected(&analysis->ledger);
	facts->matched = analysis->ledger.matched;
	facts->contradictions = analysis->ledger.contradictions;
	facts->is_damaged = analysis_ends_early(analysis) ||
			    !model_is_whole(analysis->model, &analysis->damage);
	facts->is_complete = !ledger_is_incomplete(&analysis->ledger);
	facts->begin_ns = analysis->from_ns;
	if (!model_wall_clock(analysis->model, analysis->from_ns, &facts->started_realtime_ns))
		facts->started_realtime_ns = 0;
}

int facts_collect(const struct analysis *analysis, struct arena *arena,
		  struct side_facts *ret_facts)
{
	struct collection collection = {.analysis = analysis, .arena = arena, .facts = ret_facts};

	*ret_facts = (struct side_facts){
		.texts = arena_alloc(arena, MAX_TEXTS * sizeof(*ret_facts->texts)),
		.readings = arena_alloc(arena, MAX_READINGS * sizeof(*ret_facts->readings))};
	if (!ret_facts->texts || !ret_facts->readings)
		return -ENOMEM;
	add_host(&collection);
	for (size_t i = 0; i < analysis_devices_shown(analysis); i++)
		add_device(&collection, i);
	add_collectors(&collection);
	add_sampling(&collection);
	add_ledger(&collection);
	add_content(&collection);
	return collection.error ? collection.error : add_readings(&collection);
}
