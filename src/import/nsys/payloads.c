/* SPDX-License-Identifier: MIT
 *
 * import/nsys/payloads.c - payloads of NCCL's NVTX ranges
 *
 * Runs in:  our own process
 * Gets:     NVTX_PAYLOAD_SCHEMA_ENTRIES; binary data or JSON of a range
 * Gives:    communicator, size, rank
 * Owns:     the layouts of payloads
 * Fails:    -ENOMEM; -EBADMSG of SQLite. Data that does not fit its layout has no fields.
 * Why two forms: versions before 2026 write the payload as JSON, later ones as binary data: 32
 * bytes (domain, schema, sizes), then the fields at their offsets.
 */
#include "import/nsys/payloads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/json_fields.h"
#include "import/nsys/import.h"

enum { HEADER_BYTES = 32, HEADER_SCHEMA = 8, MAX_BYTES = 4096, MAX_OFFSET = 4096 };

#define COMMUNICATOR "NCCL communicator ID"
#define BYTES        "Message size [bytes]"
#define RANK_COUNT   "No. of ranks"
#define RANK         "Rank"

/* By enum nsys_payload_field. */
static const char *const field_names[PAYLOAD_FIELDS_COUNT] = {
	[PAYLOAD_COMMUNICATOR] = COMMUNICATOR,
	[PAYLOAD_BYTES] = BYTES,
	[PAYLOAD_RANK_COUNT] = RANK_COUNT,
	[PAYLOAD_RANK] = RANK,
};

struct nsys_payload_schema {
	struct {
		uint16_t offset;
		uint8_t size; /* 0: the payload lacks the field */
	} fields[PAYLOAD_FIELDS_COUNT];
};

void nsys_payloads_fini(struct nsys_payloads *payloads)
{
	free(payloads->schemas);
	hash_map_fini(&payloads->index);
	*payloads = (struct nsys_payloads){0};
}

/* ---- layouts ---- */

enum { ENTRY_DOMAIN, ENTRY_SCHEMA, ENTRY_TYPE, ENTRY_NAME, ENTRY_OFFSET };
static const char *const entry_columns[] = {"domainId", "schemaId", "type", "name", "offset"};

static uint64_t key_of(uint64_t domain, uint64_t schema)
{
	return domain << 32 ^ schema;
}

/* Bytes of an integer of one of NVTX's types; 0: another type. */
static uint8_t size_of_type(int64_t type)
{
	static const uint8_t sizes[] = {[5] = 4,  [6] = 4,  [7] = 8,  [8] = 8,  [9] = 8, [10] = 8,
					[15] = 4, [16] = 4, [17] = 8, [18] = 8, [22] = 8};

	return type >= 0 && type < (int64_t)ARRAY_COUNT(sizes) ? sizes[type] : 0;
}

static int find_schema(struct nsys_payloads *payloads, uint64_t key,
		       struct nsys_payload_schema **ret_schema)
{
	uint64_t index = hash_map_get(&payloads->index, key, payloads->count);

	if (index == payloads->count) {
		if (array_append(payloads->schemas, payloads->capacity, payloads->count,
				 (struct nsys_payload_schema){0}) ||
		    hash_map_put(&payloads->index, key, index))
			return -ENOMEM;
	}
	*ret_schema = &payloads->schemas[index];
	return 0;
}

static int on_entry(void *context, const struct sqlite_cursor *row)
{
	struct nsys_payloads *payloads = context;
	const uint8_t size = size_of_type(sqlite_cursor_number(row, ENTRY_TYPE));
	const int64_t offset = sqlite_cursor_number(row, ENTRY_OFFSET);
	const char *name = sqlite_cursor_text(row, ENTRY_NAME);
	struct nsys_payload_schema *schema;
	size_t field = 0;
	int error;

	while (field < PAYLOAD_FIELDS_COUNT && strcmp(field_names[field], name) != 0)
		field++;
	if (field == PAYLOAD_FIELDS_COUNT || offset < 0 || offset > MAX_OFFSET)
		return 0;
	error = find_schema(payloads,
			    key_of((uint64_t)sqlite_cursor_number(row, ENTRY_DOMAIN),
				   (uint64_t)sqlite_cursor_number(row, ENTRY_SCHEMA)),
			    &schema);
	if (error)
		return error;
	schema->fields[field].offset = (uint16_t)offset;
	schema->fields[field].size = size;
	return 0;
}

