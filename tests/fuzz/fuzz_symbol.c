/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_symbol.c - a libFuzzer target: any bytes to everything that symbol/ reads
 *
 * Input: a byte that says what the rest is: a program, a perf map, a dump of generated code,
 * mappings, a line table of Python, a name, an image in memory, a program's unwind tables, a zebin,
 * or what one says of its kernels. What comes out must be readable.
 *
 * Why a mutator of its own: in a program of 20 KB most random changes hit padding or code. Nearly
 * always this one changes a few bytes of one section.
 *
 *	fuzz_symbol --seed FOLDER
 *	fuzz_symbol -runs=1000000 FOLDER
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "symbol/elf/build_id.h"
#include "symbol/demangle.h"
#include "symbol/jit/jitdump.h"
#include "symbol/jit/perf_map.h"
#include "symbol/proc_maps.h"
#include "symbol/remote/python_lines.h"
#include "symbol/symbolizer.h"
#include "symbol/elf/unwind_table.h"
#include "symbol/elf/unwind_walk.h"
#include "symbol/device/ze_info.h"
#include "symbol/device/zebin.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max_size);

enum input {
	PROGRAM,
	PERF_MAP,
	JITDUMP,
	PROC_MAPS,
	PYTHON_LINES,
	NAME,
	IMAGE,
	UNWIND,
	ZE_INFO,
	ZEBIN,
	INPUTS
};

static volatile size_t total;

static void read_text(const char *text)
{
	total += text ? strlen(text) : 0;
}

static void try_program(const uint8_t *bytes, size_t size)
{
	struct symbolizer_options options = {.has_lines = true, .has_inlines = true};
	struct symbol_mapping mapping = {.build_id = ""};
	char path[64];
	int fd = memfd_create("program", MFD_CLOEXEC);
	struct symbolizer *symbolizer;
	struct symbol_module *module;
	struct symbol symbol;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	mapping.path = path;
	if (fd < 0 || write_all(fd, bytes, size) || symbolizer_new(&options, &symbolizer))
		abort();
	if (symbolizer_module(symbolizer, &mapping, &module))
		abort();
	for (uint64_t offset = 0; offset < size; offset += 1 + size / 64) {
		if (symbolizer_lookup(symbolizer, module, offset, offset & 1, &symbol) ||
		    !symbol.frame_count)
			abort();
		for (size_t i = 0; i < symbol.frame_count; i++) {
			read_text(symbol.frames[i].function);
			read_text(symbol.frames[i].raw_name);
			read_text(symbol.frames[i].file);
		}
	}
	symbolizer_free(symbolizer);
	close(fd);
}

/* The image lies at 0 of a process. */
static union unwind_rule find_rule(void *context, uint64_t pc)
{
	union unwind_rule rule = unwind_table_find(context, pc);

	if (rule.type == RULE_NONE)
		abort();
	return rule;
}

static enum unwind_code find_code(void *context, uint64_t pc)
{
	return pc % 3;
}

/* The bytes are the stack as well. */
static void try_unwind(const uint8_t *bytes, size_t size)
{
	struct unwind_state state = {0, 1 << 20, 1 << 20, bytes, size, true};
	struct unwind_walk_frame frames[20];
	struct unwind_table *table;
	enum unwind_walk_end end;

	total += unwind_is_after_call(bytes, size);
	if (unwind_table_open_memory(bytes, size, &table))
		return;
	for (state.ip = 4096; state.ip < size; state.ip += 13)
		if (unwind_walk(&state, find_rule, find_code, table, frames, 20, &end) == 0 ||
		    end > UNWIND_WALK_FULL)
			abort();
	unwind_table_close(table);
}

static int make_file(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	return fd;
}

static void try_perf_map(const uint8_t *bytes, size_t size)
{
	struct perf_map_wanted wanted[64];
	int fd = make_file(bytes, size);

	for (uint64_t i = 0; i < 64; i++)
		wanted[i] = (struct perf_map_wanted){.address = i * 0x101};
	if (perf_map_search(fd, UINT64_MAX, wanted, 64))
		abort();
	for (size_t i = 0; i < 64; i++) {
		char *name = perf_map_name(fd, &wanted[i]);

		if (!name && wanted[i].length)
			abort();
		read_text(name);
		free(name);
	}
	close(fd);
}

