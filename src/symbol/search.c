/* SPDX-License-Identifier: MIT
 *
 * symbol/search.c - find a program's file and its debug files
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     a recorded path, a build id, the links inside a file
 * Gives:    paths
 * Owns:     copies of the options, the debuginfod client
 * Fails:    -ENOENT if no file fits, -ENOMEM
 * Why every candidate is checked: a report is often made after the program was rebuilt, and the
 *           wrong names from the new file would look plausible. The check uses the build id;
 *           without one, size and time, or the checksum of the link.
 */
#include "symbol/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/file/regular_file.h"
#include "base/string.h"
#include "symbol/debuginfod.h"

#define SYSTEM_ROOT "/usr/lib/debug"
#define CRC_CHUNK   ((size_t)65536)

int search_init(struct search *search, const char *const *debug_folders, size_t count,
		const char *archive, bool may_download)
{
	*search = (struct search){.may_download = may_download};
	search->roots = calloc(count + 1, sizeof(*search->roots));
	if (!search->roots)
		return -ENOMEM;
	for (size_t i = 0; i <= count; i++) {
		search->roots[i] = strdup(i < count ? debug_folders[i] : SYSTEM_ROOT);
		if (!search->roots[i])
			return -ENOMEM;
		search->root_count++;
	}
	if (archive && !(search->archive = strdup(archive)))
		return -ENOMEM;
	return 0;
}

void search_fini(struct search *search)
{
	if (!search)
		return;
	for (size_t i = 0; i < search->root_count; i++)
		free(search->roots[i]);
	free(search->roots);
	free(search->archive);
	debuginfod_close(search->debuginfod);
	*search = (struct search){0};
}

static bool is_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool has_build_id(const char *path, const char *build_id)
{
	char text[BUILD_ID_TEXT_SIZE];

	return is_file(path) && build_id_read_file(path, text) == 0 && strcmp(text, build_id) == 0;
}

/* How much a file without build id must agree with the recorded one. */
enum likeness { LIKE_SIZE, LIKE_COPY, LIKE_FILE };

/* Copies keep the time. Archives (tar) and some file systems keep only whole seconds of it. */
static bool has_time(const struct stat *status, uint64_t modified_ns, enum likeness likeness)
{
	uint64_t seconds = (uint64_t)status->st_mtim.tv_sec,
		 rest = (uint64_t)status->st_mtim.tv_nsec;

	if (!modified_ns || likeness == LIKE_SIZE)
		return true;
	/* A file that had lost its path when it was recorded exists only as copies. */
	if (modified_ns == UINT64_MAX)
		return likeness == LIKE_COPY;
	return seconds * 1000000000 + rest == modified_ns ||
	       (likeness == LIKE_COPY && !rest && seconds == modified_ns / 1000000000);
}

/* Whether the file at `path` is the recorded one, as far as this can be known. */
static bool is_recorded(const char *path, const struct search_wanted *wanted,
			enum likeness likeness)
{
	struct stat status;

	if (*wanted->build_id)
		return has_build_id(path, wanted->build_id);
	return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	       (!wanted->file_size_bytes || (uint64_t)status.st_size == wanted->file_size_bytes) &&
	       has_time(&status, wanted->file_modified_ns, likeness);
}

static bool has_crc(const char *path, uint32_t wanted)
{
	auto_close int fd = regular_file_open(path);
	auto_free uint8_t *bytes = malloc(CRC_CHUNK);
	uLong crc = 0;
	ssize_t got;

	if (fd < 0 || !bytes)
		return false;
	while ((got = read(fd, bytes, CRC_CHUNK)) != 0) {
		if (got < 0 && errno != EINTR)
			return false;
		crc = crc32(crc, bytes, got > 0 ? (uInt)got : 0);
	}
	return crc == wanted;
}

/* Frees a candidate that does not fit. */
static int take_if(bool fits, struct string_builder *candidate, char **ret_path)
{
	int error = candidate->error ? -ENOMEM : fits ? 0 : -ENOENT;

	if (!error)
		*ret_path = string_builder_take(candidate);
	string_builder_fini(candidate);
	return error;
}

/* ROOT/.build-id/xx/yyySUFFIX */
static int try_build_id(const char *root, const char *build_id, const char *suffix, char **ret_path)
{
	struct string_builder candidate = {0};

	if (strlen(build_id) < 3)
		return -ENOENT;
	string_builder_appendf(&candidate, "%s/.build-id/%.2s/%s%s", root, build_id, build_id + 2,
			       suffix);
	return take_if(has_build_id(string_builder_text(&candidate), build_id), &candidate,
		       ret_path);
}

static int download(struct search *search, const char *build_id, bool is_debug, char **ret_path)
{
	if (!search->may_download || !*build_id)
		return -ENOENT;
	if (!search->has_asked)
		search->debuginfod = debuginfod_open();
	search->has_asked = true;
	return debuginfod_find(search->debuginfod, build_id, is_debug, ret_path) ? -ENOENT : 0;
}

static int try_path(const char *folder, const char *path, const struct search_wanted *wanted,
		    enum likeness likeness, char **ret_path)
{
	struct string_builder candidate = {0};

	string_builder_append(&candidate, folder);
	string_builder_append(&candidate, path);
	return take_if(is_recorded(string_builder_text(&candidate), wanted, likeness), &candidate,
		       ret_path);
}

