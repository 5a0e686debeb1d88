/* SPDX-License-Identifier: MIT
 *
 * export/rocpd/agents.c - the devices, streams and counters of a rocpd export
 *
 * Runs in:  our own process
 * Gets:     entities of a model
 * Gives:    rows of rocpd_info_agent, …_stream, …_queue, …_pmc
 * Owns:     nothing
 * Fails:    like the SQLite writer
 * Why the process 0: the format has a database for each process, with the devices in each. Here
 *           processes share the devices.
 */
#include "export/rocpd/entities.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyze/join/commands.h"
#include "analyze/model.h"
#include "analyze/text/row_names.h"
#include "base/json.h"
#include "export/rocpd/database.h"

#define HARDWARE_QUEUES (UINT64_C(1) << 32) /* ids of hardware queues follow those of streams */
#define STREAMS         UINT64_MAX          /* instead of a process in the keys of rocpd.queues */

struct agent {
	uint64_t id;
	bool is_cpu;
	size_t index, type_index;
	const char *name, *vendor;
};

static int put_agent(struct rocpd *rocpd, const struct agent *agent, const char *extdata)
{
	struct sqlite_writer *writer = &rocpd->writer;
	int error = rocpd_begin(rocpd, ROCPD_AGENT);

	if (error)
		return error;
	sqlite_writer_u64(writer, agent->id);
	sqlite_writer_u64(writer, rocpd_node(rocpd, 0));
	sqlite_writer_u64(writer, 0);
	sqlite_writer_text(writer, agent->is_cpu ? "CPU" : "GPU");
	sqlite_writer_u64(writer, agent->index);
	sqlite_writer_u64(writer, agent->index);
	sqlite_writer_u64(writer, agent->type_index);
	sqlite_writer_u64(writer, 0);
	sqlite_writer_text(writer, agent->name);
	sqlite_writer_text(writer, "");
	sqlite_writer_text(writer, agent->vendor);
	sqlite_writer_text(writer, agent->name);
	sqlite_writer_text(writer, agent->name);
	sqlite_writer_text(writer, extdata);
	return sqlite_writer_end(writer);
}

static void describe_device(struct rocpd *rocpd, const struct event_device *device)
{
	struct json_writer json;

	string_builder_clear(&rocpd->text);
	json_init_text(&json, &rocpd->text);
	json_object_begin(&json);
	json_pair_text(&json, "key", model_text(rocpd->model, device->key_string, ""));
	if (device->compute_units)
		json_pair_u64(&json, "cu_count", device->compute_units);
	if (device->memory_bytes)
		json_pair_u64(&json, "memory_bytes", device->memory_bytes);
	if (device->local_bytes)
		json_pair_u64(&json, "lds_size_in_kb", device->local_bytes >> 10);
	json_object_end(&json);
}

/* The host's processors come first, as in rocprofv3's files. */
static int put_agents(struct rocpd *rocpd)
{
	const struct event_device *rows = NULL;
	const struct event_host *host = model_entity(rocpd->model, EVENT_HOST, 1);
	size_t count = model_entities(rocpd->model, EVENT_DEVICE, &rows), types[2] = {1, 0};
	const struct agent processors = {
		.id = ROCPD_HOST_AGENT,
		.is_cpu = true,
		.name = host ? model_text(rocpd->model, host->cpu_string, "CPU") : "CPU",
		.vendor = "CPU"};
	int error = put_agent(rocpd, &processors, "{}");

	for (size_t i = 0; i < count && !error; i++) {
		const bool is_cpu = rows[i].type == DEVICE_CPU;
		const struct agent agent = {
			.id = rows[i].id,
			.is_cpu = is_cpu,
			.index = i + 1,
			.type_index = types[!is_cpu]++,
			.name = model_text(rocpd->model, rows[i].name_string, "[unnamed]"),
			.vendor = model_text(rocpd->model, rows[i].vendor_string, "")};

		describe_device(rocpd, &rows[i]);
		error = put_agent(rocpd, &agent, string_builder_text(&rocpd->text));
	}
	return error;
}

/* ---- streams and queues ---- */

