/* SPDX-License-Identifier: MIT
 *
 * cli/compare/baseline.c - a folder of accepted recordings, by device and command
 *
 * Runs in:  our own process
 * Gets:     a folder, and the summary of a recording for its key
 * Gives:    the paths of the accepted recordings; adds new ones
 * Owns:     the list, a lock, temporary files until they are complete
 * Fails:    -errno with the error chain. A recording whose content does not agree with its name is
 *           left out and counted
 * Why names are hashes: two jobs that accept the same recording write the same file, and a file
 *           that a full disk or a broken cache has cut is found before it becomes a base
 */
#include "cli/compare/baseline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file/copy.h"
#include "base/file/unfinished.h"
#include "base/json.h"
#include "base/string.h"
#include "cli/output.h"

enum {
	HASH_DIGITS = 32,
	PIECE_BYTES = 65536,
	LEFTOVER_SECONDS = 3600 /* a temporary file of this age belongs to a job that was killed */
};
#define ENDING    ".duet"
#define TEMPORARY "incoming"

/* ---- key ------------------------------------------------------------------------------------- */

/* The name of a device if the fact is one: "device 0". */
static bool is_device(const struct side_fact *fact)
{
	static const char prefix[] = "device ";

	return strncmp(fact->name, prefix, strlen(prefix)) == 0;
}

/* All devices of the recording: --device and --range choose among the devices of the side. */
static void append_key(const struct compare_side *side, struct string_builder *text)
{
	for (size_t i = 0; i < side->facts.texts_count; i++)
		if (is_device(&side->facts.texts[i]))
			string_builder_appendf(text, "%s\n", side->facts.texts[i].value);
	string_builder_append(text, side->facts.command);
}

static uint64_t hash_key(const struct compare_side *side)
{
	struct string_builder text = {0};
	uint64_t hash;

	append_key(side, &text);
	hash = XXH3_64bits(string_builder_text(&text), text.length);
	string_builder_fini(&text);
	return hash;
}

bool baseline_is_one_key(const struct compare_sides *sides)
{
	for (size_t i = 1; i < sides->count; i++)
		if (hash_key(sides->runs[i]) != hash_key(sides->runs[0]))
			return false;
	return true;
}

/* ---- content --------------------------------------------------------------------------------- */

