/* SPDX-License-Identifier: MIT
 *
 * tests/unit/collect/test_nvml.c - libnvidia-ml of an old driver, what results mean, names and
 * shares, who has counters
 *
 * LD_LIBRARY_PATH names the folder with old_nvml as libnvidia-ml.so.1.
 */
#include "collect/nvidia/nvml.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/nvidia/holders.h"
#include "collect/nvidia/nvidia.h"
#include "harness.h"

TEST(what_an_old_driver_lacks)
{
	static struct nvidia_device devices[MAX_NVIDIA_DEVICES];
	nvmlReturn_t result;
	struct nvml nvml;
	unsigned mw;

	REQUIRE(nvml_open(&nvml) == 0);
	CHECK(!nvml.functions.nvmlDeviceGetPowerUsage);
	CHECK_EQUAL(NVML_CALL(&nvml, nvmlDeviceGetPowerUsage, NULL, &mw),
		    NVML_ERROR_FUNCTION_NOT_FOUND);
	CHECK_EQUAL(nvidia_devices_find(&nvml, devices, &result), 1);
	CHECK_EQUAL(result, NVML_ERROR_NO_PERMISSION);
	CHECK_TEXT(devices[0].name, "Tesla K80");
	CHECK_TEXT(devices[0].address, "");
	CHECK_EQUAL(devices[0].memory_bytes, 12u << 28);
	CHECK(!devices[0].has_instances);
	nvml_close(&nvml);
	nvml_close(&nvml); /* once more is no harm */
}

/* Each has a sentence of its own. */
TEST(results)
{
	const char *other = nvml_result_text(4711);

	for (nvmlReturn_t i = 0; i <= NVML_ERROR_RESET_TYPE_NOT_SUPPORTED; i++) {
		CHECK(strcmp(nvml_result_text(i), other) != 0);
		for (nvmlReturn_t j = 0; j < i; j++)
			CHECK(strcmp(nvml_result_text(i), nvml_result_text(j)) != 0);
	}
	CHECK(strcmp(nvml_result_text(NVML_ERROR_UNKNOWN), other) != 0);
}

TEST(addresses)
{
	static const struct {
		const char *bus_id, *address;
	} cases[] = {{"00000000:1B:00.0", "0000:1b:00.0"},
		     {"0000:C1:00.0", "0000:c1:00.0"},
		     {"00010000:01:00.0", "10000:01:00.0"},
		     {"", ""}};
	char address[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		nvidia_address_format(cases[i].bus_id, address, sizeof(address));
		CHECK_TEXT(address, cases[i].address);
	}
}

TEST(shares)
{
	struct share share = {0};

	share_add(&share, 1000, 90); /* it begins */
	CHECK_EQUAL(share.of_ns, 0);
	share_add(&share, 3000, 50);
	CHECK_EQUAL(share.part_ns, 1000);
	CHECK_EQUAL(share.of_ns, 2000);
	share_add(&share, 2000, 50); /* from before */
	CHECK_EQUAL(share.of_ns, 2000);
	share_add(&share, 4000, 101.5); /* a driver's rounding */
	CHECK_EQUAL(share.part_ns, 2000);
	share_add(&share, 5000, -1);
	CHECK_EQUAL(share.part_ns, 2000);
	CHECK_EQUAL(share.of_ns, 4000);
}

/* Of one who rests for 10 s and works for one at 80 %, with driver's periods of a second. */
TEST(shares_of_who_rests)
{
	struct share share = {0};

	share_add_period(&share, 1000, 2000, 50); /* the first one is counted whole */
	CHECK_EQUAL(share.part_ns, 500);
	CHECK_EQUAL(share.of_ns, 1000);
	share_add_period(&share, 12000, 13000, 80);
	CHECK_EQUAL(share.part_ns, 1300);
	CHECK_EQUAL(share.of_ns, 12000);
	share_add_period(&share, 12500, 13500, 100); /* half of it was told already */
	CHECK_EQUAL(share.part_ns, 1800);
	CHECK_EQUAL(share.of_ns, 12500);
}

static void write_text(const char *root, const char *pid, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/proc/%s", root, pid);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/proc/%s/%s", root, pid, file);
	harness_write_text(path, text);
}

TEST(holders)
{
	char root[] = "/tmp/duet-holders-XXXXXX", path[256], text[512];
	struct holder holders[MAX_HOLDERS];

	REQUIRE(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/proc", root);
	mkdir(path, 0777);
	CHECK_EQUAL(holders_find(root, true, holders), 0);
	write_text(root, "812", "comm", "nv-hostengine\n");
	write_text(root, "4711", "comm", "python3\n");
	write_text(root, "4711", "maps",
		   "7f00-7f01 r-xp 00000000 08:01 5 /opt/venv/libcupti.so.12\n");
	write_text(root, "5", "comm", "sh\n");
	write_text(root, "5", "maps", "7f00-7f01 r-xp 00000000 08:01 5 /lib/libc.so.6\n");
	write_text(root, "self", "comm", "nsys\n"); /* no process of its own */
	CHECK_EQUAL(holders_find(root, false, holders), 1);
	CHECK_EQUAL(holders[0].pid, 812);
	CHECK_EQUAL(holders_find(root, true, holders), 2);
	holders_format(holders, 2, text, sizeof(text));
	CHECK(strstr(text, "nv-hostengine (812): DCGM") != NULL);
	CHECK(strstr(text, "python3 (4711): has CUPTI") != NULL);
	holders_format(holders, 2, text, 20);
	CHECK_EQUAL(strlen(text), 19);
	snprintf(path, sizeof(path), "rm -r %s", root);
	CHECK_EQUAL(system(path), 0);
}

int main(void)
{
	RUN(what_an_old_driver_lacks);
	RUN(results);
	RUN(addresses);
	RUN(shares);
	RUN(shares_of_who_rests);
	RUN(holders);
	return harness_end();
}
