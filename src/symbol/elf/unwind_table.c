/* SPDX-License-Identifier: MIT
 *
 * symbol/elf/unwind_table.c - unwind rules from a program's or library's .eh_frame or .debug_frame
 *
 * Runs in:  the recorder, and all commands that read a trace
 * Gets:     an open file, or an image of one; file offsets
 * Gives:    the rule that finds the caller's frame
 * Owns:     the parts of the tables that were read, an index if the file has none, cached answers
 * Fails:    -ENOMEM, -ENOEXEC, -ENODATA; a damaged table gives no rules or wrong ones
 * Why not libdw: it trusts the tables, but a recorder of a whole machine must not trust them. A
 *           hostile library of 13 KB makes libdw allocate 3 GiB (shared/cfi.h). A lookup in this
 *           file allocates nothing and takes at most MAX_PROGRAM steps. Each part of a table is
 *           copied once (elf/lazy_bytes.c).
 */
#include "symbol/elf/unwind_table.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "shared/cfi.h"
#include "symbol/elf/image.h"
#include "symbol/elf/lazy_bytes.h"
#include "symbol/elf/source.h"

/* Limits. Measured in the 1730 files of one system: the longest program of a function has 20,064
 * bytes, the largest table 5.3 MB, the longest common entry (CIE) 40 bytes. */
enum {
	MAX_SEGMENTS = 512,
	MAX_NAMES = 1 << 20,    /* max bytes of section names */
	MAX_FRAMES = 64 << 20,  /* max bytes of a table */
	MAX_ENTRIES = 1 << 21,  /* max functions of a table */
	MAX_PROGRAM = 1 << 16,  /* max bytes of one function's program */
	MAX_COMMON = 1 << 8,    /* max bytes of a common entry */
	ANSWERS_FIRST = 1 << 8, /* initial slots */
	MAX_ANSWERS = 1 << 14,  /* max slots: 256 KiB */
	LENGTH_BYTES = 4        /* size of the length before each entry */
};

struct segment {
	uint64_t offset, address, size;
	bool is_code;
};

/* A section's place in the file and in memory. */
struct place {
	uint64_t offset, address, size; /* size 0: the file does not have it */
};

/* The sections found in the headers. */
struct places {
	struct place eh_frame, eh_frame_hdr, debug_frame;
};

struct entry {
	uint64_t begin; /* the function's address */
	uint64_t at;    /* offset of its entry in frames */
};

/* A cached rule; key: file offset + 1, 0: an empty slot. */
struct answer {
	uint64_t key, rule;
};

struct unwind_table {
	struct segment *segments;
	size_t segment_count;
	struct lazy_bytes *frames; /* NULL: none */
	uint64_t frames_address, frames_size;
	bool is_debug;          /* frames are .debug_frame */
	struct lazy_bytes *hdr; /* .eh_frame_hdr with its sorted pairs; NULL: `entries` instead */
	uint64_t hdr_address, pair_count;
	struct entry *entries; /* sorted by begin */
	size_t entry_count, entry_capacity;
	struct answer *answers;
	size_t answer_count, answer_slots; /* slots: a power of two, or 0 */
};

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Reads a copy, freed by the caller, with one zero byte after it. */
static int copy_source(const struct elf_source *source, uint64_t offset, uint64_t size,
		       uint64_t most, void **ret_bytes)
{
	auto_free uint8_t *bytes = NULL;
	uint8_t last;
	int error;

	if (!size || size > most || offset > UINT64_MAX - size)
		return -ENODATA;
	/* checked before the allocation: a length in a damaged header is often beyond the end of
	 * the file */
	error = elf_source_read(source, &last, 1, offset + size - 1);
	if (error)
		return error;
	bytes = malloc(size + 1);
	if (!bytes)
		return -ENOMEM;
	error = elf_source_read(source, bytes, size, offset);
	if (error)
		return error;
	bytes[size] = 0;
	*ret_bytes = take_ptr(bytes);
	return 0;
}

/* ---- headers --------------------------------------------------------------------------------- */

static int read_header(const struct elf_source *source, Elf64_Ehdr *ret_header)
{
	int error = elf_read_head(source, ret_header);

	return error ? error : ret_header->e_machine == EM_X86_64 ? 0 : -ENOEXEC;
}

static int read_segments(const struct elf_source *source, const Elf64_Ehdr *header,
			 struct unwind_table *table, struct place *ret_hdr)
{
	auto_free void *bytes = NULL;
	const Elf64_Phdr *segment;
	int error;

