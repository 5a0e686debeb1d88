/* SPDX-License-Identifier: MIT
 *
 * collect/enter/target_identity.c - detects that a process being injected ended or runs another
 * program
 *
 * Runs in:  the recorder, in the injecting thread
 * Gets:     a pid
 * Gives:    whether process, program and user are still the same; writes that reach only the
 *           program image that was checked
 * Owns:     a pidfd and a descriptor of /proc/PID/mem
 * Fails:    -ESTALE for another image; nothing is written then
 * Why:      the recorder reads from the process's memory the addresses that a thread shall execute.
 *           If the process ran a set-user-ID program between this reading and the execution, a
 *           hostile process would control what that program executes. Device, inode and ids detect
 *           another program or user. AT_RANDOM detects an exec of the same program: the kernel
 *           creates 16 random bytes for each exec, which the program cannot know before the exec. A
 *           descriptor of /proc/PID/mem belongs to the memory on which it was opened, so a write
 *           after an exec fails instead of reaching the new program.
 */
#include "collect/enter/target_identity.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/proc.h"
#include "symbol/remote/library.h"

enum { STATUS_BYTES = 1 << 16, AUXILIARY_BYTES = 4096 };

static bool parse_ids(const char *status, const char *label, uint32_t ids[4])
{
	const char *at = strstr(status, label);

	return at &&
	       sscanf(at + strlen(label), "%u%u%u%u", &ids[0], &ids[1], &ids[2], &ids[3]) == 4;
}

static int read_ids(pid_t pid, pid_t tid, struct target_ids *ret_ids)
{
	auto_free char *text = NULL;
	auto_close int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* not read_file, because the caller may already have set the error chain */
	if (fd < 0 || read_fd(fd, STATUS_BYTES, &text, NULL))
		return -ESRCH;
	return parse_ids(text, "\nUid:", ret_ids->user) && parse_ids(text, "\nGid:", ret_ids->group)
		       ? 0
		       : -ESRCH;
}

static bool is_one_user(const struct target_ids *ids)
{
	for (size_t i = 1; i < ARRAY_COUNT(ids->user); i++)
		if (ids->user[i] != ids->user[0] || ids->group[i] != ids->group[0])
			return false;
	return true;
}

static int read_program(pid_t pid, dev_t *ret_device, ino_t *ret_inode)
{
	struct stat about;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (stat(path, &about) < 0)
		return -errno;
	*ret_device = about.st_dev;
	*ret_inode = about.st_ino;
	return 0;
}

static int open_memory(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int find_random(pid_t pid, uint64_t *ret_address)
{
	auto_free char *bytes = NULL;
	char path[64];
	size_t size;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	if (read_file(path, AUXILIARY_BYTES, &bytes, &size)) {
		error_clear();
		return -ESRCH;
	}
	for (size_t at = 0; at + sizeof(Elf64_auxv_t) <= size; at += sizeof(Elf64_auxv_t)) {
		Elf64_auxv_t entry;

		memcpy(&entry, bytes + at, sizeof(entry));
		if (entry.a_type != AT_RANDOM)
			continue;
		*ret_address = entry.a_un.a_val;
		return 0;
	}
	return -ENOTSUP;
}

/* The memory is opened first: later reads see the same image, or the first check detects the
 * difference. */
int target_identity_open(pid_t pid, struct target_identity *identity, struct target_ids *ret_ids)
{
	int error;

	*identity = (struct target_identity){.pid = pid, .pid_fd = -1};
	identity->memory_fd = open_memory(pid);
	if (identity->memory_fd < 0)
		return identity->memory_fd;
	identity->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	identity->start_ticks = proc_start_ticks((uint32_t)pid);
	error = read_program(pid, &identity->program_device, &identity->program_inode);
	if (!error)
		error = read_ids(pid, pid, &identity->ids);
	if (!error)
		error = find_random(pid, &identity->random_address);
	if (!error)
		error = target_identity_read(identity, identity->random_address, identity->random,
					     sizeof(identity->random));
	if (!error && !identity->start_ticks)
		error = -ESRCH;
	*ret_ids = identity->ids;
	return error ? error : is_one_user(&identity->ids) ? 0 : -EXDEV;
}

void target_identity_close(struct target_identity *identity)
{
	if (identity->pid_fd >= 0)
		close(identity->pid_fd);
	if (identity->memory_fd >= 0)
		close(identity->memory_fd);
	identity->pid_fd = identity->memory_fd = -1;
}

void target_identity_set_library(struct target_identity *identity, const struct proc_mapping *text)
{
	identity->library = *text;
	identity->library.path = "";
}

/* Read through the process, not through memory_fd: the image that the process runs now. */
static bool has_same_random(const struct target_identity *identity)
{
	uint8_t now[IDENTITY_RANDOM_BYTES];

	return remote_library_read(identity->pid, identity->random_address, now, sizeof(now)) ==
		       0 &&
	       memcmp(now, identity->random, sizeof(now)) == 0;
}

static bool has_same_program(const struct target_identity *identity)
{
	dev_t device;
	ino_t inode;

	return read_program(identity->pid, &device, &inode) == 0 &&
	       device == identity->program_device && inode == identity->program_inode;
}

static bool has_same_ids(const struct target_identity *identity, pid_t tid)
{
	struct target_ids ids;

	return read_ids(identity->pid, tid, &ids) == 0 &&
	       memcmp(&ids, &identity->ids, sizeof(ids)) == 0;
}

int target_identity_check(const struct target_identity *identity, pid_t tid)
{
	return proc_is_alive(identity->pid_fd, (uint32_t)identity->pid) &&
			       proc_start_ticks((uint32_t)identity->pid) == identity->start_ticks &&
			       has_same_program(identity) && has_same_ids(identity, tid) &&
			       has_same_random(identity)
		       ? 0
		       : -ESTALE;
}

int target_identity_check_library(const struct target_identity *identity)
{
	const struct proc_mapping *wanted = &identity->library, *found;
	struct proc_maps maps;
	bool is_same;

	if (proc_maps_read(identity->pid, &maps)) {
		error_clear();
		return -ESTALE;
	}
	found = proc_maps_find(&maps, wanted->start);
	is_same = found && found->start == wanted->start && found->end == wanted->end &&
		  found->file_offset == wanted->file_offset && found->is_executable &&
		  found->inode == wanted->inode && found->device_major == wanted->device_major &&
		  found->device_minor == wanted->device_minor;
	proc_maps_fini(&maps);
	return is_same ? 0 : -ESTALE;
}

/* Result of a transfer; the kernel transfers 0 bytes if the image no longer exists. */
static int result_of(ssize_t done, size_t size)
{
	if (done == 0)
		return -ESTALE;
	return done < 0 ? -errno : done == (ssize_t)size ? 0 : -EFAULT;
}

int target_identity_write(const struct target_identity *identity, uint64_t address,
			  const void *bytes, size_t size)
{
	return result_of(pwrite(identity->memory_fd, bytes, size, (off_t)address), size);
}

int target_identity_read(const struct target_identity *identity, uint64_t address, void *bytes,
			 size_t size)
{
	return result_of(pread(identity->memory_fd, bytes, size, (off_t)address), size);
}

void target_identity_signal(const struct target_identity *identity, int signal)
{
	if (identity->pid_fd >= 0)
		syscall(SYS_pidfd_send_signal, identity->pid_fd, signal, NULL, 0);
	else if (proc_start_ticks((uint32_t)identity->pid) == identity->start_ticks)
		kill(identity->pid, signal);
}
