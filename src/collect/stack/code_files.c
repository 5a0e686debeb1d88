/* SPDX-License-Identifier: MIT
 *
 * collect/stack/code_files.c - table of all executable files that are mapped, with their unwind
 * tables
 *
 * Runs in:  the recorder
 * Gets:     path, device, inode and build id of mappings
 * Gives:    strings for frame rows; unwind rules; the bytes of PoCL's kernel libraries in the trace
 * Owns:     at most MAX_FILES files and MAX_TABLES open unwind tables
 * Fails:    a file that cannot be read, or was replaced, has no unwind rules; a stack ends in it
 * Why:      an unwind table has some 10 % of its library's size (libc: 120 KB), and a machine has
 *           thousands of libraries. When more than MAX_TABLES tables are open, the least recently
 *           used one is closed.
 */
#include "collect/stack/code_files.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "collect/host_clocks.h"
#include "collect/stack/images.h"
#include "collect/stack/mapped_file.h"
#include "symbol/elf/names.h"
#include "symbol/elf/unwind_table.h"

enum {
	MAX_FILES = 1 << 16,
	MAX_TABLES = 512,
	KEY_BYTES = 4096 + 256,
	KERNEL_NAME_BYTES = 1024,
	MAX_KERNEL_BYTES = 16 << 20,
	RETRY_NS = 1000000000
};

void code_files_init(struct code_files *files, struct recording *recording)
{
	*files = (struct code_files){.recording = recording};
	identities_init(&files->known);
}

void code_files_fini(struct code_files *files)
{
	if (!files)
		return;
	identities_fini(&files->known);
	for (size_t i = 0; i < files->count; i++) {
		unwind_table_close(files->files[i]->table);
		free(files->files[i]->path);
		free(files->files[i]->kernel);
		free(files->files[i]);
	}
	free(files->files);
}

/* "[vdso]" counts as a file, because it has an unwind table. */
static bool is_file(const char *path)
{
	return (path[0] == '/' && path[1] != '/' && strncmp(path, "/memfd:", 7) != 0) ||
	       strcmp(path, "[vdso]") == 0;
}

static bool is_guest_library(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && strncmp(slash, "/libduet-", strlen("/libduet-")) == 0;
}

static struct code_file *make_file(struct code_files *files, const struct code_file_key *key)
{
	struct code_file *file = calloc(1, sizeof(*file));
	static const char deleted[] = " (deleted)";
	size_t length = strlen(key->path);

	if (!file || array_grow(files->files, files->capacity, files->count + 1)) {
		free(file);
		return NULL;
	}
	if (length > strlen(deleted) && !strcmp(key->path + length - strlen(deleted), deleted))
		length -= strlen(deleted);
	file->path = strndup(key->path, length);
	if (!file->path) {
		free(file);
		return NULL;
	}
	file->inode = key->inode;
	file->major = key->major;
	file->minor = key->minor;
	file->is_guest = is_guest_library(file->path);
	snprintf(file->build_id, sizeof(file->build_id), "%s", key->build_id);
	files->files[files->count++] = file;
	file->number = (uint32_t)files->count;
	return file;
}

struct code_file *code_files_find(struct code_files *files, const struct code_file_key *key)
{
	char text[KEY_BYTES];
	struct code_file *file;
	uint32_t id;

	if (!is_file(key->path))
		return NULL;
	snprintf(text, sizeof(text), "%s %u:%u %llu %s", key->build_id, key->major, key->minor,
		 (unsigned long long)key->inode, key->path);
	id = identities_find(&files->known, text);
	if (id)
		return files->files[id - 1];
	if (files->count >= MAX_FILES) {
		files->refused++;
		return NULL;
	}
	file = make_file(files, key);
	if (file)
		identities_remember(&files->known, text, (uint32_t)files->count);
	return file;
}

