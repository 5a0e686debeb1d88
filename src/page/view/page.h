/* SPDX-License-Identifier: MIT
 *
 * page/view/page.h - the timeline page of web/, embedded by the build: the HTML around the sections
 */
#pragma once

#include <stddef.h>

/* The parts of the page: before the head and the overview, between these and the other sections,
 * after the sections. Sizes are without the NUL. */
extern const char view_page_begin[], view_page_script[], view_page_end[];
extern const size_t view_page_begin_size, view_page_script_size, view_page_end_size;
