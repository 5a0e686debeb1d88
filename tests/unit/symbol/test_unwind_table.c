/* SPDX-License-Identifier: MIT
 *
 * unwind_table: the rules of programs and libraries against elfutils' libdw; damaged files.
 *
 *	test_unwind_table VICTIM WITH_DEBUG_FRAME
 */
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "harness.h"
#include "symbol/proc_maps.h"
#include "symbol/elf/unwind_table.h"

static const char *victim_path, *debug_path;
static volatile uint64_t sink;

/* Of this thread: others run beside it. */
static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int open_path(const char *path, struct unwind_table **ret_table)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : unwind_table_open(fd, ret_table);
}

/* ---- libdw's opinion ------------------------------------------------------------------------- */

enum { BP = 6, SP = 7, RETURN = 16 };

/* libdw: CFA + N, or nothing for CFA + 0. */
static bool is_at_cfa(const Dwarf_Op *ops, size_t count, int64_t *ret_offset)
{
	if (!count || count > 2 || ops[0].atom != DW_OP_call_frame_cfa ||
	    (count == 2 && ops[1].atom != DW_OP_plus_uconst))
		return false;
	*ret_offset = count == 2 ? (int64_t)ops[1].number : 0;
	return true;
}

static bool take_cfa(Dwarf_Frame *frame, uint64_t pc, union unwind_rule *rule, int64_t *ret_cfa)
{
	Dwarf_Op *ops;
	size_t count;

	if (dwarf_frame_cfa(frame, &ops, &count) || !count)
		return false;
	if (count == 1 && ops[0].atom == DW_OP_bregx &&
	    (ops[0].number == SP || ops[0].number == BP)) {
		rule->type = ops[0].number == SP ? RULE_SP : RULE_BP;
		*ret_cfa = (int64_t)ops[0].number2;
		return true;
	}
	if (count == 2 && ops[0].atom == DW_OP_breg6 && ops[1].atom == DW_OP_deref) {
		rule->type = RULE_BP_POINTER;
		*ret_cfa = (int64_t)ops[0].number;
		return true;
	}
	if (count == 9 && ops[0].atom == DW_OP_breg7 && ops[1].atom == DW_OP_breg16 &&
	    ops[2].atom == DW_OP_lit15 && ops[5].atom == DW_OP_ge) {
		rule->type = RULE_SP;
		*ret_cfa = 8 + ((pc & 15) >= (uint64_t)(ops[4].atom - DW_OP_lit0) ? 8 : 0);
		return true;
	}
	return false;
}

static bool take_bp(Dwarf_Frame *frame, union unwind_rule *rule)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	int64_t offset;

	if (dwarf_frame_register(frame, BP, memory, &ops, &count))
		return false;
	if (!count)
		return true;
	if (is_at_cfa(ops, count, &offset)) {
		rule->saved = BP_AT_CFA;
		rule->bp = offset;
	} else if (count == 2 && ops[1].atom == DW_OP_breg6) { /* behind a call_frame_cfa */
		rule->saved = BP_AT_BP;
		rule->bp = (int64_t)ops[1].number;
	} else {
		return false;
	}
	return true;
}

static union unwind_rule read_frame(Dwarf_Frame *frame, uint64_t pc)
{
	const union unwind_rule unknown = {.type = RULE_UNKNOWN};
	union unwind_rule rule = {0};
	Dwarf_Op memory[3], *ops;
	size_t count;
	int64_t offset = 0, cfa = 0;
	bool is_signal = false;

	if (dwarf_frame_info(frame, NULL, NULL, &is_signal) == RETURN && is_signal)
		return (union unwind_rule){.type = RULE_SIGNAL};
	if (dwarf_frame_register(frame, RETURN, memory, &ops, &count))
		return unknown;
	if (!count && ops)
		return (union unwind_rule){.type = RULE_OUTERMOST};
	if (!is_at_cfa(ops, count, &offset) || offset != -8 || !take_cfa(frame, pc, &rule, &cfa) ||
	    !take_bp(frame, &rule))
		return unknown;
	/* popped already, see cfi_rule */
	if (rule.type == RULE_SP && rule.saved == BP_AT_BP)
		rule.saved = rule.bp = 0;
	rule.cfa = cfa;
	return rule;
}

