/* SPDX-License-Identifier: MIT
 *
 * collect/start/running.c - checks and tracks the running processes to be recorded (option -p)
 *
 * Runs in:  the recorder
 * Gets:     pids
 * Gives:    whether they may be recorded; whether a process descends from them; when they have
 *           ended
 * Owns:     a pidfd for each process
 * Fails:    before the recording starts, with the process and the missing right
 * Why one check at the start: for another user's process, each kernel interface fails in its own
 *           way, or samples lack stacks. All these interfaces require the right that also reading
 *           the path of the process's program requires, so that path is read as a test
 */
#include "collect/start/running.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/proc.h"
#include "collect/start/rights.h"

enum { MAX_ANCESTORS = 64 };

/* The number after a label ("\nUid:\t") in /proc/PID/status; -1: not found. */
static long status_number(pid_t pid, const char *label)
{
	auto_free char *text = NULL;
	char path[64], *at;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (read_file(path, 1 << 20, &text, NULL) < 0) {
		error_clear();
		return -1;
	}
	at = strstr(text, label);
	return at ? strtol(at + strlen(label), NULL, 10) : -1;
}

static int refused(pid_t pid, const char *name)
{
	const struct passwd *user;
	char path[64];
	struct stat about;
	long uid = status_number(pid, "\nUid:\t");

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (uid < 0 && stat(path, &about) == 0)
		uid = about.st_uid;
	user = getpwuid((uid_t)uid);
	if ((uid_t)uid != geteuid() && geteuid() != 0)
		return error_set(-EPERM,
				 "process %d ('%s') is of user %s (%ld): record it as that user, "
				 "or as root (sudo duet record -p %d)",
				 (int)pid, name, user ? user->pw_name : "?", uid, (int)pid);
	if (rights_why_root_is_refused())
		return error_set(-EPERM, "process %d ('%s') may not be inspected: %s", (int)pid,
				 name, rights_why_root_is_refused());
	return error_set(
		-EPERM,
		"process %d ('%s') has rights that its user lacks (setuid, file "
		"capabilities), or excludes debuggers: record it as root (sudo duet record -p %d)",
		(int)pid, name, (int)pid);
}

/* Checks whether a process may be recorded. Data read by pid is valid only if the process (fd) is
 * still alive afterwards. */
static int check(pid_t pid, int fd)
{
	char name[64] = "";
	long leader = status_number(pid, "\nTgid:\t");
	int error = proc_try((uint32_t)pid);

	proc_thread_name((uint32_t)pid, (uint32_t)pid, name);
	if (leader > 0 && leader != pid)
		return error_set(-EINVAL, "%d is a thread of process %ld: use -p %ld", (int)pid,
				 leader, leader);
	if (leader < 0 || !proc_is_alive(fd, (uint32_t)pid))
		return error_set(-ESRCH, "process %d: not found, or it has ended", (int)pid);
	if (!error)
		return 0;
	if (error == -EACCES || error == -EPERM)
		return refused(pid, name);
	return error_set(-EINVAL, "process %d ('%s') is a thread of the kernel, or is ending",
			 (int)pid, name);
}

static bool is_alive(const struct running_process *process)
{
	return proc_is_alive(process->fd, (uint32_t)process->pid);
}

/* The pid of an ended process may have been reused, so the process must be alive. */
static bool is_listed(const struct running *running, pid_t pid)
{
	for (size_t i = 0; i < running->count; i++)
		if (running->processes[i].pid == pid)
			return is_alive(&running->processes[i]);
	return false;
}

int running_open(struct running *running, const pid_t *pids, size_t count)
{
	int error = 0;

	*running = (struct running){0};
	if (!count)
		return 0;
	running->processes = calloc(count, sizeof(*running->processes));
	if (!running->processes)
		return error_set(-ENOMEM, "out of memory");
	for (size_t i = 0; i < count && !error; i++) {
		int fd = (int)syscall(SYS_pidfd_open, pids[i], 0);

		running->processes[running->count++] = (struct running_process){pids[i], fd};
		error = check(pids[i], fd);
	}
	if (error)
		running_close(running);
	return error;
}

void running_close(struct running *running)
{
	if (!running)
		return;
	for (size_t i = 0; i < running->count; i++)
		if (running->processes[i].fd >= 0)
			close(running->processes[i].fd);
	free(running->processes);
	*running = (struct running){0};
}

bool running_has(const struct running *running, pid_t pid)
{
	for (int i = 0; running->count && i < MAX_ANCESTORS && pid > 1; i++) {
		if (is_listed(running, pid))
			return true;
		pid = (pid_t)status_number(pid, "\nPPid:\t");
	}
	return running->count == 0;
}

size_t running_find_started(const struct running *running, pid_t *pids, size_t most)
{
	DIR *folder = running->count ? opendir("/proc") : NULL;
	struct dirent *entry;
	size_t count = 0;

	while (folder && count < most && (entry = readdir(folder))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && !is_listed(running, pid) && running_has(running, pid))
			pids[count++] = pid;
	}
	if (folder)
		closedir(folder);
	return count;
}

size_t running_poll(const struct running *running, struct pollfd *entries)
{
	size_t count = 0;

	/* the pidfd of an ended process would make each poll return at once */
	for (size_t i = 0; i < running->count; i++)
		if (running->processes[i].fd >= 0 && is_alive(&running->processes[i]))
			entries[count++] =
				(struct pollfd){.fd = running->processes[i].fd, .events = POLLIN};
	return count;
}

bool running_have_ended(const struct running *running)
{
	for (size_t i = 0; i < running->count; i++)
		if (is_alive(&running->processes[i]))
			return false;
	return running->count != 0;
}
