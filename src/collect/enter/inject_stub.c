/* SPDX-License-Identifier: MIT
 *
 * collect/enter/inject_stub.c - machine code that is copied into a process to load a library
 * (x86-64)
 *
 * Runs in:  the target process; in the recorder it is data
 * Gets:     a struct injected_block
 * Gives:    a loaded library whose entry function was called
 * Owns:     its own pages, which it unmaps itself
 * Fails:    with an error in the block
 * Why:      the borrowed thread only creates another thread. A library's constructors and entry
 *           function may take the loader's and the allocator's locks, wait and sleep; that is
 *           harmless in a new thread, but not in the middle of the program's own function. At its
 *           end the code sends the borrowed thread a signal that is ignored by default, which stops
 *           the thread for its tracer, the recorder. If the recorder is gone, the signal does
 *           nothing, and the thread returns by a frame like that of a signal handler and continues.
 */
#include "collect/enter/inject_stub.h"

#if defined(__x86_64__)

/* Offsets of the members of struct injected_block. */
#define PLACES(X)             \
	X(pthread_create, 0)  \
	X(pthread_self, 8)    \
	X(pthread_detach, 16) \
	X(dlopen, 24)         \
	X(dlsym, 32)          \
	X(dlerror, 40)        \
	X(munmap, 48)         \
	X(frame, 56)          \
	X(code, 64)           \
	X(code_bytes, 72)     \
	X(data, 80)           \
	X(data_bytes, 88)     \
	X(thread, 96)         \
	X(function, 104)      \
	X(pid, 112)           \
	X(tid, 116)           \
	X(signal, 120)        \
	X(created, 124)       \
	X(stage, 128)         \
	X(memory_fd, 132)     \
	X(wants_file, 136)    \
	X(has_file, 140)      \
	X(is_released, 144)   \
	X(has_left, 148)      \
	X(result, 152)        \
	X(path, 160)          \
	X(entry, 1184)        \
	X(argument, 1248)     \
	X(why, 1760)

