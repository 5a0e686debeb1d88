/* SPDX-License-Identifier: MIT
 *
 * cli/tree.h - files below a folder that is taken for "/"
 *
 * Paths begin with "/" and stay below the folder whatever links are in it. Errors: -errno with a text
 * in the error chain.
 */
#ifndef CLI_TREE_H
#define CLI_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct tree {
	int fd;
	bool is_host;        /* it is the machine's own "/" */
	char root[PATH_MAX]; /* its path on the host, "" for "/" */
};

/* root "": the machine's own. -ENOSYS where the kernel cannot keep links inside a folder. */
int tree_open(const char *root, struct tree *ret_tree);
void tree_close(struct tree *tree);

/* Replaces the file at folder/name, never what a link of that name points to; folders that are
 * missing are made. */
int tree_write(const struct tree *tree, const char *folder, const char *name, const char *text);

/* *ret_removed is false where there was none. Folders that are empty then go too, but not /etc. */
int tree_remove(const struct tree *tree, const char *folder, const char *name, bool *ret_removed);

/* Where the links of `path` lead, as a path in the tree. */
int tree_resolve(const struct tree *tree, const char *path, char ret_path[PATH_MAX]);

/* 0 where only root can replace or change a resolved path: it and all folders above it belong to
 * root and nobody else may write them. Below a folder other than "/" its owner is as good as root:
 * all of the tree is his. -EPERM with what is wrong and what to do. */
int tree_check_trusted(const struct tree *tree, const char *path);

#endif
