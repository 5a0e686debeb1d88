/* SPDX-License-Identifier: MIT
 *
 * cli/option_file.c - a configuration file beneath the options of a command line
 *
 * Runs in:  our own process
 * Gets:     the rows of a command, its values as the command line has them, a file   Gives: the values completed
 * Owns:     the file's texts, to which values point
 * Fails:    -EINVAL after it printed every mistake with its place
 * Why:      by the rows of the command line, not by a second table: a field takes what its option takes, with the same
 *           check and the same words, and an option that is added is looked for in the file at once
 */
#include "cli/option_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "cli/command.h"
#include "config/parser.h"

enum { NAME_SIZE = 64 };

void option_file_init(struct option_file *file, const struct option_row *rows)
{
	*file = (struct option_file){.rows = rows};
}

void option_file_fini(struct option_file *file)
{
	config_close(file->config);
	for (size_t i = 0; i < OPTION_FILE_ROWS_MOST; i++)
		free(file->lists[i]);
	option_file_init(file, file->rows);
}

static void print_problems(const struct option_file *file, const char *verb,
			   const struct config_report *report)
{
	size_t kept = config_report_kept(report);
	struct config_value value;
	char text[2048];

	for (size_t i = 0; i < kept; i++) {
		value.place = report->problems[i].place;
		snprintf(text, sizeof(text), "%s: %s", option_file_place(file, &value).text,
			 report->problems[i].text);
		print_error(verb, text);
	}
	if (report->count > kept) {
		snprintf(text, sizeof(text), "%s: %zu more mistakes are not shown", file->path,
			 report->count - kept);
		print_error(verb, text);
	}
}

int option_file_open(struct option_file *file, const char *verb, const char *path)
{
	struct config_report report = {.count = 0};
	int error;

	file->path = path;
	error = config_open(path, &report, &file->config);
	if (error && report.count)
		print_problems(file, verb, &report);
	else if (error)
		print_error(verb, NULL);
	return error;
}

/* ---- values ------------------------------------------------------------------------------------ */

/* Returns field. */
static const char *field_of(const struct option_row *row, char field[NAME_SIZE])
{
	snprintf(field, NAME_SIZE, "%s", row->name);
	for (char *at = field; *at; at++)
		if (*at == '-')
			*at = '_';
	return field;
}

/* All values of a field, as the command line writes a list. A word of a list has no comma, and is not nothing. */
static int join(struct option_file *file, const struct config_value *value, const char **ret_text)
{
	char **list = &file->lists[0];
	struct string_builder text;

	while (*list)
		list++;
	string_builder_init(&text);
	for (; value; value = config_next(file->config, value->path, value)) {
		if (!*value->text || strchr(value->text, ',')) {
			string_builder_fini(&text);
			return error_set(
				-EINVAL,
				"%s: '%s' takes words, each in quotes of its own, not '%s'",
				option_file_place(file, value).text, value->path, value->text);
		}
		string_builder_appendf(&text, "%s%s", text.length ? "," : "", value->text);
	}
	*list = string_builder_take(&text);
	if (!*list)
		return error_set(-ENOMEM, "out of memory");
	*ret_text = *list;
	return 0;
}

static int apply_row(struct option_file *file, const struct option_row *row, void *values)
{
	char field[NAME_SIZE];
	const struct config_value *value = config_next(file->config, field_of(row, field), NULL);
	const char *text;
	int error;

	if (!value || option_is_said(row, values))
		return 0;
	text = value->text;
	file->said[row - file->rows] = value;
	if (row->type == OPTION_LIST) {
		error = join(file, value, &text);
		if (error)
			return error;
	}
	error = option_set(row, text, values);
	if (error)
		error_set(error, "%s: '%s' %s", option_file_place(file, value).text, field,
			  error_text());
	return error;
}

int option_file_apply(struct option_file *file, const char *verb, void *values)
{
	int first_error = 0;

	for (const struct option_row *row = file->rows; file->config && row->name; row++) {
		int error = apply_row(file, row, values);

		if (error)
			print_error(verb, NULL);
		if (!first_error)
			first_error = error;
	}
	return first_error;
}

const struct config_value *option_file_next(const struct option_file *file, const char *field,
					    const struct config_value *after)
{
	return file->config ? config_next(file->config, field, after) : NULL;
}

void option_file_forget(struct option_file *file, const char *field)
{
	if (file->config)
		config_forget(file->config, field);
}

/* ---- and back ---------------------------------------------------------------------------------- */

static int set_words(ProtobufCMessage *message, const char *field, const char *words)
{
	int error = 0;

	while (*words && !error) {
		size_t length = strcspn(words, ",");
		char *word = strndup(words, length);

		if (!word)
			return -ENOMEM;
		error = length ? config_set(message, field, word) : 0;
		free(word);
		words += length + (words[length] == ',');
	}
	return error;
}

int option_to_config(const struct option_row *row, const void *values, ProtobufCMessage *message)
{
	struct string_builder text;
	char field[NAME_SIZE];
	int error;

	string_builder_init(&text);
	option_format(row, values, &text);
	error = text.error;
	field_of(row, field);
	if (!error && row->type == OPTION_LIST)
		error = set_words(message, field, string_builder_text(&text));
	else if (!error)
		error = config_set(message, field, string_builder_text(&text));
	if (error)
		error_set(error, "--%s cannot be written as a field '%s' with the value '%s'",
			  row->name, field, string_builder_text(&text));
	string_builder_fini(&text);
	return error;
}

/* ---- names in messages ------------------------------------------------------------------------- */

struct shown option_file_place(const struct option_file *file, const struct config_value *value)
{
	struct shown shown;

	snprintf(shown.text, sizeof(shown.text), "%s:%u:%u", file->path, value->place.line,
		 value->place.column);
	return shown;
}

bool option_file_says(const struct option_file *file, const char *name)
{
	const struct option_row *row = option_find(file->rows, name);

	return row && file->said[row - file->rows];
}

struct shown option_file_name(const struct option_file *file, const char *name)
{
	const struct option_row *row = option_find(file->rows, name);
	const struct config_value *value = file->said[row - file->rows];
	struct shown shown;

	if (value)
		snprintf(shown.text, sizeof(shown.text), "%s:%u:%u: %s", file->path,
			 value->place.line, value->place.column, value->path);
	else if (row->letter)
		snprintf(shown.text, sizeof(shown.text), "-%c", row->letter);
	else
		snprintf(shown.text, sizeof(shown.text), "--%s", row->name);
	return shown;
}
