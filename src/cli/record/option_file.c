/* SPDX-License-Identifier: MIT
 *
 * cli/record/option_file.c - fill options that the command line leaves unset from a configuration
 * file
 *
 * Runs in:  our own process
 * Gets:     the option rows of a command, its values after the command line was parsed, a file
 * Gives:    the values, completed from the file
 * Owns:     the file's texts; values point into them
 * Fails:    -EINVAL after printing every mistake with its place
 * Why no second table: the rows that describe the command line also describe the file. A field
 *           accepts what its option accepts, with the same checks and messages, and a new option
 *           works in the file at once
 */
#include "cli/record/option_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "cli/command.h"

enum { NAME_SIZE = 64 };

void option_file_init(struct option_file *file, const struct option_row *rows)
{
	*file = (struct option_file){.rows = rows};
}

void option_file_fini(struct option_file *file)
{
	config_close(file->config);
	for (size_t i = 0; i < MAX_OPTION_FILE_ROWS; i++)
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

/* ---- values ---------------------------------------------------------------------------------- */

/* Returns field. */
static const char *field_of(const struct option_row *row, char field[NAME_SIZE])
{
	snprintf(field, NAME_SIZE, "%s", row->name);
	for (char *at = field; *at; at++)
		if (*at == '-')
			*at = '_';
	return field;
}

/* Joins all values of a field with commas, as in a list on the command line. A word must not be
 * empty or contain a comma. */
static int join_values(struct option_file *file, const struct config_value *value,
		       const char **ret_text)
{
	char **list = &file->lists[0];
	struct string_builder text = {0};

	while (*list)
		list++;
	for (; value; value = config_next(file->config, value->path, value)) {
		if (!*value->text || strchr(value->text, ',')) {
			string_builder_fini(&text);
			return error_set(
				-EINVAL, "%s: '%s' takes words, each in its own quotes, not '%s'",
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

	if (!value || option_is_set(row, values))
		return 0;
	text = value->text;
	file->said[row - file->rows] = value;
	if (row->type == OPTION_LIST) {
		error = join_values(file, value, &text);
		if (error)
			return error;
	}
	error = option_set(row, text, values);
	/* every value of a field that may be repeated */
	while (!error && row->type == OPTION_TEXTS &&
	       (value = config_next(file->config, field, value)))
		error = option_set(row, value->text, values);
	if (error)
		error_set(
			error, "%s: '%s' %s",
			option_file_place(file, value ? value : file->said[row - file->rows]).text,
			field, error_text());
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

/* ---- from options to a file ------------------------------------------------------------------ */

static int set_words(struct config *config, const char *field, const char *words)
{
	const char *at = words, *next;
	size_t length;
	int error = 0;

	while (!error && (next = word_list_next(&at, &length))) {
		char *word = strndup(next, length);

		if (!word)
			return -ENOMEM;
		error = length ? config_set(config, field, word) : 0;
		free(word);
	}
	return error;
}

static int set_texts(struct config *config, const char *field, const struct option_texts *texts)
{
	int error = 0;

	for (size_t i = 0; i < texts->count && !error; i++)
		error = config_set(config, field, texts->texts[i]);
	return error;
}

int option_to_config(const struct option_row *row, const void *values, struct config *config)
{
	const void *place = (const char *)values + row->offset;
	struct string_builder text = {0};
	char field[NAME_SIZE];
	int error;

	option_format(row, values, &text);
	error = text.error;
	field_of(row, field);
	if (!error && row->type == OPTION_TEXTS)
		error = set_texts(config, field, place);
	else if (!error && row->type == OPTION_LIST)
		error = set_words(config, field, string_builder_text(&text));
	else if (!error)
		error = config_set(config, field, string_builder_text(&text));
	if (error)
		error_set(error,
			  "--%s '%s' cannot be written to a configuration file as field '%s'",
			  row->name, string_builder_text(&text), field);
	string_builder_fini(&text);
	return error;
}

/* ---- names in messages ----------------------------------------------------------------------- */

struct shown option_file_place(const struct option_file *file, const struct config_value *value)
{
	struct shown shown;

	snprintf(shown.text, sizeof(shown.text), "%s:%u:%u", file->path, value->place.line,
		 value->place.column);
	return shown;
}

bool option_file_sets(const struct option_file *file, const char *name)
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
