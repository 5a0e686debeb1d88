/* SPDX-License-Identifier: MIT
 *
 * export/common/trace_uuid.h - a UUID that depends only on the trace
 */
#pragma once

#include <stdint.h>

struct model;

/* begin_ns: start of the recording. */
void trace_uuid(const struct model *model, uint64_t begin_ns, uint8_t ret_uuid[16]);
