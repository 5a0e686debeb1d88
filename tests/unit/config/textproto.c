/* SPDX-License-Identifier: MIT
 *
 * tests/unit/config/textproto.c - text format in, bytes or text format out, by src/config alone
 *
 *	textproto every|plain|config pack|print < TEXT
 *
 * Status 1 where the text is refused; what is wrong goes to stderr, "LINE:COLUMN: what".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "config/config.h"
#include "config/parser.h"
#include "config/printer.h"

#include "every.pb-c.h"
#include "plain.pb-c.h"

static const ProtobufCMessageDescriptor *find_type(const char *name)
{
	static const ProtobufCMessageDescriptor *config;
	ProtobufCMessage *message;

	if (strcmp(name, "every") == 0)
		return &every__every__descriptor;
	if (strcmp(name, "plain") == 0)
		return &plain__plain__descriptor;
	message = config_message_new();
	if (message)
		config = message->descriptor;
	protobuf_c_message_free_unpacked(message, NULL);
	return config;
}

static void print(const ProtobufCMessage *message)
{
	struct string_builder text;

	string_builder_init(&text);
	config_format(message, &text);
	fwrite(string_builder_text(&text), 1, text.length, stdout);
	string_builder_fini(&text);
}

static void pack(const ProtobufCMessage *message)
{
	size_t size = protobuf_c_message_get_packed_size(message);
	auto_free uint8_t *bytes = malloc(size + 1);

	if (bytes)
		fwrite(bytes, 1, protobuf_c_message_pack(message, bytes), stdout);
}

int main(int argc, char **argv)
{
	struct config_report report = {.count = 0};
	ProtobufCMessage *message = NULL;
	auto_free char *text = NULL;
	size_t length;

	if (argc != 3 || read_fd(STDIN_FILENO, 0, &text, &length))
		return 2;
	if (config_parse(text, length, find_type(argv[1]), NULL, &report, &message)) {
		for (size_t i = 0; i < config_report_kept(&report); i++)
			fprintf(stderr, "%u:%u: %s\n", report.problems[i].place.line,
				report.problems[i].place.column, report.problems[i].text);
		return 1;
	}
	(strcmp(argv[2], "print") == 0 ? print : pack)(message);
	protobuf_c_message_free_unpacked(message, NULL);
	return 0;
}