static int try_archive(const struct search *search, const struct search_wanted *wanted,
		       char **ret_path)
{
	int error = -ENOENT;

	if (!search->archive)
		return -ENOENT;
	if (*wanted->build_id)
		error = try_build_id(search->archive, wanted->build_id, "", ret_path);
	if (error == -ENOENT && wanted->path[0] == '/')
		error = try_path(search->archive, wanted->path, wanted, LIKE_COPY, ret_path);
	return error;
}

/* Whether a replacement of the file at its path could be detected. */
static bool can_detect_replacement(const struct search_wanted *wanted)
{
	return *wanted->build_id || (wanted->file_size_bytes && wanted->file_modified_ns);
}

static int try_recorded_path(const struct search_wanted *wanted, char **ret_path,
			     bool *ret_is_replaced)
{
	int error = -ENOENT;

	if (wanted->path[0] == '/')
		error = try_path("", wanted->path, wanted, LIKE_FILE, ret_path);
	*ret_is_replaced = error == -ENOENT && wanted->path[0] == '/' && is_file(wanted->path);
	return error;
}

int search_program(struct search *search, const struct search_wanted *wanted, char **ret_path,
		   bool *ret_is_replaced)
{
	const char *build_id = wanted->build_id;
	bool is_first = can_detect_replacement(wanted);
	int error = -ENOENT;

	*ret_is_replaced = false;
	if (is_first)
		error = try_recorded_path(wanted, ret_path, ret_is_replaced);
	if (error == -ENOENT && wanted->alternative)
		error = try_path("", wanted->alternative, wanted, LIKE_SIZE, ret_path);
	if (error == -ENOENT)
		error = try_archive(search, wanted, ret_path);
	if (error == -ENOENT && !is_first)
		error = try_recorded_path(wanted, ret_path, ret_is_replaced);
	for (size_t i = 0; error == -ENOENT && i < search->root_count; i++)
		error = try_build_id(search->roots[i], build_id, "", ret_path);
	return error == -ENOENT ? download(search, build_id, false, ret_path) : error;
}

/* ---- debug files ---- */

struct link {
	const char *name, *build_id;
	uint32_t crc;
	const char *own_path; /* the file that contains the link, which may have the same name */
};

static bool is_same_file(const char *a, const char *b)
{
	struct stat left, right;

	return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

static bool fits_link(const char *path, const struct link *link)
{
	char text[BUILD_ID_TEXT_SIZE];

	if (!is_file(path) || is_same_file(path, link->own_path))
		return false;
	if (*link->build_id && build_id_read_file(path, text) == 0)
		return strcmp(text, link->build_id) == 0;
	return has_crc(path, link->crc);
}

static int try_link(const char *root, const char *folder, size_t folder_length, const char *below,
		    const struct link *link, char **ret_path)
{
	struct string_builder candidate = {0};

	string_builder_append(&candidate, root);
	string_builder_append_bytes(&candidate, folder, folder_length);
	string_builder_append(&candidate, below);
	string_builder_append(&candidate, link->name);
	return take_if(fits_link(string_builder_text(&candidate), link), &candidate, ret_path);
}

static int search_link(const struct search *search, const struct link *link, char **ret_path)
{
	const char *slash = strrchr(link->own_path, '/');
	size_t length = slash ? (size_t)(slash - link->own_path) + 1 : 0;
	int error = try_link("", link->own_path, length, "", link, ret_path);

	if (error == -ENOENT)
		error = try_link("", link->own_path, length, ".debug/", link, ret_path);
	for (size_t i = 0; error == -ENOENT && i < search->root_count; i++) {
		error = -ENOENT;
		if (link->own_path[0] == '/')
			error = try_link(search->roots[i], link->own_path, length, "", link,
					 ret_path);
		if (error == -ENOENT)
			error = try_link(search->roots[i], "/", 1, "", link, ret_path);
	}
	return error;
}

/* Searches all folders that are ordered by build id. */
static int search_by_build_id(struct search *search, const char *build_id, char **ret_path)
{
	int error = -ENOENT;

	if (search->archive)
		error = try_build_id(search->archive, build_id, ".debug", ret_path);
	for (size_t i = 0; error == -ENOENT && i < search->root_count; i++)
		error = try_build_id(search->roots[i], build_id, ".debug", ret_path);
	return error == -ENOENT ? download(search, build_id, true, ret_path) : error;
}

int search_debug(struct search *search, const char *path, const char *build_id, const char *link,
		 uint32_t link_crc, char **ret_path)
{
	int error = -ENOENT;

	/* a link is a plain file name; tools never write one with folders */
	if (link && *link && !strchr(link, '/'))
		error = search_link(search, &(struct link){link, build_id, link_crc, path},
				    ret_path);
	return error == -ENOENT ? search_by_build_id(search, build_id, ret_path) : error;
}

int search_shared_debug(struct search *search, const char *path, const char *link,
			const char *build_id, char **ret_path)
{
	const char *slash = strrchr(path, '/');
	struct string_builder candidate = {0};
	int error;

	if (!*build_id)
		return -ENOENT;
	if (link[0] != '/' && slash)
		string_builder_append_bytes(&candidate, path, (size_t)(slash - path) + 1);
	string_builder_append(&candidate, link);
	error = take_if(has_build_id(string_builder_text(&candidate), build_id), &candidate,
			ret_path);
	return error == -ENOENT ? search_by_build_id(search, build_id, ret_path) : error;
}
