/* SPDX-License-Identifier: MIT
 *
 * import/rocm/rocpd_descriptions.c - processes, threads, agents, queues, code and counters of a
 * database of rocprofv3
 *
 * Runs in:  our own process
 * Gets:     the tables rocpd_info_…
 * Gives:    processes, threads and tables of names
 * Owns:     nothing
 * Fails:    -EBADMSG with the table and row, errors of the target, -ENOMEM
 * Why one column is never read: `environment` of a process holds the user's environment, with
 *           passwords and tokens
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/string.h"
#include "event/event.h"
#include "import/common/rocm.h"
#include "import/rocm/rocpd_tables.h"
#include "import/rocm/v3_json_fields.h"
#include "import/target.h"

/* ---- the host ---- */

static const char *const node_columns[] = {"id", "machine_id"};

/* The times of all processes of a host count from its boot. */
static int on_node(void *context, const struct sqlite_cursor *row)
{
	struct rocpd_import *rocpd = context;

	return rocm_process_set_clock(&rocpd->process, sqlite_cursor_text(row, 1));
}

/* ---- processes and threads ---- */

static const char *const process_columns[] = {"id",   "pid",     "nid",   "init",
					      "fini", "command", "start", "end"};
enum { PROCESS_ID, PROCESS_PID, PROCESS_NODE, PROCESS_INIT, PROCESS_FINI, PROCESS_COMMAND };

static int on_process(void *context, const struct sqlite_cursor *row)
{
	const char *command = sqlite_cursor_text(row, PROCESS_COMMAND);
	struct rocpd_import *rocpd = context;
	struct event_process process = {
		.begin_ns = (uint64_t)sqlite_cursor_number(row, PROCESS_INIT),
		.end_ns = (uint64_t)sqlite_cursor_number(row, PROCESS_FINI)};
	char key[160], name[64];
	uint32_t id;
	int64_t pid;
	int error = sqlite_cursor_take_number(row, PROCESS_PID, "a process", 0, UINT32_MAX, &pid);

	if (error)
		return error;
	process.pid = (uint32_t)pid;
	error = import_target_text(rocpd->target, command, &process.command_string);
	/* a pid is unique on one host (node) and in one recording only */
	snprintf(key, sizeof(key), "%s/%" PRId64 "/%" PRId64, rocpd->uuid,
		 sqlite_cursor_number(row, PROCESS_NODE), pid);
	if (!error)
		error = import_target_describe_process(
			rocpd->target, key, rocm_names_program(command, name), &process, &id);
	return error ? error
		     : hash_map_put(&rocpd->processes,
				    (uint64_t)sqlite_cursor_number(row, PROCESS_ID), id);
}

int rocpd_set_process(struct rocpd_import *rocpd, int64_t id)
{
	uint32_t known = (uint32_t)hash_map_get(&rocpd->processes, (uint64_t)id, 0);
	char key[64];
	int error = 0;

	if (!known) {
		snprintf(key, sizeof(key), "%s %" PRId64, rocpd->uuid, id);
		error = import_target_process(rocpd->target, key, 0, "[imported]", &known);
		if (!error)
			error = hash_map_put(&rocpd->processes, (uint64_t)id, known);
	}
	rocpd->process.id = rocpd->process.kernels.process = known;
	return error;
}

static const char *const thread_columns[] = {"id", "pid", "tid", "name"};
enum { THREAD_ID, THREAD_PROCESS, THREAD_TID, THREAD_NAME };

static int on_thread(void *context, const struct sqlite_cursor *row)
{
	const char *name = sqlite_cursor_text(row, THREAD_NAME);
	struct rocpd_import *rocpd = context;
	uint32_t thread;
	int64_t tid;
	int error = sqlite_cursor_take_number(row, THREAD_TID, "a thread", 0, UINT32_MAX, &tid);

	if (!error)
		error = rocpd_set_process(rocpd, sqlite_cursor_number(row, THREAD_PROCESS));
	if (!error && *name)
		error = import_target_thread(rocpd->target, rocpd->process.id, (uint32_t)tid, name,
					     &thread);
	return error ? error
		     : hash_map_put(&rocpd->threads, (uint64_t)sqlite_cursor_number(row, THREAD_ID),
				    (uint64_t)tid);
}

