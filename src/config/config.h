/* SPDX-License-Identifier: MIT
 *
 * config/config.h - read a configuration file of duet (proto/duet_config.proto)
 *
 *	struct config_report report = {0};
 *	struct config *config;
 *	if (config_open("duet.textproto", &report, &config))
 *		... // the report's problems, or the error chain if it has none
 *	value = config_next(config, "max_size", NULL);
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <protobuf-c/protobuf-c.h>

#include "config/report.h"

struct config;

struct config_value {
	const char *path; /* field names joined by dots, such as "system.rate_hz" */
	const char *text; /* a string without quotes; "" for a group; other types as in the text
			     format */
	struct config_place place;
};

/* The report must be empty before. Errors: -EINVAL with problems in the report; otherwise -errno
 * with the error chain. */
int config_open(const char *path, struct config_report *report, struct config **ret_config);
void config_close(struct config *config); /* NULL-safe */

/* The next value of a field after `after`, in the order of the file; NULL after the last. For a
 * group, also the values of its fields. after NULL: the first value. */
const struct config_value *config_next(const struct config *config, const char *path,
				       const struct config_value *after);

/* Removes the values of a field or group. */
void config_forget(struct config *config, const char *path);

/* An empty DuetConfig, for config_set and config_format; freed by
 * protobuf_c_message_free_unpacked(message, NULL). NULL: no memory. */
ProtobufCMessage *config_message_new(void);

#endif
