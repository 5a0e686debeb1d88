/* SPDX-License-Identifier: MIT
 *
 * page/series/page.h - the page of a history of web/, embedded by the build: the HTML around the
 * sections
 */
#pragma once

#include <stddef.h>

/* The parts of the page: before the sections, after them, and the end. Sizes are without the
 * NUL. */
extern const char series_page_begin[], series_page_script[], series_page_end[];
extern const size_t series_page_begin_size, series_page_script_size, series_page_end_size;
