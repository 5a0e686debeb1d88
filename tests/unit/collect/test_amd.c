/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_amd.c - the mode of ROCm's collector: by name, by RTL_MODE, by neither
 */
#include <errno.h>
#include <stdlib.h>

#include "harness.h"

#include "base/error.h"
#include "collect/collector.h"
#include "ring/ring.h"

extern const struct collector amd_collector;

/* As where the driver is there: chosen, by default or by name. Returns settle's. */
static int settle(const char *mode, bool is_named, struct session_options *ret_options)
{
	*ret_options = (struct session_options){.amd = false};
	setenv("RTL_MODE", mode, 1);
	amd_collector.choose(ret_options, true, NULL);
	return amd_collector.settle(ret_options, is_named);
}

TEST(modes_and_what_another_tool_calls_them)
{
	static const struct {
		const char *mode;
		uint32_t options;
	} rows[] = {{"", 0},    {"lite", RING_OPTION_AMD_LITE}, {"default", 0}, {"standard", 0},
		    {"hip", 0}, {"full", RING_OPTION_AMD_FULL}};
	struct session_options options;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK_EQUAL(settle(rows[i].mode, true, &options), 0);
		CHECK_EQUAL(options.amd_options, rows[i].options);
		CHECK(!options.rtl_mode);
	}
}

/* Who did not ask for ROCm is not refused for a variable of another tool's. */
TEST(a_mode_that_there_is_not)
{
	struct session_options options;

	CHECK_EQUAL(settle("fast", true, &options), -EINVAL);
	CHECK(strstr(error_text(), "lite, default and full (standard and hip"));
	error_clear();
	CHECK_EQUAL(settle("fast", false, &options), 0);
	CHECK_EQUAL(options.amd_options, 0);
	CHECK_TEXT(options.rtl_mode, "fast");
}

/* The registry says who was named. */
TEST(named_by_the_list_or_beside_it)
{
	struct session_options options = {.amd = false};

	setenv("RTL_MODE", "fast", 1);
	CHECK_EQUAL(collectors_choose("amd", NULL, &options), -EINVAL);
	CHECK_EQUAL(collectors_choose("cpu", "amd:nohip", &options), -EINVAL);
	CHECK_EQUAL(collectors_choose("amd,-amd", NULL, &options), 0);
	CHECK_EQUAL(collectors_choose("amd:full", NULL, &options), 0);
	CHECK_EQUAL(collectors_choose(NULL, NULL, &options), 0);
	error_clear();
}

TEST(one_mode_at_a_time)
{
	struct session_options options = {.amd = false};

	unsetenv("RTL_MODE");
	CHECK_EQUAL(collectors_choose("amd:lite,amd:full", NULL, &options), -EINVAL);
	CHECK(strstr(error_text(), "two modes"));
	error_clear();
	CHECK_EQUAL(collectors_choose("amd:lite,amd:nohip,amd:lite", NULL, &options), 0);
	CHECK_EQUAL(collectors_choose("amd:full", NULL, &options), 0);
	CHECK_EQUAL(options.amd_options, RING_OPTION_AMD_FULL);
}

int main(void)
{
	RUN(modes_and_what_another_tool_calls_them);
	RUN(a_mode_that_there_is_not);
	RUN(named_by_the_list_or_beside_it);
	RUN(one_mode_at_a_time);
	return harness_end();
}
