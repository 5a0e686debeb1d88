/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_device_code.c - a place in a device's code: this program's own file is
 * the code object
 */
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analyze/sample/device_code.h"
#include "analyze/model.h"
#include "base/error.h"
#include "base/io.h"
#include "event/event.h"
#include "harness.h"
#include "trace/writer.h"

enum { WHOLE = 1, WITHOUT_BYTES = 2, NO_ELF = 3, CUT = 4, AMD = 5, AMD_KERNEL = 6 };

/* A code object for a gfx90a: "s_nop 0", "s_endpgm". */
static const struct {
	Elf64_Ehdr head;
	uint32_t words[2];
} amd = {.head = {.e_ident = ELFMAG "\2\1\1\100", .e_machine = EM_AMDGPU, .e_flags = 0x53f},
	 .words = {0xbf800000, 0xbf810000}};

static const char noise[] = "these are no instructions of anything, but bytes";
static char *image;
static size_t image_size;

/* What the places lie in. */
__attribute__((noinline)) static int planted_function(int value)
{
	for (int i = 0; i < value; i++)
		__asm__ volatile("" : "+r"(value));
	return value * 3;
}

struct wanted {
	uint64_t address, offset, vaddr;
};

static int find_offset(struct dl_phdr_info *info, size_t size, void *context)
{
	struct wanted *wanted = context;

	for (int i = 0; i < info->dlpi_phnum && !wanted->offset; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uint64_t begin = info->dlpi_addr + part->p_vaddr;

		if (part->p_type == PT_LOAD && wanted->address >= begin &&
		    wanted->address < begin + part->p_filesz)
			wanted->offset = wanted->address - begin + part->p_offset;
		if (wanted->offset && !wanted->vaddr)
			wanted->vaddr = wanted->address - info->dlpi_addr;
	}
	return 0;
}

static struct wanted planted(void)
{
	struct wanted wanted = {.address = (uintptr_t)planted_function};

	dl_iterate_phdr(find_offset, &wanted);
	return wanted;
}

static void put_code(struct trace_writer *writer, uint32_t id, const void *bytes, size_t size)
{
	struct event_code row = {.id = id, .type = CODE_BINARY, .size_bytes = size};

	if (bytes)
		trace_writer_content(writer, bytes, size, &row.hash_low, &row.hash_high);
	trace_writer_entity(writer, EVENT_CODE, &row);
}

static bool open_trace(size_t cut, struct model **ret_model)
{
	const struct trace_writer_options options = {0};
	char path[] = "/tmp/duet-device-code-XXXXXX";
	struct trace_writer *writer;
	int fd = mkstemp(path), error;

	close(fd);
	if (trace_writer_open(path, &options, &writer))
		return false;
	put_code(writer, WHOLE, image, image_size);
	put_code(writer, WITHOUT_BYTES, NULL, 100);
	put_code(writer, NO_ELF, noise, sizeof(noise));
	put_code(writer, CUT, image, cut);
	put_code(writer, AMD, &amd, sizeof(amd));
	trace_writer_entity(
		writer, EVENT_CODE,
		&(struct event_code){.id = AMD_KERNEL, .type = CODE_KERNEL, .parent = AMD});
	error = trace_writer_close(writer, 1);
	if (!error)
		error = model_open(path, ret_model);
	unlink(path);
	return error == 0;
}

TEST(an_instruction_of_a_function)
{
	uint64_t offset = planted().offset;
	struct device_place place, inside;
	struct device_code *code;
	struct model *model;

	REQUIRE(offset && open_trace(64, &model) && device_code_new(model, &code) == 0);
	REQUIRE(device_code_find(code, WHOLE, offset, &place) == 0);
	CHECK_TEXT(place.function, "planted_function");
	CHECK_EQUAL(place.offset, offset);
	CHECK(*place.text && strlen(place.name) == 32);
	CHECK(place.source == NULL); /* this file's text was given to no OpenCL compiler */
	/* a byte inside of it is it, where somebody knows how long it is */
	REQUIRE(device_code_find(code, WHOLE, offset + 1, &inside) == 0);
	CHECK(device_code_why(code) || inside.offset == offset || inside.offset == offset + 1);
	CHECK_TEXT(inside.function, "planted_function");
	if (place.file)
		CHECK(strstr(place.file, "test_device_code.c") && place.line > 20);
	device_code_free(code);
	model_close(model);
}

