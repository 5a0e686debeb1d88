/* SPDX-License-Identifier: MIT
 *
 * collect/images.c - the files that a process executes: which one lies at an address
 *
 * Runs in:  the recorder
 * Gets:     addresses, and what the loader calls the file   Gives: absolute paths, size and time, a descriptor
 * Owns:     the mappings with code as they were when last looked at
 * Fails:    never; what cannot be known is as the process told it
 * Why:      a loader names a library as it was asked for, "rl/libx.so", which means nothing from another folder
 *           and nothing after a chdir; the kernel knows the file. Reading /proc/PID/maps takes 0.1 to 30 ms, so
 *           that one reading serves all libraries of a stack.
 */
#include "collect/images.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collect/host_clocks.h"
#include "collect/proc.h"
#include "event/event.h"
#include "symbol/proc_maps.h"

enum { FRESH_NS = 20000000, DOUBTS_MOST = 64 };

static void forget_mappings(struct images *images)
{
	free(images->mappings);
	free(images->texts);
	images->mappings = NULL;
	images->texts = NULL;
	images->count = 0;
}

void images_fini(struct images *images)
{
	if (!images)
		return;
	forget_mappings(images);
	free(images->folder);
	*images = (struct images){0};
}

/* ---- what is mapped ---------------------------------------------------------------------------- */

static bool is_image(const struct proc_mapping *mapping)
{
	return mapping->is_executable && mapping->kind != PROC_MAPPING_ANONYMOUS;
}

/* Only what has code: some 30 of hundreds. */
static int keep_mappings(struct images *images, const struct proc_maps *maps)
{
	size_t count = 0, bytes = 0;
	char *to;

	for (size_t i = 0; i < maps->count; i++)
		if (is_image(&maps->mappings[i])) {
			bytes += strlen(maps->mappings[i].path) + 1;
			count++;
		}
	forget_mappings(images);
	images->mappings = calloc(count + 1, sizeof(*images->mappings));
	to = images->texts = malloc(bytes + 1);
	if (!images->mappings || !to) {
		forget_mappings(images);
		return -ENOMEM;
	}
	for (size_t i = 0; i < maps->count; i++) {
		const struct proc_mapping *from = &maps->mappings[i];

		if (!is_image(from))
			continue;
		images->mappings[images->count++] = (struct image_mapping){
			.start = from->start,
			.end = from->end,
			.inode = from->inode,
			.is_deleted = from->is_deleted || from->kind == PROC_MAPPING_MEMORY,
			.is_special = from->kind == PROC_MAPPING_SPECIAL,
			.path = to,
		};
		to = stpcpy(to, from->path) + 1;
	}
	return 0;
}

/* A number is believed to be the process as long as that lives; of a dead one the kernel says nothing. */
static void read_mappings(struct images *images, const struct images_process *process)
{
	uint64_t begin_ns = host_clocks_now_ns(), end_ns;
	struct proc_maps maps = {0};

	if (proc_maps_read((pid_t)process->pid, &maps) < 0)
		error_clear();
	else if (maps.count && proc_is_alive(process->pid_fd, process->pid))
		keep_mappings(images, &maps);
	proc_maps_fini(&maps);
	end_ns = host_clocks_now_ns();
	images->next_ns = end_ns + FRESH_NS + 50 * (end_ns - begin_ns);
}

