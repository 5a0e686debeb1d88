/* SPDX-License-Identifier: MIT
 *
 * config/parser.h - protobuf's text format as a message of any type that protobuf-c knows
 */
#ifndef CONFIG_PARSER_H
#define CONFIG_PARSER_H

#include <stddef.h>

#include <protobuf-c/protobuf-c.h>

#include "config/report.h"

enum { CONFIG_DEPTH_MOST = 64 };

/* Is told of each value as it is stored, of a message before those in it. */
struct config_listener {
	/* path: names of fields with dots between, such as "system.rate_hz"; member: where the value is, of the field's
	 * type. Errors: -errno, which ends the parsing. */
	int (*on_value)(void *context, const char *path, const ProtobufCFieldDescriptor *field,
			const void *member, struct config_place place);
	void *context;
};

/* Reads `length` bytes of text. What is wrong goes into the report, which is empty before: of a misspelt field or value
 * parsing goes on behind it, so that a report has all of them up to the first place where no field could be read. Of
 * listener and ret_message each may be NULL; the message is freed by protobuf_c_message_free_unpacked(message, NULL).
 * Errors: -EINVAL with a problem in the report, -ENOMEM, what the listener returned. */
int config_parse(const char *text, size_t length, const ProtobufCMessageDescriptor *type,
		 const struct config_listener *listener, struct config_report *report,
		 ProtobufCMessage **ret_message);

/* Gives a field that has no value one, or a repeated one a further one. path: as above; messages on it are made. text:
 * a string as it is, "" of a message, anything else as the text format takes it. Errors: -EINVAL where there is no such field, or it
 * takes no such value, -ENOMEM. */
int config_set(ProtobufCMessage *message, const char *path, const char *text);

#endif
