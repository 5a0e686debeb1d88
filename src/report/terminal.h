/* SPDX-License-Identifier: MIT
 *
 * report/terminal.h - width and colours of the terminal, and a line that shows progress
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

/* Shows "duet VERB: 3 s" on stderr from the first second on. Prints nothing unless stderr is a
 * terminal that can erase a line. */
void progress_start(const char *verb);
/* Erases the line, before anything else is printed. Ends the clock. */
void progress_stop(void);

/* Colours the lines that are printed on stdout from now on. -ENOMEM. */
int paint_start(FILE **ret_plain);
/* Writes the rest and restores stdout; plain is what paint_start returned. */
void paint_stop(FILE *plain);
