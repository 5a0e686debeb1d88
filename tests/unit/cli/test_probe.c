/* SPDX-License-Identifier: MIT
 *
 * tests/unit/cli/test_probe.c - libraries that load, that do not, and one that is no library
 */
#include "cli/doctor/probe.h"

#include <string.h>
#include <unistd.h>

#include "harness.h"

TEST(a_library_that_loads)
{
	struct probe_result result;

	probe_library("libc.so.6", &result);
	CHECK(result.ok);
	CHECK(result.text[0] == '/');
	CHECK(strstr(result.text, "libc") != NULL);
}

TEST(a_library_that_is_not_there)
{
	struct probe_result result;

	probe_library("libno-such-thing.so.1", &result);
	CHECK(!result.ok);
	CHECK(strstr(result.text, "libno-such-thing.so.1") != NULL);
}

TEST(a_file_that_is_no_library)
{
	struct probe_result result;

	probe_library("/etc/passwd", &result);
	CHECK(!result.ok);
	CHECK(result.text[0] != '\0');
}

TEST(a_library_that_is_no_loader)
{
	struct probe_result result;

	probe_opencl_devices("libc.so.6", &result);
	CHECK(!result.ok);
	CHECK_TEXT(result.text, "the library lacks functions of OpenCL 1.0");
}

TEST(bytes_in_a_file)
{
	CHECK(probe_file_contains("/proc/self/exe", "SPDX-no-such") ||
	      probe_file_contains("/proc/self/exe", "ELF"));
	CHECK(probe_file_contains("/proc/self/exe", "bytes_in_a_file"));
	CHECK(!probe_file_contains("/etc/passwd", "OPENCL_LAYERS"));
	CHECK(!probe_file_contains("/no/such/file", "x"));
}

int main(void)
{
	RUN(a_library_that_loads);
	RUN(a_library_that_is_not_there);
	RUN(a_file_that_is_no_library);
	RUN(a_library_that_is_no_loader);
	RUN(bytes_in_a_file);
	return harness_end();
}
