/* SPDX-License-Identifier: MIT
 *
 *	test_isa FAKE_LLVM
 */
#include "isa/isa.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "harness.h"

static const char *fake_llvm;
static char text[ISA_TEXT_SIZE];

static struct isa *make(enum isa_type type, const char *processor)
{
	struct isa *isa = NULL;

	CHECK_EQUAL(isa_new(type, processor, &isa), 0);
	return isa;
}

/* Length, and the text in `text`. */
static size_t decode_at(struct isa *isa, const char *bytes, size_t size, uint64_t address)
{
	size_t length = 0;

	memset(text, 'z', sizeof(text));
	CHECK_EQUAL(
		isa_decode(isa, (const uint8_t *)bytes, size, address, text, sizeof(text), &length),
		0);
	CHECK(length >= 1 && length <= size);
	CHECK(memchr(text, 0, sizeof(text)));
	return length;
}

#define DECODE(isa, bytes) decode_at((isa), (bytes), sizeof(bytes) - 1, 0x401000)

#define CHECK_DECODE(isa, bytes, want_length, want)                 \
	do {                                                        \
		CHECK_EQUAL(DECODE((isa), (bytes)), (want_length)); \
		CHECK_TEXT(text, (want));                           \
	} while (0)

#define NEED_LLVM(isa)                              \
	do {                                        \
		if (isa_why(isa)) {                 \
			static char why_[1024];     \
			strcpy(why_, isa_why(isa)); \
			isa_free(isa);              \
			SKIP(why_);                 \
		}                                   \
	} while (0)

TEST(x86_64)
{
	struct isa *isa = make(ISA_X86_64, NULL);

	NEED_LLVM(isa);
	printf("# %s\n", isa_library(isa));
	CHECK(strncmp(isa_library(isa), "LLVM ", 5) == 0);
	CHECK_DECODE(isa, "\x90", 1, "nop");
	CHECK_DECODE(isa, "\xe9\x00\x01\x00\x00", 5, "jmp 0x401105");
	CHECK_DECODE(isa, "\x75\xfe", 2, "jne 0x401000");
	CHECK_DECODE(isa, "\xe8\xfb\xef\xff\xff", 5, "callq 0x400000");
	CHECK_DECODE(isa, "\xf3\x0f\x1e\xfa", 4, "endbr64");
	CHECK_DECODE(isa, "\x62\xf1\x7c\xc9\x58\x40\x10", 7,
		     "vaddps 0x400(%rax), %zmm0, %zmm0 {%k1} {z}");
	CHECK_DECODE(isa, "\x62\xf2\x7d\x4f\xb8\xc1", 6, "vfmadd231ps %zmm1, %zmm0, %zmm0 {%k7}");
	CHECK_DECODE(isa, "\x48\xc7\xc0\xe8\x03\x00\x00", 7, "movq $0x3e8, %rax");
	CHECK_DECODE(isa, "\x48\x8b\x05\x10\x00\x00\x00", 7, "movq 0x10(%rip), %rax");
	CHECK_DECODE(isa, "\xf3\xa4", 2, "rep movsb (%rsi), %es:(%rdi)");
	isa_free(isa);
}

TEST(x86_64_extensions)
{
	struct isa *isa = make(ISA_X86_64, "no such processor, and none is needed");

	NEED_LLVM(isa);
	if (atoi(isa_library(isa) + strlen("LLVM ")) >= 14)
		CHECK_DECODE(isa, "\x62\xf5\x74\x48\x58\xc2", 6, "vaddph %zmm2, %zmm1, %zmm0");
	CHECK_DECODE(isa, "\xc4\xe2\x73\x5e\xc2", 5, "tdpbssd %tmm1, %tmm2, %tmm0");
	CHECK_DECODE(isa, "\xc4\xe2\x7b\x4b\x04\x08", 6, "tileloadd (%rax,%rcx), %tmm0");
	CHECK_DECODE(isa, "\x62\xf2\x7e\x48\x72\xc1", 6, "vcvtneps2bf16 %zmm1, %ymm0");
	isa_free(isa);
}

TEST(x86_64_lock_is_no_instruction)
{
	struct isa *isa = make(ISA_X86_64, NULL);

	NEED_LLVM(isa);
	CHECK_DECODE(isa, "\xf0\xff\x00", 3, "lock incl (%rax)");
	CHECK_DECODE(isa, "\xf0\x48\x0f\xb1\x0d\x10\x00\x00\x00", 9,
		     "lock cmpxchgq %rcx, 0x10(%rip)");
	CHECK_DECODE(isa, "\xf0", 1, "lock");
	CHECK_EQUAL(DECODE(isa, "\xf0\xf0\xff\x00"), 1);
	CHECK_EQUAL(DECODE(isa, "\xf0\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\xff\x04\x25"
				"\x00\x00\x00\x00"),
		    1);
	isa_free(isa);
}

