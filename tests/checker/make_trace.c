/* SPDX-License-Identifier: MIT
 *
 * tests/checker/make_trace.c - a trace from its description
 *
 * Usage: make_trace DESCRIPTION OUT; DESCRIPTION is a file or "-". description.h has the grammar.
 */
#include "description.h"

int main(int argc, char **argv)
{
	FILE *file;
	int error;

	if (argc != 3) {
		fprintf(stderr, "usage: make_trace DESCRIPTION OUT\n");
		return 2;
	}
	file = strcmp(argv[1], "-") == 0 ? stdin : fopen(argv[1], "re");
	if (!file) {
		perror(argv[1]);
		return 1;
	}
	error = description_write(file, argv[2]);
	if (error)
		fprintf(stderr, "make_trace: %s\n", strerror(-error));
	return error ? 1 : 0;
}
