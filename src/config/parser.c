/* SPDX-License-Identifier: MIT
 *
 * config/parser.c - parse protobuf's text format into the values of a config
 *
 * Runs in:  our own process
 * Gets:     a text; the config has the descriptor of its message
 * Gives:    the values, each with its place
 * Owns:     nothing
 * Fails:    -EINVAL with problems in the report, -ENOMEM
 * Why:      there are two kinds of mistakes. After a syntax error ("expected ':'") parsing stops,
 *           because further messages would be guesses. An unknown field or an invalid value is
 *           skipped, and the rest is checked. So one run reports all such mistakes of a file
 */
#include "config/parser.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "base/suggest.h"
#include "config/config_private.h"
#include "config/lexer.h"
#include "config/value.h"

enum { MAX_SHOWN = 40 };

/* A message whose fields are read. */
struct scope {
	const ProtobufCMessageDescriptor *type; /* NULL: an unknown group, which is skipped */
	unsigned *lines;           /* line of each field's first occurrence; 0: none yet */
	struct config_place place; /* start of the message */
};

struct parser {
	struct lexer lexer;
	struct token token; /* the next one */
	struct config_report *report;
	struct config *config;
	struct string_builder path, string, value;
	unsigned depth;
};

static int parse_fields(struct parser *parser, struct scope *scope, char close);

/* Copies path and text. Errors: -ENOMEM, also of the builder. */
static int append_value(struct config *config, const char *path, const struct string_builder *text,
			struct config_place place)
{
	const struct config_value value = {
		.path = arena_copy(&config->arena, path, strlen(path)),
		.text = arena_copy(&config->arena, string_builder_text(text), text->length),
		.place = place};

