/* SPDX-License-Identifier: MIT
 *
 * config/parser.h - parse protobuf's text format into the values of a config
 */
#pragma once

#include <stddef.h>

#include "config/config.h"

enum { MAX_CONFIG_DEPTH = 64 };

/* Appends the values of `length` bytes of text; a group comes before its fields. The report must be
 * empty before and receives all problems up to the first syntax error; parsing continues after an
 * unknown field or an invalid value. Errors: -EINVAL with a problem in the report, -ENOMEM. */
int config_parse(struct config *config, const char *text, size_t length,
		 struct config_report *report);
