/* SPDX-License-Identifier: MIT
 *
 * collect/amd/ways.h - how ROCm's guest comes into a program
 */
#ifndef COLLECT_AMD_WAYS_H
#define COLLECT_AMD_WAYS_H

#include <stdbool.h>

#include "collect/session.h"

/* Whether ROCm's runtime can be told to load the guest. False: *ret_why says why. */
bool amd_can_load(const struct session_options *session, const char **ret_why);
/* Whether the same guest can be loaded before the program, where it meets calls of HIP. False: *ret_why says why, NULL
 * where nobody wants that. */
bool amd_can_preload(const struct session_options *session, const char **ret_why);

/* Whether RTL_MODE may have this value. */
#define AMD_MODES_TEXT "lite, default and full (standard and hip mean default)"
bool amd_has_mode(const char *name);

#endif
