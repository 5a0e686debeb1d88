/* SPDX-License-Identifier: MIT
 *
 * collect/drm/formats.c - parses files of DRM drivers that contain more than one number
 *
 * Runs in:  a sampler's thread; pure functions of a text
 * Gets:     a text from a driver
 * Gives:    numbers
 * Owns:     nothing
 * Fails:    returns false for malformed text
 */
#include "collect/drm/formats.h"

#include <ctype.h>

#include "collect/counter/scan.h"

/* Parses "1: 1200Mhz *"; the level may be a letter ("S: 19Mhz *"). */
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

/* ---- perf events ----------------------------------------------------------------------------- */

static bool take_hexadecimal(struct scan *text, uint64_t *ret_value)
{
	uint64_t value = 0;
	size_t digits = 0;

	if (!scan_text(text, "0x"))
		return false;
	for (; text->at < text->end && isxdigit((unsigned char)*text->at); text->at++, digits++) {
		const char digit = (char)tolower((unsigned char)*text->at);

		value = value << 4 | (uint64_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
	}
	*ret_value = value;
	return digits && digits <= 16;
}

bool event_parse(const char *text, size_t length, uint64_t *ret_config)
{
	struct scan rest = scan_of(text, length), line;
	uint64_t value;

	if (!scan_line(&rest, &line) ||
	    !(scan_text(&line, "event=") || scan_text(&line, "config=")) ||
	    !take_hexadecimal(&line, &value) || line.at != line.end)
		return false;
	*ret_config = value;
	return true;
}

bool event_field_parse(const char *text, size_t length, struct event_field *ret_field)
{
	static const char *const words[EVENT_WORDS] = {"config:", "config1:", "config2:"};
	struct scan rest = scan_of(text, length), line;
	uint64_t low, high;
	size_t word = 0;

	if (!scan_line(&rest, &line))
		return false;
	while (word < EVENT_WORDS && !scan_text(&line, words[word]))
		word++;
	if (word == EVENT_WORDS || !scan_u64(&line, &low))
		return false;
	high = low;
	if (scan_text(&line, "-") && !scan_u64(&line, &high))
		return false;
	if (line.at != line.end || low > high || high > 63)
		return false;
	*ret_field = (struct event_field){(uint8_t)word, (uint8_t)low, (uint8_t)high};
	return true;
}

bool event_field_put(const struct event_field *field, uint64_t value, uint64_t words[EVENT_WORDS])
{
	const uint32_t bits = (uint32_t)(field->high - field->low) + 1;

	if (field->word >= EVENT_WORDS || (bits < 64 && value >> bits))
		return false;
	words[field->word] |= value << field->low;
	return true;
}
