/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_isa.c - a libFuzzer target: any bytes as code
 *
 * Input: a byte that says which instruction set, then code, decoded from its begin to its end. LLVM itself is not
 * instrumented; that it does not die here is why x86-64 and arm64 need no process of their own.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct isa *find_isa(enum isa_type type)
{
	static struct isa *isas[ISA_AMDGPU];

	if (!isas[type] && isa_new(type, NULL, &isas[type]))
		abort();
	return isas[type];
}

static void check_text(const char *text)
{
	if (!*text || *text == ' ')
		abort();
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	/* not AMDGPU: its process would be forked from the fuzzer */
	static const enum isa_type types[] = {ISA_X86_64, ISA_ARM64, ISA_UNKNOWN};
	char text[ISA_TEXT_SIZE];
	size_t length;

	if (size < 2)
		return 0;
	for (size_t at = 1; at < size; at += length) {
		if (isa_decode(find_isa(types[bytes[0] % 3]), bytes + at, size - at, at, text,
			       sizeof(text), &length) ||
		    !length || length > size - at)
			abort();
		check_text(text);
	}
	return 0;
}
