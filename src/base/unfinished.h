/* SPDX-License-Identifier: MIT
 *
 * base/unfinished.h - files and folders that go when the process ends before they are whole
 */
#ifndef BASE_UNFINISHED_H
#define BASE_UNFINISHED_H

#include <stdbool.h>

/* A new file PATH.XXXXXX, readable and writable by its owner only, open; its name is to be freed. -errno without a text. */
int unfinished_create(const char *path, char **ret_name, int *ret_fd);

/* Renames it to `path`, or removes it where that fails or `path` is NULL. -errno without a text. */
int unfinished_finish(const char *name, const char *path);

/* From watch to forget a name is removed, a folder with all in it, when a signal ends the process. -ENOSPC beyond 4 names or
 * where one is too long: it is not watched then. forget takes unknown names, too. */
int unfinished_watch(const char *name);
void unfinished_forget(const char *name);

/* A file, or a folder with all in it; follows no link. */
void unfinished_remove(const char *name);

/* From here on SIGHUP, SIGINT, SIGQUIT, SIGTERM and SIGXCPU remove what is watched before they end the process, unless they
 * were ignored; SIGXFSZ is ignored, so that writing fails instead. Not for the recorder. */
void unfinished_catch_signals(void);

#endif
