/* SPDX-License-Identifier: MIT
 *
 * import/common/twins.c - detect a file that is named twice, or a copy of another one
 *
 * Runs in:  our own process
 * Gets:     paths
 * Gives:    an error
 * Owns:     nothing
 * Fails:    -EINVAL, -ENOMEM
 * Why no hash: only files of one size are compared, up to the first difference
 */
#include "import/common/twins.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"

enum { BLOCK_BYTES = 16384 };

struct twin_file {
	const char *path;
	struct stat about;
};

/* Files of one size become neighbours. */
static int compare_files(const void *left, const void *right)
{
	const struct twin_file *a = left, *b = right;

	if (a->about.st_size != b->about.st_size)
		return a->about.st_size < b->about.st_size ? -1 : 1;
	return strcmp(a->path, b->path);
}

static bool is_rest_equal(FILE *first, FILE *second)
{
	char blocks[2][BLOCK_BYTES];
	size_t size;

	do {
		size = fread(blocks[0], 1, BLOCK_BYTES, first);
		if (fread(blocks[1], 1, BLOCK_BYTES, second) != size ||
		    memcmp(blocks[0], blocks[1], size) != 0)
			return false;
	} while (size);
	return !ferror(first) && !ferror(second);
}

static bool has_equal_content(const struct twin_file *a, const struct twin_file *b)
{
	FILE *first, *second;
	bool is_equal;

	if (!S_ISREG(a->about.st_mode) || !S_ISREG(b->about.st_mode) || !a->about.st_size)
		return false;
	first = fopen(a->path, "rbe");
	second = fopen(b->path, "rbe");
	is_equal = first && second && is_rest_equal(first, second);
	if (first)
		fclose(first);
	if (second)
		fclose(second);
	return is_equal;
}

static int compare_pair(const struct twin_file *a, const struct twin_file *b)
{
	if (a->about.st_dev == b->about.st_dev && a->about.st_ino == b->about.st_ino)
		return error_set(-EINVAL, "'%s' and '%s' are the same file; name it once", a->path,
				 b->path);
	if (has_equal_content(a, b))
		return error_set(-EINVAL, "'%s' and '%s' have the same content; name one of them",
				 a->path, b->path);
	return 0;
}

static int compare_all(const struct twin_file *files, size_t count)
{
	int error = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1;
		     k < count && !error && files[k].about.st_size == files[i].about.st_size; k++)
			error = compare_pair(&files[i], &files[k]);
	return error;
}

int import_twins_check(char *const *paths, size_t count)
{
	struct twin_file *files = count > 1 ? calloc(count, sizeof(*files)) : NULL;
	size_t used = 0;
	int error;

	if (count < 2)
		return 0;
	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		files[used].path = paths[i];
		used += stat(paths[i], &files[used].about) == 0;
	}
	qsort(files, used, sizeof(*files), compare_files);
	error = compare_all(files, used);
	free(files);
	return error;
}