uint32_t rocpd_tid(const struct rocpd_import *rocpd, int64_t thread)
{
	return (uint32_t)hash_map_get(&rocpd->threads, (uint64_t)thread, (uint64_t)thread);
}

/* ---- agents ---- */

static const char *const agent_columns[] = {"id",           "type",        "absolute_index", "name",
					    "product_name", "vendor_name", "extdata"};
enum { AGENT_ID, AGENT_TYPE, AGENT_INDEX, AGENT_NAME, AGENT_PRODUCT, AGENT_VENDOR, AGENT_MORE };

static int on_agent(void *context, const struct sqlite_cursor *row)
{
	const char *product = sqlite_cursor_text(row, AGENT_PRODUCT);
	struct rocpd_import *rocpd = context;
	struct v3_agent agent = {0};
	/* members of invalid JSON stay unknown */
	int error =
		json_fields_parse(sqlite_cursor_text(row, AGENT_MORE), &v3_agent_fields, &agent);
	const struct rocm_agent_facts facts = {
		.name = *product ? product : sqlite_cursor_text(row, AGENT_NAME),
		.vendor = sqlite_cursor_text(row, AGENT_VENDOR),
		.is_gpu = strcmp(sqlite_cursor_text(row, AGENT_TYPE), "GPU") == 0,
		.index = (uint64_t)sqlite_cursor_number(row, AGENT_INDEX),
		.domain = agent.domain.value,
		.location = agent.location.value,
		.compute_units = agent.compute_units.value,
		.memory_bytes = agent.memory_bytes,
		.local_bytes = agent.local_kib.value << 10};

	if (error != -ENOMEM)
		error = rocm_agents_add(&rocpd->process.agents,
					(uint64_t)sqlite_cursor_number(row, AGENT_ID), &facts);
	json_fields_fini(&v3_agent_fields, &agent);
	return error;
}

/* ---- queues ---- */

static const char *const name_columns[] = {"id", "name"};

static int add_queue_name(struct rocpd_import *rocpd, struct hash_map *names,
			  const struct sqlite_cursor *row)
{
	return rocm_process_name_queue(&rocpd->process, names,
				       (uint64_t)sqlite_cursor_number(row, 0),
				       sqlite_cursor_text(row, 1));
}

static int on_queue(void *context, const struct sqlite_cursor *row)
{
	struct rocpd_import *rocpd = context;

	return add_queue_name(rocpd, &rocpd->process.hardware_queues, row);
}

static int on_stream(void *context, const struct sqlite_cursor *row)
{
	struct rocpd_import *rocpd = context;

	return add_queue_name(rocpd, &rocpd->process.streams, row);
}

/* ---- code ---- */

static const char *const object_columns[] = {"id", "uri", "load_base", "load_size"};
enum { OBJECT_ID, OBJECT_URI, OBJECT_BASE, OBJECT_SIZE };

static int on_object(void *context, const struct sqlite_cursor *row)
{
	struct rocpd_import *rocpd = context;
	const struct rocm_code_object object = {
		.address = (uint64_t)sqlite_cursor_number(row, OBJECT_BASE),
		.size_bytes = (uint64_t)sqlite_cursor_number(row, OBJECT_SIZE)};

	return rocm_kernels_add_object(&rocpd->process.kernels,
				       (uint64_t)sqlite_cursor_number(row, OBJECT_ID),
				       sqlite_cursor_text(row, OBJECT_URI), &object);
}

static const char *const symbol_columns[] = {
	"id",           "code_object_id",  "kernel_name",      "group_segment_size",
	"display_name", "arch_vgpr_count", "accum_vgpr_count", "private_segment_size"};
enum {
	SYMBOL_ID,
	SYMBOL_OBJECT,
	SYMBOL_NAME,
	SYMBOL_LOCAL,
	SYMBOL_DISPLAY,
	SYMBOL_VECTOR,
	SYMBOL_ACCUMULATION,
	SYMBOL_PRIVATE
};

