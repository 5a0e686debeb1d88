/* SPDX-License-Identifier: MIT
 *
 * export/sqlite/views.h - sqlite/views.sql as the build embeds it
 */
#pragma once

#include <stddef.h>

extern const char sqlite_views[];
extern const size_t sqlite_views_size; /* bytes, without the final NUL */
