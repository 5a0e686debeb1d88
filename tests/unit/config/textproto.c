/* SPDX-License-Identifier: MIT
 *
 * tests/unit/config/textproto.c - text format in, text format out, by src/config alone
 *
 *	textproto every|config < TEXT
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

#include "every.pb-c.h"

static void print(const struct config *config)
{
	struct string_builder text;

	string_builder_init(&text);
	config_format(config, &text);
	fwrite(string_builder_text(&text), 1, text.length, stdout);
	string_builder_fini(&text);
}

int main(int argc, char **argv)
{
	struct config_report report = {.count = 0};
	struct config *config = NULL;
	auto_free char *text = NULL;
	size_t length;
	int error;

	if (argc != 2 || read_fd(STDIN_FILENO, 0, &text, &length) ||
	    config_new(strcmp(argv[1], "every") == 0 ? &every__every__descriptor : NULL, &config))
		return 2;
	error = config_parse(config, text, length, &report);
	for (size_t i = 0; i < config_report_kept(&report); i++)
		fprintf(stderr, "%u:%u: %s\n", report.problems[i].place.line,
			report.problems[i].place.column, report.problems[i].text);
	if (!error)
		print(config);
	config_close(config);
	return error != 0;
}
