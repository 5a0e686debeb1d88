/* SPDX-License-Identifier: MIT
 *
 * config/printer.c - print a message in protobuf's text format
 *
 * Runs in:  our own process
 * Gets:     a message of any type
 * Gives:    its text
 * Owns:     nothing
 * Fails:    never; the builder keeps -ENOMEM
 * Why descriptors: the printer uses the same descriptors as the parser, so it prints everything
 *           that the parser reads. One test checks both: a text that is parsed, printed and parsed
 *           again gives the same message
 */
#include "config/printer.h"

#include <string.h>

#include "config/value.h"

static void format_fields(const ProtobufCMessage *message, int indent, struct string_builder *text);

static const void *member_of(const ProtobufCMessage *message, size_t offset)
{
	return (const char *)message + offset;
}

/* Number of values of a field: 0 or 1 unless it is repeated. A proto3 field without presence counts
 * unless it is 0. */
static size_t count_values(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	static const union config_value_store nothing;
	const void *member = member_of(message, field->offset);
	uint32_t quantifier;

	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return *(const size_t *)member_of(message, field->quantifier_offset);
	memcpy(&quantifier, member_of(message, field->quantifier_offset), sizeof(quantifier));
	if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		return quantifier == field->id;
	if (field->label == PROTOBUF_C_LABEL_REQUIRED)
		return 1;
	if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE) {
		const void *pointer = *(void *const *)member;

		return pointer && pointer != field->default_value;
	}
	if (field->quantifier_offset)
		return quantifier != 0;
	return memcmp(member, &nothing, config_value_size(field->type)) != 0;
}

static void format_message(const ProtobufCMessage *message, int indent, struct string_builder *text)
{
	string_builder_append(text, "{\n");
	format_fields(message, indent + 2, text);
	string_builder_appendf(text, "%*s}", indent, "");
}

static void format_value(const ProtobufCFieldDescriptor *field, const void *member, int indent,
			 struct string_builder *text)
{
	if (field->type == PROTOBUF_C_TYPE_MESSAGE)
		format_message(*(ProtobufCMessage *const *)member, indent, text);
	else
		config_value_format(field, member, text);
}

static void format_field(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
			 int indent, struct string_builder *text)
{
	bool is_message = field->type == PROTOBUF_C_TYPE_MESSAGE;
	size_t count = count_values(message, field), size = config_value_size(field->type);
	const char *values = member_of(message, field->offset);

	if (!count)
		return;
	string_builder_appendf(text, "%*s%s%s ", indent, "", field->name, is_message ? "" : ":");
	if (field->label != PROTOBUF_C_LABEL_REPEATED) {
		format_value(field, values, indent, text);
		string_builder_append_char(text, '\n');
		return;
	}
	values = *(char *const *)values;
	for (size_t i = 0; i < count; i++) {
		string_builder_append(text, i ? ", " : "[");
		format_value(field, values + i * size, indent, text);
	}
	string_builder_append(text, "]\n");
}

static void format_fields(const ProtobufCMessage *message, int indent, struct string_builder *text)
{
	for (unsigned i = 0; i < message->descriptor->n_fields; i++)
		format_field(message, &message->descriptor->fields[i], indent, text);
}

void config_format(const ProtobufCMessage *message, struct string_builder *text)
{
	format_fields(message, 0, text);
}