#define CHECK_PLACE(member, at) \
	_Static_assert(offsetof(struct injected_block, member) == (at), #member);
PLACES(CHECK_PLACE)
_Static_assert(INJECTED_RUNS == 1 && INJECTED_WANTS_FILE == 2 && INJECTED_HAS_NO_FILE == 3 &&
		       INJECTED_FAILED == 4 && INJECTED_DONE == 5,
	       "stages");

#define SET_PLACE(member, at) ".set injected_" #member ", " #at "\n"

__asm__(PLACES(
	SET_PLACE) ".pushsection .rodata\n"
		   ".globl injected_code_begin, injected_code_stop, injected_code_end\n"
		   ".hidden injected_code_begin, injected_code_stop, injected_code_end\n"
		   "injected_code_begin:\n"
		   "	mov injected_data(%rbx), %rdi\n"
		   "	mov injected_data_bytes(%rbx), %rsi\n"
		   "	mov $3, %edx\n"
		   "	mov $10, %eax\n" /* mprotect: the data pages were mapped executable, too */
		   "	syscall\n"
		   "	test %eax, %eax\n"
		   "	jnz 1f\n"
		   "	lea injected_thread(%rbx), %rdi\n"
		   "	xor %esi, %esi\n"
		   "	lea 10f(%rip), %rdx\n"
		   "	mov %rbx, %rcx\n"
		   "	call *injected_pthread_create(%rbx)\n"
		   "	mov %eax, injected_created(%rbx)\n"
		   "1:	mov injected_pid(%rbx), %edi\n"
		   "	mov injected_tid(%rbx), %esi\n"
		   "	mov injected_signal(%rbx), %edx\n"
		   "	mov $234, %eax\n" /* tgkill: a tracer takes over here */
		   "	syscall\n"
		   "injected_code_stop:\n"
		   "	mov injected_frame(%rbx), %rsp\n"
		   "	cmpl $-1, injected_created(%rbx)\n"
		   "	je 2f\n"
		   "	movl $1, injected_has_left(%rbx)\n"
		   "2:	mov $15, %eax\n" /* rt_sigreturn */
		   "	syscall\n"
		   "	hlt\n"
		   /* The new thread: rdi is the block. It blocks all signals, because the program's
		    *                 * handlers do not expect this thread. */
		   "10:	push %rbx\n"
		   "	push %r12\n"
		   "	sub $8, %rsp\n"
		   "	mov %rdi, %rbx\n"
		   "	movq $-1, (%rsp)\n"
		   "	mov $14, %eax\n" /* rt_sigprocmask(SIG_BLOCK, …) */
		   "	xor %edi, %edi\n"
		   "	mov %rsp, %rsi\n"
		   "	xor %edx, %edx\n"
		   "	mov $8, %r10d\n"
		   "	syscall\n"
		   "	call *injected_pthread_self(%rbx)\n"
		   "	mov %rax, %rdi\n"
		   "	call *injected_pthread_detach(%rbx)\n"
		   "	movl $1, injected_stage(%rbx)\n"
		   "	cmpl $0, injected_wants_file(%rbx)\n"
		   "	je 20f\n"
		   "	mov $319, %eax\n" /* memfd_create(entry, MFD_CLOEXEC) */
		   "	lea injected_entry(%rbx), %rdi\n"
		   "	mov $1, %esi\n"
		   "	syscall\n"
		   "	mov %eax, injected_memory_fd(%rbx)\n"
		   "	movl $2, injected_stage(%rbx)\n"
		   "	mov $5000, %r12d\n" /* ms */
		   "11:	cmpl $0, injected_has_file(%rbx)\n"
		   "	jne 20f\n"
		   "	call 90f\n"
		   "	dec %r12d\n"
		   "	jnz 11b\n"
		   "	mov $3, %r12d\n"
		   "	jmp 40f\n"
		   "20:	mov injected_function(%rbx), %rax\n"
		   "	test %rax, %rax\n"
		   "	jnz 21f\n"
		   "	lea injected_path(%rbx), %rdi\n"
		   "	mov $2, %esi\n" /* RTLD_NOW */
		   "	call *injected_dlopen(%rbx)\n"
		   "	test %rax, %rax\n"
		   "	jz 30f\n"
		   "	mov %rax, %rdi\n"
		   "	lea injected_entry(%rbx), %rsi\n"
		   "	call *injected_dlsym(%rbx)\n"
		   "	test %rax, %rax\n"
		   "	jz 30f\n"
		   "21:	lea injected_argument(%rbx), %rdi\n"
		   "	call *%rax\n"
		   "	mov %eax, injected_result(%rbx)\n"
		   "	mov $5, %r12d\n"
		   "	jmp 40f\n"
		   "30:	call *injected_dlerror(%rbx)\n"
		   "	mov $4, %r12d\n"
		   "	test %rax, %rax\n"
		   "	jz 40f\n"
		   "	mov %rax, %rsi\n"
		   "	lea injected_why(%rbx), %rdi\n"
		   "	mov $255, %ecx\n" /* the last byte stays 0 */
		   "31:	lodsb\n"
		   "	stosb\n"
		   "	test %al, %al\n"
		   "	loopnz 31b\n"
		   "40:	mov injected_memory_fd(%rbx), %edi\n"
		   "	test %edi, %edi\n"
		   "	js 41f\n"
		   "	mov $3, %eax\n" /* close */
		   "	syscall\n"
		   "41:	mov %r12d, injected_stage(%rbx)\n"
		   "	mov $3000, %r12d\n" /* ms */
		   "42:	cmpl $0, injected_is_released(%rbx)\n"
		   "	jne 50f\n"
		   "	call 90f\n"
		   "	dec %r12d\n"
		   "	jnz 42b\n"
		   "	cmpl $0, injected_has_left(%rbx)\n"
		   "	je 60f\n" /* the recorder died early; the pages may still be in use, and
				     stay mapped */
		   /* A jump into the C library's munmap unmaps this code; munmap returns to the
		    * caller of the thread function. */
		   "50:	mov injected_code(%rbx), %r12\n"
		   "	mov injected_code_bytes(%rbx), %rax\n"
		   "	mov %rax, (%rsp)\n"
		   "	mov injected_munmap(%rbx), %r8\n"
		   "	mov injected_data(%rbx), %rdi\n"
		   "	mov injected_data_bytes(%rbx), %rsi\n"
		   "	mov $11, %eax\n" /* munmap */
		   "	syscall\n"
		   "	mov %r12, %rdi\n"
		   "	mov (%rsp), %rsi\n"
		   "	add $8, %rsp\n"
		   "	pop %r12\n"
		   "	pop %rbx\n"
		   "	jmp *%r8\n"
		   "60:	xor %eax, %eax\n"
		   "	add $8, %rsp\n"
		   "	pop %r12\n"
		   "	pop %rbx\n"
		   "	ret\n"
		   /* Sleeps 1 ms. */
		   "90:	sub $24, %rsp\n"
		   "	movq $0, (%rsp)\n"
		   "	movq $1000000, 8(%rsp)\n"
		   "	mov %rsp, %rdi\n"
		   "	xor %esi, %esi\n"
		   "	mov $35, %eax\n" /* nanosleep */
		   "	syscall\n"
		   "	add $24, %rsp\n"
		   "	ret\n"
		   "injected_code_end:\n"
		   ".popsection\n");

#else

const uint8_t injected_code_begin[1], injected_code_stop[1], injected_code_end[1];

#endif
