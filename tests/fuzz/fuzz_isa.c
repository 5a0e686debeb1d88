/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_isa.c - a libFuzzer target: any bytes as code
 *
 * Input: a byte that says which instruction set, then code, decoded from its begin to its end, or a
 * code object of a GPU of Intel's or NVIDIA's. That nvdisasm is not asked is said by
 * DUET_NVDISASM=/nonexistent. LLVM and IGA themselves are not instrumented; that they do not die
 * here is why x86-64, arm64 and Xe need no process of their own.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"
#include "symbol/device/cubin.h"
#include "symbol/device/zebin.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* not AMDGPU: its process would be forked from the fuzzer */
static const struct {
	enum isa_type type;
	const char *processor;
} sets[] = {
	{ISA_X86_64, NULL},   {ISA_ARM64, NULL},   {ISA_UNKNOWN, NULL}, {ISA_XE, "gen9"},
	{ISA_XE, "gen11"},    {ISA_XE, "xe-lp"},   {ISA_XE, "xe-hp"},   {ISA_XE, "xe-hpg"},
	{ISA_XE, "xe-hpc"},   {ISA_XE, "xe2"},     {ISA_XE, "xe3"},     {ISA_XE, NULL},
	{ISA_SASS, "sm_70"},  {ISA_SASS, "sm_75"}, {ISA_SASS, "sm_80"}, {ISA_SASS, "sm_90"},
	{ISA_SASS, "sm_120"},
};
enum { SETS = sizeof(sets) / sizeof(sets[0]) };

static struct isa *find_isa(size_t index)
{
	static struct isa *isas[SETS];

	if (!isas[index] && isa_new(sets[index].type, sets[index].processor, &isas[index]))
		abort();
	return isas[index];
}

static void check_text(const char *text)
{
	if (!*text || *text == ' ')
		abort();
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			abort();
}

static void try_zebin(const uint8_t *bytes, size_t size)
{
	const struct zebin_kernel *kernels;
	struct zebin *zebin;
	size_t image_size;
	void *image;

	if (zebin_open(bytes, size, &zebin))
		return;
	for (size_t i = 0, count = zebin_kernels(zebin, &kernels); i < count; i++)
		if (kernels[i].offset > size || kernels[i].size_bytes > size - kernels[i].offset ||
		    kernels[i].code_bytes > kernels[i].size_bytes || !*kernels[i].name)
			abort();
	if (zebin_link(zebin, &image, &image_size) || image_size < size)
		abort();
	free(image);
	zebin_close(zebin);
}

static void try_cubin(const uint8_t *bytes, size_t size)
{
	const struct cubin_function *functions;
	struct cubin *cubin;

	if (cubin_open(bytes, size, &cubin))
		return;
	for (size_t i = 0, count = cubin_functions(cubin, &functions); i < count; i++) {
		const char *file;
		uint32_t line;

		if (functions[i].offset > size ||
		    functions[i].size_bytes > size - functions[i].offset || !*functions[i].name)
			abort();
		cubin_find_line(cubin, functions[i].offset, &file, &line);
	}
	cubin_close(cubin);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char text[ISA_TEXT_SIZE];
	size_t length;

	if (size < 2)
		return 0;
	if (zebin_is(bytes, size)) {
		try_zebin(bytes, size);
		return 0;
	}
	if (cubin_is(bytes, size)) {
		try_cubin(bytes, size);
		return 0;
	}
	for (size_t at = 1; at < size; at += length) {
		if (isa_decode(find_isa(bytes[0] % SETS), bytes + at, size - at, at, text,
			       sizeof(text), &length) ||
		    !length || length > size - at)
			abort();
		check_text(text);
	}
	return 0;
}
