/* SPDX-License-Identifier: MIT
 *
 * cli/guest_path.h - where the guests' libraries lie
 */
#ifndef CLI_GUEST_PATH_H
#define CLI_GUEST_PATH_H

#include <limits.h>

#define GUEST_NAME            "libduet-opencl.so"
#define GUEST_NAME_ROCM       "libduet-rocm.so"
#define GUEST_NAME_CUDA       "libduet-cuda.so"
#define GUEST_NAME_LEVEL_ZERO "libduet-level_zero.so"
#define RANGES_GUEST_NAME     "libduet-ranges.so"

/* Beside duet (a build folder), else where `meson install` puts it; NULL where it is in neither. */
const char *guest_path(const char *name, char path[PATH_MAX]);

#endif
