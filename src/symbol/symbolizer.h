/* SPDX-License-Identifier: MIT
 *
 * symbol/symbolizer.h - address to function, file, line and inlined callers
 *
 * Used when a report is made, in our own process; the recorded one is usually gone. Where and in
 * which order files are looked for: docs/design/symbol.md.
 */
#ifndef SYMBOL_SYMBOLIZER_H
#define SYMBOL_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbolizer;
struct symbol_module;

struct symbolizer_options {
	const char *const *debug_folders; /* laid out as /usr/lib/debug, asked before it */
	size_t debug_folder_count;
	const char *archive; /* folder with .build-id/ and paths below it; NULL: none */
	bool may_download;   /* ask debuginfod, where DEBUGINFOD_URLS is set */
	bool has_lines;      /* files and lines are wanted */
	bool has_inlines;    /* inlined callers are wanted */
	bool is_short;       /* names without parameters and template arguments */
};

/* A mapping of the recorded process. With start and file_offset 0 the addresses that are looked up
 * are offsets in the file. */
struct symbol_mapping {
	const char *path;        /* as recorded, without " (deleted)"; "[vdso]" */
	const char *build_id;    /* lower-case hexadecimal; "": not known; else no names */
	uint64_t start;          /* address in the recorded process */
	uint64_t file_offset;    /* of the byte at `start` */
	const char *alternative; /* a copy to read in place of it, if it is the same; NULL: none */
	/* Where there is no build id: of the file when it was recorded; 0: not known. */
	uint64_t file_size_bytes, file_modified_ns;
	/* The file itself, of which path is but the name; it outlives the symbolizer. NULL: it is read. */
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
	uint64_t offset;      /* from the start of the piece of the function that has the address */
	bool has_offset;
};

/* Always at least one frame, innermost first. Lives as long as the symbolizer. */
struct symbol {
	const struct symbol_frame *frames;
	size_t frame_count;
	const char *module_path;
	uint64_t
		address; /* in the module's file, as its program headers count; where that file could
			     not be read, the offset in it */
};

/* Errors: -ENOMEM. */
int symbolizer_new(const struct symbolizer_options *options, struct symbolizer **ret_symbolizer);
void symbolizer_free(struct symbolizer *symbolizer); /* NULL-safe */

/* The same mapping is the same module, and mappings of one file share what was read of it. A file
 * that cannot be found is no error: its addresses have no names. Errors: -ENOMEM. */
int symbolizer_module(struct symbolizer *symbolizer, const struct symbol_mapping *mapping,
		      struct symbol_module **ret_module);

/* `address`: in the recorded process. A return address is looked up one byte before, inside of the
 * call. Errors: -ENOMEM. */
int symbolizer_lookup(struct symbolizer *symbolizer, struct symbol_module *module, uint64_t address,
		      bool is_return_address, struct symbol *ret_symbol);

/* The same for an address as the file's program headers count (vaddr). */
int symbolizer_lookup_vaddr(struct symbolizer *symbolizer, struct symbol_module *module,
			    uint64_t vaddr, bool is_return_address, struct symbol *ret_symbol);

/* What the names of a module come from; texts NULL: nothing. */
struct symbol_source {
	const char *path;       /* of the file that is read */
	const char *debug_path; /* of its separate debug file, once one was needed */
	bool is_replaced;       /* another file is at the recorded path now */
	bool has_lines;         /* debug information */
};

void symbolizer_source(struct symbolizer *symbolizer, struct symbol_module *module,
		       struct symbol_source *ret_source);

/* What a user should know, each once: "'/usr/bin/x' was replaced since the recording". Texts live
 * as long as the symbolizer. */
size_t symbolizer_notes(const struct symbolizer *symbolizer, const char *const **ret_notes);

/* The function's name, or "[libfoo.so]+0x1234" where it is unknown, as snprintf does it: the length
 * that was wanted. */
size_t symbol_format(const struct symbol *symbol, size_t frame_index, char *text, size_t size);

#endif
