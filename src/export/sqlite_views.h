/* SPDX-License-Identifier: MIT
 *
 * export/sqlite_views.h - sqlite_views.sql as the build embeds it
 */
#ifndef EXPORT_SQLITE_VIEWS_H
#define EXPORT_SQLITE_VIEWS_H

#include <stddef.h>

extern const char sqlite_views[];
extern const size_t sqlite_views_size; /* without the NUL behind it */

#endif
