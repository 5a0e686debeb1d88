/* SPDX-License-Identifier: MIT
 *
 * tests/unit/cli/test_report_memory.c - a report for which memory runs out is told as a failure,
 * and never as a shorter one
 *
 * array_reserve of this program stands in the place of the library's and fails once, at each of its
 * calls in turn.
 */
#define array_reserve reserve
#include "base/array.c"
#undef array_reserve

#include "cli/cmd_report.c"

#include <unistd.h>

#include "../../checker/description.h"
#include "base/error.h"
#include "capture.h"
#include "harness.h"

static long reserves, failing; /* calls so far; the one that fails, 0: none */

int array_reserve(void **items, size_t *capacity, size_t count, size_t size);
int array_reserve(void **items, size_t *capacity, size_t count, size_t size)
{
	return ++reserves == failing ? -ENOMEM : reserve(items, capacity, count, size);
}

static const char description[] = "window 0 2000\n"
				  "device 1 gpu\n"
				  "thread 1 1 name=main\n"
				  "thread 2 1 name=worker\n"
				  "queue 1 1\n"
				  "frame 1 python compute file=/m.py line=2 first=1\n"
				  "frame 2 python rest file=/m.py line=7 first=6\n"
				  "stack 1 1\n"
				  "stack 2 2\n"
				  "sample 1 0 1 stack=1\n"
				  "launch 1 1 1 10 20 kernel name=a stack=1\n"
				  "execution 1 1 1 15 18 20 100\n"
				  "switch 1 150 blocked wait=lock holder=2 stack=2\n"
				  "sample 2 180 5 stack=1\n"
				  "sample 2 190 5 stack=2\n"
				  "switch 1 350 in\n"
				  "switch 1 400 blocked wait=poll stack=1\n"
				  "switch 1 1450 in\n"
				  "call 1 1500 1600 wait clFinish stack=2\n"
				  "launch 2 1 1 1700 1710 kernel name=a stack=1\n"
				  "execution 1 2 1 1705 1708 1710 1800\n";

static char path[] = "/tmp/test_report_memory.XXXXXX";
static struct capture capture, errors;

static bool write_trace(void)
{
	FILE *file = fmemopen((void *)description, sizeof(description) - 1, "r");
	int error = file ? description_write(file, path) : -1;

	if (file)
		fclose(file);
	return error == 0;
}

/* What it printed is in capture. */
static int report(char *option, char *value)
{
	char word[] = "report";
	char *arguments[] = {word, option, value, path, NULL};
	int count = value ? 4 : option ? 3 : 2, status;

	arguments[count - 1] = path;
	arguments[count] = NULL;
	reserves = 0;
	error_forget_memory();
	capture_start(&errors, STDERR_FILENO);
	capture_start(&capture, STDOUT_FILENO);
	status = command_report.run(&command_report, count, arguments);
	capture_stop(&capture);
	capture_stop(&errors);
	return status;
}

static void check(char *option, char *value)
{
	static char whole[sizeof(capture.text)];
	long all, told = 0;

	failing = 0;
	REQUIRE(report(option, value) == STATUS_DONE);
	memcpy(whole, capture.text, sizeof(whole));
	REQUIRE(strlen(whole) < sizeof(whole) - 1);
	all = reserves;
	REQUIRE(all > 100);
	for (failing = 1; failing <= all; failing++) {
		int status = report(option, value);

		told += status == STATUS_FAILED;
		if (status == STATUS_FAILED || strcmp(capture.text, whole) == 0)
			continue;
		CHECK(false);
		printf("#   %s %s: another text, status %d, at %ld of %ld:\n", option ? option : "",
		       value ? value : "", status, failing, all);
	}
	CHECK(told > all / 2);
}

TEST(default_report)
{
	check(NULL, NULL);
}

TEST(json)
{
	char option[] = "--json";

	check(option, NULL);
}

static void check_by(const char *what)
{
	char option[] = "--by", value[32];

	snprintf(value, sizeof(value), "%s", what);
	check(option, value);
}

TEST(by_cpu)
{
	check_by("cpu");
}

TEST(by_line)
{
	check_by("line");
}

TEST(by_wait)
{
	check_by("wait");
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd >= 0)
		close(fd);
	if (!write_trace())
		return 1;
	RUN(default_report);
	RUN(json);
	RUN(by_cpu);
	RUN(by_line);
	RUN(by_wait);
	unlink(path);
	return harness_end();
}
