/* SPDX-License-Identifier: MIT
 *
 * tests/unit/analyze/measure_iterations.c - iterations of recorded programs beside their marks
 *
 * Usage: measure_iterations TRACE[=COUNT]... The iterations are searched by the launches alone,
 * with the ranges hidden. Where ranges mark iterations, their first launches are compared;
 * otherwise COUNT, the number that the program states, and whether each iteration has the same
 * launches. One line for each trace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/iterations/iterations.h"
#include "analyze/model.h"

/* Marks whose first launch begins an iteration that was found. */
static size_t count_exact(const struct iterations *marks, const struct iterations *found)
{
	size_t exact = 0, next = 0;

	for (size_t i = 0; i < marks->count; i++) {
		while (next < found->count && found->list[next].first < marks->list[i].first)
			next++;
		exact += next < found->count && found->list[next].first == marks->list[i].first;
	}
	return exact;
}

/* Iterations but the last that have the median number of launches. */
static size_t count_equal(const struct iterations *found)
{
	size_t equal = 0;

	for (size_t i = 0; i + 1 < found->count; i++)
		equal += found->list[i].launches == found->period;
	return equal;
}

static void print_row(const char *name, const char *count, const struct iterations *marks,
		      const struct iterations *found)
{
	printf("%-44s %8llu %6s ", name, (unsigned long long)found->launches, count ? count : "-");
	if (marks->method == ITERATIONS_RANGES)
		printf("%6zu %6zu %6zu\n", marks->count, found->count, count_exact(marks, found));
	else
		printf("%6s %6zu %6s  %zu of %zu with %llu launches\n", "-", found->count, "-",
		       count_equal(found), found->count ? found->count - 1 : 0,
		       (unsigned long long)found->period);
}

static int measure(const char *name, const char *count)
{
	struct iterations marks = {0}, found = {0};
	const char *slash = strrchr(name, '/');
	struct model *model = NULL;
	int error = model_open(name, &model);

	if (!error)
		error = iterations_find(model, true, &marks);
	if (!error)
		error = iterations_find(model, false, &found);
	if (!error)
		print_row(slash ? slash + 1 : name, count, &marks, &found);
	iterations_fini(&marks);
	iterations_fini(&found);
	model_close(model);
	return error;
}

int main(int argc, char **argv)
{
	int status = 0;

	printf("%-44s %8s %6s %6s %6s %6s\n", "trace", "launches", "stated", "marks", "found",
	       "exact");
	for (int i = 1; i < argc; i++) {
		char *count = strchr(argv[i], '=');

		if (count)
			*count++ = 0;
		if (measure(argv[i], count)) {
			fprintf(stderr, "%s: cannot be read\n", argv[i]);
			status = 1;
		}
	}
	return status;
}
