/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_fdinfo.c - texts of /proc/PID/fdinfo as drivers write them, and worse
 * ones
 */
#include "collect/drm/fdinfo.h"

#include <stdlib.h>

#include "harness.h"

static struct fdinfo fdinfo;
static const struct fdinfo_engine no_engine;
static const struct fdinfo_region no_region;

static bool parse(const char *text)
{
	return fdinfo_parse(text, strlen(text), &fdinfo);
}

static const struct fdinfo_engine *engine(const char *name)
{
	for (size_t i = 0; i < fdinfo.engines_count; i++)
		if (strcmp(fdinfo.engines[i].name, name) == 0)
			return &fdinfo.engines[i];
	return &no_engine;
}

static const struct fdinfo_region *region(const char *name)
{
	for (size_t i = 0; i < fdinfo.regions_count; i++)
		if (strcmp(fdinfo.regions[i].name, name) == 0)
			return &fdinfo.regions[i];
	return &no_region;
}

TEST(i915)
{
	REQUIRE(parse("pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t1083\n"
		      "drm-driver:\ti915\ndrm-client-id:\t42\ndrm-pdev:\t0000:00:02.0\n"
		      "drm-total-system0:\t12320 KiB\ndrm-shared-system0:\t1 MiB\n"
		      "drm-active-system0:\t0\ndrm-resident-system0:\t12288 KiB\n"
		      "drm-purgeable-system0:\t32 KiB\n"
		      "drm-engine-render:\t9288864723 ns\ndrm-engine-copy:\t2035071108 ns\n"
		      "drm-engine-video:\t0 ns\ndrm-engine-capacity-video:\t2\n"));
	CHECK_TEXT(fdinfo.driver, "i915");
	CHECK_TEXT(fdinfo.address, "0000:00:02.0");
	CHECK(fdinfo.has_client);
	CHECK_EQUAL(fdinfo.client, 42);
	CHECK_EQUAL(fdinfo.engines_count, 3);
	CHECK_EQUAL(engine("render")->busy_ns, 9288864723);
	CHECK_EQUAL(engine("render")->values, FDINFO_BUSY);
	CHECK_EQUAL(engine("render")->capacity, 1);
	CHECK_EQUAL(engine("video")->capacity, 2);
	CHECK_EQUAL(engine("video")->busy_ns, 0);
	CHECK_EQUAL(fdinfo.regions_count, 1);
	CHECK_EQUAL(region("system0")->values, (1 << FDINFO_MEMORY_COUNT) - 1);
	CHECK_EQUAL(region("system0")->bytes[FDINFO_TOTAL], 12320 << 10);
	CHECK_EQUAL(region("system0")->bytes[FDINFO_SHARED], 1 << 20);
	CHECK_EQUAL(region("system0")->bytes[FDINFO_RESIDENT], 12288 << 10);
	CHECK_EQUAL(region("system0")->bytes[FDINFO_PURGEABLE], 32 << 10);
}

TEST(xe)
{
	REQUIRE(parse("drm-driver:\txe\ndrm-client-id:\t7\ndrm-pdev:\t0000:03:00.0\n"
		      "drm-cycles-rcs:\t28257900\ndrm-total-cycles-rcs:\t7655183225\n"
		      "drm-cycles-ccs:\t5\ndrm-total-cycles-ccs:\t7655183225\n"
		      "drm-engine-capacity-ccs:\t4\n"));
	CHECK_EQUAL(engine("rcs")->values, FDINFO_CYCLES | FDINFO_TOTAL_CYCLES);
	CHECK_EQUAL(engine("rcs")->cycles, 28257900);
	CHECK_EQUAL(engine("rcs")->total_cycles, 7655183225);
	CHECK_EQUAL(engine("ccs")->capacity, 4);
}

TEST(amdgpu)
{
	REQUIRE(parse(
		"drm-driver:\tamdgpu\ndrm-client-id:\t3\ndrm-pdev:\t0000:c1:00.0\npasid:\t32770\n"
		"drm-memory-vram:\t176 KiB\ndrm-memory-gtt: \t2052 KiB\n"
		"amd-evicted-vram:\t0 KiB\ndrm-engine-gfx:\t1234 ns\ndrm-engine-compute:\t5 ns\n"));
	CHECK_EQUAL(region("vram")->values, 1 << FDINFO_RESIDENT);
	CHECK_EQUAL(region("vram")->bytes[FDINFO_RESIDENT], 176 << 10);
	CHECK_EQUAL(region("gtt")->bytes[FDINFO_RESIDENT], 2052 << 10);
	CHECK_EQUAL(engine("gfx")->busy_ns, 1234);
}

