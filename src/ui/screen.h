/* SPDX-License-Identifier: MIT
 *
 * ui/screen.h - the terminal: shows a canvas, and reads keys
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ui/canvas.h"

struct ui_screen;

/* Takes over the terminal on stdin and stdout. Errors, with the error chain: -ENOTTY: one is not a
 * terminal; -EOPNOTSUPP: the terminal cannot move its cursor, or is not known. */
int ui_screen_open(struct ui_screen **ret_screen);
/* Gives the terminal back as it was. NULL-safe. */
void ui_screen_close(struct ui_screen *screen);

void ui_screen_size(const struct ui_screen *screen, int *ret_rows, int *ret_columns);
void ui_screen_show(struct ui_screen *screen, const struct canvas *canvas);

/* Waits for a key: a character, or an enum ui_key; UI_KEY_NONE after timeout_ns, or if a signal
 * asks for the end. */
uint32_t ui_screen_key(struct ui_screen *screen, uint64_t timeout_ns);
/* SIGINT, SIGTERM, SIGHUP or SIGQUIT arrived, or the terminal is gone: its number; 0: none. */
int ui_screen_signal(const struct ui_screen *screen);
