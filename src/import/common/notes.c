/* SPDX-License-Identifier: MIT
 *
 * import/common/notes.c - the files of an import, and the notes and faults of each
 *
 * Runs in:  our own process
 * Gets:     formats, paths, texts
 * Gives:    lines for the user and the trace
 * Owns:     copies of them
 * Fails:    -ENOMEM
 * Why equal notes are joined: the eight ranks of a job have the same five notes
 */
#include "import/common/notes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/format.h"

enum { TEXT_BYTES = 512, FILES_SHOWN = 2 };

void import_notes_init(struct import_notes *notes)
{
	*notes = (struct import_notes){0};
	string_table_init(&notes->formats);
	string_table_init(&notes->paths);
	string_table_init(&notes->texts);
}

void import_notes_fini(struct import_notes *notes)
{
	string_table_fini(&notes->formats);
	string_table_fini(&notes->paths);
	string_table_fini(&notes->texts);
	string_builder_fini(&notes->faults);
	free(notes->file_formats);
	free(notes->file_paths);
	free(notes->notes);
}

int import_notes_begin_file(struct import_notes *notes, const char *format, const char *path)
{
	uint32_t format_id = string_table_add(&notes->formats, format, strlen(format));
	uint32_t path_id = string_table_add(&notes->paths, path, strlen(path));

	if (!format_id || !path_id ||
	    array_grow(notes->file_formats, notes->formats_capacity, notes->files + 1) ||
	    array_grow(notes->file_paths, notes->paths_capacity, notes->files + 1))
		return -ENOMEM;
	notes->file_formats[notes->files] = format_id;
	notes->file_paths[notes->files++] = path_id;
	return 0;
}

const char *import_notes_path(const struct import_notes *notes, size_t file)
{
	return file < notes->files ? string_table_text(&notes->paths, notes->file_paths[file], NULL)
				   : "";
}

/* The name of a file without its folders, if no other file has this name. */
static const char *short_name(const struct import_notes *notes, size_t file)
{
	const char *path = import_notes_path(notes, file), *name = path_base(path);

	for (size_t i = 0; i < notes->files; i++)
		if (i != file && strcmp(path_base(import_notes_path(notes, i)), name) == 0)
			return path;
	return name;
}

static struct import_note *find_note(struct import_notes *notes, const char *text)
{
	const uint32_t file = notes->files ? (uint32_t)notes->files - 1 : 0;
	uint32_t before = notes->texts.count;
	uint32_t id = string_table_add(&notes->texts, text, strlen(text));
	struct import_note *note;

	if (!id || array_grow(notes->notes, notes->notes_capacity, id))
		return NULL;
	note = &notes->notes[id - 1];
	if (id > before)
		*note = (struct import_note){.first = file};
	note->files += id > before || note->last != file;
	note->last = file;
	return note;
}

void import_notes_add(struct import_notes *notes, const char *format, va_list arguments)
{
	char text[TEXT_BYTES];

	vsnprintf(text, sizeof(text), format, arguments);
	find_note(notes, text);
}

void import_notes_add_count(struct import_notes *notes, uint64_t count, const char *one,
			    const char *many, const char *text)
{
	char key[TEXT_BYTES];
	struct import_note *note;

	snprintf(key, sizeof(key), "%s %s", one, text);
	note = find_note(notes, key);
	if (!note)
		return;
	note->count += count;
	note->one = one;
	note->many = many;
}

void import_notes_add_fault(struct import_notes *notes, const char *format, va_list arguments)
{
	char text[TEXT_BYTES];

	vsnprintf(text, sizeof(text), format, arguments);
	string_builder_append(&notes->faults, notes->faults.length ? "\n" : "");
	if (notes->has_several)
		string_builder_appendf(&notes->faults,
				       "%s: ", import_notes_path(notes, notes->files - 1));
	string_builder_append(&notes->faults, text);
}

static void append_note(const struct import_notes *notes, uint32_t id, struct string_builder *line)
{
	const struct import_note *note = &notes->notes[id - 1];
	const char *text = string_table_text(&notes->texts, id, NULL);

	if (note->files < notes->files)
		string_builder_append(line, short_name(notes, note->first));
	if (note->files < notes->files && note->files > 1)
		string_builder_appendf(line, " and %u more", note->files - 1);
	string_builder_append(line, note->files < notes->files ? ": " : "");
	if (note->count)
		string_builder_appendf(line, "%" PRIu64 " %s%s", note->count,
				       format_noun(note->count, note->one, note->many),
				       text + strlen(note->one));
	else
		string_builder_append(line, text);
}

void import_notes_append(const struct import_notes *notes, struct string_builder *lines)
{
	for (uint32_t id = 1; id <= notes->texts.count; id++) {
		string_builder_append(lines, lines->length ? "\n" : "");
		append_note(notes, id, lines);
	}
}

void import_notes_append_files(const struct import_notes *notes, struct string_builder *text)
{
	uint32_t shown = 0;

	for (size_t i = 0; i < notes->files && i < FILES_SHOWN; i++) {
		uint32_t format = notes->file_formats[i];

		string_builder_append(text, i ? ", " : "");
		if (format != shown)
			string_builder_appendf(text, "%s ",
					       string_table_text(&notes->formats, format, NULL));
		string_builder_appendf(text, "'%s'", import_notes_path(notes, i));
		shown = format;
	}
	if (notes->files > FILES_SHOWN)
		string_builder_appendf(text, " and %zu more", notes->files - FILES_SHOWN);
}
