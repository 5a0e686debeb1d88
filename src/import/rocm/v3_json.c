/* SPDX-License-Identifier: MIT
 *
 * import/rocm/v3_json.c - import the JSON of rocprofv3
 *
 * Runs in:  our own process
 * Gets:     JSON: a list of processes with descriptions and records
 * Gives:    calls, launches, executions, ranges, counter values
 * Owns:     the current record, the descriptions of the current process
 * Fails:    -EBADMSG with line and byte
 * Why one pass: rocprofv3 writes the names of kernels, agents and operations before the records. A
 *           file that another program sorted by keys is refused
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/string.h"
#include "import/common/probe.h"
#include "import/faults.h"
#include "import/formats.h"
#include "import/common/rocm.h"
#include "import/rocm/process.h"
#include "import/rocm/v3_json_fields.h"
#include "import/rocm/v3_strings.h"
#include "import/source.h"
#include "import/target.h"

struct v3_json {
	struct import_target *target;
	struct json_reader *reader;
	struct rocm_join join;
	struct rocm_process process;
	struct v3_strings strings;
	struct v3_record record;
	bool has_symbols;
	uint64_t processes, usable, left_out;
	struct import_faults faults;
};

/* ---- descriptions ---- */

static int describe_process(struct v3_json *json, const struct v3_metadata *metadata)
{
	const char *command = string_builder_text(&metadata->command);
	struct event_process row = {.pid = (uint32_t)metadata->pid.value,
				    .begin_ns = metadata->init_time.value,
				    .end_ns = metadata->fini_time.value};
	char key[32], name[64];
	int error = import_target_text(json->target, command, &row.command_string);

	snprintf(key, sizeof(key), "%" PRIu64, metadata->pid.value);
	if (!error)
		error = import_target_describe_process(json->target, key,
						       rocm_names_program(command, name), &row,
						       &json->process.id);
	json->process.kernels.process = json->process.id;
	return error;
}

static int read_metadata(struct v3_json *json)
{
	struct v3_metadata metadata = {0};
	int error = json_fields_read(json->reader, &v3_metadata_fields, &metadata);

	if (!error)
		error = rocm_process_set_clock(&json->process,
					       string_builder_text(&metadata.machine));
	if (!error)
		error = describe_process(json, &metadata);
	json_fields_fini(&v3_metadata_fields, &metadata);
	string_builder_fini(&metadata.command);
	return error;
}

/* A description that is being read. */
struct description {
	struct v3_json *json;
	struct v3_agent agent;
	struct v3_symbol symbol;
	struct v3_object object;
};

static int on_agent(void *context)
{
	struct description *description = context;
	struct v3_agent *agent = &description->agent;
	const char *product = string_builder_text(&agent->product_name);
	const struct rocm_agent_facts facts = {.name = *product ? product
								: string_builder_text(&agent->name),
					       .vendor = string_builder_text(&agent->vendor_name),
					       .is_gpu = agent->type.value == 2,
					       .index = agent->node.value,
					       .domain = agent->domain.value,
					       .location = agent->location.value,
					       .compute_units = agent->compute_units.value,
					       .memory_bytes = agent->memory_bytes,
					       .local_bytes = agent->local_kib.value << 10};
	int error =
		rocm_agents_add(&description->json->process.agents, agent->handle.value, &facts);

	agent->memory_bytes = 0;
	return error;
}

static int read_agents(struct v3_json *json)
{
	struct description description = {.json = json};
	int error = json_fields_each(json->reader, &v3_agent_fields, &description.agent, "an agent",
				     on_agent, &description);

	json_fields_fini(&v3_agent_fields, &description.agent);
	return error;
}

static int on_symbol(void *context)
{
	const struct description *description = context;
	const struct v3_symbol *symbol = &description->symbol;
	uint64_t registers = symbol->vector.value + symbol->accumulation.value;
	const struct rocm_kernel kernel = {
		.object = symbol->object.value,
		.local_bytes = symbol->local_bytes.value,
		.private_bytes = symbol->private_bytes.value,
		.registers = registers > UINT16_MAX ? 0 : (uint32_t)registers};

	return rocm_kernels_add(&description->json->process.kernels, symbol->kernel.value,
				string_builder_text(&symbol->name), &kernel);
}

static int read_symbols(struct v3_json *json)
{
	struct description description = {.json = json};
	int error = json_fields_each(json->reader, &v3_symbol_fields, &description.symbol,
				     "a kernel symbol", on_symbol, &description);

	json->has_symbols = true;
	json_fields_fini(&v3_symbol_fields, &description.symbol);
	return error;
}

