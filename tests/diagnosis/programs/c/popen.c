/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/c/popen.c - the output of a slow command of the shell
 */
#include "diagnosis.h"

static void query_version(uint64_t ns);

PLANT(.name = "popen", .kinds = "pipe child_process", .words = "query_version pipe child",
      .every = 4, .act = query_version);

NOINLINE static void query_version(uint64_t ns)
{
	char command[64], line[16];
	FILE *output;

	snprintf(command, sizeof(command), "sleep %.6f; echo 3", (double)ns / 1e9);
	PLANT_BEGIN();
	output = popen(command, "r");
	check(output && fgets(line, sizeof(line), output), "popen");
	pclose(output);
	PLANT_END();
}
