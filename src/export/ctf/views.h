/* SPDX-License-Identifier: MIT
 *
 * export/ctf/views.h - ctf/views.xml as the build embeds it
 */
#ifndef EXPORT_CTF_VIEWS_H
#define EXPORT_CTF_VIEWS_H

#include <stddef.h>

extern const char ctf_views[];
extern const size_t ctf_views_size; /* bytes, without the final NUL */

#endif
