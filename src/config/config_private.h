/* SPDX-License-Identifier: MIT
 *
 * config/config_private.h - the parts of a config
 */
#ifndef CONFIG_CONFIG_PRIVATE_H
#define CONFIG_CONFIG_PRIVATE_H

#include "base/arena.h"
#include "base/string.h"
#include "config/config.h"

struct config {
	const ProtobufCMessageDescriptor *type;
	struct arena arena;
	struct config_value *values; /* a group comes before its fields */
	size_t count, capacity;
};

/* Copies path and text. Errors: -ENOMEM, also of the builder. */
int config_append(struct config *config, const char *path, const struct string_builder *text,
		  struct config_place place);

#endif
