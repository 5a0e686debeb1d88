// SPDX-License-Identifier: MIT
/*
 * tests/generate/generate_trace.c - write a trace whose report is known beforehand
 *
 * Runs in:  a test, or a shell
 * Gets:     how many events, a seed, a shape
 * Gives:    a trace and a JSON file of what a report of it must say
 * Owns:     the writer
 * Fails:    with status 1 and a line on stderr; 2 for a wrong command line
 * Why a seed and no clock: the same arguments give the same bytes on every machine, so that a
 * failing test can be repeated.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "world.h"

struct arguments {
	uint64_t events, seed;
	const char *out, *answers;
	const struct shape *shape;
};

static int usage(void)
{
	fprintf(stderr, "usage: generate_trace --events N --seed S --out F.duet --answers F.json "
			"[--shape NAME]\nshapes:\n");
	for (size_t i = 0; i < shape_count; i++)
		fprintf(stderr, "  %-8s %s\n", shapes[i].name, shapes[i].help);
	return 2;
}

static bool parse(int argc, char **argv, struct arguments *arguments)
{
	static const struct option options[] = {
		{"events", required_argument, NULL, 'n'}, {"seed", required_argument, NULL, 's'},
		{"out", required_argument, NULL, 'o'},    {"answers", required_argument, NULL, 'a'},
		{"shape", required_argument, NULL, 'p'},  {NULL, 0, NULL, 0}};
	int option;

	*arguments = (struct arguments){.events = 100000, .seed = 1, .shape = &shapes[0]};
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		char *end = "";

		if (option == 'n')
			arguments->events = strtoull(optarg, &end, 10);
		else if (option == 's')
			arguments->seed = strtoull(optarg, &end, 10);
		else if (option == 'o')
			arguments->out = optarg;
		else if (option == 'a')
			arguments->answers = optarg;
		else if (option == 'p')
			arguments->shape = shape_find(optarg);
		if (option == '?' || *end)
			return false;
	}
	return optind == argc && arguments->out && arguments->answers && arguments->shape;
}

static int fail(const char *path, int error)
{
	const char *text = error_text();

	fprintf(stderr, "generate_trace: %s: %s\n", path, *text ? text : strerror(-error));
	return 1;
}

int main(int argc, char **argv)
{
	struct arguments arguments;
	struct answers answers = {0};
	FILE *file;
	int rc;

	if (!parse(argc, argv, &arguments))
		return usage();
	rc = world_write(arguments.out, arguments.shape, arguments.events, arguments.seed,
			 &answers);
	if (rc)
		return fail(arguments.out, rc);
	file = fopen(arguments.answers, "w");
	if (!file)
		return fail(arguments.answers, -errno);
	rc = answers_write(&answers, file);
	if (fclose(file) && !rc)
		rc = -errno;
	answers_fini(&answers);
	return rc ? fail(arguments.answers, rc) : 0;
}
