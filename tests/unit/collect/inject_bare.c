/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/inject_bare.c - a program without glibc
 *
 * Runs in:  a process of its own, until its stdin ends
 * Gets:     in argv[1] a file that it maps, as a loader would
 */
#include <stddef.h>

#if defined(__x86_64__)
enum { READ = 0, WRITE = 1, OPEN = 2, MMAP = 9, EXIT = 60 };

static long call(long number, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#else
enum { EXIT = 1, READ = 3, WRITE = 4, OPEN = 5, MMAP = 0 };

static long call(long number, long a, long b, long c, long d, long e)
{
	long result;

	(void)d;
	(void)e;
	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "memory");
	return result;
}
#endif

/* The stack as the kernel leaves it: a count, arguments. */
__attribute__((used, noreturn)) void begin(const long *stack);
void begin(const long *stack)
{
	char byte;

	if (MMAP != 0 && stack[0] > 1) {
		long fd = call(OPEN, stack[2], 0, 0, 0, 0);

		call(MMAP, 0, 4096, 1, 2, fd);
	}
	call(WRITE, 1, (long)"ready\n", 6, 0, 0);
	while (call(READ, 0, (long)&byte, 1, 0, 0) > 0)
		;
	call(EXIT, 0, 0, 0, 0, 0);
	for (;;)
		;
}

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n	mov %rsp, %rdi\n	and $-16, %rsp\n	call "
	"begin\n");
#else
__asm__(".globl _start\n_start:\n	mov %esp, %eax\n	and $-16, %esp\n	sub $12, "
	"%esp\n"
	"	push %eax\n	call begin\n");
#endif
