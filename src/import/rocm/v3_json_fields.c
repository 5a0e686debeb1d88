/* SPDX-License-Identifier: MIT
 *
 * import/rocm/v3_json_fields.c - the objects of rocprofv3's JSON
 *
 * Runs in:  our own process
 * Gets:     tokens of a JSON reader
 * Gives:    structs
 * Owns:     nothing
 * Fails:    errors of the reader, -ENOMEM, -EBADMSG for too many counters
 * Why one struct for all records: the records of calls, copies and kernels share half of their
 *           members, and one is read at a time
 */
#include "import/rocm/v3_json_fields.h"

#include <errno.h>

#include "base/array.h"
#include "base/json_reader.h"

enum { MAX_VALUES = 1024 };

#define FIELDS(name, rows) const struct json_fields name##_fields = {rows, ARRAY_COUNT(rows)}
#define HANDLE(name, structure, member)                                     \
	static const struct json_field name##_rows[] = {                    \
		JSON_FIELD(JSON_FIELD_WHOLE, "handle", structure, member)}; \
	static FIELDS(name, name##_rows)
#define RECORD(key, member) JSON_FIELD(JSON_FIELD_WHOLE, key, v3_record, member)
#define SIZES(name, member)                                                              \
	static const struct json_field name##_rows[] = {                                 \
		RECORD("x", member[0]), RECORD("y", member[1]), RECORD("z", member[2])}; \
	static FIELDS(name, name##_rows)

/* ---- records ---- */

HANDLE(agent_handle, v3_record, agent);
HANDLE(queue_handle, v3_record, queue);
HANDLE(stream_handle, v3_record, stream);
HANDLE(source_handle, v3_record, source_agent);
HANDLE(destination_handle, v3_record, destination_agent);
static const struct json_field address_handle_rows[] = {RECORD("handle", address_handle),
							RECORD("value", address_handle)};
static FIELDS(address_handle, address_handle_rows);
SIZES(workgroup, workgroup);
SIZES(grid, grid);

static const struct json_field correlation_rows[] = {RECORD("internal", correlation)};
static FIELDS(correlation, correlation_rows);

static const struct json_field dispatch_rows[] = {
	RECORD("kernel_id", kernel),
	RECORD("dispatch_id", dispatch),
	JSON_INNER("agent_id", agent_handle_fields),
	JSON_INNER("queue_id", queue_handle_fields),
	JSON_INNER("workgroup_size", workgroup_fields),
	JSON_INNER("grid_size", grid_fields),
};
static FIELDS(dispatch, dispatch_rows);

static const struct json_field dispatch_data_rows[] = {
	RECORD("start_timestamp", start),
	RECORD("end_timestamp", end),
	JSON_INNER("correlation_id", correlation_fields),
	JSON_INNER("dispatch_info", dispatch_fields),
	JSON_INNER("stream_id", stream_handle_fields),
};
static FIELDS(dispatch_data, dispatch_data_rows);

/* One value of one part of the GPU. */
struct value_row {
	struct json_whole counter;
	double value;
	struct json_reader *reader;
	struct v3_record *record;
};

HANDLE(value_handle, value_row, counter);
static const struct json_field value_rows[] = {
	JSON_INNER("counter_id", value_handle_fields),
	JSON_FIELD(JSON_FIELD_DOUBLE, "value", value_row, value),
};
static FIELDS(value, value_rows);

static int add_value(void *context)
{
	const struct value_row *row = context;
	struct v3_record *record = row->record;

	if (!row->counter.is_known)
		return 0;
	for (size_t i = 0; i < record->values_count; i++)
		if (record->values[i].counter == row->counter.value) {
			record->values[i].value += row->value;
			return 0;
		}
	if (record->values_count == MAX_VALUES)
		return json_reader_fail(row->reader, "at most 1024 counters of a kernel", "more");
	return array_append(record->values, record->values_capacity, record->values_count,
			    (struct v3_value){row->counter.value, row->value});
}

static int read_values(struct json_reader *reader, void *values)
{
	struct value_row row = {.reader = reader, .record = values};

	return json_fields_each(reader, &value_fields, &row, "a counter value", add_value, &row);
}

static const struct json_field record_rows[] = {
	RECORD("kind", kind),
	RECORD("operation", operation),
	RECORD("thread_id", thread),
	RECORD("start_timestamp", start),
	RECORD("end_timestamp", end),
	RECORD("bytes", bytes),
	RECORD("allocation_size", allocation_bytes),
	JSON_FIELD(JSON_FIELD_TEXT, "address", v3_record, address),
	JSON_INNER("address", address_handle_fields),
	JSON_INNER("correlation_id", correlation_fields),
	JSON_INNER("dispatch_info", dispatch_fields),
	JSON_INNER("dispatch_data", dispatch_data_fields),
	JSON_INNER("stream_id", stream_handle_fields),
	JSON_INNER("agent_id", agent_handle_fields),
	JSON_INNER("src_agent_id", source_handle_fields),
	JSON_INNER("dst_agent_id", destination_handle_fields),
	JSON_LIST("records", read_values),
};
FIELDS(v3_record, record_rows);

/* ---- descriptions ---- */

static int read_command(struct json_reader *reader, void *values)
{
	struct v3_metadata *metadata = values;
	int token;

	while ((token = json_reader_next(reader)) == JSON_STRING) {
		if (metadata->command.length)
			string_builder_append_char(&metadata->command, ' ');
		string_builder_append(&metadata->command, json_reader_text(reader, NULL));
	}
	if (token != JSON_ARRAY_END)
		return json_fields_wrong(reader, "a list of arguments, which are texts", token);
	return metadata->command.error;
}

static const struct json_field node_rows[] = {
	JSON_FIELD(JSON_FIELD_TEXT, "machine_id", v3_metadata, machine),
};
static FIELDS(node, node_rows);

static const struct json_field metadata_rows[] = {
	JSON_INNER("node", node_fields),
	JSON_FIELD(JSON_FIELD_WHOLE, "pid", v3_metadata, pid),
	JSON_FIELD(JSON_FIELD_WHOLE, "init_time", v3_metadata, init_time),
	JSON_FIELD(JSON_FIELD_WHOLE, "fini_time", v3_metadata, fini_time),
	JSON_LIST("command", read_command),
};
FIELDS(v3_metadata, metadata_rows);

struct memory_bank {
	struct json_whole size_bytes;
	struct v3_agent *agent;
};
static const struct json_field bank_rows[] = {
	JSON_FIELD(JSON_FIELD_WHOLE, "size_in_bytes", memory_bank, size_bytes),
};
static FIELDS(bank, bank_rows);

static int add_bank(void *context)
{
	const struct memory_bank *bank = context;

	bank->agent->memory_bytes += bank->size_bytes.value;
	return 0;
}

static int read_banks(struct json_reader *reader, void *values)
{
	struct memory_bank bank = {.agent = values};

	return json_fields_each(reader, &bank_fields, &bank, "a memory bank", add_bank, &bank);
}

#define AGENT(key, member) JSON_FIELD(JSON_FIELD_WHOLE, key, v3_agent, member)
HANDLE(handle, v3_agent, handle);
static const struct json_field agent_rows[] = {
	JSON_INNER("id", handle_fields),
	AGENT("type", type),
	AGENT("node_id", node),
	AGENT("logical_node_id", logical_node),
	AGENT("domain", domain),
	AGENT("location_id", location),
	AGENT("cu_count", compute_units),
	AGENT("lds_size_in_kb", local_kib),
	JSON_FIELD(JSON_FIELD_TEXT, "name", v3_agent, name),
	JSON_FIELD(JSON_FIELD_TEXT, "product_name", v3_agent, product_name),
	JSON_FIELD(JSON_FIELD_TEXT, "vendor_name", v3_agent, vendor_name),
	JSON_LIST("mem_banks", read_banks),
};
FIELDS(v3_agent, agent_rows);

#define SYMBOL(key, member) JSON_FIELD(JSON_FIELD_WHOLE, key, v3_symbol, member)
static const struct json_field symbol_rows[] = {
	SYMBOL("kernel_id", kernel),
	SYMBOL("code_object_id", object),
	SYMBOL("group_segment_size", local_bytes),
	SYMBOL("private_segment_size", private_bytes),
	SYMBOL("arch_vgpr_count", vector),
	SYMBOL("accum_vgpr_count", accumulation),
	JSON_FIELD(JSON_FIELD_TEXT, "kernel_name", v3_symbol, name),
};
FIELDS(v3_symbol, symbol_rows);

static const struct json_field object_rows[] = {
	JSON_FIELD(JSON_FIELD_WHOLE, "code_object_id", v3_object, object),
	JSON_FIELD(JSON_FIELD_WHOLE, "load_base", v3_object, address),
	JSON_FIELD(JSON_FIELD_WHOLE, "load_size", v3_object, size_bytes),
	JSON_FIELD(JSON_FIELD_TEXT, "uri", v3_object, uri),
};
FIELDS(v3_object, object_rows);

HANDLE(counter_handle, v3_text, key);
static const struct json_field counter_rows[] = {
	JSON_INNER("id", counter_handle_fields),
	JSON_FIELD(JSON_FIELD_TEXT, "name", v3_text, value),
};
FIELDS(v3_counter, counter_rows);

static const struct json_field text_rows[] = {
	JSON_FIELD(JSON_FIELD_WHOLE, "key", v3_text, key),
	JSON_FIELD(JSON_FIELD_TEXT, "value", v3_text, value),
};
FIELDS(v3_text, text_rows);