	if (header->e_phentsize != sizeof(*segment) || header->e_phnum > MAX_SEGMENTS)
		return -ENODATA;
	error = copy_source(source, header->e_phoff, header->e_phnum * sizeof(*segment),
			    MAX_SEGMENTS * sizeof(*segment), &bytes);
	if (error)
		return error;
	table->segments = calloc(header->e_phnum, sizeof(*table->segments));
	if (!table->segments)
		return -ENOMEM;
	segment = bytes;
	for (size_t i = 0; i < header->e_phnum; i++, segment++) {
		if (segment->p_type == PT_GNU_EH_FRAME)
			*ret_hdr = (struct place){segment->p_offset, segment->p_vaddr,
						  segment->p_filesz};
		if (segment->p_type == PT_LOAD)
			table->segments[table->segment_count++] =
				(struct segment){segment->p_offset, segment->p_vaddr,
						 segment->p_filesz, segment->p_flags & PF_X};
	}
	return 0;
}

static void take_section(const Elf64_Shdr *section, const char *name, struct places *places)
{
	const struct {
		const char *name;
		struct place *place;
	} wanted[] = {
		{".eh_frame", &places->eh_frame},
		{".eh_frame_hdr", &places->eh_frame_hdr},
		{".debug_frame", &places->debug_frame},
	};

	/* Compressed tables are skipped: only Go compresses .debug_frame, and Go code has frame
	 * pointers. */
	if (section->sh_type == SHT_NOBITS || section->sh_flags & SHF_COMPRESSED)
		return;
	for (size_t i = 0; i < ARRAY_COUNT(wanted); i++)
		if (!wanted[i].place->size && strcmp(name, wanted[i].name) == 0)
			*wanted[i].place = (struct place){section->sh_offset, section->sh_addr,
							  section->sh_size};
}

/* Finds no places if the file has no sections. */
static int read_sections(const struct elf_source *source, const Elf64_Ehdr *header,
			 struct places *places)
{
	auto_free void *bytes = NULL, *names = NULL;
	const Elf64_Shdr *section, *texts;
	int error;

	if (header->e_shentsize != sizeof(*section) || header->e_shstrndx >= header->e_shnum)
		return 0;
	error = copy_source(source, header->e_shoff, header->e_shnum * sizeof(*section), UINT32_MAX,
			    &bytes);
	if (error)
		return error == -ENOMEM ? error : 0;
	section = bytes;
	texts = section + header->e_shstrndx;
	error = copy_source(source, texts->sh_offset, texts->sh_size, MAX_NAMES, &names);
	if (error)
		return error == -ENOMEM ? error : 0;
	for (size_t i = 0; i < header->e_shnum; i++, section++)
		if (section->sh_name < texts->sh_size)
			take_section(section, (const char *)names + section->sh_name, places);
	return 0;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Reads a pointer of an entry; address: the address of the pointer itself. False: an encoding that
 * linkers do not write. */
static bool take_pointer(struct cfi_bytes *from, uint8_t encoding, uint64_t address,
			 uint64_t *ret_value)
{
	enum { SIGNED = 0x08, RELATIVE = 0x10, BASES = 0xf0 };
	size_t size = cfi_pointer_bytes(encoding);
	uint64_t value = cfi_take_number(from, size);

	if (!size || (encoding & BASES & ~RELATIVE))
		return false;
	if (encoding & SIGNED && size < 8 && value >> (8 * size - 1))
		value |= ~UINT64_C(0) << (8 * size);
	*ret_value = encoding & RELATIVE ? value + address : value;
	return true;
}

/* A function's entry (FDE) and its common entry (CIE). */
struct function {
	struct cfi_common common;
	uint64_t begin, size; /* addresses */
	struct cfi_bytes program;
};

/* The contents of an entry, after its length. Empty: outside the table, longer than max_bytes, or
 * in 64-bit DWARF, which compilers do not use here. */
static struct cfi_bytes entry_at(const struct unwind_table *table, uint64_t at, uint64_t max_bytes)
{
	const uint8_t *bytes = lazy_bytes_at(table->frames, at, LENGTH_BYTES);
	uint32_t length = 0;