static uint64_t bytes_at(const struct sqlite_cursor *row, size_t column)
{
	const int64_t number = sqlite_cursor_number(row, column);

	return sqlite_cursor_has(row, column) && number >= 0 ? (uint64_t)number : CODE_UNKNOWN;
}

static int on_symbol(void *context, const struct sqlite_cursor *row)
{
	const char *name = sqlite_cursor_text(row, SYMBOL_NAME);
	struct rocpd_import *rocpd = context;
	uint64_t registers = (uint64_t)sqlite_cursor_number(row, SYMBOL_VECTOR) +
			     (uint64_t)sqlite_cursor_number(row, SYMBOL_ACCUMULATION);
	const struct rocm_kernel kernel = {
		.object = (uint64_t)sqlite_cursor_number(row, SYMBOL_OBJECT),
		.local_bytes = bytes_at(row, SYMBOL_LOCAL),
		.private_bytes = bytes_at(row, SYMBOL_PRIVATE),
		.registers = registers > UINT16_MAX ? 0 : (uint32_t)registers};

	return rocm_kernels_add(&rocpd->process.kernels,
				(uint64_t)sqlite_cursor_number(row, SYMBOL_ID),
				*name ? name : sqlite_cursor_text(row, SYMBOL_DISPLAY), &kernel);
}

/* ---- counters ---- */

static const char *const counter_columns[] = {"id", "name", "symbol", "agent_id"};
enum { COUNTER_ID, COUNTER_NAME, COUNTER_SYMBOL, COUNTER_AGENT };

static int on_counter(void *context, const struct sqlite_cursor *row)
{
	const char *name = sqlite_cursor_text(row, COUNTER_NAME);
	const uint64_t id = (uint64_t)sqlite_cursor_number(row, COUNTER_ID);
	struct rocpd_import *rocpd = context;
	uint32_t text;
	int error = 0;

	name = *name ? name : sqlite_cursor_text(row, COUNTER_SYMBOL);
	text = string_table_add(&rocpd->texts, name, strlen(name));
	if (!text)
		return *name ? -ENOMEM : 0;
	if (sqlite_cursor_has(row, COUNTER_AGENT))
		error = hash_map_put(&rocpd->agents, id,
				     (uint64_t)sqlite_cursor_number(row, COUNTER_AGENT));
	return error ? error : hash_map_put(&rocpd->counters, id, text);
}

int rocpd_read_descriptions(struct rocpd_import *rocpd)
{
	static const struct {
		struct rocpd_query query;
		int (*on_row)(void *context, const struct sqlite_cursor *row);
	} tables[] = {
		{{"rocpd_info_node", SQLITE_COLUMNS(node_columns, 1), NULL, NULL}, on_node},
		{{"rocpd_info_process", SQLITE_COLUMNS(process_columns, 2), NULL, NULL},
		 on_process},
		{{"rocpd_info_thread", SQLITE_COLUMNS(thread_columns, 3), NULL, NULL}, on_thread},
		{{"rocpd_info_agent", SQLITE_COLUMNS(agent_columns, 2), NULL, NULL}, on_agent},
		{{"rocpd_info_queue", SQLITE_COLUMNS(name_columns, 2), NULL, NULL}, on_queue},
		{{"rocpd_info_stream", SQLITE_COLUMNS(name_columns, 2), NULL, NULL}, on_stream},
		{{"rocpd_info_code_object", SQLITE_COLUMNS(object_columns, 1), NULL, NULL},
		 on_object},
		{{"rocpd_info_kernel_symbol", SQLITE_COLUMNS(symbol_columns, 3), NULL, NULL},
		 on_symbol},
		{{"rocpd_info_pmc", SQLITE_COLUMNS(counter_columns, 2), NULL, NULL}, on_counter},
	};
	int error = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !error; i++)
		error = rocpd_each_row(rocpd, &tables[i].query, tables[i].on_row);
	return error;
}
