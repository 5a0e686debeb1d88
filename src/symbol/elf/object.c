/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/object.c - one program or library: its segments, symbol table and debug information
 *
 * Runs in:  our own process, in all commands that read a trace
 * Gets:     an ELF file or an image of one
 * Gives:    addresses, symbols and libdw's view of its DWARF
 * Owns:     libdwfl's session with the file, its debug file and the file that several debug files
 *           share (dwz)
 * Fails:    -ENOEXEC; damaged parts are left out
 * Why a session per file: libdwfl then needs no address space for the modules, a damaged file
 *           affects no other, and libdwfl handles prelinked files and .gnu_debugdata
 */
#include "symbol/elf/object.h"

#include <elf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file/regular_file.h"
#include "base/io.h"
#include "symbol/interval_map.h"

#define PAGE 4096

struct segment {
	uint64_t offset, address, size;
	bool is_code;
};

struct range {
	uint64_t start, end;
};

struct symbol_entry {
	const char *name;
	size_t length;
	uint64_t start, size;
	uint8_t type, binding;
};

struct object {
	struct search *search;
	char *path;
	char build_id[BUILD_ID_TEXT_SIZE];
	Dwfl *dwfl;
	Dwfl_Module *module;
	struct segment *segments;
	size_t segment_count, segment_capacity;
	struct range *code; /* sorted */
	size_t code_count, code_capacity;
	struct symbol_entry *symbols; /* sorted by start, best first */
	size_t symbol_count, symbol_capacity;
	struct span_table sized, labels; /* values: index into symbols */
	bool has_symbols;                /* read */
	bool has_dwarf;                  /* asked for */
	bool has_searched;               /* for a debug file */
	Dwarf *dwarf;
	uint64_t dwarf_bias;
	char *debug_path;
};

/* ---- links to debug files ---- */

/* "NAME\0ID" of .gnu_debugaltlink in the file at `path`: true if its name is `link`. */
static bool is_shared_link(const char *path, const char *link,
			   char ret_build_id[BUILD_ID_TEXT_SIZE])
{
	auto_close int fd = regular_file_open(path);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	size_t names, length = strlen(link);
	bool is_found = false;
	Elf_Scn *section = NULL;

	if (!elf || elf_getshdrstrndx(elf, &names))
		names = 0;
	while (elf && !is_found && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;
		Elf_Data *data;

		if (!name || strcmp(name, ".gnu_debugaltlink") != 0 ||
		    !(data = elf_rawdata(section, NULL)) || data->d_size <= length + 1 ||
		    data->d_size - length - 1 > BUILD_ID_BYTES ||
		    memcmp(data->d_buf, link, length + 1) != 0)
			continue;
		is_found = true;
		for (size_t i = length + 1; i < data->d_size; i++)
			sprintf(ret_build_id + 2 * (i - length - 1), "%02x",
				((const uint8_t *)data->d_buf)[i]);
	}
	if (elf)
		elf_end(elf);
	return is_found;
}

/* libdwfl calls this with the name in .gnu_debuglink for a debug file, and with the name in
 * .gnu_debugaltlink for the file that several debug files share. */
static int on_find_debuginfo(Dwfl_Module *module, void **userdata, const char *name,
			     Dwarf_Addr base, const char *path, const char *link,
			     GElf_Word link_crc, char **ret_path)
{
	struct object *object = *userdata;
	char shared_id[BUILD_ID_TEXT_SIZE];
	char *found = NULL;

	if (!path)
		return -1;
	if (link && is_shared_link(path, link, shared_id)) {
		if (search_shared_debug(object->search, path, link, shared_id, &found))
			return -1;
	} else {
		/* libdwfl calls this for symbols and again for DWARF, but servers should be asked
		 * once */
		if (object->has_searched)
			return -1;
		object->has_searched = true;
		if (search_debug(object->search, path, object->build_id, link, link_crc, &found))
			return -1;
		object->debug_path = strdup(found);
	}
	*ret_path = found; /* libdwfl opens and frees it */
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_debuginfo = on_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* ---- segments and sections ---- */

static int add_code(struct object *object, uint64_t start, uint64_t size)
{
	if (!size || start + size < start)
		return 0;
	return array_append(object->code, object->code_capacity, object->code_count,
			    (struct range){start, start + size});
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	return left->start < right->start ? -1 : left->start > right->start;
}

static int read_segments(struct object *object, Elf *elf, uint64_t bias)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header))
			break;
		if (header.p_type != PT_LOAD)
			continue;
		if (array_append(object->segments, object->segment_capacity, object->segment_count,
				 (struct segment){header.p_offset, header.p_vaddr + bias,
						  header.p_filesz, header.p_flags & PF_X}))
			return -ENOMEM;
	}
	return 0;
}

