/* SPDX-License-Identifier: MIT
 *
 * import/chrome/file.c - read a Chrome trace event by event
 *
 * Runs in:  our own process
 * Gets:     JSON: an array of events, or an object that contains one
 * Gives:    events, stack frames, samples
 * Owns:     the current event
 * Fails:    -EBADMSG with line and byte for invalid JSON, or an element in the wrong place
 * Why tables of keys: an event may have any keys in any order; unknown ones are skipped without
 *           being stored
 */
#include "import/chrome/file.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "import/chrome/categories.h"
#include "import/common/commands.h"
#include "import/source.h"

/* ns: 73 years. Times of this century fit, and so does their distance from an equally large
 * negative time. */
#define MAX_TIME (INT64_MAX / 4)

enum field_type {
	FIELD_TEXT,
	FIELD_NUMBER,
	FIELD_US,
	FIELD_SIZES,
	FIELD_FIRST,   /* the first text of an array */
	FIELD_PRODUCT, /* the product of the numbers in the first innermost array */
	FIELD_OBJECT
};

struct field {
	const char *key;
	size_t key_length;
	enum field_type type;
	size_t offset;
	const struct fields *inner; /* FIELD_OBJECT */
};

struct fields {
	const struct field *rows;
	size_t count;
};

#define FIELD(object, key, type, member)                                                   \
	{                                                                                  \
		key, sizeof(key) - 1, type, offsetof(struct chrome_##object, member), NULL \
	}

static const struct field argument_rows[] = {
	FIELD(arguments, "Python id", FIELD_NUMBER, python_id),
	FIELD(arguments, "correlation", FIELD_NUMBER, correlation),
	FIELD(arguments, "stream", FIELD_TEXT, stream),
	FIELD(arguments, "device", FIELD_NUMBER, device),
	FIELD(arguments, "grid", FIELD_SIZES, grid),
	FIELD(arguments, "block", FIELD_SIZES, block),
	FIELD(arguments, "bytes", FIELD_NUMBER, bytes),
	FIELD(arguments, "shared memory", FIELD_NUMBER, shared_bytes),
	FIELD(arguments, "graph id", FIELD_NUMBER, graph),
	FIELD(arguments, "graph node id", FIELD_NUMBER, graph_node),
	FIELD(arguments, "Call stack", FIELD_TEXT, call_stack),
	FIELD(arguments, "name", FIELD_TEXT, name),
	FIELD(arguments, "labels", FIELD_TEXT, labels),
	FIELD(arguments, "Total Allocated", FIELD_NUMBER, allocated_bytes),
	FIELD(arguments, "Total Reserved", FIELD_NUMBER, reserved_bytes),
	FIELD(arguments, "Device Id", FIELD_NUMBER, device_id),
	FIELD(arguments, "Device Type", FIELD_NUMBER, device_type),
	FIELD(arguments, "Collective name", FIELD_TEXT, collective.name),
	FIELD(arguments, "Process Group Name", FIELD_TEXT, collective.group),
	FIELD(arguments, "Process Group Ranks", FIELD_TEXT, collective.ranks),
	FIELD(arguments, "dtype", FIELD_TEXT, collective.datatype),
	FIELD(arguments, "Seq", FIELD_NUMBER, collective.sequence),
	FIELD(arguments, "In msg nelems", FIELD_NUMBER, collective.elements),
	FIELD(arguments, "Out msg nelems", FIELD_NUMBER, collective.elements_out),
	FIELD(arguments, "Group size", FIELD_NUMBER, collective.rank_count),
	FIELD(arguments, "Input type", FIELD_FIRST, collective.input_type),
	FIELD(arguments, "Input Dims", FIELD_PRODUCT, collective.input_elements),
	FIELD(arguments, "rank", FIELD_NUMBER, rank),
	FIELD(arguments, "pid_raw", FIELD_NUMBER, raw_pid),
	FIELD(arguments, "BeginNs", FIELD_NUMBER, began_ns),
	FIELD(arguments, "EndNs", FIELD_NUMBER, ended_ns),
	FIELD(arguments, "command", FIELD_TEXT, command),
	FIELD(arguments, "queue", FIELD_TEXT, queue),
	FIELD(arguments, "no_launch", FIELD_TEXT, no_launch),
	FIELD(arguments, "no_execution", FIELD_TEXT, no_execution),
	FIELD(arguments, "domain", FIELD_TEXT, domain),
	FIELD(arguments, "pid", FIELD_NUMBER, pid),
	FIELD(arguments, "result", FIELD_NUMBER, result),
	FIELD(arguments, "status", FIELD_NUMBER, status),
	FIELD(arguments, "further", FIELD_NUMBER, further),
	FIELD(arguments, "wait", FIELD_NUMBER, wait),
	FIELD(arguments, "queued_to_submitted_ns", FIELD_NUMBER, queued_to_submitted),
	FIELD(arguments, "submitted_to_started_ns", FIELD_NUMBER, submitted_to_started),
	FIELD(arguments, "global", FIELD_SIZES, global),
	FIELD(arguments, "local", FIELD_SIZES, local),
	FIELD(arguments, "desc", FIELD_TEXT, description),
};
static const struct fields argument_fields = {argument_rows, ARRAY_COUNT(argument_rows)};

static const struct field event_rows[] = {
	FIELD(event, "ph", FIELD_TEXT, phase),
	FIELD(event, "name", FIELD_TEXT, name),
	FIELD(event, "cat", FIELD_TEXT, category),
	FIELD(event, "pid", FIELD_TEXT, pid),
	FIELD(event, "tid", FIELD_TEXT, tid),
	FIELD(event, "sf", FIELD_TEXT, stack),
	FIELD(event, "ts", FIELD_US, ts_ns),
	FIELD(event, "dur", FIELD_US, dur_ns),
	FIELD(event, "id", FIELD_NUMBER, id),
	{"args", 4, FIELD_OBJECT, offsetof(struct chrome_event, arguments), &argument_fields},
};
static const struct fields event_fields = {event_rows, ARRAY_COUNT(event_rows)};

static const struct field frame_rows[] = {FIELD(frame, "name", FIELD_TEXT, name),
					  FIELD(frame, "category", FIELD_TEXT, category),
					  FIELD(frame, "parent", FIELD_TEXT, parent)};
static const struct fields frame_fields = {frame_rows, ARRAY_COUNT(frame_rows)};

static const struct field sample_rows[] = {
	FIELD(sample, "tid", FIELD_TEXT, tid),   FIELD(sample, "name", FIELD_TEXT, name),
	FIELD(sample, "sf", FIELD_TEXT, stack),  FIELD(sample, "ts", FIELD_US, ts_ns),
	FIELD(sample, "cpu", FIELD_NUMBER, cpu), FIELD(sample, "weight", FIELD_NUMBER, weight),
};
static const struct fields sample_fields = {sample_rows, ARRAY_COUNT(sample_rows)};

static const struct field device_rows[] = {
	FIELD(device, "id", FIELD_NUMBER, id),
	FIELD(device, "name", FIELD_TEXT, name),
	FIELD(device, "totalGlobalMem", FIELD_NUMBER, memory_bytes),
	FIELD(device, "numSms", FIELD_NUMBER, compute_units),
};
static const struct fields device_fields = {device_rows, ARRAY_COUNT(device_rows)};

static const struct field job_rows[] = {FIELD(document, "rank", FIELD_NUMBER, rank),
					FIELD(document, "world_size", FIELD_NUMBER, rank_count)};
static const struct fields job_fields = {job_rows, ARRAY_COUNT(job_rows)};

/* ---- fields ---- */

static void clear_fields(const struct fields *fields, void *values)
{
	for (size_t i = 0; i < fields->count; i++) {
		const struct field *field = &fields->rows[i];
		void *value = (char *)values + field->offset;

		if (field->type == FIELD_TEXT || field->type == FIELD_FIRST)
			string_builder_clear(value);
		else if (field->type == FIELD_SIZES)
			memset(value, 0, 3 * sizeof(uint64_t));
		else if (field->type == FIELD_OBJECT)
			clear_fields(field->inner, value);
		else
			*(struct chrome_number *)value = (struct chrome_number){0};
	}
}

static void fini(const struct fields *fields, void *values)
{
	for (size_t i = 0; i < fields->count; i++) {
		const struct field *field = &fields->rows[i];
		void *value = (char *)values + field->offset;

		if (field->type == FIELD_TEXT || field->type == FIELD_FIRST)
			string_builder_fini(value);
		else if (field->type == FIELD_OBJECT)
			fini(field->inner, value);
	}
}

static const struct field *find_field(const struct fields *fields, const struct json_reader *reader)
{
	size_t length;
	const char *key = json_reader_text(reader, &length);

	for (size_t i = 0; i < fields->count; i++)
		if (fields->rows[i].key_length == length &&
		    memcmp(fields->rows[i].key, key, length) == 0)
			return &fields->rows[i];
	return NULL;
}

/* Takes a string or a number as text, up to the first NUL. */
static int take_text(struct json_reader *reader, struct string_builder *text)
{
	string_builder_clear(text);
	string_builder_append(text, json_reader_text(reader, NULL));
	return text->error;
}

static void take_number(const char *text, struct chrome_number *number)
{
	char *end;

	errno = 0;
	number->value = strtoll(text, &end, 10);
	number->is_known = end != text && !*end && !errno;
}

/* Takes a time in microseconds; some programs write it as a string. */
static int take_us(struct json_reader *reader, const char *key, struct chrome_number *number)
{
	const char *text = json_reader_text(reader, NULL);
	char expected[128], found[64];

	if (json_parse_thousandths(text, &number->value) || number->value > MAX_TIME ||
	    number->value < -MAX_TIME) {
		snprintf(expected, sizeof(expected),
			 "a time in microseconds as '%s', within 2e15 of 0", key);
		snprintf(found, sizeof(found), "'%.40s'", text);
		return json_reader_fail(reader, expected, found);
	}
	number->is_known = true;
	return 0;
}

/* Returns 0 (unknown) unless the text is a whole number. */
static uint64_t size_of(const char *text)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	return *text == '-' || *end || errno ? 0 : value;
}