/* A sample may name the kernel that it was found in: the bytes are its code object's. */
TEST(an_instruction_of_an_amd_kernel)
{
	struct device_place place, of_kernel;
	struct device_code *code;
	struct model *model;

	REQUIRE(open_trace(64, &model) && device_code_new(model, &code) == 0);
	REQUIRE(device_code_find(code, AMD, sizeof(amd.head) + 4, &place) == 0);
	REQUIRE(device_code_find(code, AMD_KERNEL, sizeof(amd.head) + 4, &of_kernel) == 0);
	CHECK_TEXT(of_kernel.name, place.name);
	CHECK_TEXT(of_kernel.text, place.text);
	CHECK_TEXT(place.text, device_code_why(code) ? ".long 0xbf810000" : "s_endpgm");
	device_code_free(code);
	model_close(model);
}

/* Each place is an instruction's begin, and the next one begins where it ends: as linear
 * disassembly has it. */
TEST(every_byte_has_its_instruction)
{
	const struct wanted wanted = planted();
	uint64_t offset = wanted.offset, last = offset;
	struct device_place place;
	struct device_code *code;
	struct model *model;

	REQUIRE(open_trace(64, &model) && device_code_new(model, &code) == 0);
	for (uint64_t at = offset; at < offset + 24; at++) {
		REQUIRE(device_code_find(code, WHOLE, at, &place) == 0);
		CHECK(place.offset == last || place.offset == at);
		CHECK_EQUAL(place.address - place.offset, wanted.vaddr - wanted.offset);
		last = place.offset;
	}
	device_code_free(code);
	model_close(model);
}

TEST(what_is_not_there_is_told_by_its_offset)
{
	static const uint32_t ids[] = {0, WITHOUT_BYTES, 77};
	struct device_place place;
	struct device_code *code;
	struct model *model;

	REQUIRE(open_trace(64, &model) && device_code_new(model, &code) == 0);
	for (size_t i = 0; i < 3; i++) {
		REQUIRE(device_code_find(code, ids[i], 0x1234, &place) == 0);
		CHECK_TEXT(place.text, "");
		CHECK_TEXT(place.function, "");
		CHECK_EQUAL(place.offset, 0x1234);
		CHECK(!place.file && !place.source);
	}
	REQUIRE(device_code_find(code, WHOLE, UINT64_MAX, &place) == 0);
	CHECK_TEXT(place.text, "");
	REQUIRE(device_code_find(code, NO_ELF, 3, &place) == 0);
	CHECK(*place.text); /* hexadecimal */
	CHECK_EQUAL(place.offset, 3);
	device_code_free(code);
	model_close(model);
}

TEST(a_code_object_that_is_cut_off)
{
	for (size_t cut = 0; cut < 4096; cut += cut < 256 ? 7 : 509) {
		struct device_place place;
		struct device_code *code;
		struct model *model;

		REQUIRE(open_trace(cut, &model) && device_code_new(model, &code) == 0);
		for (uint64_t at = 0; at < cut; at += 31)
			CHECK(device_code_find(code, CUT, at, &place) == 0);
		device_code_free(code);
		model_close(model);
	}
}

/* ---- many ------------------------------------------------------------------------------------ */

enum { KERNELS = 10000, DESCRIPTORS = 100 };

/* A library as a compiler of kernels links it, but for what nobody asks for: one function, and its
 * name. */
struct small {
	Elf64_Ehdr head;
	Elf64_Phdr part;
	uint8_t code[16];
	Elf64_Sym symbols[2];
	char names[32];
	Elf64_Shdr sections[4];
};

