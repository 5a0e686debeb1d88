/* SPDX-License-Identifier: MIT
 *
 * base/file/output_file.c - create or open output files and folders, without being redirected by
 * another user
 *
 * Runs in:  the recorder, and all commands that read a trace, the main thread (getpwuid has one
 *           buffer)
 * Gets:     a path from the command line, or a default name in the current folder
 * Gives:    a descriptor for writing
 * Owns:     the descriptors of an output folder and of a place
 * Fails:    -errno with the path and what to do; an existing file is then unchanged
 * Why:      root writes by default into the current folder, which may belong to another user. That
 *           user could place a link there and make root overwrite any file; fs.protected_symlinks
 *           prevents this only in sticky folders. Also, a file that belongs to that user would let
 *           that user read the output. The checked file is compared with the opened one, to detect
 *           an exchange in between. A folder is opened first, checked by its descriptor, and used
 *           only through it, because the owner of its parent folder can exchange its name at any
 *           time. The folder that contains an output file is handled in the same way.
 */
#include "base/file/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "base/string.h"

enum { NAME_BYTES = 64 };

/* ---- ownership ------------------------------------------------------------------------------- */

/* "user anna (1000)" */
static const char *name_user(uid_t uid, char text[NAME_BYTES])
{
	const struct passwd *user = getpwuid(uid);

	snprintf(text, NAME_BYTES, "user %.40s (%u)", user ? user->pw_name : "?",
		 (unsigned int)uid);
	return text;
}

static int refuse_output(const char *path, const char *what, uid_t uid)
{
	char user[NAME_BYTES];

	return error_set(-EPERM,
			 "create '%s': it is %s of %s; as root, duet does not write to it. Remove "
			 "it, name another file, or run duet as that user",
			 path, what, name_user(uid, user));
}

static int refuse_link(const char *path, uid_t uid)
{
	if (uid != 0)
		return refuse_output(path, "a link", uid);
	return error_set(-EPERM,
			 "create '%s': it is a link in a folder that another user can change; as "
			 "root, duet does not write through it. Remove it, or name another file",
			 path);
}