static int take_sizes(struct json_reader *reader, uint64_t sizes[3])
{
	size_t count = 0;
	int token;

	while ((token = json_reader_next(reader)) > JSON_END && token != JSON_ARRAY_END) {
		if (token == JSON_NUMBER && count < 3)
			sizes[count++] = size_of(json_reader_text(reader, NULL));
		else
			token = json_reader_skip(reader, token);
		if (token < 0)
			break;
	}
	return token < 0 ? token : 0;
}

/* To be called after '[' was read. */
static int take_first(struct json_reader *reader, struct string_builder *text)
{
	int token = json_reader_next(reader), error = 0;

	if (token == JSON_STRING)
		error = take_text(reader, text);
	while (!error && token > JSON_END && token != JSON_ARRAY_END) {
		if (token == JSON_ARRAY_BEGIN || token == JSON_OBJECT_BEGIN)
			token = json_reader_skip(reader, token);
		if (token >= 0)
			token = json_reader_next(reader);
	}
	return error ? error : token < 0 ? token : 0;
}

/* The same. A product that does not fit is not known. */
static int take_product(struct json_reader *reader, struct chrome_number *number)
{
	struct chrome_number size;
	bool is_over = false;
	int64_t product = 1;
	size_t depth = 1, count = 0;
	int token = 0;

	while (depth && (token = json_reader_next(reader)) > JSON_END) {
		if (token == JSON_ARRAY_BEGIN || token == JSON_OBJECT_BEGIN) {
			depth++;
		} else if (token == JSON_ARRAY_END || token == JSON_OBJECT_END) {
			depth--;
			is_over |= count != 0;
		} else if (token == JSON_NUMBER && !is_over) {
			take_number(json_reader_text(reader, NULL), &size);
			count++;
			is_over = !size.is_known ||
				  __builtin_mul_overflow(product, size.value, &product);
			count = is_over ? 0 : count;
		}
	}
	*number = (struct chrome_number){.is_known = count != 0, .value = product};
	return token < 0 ? token : 0;
}

