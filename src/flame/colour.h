/* SPDX-License-Identifier: MIT
 *
 * flame/colour.h - the colour of a frame, the same in every graph
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/account/account.h"
#include "flame/tree.h"

#define FLAME_SHADES      16 /* shades per class that depend on the name's hash */
#define FLAME_MAX_SHADES  32 /* FLAME_IDLE has one for each cause, and others */
#define FLAME_INK         0x161616u
#define FLAME_INK_ON_DARK 0xf4f4f4u

/* The shade of a name within its class. It depends on both alone. */
uint32_t flame_shade(enum flame_class frame_class, struct flame_text name);

/* A colour 0xRRGGBB. FLAME_INK or, for a dark page, FLAME_INK_ON_DARK has a contrast of at least 5
 * on it. */
uint32_t flame_colour(enum flame_class frame_class, uint32_t shade, bool is_dark);

/* The colour of idle time with a cause, the same in all pictures and pages. */
uint32_t flame_cause_colour(enum account_cause cause, bool is_dark);

/* Number of shades of a class, at most FLAME_MAX_SHADES. */
uint32_t flame_shades(enum flame_class frame_class);
/* Whether the shades of a class have words of their own in the legend. */
bool flame_has_shade_words(enum flame_class frame_class);
/* Whether a shade stands for idle time of a device with a cause. */
bool flame_shade_has_cause(enum flame_class frame_class, uint32_t shade);
/* The word of a class, or of such a shade, in the legend. */
const char *flame_shade_word(enum flame_class frame_class, uint32_t shade);
/* The word of a class, and the letter that begins its style classes. */
const char *flame_class_word(enum flame_class frame_class);
char flame_class_letter(enum flame_class frame_class);
