/* SPDX-License-Identifier: MIT
 *
 * config/value.h - one value of a field: from words of the text format, into a message, to text
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

/* A value as it is written. */
struct literal {
	struct config_place place;
	bool is_negative, is_string;
	struct token token; /* without the sign; of a string the first piece */
	const char *string; /* without escapes; length bytes and a NUL */
	size_t length;
};

/* What a message holds of a field, by its type. */
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

/* Strings and bytes are copied. Errors: -EINVAL with a problem in the report, -ENOMEM. */
int config_value_read(const ProtobufCFieldDescriptor *field, const struct literal *literal,
		      struct config_report *report, union config_value_store *ret_value);

/* "'FIELD' takes WHAT IT TAKES, not FOUND". Returns -EINVAL. */
int config_value_refuse(const ProtobufCFieldDescriptor *field, struct config_place place,
			const char *found, struct config_report *report);

/* Puts it into the message, which owns it then; of a repeated field behind the others. -ENOMEM. */
int config_value_store(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
		       const union config_value_store *value);

/* Where the last value of a field is that has one. */
void *config_value_last(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field);

/* Bytes of one value in a message. */
size_t config_value_size(ProtobufCType type);

/* As the text format has it, a string in quotes; no message. */
void config_value_format(const ProtobufCFieldDescriptor *field, const void *member,
			 struct string_builder *text);

#endif