void images_begin(struct images *images, const struct images_process *process)
{
	char link[64], folder[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%u/cwd", process->pid);
	length = readlink(link, folder, sizeof(folder) - 1);
	if (length > 0 && folder[0] == '/') {
		folder[length] = '\0';
		images->folder = strdup(folder);
	}
	read_mappings(images, process);
}

static const struct image_mapping *mapping_at(const struct images *images, uint64_t address)
{
	size_t low = 0, high = images->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (images->mappings[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < images->mappings[low - 1].end ? &images->mappings[low - 1] : NULL;
}

/* ---- the file ---------------------------------------------------------------------------------- */

int images_open_file(uint32_t pid, const char *path)
{
	char from_root[PATH_MAX + 64];
	struct stat about;
	int fd;

	if (path[0] != '/')
		return -ENOENT;
	snprintf(from_root, sizeof(from_root), "/proc/%u/root%s", pid, path);
	fd = open(from_root, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	if (fd < 0) /* it is gone, and most likely had our root */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

static bool has_inode(int fd, uint64_t inode)
{
	struct stat about;

	/* the devices that maps and stat name differ on some file systems */
	return fd >= 0 && fstat(fd, &about) == 0 && about.st_ino == inode;
}

/* The mapped file itself, whatever has become of its path. The first way wants CAP_SYS_ADMIN, the second is only
 * for the program. */
static int open_mapped(uint32_t pid, const struct image_mapping *mapping)
{
	char link[96];
	int fd;

	snprintf(link, sizeof(link), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, mapping->start,
		 mapping->end);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		snprintf(link, sizeof(link), "/proc/%u/exe", pid);
		fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	if (has_inode(fd, mapping->inode))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void take_times(int fd, struct image *image)
{
	struct stat about;

	if (fd < 0 || fstat(fd, &about) < 0)
		return;
	image->size_bytes = (uint64_t)about.st_size;
	image->modified_ns =
		(uint64_t)about.st_mtim.tv_sec * 1000000000 + (uint64_t)about.st_mtim.tv_nsec;
}

/* Opened and looked at. With a mapping it is the one that is mapped. */
static void take_file(uint32_t pid, const struct image_mapping *mapping, struct image *image)
{
	int fd = mapping && mapping->is_deleted ? -1 : images_open_file(pid, image->path);

	if (mapping && !has_inode(fd, mapping->inode)) {
		if (fd >= 0)
			close(fd);
		image->is_gone = fd >= 0 || fd == -ENOENT || mapping->is_deleted;
		fd = image->is_gone ? open_mapped(pid, mapping) : -1;
	}
	take_times(fd, image);
	if (image->is_gone)
		image->modified_ns = FRAME_FILE_GONE;
	image->fd = fd < 0 ? -1 : fd;
}

/* ---- its path ---------------------------------------------------------------------------------- */

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What was read before a library came is of another one; a link may make the names differ too, and where it does
 * costs a reading. */
static bool is_doubtful(const struct image_mapping *mapping, const char *told)
{
	return !mapping || (!mapping->is_special && told[0] &&
			    strcmp(name_of(mapping->path), name_of(told)) != 0);
}

static const struct image_mapping *find_mapping(struct images *images,
						const struct images_process *process,
						uint64_t address, const char *told)
{
	const struct image_mapping *mapping = mapping_at(images, address);
	uint64_t now_ns = host_clocks_now_ns();

	/* Nobody has so many libraries that come between a reading and the next stack; who describes what is not
	 * there shall not make us read all day. */
	if (now_ns < images->next_ns &&
	    (!is_doubtful(mapping, told) || images->doubts >= DOUBTS_MOST))
		return mapping;
	images->doubts += now_ns < images->next_ns;
	read_mappings(images, process);
	return mapping_at(images, address);
}

/* The loader names the program "" and others as they were asked for, perhaps from where the process stood. */
static void path_as_told(const struct images *images, const struct images_process *process,
			 const char *told, char path[PATH_MAX])
{
	if (!told[0])
		told = process->exe;
	if (told[0] == '/' || !strchr(told, '/') || !images->folder ||
	    (size_t)snprintf(path, PATH_MAX, "%s/%s", images->folder, told) >= PATH_MAX ||
	    access(path, F_OK) < 0)
		snprintf(path, PATH_MAX, "%s", told);
}

void images_find(struct images *images, const struct images_process *process, uint64_t address,
		 const char *told, bool wants_file, struct image *ret_image)
{
	const struct image_mapping *mapping = find_mapping(images, process, address, told);

	*ret_image = (struct image){.fd = -1};
	if (mapping && strlen(mapping->path) < PATH_MAX)
		strcpy(ret_image->path, mapping->path);
	else
		path_as_told(images, process, told, ret_image->path);
	if (mapping && mapping->is_special)
		return;
	take_file(process->pid, mapping, ret_image);
	if (ret_image->fd >= 0 && !wants_file) {
		close(ret_image->fd);
		ret_image->fd = -1;
	}
}

bool images_find_name(struct images *images, const struct images_process *process, const char *name,
		      char ret_path[PATH_MAX])
{
	if (host_clocks_now_ns() >= images->next_ns)
		read_mappings(images, process);
	for (size_t i = 0; i < images->count; i++)
		if (strcmp(name_of(images->mappings[i].path), name) == 0 &&
		    strlen(images->mappings[i].path) < PATH_MAX) {
			strcpy(ret_path, images->mappings[i].path);
			return true;
		}
	return images->folder &&
	       snprintf(ret_path, PATH_MAX, "%s/%s", images->folder, name) < PATH_MAX;
}
