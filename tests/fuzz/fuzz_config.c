/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_config.c - a libFuzzer target: any bytes as text format, of two types of messages
 *
 * What is read is printed and read again, and must be the same; what is refused must say why and
 * where.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/parser.h"

#include "every.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_report(const struct config_report *report)
{
	if (!report->count)
		abort();
	for (size_t i = 0; i < config_report_kept(report); i++)
		if (!report->problems[i].place.line || !report->problems[i].place.column ||
		    !*report->problems[i].text)
			abort();
}

/* False: the text is refused. */
static bool print_again(const ProtobufCMessageDescriptor *type, const char *text, size_t length,
			struct string_builder *printed)
{
	struct config_report report = {.count = 0};
	struct config *config;
	bool is_read;

	if (config_new(type, &config))
		abort();
	is_read = config_parse(config, text, length, &report) == 0;
	if (is_read)
		config_format(config, printed);
	else
		check_report(&report);
	config_close(config);
	return is_read;
}

static void read_as(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t size)
{
	struct string_builder first, second;

	string_builder_init(&first);
	string_builder_init(&second);
	if (print_again(type, (const char *)bytes, size, &first) &&
	    (!print_again(type, string_builder_text(&first), first.length, &second) ||
	     strcmp(string_builder_text(&first), string_builder_text(&second)) != 0))
		abort();
	string_builder_fini(&first);
	string_builder_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	read_as(NULL, bytes, size);
	read_as(&every__every__descriptor, bytes, size);
	return 0;
}
