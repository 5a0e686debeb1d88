/* SPDX-License-Identifier: MIT
 *
 * base/output_file.c - create or open the files that duet writes, without writing where another user wants it
 *
 * Runs in:  the recorder and the readers, the main thread (getpwuid has one buffer)
 * Gets:     a path from the command line, or a default name in the current folder   Gives: a descriptor for writing
 * Owns:     nothing that outlives a call
 * Fails:    -errno with the path and what to do; an existing file is not changed then
 * Why:      root writes by default into the current folder, which may be another user's. A link of that user there would
 *           have root overwrite any file of the machine; fs.protected_symlinks prevents that in sticky folders only. A
 *           file of that user would be readable for that user. The checked file is compared with the opened one, so that
 *           an exchange in between is found.
 */
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"

enum { NAME_BYTES = 64 };

/* ---- whose it is ------------------------------------------------------------------------------- */

/* "user anna (1000)" */
static const char *name_user(uid_t uid, char text[NAME_BYTES])
{
	const struct passwd *user = getpwuid(uid);

	snprintf(text, NAME_BYTES, "user %.40s (%u)", user ? user->pw_name : "?",
		 (unsigned int)uid);
	return text;
}

static int refuse(const char *path, const char *what, uid_t uid)
{
	char user[NAME_BYTES];

	return error_set(-EPERM,
			 "create '%s': it is %s of %s, and root does not write through it; remove "
			 "it, name another file, or run duet as that user",
			 path, what, name_user(uid, user));
}

static int refuse_link(const char *path, uid_t uid)
{
	if (uid != 0)
		return refuse(path, "a link", uid);
	return error_set(-EPERM,
			 "create '%s': it is a link in a folder that another user can change, and "
			 "root does not write through it; remove it, or name another file",
			 path);
}

/* Names of descriptors that duet was started with; the kernel makes these links. */
bool output_file_is_descriptor(const char *path)
{
	static const char *const names[] = {"/dev/stdout", "/dev/stderr", "/dev/fd/",
					    "/proc/self/fd/"};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (strncmp(path, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Only root can exchange what lies in it and is root's. is_strict: only root can add to it, too. */
static bool is_in_root_folder(const char *path, bool is_strict)
{
	const char *slash = strrchr(path, '/');
	auto_free char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	struct stat about;

	return folder && stat(folder, &about) == 0 && about.st_uid == 0 &&
	       (!(about.st_mode & (S_IWGRP | S_IWOTH)) || (!is_strict && about.st_mode & S_ISVTX));
}

/* Only root makes devices. A folder is refused by open(2). */
static bool has_no_owner(const struct stat *about)
{
	return S_ISCHR(about->st_mode) || S_ISBLK(about->st_mode) || S_ISDIR(about->st_mode);
}

/* Several names of one regular file: one of them may lie where only root may write. */
static int check_owner(const char *path, const struct stat *about)
{
	if (has_no_owner(about))
		return 0;
	if (about->st_uid != 0)
		return refuse(path, S_ISFIFO(about->st_mode) ? "a pipe" : "a file", about->st_uid);
	/* in a sticky folder a user can add another name of a file of root */
	if (S_ISREG(about->st_mode) && about->st_nlink > 1 && !is_in_root_folder(path, true))
		return error_set(-EPERM,
				 "create '%s': it is one of several names of a file of root, in a "
				 "folder of another user; remove it, or name another file",
				 path);
	return 0;
}

/* ---- opening ----------------------------------------------------------------------------------- */

struct opening {
	const char *path;
	int flags;
	mode_t mode;
	bool is_new;
	bool is_refused; /* with its own sentence in the error chain */
};

static int open_file(const char *path, int flags, mode_t mode)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOCTTY, mode);

	return fd < 0 ? -errno : fd;
}

/* Links are followed, also one to nothing: its file is made. */
static int open_linked(struct opening *opening)
{
	int fd = open_file(opening->path, opening->flags, 0);

	if (fd != -ENOENT)
		return fd;
	fd = open_file(opening->path, opening->flags | O_CREAT, opening->mode);
	opening->is_new = fd >= 0;
	return fd;
}

/* O_TRUNC last: what is refused keeps its content. */
static int open_checked(struct opening *opening, const struct stat *checked)
{
	const int flags = opening->flags;
	auto_close int fd = open_file(opening->path, (flags & ~O_TRUNC) | O_NOFOLLOW, 0);
	struct stat about;

	if (fd < 0)
		return fd;
	if (fstat(fd, &about) < 0 || about.st_dev != checked->st_dev ||
	    about.st_ino != checked->st_ino) {
		opening->is_refused = true;
		return error_set(-EPERM,
				 "create '%s': another user exchanged it meanwhile: name another "
				 "file",
				 opening->path);
	}
	if (flags & O_TRUNC && S_ISREG(about.st_mode) && ftruncate(fd, 0) < 0)
		return -errno;
	return take_fd(&fd);
}

/* The last part of the path is followed only where root made the link, in a folder of root's. */
static bool is_followed(const char *path, const struct stat *about)
{
	return S_ISLNK(about->st_mode) && about->st_uid == 0 && is_in_root_folder(path, false);
}

static int open_as_root(struct opening *opening)
{
	const char *path = opening->path;
	struct stat about;
	int error;

	if (output_file_is_descriptor(path))
		return open_linked(opening);
	if (lstat(path, &about) < 0)
		return -errno;
	if (is_followed(path, &about))
		return open_linked(opening);
	error = S_ISLNK(about.st_mode) ? refuse_link(path, about.st_uid)
				       : check_owner(path, &about);
	opening->is_refused = error != 0;
	return error ? error : open_checked(opening, &about);
}

int output_file_open(const char *path, int flags, mode_t mode, bool *ret_is_new)
{
	struct opening opening = {.path = path, .flags = flags, .mode = mode};
	int fd = open_file(path, (flags & ~O_TRUNC) | O_CREAT | O_EXCL, mode), first = fd;

	opening.is_new = fd >= 0;
	if (fd < 0)
		fd = geteuid() == 0 ? open_as_root(&opening) : open_linked(&opening);
	if (fd < 0 && !opening.is_refused) {
		errno = fd == -ENOENT && first != -EEXIST ? -first : -fd;
		return create_refused(path);
	}
	if (fd >= 0 && ret_is_new)
		*ret_is_new = opening.is_new;
	return fd;
}

FILE *output_file_stream(const char *path, int *ret_error)
{
	int fd = output_file_open(path, O_WRONLY | O_TRUNC, 0666, NULL);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	*ret_error = fd < 0 ? fd : 0;
	if (fd >= 0 && !file) {
		*ret_error = error_set(-errno, "create '%s': %s", path, strerror(errno));
		close(fd);
	}
	return file;
}

int output_folder_check(const char *path)
{
	struct stat about;

	if (geteuid() != 0 || lstat(path, &about) < 0)
		return 0;
	if (S_ISLNK(about.st_mode) && !is_followed(path, &about))
		return refuse_link(path, about.st_uid);
	return about.st_uid == 0 ? 0 : refuse(path, "a folder", about.st_uid);
}
