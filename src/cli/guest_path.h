/* SPDX-License-Identifier: MIT
 *
 * cli/guest_path.h - where the guest library lies
 */
#ifndef CLI_GUEST_PATH_H
#define CLI_GUEST_PATH_H

#include <limits.h>

#define GUEST_NAME "libduet-opencl.so"

/* Beside duet (a build folder), else where `meson install` puts it; NULL where it is in neither. */
const char *guest_path(char path[PATH_MAX]);

#endif
