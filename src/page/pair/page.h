/* SPDX-License-Identifier: MIT
 *
 * page/pair/page.h - the page of web/ with two timelines, embedded by the build
 */
#pragma once

#include <stddef.h>

/* The parts of the page: before the heads and the overviews, between these and the other sections,
 * after the sections. Sizes are without the NUL. */
extern const char pair_page_begin[], pair_page_script[], pair_page_end[];
extern const size_t pair_page_begin_size, pair_page_script_size, pair_page_end_size;
