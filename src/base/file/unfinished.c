/* SPDX-License-Identifier: MIT
 *
 * base/file/unfinished.c - remove incomplete files and folders when a signal ends the process
 *
 * Runs in:  our own process; the removal also in a signal handler, so it makes system calls only
 * Gets:     names
 * Owns:     a global table of watched names, because a signal handler has no arguments
 * Fails:    -errno; a name that is not watched is left behind by a signal
 * Why names: the kernel would remove a file without a name (O_TMPFILE) automatically. But SQLite
 *           and the trace writer open their output by name, and several file systems do not
 *           support O_TMPFILE.
 */
#include "base/file/unfinished.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

enum { WATCHED_MAX = 4, DEPTH_MAX = 4, ENDING = 6, TRIES_MAX = 100 };

struct watched {
	int above, folder; /* folder -1: it is a file */
	char name[PATH_MAX];
};

static struct {
	struct watched entries[WATCHED_MAX];
	atomic_bool is_used[WATCHED_MAX]; /* set last, cleared first */
} watched;

static const int ending_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU};

/* ---- removal, for handlers ---- */

struct linux_dirent64 {
	uint64_t inode, offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

static void remove_at(int folder, const char *name, int depth);

static void empty_folder(int folder, int depth)
{
	_Alignas(struct linux_dirent64) char buffer[2048];
	long size;

	while ((size = syscall(SYS_getdents64, folder, buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < size;) {
			const struct linux_dirent64 *entry = (const void *)(buffer + at);

			if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0)
				remove_at(folder, entry->name, depth + 1);
			at += entry->length;
		}
	}
}

static void remove_at(int folder, const char *name, int depth)
{
	int inner;

	if (unlinkat(folder, name, 0) == 0 || errno != EISDIR || depth > DEPTH_MAX)
		return;
	inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (inner < 0)
		return;
	empty_folder(inner, depth);
	close(inner);
	unlinkat(folder, name, AT_REMOVEDIR);
}

void unfinished_remove_folder(int folder, int above, const char *name)
{
	/* a separate descriptor, so that the position of `folder` does not change */
	int inner = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (inner < 0)
		return;
	empty_folder(inner, 0);
	close(inner);
	if (name)
		unlinkat(above, name, AT_REMOVEDIR);
}

static void remove_watched(const struct watched *entry)
{
	if (entry->folder < 0)
		unlinkat(entry->above, entry->name, 0);
	else
		unfinished_remove_folder(entry->folder, entry->above,
					 *entry->name ? entry->name : NULL);
}

static void on_ending_signal(int number)
{
	for (size_t i = 0; i < WATCHED_MAX; i++)
		if (atomic_load(&watched.is_used[i]))
			remove_watched(&watched.entries[i]);
	/* blocked until this returns; the default action is set again */
	raise(number);
}

void unfinished_catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_ending_signal, .sa_flags = SA_RESETHAND},
			 ignore = {.sa_handler = SIG_IGN}, found;

	for (size_t i = 0; i < ARRAY_COUNT(ending_signals); i++)
		if (sigaction(ending_signals[i], NULL, &found) == 0 && found.sa_handler != SIG_IGN)
			sigaction(ending_signals[i], &action, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
}

/* ---- the table ---- */

static int add_watched(int folder, int above, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < WATCHED_MAX && length < PATH_MAX; i++) {
		if (atomic_load(&watched.is_used[i]))
			continue;
		watched.entries[i].folder = folder;
		watched.entries[i].above = above;
		memcpy(watched.entries[i].name, name, length + 1);
		atomic_store(&watched.is_used[i], true);
		return 0;
	}
	return -ENOSPC;
}

int unfinished_watch(int above, const char *name)
{
	return add_watched(-1, above, name);
}

int unfinished_watch_folder(int folder, int above, const char *name)
{
	return add_watched(folder, above, name ? name : "");
}

static void forget_watched(int folder, int above, const char *name)
{
	for (size_t i = 0; i < WATCHED_MAX; i++) {
		const struct watched *entry = &watched.entries[i];

		if (atomic_load(&watched.is_used[i]) && entry->folder == folder &&
		    entry->above == above && strcmp(entry->name, name) == 0)
			atomic_store(&watched.is_used[i], false);
	}
}

void unfinished_forget(int above, const char *name)
{
	forget_watched(-1, above, name);
}

void unfinished_forget_folder(int folder, int above, const char *name)
{
	forget_watched(folder, above, name ? name : "");
}

/* ---- files ---- */

/* No signal comes between creating a file and its entry in the table. */
void unfinished_block_signals(sigset_t *ret_before)
{
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_COUNT(ending_signals); i++)
		sigaddset(&blocked, ending_signals[i]);
	pthread_sigmask(SIG_BLOCK, &blocked, ret_before);
}

/* Six letters or digits. */
static void draw_ending(char ending[ENDING])
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uint64_t)getpid() << 32 | (uint32_t)clock();
	for (size_t i = 0; i < ENDING; i++, random /= sizeof(letters) - 1)
		ending[i] = letters[random % (sizeof(letters) - 1)];
}

/* mkostemp below a folder: `name` ends with a place for the random ending. */
static int create_new(int above, char *name)
{
	int fd = -1;

	for (int i = 0; i < TRIES_MAX; i++) {
		draw_ending(name + strlen(name) - ENDING);
		fd = openat(above, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	return fd < 0 ? -errno : fd;
}

int unfinished_create(int above, const char *path, char **ret_name, int *ret_fd)
{
	sigset_t before;
	char *name;
	int fd;

	if (asprintf(&name, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	unfinished_block_signals(&before);
	fd = create_new(above, name);
	if (fd >= 0)
		unfinished_watch(above, name);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (fd < 0) {
		free(name);
		return fd;
	}
	*ret_name = name;
	*ret_fd = fd;
	return 0;
}

int unfinished_finish(int above, const char *name, const char *path)
{
	sigset_t before;
	int error = 0;

	unfinished_block_signals(&before);
	if (path && renameat(above, name, above, path) != 0)
		error = -errno;
	if (!path || error)
		unlinkat(above, name, 0);
	unfinished_forget(above, name);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}
