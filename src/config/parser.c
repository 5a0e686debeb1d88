/* SPDX-License-Identifier: MIT
 *
 * config/parser.c - parse protobuf's text format into a message of any protobuf-c type
 *
 * Runs in:  our own process
 * Gets:     a text and the descriptor of a message
 * Gives:    the message; calls a listener with each value
 * Owns:     the message until it is returned
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

#include "base/cleanup.h"
#include "base/string.h"
#include "base/suggest.h"
#include "config/lexer.h"
#include "config/value.h"

enum { MAX_SHOWN = 40 };

/* A message whose fields are read. */
struct scope {
	ProtobufCMessage *message; /* NULL: the fields of an unknown group, which are skipped */
	unsigned *lines;           /* line of each field's first occurrence; 0: none yet */
	struct config_place place; /* start of the message */
};

struct parser {
	struct lexer lexer;
	struct token token; /* the next one */
	struct config_report *report;
	const struct config_listener *listener;
	struct string_builder path, string;
	unsigned depth;
};

/* The field that the next value is stored in. */
struct target {
	struct scope *scope;
	const ProtobufCFieldDescriptor *field; /* NULL: the value is skipped */
};

static int parse_fields(struct parser *parser, struct scope *scope, char close);

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
	struct string_builder rest;

	string_builder_init(&rest);
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

/* The member of its group that is set. */
static const ProtobufCFieldDescriptor *find_rival(const ProtobufCMessage *message,
						  const ProtobufCFieldDescriptor *field)
{
	uint32_t id;

	if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
		return NULL;
	memcpy(&id, (const char *)message + field->quantifier_offset, sizeof(id));
	return id ? protobuf_c_message_descriptor_get_field(message->descriptor, id) : NULL;
}

/* Whether the field may have a value here. A second one would hide the first: which of the two was
 * meant? */
