/* SPDX-License-Identifier: MIT
 *
 * import/rocm/v3_json_fields.h - the objects of rocprofv3's JSON
 */
#pragma once

#include "import/json_fields.h"

/* A counter and the sum of its values over all parts of the GPU. */
struct v3_value {
	uint64_t counter;
	double value;
};

/* The union of all kinds of records. */
struct v3_record {
	struct json_whole kind, operation, thread, correlation, start, end;
	struct json_whole agent, queue, stream, kernel, dispatch;
	struct json_whole workgroup[3], grid[3];
	struct json_whole source_agent, destination_agent, bytes;
	struct json_whole allocation_bytes, address_handle;
	struct string_builder address;
	struct v3_value *values;
	size_t values_count, values_capacity;
};
extern const struct json_fields v3_record_fields;

struct v3_metadata {
	struct json_whole pid, init_time, fini_time;
	struct string_builder command, machine;
};
extern const struct json_fields v3_metadata_fields;

struct v3_agent {
	struct json_whole handle, type, node, logical_node, domain, location;
	struct json_whole compute_units, local_kib;
	struct string_builder name, product_name, vendor_name;
	uint64_t memory_bytes;
};
extern const struct json_fields v3_agent_fields;

struct v3_symbol {
	struct json_whole kernel, object, local_bytes, private_bytes, vector, accumulation;
	struct string_builder name;
};
extern const struct json_fields v3_symbol_fields;

struct v3_object {
	struct json_whole object, address, size_bytes;
	struct string_builder uri;
};
extern const struct json_fields v3_object_fields;

/* A text with a number: the message of a marker, the name of a counter. */
struct v3_text {
	struct json_whole key;
	struct string_builder value;
};
extern const struct json_fields v3_text_fields, v3_counter_fields;
