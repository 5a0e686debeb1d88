/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_verb.c - libFuzzer target: a verb of duet over any trace
 *
 * Compiled once for each verb and format: FUZZ_COMMAND is its struct command, FUZZ_ARGUMENTS what
 * it always gets, FUZZ_VARIANTS what it gets one of, by the size of the trace: a list of {"--view",
 * "cpu"}. FUZZ_OUTPUT: 0: stdout, 1: a file, 2: a folder. FUZZ_TWO: the verb compares the trace
 *with one that is among the arguments, and may refuse both.
 *
 *	fuzz_verb_NAME --seed FOLDER		writes seeds
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file/unfinished.h"
#include "cli/command.h"
#include "trace_mutator.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { ARGUMENTS_MAX = 16 };

static const char *const fixed[] = {FUZZ_ARGUMENTS, NULL};
static const char *const variants[][4] = {FUZZ_VARIANTS};

static FILE *nowhere;

/* argv may be reordered, but not its texts. */
static int gather(const char *trace, const char *output, size_t variant, char **argv)
{
	int argc = 0;

	for (size_t i = 0; fixed[i]; i++)
		argv[argc++] = (char *)fixed[i];
	for (size_t i = 0; i < 4 && variants[variant][i]; i++)
		argv[argc++] = (char *)variants[variant][i];
	if (FUZZ_OUTPUT) {
		argv[argc++] = (char *)"-o";
		argv[argc++] = (char *)output;
	}
	argv[argc++] = (char *)trace;
	argv[argc] = NULL;
	return argc;
}

static void require(bool condition, const char *what, const char *said)
{
	if (condition)
		return;
	dprintf(2, "%s: %s\n", what, said);
	abort();
}

/* A file, or a folder with all that is in it. */
static void remove_output(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder < 0) {
		unlink(path);
		return;
	}
	unfinished_remove_folder(folder, AT_FDCWD, path);
	close(folder);
}

static void run(const char *trace, size_t variant)
{
	char *argv[ARGUMENTS_MAX], *said = NULL;
	char output[64];
	FILE *standard_error = stderr;
	size_t said_size;
	int status;

	snprintf(output, sizeof(output), "/dev/shm/fuzz-verb-%d", (int)getpid());
	stderr = open_memstream(&said, &said_size);
	status = FUZZ_COMMAND.run(&FUZZ_COMMAND, gather(trace, output, variant, argv), argv);
	fclose(stderr);
	stderr = standard_error;
	error_clear();
	if (FUZZ_OUTPUT)
		remove_output(output);
	require(status == STATUS_DONE || status == STATUS_FAILED || status == STATUS_INCOMPLETE ||
			(FUZZ_TWO && (status == STATUS_USAGE || status == STATUS_INCONCLUSIVE)),
		"another status", said);
	require((status != STATUS_FAILED && status != STATUS_USAGE) || *said,
		"a failure without a word", said);
	require(!strstr(said, "bug in duet"), "an error without a text", said);
	free(said);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	run(path, size % ARRAY_COUNT(variants));
	close(fd);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	trace_mutator_start(*argc, *argv, true);
	nowhere = fopen("/dev/null", "we");
	if (!nowhere)
		return 1;
	stdout = nowhere;
	return 0;
}