static int read_object(struct json_reader *reader, const struct fields *fields, void *values);

/* Ignores a value whose type is not that of the field. */
static int read_field(struct json_reader *reader, const struct field *field, void *values)
{
	void *value = (char *)values + (field ? field->offset : 0);
	int token = json_reader_next(reader);
	bool is_scalar = token == JSON_STRING || token == JSON_NUMBER;

	if (field && field->type == FIELD_OBJECT && token == JSON_OBJECT_BEGIN)
		return read_object(reader, field->inner, value);
	if (field && field->type == FIELD_SIZES && token == JSON_ARRAY_BEGIN)
		return take_sizes(reader, value);
	if (field && field->type == FIELD_FIRST && token == JSON_ARRAY_BEGIN)
		return take_first(reader, value);
	if (field && field->type == FIELD_PRODUCT && token == JSON_ARRAY_BEGIN)
		return take_product(reader, value);
	if (!field || !is_scalar)
		return json_reader_skip(reader, token);
	if (field->type == FIELD_TEXT)
		return take_text(reader, value);
	if (field->type == FIELD_US)
		return take_us(reader, field->key, value);
	if (field->type == FIELD_NUMBER)
		take_number(json_reader_text(reader, NULL), value);
	return 0;
}

/* To be called after '{' was read. */
static int read_object(struct json_reader *reader, const struct fields *fields, void *values)
{
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_KEY)
		error = read_field(reader, find_field(fields, reader), values);
	return error ? error : (token < 0 ? token : 0);
}

