/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/child.c - a child process is run to its end
 */
#include "diagnosis.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static void convert_frame(uint64_t ns);

PLANT(.name = "child", .kinds = "child_process", .words = "convert_frame child process", .every = 4,
      .act = convert_frame);

NOINLINE static void convert_frame(uint64_t ns)
{
	char seconds[32];
	char *arguments[] = {(char *)"sleep", seconds, NULL};
	pid_t child;

	snprintf(seconds, sizeof(seconds), "%.6f", (double)ns / 1e9);
	PLANT_BEGIN();
	check(posix_spawnp(&child, "sleep", NULL, NULL, arguments, environ) == 0, "sleep");
	check(waitpid(child, NULL, 0) == child, "waitpid");
	PLANT_END();
}