static int on_object(void *context)
{
	const struct description *description = context;
	const struct v3_object *object = &description->object;

	return rocm_kernels_add_object(
		&description->json->process.kernels, object->object.value,
		string_builder_text(&object->uri),
		&(struct rocm_code_object){.address = object->address.value,
					   .size_bytes = object->size_bytes.value});
}

static int read_objects(struct v3_json *json)
{
	struct description description = {.json = json};
	int error = json_fields_each(json->reader, &v3_object_fields, &description.object,
				     "a code object", on_object, &description);

	json_fields_fini(&v3_object_fields, &description.object);
	return error;
}

static int read_strings(struct v3_json *json)
{
	return v3_strings_read(&json->strings, json->reader);
}

static int read_counters(struct v3_json *json)
{
	return v3_strings_read_counters(&json->strings, json->reader);
}

/* ---- records ---- */

static void set_sizes(uint64_t sizes[3], const struct json_whole from[3])
{
	for (size_t i = 0; i < 3; i++)
		sizes[i] = from[i].value;
}

static void set_queue(struct rocm_command *command, const struct v3_record *record)
{
	command->stream = record->stream.value;
	command->hardware_queue = record->queue.value;
	command->has_hardware_queue = record->queue.is_known;
}

static int make_kernel(struct v3_json *json, struct rocm_command *command)
{
	const struct v3_record *record = &json->record;
	int error;

	*command = (struct rocm_command){.begin = record->start.value,
					 .end = record->end.value,
					 .link = record->correlation.value,
					 .part = record->dispatch.value,
					 .tid = (uint32_t)record->thread.value,
					 .command = COMMAND_KERNEL};
	set_sizes(command->global, record->grid);
	set_sizes(command->local, record->workgroup);
	set_queue(command, record);
	error = rocm_agents_device(&json->process.agents, record->agent.value, &command->device);
	return error ? error
		     : rocm_kernels_find(&json->process.kernels, record->kernel.value,
					 command->device, &command->kernel);
}

static int on_dispatch(struct v3_json *json)
{
	struct rocm_command command;
	int error = make_kernel(json, &command);

	return error ? error : rocm_process_add_command(&json->process, ROCM_COMMAND, &command);
}

static int add_values(struct v3_json *json, const struct rocm_command *command)
{
	const struct v3_record *record = &json->record;
	int error = 0;

	for (size_t i = 0; i < record->values_count && !error; i++) {
		const char *name = v3_strings_counter(&json->strings, record->values[i].counter);
		char number[48];

		snprintf(number, sizeof(number), "counter %" PRIu64, record->values[i].counter);
		error = rocm_process_add_value(&json->process, command, *name ? name : number,
					       record->values[i].value);
	}
	return error;
}

static int on_counted(struct v3_json *json)
{
	struct rocm_command command;
	int error = make_kernel(json, &command);

	if (!error)
		error = rocm_process_add_command(&json->process, ROCM_REPEATED, &command);
	return error ? error : add_values(json, &command);
}

static const char *operation_of(const struct v3_json *json)
{
	return v3_strings_operation(&json->strings, json->record.kind.value,
				    json->record.operation.value);
}

/* A copy belongs to its GPU; one between GPUs to that which receives. */
static int on_copy(struct v3_json *json)
{
	const struct v3_record *record = &json->record;
	struct rocm_command command = {.begin = record->start.value,
				       .end = record->end.value,
				       .link = record->correlation.value,
				       .part = record->start.value,
				       .tid = (uint32_t)record->thread.value,
				       .command = rocm_names_command(operation_of(json)),
				       .bytes = record->bytes.value};
	int error = rocm_agents_device(&json->process.agents, record->destination_agent.value,
				       &command.destination_device);

	if (!error)
		error = rocm_agents_device(&json->process.agents, record->source_agent.value,
					   &command.source_device);
	command.device =
		command.destination_device ? command.destination_device : command.source_device;
	set_queue(&command, record);
	return error ? error : rocm_process_add_command(&json->process, ROCM_COMMAND, &command);
}

static int add_call(struct v3_json *json)
{
	const struct v3_record *record = &json->record;
	const char *function = operation_of(json);
	char number[64];

	snprintf(number, sizeof(number), "operation %" PRIu64, record->operation.value);
	return rocm_process_add_call(&json->process, (uint32_t)record->thread.value,
				     *function ? function : number, record->correlation.value,
				     record->start.value, record->end.value);
}