/* panfrost: frequencies, no PCI address */
TEST(frequencies)
{
	REQUIRE(parse("drm-driver:\tpanfrost\ndrm-client-id:\t9\ndrm-engine-fragment:\t25 ns\n"
		      "drm-cycles-fragment:\t19\ndrm-maxfreq-fragment:\t800 MHz\n"
		      "drm-curfreq-fragment:\t500000000 Hz\n"));
	CHECK_TEXT(fdinfo.address, "");
	CHECK_EQUAL(engine("fragment")->values, FDINFO_BUSY | FDINFO_CYCLES);
	CHECK_EQUAL(engine("fragment")->max_hz, 800000000);
}

TEST(other_descriptors)
{
	CHECK(!parse(""));
	CHECK(!parse("pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t4\n"));
	CHECK(!parse("drm-driver:\n"));
	CHECK(!parse("eventfd-count: 0\ndrm-driver"));
}

/* Not said is another thing than 0: what makes no sense is not there. */
TEST(nonsense_is_absent)
{
	REQUIRE(parse("drm-driver: xe\ndrm-client-id: -4\n"
		      "drm-engine-a: 18446744073709551616 ns\ndrm-engine-b: 12\n"
		      "drm-engine-c: ns\ndrm-engine-d: 3x ns\ndrm-engine-: 4 ns\n"
		      "drm-engine-e: 7 ns\ndrm-engine-capacity-e: 0\n"
		      "drm-total-f: 18446744073709551615 KiB\ndrm-total-g: 4 furlongs\n"
		      "drm-total-h 4\n:\n::\n"));
	CHECK(!fdinfo.has_client);
	CHECK_EQUAL(engine("a")->values, 0);
	CHECK_EQUAL(engine("b")->values, 0);
	CHECK_EQUAL(engine("d")->values, 0);
	CHECK_EQUAL(engine("e")->values, FDINFO_BUSY);
	CHECK_EQUAL(engine("e")->capacity, 1);
	CHECK_EQUAL(fdinfo.regions_count, 0);
}

TEST(names_that_are_too_long_are_left_out)
{
	REQUIRE(parse("drm-driver: xe\n"
		      "drm-engine-0123456789012345678901234567890: 1 ns\n"
		      "drm-engine-01234567890123456789012345678901: 2 ns\n"));
	CHECK_EQUAL(fdinfo.engines_count, 1);
	CHECK_EQUAL(engine("0123456789012345678901234567890")->busy_ns, 1);
}

TEST(more_than_there_is_room_for)
{
	char text[8192] = "drm-driver: xe\n";

	for (int i = 0; i < 2 * MAX_FDINFO_ENGINES; i++)
		sprintf(text + strlen(text), "drm-engine-e%d: %d ns\ndrm-total-r%d: %d\n", i, i, i,
			i);
	REQUIRE(parse(text));
	CHECK_EQUAL(fdinfo.engines_count, MAX_FDINFO_ENGINES);
	CHECK_EQUAL(fdinfo.regions_count, MAX_FDINFO_REGIONS);
	CHECK_EQUAL(engine("e15")->busy_ns, 15);
}

/* Every text that ends too early, in memory of its own length. */
TEST(short_reads)
{
	static const char text[] = "drm-driver:\txe\ndrm-client-id:\t7\ndrm-cycles-rcs:\t28 \n"
				   "drm-total-system:\t4 KiB\n";

	for (size_t length = 0; length < sizeof(text); length++) {
		char *copy = malloc(length + 1);

		REQUIRE(copy);
		memcpy(copy, text, length);
		copy[length] = '7';
		CHECK_EQUAL(fdinfo_parse(copy, length, &fdinfo), length > strlen("drm-driver:\t"));
		free(copy);
	}
}

int main(void)
{
	RUN(i915);
	RUN(xe);
	RUN(amdgpu);
	RUN(frequencies);
	RUN(other_descriptors);
	RUN(nonsense_is_absent);
	RUN(names_that_are_too_long_are_left_out);
	RUN(more_than_there_is_room_for);
	RUN(short_reads);
	return harness_end();
}
