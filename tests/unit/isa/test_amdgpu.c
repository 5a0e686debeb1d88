/* SPDX-License-Identifier: MIT
 *
 * Code objects of AMD GPUs, instruction for instruction, as llvm-objdump of the same release has
 * them:
 *
 *	test_amdgpu FILE.cl
 *
 * The file is compiled for each processor that this clang knows.
 */
#include "isa/isa.h"

#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"

enum { LINE = 4096, MIN_PROCESSORS = 5, MIN_INSTRUCTIONS = 200, MAX_SHOWN = 10 };

static const char *source, *why;
static char folder[] = "/tmp/duet-amdgpu-XXXXXX", object[64];

struct score {
	size_t count, same;
};

static bool runs(const char *command)
{
	return system(command) == 0;
}

/* Ours must be of the release that llvm-objdump is of: texts differ between them. */
static bool choose_llvm(void)
{
	FILE *pipe = popen("llvm-objdump --version 2>/dev/null", "r");
	char line[LINE], library[32];
	int major = 0;

	while (pipe && fgets(line, sizeof(line), pipe))
		if (strstr(line, "version "))
			major = atoi(strstr(line, "version ") + strlen("version "));
	if (pipe)
		pclose(pipe);
	snprintf(library, sizeof(library), major < 18 ? "libLLVM-%d.so.1" : "libLLVM.so.%d.1",
		 major);
	setenv("DUET_LLVM", library, 1);
	return major > 0;
}

static bool compile(const char *processor)
{
	char command[LINE];

	snprintf(command, sizeof(command),
		 "clang -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=%s -nogpulib -O2 -w -c "
		 "'%s' -o %s 2>/dev/null",
		 processor, source, object);
	return runs(command);
}

static uint32_t read_flags(void)
{
	FILE *file = fopen(object, "rb");
	Elf64_Ehdr head = {0};

	if (!file || fread(&head, sizeof(head), 1, file) != 1)
		head.e_flags = 0;
	if (file)
		fclose(file);
	return head.e_flags;
}

/* "\ts_cbranch_execz 12     // 000000001A1C: BF88000C <fill+0x50>" */
struct instruction {
	char text[LINE];
	uint64_t address;
	uint8_t bytes[64];
	size_t size;
};

static bool read_instruction(const char *line, struct instruction *instruction)
{
	const char *comment = strstr(line, "// "), *end = comment;
	char *at;

	if (line[0] != '\t' || !comment)
		return false;
	while (end > line + 1 && end[-1] == ' ')
		end--;
	snprintf(instruction->text, sizeof(instruction->text), "%.*s", (int)(end - line - 1),
		 line + 1);
	instruction->address = strtoull(comment + 3, &at, 16);
	instruction->size = 0;
	for (at++; at[0] == ' ' && at[1] != '<' && instruction->size < 60;) {
		uint32_t word = (uint32_t)strtoul(at, &at, 16);

		memcpy(instruction->bytes + instruction->size, &word, sizeof(word));
		instruction->size += sizeof(word);
	}
	return instruction->size > 0;
}

/* Where a branch goes is a number of words there, and an address here. */
static void set_target(struct instruction *instruction)
{
	static const char *const branches[] = {"s_branch ", "s_cbranch_", "s_call_b64 "};
	char *last = strrchr(instruction->text, ' ');

	for (size_t i = 0; last && i < sizeof(branches) / sizeof(branches[0]); i++) {
		int16_t words = (int16_t)strtol(last, NULL, 0);

		if (strncmp(instruction->text, branches[i], strlen(branches[i])) != 0)
			continue;
		sprintf(last + 1, "0x%llx",
			(unsigned long long)(instruction->address + 4 + (uint64_t)(4 * words)));
		return;
	}
}

static void compare(struct isa *isa, struct instruction *instruction, struct score *score)
{
	char text[ISA_TEXT_SIZE];
	size_t length = 0;

	set_target(instruction);
	isa_decode(isa, instruction->bytes, instruction->size, instruction->address, text,
		   sizeof(text), &length);
	score->count++;
	if (length == instruction->size && strcmp(text, instruction->text) == 0)
		score->same++;
	else if (score->count - score->same < MAX_SHOWN)
		printf("# 0x%llx: '%s' of %zu bytes, objdump has '%s' of %zu\n",
		       (unsigned long long)instruction->address, text, length, instruction->text,
		       instruction->size);
}

static void compare_object(const char *processor, struct score *score)
{
	char command[LINE], line[LINE];
	struct instruction instruction;
	struct isa *isa;
	FILE *pipe;

	snprintf(command, sizeof(command), "llvm-objdump -d --print-imm-hex --mcpu=%s %s",
		 processor, object);
	pipe = popen(command, "r");
	REQUIRE(pipe && isa_new(ISA_AMDGPU, processor, &isa) == 0);
	CHECK(!isa_why(isa));
	while (fgets(line, sizeof(line), pipe))
		if (read_instruction(line, &instruction))
			compare(isa, &instruction, score);
	pclose(pipe);
	isa_free(isa);
}

TEST(every_instruction_of_every_processor)
{
	static const char *const processors[] = {"gfx803",  "gfx900", "gfx906",  "gfx908",
						 "gfx90a",  "gfx942", "gfx1010", "gfx1030",
						 "gfx1100", "gfx1201"};
	size_t compiled = 0;

	if (why)
		SKIP(why);
	for (size_t i = 0; i < sizeof(processors) / sizeof(processors[0]); i++) {
		struct score score = {0};

		if (!compile(processors[i]))
			continue;
		compiled++;
		CHECK_TEXT(isa_amdgpu_processor(read_flags()), processors[i]);
		compare_object(processors[i], &score);
		printf("# %s: %zu instructions, %zu as objdump's\n", processors[i], score.count,
		       score.same);
		CHECK(score.count >= MIN_INSTRUCTIONS);
		CHECK_EQUAL(score.same, score.count);
	}
	CHECK(compiled >= MIN_PROCESSORS);
}

TEST(processors_that_nobody_knows)
{
	CHECK(!isa_amdgpu_processor(0));
	CHECK(!isa_amdgpu_processor(0xff));
	CHECK_TEXT(isa_amdgpu_processor(0x53f), "gfx90a");
}

int main(int argc, char **argv)
{
	source = argc > 1 ? argv[1] : "";
	if (!mkdtemp(folder))
		return 1;
	snprintf(object, sizeof(object), "%s/object", folder);
	if (!runs("clang --version >/dev/null 2>&1"))
		why = "clang is not installed";
	else if (!choose_llvm())
		why = "llvm-objdump is not installed (llvm)";
	RUN(every_instruction_of_every_processor);
	RUN(processors_that_nobody_knows);
	unlink(object);
	rmdir(folder);
	return harness_end();
}
