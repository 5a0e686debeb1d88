/* SPDX-License-Identifier: MIT
 *
 * export/common/field_values.h - the functions named in event/fields.def: values computed from a
 * row, and conditions
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct model;

#define FIELD_NUMBER(name) uint64_t field_##name(const struct model *model, const void *row);
#define FIELD_REAL(name)   double field_##name(const struct model *model, const void *row);
#define FIELD_TEXT(name) \
	const char *field_##name(const struct model *model, const void *row, char *buffer);
#define FIELD_CONDITION(name) bool field_##name(const void *row);

FIELD_NUMBER(process_started_ns)
FIELD_NUMBER(row_duration)
FIELD_NUMBER(api_is_wait)
FIELD_NUMBER(launch_dimensions)
FIELD_NUMBER(switch_thread)
FIELD_REAL(series_factor)
FIELD_REAL(counter_shown)
FIELD_TEXT(launch_command_name)
FIELD_TEXT(launch_kernel_name)
FIELD_TEXT(launch_label)
FIELD_TEXT(code_kernel_name)
FIELD_TEXT(instruction_kernel_name)
FIELD_TEXT(sample_source)
FIELD_TEXT(sample_unit)
FIELD_TEXT(switch_waker_name)
FIELD_TEXT(range_name)
FIELD_TEXT(series_shown_unit)
FIELD_TEXT(counter_shown_unit)
FIELD_CONDITION(code_has_needs)
FIELD_CONDITION(code_has_address)
FIELD_CONDITION(code_has_device)
FIELD_CONDITION(code_has_local)
FIELD_CONDITION(code_has_private)
FIELD_CONDITION(execution_has_queued)
FIELD_CONDITION(execution_has_submitted)
FIELD_CONDITION(execution_has_started)
FIELD_CONDITION(execution_has_ended)

#undef FIELD_NUMBER
#undef FIELD_REAL
#undef FIELD_TEXT
#undef FIELD_CONDITION
