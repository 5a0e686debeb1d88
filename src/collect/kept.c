/* SPDX-License-Identifier: MIT
 *
 * collect/kept.c - files that are held until the end of a recording, to be archived if their paths lose them
 *
 * Runs in:  the recorder, with --archive
 * Gets:     open files   Gives: copies of those that were deleted or replaced
 * Owns:     the descriptors
 * Fails:    by count; the recording goes on
 * Why:      a plug-in that a program builds, loads and deletes is gone when the archive is made after the
 *           program's end; a descriptor keeps it for nothing, where copying every library at once would take
 *           hundreds of megabytes while the program runs
 */
#include "collect/kept.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/copy.h"
#include "base/error.h"
#include "base/output_file.h"

/* A file of holes costs its owner nothing. */
#define FILE_MOST ((off_t)1 << 31)

static bool is_held(const struct kept_files *kept, const struct stat *about, const char *path)
{
	for (size_t i = 0; i < kept->count; i++)
		if (kept->files[i].device == about->st_dev &&
		    kept->files[i].inode == about->st_ino && strcmp(kept->files[i].path, path) == 0)
			return true;
	return false;
}

static void free_file(struct kept_file *file)
{
	close(file->fd);
	free(file->path);
	free(file->build_id);
}

bool kept_files_add(struct kept_files *kept, int fd, const char *path, const char *build_id)
{
	struct stat about;
	struct kept_file file = {.fd = fd};
	bool is_known = fstat(fd, &about) == 0;
	bool is_there = is_known && is_held(kept, &about, path);

	if (!is_known || is_there || about.st_size > FILE_MOST || kept->count >= KEPT_FILES_MOST ||
	    array_grow(kept->files, kept->capacity, kept->count + 1)) {
		close(fd);
		return is_there;
	}
	file.path = strdup(path);
	file.build_id = strdup(build_id);
	file.device = about.st_dev;
	file.inode = about.st_ino;
	if (!file.path || !file.build_id) {
		free_file(&file);
		return false;
	}
	kept->files[kept->count++] = file;
	return true;
}

static bool is_at_path(const struct kept_file *file)
{
	struct stat about;

	return stat(file->path, &about) == 0 && about.st_dev == file->device &&
	       about.st_ino == file->inode;
}

static int copy_kept(const struct kept_file *file, const char *folder)
{
	bool has_build_id = strlen(file->build_id) > 2;
	char to[PATH_MAX];
	uint64_t bytes;
	int length;

	if (has_build_id)
		length = snprintf(to, sizeof(to), "%s/.build-id/%.2s/%s", folder, file->build_id,
				  file->build_id + 2);
	else
		length = snprintf(to, sizeof(to), "%s/%s", folder, file->path);
	if (length < 0 || (size_t)length >= sizeof(to) || strstr(file->path, "/../"))
		return -ENAMETOOLONG;
	/* Of two files of one path the later one stays: an earlier recording's is another's. */
	if (has_build_id ? access(to, F_OK) == 0 : copy_is_there(file->fd, to))
		return 0;
	if (copy_file(file->fd, to, 0600, FILE_MOST, &bytes)) {
		error_clear(); /* they are counted */
		return -EIO;
	}
	return 0;
}

size_t kept_files_finish(struct kept_files *kept, const char *folder)
{
	bool is_refused = kept->count && folder && output_folder_check(folder);
	size_t failed = 0;

	if (is_refused)
		error_clear(); /* as above */
	for (size_t i = 0; i < kept->count; i++) {
		struct kept_file *file = &kept->files[i];

		if (folder && !is_at_path(file) && (is_refused || copy_kept(file, folder) < 0))
			failed++;
		free_file(file);
	}
	free(kept->files);
	*kept = (struct kept_files){0};
	return failed;
}