void code_files_describe(struct code_files *files, struct code_file *file)
{
	if (file->path_string)
		return;
	file->path_string = recording_string(files->recording, file->path);
	file->build_id_string = recording_string(files->recording, file->build_id);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void close_oldest(struct code_files *files)
{
	struct code_file *oldest = NULL;

	for (size_t i = 0; i < files->count; i++) {
		struct code_file *file = files->files[i];

		if (file->table && (!oldest || file->used < oldest->used))
			oldest = file;
	}
	if (!oldest)
		return;
	unwind_table_close(oldest->table);
	oldest->table = NULL;
	oldest->is_opened = false;
	files->tables--;
}

/* Whether the open file is the mapped one: by build id if the kernel reported one, otherwise by
 * device and inode. In the second case, sets the file's build id, or its size and time. */
static bool is_same(struct code_files *files, struct code_file *file, int fd)
{
	char link[64], found[BUILD_ID_TEXT_SIZE] = "";
	struct stat about;

	if (fstat(fd, &about) < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (build_id_read_file(link, found) < 0)
		found[0] = '\0';
	if (file->build_id[0])
		return strcmp(found, file->build_id) == 0;
	if (!mapped_file_is_same(fd, &(struct proc_mapping){.inode = file->inode,
							    .device_major = file->major,
							    .device_minor = file->minor}))
		return false;
	snprintf(file->build_id, sizeof(file->build_id), "%s", found);
	file->build_id_string = recording_string(files->recording, found);
	if (!found[0]) {
		file->size_bytes = (uint64_t)about.st_size;
		file->modified_ns = (uint64_t)about.st_mtim.tv_sec * 1000000000u +
				    (uint64_t)about.st_mtim.tv_nsec;
	}
	return true;
}

static uint64_t vdso_size(const uint8_t *image)
{
	const Elf64_Ehdr *head = (const void *)image;
	const Elf64_Phdr *parts = (const void *)(image + head->e_phoff);
	uint64_t size = head->e_shoff + (uint64_t)head->e_shnum * head->e_shentsize;

	for (unsigned int i = 0; i < head->e_phnum; i++)
		if (parts[i].p_offset + parts[i].p_filesz > size)
			size = parts[i].p_offset + parts[i].p_filesz;
	return size;
}

/* The kernel maps the same vdso into all processes, so the recorder's own is used. */
static void open_vdso(struct code_file *file)
{
	const uint8_t *image = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);

	if (image && unwind_table_open_memory(image, vdso_size(image), &file->table) < 0)
		file->table = NULL;
}

/* PoCL links each kernel into its own library, once per work-group size. The trace gets the
 * library's bytes, because PoCL's cache is cleaned later, and the trace may be read on another
 * machine. */
static void keep_kernel(struct code_files *files, struct code_file *file, int fd)
{
	char name[KERNEL_NAME_BYTES];
	auto_free void *bytes = NULL;
	struct stat about;

	if (fstat(fd, &about) < 0 || about.st_size > MAX_KERNEL_BYTES ||
	    !elf_names_find_between(fd, "_pocl_kernel_", "_workgroup", name, sizeof(name)))
		return;
	file->kernel = strdup(name);
	file->kernel_bytes = (uint64_t)about.st_size;
	bytes = malloc((size_t)about.st_size);
	if (!bytes || pread_all(fd, bytes, (size_t)about.st_size, 0) ||
	    trace_writer_content(files->recording->writer, bytes, (size_t)about.st_size,
				 &file->kernel_hash_low, &file->kernel_hash_high) < 0)
		file->kernel_hash_low = file->kernel_hash_high = 0;
	else
		files->recording->kept_bytes += CONTENT_BYTES;
}

/* No descriptor was free: tries again later, because descriptors become free when processes end. */
static void try_later(struct code_file *file)
{
	file->is_opened = false;
	file->retry_ns = host_clocks_now_ns() + RETRY_NS;
}

int code_files_open(struct code_files *files, struct code_file *file, uint32_t pid)
{
	auto_close int fd = images_open_file(pid, file->path);

	if (fd < 0)
		return fd;
	return is_same(files, file, fd) ? take_fd(&fd) : -ESTALE;
}

static void open_table(struct code_files *files, struct code_file *file, uint32_t pid)
{
	auto_close int fd = -1;

	file->is_opened = true;
	if (files->tables >= MAX_TABLES)
		close_oldest(files);
	if (file->path[0] == '[') {
		open_vdso(file);
	} else {
		fd = code_files_open(files, file, pid);
		if (fd < 0 || unwind_table_open(fd, &file->table) < 0)
			file->table = NULL;
		if (fd >= 0 && !file->kernel)
			keep_kernel(files, file, fd);
		if (fd == -EMFILE || fd == -ENFILE)
			try_later(file);
	}
	error_clear();
	files->tables += file->table != NULL;
}

union unwind_rule code_files_rule(struct code_files *files, struct code_file *file,
				  uint64_t file_offset, uint32_t pid)
{
	if (!file->is_opened && (!file->retry_ns || host_clocks_now_ns() >= file->retry_ns))
		open_table(files, file, pid);
	if (!file->table)
		return (union unwind_rule){.type = RULE_UNKNOWN};
	file->used = ++files->questions;
	return unwind_table_find(file->table, file_offset);
}