static void try_jitdump(const uint8_t *bytes, size_t size)
{
	static const uint64_t addresses[] = {0x11, 0x1000, 0x1010, 0x2222, UINT64_MAX};
	int fd = make_file(bytes, size);
	struct jitdump *dump;

	if (jitdump_open(fd, UINT64_MAX, addresses, 5, &dump) == 0) {
		for (size_t i = 0; i < 5; i++) {
			read_text(jitdump_find(dump, addresses[i], UINT64_MAX));
			read_text(jitdump_find(dump, addresses[i], addresses[i]));
		}
		jitdump_close(dump);
	}
	close(fd);
}

static void try_proc_maps(const uint8_t *bytes, size_t size)
{
	struct proc_maps maps;

	if (proc_maps_parse((const char *)bytes, size, &maps))
		abort();
	for (size_t i = 0; i < maps.count; i++) {
		const struct proc_mapping *mapping = &maps.mappings[i];

		if (mapping->start >= mapping->end || (i && mapping->start < mapping[-1].start))
			abort();
		read_text(mapping->path);
	}
	proc_maps_fini(&maps);
}

static void try_python_lines(const uint8_t *bytes, size_t size)
{
	uint32_t line;

	for (uint32_t version = 0x0306; version <= 0x030e; version++) {
		for (uint32_t offset = 0; offset < 64; offset += 2)
			python_line(version, bytes, size, 1000, offset, &line);
	}
}

static void try_name(const uint8_t *bytes, size_t size)
{
	static struct demangler *demangler;
	char *name = calloc(1, size + 1), *text;

	/* Not strndup: the sanitizer's looks for the NUL that is not there. */
	if (name)
		memcpy(name, bytes, size);
	if (!demangler && demangler_new(&(struct demangle_options){0}, &demangler))
		abort();
	text = name ? demangler_find(demangler, name) : NULL;
	if (text && strlen(text) > DEMANGLE_OUTPUT_LIMIT)
		abort();
	if (text)
		demangle_shorten(text);
	read_text(text);
	free(text);
	free(name);
}

static void on_kernel(void *context, const char *name, const struct ze_info_kernel *kernel)
{
	if (!*name)
		abort();
	read_text(name);
	total += kernel->simd_size;
}

static void try_zebin(const uint8_t *bytes, size_t size)
{
	const struct zebin_kernel *kernels;
	struct zebin *zebin;
	size_t count, image_size;
	void *image;

	if (zebin_open(bytes, size, &zebin))
		return;
	count = zebin_kernels(zebin, &kernels);
	for (size_t i = 0; i < count; i++)
		if (kernels[i].offset > size || kernels[i].size_bytes > size - kernels[i].offset ||
		    kernels[i].code_bytes > kernels[i].size_bytes || !*kernels[i].name)
			abort();
	if (zebin_link(zebin, &image, &image_size) == 0) {
		total += ((const uint8_t *)image)[image_size - 1];
		free(image);
	}
	zebin_close(zebin);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char text[BUILD_ID_TEXT_SIZE];
	/* exactly as large as it is, so that a byte too far is seen */
	uint8_t *copy = size ? malloc(size) : NULL;

	if (!copy)
		return 0;
	memcpy(copy, bytes + 1, size - 1);
	switch (bytes[0] % INPUTS) {
	case PROGRAM:
		try_program(copy, size - 1);
		break;
	case PERF_MAP:
		try_perf_map(copy, size - 1);
		break;
	case JITDUMP:
		try_jitdump(copy, size - 1);
		break;
	case PROC_MAPS:
		try_proc_maps(copy, size - 1);
		break;
	case PYTHON_LINES:
		try_python_lines(copy, size - 1);
		break;
	case NAME:
		try_name(copy, size - 1);
		break;
	case IMAGE:
		if (!build_id_read_image(copy, size - 1, text))
			read_text(text);
		break;
	case UNWIND:
		try_unwind(copy, size - 1);
		break;
	case ZE_INFO:
		if (ze_info_read((const char *)copy, size - 1, on_kernel, NULL))
			abort();
		break;
	case ZEBIN:
		try_zebin(copy, size - 1);
		break;
	}
	free(copy);
	return 0;
}

/* ---- the mutator ---- */

