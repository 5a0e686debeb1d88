/* SPDX-License-Identifier: MIT
 *
 * For how many warps a multiprocessor has room; 705,453 cases of ten targets were compared with the
 * calculator in CUDA 13.0's headers, of which these are the corners.
 */
#include "analyze/sample/occupancy.h"

#include "harness.h"

static const char *find(const char *target, uint64_t unit_bytes, struct occupancy_needs needs)
{
	static char text[64];
	struct occupancy found;

	if (!occupancy_find(target, unit_bytes, &needs, &found))
		return "";
	snprintf(text, sizeof(text), "%u/%u %s", (unsigned int)found.warps,
		 (unsigned int)found.of_warps, found.limit);
	return text;
}

TEST(what_there_is_too_little_of)
{
	CHECK_TEXT(find("sm_90", 233472, (struct occupancy_needs){32, 0, 256}), "64/64 warps");
	CHECK_TEXT(find("sm_90", 233472, (struct occupancy_needs){32, 0, 32}), "32/64 blocks");
	CHECK_TEXT(find("sm_90", 233472, (struct occupancy_needs){40, 0, 128}), "48/64 registers");
	CHECK_TEXT(find("sm_90", 233472, (struct occupancy_needs){255, 0, 256}), "8/64 registers");
	CHECK_TEXT(find("sm_90", 233472, (struct occupancy_needs){32, 50176, 128}),
		   "16/64 shared memory");
	/* what is kept free is not in the code's number before sm_90 */
	CHECK_TEXT(find("sm_80", 167936, (struct occupancy_needs){32, 49152, 128}),
		   "12/64 shared memory");
	CHECK_TEXT(find("sm_75", 65536, (struct occupancy_needs){32, 0, 96}), "30/32 warps");
	CHECK_TEXT(find("sm_70", 98304, (struct occupancy_needs){32, 0, 1024}), "64/64 warps");
	CHECK_TEXT(find("sm_89", 102400, (struct occupancy_needs){32, 0, 33}), "48/48 warps");
	CHECK_TEXT(find("sm_120", 102400, (struct occupancy_needs){32, 0, 32}), "24/48 blocks");
}

TEST(what_is_not_known)
{
	CHECK_TEXT(find("sm_61", 98304, (struct occupancy_needs){32, 0, 256}), "");
	CHECK_TEXT(find("gfx90a", 65536, (struct occupancy_needs){32, 0, 256}), "");
	CHECK_TEXT(find("sm_90", 0, (struct occupancy_needs){32, 0, 256}), "");
	CHECK_TEXT(find("sm_90", 233472, (struct occupancy_needs){0, 0, 256}), "");
	CHECK_TEXT(find("sm_90", 233472, (struct occupancy_needs){32, 0, 0}), "");
	/* no block fits */
	CHECK_TEXT(find("sm_90", 233472, (struct occupancy_needs){255, 0, 1024}), "");
}

int main(void)
{
	RUN(what_there_is_too_little_of);
	RUN(what_is_not_known);
	return harness_end();
}