/* Code is in sections with instructions, or in executable segments if there are no sections. */
static int read_code(struct object *object, Elf *elf, uint64_t bias)
{
	Elf_Scn *section = NULL;
	int error = 0;

	while (!error && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR &&
		    header.sh_flags & SHF_ALLOC)
			error = add_code(object, header.sh_addr + bias, header.sh_size);
	}
	for (size_t i = 0; !error && !object->code_count && i < object->segment_count; i++) {
		const struct segment *segment = &object->segments[i];

		if (segment->is_code)
			error = add_code(object, segment->address, segment->size);
	}
	if (object->code_count)
		qsort(object->code, object->code_count, sizeof(*object->code), compare_ranges);
	return error;
}

static const struct range *find_code(const struct object *object, uint64_t address)
{
	size_t low = LOWER_BOUND(object->code_count, i, object->code[i].start <= address);

	return low && address < object->code[low - 1].end ? &object->code[low - 1] : NULL;
}

bool object_is_code(const struct object *object, uint64_t address)
{
	return find_code(object, address) != NULL;
}

/* Whether the segment's pages contain the byte: a page at its border is loaded with both
 * neighbours. */
static bool holds(const struct segment *segment, uint64_t offset, uint64_t slack)
{
	uint64_t start = segment->offset & ~(slack - 1);
	uint64_t end = (segment->offset + segment->size + slack - 1) & ~(slack - 1);

	return segment->size && offset >= start && offset < end;
}

int object_offset_to_address(const struct object *object, uint64_t file_offset,
			     uint64_t *ret_address)
{
	/* first exactly and in code, then exactly, then with the rest of the page */
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < object->segment_count; i++) {
			const struct segment *segment = &object->segments[i];

			if ((round > 0 || segment->is_code) &&
			    holds(segment, file_offset, round == 2 ? PAGE : 1)) {
				*ret_address = file_offset - segment->offset + segment->address;
				return 0;
			}
		}
	}
	return -ENOENT;
}

/* ---- symbols ---- */

static unsigned int rank_type(uint8_t type)
{
	return type == STT_NOTYPE;
}

static unsigned int rank_binding(uint8_t binding)
{
	return binding == STB_LOCAL ? 2 : binding == STB_WEAK ? 1 : 0;
}

/* Leading underscores of a mangled name do not count. */
static bool is_private(const char *name)
{
	return name[0] == '_' && name[1] != 'Z' && name[1] != 'R';
}

/* By address; of several at one address, the preferred name comes first. */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol_entry *left = a, *right = b;
	size_t shorter = left->length < right->length ? left->length : right->length;
	int order;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	order = (int)rank_type(left->type) - (int)rank_type(right->type);
	if (!order)
		order = (int)rank_binding(left->binding) - (int)rank_binding(right->binding);
	if (!order)
		order = is_private(left->name) - is_private(right->name);
	if (!order && left->length != right->length)
		order = left->length < right->length ? -1 : 1;
	return order ? order : memcmp(left->name, right->name, shorter);
}

/* The length without @VERSION; 0 for a name that does not end inside its file or is not a
 * function's. */
static size_t measure_name(const char *name, Elf *elf, uint8_t type)
{
	size_t size, left, length;
	const char *file = elf_rawfile(elf, &size), *at;

	if (!file || name < file || name >= file + size)
		return 0;
	left = (size_t)(file + size - name);
	length = strnlen(name, left);
	if (length == left || (type == STT_NOTYPE && (name[0] == '$' || name[0] == '.')))
		return 0;
	at = length ? memchr(name + 1, '@', length - 1) : NULL;
	return at ? (size_t)(at - name) : length;
}

static int add_symbol(struct object *object, int index)
{
	GElf_Sym symbol;
	GElf_Addr address;
	GElf_Word section;
	Elf *elf = NULL;
	const char *name = dwfl_module_getsym_info(object->module, index, &symbol, &address,
						   &section, &elf, NULL);
	uint8_t type = name ? GELF_ST_TYPE(symbol.st_info) : STT_FILE;
	size_t length;

	if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
	    section == SHN_UNDEF || !elf || !object_is_code(object, address))
		return 0;
	length = measure_name(name, elf, type);
	if (!length)
		return 0;
	return array_append(object->symbols, object->symbol_capacity, object->symbol_count,
			    (struct symbol_entry){
				    .name = name,
				    .length = length,
				    .start = address,
				    .size = symbol.st_size,
				    .type = type,
				    .binding = GELF_ST_BIND(symbol.st_info),
			    });
}

/* A symbol without a size extends to the next one or the end of its section. At an address that a
 * symbol with a size covers, that one is found first. */
