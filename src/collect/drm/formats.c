/* SPDX-License-Identifier: MIT
 *
 * collect/drm/formats.c - files of DRM drivers that are more than one number
 *
 * Runs in:  a sampler's thread; pure functions of a text
 * Gets:     a text of a driver   Gives: numbers
 * Owns:     nothing
 * Fails:    false for what makes no sense
 */
#include "collect/drm/formats.h"

#include "collect/scan.h"

/* "1: 1200Mhz *", in which the level may be a letter ("S: 19Mhz *"). */
static bool level_parse(struct scan line, uint64_t *ret_mhz)
{
	struct scan level, frequency;

	return scan_word(&line, &level) && level.end[-1] == ':' && scan_word(&line, &frequency) &&
	       scan_u64(&frequency, ret_mhz) &&
	       (scan_text(&frequency, "Mhz") || scan_text(&frequency, "MHz"));
}

bool dpm_parse(const char *text, size_t length, uint64_t *ret_mhz)
{
	struct scan rest = scan_of(text, length), line;

	while (scan_line(&rest, &line))
		if (memchr(line.at, '*', (size_t)(line.end - line.at)))
			return level_parse(line, ret_mhz);
	return false;
}
