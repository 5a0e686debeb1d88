/* SPDX-License-Identifier: MIT
 *
 * collect/level_zero/ways.h - how the guest for Level Zero comes into a program
 */
#ifndef COLLECT_LEVEL_ZERO_WAYS_H
#define COLLECT_LEVEL_ZERO_WAYS_H

#include <stdbool.h>

#include "collect/session.h"

#define LEVEL_ZERO_VALIDATION "ZE_ENABLE_VALIDATION_LAYER"
#define LEVEL_ZERO_TRACING    "ZE_ENABLE_TRACING_LAYER"

/* The variable that has the loader take the guest in; NULL: there is no way, and *ret_why says why. */
const char *level_zero_way(const struct session_options *session, const char **ret_why);

/* Whether the user has a layer there: the loader takes any value but 0 for yes. */
bool level_zero_is_taken(const char *variable);

/* Whether this machine has a GPU of Intel, by the kernel's DRM drivers below root. */
bool level_zero_has_device(const char *root);

#endif
