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
 * Why a table for idle causes: its colours are the result of a search. With normal sight and in
 * three models of colour blindness (Machado 2009), any two are at least 10 apart (CIE 1976). Hues
 * of Okabe and Ito, changed until text on them can be read, come as close as 2.
 */
#include "flame/colour.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
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
	[FLAME_SEPARATOR] = {FLAME_SEPARATOR_LABEL, 's', 0, 0, 0, 72, 72, 0, 36, 36},
	[FLAME_IDLE] = {"idle", 'd', 220, 230, 7, 80, 88, 7, 24, 31},
	[FLAME_TRUNCATED] = {"truncated (frames missing)", 't', 0, 0, 0, 76, 76, 0, 33, 33},
};

/* 0xRRGGBB on a light page and on a dark page. */
static const uint32_t cause_colours[CAUSE_COUNT][2] = {
	[CAUSE_API_WAIT] = {0xf4deb8, 0x644905},
	[CAUSE_API_CALL] = {0xe1c846, 0x666c30},
	[CAUSE_ON_CPU] = {0x49bb89, 0x1f764e},
	[CAUSE_PREEMPTED] = {0xea79cf, 0xb82294},
	[CAUSE_BLOCKED] = {0xfdb96e, 0x4b2702},
	[CAUSE_HOST] = {0x92959f, 0x5d696f},
	[CAUSE_DUET_ITSELF] = {0xe97974, 0xc91e28},
	[CAUSE_RUNTIME] = {0xbce0fc, 0x1356b4},
	[CAUSE_SUBMISSION] = {0x67c6fd, 0x033c5c},
	[CAUSE_DEPENDENCY] = {0x9289fc, 0x5a09d8},
	[CAUSE_LATENCY] = {0xb9934e, 0x3f3223},
	[CAUSE_NOTHING_TO_DO] = {0xe7e7e7, 0x4e4949},
	[CAUSE_UNKNOWN] = {0xc4b9bb, 0x262425},
	[CAUSE_PROFILER_OVERHEAD] = {0x97ff08, 0x32037d},
};

/* The shades of FLAME_IDLE: 0 for what has no cause, one for each cause, and one for each state of
 * a thread off its processor. */
enum { SHADE_CAUSES = 1, SHADE_AWAY = SHADE_CAUSES + CAUSE_COUNT };

static const struct {
	const char *begin, *word;
	enum account_cause like; /* it has the colour of this cause */
} aways[] = {
	{"[preempted]", "preempted", CAUSE_PREEMPTED},
	{"[blocked]", "blocked", CAUSE_BLOCKED},
	{"[waiting ", "waiting", CAUSE_BLOCKED},
};

_Static_assert(SHADE_AWAY + ARRAY_COUNT(aways) <= FLAME_MAX_SHADES, "room for all causes");

static bool begins_with(struct flame_text name, const char *begin)
{
	return name.size >= strlen(begin) && memcmp(name.bytes, begin, strlen(begin)) == 0;
}

static uint32_t idle_shade(struct flame_text name)
{
	char text[96];

	for (uint32_t i = 0; i < CAUSE_COUNT; i++) {
		snprintf(text, sizeof(text), "[idle: %s]",
			 account_cause_text((enum account_cause)i));
		if (name.size == strlen(text) && begins_with(name, text))
			return SHADE_CAUSES + i;
	}
	for (uint32_t i = 0; i < ARRAY_COUNT(aways); i++)
		if (begins_with(name, aways[i].begin))
			return SHADE_AWAY + i;
	return 0;
}

uint32_t flame_shade(enum flame_class frame_class, struct flame_text name)
{
	if (frame_class == FLAME_IDLE)
		return idle_shade(name);
	return (uint32_t)(XXH3_64bits(name.bytes, name.size) % FLAME_SHADES);
}

uint32_t flame_cause_colour(enum account_cause cause, bool is_dark)
{
	return cause_colours[cause][is_dark];
}

/* Whether the shade stands for a cause; *ret_cause: that cause, or the one with its colour. */
static bool has_cause(enum flame_class frame_class, uint32_t shade, enum account_cause *ret_cause)
{
	if (frame_class != FLAME_IDLE || shade < SHADE_CAUSES)
		return false;
	*ret_cause = shade < SHADE_AWAY ? (enum account_cause)(shade - SHADE_CAUSES)
					: aways[shade - SHADE_AWAY].like;
	return true;
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
	enum account_cause cause;
	double low = is_dark ? family->dark_low : family->light_low;
	double high = is_dark ? family->dark_high : family->light_high;
	double saturation = (is_dark ? family->dark_saturation : family->saturation) / 100.0;
	double last = FLAME_SHADES - 1;
	double hue = 360 + family->hue_first +
		     (family->hue_last - family->hue_first) * (double)shade / last;
	double light = (low + (high - low) * (shade * 7 % FLAME_SHADES) / last) / 100;

	if (has_cause(frame_class, shade, &cause))
		return flame_cause_colour(cause, is_dark);
	return channel(hue, saturation, light, 0) << 16 | channel(hue, saturation, light, 8) << 8 |
	       channel(hue, saturation, light, 4);
}

uint32_t flame_shades(enum flame_class frame_class)
{
	return frame_class == FLAME_IDLE ? SHADE_AWAY + (uint32_t)ARRAY_COUNT(aways) : FLAME_SHADES;
}

bool flame_has_shade_words(enum flame_class frame_class)
{
	return frame_class == FLAME_IDLE;
}

bool flame_shade_has_cause(enum flame_class frame_class, uint32_t shade)
{
	return frame_class == FLAME_IDLE && shade >= SHADE_CAUSES && shade < SHADE_AWAY;
}

const char *flame_shade_word(enum flame_class frame_class, uint32_t shade)
{
	enum account_cause cause;

	if (!has_cause(frame_class, shade, &cause))
		return flame_class_word(frame_class);
	return shade < SHADE_AWAY ? account_cause_text(cause) : aways[shade - SHADE_AWAY].word;
}

const char *flame_class_word(enum flame_class frame_class)
{
	return frame_class < ARRAY_COUNT(families) ? families[frame_class].word : "unknown";
}

char flame_class_letter(enum flame_class frame_class)
{
	return families[frame_class].letter;
}