TEST(x86_64_cut_off)
{
	struct isa *isa = make(ISA_X86_64, NULL);

	NEED_LLVM(isa);
	CHECK_DECODE(isa, "\x0f", 1, ".byte 0x0f");
	CHECK_DECODE(isa, "\x62\xf1\x7c\xc9\x58\x40", 1, ".byte 0x62");
	CHECK_DECODE(isa, "\xe9\x00\x01\x00", 1, ".byte 0xe9");
	CHECK_DECODE(isa, "\xff\xff", 1, ".byte 0xff");
	isa_free(isa);
}

TEST(arm64)
{
	struct isa *isa = make(ISA_ARM64, "neoverse-n1");

	NEED_LLVM(isa);
	CHECK_DECODE(isa, "\x1f\x20\x03\xd5", 4, "nop");
	CHECK_DECODE(isa, "\xff\xff\xff\x17", 4, "b 0x400ffc");
	CHECK_DECODE(isa, "\x00\x01\x00\x54", 4, "b.eq 0x401020");
	CHECK_DECODE(isa, "\x80\x00\x00\x90", 4, "adrp x0, 0x411000");
	CHECK_DECODE(isa, "\x20\x00\x20\xd4", 4, "brk #0x1");
	CHECK_DECODE(isa, "\x00\x00\x40\xf9", 4, "ldr x0, [x0]");
	CHECK_DECODE(isa, "\x00\x00\x20\x04", 4, "add z0.b, z0.b, z0.b");
	CHECK_DECODE(isa, "\x00\x00\xe2\xb8", 4, "ldaddal w2, w0, [x0]");
	CHECK_DECODE(isa, "\x00\x00\x00\x00\x1f\x20\x03\xd5", 4, "udf #0x0");
	CHECK_DECODE(isa, "\xff\xff\xff\xff\x1f\x20\x03\xd5", 4, ".inst 0xffffffff");
	CHECK_DECODE(isa, "\x1f\x20\x03", 1, ".byte 0x1f");
	isa_free(isa);
}

TEST(amdgpu)
{
	struct isa *isa = make(ISA_AMDGPU, "gfx90a:sramecc+:xnack-");

	NEED_LLVM(isa);
	CHECK_DECODE(isa, "\x00\x00\x81\xbf", 4, "s_endpgm");
	CHECK_DECODE(isa, "\xfc\xff\x82\xbf", 4, "s_branch 0x400ff4");
	CHECK_DECODE(isa, "\x04\x00\x85\xbf", 4, "s_cbranch_scc1 0x401014");
	CHECK_DECODE(isa, "\xff\xff\xff\xcf\xff\xff\xff\xff", 4, ".long 0xcfffffff");
	CHECK_DECODE(isa, "\x00\x00\x81", 1, ".byte 0x00");
	isa_free(isa);
}

TEST(amdgpu_needs_its_processor)
{
	struct isa *isa = make(ISA_AMDGPU, NULL);

	CHECK(isa_why(isa) && strstr(isa_why(isa), "processor"));
	CHECK(!isa_library(isa));
	CHECK_DECODE(isa, "\x00\x00\x81\xbf", 4, ".long 0xbf810000");
	isa_free(isa);
	isa = make(ISA_AMDGPU, "gfx\033[2J");
	CHECK(isa_why(isa) && strstr(isa_why(isa), "'gfx?[2J'"));
	isa_free(isa);
}

TEST(text_is_cut)
{
	struct isa *isa = make(ISA_X86_64, NULL);
	const uint8_t syscall[] = {0x0f, 0x05};
	char small[5] = "zzzz";
	size_t length = 0;

	NEED_LLVM(isa);
	CHECK_EQUAL(isa_decode(isa, syscall, 2, 0, small, 4, &length), 0);
	CHECK_TEXT(small, "sys");
	CHECK_EQUAL(length, 2);
	CHECK_EQUAL(isa_decode(isa, syscall, 2, 0, small, 1, &length), 0);
	CHECK_TEXT(small, "");
	CHECK_EQUAL(isa_decode(isa, syscall, 2, 0, NULL, 0, &length), 0);
	CHECK_EQUAL(length, 2);
	length = 77;
	CHECK_EQUAL(isa_decode(isa, syscall, 0, 0, small, 4, &length), -EINVAL);
	CHECK_EQUAL(length, 77);
	CHECK(strstr(error_text(), "no bytes"));
	isa_free(isa);
}

