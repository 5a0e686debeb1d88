/* SPDX-License-Identifier: MIT
 *
 * collect/start/owner.h - talks to the program that started this recorder to record itself
 * (libduet)
 */
#pragma once

#include <stdbool.h>

/* Checks the inherited descriptor and sets FD_CLOEXEC. Errors: -errno with the error chain, if it
 * is not a libduet socket. */
int owner_take(int fd);

/* Reports to the program that its guest may now connect to the session called `names`. Errors:
 * -errno with the error chain; the program has ended. */
int owner_send_ready(int fd, const char *names);

/* Whether the program has asked for the end of the recording, or has ended. */
bool owner_has_left(int fd);

/* Reports to the program that the trace is complete and this process will exit with `status`. */
void owner_send_end(int fd, int status);