/* ---- lists ---- */

static int wrong_item(struct json_reader *reader, const char *what, int token)
{
	return token < 0 ? token : json_reader_fail(reader, what, json_token_name(token));
}

static int read_events(struct json_reader *reader, const struct chrome_visitor *visitor,
		       void *context)
{
	struct chrome_event event = {0};
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_OBJECT_BEGIN) {
		clear_fields(&event_fields, &event);
		event.line = json_reader_line(reader);
		event.byte = json_reader_byte(reader);
		error = read_object(reader, &event_fields, &event);
		event.arguments.dimensions = import_dimensions(event.arguments.global);
		event.categories = chrome_categories(string_builder_text(&event.category));
		if (!error && visitor->on_event)
			error = visitor->on_event(context, &event);
	}
	if (!error && token != JSON_ARRAY_END)
		error = wrong_item(reader, "an event, which is an object", token);
	fini(&event_fields, &event);
	return error;
}

static int read_samples(struct json_reader *reader, const struct chrome_visitor *visitor,
			void *context)
{
	struct chrome_sample sample = {0};
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_OBJECT_BEGIN) {
		clear_fields(&sample_fields, &sample);
		error = read_object(reader, &sample_fields, &sample);
		if (!error && visitor->on_sample)
			error = visitor->on_sample(context, &sample);
	}
	if (!error && token != JSON_ARRAY_END)
		error = wrong_item(reader, "a sample, which is an object", token);
	fini(&sample_fields, &sample);
	return error;
}

static int read_frames(struct json_reader *reader, const struct chrome_visitor *visitor,
		       void *context)
{
	struct chrome_frame frame = {0};
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_KEY) {
		clear_fields(&frame_fields, &frame);
		error = take_text(reader, &frame.id);
		if (!error)
			error = json_reader_expect(reader, JSON_OBJECT_BEGIN);
		if (!error)
			error = read_object(reader, &frame_fields, &frame);
		if (!error && visitor->on_frame)
			error = visitor->on_frame(context, &frame);
	}
	fini(&frame_fields, &frame);
	string_builder_fini(&frame.id);
	return error ? error : (token < 0 ? token : 0);
}