/* Names of descriptors that duet was started with; the kernel makes these links. */
static bool is_descriptor(const char *path)
{
	static const char *const names[] = {"/dev/stdout", "/dev/stderr", "/dev/fd/",
					    "/proc/self/fd/"};

	for (size_t i = 0; i < ARRAY_COUNT(names); i++)
		if (strncmp(path, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Owned by root and only root can exchange its entries. is_strict: only root can add entries, too.
 */
static bool is_root_folder(const struct stat *about, bool is_strict)
{
	return about->st_uid == 0 && (!(about->st_mode & (S_IWGRP | S_IWOTH)) ||
				      (!is_strict && about->st_mode & S_ISVTX));
}

static char *folder_above(const char *path)
{
	const char *name = path_base(path);

	return name > path ? strndup(path, (size_t)(name - path)) : strdup(".");
}

static bool is_in_root_folder(int above, bool is_strict)
{
	struct stat about;

	return fstat(above, &about) == 0 && is_root_folder(&about, is_strict);
}

/* Only root makes devices. open(2) refuses a folder. */
static bool has_no_owner(const struct stat *about)
{
	return S_ISCHR(about->st_mode) || S_ISBLK(about->st_mode) || S_ISDIR(about->st_mode);
}

/* One regular file with several names: one of them may lie in a folder where only root may write.
 */
static int check_owner(const char *path, int above, const struct stat *about)
{
	if (has_no_owner(about))
		return 0;
	if (about->st_uid != 0)
		return refuse_output(path, S_ISFIFO(about->st_mode) ? "a pipe" : "a file",
				     about->st_uid);
	/* In a sticky folder a user can add another name of a file of root. */
	if (S_ISREG(about->st_mode) && about->st_nlink > 1 && !is_in_root_folder(above, true))
		return error_set(-EPERM,
				 "create '%s': it is one of several names of a file of root, in a "
				 "folder of another user; remove it, or name another file",
				 path);
	return 0;
}

/* ---- the folders of a path ------------------------------------------------------------------- */

enum { LINKS_MAX = 40 }; /* the kernel's limit */

/* The part of a path before the next slash; moves `path` past it. */
static int next_part(const char **path, char ret_name[NAME_MAX + 1])
{
	size_t length = strcspn(*path, "/");

	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	snprintf(ret_name, NAME_MAX + 1, "%.*s", (int)length, *path);
	*path += length;
	*path += strspn(*path, "/");
	return 0;
}

static int walk(int folder, const char *path, unsigned int *links, uid_t *ret_owner);

/* A link that root made, in a folder owned by root. */
static bool is_link_of_root(int above, const char *name)
{
	struct stat folder, about;

	return fstatat(above, name, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(about.st_mode) &&
	       about.st_uid == 0 && fstat(above, &folder) == 0 && is_root_folder(&folder, false);
}

/* The folder that a link of root leads to. */
static int follow_link(int folder, const char *name, unsigned int *links, uid_t *ret_owner)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(folder, name, target, sizeof(target) - 1);

	if (length < 0)
		return -errno;
	if (++*links > LINKS_MAX)
		return -ELOOP;
	target[length] = '\0';
	return walk(folder, target, links, ret_owner);
}

/* Enters one part of a path. -EPERM: a link that is not followed; *ret_owner is its owner. */
static int enter_part(int folder, const char *name, unsigned int *links, uid_t *ret_owner)
{
	struct stat about;
	int fd;

	if (is_link_of_root(folder, name))
		return follow_link(folder, name, links, ret_owner);
	fd = openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 || fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISLNK(about.st_mode))
		return fd < 0 ? -errno : fd;
	*ret_owner = about.st_uid;
	return -EPERM;
}

/* A descriptor of the folder that a path leads to, starting at `folder`. */
static int walk(int folder, const char *path, unsigned int *links, uid_t *ret_owner)
{
	auto_close int fd =
		openat(folder, *path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[NAME_MAX + 1];

	path += strspn(path, "/");
	while (fd >= 0 && *path) {
		int error = next_part(&path, name),
		    below = error ? error : enter_part(fd, name, links, ret_owner);

		if (below < 0)
			return below;
		close(fd);
		fd = below;
	}
	return fd < 0 ? -errno : take_fd(&fd);
}

static int refuse_inner_link(const char *path, uid_t uid)
{
	char user[NAME_BYTES];

	return error_set(-EPERM,
			 "create '%s': a folder of the path is a link %s%s; as root, duet does not "
			 "follow it; name the target folder instead",
			 path, uid ? "of " : "in a folder that another user can change",
			 uid ? name_user(uid, user) : "");
}

/* The folder that contains an output. As root, -EPERM with the error chain if a link on the way may
 * have been placed by another user. Other errors have no message. */
static int open_above(const char *path)
{
	auto_free char *above = folder_above(path);
	unsigned int links = 0;
	uid_t owner = 0;
	int fd;

	if (!above)
		return -ENOMEM;
	if (geteuid() != 0) {
		fd = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	fd = walk(AT_FDCWD, above, &links, &owner);
	return fd == -EPERM ? refuse_inner_link(path, owner) : fd;
}

int output_place_open(const char *path, struct output_place *ret_place)
{
	const char *name = path_base(path);
	int above;

	*ret_place = (struct output_place){AT_FDCWD, path};
	if (geteuid() != 0 || is_descriptor(path))
		return 0;
	above = open_above(path);
	if (above == -EPERM)
		return above;
	if (above < 0) {
		errno = -above;
		return create_refused(path);
	}
	*ret_place = (struct output_place){above, *name ? name : "."};
	return 0;
}

void output_place_close(struct output_place *place)
{
	if (place->above >= 0)
		close(place->above);
	place->above = AT_FDCWD;
}

/* ---- opening --------------------------------------------------------------------------------- */

struct opening {
	const char *path; /* for messages */
	struct output_place place;
	int flags;
	mode_t mode;
	bool is_new;
	bool is_refused; /* with its own message in the error chain */
};

static int open_file(const struct opening *opening, int flags, mode_t mode)
{
	int fd = openat(opening->place.above, opening->place.name, flags | O_CLOEXEC | O_NOCTTY,
			mode);

	return fd < 0 ? -errno : fd;
}

/* Follows links, also a link to a missing file, which is then made. */
static int open_linked(struct opening *opening)
{
	int fd = open_file(opening, opening->flags, 0);

	if (fd != -ENOENT)
		return fd;
	fd = open_file(opening, opening->flags | O_CREAT, opening->mode);
	opening->is_new = fd >= 0;
	return fd;
}

/* O_TRUNC last: a refused file keeps its content. */
static int open_checked(struct opening *opening, const struct stat *checked)
{
	const int flags = opening->flags;
	auto_close int fd = open_file(opening, (flags & ~O_TRUNC) | O_NOFOLLOW, 0);
	struct stat about;

	if (fd < 0)
		return fd;
	if (fstat(fd, &about) < 0 || about.st_dev != checked->st_dev ||
	    about.st_ino != checked->st_ino) {
		opening->is_refused = true;
		return error_set(
			-EPERM,
			"create '%s': another user replaced it in the meantime; name another "
			"file",
			opening->path);
	}
	if (flags & O_TRUNC && S_ISREG(about.st_mode) && ftruncate(fd, 0) < 0)
		return -errno;
	return take_fd(&fd);
}

/* The last part of the path is followed only if root made the link, in a folder owned by root. */
static bool is_followed(const struct output_place *place, const struct stat *about)
{
	return S_ISLNK(about->st_mode) && about->st_uid == 0 &&
	       is_in_root_folder(place->above, false);
}

static int open_as_root(struct opening *opening)
{
	const struct output_place *place = &opening->place;
	struct stat about;
	int error;

	if (is_descriptor(opening->path))
		return open_linked(opening);
	if (!output_place_find(place, &about))
		return -errno;
	if (is_followed(place, &about))
		return open_linked(opening);
	error = S_ISLNK(about.st_mode) ? refuse_link(opening->path, about.st_uid)
				       : check_owner(opening->path, place->above, &about);
	opening->is_refused = error != 0;
	return error ? error : open_checked(opening, &about);
}

static int create_or_open(struct opening *opening)
{
	int first = open_file(opening, (opening->flags & ~O_TRUNC) | O_CREAT | O_EXCL,
			      opening->mode),
	    fd;

	opening->is_new = first >= 0;
	if (first >= 0)
		return first;
	fd = geteuid() == 0 ? open_as_root(opening) : open_linked(opening);
	if (fd >= 0 || opening->is_refused)
		return fd;
	errno = fd == -ENOENT && first != -EEXIST ? -first : -fd;
	return create_refused(opening->path);
}

int output_file_open(const char *path, int flags, mode_t mode, bool *ret_is_new)
{
	struct opening opening = {.path = path, .flags = flags, .mode = mode};
	int fd = output_place_open(path, &opening.place);

	if (fd)
		return fd;
	fd = create_or_open(&opening);
	output_place_close(&opening.place);
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

bool output_place_find(const struct output_place *place, struct stat *ret_about)
{
	return fstatat(place->above, place->name, ret_about, AT_SYMLINK_NOFOLLOW) == 0;
}

bool output_place_is_replaceable(const struct output_place *place, const struct stat *about)
{
	if (is_descriptor(place->name))
		return false;
	return !about ||
	       (S_ISREG(about->st_mode) && about->st_nlink == 1 && about->st_uid == geteuid() &&
		about->st_gid == getegid() && faccessat(place->above, place->name, W_OK, 0) == 0);
}

/* ---- folders --------------------------------------------------------------------------------- */

/* Explains why a folder could not be opened. */
static int refuse_folder(struct output_folder *folder, int above, const char *name)
{
	int error = -errno;
	struct stat about;

	if (geteuid() != 0 || (error != -ELOOP && error != -ENOTDIR) ||
	    fstatat(above, name, &about, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISLNK(about.st_mode))
		return error;
	folder->is_refused = true;
	return refuse_link(folder->path, about.st_uid);
}

/* A descriptor of the folder `name`. The opened folder is the one that is checked. */
static int enter_folder(struct output_folder *folder, int above, const char *name)
{
	const bool is_root = geteuid() == 0;
	const int no_link = is_root && !is_link_of_root(above, name) ? O_NOFOLLOW : 0;
	auto_close int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_link);
	struct stat about;

	if (fd < 0)
		return refuse_folder(folder, above, name);
	if (is_root && fstat(fd, &about) < 0)
		return -errno;
	folder->is_refused = is_root && about.st_uid != 0;
	if (folder->is_refused)
		return refuse_output(folder->path, "a folder", about.st_uid);
	return take_fd(&fd);
}

static int make_and_enter_folder(struct output_folder *folder, int above, const char *name,
				 bool *ret_is_new)
{
	*ret_is_new = mkdirat(above, name, 0777) == 0;
	if (!*ret_is_new && errno != EEXIST)
		return -errno;
	return enter_folder(folder, above, name);
}

int output_folder_init(struct output_folder *folder, const char *path)
{
	size_t length = strlen(path);

	*folder = (struct output_folder){.above = -1, .fd = -1};
	while (length > 1 && path[length - 1] == '/')
		length--;
	folder->path = strndup(path, length);
	if (!folder->path)
		return error_set(-ENOMEM, "make the folder '%s': out of memory", path);
	folder->name = path_base(folder->path);
	if (!*folder->name)
		folder->name = "."; /* the path is "/" */
	return 0;
}

int output_folder_open(struct output_folder *folder, bool may_make)
{
	if (folder->fd >= 0)
		return 0;
	if (folder->above < 0)
		folder->above = open_above(folder->path);
	if (folder->above < 0) {
		folder->is_refused = folder->above == -EPERM;
		return folder->above;
	}
	folder->fd = may_make ? make_and_enter_folder(folder, folder->above, folder->name,
						      &folder->is_new)
			      : enter_folder(folder, folder->above, folder->name);
	return folder->fd < 0 ? folder->fd : 0;
}

void output_folder_fini(struct output_folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
	if (folder->above >= 0)
		close(folder->above);
	free(folder->path);
	*folder = (struct output_folder){.above = -1, .fd = -1};
}

/* ".." would lead out of the folder. */
static int next_part_below(const char **path, char ret_name[NAME_MAX + 1])
{
	int error = next_part(path, ret_name);

	return !error && strcmp(ret_name, "..") == 0 ? -EINVAL : error;
}

int output_folder_enter(struct output_folder *folder, const char *path, bool may_make,
			char ret_name[NAME_MAX + 1])
{
	int error = output_folder_open(folder, may_make);
	auto_close int fd = error ? -1 : fcntl(folder->fd, F_DUPFD_CLOEXEC, 0);
	bool is_new;

	if (error || fd < 0)
		return error ? error : -errno;
	path += strspn(path, "/");
	while ((error = next_part_below(&path, ret_name)) == 0 && *path) {
		int below = may_make ? make_and_enter_folder(folder, fd, ret_name, &is_new)
				     : enter_folder(folder, fd, ret_name);

		if (below < 0)
			return below;
		close(fd);
		fd = below;
	}
	return error ? error : take_fd(&fd);
}

bool output_folder_find(struct output_folder *folder, const char *path, struct stat *ret_about)
{
	char name[NAME_MAX + 1];
	auto_close int above = output_folder_enter(folder, path, false, name);

	return above >= 0 && fstatat(above, name, ret_about, AT_SYMLINK_NOFOLLOW) == 0;
}

int output_folder_fail(const struct output_folder *folder, const char *path, int error)
{
	if (folder->is_refused)
		return error;
	return error_set(error, "write '%s/%s': %s", folder->path, path, strerror(-error));
}

FILE *output_folder_stream(struct output_folder *folder, const char *path, int *ret_error)
{
	char name[NAME_MAX + 1];
	auto_close int above = output_folder_enter(folder, path, true, name);
	auto_close int fd =
		above < 0 ? -1
			  : openat(above, name,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
	int error = above < 0 ? above : -errno;

	if (file)
		take_fd(&fd);
	*ret_error = file ? 0 : output_folder_fail(folder, path, error);
	return file;
}
