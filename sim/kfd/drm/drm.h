/* SPDX-License-Identifier: MIT
 *
 * sim/kfd/drm/drm.h - stands in for the kernel's header of that name, which Debian leaves out of linux-libc-dev
 *
 * Of it, <linux/kfd_ioctl.h> needs no more than the types of integers.
 */
#ifndef SIM_KFD_DRM_DRM_H
#define SIM_KFD_DRM_DRM_H

#include <linux/ioctl.h>
#include <linux/types.h>

#endif