static union unwind_rule ask_libdw(Dwarf_CFI *table, uint64_t pc)
{
	union unwind_rule rule = {.type = RULE_UNKNOWN};
	Dwarf_Frame *frame;

	if (dwarf_cfi_addrframe(table, pc, &frame))
		return rule;
	rule = read_frame(frame, pc);
	free(frame);
	return rule;
}

struct tally {
	const char *name;
	size_t asked, known, differ;
	double ours_ns, theirs_ns;
};

/* Each `step`th byte of the segments with instructions. */
static void compare_segment(struct tally *tally, const Elf64_Phdr *segment, size_t step,
			    struct unwind_table *ours, Dwarf_CFI *theirs)
{
	for (uint64_t into = 0; into < segment->p_filesz; into += step) {
		double begin = now_ns(), middle;
		union unwind_rule our = unwind_table_find(ours, segment->p_offset + into), their;

		middle = now_ns();
		their = ask_libdw(theirs, segment->p_vaddr + into);
		tally->theirs_ns += now_ns() - middle;
		tally->ours_ns += middle - begin;
		tally->asked++;
		tally->known += our.type != RULE_UNKNOWN;
		if (our.word != their.word && tally->differ++ < 5)
			printf("#   %s %#llx: %#llx, libdw %#llx\n", tally->name,
			       (unsigned long long)(segment->p_vaddr + into),
			       (unsigned long long)our.word, (unsigned long long)their.word);
	}
}

static void compare_image(struct tally *tally, const void *image, struct unwind_table *ours,
			  Dwarf_CFI *theirs)
{
	const Elf64_Ehdr *header = image;
	const Elf64_Phdr *segments = (const void *)((const char *)image + header->e_phoff);

	for (size_t i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_X)
			compare_segment(tally, &segments[i], 1 + segments[i].p_filesz / 40000, ours,
					theirs);
}

static void end_tally(struct tally *tally)
{
	CHECK_EQUAL(tally->differ, 0);
	CHECK(tally->known > tally->asked / 2);
	printf("# %s: %zu addresses, %zu with a rule, %zu differ; %.2f us each, libdw %.2f us\n",
	       tally->name, tally->asked, tally->known, tally->differ,
	       tally->ours_ns / 1e3 / (double)tally->asked,
	       tally->theirs_ns / 1e3 / (double)tally->asked);
}

static void compare_file(const char *path, bool is_debug)
{
	auto_free char *image = NULL;
	struct unwind_table *ours = NULL;
	struct tally tally = {.name = path};
	double begin = now_ns();
	Dwarf_CFI *theirs;
	size_t size;
	Dwarf *dwarf;
	Elf *elf;

	REQUIRE(open_path(path, &ours) == 0);
	printf("# %s: opened in %.0f us\n", path, (now_ns() - begin) / 1e3);
	REQUIRE(read_file(path, 0, &image, &size) == 0);
	elf = elf_memory(image, size);
	dwarf = is_debug ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	theirs = is_debug ? dwarf_getcfi(dwarf) : dwarf_getcfi_elf(elf);
	compare_image(&tally, image, ours, theirs);
	end_tally(&tally);
	if (!is_debug)
		dwarf_cfi_end(theirs);
	dwarf_end(dwarf);
	elf_end(elf);
	unwind_table_close(ours);
}

/* What this test itself runs with. */
TEST(libraries)
{
	struct proc_maps maps;

	elf_version(EV_CURRENT);
	REQUIRE(proc_maps_read(getpid(), &maps) == 0);
	for (size_t i = 0; i < maps.count; i++)
		if (maps.mappings[i].is_executable && maps.mappings[i].kind == PROC_MAPPING_FILE)
			compare_file(maps.mappings[i].path, false);
	proc_maps_fini(&maps);
	compare_file(victim_path, false);
}

TEST(vdso)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_table *table = NULL;
	struct tally tally = {.name = "vdso"};
	struct proc_maps maps;
	Dwarf_CFI *theirs;
	size_t size;
	Elf *elf;

	if (!image)
		SKIP("the kernel gives no vdso");
	REQUIRE(proc_maps_read(getpid(), &maps) == 0);
	size = proc_maps_find(&maps, (uint64_t)image)->end - (uint64_t)image;
	proc_maps_fini(&maps);
	REQUIRE(unwind_table_open_memory(image, size, &table) == 0);
	elf = elf_memory((char *)(uintptr_t)image, size);
	theirs = dwarf_getcfi_elf(elf);
	compare_image(&tally, image, table, theirs);
	end_tally(&tally);
	dwarf_cfi_end(theirs);
	elf_end(elf);
	unwind_table_close(table);
}

