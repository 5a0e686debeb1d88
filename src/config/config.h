/* SPDX-License-Identifier: MIT
 *
 * config/config.h - a configuration file of duet, proto/duet_config.proto
 *
 *	struct config_report report = {0};
 *	struct config *config;
 *	if (config_open("duet.textproto", &report, &config))
 *		... // the report's problems, or the error chain where it has none
 *	value = config_next(config, "max_size", NULL);
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <protobuf-c/protobuf-c.h>

#include "config/report.h"

struct config;

struct config_value {
	const char *path; /* names of fields with dots between, such as "system.rate_hz" */
	const char *
		text; /* a string as it is, "" of a group, anything else as the text format has it */
	struct config_place place;
};

/* Errors: -EINVAL with problems in the report, which is empty before; else -errno with the error chain. */
int config_open(const char *path, struct config_report *report, struct config **ret_config);
void config_close(struct config *config); /* NULL-safe */

/* The first value of a field behind `after`, or of a group and of all fields in it, in the order of the file; NULL behind
 * the last. after NULL: from the first on. */
const struct config_value *config_next(const struct config *config, const char *path,
				       const struct config_value *after);

/* From now on the file does not say it. */
void config_forget(struct config *config, const char *path);

/* An empty DuetConfig, for config_set and config_format; freed by protobuf_c_message_free_unpacked(message, NULL).
 * NULL: no memory. */
ProtobufCMessage *config_message_new(void);

#endif
