/* SPDX-License-Identifier: MIT
 *
 * report/terminal.h - width and colours of the terminal that shows a report
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Columns of the terminal on stdout, from $COLUMNS or the terminal itself, at least 60 and at most
 * 250; 0 if stdout is not a terminal. */
size_t terminal_columns(void);

/* Whether a text on stdout has colours. when: "always", "never", "auto" or NULL. "auto" means on a
 * terminal that has colours, unless $NO_COLOR is set. */
bool terminal_has_colours(const char *when);

/* Colours the lines that are printed on stdout from now on. -ENOMEM. */
int paint_start(FILE **ret_plain);
/* Writes the rest and restores stdout; plain is what paint_start returned. */
void paint_stop(FILE *plain);