TEST(debug_frame)
{
	compare_file(debug_path, true);
}

/* ---- files that are no such files ------------------------------------------------------------ */

TEST(no_tables)
{
	struct unwind_table *table = NULL;
	Elf64_Ehdr header = {.e_ident = ELFMAG, .e_machine = EM_X86_64};

	CHECK_EQUAL(open_path("/proc/self/maps", &table), -ENOEXEC);
	CHECK_EQUAL(unwind_table_open_memory("", 0, &table), -ENOEXEC);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	CHECK_EQUAL(unwind_table_open_memory(&header, sizeof(header), &table), -ENODATA);
	CHECK_EQUAL(unwind_table_open_memory(&header, sizeof(header) - 1, &table), -ENOEXEC);
	header.e_machine = EM_AARCH64;
	CHECK_EQUAL(unwind_table_open_memory(&header, sizeof(header), &table), -ENOEXEC);
	header.e_machine = EM_X86_64;
	header.e_ident[EI_CLASS] = ELFCLASS32;
	CHECK_EQUAL(unwind_table_open_memory(&header, sizeof(header), &table), -ENOEXEC);
	CHECK(!table);
	unwind_table_close(NULL);
}

struct image {
	uint8_t *bytes; /* owned */
	size_t size;
};

static bool read_victim(struct image *ret_image)
{
	return !read_file(victim_path, 0, (char **)&ret_image->bytes, &ret_image->size);
}

/* A copy of exactly that many bytes, so that a read behind them is seen. */
static size_t find_all(const uint8_t *bytes, size_t size, size_t step)
{
	auto_free uint8_t *copy = malloc(size ? size : 1);
	struct unwind_table *table = NULL;
	size_t known = 0;

	memcpy(copy, bytes, size);
	if (unwind_table_open_memory(copy, size, &table))
		return 0;
	for (uint64_t offset = 0; offset < size; offset += step)
		known += unwind_table_find(table, offset).type != RULE_UNKNOWN;
	sink = unwind_table_find(table, UINT64_MAX).word;
	sink = unwind_table_find(table, UINT64_MAX - 1).word;
	unwind_table_close(table);
	return known;
}

/* .eh_frame or .eh_frame_hdr; all of it where the section is missing. */
static Elf64_Shdr *find_section(const struct image *image, const char *name)
{
	Elf64_Ehdr *header = (void *)image->bytes;
	Elf64_Shdr *sections = (void *)(image->bytes + header->e_shoff);
	const char *names = (const char *)image->bytes + sections[header->e_shstrndx].sh_offset;

	for (size_t i = 0; i < header->e_shnum; i++)
		if (strcmp(names + sections[i].sh_name, name) == 0)
			return &sections[i];
	return NULL;
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void change_bytes(uint8_t *bytes, uint64_t size, uint32_t *seed)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x0b, 0x0f, 0x10, 0x16};

	for (uint32_t count = 1 + next_random(seed) % 8; count; count--) {
		uint8_t *byte = &bytes[next_random(seed) % size];

		*byte = next_random(seed) % 2 ? (uint8_t)next_random(seed)
					      : values[next_random(seed) % sizeof(values)];
	}
}

static void damage(struct image *image, const Elf64_Shdr *place, int rounds)
{
	auto_free uint8_t *good = malloc(place->sh_size);
	uint8_t *bytes = image->bytes + place->sh_offset;
	uint32_t seed = 1;
	size_t known = 0;

	memcpy(good, bytes, place->sh_size);
	for (int i = 0; i < rounds; i++) {
		change_bytes(bytes, place->sh_size, &seed);
		known += find_all(image->bytes, image->size, 3);
		memcpy(bytes, good, place->sh_size);
	}
	printf("#   %d damaged files, %zu rules each\n", rounds, known / (size_t)rounds);
}

TEST(damaged_tables)
{
	static const char *const names[] = {".eh_frame", ".eh_frame_hdr"};
	struct image image;

	REQUIRE(read_victim(&image));
	CHECK(find_all(image.bytes, image.size, 1) > 1000);
	for (size_t i = 0; i < 2; i++) {
		Elf64_Shdr *section = find_section(&image, names[i]);

		CHECK(section != NULL);
		if (section)
			damage(&image, section, 2000);
	}
	free(image.bytes);
}