static int add_spans(struct object *object)
{
	int error = 0;

	for (size_t first = 0, next; !error && first < object->symbol_count; first = next) {
		const struct symbol_entry *best = &object->symbols[first];
		uint64_t size = best->size, end = find_code(object, best->start)->end;

		for (next = first + 1;
		     next < object->symbol_count && object->symbols[next].start == best->start;
		     next++) {
			if (object->symbols[next].size > size)
				size = object->symbols[next].size;
		}
		if (size > end - best->start)
			size = end - best->start;
		if (size)
			error = span_table_add(&object->sized,
					       &(struct interval){best->start, best->start + size,
								  0, (uint32_t)first});
		if (next < object->symbol_count && object->symbols[next].start < end)
			end = object->symbols[next].start;
		if (!size && !error)
			error = span_table_add(
				&object->labels,
				&(struct interval){best->start, end, 0, (uint32_t)first});
	}
	return error;
}

static int read_symbols(struct object *object)
{
	int count = dwfl_module_getsymtab(object->module), error = 0;

	for (int i = 0; !error && i < count; i++)
		error = add_symbol(object, i);
	if (!error && object->symbol_count) {
		qsort(object->symbols, object->symbol_count, sizeof(*object->symbols),
		      compare_symbols);
		error = add_spans(object);
	}
	if (!error)
		error = span_table_build(&object->sized);
	return error ? error : span_table_build(&object->labels);
}

bool object_find_symbol(struct object *object, uint64_t address, struct object_symbol *ret_symbol)
{
	const struct interval *found;
	const struct symbol_entry *symbol;

	if (!object->has_symbols) {
		object->has_symbols = true;
		/* Without memory some symbols are missing. */
		read_symbols(object);
	}
	found = span_table_find(&object->sized, address);
	if (!found)
		found = span_table_find(&object->labels, address);
	if (!found)
		return false;
	symbol = &object->symbols[found->value];
	*ret_symbol = (struct object_symbol){symbol->name, symbol->length, symbol->start};
	return true;
}

struct Dwarf *object_dwarf(struct object *object, uint64_t *ret_bias)
{
	if (!object->has_dwarf) {
		object->has_dwarf = true;
		object->dwarf = dwfl_module_getdwarf(object->module, &object->dwarf_bias);
	}
	*ret_bias = object->dwarf_bias;
	return object->dwarf;
}

const char *object_debug_path(const struct object *object)
{
	return object->debug_path;
}

/* ---- open and close ---- */

/* libdwfl reads files only, so an image is written to one. */
static int open_image(const void *image, size_t size)
{
	auto_close int fd = memfd_create("image", MFD_CLOEXEC);
	int error = fd < 0 ? -errno : pwrite_all(fd, image, size, 0);

	return error ? error : take_fd(&fd);
}

static int report_module(struct object *object, int fd)
{
	void **userdata;

	object->dwfl = dwfl_begin(&callbacks);
	if (!object->dwfl)
		return -ENOMEM;
	dwfl_report_begin(object->dwfl);
	object->module = dwfl_report_elf(object->dwfl, object->path, object->path, fd, 0, true);
	if (!object->module)
		return -ENOEXEC;
	dwfl_report_end(object->dwfl, NULL, NULL);
	dwfl_module_info(object->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = object;
	return 0;
}

static int read_object(struct object *object)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(object->module, &bias);
	int error;

	if (!elf)
		return -ENOEXEC;
	error = read_segments(object, elf, bias);
	return error ? error : read_code(object, elf, bias);
}

int object_open(struct search *search, const char *path, const void *image, size_t size,
		const char *build_id, struct object **ret_object)
{
	auto_close int fd = path ? regular_file_open(path) : open_image(image, size);
	struct object *object = fd < 0 ? NULL : calloc(1, sizeof(*object));
	char own_path[64];
	int error;

	if (fd < 0)
		return fd;
	if (!object)
		return -ENOMEM;
	snprintf(own_path, sizeof(own_path), "/proc/self/fd/%d", fd);
	elf_version(EV_CURRENT);
	object->search = search;
	object->path = strdup(path ? path : own_path);
	if (strlen(build_id) < sizeof(object->build_id))
		strcpy(object->build_id, build_id);
	if (!*build_id && build_id_read_file(own_path, object->build_id))
		object->build_id[0] = '\0';
	error = object->path ? report_module(object, fd) : -ENOMEM;
	if (object->module)
		take_fd(&fd); /* libdwfl closes it */
	if (!error)
		error = read_object(object);
	if (error)
		object_close(object);
	else
		*ret_object = object;
	return error;
}

void object_close(struct object *object)
{
	if (!object)
		return;
	if (object->dwfl)
		dwfl_end(object->dwfl);
	span_table_fini(&object->sized);
	span_table_fini(&object->labels);
	free(object->symbols);
	free(object->segments);
	free(object->code);
	free(object->debug_path);
	free(object->path);
	free(object);
}
