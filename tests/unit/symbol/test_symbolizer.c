/* SPDX-License-Identifier: MIT
 *
 * The symbolizer asked about this program: its functions, inlined calls, mappings, the vdso; and
 * about damaged copies of a program. What it says of other programs: test_peers.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "harness.h"
#include "symbol/elf/build_id.h"
#include "symbol/proc_maps.h"
#include "symbol/symbolizer.h"

static volatile int sink;
static const char *victim; /* a small program with debug information */

/* ---- what is looked up ---- */

struct here {
	void *address;
	int line;
};

__attribute__((noinline)) static void *where(void)
{
	void *address = __builtin_return_address(0);

	sink++;
	return address;
}

static inline __attribute__((always_inline)) struct here inlined(void)
{
	struct here here = {.line = __LINE__ + 2};

	here.address = where();
	sink++;
	return here;
}

__attribute__((noinline)) static struct here outer(int *ret_line)
{
	struct here here;

	*ret_line = __LINE__ + 1;
	here = inlined();
	sink++;
	return here;
}

struct fixture {
	struct symbolizer *symbolizer;
	struct symbol_module *module;
	struct proc_maps maps;
	struct symbol_mapping mapping;
	char path[4096], build_id[BUILD_ID_TEXT_SIZE];
};

/* The mapping of our own code at `address`. */
static bool set_up(struct fixture *fixture, void *address, const struct symbolizer_options *options)
{
	const struct proc_mapping *mapping;

	*fixture = (struct fixture){0};
	if (proc_maps_read(getpid(), &fixture->maps))
		return false;
	mapping = proc_maps_find(&fixture->maps, (uint64_t)(uintptr_t)address);
	if (!mapping)
		return false;
	snprintf(fixture->path, sizeof(fixture->path), "%s", mapping->path);
	if (build_id_read_file(fixture->path, fixture->build_id))
		fixture->build_id[0] = '\0';
	fixture->mapping = (struct symbol_mapping){
		.path = fixture->path,
		.build_id = fixture->build_id,
		.start = mapping->start,
		.file_offset = mapping->file_offset,
	};
	return symbolizer_new(options, &fixture->symbolizer) == 0 &&
	       symbolizer_module(fixture->symbolizer, &fixture->mapping, &fixture->module) == 0;
}

static void tear_down(struct fixture *fixture)
{
	symbolizer_free(fixture->symbolizer);
	proc_maps_fini(&fixture->maps);
}

static const struct symbolizer_options everything = {.has_lines = true, .has_inlines = true};

TEST(inlined_call)
{
	struct fixture fixture;
	struct symbol symbol;
	int line = 0;
	struct here here = outer(&line);

	REQUIRE(set_up(&fixture, here.address, &everything));
	REQUIRE(symbolizer_lookup(fixture.symbolizer, fixture.module,
				  (uint64_t)(uintptr_t)here.address, true, &symbol) == 0);
	REQUIRE(symbol.frame_count == 2);
	CHECK_TEXT(symbol.frames[0].function, "inlined");
	CHECK_TEXT(symbol.frames[0].raw_name, "inlined");
	CHECK_EQUAL(symbol.frames[0].line, here.line);
	CHECK(symbol.frames[0].is_inlined);
	REQUIRE(symbol.frames[0].file);
	CHECK(strstr(symbol.frames[0].file, "test_symbolizer.c"));
	CHECK(symbol.frames[0].file[0] == '/');
	CHECK_TEXT(symbol.frames[1].function, "outer");
	CHECK_EQUAL(symbol.frames[1].line, line);
	CHECK(!symbol.frames[1].is_inlined);
	CHECK(symbol.frames[1].has_offset);
	CHECK_EQUAL(symbol.frames[1].offset, (uintptr_t)here.address - (uintptr_t)outer);
	CHECK_TEXT(symbol.module_path, fixture.path);
	tear_down(&fixture);
}

