/* SPDX-License-Identifier: MIT
 *
 * collect/stack/code_files.h - table of all executable files that are mapped, with their unwind
 * tables
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/recording.h"
#include "shared/unwind_rule.h"
#include "symbol/elf/build_id.h"

struct unwind_table;

/* Identifies the file of a mapping. */
struct code_file_key {
	const char *path;     /* as in /proc/PID/maps */
	const char *build_id; /* lower-case hexadecimal; "": not known, then … */
	uint32_t major, minor;
	uint64_t inode;
};

struct code_file {
	uint32_t number;                       /* index in code_files.files, plus 1 */
	char *path;                            /* owned */
	char build_id[BUILD_ID_TEXT_SIZE];     /* "": none, or not read yet */
	uint32_t path_string, build_id_string; /* the trace's; 0: not described yet */
	uint64_t size_bytes, modified_ns;      /* for files without build id; 0: not known */
	struct unwind_table *table;            /* owned; NULL: not open, or the file has none */
	/* value of code_files.questions at the last lookup */
	uint64_t used;
	bool is_opened; /* opening was tried */
	/* when opening is tried again, after descriptors ran out; 0: not needed */
	uint64_t retry_ns;
	uint32_t python;       /* enum stack_python; set by cpu_python_of */
	bool is_guest;         /* duet's guest library */
	uint64_t inode;        /* for files without a build id from the kernel; … */
	uint32_t major, minor; /* … its device */
	/* owned; name of the OpenCL kernel that this library holds (PoCL); NULL: none */
	char *kernel;
	/* … size and content hash of the library in the trace */
	uint64_t kernel_bytes, kernel_hash_low, kernel_hash_high;
};

struct code_files {
	struct recording *recording; /* borrowed */
	struct identities known;
	struct code_file **files; /* owned; by id - 1 */
	size_t count, capacity;
	size_t tables;      /* number of open tables */
	uint64_t questions; /* number of lookups so far */
	uint64_t refused;   /* number of mappings without a file, because MAX_FILES was reached */
};

void code_files_init(struct code_files *files, struct recording *recording);
void code_files_fini(struct code_files *files); /* NULL-safe */

/* Finds or adds a file. NULL: the mapping has no file, or out of memory or table space. */
struct code_file *code_files_find(struct code_files *files, const struct code_file_key *key);

/* Writes path and build id to the trace when the first frame is in this file. Most mapped files
 * never have a frame. */
void code_files_describe(struct code_files *files, struct code_file *file);

/* Opens the file for reading, by its path below the root folder of a process that has it mapped.
 * Errors: -errno; -ESTALE: the path now has another file. */
int code_files_open(struct code_files *files, struct code_file *file, uint32_t pid);

/* The unwind rule of the instruction at an offset in the file. pid: a process that has the file
 * mapped. */
union unwind_rule code_files_rule(struct code_files *files, struct code_file *file,
				  uint64_t file_offset, uint32_t pid);
