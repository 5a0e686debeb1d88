/* SPDX-License-Identifier: MIT
 *
 * import/perfetto/event.c - an event of a track: slice, instant or counter, with its arguments
 *
 * Runs in:  our own process
 * Gets:     TrackEvent
 * Gives:    its parts that duet uses
 * Owns:     the meaning of each text
 * Fails:    -ENOMEM; arguments with unknown keys are skipped
 * Why meanings are kept by text: a slice of rocprofv3 has 18 arguments, and comparing each key with
 *           all known ones would take longer than the rest
 */
#include "import/perfetto/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "perfetto_trace.numbers.h"

struct role {
	const char *text;
	uint16_t meaning;
};

static const struct role category_roles[] = {
	{"api", PERFETTO_API},
	{"launch", PERFETTO_LAUNCH},
	{"wait", PERFETTO_WAIT},
	{"off-cpu", PERFETTO_OFF_CPU},
	{"kernel", PERFETTO_KERNEL},
	{"copy", PERFETTO_COPY},
	{"other", PERFETTO_OTHER},
	{"rejected", PERFETTO_REJECTED},
	{"loss", PERFETTO_LOSS},
	{"duet", PERFETTO_META},
	{"range", PERFETTO_RANGE},
	{"kernel_dispatch", PERFETTO_KERNEL | PERFETTO_ROCPROF},
	{"memory_copy", PERFETTO_COPY | PERFETTO_ROCPROF},
	{"hip_api", PERFETTO_API | PERFETTO_ROCPROF},
	{"hsa_api", PERFETTO_API | PERFETTO_ROCPROF},
	{"hip_runtime_api", PERFETTO_API | PERFETTO_ROCPROF},
	{"hip_compiler_api", PERFETTO_API | PERFETTO_ROCPROF},
	{"rccl_api", PERFETTO_API | PERFETTO_ROCPROF},
	{"rocdecode_api", PERFETTO_API | PERFETTO_ROCPROF},
	{"rocjpeg_api", PERFETTO_API | PERFETTO_ROCPROF},
	{"marker_api", PERFETTO_RANGE | PERFETTO_ROCPROF},
};

static const struct role argument_roles[] = {
	{"corr_id", ARGUMENT_CORRELATION},
	{"correlation", ARGUMENT_CORRELATION},
	{"agent", ARGUMENT_AGENT},
	{"agent_type", ARGUMENT_AGENT_TYPE},
	{"src_agent", ARGUMENT_SOURCE},
	{"dst_agent", ARGUMENT_DESTINATION},
	{"queue", ARGUMENT_QUEUE},
	{"stream_ID", ARGUMENT_STREAM},
	{"grid_size", ARGUMENT_GRID},
	{"workgroup_size", ARGUMENT_GROUP},
	{"global_size", ARGUMENT_GLOBAL},
	{"local_size", ARGUMENT_LOCAL},
	{"bytes", ARGUMENT_BYTES},
	{"copy_bytes", ARGUMENT_BYTES},
	{"result", ARGUMENT_RESULT},
	{"argument", ARGUMENT_ARGUMENT},
	{"status", ARGUMENT_STATUS},
	{"command", ARGUMENT_COMMAND},
	{"domain", ARGUMENT_DOMAIN},
	{"no_launch", ARGUMENT_NO_LAUNCH},
	{"no_execution", ARGUMENT_NO_EXECUTION},
	{"queued_to_submitted_ns", ARGUMENT_QUEUED_TO_SUBMITTED},
	{"submitted_to_started_ns", ARGUMENT_SUBMITTED_TO_STARTED},
	{"open", ARGUMENT_OPEN},
	{"unbegun", ARGUMENT_UNBEGUN},
	{"further", ARGUMENT_FURTHER},
};

void perfetto_roles_fini(struct perfetto_roles *roles)
{
	free(roles->categories);
	free(roles->arguments);
}

static uint16_t find_role(const struct role *roles, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(roles[i].text, text) == 0)
			return roles[i].meaning;
	return 0;
}

static int category_of(struct perfetto_roles *roles, struct perfetto_sequences *sequences,
		       uint32_t text, uint32_t *categories)
{
	if (!text)
		return 0;
	if (array_grow(roles->categories, roles->categories_capacity, text))
		return -ENOMEM;
	if (!roles->categories[text - 1])
		roles->categories[text - 1] =
			find_role(category_roles, ARRAY_COUNT(category_roles),
				  string_table_text(&sequences->texts, text, NULL)) +
			1;
	*categories |= roles->categories[text - 1] - 1u;
	return 0;
}

static int argument_of(struct perfetto_roles *roles, struct perfetto_sequences *sequences,
		       uint32_t text, uint16_t *ret_argument)
{
	*ret_argument = ARGUMENT_NONE;
	if (!text)
		return 0;
	if (array_grow(roles->arguments, roles->arguments_capacity, text))
		return -ENOMEM;
	if (!roles->arguments[text - 1])
		roles->arguments[text - 1] =
			find_role(argument_roles, ARRAY_COUNT(argument_roles),
				  string_table_text(&sequences->texts, text, NULL)) +
			1;
	*ret_argument = roles->arguments[text - 1] - 1;
	return 0;
}

/* ---- arguments ---- */

struct reader {
	struct perfetto_event *event;
	struct perfetto_roles *roles;
	struct perfetto_sequences *sequences;
	const struct perfetto_sequence *sequence;
};