static int put_named(struct rocpd *rocpd, enum rocpd_table table, uint64_t id, uint32_t process,
		     const char *name)
{
	struct sqlite_writer *writer = &rocpd->writer;
	int error = rocpd_begin(rocpd, table);

	if (error)
		return error;
	sqlite_writer_u64(writer, id);
	sqlite_writer_u64(writer, rocpd_node(rocpd, process));
	sqlite_writer_u64(writer, rocpd_process(rocpd, process));
	sqlite_writer_text(writer, name);
	if (table == ROCPD_STREAM)
		sqlite_writer_text(writer, "{}");
	return sqlite_writer_end(writer);
}

static int put_streams(struct rocpd *rocpd)
{
	const struct event_queue *rows = NULL;
	size_t count = model_entities(rocpd->model, EVENT_QUEUE, &rows);
	char name[32];
	int error = put_named(rocpd, ROCPD_STREAM, 0, 0, "Default Stream");

	for (size_t i = 0; i < count && !error; i++) {
		snprintf(name, sizeof(name), "Stream %" PRIu32, rows[i].id);
		error = put_named(rocpd, ROCPD_STREAM, rows[i].id, rows[i].process,
				  model_text(rocpd->model, rows[i].name_string, name));
	}
	return error;
}

/* The numbers of hardware queues are those of a device in a process. */
int rocpd_queue(struct rocpd *rocpd, const struct command *command, uint64_t *ret_queue)
{
	const struct event_queue *row = model_entity(rocpd->model, EVENT_QUEUE, command->queue);
	const uint32_t hardware_queue = command->execution->hardware_queue;
	const uint64_t first = hardware_queue ? command->process : STREAMS;
	const uint64_t second = hardware_queue
					? (uint64_t)(row ? row->device : 0) << 32 | hardware_queue
					: command->queue;
	const uint32_t known = pair_map_find(&rocpd->queues, first, second);
	const uint32_t index = known == PAIR_MAP_NONE ? (uint32_t)rocpd->queues.count : known;
	char name[32];
	int error;

	*ret_queue = hardware_queue ? HARDWARE_QUEUES + index : command->queue;
	if (known != PAIR_MAP_NONE)
		return 0;
	snprintf(name, sizeof(name), "Queue %" PRIu32,
		 hardware_queue ? hardware_queue - 1 : command->queue);
	error = pair_map_put(&rocpd->queues, first, second, index);
	return error ? error : put_named(rocpd, ROCPD_QUEUE, *ret_queue, command->process, name);
}

/* ---- counters ---- */

static int put_series(struct rocpd *rocpd, const struct event_series *row)
{
	static const char *const types[] = {
		[SERIES_LEVEL] = "ABS", [SERIES_AMOUNT] = "ACCUM", [SERIES_RATIO] = "RELATIVE"};
	const struct event_device *device = model_entity(rocpd->model, EVENT_DEVICE, row->device);
	const bool is_gpu = device && device->type != DEVICE_CPU;
	struct sqlite_writer *writer = &rocpd->writer;
	int error = rocpd_begin(rocpd, ROCPD_PMC);

	if (error)
		return error;
	string_builder_clear(&rocpd->text);
	row_name_series(rocpd->model, row, &rocpd->text);
	sqlite_writer_u64(writer, row->id);
	sqlite_writer_u64(writer, rocpd_node(rocpd, row->process));
	sqlite_writer_u64(writer, rocpd_process(rocpd, row->process));
	sqlite_writer_u64(writer, device ? device->id : ROCPD_HOST_AGENT);
	sqlite_writer_text(writer, is_gpu ? "GPU" : "CPU");
	sqlite_writer_text(writer, string_builder_text(&rocpd->text));
	sqlite_writer_text(writer, model_text(rocpd->model, row->metric_string, ""));
	sqlite_writer_text(writer, "");
	sqlite_writer_text(writer, model_text(rocpd->model, row->source_string, ""));
	sqlite_writer_text(writer, row->type == SERIES_RATIO
					   ? ""
					   : model_text(rocpd->model, row->unit_string, ""));
	sqlite_writer_text(writer, types[row->type <= SERIES_RATIO ? row->type : SERIES_LEVEL]);
	sqlite_writer_u64(writer, 0);
	sqlite_writer_u64(writer, 0);
	return sqlite_writer_end(writer);
}

int rocpd_agents(struct rocpd *rocpd)
{
	const struct event_series *rows = NULL;
	size_t count = model_entities(rocpd->model, EVENT_SERIES, &rows);
	int error = put_agents(rocpd);

	if (!error)
		error = put_streams(rocpd);
	for (size_t i = 0; i < count && !error; i++)
		error = put_series(rocpd, &rows[i]);
	return error;
}
