/* SPDX-License-Identifier: MIT
 *
 * collect/amd/ways.h - how ROCm's guest gets into a program
 */
#pragma once

#include <stdbool.h>

#include "collect/session.h"

#define AMD_GUEST "libduet-amd.so"

/* Whether this is a valid value of RTL_MODE. */
#define AMD_MODES_TEXT "lite, default and full (standard and hip mean default)"
bool amd_has_mode(const char *name);
