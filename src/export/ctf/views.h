/* SPDX-License-Identifier: MIT
 *
 * export/ctf/views.h - ctf/views.xml as the build embeds it
 */
#pragma once

#include <stddef.h>

extern const char ctf_views[];
extern const size_t ctf_views_size; /* bytes, without the final NUL */