	if (text->error || !value.path || !value.text ||
	    array_grow(config->values, config->capacity, config->count + 1))
		return error_set(-ENOMEM, "out of memory");
	config->values[config->count++] = value;
	return 0;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static int advance(struct parser *parser)
{
	return lexer_next(&parser->lexer, &parser->token, parser->report);
}

static bool is_mark(const struct parser *parser, char mark)
{
	return parser->token.type == TOKEN_MARK && *parser->token.text == mark;
}

static bool is_open(const struct parser *parser)
{
	return is_mark(parser, '{') || is_mark(parser, '<');
}

/* Skips the mark if it is next. Errors: those of the token after it. */
static int accept_mark(struct parser *parser, char mark, bool *ret_taken)
{
	*ret_taken = is_mark(parser, mark);
	return *ret_taken ? advance(parser) : 0;
}

static int unexpected(struct parser *parser, const char *expected)
{
	const struct token *token = &parser->token;

	if (token->type == TOKEN_END)
		return config_report_add(parser->report, token->place,
					 "expected %s, found the end of the text", expected);
	return config_report_add(parser->report, token->place, "expected %s, found '%.*s'%s",
				 expected,
				 (int)(token->length < MAX_SHOWN ? token->length : MAX_SHOWN),
				 token->text, token->length < MAX_SHOWN ? "" : "…");
}

/* ---- fields ---------------------------------------------------------------------------------- */

static void path_push(struct parser *parser, const char *name)
{
	if (parser->path.length)
		string_builder_append_char(&parser->path, '.');
	string_builder_append(&parser->path, name);
}

static void path_pop(struct parser *parser, size_t length)
{
	parser->path.length = length;
	if (parser->path.text)
		parser->path.text[length] = '\0';
}

static void append_field_names(const ProtobufCMessageDescriptor *type, struct string_builder *text)
{
	for (unsigned i = 0; i < type->n_fields; i++)
		string_builder_appendf(text, "%s%s", i ? ", " : "", type->fields[i].name);
}

static int unknown_field(struct parser *parser, const ProtobufCMessageDescriptor *type,
			 const struct token *name)
{
	const char *group = string_builder_text(&parser->path), *near = NULL;
	char word[MAX_SHOWN + 1];
	struct string_builder rest = {0};

	snprintf(word, sizeof(word), "%.*s", (int)name->length, name->text);
	if (name->length <= MAX_SHOWN)
		near = suggest_name(word, type->fields, type->n_fields, sizeof(*type->fields));
	if (near) {
		string_builder_appendf(&rest, "did you mean '%s'?", near);
	} else {
		string_builder_append(&rest, "there are: ");
		append_field_names(type, &rest);
	}
	config_report_add(parser->report, name->place, "unknown field '%s%s'%s%s%s; %s", word,
			  name->length > MAX_SHOWN ? "…" : "", *group ? " in '" : "", group,
			  *group ? "'" : "", string_builder_text(&rest));
	string_builder_fini(&rest);
	return 0;
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type,
						  const char *name, size_t length)
{
	for (unsigned i = 0; i < type->n_fields; i++) {
		const char *candidate = type->fields[i].name;

		if (strlen(candidate) == length && memcmp(candidate, name, length) == 0)
			return &type->fields[i];
	}
	return NULL;
}

/* Whether the field may have a value here. A second one would hide the first: which of the two was
 * meant? */
static bool accept_field(struct parser *parser, struct scope *scope,
			 const ProtobufCFieldDescriptor *field, const struct token *name)
{
	unsigned *line = &scope->lines[field - scope->type->fields];

	if (*line && field->label != PROTOBUF_C_LABEL_REPEATED) {
		config_report_add(parser->report, name->place,
				  "'%s' has a value already, in line %u: keep one of the two",
				  field->name, *line);
		return false;
	}
	if (!*line)
		*line = name->place.line;
	return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Pieces of a string that follow each other are one. */
static int parse_string(struct parser *parser, struct literal *literal, bool *ret_is_good)
{
	int error = 0;

	*ret_is_good = true;
	string_builder_clear(&parser->string);
	while (!error && parser->token.type == TOKEN_STRING) {
		error = token_unescape(&parser->token, &parser->string, parser->report);
		if (error == -EINVAL) {
			*ret_is_good = false;
			error = 0;
		}
		if (!error)
			error = advance(parser);
	}
	literal->is_string = true;
	literal->string = string_builder_text(&parser->string);
	literal->length = parser->string.length;
	return error;
}

/* Parses a value that is not a message. *ret_is_good: false if it contains an invalid escape. */
static int parse_literal(struct parser *parser, struct literal *literal, bool *ret_is_good)
{
	int error;

	*literal = (struct literal){.place = parser->token.place};
	*ret_is_good = true;
	error = accept_mark(parser, '-', &literal->is_negative);
	if (error)
		return error;
	literal->token = parser->token;
	if (parser->token.type == TOKEN_STRING && !literal->is_negative)
		return parse_string(parser, literal, ret_is_good);
	if (parser->token.type != TOKEN_INTEGER && parser->token.type != TOKEN_FLOAT &&
	    parser->token.type != TOKEN_NAME)
		return unexpected(parser, literal->is_negative ? "a number after '-'" : "a value");
	return advance(parser);
}

/* field: NULL for a value that is skipped, here and below. */
static int parse_scalar(struct parser *parser, const ProtobufCFieldDescriptor *field)
{
	struct literal literal;
	bool is_good;
	int error = parse_literal(parser, &literal, &is_good);

	if (error || !is_good || !field)
		return error;
	string_builder_clear(&parser->value);
	if (config_value_read(field, &literal, parser->report, &parser->value))
		return 0;
	return append_value(parser->config, string_builder_text(&parser->path), &parser->value,
			    literal.place);
}

static int open_message(struct parser *parser, const ProtobufCFieldDescriptor *field,
			struct scope *scope)
{
	scope->place = parser->token.place;
	if (!field)
		return 0;
	if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
		config_value_refuse(field, scope->place, "a group of fields", parser->report);
		return 0;
	}
	scope->type = field->descriptor;
	scope->lines = calloc(scope->type->n_fields + 1, sizeof(*scope->lines));
	if (!scope->lines)
		return -ENOMEM;
	string_builder_clear(&parser->value);
	return append_value(parser->config, string_builder_text(&parser->path), &parser->value,
			    scope->place);
}

static int parse_message(struct parser *parser, const ProtobufCFieldDescriptor *field)
{
	char close = is_mark(parser, '{') ? '}' : '>';
	struct scope scope = {0};
	int error;

	if (parser->depth == MAX_CONFIG_DEPTH)
		return config_report_add(parser->report, parser->token.place,
					 "groups are nested deeper than %d", MAX_CONFIG_DEPTH);
	error = open_message(parser, field, &scope);
	if (!error)
		error = advance(parser);
	parser->depth++;
	if (!error)
		error = parse_fields(parser, &scope, close);
	parser->depth--;
	free(scope.lines);
	return error ? error : advance(parser);
}

/* One value, of a list or alone. has_colon: without one it can only be a message. */
static int parse_value(struct parser *parser, const ProtobufCFieldDescriptor *field, bool has_colon)
{
	if (is_open(parser))
		return parse_message(parser, field);
	if (!has_colon)
		return unexpected(parser, field && field->type == PROTOBUF_C_TYPE_MESSAGE
						  ? "'{' after the field's name"
						  : "':' after the field's name");
	return parse_scalar(parser, field);
}

static int parse_list(struct parser *parser, const ProtobufCFieldDescriptor *field, bool has_colon)
{
	bool ends, goes_on = true;
	int error;

	if (field && field->label != PROTOBUF_C_LABEL_REPEATED) {
		config_report_add(parser->report, parser->token.place,
				  "'%s' takes one value, not a list", field->name);
		field = NULL;
	}
	error = advance(parser);
	if (!error)
		error = accept_mark(parser, ']', &ends);
	if (error || ends)
		return error;
	while (!error && goes_on) {
		error = parse_value(parser, field, has_colon);
		if (!error)
			error = accept_mark(parser, ',', &goes_on);
	}
	if (!error && !is_mark(parser, ']'))
		return unexpected(parser, "',' or ']' in the list");
	return error ? error : advance(parser);
}

/* Parses the part after a field's name. */
static int parse_values(struct parser *parser, const ProtobufCFieldDescriptor *field)
{
	bool has_colon, ends;
	int error = accept_mark(parser, ':', &has_colon);

	if (error)
		return error;
	error = is_mark(parser, '[') ? parse_list(parser, field, has_colon)
				     : parse_value(parser, field, has_colon);
	if (error)
		return error;
	error = accept_mark(parser, ',', &ends);
	return error || ends ? error : accept_mark(parser, ';', &ends);
}

/* [package.extension] or [host/package.Type], which is an Any: neither is in a schema of ours. */
static int parse_bracketed(struct parser *parser)
{
	struct config_place place = parser->token.place;
	bool is_any = false;
	int error = advance(parser);

	while (!error && !is_mark(parser, ']')) {
		if (parser->token.type != TOKEN_NAME && !is_mark(parser, '.') &&
		    !is_mark(parser, '/') && !is_mark(parser, '-'))
			return unexpected(parser, "']' after the name of an extension");
		is_any |= is_mark(parser, '/');
		error = advance(parser);
	}
	if (error)
		return error;
	config_report_add(parser->report, place, "%s is not read here: write a field by its name",
			  is_any ? "a message of any type ([HOST/TYPE])" : "an extension ([NAME])");
	error = advance(parser);
	return error ? error : parse_values(parser, NULL);
}

static int parse_field(struct parser *parser, struct scope *scope)
{
	struct token name = parser->token;
	const ProtobufCFieldDescriptor *field = NULL;
	size_t outer = parser->path.length;
	int error;

	if (is_mark(parser, '['))
		return parse_bracketed(parser);
	if (name.type != TOKEN_NAME)
		return unexpected(parser, "the name of a field");
	if (scope->type) {
		field = find_field(scope->type, name.text, name.length);
		if (!field)
			unknown_field(parser, scope->type, &name);
		else if (!accept_field(parser, scope, field, &name))
			field = NULL;
	}
	if (field)
		path_push(parser, field->name);
	error = parser->path.error ? parser->path.error : advance(parser);
	if (!error)
		error = parse_values(parser, field);
	path_pop(parser, outer);
	return error;
}

/* Parses fields up to the mark that closes the message; close '\0': up to the end of the text. */
static int parse_fields(struct parser *parser, struct scope *scope, char close)
{
	int error = 0;

	while (!error && !(close ? is_mark(parser, close) : parser->token.type == TOKEN_END)) {
		if (close && parser->token.type == TOKEN_END)
			return config_report_add(
				parser->report, scope->place,
				"the group that starts here has no end: '%c' is missing", close);
		error = parse_field(parser, scope);
	}
	return error;
}

/* ---- a text, or one value -------------------------------------------------------------------- */

static void parser_init(struct parser *parser, struct config *config, struct config_report *report,
			const char *text, size_t length)
{
	*parser = (struct parser){.config = config, .report = report};
	lexer_init(&parser->lexer, text, length);
}

static void parser_fini(struct parser *parser)
{
	string_builder_fini(&parser->path);
	string_builder_fini(&parser->string);
	string_builder_fini(&parser->value);
}

int config_parse(struct config *config, const char *text, size_t length,
		 struct config_report *report)
{
	struct scope scope = {.type = config->type, .place = {1, 1}};
	struct parser parser;
	int error;

