/* SPDX-License-Identifier: MIT
 *
 * export/view_page.h - the viewer in web/ as the build embeds it: the page around the sections
 */
#ifndef EXPORT_VIEW_PAGE_H
#define EXPORT_VIEW_PAGE_H

#include <stddef.h>

/* Before the head and the overview, between them and the other sections, behind those. Sizes are without the NUL. */
extern const char view_page_begin[], view_page_script[], view_page_end[];
extern const size_t view_page_begin_size, view_page_script_size, view_page_end_size;

#endif
