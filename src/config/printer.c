/* SPDX-License-Identifier: MIT
 *
 * config/printer.c - print a config in protobuf's text format
 *
 * Runs in:  our own process
 * Gets:     the values of a config
 * Gives:    their text
 * Owns:     nothing
 * Fails:    never; the builder keeps -ENOMEM
 * Why the schema's order: values come from options, files and the command line in any order
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "config/config_private.h"

enum { MAX_PATH = 256 };

static void format_escape(unsigned char byte, struct string_builder *text)
{
	const char *named = byte ? strchr("\nn\rr\tt\"\"\\\\", byte) : NULL;

	/* the list has pairs: a character and its escape letter */
	if (named)
		string_builder_appendf(text, "\\%c", named[1]);
	else
		string_builder_appendf(text, "\\%03o", byte);
}

static bool is_plain(unsigned char byte)
{
	return byte != '"' && byte != '\\';
}

/* Keeps printable UTF-8 and escapes all other bytes. */
static void format_string(const char *bytes, struct string_builder *text)
{
	size_t length = strlen(bytes);

	string_builder_append_char(text, '"');
	for (size_t i = 0; i < length;) {
		int shown = utf8_printable(bytes + i, length - i);
		size_t size = (size_t)(shown < 0 ? -shown : shown);

		if (shown > 0 && is_plain((unsigned char)bytes[i]))
			string_builder_append_bytes(text, bytes + i, size);
		else
			for (size_t j = 0; j < size; j++)
				format_escape((unsigned char)bytes[i + j], text);
		i += size;
	}
	string_builder_append_char(text, '"');
}

static void format_fields(const struct config *config, const ProtobufCMessageDescriptor *type,
			  const char *group, int indent, struct string_builder *text);

static void format_values(const struct config *config, const ProtobufCFieldDescriptor *field,
			  const struct config_value *first, struct string_builder *text)
{
	bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;

	for (const struct config_value *value = first; value;) {
		if (is_list)
			string_builder_append(text, value == first ? "[" : ", ");
		if (field->type == PROTOBUF_C_TYPE_STRING)
			format_string(value->text, text);
		else
			string_builder_append(text, value->text);
		value = is_list ? config_next(config, first->path, value) : NULL;
	}
	if (is_list)
		string_builder_append_char(text, ']');
}

static void format_field(const struct config *config, const ProtobufCFieldDescriptor *field,
			 const char *path, int indent, struct string_builder *text)
{
	const struct config_value *value = config_next(config, path, NULL);

	if (!value)
		return;
	string_builder_appendf(text, "%*s%s", indent, "", field->name);
	if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		string_builder_append(text, " {\n");
		format_fields(config, field->descriptor, path, indent + 2, text);
		string_builder_appendf(text, "%*s}", indent, "");
	} else {
		string_builder_append(text, ": ");
		format_values(config, field, value, text);
	}
	string_builder_append_char(text, '\n');
}

static void format_fields(const struct config *config, const ProtobufCMessageDescriptor *type,
			  const char *group, int indent, struct string_builder *text)
{
	char path[MAX_PATH];

	for (unsigned i = 0; i < type->n_fields; i++) {
		snprintf(path, sizeof(path), "%s%s%s", group, *group ? "." : "",
			 type->fields[i].name);
		format_field(config, &type->fields[i], path, indent, text);
	}
}

void config_format(const struct config *config, struct string_builder *text)
{
	format_fields(config, config->type, "", 0, text);
}