static bool accept_field(struct parser *parser, struct scope *scope,
			 const ProtobufCFieldDescriptor *field, const struct token *name)
{
	unsigned *line = &scope->lines[field - scope->message->descriptor->fields];
	const ProtobufCFieldDescriptor *rival = find_rival(scope->message, field);

	if (*line && field->label != PROTOBUF_C_LABEL_REPEATED) {
		config_report_add(parser->report, name->place,
				  "'%s' has a value already, in line %u: keep one of the two",
				  field->name, *line);
		return false;
	}
	if (!*line)
		*line = name->place.line;
	if (rival && rival != field) {
		config_report_add(
			parser->report, name->place,
			"'%s' excludes '%s', which has a value already: keep one of the two",
			field->name, rival->name);
		return false;
	}
	return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void free_value(const ProtobufCFieldDescriptor *field, const union config_value_store *value)
{
	if (field->type == PROTOBUF_C_TYPE_STRING)
		free(value->string);
	else if (field->type == PROTOBUF_C_TYPE_BYTES)
		free(value->bytes.data);
	else if (field->type == PROTOBUF_C_TYPE_MESSAGE)
		protobuf_c_message_free_unpacked(value->message, NULL);
}

/* The value is the message's, or freed. */
static int store_value(struct parser *parser, const struct target *target,
		       const union config_value_store *value, struct config_place place)
{
	const ProtobufCFieldDescriptor *field = target->field;
	ProtobufCMessage *message = target->scope->message;

	if (config_value_store(message, field, value)) {
		free_value(field, value);
		return -ENOMEM;
	}
	if (!parser->listener)
		return 0;
	return parser->listener->on_value(parser->listener->context,
					  string_builder_text(&parser->path), field,
					  config_value_last(message, field), place);
}

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

static int parse_scalar(struct parser *parser, const struct target *target)
{
	union config_value_store value;
	struct literal literal;
	bool is_good;
	int error = parse_literal(parser, &literal, &is_good);

	if (error || !is_good || !target->field)
		return error;
	error = config_value_read(target->field, &literal, parser->report, &value);
	if (error)
		return error == -ENOMEM ? error : 0;
	return store_value(parser, target, &value, literal.place);
}

static ProtobufCMessage *new_message(const ProtobufCMessageDescriptor *type)
{
	ProtobufCMessage *message = calloc(1, type->sizeof_message);

	if (message)
		protobuf_c_message_init(type, message);
	return message;
}

/* The message is stored in its parent before its fields are read, so freeing the parent after an
 * error frees it too. */
static int open_message(struct parser *parser, const struct target *target, struct scope *scope)
{
	const ProtobufCMessageDescriptor *type;
	union config_value_store value;
	int error;

	scope->place = parser->token.place;
	if (!target->field)
		return 0;
	if (target->field->type != PROTOBUF_C_TYPE_MESSAGE) {
		config_value_refuse(target->field, scope->place, "a group of fields",
				    parser->report);
		return 0;
	}
	type = target->field->descriptor;
	value.message = new_message(type);
	if (!value.message)
		return -ENOMEM;
	error = store_value(parser, target, &value, scope->place);
	if (error)
		return error;
	scope->message = value.message;
	scope->lines = calloc(type->n_fields + 1, sizeof(*scope->lines));
	return scope->lines ? 0 : -ENOMEM;
}

static int parse_message(struct parser *parser, const struct target *target)
{
	char close = is_mark(parser, '{') ? '}' : '>';
	struct scope scope = {0};
	int error;

	if (parser->depth == MAX_CONFIG_DEPTH)
		return config_report_add(parser->report, parser->token.place,
					 "groups are nested deeper than %d", MAX_CONFIG_DEPTH);
	error = open_message(parser, target, &scope);
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
static int parse_value(struct parser *parser, const struct target *target, bool has_colon)
{
	if (is_open(parser))
		return parse_message(parser, target);
	if (!has_colon)
		return unexpected(parser,
				  target->field && target->field->type == PROTOBUF_C_TYPE_MESSAGE
					  ? "'{' after the field's name"
					  : "':' after the field's name");
	return parse_scalar(parser, target);
}

static int parse_list(struct parser *parser, struct target *target, bool has_colon)
{
	bool ends, goes_on = true;
	int error;

	if (target->field && target->field->label != PROTOBUF_C_LABEL_REPEATED) {
		config_report_add(parser->report, parser->token.place,
				  "'%s' takes one value, not a list", target->field->name);
		target->field = NULL;
	}
	error = advance(parser);
	if (!error)
		error = accept_mark(parser, ']', &ends);
	if (error || ends)
		return error;
	while (!error && goes_on) {
		error = parse_value(parser, target, has_colon);
		if (!error)
			error = accept_mark(parser, ',', &goes_on);
	}
	if (!error && !is_mark(parser, ']'))
		return unexpected(parser, "',' or ']' in the list");
	return error ? error : advance(parser);
}

/* Parses the part after a field's name. */
static int parse_values(struct parser *parser, struct target *target)
{
	bool has_colon, ends;
	int error = accept_mark(parser, ':', &has_colon);

	if (error)
		return error;
	error = is_mark(parser, '[') ? parse_list(parser, target, has_colon)
				     : parse_value(parser, target, has_colon);
	if (error)
		return error;
	error = accept_mark(parser, ',', &ends);
	return error || ends ? error : accept_mark(parser, ';', &ends);
}

/* [package.extension] or [host/package.Type], which is an Any: neither is in a schema of ours. */
static int parse_bracketed(struct parser *parser)
{
	struct config_place place = parser->token.place;
	struct target nowhere = {0};
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
	return error ? error : parse_values(parser, &nowhere);
}

static int parse_field(struct parser *parser, struct scope *scope)
{
	struct token name = parser->token;
	struct target target = {scope, NULL};
	size_t outer = parser->path.length;
	int error;

	if (is_mark(parser, '['))
		return parse_bracketed(parser);
	if (name.type != TOKEN_NAME)
		return unexpected(parser, "the name of a field");
	if (scope->message) {
		target.field = find_field(scope->message->descriptor, name.text, name.length);
		if (!target.field)
			unknown_field(parser, scope->message->descriptor, &name);
		else if (!accept_field(parser, scope, target.field, &name))
			target.field = NULL;
	}
	if (target.field)
		path_push(parser, target.field->name);
	error = parser->path.error ? parser->path.error : advance(parser);
	if (!error)
		error = parse_values(parser, &target);
	path_pop(parser, outer);
	return error;
}

static void check_required(struct parser *parser, const struct scope *scope)
{
	const ProtobufCMessageDescriptor *type = scope->message->descriptor;

	for (unsigned i = 0; i < type->n_fields; i++)
		if (type->fields[i].label == PROTOBUF_C_LABEL_REQUIRED && !scope->lines[i])
			config_report_add(parser->report, scope->place,
					  "the required field '%s' is missing",
					  type->fields[i].name);
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
	if (!error && scope->message)
		check_required(parser, scope);
	return error;
}

/* ---- a text ---------------------------------------------------------------------------------- */

int config_parse(const char *text, size_t length, const ProtobufCMessageDescriptor *type,
		 const struct config_listener *listener, struct config_report *report,
		 ProtobufCMessage **ret_message)
{
	struct parser parser = {.report = report, .listener = listener};
	struct scope scope = {.place = {1, 1}};
	int error;

	scope.message = new_message(type);
	scope.lines = calloc(type->n_fields + 1, sizeof(*scope.lines));
	string_builder_init(&parser.path);
	string_builder_init(&parser.string);
	lexer_init(&parser.lexer, text, length);
	error = scope.message && scope.lines ? advance(&parser) : -ENOMEM;
	if (!error)
		error = parse_fields(&parser, &scope, '\0');
	if (!error && report->count)
		error = -EINVAL;
	free(scope.lines);
	string_builder_fini(&parser.path);
	string_builder_fini(&parser.string);
	if (!error && ret_message)
		*ret_message = take_ptr(scope.message);
	protobuf_c_message_free_unpacked(scope.message, NULL);
	return error;
}

/* ---- one value ------------------------------------------------------------------------------- */

/* The message in a field; creates it if the field is empty. NULL: no memory. */
static ProtobufCMessage *get_message(ProtobufCMessage *message,
				     const ProtobufCFieldDescriptor *field)
{
	union config_value_store value;

	memcpy(&value.message, config_value_last(message, field), sizeof(value.message));
	if (value.message)
		return value.message;
	value.message = new_message(field->descriptor);
	if (value.message)
		config_value_store(message, field, &value);
	return value.message;
}

static int set_scalar(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
		      const char *text)
{
	struct config_report report = {.count = 0};
	struct parser parser = {.report = &report};
	struct scope scope = {.message = message};
	const struct target target = {&scope, field};
	int error;

	string_builder_init(&parser.string);
	lexer_init(&parser.lexer, text, strlen(text));
	error = advance(&parser);
	if (!error)
		error = parse_scalar(&parser, &target);
	string_builder_fini(&parser.string);
	return error || (!report.count && parser.token.type == TOKEN_END) ? error : -EINVAL;
}

static int set_string(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
		      const char *text)
{
	union config_value_store value = {.string = strdup(text)};
	int error = value.string ? config_value_store(message, field, &value) : -ENOMEM;

	if (error)
		free_value(field, &value);
	return error;
}

static int set_message(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
		       const char *text)
{
	if (*text || field->label == PROTOBUF_C_LABEL_REPEATED)
		return -EINVAL;
	return get_message(message, field) ? 0 : -ENOMEM;
}

int config_set(ProtobufCMessage *message, const char *path, const char *text)
{
	const ProtobufCFieldDescriptor *field;
	size_t length;

	for (; length = strcspn(path, "."), path[length]; path += length + 1) {
		field = find_field(message->descriptor, path, length);
		if (!field || field->type != PROTOBUF_C_TYPE_MESSAGE ||
		    field->label == PROTOBUF_C_LABEL_REPEATED)
			return -EINVAL;
		message = get_message(message, field);
		if (!message)
			return -ENOMEM;
	}
	field = find_field(message->descriptor, path, length);
	if (!field)
		return -EINVAL;
	if (field->type == PROTOBUF_C_TYPE_MESSAGE)
		return set_message(message, field, text);
	return field->type == PROTOBUF_C_TYPE_STRING ? set_string(message, field, text)
						     : set_scalar(message, field, text);
}