static int find_argument(const struct reader *reader, struct wire message, uint16_t *ret_argument)
{
	struct wire_field field;
	uint32_t name = 0;
	int error = 0;

	while (!error && wire_next(&message, &field)) {
		if (field.number == PF_DEBUG_ANNOTATION_NAME_IID)
			name = (uint32_t)perfetto_sequence_get(
				reader->sequence, PF_INTERNED_DATA_DEBUG_ANNOTATION_NAMES,
				field.value);
		else if (field.number == PF_DEBUG_ANNOTATION_NAME)
			error = perfetto_sequences_text(reader->sequences, &field, &name);
	}
	return error ? error : argument_of(reader->roles, reader->sequences, name, ret_argument);
}

static int read_argument(const struct reader *reader, struct wire message)
{
	struct perfetto_value value = {.is_known = true};
	struct wire_field field;
	uint16_t argument = ARGUMENT_NONE;
	int error = find_argument(reader, message, &argument);

	if (error || argument == ARGUMENT_NONE)
		return error;
	while (!error && wire_next(&message, &field)) {
		switch (field.number) {
		case PF_DEBUG_ANNOTATION_BOOL_VALUE:
		case PF_DEBUG_ANNOTATION_UINT_VALUE:
		case PF_DEBUG_ANNOTATION_INT_VALUE:
			value.number = (int64_t)field.value;
			break;
		case PF_DEBUG_ANNOTATION_STRING_VALUE:
			error = perfetto_sequences_text(reader->sequences, &field, &value.text);
			break;
		case PF_DEBUG_ANNOTATION_STRING_VALUE_IID:
			value.text = (uint32_t)perfetto_sequence_get(
				reader->sequence, PF_INTERNED_DATA_DEBUG_ANNOTATION_STRING_VALUES,
				field.value);
			break;
		default:
			break;
		}
	}
	reader->event->arguments[argument] = value;
	return error;
}

/* ---- the event ---- */

/* An event as older versions of Perfetto and Chrome write it. */
static void read_legacy(struct perfetto_event *event, struct wire message)
{
	uint64_t phase = wire_number(message, PF_LEGACY_EVENT_PHASE, 0);
	int64_t duration_us = (int64_t)wire_number(message, PF_LEGACY_EVENT_DURATION_US, 0);

	if (phase == 'B')
		event->type = PF_TYPE_SLICE_BEGIN;
	else if (phase == 'E')
		event->type = PF_TYPE_SLICE_END;
	else if (phase == 'X' && duration_us >= 0 && duration_us < INT64_MAX / 4000)
		event->duration_ns = duration_us * 1000;
}

static double double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int read_text(const struct reader *reader, const struct wire_field *field)
{
	struct perfetto_event *event = reader->event;
	uint32_t text = 0;
	int error;

	switch (field->number) {
	case PF_TRACK_EVENT_CATEGORY_IIDS:
		text = (uint32_t)perfetto_sequence_get(
			reader->sequence, PF_INTERNED_DATA_EVENT_CATEGORIES, field->value);
		return category_of(reader->roles, reader->sequences, text, &event->categories);
	case PF_TRACK_EVENT_CATEGORIES:
		error = perfetto_sequences_text(reader->sequences, field, &text);
		return error ? error
			     : category_of(reader->roles, reader->sequences, text,
					   &event->categories);
	case PF_TRACK_EVENT_NAME_IID:
		event->name = (uint32_t)perfetto_sequence_get(
			reader->sequence, PF_INTERNED_DATA_EVENT_NAMES, field->value);
		return 0;
	case PF_TRACK_EVENT_NAME:
		return perfetto_sequences_text(reader->sequences, field, &event->name);
	case PF_TRACK_EVENT_DEBUG_ANNOTATIONS:
		return field->type == WIRE_BYTES ? read_argument(reader, wire_inside(field)) : 0;
	default:
		return 0;
	}
}

static int read_field(const struct reader *reader, const struct wire_field *field)
{
	struct perfetto_event *event = reader->event;

	switch (field->number) {
	case PF_TRACK_EVENT_TYPE:
		event->type = field->value;
		return 0;
	case PF_TRACK_EVENT_TRACK_UUID:
		event->track = field->value;
		return 0;
	case PF_TRACK_EVENT_FLOW_IDS:
	case PF_TRACK_EVENT_TERMINATING_FLOW_IDS:
		event->flow = field->value;
		return 0;
	case PF_TRACK_EVENT_COUNTER_VALUE:
		event->has_value = event->is_whole = true;
		event->whole_value = (int64_t)field->value;
		return 0;
	case PF_TRACK_EVENT_DOUBLE_COUNTER_VALUE:
		event->has_value = true;
		event->value = double_of(field->value);
		return 0;
	case PF_TRACK_EVENT_LEGACY_EVENT:
		if (field->type == WIRE_BYTES)
			read_legacy(event, wire_inside(field));
		return 0;
	default:
		return read_text(reader, field);
	}
}

int perfetto_event_read(struct perfetto_event *event, struct perfetto_roles *roles,
			struct perfetto_sequences *sequences,
			const struct perfetto_sequence *sequence, struct wire message)
{
	const struct reader reader = {event, roles, sequences, sequence};
	struct wire_field field;
	int error = 0;

	event->duration_ns = -1;
	while (!error && wire_next(&message, &field))
		error = read_field(&reader, &field);
	return error;
}