	parser_init(&parser, config, report, text, length);
	scope.lines = calloc(scope.type->n_fields + 1, sizeof(*scope.lines));
	error = scope.lines ? advance(&parser) : -ENOMEM;
	if (!error)
		error = parse_fields(&parser, &scope, '\0');
	if (!error && report->count)
		error = -EINVAL;
	free(scope.lines);
	parser_fini(&parser);
	return error;
}

static const ProtobufCFieldDescriptor *find_path(const ProtobufCMessageDescriptor *type,
						 const char *path)
{
	const ProtobufCFieldDescriptor *field;
	size_t length;

	for (; length = strcspn(path, "."), path[length]; path += length + 1) {
		field = find_field(type, path, length);
		if (!field || field->type != PROTOBUF_C_TYPE_MESSAGE)
			return NULL;
		type = field->descriptor;
	}
	return find_field(type, path, length);
}

static int set_scalar(struct parser *parser, const ProtobufCFieldDescriptor *field)
{
	int error = advance(parser);

	if (!error)
		error = parse_scalar(parser, field);
	return error || (!parser->report->count && parser->token.type == TOKEN_END) ? error
										    : -EINVAL;
}

int config_set(struct config *config, const char *path, const char *text)
{
	const ProtobufCFieldDescriptor *field = find_path(config->type, path);
	struct config_report report = {.count = 0};
	struct parser parser;
	int error;

	if (!field || (field->type == PROTOBUF_C_TYPE_MESSAGE && *text))
		return -EINVAL;
	parser_init(&parser, config, &report, text, strlen(text));
	string_builder_append(&parser.path, path);
	string_builder_append(&parser.value, text);
	if (field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_STRING)
		error = append_value(config, string_builder_text(&parser.path), &parser.value,
				     (struct config_place){0});
	else
		error = set_scalar(&parser, field);
	parser_fini(&parser);
	return error;
}
