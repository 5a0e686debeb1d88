/* SPDX-License-Identifier: MIT
 *
 * page/scope/page.h - the heat map page of web/, embedded by the build: the HTML around the
 * sections
 */
#pragma once

#include <stddef.h>

/* The parts of the page: before the sections, after them, and the end. Sizes are without the
 * NUL. */
extern const char scope_page_begin[], scope_page_script[], scope_page_end[];
extern const size_t scope_page_begin_size, scope_page_script_size, scope_page_end_size;
