/* SPDX-License-Identifier: MIT
 *
 * collect/owner.h - the program that started this recorder for itself (libduet)
 */
#ifndef COLLECT_OWNER_H
#define COLLECT_OWNER_H

#include <stdbool.h>

/* Makes the inherited descriptor ours alone. Errors: -errno with the error chain where it is no socket of that kind. */
int owner_take(int fd);

/* It may say hello at names. Errors: -errno with the error chain; it is gone. */
int owner_tell_ready(int fd, const char *names);

/* It wants no more, or is gone. */
bool owner_has_left(int fd);

/* The file is complete, and this process about to exit so. */
void owner_tell_end(int fd, int status);

#endif
