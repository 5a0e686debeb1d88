/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/test_device_code.c - a place in a device's code: this program's own file is the code object
 */
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/device_code.h"
#include "analyze/model.h"
#include "base/error.h"
#include "base/io.h"
#include "event/event.h"
#include "harness.h"
#include "trace/writer.h"

enum { WHOLE = 1, WITHOUT_BYTES = 2, NO_ELF = 3, CUT = 4 };

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
	trace_writer_thing(writer, EVENT_CODE, &row);
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

/* Each place is an instruction's begin, and the next one begins where it ends: as linear disassembly has it. */
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

int main(void)
{
	if (read_file("/proc/self/exe", 0, &image, &image_size))
		return 1;
	RUN(an_instruction_of_a_function);
	RUN(every_byte_has_its_instruction);
	RUN(what_is_not_there_is_told_by_its_offset);
	RUN(a_code_object_that_is_cut_off);
	free(image);
	return harness_end();
}
