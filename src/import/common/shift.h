/* SPDX-License-Identifier: MIT
 *
 * import/common/shift.h - move the times of a row
 */
#pragma once

#include <stdint.h>

#include "event/event.h"

/* Large enough for any row. */
union import_row {
#define ENTITY(event, ...)    struct event_##event as_##event;
#define HAPPENING(event, ...) struct event_##event as_##event;
#include "event/fields.def"
};

/* Copies a row and adds ns to all its times; times that are not known stay 0. */
void import_shift_row(enum event_kind kind, const void *row, int64_t ns, union import_row *ret_row);
