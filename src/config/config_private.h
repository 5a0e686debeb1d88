/* SPDX-License-Identifier: MIT
 *
 * config/config_private.h - the parts of a config
 */
#pragma once

#include "base/arena.h"
#include "config/config.h"

struct config {
	const ProtobufCMessageDescriptor *type;
	struct arena arena;
	struct config_value *values; /* a group comes before its fields */
	size_t count, capacity;
};
