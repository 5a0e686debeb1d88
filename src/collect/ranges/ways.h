/* SPDX-License-Identifier: MIT
 *
 * collect/ranges/ways.h - how the ranges guest gets into a program
 */
#pragma once

#include <stdbool.h>

#include "collect/session.h"

#define RANGES_GUEST         "libduet-ranges.so"
#define RANGES_NVTX_VARIABLE "NVTX_INJECTION64_PATH"
#define RANGES_ITT_VARIABLE  "INTEL_LIBITTNOTIFY64"

/* Whether this machine has ROCm's library or device. */
bool ranges_has_roctx(void);
