/* SPDX-License-Identifier: MIT
 *
 * collect/stack/images.c - finds the file that a process has mapped at a code address
 *
 * Runs in:  the recorder
 * Gets:     code addresses, and the file names that the process's loader uses
 * Gives:    absolute path, size and modification time of the file; a descriptor
 * Owns:     a copy of the process's executable mappings
 * Fails:    never; a path that cannot be resolved stays as the process reported it
 * Why:      a loader may name a library by a relative path ("rl/libx.so"), which cannot be opened
 *           from another folder or after a chdir. /proc/PID/maps has the absolute path, but only of
 *           the file that is mapped at the time of reading. An absolute path from the loader is
 *           preferred, because several plug-ins may be loaded at one address in turn. Reading
 *           /proc/PID/maps takes 0.1 to 30 ms, so one reading serves all libraries of a stack.
 */
#include "collect/stack/images.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file/regular_file.h"
#include "collect/host_clocks.h"
#include "collect/proc.h"
#include "collect/stack/mapped_file.h"
#include "event/event.h"
#include "symbol/elf/build_id.h"
#include "symbol/proc_maps.h"

enum { FRESH_NS = 20000000, MAX_DOUBTS = 64 };

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

/* ---- executable mappings --------------------------------------------------------------------- */

static bool is_image(const struct proc_mapping *mapping)
{
	return mapping->is_executable && mapping->kind != PROC_MAPPING_ANONYMOUS;
}

/* Keeps only executable mappings: some 30 of hundreds. */
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
			.device_major = from->device_major,
			.device_minor = from->device_minor,
			.is_deleted = from->is_deleted || from->kind == PROC_MAPPING_MEMORY,
			.is_special = from->kind == PROC_MAPPING_SPECIAL,
			.path = to,
		};
		to = stpcpy(to, from->path) + 1;
	}
	return 0;
}

/* The mappings are used only if the process is still alive afterwards: its pid may have been
 * reused, and a dead process has no mappings. */
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
	lookup_budget_spend(process->looks, begin_ns, end_ns);
	images->next_ns = end_ns + FRESH_NS + LOOKUP_BUDGET_SHARE * (end_ns - begin_ns);
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
	if (lookup_budget_is_left(process->looks, host_clocks_now_ns()))
		read_mappings(images, process);
}

static const struct image_mapping *mapping_at(const struct images *images, uint64_t address)
{
	size_t low = LOWER_BOUND(images->count, i, images->mappings[i].start <= address);

	return low && address < images->mappings[low - 1].end ? &images->mappings[low - 1] : NULL;
}

/* ---- the file -------------------------------------------------------------------------------- */

int images_open_file(uint32_t pid, const char *path)
{
	auto_close int root = -1;
	char link[64];

	if (path[0] != '/')
		return -ENOENT;
	snprintf(link, sizeof(link), "/proc/%u/root", pid);
	root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0)
		return regular_file_open_in(root, path);
	/* the process has ended; most likely it had the recorder's root folder */
	return regular_file_open(path);
}

static struct proc_mapping as_mapped(const struct image_mapping *mapping)
{
	return (struct proc_mapping){.start = mapping->start,
				     .end = mapping->end,
				     .inode = mapping->inode,
				     .device_major = mapping->device_major,
				     .device_minor = mapping->device_minor,
				     .path = mapping->path};
}

