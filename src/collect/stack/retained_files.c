/* SPDX-License-Identifier: MIT
 *
 * collect/stack/retained_files.c - keeps files open until the end of a recording, to archive those
 * that are deleted or replaced
 *
 * Runs in:  the recorder, with --archive
 * Gets:     open files
 * Gives:    copies of the files that were deleted or replaced
 * Owns:     the descriptors, at most MAX_KEPT_FILES
 * Fails:    counts the files that could not be copied; files above 2 GiB are not held
 * Why:      a program may build, load and delete a plug-in; the file is gone when the archive is
 *           made after the program's end. An open descriptor keeps it at no cost. Copying every
 *           library at once would write hundreds of megabytes while the program runs
 */
#include "collect/stack/retained_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file/copy.h"
#include "base/file/output_file.h"

/* A limit is needed because a sparse file may be huge at no cost. */
#define MAX_FILE ((off_t)1 << 31)

static bool is_held(const struct retained_files *kept, const struct stat *about, const char *path)
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

bool retained_files_add(struct retained_files *kept, int fd, const char *path, const char *build_id)
{
	struct stat about;
	struct kept_file file = {.fd = fd};
	bool is_known = fstat(fd, &about) == 0;
	bool is_there = is_known && is_held(kept, &about, path);

	if (!is_known || is_there || about.st_size > MAX_FILE || kept->count >= MAX_KEPT_FILES ||
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

static int copy_kept(const struct kept_file *file, struct output_folder *folder)
{
	bool has_build_id = strlen(file->build_id) > 2;
	char to[PATH_MAX];
	struct stat about;
	uint64_t bytes;
	int length;

	if (has_build_id)
		length = snprintf(to, sizeof(to), ".build-id/%.2s/%s", file->build_id,
				  file->build_id + 2);
	else
		length = snprintf(to, sizeof(to), "%s", file->path);
	if (length < 0 || (size_t)length >= sizeof(to))
		return -ENAMETOOLONG;
	/* by path, a later file replaces an earlier recording's one */
	if (has_build_id ? output_folder_find(folder, to, &about)
			 : copy_is_there(file->fd, folder, to))
		return 0;
	return copy_file(file->fd, folder, to, 0600, MAX_FILE, &bytes);
}

/* Returns the number of failed copies. */
static size_t copy_all(const struct retained_files *kept, const char *path)
{
	struct output_folder folder;
	size_t failed = 0;
	int error = output_folder_init(&folder, path);

	for (size_t i = 0; i < kept->count; i++)
		if (!is_at_path(&kept->files[i]) && (error || copy_kept(&kept->files[i], &folder)))
			failed++;
	if (failed)
		error_clear(); /* they are counted */
	output_folder_fini(&folder);
	return failed;
}

size_t retained_files_finish(struct retained_files *kept, const char *folder)
{
	size_t failed = kept->count && folder ? copy_all(kept, folder) : 0;

	for (size_t i = 0; i < kept->count; i++)
		free_file(&kept->files[i]);
	free(kept->files);
	*kept = (struct retained_files){0};
	return failed;
}
