/* SPDX-License-Identifier: MIT
 *
 * cli/doctor/tree.h - read and write files below a folder that is treated as "/"
 *
 * Paths begin with "/" and stay below the folder, whatever links it contains. Errors: -errno with
 * the error chain.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct tree {
	int fd;
	bool is_host;        /* the folder is the host's own "/" */
	char root[PATH_MAX]; /* its path on the host, "" for "/" */
};

/* root "": the host's own. Errors: -ENOSYS: the kernel cannot keep links inside a folder. */
int tree_open(const char *root, struct tree *ret_tree);
void tree_close(struct tree *tree);

/* Replaces the file at folder/name; a link of that name is replaced, not followed. Creates missing
 * folders. */
int tree_write(const struct tree *tree, const char *folder, const char *name, const char *text);

/* Removes a file, and folders that are empty then, except /etc. *ret_removed: false if there was no
 * such file. */
int tree_remove(const struct tree *tree, const char *folder, const char *name, bool *ret_removed);

/* Resolves the links of `path`; the result is a path in the tree. */
int tree_resolve(const struct tree *tree, const char *path, char ret_path[PATH_MAX]);

/* Whether only root can replace or change a resolved path: root owns it and all folders above it,
 * and no other user can write them. In a tree other than "/", the owner of the tree counts as root.
 * Errors: -EPERM with the reason and the remedy. */
int tree_check_trusted(const struct tree *tree, const char *path);