/* A section of the program in bytes, whole inside of it; false: none. */
static bool pick_section(const uint8_t *bytes, size_t size, unsigned int seed, size_t *ret_start,
			 size_t *ret_size)
{
	Elf64_Ehdr head;
	Elf64_Shdr section;

	if (size < sizeof(head))
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (!head.e_shnum || head.e_shoff > size ||
	    (size - head.e_shoff) / sizeof(section) < head.e_shnum)
		return false;
	memcpy(&section, bytes + head.e_shoff + seed % head.e_shnum * sizeof(section),
	       sizeof(section));
	if (!section.sh_size || section.sh_type == SHT_NOBITS || section.sh_offset > size ||
	    section.sh_size > size - section.sh_offset)
		return false;
	*ret_start = section.sh_offset;
	*ret_size = section.sh_size;
	return true;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned int seed)
{
	size_t start, length, at;

	if (size < 1 ||
	    (bytes[0] % INPUTS != PROGRAM && bytes[0] % INPUTS != UNWIND &&
	     bytes[0] % INPUTS != ZEBIN) ||
	    seed % 16 == 0 || !pick_section(bytes + 1, size - 1, seed / 16, &start, &length))
		return LLVMFuzzerMutate(bytes, size, max_size);
	/* the same length, so that everything else stays where it is */
	at = seed / 7 % length;
	length = length - at < 16 ? length - at : 16;
	LLVMFuzzerMutate(bytes + 1 + start + at, length, length);
	return size;
}

/* ---- seeds ---- */

static void write_seed(const char *folder, const char *name, enum input input, const void *bytes,
		       size_t size)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	if (!file)
		return;
	fputc(input, file);
	fwrite(bytes, 1, size, file);
	fclose(file);
}

static void write_seeds(const char *folder)
{
	static const char maps[] =
		"1000-2000 r-xp 00001000 fe:01 7    /a b\\012c (deleted)\n3000-4000 rw-s 0 0:0 0\n";
	static const char kernels[] = "kernels:\n  - name: one\n    execution_env:\n"
				      "      simd_size: 16\n  - {name: two, a: [b, *c]}\n";
	static const char map[] = "1000 10 one\n1008 20 two words\n0x1000 4 three\n";
	static const uint8_t table[] = {0xf8, 0x02, 0x80, 0x11, 0xd9, 0x13, 0xeb, 0x42, 0x01};
	static const char *const names[] = {
		"_ZN2ns3fooIiSt6vectorIiSaIiEEEEvT_T0_S3_",
		"_RINvMs_C1rNtB5_1SFG_RL0_hEDINtB4_1ThEp4ItemlEL_KjffA5_",
		"_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h4819d9ec2db1a450E",
	};
	static const uint64_t dump[] = {
		0x000000014a695444, 0x0000003e00000028, 0x0000126700000000, 1000, 0,
		/* lines */
		0x0000003400000002, 100, 0x1000, 1, 0x1004, 12, 0x0000002e7970,
		/* code */
	};
	char *bytes;
	size_t size;

	write_seed(folder, "kernels", ZE_INFO, kernels, sizeof(kernels) - 1);
	if (read_file(FUZZ_ZEBIN, 0, &bytes, &size) == 0) {
		write_seed(folder, "zebin", ZEBIN, bytes, size);
		free(bytes);
	}
	write_seed(folder, "maps", PROC_MAPS, maps, sizeof(maps) - 1);
	write_seed(folder, "map", PERF_MAP, map, sizeof(map) - 1);
	write_seed(folder, "table", PYTHON_LINES, table, sizeof(table));
	write_seed(folder, "dump", JITDUMP, dump, sizeof(dump));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char name[16];

		snprintf(name, sizeof(name), "name%zu", i);
		write_seed(folder, name, NAME, names[i], strlen(names[i]));
	}
	if (read_file(FUZZ_VICTIM, 0, &bytes, &size))
		return;
	write_seed(folder, "program", PROGRAM, bytes, size);
	write_seed(folder, "unwind", UNWIND, bytes, size);
	write_seed(folder, "image", IMAGE, bytes, size < 4096 ? size : 4096);
	free(bytes);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (*argc == 3 && strcmp((*argv)[1], "--seed") == 0) {
		write_seeds((*argv)[2]);
		exit(0);
	}
	return 0;
}
