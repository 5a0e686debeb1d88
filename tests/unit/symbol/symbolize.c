/* SPDX-License-Identifier: MIT
 *
 * What the symbolizer says about addresses, for test_peers.py:
 *
 *	symbolize [OPTION VALUE]... FILE < addresses
 *
 * Options: debug, archive, build-id, alternative, offsets (addresses are file offsets). For each
 * address: itself, then one line per frame: raw name, function, file, line, column; then an empty
 * one. At the end the notes and where names came from, each behind "# ".
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "symbol/symbolizer.h"

struct arguments {
	struct symbolizer_options options;
	struct symbol_mapping mapping;
	const char *debug_folder;
	bool has_offsets;
};

static void read_arguments(int argc, char **argv, struct arguments *arguments)
{
	for (int i = 1; i + 2 < argc; i += 2) {
		const char *name = argv[i], *value = argv[i + 1];

		if (strcmp(name, "debug") == 0)
			arguments->debug_folder = value;
		else if (strcmp(name, "archive") == 0)
			arguments->options.archive = value;
		else if (strcmp(name, "build-id") == 0)
			arguments->mapping.build_id = value;
		else if (strcmp(name, "alternative") == 0)
			arguments->mapping.alternative = value;
		else if (strcmp(name, "offsets") == 0)
			arguments->has_offsets = true;
	}
	arguments->mapping.path = argv[argc - 1];
	arguments->options.debug_folders = &arguments->debug_folder;
	arguments->options.debug_folder_count = arguments->debug_folder != NULL;
}

static void print(uint64_t address, const struct symbol *symbol)
{
	printf("0x%" PRIx64 "\n", address);
	for (size_t i = 0; i < symbol->frame_count; i++) {
		const struct symbol_frame *frame = &symbol->frames[i];

		printf("%s\t%s\t%s\t%u\t%u\n", frame->raw_name ? frame->raw_name : "??",
		       frame->function ? frame->function : "??", frame->file ? frame->file : "??",
		       frame->line, frame->column);
	}
	printf("\n");
}

static void print_source(struct symbolizer *symbolizer, struct symbol_module *module)
{
	struct symbol_source source;
	const char *const *notes;
	size_t count = symbolizer_notes(symbolizer, &notes);

	symbolizer_source(symbolizer, module, &source);
	printf("# path %s\n# debug %s\n", source.path ? source.path : "-",
	       source.debug_path ? source.debug_path : "-");
	for (size_t i = 0; i < count; i++)
		printf("# note %s\n", notes[i]);
}

int main(int argc, char **argv)
{
	struct arguments arguments = {
		.options = {.may_download = true, .has_lines = true, .has_inlines = true},
		.mapping = {.build_id = ""},
	};
	struct symbolizer *symbolizer;
	struct symbol_module *module;
	struct symbol symbol;
	uint64_t address;

	read_arguments(argc, argv, &arguments);
	if (symbolizer_new(&arguments.options, &symbolizer) ||
	    symbolizer_module(symbolizer, &arguments.mapping, &module)) {
		fprintf(stderr, "symbolize: %s\n", error_text());
		return 1;
	}
	while (scanf("%" SCNx64, &address) == 1) {
		if (arguments.has_offsets
			    ? symbolizer_lookup(symbolizer, module, address, false, &symbol)
			    : symbolizer_lookup_vaddr(symbolizer, module, address, false, &symbol))
			return 1;
		print(address, &symbol);
	}
	print_source(symbolizer, module);
	symbolizer_free(symbolizer);
	return 0;
}
