/* SPDX-License-Identifier: MIT
 *
 * cli/remote/unpack.c - unpack an archive of another machine
 *
 * Runs in:  our own process
 * Gets:     a compressed tar archive, which may be hostile
 * Gives:    regular files in a folder
 * Owns:     a new folder in that folder, until the end
 * Fails:    -errno; -ELOOP: the archive has a link or a device; -ENOTDIR: a link is in the way
 * Why:      the folder is kept for later recordings. tar follows a link that an earlier archive has
 *           left in the folder, and would write outside of it. So tar gets a new folder, and
 *           its files are moved without following links
 */
#include "cli/remote/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/unfinished.h"
#include "base/string.h"

extern char **environ;

/* "/proc/self/fd/N/.part.XXXXXX" */
enum { PART_SIZE = 64 };

static int run_tar(int fd, int folder)
{
	const char *const words[] = {"tar", "-xzf", "-", "--no-same-owner", "--no-same-permissions",
				     NULL};
	posix_spawn_file_actions_t actions;
	int status = -1, error;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
	posix_spawn_file_actions_addfchdir_np(&actions, folder);
	error = posix_spawnp(&pid, words[0], &actions, NULL, (char **)(uintptr_t)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		return -error;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status ? -EIO : 0;
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* Makes the folder of this name if it is missing. A link is refused. */
static int enter(int above, const char *name)
{
	int fd;

	if (mkdirat(above, name, 0777) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A descriptor of the folder that contains `path`. */
static int enter_all(int folder, const char *path)
{
	auto_close int fd = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	const char *end;

	if (fd < 0)
		return -errno;
	for (; (end = strchr(path, '/')); path = end + 1) {
		char name[NAME_MAX + 1];
		int below;

		if (snprintf(name, sizeof(name), "%.*s", (int)(end - path), path) > NAME_MAX)
			return -ENAMETOOLONG;
		below = enter(fd, name);
		if (below < 0)
			return below;
		close(fd);
		fd = below;
	}
	return take_fd(&fd);
}

static int move(const FTSENT *entry, int folder, const char *path)
{
	auto_close int above = enter_all(folder, path);

	if (above < 0)
		return above;
	return renameat(AT_FDCWD, entry->fts_path, above, path_base(path)) < 0 ? -errno : 0;
}

static int move_entry(const FTSENT *entry, int folder, size_t prefix)
{
	switch (entry->fts_info) {
	case FTS_D:
	case FTS_DP:
		return 0;
	case FTS_F:
		return move(entry, folder, entry->fts_path + prefix);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return -entry->fts_errno;
	default:
		return -ELOOP;
	}
}

/* Goes on after a failure. Returns the first. */
static int move_all(char *part, int folder)
{
	char *const roots[] = {part, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	const FTSENT *entry;
	int error = 0;

	if (!walk)
		return -errno;
	while ((entry = fts_read(walk))) {
		const int failed = move_entry(entry, folder, strlen(part) + 1);

		error = error ? error : failed;
	}
	fts_close(walk);
	return error;
}

int unpack_files(int fd, int folder)
{
	char part[PART_SIZE];
	auto_close int inner = -1;
	int error, moved;

	snprintf(part, sizeof(part), "/proc/self/fd/%d/.part.XXXXXX", folder);
	if (!mkdtemp(part))
		return -errno;
	inner = open(part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (inner < 0) {
		error = -errno;
		rmdir(part);
		return error;
	}
	error = run_tar(fd, inner);
	moved = move_all(part, folder);
	unfinished_remove_folder(inner, folder, path_base(part));
	return error ? error : moved;
}