TEST(less_is_wanted)
{
	struct symbolizer_options options = {.has_lines = true};
	struct fixture fixture;
	struct symbol symbol;
	int line = 0;
	struct here here = outer(&line);

	REQUIRE(set_up(&fixture, here.address, &options));
	REQUIRE(symbolizer_lookup(fixture.symbolizer, fixture.module,
				  (uint64_t)(uintptr_t)here.address, true, &symbol) == 0);
	REQUIRE(symbol.frame_count == 1);
	CHECK_TEXT(symbol.frames[0].function, "outer");
	CHECK_EQUAL(symbol.frames[0].line, here.line);
	tear_down(&fixture);
	options = (struct symbolizer_options){0};
	REQUIRE(set_up(&fixture, here.address, &options));
	REQUIRE(symbolizer_lookup(fixture.symbolizer, fixture.module,
				  (uint64_t)(uintptr_t)here.address, true, &symbol) == 0);
	REQUIRE(symbol.frame_count == 1);
	CHECK_TEXT(symbol.frames[0].function, "outer");
	CHECK(!symbol.frames[0].file && !symbol.frames[0].line);
	tear_down(&fixture);
}

TEST(the_same_handle_and_the_same_answer)
{
	struct symbol_module *again, *other;
	struct symbol first, second;
	struct fixture fixture;
	char path[4096], build_id[BUILD_ID_TEXT_SIZE];
	uint64_t address = (uint64_t)(uintptr_t)outer + 1;

	REQUIRE(set_up(&fixture, (void *)outer, &everything));
	/* texts are copies: other pointers, the same mapping */
	strcpy(path, fixture.path);
	strcpy(build_id, fixture.build_id);
	fixture.mapping.path = path;
	fixture.mapping.build_id = build_id;
	REQUIRE(symbolizer_module(fixture.symbolizer, &fixture.mapping, &again) == 0);
	CHECK(again == fixture.module);
	fixture.mapping.start += 4096;
	REQUIRE(symbolizer_module(fixture.symbolizer, &fixture.mapping, &other) == 0);
	CHECK(other != fixture.module);
	REQUIRE(symbolizer_lookup(fixture.symbolizer, fixture.module, address, false, &first) == 0);
	REQUIRE(symbolizer_lookup(fixture.symbolizer, other, address + 4096, false, &second) == 0);
	CHECK(first.frames == second.frames);
	CHECK_TEXT(first.frames[0].function, "outer");
	/* the byte at a return address belongs to what comes after the call */
	REQUIRE(symbolizer_lookup(fixture.symbolizer, fixture.module, (uintptr_t)outer, false,
				  &first) == 0);
	REQUIRE(symbolizer_lookup(fixture.symbolizer, fixture.module, (uintptr_t)outer, true,
				  &second) == 0);
	CHECK_TEXT(first.frames[0].function, "outer");
	CHECK_EQUAL(first.frames[0].offset, 0);
	CHECK(!second.frames[0].function || strcmp(second.frames[0].function, "outer") != 0);
	REQUIRE(symbolizer_lookup_vaddr(fixture.symbolizer, fixture.module, first.address, false,
					&second) == 0);
	CHECK(first.frames == second.frames);
	tear_down(&fixture);
}

static void check_format(const struct symbol *symbol, const char *want)
{
	char text[64];

	CHECK_EQUAL(symbol_format(symbol, 0, text, sizeof(text)), strlen(want));
	CHECK_TEXT(text, want);
}

TEST(unknown_code)
{
	struct symbol_mapping mapping = {.path = "/nowhere/lib foo.so.1", .build_id = "abcd"};
	struct symbol_module *module;
	struct symbolizer *symbolizer;
	struct symbol_source source;
	struct symbol symbol;
	char text[8];

	REQUIRE(symbolizer_new(&everything, &symbolizer) == 0);
	mapping.start = 0x10000;
	mapping.file_offset = 0x1000;
	REQUIRE(symbolizer_module(symbolizer, &mapping, &module) == 0);
	REQUIRE(symbolizer_lookup(symbolizer, module, 0x10234, false, &symbol) == 0);
	CHECK_EQUAL(symbol.frame_count, 1);
	CHECK(!symbol.frames[0].function && !symbol.frames[0].file);
	CHECK_EQUAL(symbol.address, 0x1234);
	check_format(&symbol, "[lib foo.so.1]+0x1234");
	CHECK_EQUAL(symbol_format(&symbol, 0, text, sizeof(text)), 21);
	CHECK_TEXT(text, "[lib fo");
	symbolizer_source(symbolizer, module, &source);
	CHECK(!source.path && !source.debug_path && !source.is_replaced && !source.has_lines);
	mapping = (struct symbol_mapping){.path = "[heap]", .build_id = ""};
	REQUIRE(symbolizer_module(symbolizer, &mapping, &module) == 0);
	REQUIRE(symbolizer_lookup(symbolizer, module, 0x10, true, &symbol) == 0);
	check_format(&symbol, "[heap]+0x10");
	mapping.path = "";
	REQUIRE(symbolizer_module(symbolizer, &mapping, &module) == 0);
	REQUIRE(symbolizer_lookup(symbolizer, module, UINT64_MAX, true, &symbol) == 0);
	check_format(&symbol, "[]+0xffffffffffffffff");
	REQUIRE(symbolizer_lookup(symbolizer, module, 0, true, &symbol) == 0);
	mapping.path = "/etc/passwd";
	REQUIRE(symbolizer_module(symbolizer, &mapping, &module) == 0);
	REQUIRE(symbolizer_lookup(symbolizer, module, 7, false, &symbol) == 0);
	check_format(&symbol, "[passwd]+0x7");
	symbolizer_free(symbolizer);
}