	if (bytes)
		memcpy(&length, bytes, sizeof(length));
	bytes = length && length <= max_bytes
			? lazy_bytes_at(table->frames, at + LENGTH_BYTES, length)
			: NULL;
	return (struct cfi_bytes){bytes, bytes ? bytes + length : NULL};
}

/* Reads the common entry (CIE) of a function's entry, whose second word `id` lies at `at`. False:
 * the entry is itself a common entry, or damaged. */
static bool read_common(const struct unwind_table *table, uint64_t id, uint64_t at,
			struct cfi_common *ret_common)
{
	uint64_t common_at = table->is_debug ? id : at - id;
	struct cfi_bytes from;

	if (id == (table->is_debug ? UINT32_MAX : 0) || common_at >= table->frames_size)
		return false;
	from = entry_at(table, common_at, MAX_COMMON);
	*ret_common = (struct cfi_common){0};
	return cfi_left(&from) && cfi_read_common(from, ret_common);
}

static bool read_function(const struct unwind_table *table, uint64_t at,
			  struct function *ret_function)
{
	struct cfi_bytes from = entry_at(table, at, MAX_PROGRAM + MAX_COMMON);
	uint64_t id_at = at + LENGTH_BYTES, id;
	struct cfi_common *common = &ret_function->common;

	if (!cfi_left(&from))
		return false;
	id = cfi_take_number(&from, 4);
	if (!read_common(table, id, id_at, common) ||
	    !take_pointer(&from, common->encoding, table->frames_address + id_at + 4,
			  &ret_function->begin) ||
	    !take_pointer(&from, common->encoding & 0x0f, 0, &ret_function->size))
		return false;
	if (common->has_sizes)
		cfi_take_bytes(&from, cfi_take_unsigned(&from));
	ret_function->program = from;
	return true;
}

static int add_entry(struct unwind_table *table, uint64_t begin, uint64_t at)
{
	if (table->entry_count >= MAX_ENTRIES)
		return -ENODATA;
	return array_append(table->entries, table->entry_capacity, table->entry_count,
			    (struct entry){begin, at});
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	return left->begin < right->begin ? -1 : left->begin > right->begin;
}

static void sort_entries(struct unwind_table *table)
{
	for (size_t i = 1; i < table->entry_count; i++)
		if (table->entries[i].begin < table->entries[i - 1].begin) {
			qsort(table->entries, table->entry_count, sizeof(*table->entries),
			      compare_entries);
			return;
		}
}

/* .eh_frame_hdr: version, three encodings, address of .eh_frame, number of entries, and sorted
 * pairs (function, entry). Linkers write the pairs as 32-bit offsets from the start of the section.
 * */
enum { HDR_VERSION = 1, HDR_UDATA4 = 0x03, HDR_PAIRS = 0x3b, HDR_BYTES = 12, PAIR_BYTES = 8 };

/* Leaves table->hdr NULL if the section has no pairs in the usual encoding. */
static int open_pairs(const struct elf_source *source, const struct place *hdr,
		      struct unwind_table *table)
{
	int error = lazy_bytes_open(source, hdr->offset, hdr->size, MAX_FRAMES, &table->hdr);
	const uint8_t *head;
	uint32_t count;

