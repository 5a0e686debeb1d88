/* SPDX-License-Identifier: MIT
 *
 * A program with frames of every shape that compilers make, which test_unwind_walk stops at any
 * instruction. Built with -O2 -fomit-frame-pointer and without sanitizers. Writes a byte when it is
 * ready; ends with its parent.
 *
 *	unwind_victim [leaf|frame]      in code without tables, as if it had been made at run time
 */
#include <alloca.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#define NOINLINE __attribute__((noinline, noclone))

typedef int (*work_function)(int value);

static volatile int sink;
static volatile work_function indirect;

static NOINLINE int leaf(int value)
{
	for (int i = 0; i < 20; i++)
		sink += value ^ i;
	return sink;
}

static NOINLINE int tail(int value)
{
	sink++;
	return indirect(value + 1);
}

/* rbp, and all that a call has to keep */
static NOINLINE int with_alloca(int size)
{
	char *bytes = alloca((size_t)size % 500 + 16);

	memset(bytes, size, (size_t)size % 500 + 16);
	return tail(bytes[size % 16]) + bytes[3];
}

static NOINLINE int aligned(int value)
{
	_Alignas(64) volatile char line[64];
	volatile char *more = alloca((size_t)value % 100 + 1);

	line[value & 63] = (char)value;
	more[0] = (char)((uintptr_t)line & 63);
	return with_alloca(value) + line[1] + more[0];
}

static NOINLINE int deep(int depth)
{
	volatile int kept[8] = {depth};
	int below = depth ? deep(depth - 1) : aligned(depth + 40) + leaf(depth);

	return below + kept[depth & 7];
}

static NOINLINE int many(int a, int b, int c, int d, int e, int f, int g, int h)
{
	int sum = leaf(a) + leaf(b) + leaf(c);

	return sum + aligned(d) * leaf(e) + f * leaf(g) + h;
}

static int compare(const void *a, const void *b)
{
	return leaf(*(const int *)a) > 0 ? *(const int *)a - *(const int *)b : with_alloca(3);
}

static NOINLINE void sort(void)
{
	int values[40];

	for (int i = 0; i < 40; i++)
		values[i] = i * 7919 % 101;
	qsort(values, 40, sizeof(values[0]), compare);
}

static NOINLINE void print(void)
{
	char text[200];
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(text, sizeof(text), "%d %s %g %ld", sink, "text", 1.0 / 3, now.tv_nsec);
	sink += (int)strtod(text, NULL) + (int)strlen(text);
	free(strdup(text));
}

/* What waits, from several depths. */
static NOINLINE int waits(int value)
{
	struct timespec pause = {0, 1};

	nanosleep(&pause, NULL);
	if (value)
		return waits(value - 1) + sink;
	return getppid() + (int)write(-1, "", 1) + poll(NULL, 0, 0);
}

/* A leaf that uses no stack, and a function with a frame pointer that calls it. */
void bare_leaf(void);
void bare_frame(void);
__asm__(".text\n"
	"bare_leaf:\n"
	"	mov $50, %ecx\n"
	"1:	dec %ecx\n"
	"	jnz 1b\n"
	"	ret\n"
	"bare_frame:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $48, %rsp\n"
	"	mov $50, %ecx\n"
	"1:	mov %ecx, 8(%rsp)\n"
	"	dec %ecx\n"
	"	jnz 1b\n"
	"	call bare_leaf\n"
	"	leave\n"
	"	ret\n");

static NOINLINE int calls_bare(void (*bare)(void))
{
	for (;;) {
		bare();
		sink++;
	}
	return sink;
}

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *context, void *data)
{
	sink += (int)_Unwind_GetIP(context) + leaf(1);
	return _URC_NO_REASON;
}

static void on_alarm(int number)
{
	int saved = sink;

	deep(3);
	sort();
	sink = saved + number;
}

int main(int argc, char **argv)
{
	struct itimerval often = {{0, 3000}, {0, 3000}};
	void (*bare)(void) = argc > 1 && argv[1][0] == 'l' ? bare_leaf : bare_frame;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	indirect = leaf;
	signal(SIGALRM, on_alarm);
	if (write(STDOUT_FILENO, "", 1) != 1)
		return 1;
	if (argc > 1)
		return calls_bare(bare);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0;; i++) {
		sort();
		deep(i % 200);
		if (i % 20 == 19)
			deep(2000);
		many(i, 2, 3, 4, 5, 6, 7, 8);
		if (i % 5 == 0)
			waits(i % 4);
		print();
		_Unwind_Backtrace(on_frame, argv);
	}
	return argc;
}
