/* SPDX-License-Identifier: MIT
 *
 * collect/drm/formats.h - files of DRM drivers that are more than one number
 */
#ifndef COLLECT_DRM_FORMATS_H
#define COLLECT_DRM_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* pp_dpm_sclk and its kin: a line for each level, "1: 1200Mhz *"; that with the star is taken, MHz. False: none has. */
bool dpm_parse(const char *text, size_t length, uint64_t *ret_mhz);

#endif
