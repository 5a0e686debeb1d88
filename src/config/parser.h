/* SPDX-License-Identifier: MIT
 *
 * config/parser.h - parse protobuf's text format into a message of any protobuf-c type
 */
#ifndef CONFIG_PARSER_H
#define CONFIG_PARSER_H

#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "config/report.h"

enum { MAX_CONFIG_DEPTH = 64 };

/* Called for each value when it is stored; for a message before its fields. */
struct config_listener {
	/* path: field names joined by dots, such as "system.rate_hz"; member: address of the value,
	 * of the field's type. Returning -errno ends the parsing. */
	int (*on_value)(void *context, const char *path, const ProtobufCFieldDescriptor *field,
			const void *member, struct config_place place);
	void *context;
};

/* Parses `length` bytes of text. The report must be empty before and receives all problems up to
 * the first syntax error; parsing continues after an unknown field or an invalid value. listener
 * and ret_message may be NULL. Free the message with protobuf_c_message_free_unpacked(message,
 * NULL).
 * Errors: -EINVAL with a problem in the report, -ENOMEM, the listener's error. */
int config_parse(const char *text, size_t length, const ProtobufCMessageDescriptor *type,
		 const struct config_listener *listener, struct config_report *report,
		 ProtobufCMessage **ret_message);

/* Sets a field that has no value, or appends to a repeated field. path: as above; missing messages
 * in it are created. text: a string without quotes, "" for a message, other types as in the text
 * format. Errors: -EINVAL: no such field, or an invalid value; -ENOMEM. */
int config_set(ProtobufCMessage *message, const char *path, const char *text);

#endif
