/* SPDX-License-Identifier: MIT
 *
 * base/file/unfinished.h - remove incomplete files and folders when a signal ends the process
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* Creates and opens a new file PATH.XXXXXX, readable and writable by its owner only; its name is to
 * be freed. Names are below the descriptor `above`, which may be AT_FDCWD and must stay open until
 * the file is finished. -errno without a message. */
int unfinished_create(int above, const char *path, char **ret_name, int *ret_fd);

/* Renames it to `path`, or removes it if that fails or `path` is NULL. -errno without a message. */
int unfinished_finish(int above, const char *name, const char *path);

/* From watch to forget, a signal that ends the process removes the file; `name` is below the
 * descriptor `above`, which may be AT_FDCWD. -ENOSPC beyond 4 names or if one is too long: it is
 * then not watched. forget accepts unknown names, too. */
int unfinished_watch(int above, const char *name);
void unfinished_forget(int above, const char *name);

/* The same for everything in an open folder and, unless `name` is NULL, the folder itself. */
int unfinished_watch_folder(int folder, int above, const char *name);
void unfinished_forget_folder(int folder, int above, const char *name);

/* Removes everything in an open folder, following no link, and the folder itself unless `name` is
 * NULL. */
void unfinished_remove_folder(int folder, int above, const char *name);

/* Signals that are caught wait until pthread_sigmask(SIG_SETMASK, ret_before, NULL). */
void unfinished_block_signals(sigset_t *ret_before);

/* From here on SIGHUP, SIGINT, SIGQUIT, SIGTERM and SIGXCPU remove watched files before they end
 * the process, unless they were ignored. SIGXFSZ is ignored, so that writing fails instead. Not for
 * the recorder. */
void unfinished_catch_signals(void);
