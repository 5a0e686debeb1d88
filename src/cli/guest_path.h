/* SPDX-License-Identifier: MIT
 *
 * cli/guest_path.h - find a guest relative to the program
 */
#pragma once

#include <limits.h>

/* Path of a guest's library: beside duet (in a build folder), otherwise in ../lib/duet/, where
 * `meson install` puts it. NULL: in neither. */
const char *guest_path(const char *name, char path[PATH_MAX]);
