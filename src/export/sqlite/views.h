/* SPDX-License-Identifier: MIT
 *
 * export/sqlite/views.h - sqlite/views.sql as the build embeds it
 */
#ifndef EXPORT_SQLITE_VIEWS_H
#define EXPORT_SQLITE_VIEWS_H

#include <stddef.h>

extern const char sqlite_views[];
extern const size_t sqlite_views_size; /* bytes, without the final NUL */

#endif
