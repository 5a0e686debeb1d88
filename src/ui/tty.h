/* SPDX-License-Identifier: MIT
 *
 * ui/tty.h - what the terminal can do
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* $TERM, or "unknown". */
const char *tty_name(void);
/* Whether the locale has UTF-8 and the terminal can show it. */
bool tty_has_utf8(void);
/* Whether stdin and stdout are a terminal on which ncurses can draw. Errors with the error chain:
 * -ENOTTY, -EOPNOTSUPP. */
int tty_check(void);
/* The bytes that end a full-screen program: plain style, cursor, normal screen. Call it after
 * tty_check. Returns their number. */
size_t tty_restore(char *ret_bytes, size_t size);
