/* SPDX-License-Identifier: MIT
 *
 * export/scope_page.h - the heat map in web/ as the build embeds it: the page around the sections
 */
#ifndef EXPORT_SCOPE_PAGE_H
#define EXPORT_SCOPE_PAGE_H

#include <stddef.h>

/* Before the sections, behind them, and the end of the page. Sizes are without the NUL. */
extern const char scope_page_begin[], scope_page_script[], scope_page_end[];
extern const size_t scope_page_begin_size, scope_page_script_size, scope_page_end_size;

#endif
