/* SPDX-License-Identifier: MIT
 *
 * flame/diff/picture.h - the parts of a flame graph in SVG that show changes
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "flame/svg_private.h"

/* Finds the changes that the picture lists. -ENOMEM. */
int svg_find_changes(struct svg *svg);

void svg_write_change_style(struct svg *svg, bool is_dark);
void svg_write_change_legend(struct svg *svg, uint32_t *x, uint32_t *y);

/* The number of a box's style class "cN". */
uint32_t svg_change_class(const struct svg *svg, uint32_t box);

/* Appends both values of a box and their difference. */
void svg_append_change(struct svg *svg, uint32_t box);

/* Height of the lists, and the lists themselves from `y` on. */
uint32_t svg_changes_height(const struct svg *svg);
void svg_write_changes(struct svg *svg, uint32_t y);
