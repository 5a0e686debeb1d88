/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_config.c - a libFuzzer target: any bytes as text format, of three types of
 * messages
 *
 * What is read is printed and read again, and must be the same message; what is refused must say
 * why and where.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/parser.h"
#include "config/printer.h"

#include "every.pb-c.h"
#include "plain.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint8_t *pack(const ProtobufCMessage *message, size_t *ret_size)
{
	uint8_t *packed = malloc(protobuf_c_message_get_packed_size(message) + 1);

	if (!packed)
		abort();
	*ret_size = protobuf_c_message_pack(message, packed);
	return packed;
}

static void check_again(const ProtobufCMessage *message)
{
	struct config_report report = {.count = 0};
	struct string_builder text;
	ProtobufCMessage *again;
	uint8_t *packed[2];
	size_t sizes[2];

	string_builder_init(&text);
	config_format(message, &text);
	if (text.error || config_parse(string_builder_text(&text), text.length, message->descriptor,
				       NULL, &report, &again))
		abort();
	packed[0] = pack(message, &sizes[0]);
	packed[1] = pack(again, &sizes[1]);
	if (sizes[0] != sizes[1] || memcmp(packed[0], packed[1], sizes[0]) != 0)
		abort();
	free(packed[0]);
	free(packed[1]);
	protobuf_c_message_free_unpacked(again, NULL);
	string_builder_fini(&text);
}

static void check_report(const struct config_report *report)
{
	if (!report->count)
		abort();
	for (size_t i = 0; i < config_report_kept(report); i++)
		if (!report->problems[i].place.line || !report->problems[i].place.column ||
		    !*report->problems[i].text)
			abort();
}

static void read_as(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t size)
{
	struct config_report report = {.count = 0};
	ProtobufCMessage *message;

	if (config_parse((const char *)bytes, size, type, NULL, &report, &message)) {
		check_report(&report);
		return;
	}
	check_again(message);
	protobuf_c_message_free_unpacked(message, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	ProtobufCMessage *config = config_message_new();

	if (!config)
		abort();
	read_as(config->descriptor, bytes, size);
	protobuf_c_message_free_unpacked(config, NULL);
	read_as(&every__every__descriptor, bytes, size);
	read_as(&plain__plain__descriptor, bytes, size);
	return 0;
}