static void make_small(struct small *small, const char *name)
{
	const size_t code = offsetof(struct small, code), names = offsetof(struct small, names);

	*small = (struct small){
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = offsetof(struct small, part),
			 .e_shoff = offsetof(struct small, sections),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 4,
			 .e_shstrndx = 3},
		.part = {.p_type = PT_LOAD,
			 .p_flags = PF_R | PF_X,
			 .p_filesz = sizeof(*small),
			 .p_memsz = sizeof(*small),
			 .p_align = 4096},
		.symbols = {[1] = {.st_name = 1,
				   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				   .st_shndx = 1,
				   .st_value = code,
				   .st_size = sizeof(small->code)}},
		.sections = {[1] = {.sh_type = SHT_PROGBITS,
				    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				    .sh_addr = code,
				    .sh_offset = code,
				    .sh_size = sizeof(small->code)},
			     [2] = {.sh_type = SHT_SYMTAB,
				    .sh_offset = offsetof(struct small, symbols),
				    .sh_size = sizeof(small->symbols),
				    .sh_link = 3,
				    .sh_info = 1,
				    .sh_entsize = sizeof(Elf64_Sym)},
			     [3] = {.sh_type = SHT_STRTAB,
				    .sh_offset = names,
				    .sh_size = sizeof(small->names)}},
	};
	memset(small->code, 0x90, sizeof(small->code));
	memcpy(small->names + 1, name, strlen(name) + 1);
}

/* One program of each: the source, the kernel in it, and its code. */
static void put_kernel(struct trace_writer *writer, uint32_t i, const char *name)
{
	struct event_code source = {.id = 3 * i + 1, .type = CODE_SOURCE},
			  kernel = {.id = 3 * i + 2, .type = CODE_KERNEL, .parent = 3 * i + 1},
			  binary = {.id = 3 * i + 3, .type = CODE_BINARY};
	struct small small;

	make_small(&small, name);
	kernel.name_string = binary.name_string = trace_writer_string(writer, name, strlen(name));
	trace_writer_content(writer, name, strlen(name), &source.hash_low, &source.hash_high);
	trace_writer_content(writer, &small, sizeof(small), &binary.hash_low, &binary.hash_high);
	trace_writer_entity(writer, EVENT_CODE, &source);
	trace_writer_entity(writer, EVENT_CODE, &kernel);
	trace_writer_entity(writer, EVENT_CODE, &binary);
}

static bool open_kernels(struct model **ret_model)
{
	const struct trace_writer_options options = {0};
	char path[] = "/tmp/duet-device-code-XXXXXX", name[32];
	struct trace_writer *writer;
	int fd = mkstemp(path), error;

	close(fd);
	if (trace_writer_open(path, &options, &writer))
		return false;
	for (uint32_t i = 0; i < KERNELS; i++) {
		snprintf(name, sizeof(name), "kernel_%u", i);
		put_kernel(writer, i, name);
	}
	error = trace_writer_close(writer, 1);
	if (!error)
		error = model_open(path, ret_model);
	unlink(path);
	return error == 0;
}

/* A program that builds kernels all day. */
TEST(ten_thousand_kernels)
{
	const uint64_t offset = offsetof(struct small, code) + 3;
	struct rlimit before;
	struct device_place place;
	struct device_code *code;
	struct model *model;
	uint32_t wrong = 0;

	REQUIRE(open_kernels(&model) && device_code_new(model, &code) == 0);
	REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &(struct rlimit){DESCRIPTORS, before.rlim_max}) == 0);
	for (uint32_t i = 0; i < 2 * KERNELS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "kernel_%u", i % KERNELS);
		REQUIRE(device_code_find(code, 3 * (i % KERNELS) + 3, offset + i / KERNELS,
					 &place) == 0);
		wrong += strcmp(place.function, name) != 0;
	}
	CHECK_EQUAL(wrong, 0);
	setrlimit(RLIMIT_NOFILE, &before);
	device_code_free(code);
	model_close(model);
}

int main(void)
{
	if (read_file("/proc/self/exe", 0, &image, &image_size))
		return 1;
	RUN(an_instruction_of_a_function);
	RUN(an_instruction_of_an_amd_kernel);
	RUN(every_byte_has_its_instruction);
	RUN(what_is_not_there_is_told_by_its_offset);
	RUN(a_code_object_that_is_cut_off);
	RUN(ten_thousand_kernels);
	free(image);
	return harness_end();
}