TEST(damaged_headers)
{
	struct image image;
	Elf64_Shdr place = {.sh_size = 0};

	REQUIRE(read_victim(&image));
	place.sh_size = sizeof(Elf64_Ehdr) + 13 * sizeof(Elf64_Phdr);
	damage(&image, &place, 1000);
	place.sh_offset = ((Elf64_Ehdr *)image.bytes)->e_shoff;
	place.sh_size = image.size - place.sh_offset;
	damage(&image, &place, 1000);
	free(image.bytes);
}

TEST(cut_files)
{
	struct image image;

	REQUIRE(read_victim(&image));
	for (size_t size = 0; size < image.size; size += 1 + size / 100)
		sink = find_all(image.bytes, size, 7);
	free(image.bytes);
}

/* The rules are the same however the table is found: in file or memory, without sections, without
 * pairs. */
TEST(other_ways)
{
	struct unwind_table *table = NULL;
	struct image image;
	size_t known;
	Elf64_Shdr *pairs;

	REQUIRE(read_victim(&image));
	known = find_all(image.bytes, image.size, 1);
	REQUIRE(open_path(victim_path, &table) == 0);
	for (uint64_t offset = 0; offset < image.size; offset++)
		known -= unwind_table_find(table, offset).type != RULE_UNKNOWN;
	CHECK_EQUAL(known, 0);
	unwind_table_close(table);
	known = find_all(image.bytes, image.size, 1);
	pairs = find_section(&image, ".eh_frame_hdr");
	REQUIRE(pairs != NULL);
	image.bytes[pairs->sh_offset + 3] = 0xff;
	CHECK_EQUAL(find_all(image.bytes, image.size, 1), known);
	image.bytes[pairs->sh_offset + 3] = 0x3b;
	((Elf64_Ehdr *)image.bytes)->e_shnum = 0;
	CHECK_EQUAL(find_all(image.bytes, image.size, 1), known);
	image.bytes[pairs->sh_offset + 3] = 0xff;
	CHECK_EQUAL(find_all(image.bytes, image.size, 1), known);
	free(image.bytes);
}

/* ---- hostile tables -------------------------------------------------------------------------- */

/* One function of 4096 bytes whose program is given; its table of `size` bytes lies at 4096, its
 * code at 8192. */
static void make_hostile(uint8_t *bytes, size_t size, const uint8_t *program, size_t count)
{
	static const uint8_t common[] = {20, 0,    0,  0, 0,    0,    0, 0, 1,    'z', 'R', 0,
					 1,  0x78, 16, 1, 0x03, 0x0c, 7, 8, 0x90, 1,   0,   0};
	Elf64_Ehdr header = {.e_ident = ELFMAG,
			     .e_machine = EM_X86_64,
			     .e_phoff = 64,
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = 2,
			     .e_shnum = 0};
	uint64_t end = 8192 + size;
	Elf64_Phdr segments[2] = {
		{.p_type = PT_LOAD, .p_flags = PF_X, .p_filesz = end, .p_memsz = end},
		{.p_type = PT_GNU_EH_FRAME, .p_offset = 2048, .p_vaddr = 2048, .p_filesz = 8}};
	uint8_t hdr[8] = {1, 0x1b, 0xff, 0xff};
	uint32_t entry[4] = {(uint32_t)size - 4 - (uint32_t)sizeof(common), sizeof(common) + 4, 1,
			     (uint32_t)end};
	int32_t distance = 4096 - 2052;

	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(hdr + 4, &distance, 4);
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + 64, segments, sizeof(segments));
	memcpy(bytes + 2048, hdr, sizeof(hdr));
	memcpy(bytes + 4096, common, sizeof(common));
	memcpy(bytes + 4096 + sizeof(common), entry, sizeof(entry));
	bytes[4096 + sizeof(common) + sizeof(entry)] = 0; /* no more sizes */
	for (size_t i = 17; i < size - sizeof(common); i++)
		bytes[4096 + sizeof(common) + i] = program[(i - 17) % count];
}

