/* SPDX-License-Identifier: MIT */
/* Built twice with different frames: what is loaded second lies where the first was. Frames are 8
 * bytes more than a multiple of 16. */
#include <stdint.h>
#include <string.h>

#include "unwind_probe.h"

#ifndef PLUGIN_BYTES
#define PLUGIN_BYTES 40
#endif

__attribute__((noinline)) static int inner(int (*back)(void), int depth, char *above)
{
	char here[PLUGIN_BYTES];
	int result;

	memset(here, depth, sizeof(here));
	result = depth ? inner(back, depth - 1, here) : back();
	return result + here[depth % PLUGIN_BYTES] + above[0];
}

int plugin_enter(int (*back)(void));

__attribute__((visibility("hidden"))) int plugin_enter(int (*back)(void))
{
	char first[16] = {0};

	return inner(back, 5, first);
}

#if defined(__x86_64__)

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

/* Where the call returns to is the same place in both, whatever the compiler makes of the rest: on
 * a page of its own, and the size of the frame takes four bytes (sub and add of a 32-bit number)
 * even if it is small. */
__asm__(".set plugin_bytes, " TEXT(PLUGIN_BYTES));
__asm__(".text\n"
	".balign 4096\n"
	".globl plugin_run\n"
	".type plugin_run, @function\n"
	"plugin_run:\n"
	".cfi_startproc\n"
	".byte 0x48, 0x81, 0xec\n"
	".long plugin_bytes\n"
	".cfi_adjust_cfa_offset plugin_bytes\n"
	"call plugin_enter\n"
	".byte 0x48, 0x81, 0xc4\n"
	".long plugin_bytes\n"
	".cfi_adjust_cfa_offset -plugin_bytes\n"
	"ret\n"
	".cfi_endproc\n"
	".size plugin_run, . - plugin_run\n");

#else

int plugin_run(int (*back)(void));

__attribute__((visibility("default"))) int plugin_run(int (*back)(void))
{
	return plugin_enter(back);
}

#endif
