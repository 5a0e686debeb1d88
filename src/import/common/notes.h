/* SPDX-License-Identifier: MIT
 *
 * import/common/notes.h - the files of an import, and the notes and faults of each
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/string.h"

struct import_note {
	uint32_t first, last, files; /* index of the first and the last file that has it; number */
	uint64_t count;              /* sum over all files; 0: the note has no number */
	const char *one, *many;      /* their names; constants */
};

struct import_notes {
	struct string_table formats, paths, texts;
	uint32_t *file_formats, *file_paths; /* strings, by index of a file */
	struct import_note *notes;           /* by id of a text - 1 */
	size_t files, formats_capacity, paths_capacity, notes_capacity;
	bool has_several;             /* the import has more files than one */
	struct string_builder faults; /* a line each */
};

void import_notes_init(struct import_notes *notes);
void import_notes_fini(struct import_notes *notes);

/* Later notes and faults are those of this file. Errors: -ENOMEM. */
int import_notes_begin_file(struct import_notes *notes, const char *format, const char *path);
const char *import_notes_path(const struct import_notes *notes, size_t file);

/* A note that several files have is listed once. Without memory, notes are lost. */
void import_notes_add(struct import_notes *notes, const char *format, va_list arguments);
/* The same for a note that begins with a number of things; `one` and `many` stay valid. */
void import_notes_add_count(struct import_notes *notes, uint64_t count, const char *one,
			    const char *many, const char *text);
void import_notes_add_fault(struct import_notes *notes, const char *format, va_list arguments);

/* Appends all notes, a line each; with the file's name where not all files have the note. */
void import_notes_append(const struct import_notes *notes, struct string_builder *lines);
/* Appends "chrome 'a.json', 'b.json', rocpd 'c.db'". */
void import_notes_append_files(const struct import_notes *notes, struct string_builder *text);
