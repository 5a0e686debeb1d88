/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_perf_names.c - events by name, and what is said of those that cannot be
 * had
 */
#include "collect/cpu/perf_names.c"

#include <sys/stat.h>

#include "harness.h"

static char folder[] = "/tmp/test_perf_names.XXXXXX";

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static bool said(const char *text)
{
	if (strstr(error_text(), text))
		return true;
	printf("#   no '%s' in: %s\n", text, error_text());
	return false;
}

TEST(names_that_there_are)
{
	struct perf_event_source source;

	CHECK_EQUAL(perf_source_find("page-faults", &source), 0);
	CHECK_EQUAL(source.config, PERF_COUNT_SW_PAGE_FAULTS);
	CHECK_EQUAL(perf_source_find("r1c2", &source), 0);
	CHECK_EQUAL(source.type, PERF_TYPE_RAW);
	CHECK_EQUAL(source.config, 0x1c2);
	CHECK_TEXT(source.name, "r1c2");
}

TEST(names_that_there_are_not)
{
	static const char *const names[] = {
		"cykles", "", ":", "a:", ":b", "../a:b", "a:b/c", "rest"};
	struct perf_event_source source;

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		CHECK_EQUAL(perf_source_find(names[i], &source), -ENOENT);
		CHECK(said("there are: cycles "));
	}
}

/* The first place is not mounted. */
static int find(const char *name, uint64_t *ret_id)
{
	char none[64];
	const char *const places[] = {none, folder};

	snprintf(none, sizeof(none), "%s/none", folder);
	error_clear();
	return find_tracepoint(places, ARRAY_COUNT(places), name, ret_id);
}

TEST(a_tracepoint)
{
	uint64_t id = 0;

	CHECK_EQUAL(find("sched:switch", &id), -ENOENT);
	CHECK(said("mount -t tracefs tracefs /sys/kernel/tracing"));
	CHECK(mkdir(path_of("events"), 0755) == 0 && mkdir(path_of("events/sched"), 0755) == 0 &&
	      mkdir(path_of("events/sched/switch"), 0755) == 0);
	harness_write_text(path_of("events/sched/switch/id"), "314\n");
	CHECK_EQUAL(find("sched:switch", &id), 0);
	CHECK_EQUAL(id, 314);
	CHECK_EQUAL(find("sched:swtch", &id), -ENOENT);
	CHECK(said("no tracepoint 'sched:swtch'"));
}

TEST(a_tracepoint_of_somebody_else)
{
	uint64_t id;

	chmod(path_of("events"), 0);
	if (geteuid() == 0 && seteuid(65534) < 0)
		SKIP("root cannot become somebody else here");
	CHECK_EQUAL(find("sched:switch", &id), -EACCES);
	CHECK(said("run duet as root"));
	if (getuid() == 0)
		CHECK(seteuid(0) == 0);
	chmod(path_of("events"), 0755);
}

int main(void)
{
	if (!mkdtemp(folder) || chmod(folder, 0755))
		return 1;
	RUN(names_that_there_are);
	RUN(names_that_there_are_not);
	RUN(a_tracepoint);
	RUN(a_tracepoint_of_somebody_else);
	unlink(path_of("events/sched/switch/id"));
	rmdir(path_of("events/sched/switch"));
	rmdir(path_of("events/sched"));
	rmdir(path_of("events"));
	rmdir(folder);
	return harness_end();
}
