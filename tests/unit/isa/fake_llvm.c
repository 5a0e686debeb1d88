/* SPDX-License-Identifier: MIT
 *
 * tests/unit/isa/fake_llvm.c - a library with LLVM's C interface that does what LLVM must not
 *
 * FAKE_LLVM_MAJOR is its version. The first byte says what happens: 0xde it dies, 0xad it hangs,
 * 0xfe a text with controls, 0xff an endless one, 0x77 a length behind the end, others ".fake", one
 * byte.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void LLVMGetVersion(unsigned int *major, unsigned int *minor, unsigned int *patch);
EXPORT void LLVMInitializeX86TargetInfo(void);
EXPORT void LLVMInitializeX86TargetMC(void);
EXPORT void LLVMInitializeX86Disassembler(void);
EXPORT void LLVMInitializeAMDGPUTargetInfo(void);
EXPORT void LLVMInitializeAMDGPUTargetMC(void);
EXPORT void LLVMInitializeAMDGPUDisassembler(void);
EXPORT void *LLVMCreateDisasmCPUFeatures(const char *triple, const char *processor,
					 const char *features, void *self, int type, void *operands,
					 void *lookup);
EXPORT int LLVMSetDisasmOptions(void *context, uint64_t options);
EXPORT size_t LLVMDisasmInstruction(void *context, const uint8_t *bytes, uint64_t size,
				    uint64_t address, char *text, size_t text_size);
EXPORT void LLVMDisasmDispose(void *context);

void LLVMGetVersion(unsigned int *major, unsigned int *minor, unsigned int *patch)
{
	const char *text = getenv("FAKE_LLVM_MAJOR");

	*major = text ? (unsigned int)atoi(text) : 19;
	*minor = 1;
	*patch = 7;
}

void LLVMInitializeX86TargetInfo(void)
{
}

void LLVMInitializeX86TargetMC(void)
{
}

void LLVMInitializeX86Disassembler(void)
{
}

void LLVMInitializeAMDGPUTargetInfo(void)
{
}

void LLVMInitializeAMDGPUTargetMC(void)
{
}

void LLVMInitializeAMDGPUDisassembler(void)
{
}

void *LLVMCreateDisasmCPUFeatures(const char *triple, const char *processor, const char *features,
				  void *self, int type, void *operands, void *lookup)
{
	return getenv("FAKE_LLVM_MAJOR") && !lookup ? NULL : malloc(1);
}

int LLVMSetDisasmOptions(void *context, uint64_t options)
{
	return 1;
}

size_t LLVMDisasmInstruction(void *context, const uint8_t *bytes, uint64_t size, uint64_t address,
			     char *text, size_t text_size)
{
	switch (bytes[0]) {
	case 0xde:
		_exit(11);
	case 0xad:
		for (;;)
			pause();
	case 0xfe:
		strcpy(text, "\t\033[2J \tevil\001\xc2\x9b\t%rax,\t%rbx \t # hidden\n# more");
		return 1;
	case 0xff:
		memset(text, 'x', text_size - 1);
		text[text_size - 1] = 0;
		return 1;
	case 0x77:
		strcpy(text, "\tlong");
		return size + 1;
	default:
		strcpy(text, "\t.fake");
		return 1;
	}
}

void LLVMDisasmDispose(void *context)
{
	free(context);
}
