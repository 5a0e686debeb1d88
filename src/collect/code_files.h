/* SPDX-License-Identifier: MIT
 *
 * collect/code_files.h - the files whose code runs, each once, with their unwind tables
 */
#ifndef COLLECT_CODE_FILES_H
#define COLLECT_CODE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/recording.h"
#include "event/unwind_rule.h"
#include "symbol/build_id.h"

struct unwind_table;

/* Which file a mapping is of. */
struct code_file_key {
	const char *path;     /* as the kernel names it */
	const char *build_id; /* lower-case hexadecimal; "": not told, then … */
	uint32_t major, minor;
	uint64_t inode;
};

struct code_file {
	uint32_t number;                       /* of all, from 1 */
	char *path;                            /* owned */
	char build_id[BUILD_ID_TEXT_SIZE];     /* "": none, or not told and not looked for yet */
	uint32_t path_string, build_id_string; /* 0: not described yet */
	uint64_t size_bytes, modified_ns;      /* where there is no build id; 0: not known */
	struct unwind_table *table;            /* owned; NULL: not opened, or none */
	uint64_t used;                         /* when a table was last asked, in questions */
	bool is_opened;                        /* tried to */
	uint32_t python;                       /* enum stack_python, as cpu_python_of asks */
	bool is_guest;                         /* our own library in the program */
	uint64_t inode;                        /* where the kernel told no build id */
	char *kernel; /* owned; whose code it is, of a device that is the host's processor; NULL: none's */
	uint64_t kernel_bytes, kernel_hash_low,
		kernel_hash_high; /* … of its content in the trace */
};

struct code_files {
	struct recording *recording; /* borrowed */
	struct identities known;
	struct code_file **files; /* owned; by id - 1 */
	size_t count, capacity;
	size_t tables;      /* that are open */
	uint64_t questions; /* asked so far */
	uint64_t refused;   /* mappings, of more files than are kept */
};

void code_files_init(struct code_files *files, struct recording *recording);
void code_files_fini(struct code_files *files); /* NULL-safe */

/* NULL: code of no file, or no memory. */
struct code_file *code_files_find(struct code_files *files, const struct code_file_key *key);

/* Gives a file whose code was met its texts in the trace: of ten thousand that are mapped some dozens are. */
void code_files_describe(struct code_files *files, struct code_file *file);

/* Where the frame of the instruction at an offset in the file begins. pid: a process that has the file mapped. */
union unwind_rule code_files_rule(struct code_files *files, struct code_file *file,
				  uint64_t file_offset, uint32_t pid);

#endif