static int on_marker(struct v3_json *json)
{
	const struct v3_record *record = &json->record;
	const char *message = v3_strings_marker(&json->strings, record->correlation.value);

	if (!*message) /* roctxGetThreadId, roctxProfilerPause */
		return add_call(json);
	return rocm_process_write_range(&json->process, (uint32_t)record->thread.value, "roctx",
					operation_of(json), message, record->start.value,
					record->end.value);
}

static int on_allocation(struct v3_json *json)
{
	const struct v3_record *record = &json->record;
	const char *text = string_builder_text(&record->address);
	struct rocm_allocation allocation = {.address = *text ? strtoull(text, NULL, 0)
							      : record->address_handle.value,
					     .bytes = record->allocation_bytes.value};
	int error = rocm_process_check_times(record->start.value, record->end.value);

	/* the record of a free has no agent */
	if (!error && record->allocation_bytes.value)
		error = rocm_agents_device(&json->process.agents, record->agent.value,
					   &allocation.device);
	return error ? error
		     : rocm_process_add_allocation(&json->process, operation_of(json),
						   record->end.value, &allocation);
}

/* A table of records. on_record NULL: it is left out and counted. */
struct record_list {
	const char *key;
	int (*on_record)(struct v3_json *json);
};

struct record_context {
	struct v3_json *json;
	const struct record_list *list;
};

static int on_record(void *context)
{
	const struct record_context *reading = context;
	struct v3_json *json = reading->json;
	int error;

	if (!reading->list->on_record) {
		json->left_out++;
		return 0;
	}
	if (!json->record.start.is_known || !json->record.end.is_known)
		error = error_set(-EBADMSG, "expected a record with two times, found none");
	else
		error = reading->list->on_record(json);
	json->record.values_count = 0;
	if (error == -EBADMSG)
		error_note(error, "line %" PRIu64 ", byte %" PRIu64, json_reader_line(json->reader),
			   json_reader_byte(json->reader));
	json->usable += !error;
	return error ? import_faults_add(&json->faults, error) : 0;
}

/* Without metadata, the key of a process is its number in the file. */
static int find_process(struct v3_json *json)
{
	char key[32];
	int error;

	if (json->process.id)
		return 0;
	snprintf(key, sizeof(key), "number %" PRIu64, json->processes);
	error = import_target_process(json->target, key, 0, "[imported]", &json->process.id);
	json->process.kernels.process = json->process.id;
	return error;
}

static int read_list(struct v3_json *json, const struct record_list *list)
{
	struct record_context context = {json, list};
	int error = find_process(json);

	if (error)
		return error;
	if (!json->has_symbols || !json->strings.is_read)
		return json_reader_fail(
			json->reader,
			"'strings' and 'kernel_symbols' before the records, as rocprofv3 writes "
			"them",
			list->key);
	return json_fields_each(json->reader, &v3_record_fields, &json->record, "a record",
				on_record, &context);
}

/* Reads the lists of an object after its '{'. */
static int read_lists(struct v3_json *json, const struct record_list *lists, size_t count)
{
	int token, error = 0;

	while (!error && (token = json_reader_next(json->reader)) == JSON_KEY) {
		const char *key = json_reader_text(json->reader, NULL);
		size_t i = 0;

		while (i < count && strcmp(lists[i].key, key) != 0)
			i++;
		token = json_reader_next(json->reader);
		error = i < count && token == JSON_ARRAY_BEGIN
				? read_list(json, &lists[i])
				: json_reader_skip(json->reader, token);
	}
	return error ? error : (token < 0 ? token : 0);
}

static int read_buffer_records(struct v3_json *json)
{
	static const struct record_list lists[] = {
		{"kernel_dispatch", on_dispatch},
		{"memory_copy", on_copy},
		{"hip_api", add_call},
		{"hsa_api", add_call},
		{"rccl_api", add_call},
		{"rocdecode_api", add_call},
		{"rocjpeg_api", add_call},
		{"marker_api", on_marker},
		{"memory_allocation", on_allocation},
		{"scratch_memory", NULL},
		{"pc_sample_host_trap", NULL},
		{"pc_sample_stochastic", NULL},
	};

	return read_lists(json, lists, ARRAY_COUNT(lists));
}

static int read_callback_records(struct v3_json *json)
{
	static const struct record_list lists[] = {{"counter_collection", on_counted}};

	return read_lists(json, lists, ARRAY_COUNT(lists));
}