TEST(hostile_programs)
{
	static const struct {
		uint8_t bytes[8];
		size_t count;
		enum rule_type type;
		const char *what;
	} programs[] = {
		{{0}, 1, RULE_SP, "nothing"},
		{{0x0a}, 1, RULE_UNKNOWN, "keeps rows for ever"},
		{{0x08, 0x80, 0x80, 0x80, 0x80, 0x01, 0x00, 0x00}, 8, RULE_SP, "register 2^28"},
		{{0x0a, 0x0b}, 2, RULE_SP, "keeps and takes back"},
		{{0x0b}, 1, RULE_UNKNOWN, "takes back what was not kept"},
		{{0x0f, 0xff, 0xff, 0xff, 0xff, 0x0f}, 6, RULE_UNKNOWN, "a long expression"},
		{{0x80}, 1, RULE_SP, "a number without end"},
	};
	const size_t sizes[] = {200, 60000, 20 << 20};
	const size_t most = 8192 + sizes[2];
	auto_free uint8_t *bytes = calloc(1, most);

	for (size_t i = 0; i < 3 * sizeof(programs) / sizeof(programs[0]); i++) {
		struct unwind_table *table = NULL;
		size_t size = sizes[i % 3];
		double begin = now_ns();
		union unwind_rule rule;

		make_hostile(bytes, size, programs[i / 3].bytes, programs[i / 3].count);
		/* a table of one function that is longer than any has none */
		if (i % 3 == 2) {
			CHECK_EQUAL(unwind_table_open_memory(bytes, 8192 + size, &table), -ENODATA);
			CHECK(now_ns() - begin < 1e9);
			continue;
		}
		REQUIRE(unwind_table_open_memory(bytes, 8192 + size, &table) == 0);
		rule = unwind_table_find(table, 8192 + 100);
		if (rule.type != programs[i / 3].type)
			printf("#   %s, %zu bytes: type %d\n", programs[i / 3].what, size,
			       (int)rule.type);
		CHECK(rule.type == programs[i / 3].type);
		CHECK(now_ns() - begin < 1e9);
		unwind_table_close(table);
	}
}

/* A file whose header promises a table as long as the file, all of it a hole. */
TEST(sparse_file)
{
	auto_close int fd = memfd_create("sparse", MFD_CLOEXEC);
	auto_free uint8_t *bytes = calloc(1, 16384);
	struct unwind_table *table = NULL;
	Elf64_Phdr *segment = (void *)(bytes + 64);

	make_hostile(bytes, 200, (const uint8_t *)"", 1);
	segment->p_filesz = UINT64_C(1) << 36;
	REQUIRE(fd >= 0 && write_all(fd, bytes, 16384) == 0);
	if (ftruncate(fd, INT64_C(1) << 36))
		SKIP("no file of 64 GiB can be made here");
	CHECK_EQUAL(unwind_table_open(fd, &table), 0);
	unwind_table_close(table);
}

/* ---- cost ------------------------------------------------------------------------------------ */

TEST(many_answers)
{
	struct unwind_table *table = NULL;
	struct image image;
	double begin, end;
	uint64_t sum = 0;

	REQUIRE(read_file("/proc/self/exe", 0, (char **)&image.bytes, &image.size) == 0);
	REQUIRE(open_path("/proc/self/exe", &table) == 0);
	for (int round = 0; round < 3; round++) /* more than are kept */
		for (uint64_t offset = 0; offset < image.size && offset < 100000; offset++)
			sum += (round - 1) * (int64_t)(unwind_table_find(table, offset).word >> 1);
	CHECK_EQUAL(sum, 0);
	begin = now_ns();
	for (int i = 0; i < 1000000; i++)
		sum += unwind_table_find(table, 0x2000 + (uint64_t)i % 1000 * 16).word;
	end = now_ns();
	sink = sum;
	printf("# %.1f ns an answer that is known\n", (end - begin) / 1e6);
	unwind_table_close(table);
	free(image.bytes);
}

int main(int argc, char **argv)
{
	victim_path = argc > 1 ? argv[1] : "";
	debug_path = argc > 2 ? argv[2] : "";
	RUN(libraries);
	RUN(vdso);
	RUN(debug_frame);
	RUN(no_tables);
	RUN(damaged_tables);
	RUN(damaged_headers);
	RUN(cut_files);
	RUN(other_ways);
	RUN(hostile_programs);
	RUN(sparse_file);
	RUN(many_answers);
	return harness_end();
}
