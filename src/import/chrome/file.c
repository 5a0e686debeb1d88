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

static json_field_read take_us, take_sizes, take_first, take_product;

#define TEXT(object, key, member)   JSON_FIELD(JSON_FIELD_TEXT, key, chrome_##object, member)
#define NUMBER(object, key, member) JSON_FIELD(JSON_FIELD_INTEGER, key, chrome_##object, member)
#define OWN(object, key, member, function) \
	JSON_OWN(JSON_FIELD_OWN, key, chrome_##object, member, function)
#define FIRST(object, key, member) \
	JSON_OWN(JSON_FIELD_TEXT_IN, key, chrome_##object, member, take_first)

static const struct json_field argument_rows[] = {
	NUMBER(arguments, "Python id", python_id),
	NUMBER(arguments, "correlation", correlation),
	TEXT(arguments, "stream", stream),
	NUMBER(arguments, "device", device),
	OWN(arguments, "grid", grid, take_sizes),
	OWN(arguments, "block", block, take_sizes),
	NUMBER(arguments, "bytes", bytes),
	NUMBER(arguments, "size", size),
	TEXT(arguments, "direction", direction),
	NUMBER(arguments, "shared memory", shared_bytes),
	NUMBER(arguments, "graph id", graph),
	NUMBER(arguments, "graph node id", graph_node),
	TEXT(arguments, "Call stack", call_stack),
	TEXT(arguments, "name", name),
	TEXT(arguments, "labels", labels),
	NUMBER(arguments, "Total Allocated", allocated_bytes),
	NUMBER(arguments, "Total Reserved", reserved_bytes),
	NUMBER(arguments, "Device Id", device_id),
	NUMBER(arguments, "Device Type", device_type),
	TEXT(arguments, "Collective name", collective.name),
	TEXT(arguments, "Process Group Name", collective.group),
	TEXT(arguments, "Process Group Ranks", collective.ranks),
	TEXT(arguments, "dtype", collective.datatype),
	NUMBER(arguments, "Seq", collective.sequence),
	NUMBER(arguments, "In msg nelems", collective.elements),
	NUMBER(arguments, "Out msg nelems", collective.elements_out),
	NUMBER(arguments, "Group size", collective.rank_count),
	FIRST(arguments, "Input type", collective.input_type),
	OWN(arguments, "Input Dims", collective.input_elements, take_product),
	NUMBER(arguments, "rank", rank),
	NUMBER(arguments, "pid_raw", raw_pid),
	NUMBER(arguments, "BeginNs", began_ns),
	NUMBER(arguments, "EndNs", ended_ns),
	TEXT(arguments, "command", command),
	TEXT(arguments, "queue", queue),
	TEXT(arguments, "no_launch", no_launch),
	TEXT(arguments, "no_execution", no_execution),
	TEXT(arguments, "domain", domain),
	NUMBER(arguments, "pid", pid),
	NUMBER(arguments, "result", result),
	NUMBER(arguments, "status", status),
	NUMBER(arguments, "further", further),
	NUMBER(arguments, "wait", wait),
	NUMBER(arguments, "queued_to_submitted_ns", queued_to_submitted),
	NUMBER(arguments, "submitted_to_started_ns", submitted_to_started),
	OWN(arguments, "global", global, take_sizes),
	OWN(arguments, "local", local, take_sizes),
	TEXT(arguments, "desc", description),
};
static const struct json_fields argument_fields = {argument_rows, ARRAY_COUNT(argument_rows)};

static const struct json_field event_rows[] = {
	TEXT(event, "ph", phase),
	TEXT(event, "name", name),
	TEXT(event, "cat", category),
	TEXT(event, "pid", pid),
	TEXT(event, "tid", tid),
	TEXT(event, "sf", stack),
	OWN(event, "ts", ts_ns, take_us),
	OWN(event, "dur", dur_ns, take_us),
	NUMBER(event, "id", id),
	{"args", 4, JSON_FIELD_OBJECT, offsetof(struct chrome_event, arguments), &argument_fields},
};
static const struct json_fields event_fields = {event_rows, ARRAY_COUNT(event_rows)};

static const struct json_field frame_rows[] = {TEXT(frame, "name", name),
					       TEXT(frame, "category", category),
					       TEXT(frame, "parent", parent)};
static const struct json_fields frame_fields = {frame_rows, ARRAY_COUNT(frame_rows)};

static const struct json_field sample_rows[] = {
	TEXT(sample, "tid", tid),   TEXT(sample, "name", name),
	TEXT(sample, "sf", stack),  OWN(sample, "ts", ts_ns, take_us),
	NUMBER(sample, "cpu", cpu), NUMBER(sample, "weight", weight),
};
static const struct json_fields sample_fields = {sample_rows, ARRAY_COUNT(sample_rows)};

static const struct json_field device_rows[] = {
	NUMBER(device, "id", id),
	TEXT(device, "name", name),
	NUMBER(device, "totalGlobalMem", memory_bytes),
	NUMBER(device, "numSms", compute_units),
};
static const struct json_fields device_fields = {device_rows, ARRAY_COUNT(device_rows)};

static const struct json_field job_rows[] = {NUMBER(document, "rank", rank),
					     NUMBER(document, "world_size", rank_count)};
static const struct json_fields job_fields = {job_rows, ARRAY_COUNT(job_rows)};

/* ---- fields ---- */

/* Takes a string or a number as text, up to the first NUL. */
static int take_text(struct json_reader *reader, struct string_builder *text)
{
	string_builder_clear(text);
	string_builder_append(text, json_reader_text(reader, NULL));
	return text->error;
}

/* Takes a time in microseconds; some programs write it as a string. */
static int take_us(struct json_reader *reader, const struct json_field *field, int token,
		   void *value)
{
	struct json_integer *number = value;
	char expected[128], found[64];
	const char *text;

	if (token != JSON_STRING && token != JSON_NUMBER)
		return json_reader_skip(reader, token);
	text = json_reader_text(reader, NULL);
	if (json_parse_thousandths(text, &number->value) || number->value > MAX_TIME ||
	    number->value < -MAX_TIME) {
		snprintf(expected, sizeof(expected),
			 "a time in microseconds as '%s', within 2e15 of 0", field->key);
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

static int take_sizes(struct json_reader *reader, const struct json_field *field, int token,
		      void *value)
{
	uint64_t *sizes = value;
	size_t count = 0;

	if (token != JSON_ARRAY_BEGIN)
		return json_reader_skip(reader, token);
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

static int take_first(struct json_reader *reader, const struct json_field *field, int token,
		      void *value)
{
	int error = 0;

	if (token != JSON_ARRAY_BEGIN)
		return json_reader_skip(reader, token);
	token = json_reader_next(reader);
	if (token == JSON_STRING)
		error = take_text(reader, value);
	while (!error && token > JSON_END && token != JSON_ARRAY_END) {
		if (token == JSON_ARRAY_BEGIN || token == JSON_OBJECT_BEGIN)
			token = json_reader_skip(reader, token);
		if (token >= 0)
			token = json_reader_next(reader);
	}
	return error ? error : token < 0 ? token : 0;
}

/* The product of the numbers in the first innermost array. One that does not fit is not known. */
static int take_product(struct json_reader *reader, const struct json_field *field, int token,
			void *value)
{
	struct json_integer *number = value, size;
	bool is_over = false;
	int64_t product = 1;
	size_t depth = 1, count = 0;

	if (token != JSON_ARRAY_BEGIN)
		return json_reader_skip(reader, token);
	while (depth && (token = json_reader_next(reader)) > JSON_END) {
		if (token == JSON_ARRAY_BEGIN || token == JSON_OBJECT_BEGIN) {
			depth++;
		} else if (token == JSON_ARRAY_END || token == JSON_OBJECT_END) {
			depth--;
			is_over |= count != 0;
		} else if (token == JSON_NUMBER && !is_over) {
			size = json_fields_integer(json_reader_text(reader, NULL));
			count++;
			is_over = !size.is_known ||
				  __builtin_mul_overflow(product, size.value, &product);
			count = is_over ? 0 : count;
		}
	}
	*number = (struct json_integer){.is_known = count != 0, .value = product};
	return token < 0 ? token : 0;
}

/* ---- lists ---- */

static int read_events(struct json_reader *reader, const struct chrome_visitor *visitor,
		       void *context)
{
	struct chrome_event event = {0};
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_OBJECT_BEGIN) {
		json_fields_clear(&event_fields, &event);
		event.line = json_reader_line(reader);
		event.byte = json_reader_byte(reader);
		error = json_fields_read(reader, &event_fields, &event);
		event.arguments.dimensions = import_dimensions(event.arguments.global);
		event.categories = chrome_categories(string_builder_text(&event.category));
		if (!error && visitor->on_event)
			error = visitor->on_event(context, &event);
	}
	if (!error && token != JSON_ARRAY_END)
		error = json_fields_wrong(reader, "an event, which is an object", token);
	json_fields_fini(&event_fields, &event);
	return error;
}

static int read_samples(struct json_reader *reader, const struct chrome_visitor *visitor,
			void *context)
{
	struct chrome_sample sample = {0};
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_OBJECT_BEGIN) {
		json_fields_clear(&sample_fields, &sample);
		error = json_fields_read(reader, &sample_fields, &sample);
		if (!error && visitor->on_sample)
			error = visitor->on_sample(context, &sample);
	}
	if (!error && token != JSON_ARRAY_END)
		error = json_fields_wrong(reader, "a sample, which is an object", token);
	json_fields_fini(&sample_fields, &sample);
	return error;
}

static int read_frames(struct json_reader *reader, const struct chrome_visitor *visitor,
		       void *context)
{
	struct chrome_frame frame = {0};
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_KEY) {
		json_fields_clear(&frame_fields, &frame);
		error = take_text(reader, &frame.id);
		if (!error)
			error = json_reader_expect(reader, JSON_OBJECT_BEGIN);
		if (!error)
			error = json_fields_read(reader, &frame_fields, &frame);
		if (!error && visitor->on_frame)
			error = visitor->on_frame(context, &frame);
	}
	json_fields_fini(&frame_fields, &frame);
	string_builder_fini(&frame.id);
	return error ? error : (token < 0 ? token : 0);
}

static int read_devices(struct json_reader *reader, const struct chrome_visitor *visitor,
			void *context)
{
	struct chrome_device device = {0};
	int token, error = 0;

	while (!error && (token = json_reader_next(reader)) == JSON_OBJECT_BEGIN) {
		json_fields_clear(&device_fields, &device);
		error = json_fields_read(reader, &device_fields, &device);
		if (!error && visitor->on_device)
			error = visitor->on_device(context, &device);
	}
	if (!error && token != JSON_ARRAY_END)
		error = json_fields_wrong(reader, "a device, which is an object", token);
	json_fields_fini(&device_fields, &device);
	return error;
}

static int read_job(struct json_reader *reader, const struct chrome_visitor *visitor, void *context)
{
	struct chrome_document document = {0};
	int error = json_fields_read(reader, &job_fields, &document);

	return error || !visitor->on_document ? error : visitor->on_document(context, &document);
}

static int read_base(struct json_reader *reader, const struct chrome_visitor *visitor,
		     void *context)
{
	struct chrome_document document = {0};

	document.base_ns = json_fields_integer(json_reader_text(reader, NULL));
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
		return json_fields_wrong(reader, json_token_name(members[i].begin), token);
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
		return json_fields_wrong(
			reader, "an object with traceEvents, or an array of events", token);
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