static int read_devices(struct json_reader *reader, const struct chrome_visitor *visitor,
			void *context)
{
	struct chrome_device device = {0};
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_OBJECT_BEGIN) {
		clear_fields(&device_fields, &device);
		error = read_object(reader, &device_fields, &device);
		if (!error && visitor->on_device)
			error = visitor->on_device(context, &device);
	}
	if (!error && token != JSON_ARRAY_END)
		error = wrong_item(reader, "a device, which is an object", token);
	fini(&device_fields, &device);
	return error;
}

static int read_job(struct json_reader *reader, const struct chrome_visitor *visitor, void *context)
{
	struct chrome_document document = {0};
	int error = read_object(reader, &job_fields, &document);

	return error || !visitor->on_document ? error : visitor->on_document(context, &document);
}

static int read_base(struct json_reader *reader, const struct chrome_visitor *visitor,
		     void *context)
{
	struct chrome_document document = {0};

	take_number(json_reader_text(reader, NULL), &document.base_ns);
	return visitor->on_document ? visitor->on_document(context, &document) : 0;
}

/* ---- the document ---- */

static int read_member(struct json_reader *reader, const struct chrome_visitor *visitor,
		       void *context, bool *has_events)
{
	static const struct {
		const char *key;
		int begin;      /* enum json_token */
		bool is_needed; /* another type of value is an error */
		int (*read)(struct json_reader *reader, const struct chrome_visitor *visitor,
			    void *context);
	} members[] = {{"traceEvents", JSON_ARRAY_BEGIN, true, read_events},
		       {"samples", JSON_ARRAY_BEGIN, true, read_samples},
		       {"stackFrames", JSON_OBJECT_BEGIN, true, read_frames},
		       {"deviceProperties", JSON_ARRAY_BEGIN, false, read_devices},
		       {"distributedInfo", JSON_OBJECT_BEGIN, false, read_job},
		       {"baseTimeNanoseconds", JSON_NUMBER, false, read_base}};
	const char *key = json_reader_text(reader, NULL);
	size_t i = 0;
	int token;

	while (i < ARRAY_COUNT(members) && strcmp(members[i].key, key) != 0)
		i++;
	token = json_reader_next(reader);
	if (i == ARRAY_COUNT(members) || (token != members[i].begin && !members[i].is_needed))
		return json_reader_skip(reader, token);
	if (token != members[i].begin)
		return wrong_item(reader, json_token_name(members[i].begin), token);
	*has_events |= i == 0;
	return members[i].read(reader, visitor, context);
}

static int read_document(struct json_reader *reader, const struct chrome_visitor *visitor,
			 void *context)
{
	int token = json_reader_next(reader), error = 0;
	bool has_events = false;

	if (token == JSON_ARRAY_BEGIN)
		return read_events(reader, visitor, context);
	if (token != JSON_OBJECT_BEGIN)
		return wrong_item(reader, "an object with traceEvents, or an array of events",
				  token);
	while (!error && (token = json_reader_next(reader)) == JSON_KEY)
		error = read_member(reader, visitor, context, &has_events);
	if (error || token < 0)
		return error ? error : token;
	if (!has_events)
		return error_set(-EBADMSG, "expected the key 'traceEvents', found none");
	return 0;
}

int chrome_file_read(struct import_source *source, const struct chrome_visitor *visitor,
		     void *context, bool *ret_is_cut)
{
	struct json_reader *reader;
	int error = json_reader_new(import_source_read, source, &reader);

	if (error)
		return error;
	error = read_document(reader, visitor, context);
	*ret_is_cut = json_reader_is_cut(reader);
	if (*ret_is_cut) {
		error_clear();
		error = 0;
	} else if (!error) {
		error = json_reader_expect(reader, JSON_END);
	}
	json_reader_free(reader);
	return error;
}

int chrome_file_fail(const struct chrome_event *event, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return error_set(-EBADMSG, "line %llu, byte %llu: %s", (unsigned long long)event->line,
			 (unsigned long long)event->byte, text);
}
