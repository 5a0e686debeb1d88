/* SPDX-License-Identifier: MIT
 *
 * export/flame_script.h - flame.js as the build embeds it
 */
#ifndef EXPORT_FLAME_SCRIPT_H
#define EXPORT_FLAME_SCRIPT_H

#include <stddef.h>

extern const char flame_script[];
extern const size_t flame_script_size; /* without the NUL behind it */

#endif
