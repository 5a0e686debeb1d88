/* SPDX-License-Identifier: MIT
 *
 * cli/doctor/tree.c - read and write files below a folder that is treated as "/"
 *
 * Runs in:  our own process, often as root
 * Gets:     a folder and paths below it
 * Gives:    files written, removed, or checked (owner and rights)
 * Owns:     the folder's descriptor
 * Fails:    with -errno and the error chain, which contains the file's path on the host
 * Why:      the folder may be an untrusted image of a system: its /etc may be a link to the host's
 *           /etc. A path made from folder and name would follow that link into the host, as root.
 *           openat2 with RESOLVE_IN_ROOT (Linux 5.6) resolves links as inside the image
 */
#include "cli/doctor/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

#define KEPT_FOLDER "/etc" /* never removed, and nothing above it */

/* For the host's own tree plain openat suffices, on every kernel: no link can lead outside. */
static int open_in(const struct tree *tree, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC),
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int fd;

	if (tree->is_host)
		fd = open(*path ? path : "/", flags | O_CLOEXEC);
	else
		fd = (int)syscall(SYS_openat2, tree->fd, *path ? path : "/", &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

static int set_path_error(const struct tree *tree, int error, const char *what, const char *path)
{
	return error_set(error, "%s '%s%s': %s%s", what, tree->root,
			 *path || *tree->root ? path : "/", strerror(-error),
			 error == -EACCES || error == -EPERM ? "; run it as root" : "");
}

int tree_open(const char *root, struct tree *ret_tree)
{
	struct tree tree = {.fd = -1, .is_host = !*root};
	int fd;

	if (!tree.is_host && !realpath(root, tree.root))
		return error_set(-errno, "--root: '%s': %s", root, strerror(errno));
	if (strcmp(tree.root, "/") == 0) {
		tree.root[0] = '\0';
		tree.is_host = true;
	}
	tree.fd = open(tree.is_host ? "/" : tree.root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (tree.fd < 0)
		return error_set(-errno, "--root: '%s' is not a folder: %s", root, strerror(errno));
	fd = open_in(&tree, "/", O_PATH | O_DIRECTORY);
	if (fd < 0) {
		tree_close(&tree);
		return error_set(
			fd,
			"--root: '%s': openat2: %s; duet needs it (Linux 5.6; a container may "
			"forbid it) to keep links inside the folder; run duet install inside "
			"the image, or on another kernel",
			root, strerror(-fd));
	}
	close(fd);
	*ret_tree = tree;
	return 0;
}

void tree_close(struct tree *tree)
{
	if (tree->fd >= 0)
		close(tree->fd);
	tree->fd = -1;
}

/* The path up to its last "/", as a string; "" for the root. */
static void parent_of(const char *path, char ret_parent[PATH_MAX])
{
	snprintf(ret_parent, PATH_MAX, "%.*s", (int)(strrchr(path, '/') - path), path);
}

static int make_folder(const struct tree *tree, const char *path)
{
	char parent[PATH_MAX];
	auto_close int above = -1, made = -1;

	parent_of(path, parent);
	above = open_in(tree, parent, O_PATH | O_DIRECTORY);
	if (above < 0)
		return set_path_error(tree, above, "open folder", parent);
	if (mkdirat(above, strrchr(path, '/') + 1, 0755) < 0)
		return errno == EEXIST ? 0 : set_path_error(tree, -errno, "make folder", path);
	/* readable by all users, whatever the umask: their sessions read the files in it */
	made = openat(above, strrchr(path, '/') + 1,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (made < 0 || fchmod(made, 0755) < 0)
		return set_path_error(tree, -errno, "make folder", path);
	return 0;
}

/* Opens a folder; creates it and missing folders above it. */
static int open_folder(const struct tree *tree, const char *folder)
{
	char path[PATH_MAX];
	int fd;

	for (const char *end = folder; end;) {
		int error;

		end = strchr(end + 1, '/');
		snprintf(path, sizeof(path), "%.*s",
			 end ? (int)(end - folder) : (int)strlen(folder), folder);
		error = make_folder(tree, path);
		if (error)
			return error;
	}
	fd = open_in(tree, folder, O_PATH | O_DIRECTORY);
	return fd < 0 ? set_path_error(tree, fd, "open folder", folder) : fd;
}

static int write_new(int folder, const char *name, const char *text)
{
	auto_close int fd =
		openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int error;

	if (fd < 0)
		return -errno;
	error = write_all(fd, text, strlen(text));
	if (!error && fchmod(fd, 0644) < 0)
		error = -errno;
	if (!error && close(take_fd(&fd)) < 0)
		error = -errno;
	return error;
}

int tree_write(const struct tree *tree, const char *folder, const char *name, const char *text)
{
	auto_close int fd = open_folder(tree, folder);
	char path[PATH_MAX], fresh[NAME_MAX + 1];
	int error;

	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	snprintf(fresh, sizeof(fresh), ".%s.%d", name, (int)getpid());
	error = write_new(fd, fresh, text);
	if (!error && renameat(fd, fresh, fd, name) < 0)
		error = -errno;
	if (!error)
		return 0;
	unlinkat(fd, fresh, 0);
	return set_path_error(tree, error, "write", path);
}

/* Removes empty folders; rmdir refuses the others. */
static void remove_empty(const struct tree *tree, const char *folder)
{
	char path[PATH_MAX], parent[PATH_MAX];

	snprintf(path, sizeof(path), "%s", folder);
	while (strcmp(path, KEPT_FOLDER) != 0 && *path) {
		auto_close int above = -1;

		parent_of(path, parent);
		above = open_in(tree, parent, O_PATH | O_DIRECTORY);
		if (above < 0 || unlinkat(above, strrchr(path, '/') + 1, AT_REMOVEDIR) < 0)
			return;
		strcpy(path, parent);
	}
}

int tree_remove(const struct tree *tree, const char *folder, const char *name, bool *ret_removed)
{
	auto_close int fd = open_in(tree, folder, O_PATH | O_DIRECTORY);
	char path[PATH_MAX];
	int error = fd < 0 ? fd : 0;

	if (!error && unlinkat(fd, name, 0) < 0)
		error = -errno;
	if (error && error != -ENOENT) {
		snprintf(path, sizeof(path), "%s/%s", folder, name);
		return set_path_error(tree, error, "remove", path);
	}
	if (!error)
		remove_empty(tree, folder);
	*ret_removed = !error;
	return 0;
}

int tree_resolve(const struct tree *tree, const char *path, char ret_path[PATH_MAX])
{
	auto_close int fd = open_in(tree, path, O_PATH);
	size_t above = strlen(tree->root);
	char link[64], host[PATH_MAX];
	ssize_t length;

	if (fd < 0)
		return set_path_error(tree, fd, "open", path);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, host, sizeof(host) - 1);
	if (length < 0)
		return set_path_error(tree, -errno, "resolve", path);
	host[length] = '\0';
	if (strncmp(host, tree->root, above) != 0 || host[above] != '/')
		return set_path_error(tree, -EXDEV, "resolve", path);
	strcpy(ret_path, host + above);
	return 0;
}

static int check_one(const struct tree *tree, const char *path, uid_t owner)
{
	auto_close int fd = open_in(tree, path, O_PATH | O_NOFOLLOW);
	const char *why = NULL;
	struct stat about;

	if (fd < 0 || fstat(fd, &about) < 0)
		return set_path_error(tree, fd < 0 ? fd : -errno, "open", path);
	if (about.st_uid != 0 && about.st_uid != owner)
		why = "belongs to a user who is not root";
	else if (about.st_mode & (S_IWGRP | S_IWOTH))
		why = "can be written by users who are not root";
	if (!why)
		return 0;
	return error_set(
		-EPERM,
		"'%s%s' %s, who could then inject code into every program; install duet as root "
		"(make install) and run the installed duet",
		tree->root, *path || *tree->root ? path : "/", why);
}

int tree_check_trusted(const struct tree *tree, const char *path)
{
	char piece[PATH_MAX];
	struct stat about;
	uid_t owner = 0;

	if (!tree->is_host) {
		if (fstat(tree->fd, &about) < 0)
			return set_path_error(tree, -errno, "look at", "/");
		owner = about.st_uid;
	}
	snprintf(piece, sizeof(piece), "%s", path);
	for (;;) {
		int error = check_one(tree, piece, owner);

		if (error || !*piece)
			return error;
		*strrchr(piece, '/') = '\0';
	}
}