/* ---- the document ---- */

static int read_member(struct v3_json *json)
{
	static const struct {
		const char *key;
		int begin; /* enum json_token */
		int (*read)(struct v3_json *json);
	} members[] = {
		{"metadata", JSON_OBJECT_BEGIN, read_metadata},
		{"agents", JSON_ARRAY_BEGIN, read_agents},
		{"counters", JSON_ARRAY_BEGIN, read_counters},
		{"strings", JSON_OBJECT_BEGIN, read_strings},
		{"code_objects", JSON_ARRAY_BEGIN, read_objects},
		{"kernel_symbols", JSON_ARRAY_BEGIN, read_symbols},
		{"callback_records", JSON_OBJECT_BEGIN, read_callback_records},
		{"buffer_records", JSON_OBJECT_BEGIN, read_buffer_records},
	};
	const char *key = json_reader_text(json->reader, NULL);
	size_t i = 0;
	int token;

	while (i < ARRAY_COUNT(members) && strcmp(members[i].key, key) != 0)
		i++;
	token = json_reader_next(json->reader);
	if (i == ARRAY_COUNT(members))
		return json_reader_skip(json->reader, token);
	if (token != members[i].begin)
		return json_fields_wrong(json->reader, json_token_name(members[i].begin), token);
	return members[i].read(json);
}

static void end_process(struct v3_json *json)
{
	rocm_process_put_notes(&json->process);
	rocm_process_fini(&json->process);
	v3_strings_fini(&json->strings);
	json->strings = (struct v3_strings){0};
	json->has_symbols = false;
}

/* Reads the members of a process after its '{'. */
static int read_process(struct v3_json *json)
{
	int token, error = 0;

	json->process = (struct rocm_process){.target = json->target,
					      .join = &json->join,
					      .agents.target = json->target,
					      .kernels.target = json->target};
	json->processes++;
	while (!error && (token = json_reader_next(json->reader)) == JSON_KEY)
		error = read_member(json);
	end_process(json);
	return error ? error : (token < 0 ? token : 0);
}

/* Reads the value of "rocprofiler-sdk-tool": a list of processes. */
static int read_processes(struct v3_json *json)
{
	int error = json_reader_expect(json->reader, JSON_ARRAY_BEGIN), token;

	while (!error && (token = json_reader_next(json->reader)) == JSON_OBJECT_BEGIN)
		error = read_process(json);
	if (!error && token != JSON_ARRAY_END)
		error = json_fields_wrong(json->reader, "a process, which is an object", token);
	return error;
}

static int read_document(struct v3_json *json)
{
	int error = json_reader_expect(json->reader, JSON_OBJECT_BEGIN), token;

	while (!error && (token = json_reader_next(json->reader)) == JSON_KEY) {
		if (strcmp(json_reader_text(json->reader, NULL), "rocprofiler-sdk-tool") == 0)
			error = read_processes(json);
		else
			error = json_reader_skip(json->reader, json_reader_next(json->reader));
	}
	if (!error)
		error = token < 0 ? token : json_reader_expect(json->reader, JSON_END);
	if (!error && !json->processes)
		error = error_set(
			-EBADMSG,
			"expected the key 'rocprofiler-sdk-tool' with a process, found none");
	return error;
}

static int read_v3_json(struct import_source *source, struct import_target *target)
{
	struct v3_json json = {.target = target, .faults = {target, "record", "records"}};
	int error = rocm_join_init(&json.join, target);

	if (!error)
		error = json_reader_new(import_source_read, source, &json.reader);
	if (!error)
		error = read_document(&json);
	if (!error)
		error = rocm_join_write(&json.join);
	if (!error)
		error = import_faults_end(&json.faults, json.usable, "record");
	if (!error)
		import_target_note_count(target, json.left_out, "record", "records",
					 "left out: scratch memory or program counters");
	json_fields_fini(&v3_record_fields, &json.record);
	free(json.record.values);
	json_reader_free(json.reader);
	rocm_join_fini(&json.join);
	return error;
}

static bool recognize_v3_json(const struct import_probe *probe)
{
	return import_probe_is_json(probe) &&
	       import_probe_contains(probe, "\"rocprofiler-sdk-tool\"");
}

const struct importer import_rocprofv3_json = {
	.name = "rocprofv3-json",
	.help = "JSON of rocprofv3: kernels, copies, HIP and HSA calls, roctx ranges, counters",
	.read = read_v3_json,
	.recognize = recognize_v3_json,
};
