/* SPDX-License-Identifier: MIT
 *
 * cli/progress.h - a line on stderr while a verb reads a trace for longer than a second
 */
#pragma once

/* Starts the clock. Prints nothing unless stderr is a terminal. */
void progress_start(const char *verb);
/* Erases the line, before anything else is printed. Ends the clock. */
void progress_stop(void);
