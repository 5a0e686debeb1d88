/* SPDX-License-Identifier: MIT
 *
 * config/config.h - the values of a configuration file of duet (proto/duet_config.proto)
 *
 *	struct config_report report = {0};
 *	struct config *config;
 *	if (config_open("duet.textproto", &report, &config))
 *		... // the report's problems, or the error chain if it has none
 *	value = config_next(config, "max_size", NULL);
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/string.h"
#include "config/report.h"

struct config;

struct config_value {
	const char *path; /* field names joined by dots, such as "system.rate_hz" */
	const char *text; /* a string without quotes; "" for a group; other types as in the text
			     format */
	struct config_place place;
};

/* An empty config of this type of message; NULL: DuetConfig. Errors: -ENOMEM with the error chain.
 */
int config_new(const ProtobufCMessageDescriptor *type, struct config **ret_config);

/* Reads a file. The report must be empty before. Errors: -EINVAL with problems in the report;
 * otherwise -errno with the error chain. */
int config_open(const char *path, struct config_report *report, struct config **ret_config);
/* The same for a file with mistakes too: the values before the first one that hides the rest. Their
 * problems are in the report. Errors: -errno with the error chain. */
int config_open_partly(const char *path, struct config_report *report, struct config **ret_config);
void config_close(struct config *config); /* NULL-safe */

/* The next value of a field after `after`, in the order of the file; NULL after the last. For a
 * group, also the values of its fields. after NULL: the first value. */
const struct config_value *config_next(const struct config *config, const char *path,
				       const struct config_value *after);

/* Removes the values of a field or group. */
void config_forget(struct config *config, const char *path);

/* Adds a value to a field. text: as in struct config_value. Errors: -EINVAL: no such field, or an
 * invalid value; -ENOMEM. */
int config_set(struct config *config, const char *path, const char *text);

/* Appends the values in the text format, one line per field, in the order of the schema; a list is
 * one line. Reading the text gives the same values. Lists of groups (agent.include) are not
 * supported here. */
void config_format(const struct config *config, struct string_builder *text);