static int hash_bytes(int fd, XXH3_state_t *state, char *piece)
{
	off_t at = 0;
	ssize_t got;

	XXH3_128bits_reset(state);
	while ((got = pread(fd, piece, PIECE_BYTES, at)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		XXH3_128bits_update(state, piece, (size_t)got);
		at += got;
	}
	return 0;
}

/* HASH.duet of an open file. */
static int hash_content(int fd, char ret_name[HASH_DIGITS + sizeof(ENDING)])
{
	XXH3_state_t *state = XXH3_createState();
	auto_free char *piece = malloc(PIECE_BYTES);
	XXH128_hash_t hash;
	int error = state && piece ? hash_bytes(fd, state, piece) : -ENOMEM;

	if (!error) {
		hash = XXH3_128bits_digest(state);
		snprintf(ret_name, HASH_DIGITS + sizeof(ENDING), "%016" PRIx64 "%016" PRIx64 ENDING,
			 (uint64_t)hash.high64, (uint64_t)hash.low64);
	}
	XXH3_freeState(state);
	return error;
}

static bool is_recording(const char *name)
{
	return strlen(name) == HASH_DIGITS + strlen(ENDING) &&
	       strspn(name, "0123456789abcdef") == HASH_DIGITS &&
	       strcmp(name + HASH_DIGITS, ENDING) == 0;
}

/* Whether the content of a file agrees with its name. */
static bool is_intact(int folder, const char *name)
{
	char found[HASH_DIGITS + sizeof(ENDING)];
	auto_close int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && hash_content(fd, found) == 0 && strcmp(found, name) == 0;
}

/* ---- list ------------------------------------------------------------------------------------ */

static int add_path(struct baseline *baseline, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", baseline->folder, name) < 0)
		return -ENOMEM;
	if (array_append(baseline->paths, baseline->capacity, baseline->count, path) == 0)
		return 0;
	free(path);
	return -ENOMEM;
}

static int compare_paths(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static int list_recordings(struct baseline *baseline, DIR *folder)
{
	const struct dirent *entry;
	int error = 0;

	while (!error && (entry = readdir(folder))) {
		if (!is_recording(entry->d_name))
			continue;
		if (is_intact(dirfd(folder), entry->d_name))
			error = add_path(baseline, entry->d_name);
		else
			baseline->damaged++;
	}
	if (baseline->count)
		qsort(baseline->paths, baseline->count, sizeof(*baseline->paths), compare_paths);
	return error;
}

/* A folder that cannot be written has no lock; nothing is removed from it either. */
static int lock_folder(int folder, int operation)
{
	int fd = openat(folder, ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);

	while (fd >= 0 && flock(fd, operation) < 0)
		if (errno != EINTR)
			break;
	return fd;
}

int baseline_open(const char *dir, const struct compare_side *side, struct baseline *ret_baseline)
{
	struct baseline baseline = {.lock_fd = -1};
	DIR *folder;
	int error;

	if (asprintf(&baseline.folder, "%s/%016" PRIx64, dir, hash_key(side)) < 0)
		return error_set(-ENOMEM, "out of memory");
	folder = opendir(baseline.folder);
	error = folder ? 0 : -errno;
	if (folder) {
		baseline.lock_fd = lock_folder(dirfd(folder), LOCK_SH);
		error = list_recordings(&baseline, folder);
		closedir(folder);
	}
	if (error && error != -ENOENT) {
		error_set(error, "baseline '%s': %s", baseline.folder, strerror(-error));
		baseline_close(&baseline);
		return error;
	}
	*ret_baseline = baseline;
	return 0;
}

void baseline_unlock(struct baseline *baseline)
{
	if (baseline->lock_fd >= 0)
		close(baseline->lock_fd);
	baseline->lock_fd = -1;
}

void baseline_close(struct baseline *baseline)
{
	for (size_t i = 0; i < baseline->count; i++)
		free(baseline->paths[i]);
	free(baseline->paths);
	free(baseline->folder);
	baseline->paths = NULL;
	baseline->folder = NULL;
	baseline->count = 0;
	baseline_unlock(baseline);
}

/* ---- add ------------------------------------------------------------------------------------- */

static int make_folder(const char *path)
{
	if (mkdir(path, 0777) == 0 || errno == EEXIST)
		return 0;
	return error_set(-errno, "make the folder '%s': %s", path, strerror(errno));
}

/* DIR and DIR/KEY. Folders above must exist. */
static int make_folders(const char *folder)
{
	auto_free char *above = strndup(folder, (size_t)(strrchr(folder, '/') - folder));
	int error = above ? make_folder(above) : -ENOMEM;

	return error ? error : make_folder(folder);
}

static int write_about(void *context, FILE *out)
{
	const struct compare_side *side = context;
	struct json_writer json;

	json_init_file(&json, out);
	json_object_begin(&json);
	json_pair_text(&json, "schema", "duet.baseline/1");
	json_pair_text(&json, "command", side->facts.command);
	json_pair_array(&json, "devices");
	for (size_t i = 0; i < side->facts.texts_count; i++)
		if (is_device(&side->facts.texts[i]))
			json_string(&json, side->facts.texts[i].value);
	json_array_end(&json);
	json_object_end(&json);
	fputc('\n', out);
	return json_error(&json);
}

static int write_about_file(const struct baseline *baseline, struct compare_side *side)
{
	auto_free char *path = NULL;

	if (asprintf(&path, "%s/about.json", baseline->folder) < 0)
		return -ENOMEM;
	return output_write(path, write_about, side);
}

/* Other users of a shared folder may read the copy. */
static int complete_copy(int to, char ret_name[HASH_DIGITS + sizeof(ENDING)])
{
	const mode_t mask = umask(0);
	int error;

	umask(mask);
	error = hash_content(to, ret_name);
	if (!error && (fchmod(to, 0666 & ~mask) < 0 || fsync(to) < 0))
		error = -errno;
	return error;
}

static int copy_recording(int folder, const char *path, struct baseline_accepted *accepted)
{
	auto_close int from = open(path, O_RDONLY | O_CLOEXEC), to = -1;
	char name[HASH_DIGITS + sizeof(ENDING)];
	auto_free char *temporary = NULL;
	uint64_t bytes;
	bool is_there;
	int error;

	if (from < 0)
		return error_set(-errno, "read '%s': %s", path, strerror(errno));
	error = unfinished_create(folder, TEMPORARY, &temporary, &to);
	if (error)
		return error_set(error, "accept '%s': %s", path, strerror(-error));
	error = copy_content(from, to, path, UINT64_MAX, &bytes);
	if (!error)
		error = complete_copy(to, name);
	is_there = !error && faccessat(folder, name, F_OK, 0) == 0;
	if (error)
		unfinished_finish(folder, temporary, NULL);
	else
		error = unfinished_finish(folder, temporary, name);
	if (error)
		return error_set(error, "accept '%s': %s", path, strerror(-error));
	if (is_there)
		accepted->present++;
	else
		accepted->added++;
	return 0;
}

/* ---- remove ---------------------------------------------------------------------------------- */

struct kept_file {
	struct timespec time;
	char name[HASH_DIGITS + sizeof(ENDING)];
};

struct kept_files {
	struct kept_file *files; /* owned */
	size_t count, capacity;
};

/* Newest first. */
static int compare_files(const void *left, const void *right)
{
	const struct kept_file *a = left, *b = right;

	if (a->time.tv_sec != b->time.tv_sec)
		return a->time.tv_sec < b->time.tv_sec ? 1 : -1;
	if (a->time.tv_nsec != b->time.tv_nsec)
		return a->time.tv_nsec < b->time.tv_nsec ? 1 : -1;
	return strcmp(a->name, b->name);
}

static void remove_leftover(int folder, const char *name, const struct stat *about)
{
	if (strncmp(name, TEMPORARY ".", strlen(TEMPORARY ".")) == 0 &&
	    time(NULL) - about->st_mtime > LEFTOVER_SECONDS)
		unlinkat(folder, name, 0);
}

static int list_files(DIR *folder, struct kept_files *files)
{
	const struct dirent *entry;
	struct stat about;
	int error = 0;

	while (!error && (entry = readdir(folder))) {
		struct kept_file file;

		if (fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		remove_leftover(dirfd(folder), entry->d_name, &about);
		if (!is_recording(entry->d_name))
			continue;
		file.time = about.st_mtim;
		memcpy(file.name, entry->d_name, sizeof(file.name));
		error = array_append(files->files, files->capacity, files->count, file);
	}
	return error;
}

/* keep: at least one recording stays. */
static int remove_oldest(DIR *folder, uint64_t keep, struct baseline_accepted *accepted)
{
	struct kept_files files = {0};
	int error = list_files(folder, &files);

	if (files.count)
		qsort(files.files, files.count, sizeof(*files.files), compare_files);
	for (size_t i = keep; i < files.count && !error; i++)
		if (unlinkat(dirfd(folder), files.files[i].name, 0) == 0)
			accepted->removed++;
	accepted->kept = files.count - accepted->removed;
	free(files.files);
	return error;
}

static int accept_into(DIR *folder, const struct compare_sides *sides, uint64_t keep,
		       struct baseline_accepted *accepted)
{
	auto_close int lock = lock_folder(dirfd(folder), LOCK_EX);
	int error = 0;

	(void)lock; /* held until the end */
	for (size_t i = 0; i < sides->count && !error; i++)
		error = copy_recording(dirfd(folder), sides->runs[i]->path, accepted);
	if (!error)
		error = remove_oldest(folder, keep, accepted);
	fsync(dirfd(folder));
	return error;
}

int baseline_accept(struct baseline *baseline, const struct compare_sides *sides, uint64_t keep,
		    struct baseline_accepted *ret_accepted)
{
	struct baseline_accepted accepted = {0};
	int error = make_folders(baseline->folder);
	DIR *folder;

	baseline_unlock(baseline);
	if (!error)
		error = write_about_file(baseline, sides->runs[0]);
	if (error)
		return error;
	folder = opendir(baseline->folder);
	if (!folder)
		return error_set(-errno, "baseline '%s': %s", baseline->folder, strerror(errno));
	error = accept_into(folder, sides, keep, &accepted);
	closedir(folder);
	if (!error)
		*ret_accepted = accepted;
	return error;
}
