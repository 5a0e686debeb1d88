/* SPDX-License-Identifier: MIT
 *
 * flame/script.h - flame.js, embedded by the build
 */
#pragma once

#include <stddef.h>

extern const char flame_script[];
extern const size_t flame_script_size; /* without the NUL at its end */
