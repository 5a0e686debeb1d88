/* SPDX-License-Identifier: MIT
 *
 * config/value.h - one value of a field: parse it, store it in a message, format it as text
 */
#ifndef CONFIG_VALUE_H
#define CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "base/string.h"
#include "config/lexer.h"
#include "config/report.h"

/* A value as written in the text. */
struct literal {
	struct config_place place;
	bool is_negative, is_string;
	struct token token; /* without the sign; for a string its first piece */
	const char *string; /* without escapes; length bytes and a NUL */
	size_t length;
};

/* The value of a field in a message, by its type. */
union config_value_store {
	int32_t signed32;
	uint32_t unsigned32;
	int64_t signed64;
	uint64_t unsigned64;
	float single;
	double twofold;
	protobuf_c_boolean boolean;
	char *string;
	ProtobufCBinaryData bytes;
	ProtobufCMessage *message;
};

/* Parses a value. Strings and bytes are copied. Errors: -EINVAL with a problem in the report,
 * -ENOMEM. */
int config_value_read(const ProtobufCFieldDescriptor *field, const struct literal *literal,
		      struct config_report *report, union config_value_store *ret_value);

/* Reports "'FIELD' takes EXPECTED, not FOUND". Returns -EINVAL. */
int config_value_refuse(const ProtobufCFieldDescriptor *field, struct config_place place,
			const char *found, struct config_report *report);

/* Stores a value in the message, which then owns it; in a repeated field after the others. Errors:
 * -ENOMEM. */
int config_value_store(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
		       const union config_value_store *value);

/* Address of the last value of a field, which must have one. */
void *config_value_last(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field);

/* Bytes of one value in a message. */
size_t config_value_size(ProtobufCType type);

/* Appends the value in the text format, a string in quotes. Not for messages. */
void config_value_format(const ProtobufCFieldDescriptor *field, const void *member,
			 struct string_builder *text);

#endif
