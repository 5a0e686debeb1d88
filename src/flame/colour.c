/* SPDX-License-Identifier: MIT
 *
 * flame/colour.c - the colour of a frame, the same in every graph
 *
 * Runs in:  our own process
 * Gets:     a class and a name
 * Gives:    a shade, a colour
 * Owns:     nothing
 * Fails:    never
 * Why 16 shades: neighbours in a row differ in 15 of 16 cases. All shades of all classes, for light
 *           and dark pages, are 9 KB of style. A colour of its own would have to be written into
 *           each of 100,000 boxes.
 */
#include "flame/colour.h"

#include <math.h>
#include <xxhash.h>

#include "base/array.h"

/* Hue in degrees, from the first to the last shade; saturation and lightness in per cent. */
struct family {
	const char *word;
	char letter;
	int16_t hue_first, hue_last;
	uint8_t saturation, light_low, light_high;    /* on a light page */
	uint8_t dark_saturation, dark_low, dark_high; /* on a dark page */
};

static const struct family families[FLAME_CLASS_COUNT] = {
	[FLAME_HOST] = {"host", 'h', -6, 19, 88, 71, 81, 48, 29, 37},
	[FLAME_KERNEL] = {"OS kernel", 'k', 26, 35, 98, 59, 66, 85, 23, 28},
	[FLAME_JIT] = {"JIT", 'j', 46, 55, 85, 60, 69, 65, 19, 24},
	[FLAME_INLINED] = {"inlined", 'i', 318, 335, 60, 79, 86, 32, 32, 38},
	[FLAME_PYTHON] = {"Python", 'p', 72, 104, 48, 64, 74, 42, 20, 26},
	[FLAME_DEVICE] = {"device", 'G', 184, 215, 72, 64, 73, 62, 24, 31},
	[FLAME_INSTRUCTION] = {"device instruction", 'g', 198, 212, 78, 85, 91, 30, 34, 39},
	[FLAME_STALL] = {"stall reason", 'w', 252, 276, 62, 79, 87, 34, 35, 42},
	[FLAME_SEPARATOR] = {"host to device", 's', 0, 0, 0, 72, 72, 0, 36, 36},
	[FLAME_IDLE] = {"idle", 'd', 220, 230, 7, 80, 88, 7, 24, 31},
	[FLAME_TRUNCATED] = {"truncated (frames missing)", 't', 0, 0, 0, 76, 76, 0, 33, 33},
};

uint32_t flame_shade(struct flame_text name)
{
	return (uint32_t)(XXH3_64bits(name.bytes, name.size) % FLAME_SHADES);
}

/* One channel of HSL to RGB, the form of CSS Color 4, section 7.1. */
static uint32_t channel(double hue, double saturation, double light, int n)
{
	double k = fmod(n + hue / 30, 12);
	double a = saturation * fmin(light, 1 - light);

	return (uint32_t)lround(255 * (light - a * fmax(-1, fmin(fmin(k - 3, 9 - k), 1))));
}

uint32_t flame_colour(enum flame_class frame_class, uint32_t shade, bool is_dark)
{
	const struct family *family = &families[frame_class];
	double low = is_dark ? family->dark_low : family->light_low;
	double high = is_dark ? family->dark_high : family->light_high;
	double saturation = (is_dark ? family->dark_saturation : family->saturation) / 100.0;
	double last = FLAME_SHADES - 1;
	double hue = 360 + family->hue_first +
		     (family->hue_last - family->hue_first) * (double)shade / last;
	double light = (low + (high - low) * (shade * 7 % FLAME_SHADES) / last) / 100;

	return channel(hue, saturation, light, 0) << 16 | channel(hue, saturation, light, 8) << 8 |
	       channel(hue, saturation, light, 4);
}

const char *flame_class_word(enum flame_class frame_class)
{
	return frame_class < ARRAY_COUNT(families) ? families[frame_class].word : "unknown";
}

char flame_class_letter(enum flame_class frame_class)
{
	return families[frame_class].letter;
}
