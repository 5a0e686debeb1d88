/* SPDX-License-Identifier: MIT
 *
 * export/json/rows.h - write rows of a trace as JSON objects
 *
 * An unknown time or id has no key. docs/export.schema.json describes the keys.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/filter.h"
#include "base/json.h"
#include "export/common/fields.h"

struct json_rows {
	const struct model *model; /* borrowed */
	struct filter filter;
	struct json_writer json;
};

/* Writes the keys of a row; the caller opens and closes the object. */
void json_rows_put(struct json_rows *rows, const struct field_list *list, const void *row);
