/* SPDX-License-Identifier: MIT
 *
 * collect/code_files.c - the files whose code runs, each once, with their unwind tables
 *
 * Runs in:  the recorder
 * Gets:     what the kernel says of mappings   Gives: rows' texts, unwind rules
 * Owns:     the files, at most FILES_MOST, and TABLES_MOST open tables
 * Fails:    a file that cannot be read, or is another one by now, has no rules: a stack ends in it
 * Why:      a table is some 10 % of its library (libc: 120 KB), and a machine has thousands of libraries: the one
 *           that was not asked for the longest time makes room.
 */
#include "collect/code_files.h"

#include <elf.h>
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
#include "collect/images.h"
#include "symbol/elf_names.h"
#include "symbol/unwind_table.h"

enum {
	FILES_MOST = 1 << 16,
	TABLES_MOST = 512,
	KEY_BYTES = 4096 + 256,
	KERNEL_NAME_BYTES = 1024,
	KERNEL_BYTES_MOST = 16 << 20
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

/* "[vdso]" is a file to us: it has a table. */
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
	if (files->count >= FILES_MOST) {
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

/* ---- tables ------------------------------------------------------------------------------------ */

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

/* Whether what lies at the path is what was mapped: by build id where the kernel told it, else by inode; then its
 * build id, or size and time, become known. */
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
	if (about.st_ino != file->inode)
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

/* Ours is everybody's: it comes from the kernel. */
static void open_vdso(struct code_file *file)
{
	const uint8_t *image = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);

	if (image && unwind_table_open_memory(image, vdso_size(image), &file->table) < 0)
		file->table = NULL;
}

/* PoCL links each kernel into a library of its own, once for each size of work-group. Its bytes go into the trace: the
 * cache is cleaned, and the machine that reads the trace may be another one. */
static void keep_kernel(struct code_files *files, struct code_file *file, int fd)
{
	char name[KERNEL_NAME_BYTES];
	auto_free void *bytes = NULL;
	struct stat about;

	if (fstat(fd, &about) < 0 || about.st_size > KERNEL_BYTES_MOST ||
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

static void open_table(struct code_files *files, struct code_file *file, uint32_t pid)
{
	auto_close int fd = -1;
	bool is_it;

	file->is_opened = true;
	if (files->tables >= TABLES_MOST)
		close_oldest(files);
	if (file->path[0] == '[') {
		open_vdso(file);
	} else {
		fd = images_open_file(pid, file->path);
		is_it = fd >= 0 && is_same(files, file, fd);
		if (!is_it || unwind_table_open(fd, &file->table) < 0)
			file->table = NULL;
		if (is_it && !file->kernel)
			keep_kernel(files, file, fd);
	}
	error_clear();
	files->tables += file->table != NULL;
}

union unwind_rule code_files_rule(struct code_files *files, struct code_file *file,
				  uint64_t file_offset, uint32_t pid)
{
	if (!file->is_opened)
		open_table(files, file, pid);
	if (!file->table)
		return (union unwind_rule){.type = RULE_UNKNOWN};
	file->used = ++files->questions;
	return unwind_table_find(file->table, file_offset);
}