/* Opens a mapped file that was deleted or replaced at its path. */
static int open_mapped(uint32_t pid, const struct image_mapping *mapping)
{
	const struct proc_mapping wanted = as_mapped(mapping);

	return mapped_file_open((pid_t)pid, &wanted);
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

/* Whether an open file has this build id; "": any open file. */
static bool has_build_id(int fd, const char *build_id)
{
	char link[32], text[BUILD_ID_TEXT_SIZE];

	if (fd < 0 || !build_id[0])
		return fd >= 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return build_id_read_file(link, text) == 0 && strcmp(text, build_id) == 0;
}

/* ---- its mapping ----------------------------------------------------------------------------- */

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool has_name(const struct image_mapping *mapping, const char *reported_path)
{
	return mapping && !mapping->is_special &&
	       strcmp(name_of(mapping->path), name_of(reported_path)) == 0;
}

/* Finds the mapping at an address. The copy may be older than the stack: another library may have
 * been loaded in place of the first. So if the file's name differs from the reported one, the
 * mappings are read again. With symbolic links the names always differ, which costs a needless
 * reading. */
static const struct image_mapping *find_mapping(struct images *images,
						const struct images_process *process,
						uint64_t address, const char *reported_path)
{
	const struct image_mapping *mapping = mapping_at(images, address);
	uint64_t now_ns = host_clocks_now_ns();
	bool is_due = now_ns >= images->next_ns;

	/* A process gets at most MAX_DOUBTS readings out of turn, and all processes of a user
	 * share a time budget. Otherwise a process that reports libraries that do not exist could
	 * keep the recorder busy. */
	if (!is_due && (has_name(mapping, reported_path) || images->doubts >= MAX_DOUBTS))
		return mapping;
	if (!lookup_budget_is_left(process->looks, now_ns))
		return mapping;
	images->doubts += !is_due;
	read_mappings(images, process);
	return mapping_at(images, address);
}

/* ---- its path -------------------------------------------------------------------------------- */

/* Opens the reported file by its absolute path and takes its size and time. If the mappings show
 * that the file was deleted, opens the mapped file instead. */
static void take_path(struct images *images, const struct images_process *process, uint64_t address,
		      const char *build_id, bool wants_file, struct image *image)
{
	const struct image_mapping *mapping = NULL;
	int fd = images_open_file(process->pid, image->path);

	if (fd < 0 || !build_id[0] || (wants_file && !has_build_id(fd, build_id)))
		mapping = find_mapping(images, process, address, image->path);
	if (has_name(mapping, image->path) && mapping->is_deleted) {
		image->is_gone = true;
		if (fd >= 0)
			close(fd);
		fd = open_mapped(process->pid, mapping);
	}
	take_times(fd, image);
	if (image->is_gone)
		image->modified_ns = FRAME_FILE_GONE;
	image->fd = fd < 0 ? -1 : fd;
}

/* Resolves a relative path. Takes the path of the mapping at the address if its name or its build
 * id matches. Otherwise tries the path from the process's first working folder; the process may
 * have called chdir since. */
static bool find_relative(struct images *images, const struct images_process *process,
			  uint64_t address, const char *reported_path, const char *build_id,
			  char path[PATH_MAX])
{
	const struct image_mapping *mapping = find_mapping(images, process, address, reported_path);
	auto_close int mapped = -1, joined = -1;

	if (mapping && !mapping->is_special && strlen(mapping->path) < PATH_MAX) {
		strcpy(path, mapping->path);
		if (mapping->is_deleted)
			return has_name(mapping, reported_path);
		mapped = images_open_file(process->pid, path);
		if (build_id[0] ? has_build_id(mapped, build_id) : has_name(mapping, reported_path))
			return true;
	}
	if (!images->folder ||
	    (size_t)snprintf(path, PATH_MAX, "%s/%s", images->folder, reported_path) >= PATH_MAX)
		return false;
	joined = images_open_file(process->pid, path);
	return has_build_id(joined, build_id);
}

/* The program's path without the kernel's suffix " (deleted)". */
static void path_of_program(const struct images_process *process, char path[PATH_MAX])
{
	static const char deleted[] = " (deleted)";
	size_t length = (size_t)snprintf(path, PATH_MAX, "%s", process->exe),
	       tail = strlen(deleted);

	if (length < PATH_MAX && length > tail && strcmp(path + length - tail, deleted) == 0)
		path[length - tail] = '\0';
}

/* Finds the path of the program itself. If it was started as "ld.so PROGRAM", /proc/PID/exe is the
 * loader, so the build id is checked and the mapping at the address used. */
static void find_program(struct images *images, const struct images_process *process,
			 uint64_t address, const char *build_id, char path[PATH_MAX])
{
	auto_close int file = -1;

	path_of_program(process, path);
	file = images_open_file(process->pid, path);
	if (!has_build_id(file, build_id) &&
	    !find_relative(images, process, address, "", build_id, path))
		path_of_program(process, path);
}

/* Whether the file may be copied into the archive. A process can report any path, and the recorder
 * may have more rights than the process. So only an ELF file that is really mapped at the address
 * is copied. */
static bool may_keep(struct images *images, const struct images_process *process, uint64_t address,
		     const struct image *image)
{
	const struct image_mapping *mapping = find_mapping(images, process, address, image->path);
	struct proc_mapping mapped;
	char magic[SELFMAG];

	if (!mapping)
		return false;
	mapped = as_mapped(mapping);
	return mapped_file_is_same(image->fd, &mapped) &&
	       pread(image->fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

void images_find(struct images *images, const struct images_process *process, uint64_t address,
		 const char *reported_path, const char *build_id, bool wants_file,
		 struct image *ret_image)
{
	*ret_image = (struct image){.fd = -1};
	if (!reported_path[0])
		find_program(images, process, address, build_id, ret_image->path);
	else if (reported_path[0] == '/' || !strchr(reported_path, '/') ||
		 !find_relative(images, process, address, reported_path, build_id, ret_image->path))
		snprintf(ret_image->path, PATH_MAX, "%s", reported_path);
	if (ret_image->path[0] != '/')
		return;
	take_path(images, process, address, build_id, wants_file, ret_image);
	if (ret_image->fd >= 0 && !(wants_file && may_keep(images, process, address, ret_image)))
		close(take_fd(&ret_image->fd));
}

bool images_find_name(struct images *images, const struct images_process *process, const char *name,
		      char ret_path[PATH_MAX])
{
	uint64_t now_ns = host_clocks_now_ns();

	if (now_ns >= images->next_ns && lookup_budget_is_left(process->looks, now_ns))
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
