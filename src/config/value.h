/* SPDX-License-Identifier: MIT
 *
 * config/value.h - one value of a field: check it and bring it into its usual form
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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

/* Appends the text of a value: a string without quotes, a decimal number, true or false, the name
 * of an enum's value. The types are those that proto/duet_config.proto has: bool, uint32, uint64,
 * string, enum. Errors: -EINVAL with a problem in the report. The builder keeps -ENOMEM. */
int config_value_read(const ProtobufCFieldDescriptor *field, const struct literal *literal,
		      struct config_report *report, struct string_builder *text);

/* Reports "'FIELD' takes EXPECTED, not FOUND". Returns -EINVAL. */
int config_value_refuse(const ProtobufCFieldDescriptor *field, struct config_place place,
			const char *found, struct config_report *report);
