/* SPDX-License-Identifier: MIT
 *
 * export/flame_colour.h - the colour of a frame, the same in every graph
 */
#ifndef EXPORT_FLAME_COLOUR_H
#define EXPORT_FLAME_COLOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "export/flame_tree.h"

#define FLAME_SHADES      16 /* of a class */
#define FLAME_INK         0x161616u
#define FLAME_INK_ON_DARK 0xf4f4f4u

/* Which of its class's shades a name has; the name alone decides. */
uint32_t flame_shade(struct flame_text name);

/* 0xRRGGBB: on it, ink of 0x161616 or, for a dark page, 0xf4f4f4 has a contrast of at least 5. */
uint32_t flame_colour(enum flame_class frame_class, uint32_t shade, bool is_dark);

/* The class's word in the legend, and the letter that begins its style classes. */
const char *flame_class_word(enum flame_class frame_class);
char flame_class_letter(enum flame_class frame_class);

#endif
