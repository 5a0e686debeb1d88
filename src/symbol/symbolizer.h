/* SPDX-License-Identifier: MIT
 *
 * symbol/symbolizer.h - address to function, file, line and inlined callers
 *
 * Used when a report is made, in our own process; the recorded process has usually ended. The
 * search order of files is in docs/design/symbol.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbolizer;
struct symbol_module;

struct symbolizer_options {
	const char *const *debug_folders; /* laid out as /usr/lib/debug, searched before it */
	size_t debug_folder_count;
	const char *archive; /* folder with .build-id/ and paths below it; NULL: none */
	bool may_download;   /* use debuginfod, if DEBUGINFOD_URLS is set */
	bool has_lines;      /* files and lines are wanted */
	bool has_inlines;    /* inlined callers are wanted */
	bool is_short;       /* names without parameters and template arguments */
};

/* A mapping of the recorded process. With start and file_offset 0, looked-up addresses are offsets
 * in the file. */
struct symbol_mapping {
	const char *path; /* as recorded, without " (deleted)"; "[vdso]" */
	/* lower-case hexadecimal; "": unknown; an invalid one gives no names */
	const char *build_id;
	uint64_t start;          /* address in the recorded process */
	uint64_t file_offset;    /* file offset of the byte at `start` */
	const char *alternative; /* a copy to read instead, if it is the same file; NULL: none */
	/* Used without a build id: the file's size and time when it was recorded; 0: unknown. */
	uint64_t file_size_bytes, file_modified_ns;
	/* The file's contents, with `path` as a mere name; it outlives the symbolizer. NULL: the
	 * file is read. */
	const void *image;
	size_t image_size;
};

struct symbol_frame {
	const char *function; /* demangled; NULL: unknown */
	const char *raw_name; /* as in the file; NULL: unknown */
	const char *file;     /* NULL: unknown */
	uint32_t line;        /* from 1; 0: unknown */
	uint32_t column;      /* from 1; 0: unknown */
	bool is_inlined;      /* into the next frame */
	/* from the start of the piece of the function that contains the address; known for some
	 * functions without a name, too */
	uint64_t offset;
	bool has_offset;
};

/* Always at least one frame, innermost first. Lives as long as the symbolizer. */
struct symbol {
	const struct symbol_frame *frames;
	size_t frame_count;
	const char *module_path;
	/* in the module's file, by its program headers; if that file could not be read, the file
	 * offset */
	uint64_t address;
};

/* Errors: -ENOMEM. */
int symbolizer_new(const struct symbolizer_options *options, struct symbolizer **ret_symbolizer);
void symbolizer_free(struct symbolizer *symbolizer); /* NULL-safe */

/* Equal mappings give the same module, and mappings of one file share its data. A missing file is
 * not an error: its addresses have no names. Errors: -ENOMEM. */
int symbolizer_module(struct symbolizer *symbolizer, const struct symbol_mapping *mapping,
		      struct symbol_module **ret_module);

/* `address`: in the recorded process. A return address is looked up one byte before, inside the
 * call. Errors: -ENOMEM. */
int symbolizer_lookup(struct symbolizer *symbolizer, struct symbol_module *module, uint64_t address,
		      bool is_return_address, struct symbol *ret_symbol);

/* The same for an address of the file's program headers (vaddr). */
int symbolizer_lookup_vaddr(struct symbolizer *symbolizer, struct symbol_module *module,
			    uint64_t vaddr, bool is_return_address, struct symbol *ret_symbol);

/* The source of a module's names; texts NULL: none. */
struct symbol_source {
	const char *path;       /* the file that is read */
	const char *debug_path; /* its separate debug file, once one was needed */
	bool is_replaced;       /* another file is now at the recorded path */
	bool has_lines;         /* debug information */
};

void symbolizer_source(struct symbolizer *symbolizer, struct symbol_module *module,
		       struct symbol_source *ret_source);

/* Messages for the user, each once: "'/usr/bin/x' was replaced since the recording". Texts live as
 * long as the symbolizer. */
size_t symbolizer_notes(const struct symbolizer *symbolizer, const char *const **ret_notes);

/* The function's name. If it is unknown "[libfoo.so]+0x1234": the start of the function, or the
 * address itself without has_offset. Returns the full length, as
 * snprintf does. */
size_t symbol_format(const struct symbol *symbol, size_t frame_index, char *text, size_t size);
