/* SPDX-License-Identifier: MIT
 *
 * tests/programs/bad_stacks.c - launches where a stack is hard to walk, and where a look at it may
 * harm
 *
 *	bad_stacks coroutine       from a stack of its own whose outermost return address is a
 *	                           function's begin
 *	bad_stacks far             rbp holds no frame though the unwind tables say so: the next
 *	                           frame is far away
 *	bad_stacks null            … the next frame is where address -8 points
 *	bad_stacks limit BYTES     with so much more address space than there was before the first
 *	                           launch
 *	bad_stacks fork-dlopen N   two threads launch, a third one forks N times, each child calls
 *	                           dlopen
 *
 * Without a profiler each prints `ok` and ends with 0.
 */
#include "opencl_work.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static struct work work;

static NOINLINE void launch(void)
{
	size_t size = 64;

	work_check(clEnqueueNDRangeKernel(work.queue, work.kernel, 1, NULL, &size, NULL, 0, NULL,
					  NULL),
		   "clEnqueueNDRangeKernel");
	__asm__ volatile("");
}

#if defined(__x86_64__)

void *bad_stacks_main_sp, *bad_stacks_other_sp;
void bad_stacks_switch(void *to, void **ret_from);
void bad_stacks_far(void (*call)(void));
void bad_stacks_null(void (*call)(void));
void bad_stacks_leave(void);

__asm__(".text\n"
	".type bad_stacks_switch, @function\n"
	"bad_stacks_switch:\n"
	".cfi_startproc\n"
	"pushq %rbp\n"
	".cfi_adjust_cfa_offset 8\n"
	"movq %rsp, (%rsi)\n"
	"movq %rdi, %rsp\n"
	"popq %rbp\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".cfi_endproc\n"
	".size bad_stacks_switch, . - bad_stacks_switch\n"
	/* The row of the byte before bad_stacks_leave says: a frame of 64 bytes, all of which lie
	 * above the stack's end. */
	".type bad_stacks_before, @function\n"
	"bad_stacks_before:\n"
	".cfi_startproc\n"
	"subq $56, %rsp\n"
	".cfi_adjust_cfa_offset 56\n"
	"nop\n"
	"nop\n"
	".cfi_endproc\n"
	".size bad_stacks_before, . - bad_stacks_before\n"
	".type bad_stacks_leave, @function\n"
	"bad_stacks_leave:\n"
	".cfi_startproc\n"
	"subq $8, %rsp\n"
	".cfi_adjust_cfa_offset 8\n"
	"movq bad_stacks_main_sp(%rip), %rdi\n"
	"leaq bad_stacks_other_sp(%rip), %rsi\n"
	"call bad_stacks_switch\n"
	".cfi_endproc\n"
	".size bad_stacks_leave, . - bad_stacks_leave\n"
	".type bad_stacks_far, @function\n"
	"bad_stacks_far:\n"
	".cfi_startproc\n"
	"pushq %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset 6, -16\n"
	"movq %rsp, %rbp\n"
	".cfi_def_cfa_register 6\n"
	"movabsq $0x7ffffffff000, %rbp\n"
	"call *%rdi\n"
	"popq %rbp\n"
	".cfi_def_cfa 7, 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size bad_stacks_far, . - bad_stacks_far\n"
	".type bad_stacks_null, @function\n"
	"bad_stacks_null:\n"
	".cfi_startproc\n"
	"pushq %rbp\n"
	/* the frame begins where the word at rbp - 8 points */
	".cfi_escape 0x0f, 3, 0x76, 0x78, 6\n"
	"xorl %ebp, %ebp\n"
	"call *%rdi\n"
	"popq %rbp\n"
	".cfi_def_cfa 7, 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size bad_stacks_null, . - bad_stacks_null\n");

static NOINLINE void other_main(void)
{
	launch();
}

static void mode_coroutine(int number)
{
	enum { BYTES = 1 << 16 };
	char *memory = mmap(NULL, 3 * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void **sp = (void **)(memory + 2 * (size_t)BYTES);

	(void)number;
	if (memory == MAP_FAILED || mprotect(memory + BYTES, BYTES, PROT_READ | PROT_WRITE) != 0)
		exit(1);
	*--sp = (void *)bad_stacks_leave;
	*--sp = (void *)other_main;
	*--sp = NULL;
	bad_stacks_switch(sp, &bad_stacks_main_sp);
}

static void mode_far(int number)
{
	(void)number;
	bad_stacks_far(launch);
}

static void mode_null(int number)
{
	(void)number;
	bad_stacks_null(launch);
}

#else

static void mode_coroutine(int number)
{
	launch();
}
#define mode_far  mode_coroutine
#define mode_null mode_coroutine

#endif

static void mode_limit(int number)
{
	FILE *file = fopen("/proc/self/statm", "r");
	struct rlimit limit = {0, RLIM_INFINITY};
	unsigned long pages = 0;

	if (!file || fscanf(file, "%lu", &pages) != 1)
		exit(1);
	fclose(file);
	limit.rlim_cur = pages * 4096 + (unsigned long)number;
	if (setrlimit(RLIMIT_AS, &limit) != 0)
		exit(1);
	launch();
}

static atomic_bool stopped;

static void *launch_all_the_time(void *unused)
{
	(void)unused;
	while (!atomic_load(&stopped)) {
		launch();
		clFinish(work.queue);
	}
	return NULL;
}

/* 0: the child ended by itself */
static int run_child(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(5);
		_exit(dlopen("libz.so.1", RTLD_NOW) || dlopen("libm.so.6", RTLD_NOW) ? 0 : 3);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		exit(1);
	return WIFSIGNALED(status);
}

static void mode_fork_dlopen(int number)
{
	pthread_t threads[2];
	int hung = 0;

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, launch_all_the_time, NULL);
	for (int i = 0; i < number && !hung; i++)
		hung += run_child();
	atomic_store(&stopped, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	if (hung)
		printf("a child hung\n");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int number);
	} modes[] = {{"coroutine", mode_coroutine},
		     {"far", mode_far},
		     {"null", mode_null},
		     {"limit", mode_limit},
		     {"fork-dlopen", mode_fork_dlopen}};

	if (argc < 2)
		return 2;
	work_open(&work);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			modes[i].run(argc > 2 ? atoi(argv[2]) : 0);
	work_check(clFinish(work.queue), "clFinish");
	puts("ok");
	return 0;
}
