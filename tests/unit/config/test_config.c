/* SPDX-License-Identifier: MIT
 *
 * tests/unit/config/test_config.c - a file's values, and files that cannot be read
 */
#include "config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "config/config_private.h"
#include "harness.h"

static char path[] = "/tmp/test_config.XXXXXX";

static int open_text(const char *text, struct config_report *report, struct config **ret_config)
{
	int fd = mkstemp(path), error;

	write_all(fd, text, strlen(text));
	close(fd);
	error = config_open(path, report, ret_config);
	unlink(path);
	memcpy(strrchr(path, '.') + 1, "XXXXXX", 6);
	return error;
}

TEST(values_in_their_order)
{
	struct config_report report = {.count = 0};
	const struct config_value *value;
	struct config *config;

	REQUIRE(!open_text("pid: [12, 0x10]\nstacks: python all: t\npid: 5 output: 'a\\tb'\n",
			   &report, &config));
	value = config_next(config, "pid", NULL);
	REQUIRE(value);
	CHECK_TEXT(value->text, "12");
	value = config_next(config, "pid", value);
	REQUIRE(value);
	CHECK_TEXT(value->text, "16");
	CHECK_EQUAL(value->place.column, 11);
	value = config_next(config, "pid", value);
	REQUIRE(value);
	CHECK_TEXT(value->text, "5");
	CHECK_EQUAL(value->place.line, 3);
	CHECK(!config_next(config, "pid", value));
	CHECK_TEXT(config_next(config, "stacks", NULL)->text, "python");
	CHECK_TEXT(config_next(config, "all", NULL)->text, "true");
	CHECK_TEXT(config_next(config, "output", NULL)->text, "a\tb");
	CHECK(!config_next(config, "user", NULL));
	config_forget(config, "pid");
	CHECK(!config_next(config, "pid", NULL));
	CHECK(config_next(config, "output", NULL));
	config_close(config);
}

TEST(groups_with_what_is_in_them)
{
	static const char *const paths[] = {"system", "system.rate_hz", "system.smaps"};
	struct config_report report = {.count = 0};
	const struct config_value *value = NULL;
	struct config *config;

	REQUIRE(!open_text("system { rate_hz: 5 smaps: false } nvidia {}", &report, &config));
	for (size_t i = 0; i < 3; i++) {
		value = config_next(config, "system", value);
		REQUIRE(value);
		CHECK_TEXT(value->path, paths[i]);
	}
	CHECK_TEXT(value->text, "false");
	CHECK(!config_next(config, "system", value));
	CHECK_TEXT(config_next(config, "system.rate_hz", NULL)->text, "5");
	CHECK(!config_next(config, "sys", NULL));
	CHECK_TEXT(config_next(config, "nvidia", NULL)->text, "");
	config_forget(config, "system");
	CHECK(!config_next(config, "system.rate_hz", NULL));
	CHECK(config_next(config, "nvidia", NULL));
	config_close(config);
}

/* Each group of a list has a value of its own before its fields. */
TEST(lists_of_groups)
{
	static const char *const paths[] = {"agent.include", "agent.include.command",
					    "agent.include.command", "agent.include",
					    "agent.include.user"};
	static const char *const texts[] = {"", "a*", "b", "", "root"};
	struct config_report report = {.count = 0};
	const struct config_value *value = NULL;
	struct config *config;

	REQUIRE(!open_text("agent { include { command: ['a*', 'b'] } exclude {}\n"
			   "include { user: 'root' } }",
			   &report, &config));
	for (size_t i = 0; i < 5; i++) {
		value = config_next(config, "agent.include", value);
		REQUIRE(value);
		CHECK_TEXT(value->path, paths[i]);
		CHECK_TEXT(value->text, texts[i]);
	}
	CHECK(!config_next(config, "agent.include", value));
	config_close(config);
}

TEST(mistakes)
{
	struct config_report report = {.count = 0};
	struct config *config;

	CHECK_EQUAL(open_text("outptu: 'x'", &report, &config), -EINVAL);
	REQUIRE(report.count == 1);
	CHECK_TEXT(report.problems[0].text, "unknown field 'outptu'; did you mean 'output'?");
}

TEST(files_that_cannot_be_read)
{
	struct config_report report = {.count = 0};
	struct config *config;

	CHECK_EQUAL(config_open("/no/such/file", &report, &config), -ENOENT);
	CHECK_TEXT(error_text(), "open '/no/such/file': No such file or directory");
	CHECK_EQUAL(config_open("/", &report, &config), -EISDIR);
	CHECK_TEXT(error_text(), "read '/': Is a directory");
	CHECK_EQUAL(config_open("/dev/zero", &report, &config), -EFBIG);
	CHECK_TEXT(error_text(), "read '/dev/zero': File too large");
	CHECK_EQUAL(report.count, 0);
	error_clear();
}

/* src/config reads only these types. Lists of groups are read, but config_format does not write
 * them. */
static void check_types(const ProtobufCMessageDescriptor *type)
{
	static const ProtobufCType types[] = {PROTOBUF_C_TYPE_BOOL,   PROTOBUF_C_TYPE_UINT32,
					      PROTOBUF_C_TYPE_UINT64, PROTOBUF_C_TYPE_STRING,
					      PROTOBUF_C_TYPE_ENUM,   PROTOBUF_C_TYPE_MESSAGE};

	for (unsigned i = 0; i < type->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &type->fields[i];
		bool is_known = false, is_group = field->type == PROTOBUF_C_TYPE_MESSAGE;

		for (size_t j = 0; j < sizeof(types) / sizeof(types[0]); j++)
			is_known |= field->type == types[j];
		CHECK(is_known);
		CHECK(field->label == PROTOBUF_C_LABEL_OPTIONAL ||
		      field->label == PROTOBUF_C_LABEL_REPEATED);
		CHECK(!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF));
		if (is_group)
			check_types(field->descriptor);
	}
}

TEST(types_of_the_schema)
{
	struct config *config;

	REQUIRE(config_new(NULL, &config) == 0);
	check_types(config->type);
	config_close(config);
}

int main(void)
{
	RUN(types_of_the_schema);
	RUN(values_in_their_order);
	RUN(groups_with_what_is_in_them);
	RUN(lists_of_groups);
	RUN(mistakes);
	RUN(files_that_cannot_be_read);
	return harness_end();
}