/* Without symbols, the unwind table shows where a function starts. */
TEST(stripped_file)
{
	char path[] = "/tmp/duet-stripped-XXXXXX", command[9000], wanted[64];
	struct symbol symbol, other;
	struct fixture fixture;
	int line = 0, fd = mkstemp(path);
	struct here here = outer(&line);
	struct symbol_mapping mapping;
	struct symbol_module *module;

	REQUIRE(fd >= 0);
	close(fd);
	REQUIRE(set_up(&fixture, here.address, &everything));
	snprintf(command, sizeof(command), "strip -s -R .note.gnu.build-id -o %s %s", path,
		 fixture.path);
	if (system(command) != 0)
		SKIP("no strip");
	mapping = fixture.mapping;
	mapping.path = path;
	mapping.build_id = "";
	REQUIRE(symbolizer_module(fixture.symbolizer, &mapping, &module) == 0);
	REQUIRE(symbolizer_lookup(fixture.symbolizer, module, (uint64_t)(uintptr_t)here.address,
				  true, &symbol) == 0);
	CHECK(!symbol.frames[0].function);
	CHECK(symbol.frames[0].has_offset);
	CHECK_EQUAL(symbol.frames[0].offset, (uintptr_t)here.address - (uintptr_t)outer);
	REQUIRE(symbolizer_lookup(fixture.symbolizer, module, (uint64_t)(uintptr_t)outer, false,
				  &other) == 0);
	CHECK_EQUAL(other.frames[0].offset, 0);
	snprintf(wanted, sizeof(wanted), "[%s]+0x%" PRIx64, strrchr(path, '/') + 1, other.address);
	check_format(&symbol, wanted);
	check_format(&other, wanted);
	tear_down(&fixture);
	unlink(path);
}

TEST(replaced_file)
{
	struct symbol_mapping mapping = {.path = "/bin/true", .build_id = "00112233"};
	struct symbol_module *module;
	struct symbolizer *symbolizer;
	struct symbol_source source;
	const char *const *notes;
	struct symbol symbol;

	REQUIRE(symbolizer_new(&everything, &symbolizer) == 0);
	REQUIRE(symbolizer_notes(symbolizer, &notes) == 0);
	for (int i = 0; i < 3; i++) {
		mapping.start = (uint64_t)i << 12;
		REQUIRE(symbolizer_module(symbolizer, &mapping, &module) == 0);
		REQUIRE(symbolizer_lookup(symbolizer, module, 0x2000, false, &symbol) == 0);
		CHECK(!symbol.frames[0].function);
	}
	symbolizer_source(symbolizer, module, &source);
	CHECK(source.is_replaced);
	REQUIRE(symbolizer_notes(symbolizer, &notes) == 1);
	CHECK(strstr(notes[0], "/bin/true") && strstr(notes[0], "00112233"));
	symbolizer_free(symbolizer);
}

/* What a trace says becomes part of paths, also of those that libdebuginfod makes in its cache. */
TEST(refused_build_id)
{
	struct symbol_mapping mapping = {.path = "/bin/true",
					 .build_id = "../../home/victim/pwned"};
	struct symbol_module *module;
	struct symbolizer *symbolizer;
	struct symbol_source source;
	const char *const *notes;

	REQUIRE(symbolizer_new(&everything, &symbolizer) == 0);
	REQUIRE(symbolizer_module(symbolizer, &mapping, &module) == 0);
	symbolizer_source(symbolizer, module, &source);
	CHECK(!source.path && !source.debug_path);
	REQUIRE(symbolizer_notes(symbolizer, &notes) == 1);
	CHECK(strstr(notes[0], "/bin/true") && strstr(notes[0], "an invalid build id"));
	symbolizer_free(symbolizer);
}

