/* SPDX-License-Identifier: MIT
 *
 * export/rocpd/schema.h - the tables and views of rocprofv3's SQLite files, as SQL; generated from
 * tables.sql and views.sql
 */
#pragma once

#include <stddef.h>

extern const char rocpd_tables[];
extern const size_t rocpd_tables_size; /* bytes, without the final NUL */
extern const char rocpd_views[];
extern const size_t rocpd_views_size;