int nsys_payloads_open(struct nsys_payloads *payloads, struct nsys *nsys)
{
	static const struct sqlite_query query = {"NVTX_PAYLOAD_SCHEMA_ENTRIES",
						  SQLITE_COLUMNS(entry_columns, 4)};

	return nsys_each_row(nsys, &query, on_entry, payloads);
}

/* ---- payloads ---- */

static uint64_t number_at(const unsigned char *bytes, size_t size)
{
	uint64_t value = 0;

	while (size-- > 0)
		value = value << 8 | bytes[size];
	return value;
}

static int digit_of(unsigned char character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	character |= 'a' - 'A';
	return character >= 'a' && character <= 'f' ? character - 'a' + 10 : -1;
}

/* Returns the number of bytes; 0: it is not hexadecimal text. */
static size_t parse_hex(const unsigned char *text, size_t length, unsigned char bytes[MAX_BYTES])
{
	if (length % 2 || length / 2 > MAX_BYTES)
		return 0;
	for (size_t i = 0; i < length / 2; i++) {
		const int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return 0;
		bytes[i] = (unsigned char)(high << 4 | low);
	}
	return length / 2;
}

void nsys_payloads_decode(const struct nsys_payloads *payloads, const void *bytes, size_t size,
			  struct nsys_payload *ret_payload)
{
	unsigned char buffer[MAX_BYTES];
	const unsigned char *data = bytes;
	const size_t parsed = size ? parse_hex(bytes, size, buffer) : 0;
	const struct nsys_payload_schema *schema;
	uint64_t index;

	*ret_payload = (struct nsys_payload){0};
	if (parsed) {
		data = buffer;
		size = parsed;
	}
	if (size < HEADER_BYTES)
		return;
	index = hash_map_get(&payloads->index,
			     key_of(number_at(data, 4), number_at(data + HEADER_SCHEMA, 4)),
			     payloads->count);
	if (index == payloads->count)
		return;
	schema = &payloads->schemas[index];
	for (size_t i = 0; i < PAYLOAD_FIELDS_COUNT; i++) {
		const size_t at = HEADER_BYTES + schema->fields[i].offset;

		ret_payload->has[i] = schema->fields[i].size && at + schema->fields[i].size <= size;
		if (ret_payload->has[i])
			ret_payload->values[i] = number_at(data + at, schema->fields[i].size);
	}
}

struct parsed_payload {
	struct json_whole communicator, bytes, rank_count, rank;
};

static const struct json_field parsed_rows[] = {
	JSON_FIELD(JSON_FIELD_WHOLE, COMMUNICATOR, parsed_payload, communicator),
	JSON_FIELD(JSON_FIELD_WHOLE, BYTES, parsed_payload, bytes),
	JSON_FIELD(JSON_FIELD_WHOLE, RANK_COUNT, parsed_payload, rank_count),
	JSON_FIELD(JSON_FIELD_WHOLE, RANK, parsed_payload, rank),
};
static const struct json_fields parsed_fields = {parsed_rows, ARRAY_COUNT(parsed_rows)};

int nsys_payloads_parse(const char *json, struct nsys_payload *ret_payload)
{
	struct parsed_payload parsed = {0};
	const int error = json_fields_parse(json, &parsed_fields, &parsed);
	const struct json_whole *const values[PAYLOAD_FIELDS_COUNT] = {
		&parsed.communicator, &parsed.bytes, &parsed.rank_count, &parsed.rank};

	for (size_t i = 0; i < PAYLOAD_FIELDS_COUNT; i++) {
		ret_payload->has[i] = !error && values[i]->is_known;
		ret_payload->values[i] = values[i]->value;
	}
	return error == -ENOMEM ? error : 0;
}
