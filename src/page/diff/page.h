/* SPDX-License-Identifier: MIT
 *
 * page/diff/page.h - the page of a comparison of web/, embedded by the build: the HTML around the
 * sections
 */
#pragma once

#include <stddef.h>

/* The parts of the page: before the sections, after them, and the end. Sizes are without the
 * NUL. */
extern const char diff_page_begin[], diff_page_script[], diff_page_end[];
extern const size_t diff_page_begin_size, diff_page_script_size, diff_page_end_size;
