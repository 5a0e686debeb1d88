/* SPDX-License-Identifier: MIT
 *
 * bench/bench_symbol.c - how long names for many addresses of one file take
 *
 *	bench_symbol FILE < addresses		prints a line with the figures
 *	bench_symbol --print FILE < addresses	function, file:line of each frame, like addr2line -i
 *		-f -C
 *
 * Addresses are hexadecimal, as the file's program headers count. bench/bench_symbol.py makes them
 * and runs the peers on the same ones.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/error.h"
#include "symbol/symbolizer.h"

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void print(const struct symbol *symbol)
{
	for (size_t i = 0; i < symbol->frame_count; i++) {
		const struct symbol_frame *frame = &symbol->frames[i];

		printf("%s\n%s:%u\n", frame->function ? frame->function : "??",
		       frame->file ? frame->file : "??", frame->line);
	}
}

static int run(const char *path, bool does_print)
{
	struct symbolizer_options options = {.has_lines = true, .has_inlines = true};
	char absolute[PATH_MAX];
	struct symbol_mapping mapping = {.path = realpath(path, absolute), .build_id = ""};
	size_t count = 0, frames = 0, named = 0, lined = 0;
	struct symbolizer *symbolizer;
	struct symbol_module *module;
	struct rusage usage;
	struct symbol symbol;
	uint64_t address;
	double begin = now_s();

	if (!mapping.path || symbolizer_new(&options, &symbolizer) ||
	    symbolizer_module(symbolizer, &mapping, &module))
		return 1;
	while (scanf("%" SCNx64, &address) == 1) {
		if (symbolizer_lookup_vaddr(symbolizer, module, address, false, &symbol))
			return 1;
		count++;
		frames += symbol.frame_count;
		named += symbol.frames[0].function != NULL;
		lined += symbol.frames[0].line != 0;
		if (does_print) {
			printf("0x%" PRIx64 "\n", address);
			print(&symbol);
		}
	}
	getrusage(RUSAGE_SELF, &usage);
	if (!does_print)
		printf("%zu addresses, %zu named, %zu with a line, %zu frames: %.3f s, %ld MiB\n",
		       count, named, lined, frames, now_s() - begin, usage.ru_maxrss / 1024);
	symbolizer_free(symbolizer);
	return 0;
}

int main(int argc, char **argv)
{
	bool does_print = argc == 3 && strcmp(argv[1], "--print") == 0;

	if (argc != 2 && !does_print) {
		fprintf(stderr, "usage: bench_symbol [--print] FILE < addresses\n");
		return 2;
	}
	return run(argv[argc - 1], does_print);
}
