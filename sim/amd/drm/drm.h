/* SPDX-License-Identifier: MIT
 *
 * sim/amd/drm/drm.h - stand-in for the kernel's header of that name, which Debian leaves out of
 * linux-libc-dev
 *
 * <linux/kfd_ioctl.h> needs only its integer types.
 */
#pragma once

#include <linux/ioctl.h>
#include <linux/types.h>
