/* SPDX-License-Identifier: MIT
 *
 * export/json_rows.h - things and rows of a trace as JSON objects
 *
 * A time or an id that is not known has no key. docs/export.schema.json says what each key is.
 */
#ifndef EXPORT_JSON_ROWS_H
#define EXPORT_JSON_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/order.h"
#include "base/json.h"
#include "event/event.h"
#include "export/filter.h"

struct json_rows {
	const struct model *model; /* borrowed */
	struct filter filter;
	struct json_writer json;
};

/* The kinds of things that have an object, in their order; 0: none is left. */
enum event_kind json_rows_kind(size_t index);

/* Every thing of a kind, one after the other: the keys of an object that the caller begins and ends. */
size_t json_rows_things(const struct json_rows *rows, enum event_kind kind);
void json_rows_put_thing(struct json_rows *rows, enum event_kind kind, size_t index);

/* The keys of a row. */
void json_rows_put(struct json_rows *rows, const struct order_item *item);

#endif
