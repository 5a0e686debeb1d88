/* SPDX-License-Identifier: MIT
 *
 * collect/level_zero/ways.h - how the guest for Level Zero gets into a program
 */
#pragma once

#include <stdbool.h>

#include "collect/session.h"

#define LEVEL_ZERO_GUEST      "libduet-level_zero.so"
#define LEVEL_ZERO_VALIDATION "ZE_ENABLE_VALIDATION_LAYER"
#define LEVEL_ZERO_TRACING    "ZE_ENABLE_TRACING_LAYER"

/* Whether the user enabled a layer of their own: the loader takes any value except 0 for yes. */
bool level_zero_is_taken(const char *variable);

/* Whether this machine has an Intel GPU, from the kernel's DRM drivers below root. */
bool level_zero_has_device(const char *root);