TEST(the_vdso)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	struct symbol_mapping mapping = {.path = "[vdso]", .start = start};
	char build_id[BUILD_ID_TEXT_SIZE], text[64];
	struct symbol_module *module;
	struct symbolizer *symbolizer;
	struct symbol symbol;
	bool is_found = false;

	if (!start || build_id_read_image((const void *)(uintptr_t)start, 4096, build_id))
		SKIP("no vdso");
	REQUIRE(symbolizer_new(&everything, &symbolizer) == 0);
	mapping.build_id = build_id;
	REQUIRE(symbolizer_module(symbolizer, &mapping, &module) == 0);
	for (uint64_t offset = 0; offset < 8192; offset++) {
		REQUIRE(symbolizer_lookup(symbolizer, module, start + offset, false, &symbol) == 0);
		symbol_format(&symbol, 0, text, sizeof(text));
		is_found = is_found || strstr(text, "clock_gettime");
	}
	CHECK(is_found);
	/* another kernel's */
	mapping.build_id = "0011";
	REQUIRE(symbolizer_module(symbolizer, &mapping, &module) == 0);
	REQUIRE(symbolizer_lookup(symbolizer, module, start + 0x7f0, false, &symbol) == 0);
	check_format(&symbol, "[vdso]+0x7f0");
	symbolizer_free(symbolizer);
}

/* ---- damage ---- */

static char folder[] = "/tmp/duet-symbol-XXXXXX";

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Asks about all of a damaged file; what comes out must be readable. */
static size_t ask(const char *path, const char *bytes, size_t size)
{
	struct symbol_mapping mapping = {.path = path, .build_id = ""};
	struct symbolizer *symbolizer;
	struct symbol_module *module;
	size_t length = 0;

	harness_write_file(path, bytes, size);
	if (symbolizer_new(&everything, &symbolizer))
		return 0;
	if (symbolizer_module(symbolizer, &mapping, &module) == 0) {
		for (uint64_t offset = 0; offset < size + 64; offset += size / 50 + 1) {
			struct symbol symbol;

			if (symbolizer_lookup(symbolizer, module, offset, false, &symbol))
				break;
			for (size_t i = 0; i < symbol.frame_count; i++) {
				const struct symbol_frame *frame = &symbol.frames[i];

				length += frame->function ? strlen(frame->function) : 0;
				length += frame->raw_name ? strlen(frame->raw_name) : 0;
				length += frame->file ? strlen(frame->file) : 0;
			}
		}
	}
	symbolizer_free(symbolizer);
	return length;
}

TEST(cut_files)
{
	char path[64], *bytes;
	double begin = seconds();
	size_t size, whole;

	REQUIRE(read_file(victim, 0, &bytes, &size) == 0);
	snprintf(path, sizeof(path), "%s/cut", folder);
	whole = ask(path, bytes, size);
	CHECK(whole > 0);
	for (size_t cut = 0; cut < size; cut += size / 300 + 1)
		ask(path, bytes, cut);
	printf("# %zu bytes of names, %.2f s\n", whole, seconds() - begin);
	unlink(path);
	free(bytes);
}

TEST(changed_bytes)
{
	char path[64], *bytes, *copy;
	double begin = seconds();
	uint64_t state = 99;
	size_t size;

	REQUIRE(read_file(victim, 0, &bytes, &size) == 0);
	copy = malloc(size);
	REQUIRE(copy);
	snprintf(path, sizeof(path), "%s/changed", folder);
	for (int round = 0; round < 400; round++) {
		memcpy(copy, bytes, size);
		for (int i = 0; i < 1 << round % 8; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			copy[(state >> 20) % size] = (char)(state >> 12);
		}
		/* the ELF header of every second one stays whole */
		if (round % 2)
			memcpy(copy, bytes, 64);
		ask(path, copy, size);
	}
	printf("# %.2f s\n", seconds() - begin);
	unlink(path);
	free(copy);
	free(bytes);
}

int main(int argc, char **argv)
{
	victim = argc > 1 ? argv[1] : "/proc/self/exe";
	if (!mkdtemp(folder))
		return 1;
	RUN(inlined_call);
	RUN(less_is_wanted);
	RUN(the_same_handle_and_the_same_answer);
	RUN(unknown_code);
	RUN(stripped_file);
	RUN(replaced_file);
	RUN(refused_build_id);
	RUN(the_vdso);
	RUN(cut_files);
	RUN(changed_bytes);
	rmdir(folder);
	return harness_end();
}