	if (error)
		return error == -ENOMEM ? error : 0;
	head = lazy_bytes_at(table->hdr, 0, HDR_BYTES);
	if (!head || head[0] != HDR_VERSION || head[1] != 0x1b || head[2] != HDR_UDATA4 ||
	    head[3] != HDR_PAIRS) {
		lazy_bytes_close(table->hdr);
		table->hdr = NULL;
		return 0;
	}
	memcpy(&count, head + 8, sizeof(count));
	table->pair_count = (hdr->size - HDR_BYTES) / PAIR_BYTES;
	if (count < table->pair_count)
		table->pair_count = count;
	table->hdr_address = hdr->address;
	return 0;
}

static bool read_pair(const struct unwind_table *table, uint64_t index, struct entry *ret_entry)
{
	const uint8_t *bytes =
		lazy_bytes_at(table->hdr, HDR_BYTES + index * PAIR_BYTES, PAIR_BYTES);
	int32_t pair[2];

	if (!bytes)
		return false;
	memcpy(pair, bytes, sizeof(pair));
	*ret_entry = (struct entry){
		.begin = table->hdr_address + (uint64_t)pair[0],
		.at = table->hdr_address + (uint64_t)pair[1] - table->frames_address,
	};
	return true;
}

static bool has_entries(const struct unwind_table *table)
{
	return table->pair_count || table->entry_count;
}

/* Builds the index from all entries in order. */
static int add_all(struct unwind_table *table)
{
	const uint8_t *all = lazy_bytes_at(table->frames, 0, table->frames_size);
	uint64_t at = 0;
	int error = 0;

	if (!all)
		return -ENODATA;
	while (!error && at < table->frames_size) {
		struct cfi_bytes entry =
			cfi_entry((struct cfi_bytes){all + at, all + table->frames_size});
		struct function function;

		if (entry.at < entry.end && read_function(table, at, &function) && function.begin)
			error = add_entry(table, function.begin, at);
		at = (uint64_t)(entry.end - all);
	}
	return error;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int take_frames(const struct elf_source *source, const struct place *place, bool is_debug,
		       struct unwind_table *table)
{
	struct lazy_bytes *bytes;
	int error = lazy_bytes_open(source, place->offset, place->size, MAX_FRAMES, &bytes);

	if (error)
		return error;
	lazy_bytes_close(table->frames);
	table->frames = bytes;
	table->frames_address = place->address;
	table->frames_size = place->size;
	table->is_debug = is_debug;
	table->entry_count = 0;
	return 0;
}

/* For a file without sections: .eh_frame_hdr gives the start of .eh_frame, which ends at the latest
 * with its segment. */
static void find_eh_frame(const struct elf_source *source, const struct unwind_table *table,
			  struct places *places)
{
	const struct place *hdr = &places->eh_frame_hdr;
	uint8_t head[8];
	int32_t distance;
	uint64_t address;

	if (hdr->size < sizeof(head) || elf_source_read(source, head, sizeof(head), hdr->offset) ||
	    head[0] != HDR_VERSION || head[1] != 0x1b)
		return;
	memcpy(&distance, head + 4, sizeof(distance));
	address = hdr->address + 4 + (uint64_t)distance;
	for (size_t i = 0; i < table->segment_count; i++) {
		const struct segment *segment = &table->segments[i];
		uint64_t into = address - segment->address;

		if (address < segment->address || into >= segment->size)
			continue;
		places->eh_frame = (struct place){
			segment->offset + into, address,
			segment->size - into < MAX_FRAMES ? segment->size - into : MAX_FRAMES};
		return;
	}
}

static int read_eh_frame(const struct elf_source *source, const struct places *places,
			 struct unwind_table *table)
{
	int error = take_frames(source, &places->eh_frame, false, table);

	if (!error)
		error = open_pairs(source, &places->eh_frame_hdr, table);
	if (!error && !table->pair_count)
		error = add_all(table);
	return error;
}

static int read_table(const struct elf_source *source, struct unwind_table *table)
{
	struct places places = {0};
	struct place hdr = {0};
	Elf64_Ehdr header;
	int error = read_header(source, &header);

	if (!error)
		error = read_segments(source, &header, table, &hdr);
	if (!error)
		error = read_sections(source, &header, &places);
	if (error)
		return error;
	if (!places.eh_frame.size) {
		places.eh_frame_hdr = hdr;
		find_eh_frame(source, table, &places);
	}
	error = read_eh_frame(source, &places, table);
	if (error && error != -ENODATA)
		return error;
	if (!has_entries(table)) {
		error = take_frames(source, &places.debug_frame, true, table);
		if (!error)
			error = add_all(table);
	}
	sort_entries(table);
	return error || has_entries(table) ? error : -ENODATA;
}

static int open_source(const struct elf_source *source, struct unwind_table **ret_table)
{
	struct unwind_table *table = calloc(1, sizeof(*table));
	int error = table ? read_table(source, table) : -ENOMEM;

	if (error) {
		unwind_table_close(table);
		return error;
	}
	*ret_table = table;
	return 0;
}

int unwind_table_open(int fd, struct unwind_table **ret_table)
{
	struct elf_source source = {.fd = fd};

	return open_source(&source, ret_table);
}

int unwind_table_open_memory(const void *image, size_t size, struct unwind_table **ret_table)
{
	struct elf_source source = {.fd = -1, .image = image, .size = size};

	return open_source(&source, ret_table);
}

void unwind_table_close(struct unwind_table *table)
{
	if (!table)
		return;
	free(table->segments);
	lazy_bytes_close(table->frames);
	lazy_bytes_close(table->hdr);
	free(table->entries);
	free(table->answers);
	free(table);
}

/* ---- finding --------------------------------------------------------------------------------- */

/* As in object.c: prefers the executable segment that contains the byte, otherwise takes any
 * segment. */
static bool find_address(const struct unwind_table *table, uint64_t offset, uint64_t *ret_address)
{
	bool is_found = false;

	for (size_t i = 0; i < table->segment_count; i++) {
		const struct segment *segment = &table->segments[i];

		if (offset < segment->offset || offset - segment->offset >= segment->size ||
		    (is_found && !segment->is_code))
			continue;
		*ret_address = segment->address + (offset - segment->offset);
		is_found = true;
		if (segment->is_code)
			break;
	}
	return is_found;
}

static bool read_entry(const struct unwind_table *table, uint64_t index, struct entry *ret_entry)
{
	if (table->pair_count)
		return read_pair(table, index, ret_entry);
	*ret_entry = table->entries[index];
	return true;
}

/* The last entry that starts at or below the address. */
static bool find_entry(const struct unwind_table *table, uint64_t address, struct entry *ret_entry)
{
	uint64_t low = 0, high = table->pair_count ? table->pair_count : table->entry_count;
	struct entry entry;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (!read_entry(table, middle, &entry))
			return false;
		if (entry.begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && read_entry(table, low - 1, ret_entry);
}

/* The function that contains the address. */
static bool find_function(const struct unwind_table *table, uint64_t address,
			  struct function *ret_function)
{
	struct entry entry;

	return find_entry(table, address, &entry) && read_function(table, entry.at, ret_function) &&
	       address - ret_function->begin < ret_function->size &&
	       cfi_left(&ret_function->program) <= MAX_PROGRAM;
}

static union unwind_rule read_rule(const struct unwind_table *table, uint64_t file_offset)
{
	const union unwind_rule unknown = {.type = RULE_UNKNOWN};
	struct function function;
	uint64_t address = 0;

	if (!find_address(table, file_offset, &address) ||
	    !find_function(table, address, &function))
		return unknown;
	return cfi_find_rule(&function.common, function.program, function.begin, address);
}

bool unwind_table_find_part(const struct unwind_table *table, uint64_t address,
			    struct unwind_part *ret_part)
{
	enum { RETURN_ADDRESS = 8 };
	struct function function;
	union unwind_rule rule;

	if (!find_function(table, address, &function))
		return false;
	rule = cfi_find_rule(&function.common, function.program, function.begin, function.begin);
	*ret_part = (struct unwind_part){
		.begin = function.begin,
		.end = function.begin + function.size,
		.is_cold =
			rule.type == RULE_BP || (rule.type == RULE_SP && rule.cfa > RETURN_ADDRESS),
	};
	return true;
}

static struct answer *find_slot(struct answer *answers, size_t slots, uint64_t key)
{
	size_t i = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32);

	while (answers[i & (slots - 1)].key && answers[i & (slots - 1)].key != key)
		i++;
	return &answers[i & (slots - 1)];
}

/* Keeps half of the slots free. A cache that cannot grow is emptied. */
static bool make_room(struct unwind_table *table)
{
	size_t slots = table->answer_slots ? 2 * table->answer_slots : ANSWERS_FIRST;
	struct answer *answers;

	if (2 * table->answer_count < table->answer_slots)
		return true;
	answers = slots <= MAX_ANSWERS ? calloc(slots, sizeof(*answers)) : NULL;
	if (!answers) {
		if (table->answers)
			memset(table->answers, 0, table->answer_slots * sizeof(*answers));
		table->answer_count = 0;
		return table->answers;
	}
	for (size_t i = 0; i < table->answer_slots; i++)
		if (table->answers[i].key)
			*find_slot(answers, slots, table->answers[i].key) = table->answers[i];
	free(table->answers);
	table->answers = answers;
	table->answer_slots = slots;
	return true;
}

union unwind_rule unwind_table_find(struct unwind_table *table, uint64_t file_offset)
{
	uint64_t key = file_offset + 1;
	union unwind_rule rule;
	struct answer *answer;

	if (table->answers) {
		answer = find_slot(table->answers, table->answer_slots, key);
		if (answer->key == key && key)
			return (union unwind_rule){.word = answer->rule};
	}
	rule = read_rule(table, file_offset);
	if (key && make_room(table)) {
		answer = find_slot(table->answers, table->answer_slots, key);
		*answer = (struct answer){key, rule.word};
		table->answer_count++;
	}
	return rule;
}
