/* SPDX-License-Identifier: MIT
 *
 * collect/stack/mapped_file.c - opens the file that another process has mapped
 *
 * Runs in:  the recorder, any thread; no state
 * Gets:     a process and one of its mappings
 * Gives:    a descriptor for reading
 * Owns:     nothing that outlives a call
 * Fails:    -errno; no other file than the mapped one is ever returned
 * Why:      the process can change what is at the path: a FIFO, a device, a link to a file of root.
 *           /proc/PID/map_files leads to the mapped file itself, but only with
 *           CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN. Without these, the file at the path is
 *           compared with the mapping. On btrfs and overlayfs stat(2) reports another device than
 *           /proc/PID/maps does; on these the recorder maps the file into its own memory, and
 *           compares the two processes' lines in /proc/PID/maps.
 */
#include "collect/stack/mapped_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file/regular_file.h"

enum { PAGE = 4096 };

static bool has_inode(const struct proc_mapping *left, const struct proc_mapping *right)
{
	return left->inode == right->inode && left->device_major == right->device_major &&
	       left->device_minor == right->device_minor;
}

/* Maps one page of the file (PROT_NONE) and compares its line in /proc/self/maps. */
static bool is_same_in_maps(int fd, const struct proc_mapping *mapping)
{
	void *page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE, fd, 0);
	const struct proc_mapping *own = NULL;
	struct proc_maps maps = {0};
	bool is_same;

	if (page == MAP_FAILED)
		return false;
	if (proc_maps_read(getpid(), &maps))
		error_clear();
	else
		own = proc_maps_find(&maps, (uintptr_t)page);
	is_same = own && has_inode(own, mapping);
	proc_maps_fini(&maps);
	munmap(page, PAGE);
	return is_same;
}

bool mapped_file_is_same(int fd, const struct proc_mapping *mapping)
{
	struct stat about;

	if (fstat(fd, &about) < 0)
		return false;
	return (about.st_ino == mapping->inode &&
		about.st_dev == makedev(mapping->device_major, mapping->device_minor)) ||
	       is_same_in_maps(fd, mapping);
}

static int open_if_same(const char *path, const struct proc_mapping *mapping)
{
	auto_close int fd = regular_file_open(path);

	if (fd < 0)
		return fd;
	return mapped_file_is_same(fd, mapping) ? take_fd(&fd) : -ESTALE;
}

int mapped_file_open(pid_t pid, const struct proc_mapping *mapping)
{
	char path[PATH_MAX + 64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)mapping->start, (unsigned long long)mapping->end);
	fd = open_if_same(path, mapping);
	if (fd >= 0 || fd == -EINVAL)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open_if_same(path, mapping);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, mapping->path);
	return open_if_same(path, mapping);
}