static void check_hex(enum isa_type type, const char *why)
{
	struct isa *isa = make(type, "gfx90a");

	CHECK(isa_why(isa) && strstr(isa_why(isa), why));
	if (isa_why(isa))
		printf("# %s\n", isa_why(isa));
	CHECK(!isa_library(isa));
	if (type == ISA_ARM64)
		CHECK_DECODE(isa, "\x1f\x20\x03\xd5", 4, ".inst 0xd503201f");
	else if (type == ISA_AMDGPU)
		CHECK_DECODE(isa, "\x1f\x20\x03\xd5", 4, ".long 0xd503201f");
	else
		CHECK_DECODE(isa, "\x90\x90", 1, ".byte 0x90");
	isa_free(isa);
}

TEST(hex_without_a_library)
{
	const enum isa_type types[] = {ISA_X86_64, ISA_ARM64, ISA_AMDGPU};

	setenv("DUET_LLVM", "/nonexistent", 1);
	for (size_t i = 0; i < 3; i++)
		check_hex(types[i], "/nonexistent");
	setenv("DUET_LLVM", "libc.so.6", 1);
	check_hex(ISA_X86_64, "libc.so.6");
	unsetenv("DUET_LLVM");
	check_hex(ISA_UNKNOWN, "instruction set");
	check_hex((enum isa_type)99, "instruction set");
	check_hex((enum isa_type) - 1, "instruction set");
	isa_free(NULL);
}

TEST(libraries_are_refused)
{
	setenv("DUET_LLVM", fake_llvm, 1);
	setenv("FAKE_LLVM_MAJOR", "9", 1);
	check_hex(ISA_X86_64, "is not LLVM 11 or newer");
	setenv("FAKE_LLVM_MAJOR", "12", 1);
	check_hex(ISA_AMDGPU, "LLVM 13 or newer is needed to decode gfx90a");
	setenv("FAKE_LLVM_MAJOR", "19", 1);
	check_hex(ISA_ARM64, "without the target AArch64");
	unsetenv("FAKE_LLVM_MAJOR");
	unsetenv("DUET_LLVM");
}

TEST(what_a_library_says_is_checked)
{
	struct isa *isa;

	setenv("DUET_LLVM", fake_llvm, 1);
	isa = make(ISA_X86_64, NULL);
	REQUIRE(!isa_why(isa));
	CHECK(strncmp(isa_library(isa), "LLVM 19.1.7 (", 13) == 0);
	CHECK_DECODE(isa, "\x01", 1, ".fake");
	CHECK_DECODE(isa, "\xfe", 1, "?[2J evil??? %rax, %rbx");
	CHECK_EQUAL(DECODE(isa, "\xff"), 1);
	CHECK_EQUAL(strlen(text), ISA_TEXT_SIZE - 1);
	CHECK_DECODE(isa, "\x77", 1, ".byte 0x77");
	isa_free(isa);
	unsetenv("DUET_LLVM");
}

/* How long a child's answers are waited for. Where one sleeps for ever, nobody has to wait as long
 * as that to see it. */
static struct timeval patience;
static bool is_impatient;
int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	const struct timeval short_time = {.tv_sec = 3};

	if (level == SOL_SOCKET && name == SO_RCVTIMEO && is_impatient) {
		memcpy(&patience, value, sizeof(patience));
		value = &short_time;
	}
	return __real_setsockopt(fd, level, name, value, size);
}

TEST(amdgpu_survives_what_llvm_does_not)
{
	struct isa *isa;

	setenv("DUET_LLVM", fake_llvm, 1);
	isa = make(ISA_AMDGPU, "gfx90a");
	REQUIRE(!isa_why(isa));
	is_impatient = true;
	CHECK_DECODE(isa, "\x01\x02\x03\x04", 1, ".fake");
	is_impatient = false;
	CHECK_DECODE(isa, "\xad\x02\x03\x04", 4, ".long 0x040302ad");
	CHECK_EQUAL(patience.tv_sec, 30);
	CHECK_DECODE(isa, "\x01\x02\x03\x04", 1, ".fake");
	for (int i = 0; i < 47; i++)
		CHECK_DECODE(isa, "\xde\x02\x03\x04", 4, ".long 0x040302de");
	CHECK_DECODE(isa, "\x01\x02\x03\x04", 1, ".fake");
	CHECK(!isa_why(isa));
	CHECK_DECODE(isa, "\xde\x02\x03\x04", 4, ".long 0x040302de");
	CHECK(isa_why(isa) && strstr(isa_why(isa), "crashed"));
	CHECK_DECODE(isa, "\x01\x02\x03\x04", 4, ".long 0x04030201");
	isa_free(isa);
	unsetenv("DUET_LLVM");
}

