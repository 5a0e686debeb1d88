/* SPDX-License-Identifier: MIT
 *
 * tests/programs/asan.c - built with -fsanitize=address by each compiler: a profiler must not upset
 * it
 *
 *	asan [overflow]
 */
#include "opencl_work.h"

#include <string.h>

int main(int argc, char **argv)
{
	struct work w = {0};
	char *text = malloc(10);

	work_open(&w);
	for (int i = 0; i < 10; i++)
		work_step(&w);
	work_close(&w);
	strcpy(text, "fine");
	printf("%s\n", text);
	fflush(stdout);
	if (argc > 1 && strcmp(argv[1], "overflow") == 0)
		((volatile char *)text)[10 + argc - 2] = 1;
	free(text);
	return 0;
}
