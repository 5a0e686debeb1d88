/* SPDX-License-Identifier: MIT
 *
 * config/config.c - read a configuration file of duet (proto/duet_config.proto)
 *
 * Runs in:  our own process
 * Gets:     the path of a file
 * Gives:    its values as texts, in order, each with its place in the file
 * Owns:     copies of the values
 * Fails:    -EINVAL with problems in the report, -errno with the error chain if the file cannot be
 *           read
 * Why:      values stay texts, because options on the command line are texts too, so one check
 *           serves both
 */
#include "config/config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "base/string.h"
#include "config/parser.h"
#include "config/value.h"

#include "duet_config.pb-c.h"

#define MAX_FILE_SIZE ((size_t)1 << 20)

struct config {
	struct arena arena;
	struct config_value *values;
	size_t count, capacity;
};

static int note_value(void *context, const char *path, const ProtobufCFieldDescriptor *field,
		      const void *member, struct config_place place)
{
	struct config *config = context;
	struct string_builder text;
	struct config_value value = {.place = place};

	string_builder_init(&text);
	if (field->type == PROTOBUF_C_TYPE_STRING)
		string_builder_append(&text, *(char *const *)member);
	else if (field->type != PROTOBUF_C_TYPE_MESSAGE)
		config_value_format(field, member, &text);
	value.path = arena_copy(&config->arena, path, strlen(path));
	value.text = arena_copy(&config->arena, string_builder_text(&text), text.length);
	string_builder_fini(&text);
	if (text.error || !value.path || !value.text ||
	    array_grow(config->values, config->capacity, config->count + 1))
		return error_set(-ENOMEM, "out of memory");
	config->values[config->count++] = value;
	return 0;
}

int config_open(const char *path, struct config_report *report, struct config **ret_config)
{
	struct config *config = calloc(1, sizeof(*config));
	const struct config_listener listener = {note_value, config};
	auto_free char *text = NULL;
	size_t length;
	int error;

	if (!config)
		return error_set(-ENOMEM, "out of memory");
	arena_init(&config->arena);
	error = read_file(path, MAX_FILE_SIZE, &text, &length);
	if (!error)
		error = config_parse(text, length, &duet__duet_config__descriptor, &listener,
				     report, NULL);
	if (error == -ENOMEM)
		error_set(error, "'%s': out of memory", path);
	if (error)
		config_close(config);
	else
		*ret_config = config;
	return error;
}

void config_close(struct config *config)
{
	if (!config)
		return;
	arena_fini(&config->arena);
	free(config->values);
	free(config);
}

/* Whether the value's path is `path` or below it: "system.rate_hz" is in "system". */
static bool is_in(const struct config_value *value, const char *path)
{
	size_t length = strlen(path);

	return strncmp(value->path, path, length) == 0 &&
	       (value->path[length] == '\0' || value->path[length] == '.');
}

const struct config_value *config_next(const struct config *config, const char *path,
				       const struct config_value *after)
{
	size_t first = after ? (size_t)(after - config->values) + 1 : 0;

	for (size_t i = first; i < config->count; i++)
		if (is_in(&config->values[i], path))
			return &config->values[i];
	return NULL;
}

void config_forget(struct config *config, const char *path)
{
	for (size_t i = 0; i < config->count; i++)
		if (is_in(&config->values[i], path))
			config->values[i].path = "";
}

ProtobufCMessage *config_message_new(void)
{
	ProtobufCMessage *message = calloc(1, sizeof(Duet__DuetConfig));

	if (message)
		duet__duet_config__init((Duet__DuetConfig *)message);
	return message;
}
