/* SPDX-License-Identifier: MIT
 *
 * agent/status.c - the state of an agent, in a file that its processes map
 *
 * Runs in:  the agent and its children; `duet agent status`
 * Gets:     the runtime folder
 * Gives:    a mapping that is the file, or a copy of it
 * Owns:     the file while the agent runs
 * Fails:    -errno with the error chain
 * Why:      a mapped file costs nothing per update, survives the recorder, and needs no socket that
 * a hung agent could not answer. The lock shows whether the agent lives
 */
#include "agent/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/spool.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "base/string.h"

enum { LOCK_LOOK_NS = 50000000, LOCK_LOOKS = 200 };

static char *status_path(const char *runtime)
{
	struct string_builder path = {0};

	string_builder_appendf(&path, "%s/" AGENT_STATUS_NAME, runtime);
	return string_builder_take(&path);
}

/* Allocates the blocks: a write to a mapped hole of a full file system would kill. */
static int map_file(int fd, const char *path, struct agent_status **ret_status)
{
	struct agent_status *status;
	int error = ftruncate(fd, 0) ? errno : posix_fallocate(fd, 0, sizeof(*status));

	if (error)
		return error_set(-error, "'%s': %s", path, strerror(error));
	status = mmap(NULL, sizeof(*status), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (status == MAP_FAILED)
		return error_set(-errno, "'%s': map: %s", path, strerror(errno));
	status->magic = AGENT_STATUS_MAGIC;
	status->version = AGENT_STATUS_VERSION;
	status->size = sizeof(*status);
	*ret_status = status;
	return 0;
}

static void report_wait(int fd, const struct agent_status_wait *wait)
{
	int32_t pid;

	if (!wait || !wait->on_wait)
		return;
	if (pread_all(fd, &pid, sizeof(pid), offsetof(struct agent_status, pid)))
		pid = 0;
	wait->on_wait(wait->context, pid);
}

/* Waits for the recorder of an agent that was killed: it still saves what it has. */
static bool lock_file(int fd, const struct agent_status_wait *wait)
{
	static const struct timespec pause = {0, LOCK_LOOK_NS};

	for (int i = 0; i < LOCK_LOOKS; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		if (!i)
			report_wait(fd, wait);
		nanosleep(&pause, NULL);
	}
	return false;
}

/* An agent that ends removes its file, perhaps while this one waits for the lock. */
static bool is_at(int fd, const char *path)
{
	struct stat opened, found;

	return fstat(fd, &opened) == 0 && lstat(path, &found) == 0 &&
	       opened.st_dev == found.st_dev && opened.st_ino == found.st_ino;
}

static int open_locked(const char *path, const struct agent_status_wait *wait, int *ret_fd)
{
	for (int i = 0; i < LOCK_LOOKS; i++) {
		auto_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);

		if (fd < 0)
			return error_set(-errno, "'%s': create: %s", path, strerror(errno));
		if (!lock_file(fd, i ? NULL : wait))
			break;
		if (!is_at(fd, path))
			continue;
		*ret_fd = take_fd(&fd);
		return 0;
	}
	return error_set(-EBUSY,
			 "'%s': another agent runs; stop it, or give this one a runtime "
			 "folder and a spool of its own",
			 path);
}

int agent_status_create(const char *runtime, const struct agent_status_wait *wait,
			struct agent_status **ret_status, int *ret_fd)
{
	auto_free char *path = status_path(runtime);
	auto_close int fd = -1;
	int error;

	if (!path)
		return error_set(-ENOMEM, "out of memory");
	if (mkdir(runtime, 0755) && errno != EEXIST)
		return error_set(-errno, "runtime folder '%s': create: %s", runtime,
				 strerror(errno));
	error = open_locked(path, wait, &fd);
	if (!error)
		error = map_file(fd, path, ret_status);
	if (!error)
		*ret_fd = take_fd(&fd);
	return error;
}

void agent_status_remove(const char *runtime, struct agent_status *status, int fd)
{
	auto_free char *path = status ? status_path(runtime) : NULL;

	if (!status)
		return;
	if (path)
		unlink(path);
	munmap(status, sizeof(*status));
	close(fd);
}

static void end_texts(struct agent_status *status)
{
	status->duet_version[AGENT_VERSION_TEXT - 1] = '\0';
	status->spool[AGENT_PATH_TEXT - 1] = status->config[AGENT_PATH_TEXT - 1] = '\0';
	for (int i = 0; i < AGENT_ERRORS; i++) {
		status->errors.all[i].text[AGENT_ERROR_TEXT - 1] = '\0';
		status->recorder_errors.all[i].text[AGENT_ERROR_TEXT - 1] = '\0';
		status->metrics_errors.all[i].text[AGENT_ERROR_TEXT - 1] = '\0';
	}
	status->endpoints.listen[AGENT_URL_TEXT - 1] = '\0';
	if (status->endpoints.count > AGENT_RECEIVERS)
		status->endpoints.count = AGENT_RECEIVERS;
	for (int i = 0; i < AGENT_RECEIVERS; i++) {
		struct agent_receiver *receiver = &status->endpoints.all[i];

		receiver->name[AGENT_RECEIVER_TEXT - 1] = receiver->url[AGENT_URL_TEXT - 1] = '\0';
		receiver->error[AGENT_ERROR_TEXT - 1] = '\0';
	}
}

int agent_status_read(const char *runtime, struct agent_status *ret_status, bool *ret_running)
{
	auto_free char *path = status_path(runtime);
	auto_close int fd = -1;
	int error;

	if (!path)
		return error_set(-ENOMEM, "out of memory");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT
			       ? error_set(-ENOENT,
					   "no agent runs with the runtime folder '%s'; start one: "
					   "duet agent -c CONFIG",
					   runtime)
			       : error_set(-errno, "'%s': %s", path, strerror(errno));
	error = pread_all(fd, ret_status, sizeof(*ret_status), 0);
	if (!error && (ret_status->magic != AGENT_STATUS_MAGIC ||
		       ret_status->version != AGENT_STATUS_VERSION ||
		       ret_status->size != sizeof(*ret_status)))
		error = -EPROTO;
	if (error)
		return error_set(error,
				 "'%s' is not the status of an agent of this version of duet; use "
				 "the duet that runs as the agent",
				 path);
	end_texts(ret_status);
	*ret_running = flock(fd, LOCK_SH | LOCK_NB) != 0;
	return 0;
}

void agent_errors_add(struct agent_errors *errors, const char *text)
{
	struct agent_error *slot = &errors->all[errors->count % AGENT_ERRORS];

	slot->boot_ns = (uint64_t)spool_now_ns();
	string_make_printable(text, slot->text, sizeof(slot->text));
	STATUS_ADD(errors->count, 1);
}
