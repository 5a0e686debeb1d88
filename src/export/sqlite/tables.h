/* SPDX-License-Identifier: MIT
 *
 * export/sqlite/tables.h - sqlite/tables.sql as the build embeds it
 */
#pragma once

#include <stddef.h>

extern const char sqlite_tables[];
extern const size_t sqlite_tables_size; /* bytes, without the final NUL */
