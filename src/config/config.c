/* SPDX-License-Identifier: MIT
 *
 * config/config.c - the values of a configuration file of duet (proto/duet_config.proto)
 *
 * Runs in:  our own process
 * Gets:     the path of a file, or values
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

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "config/config_private.h"
#include "config/parser.h"

#include "duet_config.pb-c.h"

#define MAX_FILE_SIZE ((size_t)1 << 20)

int config_new(const ProtobufCMessageDescriptor *type, struct config **ret_config)
{
	struct config *config = calloc(1, sizeof(*config));

	if (!config)
		return error_set(-ENOMEM, "out of memory");
	config->type = type ? type : &duet__duet_config__descriptor;
	*ret_config = config;
	return 0;
}

static int open_file(const char *path, bool is_partly, struct config_report *report,
		     struct config **ret_config)
{
	auto_free char *text = NULL;
	struct config *config = NULL;
	size_t length;
	int error = config_new(NULL, &config);

	if (error)
		return error;
	error = read_file(path, MAX_FILE_SIZE, &text, &length);
	if (!error)
		error = config_parse(config, text, length, report);
	if (error == -ENOMEM)
		error_set(error, "'%s': out of memory", path);
	if (is_partly && report->count)
		error = 0;
	if (error)
		config_close(config);
	else
		*ret_config = config;
	return error;
}

int config_open(const char *path, struct config_report *report, struct config **ret_config)
{
	return open_file(path, false, report, ret_config);
}

int config_open_partly(const char *path, struct config_report *report, struct config **ret_config)
{
	return open_file(path, true, report, ret_config);
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
