/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_amd.c - the mode of ROCm's collector: by name, by RTL_MODE, by neither
 */
#include <errno.h>
#include <stdlib.h>

#include "harness.h"

#include "abi/amd_options.h"
#include "base/error.h"
#include "collect/collector.h"

extern const struct collector amd_collector;

/* As where the driver is there: chosen, by default or by name. Returns settle's. */
static int settle(const char *mode, bool is_named, struct session_options *ret_options)
{
	struct collector_slot *slot = &ret_options->collected[0];

	*ret_options = (struct session_options){.any = false};
	slot->collector = &amd_collector;
	setenv("RTL_MODE", mode, 1);
	if (collector_option_apply(&amd_collector, NULL, slot))
		return -EIO;
	return amd_collector.settle(slot->bytes, is_named);
}

/* Those of its own that its guests get. */
static uint32_t guest_options(const struct session_options *options)
{
	uint32_t numbers[RING_NUMBERS];

	return amd_collector.way->options(options, numbers) & ~(uint32_t)AMD_OPTION_OPENCL;
}

TEST(modes_and_what_another_tool_calls_them)
{
	static const struct {
		const char *mode;
		uint32_t options;
	} rows[] = {{"", 0},    {"lite", AMD_OPTION_LITE}, {"default", 0}, {"standard", 0},
		    {"hip", 0}, {"full", AMD_OPTION_FULL}};
	struct session_options options;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK_EQUAL(settle(rows[i].mode, true, &options), 0);
		CHECK_EQUAL(guest_options(&options), rows[i].options);
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
	CHECK_EQUAL(guest_options(&options), 0);
}

/* The registry says who was named. */
TEST(named_by_the_list_or_beside_it)
{
	struct session_options options = {.any = false};

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
	struct session_options options = {.any = false};

	unsetenv("RTL_MODE");
	CHECK_EQUAL(collectors_choose("amd:lite,amd:full", NULL, &options), -EINVAL);
	CHECK(strstr(error_text(), "two modes"));
	error_clear();
	CHECK_EQUAL(collectors_choose("amd:lite,amd:nohip,amd:lite", NULL, &options), 0);
	CHECK_EQUAL(collectors_choose("amd:full", NULL, &options), 0);
	CHECK_EQUAL(guest_options(&options), AMD_OPTION_FULL);
}

int main(void)
{
	RUN(modes_and_what_another_tool_calls_them);
	RUN(a_mode_that_there_is_not);
	RUN(named_by_the_list_or_beside_it);
	RUN(one_mode_at_a_time);
	return harness_end();
}
