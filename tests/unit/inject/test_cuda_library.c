/* SPDX-License-Identifier: MIT
 *
 * The real libcupti, where one is installed, for what it does without a driver: how long its
 * records are, what it takes for a cubin's checksum, which line of the source an instruction is:
 *
 *	test_cuda_library FILE.cubin ...
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "harness.h"

#include "base/io.h"
#include "sim/nvidia/cupti_abi.h"
#include "symbol/device/cubin.h"

enum { INSTRUCTION_BYTES = 16, MOST = 1 << 20 };

/* What the library does not give back is not ours to find. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libcupti";
}

static char **paths;
static int path_count;

static cupti_result (*get_version)(uint32_t *ret_version);
static cupti_result (*next_record)(uint8_t *buffer, size_t valid_bytes,
				   struct cupti_activity **record);
static cupti_result (*get_crc)(struct cupti_cubin_crc_params *params);
static cupti_result (*get_line)(struct cupti_sass_to_source_params *params);

/* False: there is none. */
static bool open_library(void)
{
	static const char *const names[] = {"libcupti.so.13", "libcupti.so.12",
					    "/usr/local/cuda/lib64/libcupti.so",
					    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
	const char *named = getenv("DUET_CUPTI");
	void *library = named ? dlopen(named, RTLD_NOW) : NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
		library = dlopen(names[i], RTLD_NOW);
	if (!library)
		return false;
	*(void **)&get_version = dlsym(library, "cuptiGetVersion");
	*(void **)&next_record = dlsym(library, "cuptiActivityGetNextRecord");
	*(void **)&get_crc = dlsym(library, "cuptiGetCubinCrc");
	*(void **)&get_line = dlsym(library, "cuptiGetSassToSourceCorrelation");
	return get_version && next_record && get_crc && get_line;
}

#define OPEN_OR_SKIP()                                                                     \
	do {                                                                               \
		if (!open_library())                                                       \
			SKIP("no libcupti of CUDA 12 or newer is installed, nor named in " \
			     "DUET_CUPTI");                                                \
	} while (0)

/* ---- records ---- */

static const struct {
	uint32_t kind, version, bytes;
} sizes[] = {
#define X(kind, version, bytes) {CUPTI_ACTIVITY_KIND_##kind, version, bytes},
	CUPTI_RECORD_SIZES(X)
#undef X
};

/* As CUPTI_RECORD_SIZES has it for a version. */
static uint32_t bytes_of(uint32_t kind, uint32_t version)
{
	uint32_t bytes = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i].kind == kind && (!bytes || sizes[i].version <= version))
			bytes = sizes[i].bytes;
	return bytes;
}

/* Twice each kind, one after the other: a length that is not the library's own leads it into the
 * middle of a record. */
TEST(records_are_as_long_as_the_table_says)
{
	static _Alignas(8) uint8_t buffer[1 << 16];
	size_t offsets[256], count = 0, bytes = 0, seen = 0;
	struct cupti_activity *record = NULL;
	uint32_t version = 0;
	cupti_result result;

	OPEN_OR_SKIP();
	REQUIRE(get_version(&version) == CUPTI_SUCCESS);
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]) && count < 256; i++) {
		struct cupti_activity head = {
			.kind = sizes[i % (sizeof(sizes) / sizeof(sizes[0]))].kind};

		offsets[count++] = bytes;
		memcpy(buffer + bytes, &head, sizeof(head));
		bytes += bytes_of(head.kind, version);
		REQUIRE(bytes + 512 < sizeof(buffer));
	}
	while ((result = next_record(buffer, bytes, &record)) == CUPTI_SUCCESS && seen < count) {
		CHECK_EQUAL((size_t)((uint8_t *)record - buffer), offsets[seen]);
		seen++;
	}
	CHECK_EQUAL(result, CUPTI_ERROR_MAX_LIMIT_REACHED);
	CHECK_EQUAL(seen, count);
}

/* As CUPTI hands one back that it had no use for. */
TEST(an_empty_buffer_has_none)
{
	static _Alignas(8) uint8_t buffer[1024];
	struct cupti_activity *record = NULL;

	OPEN_OR_SKIP();
	CHECK_EQUAL(next_record(buffer, 0, &record), CUPTI_ERROR_MAX_LIMIT_REACHED);
	CHECK(!record);
}

/* ---- cubins ---- */

static uint64_t crc_of(const void *bytes, size_t size)
{
	struct cupti_cubin_crc_params params = {
		.struct_bytes = CUpti_GetCubinCrcParamsSize, .cubin_bytes = size, .cubin = bytes};

	CHECK_EQUAL(get_crc(&params), CUPTI_SUCCESS);
	return params.ret_crc;
}

TEST(checksums_tell_cubins_apart)
{
	uint64_t before = 0;

	OPEN_OR_SKIP();
	for (int i = 0; i < path_count; i++) {
		char *bytes = NULL;
		size_t size;
		uint64_t crc;

		REQUIRE(read_file(paths[i], MOST, &bytes, &size) == 0);
		crc = crc_of(bytes, size);
		printf("# %s: %016llx\n", paths[i], (unsigned long long)crc);
		CHECK(crc && crc != before && crc == crc_of(bytes, size));
		before = crc;
		/* where code is */
		bytes[size / 2] ^= 1;
		CHECK(crc_of(bytes, size) != crc);
		free(bytes);
	}
}

static void compare_lines(const char *bytes, size_t size, struct cubin *cubin,
			  const struct cubin_function *function, uint64_t offset)
{
	struct cupti_sass_to_source_params params = {.struct_bytes = sizeof(params),
						     .cubin = bytes,
						     .function_name = function->name,
						     .cubin_bytes = size,
						     .pc_offset_bytes = offset};
	const char *file = "";
	uint32_t line = 0;

	CHECK_EQUAL(get_line(&params), CUPTI_SUCCESS);
	CHECK(cubin_find_line(cubin, function->offset + offset, &file, &line));
	CHECK_EQUAL(line, params.ret_line);
	CHECK(params.ret_file_name && strlen(file) >= strlen(params.ret_file_name));
	CHECK_TEXT(file + strlen(file) - strlen(params.ret_file_name), params.ret_file_name);
	free(params.ret_file_name);
	free(params.ret_directory);
}

TEST(lines_are_those_of_the_library)
{
	uint32_t compared = 0;

	OPEN_OR_SKIP();
	for (int i = 0; i < path_count; i++) {
		const struct cubin_function *functions;
		struct cubin *cubin = NULL;
		char *bytes = NULL;
		size_t size, count;

		REQUIRE(read_file(paths[i], MOST, &bytes, &size) == 0);
		REQUIRE(cubin_open(bytes, size, &cubin) == 0);
		count = cubin_functions(cubin, &functions);
		for (size_t k = 0; k < count; k++)
			for (uint64_t at = 0; at < functions[k].size_bytes;
			     at += INSTRUCTION_BYTES, compared++)
				compare_lines(bytes, size, cubin, &functions[k], at);
		cubin_close(cubin);
		free(bytes);
	}
	printf("# %u instructions\n", compared);
	CHECK(compared > 0);
}

int main(int argc, char **argv)
{
	paths = argv + 1;
	path_count = argc - 1;
	RUN(records_are_as_long_as_the_table_says);
	RUN(an_empty_buffer_has_none);
	RUN(checksums_tell_cubins_apart);
	RUN(lines_are_those_of_the_library);
	return harness_end();
}
