/* SPDX-License-Identifier: MIT
 *
 * flame/colour.h - the colour of a frame, the same in every graph
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "flame/tree.h"

#define FLAME_SHADES      16 /* shades per class */
#define FLAME_INK         0x161616u
#define FLAME_INK_ON_DARK 0xf4f4f4u

/* The shade of a name within its class. It depends on the name alone. */
uint32_t flame_shade(struct flame_text name);

/* A colour 0xRRGGBB. FLAME_INK or, for a dark page, FLAME_INK_ON_DARK has a contrast of at least 5
 * on it. */
uint32_t flame_colour(enum flame_class frame_class, uint32_t shade, bool is_dark);

/* The class's word in the legend, and the letter that begins its style classes. */
const char *flame_class_word(enum flame_class frame_class);
char flame_class_letter(enum flame_class frame_class);
