/* SPDX-License-Identifier: MIT
 *
 * base/file/output_file.h - create or open output files and folders, without being redirected by
 * another user
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Opens a file for writing, and creates it with `mode` if it is missing; flags: those of open(2)
 * without O_CREAT. As root, -EPERM for a link that another user may have placed and for a file or
 * pipe of another user; terminals, devices and duet's own descriptors (/dev/stdout) are allowed.
 * Returns the descriptor. ret_is_new: it was created; may be NULL. Errors: -errno with the error
 * chain. */
int output_file_open(const char *path, int flags, mode_t mode, bool *ret_is_new);

/* The same as an empty file with mode 0666. NULL: -errno is in *ret_error. */
FILE *output_file_stream(const char *path, int *ret_error);

/* The folder that contains an output, and the output's name in it. As root, the folder is opened
 * once, so an exchange of its name has no effect. Otherwise, and for duet's own descriptors, above
 * is AT_FDCWD and name is the path. */
struct output_place {
	int above;
	const char *name; /* borrowed from the path */
};

/* Errors: -errno with the error chain. As root, -EPERM if a folder of the path is a link that
 * another user may have placed: the file would be written where that user wants it. */
int output_place_open(const char *path, struct output_place *ret_place);
void output_place_close(struct output_place *place);

/* lstat of the output. False: failed with errno. */
bool output_place_find(const struct output_place *place, struct stat *ret_about);

/* Whether a new file may take the name by a rename: the name is free (about is NULL), or it is a
 * regular file of the user's own, with one name, and the new file can have its owner and group.
 * Other files are opened as above. about: result of output_place_find. */
bool output_place_is_replaceable(const struct output_place *place, const struct stat *about);

/* An output folder. It is opened once, and as root it must be owned by root and not be a link that
 * another user may have placed. Everything below it is made from its descriptor. */
struct output_folder {
	char *path;       /* owned */
	const char *name; /* the last part of the path */
	int above, fd;    /* -1: not opened yet */
	bool is_new;      /* duet made it */
	bool is_refused;  /* with its own message in the error chain */
};

/* -ENOMEM. The folder is opened here or at its first use; may_make: a missing folder is made.
 * Errors: -errno; they have an error chain only if is_refused is set. */
int output_folder_init(struct output_folder *folder, const char *path);
int output_folder_open(struct output_folder *folder, bool may_make);
void output_folder_fini(struct output_folder *folder);

/* A descriptor of the folder below `folder` that contains `path`, to be closed; ret_name: the last
 * part of `path`. -EINVAL: it leads out of the folder. Errors: as of open. */
int output_folder_enter(struct output_folder *folder, const char *path, bool may_make,
			char ret_name[NAME_MAX + 1]);

/* lstat of `path` below the folder; a link is not followed. False if nothing is there or it
 * cannot be reached. */
bool output_folder_find(struct output_folder *folder, const char *path, struct stat *ret_about);

/* Sets the error chain, if it is not set, for a failure at `path` below the folder; returns
 * `error`. */
int output_folder_fail(const struct output_folder *folder, const char *path, int error);

/* A new file at `path` below the folder. NULL: -errno is in *ret_error, with the error chain. */
FILE *output_folder_stream(struct output_folder *folder, const char *path, int *ret_error);