/* NULL, or what went wrong. */
static void *make_and_decode(void *data)
{
	enum isa_type type = *(const enum isa_type *)data;
	const uint8_t code[] = {0x90, 0x00, 0x00, 0x00};
	char line[ISA_TEXT_SIZE];
	size_t length;

	for (int i = 0; i < 50; i++) {
		struct isa *isa = NULL;

		if (isa_new(type, NULL, &isa) ||
		    isa_decode(isa, code, sizeof(code), 0, line, sizeof(line), &length) ||
		    (!isa_why(isa) && type == ISA_X86_64 && strcmp(line, "nop") != 0))
			return "failed";
		isa_free(isa);
	}
	return NULL;
}

TEST(threads_have_their_own)
{
	enum isa_type types[] = {ISA_X86_64, ISA_ARM64, ISA_X86_64, ISA_ARM64};
	pthread_t threads[4];
	void *result;

	for (int i = 0; i < 4; i++)
		REQUIRE(pthread_create(&threads[i], NULL, make_and_decode, &types[i]) == 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		CHECK(!result);
	}
}

static uint64_t random_state = 88172645463325252ULL;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static bool is_plain(const char *line)
{
	size_t length = strlen(line);

	for (size_t i = 0; i < length; i++)
		if (line[i] < ' ' || line[i] > '~' || (line[i] == ' ' && line[i + 1] == ' '))
			return false;
	return length && line[0] != ' ' && line[length - 1] != ' ' && !strstr(line, "//") &&
	       !strstr(line, " # ") && !strchr(line, ';');
}

/* Bytes that end where readable memory does. */
static void decode_random(struct isa *isa, uint8_t *end, long count, const char *first)
{
	size_t size, length;
	uint64_t words[3];
	long decoded = 0;

	for (long i = 0; i < count; i++) {
		for (int j = 0; j < 3; j++)
			words[j] = random_next();
		size = 1 + random_next() % 20;
		memcpy(end - size, words, size);
		if (first && i % 2)
			end[-(long)size] = (uint8_t)first[random_next() % strlen(first)];
		length = 0;
		if (isa_decode(isa, end - size, size, random_next(), text, sizeof(text), &length) ||
		    !length || length > size || !is_plain(text)) {
			printf("# at %ld: %zu of %zu '%s'\n", i, length, size, text);
			harness_fail(__FILE__, __LINE__, "a decoded instruction");
			return;
		}
		decoded += text[0] != '.';
	}
	printf("# %ld of %ld random inputs are instructions\n", decoded, count);
	CHECK(decoded > count / 20 && decoded < count);
}

static void try_random(enum isa_type type, const char *processor, long count, const char *first)
{
	struct isa *isa = make(type, processor);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *memory =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED_LLVM(isa);
	REQUIRE(memory != MAP_FAILED && mprotect(memory + page, page, PROT_NONE) == 0);
	decode_random(isa, memory + page, count, first);
	munmap(memory, 2 * page);
	isa_free(isa);
}

TEST(random_bytes_x86_64)
{
	try_random(ISA_X86_64, NULL, 600000, "\x62\xc4\xc5\x0f\x66\xf0\xf2\xf3\xd5\x48\x8f");
}

TEST(random_bytes_arm64)
{
	try_random(ISA_ARM64, NULL, 600000, NULL);
}

TEST(random_bytes_amdgpu)
{
	static const char *const processors[] = {"gfx803", "gfx90a", "gfx1030"};

	for (size_t i = 0; i < 3; i++)
		try_random(ISA_AMDGPU, processors[i], 20000, NULL);
}

int main(int argc, char **argv)
{
	fake_llvm = argc > 1 ? argv[1] : "";
	RUN(threads_have_their_own);
	RUN(x86_64);
	RUN(x86_64_extensions);
	RUN(x86_64_lock_is_no_instruction);
	RUN(x86_64_cut_off);
	RUN(arm64);
	RUN(amdgpu);
	RUN(amdgpu_needs_its_processor);
	RUN(text_is_cut);
	RUN(random_bytes_x86_64);
	RUN(random_bytes_arm64);
	RUN(random_bytes_amdgpu);
	/* from here on with libraries that the tests choose */
	RUN(hex_without_a_library);
	RUN(libraries_are_refused);
	RUN(what_a_library_says_is_checked);
	RUN(amdgpu_survives_what_llvm_does_not);
	return harness_end();
}
